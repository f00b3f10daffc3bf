// URLs of a PostgreSQL store.
#include "store/postgres/options.h"

#include "postgres/support.h"
#include "store/url.h"

namespace pawl::store::pg {
namespace {

TEST(PostgresUrl, OwnParametersAreTakenOut) {
  const PostgresOptions options = options_of(
      "postgresql://shop@db1:5432,db2/shop?sslmode=require&schema=Shop_1&prepare=off&"
      "target_session_attrs=read-write&namespace=a%26b&payload_bytes_max=1000");
  EXPECT_EQ(options.conninfo,
            "postgresql://shop@db1:5432,db2/shop?sslmode=require&target_session_attrs=read-write");
  EXPECT_EQ(options.schema, "Shop_1");
  EXPECT_FALSE(options.prepare);
  EXPECT_EQ(options.name_space, "a&b");
  EXPECT_EQ(options.payload_bytes_max, 1000U);
}

TEST(PostgresUrl, HasDefaults) {
  const PostgresOptions options = options_of("postgres:///shop?namespace=x");
  EXPECT_EQ(options.conninfo, "postgres:///shop");
  EXPECT_EQ(options.schema, "pawl");
  EXPECT_TRUE(options.prepare);
}

TEST(PostgresUrl, SaysWhatIsWrong) {
  const struct {
    const char* url;
    const char* what;
  } cases[] = {
      {"mysql://x", "has to begin with 'postgresql://'"},
      {"postgresql:app", "has to begin with 'postgresql://'"},
      {"postgresql:///a?prepare=maybe", "prepare is 'on' or 'off', not 'maybe'"},
      {"postgresql:///a?schema=a%22b", "letters, digits and '_'"},
      {"postgresql:///a?schema=", "letters, digits and '_'"},
      {"postgresql:///a?namespace=", "the namespace is empty"},
      {"postgresql:///a?payload_bytes_max=-1", "a number from 0 to"},
      {"postgresql:///a?payload_bytes_max=9999999999", "a number from 0 to"},
      {"postgresql:///a?shema=x", "of Pawl there are namespace, schema"},
      {"postgresql:///a?schema", "name=value"},
      {"postgresql:///a?schema=%zz", "two hexadecimal digits"},
      {"postgresql://[::1/a", "store URL"},
  };
  for (const auto& [url, what] : cases) {
    const Error error = error_of(parse_postgres_url(url));
    EXPECT_EQ(error.code, ErrorCode::kInvalidArgument) << url;
    EXPECT_TRUE(contains(error.message, what)) << error.message;
  }
}

TEST(PostgresUrl, MessagesHaveNoPassword) {
  for (const char* const url : {
           "postgresql://shop:hunter2@db/shop?nothing=1",
           "postgresql://shop:hunter2%zz@db/shop",
           "postgresql://shop:x@hunter2@db/shop",
           "postgresql://shop:x/hunter2@db/shop",
           "postgresql://shop:hunter2/x@db/shop",
           "postgresql://shop:hunter2?x@db/shop",
           "postgresql://shop@db/shop?password=hunter2&nothing=1",
           "postgresql://shop@db/shop?sslpassword=hunter2&nothing=1",
           "postgresql://shop@db/shop?%70assword=hunter2&nothing=1",
           "postgresql://db/shop?password=hunter2%00",
           "mysql://shop:hunter2@db",
       }) {
    const Error error = error_of(parse_postgres_url(url));
    EXPECT_EQ(error.code, ErrorCode::kInvalidArgument) << url;
    EXPECT_FALSE(contains(error.message, "hunter2")) << error.message;
    EXPECT_TRUE(contains(error.message, "***")) << error.message;
  }
  EXPECT_EQ(without_password("postgresql://shop:p@db:1/shop?password=q&sslmode=require"),
            "postgresql://shop:***@db:1/shop?password=***&sslmode=require");
  EXPECT_EQ(without_password("postgresql://shop@db/shop"), "postgresql://shop@db/shop");
}

}  // namespace
}  // namespace pawl::store::pg

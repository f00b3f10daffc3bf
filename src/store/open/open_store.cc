#include "store/open/open_store.h"

#include <string>

#include "base/check.h"
#include "store/sqlite/sqlite_store.h"
#include "store/url.h"
#ifdef PAWL_POSTGRES
#include "store/postgres/postgres_store.h"
#endif

namespace pawl::store {

Result<StoreUrl> parse_store_url(std::string_view url) {
  if (url.starts_with("sqlite:")) {
    PAWL_TRY_ASSIGN(SqliteOptions options, parse_sqlite_url(url));
    return StoreUrl(std::move(options));
  }
  if (url.starts_with("postgres://") || url.starts_with("postgresql://")) {
#ifdef PAWL_POSTGRES
    PAWL_TRY_ASSIGN(PostgresOptions options, parse_postgres_url(url));
    return StoreUrl(std::move(options));
#else
    return make_error(
        ErrorCode::kStoreUnusable,
        "this build of Pawl has no PostgreSQL store; build it where libpq is installed");
#endif
  }
  return make_error(ErrorCode::kInvalidArgument,
                    "store '" + without_password(url) +
                        "': the URL of a store begins with sqlite: or postgres://");
}

Result<std::unique_ptr<MovableStore>> open_movable_store(const StoreUrl& url) {
  if (const auto* const sqlite = std::get_if<SqliteOptions>(&url)) {
    return open_movable_sqlite(*sqlite);
  }
#ifdef PAWL_POSTGRES
  return open_movable_postgres(std::get<PostgresOptions>(url));
#else
  return make_error(
      ErrorCode::kStoreUnusable,
      "this build of Pawl has no PostgreSQL store; build it where libpq is installed");
#endif
}

Result<std::unique_ptr<Store>> open_store(const StoreUrl& url) {
  PAWL_TRY_ASSIGN(std::unique_ptr<MovableStore> store, open_movable_store(url));
  return std::unique_ptr<Store>(std::move(store));
}

}  // namespace pawl::store

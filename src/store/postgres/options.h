// How a PostgreSQL store is opened, and the URL form of that. Value types.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"

namespace pawl::store {

struct PostgresOptions {
  // For libpq: a postgresql:// URL without Pawl's own parameters. Everything that libpq knows
  // works: TLS, several hosts, target_session_attrs, service and password files, PG… variables; but
  // `options` of a service file do not count.
  std::string conninfo;
  std::string name_space = "default";
  // Where the tables are. SQL names it in each place as {schema}, so no search path matters.
  std::string schema = "pawl";
  // Whether statements are prepared once for each connection, and notices of others are listened
  // for. Neither works behind a pooler that gives each transaction another server connection.
  bool prepare = true;
  // Whether tables and namespace are made if they are not there. If not, that is kStoreUnusable.
  bool creates = true;
  std::size_t payload_bytes_max = std::size_t{64} << 20U;  // At most kPostgresPayloadBytesLimit.
};

// What PostgreSQL can hold in one value, with room for the rest of the row and the message.
inline constexpr std::size_t kPostgresPayloadBytesLimit = 500'000'000;

// Reads `postgresql://shop@db1,db2/shop?target_session_attrs=read-write&schema=shop`. Parameters of
// Pawl: namespace, schema (letters, digits and '_'), prepare (on, off), payload_bytes_max; all
// others are libpq's. %XX stands for a byte. kInvalidArgument says what is wrong, without a
// password; kStoreUnusable: there is no libpq.
Result<PostgresOptions> parse_postgres_url(std::string_view url);

}  // namespace pawl::store

// The tables of a PostgreSQL store, and how they come to be.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "base/result.h"
#include "store/postgres/connection.h"

namespace pawl::store::pg {

// The newest schema that this library knows.
std::int64_t schema_version();

// Makes the schema and its tables, or brings them up to date, unless that is done already. Several
// may do so at once. kStoreUnusable: the schema is newer than this library, or rights are missing.
Result<void> migrate(Connection& connection);
// With other steps than schema_steps(), for tests: the version is how many there are. All that are
// missing are done in one transaction.
Result<void> migrate(Connection& connection, std::span<const std::string_view> steps);
std::span<const std::string_view> schema_steps();

// For those who may not change anything: kStoreUnusable unless the schema is there and of this
// version.
Result<void> check_schema(Connection& connection);

// kStoreUnusable: there is none.
Result<std::int64_t> find_namespace(Connection& connection, std::string_view name);
Result<std::int64_t> find_or_add_namespace(Connection& connection, std::string_view name);

}  // namespace pawl::store::pg

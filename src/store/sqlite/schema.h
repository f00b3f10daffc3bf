// The tables, as numbered migrations. A step that has been released is never changed: what is new
// comes as a further step.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "base/result.h"
#include "store/sqlite/connection.h"

namespace pawl::store {

// "Pawl": marks our files, so that another program's database is not taken for one.
inline constexpr std::int64_t kApplicationId = 0x5061776c;

// SQL of each step; step n (from 1) leads from schema n - 1 to schema n.
std::span<const char* const> schema_steps();

// Brings the database to the newest of `steps`, under an exclusive lock if there is something to
// do, and into WAL mode. Nothing is written to a file that is not ours. kStoreUnusable: another
// program's database, a file that is none, one of a newer Pawl.
Result<void> migrate(Connection& connection, std::span<const char* const> steps,
                     std::int64_t busy_timeout_ms);

// The number of the namespace, if migrate() and find_or_add_namespace() would have nothing to
// write. kStoreUnusable says what is missing.
Result<std::int64_t> find_namespace(Connection& connection, std::span<const char* const> steps,
                                    std::string_view name_space);

// The number of the namespace; adds it if it is new.
Result<std::int64_t> find_or_add_namespace(Connection& connection, std::string_view name);

}  // namespace pawl::store

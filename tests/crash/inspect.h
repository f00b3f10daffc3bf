// Looks at the runs in a database from outside of any engine, by way of the store.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace pawl::crash {

// Of a database that nobody has open, or of a copy. `ids` are the runs to look at, with all their
// numbers.
//
//   runs      id, number, status, waitingFor, reason, tags; commands as "Operation {1} name", also
//             forgotten ones, sorted; compensations with name, state and attempt
//   problems  texts: what no database may be like, whenever its process died; and, if `is_over`,
//             what may not be left of closed runs
//   done      keys of activities whose outcome is recorded
//   attempts  of those that are not: how many are recorded, by key
//   accounts  balances, if there are any
nlohmann::json inspect(const std::string& path, const std::vector<std::string>& ids, bool is_over);

// Copies a database with its journals.
void copy_database(const std::string& from, const std::string& to);

}  // namespace pawl::crash

// What holds in a database between any two transactions, whoever has written to it, in whatever
// order. Reads only; thread-safe as far as `query` is.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "store/store.h"

namespace pawl::store {

struct InspectedDatabase {
  Store& store;
  // Gives the first column of each row. The tables have the same names and columns everywhere;
  // "{schema}" stands before those names, and "{paused}" for the condition that the run `r` is
  // paused.
  std::function<Result<std::vector<std::string>>(const std::string& sql)> query;
  std::int64_t now_ms = 0;    // Not before anything that was written.
  bool has_all_runs = false;  // None was deleted, or put as it was elsewhere.
};

// A sentence for everything that is not as it has to be. Logs are looked at in the namespace of the
// store, all else in all of them.
Result<std::vector<std::string>> find_violations(const InspectedDatabase& database);

}  // namespace pawl::store

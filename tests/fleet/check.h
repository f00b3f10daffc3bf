// What has to be true when a fleet has come to its end.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "fleet/program.h"
#include "postgres/server.h"

namespace pawl::fleet {

struct Findings {
  std::vector<std::string> problems;
  // Counts, to be printed.
  std::size_t runs = 0;
  std::size_t entries = 0;
  std::size_t claims = 0;
  std::size_t deadlocks = 0;  // Since the server's last crash.
  std::size_t executions = 0;
  std::size_t executed_again = 0;
};

// `expected` by the id of each run that was acknowledged; nobody works any more.
Findings check(const testing::PostgresServer& server, const std::string& notes,
               const std::map<std::string, Expected>& expected);

}  // namespace pawl::fleet

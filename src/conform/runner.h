// Runs scenario files and says what came of them.
#pragma once

#include <cstddef>
#include <filesystem>
#include <ostream>
#include <vector>

namespace pawl::conform {

struct Totals {
  std::size_t passed = 0;
  std::size_t failed = 0;
};

struct RunOptions {
  bool print = false;  // Show actual outcomes; then scenarios need not expect anything.
};

// Files, and all *.json files below directories. One line per scenario, "ok NAME" or "FAIL NAME:
// what differed"; a file that cannot be read or makes no sense is a failure too.
Totals run_files(const std::vector<std::filesystem::path>& paths, const RunOptions& options,
                 std::ostream& out);

}  // namespace pawl::conform

// Runs that a command is to change: those that are named, or all that a filter finds.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "base/result.h"
#include "cli/console.h"
#include "cli/frame.h"
#include "cli/run_filter.h"
#include "store/store.h"
#include "view/run_query.h"

namespace pawl::cli {

struct Targets {
  std::vector<std::string> ids;
  std::uint32_t number = 0;
  FilterArguments filter;
  bool all = false;
  bool yes = false;

  bool are_named() const { return !ids.empty(); }
};

void add_targets(Frame& frame, CLI::App* command, Targets& targets);

// kInvalidArgument: nothing is named and there is no filter, or both.
Result<void> check_targets(const Targets& targets);
// All of those that are named; an error if one of them is not there.
Result<std::vector<store::RunRow>> find_named(store::Store& store, const Targets& targets);
// The filter; without a status it means `statuses`.
Result<view::RunQuery> target_query(const Targets& targets, const Console& console,
                                    const std::vector<store::RunStatus>& statuses);
// Asks whether `verb` is meant for so many runs, and says so if it is not.
Result<bool> confirm_count(Console& console, const std::string& verb, std::int64_t count, bool yes);

// What came of it: how many were done, and why others were not.
class Tally {
 public:
  void add_done() { ++done_; }
  void add_skipped(const std::string& why, const std::string& id);

  std::int64_t seen() const { return done_ + skipped_count_; }
  bool has_skipped() const { return !skipped_.empty(); }
  // `done`: "terminated".
  void report(Console& console, const std::string& done) const;

 private:
  struct Skipped {
    std::int64_t count = 0;
    std::string first;
  };

  std::int64_t done_ = 0;
  std::int64_t skipped_count_ = 0;
  std::map<std::string, Skipped> skipped_;
};

}  // namespace pawl::cli

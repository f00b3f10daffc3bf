// A run's history as people read it: a tree by location, one line for each command, with both of
// its labels, what came of it, when, and how long it took; then what reached the run by itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "replay/log.h"
#include "store/rows.h"
#include "store/store.h"

namespace pawl::view {

struct History {
  store::RunRow row;
  std::string input;
  std::string reason;  // kBlocked: why.
  replay::Log log;     // With finish_loading() done.
  // What the log does not hold. All of it may be left out.
  std::vector<store::Arrival> inbox;
  std::vector<store::TaskRow> tasks;  // Open ones.
  std::vector<store::CompensationRow> compensations;
};

// Reads all of it, in several reads: of a run that goes on meanwhile, the parts may be of different
// moments. Errors are the store's, and kCorruptLog.
Result<History> read_history(store::Store& store, const store::RunRow& row);

struct HistoryOptions {
  std::int64_t now_ms = 0;  // For what is still open.
  std::size_t payload_chars_max = 60;
};

// Ends with a line break. Of an operation that was recorded as one entry nobody knows when it
// began:
// `~` stands before the time since what its branch did last. Signals are shown with the waits that
// took them as if only waits did; what code takes in passing is not in the log.
std::string history_tree(const History& history, const HistoryOptions& options);

}  // namespace pawl::view

// A run's history as people read it: a tree by location, one line for each command, with both of
// its labels, what came of it, when, and how long it took; then what reached the run by itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "replay/log.h"
#include "store/rows.h"
#include "store/store.h"
#include "view/moments.h"

namespace pawl::view {

struct History {
  store::RunRow row;
  std::string input;
  std::string reason;  // kBlocked: why.
  replay::Log log;     // With finish_loading() done.
  // The log holds what loops have forgotten and the store still keeps.
  bool has_forgotten = false;
  // What the log does not hold. All of it may be left out.
  std::vector<store::Arrival> inbox;
  std::vector<store::TaskRow> tasks;  // Open ones.
  std::vector<store::CompensationRow> compensations;
  std::vector<store::RunRow> children;  // Open ones.
  std::vector<store::Tag> tags;
  std::optional<store::RunRow> parent;
};

// Reads all of it, in several reads: of a run that goes on meanwhile, the parts may be of different
// moments. Errors are the store's, and kCorruptLog.
Result<History> read_history(store::Store& store, const store::RunRow& row,
                             bool with_forgotten = false);

inline constexpr std::size_t kNoLimit = static_cast<std::size_t>(-1);

struct HistoryOptions {
  std::int64_t now_ms = 0;  // For what is still open.
  std::size_t payload_chars_max = 60;
  std::size_t columns_max = 0;  // Of the screen: values give way to fit. 0: any.
  // Only the last lines of the tree, below what they belong to, and of what has arrived. 0: all.
  std::size_t lines_max = 0;
  bool in_color = false;
  Zone zone = {};
  bool with_sources = false;
  std::string look_command = "pawl history";  // How to look at another run: the id comes next.
};

// Calls `write` for one or more lines at a time, each with its line break. Takes time and memory in
// proportion to the number of entries, and no more memory for long values. Of an operation that was
// recorded as one entry nobody knows when it began: `~` stands before the time since what its
// branch did last; before that of branches and loops, too, which end without an entry. Signals are
// shown with the waits that took them as if only waits did; what code takes in passing is not in
// the log.
void print_history(const History& history, const HistoryOptions& options,
                   const std::function<void(std::string_view)>& write);
std::string history_tree(const History& history, const HistoryOptions& options);

// The first lines, which say what run it is and how it is.
std::string history_head(const History& history, const HistoryOptions& options);
// Why a run is blocked, in full: it says what to do.
std::string reason_text(std::string_view reason, bool in_color);

}  // namespace pawl::view

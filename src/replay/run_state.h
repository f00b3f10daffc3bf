// RunState: the run's key-value state, rebuilt by re-running set and clear, and what a loop's
// iterations left in it once their entries are forgotten.
// Not thread-safe.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "replay/entry.h"
#include "replay/log.h"

namespace pawl::replay {

class RunState {
 public:
  // Sets (value) or clears (none) a key from within `branch`. The value is not copied: it must live
  // as long as the state.
  void write(const Log& log, std::string_view key, std::optional<std::string_view> value,
             BranchId branch);
  std::optional<std::string_view> get(std::string_view key) const;

  // The net effect of everything that was written below a loop and still stands, in order of key.
  std::vector<StateChange> net_changes(const Log& log, BranchId loop);
  // Does again what a checkpoint of that loop says.
  void apply(const Log& log, BranchId loop, const std::vector<StateChange>& changes);
  // The loop has ended: its effects belong to what surrounds it.
  void end_loop(BranchId loop) { touched_.erase(loop); }

 private:
  struct Value {
    std::optional<std::string_view> text;  // None: cleared; kept while a loop may have to say so.
    BranchId writer = kNoBranch;
  };
  struct Touch {
    bool hid_outer_value = false;  // A value from outside the loop was replaced or cleared.
  };

  std::map<std::string, Value, std::less<>> values_;
  std::map<BranchId, std::map<std::string, Touch, std::less<>>> touched_;  // By loop.
};

}  // namespace pawl::replay

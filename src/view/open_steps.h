// What a run has asked for and not got yet, as its log tells.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "replay/entry.h"
#include "replay/log.h"

namespace pawl::view {

struct OpenStep {
  replay::CommandKind kind{};
  std::string name;  // Task type, signal, promise, child, operation …; of a timer its id, if named.
  std::string id;    // Of the command, where it has one.
  std::string location;
  std::int64_t time_ms = 0;    // Since when.
  std::int64_t number_ms = 0;  // Duration of a timer, or the longest wait; 0: none.
};

// Tasks, operations, timers, promises, children and waits for signals without an outcome, in order
// of the log. A signal goes to the oldest open wait of its name; what code took in passing is not
// in the log.
std::vector<OpenStep> open_steps(const replay::Log& log);

}  // namespace pawl::view

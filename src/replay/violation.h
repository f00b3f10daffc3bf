// Violation: the report for code that disagrees with its history, as data and as text.
// Value types.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "replay/log.h"

namespace pawl::replay {

// Each kind has a code that never changes its meaning.
enum class ViolationKind : std::uint8_t {
  kKind,      // PAWL-1001: another kind of command stands there.
  kName,      // PAWL-1002: the same kind with another type, name, key or id.
  kVersion,   // PAWL-1003: the recorded step has a higher version.
  kRemoved,   // PAWL-1004: removed() names another step than the recorded one.
  kLeftover,  // PAWL-1005: the code ended, history goes on.
  kEnded,     // PAWL-1006: history ended, the code goes on.
  kOutcome,   // PAWL-1007: the workflow ended in another way than recorded.
};
std::string_view violation_code(ViolationKind kind);

struct Violation {
  ViolationKind kind{};
  std::string code;      // PAWL-1002
  std::string headline;  // Task type mismatch at Task(0): expected 'B', got 'A'
  std::string run_id;
  std::string location;         // {1}
  std::string label;            // {1} Task(0) B:1
  std::string recorded;         // What history holds.
  std::string asked;            // What the code asked for.
  std::string source_now;       // file:line of the call now,
  std::string source_then;      // and of the one that was recorded.
  std::string last_agreed;      // The last entry on which both agreed.
  std::string definition_then;  // Fingerprints.
  std::string definition_now;
  std::string advice;
  RecordId found = kNoRecord;  // The recorded entry in question, if there is one.

  // All of it, headline first.
  std::string render() const;
};

// What the code asked for, in the terms of a report.
struct Asked {
  CommandKind kind{};
  std::string name;  // Empty where there is none.
  std::string step_key;
  std::uint32_t version = 1;
  std::string source;
  bool removed = false;  // The call was removed().
  bool clear = false;    // State: clear, not set.
  std::string child_kind;
};

// One disagreement, as the matcher finds it. `what` and the two texts make the headline.
struct Mismatch {
  ViolationKind kind{};
  RecordId found = kNoRecord;  // The recorded entry in question.
  std::string what;            // "Task type mismatch"
  std::string expected;        // This code, quoted where it is a name.
  std::string got;             // History.
};

}  // namespace pawl::replay

// Error: what went wrong, as data. Returned by every Pawl call that can fail.
// Value type; not thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

namespace pawl {

// The numbers are part of the C ABI: append only, never reuse.
enum class ErrorCode : std::int32_t {
  kInvalidArgument = 1,  // The caller passed something that can never work.
  kInvalidState = 3,  // The call does not fit what happened before (e.g. after the end of the run).
  kLimitExceeded = 4,  // A stated limit was reached.
  kNotFound = 5,       // No such run, promise, …
  kAlreadyExists = 6,  // There is one already.
  kClosed = 7,         // The run has ended, or the engine has been stopped.
  kTimedOut = 8,       // The caller's own time limit.
  // The C ABI.
  kBadHandle = 9,    // Null, freed, or of another kind.
  kHandleBusy = 10,  // Another thread is inside.
  kInternal = 11,    // Out of memory, or a defect.
  kDeterminismViolation =
      20,            // Workflow code disagrees with its history; details by Machine::violation().
  kCorruptLog = 40,  // A log that no run can have written.
  kMalformedInput = 41,  // Text that is not in the format it should be in.
  // Stores; see store/store.h.
  kStoreBusy = 60,
  kStoreFull = 61,
  kStoreIo = 62,
  kStoreCorrupt = 63,
  kStoreUnusable = 64,
  kUnknownOutcome = 65,
};

struct [[nodiscard]] Error {
  ErrorCode code{};
  std::string message;  // One sentence that names the place; no trailing dot.
};

inline Error make_error(ErrorCode code, std::string message) {
  return Error{code, std::move(message)};
}

}  // namespace pawl

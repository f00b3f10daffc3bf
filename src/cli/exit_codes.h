// Exit codes, the same for every command. Documented in `pawl --help` and docs/cli.md: append only.
#pragma once

#include "base/error.h"

namespace pawl::cli {

inline constexpr int kExitOk = 0;
inline constexpr int kExitFailure = 1;    // Anything that has no number of its own.
inline constexpr int kExitUsage = 2;      // The command line, or JSON in it, is not right.
inline constexpr int kExitRunFailed = 3;  // `result`: the run has failed or was cancelled.
inline constexpr int kExitNotFound = 4;   // No such run, promise, …
inline constexpr int kExitMisfits = 5;    // A check has found something.
inline constexpr int kExitStore = 6;      // The store is missing, locked, wrong, newer or damaged.

inline int exit_code(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidArgument:
    case ErrorCode::kMalformedInput:
      return kExitUsage;
    case ErrorCode::kNotFound:
      return kExitNotFound;
    case ErrorCode::kStoreBusy:
    case ErrorCode::kStoreFull:
    case ErrorCode::kStoreIo:
    case ErrorCode::kStoreCorrupt:
    case ErrorCode::kStoreUnusable:
    case ErrorCode::kUnknownOutcome:
      return kExitStore;
    default:
      return kExitFailure;
  }
}

}  // namespace pawl::cli

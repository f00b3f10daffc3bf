// RunVisitor: is given runs one after the other, each with all that is stored of it, as it was at
// one moment. See Catalog::visit_runs().
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "replay/entry.h"
#include "store/rows.h"
#include "store/run_image.h"

namespace pawl::store {

// Runs with keys behind `after`, up to `upto`.
struct KeyRange {
  RunKey after = -kNever;
  RunKey upto = kNever;
};
inline KeyRange range_of(RunKey run) { return {run - 1, run}; }

// All there is of a run but its log.
struct VisitedRun {
  RunImage image;
  std::vector<std::string> children;  // Ids of the commands whose children are open.
};

// Where an entry was moved away from: by a loop that had finished `iteration` iterations.
struct MovedFrom {
  std::string_view loop;  // Its location.
  std::int64_t iteration = 0;
};

// Views are valid for the call. An error that a call returns ends the visit. The store that is read
// must not be called meanwhile; another one may be.
class RunVisitor {
 public:
  virtual ~RunVisitor() = default;

  virtual Result<void> begin_run(VisitedRun run) = 0;
  // The log in order of seq, then what loops have moved away from it and is still kept, as well.
  virtual Result<void> visit_entry(const replay::Entry& entry) = 0;
  virtual Result<void> visit_forgotten(const replay::Entry& entry, const MovedFrom& from) = 0;
  // kStoreCorrupt: the rest of the log, or of what was moved away, cannot be read.
  virtual Result<void> visit_damage(const Error& error, bool is_in_log) {
    static_cast<void>(is_in_log);
    return error;
  }
  virtual Result<void> end_run() = 0;
};

}  // namespace pawl::store

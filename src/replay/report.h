// Makes the report for a disagreement that the matcher found.
#pragma once

#include <string>

#include "replay/log.h"
#include "replay/matcher.h"
#include "replay/violation.h"

namespace pawl::replay {

// What a report says besides the disagreement itself.
struct ReportContext {
  std::string run_id;
  Matching matching{};
  std::string definition_then;
  std::string definition_now;
  RecordId last_agreed = kNoRecord;
};

// A command that the code asked for where history holds `mismatch.found`.
Violation report_mismatch(const Log& log, const ReportContext& context, const Mismatch& mismatch,
                          const Asked& asked);
// The code of `branch` ended, but history goes on with `leftover`.
Violation report_leftover(const Log& log, const ReportContext& context, BranchId branch,
                          RecordId leftover);
// History ended, but the code asked for a new command at `coordinate`.
Violation report_after_end(const Log& log, const ReportContext& context, BranchId branch,
                           const Coordinate& coordinate, const Asked& asked);
// The workflow ended as `end`, history says otherwise.
Violation report_outcome(const Log& log, const ReportContext& context, EntryKind end);

}  // namespace pawl::replay

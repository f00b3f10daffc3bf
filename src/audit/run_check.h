// Whether the log of a run can be read and replayed, and whether tasks, timers, promises and
// children fit it. Reads only.
#pragma once

#include <vector>

#include "audit/finding.h"
#include "base/result.h"
#include "store/store.h"

namespace pawl::audit {

struct RunCheckOptions {
  // The log is what an engine has written: it is loaded as for a replay. If not, only its seqs are
  // looked at.
  bool has_real_log = true;
};

// All that is found was so at one moment, also of a run that goes on meanwhile: of one that does
// not keep still for long enough nothing is said. A run that is not there has no findings.
Result<std::vector<Finding>> check_run(store::Store& store, store::RunKey run,
                                       const RunCheckOptions& options = {});

}  // namespace pawl::audit

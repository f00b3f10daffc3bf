// Whether the log of a run can be read and replayed, and whether tasks, timers, promises and
// children fit it. Reads only.
#pragma once

#include <functional>
#include <vector>

#include "audit/finding.h"
#include "base/result.h"
#include "store/catalog.h"

namespace pawl::audit {

struct RunCheckOptions {
  // The log is what an engine has written: it is loaded as for a replay. If not, only its seqs are
  // looked at.
  bool has_real_log = true;
};

// All that is found of a run was so at one moment, also of one that goes on meanwhile. `tell` is
// called after each run, in order of key, and must not call the store. False: enough, which is what
// this returns then.
Result<bool> check_runs(store::Catalog& catalog, const store::KeyRange& range,
                        const RunCheckOptions& options,
                        const std::function<bool(const std::vector<Finding>&)>& tell);

// A run that is not there has no findings.
Result<std::vector<Finding>> check_run(store::Catalog& catalog, store::RunKey run,
                                       const RunCheckOptions& options = {});

}  // namespace pawl::audit

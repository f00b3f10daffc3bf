// Audit: goes through all of a namespace, a page at a time, and tells of each thing that is not as
// it has to be. Reads only; a database in use gives no false alarms.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "audit/finding.h"
#include "base/result.h"
#include "store/store.h"

namespace pawl::audit {

struct Options {
  std::int64_t now_ms = 0;    // Not before anything that was written.
  bool reads_logs = true;     // If not, only rows are compared with each other.
  bool has_all_runs = false;  // See RowRuleOptions.
  bool has_real_logs = true;  // See RowRuleOptions, RunCheckOptions.
  // Only this run and what belongs to it.
  std::optional<store::RunKey> only;
};

struct Tell {
  std::function<void(const Finding&)> finding;
  // So many runs have been looked at. False: enough.
  std::function<bool(std::int64_t runs)> progress = [](std::int64_t) { return true; };
};

// Errors are those of the store; what is damaged is a finding. Returns the number of runs.
Result<std::int64_t> audit(store::Store& store, const Options& options, const Tell& tell);

// All of them.
Result<std::vector<Finding>> find_all(store::Store& store, const Options& options);

}  // namespace pawl::audit

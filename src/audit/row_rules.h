// What holds for the rows of a database between any two transactions, whoever has written to it, in
// whatever order. Each rule is one statement, so it sees one moment, whatever goes on meanwhile.
#pragma once

#include <cstdint>
#include <vector>

#include "audit/finding.h"
#include "base/result.h"
#include "store/catalog.h"

namespace pawl::audit {

struct RowRuleOptions {
  std::int64_t now_ms = 0;  // Not before anything that was written.
  // None was deleted, or put as it was elsewhere: numbers have no gaps.
  bool has_all_runs = false;
  // Logs are what an engine has written: how one ends fits the run's status.
  bool has_real_logs = true;
};

// Of rows of runs in this range, of the namespace of the catalog. Names of runs are not filled in.
Result<std::vector<Finding>> check_rows(store::Catalog& catalog, const store::KeyRange& page,
                                        const RowRuleOptions& options);

}  // namespace pawl::audit

#include "audit/audit.h"

#include <charconv>
#include <string>
#include <utility>

#include "audit/row_rules.h"
#include "audit/run_check.h"

namespace pawl::audit {

namespace {

constexpr int kPageRuns = 1000;

class Walk {
 public:
  Walk(store::Store& store, const Options& options, const Tell& tell)
      : store_(store), options_(options), tell_(tell) {}

  Result<std::int64_t> run() {
    if (options_.only.has_value()) {
      PAWL_TRY(look(store::range_of(*options_.only), 1));
      return count_;
    }
    store::KeyRange page;
    while (true) {
      PAWL_TRY_ASSIGN(const std::vector<store::RunKey> runs, read_keys(page.after));
      const bool is_last = runs.size() < kPageRuns;
      page.upto = is_last ? store::kNever : runs.back();
      PAWL_TRY_ASSIGN(const bool goes_on, look(page, runs.size()));
      if (is_last || !goes_on) {
        return count_;
      }
      page.after = page.upto;
    }
  }

 private:
  Result<std::vector<store::RunKey>> read_keys(store::RunKey after) {
    PAWL_TRY_ASSIGN(
        const store::Database::Rows rows,
        store_.catalog().query(
            "SELECT r.key FROM {schema}pawl_run AS r WHERE {by_key}r.ns = {ns} AND r.key > " +
            std::to_string(after) + " ORDER BY r.key LIMIT " + std::to_string(kPageRuns)));
    std::vector<store::RunKey> keys;
    for (const std::vector<std::string>& row : rows) {
      store::RunKey& key = keys.emplace_back();
      std::from_chars(row[0].data(), row[0].data() + row[0].size(), key);
    }
    return keys;
  }

  // False: enough.
  Result<bool> look(const store::KeyRange& page, std::size_t runs) {
    PAWL_TRY_ASSIGN(std::vector<Finding> findings,
                    check_rows(store_.catalog(), page,
                               {options_.now_ms, options_.has_all_runs, options_.has_real_logs}));
    for (Finding& finding : findings) {
      PAWL_TRY_ASSIGN(const std::optional<store::RunRow> row, store_.find_run(finding.run));
      if (row.has_value()) {
        finding.id = row->id;
        finding.number = row->number;
      }
      tell_.finding(finding);
    }
    if (!options_.reads_logs) {
      count_ += static_cast<std::int64_t>(runs);
      return tell_.progress(count_);
    }
    return check_runs(store_.catalog(), page, {options_.has_real_logs},
                      [&](const std::vector<Finding>& found) {
                        for (const Finding& finding : found) {
                          tell_.finding(finding);
                        }
                        return tell_.progress(++count_);
                      });
  }

  store::Store& store_;
  const Options& options_;
  const Tell& tell_;
  std::int64_t count_ = 0;
};

}  // namespace

Result<std::int64_t> audit(store::Store& store, const Options& options, const Tell& tell) {
  return Walk(store, options, tell).run();
}

Result<std::vector<Finding>> find_all(store::Store& store, const Options& options) {
  std::vector<Finding> findings;
  Tell tell;
  tell.finding = [&](const Finding& finding) { findings.push_back(finding); };
  PAWL_TRY(audit(store, options, tell));
  return findings;
}

}  // namespace pawl::audit

// The engine, part six: closed runs are removed when they are old enough, a few at a time, so that
// nobody waits for it.
#include <algorithm>

#include "engine/engine_impl.h"

namespace pawl::engine {

namespace {

// Runs removed by one batch.
constexpr std::size_t kRemovedAtOnce = 100;
// Between two looks: a tenth of the shortest age, but
constexpr std::int64_t kLookMsMin = 60'000;
constexpr std::int64_t kLookMsMax = 3'600'000;

}  // namespace

void EngineImpl::plan_retention() {
  retention_ms_ = store::kNever;
  for (const RetentionRule& rule : options_.retention) {
    const std::int64_t pause_ms = std::clamp(rule.age_ms / 10, kLookMsMin, kLookMsMax);
    retention_ms_ = std::min(retention_ms_, env_->now_ms() + pause_ms);
  }
}

void EngineImpl::begin_retention() {
  retention_ms_ = store::kNever;
  retain(0, env_->now_ms(), {});
}

// Removes what falls under a rule, from the oldest on; then goes on with the next rule. What is
// still needed stays, and is looked at again next time.
void EngineImpl::retain(std::size_t rule, std::int64_t now_ms, store::ClosedRun after) {
  if (stopping_) {
    return;
  }
  if (rule == options_.retention.size()) {
    plan_retention();
    set_alarm();
    return;
  }
  post(Lane::kReader, [this, rule, now_ms, after] {
    const RetentionRule& wanted = options_.retention[rule];
    Result<std::vector<store::ClosedRun>> found =
        store_->catalog().find_closed(wanted.status, now_ms - wanted.age_ms, after, kRemovedAtOnce);
    post(Lane::kLoop, [this, rule, now_ms, found = std::move(found)] {
      if (!found) {
        report(found.error(), "looking for old runs");
        plan_retention();
        set_alarm();
        return;
      }
      const bool is_last = found->size() < kRemovedAtOnce;
      const store::ClosedRun last = found->empty() ? store::ClosedRun() : found->back();
      const auto next = [this, rule, now_ms, is_last, last] {
        is_last ? retain(rule + 1, now_ms, {}) : retain(rule, now_ms, last);
      };
      if (found->empty()) {
        next();
        return;
      }
      auto left = std::make_shared<std::size_t>(found->size());
      for (const store::ClosedRun& run : *found) {
        store::DeleteRun remove;
        remove.run = run.key;
        submit<store::DeleteRun>(
            std::move(remove),
            [this, left, next](const Result<void>& result, const store::DeleteRun& written) {
              if (!result) {
                report(result.error(), "removing an old run");
              } else if (written.outcome == store::DeleteRun::Outcome::kDeleted) {
                count(counters_.removed);
              }
              if (--*left == 0) {
                next();
              }
            });
      }
    });
  });
}

}  // namespace pawl::engine

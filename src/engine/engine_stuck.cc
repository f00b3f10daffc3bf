// The engine, part five: runs that others could not go on with, and that this process may be able
// to. What other code has blocked is tried once by every engine that starts; after that, only runs
// that were recorded under the definition that is here: those cannot come back blocked by this code
// for the same reason, so two workers of different code never pass a run to and fro. The same holds
// for runs that need an activity to go on with their compensations, and find it here.
// And telling of runs that are blocked: who waits for their result would wait without a word.
#include <algorithm>

#include "engine/engine_impl.h"

namespace pawl::engine {

namespace {

// Reports that are remembered, so as not to repeat them. More are blocked by one bad deploy than
// anybody reads.
constexpr std::size_t kToldMax = 10'000;

}  // namespace

void EngineImpl::look_for_stuck() {
  if (!started_ || stopping_) {
    return;
  }
  if (stuck_after_) {
    look_for_stuck_again_ = true;
    return;
  }
  stuck_after_ = 0;
  claim_stuck();
}

// The next part of the search, if one is going on and there is room for what it finds.
void EngineImpl::claim_stuck() {
  if (!stuck_after_ || is_claiming_stuck_ || is_reading_workers_ || is_registering_ || stopping_) {
    return;
  }
  const std::size_t limit = std::min(kClaimLimit, free_places());
  if (limit == 0) {
    return;  // When some have been given back.
  }
  store::ClaimStuck stuck;
  for (const auto& [kind, definition] : definitions_) {
    const bool only_own = has_tried_all_ || definition.on_change == OnChange::kRefuse;
    if (!only_own || !definition.fingerprint.empty()) {
      stuck.codes.push_back({kind, definition.fingerprint, only_own});
    }
  }
  stuck.left = left_;
  stuck.considered = workers_;
  stuck.activities = activity_names_;
  if (stuck.codes.empty() && stuck.activities.empty()) {
    end_stuck_search();
    return;
  }
  is_claiming_stuck_ = true;
  beat();
  stuck.after = *stuck_after_;
  stuck.worker = worker_;
  stuck.limit = limit;
  stuck.now_ms = env_->now_ms();
  coming_ += limit;
  submit<store::ClaimStuck>(std::move(stuck), [this](const Result<void>& result,
                                                     store::ClaimStuck& done) {
    coming_ -= done.limit;
    if (!result) {
      report(result.error(), "looking for runs that were blocked");
      delayed_.push_back({back_off(), [this] {
                            is_claiming_stuck_ = false;
                            claim_stuck();
                          }});
      set_alarm();
      use_places();
      return;
    }
    for (store::Claim& claim : done.claims) {
      stuck_after_ = claim.run;
      take_over(claim);
    }
    is_claiming_stuck_ = false;
    if (!done.known && done.worker == worker_) {
      declared_dead();
    } else if (done.known && done.workers != workers_) {
      read_workers();  // Goes on then.
    } else if (done.known && done.claims.size() < done.limit && done.considered == done.workers) {
      end_stuck_search();
    }
    use_places();
  });
}

void EngineImpl::end_stuck_search() {
  stuck_after_.reset();
  if (!std::exchange(has_tried_all_, true)) {
    check_waiters();  // What is still blocked stays so.
  }
  if (std::exchange(look_for_stuck_again_, false)) {
    look_for_stuck();
  }
}

// Once, unless the run has gone on since, or the reason is another one. What belongs to this run is
// apart from the error, so that whoever counts equal errors sees one in all runs of a bad deploy.
void EngineImpl::report_blocked(const BlockedRun& run) {
  const std::size_t reason = std::hash<std::string>()(run.reason);
  const auto told = told_blocked_.find(run.key);
  if (told != told_blocked_.end() && told->second == reason) {
    return;
  }
  if (told_blocked_.size() >= kToldMax) {
    told_blocked_.clear();
  }
  told_blocked_[run.key] = reason;
  std::string text = run.reason.substr(0, run.reason.find('\n'));
  text += run.reason.starts_with(kDamagedLog)
              ? ". No code can go on with it: restore a copy of the store, or terminate the run"
              : ". Nothing is lost: deploy code that fits, and it goes on; 'pawl check --with "
                "PROGRAM' says beforehand whether a build does";
  report(
      make_error(ErrorCode::kInvalidState, std::move(text)),
      "run '" + run.id + "' of kind '" + run.kind + "' is blocked (see 'pawl why " + run.id + "')");
}

}  // namespace pawl::engine

// The engine, part seven: the lease of this worker, and the clock by which all leases are counted.
#include <algorithm>
#include <utility>

#include "engine/engine_impl.h"
#include "engine/store_clock.h"

namespace pawl::engine {

namespace {

// Of a worker that holds nothing: nobody waits for it to be declared dead, but it has to be seen
// that it is there, and it should not keep the store busy with that.
constexpr std::int64_t kRestingLeaseMs = 9 * 60'000;

// At least so often: clocks of machines go wrong by some milliseconds in that time.
constexpr std::int64_t kClockPauseMs = 3'600'000;

}  // namespace

// Before anything is claimed, and while anything is held.
void EngineImpl::beat() {
  const std::int64_t now_ms = env_->now_ms();
  const std::int64_t again_ms = now_ms + options_.lease_ms / 3;
  beat_ms_ = std::min(beat_ms_, again_ms);
  if (is_resting_ || lease_until_ms_ - now_ms <= options_.lease_ms * 2 / 3) {
    is_resting_ = false;
    extend_lease(now_ms + options_.lease_ms, again_ms);
  }
}

// While nothing is held.
void EngineImpl::rest() {
  const std::int64_t now_ms = env_->now_ms();
  const std::int64_t lease_ms = std::max(options_.lease_ms, kRestingLeaseMs);
  is_resting_ = true;
  extend_lease(now_ms + lease_ms, now_ms + lease_ms / 3, std::exchange(has_given_back_, false));
}

void EngineImpl::extend_lease(std::int64_t until_ms, std::int64_t again_ms, bool begins_rest) {
  beat_ms_ = again_ms;
  lease_until_ms_ = until_ms;
  submit<store::Heartbeat>(
      store::Heartbeat{.worker = worker_, .expires_ms = until_ms, .begins_rest = begins_rest},
      [this](const Result<void>& result, store::Heartbeat& done) {
        if (!result) {
          report(result.error(), "renewing the lease");
          lease_until_ms_ = 0;
          is_resting_ = false;
          has_given_back_ = has_given_back_ || done.begins_rest;
          beat_ms_ = back_off();
        } else if (!done.known && done.worker == worker_) {
          declared_dead();
        }
        set_alarm();
      });
  look_at_clock();
}

void EngineImpl::keep_to_clock() {
  has_clock_ = true;
  post(Lane::kLoop, [this] {
    clock_ms_ = env_->now_ms() + kClockPauseMs;
    set_alarm();
  });
}

void EngineImpl::look_at_clock() {
  if (!has_clock_) {
    return;
  }
  clock_ms_ = env_->now_ms() + kClockPauseMs;
  post(Lane::kReader, [this] {
    const Result<bool> followed = follow_clock(*store_, *env_);
    if (!followed) {
      report(followed.error(), "reading the time of the database");
    }
  });
}

}  // namespace pawl::engine

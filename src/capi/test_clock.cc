#include "capi/test_clock.h"

#include <algorithm>

#include "base/moment.h"

namespace pawl::capi {

namespace {

// What is further away than this will not happen: heartbeats, mostly.
constexpr std::int64_t kHorizonMs = std::int64_t{20} * 365 * 24 * 3600 * 1000;

}  // namespace

std::int64_t TestClock::now_ms() {
  const std::scoped_lock lock(mutex_);
  return sim_.now_ms();
}

std::uint64_t TestClock::random() {
  const std::scoped_lock lock(mutex_);
  return sim_.random();
}

void TestClock::post(engine::Lane lane, engine::Job job) {
  {
    const std::scoped_lock lock(mutex_);
    sim_.post(lane, std::move(job));
  }
  if (told_) {
    told_();
  }
}

void TestClock::set_alarm(std::int64_t at_ms, engine::Job job) {
  const std::scoped_lock lock(mutex_);
  sim_.set_alarm(at_ms, std::move(job));
}

bool TestClock::wait(engine::Latch& latch, std::int64_t /*timeout_ms*/) {
  work();
  return latch.is_set();
}

void TestClock::work() {
  const std::scoped_lock lock(mutex_);
  sim_.run_ready();
}

bool TestClock::skip() {
  const std::scoped_lock lock(mutex_);
  const std::int64_t now = sim_.now_ms();
  if (!targets_.empty() && targets_.begin()->first <= now) {
    const std::function<void()> reached = std::move(targets_.begin()->second);
    targets_.erase(targets_.begin());
    reached();
    return true;
  }
  std::int64_t next = waiters_ > 0 ? sim_.next_alarm_ms() : add_ms(now, kHorizonMs);
  if (!targets_.empty()) {
    next = std::min({next, sim_.next_alarm_ms(), targets_.begin()->first});
  }
  if (next - now >= kHorizonMs) {
    return false;
  }
  sim_.run_until(next);
  return true;
}

void TestClock::add_waiter(int count) {
  const std::scoped_lock lock(mutex_);
  waiters_ += count;
}

void TestClock::wait_for(std::int64_t at_ms, std::function<void()> reached) {
  {
    const std::scoped_lock lock(mutex_);
    targets_.emplace(at_ms, std::move(reached));
  }
  if (told_) {
    told_();
  }
}

}  // namespace pawl::capi

#include "engine/sim_environment.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/check.h"

namespace pawl::engine {

namespace {

constexpr std::int64_t kNoAlarm = std::numeric_limits<std::int64_t>::max();

}  // namespace

SimEnvironment::SimEnvironment(std::uint64_t seed, std::int64_t start_ms)
    : random_(seed), order_(seed ^ 0x9e3779b97f4a7c15ULL), now_ms_(start_ms), alarm_ms_(kNoAlarm) {}

void SimEnvironment::post(Lane lane, Job job) {
  lanes_[static_cast<std::size_t>(lane)].push_back(std::move(job));
}

void SimEnvironment::set_alarm(std::int64_t at_ms, Job job) {
  alarm_ms_ = at_ms;
  alarm_job_ = std::move(job);
}

bool SimEnvironment::step() {
  // Serial lanes offer their first job, the activity lane any.
  const std::size_t activities = lanes_[static_cast<std::size_t>(Lane::kActivity)].size();
  std::size_t choices = activities;
  for (std::size_t lane = 0; lane < 3; ++lane) {
    choices += lanes_[lane].empty() ? 0 : 1;
  }
  if (choices == 0) {
    return false;
  }
  std::size_t choice = order_() % choices;
  Job job;
  for (std::size_t lane = 0; lane < 3 && !job; ++lane) {
    if (lanes_[lane].empty()) {
      continue;
    }
    if (choice == 0) {
      job = std::move(lanes_[lane].front());
      lanes_[lane].pop_front();
    } else {
      --choice;
    }
  }
  if (!job) {
    auto& jobs = lanes_[static_cast<std::size_t>(Lane::kActivity)];
    job = std::move(jobs[choice]);
    jobs.erase(jobs.begin() + static_cast<std::ptrdiff_t>(choice));
  }
  ++steps_;
  job();
  return true;
}

void SimEnvironment::run_ready() {
  while (step()) {
  }
}

void SimEnvironment::ring() {
  now_ms_ = std::max(now_ms_, alarm_ms_);
  alarm_ms_ = kNoAlarm;
  post(Lane::kLoop, std::exchange(alarm_job_, nullptr));
}

void SimEnvironment::run_until(std::int64_t until_ms) {
  run_ready();
  while (alarm_ms_ <= until_ms) {
    ring();
    run_ready();
  }
  now_ms_ = std::max(now_ms_, until_ms);
}

bool SimEnvironment::wait(Latch& latch, std::int64_t timeout_ms) {
  const std::int64_t deadline = timeout_ms < 0 ? kNoAlarm : add_ms(now_ms_, timeout_ms);
  while (!latch.is_set()) {
    if (step()) {
      continue;
    }
    if (alarm_ms_ == kNoAlarm || alarm_ms_ > deadline) {
      PAWL_CHECK(timeout_ms >= 0);  // Else nothing could ever set the latch.
      now_ms_ = std::max(now_ms_, deadline);
      return latch.is_set();
    }
    ring();
  }
  return true;
}

void SimEnvironment::drop_all() {
  for (std::deque<Job>& lane : lanes_) {
    lane.clear();
  }
  alarm_ms_ = kNoAlarm;
  alarm_job_ = nullptr;
}

}  // namespace pawl::engine

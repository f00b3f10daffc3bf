// SimEnvironment: one thread, virtual time, and an order of jobs drawn from a seed. Time passes
// only when there is nothing else to do, so sleeping costs nothing; the same seed gives the same
// run. Not thread-safe: everything happens inside of the calls below.
#pragma once

#include <array>
#include <cstddef>
#include <deque>
#include <functional>
#include <random>

#include "base/moment.h"
#include "engine/environment.h"

namespace pawl::engine {

class SimEnvironment final : public Environment {
 public:
  explicit SimEnvironment(std::uint64_t seed = 1, std::int64_t start_ms = 1'700'000'000'000);

  std::int64_t now_ms() override { return now_ms_; }
  void set_clock(std::int64_t /*now_ms*/) override {}
  std::uint64_t random() override { return random_(); }
  void post(Lane lane, Job job) override;
  void hand_over(Lane lane, Job job) override { post(lane, std::move(job)); }
  void set_alarm(std::int64_t at_ms, Job job) override;
  bool wait(Latch& latch, std::int64_t timeout_ms) override;

  // Runs one job, drawn from those that could be next. False: there is none.
  bool step();
  // Runs jobs until there is none; time stands still.
  void run_ready();
  // Runs jobs and lets time pass until there is nothing to do until then. Time ends at `until_ms`.
  void run_until(std::int64_t until_ms);
  void advance(std::int64_t ms) { run_until(add_ms(now_ms_, ms)); }
  // When the next alarm goes off; store::kNever if none is set.
  std::int64_t next_alarm_ms() const { return alarm_ms_; }
  // Jobs that have run.
  std::uint64_t steps() const { return steps_; }
  // Throws away all that is to be done: the process is gone.
  void drop_all();

 private:
  void ring();

  std::mt19937_64 random_;
  std::mt19937_64 order_;
  std::int64_t now_ms_;
  std::array<std::deque<Job>, 4> lanes_;
  std::int64_t alarm_ms_;
  Job alarm_job_;
  std::uint64_t steps_ = 0;
};

}  // namespace pawl::engine

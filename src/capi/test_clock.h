// TestClock: a simulated environment for engines of tests, usable from several threads: whoever
// polls does the work, and lets time pass when there is nothing to do and somebody waits for it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <utility>

#include "engine/environment.h"
#include "engine/sim_environment.h"

namespace pawl::capi {

class TestClock final : public engine::Environment {
 public:
  std::int64_t now_ms() override;
  void set_clock(std::int64_t /*now_ms*/) override {}
  std::uint64_t random() override;
  void post(engine::Lane lane, engine::Job job) override;
  void hand_over(engine::Lane lane, engine::Job job) override { post(lane, std::move(job)); }
  void set_alarm(std::int64_t at_ms, engine::Job job) override;
  // Does what is to be done; time stands still.
  bool wait(engine::Latch& latch, std::int64_t timeout_ms) override;

  // Told when something was posted that others than the thread itself have to do. Once, first.
  void on_post(std::function<void()> told) { told_ = std::move(told); }

  // Does all that can be done now.
  void work();
  // Goes to the next moment at which something is due, not further than somebody waits for. False:
  // there is none. When nothing is left to do now.
  bool skip();
  // Somebody waits for what may happen at any time, or does not any more.
  void add_waiter(int count);
  // Somebody waits for this moment; `reached` is called then.
  void wait_for(std::int64_t at_ms, std::function<void()> reached);

 private:
  std::recursive_mutex mutex_;  // Jobs post jobs.
  engine::SimEnvironment sim_;
  std::function<void()> told_;
  int waiters_ = 0;
  std::multimap<std::int64_t, std::function<void()>> targets_;
};

}  // namespace pawl::capi

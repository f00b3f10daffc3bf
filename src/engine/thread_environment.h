// ThreadEnvironment: the real clock, the system's randomness, and a pool of threads.
//
// The three serial lanes are strands on the pool: any thread may run their jobs, one at a time. So
// a lone run goes from its activity through the loop and the commit to its next activity on one
// thread, while many runs spread over all of them. Short activities get no more threads than there
// are processors; those that turn out to take long get as many as are allowed.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <random>
#include <thread>
#include <vector>

#include "engine/environment.h"

namespace pawl::engine {

struct ThreadOptions {
  std::size_t activities = 64;  // At once. Threads are made when they are needed.
};

class ThreadEnvironment final : public Environment {
 public:
  explicit ThreadEnvironment(ThreadOptions options);
  // Runs what is posted, and waits for it. No alarm goes off any more.
  ~ThreadEnvironment() override;

  std::int64_t now_ms() override;
  void set_clock(std::int64_t now_ms) override;
  std::uint64_t random() override;
  void post(Lane lane, Job job) override;
  void hand_over(Lane lane, Job job) override;
  void set_alarm(std::int64_t at_ms, Job job) override;
  bool wait(Latch& latch, std::int64_t timeout_ms) override;

 private:
  static constexpr std::size_t kStrands = 3;

  struct Strand {
    std::vector<Job> jobs;
    std::vector<Job> batch;  // Being run; kept for its memory.
    bool scheduled = false;  // In ready_, or being run.
  };
  // What a thread of the pool has given out and not yet put where others see it.
  struct Outbox;

  static Outbox& outbox();  // This thread's.
  std::unique_lock<std::mutex> lock();
  void add(Lane lane, Job job);
  void put(Lane lane, Job job);
  void flush(Outbox& outbox);
  void unlock_and_wake(std::unique_lock<std::mutex>& held);
  void work();
  void run_strand(std::unique_lock<std::mutex>& held, Strand& strand);
  bool has_ready() const;
  bool may_wake() const;
  bool is_activity_late();
  void keep_time();

  const ThreadOptions options_;
  // What to add to the time since the machine has started; kMachineClock: its own clock counts.
  std::atomic<std::int64_t> clock_offset_ms_;
  std::mutex mutex_;
  std::condition_variable work_;
  std::array<Strand, kStrands> strands_;
  std::deque<std::size_t> ready_;  // Strands with jobs that no thread runs yet.
  std::deque<Job> activities_;
  std::size_t running_activities_ = 0;
  std::uint64_t taken_ = 0;         // Activities, so far.
  std::uint64_t taken_before_ = 0;  // At the timekeeper's last look.
  bool is_watched_ = false;         // The timekeeper looks whether activities are taken.
  bool is_slow_ = false;            // They were not, for a while.
  std::size_t idle_ = 0;
  std::size_t waking_ = 0;  // Idle ones that were told and have not come yet.
  bool ending_ = false;
  std::vector<std::thread> threads_;
  std::mt19937_64 random_;
  std::mutex random_mutex_;

  std::mutex alarm_mutex_;
  std::condition_variable alarm_changed_;
  std::int64_t alarm_ms_;
  std::int64_t sleeping_until_ms_;
  Job alarm_job_;
  bool alarm_ending_ = false;
  bool is_looking_ = false;
  std::thread timekeeper_;
};

std::shared_ptr<Environment> make_thread_environment(ThreadOptions options = {});

}  // namespace pawl::engine

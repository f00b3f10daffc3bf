// Environment: what the engine takes from the machine it runs on: time, randomness, threads. With
// another one the same engine runs in a single thread on virtual time.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>

#include "engine/job.h"

namespace pawl::engine {

// Where a job runs. Jobs of the first three lanes run one at a time, in order of posting.
enum class Lane : std::uint8_t {
  kLoop,      // The engine itself; never blocks.
  kStore,     // Commits.
  kReader,    // Long reads.
  kActivity,  // The user's activities: many at once, may block.
};

// Something that a thread waits for, once. Thread-safe.
class Latch {
 public:
  void set();
  bool is_set() const;

 private:
  friend class ThreadEnvironment;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool set_ = false;
};

class Environment {
 public:
  virtual ~Environment() = default;

  // Milliseconds since 1970. Any thread.
  virtual std::int64_t now_ms() = 0;
  // It is this time now, whatever the machine's clock says; from here on it is counted. Time that
  // is not real takes no notice. Any thread.
  virtual void set_clock(std::int64_t now_ms) = 0;
  // 64 random bits. Any thread.
  virtual std::uint64_t random() = 0;
  // Any thread.
  virtual void post(Lane lane, Job job) = 0;
  // The same, from within a job that ends right after this call: its thread may go on with `job`,
  // which saves waking another one.
  virtual void hand_over(Lane lane, Job job) = 0;
  // From the loop only: has `job` run there once `at_ms` is reached. There is one alarm: a new one
  // replaces it, unless it is posted already. store::kNever: none.
  virtual void set_alarm(std::int64_t at_ms, Job job) = 0;
  // From outside of all lanes: returns true when the latch is set, false after `timeout_ms`
  // (negative: never) of this environment's time.
  virtual bool wait(Latch& latch, std::int64_t timeout_ms) = 0;
};

}  // namespace pawl::engine

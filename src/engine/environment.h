// Environment: what the engine takes from the machine it runs on: time, randomness, threads. With
// another one the same engine runs in a single thread on virtual time.
#pragma once

#include <cstdint>
#include <functional>

namespace pawl::engine {

using Job = std::function<void()>;

// Where a job runs. Jobs of the first three lanes run one at a time, in order of posting.
enum class Lane : std::uint8_t {
  kLoop,      // The engine itself; never blocks.
  kStore,     // Commits.
  kReader,    // Long reads.
  kActivity,  // The user's activities: many at once, may block.
};

class Environment {
 public:
  virtual ~Environment() = default;

  // Milliseconds since 1970. Any thread.
  virtual std::int64_t now_ms() = 0;
  // 64 random bits. Any thread.
  virtual std::uint64_t random() = 0;
  // Any thread.
  virtual void post(Lane lane, Job job) = 0;
  // From the loop only: true if nothing else waits to be run there.
  virtual bool is_loop_idle() = 0;
  // From the loop only: has `job` run there once `at_ms` is reached. There is one alarm: a new one
  // replaces it; kNever of the store: none.
  virtual void set_alarm(std::int64_t at_ms, Job job) = 0;
  // From outside of all lanes: returns when `done` does. It is asked again after each job.
  virtual void wait_until(const std::function<bool()>& done) = 0;
};

}  // namespace pawl::engine

// Subject: an engine with the workflows of the bench, and what is noted of what they do.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/engine.h"
#include "engine/environment.h"

namespace pawl::detail {
class Client;
}  // namespace pawl::detail

namespace pawl::workloads {

using Clock = std::chrono::steady_clock;

inline double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// When each step of each run was executed. Written by activities; steps of one run follow one
// another.
class Recorder {
 public:
  void prepare(std::size_t runs, std::size_t steps) {
    const std::lock_guard<std::mutex> lock(mutex_);
    times_.assign(runs, {});
    for (auto& times : times_) {
      times.reserve(steps);
    }
  }
  void note(std::size_t run) {
    if (run < times_.size()) {
      times_[run].push_back(Clock::now());
    }
  }
  // Milliseconds from each step to the next one of its run, sorted.
  std::vector<double> gaps_ms() const {
    std::vector<double> gaps;
    for (const auto& times : times_) {
      for (std::size_t i = 1; i < times.size(); ++i) {
        gaps.push_back(std::chrono::duration<double, std::milli>(times[i] - times[i - 1]).count());
      }
    }
    std::sort(gaps.begin(), gaps.end());
    return gaps;
  }
  const std::vector<Clock::time_point>& times(std::size_t run) const { return times_[run]; }

 private:
  std::mutex mutex_;
  std::vector<std::vector<Clock::time_point>> times_;
};

// What is noted of the steps that this process executes: activities are plain functions.
struct Observed {
  Recorder recorder;
  std::ofstream* step_file = nullptr;
  std::mutex step_file_mutex;
  std::atomic<std::int64_t> continued_ns = 0;  // When a signal was received.
  std::atomic<std::uint64_t> executed_steps = 0;
  std::atomic<std::uint64_t> last_step = 0;  // The process dies in this one; 0: in none.
};
inline Observed observed;  // NOLINT

std::int64_t now_ns();

// What is to be run, and how much of it at once.
struct Load {
  std::string kind;
  std::string prefix;                // Of the runs' ids; their numbers follow.
  std::vector<std::size_t> numbers;  // Of the runs.
  std::size_t open_max = 1;          // Runs that are open at a time.
  std::size_t starts_max = 1000;     // Starts that have no answer yet at a time.
  std::function<std::string(std::size_t)> input;
  std::function<void(std::size_t)> on_start;       // On the loop, here and below.
  std::function<void(std::size_t)> on_end;         // Completed.
  std::function<void(std::size_t ended)> on_tick;  // Ten times a second, by the caller of run().
};

// 0, 1, 2, …
std::vector<std::size_t> first_numbers(std::size_t count);
// Runs of so many steps, which are noted by the number of the run.
Load steps_load(const std::string& prefix, std::vector<std::size_t> numbers, std::size_t steps,
                std::size_t concurrency);

// Called without a thread for each caller. A store that fails ends the bench: a figure with retries
// in it says nothing.
class Subject {
 public:
  explicit Subject(const std::string& url);
  ~Subject();
  Subject(const Subject&) = delete;
  Subject& operator=(const Subject&) = delete;

  engine::Engine& engine();
  // Waits until `is_done` is set, with `on_tick` ten times a second.
  Result<void> wait(engine::Latch& is_done, const std::function<void()>& on_tick = {});
  // Runs all of it. The first error, if any.
  Result<void> run(const Load& load);
  // Only starts all of it. Returns when each has taken a turn.
  Result<void> start(Load load);
  void stop();

 private:
  class Trouble;
  struct Loading;

  void start_next(const std::shared_ptr<Loading>& loading);
  void run_ended(const std::shared_ptr<Loading>& loading, std::size_t number,
                 const Result<engine::RunOutcome>& outcome);

  std::shared_ptr<Trouble> trouble_;
  std::shared_ptr<engine::Environment> environment_;
  std::unique_ptr<detail::Client> client_;
};

}  // namespace pawl::workloads

// Run: the code of one run as the templates in include/pawl see it (pawl/detail/run.hpp): who waits
// for what, and the way to the replay core. Reference-counted, since a Context may be kept by
// anybody; but it works only while the code of its run is being executed, on that thread.
#pragma once

#include <atomic>
#include <coroutine>
#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "engine/program.h"
#include "pawl/detail/run.hpp"
#include "pawl/errors.hpp"

namespace pawl::detail {

// Stands between the code of a run and its machine, for checks: sees what the code asks for, and
// may change it.
class CodeProbe {
 public:
  virtual ~CodeProbe() = default;
  virtual Result<replay::Opened> open(replay::Machine& machine,
                                      const replay::CommandRequest& command,
                                      const Request& request) = 0;
  virtual Result<void> removed(replay::Machine& machine, const replay::CommandRequest& command,
                               const Request& request) = 0;
  virtual void entered(replay::BranchId loop, replay::BranchId iteration) = 0;
  // The code of a branch, or of the loop's present iteration, is about to end. `failure` is what
  // has left it, or null.
  virtual Result<void> before_end(replay::Machine& machine, replay::BranchId branch,
                                  const engine::Failure* failure) = 0;
  virtual Result<void> before_iteration_end(replay::Machine& machine, replay::BranchId loop) = 0;
};

// What all runs of an engine share.
struct Settings {
  std::size_t payload_bytes_max = std::size_t{64} << 20U;
  // Test kit: functions to be called instead of operations of these names.
  std::map<std::string, ActivityFunction, std::less<>> fakes;
  CodeProbe* probe = nullptr;  // Checks.
};

// Thrown by recur(). Not an exception of the standard library's, so that ordinary handlers let it
// pass.
struct Recurred {};

class Run {
 public:
  Run(engine::RunHost* host, std::shared_ptr<const Settings> settings)
      : host_(host), settings_(std::move(settings)) {}

  // The run that this thread executes; throws UsageError if it is another one than `run`.
  static Run& current(const RunRef& run, std::string_view call);

  // While one exists, this thread executes the code of `run`.
  class Executing {
   public:
    explicit Executing(Run* run);
    Executing(const Executing&) = delete;
    Executing& operator=(const Executing&) = delete;
    ~Executing();

   private:
    Run* previous_;
  };

  engine::RunHost& host() { return *host_; }
  replay::Machine& machine() { return host_->machine(); }
  const Settings& settings() const { return *settings_; }
  const std::shared_ptr<const Settings>& shared_settings() const { return settings_; }

  // Throws what `error` means to workflow code; `call` is where.
  [[noreturn]] static void raise(std::string_view call, const Error& error);
  template <class T>
  static T check(std::string_view call, Result<T>&& result) {
    if (!result) {
      raise(call, result.error());
    }
    if constexpr (!std::is_void_v<T>) {
      return *std::move(result);
    }
  }
  // Throws PayloadTooLarge.
  void check_size(std::string_view what, std::size_t bytes) const {
    if (bytes > settings_->payload_bytes_max) {
      throw PayloadTooLarge(what, bytes, settings_->payload_bytes_max);
    }
  }

  // --- Awaits ---
  void block(Await& await) { blocked_[await.id_] = &await; }
  void unblock(const Await& await) { blocked_.erase(await.id_); }
  void add_ready(std::coroutine_handle<> waiting) { ready_.push_back(waiting); }
  // Goes on with what waited for it.
  void resume(const replay::AwaitStatus& over);
  void run_ready();

  void recur(std::string input);
  const std::optional<std::string>& next_input() const { return next_input_; }

  // The code is gone, or going: nothing works from now on.
  void close() { is_closed_ = true; }

  std::size_t memory_bytes() const;

 private:
  friend void retain(Run* run) noexcept;
  friend void release(Run* run) noexcept;
  friend void* allocate_frame(std::size_t bytes);
  friend void free_frame(void* frame, std::size_t bytes) noexcept;
  ~Run() = default;

  engine::RunHost* host_;
  std::shared_ptr<const Settings> settings_;
  std::atomic<std::uint32_t> references_ = 0;
  std::unordered_map<AwaitId, Await*> blocked_;
  std::deque<std::coroutine_handle<>> ready_;
  std::optional<std::string> next_input_;  // Of recur().
  std::size_t frame_bytes_ = 0;
  bool is_closed_ = false;
};

}  // namespace pawl::detail

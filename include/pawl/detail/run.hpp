// What the templates of the SDK ask of a run. The implementation is in the library; nothing here is
// for users.
#pragma once

#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <optional>
#include <source_location>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "pawl/event.hpp"
#include "pawl/options.hpp"

namespace pawl {

class Activity;
class Transaction;

// Kinds of steps, for Context::removed().
enum class StepKind : std::uint8_t {
  kTask = 1,
  kOperation = 2,
  kTimer = 3,
  kPromise = 4,
  kChild = 5,
  kState = 6,
  kSignal = 7,
  kBranch = 8,
  kLoop = 9,
  kVersionCheck = 10,
  kCompensation = 11,
  kCancelTask = 12,
  kCancelTimer = 13,
};

// Which run this is.
struct Info {
  std::string id;            // As given at the start.
  std::uint32_t number = 1;  // Of the runs that had this id.
  std::string kind;
  std::string uuid;
};

namespace detail {

using FutureId = std::uint32_t;
using BranchId = std::uint32_t;
using AwaitId = std::uint64_t;

// The code of one run in memory. It is there as long as somebody has a reference; most calls throw
// UsageError unless the code of just this run is what the calling thread executes.
class Run;
void retain(Run* run) noexcept;
void release(Run* run) noexcept;

class RunRef {
 public:
  RunRef() = default;
  explicit RunRef(Run* run) noexcept : run_(run) { retain(run_); }
  RunRef(const RunRef& other) noexcept : run_(other.run_) { retain(run_); }
  RunRef(RunRef&& other) noexcept : run_(std::exchange(other.run_, nullptr)) {}
  RunRef& operator=(RunRef other) noexcept {
    std::swap(run_, other.run_);
    return *this;
  }
  ~RunRef() { release(run_); }

  Run* get() const noexcept { return run_; }
  friend bool operator==(const RunRef&, const RunRef&) = default;

 private:
  Run* run_ = nullptr;
};

// A name as the first argument of a call, with the place of the call.
struct Name {
  template <class Text>
    requires std::is_convertible_v<const Text&, std::string_view>
  // NOLINTNEXTLINE(google-explicit-constructor): made where a text is passed.
  Name(const Text& from, std::source_location where = std::source_location::current())
      : text(from), at(where) {}

  std::string_view text;
  std::source_location at;
};

// For checks: a result that the step might come to, encoded. Null: none can be made up.
struct Sample {
  std::string (*make)() = nullptr;
  bool is_nothing = false;  // It has no value, so there is only this one.
};

// A command, borrowed for the call.
struct Request {
  std::string_view call;  // "run", for messages.
  StepKind kind{};
  BranchId branch = 0;
  std::uint32_t version = 0;
  std::string_view name = {};
  std::string_view child_kind = {};
  FutureId target = 0;
  std::string_view step_key = {};
  std::source_location at = {};
  const std::string* payload = nullptr;
  bool clear = false;
  Millis duration = Millis::zero();
  std::uint32_t checkpoint_every = 1;
  std::string extra = {};
  Sample sample = {};
};

struct Opened {
  FutureId future = 0;
  BranchId branch = 0;
  bool must_execute = false;
};

Opened open(const RunRef& run, const Request& request);
// Throws PayloadTooLarge.
void check_size(const RunRef& run, std::string_view what, std::size_t bytes);

// One attempt of an activity: returns its encoded result, or throws.
using ActivityFunction = std::function<std::string(Activity&)>;
void execute(const RunRef& run, FutureId operation, std::string name, std::string input,
             ActivityFunction function, const Retry& retry, Millis timeout);
void transact(const RunRef& run, FutureId operation,
              std::function<std::string(Transaction&)> function, const Retry& retry);
// The event's attributes, encoded. Throws UsageError or PayloadTooLarge.
std::string check_send(const RunRef& run, std::string_view run_id, std::string_view signal,
                       std::size_t payload_bytes, const Event& event);
void send(const RunRef& run, FutureId operation, std::string run_id, std::string signal,
          std::string payload, std::string extra, const Event& event);

std::string task_extra(const TaskOptions& options);
std::string child_extra(const ChildOptions& options);

// --- Awaits ---

// One await. Lives in the coroutine frame that waits; when the frame is destroyed, it is given up.
class Await {
 public:
  Await(RunRef run, bool is_shielded) noexcept : run_(std::move(run)), is_shielded_(is_shielded) {}
  Await(const Await&) = delete;
  Await& operator=(const Await&) = delete;
  ~Await();

  // True: need not wait. `call` is for messages.
  bool begin(std::string_view call, bool for_any, std::span<const FutureId> futures);
  void suspend(std::coroutine_handle<> waiting);
  // What decided it: for any, the winner; for all, the one that failed, or 0. Throws Cancelled.
  FutureId end();

  const RunRef& run() const noexcept { return run_; }

 private:
  friend class Run;

  RunRef run_;
  AwaitId id_ = 0;  // While it is blocked.
  std::coroutine_handle<> waiting_;
  FutureId decided_by_ = 0;
  bool is_shielded_ = false;
  bool is_cancelled_ = false;
};

// The payload of a completed future; throws what it failed with.
std::string_view value_of(const RunRef& run, FutureId future);
// Of the signal that completed it.
Event event_of(const RunRef& run, FutureId future);
// "signal 'approved'".
std::string describe(const RunRef& run, FutureId future);
std::string promise_token(const RunRef& run, std::string_view promise);
// Goes on with `waiting` when what runs now is blocked.
void make_ready(const RunRef& run, std::coroutine_handle<> waiting);

// --- Structure ---

// `error` is what has left its code, if anything has.
void close_branch(const RunRef& run, BranchId branch, const std::exception_ptr& error);
struct LoopStart {
  std::string state;
  bool is_done = false;
  std::string result;
};
LoopStart loop_start(const RunRef& run, BranchId loop);
BranchId enter_iteration(const RunRef& run, BranchId loop);
FutureId continue_loop(const RunRef& run, BranchId loop, std::string_view state);
FutureId end_loop(const RunRef& run, BranchId loop, std::string_view state,
                  std::string_view result);
void abandon_loop(const RunRef& run, BranchId loop);
void removed(const RunRef& run, const Request& request);
std::uint32_t check_version(const RunRef& run, BranchId branch, std::uint32_t latest,
                            std::source_location at);
[[noreturn]] void recur(const RunRef& run, std::string input);

// --- Reads ---

std::optional<std::string_view> state(const RunRef& run, std::string_view key);
bool has_signal(const RunRef& run, std::string_view name);
struct TakenSignal {
  std::string_view payload;  // Both valid as long as the workflow is in memory.
  std::string_view extra;
};
std::optional<TakenSignal> take_signal(const RunRef& run, BranchId branch, std::string_view name);
Event decode_event(std::string_view extra);
std::int64_t now_ms(const RunRef& run);
std::string uuid(const RunRef& run, BranchId branch);
std::uint64_t random(const RunRef& run, BranchId branch);
bool is_cancelled(const RunRef& run);

Info info(const RunRef& run);

// --- Frames ---

// Memory of coroutine frames, counted for the run that executes.
void* allocate_frame(std::size_t bytes);
void free_frame(void* frame, std::size_t bytes) noexcept;

[[noreturn]] void throw_usage(const std::string& message);

}  // namespace detail
}  // namespace pawl

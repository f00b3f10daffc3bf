#include "sdk/run.h"

#include <array>
#include <map>
#include <new>
#include <utility>

#include "base/check.h"
#include "pawl/activity.hpp"
#include "pawl/errors.hpp"
#include "sdk/activity_body.h"
#include "sdk/event.h"
#include "sdk/token.h"

namespace pawl::detail {

namespace {

thread_local Run* executing = nullptr;

replay::CommandKind kind_of(StepKind kind) { return static_cast<replay::CommandKind>(kind); }
static_assert(static_cast<int>(StepKind::kTask) == static_cast<int>(replay::CommandKind::kTask));
static_assert(static_cast<int>(StepKind::kChild) ==
              static_cast<int>(replay::CommandKind::kChildWorkflow));
static_assert(static_cast<int>(StepKind::kLoop) == static_cast<int>(replay::CommandKind::kLoop));
static_assert(static_cast<int>(StepKind::kCancelTimer) ==
              static_cast<int>(replay::CommandKind::kCancelTimer));

std::string make_short_source(const std::source_location& at) {
  std::string_view path = at.file_name();
  const std::size_t last = path.rfind('/');
  if (last != std::string_view::npos && last > 0) {
    const std::size_t second = path.rfind('/', last - 1);
    path = second == std::string_view::npos ? path : path.substr(second + 1);
  }
  return std::string(path) + ":" + std::to_string(at.line());
}

// "shop/order.cc:17": the last two parts of the path, since the rest belongs to one machine. Kept
// for each line of code, since it is asked for at every step.
const std::string& short_source(const std::source_location& at) {
  static const std::string kNone;
  if (at.line() == 0) {
    return kNone;
  }
  thread_local std::map<std::pair<const char*, std::uint_least32_t>, std::string> known;
  std::string& source = known[{at.file_name(), at.line()}];
  if (source.empty()) {
    source = make_short_source(at);
  }
  return source;
}

std::string call_text(std::string_view call, std::string_view name) {
  std::string text(call);
  if (!name.empty()) {
    text += " '" + std::string(name) + "'";
  }
  return text;
}

// "input of task 'charge'".
std::string payload_text(const Request& request) {
  switch (request.kind) {
    case StepKind::kTask:
      return call_text("input of task", request.name);
    case StepKind::kChild:
      return call_text("input of child", request.name);
    case StepKind::kState:
      return call_text("state", request.name);
    case StepKind::kCompensation:
      return call_text("input of compensation", request.name);
    case StepKind::kLoop:
      return "state of a loop";
    default:
      return call_text("argument of " + std::string(request.call), request.name);
  }
}

replay::CommandRequest command_for(const Request& request, const std::string& source) {
  replay::CommandRequest command;
  command.kind = kind_of(request.kind);
  command.branch = request.branch;
  command.name = request.name;
  command.child_kind = request.child_kind;
  command.target = request.target;
  command.step_key = request.step_key;
  command.version = request.version;
  command.source = source;
  if (request.payload != nullptr) {
    command.has_payload = true;
    command.payload = *request.payload;
  }
  command.clear = request.clear;
  command.number = request.duration.count();
  command.checkpoint_every = request.checkpoint_every;
  command.extra = request.extra;
  return command;
}

}  // namespace

// --- Life ----------------------------------------------------------------------------------------

void retain(Run* run) noexcept {
  if (run != nullptr) {
    run->references_.fetch_add(1, std::memory_order_relaxed);
  }
}

void release(Run* run) noexcept {
  if (run != nullptr && run->references_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
    delete run;
  }
}

Run::Executing::Executing(Run* run) : previous_(std::exchange(executing, run)) {}
Run::Executing::~Executing() { executing = previous_; }

Run& Run::current(const RunRef& run, std::string_view call) {
  if (run.get() == nullptr) {
    throw UsageError(std::string(call) + ": an empty future or context");
  }
  if (run.get() != executing) {
    throw UsageError(std::string(call) +
                     (executing == nullptr
                          ? ": the context or future was used outside of its workflow, e.g. in an "
                            "activity, on another thread or after the end"
                          : ": the context or future belongs to another run"));
  }
  if (executing->is_closed_) {
    throw UsageError(std::string(call) + ": the workflow is being removed from memory");
  }
  // Whoever caught it and went on: this run is over.
  if (executing->next_input_) {
    throw Recurred{};
  }
  return *executing;
}

void Run::raise(std::string_view call, const Error& error) {
  if (error.code == ErrorCode::kDeterminismViolation) {
    throw DeterminismViolation(error.message);
  }
  const std::string prefix = std::string(call) + ": ";
  throw UsageError(error.message.starts_with(prefix) ? error.message : prefix + error.message);
}

void Run::resume(const replay::AwaitStatus& over) {
  const auto found = blocked_.find(over.await);
  if (found == blocked_.end()) {
    return;
  }
  Await& await = *found->second;
  blocked_.erase(found);
  await.id_ = 0;
  await.is_cancelled_ = over.state == replay::AwaitState::kCancelled;
  await.decided_by_ = over.decided_by;
  await.waiting_.resume();
  run_ready();
}

void Run::run_ready() {
  while (!ready_.empty()) {
    const std::coroutine_handle<> next = ready_.front();
    ready_.pop_front();
    next.resume();
  }
}

void Run::recur(std::string input) {
  check_size("input of recur", input.size());
  next_input_ = std::move(input);
  throw Recurred{};
}

std::size_t Run::memory_bytes() const {
  constexpr std::size_t kWaitBytes = 48;  // About what a node of the map takes.
  return sizeof(Run) + frame_bytes_ + blocked_.size() * kWaitBytes;
}

void* allocate_frame(std::size_t bytes) {
  void* frame = ::operator new(bytes);
  if (executing != nullptr) {
    executing->frame_bytes_ += bytes;
  }
  return frame;
}

void free_frame(void* frame, std::size_t bytes) noexcept {
  if (executing != nullptr) {
    executing->frame_bytes_ -= bytes;
  }
  ::operator delete(frame, bytes);
}

void throw_usage(const std::string& message) { throw UsageError(message); }

// --- Commands ------------------------------------------------------------------------------------

void check_size(const RunRef& ref, std::string_view what, std::size_t bytes) {
  ref.get()->check_size(what, bytes);
}

Opened open(const RunRef& ref, const Request& request) {
  Run& run = Run::current(ref, request.call);
  if (request.payload != nullptr) {
    run.check_size(payload_text(request), request.payload->size());
  }
  const bool may_be_unnamed =
      request.kind == StepKind::kTimer || request.kind == StepKind::kBranch ||
      request.kind == StepKind::kLoop || request.kind == StepKind::kCancelTask;
  if (request.name.empty() && !may_be_unnamed) {
    throw UsageError(std::string(request.call) + (request.kind == StepKind::kChild
                                                      ? ": the id must not be empty"
                                                      : ": the name must not be empty"));
  }
  if (request.kind == StepKind::kChild && request.child_kind.empty()) {
    throw UsageError("child: the kind must not be empty");
  }
  const std::string& source = short_source(request.at);
  const replay::CommandRequest command = command_for(request, source);
  CodeProbe* probe = run.settings().probe;
  auto opened =
      probe == nullptr ? run.machine().open(command) : probe->open(run.machine(), command, request);
  if (!opened) {
    Run::raise(call_text(request.call, request.name), opened.error());
  }
  return {opened->future, opened->branch, opened->must_execute};
}

void execute(const RunRef& ref, FutureId operation, std::string name, std::string input,
             ActivityFunction function, const Retry& retry, Millis timeout) {
  Run& run = Run::current(ref, "run");
  if (const auto fake = run.settings().fakes.find(name); fake != run.settings().fakes.end()) {
    function = fake->second;
  }
  run.host().execute(operation,
                     activity_body(std::move(function), run.settings().payload_bytes_max,
                                   OperationCall{std::move(name), std::move(input)}),
                     policy_of(retry), timeout.count());
}

void transact(const RunRef& ref, FutureId operation,
              std::function<std::string(Transaction&)> function, const Retry& retry) {
  Run& run = Run::current(ref, "transact");
  run.host().transact(operation,
                      transact_body(std::string(run.machine().command_name(operation)),
                                    std::move(function), run.settings().payload_bytes_max),
                      policy_of(retry));
}

std::string check_send(const RunRef& ref, std::string_view run_id, std::string_view signal,
                       std::size_t payload_bytes, const Event& event) {
  const Run& run = Run::current(ref, "send");
  if (run_id.empty()) {
    throw UsageError("send: the run's id must not be empty");
  }
  run.check_size(call_text("signal", signal), payload_bytes);
  std::string extra = encode_event(signal, event);
  run.check_size(call_text("event of signal", signal), extra.size());
  return extra;
}

void send(const RunRef& ref, FutureId operation, std::string run_id, std::string signal,
          std::string payload, std::string extra, const Event& event) {
  Run::current(ref, "send")
      .host()
      .send(operation, std::move(run_id), std::move(signal), std::move(payload), std::move(extra),
            dedupe_text(event));
}

std::string task_extra(const TaskOptions& options) {
  if (options.queue.empty()) {
    throw UsageError("schedule: the queue must not be empty");
  }
  engine::TaskOptions task;
  task.queue = options.queue;
  task.priority = options.priority;
  task.attempt_timeout_ms = options.timeout.count();
  task.total_timeout_ms = options.total_timeout.count();
  task.wait_timeout_ms = options.wait_timeout.count();
  task.heartbeat_timeout_ms = options.heartbeat_timeout.count();
  task.retry = policy_of(options.retry);
  return engine::encode_task_options(task);
}

std::string child_extra(const ChildOptions& options) {
  engine::ChildOptions child;
  child.parent_close = static_cast<std::uint8_t>(options.parent_close);
  child.tags = options.tags;
  return engine::encode_child_options(child);
}

// --- Awaits --------------------------------------------------------------------------------------

Await::~Await() {
  // The frame is destroyed while it waits: nobody may resume it.
  if (id_ != 0) {
    run_.get()->unblock(*this);
  }
}

bool Await::begin(std::string_view call, bool for_any, std::span<const FutureId> futures) {
  Run& run = Run::current(run_, call);
  if (for_any && futures.empty()) {
    throw UsageError("any: there are no futures, it would wait for ever");
  }
  const replay::AwaitStatus begun = Run::check(
      call, run.machine().begin_await(for_any ? replay::AwaitMode::kAny : replay::AwaitMode::kAll,
                                      futures, is_shielded_));
  id_ = begun.await;
  decided_by_ = begun.decided_by;
  return begun.state != replay::AwaitState::kBlocked;
}

void Await::suspend(std::coroutine_handle<> waiting) {
  waiting_ = waiting;
  run_.get()->block(*this);
}

FutureId Await::end() {
  Run& run = Run::current(run_, "co_await");
  if (is_cancelled_) {
    throw Cancelled(engine::decode_failure(run.machine().cancel_reason()).message);
  }
  return decided_by_;
}

namespace {

std::string subject_of(Run& run, FutureId future) {
  const replay::RecordId record = run.machine().record_of(future);
  if (record == replay::kNoRecord) {
    return "operation";
  }
  const replay::Log& log = run.machine().log();
  const replay::Record& entry = log[record];
  const replay::CommandKind kind = replay::traits(entry.kind).command;
  const std::string_view name = log.name(entry);
  return call_text(replay::step_name(kind),
                   replay::is_named_by_id(kind) ? std::string_view(log.id_text(entry)) : name);
}

template <class Exception>
[[noreturn]] void throw_failure(const std::string& subject, const engine::Failure& failure) {
  throw Exception(subject, failure.type, failure.message, failure.details);
}

}  // namespace

std::string describe(const RunRef& ref, FutureId future) {
  return subject_of(Run::current(ref, "co_await"), future);
}

std::string_view value_of(const RunRef& ref, FutureId future) {
  Run& run = Run::current(ref, "co_await");
  const replay::Outcome outcome = Run::check("co_await", run.machine().outcome(future));
  PAWL_CHECK(outcome.is_complete);
  if (outcome.kind == replay::OutcomeKind::kValue) {
    return outcome.has_payload ? outcome.payload : std::string_view("null");
  }
  const std::string subject = subject_of(run, future);
  const replay::RecordId record = run.machine().record_of(future);
  const replay::CommandKind kind = record == replay::kNoRecord
                                       ? replay::CommandKind::kOperation
                                       : replay::traits(run.machine().log()[record].kind).command;
  if (outcome.kind == replay::OutcomeKind::kTimedOut) {
    throw TimedOut(subject + " timed out");
  }
  if (outcome.kind == replay::OutcomeKind::kCancelled) {
    const std::string text = subject + " was cancelled";
    switch (kind) {
      case replay::CommandKind::kTimer:
        throw TimerCancelled(text);
      case replay::CommandKind::kChildWorkflow:
        throw ChildCancelled(text);
      default:
        throw TaskCancelled(text);
    }
  }
  const engine::Failure failure =
      engine::decode_failure(outcome.has_payload ? outcome.payload : std::string_view());
  switch (kind) {
    case replay::CommandKind::kChildWorkflow:
      throw_failure<ChildFailed>(subject, failure);
    case replay::CommandKind::kPromise:
      throw_failure<PromiseRejected>(subject, failure);
    default:
      throw_failure<ActivityFailed>(subject, failure);
  }
}

Event event_of(const RunRef& ref, FutureId future) {
  Run& run = Run::current(ref, "co_await");
  const replay::Outcome outcome = Run::check("co_await", run.machine().outcome(future));
  const replay::Log& log = run.machine().log();
  return outcome.entry == replay::kNoRecord ? Event() : decode_event(log.extra(log[outcome.entry]));
}

std::string promise_token(const RunRef& ref, std::string_view promise) {
  return make_token(Run::current(ref, "token").host().id(), promise);
}

void make_ready(const RunRef& ref, std::coroutine_handle<> waiting) {
  ref.get()->add_ready(waiting);
}

// --- Structure -----------------------------------------------------------------------------------

// What ends a branch or a loop also works when the run is to recur: the code is on its way out.
namespace {
Run& leaving(const RunRef& ref) { return *ref.get(); }

std::optional<engine::Failure> failure_of(const std::exception_ptr& error) {
  if (!error) {
    return std::nullopt;
  }
  try {
    std::rethrow_exception(error);
  } catch (...) {
    return current_failure();
  }
}

void end_iteration(Run& run, BranchId loop) {
  if (CodeProbe* probe = run.settings().probe; probe != nullptr) {
    Run::check("loop", probe->before_iteration_end(run.machine(), loop));
  }
}
}  // namespace

void close_branch(const RunRef& ref, BranchId branch, const std::exception_ptr& error) {
  Run& run = leaving(ref);
  if (CodeProbe* probe = run.settings().probe; probe != nullptr) {
    const std::optional<engine::Failure> failure = failure_of(error);
    Run::check("branch", probe->before_end(run.machine(), branch, failure ? &*failure : nullptr));
  }
  Run::check("branch", run.machine().close_branch(branch));
}

LoopStart loop_start(const RunRef& ref, BranchId loop) {
  const replay::LoopPosition position =
      Run::check("loop", Run::current(ref, "loop").machine().loop_position(loop));
  return {std::string(position.state), position.done, std::string(position.result)};
}

BranchId enter_iteration(const RunRef& ref, BranchId loop) {
  Run& run = Run::current(ref, "loop");
  const BranchId iteration = Run::check("loop", run.machine().enter_iteration(loop));
  if (CodeProbe* probe = run.settings().probe; probe != nullptr) {
    probe->entered(loop, iteration);
  }
  return iteration;
}

FutureId continue_loop(const RunRef& ref, BranchId loop, std::string_view state) {
  Run& run = Run::current(ref, "loop");
  end_iteration(run, loop);
  return Run::check("loop", run.machine().continue_loop(loop, state));
}

FutureId end_loop(const RunRef& ref, BranchId loop, std::string_view state,
                  std::string_view result) {
  Run& run = Run::current(ref, "loop");
  end_iteration(run, loop);
  return Run::check("loop", run.machine().end_loop(loop, state, result));
}

void abandon_loop(const RunRef& ref, BranchId loop) {
  Run::check("loop", leaving(ref).machine().abandon_loop(loop));
}

void removed(const RunRef& ref, const Request& request) {
  const std::string& source = short_source(request.at);
  Run& run = Run::current(ref, "removed");
  const replay::CommandRequest command = command_for(request, source);
  CodeProbe* probe = run.settings().probe;
  Run::check("removed", probe == nullptr ? run.machine().removed(command)
                                         : probe->removed(run.machine(), command, request));
}

std::uint32_t check_version(const RunRef& ref, BranchId branch, std::uint32_t latest,
                            std::source_location at) {
  const std::string& source = short_source(at);
  return Run::check(
      "check_version",
      Run::current(ref, "check_version").machine().check_version(branch, latest, source));
}

void recur(const RunRef& ref, std::string input) {
  Run::current(ref, "recur").recur(std::move(input));
  std::abort();
}

// --- Reads ---------------------------------------------------------------------------------------

std::optional<std::string_view> state(const RunRef& ref, std::string_view key) {
  return Run::current(ref, "get").machine().state(key);
}

bool has_signal(const RunRef& ref, std::string_view name) {
  return Run::current(ref, "has_signal").machine().signal_count(name) > 0;
}

std::optional<TakenSignal> take_signal(const RunRef& ref, BranchId branch, std::string_view name) {
  Run& run = Run::current(ref, "try_signal");
  const std::optional<replay::RecordId> taken =
      Run::check("try_signal", run.machine().take_signal(branch, name));
  if (!taken) {
    return std::nullopt;
  }
  const replay::Record& record = run.machine().log()[*taken];
  return TakenSignal{record.has_payload ? record.payload.view() : std::string_view("null"),
                     run.machine().log().extra(record)};
}

std::int64_t now_ms(const RunRef& ref) { return Run::current(ref, "now").machine().now_ms(); }

std::string uuid(const RunRef& ref, BranchId branch) {
  return Run::check("uuid", Run::current(ref, "uuid").machine().uuid(branch)).to_string();
}

std::uint64_t random(const RunRef& ref, BranchId branch) {
  return Run::check("random", Run::current(ref, "random").machine().random(branch));
}

bool is_cancelled(const RunRef& ref) {
  return Run::current(ref, "cancelled").machine().cancel_requested();
}

Info info(const RunRef& ref) {
  engine::RunHost& host = Run::current(ref, "info").host();
  return {host.id(), host.number(), host.kind(), host.uuid().to_string()};
}

}  // namespace pawl::detail

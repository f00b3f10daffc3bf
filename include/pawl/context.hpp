// Context: what workflow code asks the world through. Every call that makes a command records it;
// on replay the recorded outcome is given back, in the order in which it was seen the first time.
//
// A cheap handle, passed by value. For the code of its own workflow only, while that runs: anything
// else throws UsageError. Names must not be empty. Payloads have a limit (EngineOptions), and what
// is over it throws PayloadTooLarge at the call; a result that is over it fails its step for good.
#pragma once

#include <concepts>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <source_location>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "pawl/activity.hpp"
#include "pawl/codec.hpp"
#include "pawl/future.hpp"
#include "pawl/options.hpp"
#include "pawl/workflow.hpp"

namespace pawl {

// What the body of a loop returns: continue_with(state) or break_with(value).
template <class State>
struct ContinueWith {
  State state;
};
template <class Value>
struct BreakWith {
  Value value;
};
template <class State>
ContinueWith<std::decay_t<State>> continue_with(State&& state) {
  return {std::forward<State>(state)};
}
template <class Value>
BreakWith<std::decay_t<Value>> break_with(Value&& value) {
  return {std::forward<Value>(value)};
}
inline BreakWith<std::monostate> break_with() { return {}; }

template <class State, class Value = void>
class LoopStep {
 public:
  template <class From>
    requires std::convertible_to<From, State>
  // NOLINTNEXTLINE(google-explicit-constructor): made by co_return continue_with(…).
  LoopStep(ContinueWith<From> next) : step_(std::in_place_index<0>, std::move(next.state)) {}
  template <class From>
    requires std::convertible_to<From, detail::Stored<Value>>
  // NOLINTNEXTLINE(google-explicit-constructor)
  LoopStep(BreakWith<From> last) : step_(std::in_place_index<1>, std::move(last.value)) {}

  bool is_break() const { return step_.index() == 1; }
  State& state() { return std::get<0>(step_); }
  detail::Stored<Value>& value() { return std::get<1>(step_); }

 private:
  std::variant<State, detail::Stored<Value>> step_;
};

class Branch;

namespace detail {

// Arguments as they are kept: no references, no texts that somebody else owns.
template <class T>
using Kept = std::conditional_t<std::is_convertible_v<std::decay_t<T>, std::string_view> &&
                                    !std::is_null_pointer_v<std::decay_t<T>>,
                                std::string, std::decay_t<T>>;

template <class F, class... Args>
concept TakesActivity = std::invocable<F&, Activity&, const Args&...>;
template <class F, class... Args>
concept Callable = TakesActivity<F, Args...> || std::invocable<F&, const Args&...>;

template <class F, class... Args>
decltype(auto) call_activity(F& function, Activity& activity, const Args&... args) {
  if constexpr (TakesActivity<F, Args...>) {
    return function(activity, args...);
  } else {
    return function(args...);
  }
}
template <class F, class... Args>
using ActivityResult = std::decay_t<decltype(call_activity(
    std::declval<F&>(), std::declval<Activity&>(), std::declval<const Args&>()...))>;

// Calls it and encodes what it returns.
template <class F, class... Args>
std::string encode_result(std::string_view name, F& function, Activity& activity,
                          const Args&... args) {
  using Result = ActivityResult<F, Args...>;
  if constexpr (std::is_void_v<Result>) {
    call_activity(function, activity, args...);
    return "null";
  } else {
    const Result result = call_activity(function, activity, args...);
    return encode(result, [&] { return "result of '" + std::string(name) + "'"; });
  }
}

template <class R>
Sample sample_of() {
  if constexpr (std::is_void_v<R>) {
    return {[] { return std::string("null"); }, true};
  } else if constexpr (Encodable<R> && std::is_default_constructible_v<R>) {
    return {[] { return encode(R{}, [] { return std::string("sample"); }); }, false};
  } else {
    return {};
  }
}

template <class T>
struct IsWorkflow : std::false_type {};
template <class T>
struct IsWorkflow<Workflow<T>> : std::true_type {};

template <class F>
concept BranchBody =
    std::invocable<F&, Branch> && IsWorkflow<std::invoke_result_t<F&, Branch>>::value;
// void for what is no body, so that the message of check_bodies() is the first.
template <class F>
struct BranchResultOf {
  using Type = void;
};
template <BranchBody F>
struct BranchResultOf<F> {
  using Type = typename std::invoke_result_t<F&, Branch>::Result;
};
template <class F>
using BranchResult = typename BranchResultOf<F>::Type;

template <class... F>
constexpr void check_bodies() {
  static_assert((BranchBody<F> && ...),
                "pawl: the body of a branch or of a join's arm takes pawl::Branch and returns "
                "pawl::Workflow<R>: [](pawl::Branch inner) -> pawl::Workflow<int> { … }");
}

template <class T>
struct IsVector : std::false_type {};
template <class T>
struct IsVector<std::vector<T>> : std::true_type {};
// What a loop's body returns.
template <class Body, class State>
inline constexpr bool kIsStepOf = false;
template <class State, class Value>
inline constexpr bool kIsStepOf<Workflow<LoopStep<State, Value>>, State> = true;

// Who goes on when the last arm of a join has ended.
struct JoinState {
  std::size_t running = 0;
  std::coroutine_handle<> waiting;
};
struct Joined {
  JoinState* state;

  struct Awaiter {
    JoinState* state;
    bool await_ready() const noexcept { return state->running == 0; }
    void await_suspend(std::coroutine_handle<> waiting) const noexcept { state->waiting = waiting; }
    void await_resume() const noexcept {}
  };
  Awaiter durable_await(const Place& /*place*/) const { return {state}; }
};

// Nothing to wait for.
struct Done {
  std::suspend_never durable_await(const Place& /*place*/) const { return {}; }
};

}  // namespace detail

class Context {
 public:
  // --- Activities ---

  // Calls `function(args…)` or `function(pawl::Activity&, args…)` in this process, once all that
  // came before is durable, and records what it returns or throws. It runs on another thread, and
  // maybe more than once: it must not refer to anything of the workflow's. The arguments are kept
  // by value, and recorded if they can be encoded.
  template <class F, class... Args>
    requires(!std::is_same_v<std::decay_t<F>, RunOptions>)
  auto run(detail::Name name, F&& function, Args&&... args) const {
    return run(name, RunOptions(), std::forward<F>(function), std::forward<Args>(args)...);
  }
  template <class F, class... Args>
  auto run(detail::Name name, const RunOptions& options, F&& function, Args&&... args) const {
    static_assert(
        detail::Callable<std::decay_t<F>, detail::Kept<Args>...>,
        "pawl: ctx.run(name, function, args...): the function cannot be called with these "
        "arguments (they are passed as const lvalues, after an optional "
        "pawl::Activity&).");
    using Result = detail::ActivityResult<std::decay_t<F>, detail::Kept<Args>...>;
    static_assert(!detail::IsWorkflow<Result>::value,
                  "pawl: ctx.run() is for activities; co_await a Workflow directly.");
    using Arguments = std::tuple<detail::Kept<Args>...>;
    Arguments kept(std::forward<Args>(args)...);
    std::string input;
    constexpr bool kHasInput =
        sizeof...(Args) > 0 && (detail::Encodable<detail::Kept<Args>> && ...);
    if constexpr (kHasInput) {
      input = std::apply(
          [&](const auto&... each) {
            return detail::encode_arguments(
                [&] { return "argument of run '" + std::string(name.text) + "'"; }, each...);
          },
          kept);
    }
    detail::Request request = request_for("run", StepKind::kOperation, name.at, options.step_key);
    request.name = name.text;
    request.payload = kHasInput ? &input : nullptr;
    request.sample = detail::sample_of<Result>();
    const detail::Opened opened = detail::open(run_, request);
    if (opened.must_execute) {
      struct Call {
        std::decay_t<F> function;
        Arguments args;
        std::string name;
      };
      auto call = std::make_shared<Call>(
          Call{std::forward<F>(function), std::move(kept), std::string(name.text)});
      detail::execute(
          run_, opened.future, std::string(name.text), std::move(input),
          [call = std::move(call)](Activity& activity) {
            return std::apply(
                [&](const auto&... each) {
                  return detail::encode_result(call->name, call->function, activity, each...);
                },
                call->args);
          },
          options.retry, options.timeout);
    }
    return Future<Result>(run_, opened.future, is_shielded_);
  }

  // Puts a task on a queue, for whichever worker has an activity of this type. An activity with
  // several parameters takes a std::tuple.
  template <class R = void, class In>
    requires(!std::is_same_v<std::decay_t<In>, TaskOptions>)
  Future<R> schedule(detail::Name type, const In& input, const TaskOptions& options = {}) const {
    const std::string payload = encode_input("input of task", type.text, input);
    return schedule_raw<R>(type, &payload, options);
  }
  template <class R = void>
  Future<R> schedule(detail::Name type, const TaskOptions& options = {}) const {
    return schedule_raw<R>(type, nullptr, options);
  }

  // Runs `function(pawl::Transaction&)` inside the transaction that records its outcome: exactly
  // once. It must be quick, since it holds the store's write lock.
  template <class F>
  auto transact(detail::Name name, F&& function, const TransactOptions& options = {}) const {
    using Result = std::decay_t<std::invoke_result_t<std::decay_t<F>&, Transaction&>>;
    detail::Request request =
        request_for("transact", StepKind::kOperation, name.at, options.step_key);
    request.name = name.text;
    request.sample = detail::sample_of<Result>();
    const detail::Opened opened = detail::open(run_, request);
    if (opened.must_execute) {
      auto call = std::make_shared<std::decay_t<F>>(std::forward<F>(function));
      detail::transact(
          run_, opened.future,
          [call = std::move(call), label = std::string(name.text)](Transaction& transaction) {
            if constexpr (std::is_void_v<Result>) {
              (*call)(transaction);
              return std::string("null");
            } else {
              const Result result = (*call)(transaction);
              return detail::encode(result, [&] { return "result of '" + label + "'"; });
            }
          },
          options.retry);
    }
    return Future<Result>(run_, opened.future, is_shielded_);
  }

  // --- Time ---

  Future<void> sleep(Millis duration,
                     std::source_location at = std::source_location::current()) const {
    return timer(duration, {}, at);
  }
  Future<void> sleep_until(Time time,
                           std::source_location at = std::source_location::current()) const {
    const Millis left = time - now();
    return timer(left < Millis::zero() ? Millis::zero() : left, {}, at);
  }
  Future<void> timer(Millis duration, const TimerOptions& options,
                     std::source_location at = std::source_location::current()) const {
    detail::Request request = request_for("timer", StepKind::kTimer, at, options.step_key);
    request.name = options.id;
    request.duration = duration;
    request.sample = detail::sample_of<void>();
    return Future<void>(run_, detail::open(run_, request).future, is_shielded_);
  }
  // The time of the last thing that this run has seen.
  Time now() const { return Time(Millis(detail::now_ms(run_))); }

  // --- From outside ---

  // Waits for the next signal of this name. They queue up while nobody waits. T may be a WithEvent.
  template <class T = void>
  Future<T> signal(detail::Name name, const WaitOptions& options = {}) const {
    detail::Request request = request_for("signal", StepKind::kSignal, name.at, options.step_key);
    request.name = name.text;
    request.duration = options.timeout;
    request.sample = detail::sample_of<T>();
    return Future<T>(run_, detail::open(run_, request).future, is_shielded_);
  }
  // A signal that nobody has taken is there.
  bool has_signal(std::string_view name) const { return detail::has_signal(run_, name); }
  // Takes it, without waiting.
  template <class T>
  std::optional<T> try_signal(std::string_view name) const {
    const std::optional<detail::TakenSignal> taken = detail::take_signal(run_, branch_, name);
    if (!taken) {
      return std::nullopt;
    }
    const auto where = [&] { return "signal '" + std::string(name) + "'"; };
    if constexpr (detail::IsWithEvent<T>::value) {
      return T{detail::decode<decltype(T::value)>(taken->payload, where),
               detail::decode_event(taken->extra)};
    } else {
      return detail::decode<T>(taken->payload, where);
    }
  }

  // Something that somebody outside will resolve or reject, once.
  template <class T = void>
  PromiseFuture<T> promise(detail::Name name, const WaitOptions& options = {}) const {
    detail::check_no_event<T>();
    detail::Request request = request_for("promise", StepKind::kPromise, name.at, options.step_key);
    request.name = name.text;
    request.duration = options.timeout;
    request.sample = detail::sample_of<T>();
    return PromiseFuture<T>(run_, detail::open(run_, request).future, is_shielded_,
                            std::string(name.text));
  }

  // --- Other runs ---

  // Starts a run of its own. If there is one with this id, it fails: ChildFailed. A workflow with
  // several parameters takes a std::tuple.
  template <class R = void, class In>
    requires(!std::is_same_v<std::decay_t<In>, ChildOptions>)
  Future<R> child(detail::Name kind, std::string_view id, const In& input,
                  const ChildOptions& options = {}) const {
    const std::string payload = encode_input("input of child", id, input);
    return child_raw<R>(kind, id, &payload, options);
  }
  template <class R = void>
  Future<R> child(detail::Name kind, std::string_view id, const ChildOptions& options = {}) const {
    return child_raw<R>(kind, id, nullptr, options);
  }
  // Sends a signal, once. Complete when it is on its way; nobody gets it if there is no run with
  // this id, or if it has ended.
  template <class T = std::monostate>
  Future<void> send(detail::Name run_id, std::string_view signal, const T& value = {},
                    const SendOptions& options = {}) const {
    const std::string payload = encode_input("signal", signal, value);
    const std::string extra =
        detail::check_send(run_, run_id.text, signal, payload.size(), options.event);
    const std::string name = "send " + std::string(signal);
    detail::Request request =
        request_for("send", StepKind::kOperation, run_id.at, options.step_key);
    request.name = name;
    request.payload = &payload;
    request.sample = detail::sample_of<void>();
    const detail::Opened opened = detail::open(run_, request);
    if (opened.must_execute) {
      detail::send(run_, opened.future, std::string(run_id.text), std::string(signal), payload,
                   extra, options.event);
    }
    return Future<void>(run_, opened.future, is_shielded_);
  }

  // --- State: values that people can see from outside while the run goes on ---

  template <class T>
  void set(detail::Name key, const T& value, const StateOptions& options = {}) const {
    const std::string payload = encode_input("state", key.text, value);
    detail::Request request = request_for("set", StepKind::kState, key.at, options.step_key);
    request.name = key.text;
    request.payload = &payload;
    detail::open(run_, request);
  }
  template <class T>
  std::optional<T> get(std::string_view key) const {
    const std::optional<std::string_view> payload = detail::state(run_, key);
    if (!payload) {
      return std::nullopt;
    }
    return detail::decode<T>(*payload, [&] { return "state '" + std::string(key) + "'"; });
  }
  void clear(detail::Name key, const StateOptions& options = {}) const {
    detail::Request request = request_for("clear", StepKind::kState, key.at, options.step_key);
    request.name = key.text;
    request.clear = true;
    detail::open(run_, request);
  }

  // --- Instead of what must not be used in a workflow ---

  std::string uuid() const { return detail::uuid(run_, branch_); }
  std::uint64_t random() const { return detail::random(run_, branch_); }
  // In [0, 1).
  double uniform() const { return static_cast<double>(random() >> 11U) * 0x1.0p-53; }
  // From `low` to `high`, both included.
  std::int64_t uniform(std::int64_t low, std::int64_t high) const {
    if (low > high) {
      detail::throw_usage("uniform: the first number is greater than the second");
    }
    const std::uint64_t span = static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low);
    std::uint64_t number = random();
    if (span != std::numeric_limits<std::uint64_t>::max()) {
      // The last, incomplete block of numbers is not used: all results are equally likely.
      const std::uint64_t count = span + 1;
      const std::uint64_t rest = (std::numeric_limits<std::uint64_t>::max() % count + 1) % count;
      while (number > std::numeric_limits<std::uint64_t>::max() - rest) {
        number = random();
      }
      number %= count;
    }
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(low) + number);
  }

  // --- Cancelling ---

  // A cancel request has been delivered.
  bool cancelled() const { return detail::is_cancelled(run_); }
  // Asks to cancel a task or a timer. Nothing happens if it is complete or was asked before.
  template <class T>
  void cancel(const Future<T>& future,
              std::source_location at = std::source_location::current()) const {
    detail::Request request = request_for("cancel", StepKind::kCancelTask, at, {});
    request.target = future.id();
    check_own(future.run(), "cancel");
    detail::open(run_, request);
  }
  // The same context; what is awaited through it is not interrupted by a cancel request.
  Context shielded() const {
    Context copy = *this;
    copy.is_shielded_ = true;
    return copy;
  }

  // --- Structure ---

  // Runs `body(pawl::Branch)`, a coroutine, with locations of its own.
  template <class F>
  Workflow<detail::BranchResult<F>> branch(
      F body, BranchOptions options = {},
      std::source_location at = std::source_location::current()) const {
    detail::check_bodies<F>();
    if constexpr (detail::BranchBody<F>) {
      return run_branch(*this, std::move(body), std::move(options), at);
    }
  }
  // Runs several of them concurrently, till all have ended: a tuple of their results
  // (std::monostate for void). The first error, in the order of the arguments, is thrown then.
  // The line that is recorded is that of the co_await.
  template <class... F>
    requires(sizeof...(F) > 0 && !(detail::IsVector<F>::value || ...))
  Workflow<std::tuple<detail::Stored<detail::BranchResult<F>>...>> join(F... bodies) const {
    detail::check_bodies<F...>();
    if constexpr ((detail::BranchBody<F> && ...)) {
      return run_join(*this, std::move(bodies)...);
    }
  }
  // The same for any number of them: a vector of their results.
  template <class F>
  Workflow<std::vector<detail::Stored<detail::BranchResult<F>>>> join(std::vector<F> bodies) const {
    detail::check_bodies<F>();
    if constexpr (detail::BranchBody<F>) {
      return run_join_all(*this, std::move(bodies));
    }
  }
  // Runs `body(pawl::Branch, State)`, a coroutine that returns a LoopStep<State, Value>, until that
  // is break_with(value). What finished iterations recorded is replaced by the state every now and
  // then: nothing that was made in one iteration may be used in another, but by way of the state.
  template <class State, class F>
  auto loop(State state, F body, LoopOptions options = {},
            std::source_location at = std::source_location::current()) const {
    static_assert(std::invocable<F&, Branch, State>,
                  "pawl: the body of a loop takes (pawl::Branch, State).");
    if constexpr (std::invocable<F&, Branch, State>) {
      using Body = std::invoke_result_t<F&, Branch, State>;
      static_assert(
          detail::kIsStepOf<Body, State>,
          "pawl: the body of a loop returns pawl::Workflow<pawl::LoopStep<State, Value>>, "
          "with the State that the loop begins with.");
      if constexpr (detail::kIsStepOf<Body, State>) {
        return run_loop(*this, std::move(state), std::move(body), std::move(options), at,
                        std::type_identity<typename Body::Result>());
      }
    }
  }
  // Ends this run; the next one of the same id starts with `input`. Never returns: it throws
  // something that only a catch (...) catches, which must throw it again.
  template <class... Args>
  [[noreturn]] void recur(const Args&... input) const {
    detail::recur(run_, detail::encode_arguments([] { return "input of recur"; },
                                                 detail::Kept<Args>(input)...));
  }

  // --- Changes of code that has open runs; see docs/replay.md ---

  // The steps made by way of the returned context have this version: ctx.v(2).run(…).
  Context v(std::uint32_t version) const {
    if (version == 0) {
      detail::throw_usage("v: versions begin with 1");
    }
    Context copy = *this;
    copy.version_ = version;
    return copy;
  }
  // Stands for a step that the code once had. An empty name: any.
  void removed(StepKind kind, std::string_view name = {}, const StateOptions& options = {},
               std::source_location at = std::source_location::current()) const {
    detail::Request request = request_for("removed", kind, at, options.step_key);
    request.name = name;
    detail::removed(run_, request);
  }
  // Which version of the code this run follows here: `latest` if it gets here for the first time.
  std::uint32_t check_version(std::uint32_t latest,
                              std::source_location at = std::source_location::current()) const {
    return detail::check_version(run_, branch_, latest, at);
  }

  Info info() const { return detail::info(run_); }

  // For the library.
  Context(detail::RunRef run, detail::BranchId branch, bool is_shielded)
      : run_(std::move(run)), branch_(branch), is_shielded_(is_shielded) {}
  explicit Context(const detail::Place& place)
      : Context(place.run, place.branch, place.is_shielded) {}
  detail::Place place() const { return {run_, branch_, is_shielded_}; }

  // Registers a compensation; for Saga.
  void compensate(const detail::Name& activity, const std::string& input,
                  const StateOptions& options) const {
    detail::Request request =
        request_for("saga.add", StepKind::kCompensation, activity.at, options.step_key);
    request.name = activity.text;
    request.payload = &input;
    detail::open(run_, request);
  }

 private:
  detail::Request request_for(std::string_view call, StepKind kind, std::source_location at,
                              std::string_view step_key) const {
    detail::Request request;
    request.call = call;
    request.kind = kind;
    request.branch = branch_;
    request.version = version_;
    request.at = at;
    request.step_key = step_key;
    return request;
  }

  template <class T>
  static std::string encode_input(std::string_view what, std::string_view name, const T& value) {
    const auto where = [&] { return std::string(what) + " '" + std::string(name) + "'"; };
    if constexpr (std::is_same_v<detail::Kept<T>, T>) {
      return detail::encode(value, where);
    } else {
      return detail::encode(detail::Kept<T>(value), where);
    }
  }

  template <class R>
  Future<R> schedule_raw(const detail::Name& type, const std::string* payload,
                         const TaskOptions& options) const {
    detail::check_no_event<R>();
    detail::Request request = request_for("schedule", StepKind::kTask, type.at, options.step_key);
    request.name = type.text;
    request.payload = payload;
    request.extra = detail::task_extra(options);
    request.sample = detail::sample_of<R>();
    return Future<R>(run_, detail::open(run_, request).future, is_shielded_);
  }

  template <class R>
  Future<R> child_raw(const detail::Name& kind, std::string_view id, const std::string* payload,
                      const ChildOptions& options) const {
    detail::check_no_event<R>();
    detail::Request request = request_for("child", StepKind::kChild, kind.at, options.step_key);
    request.name = id;
    request.child_kind = kind.text;
    request.payload = payload;
    request.extra = detail::child_extra(options);
    request.sample = detail::sample_of<R>();
    return Future<R>(run_, detail::open(run_, request).future, is_shielded_);
  }

  void check_own(const detail::RunRef& run, std::string_view call) const {
    if (!(run == run_)) {
      detail::throw_usage(std::string(call) + ": the future belongs to another run");
    }
  }

  template <class F>
  static Workflow<detail::BranchResult<F>> run_branch(Context outer, F body, BranchOptions options,
                                                      std::source_location at);
  template <class F>
  static Workflow<detail::BranchResult<F>> run_body(Context inner, F body);
  template <class F>
  static Workflow<detail::Stored<detail::BranchResult<F>>> run_arm(Context inner, F body,
                                                                   detail::JoinState* join);
  template <class... F>
  static Workflow<std::tuple<detail::Stored<detail::BranchResult<F>>...>> run_join(Context outer,
                                                                                   F... bodies);
  template <class F>
  static Workflow<std::vector<detail::Stored<detail::BranchResult<F>>>> run_join_all(
      Context outer, std::vector<F> bodies);
  template <class State, class F, class Value>
  static Workflow<Value> run_loop(Context outer, State state, F body, LoopOptions options,
                                  std::source_location at,
                                  std::type_identity<LoopStep<State, Value>> step);
  Context open_branch(std::string_view call, std::string_view step_key,
                      std::source_location at) const {
    const detail::Opened opened =
        detail::open(run_, request_for(call, StepKind::kBranch, at, step_key));
    return Context(run_, opened.branch, is_shielded_);
  }
  Future<void> checkpoint(detail::FutureId future) const {
    return Future<void>(run_, future, true);
  }

  detail::RunRef run_;
  detail::BranchId branch_ = 0;
  std::uint32_t version_ = 0;  // 0: the branch's.
  bool is_shielded_ = false;
};

// The context of the body of a branch, a join's arm or a loop's iteration.
class Branch : public Context {
 public:
  explicit Branch(Context context) : Context(std::move(context)) {}
};

// --- Implementation ------------------------------------------------------------------------------

namespace detail {
inline void find_place(Place& place, const Context& context) { place = context.place(); }
}  // namespace detail

// The code of one branch: whatever happens in it, the branch is closed at its end.
template <class F>
Workflow<detail::BranchResult<F>> Context::run_body(Context inner, F body) {
  using Result = detail::BranchResult<F>;
  std::exception_ptr error;
  std::optional<detail::Stored<Result>> result;
  try {
    if constexpr (std::is_void_v<Result>) {
      co_await body(Branch(inner));
    } else {
      result.emplace(co_await body(Branch(inner)));
    }
  } catch (...) {
    error = std::current_exception();
  }
  detail::close_branch(inner.run_, inner.branch_, error);
  if (error) {
    std::rethrow_exception(error);
  }
  if constexpr (!std::is_void_v<Result>) {
    co_return std::move(*result);
  }
}

template <class F>
Workflow<detail::BranchResult<F>> Context::run_branch(Context outer, F body, BranchOptions options,
                                                      std::source_location at) {
  const Context inner = outer.open_branch("branch", options.step_key, at);
  co_return co_await run_body(inner, std::move(body));
}

template <class F>
Workflow<detail::Stored<detail::BranchResult<F>>> Context::run_arm(Context inner, F body,
                                                                   detail::JoinState* join) {
  using Result = detail::BranchResult<F>;
  // However this ends; not when the frame is destroyed while it waits, since then there is no join
  // to tell.
  const auto end = [&] {
    if (--join->running == 0 && join->waiting) {
      detail::make_ready(inner.run_, join->waiting);
    }
  };
  std::exception_ptr error;
  std::optional<detail::Stored<Result>> result;
  try {
    if constexpr (std::is_void_v<Result>) {
      co_await run_body(inner, std::move(body));
      result.emplace();
    } else {
      result.emplace(co_await run_body(inner, std::move(body)));
    }
  } catch (...) {
    error = std::current_exception();
  }
  end();
  if (error) {
    std::rethrow_exception(error);
  }
  co_return std::move(*result);
}

template <class... F>
Workflow<std::tuple<detail::Stored<detail::BranchResult<F>>...>> Context::run_join(Context outer,
                                                                                   F... bodies) {
  const std::source_location at = co_await detail::AwaitedAt{};
  detail::JoinState join;
  join.running = sizeof...(F);
  std::vector<Context> branches;
  branches.reserve(sizeof...(F));
  for (std::size_t i = 0; i < sizeof...(F); ++i) {
    branches.push_back(outer.open_branch("join", {}, at));
  }
  std::size_t next = 0;
  auto arms = std::tuple<Workflow<detail::Stored<detail::BranchResult<F>>>...>{
      run_arm(branches[next++], std::move(bodies), &join)...};
  std::apply([](const auto&... arm) { (arm.start(), ...); }, arms);
  co_await detail::Joined{&join};
  // In order: the first error is thrown.
  co_return std::apply(
      [](const auto&... arm) {
        return std::tuple<detail::Stored<detail::BranchResult<F>>...>{arm.take()...};
      },
      arms);
}

template <class F>
Workflow<std::vector<detail::Stored<detail::BranchResult<F>>>> Context::run_join_all(
    Context outer, std::vector<F> bodies) {
  const std::source_location at = co_await detail::AwaitedAt{};
  detail::JoinState join;
  join.running = bodies.size();
  std::vector<Context> branches;
  branches.reserve(bodies.size());
  for (std::size_t i = 0; i < bodies.size(); ++i) {
    branches.push_back(outer.open_branch("join", {}, at));
  }
  std::vector<Workflow<detail::Stored<detail::BranchResult<F>>>> arms;
  arms.reserve(bodies.size());
  for (std::size_t i = 0; i < bodies.size(); ++i) {
    arms.push_back(run_arm(branches[i], std::move(bodies[i]), &join));
    arms.back().start();
  }
  co_await detail::Joined{&join};
  std::vector<detail::Stored<detail::BranchResult<F>>> results;
  results.reserve(arms.size());
  for (const auto& arm : arms) {
    results.push_back(arm.take());
  }
  co_return results;
}

template <class State, class F, class Value>
Workflow<Value> Context::run_loop(Context outer, State state, F body, LoopOptions options,
                                  std::source_location at,
                                  std::type_identity<LoopStep<State, Value>> /*step*/) {
  const auto where = [] { return std::string("state of a loop"); };
  const auto where_result = [] { return std::string("result of a loop"); };
  std::string encoded = detail::encode(state, where);
  detail::Request request = outer.request_for("loop", StepKind::kLoop, at, options.step_key);
  request.payload = &encoded;
  request.checkpoint_every = options.checkpoint_every;
  const detail::Opened opened = detail::open(outer.run_, request);
  const detail::BranchId loop = opened.branch;
  if (opened.future != 0) {
    co_await outer.checkpoint(opened.future);
  }
  detail::LoopStart start = detail::loop_start(outer.run_, loop);
  encoded = std::move(start.state);
  std::string result = std::move(start.result);
  bool is_done = start.is_done;
  while (!is_done) {
    const Branch iteration(
        Context(outer.run_, detail::enter_iteration(outer.run_, loop), outer.is_shielded_));
    detail::FutureId checkpoint = 0;
    std::exception_ptr error;
    try {
      LoopStep<State, Value> step = co_await body(iteration, detail::decode<State>(encoded, where));
      is_done = step.is_break();
      if (is_done) {
        result = detail::encode(step.value(), where_result);
        detail::check_size(outer.run_, where_result(), result.size());
      } else {
        encoded = detail::encode(step.state(), where);
        detail::check_size(outer.run_, where(), encoded.size());
        checkpoint = detail::continue_loop(outer.run_, loop, encoded);
      }
    } catch (...) {
      error = std::current_exception();
    }
    if (error) {
      detail::abandon_loop(outer.run_, loop);
      std::rethrow_exception(error);
    }
    if (checkpoint != 0) {
      co_await outer.checkpoint(checkpoint);
    }
  }
  const detail::FutureId checkpoint = detail::end_loop(outer.run_, loop, encoded, result);
  if (checkpoint != 0) {
    co_await outer.checkpoint(checkpoint);
  }
  if constexpr (!std::is_void_v<Value>) {
    co_return detail::decode<Value>(result, where_result);
  }
}

namespace detail {

template <class T>
Workflow<T> run_with_timeout(Context ctx, Future<T> future, Millis limit, std::source_location at) {
  const Future<void> timer = ctx.timer(limit, {}, at);
  const FutureId first = co_await FirstOf{
      future.run(), {future.id(), timer.id()}, future.is_shielded() || ctx.place().is_shielded};
  if (first == timer.id()) {
    throw TimedOut(describe(future.run(), future.id()) + " took longer than " +
                   std::to_string(limit.count()) + " ms");
  }
  ctx.cancel(timer, at);
  co_return co_await future;
}

template <class T>
struct [[nodiscard("pawl: co_await it")]] WithTimeout {
  Future<T> future;
  Millis limit;
  std::source_location at;

  WithTimeout shielded() const { return {future.shielded(), limit, at}; }
  auto durable_await(const Place& place) const {
    if (place.run.get() == nullptr) {
      throw_usage("with_timeout: the coroutine that awaits it takes no Context");
    }
    return run_with_timeout(Context(place), future, limit, at).durable_await(place);
  }
};

}  // namespace detail

// The future's outcome, or TimedOut. Starts a timer when it is awaited, in the branch that awaits
// it, and cancels that when the future comes first. The future itself is not cancelled.
template <class T>
auto with_timeout(const Future<T>& future, Millis limit,
                  std::source_location at = std::source_location::current()) {
  return detail::WithTimeout<T>{future, limit, at};
}

}  // namespace pawl

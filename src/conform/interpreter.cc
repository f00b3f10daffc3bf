#include "conform/interpreter.h"

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json.hpp>

#include "conform/task.h"
#include "format/json_printer.h"
#include "format/json_reader.h"
#include "format/log_json.h"
#include "replay/machine.h"

namespace pawl::conform {

namespace json = boost::json;

using replay::AwaitId;
using replay::AwaitMode;
using replay::AwaitState;
using replay::AwaitStatus;
using replay::BranchId;
using replay::CommandKind;
using replay::CommandRequest;
using replay::EntryKind;
using replay::FutureId;
using replay::Machine;
using replay::OutcomeKind;

namespace {

// More than any sensible scenario takes; a loop of a billion empty iterations is a mistake.
constexpr std::uint64_t kStepsMax = 20'000'000;

// How a list of steps ended.
struct Flow {
  enum class Kind : std::uint8_t {
    kNext,    // At its end.
    kReturn,  // With a value.
    kThrow,   // With an error.
    kRecur,   // With the next input.
    kStop,    // The machine or the scenario said no: nothing more is run.
  };
  Kind kind = Kind::kNext;
  json::value value;
  std::string error;
  bool is_cancel = false;  // The error is a cancel request.
};

Flow returned(json::value value) { return {Flow::Kind::kReturn, std::move(value), "", false}; }
Flow thrown(std::string error, bool is_cancel = false) {
  return {Flow::Kind::kThrow, nullptr, std::move(error), is_cancel};
}
Flow stopped() { return {Flow::Kind::kStop, nullptr, "", false}; }

// Where a step runs.
struct Scope {
  BranchId branch = replay::kRootBranch;
  std::uint32_t version = 0;  // 0: the branch's.
  bool shielded = false;
};

struct Variable {
  json::value value;    // Null for a future until it is awaited.
  FutureId future = 0;  // 0: a plain value.
  CommandKind kind{};
  std::string name{};  // Of the command, for error texts.
};

std::string text_of(const json::value& value) {
  return std::string(value.get_string().data(), value.get_string().size());
}

// What a program sees of a payload; what is no JSON is a text.
json::value value_in(std::string_view payload) {
  if (payload.empty()) {
    return nullptr;
  }
  Result<json::value> value = format::parse_json(payload);
  return value ? *std::move(value) : json::value(payload);
}

// The text of a recorded error: itself, or its message.
std::string error_text(const json::value& error) {
  if (error.is_string()) {
    return text_of(error);
  }
  if (const json::object* object = error.if_object()) {
    if (const json::value* message = object->if_contains("message");
        message != nullptr && message->is_string()) {
      return text_of(*message);
    }
  }
  return json::serialize(error);
}

// Values can grow by referring to themselves; they must stay fit for recursion and for memory.
bool is_sensible(const json::value& value, std::size_t depth, std::size_t& nodes) {
  constexpr std::size_t kDepthMax = 1000;
  constexpr std::size_t kNodesMax = 1'000'000;
  if (depth > kDepthMax || ++nodes > kNodesMax) {
    return false;
  }
  if (const json::array* list = value.if_array()) {
    return std::all_of(list->begin(), list->end(), [&](const json::value& element) {
      return is_sensible(element, depth + 1, nodes);
    });
  }
  if (const json::object* object = value.if_object()) {
    return std::all_of(object->begin(), object->end(), [&](const json::key_value_pair& member) {
      return is_sensible(member.value(), depth + 1, nodes);
    });
  }
  return true;
}

class Interpreter {
 public:
  Interpreter(const Scenario& scenario, std::unique_ptr<Machine> machine)
      : scenario_(scenario), machine_(std::move(machine)) {}

  Result<json::object> run();

 private:
  // Suspends until the await is decided; then it is over.
  struct Blocked {
    Interpreter& interpreter;
    AwaitStatus status;
    std::coroutine_handle<> waiting = nullptr;

    bool await_ready() const { return status.state != AwaitState::kBlocked; }
    void await_suspend(std::coroutine_handle<> handle) {
      waiting = handle;
      interpreter.blocked_[status.await] = this;
    }
    AwaitStatus await_resume() const { return status; }
  };

  // Suspends the join until its last arm is done.
  struct JoinState {
    std::size_t running = 0;
    std::coroutine_handle<> waiting;
  };
  struct Joined {
    JoinState& state;
    bool await_ready() const { return state.running == 0; }
    void await_suspend(std::coroutine_handle<> waiting) const { state.waiting = waiting; }
    void await_resume() const {}
  };

  Task<Flow> run_list(const json::array* steps, Scope scope, std::string path);
  Task<Flow> run_step(const json::object* code, Scope scope, std::string path);
  Task<Flow> run_await(const json::object* code, Scope scope, std::string path);
  Task<Flow> run_branch(const json::array* steps, Scope scope, BranchId branch, std::string path);
  Task<Flow> run_join(const json::array* arms, Scope scope, std::string path);
  Task<Flow> run_arm(const json::array* steps, Scope scope, BranchId branch, std::string path,
                     JoinState* join);
  Task<Flow> run_loop(const json::object* code, Scope scope, std::string path);
  Task<Flow> pass_checkpoint(FutureId checkpoint);
  Flow run_command(const json::object& step, const Scope& scope, const std::string& path);
  Flow run_read(const json::object& step, const Scope& scope, const std::string& path);

  Flow open_future(const json::object& step, const CommandRequest& request);
  CommandRequest request_for(CommandKind kind, const json::object& step, const Scope& scope,
                             const std::string& path);
  Flow run_operation(const json::object& step, const Scope& scope, const std::string& path);
  void assign(const json::object& step, json::value value);
  Flow failure_of(const Variable& variable) const;
  json::value value_of(FutureId future) const;
  json::value resolve(const json::value& value, const std::string& path);
  json::value substitute(const json::value& value, const std::string& path);
  Variable* find_variable(std::string_view name, const std::string& path);

  // The time of whatever is appended next.
  void tick() {
    machine_->set_time(scenario_.started_at_ms + static_cast<std::int64_t>(machine_->next_seq()));
  }
  // Turns an error of the core into what the code sees: an exception, or the end of everything.
  Flow raise(const Error& error);
  void check(const Result<void>& result) {
    if (!result) {
      raise(result.error());
    }
  }
  void fail_scenario(const std::string& path, const std::string& what);

  void resume(std::coroutine_handle<> handle);
  void drive(Task<Flow>& root);
  json::object report(Flow* end);

  const Scenario& scenario_;
  std::unique_ptr<Machine> machine_;
  std::map<AwaitId, Blocked*> blocked_;
  std::map<std::string, Variable, std::less<>> variables_;
  std::vector<std::coroutine_handle<>> ready_;  // Joins whose last arm is done.
  std::string payload_;                         // Backs the payload of the request in the making.
  std::uint64_t steps_ = 0;
  bool is_stopped_ = false;
  std::optional<Error> mistake_;  // In the scenario itself.
};

// --- Steps -------------------------------------------------------------------------------------

Task<Flow> Interpreter::run_list(const json::array* steps, Scope scope, std::string path) {
  for (std::size_t i = 0; i < steps->size(); ++i) {
    auto task = run_step(&(*steps)[i].get_object(), scope, path + "[" + std::to_string(i) + "]");
    Flow flow = co_await task;
    if (flow.kind != Flow::Kind::kNext) {
      co_return flow;
    }
  }
  co_return Flow{};
}

Task<Flow> Interpreter::run_step(const json::object* code, Scope scope, std::string path) {
  const json::object& step = *code;
  if (is_stopped_) {
    co_return stopped();
  }
  if (++steps_ > kStepsMax) {
    fail_scenario(path, "the program runs for more than " + std::to_string(kStepsMax) + " steps");
    co_return stopped();
  }
  const std::string_view verb = verb_of(step);
  const json::value& subject = step.begin()->value();
  const std::string at = path + "." + std::string(verb);
  const Scope inner{scope.branch, 0, scope.shielded};  // A version is for one step, not for a list.
  if (verb == "await" || verb == "await_all" || verb == "await_any") {
    auto task = run_await(&step, scope, at);
    Flow flow = co_await task;
    co_return flow;
  }
  if (verb == "branch") {
    auto opened = machine_->open(request_for(CommandKind::kBranch, step, scope, path));
    if (!opened) {
      co_return raise(opened.error());
    }
    auto task = run_branch(&subject.get_array(), scope, opened->branch, at);
    Flow flow = co_await task;
    if (flow.kind == Flow::Kind::kReturn) {
      assign(step, std::move(flow.value));
      co_return Flow{};
    }
    co_return flow;
  }
  if (verb == "join") {
    auto task = run_join(&subject.get_array(), scope, at);
    Flow flow = co_await task;
    if (flow.kind == Flow::Kind::kReturn) {
      assign(step, std::move(flow.value));
      co_return Flow{};
    }
    co_return flow;
  }
  if (verb == "loop") {
    auto task = run_loop(&step, scope, path);
    Flow flow = co_await task;
    co_return flow;
  }
  if (verb == "v") {
    Scope versioned = scope;
    versioned.version = static_cast<std::uint32_t>(subject.to_number<std::int64_t>());
    auto task = run_step(&step.at("do").get_object(), versioned, path + ".do");
    Flow flow = co_await task;
    co_return flow;
  }
  if (verb == "if") {
    Variable* variable = find_variable(subject.get_string(), at);
    if (variable == nullptr) {
      co_return stopped();
    }
    const json::value wanted = resolve(step.at("equals"), path + ".equals");
    const bool holds = format::json_equal(variable->value, wanted);
    const std::string_view part = holds ? "then" : "else";
    if (const json::value* steps = step.if_contains(part)) {
      auto task = run_list(&steps->get_array(), inner, path + "." + std::string(part));
      Flow flow = co_await task;
      co_return flow;
    }
    co_return Flow{};
  }
  if (verb == "try") {
    auto task = run_list(&subject.get_array(), inner, at);
    Flow flow = co_await task;
    if (flow.kind != Flow::Kind::kThrow) {
      co_return flow;
    }
    variables_["error"] = Variable{json::value(flow.error)};
    auto handler = run_list(&step.at("catch").get_array(), inner, path + ".catch");
    Flow handled = co_await handler;
    co_return handled;
  }
  if (verb == "shield") {
    Scope shielded = inner;
    shielded.shielded = true;
    auto task = run_list(&subject.get_array(), shielded, at);
    Flow flow = co_await task;
    co_return flow;
  }
  co_return run_command(step, scope, path);
}

Task<Flow> Interpreter::run_await(const json::object* code, Scope scope, std::string path) {
  const json::object& step = *code;
  const std::string_view verb = verb_of(step);
  const json::value& subject = step.begin()->value();
  std::vector<std::string> names;
  if (verb == "await") {
    names.push_back(text_of(subject));
  } else {
    for (const json::value& name : subject.get_array()) {
      names.push_back(text_of(name));
    }
  }
  std::vector<FutureId> futures;
  // As they are now: others may set them while this waits.
  std::vector<std::pair<std::string, Variable>> waited_for;
  std::string plain;  // A value that never was a future is there at once.
  for (const std::string& name : names) {
    const Variable* variable = find_variable(name, path);
    if (variable == nullptr) {
      co_return stopped();
    }
    if (variable->future != 0) {
      futures.push_back(variable->future);
      waited_for.emplace_back(name, *variable);
    } else if (plain.empty()) {
      plain = name;
    }
  }
  if (verb == "await_any" && !plain.empty()) {
    assign(step, json::value(plain));
    co_return Flow{};
  }
  const auto await = machine_->begin_await(verb == "await_any" ? AwaitMode::kAny : AwaitMode::kAll,
                                           futures, scope.shielded);
  if (!await) {
    co_return raise(await.error());
  }
  Blocked blocked{*this, *await};
  const AwaitStatus status = co_await blocked;
  if (status.state == AwaitState::kCancelled) {
    std::string reason;
    if (!machine_->cancel_reason().empty()) {
      reason = ": " + error_text(value_in(machine_->cancel_reason()));
    }
    co_return thrown("cancelled" + reason, true);
  }
  Flow flow;
  for (std::size_t i = 0; i < futures.size(); ++i) {
    const bool is_decisive = futures[i] == status.decided_by;
    if (verb == "await_any" && !is_decisive) {
      continue;
    }
    const auto& [name, waited] = waited_for[i];
    Variable& variable = variables_[name];
    const replay::Outcome outcome = *machine_->outcome(futures[i]);
    if (is_decisive && outcome.kind != OutcomeKind::kValue) {
      flow = failure_of(waited);
    } else if (variable.future == futures[i] && outcome.is_complete &&
               outcome.kind == OutcomeKind::kValue) {
      variable.value = value_of(futures[i]);
    }
    if (verb == "await_any") {
      assign(step, json::value(name));
      break;
    }
  }
  co_return flow;
}

// --- Structure ---------------------------------------------------------------------------------

Task<Flow> Interpreter::run_branch(const json::array* steps, Scope scope, BranchId branch,
                                   std::string path) {
  auto task = run_list(steps, Scope{branch, 0, scope.shielded}, std::move(path));
  Flow flow = co_await task;
  if (flow.kind == Flow::Kind::kStop) {
    co_return flow;
  }
  tick();
  const Result<void> closed = machine_->close_branch(branch);
  if (!closed) {
    co_return raise(closed.error());
  }
  if (flow.kind == Flow::Kind::kNext) {
    co_return returned(nullptr);
  }
  co_return flow;
}

Task<Flow> Interpreter::run_arm(const json::array* steps, Scope scope, BranchId branch,
                                std::string path, JoinState* join) {
  auto task = run_branch(steps, scope, branch, std::move(path));
  Flow flow = co_await task;
  if (--join->running == 0 && join->waiting) {
    ready_.push_back(join->waiting);
  }
  co_return flow;
}

Task<Flow> Interpreter::run_join(const json::array* arms, Scope scope, std::string path) {
  JoinState join;
  std::vector<BranchId> branches;
  for (std::size_t i = 0; i < arms->size(); ++i) {
    CommandRequest request;
    request.kind = CommandKind::kBranch;
    request.branch = scope.branch;
    request.version = scope.version;
    tick();
    const auto opened = machine_->open(request);
    if (!opened) {
      co_return raise(opened.error());
    }
    branches.push_back(opened->branch);
  }
  std::vector<Task<Flow>> running;
  running.reserve(arms->size());
  join.running = arms->size();
  for (std::size_t i = 0; i < arms->size(); ++i) {
    running.push_back(run_arm(&(*arms)[i].get_array(), scope, branches[i],
                              path + "[" + std::to_string(i) + "]", &join));
    running.back().start();
  }
  Joined joined{join};
  co_await joined;
  json::array values;
  for (Task<Flow>& arm : running) {
    Flow& flow = arm.result();
    if (flow.kind != Flow::Kind::kReturn) {
      co_return flow;
    }
    values.push_back(flow.value);
  }
  co_return returned(std::move(values));
}

// Waits for a loop's checkpoint to be delivered, if there is one. No cancel request interrupts
// this.
Task<Flow> Interpreter::pass_checkpoint(FutureId checkpoint) {
  if (checkpoint == 0) {
    co_return Flow{};
  }
  const std::array<FutureId, 1> futures = {checkpoint};
  const auto await = machine_->begin_await(AwaitMode::kAll, futures, true);
  if (!await) {
    co_return raise(await.error());
  }
  Blocked blocked{*this, *await};
  co_await blocked;
  co_return Flow{};
}

Task<Flow> Interpreter::run_loop(const json::object* code, Scope scope, std::string path) {
  const json::object& step = *code;
  const json::value wanted_times = resolve(step.at("times"), path + ".times");
  boost::system::error_code error;
  const auto times = wanted_times.to_number<std::uint64_t>(error);
  if (error || !wanted_times.is_number()) {
    fail_scenario(path + ".times",
                  "expected a whole number from 0, got " + format::describe_json(wanted_times));
    co_return stopped();
  }
  CommandRequest request = request_for(CommandKind::kLoop, step, scope, path);
  request.has_payload = true;
  request.payload = "0";
  if (const json::value* every = step.if_contains("checkpointEvery")) {
    request.checkpoint_every = static_cast<std::uint32_t>(every->to_number<std::int64_t>());
  }
  const auto opened = machine_->open(request);
  if (!opened) {
    co_return raise(opened.error());
  }
  const BranchId loop = opened->branch;
  auto started = pass_checkpoint(opened->future);
  co_await started;
  const auto position = machine_->loop_position(loop);
  if (!position) {
    co_return raise(position.error());
  }
  // In an inner loop `i` is the inner iteration, after it the outer one again.
  const bool is_inner = machine_->log().branch(scope.branch).loop != replay::kNoBranch;
  const Variable outer_i = is_inner ? variables_["i"] : Variable{};
  std::uint64_t finished = position->finished;
  json::value result = finished;
  bool is_broken = position->done;
  if (is_broken) {
    result = position->result.empty() ? json::value(finished) : value_in(position->result);
  }
  while (!is_broken && finished < times) {
    if (++steps_ > kStepsMax) {
      fail_scenario(path, "the program runs for more than " + std::to_string(kStepsMax) + " steps");
      co_return stopped();
    }
    const auto iteration = machine_->enter_iteration(loop);
    if (!iteration) {
      co_return raise(iteration.error());
    }
    variables_["i"] = Variable{json::value(finished + 1)};
    auto body = run_list(&step.begin()->value().get_array(), Scope{*iteration, 0, scope.shielded},
                         path + ".loop");
    Flow flow = co_await body;
    if (flow.kind == Flow::Kind::kStop) {
      co_return flow;
    }
    tick();
    if (flow.kind == Flow::Kind::kThrow || flow.kind == Flow::Kind::kRecur) {
      const Result<void> abandoned = machine_->abandon_loop(loop);
      co_return abandoned ? flow : raise(abandoned.error());
    }
    ++finished;
    is_broken = flow.kind == Flow::Kind::kReturn;
    result = is_broken ? flow.value : json::value(finished);
    if (!is_broken && finished < times) {
      const auto checkpoint = machine_->continue_loop(loop, std::to_string(finished));
      if (!checkpoint) {
        co_return raise(checkpoint.error());
      }
      auto passed = pass_checkpoint(*checkpoint);
      co_await passed;
    }
  }
  tick();
  const auto checkpoint = machine_->end_loop(loop, std::to_string(finished),
                                             is_broken ? format::print_json(result) : "");
  if (!checkpoint) {
    co_return raise(checkpoint.error());
  }
  auto passed = pass_checkpoint(*checkpoint);
  co_await passed;
  if (is_inner) {
    variables_["i"] = outer_i;
  }
  assign(step, std::move(result));
  co_return Flow{};
}

// --- Commands and reads ------------------------------------------------------------------------

CommandRequest Interpreter::request_for(CommandKind kind, const json::object& step,
                                        const Scope& scope, const std::string& path) {
  tick();
  CommandRequest request;
  request.kind = kind;
  request.branch = scope.branch;
  request.version = scope.version;
  const json::value& subject = step.begin()->value();
  if (subject.is_string()) {
    request.name = subject.get_string();
  }
  if (const json::value* key = step.if_contains("stepKey")) {
    request.step_key = key->get_string();
  }
  if (const json::value* timeout = step.if_contains("timeout")) {
    request.number = timeout->to_number<std::int64_t>();
  }
  const json::value* payload = step.if_contains("input");
  if (kind == CommandKind::kState) {
    payload = step.if_contains("value");
  }
  if (payload != nullptr) {
    payload_ = format::print_json(
        resolve(*payload, path + (kind == CommandKind::kState ? ".value" : ".input")));
    request.has_payload = true;
    request.payload = payload_;
  }
  return request;
}

Flow Interpreter::open_future(const json::object& step, const CommandRequest& request) {
  if (is_stopped_) {
    return stopped();
  }
  const auto opened = machine_->open(request);
  if (!opened) {
    return raise(opened.error());
  }
  if (const json::value* name = step.if_contains("as")) {
    std::string label(request.name);
    if (request.kind == CommandKind::kTimer && label.empty()) {
      const replay::RecordId record = machine_->record_of(opened->future);
      label = machine_->log().id_text(machine_->log()[record]);
    }
    variables_[text_of(*name)] = Variable{nullptr, opened->future, request.kind, std::move(label)};
  }
  return {};
}

Flow Interpreter::run_operation(const json::object& step, const Scope& scope,
                                const std::string& path) {
  const CommandRequest request = request_for(CommandKind::kOperation, step, scope, path);
  const auto opened = machine_->open(request);
  if (!opened) {
    return raise(opened.error());
  }
  if (opened->must_execute) {
    OutcomeKind outcome = OutcomeKind::kValue;
    std::string payload = "null";
    if (const json::value* value = step.if_contains("returns")) {
      payload = format::print_json(resolve(*value, path + ".returns"));
    } else if (const json::value* error = step.if_contains("throws")) {
      outcome = OutcomeKind::kFailed;
      payload = format::print_json(resolve(*error, path + ".throws"));
    }
    tick();
    const Result<void> completed = machine_->complete_operation(opened->future, outcome, payload);
    if (!completed) {
      return raise(completed.error());
    }
  }
  if (const json::value* name = step.if_contains("as")) {
    variables_[text_of(*name)] =
        Variable{nullptr, opened->future, CommandKind::kOperation, std::string(request.name)};
  }
  return {};
}

Flow Interpreter::run_command(const json::object& step, const Scope& scope,
                              const std::string& path) {
  const std::string_view verb = verb_of(step);
  const json::value& subject = step.begin()->value();
  const auto simple = [&](CommandKind kind) {
    return open_future(step, request_for(kind, step, scope, path));
  };
  if (verb == "run") {
    return run_operation(step, scope, path);
  }
  if (verb == "task") {
    return simple(CommandKind::kTask);
  }
  if (verb == "promise") {
    return simple(CommandKind::kPromise);
  }
  if (verb == "signal") {
    return simple(CommandKind::kSignal);
  }
  if (verb == "compensate") {
    return simple(CommandKind::kCompensation);
  }
  if (verb == "set" || verb == "clear") {
    CommandRequest request = request_for(CommandKind::kState, step, scope, path);
    request.clear = verb == "clear";
    return open_future(step, request);
  }
  if (verb == "timer") {
    CommandRequest request = request_for(CommandKind::kTimer, step, scope, path);
    request.number = subject.to_number<std::int64_t>();
    if (const json::value* id = step.if_contains("id")) {
      request.name = id->get_string();
    }
    return open_future(step, request);
  }
  if (verb == "child") {
    CommandRequest request = request_for(CommandKind::kChildWorkflow, step, scope, path);
    request.child_kind = step.at("kind").get_string();
    return open_future(step, request);
  }
  if (verb == "cancel") {
    const Variable* target = find_variable(subject.get_string(), path + ".cancel");
    if (target == nullptr) {
      return stopped();
    }
    if (target->future == 0) {
      return {};  // Its value has been seen: nothing is left to cancel.
    }
    CommandRequest request = request_for(CommandKind::kCancelTask, step, scope, path);
    request.name = {};
    request.target = target->future;
    const auto opened = machine_->open(request);
    return opened ? Flow{} : raise(opened.error());
  }
  if (verb == "removed") {
    const auto kind = replay::find_step_kind(std::string_view(subject.get_string()));
    if (!kind) {
      fail_scenario(path + ".removed", "there is no such kind of step");
      return stopped();
    }
    CommandRequest request = request_for(*kind, step, scope, path);
    const json::value* name = step.if_contains("name");
    request.name = name == nullptr ? std::string_view() : std::string_view(name->get_string());
    const Result<void> done = machine_->removed(request);
    return done ? Flow{} : raise(done.error());
  }
  if (verb == "check_version") {
    tick();
    const auto version = machine_->check_version(
        scope.branch, static_cast<std::uint32_t>(subject.to_number<std::int64_t>()), "");
    if (!version) {
      return raise(version.error());
    }
    assign(step, json::value(*version));
    return {};
  }
  if (verb == "return" || verb == "recur") {
    json::value value = resolve(subject, path + "." + std::string(verb));
    return {verb == "return" ? Flow::Kind::kReturn : Flow::Kind::kRecur, std::move(value), "",
            false};
  }
  if (verb == "throw") {
    return thrown(error_text(resolve(subject, path + ".throw")));
  }
  return run_read(step, scope, path);
}

Flow Interpreter::run_read(const json::object& step, const Scope& scope, const std::string& path) {
  const std::string_view verb = verb_of(step);
  const json::value& subject = step.begin()->value();
  if (verb == "get") {
    const auto value = machine_->state(subject.get_string());
    assign(step, value ? value_in(*value) : json::value());
  } else if (verb == "has_signal") {
    assign(step, json::value(machine_->signal_count(subject.get_string()) > 0));
  } else if (verb == "drain") {
    json::array taken;
    while (true) {
      const auto signal = machine_->take_signal(scope.branch, subject.get_string());
      if (!signal) {
        return raise(signal.error());
      }
      const std::optional<replay::RecordId>& id = *signal;
      if (!id) {
        break;
      }
      const replay::Record& record = machine_->log()[*id];
      taken.push_back(record.has_payload ? value_in(record.payload.view()) : json::value());
    }
    assign(step, std::move(taken));
  } else if (verb == "now") {
    assign(step, json::value(machine_->now_ms()));
  } else if (verb == "cancelled") {
    assign(step, json::value(machine_->cancel_requested()));
  } else if (verb == "uuid") {
    const auto uuid = machine_->uuid(scope.branch);
    if (!uuid) {
      return raise(uuid.error());
    }
    assign(step, json::value(uuid->to_string()));
  } else if (verb == "random") {
    const auto random = machine_->random(scope.branch);
    if (!random) {
      return raise(random.error());
    }
    assign(step, json::value(replay::to_unit_interval(*random)));
  } else {
    fail_scenario(path, "there is no step '" + std::string(verb) + "'");
    return stopped();
  }
  return {};
}

// --- Values ------------------------------------------------------------------------------------

void Interpreter::assign(const json::object& step, json::value value) {
  if (const json::value* name = step.if_contains("as")) {
    variables_[text_of(*name)] = Variable{std::move(value)};
  }
}

Variable* Interpreter::find_variable(std::string_view name, const std::string& path) {
  const auto found = variables_.find(name);
  if (found == variables_.end()) {
    fail_scenario(path, "variable '" + std::string(name) + "' is not set");
    return nullptr;
  }
  return &found->second;
}

json::value Interpreter::resolve(const json::value& value, const std::string& path) {
  json::value resolved = substitute(value, path);
  std::size_t nodes = 0;
  if (!is_sensible(resolved, 0, nodes)) {
    fail_scenario(path, "the value is too large or too deeply nested");
    return nullptr;
  }
  return resolved;
}

json::value Interpreter::substitute(const json::value& value, const std::string& path) {
  if (const json::array* list = value.if_array()) {
    json::array resolved;
    resolved.reserve(list->size());
    for (const json::value& element : *list) {
      resolved.push_back(substitute(element, path));
    }
    return resolved;
  }
  const json::object* object = value.if_object();
  if (object == nullptr) {
    return value;
  }
  if (const json::value* name = object->if_contains("$");
      name != nullptr && name->is_string() && object->size() == 1) {
    const Variable* variable = find_variable(name->get_string(), path);
    return variable == nullptr ? json::value() : variable->value;
  }
  json::object resolved;
  for (const json::key_value_pair& member : *object) {
    resolved[member.key()] = substitute(member.value(), path);
  }
  return resolved;
}

json::value Interpreter::value_of(FutureId future) const {
  const replay::Outcome outcome = *machine_->outcome(future);
  return outcome.has_payload ? value_in(outcome.payload) : json::value();
}

Flow Interpreter::failure_of(const Variable& variable) const {
  const replay::Outcome outcome = *machine_->outcome(variable.future);
  const std::string subject =
      std::string(replay::step_name(variable.kind)) + " '" + variable.name + "' ";
  switch (outcome.kind) {
    case OutcomeKind::kCancelled:
      return thrown(subject + "was cancelled");
    case OutcomeKind::kTimedOut:
      return thrown(subject + "timed out");
    case OutcomeKind::kFailed:
    case OutcomeKind::kValue:
      break;
  }
  return thrown(outcome.has_payload ? error_text(value_of(variable.future)) : subject + "failed");
}

// --- Errors ------------------------------------------------------------------------------------

Flow Interpreter::raise(const Error& error) {
  if (error.code == ErrorCode::kDeterminismViolation) {
    is_stopped_ = true;
    return stopped();
  }
  return thrown(error.message);
}

void Interpreter::fail_scenario(const std::string& path, const std::string& what) {
  is_stopped_ = true;
  if (!mistake_) {
    mistake_ = format::bad_field(path, what);
  }
}

// --- The turn ----------------------------------------------------------------------------------

void Interpreter::resume(std::coroutine_handle<> handle) {
  handle.resume();
  while (!ready_.empty()) {
    const std::coroutine_handle<> next = ready_.front();
    ready_.erase(ready_.begin());
    next.resume();
  }
}

void Interpreter::drive(Task<Flow>& root) {
  root.start();
  while (!is_stopped_ && !root.is_done()) {
    const auto delivery = machine_->next_delivery();
    if (!delivery || !*delivery) {
      return;
    }
    const std::vector<AwaitStatus> woken = machine_->woken();
    for (const AwaitStatus& over : woken) {
      const auto found = blocked_.find(over.await);
      if (found == blocked_.end() || is_stopped_) {
        continue;
      }
      Blocked& blocked = *found->second;
      blocked_.erase(found);
      blocked.status = over;
      resume(blocked.waiting);
    }
  }
}

Result<json::object> Interpreter::run() {
  auto root = run_list(&scenario_.program, Scope{}, "program");
  drive(root);
  if (mistake_) {
    return mistake_.value();
  }
  if (is_stopped_ || !root.is_done()) {
    return report(nullptr);
  }
  Flow& flow = root.result();
  EntryKind end = EntryKind::kWorkflowCompleted;
  std::string payload = format::print_json(flow.value);
  if (flow.kind == Flow::Kind::kRecur) {
    end = EntryKind::kWorkflowRecurred;
  } else if (flow.kind == Flow::Kind::kThrow && flow.is_cancel) {
    end = EntryKind::kWorkflowCancelled;
    payload = machine_->cancel_reason();
  } else if (flow.kind == Flow::Kind::kThrow) {
    end = EntryKind::kWorkflowFailed;
    payload = format::print_json(json::value(flow.error));
  }
  tick();
  const Result<void> finished = machine_->finish(end, payload);
  if (!finished) {
    raise(finished.error());
  }
  return report(is_stopped_ ? nullptr : &flow);
}

// `end` is how the program ended; null if it did not.
json::object Interpreter::report(Flow* end) {
  json::object actual;
  if (const std::optional<replay::Violation>& violation = machine_->violation()) {
    actual["outcome"] = "violation";
    actual["error"] = json::object{{"message", violation->render()},
                                   {"code", violation->code},
                                   {"location", violation->location}};
  } else if (end == nullptr) {
    actual["outcome"] = "suspended";
  } else if (end->kind == Flow::Kind::kThrow) {
    actual["outcome"] = end->is_cancel ? "cancelled" : "failed";
    actual["error"] = json::object{{"message", end->error}};
  } else if (end->kind == Flow::Kind::kRecur) {
    actual["outcome"] = "recurred";
  } else {
    actual["outcome"] = "completed";
    actual["result"] = end->value;
  }
  const replay::Batch batch = machine_->take_new();
  json::array entries;
  for (replay::RecordId id = batch.first; id < batch.last; ++id) {
    entries.push_back(format::export_entry(machine_->log(), id));
  }
  actual["new"] = std::move(entries);
  json::object values;
  for (const auto& [name, variable] : variables_) {
    values[name] = variable.value;
  }
  actual["values"] = std::move(values);
  const auto print_all = [](const std::vector<replay::Location>& places) {
    json::array texts;
    for (const replay::Location& place : places) {
      texts.push_back(json::value(place.to_string()));
    }
    return texts;
  };
  actual["waiting"] =
      print_all(end == nullptr ? machine_->waiting() : std::vector<replay::Location>());
  actual["orphaned"] = print_all(machine_->orphaned());
  json::array forgotten;
  for (const std::uint64_t seq : batch.forgotten) {
    forgotten.push_back(json::value(seq));
  }
  actual["forgotten"] = std::move(forgotten);
  return actual;
}

}  // namespace

Result<json::object> run_scenario(const Scenario& scenario) {
  PAWL_TRY_ASSIGN(
      replay::Log log,
      format::import_log(scenario.history,
                         format::LogDefaults{scenario.run_id, scenario.started_at_ms}, "history"));
  replay::RunInfo info;
  info.run_id = scenario.run_id;
  info.matching = scenario.matching;
  info.started_at_ms = scenario.started_at_ms;
  auto machine = Machine::create(std::move(info), std::move(log));
  if (!machine) {
    return format::bad_field("history", machine.error().message);
  }
  Interpreter interpreter(scenario, *std::move(machine));
  return interpreter.run();
}

}  // namespace pawl::conform

#include "fleet/interpreter.h"

#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <memory>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "fleet/program.h"

namespace pawl::fleet {

namespace {

using nlohmann::json;
using std::chrono::hours;
using std::chrono::milliseconds;

const Retry kQuick = {.attempts = 0, .initial = milliseconds(5), .maximum = milliseconds(20)};

// --- Activities ----------------------------------------------------------------------------------

// One write for each line: processes do not mix theirs, and die between two of them only.
class Notes {
 public:
  explicit Notes(const std::string& path)
      : file_(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666)) {
    if (file_ < 0) {
      throw std::runtime_error("cannot write to " + path);
    }
  }
  ~Notes() { ::close(file_); }
  Notes(const Notes&) = delete;
  Notes& operator=(const Notes&) = delete;

  void add(const char* what, const json& input, std::uint32_t attempt) const {
    const std::string line = std::string(what) + " " + input.at("run").get<std::string>() + " " +
                             input.at("label").get<std::string>() + " " + std::to_string(attempt) +
                             "\n";
    if (::write(file_, line.data(), line.size()) != static_cast<ssize_t>(line.size())) {
      throw std::runtime_error("cannot write a note");
    }
  }

 private:
  int file_;
};

// The file stays open as long as the process: activities may outlive their engine.
const Notes* notes = nullptr;

Number work(Activity& activity, const json& input) {
  notes->add("executed", input, activity.attempt());
  const json& step = input.at("step");
  std::this_thread::sleep_for(milliseconds(step.at("ms").get<int>()));
  for (int i = step.value("beats", 0); i > 0; --i) {
    activity.heartbeat(i);
    std::this_thread::sleep_for(milliseconds(10));
  }
  if (step.at("for_good") || activity.attempt() <= step.at("failures")) {
    throw std::runtime_error("not this time");
  }
  return value_of(input.at("label").get<std::string>(), input.at("from"));
}

void undo(Activity& activity, const json& input) {
  notes->add("undone", input, activity.attempt());
  if (activity.attempt() <= input.at("failures")) {
    throw std::runtime_error("not this time");
  }
}

// An attempt that was lost with its worker has a number, too: it may be the one that was to fail.
Retry retry_of(const json& step) {
  Retry retry = kQuick;
  const std::uint32_t failures = step.at("failures");
  retry.attempts = step.at("for_good") ? failures : step.value("beats", 0) > 0 ? 0 : failures + 1;
  return retry;
}

// --- The workflow --------------------------------------------------------------------------------

json input_of(const Context& ctx, const json& step, const std::string& label, Number from) {
  return {{"run", ctx.info().id}, {"label", label}, {"from", from}, {"step", step}};
}

json input_of(const json& program, int generation, Number answer) {
  return {{"program", program}, {"generation", generation}, {"answer", answer}};
}

Future<Number> begin(const Context& ctx, const json& step, const std::string& label, Number from) {
  const std::string what = step.at("do");
  if (what == "run") {
    return ctx.run("work", {.retry = retry_of(step)}, work, input_of(ctx, step, label, from));
  }
  if (what == "task") {
    TaskOptions options;
    options.queue = step.at("queue");
    options.retry = retry_of(step);
    if (step.at("beats") > 0) {
      options.heartbeat_timeout = std::chrono::seconds(2);
    }
    return ctx.schedule<Number>("work", input_of(ctx, step, label, from), options);
  }
  if (what == "signal") {
    return ctx.signal<Number>(label);
  }
  if (what == "promise") {
    return ctx.promise<Number>(label);
  }
  if (what == "child") {
    return ctx.child<Number>(kProgramKind, child_id(ctx.info().id, label),
                             first_input(step.at("program")));
  }
  throw std::logic_error("no future: " + what);
}

// What a step gives that may fail.
Workflow<Number> value(Context ctx, json step, std::string label, Number from) {
  Number caught = 0;
  try {
    co_return co_await begin(ctx, step, label, from);
  } catch (const ActivityFailed&) {
    caught = value_of(label, 3);
  } catch (const PromiseRejected&) {
    caught = value_of(label, 2);
  } catch (const ChildFailed& failure) {
    caught = value_of(failure.message(), 0);
  }
  co_return caught;
}

// True: it came too late, as it had to.
Workflow<bool> comes_too_late(Context ctx, json step, std::string label) {
  const milliseconds limit(step.at("ms").get<int>());
  try {
    if (step.at("do") == "no_signal") {
      co_await ctx.signal<Number>(label, {.timeout = limit});
    } else {
      co_await with_timeout(ctx.signal<Number>(label), limit);
    }
  } catch (const TimedOut&) {
    co_return true;
  }
  co_return false;
}

Workflow<bool> is_cancelled(Context ctx) {
  const Future<void> timer = ctx.sleep(hours(1));
  ctx.cancel(timer);
  try {
    co_await timer;
  } catch (const TimerCancelled&) {
    co_return true;
  }
  co_return false;
}

Workflow<void> until_cancelled(Context ctx, bool leaves) {
  try {
    co_await ctx.signal("never");
  } catch (const Cancelled&) {
    if (leaves) {
      throw;
    }
  }
}

Workflow<Number> steps(Context ctx, json list, std::string prefix, Number answer);

Workflow<Number> join(Context ctx, json arms, std::string label, Number from) {
  const auto arm = [from](json list, std::string prefix) {
    return [from, list = std::move(list), prefix = std::move(prefix)](Branch inner) {
      return steps(inner, list, prefix, from);
    };
  };
  std::vector<decltype(arm({}, {}))> bodies;
  for (std::size_t i = 0; i < arms.size(); ++i) {
    bodies.push_back(arm(arms[i], part_label(label, 'a', i)));
  }
  Number answer = from;
  for (const Number value : co_await ctx.join(std::move(bodies))) {
    answer = mix(answer, value);
  }
  co_return answer;
}

struct Turns {
  std::size_t done = 0;
  Number answer = 0;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Turns, done, answer)

Workflow<Number> loop(Context ctx, json step, std::string label, Number from) {
  const auto body = [step, label](Branch inner, Turns turns) -> Workflow<LoopStep<Turns, Number>> {
    if (turns.done == step.at("times")) {
      co_return break_with(turns.answer);
    }
    const Number value =
        co_await steps(inner, step.at("steps"), part_label(label, 'i', turns.done), turns.answer);
    co_return continue_with(Turns{turns.done + 1, mix(turns.answer, value)});
  };
  co_return mix(from,
                co_await ctx.loop(Turns{0, from}, body, {.checkpoint_every = step.at("every")}));
}

Workflow<Number> together(Context ctx, json step, std::string label, Number from) {
  const json& list = step.at("of");
  std::vector<Future<Number>> futures;
  for (std::size_t i = 0; i < list.size(); ++i) {
    futures.push_back(begin(ctx, list[i], part_label(label, 'f', i), from));
  }
  if (step.at("do") == "any") {
    (void)co_await any(futures);  // Whoever it is.
  }
  Number answer = from;
  for (const Number value : co_await all(futures)) {
    answer = mix(answer, value);
  }
  co_return answer;
}

Workflow<Number> transact(Context ctx, std::string label, Number from) {
  const std::string run = ctx.info().id;
  co_return co_await ctx.transact("transact", [run, label, from](Transaction& transaction) {
    transaction.exec(std::string("INSERT INTO ") + kTransactedTable + "(run, label) VALUES(?, ?)",
                     {run, label});
    return value_of(label, from);
  });
}

Workflow<Number> with_version(Context ctx, std::string label, Number from) {
  const Number version = ctx.check_version(2);
  const json step = {{"failures", 0}, {"for_good", false}, {"ms", 0}};
  const Number value = co_await ctx.v(2).run("newer", work, input_of(ctx, step, label, from));
  ctx.removed(StepKind::kTimer);
  co_return mix(mix(from, version), value);
}

// Sends its parent a signal.
Workflow<Number> echo(Context ctx, json input) {
  const std::string label = input.at("label");
  co_await ctx.send(input.at("run").get<std::string>(), label, input.at("value").get<Number>());
  co_return value_of(label, 1);
}

Workflow<Number> hear_echo(Context ctx, std::string label, Number from) {
  const std::string run = ctx.info().id;
  const json input = {{"run", run}, {"label", label}, {"value", value_of(label, from)}};
  const Future<Number> child = ctx.child<Number>("echo", child_id(run, label), input);
  const Number heard = co_await ctx.signal<Number>(label);
  co_return mix(mix(from, heard), co_await child);
}

Workflow<Number> one(Context ctx, json step, std::string label, Number from) {
  const std::string what = step.at("do");
  if (what == "run" || what == "task" || what == "promise" || what == "child") {
    co_return mix(from, co_await value(ctx, step, label, from));
  }
  if (what == "signal") {
    for (std::size_t i = step.at("count"); i > 0; --i) {
      from = mix(from, co_await ctx.signal<Number>(label));
    }
    co_return from;
  }
  if (what == "all" || what == "any") {
    co_return co_await together(ctx, step, label, from);
  }
  if (what == "in_time") {
    const Future<Number> future = begin(ctx, step.at("of"), label, from);
    co_return mix(from, co_await with_timeout(future, hours(1)));
  }
  if (what == "transact") {
    co_return mix(from, co_await transact(ctx, label, from));
  }
  if (what == "version") {
    co_return co_await with_version(ctx, label, from);
  }
  if (what == "echo") {
    co_return co_await hear_echo(ctx, label, from);
  }
  if (what == "if") {
    co_return co_await steps(ctx, step.at(from % 2 == 0 ? "then" : "else"), label, from);
  }
  if (what == "branch") {
    const auto body = [step, label, from](Branch inner) {
      return steps(inner, step.at("steps"), label, from);
    };
    co_return mix(from, co_await ctx.branch(body));
  }
  if (what == "join") {
    co_return co_await join(ctx, step.at("arms"), label, from);
  }
  if (what == "loop") {
    co_return co_await loop(ctx, step, label, from);
  }
  bool is_right = true;
  if (what == "sleep") {
    co_await ctx.sleep(milliseconds(step.at("ms").get<int>()));
  } else if (what == "no_signal" || what == "too_late") {
    is_right = co_await comes_too_late(ctx, step, label);
  } else if (what == "cancel_timer") {
    is_right = co_await is_cancelled(ctx);
  } else if (what == "state") {
    ctx.set(label, from);
    is_right = ctx.get<Number>(label) == from;
    ctx.clear(label);
  } else if (what == "undo") {
    co_await Saga(ctx).add(
        "undo", json{{"run", ctx.info().id}, {"label", label}, {"failures", step.at("failures")}});
  } else if (what == "until_cancelled") {
    co_await until_cancelled(ctx, step.at("leaves"));
    is_right = ctx.cancelled();
  } else {
    throw std::logic_error("no step: " + what);
  }
  co_return mix(from, value_of(label, is_right ? 0 : -1));
}

Workflow<Number> steps(Context ctx, json list, std::string prefix, Number answer) {
  for (std::size_t i = 0; i < list.size(); ++i) {
    answer = co_await one(ctx, list[i], step_label(prefix, i), answer);
  }
  co_return answer;
}

Workflow<Number> program(Context ctx, json input) {
  const json program = input.at("program");
  const int generation = input.at("generation");
  const Number answer =
      co_await steps(ctx, program.at("steps"), generation_label(generation), input.at("answer"));
  if (generation + 1 < program.at("generations")) {
    ctx.recur(input_of(program, generation + 1, answer));
  }
  if (program.at("fails")) {
    throw std::runtime_error(failure_of(answer));
  }
  co_return answer;
}

}  // namespace

json first_input(const json& program) { return input_of(program, 0, program.at("start")); }

Registry make_registry(const std::string& path) {
  static const Notes opened(path);
  notes = &opened;
  Registry registry;
  registry.workflow(kProgramKind, program).workflow("echo", echo);
  registry.activity("work", work);
  registry.activity("undo", undo, {.compensation_retry = kQuick});
  return registry;
}

}  // namespace pawl::fleet

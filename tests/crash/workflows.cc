#include "crash/workflows.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <thread>
#include <utility>

namespace pawl::crash {

namespace {

using std::chrono::hours;
using std::chrono::milliseconds;

std::string notes_path;
int notes_file = -1;

std::string outside_file(std::string_view name) { return notes_path + "." + std::string(name); }

void wait_a_moment() { std::this_thread::sleep_for(milliseconds(1)); }

// Short intervals; what fails on its own account is tried often enough for a slow machine.
const Retry kOften = {.attempts = 20, .initial = milliseconds(4), .jitter = 0};

int add(Activity& activity, int left, int right) {
  note(activity);
  return left + right;
}

std::string echo(Activity& activity, const std::string& text) {
  note(activity);
  return text;
}

// The attempts of an operation are counted over a crash; one of a task that died with its worker
// has a number, too.
int fail_till_third(Activity& activity) {
  note(activity);
  if (activity.attempt() < 3) {
    throw std::runtime_error("attempt " + std::to_string(activity.attempt()));
  }
  return 3;
}

// --- Operations ----------------------------------------------------------------------------------

Workflow<std::string> operations(Context ctx, int base) {
  const int one = co_await ctx.run("one", add, base, 1);
  const Future<int> left = ctx.run("side", add, one, 10);
  const Future<int> right = ctx.run("side", add, one, 20);
  const int sum = co_await right - co_await left;
  const std::string text = co_await ctx.run("text", echo, "sum " + std::to_string(sum));
  co_await ctx.run("void", [](Activity& activity) { note(activity); });
  co_return text + " " + std::to_string(one);
}

Workflow<std::string> retries(Context ctx) {
  std::string result;
  result += std::to_string(co_await ctx.run("third", {.retry = kOften}, fail_till_third));
  try {
    co_await ctx.run("final", {.retry = {.attempts = 5, .final_types = {"Final"}}},
                     [](Activity& activity) {
                       note(activity);
                       throw ActivityError("Final", "no", {.details = R"({"why":7})"});
                     });
  } catch (const ActivityFailed& failure) {
    result += " " + failure.type() + failure.message() + failure.details();
  }
  try {
    co_await ctx.run("own delay", {.retry = {.attempts = 2, .initial = hours(1)}},
                     [](Activity& activity) {
                       note(activity);
                       throw ActivityError("Own", std::to_string(activity.attempt()),
                                           {.next_delay = milliseconds(3)});
                     });
  } catch (const ActivityFailed& failure) {
    result += " " + failure.type() + failure.message();
  }
  // The first attempt takes too long.
  result += " " + co_await ctx.run("too long", {.retry = kOften, .timeout = milliseconds(15)},
                                   [](Activity& activity) -> std::string {
                                     note(activity);
                                     while (activity.attempt() == 1 && !activity.should_stop()) {
                                       wait_a_moment();
                                     }
                                     return "in time";
                                   });
  co_return result;
}

// --- Tasks ---------------------------------------------------------------------------------------

Workflow<std::string> tasks(Context ctx) {
  std::vector<Future<int>> futures;
  for (int i = 0; i < 3; ++i) {
    futures.push_back(ctx.schedule<int>("square", i, {.queue = "small", .priority = i}));
  }
  const Future<int> flaky = ctx.schedule<int>("flaky", {.retry = kOften});
  const Future<std::string> plain = ctx.schedule<std::string>("plain");
  int sum = 0;
  for (const int value : co_await all(futures)) {
    sum += value;
  }
  sum += co_await flaky;
  const std::string text = co_await plain;
  try {
    co_await ctx.schedule("refuse", {.retry = kOften});
  } catch (const ActivityFailed& failure) {
    co_return text + " " + std::to_string(sum) + " " + failure.type();
  }
  co_return "not refused";
}

Workflow<std::string> limits(Context ctx) {
  std::string result = std::to_string(co_await ctx.schedule<int>("progress", 6, {.retry = kOften}));
  result += " " + co_await ctx.schedule<std::string>(
                      "silent", {.heartbeat_timeout = milliseconds(15), .retry = kOften});
  result += " " + co_await ctx.schedule<std::string>(
                      "silent", {.timeout = milliseconds(15), .retry = kOften});
  const auto failure_of = [](Context inner, Future<void> future) -> Workflow<std::string> {
    static_cast<void>(inner);
    try {
      co_await future;
    } catch (const ActivityFailed& failure) {
      co_return failure.type();
    } catch (const TaskCancelled&) {
      co_return "cancelled";
    }
    co_return "done";
  };
  const Future<void> not_taken =
      ctx.schedule("plain", {.queue = "nobody", .wait_timeout = milliseconds(10)});
  const Future<void> too_late =
      ctx.schedule("plain", {.queue = "nobody", .total_timeout = milliseconds(10)});
  const Future<void> waiting = ctx.schedule("plain", {.queue = "nobody"});
  const Future<void> running = ctx.schedule("till told", {.retry = kOften});
  result += " " + co_await failure_of(ctx, not_taken);
  result += " " + co_await failure_of(ctx, too_late);
  ctx.cancel(waiting);
  result += " " + co_await failure_of(ctx, waiting);
  ctx.cancel(running);
  result += " " + co_await failure_of(ctx, running);
  co_return result;
}

// --- The store's transaction ---------------------------------------------------------------------

void move_money(Transaction& tx, int amount) {
  const std::string text = std::to_string(amount);
  tx.exec("UPDATE crash_account SET balance = balance - ? WHERE name = 'alice'", {text});
  tx.exec("UPDATE crash_account SET balance = balance + ? WHERE name = 'bob'", {text});
}

Workflow<std::string> transfer(Context ctx) {
  co_await ctx.transact("open", [](Transaction& tx) {
    tx.exec("CREATE TABLE crash_account(name TEXT PRIMARY KEY, balance INTEGER NOT NULL)");
    tx.exec("INSERT INTO crash_account VALUES('alice', 100), ('bob', 0)");
  });
  for (int i = 1; i <= 3; ++i) {
    co_await ctx.transact("move", [i](Transaction& tx) { move_money(tx, 10 * i); });
  }
  std::string result;
  try {
    co_await ctx.transact("too much", [](Transaction& tx) {
      move_money(tx, 1000);
      throw ActivityError("Broke", "alice has not that much");
    });
  } catch (const ActivityFailed& failure) {
    result += failure.type();
  }
  // Not before the second time in each process.
  const Future<int> later = ctx.transact(
      "later",
      [](Transaction& tx) {
        static std::atomic<int> calls = 0;
        move_money(tx, 1);
        if (++calls == 1) {
          throw std::runtime_error("not yet");
        }
        return std::stoi(tx.query("SELECT balance FROM crash_account WHERE name = 'bob'")[0][0]);
      },
      {.retry = kOften});
  const Future<int> beside = ctx.run("beside", add, 1, 1);
  result += " " + std::to_string(co_await later) + " " + std::to_string(co_await beside);
  co_return result;
}

// --- Time ----------------------------------------------------------------------------------------

Workflow<std::string> timers(Context ctx) {
  const Time begin = ctx.now();
  co_await ctx.sleep(milliseconds(5));
  co_await ctx.sleep_until(begin + milliseconds(10));
  const Future<void> longer = ctx.timer(milliseconds(60), {.id = "longer"});
  const Future<void> hour = ctx.sleep(hours(1));
  co_await ctx.sleep(milliseconds(0));
  co_await longer;
  std::string result = ctx.now() - begin >= milliseconds(60) ? "slept" : "too short";
  ctx.cancel(hour);
  try {
    co_await hour;
  } catch (const TimerCancelled&) {
    result += " cancelled";
  }
  co_return result;
}

// --- Signals -------------------------------------------------------------------------------------

Workflow<std::string> signals(Context ctx) {
  std::string result;
  try {
    co_await ctx.signal("never", {.timeout = milliseconds(10)});
  } catch (const TimedOut&) {
    result += "timed out";
  }
  for (int i = 0; i < 3; ++i) {
    result += " " + std::to_string(co_await ctx.signal<int>("number", {.timeout = hours(1)}));
  }
  result += ctx.has_signal("extra") ? " extra" : " none";
  result += " " + ctx.try_signal<std::string>("extra").value_or("nothing");
  result += ctx.has_signal("extra") ? " more" : "";
  co_return result;
}

Workflow<std::string> mailbox(Context ctx, std::string name) {
  std::string result = name;
  for (int i = 0; i < 2; ++i) {
    result += " " + co_await ctx.signal<std::string>("letter");
  }
  co_return result;
}

// --- Promises ------------------------------------------------------------------------------------

Workflow<std::string> promises(Context ctx) {
  const PromiseFuture<int> by_token = ctx.promise<int>("by token");
  co_await ctx.run("publish", [token = by_token.token()](Activity& activity) {
    note(activity);
    const std::string path = outside_file("token");
    std::ofstream(path + ".new") << token;
    if (std::rename((path + ".new").c_str(), path.c_str()) != 0) {
      throw std::runtime_error("cannot rename");
    }
  });
  std::string result = std::to_string(co_await by_token);
  result += " " + co_await ctx.promise<std::string>("by name", {.timeout = hours(1)});
  try {
    co_await ctx.promise("refused");
  } catch (const PromiseRejected& failure) {
    result += " " + failure.type() + " " + failure.message();
  }
  try {
    co_await ctx.promise("forgotten", {.timeout = milliseconds(10)});
  } catch (const TimedOut&) {
    result += " timed out";
  }
  co_return result;
}

// --- Children ------------------------------------------------------------------------------------

Workflow<std::string> child(Context ctx, std::string what) {
  if (what == "fail") {
    co_await ctx.run("fail", [](Activity& activity) {
      note(activity);
      throw ActivityError("ChildBroke", "on purpose");
    });
  }
  if (what == "add") {
    co_return std::to_string(co_await ctx.run("add", add, 1, 2));
  }
  if (what == "linger") {
    co_await ctx.send("children", "here");
    co_return "told " + co_await ctx.signal<std::string>("finish");
  }
  co_return what;
}

Workflow<std::string> children(Context ctx) {
  const Future<std::string> sum = ctx.child<std::string>("child", "children/add", "add");
  const Future<std::string> broken = ctx.child<std::string>("child", "children/fail", "fail");
  // Nobody waits for these.
  static_cast<void>(
      ctx.child("child", "children/cancel", "linger", {.parent_close = ParentClose::kCancel}));
  static_cast<void>(
      ctx.child("child", "children/abandon", "linger",
                {.parent_close = ParentClose::kAbandon, .tags = {{"of", "children"}}}));
  static_cast<void>(ctx.child("child", "children/terminate", "linger",
                              {.parent_close = ParentClose::kTerminate}));
  for (int i = 0; i < 3; ++i) {
    co_await ctx.signal("here");
  }
  std::string result = co_await sum;
  try {
    co_await broken;
  } catch (const ChildFailed& failure) {
    result += " " + failure.type() + " " + failure.message();
  }
  try {
    co_await ctx.child("child", "children/add", "taken");
  } catch (const ChildFailed& failure) {
    result += " " + failure.type();
  }
  co_return result;
}

// --- Cancelling ----------------------------------------------------------------------------------

Workflow<std::string> cancelling(Context ctx) {
  std::string result;
  const auto shielded = [](Branch inner) -> Workflow<std::string> {
    co_return co_await inner.shielded().signal<std::string>("after all");
  };
  const auto open = [](Branch inner) -> Workflow<std::string> {
    std::string reason = "not cancelled";
    try {
      co_await inner.signal("never");
    } catch (const Cancelled& cancelled) {
      reason = cancelled.reason();
    }
    // What is awaited from now on is not interrupted again.
    co_await inner.sleep(milliseconds(5));
    co_return reason + " " + co_await inner.run("clean", echo, "cleaned");
  };
  const auto [first, second] = co_await ctx.join(shielded, open);
  co_return first + ", " + second + (ctx.cancelled() ? ", is cancelled" : "");
}

// --- Sagas ---------------------------------------------------------------------------------------

Workflow<std::string> book(Context ctx, std::string how) {
  Saga saga(ctx);
  for (const char* what : {"hotel", "flight", "car"}) {
    co_await saga.add(how == "badly" ? "undo badly" : "undo", what);
    co_await ctx.run("book", echo, what);
  }
  if (how == "till cancelled") {
    co_await ctx.signal("never");
  }
  throw std::runtime_error("no " + how);
}

// --- Loops and runs that recur -------------------------------------------------------------------

Workflow<std::string> counting(Context ctx) {
  co_await ctx.run("before", add, 0, 0);
  const int sum = co_await ctx.loop(
      std::pair<int, int>(0, 0),
      [](Branch inner, std::pair<int, int> state) -> Workflow<LoopStep<std::pair<int, int>, int>> {
        const auto [count, total] = state;
        const int next = co_await inner.run("add", add, total, count);
        inner.set("count", count);
        if (count % 4 == 0) {
          co_await inner.sleep(milliseconds(1));
        }
        if (count == 9) {
          co_return break_with(next);
        }
        co_return continue_with(std::pair<int, int>(count + 1, next));
      },
      {.checkpoint_every = 3});
  const int after = co_await ctx.run("after", add, sum, 1);
  co_return std::to_string(after) + " " + std::to_string(ctx.get<int>("count").value_or(-1));
}

Workflow<std::string> recurring(Context ctx, int round, std::string so_far) {
  const std::string word = co_await ctx.signal<std::string>("word");
  const std::string next = co_await ctx.run("append", echo, so_far + word);
  if (round == 4) {
    co_return next + " " + std::to_string(ctx.info().number);
  }
  ctx.recur(round + 1, next);
}

// --- State, versions -----------------------------------------------------------------------------

Workflow<std::string> states(Context ctx) {
  ctx.set("stage", "begun");
  ctx.set("count", 1);
  co_await ctx.run("first", add, 1, 1);
  ctx.set("count", ctx.get<int>("count").value_or(0) + 1);
  co_await ctx.sleep(milliseconds(2));
  ctx.clear("stage");
  co_await ctx.run("second", add, 1, 1);
  const bool is_clear = !ctx.get<std::string>("stage").has_value();
  ctx.set("stage", "done");
  co_await ctx.sleep(milliseconds(2));
  co_return std::to_string(ctx.get<int>("count").value_or(0)) + (is_clear ? " clear " : " set ") +
      ctx.get<std::string>("stage").value_or("");
}

// Both releases give the same result.
Workflow<std::string> releases_one(Context ctx) {
  const int stock = co_await ctx.run("reserve", add, 1, 1);
  co_await ctx.run("legacy", add, 0, 0);
  co_await ctx.sleep(milliseconds(2));
  const int paid = co_await ctx.run("pay the old way", add, stock, 5);
  const int sent = co_await ctx.run("ship", add, paid, 1);
  co_return std::to_string(sent);
}

Workflow<std::string> releases_two(Context ctx) {
  const int stock = co_await ctx.run("reserve", add, 1, 1);
  ctx.removed(StepKind::kOperation, "legacy");
  co_await ctx.v(2).run("audit", add, 7, 7);
  co_await ctx.sleep(milliseconds(2));
  int paid = 0;
  if (ctx.check_version(2) >= 2) {
    paid = co_await ctx.v(2).run("pay the new way", add, 5, stock);
  } else {
    paid = co_await ctx.run("pay the old way", add, stock, 5);
  }
  const int sent = co_await ctx.run("ship", add, paid, 1);
  co_return std::to_string(sent);
}

// --- Structure -----------------------------------------------------------------------------------

Workflow<int> part(Context ctx, int value) { co_return co_await ctx.run("part", add, value, 1); }

Workflow<std::string> structure(Context ctx) {
  const auto arm = [](int value) {
    return [value](Branch inner) -> Workflow<int> {
      const int first = co_await inner.run("arm", add, value, 1);
      co_await inner.sleep(milliseconds(2));
      co_return co_await part(inner, first);
    };
  };
  const auto [one, two] = co_await ctx.join(arm(10), arm(20));
  int many = 0;
  for (const int value : co_await ctx.join(std::vector{arm(1), arm(2), arm(3)})) {
    many += value;
  }
  const int inside = co_await ctx.branch(arm(100), {.step_key = "the branch"});
  const auto [left, right] = co_await all(ctx.run("keyed", {.step_key = "left"}, add, 1, 1),
                                          ctx.run("keyed", {.step_key = "right"}, add, 2, 2));
  const Future<void> never = ctx.signal("never");
  const Future<void> soon = ctx.sleep(milliseconds(3));
  const std::size_t winner = (co_await any(never, soon)).index();
  const std::vector<Future<void>> racers = {ctx.signal("never too"), ctx.sleep(milliseconds(1))};
  const std::size_t second = (co_await any(racers)).index;
  const int in_time = co_await with_timeout(ctx.run("quick", add, 3, 4), hours(1));
  std::string late;
  try {
    co_await with_timeout(ctx.signal("never at all"), milliseconds(3));
  } catch (const TimedOut&) {
    late = "late";
  }
  std::ostringstream result;
  result << one << " " << two << " " << many << " " << inside << " " << left << " " << right << " "
         << winner << second << " " << in_time << " " << late;
  co_return result.str();
}

// --- What replay has to give again ---------------------------------------------------------------

Workflow<std::string> identity(Context ctx) {
  std::string result;
  for (int i = 0; i < 4; ++i) {
    const std::string seen = ctx.uuid() + " " + std::to_string(ctx.random()) + " " +
                             std::to_string(ctx.uniform(1, 6)) + " " +
                             std::to_string(ctx.now().time_since_epoch().count()) + " " +
                             ctx.info().uuid + " " + ctx.info().id;
    const std::string recorded = co_await ctx.run("see", echo, seen);
    result += recorded == seen ? "same " : "not " + seen + " but " + recorded + " ";
    if (i % 2 == 1) {
      co_await ctx.sleep(milliseconds(1));
    }
  }
  const auto arm = [](Branch inner) -> Workflow<std::string> {
    const std::string seen = inner.uuid() + " " + std::to_string(inner.random());
    const std::string recorded = co_await inner.run("see", echo, seen);
    co_return recorded == seen ? "same" : "not " + seen + " but " + recorded;
  };
  const auto [left, right] = co_await ctx.join(arm, arm);
  co_return result + left + " " + right;
}

// --- Runs that talk to one another ---------------------------------------------------------------

Workflow<std::string> caller(Context ctx, std::string other) {
  std::string result;
  for (int i = 1; i <= 2; ++i) {
    co_await ctx.send(other, "ping", i);
    result += co_await ctx.signal<std::string>("pong") + " ";
  }
  co_return result + co_await ctx.run("hang up", echo, "bye");
}

Workflow<std::string> answerer(Context ctx, std::string other) {
  int sum = 0;
  for (int i = 0; i < 2; ++i) {
    const int number = co_await ctx.signal<int>("ping");
    sum = co_await ctx.run("sum", add, sum, number);
    co_await ctx.send(other, "pong", "got " + std::to_string(number));
  }
  co_return std::to_string(sum);
}

// --- The outside ---------------------------------------------------------------------------------

bool is_closed(Status status) {
  return status == Status::kCompleted || status == Status::kFailed ||
         status == Status::kCancelled || status == Status::kRecurred;
}

// May be done again after a crash; a run that has ended does not need it any more.
template <class T>
void send(Engine& engine, const std::string& run, const std::string& name, const T& value,
          const std::string& dedupe) {
  try {
    engine.get(run).signal(name, value, {.id = dedupe});
    engine.get(run).signal(name, value, {.id = dedupe});
  } catch (const Closed&) {
  }
}

// Calls until it is done, or was done before, or nobody needs it.
void settle(std::string_view what, const std::function<void()>& call) {
  wait_until(what, [&] {
    try {
      call();
      return true;
    } catch (const AlreadyExists&) {
      return true;
    } catch (const Closed&) {
      return true;
    } catch (const NotFound&) {
      return false;  // Not there yet.
    }
  });
}

// When the run waits for `place`, among others: if it waits for the signal "never", too, nobody has
// cancelled it yet.
void cancel_at(Engine& engine, const std::string& run, const std::string& place,
               const std::string& reason) {
  const auto waits_for = [](const Description& run_now, const std::string& what) {
    return run_now.status == Status::kWaiting &&
           run_now.waiting_for.find(what) != std::string::npos;
  };
  wait_until("the run waits for " + place, [&] {
    const Description now = engine.get(run).describe();
    if (is_closed(now.status) || now.status == Status::kCompensating) {
      return true;
    }
    if (!waits_for(now, place)) {
      return false;
    }
    if (waits_for(now, "signal never")) {
      try {
        engine.get(run).cancel(reason);
      } catch (const Closed&) {
      }
    }
    return true;
  });
}

std::function<Handle(Engine&)> start_plain(const std::string& kind) {
  return [kind](Engine& engine) { return engine.start<std::string>(kind, kind); };
}

template <class In>
std::function<Handle(Engine&)> start_with(const std::string& kind, const std::string& id,
                                          In input) {
  return [=](Engine& engine) { return engine.start<std::string>(kind, id, input); };
}

void play_promises(Engine& engine) {
  std::string token;
  wait_until("the token", [&] {
    std::ifstream file(outside_file("token"));
    return static_cast<bool>(std::getline(file, token)) ||
           is_closed(engine.get("promises").status());
  });
  if (!token.empty()) {
    settle("resolving by token", [&] { engine.resolve_token(token, 41); });
  }
  settle("resolving by name",
         [&] { engine.resolve<std::string>("promises", "by name", "resolved"); });
  settle("rejecting", [&] { engine.reject("promises", "refused", "Refused", "by me"); });
}

std::string look_at_children(Engine& engine) {
  std::string result;
  for (const char* id : {"children/cancel", "children/abandon", "children/terminate"}) {
    if (std::string_view(id) == "children/abandon") {
      send(engine, id, "finish", "by the outside", "finish");
    }
    result += outcome_of(engine.get<std::string>(id));
  }
  return result;
}

Handle start_talking(Engine& engine) {
  engine.start("answerer", "answerer", "talking", {.tags = {{"role", "answers"}}});
  const Handle handle = engine.start<std::string>("talking", "talking", "answerer",
                                                  {.tags = {{"role", "calls"}, {"city", "Ulm"}}});
  const Handle again = engine.start<std::string>("talking", "talking", "somebody else");
  if (again.is_new()) {
    throw std::runtime_error("started twice");
  }
  try {
    engine.start<std::string>("talking", "talking", "answerer", {.on_existing = OnExisting::kFail});
    throw std::runtime_error("started twice");
  } catch (const AlreadyExists&) {
  }
  return handle;
}

// As outcome_of() writes it.
std::string completed(const std::string& result) {
  return nlohmann::json{{"status", "completed"}, {"result", result}}.dump();
}
std::string failed(const std::string& type, const std::string& message) {
  return nlohmann::json{{"status", "failed"}, {"type", type}, {"message", message}}.dump();
}
std::string cancelled(const std::string& reason) {
  return nlohmann::json{{"status", "cancelled"}, {"reason", reason}}.dump();
}

std::map<std::string, std::string> make_expected() {
  return {
      {"operations", completed("sum 10 6")},
      {"retries", completed(R"(3 Finalno{"why":7} Own2 in time)")},
      {"tasks", completed("plain 8 Refused")},
      {"limits", completed("6 loud loud Timeout Timeout cancelled cancelled")},
      {"transfer", completed("Broke 61 2")},
      {"timers", completed("slept cancelled")},
      {"signals", completed("timed out 0 7 14 extra the extra")},
      {"mailbox", completed("for me first second")},
      {"promises", completed("41 resolved Refused by me timed out")},
      {"children", completed("3 ChildBroke on purpose AlreadyExists") +
                       cancelled("the parent of this run ended") +
                       completed("told by the outside") +
                       failed("Terminated", "the parent of this run ended")},
      {"cancelling", completed("went on, enough cleaned, is cancelled")},
      {"failing saga", failed("std::runtime_error", "no luck")},
      {"cancelled saga", cancelled("changed my mind")},
      {"broken saga", failed("std::runtime_error", "no badly")},
      {"counting", completed("46 9")},
      {"recurring", completed("abcd 4")},
      {"states", completed("2 clear done")},
      {"releases", completed("8")},
      {"structure", completed("12 22 12 102 2 4 11 7 late")},
      {"identity", completed("same same same same same same")},
      {"talking", completed("got 1 got 2 bye") + completed("3")},
  };
}

std::vector<Reference> make_references() {
  std::vector<Reference> all;
  all.push_back({.name = "operations",
                 .id = "op/1",
                 .other_ids = {},
                 .start = start_with("operations", "op/1", 5)});
  all.push_back(
      {.name = "retries", .id = "retries", .other_ids = {}, .start = start_plain("retries")});
  all.push_back({.name = "tasks", .id = "tasks", .other_ids = {}, .start = start_plain("tasks")});
  all.push_back(
      {.name = "limits", .id = "limits", .other_ids = {}, .start = start_plain("limits")});
  all.push_back(
      {.name = "transfer", .id = "transfer", .other_ids = {}, .start = start_plain("transfer")});
  all.push_back(
      {.name = "timers", .id = "timers", .other_ids = {}, .start = start_plain("timers")});
  all.push_back({.name = "signals",
                 .id = "signals",
                 .other_ids = {},
                 .start = start_plain("signals"),
                 .play = [](Engine& engine) {
                   send(engine, "signals", "extra", "the extra", "extra");
                   for (int i = 0; i < 3; ++i) {
                     send(engine, "signals", "number", 7 * i, "number " + std::to_string(i));
                   }
                 }});
  const auto post = [](const std::string& letter) {
    return [letter](Engine& engine) {
      return engine.signal_with_start<std::string>("mailbox", "mailbox", "for me", "letter", letter,
                                                   {}, {.id = letter});
    };
  };
  all.push_back({.name = "mailbox",
                 .id = "mailbox",
                 .other_ids = {},
                 .start = post("first"),
                 .play = [post](Engine& engine) {
                   if (post("first")(engine).is_new() || post("second")(engine).is_new()) {
                     throw std::runtime_error("started twice");
                   }
                 }});
  all.push_back({.name = "promises",
                 .id = "promises",
                 .other_ids = {},
                 .start = start_plain("promises"),
                 .play = play_promises});
  all.push_back({.name = "children",
                 .id = "children",
                 .other_ids = {"children/add", "children/fail", "children/cancel",
                               "children/abandon", "children/terminate"},
                 .start = start_plain("children"),
                 .look = look_at_children});
  all.push_back({.name = "cancelling",
                 .id = "cancelling",
                 .other_ids = {},
                 .start = start_plain("cancelling"),
                 .play = [](Engine& engine) {
                   cancel_at(engine, "cancelling", "signal after all", "enough");
                   send(engine, "cancelling", "after all", "went on", "after all");
                 }});
  all.push_back({.name = "failing saga",
                 .id = "saga/fail",
                 .other_ids = {},
                 .start = start_with("book", "saga/fail", "luck")});
  all.push_back({.name = "cancelled saga",
                 .id = "saga/cancel",
                 .other_ids = {},
                 .start = start_with("book", "saga/cancel", "till cancelled"),
                 .play = [](Engine& engine) {
                   cancel_at(engine, "saga/cancel", "signal never", "changed my mind");
                 }});
  all.push_back({.name = "broken saga",
                 .id = "saga/broken",
                 .other_ids = {},
                 .start = start_with("book", "saga/broken", "badly")});
  all.push_back(
      {.name = "counting", .id = "counting", .other_ids = {}, .start = start_plain("counting")});
  all.push_back(
      {.name = "recurring",
       .id = "recurring",
       .other_ids = {},
       .start = [](Engine& engine) { return engine.start(recurring, "recurring", 1, ""); },
       .play =
           [](Engine& engine) {
             for (const char* word : {"a", "b", "c", "d"}) {
               send(engine, "recurring", "word", word, word);
             }
           }});
  all.push_back(
      {.name = "states", .id = "states", .other_ids = {}, .start = start_plain("states")});
  all.push_back({.name = "releases",
                 .id = "releases",
                 .other_ids = {},
                 .start = start_plain("releases"),
                 .is_regular = false});
  all.push_back(
      {.name = "structure", .id = "structure", .other_ids = {}, .start = start_plain("structure")});
  all.push_back(
      {.name = "identity", .id = "identity", .other_ids = {}, .start = start_plain("identity")});
  all.push_back(
      {.name = "talking",
       .id = "talking",
       .other_ids = {"answerer"},
       .start = start_talking,
       .look = [](Engine& engine) { return outcome_of(engine.get<std::string>("answerer")); }});
  const std::map<std::string, std::string> expected = make_expected();
  for (Reference& reference : all) {
    reference.expected = expected.at(reference.name);
  }
  return all;
}

void add_activities(Registry& registry) {
  registry.activity("square", [](Activity& activity, int value) {
    note(activity);
    return value * value;
  });
  registry.activity("flaky", fail_till_third);
  registry.activity("plain", [](Activity& activity) {
    note(activity);
    return std::string("plain");
  });
  registry.activity("refuse", [](Activity& activity) {
    note(activity);
    throw ActivityError("Refused", "never", {.final = true});
  });
  // Gets on by way of its heartbeats: half way it fails, and the next attempt goes on from there.
  registry.activity("progress", [](Activity& activity, int goal) {
    note(activity);
    const int begin = activity.last_details<int>().value_or(0);
    for (int i = begin + 1; i <= goal; ++i) {
      activity.heartbeat(i);
      if (i == goal / 2) {
        throw std::runtime_error("half way");
      }
    }
    return goal;
  });
  registry.activity("silent", [](Activity& activity) {
    note(activity);
    while (activity.attempt() == 1 && !activity.should_stop()) {
      wait_a_moment();
    }
    return std::string("loud");
  });
  registry.activity("till told", [](Activity& activity) {
    note(activity);
    while (activity.heartbeat()) {
      std::this_thread::sleep_for(milliseconds(20));
    }
    throw std::runtime_error("told to stop");
  });
  const ActivityOptions soon = {.compensation_retry = kOften};
  registry.activity("undo", echo, soon);
  // One of them never works, one only at the second attempt.
  registry.activity(
      "undo badly",
      [](Activity& activity, const std::string& what) {
        note(activity);
        if (what == "flight") {
          throw ActivityError("NoWay", "the flight has left", {.final = true});
        }
        if (what == "hotel" && activity.attempt() < 2) {
          throw std::runtime_error("busy");
        }
        return what;
      },
      soon);
}

}  // namespace

const std::vector<Reference>& references() {
  static const std::vector<Reference> all = make_references();
  return all;
}

Registry make_registry(int release) {
  Registry registry;
  registry.workflow("operations", operations, {.matching = Matching::kByName});
  registry.workflow("retries", retries);
  registry.workflow("tasks", tasks, {.matching = Matching::kPerKind});
  registry.workflow("limits", limits);
  registry.workflow("transfer", transfer);
  registry.workflow("timers", timers);
  registry.workflow("signals", signals);
  registry.workflow("mailbox", mailbox);
  registry.workflow("promises", promises);
  registry.workflow("children", children);
  registry.workflow("child", child);
  registry.workflow("cancelling", cancelling);
  registry.workflow("book", book);
  registry.workflow("counting", counting);
  registry.workflow("recurring", recurring);
  registry.workflow("states", states);
  registry.workflow("releases", release == 1 ? releases_one : releases_two,
                    {.fingerprint = "release " + std::to_string(release)});
  registry.workflow("structure", structure);
  registry.workflow("identity", identity, {.fingerprint = "identity"});
  registry.workflow("talking", caller);
  registry.workflow("answerer", answerer);
  add_activities(registry);
  return registry;
}

EngineOptions engine_options() {
  EngineOptions options;
  options.queues = {{.name = "default", .concurrency = 8}, {.name = "small", .concurrency = 1}};
  options.activity_threads = 4;
  return options;
}

void note_attempts_in(const std::string& path) {
  notes_path = path;
  notes_file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (notes_file < 0) {
    throw std::runtime_error("cannot open " + path);
  }
}

// One write: lines of several threads and processes do not mix.
void note(const Activity& activity) {
  const std::string line = activity.run_id() + " " + activity.name() + " " + activity.key() + " " +
                           std::to_string(activity.attempt()) + "\n";
  if (notes_file >= 0 &&
      ::write(notes_file, line.data(), line.size()) != static_cast<ssize_t>(line.size())) {
    std::abort();
  }
}

std::string outcome_of(const Handle& handle) {
  nlohmann::json outcome;
  try {
    outcome["result"] = handle.result_for(std::chrono::seconds(20));
    outcome["status"] = "completed";
  } catch (const WorkflowFailed& failure) {
    outcome["status"] = "failed";
    outcome["type"] = failure.type();
    outcome["message"] = failure.message();
  } catch (const WorkflowCancelled& cancelled) {
    outcome["status"] = "cancelled";
    outcome["reason"] = cancelled.reason();
  }
  return outcome.dump();
}

void wait_until(std::string_view what, const std::function<bool()>& holds) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!holds()) {
    if (std::chrono::steady_clock::now() > deadline) {
      throw std::runtime_error("not within 20 s: " + std::string(what));
    }
    wait_a_moment();
  }
}

}  // namespace pawl::crash

// What workflow code sees: each call of Context, on the replay core alone.
#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "fake_host.h"
#include "pawl/pawl.hpp"

namespace shop {

struct Order {
  int id = 0;
  std::string item;
  friend bool operator==(const Order&, const Order&) = default;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Order, id, item)

struct OutOfStock : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace shop

namespace pawl::sdk_test {
namespace {

using namespace std::chrono_literals;
using replay::OutcomeKind;
using shop::Order;

int twice(int number) { return 2 * number; }

// Lives through it three times: at one go, thrown out of memory after every turn, and stopped after
// every single entry. All must come to the same.
template <class F, class In = std::nullptr_t>
World live_always(F workflow, std::vector<World::Event> script, const In& input = nullptr,
                  bool forgets = false) {
  World world(workflow, input);
  world.script = script;
  world.live();
  World replayed(workflow, input);
  replayed.script = script;
  replayed.replay_every_turn = true;
  replayed.live();
  EXPECT_EQ(world.text(), replayed.text());
  EXPECT_EQ(replayed.violation(), "");
  if (forgets) {
    return world;
  }
  const std::size_t entries = world.entries();
  for (std::size_t stop = 0; stop <= entries; ++stop) {
    World stopped(workflow, input);
    stopped.script = script;
    stopped.live();
    stopped.truncate(stop);
    stopped.live();
    EXPECT_EQ(stopped.violation(), "") << "stopped after " << stop;
    EXPECT_EQ(stopped.has_ended(), world.has_ended()) << "stopped after " << stop;
    if (world.has_ended() && stopped.has_ended()) {
      EXPECT_EQ(stopped.end()->kind, world.end()->kind) << "stopped after " << stop;
      EXPECT_EQ(stopped.end()->payload, world.end()->payload) << "stopped after " << stop;
    }
  }
  return world;
}

// --- Activities ---

Workflow<int> one_operation(Context ctx, int number) {
  co_return co_await ctx.run("twice", twice, number);
}

TEST(Run, RecordsResultInOneEntry) {
  World world = live_always(one_operation, {}, 21);
  EXPECT_EQ(world.result(), "42");
  EXPECT_EQ(world.text(), "1 OperationCompleted {1} twice = 42\n2 WorkflowCompleted = 42\n");
  EXPECT_EQ(world.executed(), 1U);
}

Workflow<std::string> many_arguments(Context ctx) {
  const auto join = [](Activity& activity, const std::string& a, int b, double c) {
    return activity.name() + " " + std::string(activity.input()) + " " + a + std::to_string(b) +
           (c > 1 ? "!" : "");
  };
  auto first = ctx.run("join", join, "text", 7, 1.5);
  co_await ctx.sleep(1s);
  co_return co_await first;
}

TEST(Run, PassesArgumentsAndActivity) {
  World world = live_always(many_arguments, {{"{2}"}});
  EXPECT_EQ(world.result(), R"("join [\"text\",7,1.5] text7!")");
  EXPECT_NE(world.text().find(R"(OperationStarted {1} join = ["text",7,1.5])"), std::string::npos);
}

Workflow<std::string> catches(Context ctx) {
  std::string seen;
  try {
    co_await ctx.run("reserve", {.retry = {.attempts = 3}, .step_key = "k"},
                     [] { throw shop::OutOfStock("no bolts"); });
  } catch (const ActivityFailed& failed) {
    seen = failed.type() + "|" + failed.message() + "|" + failed.what();
  }
  try {
    co_await ctx.run("typed", []() -> int {
      throw ActivityError("Broke", "no money", {.final = true, .details = R"({"left":3})"});
    });
  } catch (const ActivityFailed& failed) {
    seen += "|" + failed.type() + failed.details();
  }
  co_return seen;
}

TEST(Run, FailureKeepsTypeMessageAndDetails) {
  World world = live_always(catches, {});
  EXPECT_EQ(world.result(),
            R"("shop::OutOfStock|no bolts|operation 'reserve' failed: shop::OutOfStock: no bolts)"
            R"(|Broke{\"left\":3}")");
}

Workflow<void> fails(Context ctx) {
  co_await ctx.run("reserve", [] { throw shop::OutOfStock("no bolts"); });
}

TEST(Run, UncaughtFailureFailsTheWorkflowUnderItsOwnType) {
  World world = live_always(fails, {});
  ASSERT_TRUE(world.has_ended());
  EXPECT_EQ(world.end()->kind, replay::EntryKind::kWorkflowFailed);
  EXPECT_EQ(world.end()->payload, R"({"type":"shop::OutOfStock","message":"no bolts"})");
}

Workflow<int> throws_itself(Context /*ctx*/) {
  throw shop::OutOfStock("at once");
  co_return 1;
}

TEST(Workflow, ExceptionIsRecordedByTypeAndText) {
  World world = live_always(throws_itself, {});
  EXPECT_EQ(world.end()->payload, R"({"type":"shop::OutOfStock","message":"at once"})");
}

struct Opaque {
  std::thread::id id;
};

Workflow<int> not_encodable(Context ctx) {
  co_return co_await ctx.run("opaque", [](const Opaque& /*opaque*/) { return 1; }, Opaque{});
}

TEST(Run, ArgumentsThatCannotBeEncodedAreNotRecorded) {
  EXPECT_EQ(live_always(not_encodable, {}).result(), "1");
}

Workflow<std::string> a_task(Context ctx, Order order) {
  auto charge = ctx.schedule<std::string>(
      "charge", order, {.queue = "payments", .retry = {.attempts = 5}, .step_key = "c"});
  auto plain = ctx.schedule("plain");
  co_await plain;
  const std::string once = co_await charge;
  const std::string again = co_await charge;
  co_return once + again;
}

TEST(Schedule, IsAwaitedAsOftenAsYouLike) {
  World world = live_always(a_task, {{"{1}", R"("ok")"}, {"{2}"}}, Order{17, "bolt"});
  EXPECT_EQ(world.result(), R"("okok")");
  EXPECT_NE(world.text().find(R"(1 TaskScheduled {1} charge key c = {"id":17,"item":"bolt"})"),
            std::string::npos)
      << world.text();
}

Workflow<std::string> task_troubles(Context ctx) {
  std::string seen;
  auto failing = ctx.schedule<int>("failing");
  try {
    co_await failing;
  } catch (const ActivityFailed& failed) {
    seen += failed.message();
  }
  auto cancelled = ctx.schedule<int>("cancelled", 1);
  ctx.cancel(cancelled);
  ctx.cancel(cancelled);
  try {
    co_await cancelled;
  } catch (const TaskCancelled& error) {
    seen += std::string(", ") + error.what();
  }
  auto malformed = ctx.schedule<Order>("malformed");
  try {
    co_await malformed;
  } catch (const PayloadError& error) {
    seen += std::string(", ") + error.what();
  }
  co_return seen;
}

TEST(Schedule, FailureCancellationAndWrongPayload) {
  World world = live_always(task_troubles, {{"{1}", R"("broken")", OutcomeKind::kFailed},
                                            {"{2}", "", OutcomeKind::kCancelled},
                                            {"{4}", "17"}});
  const std::string result = world.result();
  EXPECT_NE(
      result.find("broken, task 'cancelled' was cancelled, task 'malformed' as shop::Order: "),
      std::string::npos)
      << result;
  EXPECT_NE(world.text().find("TaskCancelRequested {3}"), std::string::npos);
  EXPECT_EQ(world.text().find("TaskCancelRequested {4}"), std::string::npos);
}

// --- Combinators ---

Workflow<std::string> all_and_any(Context ctx) {
  auto a = ctx.schedule<int>("a");
  auto b = ctx.schedule<std::string>("b");
  auto t = ctx.sleep(1h);
  const auto winner = co_await any(a, b, t);
  const auto [first, second] = co_await all(a, b);
  const auto [same, nothing] = co_await all(a, t);
  static_assert(std::is_same_v<decltype(nothing), const std::monostate>);
  co_return std::to_string(winner.index()) + std::get<1>(winner) + std::to_string(first) + second +
      std::to_string(same);
}

TEST(Combinators, WinnerIsTheFirstDelivered) {
  World world = live_always(all_and_any, {{"{2}", R"("b")"}, {"{1}", "1"}, {"{3}"}});
  EXPECT_EQ(world.result(), R"("1b1b1")");
}

Workflow<std::vector<int>> over_vectors(Context ctx) {
  std::vector<Future<int>> tasks;
  for (int i = 0; i < 4; ++i) {
    tasks.push_back(ctx.schedule<int>("t", i));
  }
  const Winner<int> winner = co_await any(tasks);
  std::vector<int> values = co_await all(tasks);
  values.push_back(static_cast<int>(winner.index));
  values.push_back(winner.value);
  const std::vector<Future<void>> none;
  co_await all(none);
  co_return values;
}

TEST(Combinators, Vectors) {
  World world =
      live_always(over_vectors, {{"{3}", "30"}, {"{1}", "10"}, {"{4}", "40"}, {"{2}", "20"}});
  EXPECT_EQ(world.result(), "[10,20,30,40,2,30]");
}

Workflow<std::string> all_fails(Context ctx) {
  auto a = ctx.schedule<int>("a");
  auto b = ctx.schedule<int>("b");
  try {
    co_await all(a, b);
  } catch (const ActivityFailed& failed) {
    co_return failed.what();
  }
  co_return "?";
}

TEST(Combinators, AllThrowsTheFirstFailureAtOnce) {
  World world = live_always(all_fails, {{"{2}", R"({"message":"b broke"})", OutcomeKind::kFailed}});
  EXPECT_EQ(world.result(), R"("task 'b' failed: b broke")");
}

Workflow<std::string> timeouts(Context ctx) {
  auto slow = ctx.schedule<int>("slow");
  std::string seen;
  try {
    co_await with_timeout(slow, 5s);
  } catch (const TimedOut& error) {
    seen = error.what();
  }
  auto quick = ctx.schedule<int>("quick");
  const int value = co_await with_timeout(quick, 5s);
  seen += std::to_string(value);
  auto failing = ctx.schedule<int>("failing");
  try {
    co_await with_timeout(failing, 5s);
  } catch (const ActivityFailed&) {
    seen += "failed";
  }
  co_return seen;
}

TEST(Combinators, WithTimeout) {
  World world =
      live_always(timeouts, {{"{2}"}, {"{3}", "7"}, {"{6}", R"("x")", OutcomeKind::kFailed}});
  EXPECT_EQ(world.result(), R"("task 'slow' took longer than 5000 ms7failed")");
  EXPECT_NE(world.text().find("TimerCancelRequested {5}"), std::string::npos) << world.text();
  EXPECT_NE(world.text().find("TimerCancelRequested {8}"), std::string::npos) << world.text();
}

Workflow<int> empty_any(Context /*ctx*/) {
  const std::vector<Future<int>> none;
  co_await any(none);
  co_return 1;
}

TEST(Combinators, AnyOfNothingIsAMistake) {
  World world(empty_any);
  world.turn();
  EXPECT_NE(world.end()->payload.find("UsageError"), std::string::npos);
}

// --- Time, signals, promises ---

Workflow<std::int64_t> sleeps(Context ctx) {
  const Time before = ctx.now();
  co_await ctx.sleep(90s);
  auto named = ctx.timer(1min, {.id = "pause"});
  ctx.cancel(named);
  bool is_cancelled = false;
  try {
    co_await named;
  } catch (const TimerCancelled&) {
    is_cancelled = true;
  }
  if (is_cancelled) {
    co_await ctx.sleep_until(before);
  }
  co_return (ctx.now() - before).count() > 0 ? 1 : 0;
}

TEST(Time, Timers) {
  World world = live_always(sleeps, {{"{1}"}, {"{2}", "", OutcomeKind::kCancelled}, {"{4}"}});
  EXPECT_EQ(world.result(), "1");
}

Workflow<std::vector<int>> takes_signals(Context ctx) {
  std::vector<int> seen;
  seen.push_back(co_await ctx.signal<int>("n"));
  co_await ctx.signal("go");
  while (ctx.has_signal("n")) {
    seen.push_back(ctx.try_signal<int>("n").value());
  }
  seen.push_back(ctx.try_signal<int>("n").has_value() ? 1 : 0);
  try {
    co_await ctx.signal<int>("never", {.timeout = 24h});
  } catch (const TimedOut&) {
    seen.push_back(-1);
  }
  co_return seen;
}

TEST(Signals, QueueUpAndTimeOut) {
  World world = live_always(
      takes_signals,
      {{"n", "1"}, {"n", "2"}, {"n", "3"}, {"go", "null"}, {"{3}", "", OutcomeKind::kTimedOut}});
  EXPECT_EQ(world.result(), "[1,2,3,0,-1]");
}

Workflow<std::string> wrong_signal(Context ctx) {
  try {
    co_await ctx.signal<int>("approved");
  } catch (const PayloadError& error) {
    co_return error.what();
  }
  co_return "";
}

TEST(Signals, WrongTypeIsThrownAtTheAwait) {
  World world = live_always(wrong_signal, {{"approved", R"("yes")"}});
  EXPECT_NE(world.result().find("signal 'approved' as int: "), std::string::npos);
}

Workflow<std::string> promises(Context ctx) {
  auto ok = ctx.promise<int>("ok");
  auto bad = ctx.promise<int>("bad", {.timeout = 1h});
  auto late = ctx.promise<int>("late", {.timeout = 1h});
  std::string seen = ok.token() + std::to_string(co_await ok);
  try {
    co_await bad;
  } catch (const PromiseRejected& rejected) {
    seen += rejected.type();
  }
  try {
    co_await late;
  } catch (const TimedOut& error) {
    seen += error.what();
  }
  co_return seen;
}

TEST(Promises, ResolveRejectTimeOut) {
  World world =
      live_always(promises, {{"{1}", "5"},
                             {"{2}", R"({"type":"No","message":"m"})", OutcomeKind::kFailed},
                             {"{3}", "", OutcomeKind::kTimedOut}});
  // base64url of "order-17\0ok".
  EXPECT_EQ(world.result(), R"("b3JkZXItMTcAb2s5Nopromise 'late' timed out")");
  EXPECT_EQ(detail::parse_token("b3JkZXItMTcAb2s"),
            std::pair(std::string("order-17"), std::string("ok")));
  EXPECT_THROW(detail::parse_token("?"), UsageError);
}

// --- Children, state, reads ---

Workflow<std::string> children(Context ctx) {
  auto a = ctx.child<int>("part", "order-17/a", 1, {.parent_close = ParentClose::kAbandon});
  auto b = ctx.child<int>("part", "order-17/b", 2);
  auto c = ctx.child("part", "order-17/c", 3);
  std::string seen = std::to_string(co_await a);
  try {
    co_await b;
  } catch (const ChildFailed& failed) {
    seen += failed.type();
  }
  try {
    co_await c;
  } catch (const ChildCancelled&) {
    seen += "cancelled";
  }
  co_return seen;
}

TEST(Children, ResultFailureCancellation) {
  World world =
      live_always(children, {{"{1}", "5"},
                             {"{2}", R"({"type":"No","message":"m"})", OutcomeKind::kFailed},
                             {"{3}", "", OutcomeKind::kCancelled}});
  EXPECT_EQ(world.result(), R"("5Nocancelled")");
}

Workflow<std::string> reads(Context ctx) {
  ctx.set("step", "one");
  ctx.set("order", Order{1, "bolt"});
  const auto step = ctx.get<std::string>("step");
  ctx.clear("step");
  const bool is_there = ctx.get<std::string>("step").has_value();
  const std::string uuid = ctx.uuid();
  std::int64_t sum = 0;
  for (int i = 0; i < 100; ++i) {
    const std::int64_t number = ctx.uniform(-3, 3);
    if (number < -3 || number > 3 || ctx.uniform() >= 1.0) {
      co_return "out of range";
    }
    sum += number;
  }
  const Info info = ctx.info();
  co_await ctx.sleep(1s);
  co_return *step + (is_there ? "?" : "") + ctx.get<Order>("order")->item + uuid +
      std::to_string(sum) + std::to_string(ctx.random()) + info.id + info.kind;
}

TEST(Reads, AreTheSameOnReplay) {
  World world = live_always(reads, {{"{4}"}});
  EXPECT_EQ(world.result().find(R"("onebolt)"), 0U) << world.result();
  EXPECT_NE(world.result().find("order-17test"), std::string::npos) << world.result();
}

Workflow<void> sends(Context ctx) { co_await ctx.send("order-18", "wake", Order{1, "x"}); }

TEST(Send, IsAnOperation) {
  World world = live_always(sends, {});
  EXPECT_EQ(world.sent, std::vector<std::string>{R"(order-18 wake {"id":1,"item":"x"})"});
}

Workflow<int> transacts(Context ctx) {
  co_return co_await ctx.transact("book",
                                  [](Transaction& tx) { return tx.handle() == nullptr ? 7 : 8; });
}

TEST(Transact, RunsWithTheHandle) { EXPECT_EQ(live_always(transacts, {}).result(), "7"); }

Workflow<void> with_saga(Context ctx) {
  Saga saga{ctx};
  co_await saga.add("release", Order{1, "x"});
  co_await saga.add("refund", "text", {.step_key = "k"});
}

TEST(Saga, RegistersCompensations) {
  World world = live_always(with_saga, {});
  EXPECT_EQ(world.text(),
            "1 CompensationRegistered {1} release = {\"id\":1,\"item\":\"x\"}\n"
            "2 CompensationRegistered {2} refund key k = \"text\"\n"
            "3 WorkflowCompleted = null\n");
}

// --- Structure ---

Workflow<int> part(Context ctx, int number) {
  co_await ctx.sleep(1s);
  co_return number + 1;
}

Workflow<int> calls_parts(Context ctx) {
  int number = co_await part(ctx, 1);
  auto later = part(ctx, number);
  number = co_await std::move(later);
  co_return number;
}

TEST(Structure, SubWorkflowsShareTheBranch) {
  EXPECT_EQ(live_always(calls_parts, {{"{1}"}, {"{2}"}}).result(), "3");
}

Workflow<std::string> branches(Context ctx) {
  std::string seen = "x";
  const int one = co_await ctx.branch([&](Branch inner) -> Workflow<int> {
    seen += co_await inner.schedule<std::string>("in");
    co_return 1;
  });
  try {
    co_await ctx.branch([](Branch inner) -> Workflow<void> {
      co_await inner.sleep(1s);
      throw shop::OutOfStock("inside");
    });
  } catch (const shop::OutOfStock& error) {
    seen += error.what();
  }
  co_return seen + std::to_string(one);
}

TEST(Structure, Branch) {
  World world = live_always(branches, {{"{1, 1}", R"("y")"}, {"{2, 1}"}});
  EXPECT_EQ(world.result(), R"("xyinside1")");
}

Workflow<std::vector<std::string>> joins(Context ctx) {
  std::vector<std::string> order;
  const auto arm = [&](const std::string& name) {
    return [&order, name](Branch inner) -> Workflow<std::string> {
      const auto value = co_await inner.schedule<std::string>(name);
      order.push_back(value);
      co_return value;
    };
  };
  const auto [a, b, c] = co_await ctx.join(
      arm("a"), [](Branch inner) -> Workflow<void> { co_await inner.sleep(1s); }, arm("c"));
  order.push_back(a + c);
  std::vector<decltype(arm(""))> arms;
  for (const char* name : {"d", "e"}) {
    arms.push_back(arm(name));
  }
  const std::vector<std::string> rest = co_await ctx.join(std::move(arms));
  order.push_back(rest[0] + rest[1]);
  co_return order;
}

TEST(Structure, JoinRunsConcurrently) {
  World world = live_always(joins, {{"{3, 1}", R"("C")"},
                                    {"{1, 1}", R"("A")"},
                                    {"{2, 1}"},
                                    {"{5, 1}", R"("E")"},
                                    {"{4, 1}", R"("D")"}});
  EXPECT_EQ(world.result(), R"(["C","A","AC","E","D","DE"])");
}

Workflow<std::string> join_fails(Context ctx) {
  std::string seen;
  try {
    co_await ctx.join(
        [](Branch inner) -> Workflow<void> {
          co_await inner.sleep(2s);
          throw shop::OutOfStock("first");
        },
        [&](Branch inner) -> Workflow<void> {
          seen = "second threw, ";
          throw shop::OutOfStock("second");
          co_await inner.sleep(1s);
        });
  } catch (const shop::OutOfStock& error) {
    seen += error.what();
  }
  co_return seen;
}

TEST(Structure, JoinThrowsTheFirstErrorInOrderWhenAllHaveEnded) {
  EXPECT_EQ(live_always(join_fails, {{"{1, 1}"}}).result(), R"("second threw, first")");
}

Workflow<int> loops(Context ctx) {
  const int sum =
      co_await ctx.loop(Order{0, ""},
                        [](Branch iteration, Order state) -> Workflow<LoopStep<Order, int>> {
                          state.id += co_await iteration.signal<int>("add");
                          state.item += "x";
                          if (state.item.size() == 7) {
                            co_return break_with(state.id);
                          }
                          co_return continue_with(state);
                        },
                        {.checkpoint_every = 3});
  co_await ctx.sleep(1s);
  co_return sum;
}

TEST(Structure, LoopForgets) {
  std::vector<World::Event> script;
  for (int i = 1; i <= 7; ++i) {
    script.push_back({"add", std::to_string(i)});
  }
  script.push_back({"{2}"});
  World world = live_always(loops, script, nullptr, true);
  EXPECT_EQ(world.result(), "28");
  EXPECT_LT(world.entries(), 8U) << world.text();
  EXPECT_NE(world.text().find(R"(after 3 state {"id":6,"item":"xxx"})"), std::string::npos)
      << world.text();
}

Workflow<std::string> loop_fails(Context ctx) {
  try {
    co_await ctx.loop(0, [](Branch iteration, int i) -> Workflow<LoopStep<int>> {
      co_await iteration.sleep(1s);
      if (i == 1) {
        throw shop::OutOfStock("in the loop");
      }
      co_return continue_with(i + 1);
    });
  } catch (const shop::OutOfStock& error) {
    co_return error.what();
  }
  co_return "?";
}

TEST(Structure, LoopLeftByAnError) {
  EXPECT_EQ(live_always(loop_fails, {{"{1, 1, 1}"}, {"{1, 2, 1}"}}).result(), R"("in the loop")");
}

Workflow<void> recurs(Context ctx, int number) {
  co_await ctx.sleep(1s);
  try {
    co_await ctx.branch([&](Branch inner) -> Workflow<void> {
      co_await inner.sleep(1s);
      inner.recur(number + 1);
    });
  } catch (const std::exception&) {
    throw std::logic_error("recur must not be caught here");
  }
}

TEST(Structure, Recur) {
  World world = live_always(recurs, {{"{1}"}, {"{2, 1}"}}, 4);
  ASSERT_TRUE(world.has_ended());
  EXPECT_EQ(world.end()->kind, replay::EntryKind::kWorkflowRecurred);
  EXPECT_EQ(world.end()->payload, "5");
}

// --- Cancelling ---

Workflow<std::string> handles_cancel(Context ctx) {
  std::string seen = ctx.cancelled() ? "?" : "";
  try {
    co_await ctx.sleep(1h);
  } catch (const Cancelled& cancelled) {
    seen += cancelled.what();
  }
  co_await ctx.sleep(1s);  // Runs normally.
  co_return seen + (ctx.cancelled() ? "!" : "?");
}

TEST(Cancel, IsThrownOnce) {
  World world = live_always(handles_cancel, {{"cancel", R"("enough")"}, {"{2}"}});
  EXPECT_EQ(world.result(), R"("cancelled: enough!")");
}

Workflow<void> lets_cancel_pass(Context ctx) { co_await ctx.sleep(1h); }

TEST(Cancel, LeavingTheWorkflowEndsItSo) {
  World world = live_always(lets_cancel_pass, {{"cancel", R"("enough")"}});
  ASSERT_TRUE(world.has_ended());
  EXPECT_EQ(world.end()->kind, replay::EntryKind::kWorkflowCancelled);
  EXPECT_EQ(world.end()->payload, R"("enough")");
}

Workflow<std::string> shields(Context ctx) {
  auto task = ctx.schedule<int>("a");
  std::string seen = std::to_string(co_await shield(task));
  seen += std::to_string(co_await ctx.shielded().schedule<int>("b"));
  seen += std::to_string(co_await ctx.schedule<int>("c"));
  co_return seen;
}

TEST(Cancel, DoesNotInterruptShieldedAwaits) {
  World world = live_always(shields, {{"cancel"}, {"{1}", "1"}, {"{2}", "2"}, {"{3}", "3"}});
  // The request interrupts what is pending when it comes; nothing outside a shield was.
  EXPECT_EQ(world.end()->payload, R"("123")") << world.text();
}

Workflow<std::string> cancelled_in_join(Context ctx) {
  std::string seen;
  try {
    co_await ctx.join(
        [&](Branch inner) -> Workflow<void> {
          try {
            co_await inner.sleep(1h);
          } catch (const Cancelled&) {
            seen += "a";
            throw;
          }
        },
        [&](Branch inner) -> Workflow<void> {
          co_await inner.shielded().sleep(1s);
          seen += "b";
        });
  } catch (const Cancelled&) {
    seen += "c";
  }
  co_return seen;
}

TEST(Cancel, ReachesAllArmsOutsideShields) {
  EXPECT_EQ(live_always(cancelled_in_join, {{"cancel"}, {"{2, 1}"}}).result(), R"("abc")");
}

// --- Versions ---

Workflow<int> version_one(Context ctx) {
  co_await ctx.schedule("reserve");
  co_await ctx.schedule("charge");
  co_return 1;
}
Workflow<int> version_two(Context ctx) {
  co_await ctx.schedule("reserve");
  co_await ctx.v(2).schedule("check");
  co_await ctx.schedule("charge");
  co_return 2;
}
Workflow<int> without_reserve(Context ctx) {
  ctx.removed(StepKind::kTask, "reserve");
  const std::uint32_t version = ctx.check_version(3);
  co_await ctx.schedule("charge");
  co_return static_cast<int>(version);
}
Workflow<int> other_order(Context ctx) {
  co_await ctx.schedule("charge");
  co_return 3;
}

TEST(Versions, InsertRemoveAndCheck) {
  World world(version_one);
  world.turn();
  world.complete("{1}", "1");
  world.turn();
  world.deploy(version_two);
  world.turn();
  EXPECT_NE(world.text().find("TaskScheduled {1.1} check v2"), std::string::npos) << world.text();
  world.complete("{1.1}", "1");
  world.complete("{2}", "1");
  world.turn();
  EXPECT_EQ(world.result(), "2");

  World removed(version_one);
  removed.turn();
  removed.complete("{1}", "1");
  removed.turn();
  removed.deploy(without_reserve);
  removed.complete("{2}", "1");
  removed.turn();
  EXPECT_EQ(removed.result(), "1");

  World fresh(without_reserve);
  fresh.turn();
  fresh.complete("{3}", "1");
  fresh.turn();
  EXPECT_EQ(fresh.result(), "3");
}

TEST(Versions, DisagreementIsAViolationWithSource) {
  World world(version_one);
  world.turn();
  world.deploy(other_order);
  world.turn();
  EXPECT_NE(
      world.violation().find("Task type mismatch at Task(0): expected 'charge', got 'reserve'"),
      std::string::npos);
  EXPECT_NE(world.violation().find("sdk/workflow_test.cc:"), std::string::npos)
      << world.violation();
}

// Where each kind of step is asked for; the lines are counted from here.
constexpr int kSourceLine = __LINE__ - 1;
Workflow<void> asks_for_everything(Context ctx) {
  const auto arm = [](Branch inner) -> Workflow<void> {
    inner.set("inner", 1);
    co_return;
  };
  const auto step = [](Branch /*inner*/, int /*state*/) -> Workflow<LoopStep<int>> {
    co_return break_with();
  };
  ctx.check_version(1);
  ctx.set("key", 1);
  ctx.clear("key");
  co_await Saga(ctx).add("refund", 1);
  (void)ctx.schedule("task");
  auto timer = ctx.sleep(1s);
  (void)ctx.signal("signal");
  (void)ctx.promise("promise");
  (void)ctx.child("kind", "id", 1);
  ctx.cancel(timer);
  co_await ctx.branch(arm);
  co_await ctx.join(arm, arm);
  co_await ctx.join(std::vector{arm});
  co_await ctx.loop(1, step);
  co_await ctx.run("operation", [] {});
  co_await ctx.transact("transaction", [](Transaction&) {});
  co_await ctx.send("run", "signal");
  ctx.removed(StepKind::kTask, "old");
  co_await with_timeout(ctx.signal("last"), 1s);
}

TEST(Versions, EveryStepKnowsItsLine) {
  World world(asks_for_everything);
  world.turn();
  const std::vector<int> lines = {10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20,
                                  21, 21, 22, 23, 24, 25, 26, 27, 28, 28};
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::string location = "{" + std::to_string(i + 1) + "}";
    EXPECT_EQ(world.source(location),
              "sdk/workflow_test.cc:" + std::to_string(kSourceLine + lines[i]))
        << location << "\n"
        << world.text();
  }
  EXPECT_EQ(world.source("{13, 1}"), "sdk/workflow_test.cc:" + std::to_string(kSourceLine + 4));
}

Workflow<int> catches_violation(Context ctx) {
  try {
    co_await ctx.schedule("charge");
  } catch (const DeterminismViolation&) {
  }
  co_return 1;
}

TEST(Versions, CaughtViolationStaysOne) {
  World world(version_one);
  world.turn();
  world.deploy(catches_violation);
  world.turn();
  EXPECT_NE(world.violation(), "");
  EXPECT_FALSE(world.has_ended());
}

// --- Misuse ---

Workflow<std::string> misuse(Context ctx) {
  std::string seen;
  const auto note = [&](const std::exception& error) { seen += std::string(error.what()) + "\n"; };
  try {
    co_await ctx.run("", twice, 1);
  } catch (const UsageError& error) {
    note(error);
  }
  try {
    co_await ctx.sleep(-1s);
  } catch (const UsageError& error) {
    note(error);
  }
  try {
    ctx.cancel(ctx.signal("s"));
  } catch (const UsageError& error) {
    note(error);
  }
  try {
    co_await ctx.schedule("big", std::string(2000, 'x'));
  } catch (const PayloadTooLarge& error) {
    note(error);
  }
  try {
    const Future<int> empty;
    co_await empty;
  } catch (const UsageError& error) {
    note(error);
  }
  try {
    auto done = part(ctx, 1);
    auto moved = std::move(done);
    co_await std::move(done);
  } catch (const UsageError& error) {
    note(error);
  }
  co_return seen;
}

TEST(Misuse, IsAnExceptionThatNamesTheCall) {
  World world(misuse);
  world.settings.payload_bytes_max = 1000;
  world.turn();
  EXPECT_EQ(world.result(), R"("run: the name must not be empty\n)"
                            R"(timer: a duration must not be negative\n)"
                            R"(cancel: only tasks and timers can be cancelled, this is a signal\n)"
                            R"(input of task 'big': 2002 bytes; at most 1000 are allowed\n)"
                            R"(co_await: an empty future or context\n)"
                            R"(co_await: this Workflow was awaited before, or moved from\n")");
}

std::optional<Context> leaked;
std::optional<Future<void>> leaked_future;

Workflow<std::string> uses_context_elsewhere(Context ctx) {
  leaked = ctx;
  leaked_future = ctx.sleep(1s);
  try {
    co_await ctx.run("elsewhere", [ctx] { ctx.now(); });
  } catch (const ActivityFailed& failed) {
    co_return failed.type();
  }
  co_return "?";
}

Workflow<int> uses_foreign(Context /*ctx*/) {
  co_await *leaked_future;
  co_return 1;
}

TEST(Misuse, ContextOutsideOfItsWorkflow) {
  {
    World world(uses_context_elsewhere);
    world.turn();
    EXPECT_EQ(world.result(), R"("pawl::UsageError")");
    EXPECT_THROW(leaked->now(), UsageError);
    World other(uses_foreign);
    other.turn();
    EXPECT_NE(other.end()->payload.find("belongs to another run"), std::string::npos);
  }
  EXPECT_THROW(leaked->now(), UsageError);
  leaked.reset();
  leaked_future.reset();
}

// --- Memory ---

struct Counted {
  explicit Counted(int* count) : count_(count) { ++*count_; }
  Counted(const Counted& other) : count_(other.count_) { ++*count_; }
  Counted& operator=(const Counted&) = delete;
  ~Counted() { --*count_; }
  int* count_;
};
int live_objects = 0;

Workflow<int> nested(Context ctx, int depth) {
  const Counted counted(&live_objects);
  if (depth == 0) {
    co_await ctx.sleep(1s);
    co_return 0;
  }
  const auto [a, b] = co_await ctx.join(
      [depth](Branch inner) -> Workflow<int> { co_return co_await nested(inner, depth - 1); },
      [counted](Branch inner) -> Workflow<int> {
        const Counted inside(counted);
        co_await inner.loop(0, [](Branch iteration, int i) -> Workflow<LoopStep<int>> {
          const Counted in_loop(&live_objects);
          co_await iteration.signal("never");
          co_return continue_with(i);
        });
        co_return 1;
      });
  co_return a + b;
}

TEST(Memory, FramesAreDestroyedWhereverTheyWait) {
  World world(nested, 3);
  world.turn();
  EXPECT_GT(live_objects, 6);
  EXPECT_GT(world.memory_bytes(), 2000U);
  world.unload();
  EXPECT_EQ(live_objects, 0);
}

}  // namespace
}  // namespace pawl::sdk_test

// The test kit, on the real engine: virtual time, fakes, crashes, histories.
#include "pawl/testing.hpp"

#include <chrono>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "pawl/pawl.hpp"

namespace {

using namespace std::chrono_literals;
using pawl::Context;
using pawl::Registry;
using pawl::Workflow;
using pawl::testing::CheckResult;
using pawl::testing::Environment;
using pawl::testing::HistoryBuilder;

struct Order {
  int id = 0;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Order, id)

std::string reserve(const Order& order) { return "hold-" + std::to_string(order.id); }
std::string never(const std::string& /*hold*/) { throw std::logic_error("not to be called"); }

Workflow<std::string> order(Context ctx, Order in) {
  pawl::Saga saga{ctx};
  const auto hold = co_await ctx.run("reserve", reserve, in);
  co_await saga.add("release", hold);
  const auto payment = co_await ctx.schedule<std::string>("charge", hold);
  co_await ctx.sleep(24h);
  const bool approved = co_await ctx.signal<bool>("approved", {.timeout = 7 * 24h});
  if (!approved) {
    throw std::runtime_error("refused");
  }
  co_return hold + " " + payment;
}

struct Shop {
  int charged = 0;
  std::vector<std::string> released;
  Registry registry;

  Shop() {
    registry.workflow("order", order);
    registry.activity("release", [this](const std::string& hold) { released.push_back(hold); });
    registry.activity("charge", [this](const std::string& hold) {
      ++charged;
      return "paid-" + hold;
    });
  }
};

TEST(TestKit, TimePassesOnlyWhenItIsWaitedFor) {
  Shop shop;
  Environment env(shop.registry);
  const pawl::Time began = env.now();
  auto run = env.start(order, "order-17", Order{17});
  env.run_until_idle();
  // The day's sleep is over and so is the week for the signal.
  EXPECT_EQ(run.status(), pawl::Status::kFailed);
  EXPECT_GE(env.now() - began, 8 * 24h);
  EXPECT_THROW(run.result(), pawl::WorkflowFailed);
  EXPECT_EQ(shop.released, std::vector<std::string>{"hold-17"});

  auto other = env.start(order, "order-18", Order{18});
  env.advance(12h);
  EXPECT_EQ(other.describe().status, pawl::Status::kWaiting);
  env.advance(13h);
  other.signal("approved", true);
  EXPECT_EQ(other.result(), "hold-18 paid-hold-18");
  EXPECT_TRUE(env.errors().empty());
}

TEST(TestKit, HistoryAsLines) {
  Shop shop;
  Environment env(shop.registry);
  auto run = env.start(order, "order-17", Order{17});
  env.advance(25h);
  run.signal("approved", true);
  run.result();
  EXPECT_EQ(env.history("order-17").text(),
            "1 {1} OperationCompleted reserve\n"
            "2 {2} CompensationRegistered release\n"
            "3 {3} TaskScheduled charge\n"
            "4 {3} TaskCompleted\n"
            "5 {4} TimerStarted\n"
            "6 {4} TimerFired\n"
            "7 {5} SignalAwaited approved\n"
            "8 SignalReceived approved\n"
            "9 WorkflowCompleted\n");
  EXPECT_TRUE(env.history("order-17").contains_in_order({"reserve", "TimerFired", "Completed"}));
  EXPECT_FALSE(env.history("order-17").contains_in_order({"TimerFired", "reserve"}));
  EXPECT_EQ(env.history("order-17").count("Completed"), 3U);
  EXPECT_THROW(env.history("nobody"), pawl::NotFound);
}

TEST(TestKit, Fakes) {
  Registry registry;
  registry.workflow("order", order);
  registry.activity("release", never);
  Environment env(registry);
  env.fake("charge", [](const std::string& hold) { return "fake-" + hold; });
  env.fake("reserve", [](pawl::Activity& activity, const Order& in) {
    return activity.name() + std::to_string(in.id);
  });
  auto run = env.start(order, "order-17", Order{17});
  run.signal("approved", true);
  EXPECT_EQ(run.result(), "reserve17 fake-reserve17");
  EXPECT_THROW(env.fake("late", [] {}), pawl::UsageError);
}

TEST(TestKit, CrashAfterEveryEntry) {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    for (std::uint64_t seq = 1; seq <= 9; ++seq) {
      Shop shop;
      Environment env(shop.registry, {.seed = seed});
      env.crash_after("order-17", seq);
      auto run = env.start(order, "order-17", Order{17});
      run.signal("approved", true);
      EXPECT_EQ(run.result(), "hold-17 paid-hold-17") << "seq " << seq << " seed " << seed;
      EXPECT_LE(env.crashes(), 1U);
      EXPECT_GE(shop.charged, 1);
      EXPECT_EQ(env.history("order-17").count("Workflow"), 1U) << env.history("order-17").text();
      EXPECT_TRUE(shop.released.empty());
    }
  }
}

TEST(TestKit, CrashesAtAnyTime) {
  Shop shop;
  Environment env(shop.registry, {.replay_every_turn = true});
  auto run = env.start(order, "order-17", Order{17});
  env.crash();
  env.advance(1h);
  env.crash();
  env.advance(30h);
  run.signal("approved", false);
  env.crash();
  EXPECT_THROW(run.result(), pawl::WorkflowFailed);
  EXPECT_EQ(shop.released, std::vector<std::string>{"hold-17"});
  EXPECT_EQ(env.crashes(), 3U);
  EXPECT_EQ(shop.charged, 1);
}

Workflow<int> waits(Context ctx) { co_return co_await ctx.signal<int>("never"); }

TEST(TestKit, WaitingForNothingIsNoticed) {
  Registry registry;
  registry.workflow("waits", waits);
  Environment env(registry);
  auto run = env.start(waits, "w");
  try {
    run.result();
    FAIL();
  } catch (const pawl::TimedOut& error) {
    EXPECT_NE(std::string(error.what()).find("the run is waiting for signal never"),
              std::string::npos)
        << error.what();
  }
  EXPECT_THROW(run.result_for(1h), pawl::TimedOut);
}

Workflow<void> cannot_be_undone(Context ctx) {
  co_await pawl::Saga(ctx).add("nobody has it", 1);
  throw std::runtime_error("failed");
}

TEST(TestKit, ACompensationThatNobodyHasIsNoticed) {
  Registry registry;
  registry.workflow("cannot_be_undone", cannot_be_undone);
  Environment env(registry);
  auto run = env.start(cannot_be_undone, "c");
  env.run_until_idle();
  try {
    run.result();
    FAIL();
  } catch (const pawl::TimedOut& error) {
    EXPECT_NE(std::string(error.what()).find("the run is compensating"), std::string::npos);
    EXPECT_NE(std::string(error.what()).find("no activity of this name is registered"),
              std::string::npos)
        << error.what();
  }
}

int calls = 0;
Workflow<void> not_deterministic(Context ctx) {
  ++calls;
  co_await ctx.schedule(calls % 2 == 1 ? "a" : "b");
}

TEST(TestKit, ReplayEveryTurnFindsCodeThatIsNotDeterministic) {
  Registry registry;
  registry.workflow("bad", not_deterministic, {.fingerprint = "1"});
  Environment env(registry, {.replay_every_turn = true});
  env.fake("a", [] {}).fake("b", [] {});
  auto run = env.start(not_deterministic, "x");
  try {
    run.result();
    FAIL();
  } catch (const pawl::WorkflowFailed& failed) {
    EXPECT_EQ(failed.type(), "DETERMINISM_VIOLATION") << failed.what();
  }
}

// --- Histories by hand ---

Workflow<std::string> small(Context ctx) {
  const auto a = co_await ctx.schedule<std::string>("a");
  co_await ctx.sleep(1h);
  co_await ctx.schedule("b");
  co_return a;
}

TEST(Check, HandWrittenHistory) {
  const auto history =
      HistoryBuilder().task("a").completed("{1}", "x").timer(1h).completed("{2}").build();
  EXPECT_EQ(history.text(),
            "1 {1} TaskScheduled a\n2 {1} TaskCompleted\n3 {2} TimerStarted\n4 {2} TimerFired\n");
  const CheckResult result = pawl::testing::check(small, history);
  EXPECT_TRUE(result.agrees) << result.violation;
  EXPECT_EQ(result.waiting, std::vector<std::string>{"{3}"});
  EXPECT_EQ(result.added, std::vector<std::string>{"5 {3} TaskScheduled b"});

  const auto whole = HistoryBuilder()
                         .task("a")
                         .completed("{1}", "x")
                         .timer(1h)
                         .completed("{2}")
                         .task("b")
                         .failed("{3}", "Broken", "it broke")
                         .build();
  const CheckResult end = pawl::testing::check(small, whole);
  EXPECT_EQ(end.end, "failed");
  EXPECT_EQ(end.payload, R"({"type":"Broken","message":"it broke"})");
}

TEST(Check, Disagreement) {
  const auto history = HistoryBuilder().task("other").build();
  const CheckResult result = pawl::testing::check(small, history);
  EXPECT_FALSE(result.agrees);
  EXPECT_NE(result.violation.find("expected 'a', got 'other'"), std::string::npos);
  EXPECT_THROW(HistoryBuilder().completed("{1}"), pawl::UsageError);
  EXPECT_THROW(HistoryBuilder().timer(1h).failed("{1}", "x", "y"), pawl::UsageError);
}

Workflow<std::string> rich(Context ctx, int number) {
  std::string seen = std::to_string(number);
  seen += co_await ctx.run("op", [] { return std::string("?"); });
  ctx.set("key", 1);
  auto promise = ctx.promise<int>("p");
  auto child = ctx.child<int>("kind", "id", 1);
  seen += std::to_string(co_await promise);
  try {
    co_await child;
  } catch (const pawl::ChildCancelled&) {
    seen += "c";
  }
  co_await ctx.branch([](pawl::Branch inner) -> Workflow<void> { co_await inner.sleep(1s); });
  try {
    co_await ctx.signal<int>("s", {.timeout = 1h});
  } catch (const pawl::TimedOut&) {
    seen += "t";
  }
  seen += std::to_string(co_await ctx.signal<int>("s"));
  co_return seen;
}

TEST(Check, AllKindsOfEntries) {
  const auto history = HistoryBuilder()
                           .operation("op", "o")
                           .set("key", 1)
                           .promise("p")
                           .child("kind", "id")
                           .completed("{3}", 5)
                           .cancelled("{4}")
                           .branch()
                           .at("{5, 1}")
                           .timer(1s)
                           .completed("{5, 1}")
                           .awaits_signal("s")
                           .timed_out("{6}")
                           .awaits_signal("s")
                           .signal("s", 7)
                           .build();
  const CheckResult result = pawl::testing::check(rich, 1, history);
  EXPECT_TRUE(result.agrees) << result.violation;
  EXPECT_EQ(result.end, "completed");
  EXPECT_EQ(result.payload, R"("1o5ct7")");
}

Workflow<int> changed_later(Context ctx) {
  const auto version = ctx.check_version(3);
  co_await pawl::Saga(ctx).add("undo", 1);
  ctx.set("key", 1);
  ctx.clear("key");
  co_await pawl::with_timeout(ctx.schedule("task"), 1h);
  auto unused = ctx.schedule<int>("unused", {.step_key = "by key"});
  ctx.cancel(unused);
  co_await ctx.v(2).sleep(1s);
  co_return static_cast<int>(version);
}

TEST(Check, VersionsCompensationsAndCancelling) {
  const auto history = HistoryBuilder()
                           .checked_version(2)
                           .compensation("undo", 1)
                           .set("key", 1)
                           .clear("key")
                           .task("task")
                           .timer(1h)
                           .completed("{5}")
                           .cancels("{6}")
                           .step_key("by key")
                           .task("unused")
                           .cancels("{8}")
                           .version(2)
                           .timer(1s)
                           .completed("{10}")
                           .build();
  const CheckResult result = pawl::testing::check(changed_later, history);
  EXPECT_TRUE(result.agrees) << result.violation;
  EXPECT_EQ(result.payload, "2") << history.text();
  EXPECT_TRUE(history.contains("{7} TimerCancelRequested")) << history.text();
  EXPECT_THROW(HistoryBuilder().promise("p").cancels("{1}"), pawl::UsageError);
}

TEST(Check, HistoryOfARealRun) {
  Shop shop;
  Environment env(shop.registry);
  auto run = env.start(order, "order-17", Order{17});
  env.advance(1h);
  const CheckResult result = pawl::testing::check(order, Order{17}, env.history("order-17"));
  EXPECT_TRUE(result.agrees) << result.violation;
  EXPECT_EQ(result.waiting, std::vector<std::string>{"{4}"});
  EXPECT_TRUE(result.added.empty());
}

}  // namespace

// Signals with the attributes of an event: sent, kept, read, and taken once.
#include <chrono>
#include <string>
#include <tuple>
#include <variant>

#include <gtest/gtest.h>

#include "pawl/pawl.hpp"
#include "pawl/testing.hpp"

namespace {

using namespace std::chrono_literals;
using pawl::Context;
using pawl::Event;
using pawl::Registry;
using pawl::WithEvent;
using pawl::Workflow;
using pawl::testing::Environment;
using pawl::testing::HistoryBuilder;

Event full_event() {
  return {.id = "e-1",
          .source = "/shop/payments",
          .type = "shop.payment.completed",
          .subject = "order-17",
          .time = "2026-11-16T20:26:59Z",
          .datacontenttype = "application/json",
          .dataschema = "https://shop.example/payment",
          .extensions = {{"traceparent", "00-ab-cd-01"}, {"event", "x"}, {"time2", "1"}}};
}

std::string show(const Event& event) {
  std::string text = event.id + "|" + event.source + "|" + event.type + "|" + event.subject + "|" +
                     event.time + "|" + event.datacontenttype + "|" + event.dataschema;
  for (const auto& [name, value] : event.extensions) {
    text += "|" + name + "=" + value;
  }
  return text;
}

// The first one with its event, the second one without.
Workflow<std::string> takes_two(Context ctx) {
  const auto first = co_await ctx.signal<WithEvent<int>>("paid");
  const int second = co_await ctx.signal<int>("paid");
  co_return std::to_string(first.value) + " " + std::to_string(second) + " " + show(first.event);
}

TEST(Events, AreGivenBackWithTheValueOnEveryReplay) {
  Registry registry;
  registry.workflow("takes_two", takes_two);
  for (const bool replay : {false, true}) {
    Environment env(registry, {.replay_every_turn = replay});
    auto run = env.start(takes_two, "r");
    env.run_until_idle();
    EXPECT_TRUE(run.signal("paid", 5, full_event()));
    env.run_until_idle();
    env.crash();
    EXPECT_TRUE(run.signal("paid", 6, {}));
    EXPECT_EQ(run.result(), "5 6 " + show(full_event()));
  }
}

Workflow<std::string> takes_any_way(Context ctx) {
  std::string seen;
  auto waiting = ctx.signal<WithEvent<std::string>>("a");
  auto other = ctx.signal<WithEvent<>>("b");
  const auto [a, b] = co_await pawl::all(waiting, other);
  seen += a.value + a.event.id + b.event.id;
  const auto first = co_await pawl::with_timeout(ctx.signal<WithEvent<int>>("c"), 1h);
  seen += first.event.id;
  co_await ctx.sleep(1h);
  while (const auto taken = ctx.try_signal<WithEvent<int>>("d")) {
    seen += std::to_string(taken->value) + taken->event.id + taken->event.type;
  }
  co_return seen;
}

TEST(Events, InGroupsAndWithoutWaiting) {
  Registry registry;
  registry.workflow("takes_any_way", takes_any_way);
  Environment env(registry, {.replay_every_turn = true});
  auto run = env.start(takes_any_way, "r");
  run.signal("a", "text", {.id = "1"});
  run.signal("b", std::monostate(), {.id = "2"});
  run.signal("c", 7, {.id = "3"});
  run.signal("d", 8, {.id = "4"});
  run.signal("d", 9);
  // Without a type of its own, the event's is the signal's name; a plain signal has no event.
  EXPECT_EQ(run.result(),
            "text123"
            "84d"
            "9");
}

Workflow<std::string> recurs_first(Context ctx, int number) {
  if (number == 1) {
    co_await ctx.signal("go");
    ctx.recur(2);
  }
  co_return show((co_await ctx.signal<WithEvent<int>>("paid")).event);
}

TEST(Events, MoveOnWithRecur) {
  Registry registry;
  registry.workflow("recurs_first", recurs_first);
  Environment env(registry);
  auto run = env.start(recurs_first, "r", 1);
  run.signal("paid", 1, full_event());
  env.run_until_idle();
  run.signal("go");
  EXPECT_EQ(run.result(), show(full_event()));
  EXPECT_EQ(run.describe().info.number, 2U);
}

Workflow<int> counts(Context ctx) {
  int count = 0;
  try {
    while (true) {
      co_await ctx.signal<int>("paid", {.timeout = 1h});
      ++count;
    }
  } catch (const pawl::TimedOut&) {
  }
  co_return count;
}

TEST(Events, AreTakenOnceByIdAndSource) {
  Registry registry;
  registry.workflow("counts", counts);
  Environment env(registry);
  auto run = env.start(counts, "r");
  EXPECT_TRUE(run.signal("paid", 1, {.id = "e-1"}));
  EXPECT_FALSE(run.signal("paid", 1, {.id = "e-1"}));
  EXPECT_TRUE(run.signal("paid", 1, {.id = "e-1", .source = "/a"}));
  EXPECT_TRUE(run.signal("paid", 1, {.id = "e-1", .source = "/b"}));
  EXPECT_FALSE(run.signal("paid", 1, {.id = "e-1", .source = "/b", .subject = "again"}));
  EXPECT_TRUE(run.signal("paid", 1, {.source = "/b"}));
  EXPECT_TRUE(run.signal("paid", 1, {.source = "/b"}));
  EXPECT_EQ(run.result(), 5);
}

Workflow<std::string> first_event(Context ctx) {
  co_return show((co_await ctx.signal<WithEvent<int>>("paid")).event);
}

TEST(Events, WithAStart) {
  Registry registry;
  registry.workflow("first_event", first_event).workflow("counts", counts);
  Environment env(registry);
  auto run =
      env.signal_with_start<std::string>("first_event", "r", nullptr, "paid", 1, {}, full_event());
  EXPECT_EQ(run.result(), show(full_event()));
  for (int i = 0; i < 3; ++i) {
    env.signal_with_start<int>("counts", "c", nullptr, "paid", 1, {}, {.id = "same"});
  }
  EXPECT_EQ(env.get<int>("c").result(), 1);
}

Workflow<void> sends(Context ctx) {
  co_await ctx.send("r", "paid", 1, {.event = full_event()});
  co_await ctx.send("c", "paid", 1, {.event = {.id = "same"}});
  co_await ctx.send("c", "paid", 1, {.event = {.id = "same"}});
  co_await ctx.send("c", "paid", 1);
  co_await ctx.send("c", "paid", 1);
}

TEST(Events, FromAnotherRun) {
  Registry registry;
  registry.workflow("first_event", first_event).workflow("counts", counts);
  registry.workflow("sends", sends);
  Environment env(registry, {.replay_every_turn = true});
  auto first = env.start(first_event, "r");
  auto counted = env.start(counts, "c");
  EXPECT_TRUE(counted.signal("paid", 1, {.id = "same"}));
  env.start(sends, "s").result();
  EXPECT_EQ(first.result(), show(full_event()));
  EXPECT_EQ(counted.result(), 3);
}

TEST(Events, InAHistoryByHand) {
  const auto history =
      HistoryBuilder().awaits_signal("paid").signal("paid", 1, full_event()).build();
  const auto result = pawl::testing::check(first_event, history);
  EXPECT_TRUE(result.agrees) << result.violation;
  EXPECT_EQ(result.payload, "\"" + show(full_event()) + "\"");
}

Workflow<std::string> sends_nonsense(Context ctx) {
  try {
    co_await ctx.send("r", "paid", 1, {.event = {.id = "a\nb"}});
  } catch (const pawl::UsageError& error) {
    co_return error.what();
  }
  co_return "";
}

TEST(Events, NonsenseIsRefused) {
  Registry registry;
  registry.workflow("counts", counts).workflow("sends_nonsense", sends_nonsense);
  Environment env(registry);
  auto run = env.start(counts, "r");
  const auto refusal = [&](const Event& event) -> std::string {
    try {
      run.signal("paid", 1, event);
    } catch (const pawl::UsageError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(refusal({.subject = "a\tb"}),
            "signal 'paid': the event's attribute 'subject' must not have control characters");
  EXPECT_EQ(refusal({.extensions = {{"Trace", "x"}}}),
            "signal 'paid': the name of the event's attribute 'Trace' must be lower-case letters "
            "and digits");
  EXPECT_EQ(refusal({.extensions = {{"time", "x"}}}),
            "signal 'paid': the event's attribute 'time' is no extension");
  EXPECT_NE(refusal({.source = "\xff"}).find("no UTF-8"), std::string::npos);
  EXPECT_EQ(env.start(sends_nonsense, "s").result(),
            "signal 'paid': the event's attribute 'id' must not have control characters");
  EXPECT_EQ(run.result(), 0);
}

}  // namespace

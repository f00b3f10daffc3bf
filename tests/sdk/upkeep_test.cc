// What people do to runs from outside: hold them, hurry them, find them, remove them, look at their
// state.
#include <chrono>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "pawl/pawl.hpp"
#include "pawl/testing.hpp"

namespace {

using namespace std::chrono_literals;
using pawl::Context;
using pawl::Description;
using pawl::Registry;
using pawl::Status;
using pawl::Workflow;
using pawl::testing::Environment;

int executed = 0;

Workflow<int> parts(Context ctx) {
  ctx.set("part", 1);
  const int first = co_await ctx.signal<int>("go");
  co_await ctx.run("step", [] { return ++executed; });
  ctx.set("part", 2);
  co_await ctx.sleep(1h);
  const int second = co_await ctx.signal<int>("go");
  ctx.clear("part");
  co_return first * 10 + second;
}

TEST(Pause, WhatReachesTheRunWaits) {
  executed = 0;
  Registry registry;
  registry.workflow("parts", parts);
  Environment env(registry);
  auto run = env.start(parts, "run");
  env.advance(1s);
  EXPECT_TRUE(run.pause());
  EXPECT_FALSE(run.pause());
  run.signal("go", 3);
  env.advance(24h);
  EXPECT_EQ(executed, 0);
  EXPECT_TRUE(run.describe().paused);
  EXPECT_EQ(run.status(), Status::kWaiting);
  env.crash();
  env.advance(24h);
  EXPECT_EQ(executed, 0);
  EXPECT_TRUE(run.unpause());
  EXPECT_FALSE(run.unpause());
  env.advance(1min);
  EXPECT_EQ(executed, 1);
  // A timer that is over while the run is held does not move it on either.
  EXPECT_TRUE(run.pause());
  run.signal("go", 4);
  env.advance(24h);
  EXPECT_EQ(run.status(), Status::kWaiting);
  run.unpause();
  EXPECT_EQ(run.result(), 34);
  EXPECT_FALSE(run.describe().paused);
  EXPECT_THROW(run.pause(), pawl::Closed);
  EXPECT_THROW(env.get("nobody"), pawl::NotFound);
}

TEST(State, NowAndAfterAnyEntry) {
  executed = 0;
  Registry registry;
  registry.workflow("parts", parts);
  Environment env(registry);
  auto run = env.start(parts, "run");
  run.signal("go", 1);
  run.signal("go", 2);
  EXPECT_EQ(run.result(), 12);
  const pawl::testing::History history = env.history("run");
  const std::vector<std::string>& lines = history.lines();
  std::optional<int> expected;
  for (std::size_t seq = 1; seq <= lines.size(); ++seq) {
    const std::string& line = lines[seq - 1];
    if (line.find("StateSet") != std::string::npos) {
      expected = expected ? 2 : 1;
    } else if (line.find("StateCleared") != std::string::npos) {
      expected.reset();
    }
    EXPECT_EQ(run.state<int>("part", seq), expected) << line;
  }
  EXPECT_EQ(run.state<int>("part"), std::nullopt);
  EXPECT_EQ(run.state<int>("part", 0), std::nullopt);
}

Workflow<int> stubborn(Context ctx) {
  co_return co_await ctx.run(
      "try", pawl::RunOptions{.retry = {.attempts = 5, .initial = 1h, .maximum = 24h}}, [] {
        if (++executed < 3) {
          throw std::runtime_error("not yet");
        }
        return executed;
      });
}

Workflow<int> stubborn_task(Context ctx) {
  co_return co_await ctx.schedule<int>("try", 0,
                                       {.retry = {.attempts = 5, .initial = 1h, .maximum = 24h}});
}

TEST(Retry, WhatWaitsForItsNextAttemptIsTriedNow) {
  Registry registry;
  registry.workflow("operation", stubborn).workflow("task", stubborn_task);
  registry.activity("try", [](int) {
    if (++executed < 3) {
      throw std::runtime_error("not yet");
    }
    return executed;
  });
  for (const std::string kind : {"operation", "task"}) {
    SCOPED_TRACE(kind);
    executed = 0;
    Environment env(registry);
    auto run = env.start<int>(kind, "run");
    env.advance(1min);
    EXPECT_EQ(executed, 1);
    EXPECT_EQ(run.retry_now(), 1);
    env.advance(1min);
    EXPECT_EQ(executed, 2);
    EXPECT_EQ(run.retry_now(), 1);
    env.advance(1min);
    EXPECT_EQ(run.status(), Status::kCompleted);
    EXPECT_EQ(run.result(), 3);
    EXPECT_THROW(run.retry_now(), pawl::Closed);
  }
}

Workflow<void> sleeper(Context ctx, int hours) { co_await ctx.sleep(std::chrono::hours(hours)); }
Workflow<void> refuser(Context /*ctx*/) {
  throw std::runtime_error("no");
  co_return;
}

std::set<std::string> ids_of(const std::vector<Description>& runs) {
  std::set<std::string> ids;
  for (const Description& run : runs) {
    ids.insert(run.info.id);
  }
  return ids;
}

TEST(List, FindsRunsByWhatIsKnownOfThem) {
  Registry registry;
  registry.workflow("sleeper", sleeper).workflow("refuser", refuser);
  Environment env(registry);
  const pawl::Time began = env.now();
  for (int i = 0; i < 30; ++i) {
    env.start("sleeper", "s-" + std::to_string(i), i,
              {.tags = {{"odd", i % 2 == 1 ? "yes" : "no"}, {"all", "of them"}}});
    env.start("refuser", "r-" + std::to_string(i));
    env.advance(1min);
  }
  env.advance(10h);
  EXPECT_EQ(env.count(), 60);
  EXPECT_EQ(env.count({.kinds = {"refuser"}}), 30);
  EXPECT_EQ(env.count({.statuses = {Status::kFailed}}), 30);
  EXPECT_EQ(env.count({.tags = {{"odd", "yes"}}}), 15);
  EXPECT_EQ(env.count({.tags = {{"odd", "maybe"}}}), 0);
  EXPECT_EQ(env.count({.statuses = {Status::kWaiting}, .tags = {{"odd", "no"}}}), 9);
  EXPECT_EQ(env.count({.started_before = began + 10min}), 20);
  EXPECT_EQ(env.count({.kinds = {"sleeper"}, .started_from = began + 29min}), 1);

  std::vector<Description> all;
  pawl::ListOptions options{.tags = {{"all", "of them"}}, .limit = 7};
  std::size_t pages = 0;
  do {
    const pawl::RunList page = env.list(options);
    all.insert(all.end(), page.runs.begin(), page.runs.end());
    options.cursor = page.next;
    ++pages;
  } while (!options.cursor.empty());
  EXPECT_EQ(pages, 5U);
  ASSERT_EQ(all.size(), 30U);
  EXPECT_EQ(ids_of(all).size(), 30U);
  EXPECT_EQ(all.front().info.id, "s-29");
  EXPECT_EQ(all.back().info.id, "s-0");
  EXPECT_EQ(all.back().tags.size(), 2U);

  env.get("s-20").pause();
  EXPECT_EQ(ids_of(env.list({.paused = true}).runs), std::set<std::string>{"s-20"});
  EXPECT_THROW(env.list({.cursor = "not one"}), pawl::UsageError);
}

TEST(Remove, OnlyWhatHasEnded) {
  Registry registry;
  registry.workflow("sleeper", sleeper).workflow("refuser", refuser);
  Environment env(registry);
  auto open = env.start("sleeper", "open", 5);
  auto ended = env.start("refuser", "ended");
  env.advance(1min);
  EXPECT_THROW(open.remove(), pawl::UsageError);
  ended.remove();
  EXPECT_THROW(ended.remove(), pawl::NotFound);
  EXPECT_EQ(env.count(), 1);
  EXPECT_TRUE(env.start("refuser", "ended").is_new());
}

Workflow<void> parent(Context ctx) {
  auto child = ctx.child<void>("refuser", "child");
  try {
    co_await child;
  } catch (const std::exception&) {
  }
  co_await ctx.sleep(24h * 30);
}

TEST(Retention, RemovesWhatIsOldAndNotNeeded) {
  Registry registry;
  registry.workflow("sleeper", sleeper).workflow("refuser", refuser).workflow("parent", parent);
  Environment env(registry, {.engine = {.retention = {.completed = 24h, .failed = 72h}}});
  for (int i = 0; i < 250; ++i) {
    env.start("sleeper", "s-" + std::to_string(i), 1);
  }
  env.start("refuser", "r");
  env.start("parent", "p");
  auto open = env.start("sleeper", "open", 24 * 365);
  env.advance(23h);
  EXPECT_EQ(env.count(), 254);
  env.advance(5h);
  EXPECT_EQ(env.count({.kinds = {"sleeper"}}), 1);
  EXPECT_EQ(env.count({.kinds = {"refuser"}}), 2);
  env.advance(72h);
  // The other one is a child of a run that is open.
  EXPECT_EQ(ids_of(env.list({.kinds = {"refuser"}}).runs), std::set<std::string>{"child"});
  env.advance(24h * 40);
  EXPECT_EQ(ids_of(env.list().runs), std::set<std::string>{"open"});
  EXPECT_TRUE(env.errors().empty());
}

}  // namespace

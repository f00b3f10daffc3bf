// Payloads over the limit: each is an error at the call that made it, which names it and the sizes,
// and nothing of it is recorded or sent.
#include <chrono>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "pawl/pawl.hpp"
#include "pawl/testing.hpp"

namespace {

using namespace std::chrono_literals;
using pawl::Branch;
using pawl::Context;
using pawl::LoopStep;
using pawl::Registry;
using pawl::Workflow;
using pawl::testing::Environment;

constexpr std::size_t kLimit = 100;

// 102 bytes with its quotes.
std::string large() { return std::string(kLimit, 'x'); }
// Just fits.
std::string fitting() { return std::string(kLimit - 2, 'x'); }

Environment limited(const Registry& registry, bool replay = false) {
  pawl::testing::Options options;
  options.replay_every_turn = replay;
  options.engine.payload_bytes_max = kLimit;
  return Environment(registry, options);
}

template <class Call>
std::string refusal(const Call& call) {
  try {
    call();
  } catch (const pawl::PayloadTooLarge& error) {
    return error.what();
  }
  return "nothing was thrown";
}

Workflow<int> asks(Context ctx) {
  std::vector<std::string> seen;
  const auto note = [&](const auto& call) { seen.push_back(refusal(call)); };
  note([&] { (void)ctx.run("op", [](const std::string&) {}, large()); });
  note([&] { (void)ctx.schedule("task", large()); });
  note([&] { (void)ctx.child("kind", "id", large()); });
  note([&] { (void)ctx.send("run", "go", large()); });
  note([&] { (void)ctx.send("run", "go", 1, {.event = {.source = large()}}); });
  note([&] { ctx.set("key", large()); });
  note([&] { (void)pawl::Saga(ctx).add("undo", large()); });
  note([&] { ctx.recur(large()); });
  // What fits is the next step, at the first location.
  ctx.set("key", fitting());
  EXPECT_EQ(seen, (std::vector<std::string>{
                      "argument of run 'op': 102 bytes; at most 100 are allowed",
                      "input of task 'task': 102 bytes; at most 100 are allowed",
                      "input of child 'id': 102 bytes; at most 100 are allowed",
                      "signal 'go': 102 bytes; at most 100 are allowed",
                      "event of signal 'go': 125 bytes; at most 100 are allowed",
                      "state 'key': 102 bytes; at most 100 are allowed",
                      "input of compensation 'undo': 102 bytes; at most 100 are allowed",
                      "input of recur: 102 bytes; at most 100 are allowed"}));
  co_return static_cast<int>(seen.size());
}

TEST(Limits, CommandsAreRefusedAndLeaveNoTrace) {
  Registry registry;
  registry.workflow("asks", asks);
  for (const bool replay : {false, true}) {
    Environment env = limited(registry, replay);
    EXPECT_EQ(env.start(asks, "a").result(), 8);
    EXPECT_EQ(env.history("a").text(), "1 {1} StateSet key\n2 WorkflowCompleted\n");
  }
}

int executed = 0;

Workflow<std::vector<std::string>> gets_results(Context ctx) {
  std::vector<std::string> seen;
  executed = 0;
  try {
    co_await ctx.run("op", {.retry = {.attempts = 5}}, [] {
      ++executed;
      return large();
    });
  } catch (const pawl::ActivityFailed& failed) {
    seen.emplace_back(failed.what());
  }
  try {
    co_await ctx.schedule<std::string>("task", {.retry = {.attempts = 5}});
  } catch (const pawl::ActivityFailed& failed) {
    seen.emplace_back(failed.what());
  }
  try {
    co_await ctx.transact("tx", [](pawl::Transaction& tx) {
      tx.exec("CREATE TABLE undone(id)");
      return large();
    });
  } catch (const pawl::ActivityFailed& failed) {
    seen.emplace_back(failed.what());
  }
  try {
    co_await ctx.schedule("beats");
  } catch (const pawl::ActivityFailed& failed) {
    seen.emplace_back(failed.what());
  }
  const auto tables = co_await ctx.transact("tables", [](pawl::Transaction& tx) {
    return tx.query("SELECT 1 FROM sqlite_schema WHERE name = 'undone'").size();
  });
  EXPECT_EQ(tables, 0U);
  // Too large to be this workflow's result, too.
  EXPECT_EQ(seen, (std::vector<std::string>{
                      "operation 'op' failed: pawl::PayloadTooLarge: result of 'op': 102 bytes; at "
                      "most 100 are allowed",
                      "task 'task' failed: pawl::PayloadTooLarge: result of 'task': 102 bytes; at "
                      "most 100 are allowed",
                      "operation 'tx' failed: pawl::PayloadTooLarge: result of 'tx': 102 bytes; at "
                      "most 100 are allowed",
                      "task 'beats' failed: pawl::PayloadTooLarge: heartbeat of 'beats': 102 "
                      "bytes; at most 100 are allowed"}));
  co_return seen;
}

TEST(Limits, AResultFailsItsStepForGood) {
  Registry registry;
  registry.workflow("gets_results", gets_results);
  registry.activity("task", [] {
    ++executed;
    return large();
  });
  registry.activity("beats", [](pawl::Activity& activity) { activity.heartbeat(large()); });
  Environment env = limited(registry);
  try {
    env.start(gets_results, "r").result();
    FAIL();
  } catch (const pawl::WorkflowFailed& failed) {
    EXPECT_EQ(failed.type(), "pawl::PayloadTooLarge");
    EXPECT_TRUE(failed.message().starts_with("result of workflow 'gets_results': "))
        << failed.message();
  }
  EXPECT_EQ(executed, 2);  // Once each: another attempt would have the same effects again.
}

Workflow<std::string> loops(Context ctx) {
  std::string seen;
  const auto note = [&](const pawl::PayloadTooLarge& error) { seen += error.what()[0]; };
  try {
    co_await ctx.loop(large(), [](Branch, std::string) -> Workflow<LoopStep<std::string>> {
      co_return pawl::break_with();
    });
  } catch (const pawl::PayloadTooLarge& error) {
    note(error);
  }
  co_await ctx.branch([&](Branch outer) -> Workflow<void> {
    try {
      co_await outer.loop(1, [](Branch inner, int) -> Workflow<LoopStep<int, std::string>> {
        co_await inner.sleep(1s);
        co_return pawl::break_with(large());
      });
    } catch (const pawl::PayloadTooLarge& error) {
      note(error);
    }
  });
  co_await ctx.branch([&](Branch outer) -> Workflow<void> {
    try {
      co_await outer.loop(std::string(),
                          [](Branch inner, std::string) -> Workflow<LoopStep<std::string>> {
                            co_await inner.sleep(1s);
                            co_return pawl::continue_with(large());
                          });
    } catch (const pawl::PayloadTooLarge& error) {
      note(error);
    }
  });
  co_return seen;
}

TEST(Limits, LoopsAreLeft) {
  Registry registry;
  registry.workflow("loops", loops);
  for (const bool replay : {false, true}) {
    Environment env = limited(registry, replay);
    EXPECT_EQ(env.start(loops, "l").result(), "srs");  // State, result, state.
  }
}

Workflow<std::string> waits(Context ctx, std::string /*input*/) {
  co_return co_await ctx.signal<std::string>("go");
}

TEST(Limits, ClientsCallsAreRefused) {
  Registry registry;
  registry.workflow("waits", waits);
  Environment env = limited(registry);
  EXPECT_EQ(refusal([&] { env.start(waits, "w", large()); }),
            "input of run 'w': 102 bytes; at most 100 are allowed");
  EXPECT_EQ(refusal([&] { env.signal_with_start(waits, "w", "x", "go", large()); }),
            "signal 'go' to 'w': 102 bytes; at most 100 are allowed");
  EXPECT_THROW(env.get("w"), pawl::NotFound);
  auto run = env.start(waits, "w", fitting());
  EXPECT_EQ(refusal([&] { run.signal("go", large()); }),
            "signal 'go' to 'w': 102 bytes; at most 100 are allowed");
  EXPECT_EQ(refusal([&] { run.signal("go", 1, {.subject = large()}); }),
            "event of signal 'go' to 'w': 126 bytes; at most 100 are allowed");
  EXPECT_EQ(refusal([&] { env.resolve("w", "p", large()); }),
            "resolve 'p' of 'w': 102 bytes; at most 100 are allowed");
  EXPECT_NE(refusal([&] { env.reject("w", "p", "T", large()); }).find("at most 100"),
            std::string::npos);
  EXPECT_EQ(refusal([&] { run.cancel(large() + "x"); }),
            "reason to cancel 'w': 101 bytes; at most 100 are allowed");
  EXPECT_EQ(refusal([&] { run.terminate(large() + "x"); }),
            "reason to terminate 'w': 101 bytes; at most 100 are allowed");
  run.signal("go", fitting());
  EXPECT_EQ(run.result(), fitting());
}

Workflow<std::string> fails_verbosely(Context ctx) {
  try {
    co_await ctx.run("fails", [] {
      throw pawl::ActivityError("Verbose", "short",
                                {.details = "\"" + std::string(300'000, 'x') + "\""});
    });
  } catch (const pawl::ActivityFailed& failed) {
    co_return failed.message() + failed.details();
  }
  co_return "";
}

// Details of a failure have a limit of their own, and the failure itself is never lost.
TEST(Limits, DetailsThatAreLeftOutAreNamed) {
  Registry registry;
  registry.workflow("fails_verbosely", fails_verbosely);
  Environment env(registry);
  EXPECT_EQ(env.start(fails_verbosely, "f").result(),
            "short (details of 300002 bytes are left out; at most 262144 are kept)");
}

}  // namespace

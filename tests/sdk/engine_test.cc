// The SDK on the real engine: clients' calls, children, retries, codecs; and on real threads.
#include <sqlite3.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "pawl/pawl.hpp"
#include "pawl/testing.hpp"

namespace {

using namespace std::chrono_literals;
using pawl::Context;
using pawl::Engine;
using pawl::Registry;
using pawl::Status;
using pawl::Workflow;
using pawl::testing::Environment;

class TempDir {
 public:
  TempDir() {
    static std::atomic<int> count = 0;
    path_ = std::filesystem::temp_directory_path() /
            ("pawl-sdk-test-" + std::to_string(::getpid()) + "-" + std::to_string(++count));
    std::filesystem::create_directories(path_);
  }
  ~TempDir() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;
  std::string url(const std::string& more = "?durability=process") const {
    return "sqlite:" + (path_ / "test.db").string() + more;
  }
  std::string file() const { return (path_ / "test.db").string(); }

 private:
  std::filesystem::path path_;
};

Workflow<int> add(Context ctx, int a, int b) {
  co_return co_await ctx.run("add", [](int x, int y) { return x + y; }, a, b);
}
Workflow<std::string> waits(Context ctx) { co_return co_await ctx.signal<std::string>("go"); }
Workflow<std::string> asks(Context ctx) {
  auto answer = ctx.promise<std::string>("answer");
  ctx.set("token", answer.token());
  try {
    co_return co_await answer;
  } catch (const pawl::PromiseRejected& rejected) {
    co_return rejected.type() + ": " + rejected.message() + rejected.details();
  }
}
Workflow<void> sleeps(Context ctx) { co_await ctx.sleep(1h); }

Registry everything() {
  Registry registry;
  registry.workflow("add", add).workflow("waits", waits).workflow("asks", asks);
  registry.workflow("sleeps", sleeps);
  return registry;
}

TEST(Engine, StartIsIdempotentUnlessToldOtherwise) {
  Environment env(everything());
  auto first = env.start<int>("add", "a", std::tuple(1, 2));
  EXPECT_TRUE(first.is_new());
  EXPECT_EQ(first.result(), 3);
  auto again = env.start(add, "a", 5, 6);
  EXPECT_FALSE(again.is_new());
  EXPECT_EQ(again.result(), 3);
  EXPECT_THROW(
      env.start<int>("add", "a", std::tuple(1, 2), {.on_existing = pawl::OnExisting::kFail}),
      pawl::AlreadyExists);
  auto replaced =
      env.start<int>("add", "a", std::tuple(5, 6), {.on_existing = pawl::OnExisting::kReplace});
  EXPECT_EQ(replaced.result(), 11);
  EXPECT_EQ(replaced.describe().info.number, 2U);
  // By the function as by the name.
  EXPECT_THROW(env.start(add, "a", {.on_existing = pawl::OnExisting::kFail}, 1, 2),
               pawl::AlreadyExists);
  EXPECT_EQ(env.start(add, "a", {.on_existing = pawl::OnExisting::kReplace}, 7, 8).result(), 15);
  EXPECT_EQ(env.start(sleeps, "s", {.tags = {{"shop", "north"}}}).describe().info.kind, "sleeps");
  EXPECT_EQ(env.signal_with_start(waits, "v", nullptr, "go", "on").result(), "on");
  EXPECT_EQ(env.signal_with_start(add, "sum", {3, 4}, "unused", 1).result(), 7);
  EXPECT_FALSE(env.start(add, "", 1, 1).id().empty());
  EXPECT_EQ(env.get<int>("a").result(), 15);
  EXPECT_THROW(env.get("nobody"), pawl::NotFound);
  // The id belongs to another workflow: neither a handle to that, nor a signal for it.
  env.start(waits, "w");
  env.run_until_idle();
  try {
    env.start(add, "w", 1, 2);
    FAIL();
  } catch (const pawl::AlreadyExists& error) {
    EXPECT_STREQ(
        error.what(),
        "start 'w': there is a run with the id 'w' already (waiting, of the kind 'waits')");
  }
  EXPECT_THROW(env.signal_with_start(add, "w", {1, 2}, "go", "x"), pawl::AlreadyExists);
  env.run_until_idle();
  EXPECT_EQ(env.get("w").status(), Status::kWaiting);
}

TEST(Engine, DescribeAndState) {
  Environment env(everything());
  auto run = env.start(waits, "w", {.tags = {{"shop", "north"}, {"vip", "yes"}}});
  env.run_until_idle();
  const pawl::Description known = run.describe();
  EXPECT_EQ(pawl::to_string(known.status), "waiting");
  EXPECT_EQ(known.waiting_for, "signal go");
  EXPECT_EQ(known.tags, (pawl::Tags{{"shop", "north"}, {"vip", "yes"}}));
  EXPECT_EQ(run.state<int>("never set"), std::nullopt);
}

Workflow<void> keeps_state(Context ctx) {
  ctx.set("cleared", 1);
  ctx.set("count", 0);
  co_await ctx.loop(1,
                    [](pawl::Branch inner, int i) -> Workflow<pawl::LoopStep<int>> {
                      inner.set("count", i);
                      inner.clear("cleared");
                      co_await inner.sleep(1s);
                      if (i == 25) {
                        co_return pawl::break_with();
                      }
                      co_return pawl::continue_with(i + 1);
                    },
                    {.checkpoint_every = 10});
  ctx.set("after", "x");
}

TEST(Engine, StateCanBeReadFromOutside) {
  Registry registry;
  registry.workflow("keeps_state", keeps_state);
  Environment env(registry);
  auto run = env.start(keeps_state, "k");
  env.advance(14500ms);
  EXPECT_EQ(run.state<int>("count"), 15);
  EXPECT_EQ(run.state<int>("cleared"), std::nullopt);
  run.result();
  EXPECT_EQ(run.state<int>("count"), 25);
  EXPECT_EQ(run.state<std::string>("after"), "x");
  EXPECT_THROW(run.state<int>("after"), pawl::PayloadError);
}

Workflow<void> needs_much(Context ctx) {
  auto task = ctx.schedule("unknown task");
  auto elsewhere = ctx.schedule("known task", {.queue = "elsewhere"});
  auto child = ctx.child("unknown kind", "child");
  co_await pawl::all(task, elsewhere, child);
}

TEST(Engine, WhoWaitsInVainIsToldWhatIsMissing) {
  Registry registry;
  registry.workflow("needs_much", needs_much).activity("known task", [] {});
  Environment env(registry);
  auto run = env.start(needs_much, "n");
  try {
    run.result();
    FAIL();
  } catch (const pawl::TimedOut& error) {
    const std::string text = error.what();
    for (const char* part :
         {"; this engine has no activity 'unknown task'",
          "; this engine takes no tasks from the queue 'elsewhere'",
          "; this engine has no workflow 'unknown kind', which the child 'child' is"}) {
      EXPECT_NE(text.find(part), std::string::npos) << text;
    }
  }
}

Workflow<int> without_input(Context ctx) {
  co_await pawl::Saga(ctx).add("undo");
  co_await ctx.child("sleeps", "a");
  co_await ctx.child("sleeps", "b", {.tags = {{"from", "parent"}}});
  throw std::runtime_error("failed");
  co_return 1;
}

TEST(Engine, ChildrenAndCompensationsNeedNoInput) {
  int undone = 0;
  Environment env(
      everything().workflow("without_input", without_input).activity("undo", [&] { ++undone; }));
  EXPECT_THROW(env.start(without_input, "w").result(), pawl::WorkflowFailed);
  EXPECT_EQ(undone, 1);
  EXPECT_EQ(env.get("b").describe().tags, (pawl::Tags{{"from", "parent"}}));
}

TEST(Engine, MisuseIsToldToTheCaller) {
  Environment env(everything());
  EXPECT_THROW(env.resolve("nobody", "p"), pawl::NotFound);
  EXPECT_THROW(env.resolve_token("???", 1), pawl::UsageError);
  EXPECT_THROW(Engine("mysql:x", everything()), pawl::UsageError);
  EXPECT_THROW(Engine("sqlite:/no/such/directory/x.db", everything()), pawl::StoreError);
  Registry registry = everything();
  EXPECT_THROW(registry.workflow("add", add), pawl::UsageError);
  EXPECT_THROW(registry.activity("", [] {}), pawl::UsageError);
}

template <class Call>
std::string usage_error(const Call& call) {
  try {
    call();
  } catch (const pawl::UsageError& error) {
    return error.what();
  }
  return "";
}

Workflow<int> not_registered(Context /*ctx*/) { co_return 1; }

TEST(Engine, AFunctionIsStartedUnderTheKindThatItHas) {
  Environment env(everything().workflow("add again", add));
  EXPECT_EQ(usage_error([&] { env.start(add, "a", 1, 2); }),
            "start: this function is in the registry as 'add' and as 'add again'; say which by its "
            "name");
  EXPECT_EQ(usage_error([&] { env.start(not_registered, "n"); }),
            "start: this function is not in the engine's registry; add it by "
            "Registry::workflow(kind, function), or start it by the name of its kind if another "
            "process has it");
  EXPECT_EQ(env.start<int>("add again", "a", std::tuple(1, 2)).result(), 3);
}

// Another process may have it.
TEST(Engine, AKindThatThisEngineDoesNotHave) {
  TempDir dir;
  Engine client(dir.url(), Registry(), {.work = false});
  Engine idle(dir.url(), Registry());
  const auto run = client.start<int>("add", "a", std::tuple(1, 2));
  try {
    run.result_for(20ms);
    FAIL();
  } catch (const pawl::TimedOut& error) {
    EXPECT_STREQ(error.what(),
                 "result of 'a': no answer in time; the run is running; this engine has no "
                 "workflow 'add'");
  }
  const Engine worker(dir.url(), everything());
  EXPECT_EQ(run.result_for(10s), 3);
}

TEST(Engine, WrongInputFailsTheRunAndSaysWhy) {
  Environment env(everything());
  auto run = env.start<int>("add", "a", "text");
  try {
    run.result();
    FAIL();
  } catch (const pawl::WorkflowFailed& failed) {
    EXPECT_EQ(failed.type(), "pawl::PayloadError");
    EXPECT_NE(failed.message().find("input of workflow 'add'"), std::string::npos);
  }
}

TEST(Engine, Signals) {
  Environment env(everything());
  auto run = env.start(waits, "w");
  EXPECT_TRUE(run.signal("other", 1, {.id = "d"}));
  EXPECT_FALSE(run.signal("other", 1, {.id = "d"}));
  run.signal("go", "now");
  EXPECT_EQ(run.result(), "now");
  EXPECT_THROW(run.signal("go", "late"), pawl::Closed);
  EXPECT_EQ(env.signal_with_start<std::string>("waits", "v", nullptr, "go", "both").result(),
            "both");
}

TEST(Engine, PromisesByNameAndByToken) {
  Environment env(everything());
  auto run = env.start(asks, "a");
  env.run_until_idle();
  EXPECT_THROW(env.resolve("a", "other", 1), pawl::NotFound);
  env.resolve("a", "answer", "yes");
  EXPECT_EQ(run.result(), "yes");
  auto other = env.start(asks, "b");
  env.run_until_idle();
  const auto token = other.state<std::string>("token");
  ASSERT_EQ(token, "YgBhbnN3ZXI");  // "b\0answer"
  env.reject_token(*token, "No", "never", R"({"x":1})");
  EXPECT_EQ(other.result(), R"(No: never{"x":1})");
}

TEST(Engine, CancelAndTerminate) {
  Environment env(everything());
  auto run = env.start(sleeps, "a");
  env.advance(1s);
  run.cancel("enough");
  try {
    run.result();
    FAIL();
  } catch (const pawl::WorkflowCancelled& cancelled) {
    EXPECT_EQ(cancelled.reason(), "enough");
  }
  EXPECT_EQ(run.status(), Status::kCancelled);
  auto other = env.start(sleeps, "b");
  env.advance(1s);
  other.terminate("now");
  EXPECT_THROW(other.result(), pawl::WorkflowFailed);
}

Workflow<std::string> parent(Context ctx) {
  auto sum = ctx.child<int>("add", "sum", std::tuple(20, 22));
  auto bad = ctx.child<int>("add", "bad", "text");
  std::string seen = std::to_string(co_await sum);
  try {
    co_await bad;
  } catch (const pawl::ChildFailed& failed) {
    seen += failed.type();
  }
  auto waiting = ctx.child<std::string>("waits", "waiting", nullptr);
  co_await ctx.send("waiting", "go", "from the parent");
  seen += co_await waiting;
  co_return seen;
}

Workflow<int> sends_and_leaves(Context ctx) {
  (void)ctx.send("waiting", "go", "on the way out");
  co_return 5;
}

TEST(Engine, ASignalThatNobodyWaitsForIsSentWhenTheCodeEnds) {
  Environment env(everything().workflow("sends", sends_and_leaves));
  auto waiting = env.start(waits, "waiting");
  EXPECT_EQ(env.start(sends_and_leaves, "s").result(), 5);
  EXPECT_EQ(waiting.result(), "on the way out");
}

TEST(Engine, ChildrenAndSignalsBetweenRuns) {
  Environment env(everything().workflow("parent", parent));
  EXPECT_EQ(env.start(parent, "p").result(), "42pawl::PayloadErrorfrom the parent");
}

Workflow<int> flaky(Context ctx) {
  const auto attempt = [](pawl::Activity& activity) {
    if (activity.attempt() < 4) {
      throw std::runtime_error("again");
    }
    return static_cast<int>(activity.attempt());
  };
  const int operation =
      co_await ctx.run("operation", {.retry = {.attempts = 5, .initial = 1h}}, attempt);
  const int task = co_await ctx.schedule<int>("task", {.retry = {.attempts = 5, .initial = 1h}});
  co_return operation * 10 + task;
}

TEST(Engine, Retries) {
  Registry registry;
  registry.workflow("flaky", flaky);
  registry.activity("task", [](pawl::Activity& activity) {
    if (activity.attempt() == 1) {
      activity.heartbeat(17);
      throw std::runtime_error("again");
    }
    return activity.last_details<int>().value_or(0);
  });
  Environment env(registry);
  const pawl::Time began = env.now();
  EXPECT_EQ(env.start(flaky, "f").result(), 57);
  EXPECT_GT(env.now() - began, 3h);
}

Workflow<int> counts(Context ctx, int number) {
  const int sum =
      co_await ctx.loop(0,
                        [](pawl::Branch inner, int state) -> Workflow<pawl::LoopStep<int, int>> {
                          co_await inner.sleep(1min);
                          if (state == 50) {
                            co_return pawl::break_with(state);
                          }
                          co_return pawl::continue_with(state + 1);
                        },
                        {.checkpoint_every = 10});
  if (number < 3) {
    ctx.recur(number + 1);
  }
  co_return sum + number;
}

TEST(Engine, LoopsAndRecur) {
  Registry registry;
  registry.workflow("counts", counts);
  Environment env(registry, {.replay_every_turn = true});
  auto run = env.start(counts, "c", 1);
  EXPECT_EQ(run.result(), 53);
  EXPECT_EQ(run.describe().info.number, 3U);
  EXPECT_LT(env.history("c").lines().size(), 10U) << env.history("c").text();
}

Workflow<int> books(Context ctx) {
  co_await ctx.transact("create", [](pawl::Transaction& tx) {
    tx.exec("CREATE TABLE IF NOT EXISTS booking(id TEXT PRIMARY KEY)");
  });
  try {
    co_await ctx.transact("fails", [](pawl::Transaction& tx) {
      tx.exec("INSERT INTO booking VALUES (?)", {"undone"});
      tx.exec("no SQL");
    });
    co_return -1;
  } catch (const pawl::ActivityFailed&) {
  }
  co_return co_await ctx.transact("book", [](pawl::Transaction& tx) {
    tx.exec("INSERT INTO booking VALUES (?)", {"17"});
    return static_cast<int>(tx.query("SELECT id FROM booking").size());
  });
}

TEST(Engine, TransactionsCommitWithTheirEntry) {
  Registry registry;
  registry.workflow("books", books);
  Environment env(registry);
  EXPECT_EQ(env.start(books, "b").result(), 1);
}

class Xor final : public pawl::PayloadCodec {
 public:
  std::string name() const override { return "xor"; }
  // Different each time, as an encryption would be.
  std::string encode(std::string_view bytes) const override {
    const char key = static_cast<char>(++count_ % 100 + 28);
    std::string encoded(1, key);
    for (const char byte : bytes) {
      encoded += static_cast<char>(byte ^ key);
    }
    return encoded;
  }
  std::string decode(std::string_view bytes) const override {
    std::string decoded;
    for (const char byte : bytes.substr(1)) {
      decoded += static_cast<char>(byte ^ bytes[0]);
    }
    return decoded;
  }

 private:
  mutable std::atomic<int> count_ = 0;
};

Workflow<std::string> secretive(Context ctx, std::string secret) {
  pawl::Saga saga{ctx};
  co_await saga.add("forget", secret);
  ctx.set("state", secret);
  auto task = ctx.schedule<std::string>("echo", secret);
  const auto operation =
      co_await ctx.run("op", [](const std::string& text) { return text + "!"; }, secret);
  auto waiting = ctx.child<std::string>("waits", "child", nullptr);
  co_await ctx.send("child", "go", secret);
  const auto child = co_await waiting;
  const auto echoed = co_await task;
  const auto looped = co_await ctx.loop(
      secret,
      [](pawl::Branch inner,
         std::string state) -> Workflow<pawl::LoopStep<std::string, std::string>> {
        co_await inner.sleep(1ms);
        if (state.size() > 20) {
          co_return pawl::break_with(state);
        }
        co_return pawl::continue_with(state + "x");
      },
      {.checkpoint_every = 2});
  const auto booked = co_await ctx.transact("tx", [secret](pawl::Transaction&) { return secret; });
  if (operation != secret + "!" || child != secret || echoed != secret || booked != secret) {
    co_return "wrong";
  }
  throw std::runtime_error(secret + looped);
}

TEST(Engine, PayloadCodecLeavesNothingReadable) {
  const TempDir dir;
  const std::string secret = "s3cr3t-t3xt";
  std::vector<std::string> forgotten;
  Registry registry;
  registry.workflow("secretive", secretive).workflow("waits", waits);
  registry.activity("echo", [](const std::string& text) { return text; });
  registry.activity("forget", [&](const std::string& text) { forgotten.push_back(text); });
  {
    Engine engine(dir.url(), registry, {.payload_codec = std::make_shared<Xor>()});
    auto run = engine.start(secretive, "s", secret);
    try {
      run.result();
      FAIL();
    } catch (const pawl::WorkflowFailed& failed) {
      EXPECT_NE(failed.message().find(secret), std::string::npos) << failed.what();
    }
  }
  EXPECT_EQ(forgotten, std::vector<std::string>{secret});
  for (const auto& entry :
       std::filesystem::directory_iterator(std::filesystem::path(dir.file()).parent_path())) {
    std::string content(std::filesystem::file_size(entry.path()), '\0');
    std::FILE* file = std::fopen(entry.path().c_str(), "rb");
    ASSERT_NE(file, nullptr);
    content.resize(std::fread(content.data(), 1, content.size(), file));
    std::fclose(file);
    EXPECT_EQ(content.find(secret), std::string::npos) << entry.path();
  }
  Engine without(dir.url(), registry, {.work = false});
  EXPECT_THROW(without.get("s").result(), pawl::Exception);
}

// --- Real threads ---

Workflow<int> fans_out(Context ctx, int width) {
  std::vector<pawl::Future<int>> parts;
  for (int i = 0; i < width; ++i) {
    parts.push_back(i % 2 == 0 ? ctx.schedule<int>("square", i)
                               : ctx.run("square", [](int n) { return n * n; }, i));
  }
  int sum = 0;
  for (const int part : co_await pawl::all(parts)) {
    sum += part;
  }
  co_return sum;
}

TEST(Threads, ManyRunsAtOnce) {
  const TempDir dir;
  Registry registry;
  registry.workflow("fans_out", fans_out);
  registry.activity("square", [](int n) { return n * n; });
  Engine engine(dir.url(), registry);
  std::vector<pawl::RunHandle<int>> runs;
  for (int i = 0; i < 50; ++i) {
    runs.push_back(engine.start(fans_out, "run-" + std::to_string(i), 10));
  }
  for (const auto& run : runs) {
    EXPECT_EQ(run.result(), 285);
  }
}

// One that only calls hears of what others do, too.
TEST(Threads, AClientWaitsForWhatAnotherEngineDoes) {
  TempDir dir;
  Engine worker(dir.url(), everything());
  Engine client(dir.url(), everything(), {.work = false});
  const auto run = client.start<std::string>("waits", "w");
  const std::jthread later([&] {
    while (run.status() != Status::kWaiting) {
      std::this_thread::sleep_for(1ms);
    }
    std::this_thread::sleep_for(20ms);
    worker.get("w").signal("go", "went");
  });
  EXPECT_EQ(run.result_for(10s), "went");
}

TEST(Threads, AnotherEngineGoesOn) {
  const TempDir dir;
  const Registry registry = everything();
  {
    Engine engine(dir.url(), registry);
    engine.start(waits, "w");
    engine.stop();
    EXPECT_THROW(engine.get("w").signal("go", "x"), pawl::Closed);
  }
  Engine engine(dir.url(), registry);
  auto run = engine.get<std::string>("w");
  EXPECT_THROW(run.result_for(10ms), pawl::TimedOut);
  run.signal("go", "on");
  EXPECT_EQ(run.result(), "on");
}

}  // namespace

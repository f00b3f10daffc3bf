// Faults that the engine had once, each with what brought it about.
#include <algorithm>
#include <atomic>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/thread_environment.h"
#include "node.h"
#include "step_program.h"
#include "world.h"

namespace pawl::engine {
namespace {

using replay::CommandKind;
using store::RunStatus;
using testing::Contains;
using testing::ElementsAre;
using testing::Not;

ActivityBody counts(std::shared_ptr<int> count) {
  return [count = std::move(count)](ActivityAttempt&) {
    ++*count;
    return ActivityOutcome{true, "1", {}};
  };
}

ActivityOutcome failure(const std::string& type = "Oops") {
  ActivityOutcome outcome;
  outcome.ok = false;
  outcome.failure.type = type;
  outcome.failure.message = "no";
  return outcome;
}

ActivityOutcome fails(ActivityAttempt& /*attempt*/) { return failure(); }

replay::FutureId open_operation(RunHost& host, const std::string& name,
                                const std::function<void(replay::FutureId future)>& execute,
                                std::uint32_t version = 0) {
  replay::CommandRequest request;
  request.kind = CommandKind::kOperation;
  request.name = name;
  if (version != 0) {
    request.version = version;
  }
  const auto opened = host.machine().open(request);
  if (!opened) {
    return 0;
  }
  if (opened->must_execute) {
    execute(opened->future);
  }
  return opened->future;
}

Step transact_step(const std::string& name, std::shared_ptr<int> count, RetryPolicy retry = {}) {
  return [name, count = std::move(count), retry = std::move(retry)](RunHost& host) {
    return open_operation(host, name, [&](replay::FutureId future) {
      host.transact(
          future,
          [count](store::Database&) {
            ++*count;
            return ActivityOutcome{true, "1", {}};
          },
          retry);
    });
  };
}

// --- Stopping ---

// stop() let every run go on to its end first.
TEST(Regression, StopStartsNothingMore) {
  Disk disk;
  auto count = std::make_shared<int>(0);
  const std::vector<Step> steps(2000, run_step("op", counts(count)));
  Node node(disk, sim(), {step_workflow("w", steps)});
  node.start("w", "r");
  while (*count < 5) {
    ASSERT_TRUE(node.env->step());
  }
  node.engine->stop();
  EXPECT_LE(*count, 6);
  EXPECT_EQ(node.row("r").status, RunStatus::kRunning);
  EXPECT_EQ(node.row("r").owner, 0);
}

// Jobs with a pointer to the engine were left behind when stop() returned.
TEST(Regression, StopLeavesNoJobs) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    Disk disk;
    auto count = std::make_shared<int>(0);
    std::vector<Step> steps(6, run_step("op", counts(count)));
    steps.push_back(plain_step(CommandKind::kTimer, "", 1000));
    Node node(disk, sim(seed), {step_workflow("w", steps)});
    for (int i = 0; i < 4; ++i) {
      StartRequest request;
      request.kind = "w";
      request.id = std::to_string(i);
      request.input = "null";
      node.engine->start_run(request, [](const Result<StartedRun>&) {});  // Too late, maybe.
    }
    for (std::uint64_t i = 0; i < seed % 60; ++i) {
      node.env->step();
    }
    node.engine->stop();
    ASSERT_FALSE(node.env->step()) << "seed " << seed;
  }
}

// What was asked to stop, and did, had failed for good.
TEST(Regression, StoppedActivitiesBeginAgain) {
  Disk disk;
  std::atomic<bool> is_slow = true;
  Latch operation_runs;
  Latch task_runs;
  const auto body = [&is_slow](Latch& runs) {
    return [&is_slow, &runs](ActivityAttempt& attempt) {
      runs.set();
      while (is_slow && !attempt.should_stop()) {
        std::this_thread::yield();
      }
      return is_slow ? failure("Stopped") : ActivityOutcome{true, "1", {}};
    };
  };
  const std::vector<Definition> definitions = {
      step_workflow("operation", {run_step("op", body(operation_runs))}),
      step_workflow("task", {plain_step(CommandKind::kTask, "t")})};
  const std::vector<ActivityType> activities = {{"t", body(task_runs), {}}};
  const std::shared_ptr<store::Store> store = disk.open();
  const auto open = [&](const std::shared_ptr<Environment>& environment) {
    auto made = Engine::create({}, store, environment, definitions, activities);
    PAWL_CHECK(made.has_value());
    PAWL_CHECK((*made)->start().has_value());
    return *std::move(made);
  };
  {
    const std::shared_ptr<Environment> environment = make_thread_environment();
    const auto engine = open(environment);
    for (const char* kind : {"operation", "task"}) {
      StartRequest request;
      request.kind = kind;
      request.id = kind;
      request.input = "null";
      engine->start_run(request, [](const Result<StartedRun>&) {});
    }
    ASSERT_TRUE(environment->wait(operation_runs, 60'000));
    ASSERT_TRUE(environment->wait(task_runs, 60'000));
    engine->stop();
  }
  EXPECT_THAT(Node::events_of(*store, "operation"), Not(Contains("OperationFailed")));
  EXPECT_THAT(Node::events_of(*store, "task"), ElementsAre("TaskScheduled"));
  is_slow = false;
  const std::shared_ptr<Environment> environment = make_thread_environment();
  const auto engine = open(environment);
  for (const char* id : {"operation", "task"}) {
    auto ended = std::make_shared<Latch>();
    engine->wait(id, [ended](const Result<RunOutcome>&) { ended->set(); });
    ASSERT_TRUE(environment->wait(*ended, 60'000)) << id;
  }
  EXPECT_THAT(Node::events_of(*store, "task"),
              ElementsAre("TaskScheduled", "TaskCompleted", "WorkflowCompleted"));
  EXPECT_THAT(Node::events_of(*store, "operation"), Contains("OperationCompleted"));
}

// --- Transactions ---

// With two of them open, the failure of the first one's batch lost the other: the run stood still.
TEST(Regression, TransactionsOfAFailedBatchAreTriedAgain) {
  Disk disk;
  auto first = std::make_shared<int>(0);
  auto second = std::make_shared<int>(0);
  auto opened = std::make_shared<replay::FutureId>(0);
  const Step both = [=](RunHost& host) {
    *opened = transact_step("one", first)(host);
    return transact_step("two", second)(host);
  };
  const Step the_first = [=](RunHost&) { return *opened; };
  Node node(disk, sim(), {step_workflow("w", {both, the_first})});
  bool was_busy = false;
  node.store->before_apply = [&](std::span<store::Op> ops) -> Result<void> {
    for (const store::Op& op : ops) {
      const auto* turn = std::get_if<store::CommitTurn>(&op);
      if (turn != nullptr && turn->inside && !std::exchange(was_busy, true)) {
        return make_error(ErrorCode::kStoreBusy, "busy once");
      }
    }
    return {};
  };
  node.start("w", "r");
  node.env->advance(100'000);
  EXPECT_TRUE(was_busy);
  EXPECT_EQ(node.row("r").status, RunStatus::kCompleted);
  EXPECT_EQ(*first, 1);
  EXPECT_EQ(*second, 1);
}

// A body that had ended the store's transaction was called again for ever.
TEST(Regression, TransactionsThatCannotBeWrittenFail) {
  Disk disk;
  auto count = std::make_shared<int>(0);
  Node node(disk, sim(),
            {step_workflow("w", {transact_step("tx", count, {.attempts = 2, .initial_ms = 1})})});
  int tries = 0;
  node.store->before_apply = [&](std::span<store::Op> ops) -> Result<void> {
    for (const store::Op& op : ops) {
      const auto* turn = std::get_if<store::CommitTurn>(&op);
      if (turn != nullptr && turn->inside) {
        ++tries;
        return make_error(ErrorCode::kInvalidState, "the transaction was ended inside");
      }
    }
    return {};
  };
  node.start("w", "r");
  node.env->advance(600'000);
  EXPECT_LE(tries, 2);
  EXPECT_EQ(node.row("r").status, RunStatus::kCompleted);  // It does not look at the outcome.
  EXPECT_THAT(node.events("r"), Contains("OperationFailed"));
}

// The connection was lost while the body used it: the body failed, and the run with it.
TEST(Regression, TransactionsDoNotFailWithTheStore) {
  class Gone final : public store::Database {
   public:
    void* handle() override { return nullptr; }
    Result<void> execute(const std::string& /*sql*/) override { return lost(); }
    Result<Rows> query(const std::string& /*sql*/,
                       const std::vector<std::string>& /*values*/) override {
      return lost();
    }
    static Error lost() { return make_error(ErrorCode::kStoreIo, "lost the connection"); }
  };
  Disk disk;
  int calls = 0;
  const Step step = [&](RunHost& host) {
    return open_operation(host, "tx", [&](replay::FutureId future) {
      host.transact(future,
                    [&](store::Database& database) {
                      ++calls;
                      const bool is_done = database.execute("SELECT 1").has_value();
                      return is_done ? ActivityOutcome{true, "1", {}} : failure("StoreError");
                    },
                    {});
    });
  };
  Node node(disk, sim(), {step_workflow("w", {step})});
  bool was_lost = false;
  node.store->before_apply = [&](std::span<store::Op> ops) -> Result<void> {
    for (store::Op& op : ops) {
      auto* turn = std::get_if<store::CommitTurn>(&op);
      if (turn != nullptr && turn->inside && !was_lost) {
        was_lost = true;
        Gone gone;
        EXPECT_FALSE(turn->inside(gone, *turn).has_value());
        return Gone::lost();
      }
    }
    return {};
  };
  node.start("w", "r");
  node.env->advance(60'000);
  EXPECT_EQ(calls, 2);
  EXPECT_THAT(node.events("r"), Not(Contains("OperationFailed")));
  EXPECT_EQ(node.row("r").status, RunStatus::kCompleted);
}

// --- Code that has changed ---

// An attempt that was to be made again, of an operation that the code does not have any more, kept
// the engine busy from when it was due.
TEST(Regression, RetriesNobodyAsksForDoNotKeepTheEngineBusy) {
  Disk disk;
  const auto env = sim();
  const RetryPolicy retry = {.attempts = 0, .initial_ms = 60'000, .jitter = 0};
  {
    Node before(disk, env, {step_workflow("w", {run_step("op", fails, retry)})});
    before.start("w", "r");
    env->run_ready();
    ASSERT_EQ(before.row("r").wake_ms, env->now_ms() + 60'000);
  }
  Node after(disk, env, {step_workflow("w", {plain_step(CommandKind::kSignal, "go")})});
  env->run_ready();
  const auto batches = after.count_batches();
  env->advance(60'001);
  EXPECT_LT(*batches, 50);
}

// A blocked run had its deadlines taken away; back under the old code, it waited for ever.
TEST(Regression, BlockedRunsKeepTheirTimers) {
  Disk disk;
  const auto env = sim();
  Definition old_code = step_workflow("w", {plain_step(CommandKind::kTimer, "", 3'600'000)});
  old_code.fingerprint = "1";
  Definition new_code = step_workflow("w", {plain_step(CommandKind::kSignal, "go")});
  new_code.fingerprint = "2";
  {
    Node node(disk, env, {old_code});
    node.start("w", "r");
    env->run_ready();
  }
  {
    Node node(disk, env, {new_code});
    env->run_ready();
    node.resume("r");
    env->run_ready();
    ASSERT_EQ(node.row("r").status, RunStatus::kBlocked);
  }
  Node node(disk, env, {old_code});
  node.resume("r");
  env->run_ready();
  EXPECT_EQ(node.row("r").wake_ms, env->now_ms() + 3'600'000);
  env->advance(3'600'000);
  EXPECT_EQ(node.row("r").status, RunStatus::kCompleted);
}

// The new fingerprint was written after the first step that agreed. What came next disagreed, and
// the run failed for good: it seemed to be its own code.
TEST(Regression, CodeThatDisagreesLaterBlocks) {
  Disk disk;
  const auto env = sim();
  auto count = std::make_shared<int>(0);
  const Step go = plain_step(CommandKind::kSignal, "go");
  Definition old_code =
      step_workflow("w", {run_step("a", counts(count)), run_step("b", counts(count)), go});
  old_code.fingerprint = "1";
  const Step inserted = [count](RunHost& host) {
    return open_operation(
        host, "inserted",
        [&](replay::FutureId future) { host.execute(future, counts(count), {}, 0); }, 2);
  };
  Definition new_code = step_workflow(
      "w", {run_step("a", counts(count)), inserted, run_step("changed", counts(count)), go});
  new_code.fingerprint = "2";
  {
    Node node(disk, env, {old_code});
    node.start("w", "r");
    env->run_ready();
  }
  Node node(disk, env, {new_code});
  node.resume("r");
  env->run_ready();
  EXPECT_EQ(node.row("r").status, RunStatus::kBlocked);
  EXPECT_EQ(node.row("r").definition, "1");
}

// --- Inboxes ---

// A signal that can never be delivered woke the run again and again.
TEST(Regression, SignalsToCompensatingRunsDoNotKeepTheEngineBusy) {
  Disk disk;
  Node node(disk, sim(), {fails_and_undoes({"undo"})},
            {{"undo", fails, {.attempts = 3, .initial_ms = 60'000, .jitter = 0}}});
  node.start("w", "r");
  node.env->run_ready();
  ASSERT_EQ(node.row("r").status, RunStatus::kCompensating);
  const auto batches = node.count_batches();
  node.engine->signal("r", "hello", "1", "", "", [](const Result<bool>&) {});
  node.env->run_ready();
  EXPECT_LT(*batches, 50);
  EXPECT_EQ(node.row("r").status, RunStatus::kCompensating);
}

// What a turn consumed while the inbox was read came in a second time with what was read.
TEST(Regression, SignalsAreReceivedOnce) {
  auto count = std::make_shared<int>(0);
  const Step op = run_step("op", counts(count));
  const Step go = plain_step(CommandKind::kSignal, "go");
  const Step send = [](RunHost& host) {
    return open_operation(
        host, "send", [&](replay::FutureId future) { host.send(future, "r", "go", "1", "", ""); });
  };
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    Disk disk;
    Node node(disk, sim(seed),
              {step_workflow("w", {op, op, op, go, op, go}), step_workflow("sender", {send})});
    bool is_within = false;
    node.store->after_read_due_inbox = [&](std::size_t) {
      if (std::exchange(is_within, true)) {
        return;
      }
      for (int i = 0; i < 12; ++i) {
        node.env->step();
      }
      is_within = false;
    };
    node.start("w", "r");
    node.start("sender", "s");
    node.env->run_ready();
    const std::vector<std::string> events = node.events("r");
    ASSERT_LE(std::count(events.begin(), events.end(), "SignalReceived"), 1) << "seed " << seed;
    ASSERT_NE(node.row("r").status, RunStatus::kCompleted) << "seed " << seed;
  }
}

// --- Tasks ---

// Between taking a task and running it.
TEST(Regression, TasksOfADeadProcessAreTakenOver) {
  Disk disk;
  const auto env = sim();
  auto count = std::make_shared<int>(0);
  const std::vector<Definition> definitions = {
      step_workflow("w", {plain_step(CommandKind::kTask, "t")})};
  const std::vector<ActivityType> activities = {{"t", counts(count), {}}};
  {
    Node node(disk, env, definitions, activities);
    node.start("w", "r");
    const auto is_taken = [&] {
      if (!node.has("r")) {
        return false;
      }
      const auto tasks = node.store->read_tasks(node.row("r").key);
      PAWL_CHECK(tasks.has_value());
      return !tasks->empty() && tasks->front().state == store::TaskState::kRunning;
    };
    while (!is_taken()) {
      ASSERT_TRUE(env->step());
    }
  }
  ASSERT_EQ(*count, 0);
  Node node(disk, env, definitions, activities);
  env->advance(100'000);
  EXPECT_EQ(*count, 1);
  EXPECT_EQ(node.row("r").status, RunStatus::kCompleted);
}

// The end of an attempt that had timed out was taken for that of the next one, and the place that
// it had in its queue was never given back.
TEST(Regression, TimedOutAttemptsGiveTheirPlaceBack) {
  Disk disk;
  TaskOptions task;
  task.retry = {.attempts = 5, .initial_ms = 1, .jitter = 0};
  task.attempt_timeout_ms = 1000;
  const Step schedule = task_step("t", task);
  const auto env = sim();
  const ActivityBody slow_at_first = [&env](ActivityAttempt& attempt) {
    if (attempt.attempt == 1) {
      env->advance(1500);
    }
    return ActivityOutcome{true, "1", {}};
  };
  EngineOptions options;
  options.queues = {{"default", 8}};
  Node node(disk, env, {step_workflow("w", {schedule})}, {{"t", slow_at_first, {}}}, options);
  std::size_t asked_for = 0;
  node.store->before_apply = [&](std::span<store::Op> ops) -> Result<void> {
    for (const store::Op& op : ops) {
      if (const auto* take = std::get_if<store::TakeTasks>(&op)) {
        asked_for = take->limit;
      }
    }
    return {};
  };
  for (int i = 0; i < 10; ++i) {
    const std::string id = std::to_string(i);
    node.start("w", id);
    env->advance(10'000);
    EXPECT_EQ(node.row(id).status, RunStatus::kCompleted);
    EXPECT_EQ(asked_for, 8) << "after " << i + 1;
  }
}

// --- Other processes ---

// A task that came between taking tasks and hearing that there were none was never seen.
TEST(Regression, TasksThatComeWhileOthersAreTakenAreSeen) {
  Disk disk;
  auto count = std::make_shared<int>(0);
  Node scheduler(disk, sim(1), {step_workflow("w", {plain_step(CommandKind::kTask, "t")})});
  scheduler.env->run_ready();
  Node worker(disk, sim(2), {}, {{"t", counts(count), {}}});
  bool has_come = false;
  worker.store->after_apply = [&](std::span<store::Op> ops) {
    const bool takes = std::any_of(ops.begin(), ops.end(), [](const store::Op& op) {
      return std::holds_alternative<store::TakeTasks>(op);
    });
    if (takes && !std::exchange(has_come, true)) {
      scheduler.start("w", "r");
      scheduler.env->run_ready();
    }
  };
  worker.env->run_ready();
  ASSERT_TRUE(has_come);
  EXPECT_EQ(*count, 1);
  scheduler.env->run_ready();
  EXPECT_EQ(scheduler.row("r").status, RunStatus::kCompleted);
}

// Who waits here was never told of a run that had been held here once and ended elsewhere.
TEST(Regression, EndsElsewhereAreTold) {
  Disk disk;
  const std::vector<Definition> definitions = {
      step_workflow("w", {plain_step(CommandKind::kSignal, "go")})};
  Node here(disk, sim(1), definitions);
  here.start("w", "r");
  here.env->run_ready();
  const auto told = here.wait("r");
  here.env->run_ready();
  Node elsewhere(disk, sim(2), definitions);
  elsewhere.env->run_ready();
  here.env->run_ready();
  elsewhere.signal("r", "go");
  elsewhere.env->run_ready();
  ASSERT_EQ(elsewhere.row("r").status, RunStatus::kCompleted);
  here.env->run_ready();
  EXPECT_TRUE(*told);
}

// The same, for a child that its parent's end has terminated.
TEST(Regression, TheEndOfATerminatedChildIsTold) {
  Disk disk;
  const Step child = [](RunHost& host) -> replay::FutureId {
    ChildOptions options;
    options.parent_close = 2;  // Terminate.
    const std::string extra = encode_child_options(options);
    replay::CommandRequest request;
    request.kind = CommandKind::kChildWorkflow;
    request.name = "child";
    request.child_kind = "c";
    request.extra = extra;
    PAWL_CHECK(host.machine().open(request).has_value());
    return 0;
  };
  Node node(disk, sim(),
            {step_workflow("w", {child, plain_step(CommandKind::kTimer, "", 1000)}),
             step_workflow("c", {plain_step(CommandKind::kSignal, "never")})});
  node.start("w", "parent");
  node.env->run_ready();
  const auto told = node.wait("child");
  node.env->advance(1000);
  EXPECT_EQ(node.row("child").status, RunStatus::kFailed);
  EXPECT_TRUE(*told);
}

// Who had looked for dead workers a moment ago did not look again for the one that had come since:
// what that one held when it died was held for ever.
TEST(Regression, WorkersThatCameLaterAndDiedAreNoticed) {
  Disk disk;
  auto count = std::make_shared<int>(0);
  const std::vector<Definition> definitions = {step_workflow("w", {run_step("op", counts(count))})};
  Node survivor(disk, sim(1), definitions);
  survivor.env->advance(5000);
  {
    Node other(disk, sim(2), definitions);
    other.env->advance(5000);
    other.start("w", "r");
    while (!other.has("r")) {
      ASSERT_TRUE(other.env->step());
    }
    ASSERT_NE(other.row("r").owner, 0);
    survivor.env->run_ready();
  }
  ASSERT_EQ(*count, 0);
  survivor.env->advance(60'000);
  EXPECT_EQ(*count, 1);
  EXPECT_EQ(survivor.row("r").status, RunStatus::kCompleted);
}

// One that others had declared dead asked for runs again and again, and got none.
TEST(Regression, AWorkerThatWasDeclaredDeadComesBack) {
  Disk disk;
  auto count = std::make_shared<int>(0);
  const std::vector<Definition> definitions = {
      step_workflow("w", {run_step("op", counts(count)), plain_step(CommandKind::kTimer, "", 10)})};
  Node slow(disk, sim(1), definitions);
  slow.start("w", "r");
  slow.env->run_ready();
  ASSERT_EQ(*count, 1);
  {
    Node fast(disk, sim(2), {});
    fast.env->advance(100'000);  // Its clock is ahead: the lease of the slow one is over.
  }
  slow.env->advance(1000);
  EXPECT_EQ(slow.row("r").status, RunStatus::kCompleted);
  EXPECT_LT(slow.engine->figures().batches, 100U);
}

// Every run of a burst of starts was claimed, however many.
TEST(Regression, BurstsOfStartsKeepTheLimit) {
  Disk disk;
  auto count = std::make_shared<int>(0);
  EngineOptions options;
  options.runs_at_once = 10;
  Node node(disk, sim(), {step_workflow("w", {run_step("op", counts(count))})}, {}, options);
  node.env->run_ready();
  std::ptrdiff_t claimed_at_once = 0;
  node.store->before_apply = [&](std::span<store::Op> ops) -> Result<void> {
    const std::ptrdiff_t claimed = std::count_if(ops.begin(), ops.end(), [](const store::Op& op) {
      const auto* start = std::get_if<store::StartRun>(&op);
      return start != nullptr && start->owner != 0;
    });
    claimed_at_once = std::max(claimed_at_once, claimed);
    return {};
  };
  constexpr int kRuns = 500;
  for (int i = 0; i < kRuns; ++i) {
    node.start("w", std::to_string(i));
  }
  node.env->run_ready();
  EXPECT_GT(claimed_at_once, 0);
  EXPECT_LE(claimed_at_once, 10);
  EXPECT_EQ(*count, kRuns);
}

// A run in memory was claimed together with what came for it, however many others were held.
TEST(Regression, SignalsAndTasksKeepTheLimit) {
  Disk disk;
  auto count = std::make_shared<int>(0);
  EngineOptions options;
  options.runs_at_once = 3;
  Node node(
      disk, sim(),
      {step_workflow("w", {plain_step(CommandKind::kSignal, "go"), run_step("op", counts(count)),
                           plain_step(CommandKind::kTask, "t"), run_step("op", counts(count))})},
      {{"t", counts(count), {}}}, options);
  constexpr int kRuns = 40;
  for (int i = 0; i < kRuns; ++i) {
    node.start("w", std::to_string(i));
  }
  node.env->run_ready();
  int held_at_once = 0;
  bool claims_by_signal = false;
  bool claims_by_task = false;
  node.store->after_apply = [&](std::span<store::Op> ops) {
    int held = 0;
    for (int i = 0; i < kRuns; ++i) {
      held += node.row(std::to_string(i)).owner != 0 ? 1 : 0;
    }
    held_at_once = std::max(held_at_once, held);
    for (const store::Op& op : ops) {
      const auto* send = std::get_if<store::Send>(&op);
      const auto* change = std::get_if<store::ChangeTask>(&op);
      claims_by_signal = claims_by_signal || (send != nullptr && send->claim.has_value());
      claims_by_task = claims_by_task || (change != nullptr && change->claim.has_value());
    }
  };
  for (int i = 0; i < kRuns; ++i) {
    node.signal(std::to_string(i), "go");
  }
  node.env->run_ready();
  EXPECT_TRUE(claims_by_signal);
  EXPECT_TRUE(claims_by_task);
  EXPECT_EQ(held_at_once, 3);
  EXPECT_EQ(*count, 3 * kRuns);
  EXPECT_LT(node.engine->figures().batches, 2000U);
}

}  // namespace
}  // namespace pawl::engine

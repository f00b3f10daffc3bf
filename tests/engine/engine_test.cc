// The engine on virtual time: what each feature does, and what of it survives a crash.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "step_program.h"
#include "world.h"

namespace pawl::engine {
namespace {

using replay::CommandKind;
using testing::ElementsAre;

ActivityBody counts(std::shared_ptr<int> count, std::string result = "1") {
  return [count = std::move(count), result = std::move(result)](ActivityAttempt&) {
    ++*count;
    return ActivityOutcome{true, result, {}};
  };
}

ActivityBody fails(std::shared_ptr<int> count, int times, std::string type = "Oops") {
  return [count = std::move(count), times, type = std::move(type)](ActivityAttempt&) {
    ActivityOutcome outcome;
    if (++*count <= times) {
      outcome.ok = false;
      outcome.failure.type = type;
      outcome.failure.message = "no";
    } else {
      outcome.result = "\"yes\"";
    }
    return outcome;
  };
}

TEST(Engine, RunsOperationsOnce) {
  auto count = std::make_shared<int>(0);
  World world({step_workflow("w", {run_step("a", counts(count)), run_step("b", counts(count))})});
  world.start("w", "r");
  EXPECT_EQ(world.outcome("r"), "completed \"done\"");
  EXPECT_EQ(*count, 2);
  EXPECT_THAT(world.log("r"), ElementsAre("1 OperationCompleted {1} a",
                                          "2 OperationCompleted {2} b", "3 WorkflowCompleted"));
  EXPECT_EQ(world.row("r").status, store::RunStatus::kCompleted);
  EXPECT_TRUE(world.errors.empty());
}

TEST(Engine, SleepsForYearsInNoTime) {
  World world({step_workflow("w", {plain_step(CommandKind::kTimer, "", 86'400'000LL * 3650)})});
  world.start("w", "r");
  world.env->run_ready();
  EXPECT_EQ(world.row("r").status, store::RunStatus::kWaiting);
  EXPECT_EQ(world.row("r").owner, 0);
  EXPECT_EQ(world.row("r").waiting_for, "timer");
  world.crash();
  const std::int64_t before = world.env->now_ms();
  EXPECT_EQ(world.outcome("r"), "completed \"done\"");
  EXPECT_EQ(world.env->now_ms() - before, 86'400'000LL * 3650);
}

TEST(Engine, WaitsForSignals) {
  World world({step_workflow(
      "w", {plain_step(CommandKind::kSignal, "go"), plain_step(CommandKind::kSignal, "go")})});
  world.start("w", "r");
  EXPECT_TRUE(*world.signal("r", "go", "1", "e1"));
  EXPECT_FALSE(*world.signal("r", "go", "1", "e1"));
  world.env->run_ready();
  EXPECT_EQ(world.row("r").status, store::RunStatus::kWaiting);
  EXPECT_EQ(world.row("r").waiting_for, "signal go");
  world.crash();
  EXPECT_FALSE(*world.signal("r", "go", "1", "e1"));
  EXPECT_TRUE(*world.signal("r", "go", "1", "e2"));
  EXPECT_EQ(world.outcome("r"), "completed \"done\"");
}

TEST(Engine, SaysWhatCannotBeSent) {
  World world({step_workflow("w", {})});
  EXPECT_EQ(world.signal("nobody", "go").error().code, ErrorCode::kNotFound);
  world.start("w", "r");
  EXPECT_EQ(world.outcome("r"), "completed \"done\"");
  EXPECT_EQ(world.signal("r", "go").error().code, ErrorCode::kClosed);
  EXPECT_EQ(world.outcome("nobody"), "error: there is no run with the id 'nobody'");
}

TEST(Engine, RetriesOverACrash) {
  auto count = std::make_shared<int>(0);
  RetryPolicy retry;
  retry.attempts = 4;
  retry.initial_ms = 60'000;
  retry.maximum_ms = 100'000;
  retry.jitter = 0;
  World world({step_workflow("w", {run_step("a", fails(count, 3), retry)})});
  const std::int64_t before = world.env->now_ms();
  world.start("w", "r");
  world.env->run_ready();
  EXPECT_EQ(*count, 1);
  EXPECT_EQ(world.row("r").status, store::RunStatus::kWaiting);
  world.crash();
  world.env->run_ready();
  EXPECT_EQ(*count, 1);
  world.env->advance(60'000);
  EXPECT_EQ(*count, 2);
  EXPECT_EQ(world.outcome("r"), "completed \"done\"");
  EXPECT_EQ(*count, 4);
  EXPECT_EQ(world.env->now_ms() - before, 60'000 + 100'000 + 100'000);
  EXPECT_THAT(world.log("r"), ElementsAre("1 OperationCompleted {1} a", "2 WorkflowCompleted"));
  EXPECT_EQ(world.extra("r", 1), R"({"attempts":4})");
}

TEST(Engine, TasksGoThroughQueues) {
  auto count = std::make_shared<int>(0);
  ActivityType charge{"charge", fails(count, 1), {}};
  TaskOptions options;
  options.retry.attempts = 3;
  options.retry.jitter = 0;
  World world({step_workflow("w", {task_step("charge", options)})}, {charge});
  world.start("w", "r");
  world.env->run_ready();
  EXPECT_EQ(*count, 1);
  world.crash();
  EXPECT_EQ(world.outcome("r"), "completed \"done\"");
  EXPECT_EQ(*count, 2);
  EXPECT_THAT(world.log("r"), ElementsAre("1 TaskScheduled {1} charge", "2 TaskCompleted charge",
                                          "3 WorkflowCompleted"));
  EXPECT_EQ(world.extra("r", 2), R"({"attempts":2})");
}

// Its one attempt was not the activity's to use up.
TEST(Engine, ATaskOutlivesItsWorker) {
  auto count = std::make_shared<int>(0);
  ActivityType charge{"charge", counts(count), {}};
  World world({step_workflow("w", {plain_step(CommandKind::kTask, "charge")})}, {charge});
  const store::RunKey run = world.start("w", "r").key;
  const auto is_taken = [&] {
    const auto tasks = world.store->read_tasks(run);
    return tasks && tasks->size() == 1 && (*tasks)[0].state == store::TaskState::kRunning;
  };
  while (!is_taken()) {
    ASSERT_TRUE(world.env->step());
  }
  world.crash();
  EXPECT_EQ(world.outcome("r"), "completed \"done\"");
  EXPECT_EQ(*count, 1);
  EXPECT_THAT(world.log("r"), ElementsAre("1 TaskScheduled {1} charge", "2 TaskCompleted charge",
                                          "3 WorkflowCompleted"));
}

TEST(Engine, ChildrenReportToTheirParent) {
  Step child = [](RunHost& host) -> replay::FutureId {
    replay::CommandRequest request;
    request.kind = CommandKind::kChildWorkflow;
    request.name = "the-child";
    request.child_kind = "c";
    const auto opened = host.machine().open(request);
    return opened ? opened->future : 0;
  };
  auto count = std::make_shared<int>(0);
  World world({step_workflow("w", {child}),
               step_workflow("c", {run_step("a", counts(count)),
                                   plain_step(CommandKind::kTimer, "", 1000)})});
  world.start("w", "r");
  world.env->run_ready();
  world.crash();
  EXPECT_EQ(world.outcome("r"), "completed \"done\"");
  EXPECT_EQ(world.outcome("the-child"), "completed \"done\"");
  EXPECT_EQ(*count, 1);
}

TEST(Engine, PromisesAreResolvedOnce) {
  World world({step_workflow("w", {plain_step(CommandKind::kPromise, "p"),
                                   plain_step(CommandKind::kPromise, "q", 5000)})});
  world.start("w", "r");
  const auto resolve = [&](const std::string& name) {
    return world.await<void>(
        [&](Callback<void> done) { world.engine->resolve("r", name, "7", std::move(done)); });
  };
  world.env->run_ready();
  EXPECT_EQ(resolve("q").error().code, ErrorCode::kNotFound);
  EXPECT_TRUE(resolve("p").has_value());
  EXPECT_EQ(resolve("p").error().code, ErrorCode::kAlreadyExists);
  EXPECT_EQ(world.outcome("r"), "completed \"done\"");
}

TEST(Engine, StartsOnceForOneId) {
  auto count = std::make_shared<int>(0);
  World world(
      {step_workflow("w", {run_step("a", counts(count)), plain_step(CommandKind::kSignal, "go")})});
  const StartedRun first = world.start("w", "r");
  const StartedRun second = world.start("w", "r");
  EXPECT_TRUE(first.is_new);
  EXPECT_FALSE(second.is_new);
  EXPECT_EQ(first.uuid, second.uuid);
  StartRequest request;
  request.kind = "w";
  request.id = "r";
  request.on_existing = store::OnExisting::kFail;
  const auto refused = world.await<StartedRun>(
      [&](Callback<StartedRun> done) { world.engine->start_run(request, std::move(done)); });
  EXPECT_EQ(refused.error().code, ErrorCode::kAlreadyExists);
  request.on_existing = store::OnExisting::kReplace;
  const auto replaced = world.await<StartedRun>(
      [&](Callback<StartedRun> done) { world.engine->start_run(request, std::move(done)); });
  ASSERT_TRUE(replaced.has_value());
  EXPECT_EQ(replaced->number, 2U);
  world.env->run_ready();
  EXPECT_EQ(*count, 2);
  EXPECT_TRUE(*world.signal("r", "go"));
  EXPECT_EQ(world.outcome("r"), "completed \"done\"");
}

TEST(Engine, UnknownKindsWaitForTheirCode) {
  World world({step_workflow("w", {})});
  world.start("later", "r");
  world.env->run_ready();
  EXPECT_EQ(world.row("r").status, store::RunStatus::kRunning);
  EXPECT_EQ(world.row("r").owner, 0);
}

TEST(Engine, EvictsWhatDoesNotFit) {
  EngineOptions options;
  options.cache_bytes = 20'000;
  World world({step_workflow("w", {plain_step(CommandKind::kSignal, "go")})}, {}, 1, options);
  for (int i = 0; i < 50; ++i) {
    world.start("w", "r" + std::to_string(i));
  }
  world.env->run_ready();
  EXPECT_GT(world.engine->figures().evictions, 0U);
  for (int i = 0; i < 50; ++i) {
    EXPECT_TRUE(*world.signal("r" + std::to_string(i), "go"));
    EXPECT_EQ(world.outcome("r" + std::to_string(i)), "completed \"done\"");
  }
}

}  // namespace
}  // namespace pawl::engine

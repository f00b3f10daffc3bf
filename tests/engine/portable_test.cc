// Runs that were carried elsewhere, forked or tried again, as engines go on with them.
#include <array>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "node.h"
#include "portable/fork.h"
#include "portable/run_document.h"
#include "step_program.h"

namespace pawl::engine {
namespace {

using replay::CommandKind;
using store::RunStatus;
using testing::ElementsAre;

const Uuid kNewRun = *Uuid::parse("0f0e0d0c-0b0a-4908-8706-050403020100");

// Ends like its last step.
class EndsLikeItsStep final : public Program {
 public:
  EndsLikeItsStep(RunHost& host, Step step) : host_(host), step_(std::move(step)) {}
  void start() override {
    future_ = step_(host_);
    const auto await = host_.machine().begin_await(replay::AwaitMode::kAll, {&future_, 1}, false);
    PAWL_CHECK(await.has_value());
    if (await->state != replay::AwaitState::kBlocked) {
      resume(*await);
    }
  }
  void resume(const replay::AwaitStatus& /*over*/) override {
    const replay::Outcome outcome = *host_.machine().outcome(future_);
    end_ = {outcome.kind == replay::OutcomeKind::kValue ? replay::EntryKind::kWorkflowCompleted
                                                        : replay::EntryKind::kWorkflowFailed,
            std::string(outcome.payload)};
  }
  std::optional<ProgramEnd> end() override { return end_; }
  std::size_t memory_bytes() const override { return sizeof(*this); }

 private:
  RunHost& host_;
  Step step_;
  replay::FutureId future_ = 0;
  std::optional<ProgramEnd> end_;
};

Definition ends_like(Step step) {
  Definition definition;
  definition.kind = "w";
  definition.create = [step = std::move(step)](RunHost& host, std::string_view /*input*/) {
    return std::make_unique<EndsLikeItsStep>(host, step);
  };
  return definition;
}

class Portable : public testing::Test {
 protected:
  ActivityBody counted(const std::string& name) {
    return [this, name](ActivityAttempt&) {
      ++counts_[name];
      if (failures_ > 0) {
        --failures_;
        ActivityOutcome outcome;
        outcome.ok = false;
        outcome.failure.type = "Oops";
        outcome.failure.message = "no";
        return outcome;
      }
      return ActivityOutcome{true, "1", {}};
    };
  }
  Definition workflow() {
    return step_workflow(
        "w", {run_step("first", counted("first")), task_step("t", {}),
              plain_step(CommandKind::kTimer, "", 1000), plain_step(CommandKind::kSignal, "go"),
              plain_step(CommandKind::kPromise, "p", 0), run_step("last", counted("last"))});
  }
  ActivityType activity() { return {"t", counted("t"), {}}; }

  static portable::RunDocument read(Disk& disk, const std::string& id) {
    const auto store = disk.open();
    const auto row = store->find_run(id, std::nullopt);
    PAWL_CHECK(row.has_value() && row->has_value());
    auto document = portable::read_document(*store, (*row)->key);
    PAWL_CHECK(document.has_value());
    return *std::move(document);
  }
  // From another process.
  void put(Disk& disk, const portable::RunDocument& document, bool as_next = false) {
    const auto store = disk.open();
    store::CreateRun create = portable::make_create_run(document, env_->now_ms());
    create.as_next = as_next;
    std::array<store::Op, 1> ops = {std::move(create)};
    const Result<void> done = store->apply(ops);
    ASSERT_TRUE(done.has_value()) << done.error().message;
    ASSERT_EQ(std::get<store::CreateRun>(ops[0]).outcome, store::CreateRun::Outcome::kCreated);
    env_->run_ready();
  }
  static void resolve(Node& node, const std::string& id) {
    node.engine->resolve(id, "p", "1", [](const Result<void>& done) {
      EXPECT_TRUE(done.has_value()) << (done ? "" : done.error().message);
    });
  }
  // Gives it what it waits for.
  void finish(Node& node, const std::string& id) {
    env_->advance(2000);
    node.signal(id, "go");
    env_->run_ready();
    resolve(node, id);
    env_->run_ready();
  }
  std::vector<int> counts() { return {counts_["first"], counts_["t"], counts_["last"]}; }

  Disk disk_;
  Disk other_disk_;
  std::shared_ptr<SimEnvironment> env_ = sim();
  std::map<std::string, int> counts_;
  int failures_ = 0;
};

TEST_F(Portable, AForkGoesOnFromAnyStep) {
  Node node(disk_, env_, {workflow()}, {activity()});
  node.start("w", "r");
  finish(node, "r");
  ASSERT_EQ(node.row("r").status, RunStatus::kCompleted);
  ASSERT_THAT(counts(), ElementsAre(1, 1, 1));
  const std::vector<std::string> whole = node.events("r");
  const std::vector<std::vector<int>> done_again = {{1, 1, 1}, {0, 1, 1}, {0, 0, 1}, {0, 0, 1},
                                                    {0, 0, 1}, {0, 0, 1}, {0, 0, 0}};
  for (int i = 0; i < 7; ++i) {
    counts_.clear();
    portable::ForkRequest request;
    request.at = i == 6 ? "end" : "{" + std::to_string(i + 1) + "}";
    request.id = "fork " + request.at;
    request.uuid = uuid5(kNewRun, request.at);
    request.now_ms = env_->now_ms();
    const auto plan = portable::plan_fork(read(disk_, "r"), request);
    ASSERT_TRUE(plan.has_value()) << plan.error().message;
    put(disk_, plan->document);
    env_->advance(2000);
    if (i <= 3) {
      EXPECT_EQ(node.row(request.id).waiting_for, "signal go");
      node.signal(request.id, "go");
      env_->run_ready();
    }
    if (i <= 4) {
      EXPECT_EQ(node.row(request.id).waiting_for, "promise p");
      resolve(node, request.id);
      env_->run_ready();
    }
    EXPECT_EQ(node.row(request.id).status, RunStatus::kCompleted) << request.at;
    EXPECT_EQ(counts(), done_again[static_cast<std::size_t>(i)]) << request.at;
    EXPECT_EQ(node.events(request.id), whole) << request.at;
  }
}

TEST_F(Portable, AForkHasTasksTimersAndPromisesOfItsOwn) {
  {
    Node node(disk_, env_, {workflow()});  // Nobody has the task's activity.
    node.start("w", "r");
    env_->run_ready();
    ASSERT_EQ(node.row("r").waiting_for, "task t");
  }
  portable::ForkRequest request;
  request.at = "end";
  request.id = "fork";
  request.uuid = kNewRun;
  request.now_ms = env_->now_ms();
  const auto plan = portable::plan_fork(read(disk_, "r"), request);
  ASSERT_TRUE(plan.has_value()) << plan.error().message;
  put(disk_, plan->document);
  Node node(disk_, env_, {workflow()}, {activity()});
  env_->run_ready();
  EXPECT_THAT(counts(), ElementsAre(1, 2, 0));
  // While its timer runs: that of the fork is another one.
  request.id = "second";
  request.uuid = uuid5(kNewRun, "second");
  const auto second = portable::plan_fork(read(disk_, "fork"), request);
  ASSERT_TRUE(second.has_value()) << second.error().message;
  put(disk_, second->document);
  EXPECT_EQ(node.row("second").waiting_for, "timer");
  EXPECT_EQ(node.row("second").wake_ms, node.row("fork").wake_ms);
  env_->advance(2000);
  for (const char* id : {"r", "fork", "second"}) {
    EXPECT_EQ(node.row(id).waiting_for, "signal go");
    node.signal(id, "go");
    env_->run_ready();
  }
  // While its promise is open.
  request.id = "third";
  request.uuid = uuid5(kNewRun, "third");
  const auto third = portable::plan_fork(read(disk_, "second"), request);
  ASSERT_TRUE(third.has_value()) << third.error().message;
  put(disk_, third->document);
  for (const char* id : {"r", "fork", "second", "third"}) {
    resolve(node, id);
    env_->run_ready();
    EXPECT_EQ(node.row(id).status, RunStatus::kCompleted) << id;
  }
  EXPECT_THAT(counts(), ElementsAre(1, 2, 4));
}

TEST_F(Portable, ARunGoesOnInAnotherStore) {
  std::string file;
  {
    Node node(disk_, env_, {workflow()}, {activity()});
    node.start("w", "r");
    env_->run_ready();
    ASSERT_EQ(node.row("r").waiting_for, "timer");
    file = portable::to_json(read(disk_, "r"));
  }
  Node node(other_disk_, env_, {workflow()}, {activity()});
  const auto document = portable::from_json(file);
  ASSERT_TRUE(document.has_value()) << document.error().message;
  put(other_disk_, *document);
  EXPECT_EQ(node.row("r").uuid, document->image.row.uuid);
  finish(node, "r");
  EXPECT_EQ(node.row("r").status, RunStatus::kCompleted);
  EXPECT_THAT(counts(), ElementsAre(1, 1, 1));
}

TEST_F(Portable, AFailedTaskIsTriedAgainInTheNextRun) {
  failures_ = 1;
  Node node(disk_, env_, {ends_like(task_step("t", {}))}, {activity()});
  node.start("w", "r");
  env_->run_ready();
  ASSERT_EQ(node.row("r").status, RunStatus::kFailed);
  const auto plan = portable::plan_retry(read(disk_, "r"), {kNewRun, false, env_->now_ms()});
  ASSERT_TRUE(plan.has_value()) << plan.error().message;
  put(disk_, plan->document, true);
  EXPECT_EQ(node.row("r").number, 2U);
  EXPECT_EQ(node.row("r").status, RunStatus::kCompleted);
  EXPECT_EQ(counts_["t"], 2);
  EXPECT_THAT(node.events("r"), ElementsAre("TaskScheduled", "TaskCompleted", "WorkflowCompleted"));
}

TEST_F(Portable, AFailedOperationIsTriedAgainInTheNextRun) {
  failures_ = 1;
  Node node(disk_, env_, {ends_like(run_step("o", counted("o")))});
  node.start("w", "r");
  env_->run_ready();
  ASSERT_EQ(node.row("r").status, RunStatus::kFailed);
  const auto plan = portable::plan_retry(read(disk_, "r"), {kNewRun, false, env_->now_ms()});
  ASSERT_TRUE(plan.has_value()) << plan.error().message;
  put(disk_, plan->document, true);
  EXPECT_EQ(node.row("r").status, RunStatus::kCompleted);
  EXPECT_EQ(counts_["o"], 2);
}

TEST_F(Portable, WhatATerminatedRunWaitedForIsThereAgain) {
  Node node(disk_, env_, {ends_like(plain_step(CommandKind::kSignal, "go", 5000))});
  node.start("w", "r");
  env_->run_ready();
  const auto store = disk_.open();
  store::Terminate terminate;
  terminate.run_id = "r";
  terminate.payload = R"({"type":"Terminated","message":"by hand"})";
  std::array<store::Op, 1> ops = {terminate};
  ASSERT_TRUE(store->apply(ops).has_value());
  env_->run_ready();
  ASSERT_EQ(node.row("r").status, RunStatus::kFailed);
  const auto plan = portable::plan_retry(read(disk_, "r"), {kNewRun, false, env_->now_ms()});
  ASSERT_TRUE(plan.has_value()) << plan.error().message;
  put(disk_, plan->document, true);
  EXPECT_EQ(node.row("r").waiting_for, "signal go");
  env_->advance(10'000);
  EXPECT_EQ(node.row("r").status, RunStatus::kFailed);
  EXPECT_THAT(node.events("r"), ElementsAre("SignalAwaited", "SignalTimedOut", "WorkflowFailed"));
}

}  // namespace
}  // namespace pawl::engine

// Code that changes under running workflows: what blocks a run, and what lets it go on.
#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "node.h"
#include "step_program.h"
#include "store/sqlite/connection.h"

namespace pawl::engine {
namespace {

using replay::CommandKind;
using store::RunStatus;
using testing::ElementsAre;

ActivityOutcome yes(ActivityAttempt& /*attempt*/) { return {true, "1", {}}; }

Definition code(std::string fingerprint, std::vector<Step> steps,
                OnChange on_change = OnChange::kVerify) {
  Definition definition = step_workflow("w", std::move(steps));
  definition.fingerprint = std::move(fingerprint);
  definition.on_change = on_change;
  return definition;
}

// What the runs were started with, and what agrees with that.
Definition good(std::string fingerprint, OnChange on_change = OnChange::kVerify) {
  return code(std::move(fingerprint),
              {run_step("a", yes), plain_step(CommandKind::kSignal, "go"), run_step("b", yes)},
              on_change);
}

// What does not.
Definition bad(std::string fingerprint, OnChange on_change = OnChange::kVerify) {
  return code(std::move(fingerprint),
              {plain_step(CommandKind::kTimer, "", 1000), run_step("b", yes)}, on_change);
}

class Deploys : public testing::Test {
 protected:
  // Runs that wait under this code.
  void start_under(const Definition& definition, const std::vector<std::string>& ids = {"r"}) {
    Node node(disk_, env_, {definition});
    for (const std::string& id : ids) {
      node.start("w", id);
    }
    env_->run_ready();
    for (const std::string& id : ids) {
      ASSERT_EQ(node.row(id).status, RunStatus::kWaiting);
    }
  }
  // What becomes of the run when a process with this code starts, and is sent a signal.
  store::RunRow deploy(const Definition& definition, bool sends_signal = false,
                       EngineOptions options = {}) {
    Node node(disk_, env_, {definition}, {}, std::move(options));
    const auto batches = node.count_batches();
    env_->run_ready();
    if (sends_signal) {
      node.signal("r", "go");
      env_->run_ready();
    }
    EXPECT_LT(*batches, 50);
    return node.row("r");
  }
  store::RunRow block_under(const Definition& definition) {
    const store::RunRow row = deploy(definition, true);
    EXPECT_EQ(row.status, RunStatus::kBlocked);
    return row;
  }
  void damage_log() {
    const auto connection = store::Connection::open({disk_.path(), "", 0, store::Access::kWrite});
    PAWL_CHECK(connection.has_value());
    PAWL_CHECK((*connection)->execute("UPDATE pawl_log SET location = 'nonsense'").has_value());
  }

  Disk disk_;
  std::shared_ptr<SimEnvironment> env_ = sim();
};

TEST_F(Deploys, AFixedOneLetsABlockedRunGoOn) {
  start_under(good("1"));
  block_under(bad("2"));
  EXPECT_EQ(deploy(good("3")).status, RunStatus::kCompleted);
}

TEST_F(Deploys, ARunStaysBlockedUnderTheCodeThatBlockedIt) {
  start_under(good("1"));
  const store::RunRow row = block_under(bad("2"));
  EXPECT_EQ(deploy(bad("2")).epoch, row.epoch);
  // Another one that is no better tries once.
  EXPECT_EQ(deploy(bad("3")).epoch, row.epoch + 1);
  EXPECT_EQ(deploy(bad("3")).epoch, row.epoch + 1);
  EXPECT_EQ(deploy(good("1")).status, RunStatus::kCompleted);
}

TEST_F(Deploys, CodeThatIsNotKnownIsTriedOnceByEveryProcess) {
  const std::vector<std::string> ids = {"r", "s", "t"};
  start_under(good(""), ids);
  {
    Node node(disk_, env_, {bad("")});
    env_->run_ready();
    for (const std::string& id : ids) {
      node.signal(id, "go");
    }
    env_->run_ready();
  }
  EngineOptions one_by_one;
  one_by_one.runs_at_once = 1;
  const std::int64_t epoch = deploy(bad(""), false, one_by_one).epoch;
  EXPECT_EQ(deploy(bad(""), false, one_by_one).epoch, epoch + 1);
  Node node(disk_, env_, {good("")}, {}, one_by_one);
  env_->run_ready();
  for (const std::string& id : ids) {
    EXPECT_EQ(node.row(id).status, RunStatus::kCompleted);
  }
}

TEST_F(Deploys, WhoRefusesGoesOnOnlyUnderTheDefinitionOfTheRun) {
  start_under(good("1", OnChange::kRefuse));
  const store::RunRow row = block_under(good("2", OnChange::kRefuse));
  EXPECT_EQ(deploy(good("3", OnChange::kRefuse)).epoch, row.epoch);
  const store::RunRow rolled_back = deploy(good("1", OnChange::kRefuse));
  EXPECT_EQ(rolled_back.status, RunStatus::kCompleted);
  EXPECT_EQ(rolled_back.definition, "1");
}

TEST_F(Deploys, APersonMayLetARefusedRunGoOn) {
  start_under(good("1", OnChange::kRefuse));
  block_under(good("2", OnChange::kRefuse));
  Node node(disk_, env_, {good("2", OnChange::kRefuse)});
  node.resume("r");
  env_->run_ready();
  EXPECT_EQ(node.row("r").status, RunStatus::kCompleted);
}

TEST_F(Deploys, DoNotHelpADamagedLog) {
  start_under(good("1"));
  damage_log();
  const store::RunRow row = block_under(good("1"));
  EXPECT_EQ(deploy(good("2")).epoch, row.epoch);
  EXPECT_EQ(deploy(good("")).epoch, row.epoch);
}

TEST_F(Deploys, MayHelpATurnThatCannotBeWritten) {
  start_under(good("1"));
  {
    Node node(disk_, env_, {good("1")});
    int refused = 0;
    node.store->before_apply = [&refused](std::span<store::Op> ops) -> Result<void> {
      const bool any = std::any_of(ops.begin(), ops.end(), [](const store::Op& op) {
        const auto* turn = std::get_if<store::CommitTurn>(&op);
        return turn != nullptr && !turn->entries.empty();
      });
      refused += any ? 1 : 0;
      return any && refused < 100 ? make_error(ErrorCode::kLimitExceeded, "too large")
                                  : Result<void>();
    };
    node.signal("r", "go");
    env_->run_ready();
    EXPECT_EQ(node.row("r").status, RunStatus::kBlocked);
    EXPECT_EQ(refused, 1);
  }
  const std::int64_t epoch = deploy(good("1")).epoch;
  EXPECT_EQ(deploy(good("1")).epoch, epoch);
  EXPECT_EQ(deploy(good("2")).status, RunStatus::kCompleted);
}

// --- What a wrong one has done ---

// Inserts a step, which is allowed, so that it is executed. What follows may disagree.
class DeploysThatInsert : public Deploys {
 protected:
  Definition inserting(std::string fingerprint, bool is_right) {
    ActivityBody body = [this](ActivityAttempt& attempt) -> ActivityOutcome {
      keys_.push_back(attempt.key);
      return {true, "1", {}};
    };
    return code(std::move(fingerprint),
                {run_step("a", yes), run_step("check", std::move(body), {}, 2),
                 is_right ? plain_step(CommandKind::kSignal, "go")
                          : plain_step(CommandKind::kTimer, "", 1000),
                 run_step("b", yes)});
  }
  std::vector<std::string> events() {
    const auto store = disk_.open();
    return Node::events_of(*store, "r");
  }

  std::vector<std::string> keys_;  // Of its executions.
};

TEST_F(DeploysThatInsert, ExecuteTheStepAgainAfterEachWrongOneUnderTheSameKey) {
  start_under(good("1"));
  block_under(inserting("2", false));
  EXPECT_EQ(keys_.size(), 1U);
  // A turn before has taken the signal; nothing of the one that disagrees is written.
  EXPECT_THAT(events(), ElementsAre("OperationCompleted", "SignalAwaited", "SignalReceived"));
  EXPECT_EQ(deploy(inserting("3", false)).status, RunStatus::kBlocked);
  EXPECT_EQ(keys_.size(), 2U);
  EXPECT_EQ(deploy(inserting("4", true)).status, RunStatus::kCompleted);
  EXPECT_THAT(keys_, ElementsAre(keys_[0], keys_[0], keys_[0]));
  EXPECT_EQ(deploy(inserting("5", true)).status, RunStatus::kCompleted);
  EXPECT_EQ(keys_.size(), 3U);
}

// Were the step recorded, the code from before could not go on.
TEST_F(DeploysThatInsert, CanBeRolledBack) {
  start_under(good("1"));
  block_under(inserting("2", false));
  EXPECT_EQ(keys_.size(), 1U);
  EXPECT_EQ(deploy(good("1")).status, RunStatus::kCompleted);
}

// A task is recorded before anybody can take it, so before the disagreement is seen.
class DeploysThatInsertATask : public DeploysThatInsert {
 protected:
  static Definition inserting_task(std::string fingerprint, OnChange on_change) {
    const Step task = [](RunHost& host) -> replay::FutureId {
      replay::CommandRequest request;
      request.kind = CommandKind::kTask;
      request.name = "check";
      request.version = 2;
      const std::string options = encode_task_options({});
      request.extra = options;
      const auto opened = host.machine().open(request);
      return opened ? opened->future : 0;
    };
    return code(std::move(fingerprint),
                {run_step("a", yes), task, plain_step(CommandKind::kSignal, "go")}, on_change);
  }
  void expect_task() {
    EXPECT_THAT(events(), ElementsAre("OperationCompleted", "SignalAwaited", "TaskScheduled",
                                      "SignalReceived"));
  }
};

// The code from before meets a command that it does not know. Its fingerprint is still the one that
// the run was started with, but that does not mean that it is not deterministic.
TEST_F(DeploysThatInsertATask, AndAreRolledBackBlockTheRunAndDoNotFailIt) {
  start_under(good("1"));
  EXPECT_EQ(deploy(inserting_task("2", OnChange::kVerify), true).status, RunStatus::kWaiting);
  expect_task();
  EXPECT_EQ(deploy(good("1"), true).status, RunStatus::kBlocked);
  // Code that fits goes on.
  Definition fits = inserting_task("3", OnChange::kVerify);
  Node node(disk_, env_, {fits}, {{"check", yes}});
  env_->run_ready();
  EXPECT_EQ(node.row("r").status, RunStatus::kCompleted);
}

TEST_F(DeploysThatInsertATask, AndWereAllowedByAPersonDoNotFailTheRunEither) {
  start_under(good("1", OnChange::kRefuse));
  block_under(inserting_task("2", OnChange::kRefuse));
  {
    Node node(disk_, env_, {inserting_task("2", OnChange::kRefuse)});
    node.resume("r");
    env_->run_ready();
    EXPECT_EQ(node.row("r").status, RunStatus::kWaiting);
  }
  expect_task();
  EXPECT_EQ(deploy(good("1", OnChange::kRefuse), true).status, RunStatus::kBlocked);
}

// --- What is told ---

// Tells a test what an engine has said.
class Told {
 public:
  EngineOptions options() const {
    EngineOptions options;
    options.on_error = [lines = lines_](const Error& error, std::string_view what) {
      lines->push_back(std::string(what) + ": " + error.message);
    };
    return options;
  }
  const std::vector<std::string>& lines() const { return *lines_; }

 private:
  std::shared_ptr<std::vector<std::string>> lines_ = std::make_shared<std::vector<std::string>>();
};

constexpr const char* kBlockedLine =
    "run 'r' of kind 'w' is blocked (see 'pawl why r'): Type mismatch at Timer(0): expected Timer, "
    "got Operation 'a'. Nothing is lost: deploy code that fits, and it goes on; 'pawl check --with "
    "PROGRAM' says beforehand whether a build does";

TEST_F(Deploys, ARunThatIsBlockedIsToldOnce) {
  start_under(good("1"));
  const Told told;
  Node node(disk_, env_, {bad("2")}, {}, told.options());
  const auto ended = node.wait("r");
  node.signal("r", "go");
  env_->run_ready();
  ASSERT_EQ(node.row("r").status, RunStatus::kBlocked);
  EXPECT_THAT(told.lines(), ElementsAre(kBlockedLine));
  // The same engine, for the same reason.
  const std::int64_t epoch = node.row("r").epoch;
  node.resume("r");
  node.wait("r");
  env_->run_ready();
  EXPECT_EQ(node.row("r").epoch, epoch + 1);
  EXPECT_EQ(told.lines().size(), 1U);
  EXPECT_FALSE(*ended);
}

TEST_F(Deploys, AnotherEngineTellsOfABlockedRunToo) {
  start_under(good("1"));
  block_under(bad("2"));
  const Told told;
  deploy(bad("3"), false, told.options());
  EXPECT_THAT(told.lines(), ElementsAre(kBlockedLine));
}

TEST_F(Deploys, WhoWaitsForARunThatWasBlockedBeforeIsTold) {
  start_under(good("1"));
  const store::RunRow row = block_under(bad("2"));
  // The code that blocked it does not try it again; a client has no code.
  for (const std::vector<Definition>& code : {std::vector{bad("2")}, std::vector<Definition>()}) {
    const Told told;
    Node node(disk_, env_, code, {}, told.options());
    node.wait("r");
    env_->run_ready();
    node.wait("r");
    env_->run_ready();
    EXPECT_THAT(told.lines(), ElementsAre(kBlockedLine));
    EXPECT_EQ(node.row("r").epoch, row.epoch);
  }
}

TEST_F(Deploys, AFixedOneHasNothingToTell) {
  start_under(good("1"));
  block_under(bad("2"));
  const Told told;
  Node node(disk_, env_, {good("3")}, {}, told.options());
  const auto ended = node.wait("r");
  env_->run_ready();
  EXPECT_TRUE(*ended);
  EXPECT_THAT(told.lines(), ElementsAre());
}

TEST_F(Deploys, ARunThatWentOnAndIsBlockedAgainIsToldAgain) {
  const Told told;
  Node node(disk_, env_,
            {code("1", {plain_step(CommandKind::kSignal, "go"), run_step("a", yes),
                        plain_step(CommandKind::kSignal, "go"), run_step("b", yes)})},
            {}, told.options());
  node.start("w", "r");
  env_->run_ready();
  bool is_full = true;
  node.store->before_apply = [&is_full](std::span<store::Op> ops) -> Result<void> {
    const bool any = std::any_of(ops.begin(), ops.end(), [](const store::Op& op) {
      const auto* turn = std::get_if<store::CommitTurn>(&op);
      return turn != nullptr && !turn->entries.empty();
    });
    return any && is_full ? make_error(ErrorCode::kLimitExceeded, "too large") : Result<void>();
  };
  const auto blocked_lines = [&] {
    return std::ranges::count_if(told.lines(), [](const std::string& line) {
      return line.find("is blocked") != std::string::npos;
    });
  };
  node.signal("r", "go");
  env_->run_ready();
  ASSERT_EQ(node.row("r").status, RunStatus::kBlocked);
  EXPECT_EQ(blocked_lines(), 1);
  is_full = false;
  node.resume("r");
  env_->run_ready();
  ASSERT_EQ(node.row("r").status, RunStatus::kWaiting);
  is_full = true;
  node.signal("r", "go");
  env_->run_ready();
  ASSERT_EQ(node.row("r").status, RunStatus::kBlocked);
  EXPECT_EQ(blocked_lines(), 2);
}

TEST_F(Deploys, ADamagedLogIsToldAsSuch) {
  start_under(good("1"));
  damage_log();
  const Told told;
  deploy(good("1"), true, told.options());
  ASSERT_EQ(told.lines().size(), 1U);
  EXPECT_THAT(told.lines()[0],
              testing::AllOf(testing::StartsWith("run 'r' of kind 'w' is blocked (see 'pawl why "
                                                 "r'): the stored log is damaged: "),
                             testing::EndsWith(". No code can go on with it: restore a copy of the "
                                               "store, or terminate the run")));
}

// --- Two at a time ---

TEST_F(Deploys, TwoThatAreBothWrongDoNotPassARunToAndFro) {
  start_under(good("1"));
  Node first(disk_, sim(2), {bad("2")});
  first.signal("r", "go");
  first.env->run_ready();
  ASSERT_EQ(first.row("r").status, RunStatus::kBlocked);
  Node second(disk_, sim(3), {bad("3")});
  const std::int64_t epoch = first.row("r").epoch;
  for (int i = 0; i < 20; ++i) {
    first.env->advance(1000);
    second.env->advance(1000);
  }
  EXPECT_EQ(first.row("r").status, RunStatus::kBlocked);
  EXPECT_EQ(first.row("r").epoch, epoch + 1);
}

// The old process is still there, and has the code of the run: the new one, which would break it,
// leaves it alone.
TEST_F(Deploys, WhoseDefinitionARunHasGoesOnWithIt) {
  for (const OnChange on_change : {OnChange::kVerify, OnChange::kRefuse}) {
    const std::string id = on_change == OnChange::kVerify ? "r" : "s";
    start_under(good("1", on_change), {id});
    Node known(disk_, sim(2), {good("1", on_change)});
    known.env->run_ready();
    Node other(disk_, sim(3), {bad("2", on_change)});
    other.env->run_ready();
    const std::int64_t epoch = other.row(id).epoch;
    other.signal(id, "go");
    other.env->run_ready();
    EXPECT_EQ(other.row(id).epoch, epoch);
    known.env->run_ready();
    EXPECT_EQ(other.row(id).status, RunStatus::kCompleted);
    EXPECT_EQ(other.row(id).definition, "1");
    other.env->run_ready();
  }
}

// What the new one breaks before the old one is there again is taken back by that.
TEST_F(Deploys, WhoseDefinitionARunHasTakesItBack) {
  for (const OnChange on_change : {OnChange::kVerify, OnChange::kRefuse}) {
    const std::string id = on_change == OnChange::kVerify ? "r" : "s";
    start_under(good("1", on_change), {id});
    Node other(disk_, sim(3), {bad("2", on_change)});
    other.env->run_ready();
    other.signal(id, "go");
    other.env->run_ready();
    ASSERT_EQ(other.row(id).status, RunStatus::kBlocked);
    Node known(disk_, sim(2), {good("1", on_change)});
    known.env->run_ready();
    EXPECT_EQ(other.row(id).status, RunStatus::kCompleted);
    other.env->run_ready();
  }
}

// --- Rolling ---

// Two builds at once. Both agree with every history here, so that nothing but the rule keeps a run
// with its own.
class RollingDeploys : public Deploys {
 protected:
  std::unique_ptr<Node> start_node(const std::string& fingerprint) {
    EngineOptions options;
    options.lease_ms = 30'000;
    return std::make_unique<Node>(disk_, sim(++seed_), std::vector{good(fingerprint)},
                                  std::vector<ActivityType>(), options);
  }
  static void start_run(Node& node, const std::string& id) {
    node.start("w", id);
    node.env->run_ready();
    ASSERT_EQ(node.row(id).status, RunStatus::kWaiting);
  }
  // Time passes for all of them.
  static void advance(const std::vector<Node*>& nodes, std::int64_t ms) {
    for (std::int64_t passed = 0; passed < ms; passed += 1000) {
      for (Node* node : nodes) {
        node->env->advance(1000);
      }
    }
  }
  static void settle(const std::vector<Node*>& nodes) {
    for (int i = 0; i < 5; ++i) {
      for (Node* node : nodes) {
        node->env->run_ready();
      }
    }
  }

  std::uint64_t seed_ = 10;
};

TEST_F(RollingDeploys, NewCodeDoesNotHandRunsBackToOldCode) {
  const auto old_node = start_node("1");
  start_run(*old_node, "old");
  const auto new_node = start_node("2");
  start_run(*new_node, "new");
  // Each is told by the other side, and each runs first.
  const std::int64_t old_epoch = old_node->row("old").epoch;
  const std::int64_t new_epoch = old_node->row("new").epoch;
  old_node->signal("new", "go");
  old_node->env->run_ready();
  new_node->signal("old", "go");
  EXPECT_EQ(old_node->row("new").epoch, new_epoch);
  new_node->env->run_ready();
  EXPECT_EQ(old_node->row("new").status, RunStatus::kCompleted);
  EXPECT_EQ(old_node->row("new").definition, "2");
  EXPECT_EQ(old_node->row("old").epoch, old_epoch);
  old_node->env->run_ready();
  EXPECT_EQ(old_node->row("old").status, RunStatus::kCompleted);
  EXPECT_EQ(old_node->row("old").definition, "1");
}

TEST_F(RollingDeploys, WhoIsThereFirstLearnsOfANewWorkerBeforeItClaimsAnything) {
  const auto old_node = start_node("1");
  old_node->env->run_ready();
  // The old one hears nothing of the other; it finds out by its claim.
  old_node->store->watch({});
  const auto new_node = start_node("2");
  start_run(*new_node, "r");
  new_node->env->drop_all();
  int claims = 0;
  old_node->store->before_apply = [&claims](std::span<store::Op> ops) -> Result<void> {
    for (const store::Op& op : ops) {
      claims += std::holds_alternative<store::ClaimDue>(op) ? 1 : 0;
    }
    return {};
  };
  const std::int64_t epoch = old_node->row("r").epoch;
  old_node->signal("r", "go");
  old_node->env->run_ready();
  EXPECT_EQ(old_node->row("r").epoch, epoch);
  EXPECT_EQ(claims, 2);  // One that finds out, and one that knows.
}

TEST_F(RollingDeploys, WhenTheLastOfADefinitionStopsOthersGoOn) {
  const auto old_node = start_node("1");
  start_run(*old_node, "r");
  const auto new_node = start_node("2");
  settle({old_node.get(), new_node.get()});
  new_node->signal("r", "go");
  new_node->env->run_ready();
  EXPECT_EQ(new_node->row("r").status, RunStatus::kWaiting);
  old_node->engine->stop();
  new_node->env->run_ready();
  EXPECT_EQ(new_node->row("r").status, RunStatus::kCompleted);
  EXPECT_EQ(new_node->row("r").definition, "2");
}

TEST_F(RollingDeploys, WhenTheLastOfADefinitionDiesOthersGoOnAfterItsLease) {
  auto old_node = start_node("1");
  start_run(*old_node, "r");
  const auto new_node = start_node("2");
  settle({old_node.get(), new_node.get()});
  old_node.reset();
  new_node->signal("r", "go");
  new_node->env->run_ready();
  EXPECT_EQ(new_node->row("r").status, RunStatus::kWaiting);
  new_node->env->advance(40'000);
  EXPECT_EQ(new_node->row("r").status, RunStatus::kCompleted);
}

// One that was declared dead has the run in memory as it was.
TEST_F(RollingDeploys, WhatIsInMemoryIsNotTakenBackEither) {
  const auto twice = [](const std::string& fingerprint) {
    return code(fingerprint,
                {plain_step(CommandKind::kSignal, "go"), plain_step(CommandKind::kSignal, "go")});
  };
  Node old_node(disk_, sim(2), {twice("1")});
  start_run(old_node, "r");
  EngineOptions options;
  Node new_node(disk_, sim(3), {twice("2")}, {}, options);
  new_node.env->advance(40'000);  // The other one says nothing.
  new_node.signal("r", "go");
  new_node.env->run_ready();
  ASSERT_EQ(new_node.row("r").definition, "2");
  ASSERT_EQ(new_node.row("r").status, RunStatus::kWaiting);
  old_node.env->run_ready();  // Hears that it is dead, and begins again.
  const std::int64_t epoch = new_node.row("r").epoch;
  old_node.signal("r", "go");
  old_node.env->run_ready();
  EXPECT_EQ(new_node.row("r").epoch, epoch);
  new_node.env->run_ready();
  EXPECT_EQ(new_node.row("r").status, RunStatus::kCompleted);
  EXPECT_EQ(new_node.row("r").definition, "2");
}

TEST_F(RollingDeploys, AnIdleWorkerCountsAsAlive) {
  const auto old_node = start_node("1");
  start_run(*old_node, "r");
  const auto new_node = start_node("2");
  advance({old_node.get(), new_node.get()}, 200'000);
  new_node->signal("r", "go");
  new_node->env->run_ready();
  EXPECT_EQ(new_node->row("r").status, RunStatus::kWaiting);
  old_node->env->run_ready();
  EXPECT_EQ(new_node->row("r").definition, "1");
  EXPECT_EQ(new_node->row("r").status, RunStatus::kCompleted);
}

// What is due and left to others is no reason to look for it again and again.
TEST_F(RollingDeploys, WhoLeavesRunsToOthersDoesNotSpin) {
  const auto old_node = start_node("1");
  start_run(*old_node, "r");
  const auto new_node = start_node("2");
  settle({old_node.get(), new_node.get()});
  const auto batches = new_node->count_batches();
  new_node->signal("r", "go");
  new_node->env->advance(20'000);
  EXPECT_EQ(new_node->row("r").status, RunStatus::kWaiting);
  EXPECT_LT(*batches, 10);
}

TEST_F(RollingDeploys, ManyRunsStayWithTheirCode) {
  const auto old_node = start_node("1");
  const auto new_node = start_node("2");
  const std::vector<Node*> both = {old_node.get(), new_node.get()};
  for (int i = 0; i < 50; ++i) {
    Node& starts = *both[static_cast<std::size_t>(i % 2)];
    start_run(starts, "r" + std::to_string(i));
  }
  for (int i = 0; i < 50; ++i) {
    both[static_cast<std::size_t>(i / 2 % 2)]->signal("r" + std::to_string(i), "go");
  }
  settle(both);
  for (int i = 0; i < 50; ++i) {
    const store::RunRow row = old_node->row("r" + std::to_string(i));
    EXPECT_EQ(row.status, RunStatus::kCompleted);
    EXPECT_EQ(row.definition, i % 2 == 0 ? "1" : "2");
  }
}

// What only the own code has blocked is not left to it; what was left and blocked is tried when
// nobody is left who has its code.
TEST_F(RollingDeploys, WhatWasLeftAndIsBlockedIsTriedWhenItsCodeIsGone) {
  start_under(good("1"));
  {
    Node wrong(disk_, sim(2), {bad("0")});
    wrong.signal("r", "go");
    wrong.env->run_ready();
    ASSERT_EQ(wrong.row("r").status, RunStatus::kBlocked);
  }
  // Has the code, and never comes to it.
  auto old_node = start_node("1");
  old_node->env->drop_all();
  const auto new_node = start_node("2");
  new_node->env->run_ready();
  EXPECT_EQ(new_node->row("r").status, RunStatus::kBlocked);
  old_node.reset();
  new_node->env->advance(40'000);
  EXPECT_EQ(new_node->row("r").status, RunStatus::kCompleted);
}

}  // namespace
}  // namespace pawl::engine

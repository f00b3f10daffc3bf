// Compensations whose activities are not where the workflow is.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "node.h"
#include "step_program.h"

namespace pawl::engine {
namespace {

using replay::CommandKind;
using store::RunStatus;
using testing::ElementsAre;

class Sagas : public testing::Test {
 protected:
  ActivityType undo(const std::string& name) {
    return {name,
            [this, name](ActivityAttempt&) {
              undone_.push_back(name);
              return ActivityOutcome{true, "1", {}};
            },
            {}};
  }

  Disk disk_;
  std::vector<std::string> undone_;
};

TEST_F(Sagas, WaitForAProcessThatHasTheActivity) {
  const auto env = sim();
  const Definition definition = fails_and_undoes({"undo"});
  {
    Node without(disk_, env, {definition});
    without.start("w", "r");
    env->run_ready();
    EXPECT_EQ(without.row("r").status, RunStatus::kCompensating);
    EXPECT_EQ(without.row("r").wake_ms, store::kNever);
    EXPECT_EQ(without.row("r").waiting_for,
              "compensation undo (no activity of this name is registered)");
    const auto batches = without.count_batches();
    env->advance(3'600'000);
    EXPECT_EQ(*batches, 0);
    without.signal("r", "hello");
    env->advance(3'600'000);
    EXPECT_LT(*batches, 10);
  }
  {
    Node without(disk_, env, {definition}, {undo("another")});
    env->run_ready();
    EXPECT_EQ(without.row("r").status, RunStatus::kCompensating);
  }
  Node with(disk_, env, {definition}, {undo("undo")});
  env->run_ready();
  EXPECT_EQ(with.row("r").status, RunStatus::kFailed);
  EXPECT_THAT(undone_, ElementsAre("undo"));
}

// One has the workflow and some activities, the other one the rest: each hears of what is for it.
TEST_F(Sagas, GoFromProcessToProcess) {
  Node first(disk_, sim(1), {fails_and_undoes({"a", "b", "c", "d"})}, {undo("a"), undo("c")});
  Node second(disk_, sim(2), {}, {undo("b"), undo("d")});
  first.env->run_ready();
  second.env->run_ready();
  first.start("w", "r");
  for (int i = 0; i < 10; ++i) {
    first.env->run_ready();
    second.env->run_ready();
  }
  EXPECT_EQ(first.row("r").status, RunStatus::kFailed);
  EXPECT_THAT(undone_, ElementsAre("d", "c", "b", "a"));
}

TEST_F(Sagas, ComeBackForTheNextAttempt) {
  ActivityType undo_later = undo("undo");
  undo_later.compensation_retry = {.attempts = 2, .initial_ms = 60'000, .jitter = 0};
  undo_later.body = [body = undo_later.body](ActivityAttempt& attempt) {
    ActivityOutcome outcome = body(attempt);
    outcome.ok = attempt.attempt == 2;
    return outcome;
  };
  Node first(disk_, sim(1), {fails_and_undoes({"undo"})});
  Node second(disk_, sim(2), {}, {undo_later});
  first.start("w", "r");
  for (int i = 0; i < 5; ++i) {
    first.env->run_ready();
    second.env->run_ready();
  }
  EXPECT_THAT(undone_, ElementsAre("undo"));
  for (int i = 0; i < 5; ++i) {
    first.env->advance(20'000);
    second.env->advance(20'000);
  }
  EXPECT_EQ(first.row("r").status, RunStatus::kFailed);
  EXPECT_THAT(undone_, ElementsAre("undo", "undo"));
}

}  // namespace
}  // namespace pawl::engine

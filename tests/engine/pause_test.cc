// Runs that somebody holds where they are, from another process and from this one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "node.h"
#include "step_program.h"

namespace pawl::engine {
namespace {

using store::RunStatus;
using testing::ElementsAre;

class Pausing : public testing::Test {
 protected:
  // As another process does it.
  void hold(bool is_paused = true) {
    store::Pause pause;
    pause.run_id = "r";
    pause.is_paused = is_paused;
    pause.now_ms = env_->now_ms();
    store::Op op = pause;
    PAWL_CHECK(other_->apply({&op, 1}).has_value());
    EXPECT_EQ(std::get<store::Pause>(op).outcome, store::SendOutcome::kSent);
  }
  // Executes, and has the run held if it is this one's turn.
  Step step(const std::string& name) {
    return run_step(name, [this, name](ActivityAttempt&) {
      executed_.push_back(name);
      if (executed_.size() == hold_in_) {
        hold();
      }
      return ActivityOutcome{true, "1", {}};
    });
  }
  ActivityType undo(const std::string& name) {
    return {name,
            [this, name](ActivityAttempt&) {
              executed_.push_back(name);
              if (executed_.size() == hold_in_) {
                hold();
              }
              return ActivityOutcome{true, "1", {}};
            },
            {}};
  }

  Disk disk_;
  std::shared_ptr<SimEnvironment> env_ = sim();
  std::shared_ptr<store::Store> other_ = disk_.open();
  std::vector<std::string> executed_;
  std::size_t hold_in_ = 0;
};

TEST_F(Pausing, TheStepThatRunsIsRecordedAndNoOtherBegins) {
  for (std::size_t hold_in = 1; hold_in <= 3; ++hold_in) {
    for (const bool every_turn : {false, true}) {
      SCOPED_TRACE(testing::Message() << "held in step " << hold_in << ", replay " << every_turn);
      disk_.~Disk();
      new (&disk_) Disk();
      other_ = disk_.open();
      executed_.clear();
      hold_in_ = hold_in;
      EngineOptions options;
      options.replay_every_turn = every_turn;
      const Definition definition =
          step_workflow("w", {step("a"), step("b"), step("c"), step("d")});
      {
        Node node(disk_, env_, {definition}, {}, options);
        node.start("w", "r");
        env_->advance(3'600'000);
        EXPECT_EQ(executed_.size(), hold_in);
        EXPECT_EQ(node.events("r").size(), hold_in);
        EXPECT_TRUE(node.row("r").is_paused);
        EXPECT_EQ(node.row("r").owner, 0);
        EXPECT_EQ(node.row("r").wake_ms, store::kNever);
        if (!every_turn) {  // Else nothing was replayed that could say what comes next.
          EXPECT_EQ(node.row("r").status, RunStatus::kWaiting);
          EXPECT_EQ(node.row("r").waiting_for,
                    "operation " + std::string(1, static_cast<char>('a' + hold_in)));
        }
        EXPECT_EQ(node.engine->figures().held, 0U);
      }
      // A process that starts leaves it alone, too.
      Node node(disk_, env_, {definition}, {}, options);
      env_->advance(3'600'000);
      EXPECT_EQ(executed_.size(), hold_in);
      hold(false);
      env_->run_ready();
      EXPECT_EQ(node.row("r").status, RunStatus::kCompleted);
      EXPECT_THAT(executed_, ElementsAre("a", "b", "c", "d"));
    }
  }
}

TEST_F(Pausing, FromTheSameProcess) {
  const Definition definition =
      step_workflow("w", {plain_step(replay::CommandKind::kSignal, "go"), step("a")});
  Node node(disk_, env_, {definition});
  node.start("w", "r");
  env_->run_ready();
  std::optional<bool> changed;
  const auto pause = [&](bool is_paused) {
    changed.reset();
    node.engine->pause("r", is_paused, [&](const Result<bool>& done) { changed = *done; });
    env_->run_ready();
  };
  pause(true);
  EXPECT_EQ(changed, true);
  pause(true);
  EXPECT_EQ(changed, false);
  node.signal("r", "go");
  env_->advance(3'600'000);
  EXPECT_TRUE(executed_.empty());
  EXPECT_EQ(node.row("r").status, RunStatus::kWaiting);
  pause(false);
  EXPECT_EQ(changed, true);
  EXPECT_EQ(node.row("r").status, RunStatus::kCompleted);
}

TEST_F(Pausing, CompensationsWaitToo) {
  hold_in_ = 1;
  Node node(disk_, env_, {fails_and_undoes({"one", "two"})}, {undo("one"), undo("two")});
  node.start("w", "r");
  env_->advance(3'600'000);
  EXPECT_THAT(executed_, ElementsAre("two"));
  EXPECT_EQ(node.row("r").status, RunStatus::kCompensating);
  EXPECT_EQ(node.row("r").waiting_for, "compensation one");
  hold(false);
  env_->run_ready();
  EXPECT_THAT(executed_, ElementsAre("two", "one"));
  EXPECT_EQ(node.row("r").status, RunStatus::kFailed);
}

// The engine is about to give the run back when it is let go again.
TEST_F(Pausing, LetGoAtTheLastMoment) {
  hold_in_ = 1;
  Node node(disk_, env_, {step_workflow("w", {step("a"), step("b")})});
  node.store->before_apply = [this](std::span<store::Op> ops) -> Result<void> {
    for (const store::Op& op : ops) {
      const auto* turn = std::get_if<store::CommitTurn>(&op);
      if (turn != nullptr && turn->release) {
        hold(false);
      }
    }
    return {};
  };
  node.start("w", "r");
  env_->advance(1000);
  EXPECT_EQ(node.row("r").status, RunStatus::kCompleted);
  EXPECT_THAT(executed_, ElementsAre("a", "b"));
}

// A worker that dies while it holds a paused run leaves it asleep.
TEST_F(Pausing, TheHolderDies) {
  const Definition definition = step_workflow("w", {step("a"), step("b")});
  {
    Node node(disk_, env_, {definition});
    node.start("w", "r");
    hold_in_ = 1;
    node.store->after_apply = [&](std::span<store::Op> ops) {
      for (const store::Op& op : ops) {
        if (std::holds_alternative<store::CommitTurn>(op)) {
          env_->drop_all();
        }
      }
    };
    env_->run_ready();
    EXPECT_TRUE(node.row("r").is_paused);
  }
  Node next(disk_, env_, {definition});
  env_->advance(3'600'000);
  EXPECT_TRUE(next.row("r").is_paused);
  EXPECT_EQ(next.row("r").owner, 0);
  EXPECT_EQ(next.row("r").wake_ms, store::kNever);
  hold(false);
  env_->run_ready();
  EXPECT_EQ(next.row("r").status, RunStatus::kCompleted);
}

}  // namespace
}  // namespace pawl::engine

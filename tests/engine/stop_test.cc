// An engine that stops while attempts are with threads of somebody else's: what they say after they
// were asked to stop.
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "engine/code_host.h"
#include "step_program.h"
#include "world.h"

namespace pawl::engine {
namespace {

// Attempts that have been taken and are to be answered.
struct Taken {
  std::shared_ptr<ActivityAttempt> attempt;
  ActivityDone done;
};

class Stop : public testing::TestWithParam<bool> {
 protected:
  Stop() : world_({step_workflow("w", {step()})}, {{"t", {}, {}, body()}}) {}

  RemoteBody body() {
    return [this](std::shared_ptr<ActivityAttempt> attempt, ActivityDone done) {
      taken_.push_back({std::move(attempt), std::move(done)});
    };
  }
  Step step() {
    if (GetParam()) {
      return plain_step(replay::CommandKind::kTask, "t");
    }
    return [this](RunHost& host) -> replay::FutureId {
      replay::CommandRequest request;
      request.kind = replay::CommandKind::kOperation;
      request.name = "op";
      const auto opened = host.machine().open(request);
      PAWL_CHECK(opened.has_value());
      if (opened->must_execute) {
        dynamic_cast<CodeHost&>(host).execute_elsewhere(opened->future, body(), {}, 0);
      }
      return opened->future;
    };
  }
  // The run is at work, and the engine begins to stop.
  void stop_in_the_middle() {
    world_.start("w", "r");
    world_.env->run_ready();
    ASSERT_EQ(taken_.size(), 1U);
    EXPECT_FALSE(taken_[0].attempt->should_stop());
    world_.engine->begin_stop();
    world_.env->run_ready();
    EXPECT_TRUE(taken_[0].attempt->should_stop());
  }
  void answer(ActivityOutcome outcome) {
    Taken taken = std::move(taken_.back());
    taken_.pop_back();
    taken.done(std::move(outcome));
  }

  std::vector<Taken> taken_;
  World world_;
};

INSTANTIATE_TEST_SUITE_P(Work, Stop, testing::Bool(), [](const auto& info) {
  return info.param ? std::string("ByTask") : std::string("ByOperation");
});

TEST_P(Stop, AnAttemptThatFailsThenBeginsAgainElsewhere) {
  stop_in_the_middle();
  ActivityOutcome failed;
  failed.ok = false;
  failed.failure.type = "Interrupted";
  answer(std::move(failed));
  world_.close();
  world_.open();
  world_.env->advance(1);
  ASSERT_EQ(taken_.size(), 1U);
  answer({true, "1", {}});
  EXPECT_EQ(world_.outcome("r"), "completed \"done\"");
}

TEST_P(Stop, AnAttemptThatSucceedsThenIsRecorded) {
  stop_in_the_middle();
  answer({true, "1", {}});
  world_.close();
  world_.open();
  world_.env->run_ready();
  EXPECT_EQ(taken_.size(), 0U);
  EXPECT_EQ(world_.outcome("r"), "completed \"done\"");
}

TEST_P(Stop, NothingElseIsTaken) {
  stop_in_the_middle();
  const auto refused = world_.await<StartedRun>([&](Callback<StartedRun> done) {
    StartRequest request;
    request.kind = "w";
    request.id = "second";
    world_.engine->start_run(request, std::move(done));
  });
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, ErrorCode::kClosed);
  answer({true, "1", {}});
  world_.close();
  EXPECT_EQ(taken_.size(), 0U);
}

}  // namespace
}  // namespace pawl::engine

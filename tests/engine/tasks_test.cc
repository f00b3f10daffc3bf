// Tasks on virtual time: heartbeats, retries, limits of time.
#include <algorithm>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/thread_environment.h"
#include "node.h"
#include "step_program.h"

namespace pawl::engine {
namespace {

using replay::CommandKind;
using store::RunStatus;
using testing::ElementsAre;

ActivityOutcome failure() {
  ActivityOutcome outcome;
  outcome.ok = false;
  outcome.failure.type = "Oops";
  outcome.failure.message = "no";
  return outcome;
}

class Tasks : public testing::Test {
 protected:
  // Has a task run to its end, and says how that is.
  RunStatus play(const TaskOptions& options, const ActivityBody& body) {
    Node node(disk_, env_, {step_workflow("w", {task_step("t", options)})}, {{"t", body, {}}});
    node.store->before_apply = [this](std::span<store::Op> ops) -> Result<void> {
      const auto is_heartbeat = [](const store::Op& op) {
        const auto* change = std::get_if<store::ChangeTask>(&op);
        return change != nullptr && change->next == store::TaskState::kRunning;
      };
      heartbeats_ += std::count_if(ops.begin(), ops.end(), is_heartbeat);
      if (must_fail_ && std::any_of(ops.begin(), ops.end(), is_heartbeat)) {
        must_fail_ = false;
        return make_error(ErrorCode::kStoreBusy, "not now");
      }
      return {};
    };
    store_ = node.store;
    node.start("w", "r");
    env_->advance(100'000);
    return node.row("r").status;
  }
  store::TaskRow task() const {
    const auto run = store_->find_run("r", std::nullopt);
    PAWL_CHECK(run.has_value() && run->has_value());
    auto tasks = store_->read_tasks((**run).key);
    PAWL_CHECK(tasks.has_value() && tasks->size() == 1);
    return std::move(tasks->front());
  }

  Disk disk_;
  std::shared_ptr<SimEnvironment> env_ = sim();
  std::shared_ptr<store::Store> store_;
  std::ptrdiff_t heartbeats_ = 0;  // Written.
  bool must_fail_ = false;         // The next one.
};

// --- Heartbeats ---

TEST_F(Tasks, ManyHeartbeatsAreFewWrites) {
  TaskOptions options;
  options.heartbeat_timeout_ms = 40'000;
  const auto body = [this](ActivityAttempt& attempt) {
    for (int i = 0; i < 1000; ++i) {
      EXPECT_TRUE(attempt.heartbeat(std::to_string(i)));
      env_->advance(10);
    }
    return ActivityOutcome{true, "1", {}};
  };
  EXPECT_EQ(play(options, body), RunStatus::kCompleted);
  EXPECT_GE(heartbeats_, 10);
  EXPECT_LE(heartbeats_, 11);  // One in a second.
}

TEST_F(Tasks, AShortTimeoutHasMoreOfThem) {
  TaskOptions options;
  options.heartbeat_timeout_ms = 100;
  const auto body = [this](ActivityAttempt& attempt) {
    EXPECT_EQ(attempt.attempt, 1U);
    for (int i = 0; i < 1000; ++i) {
      EXPECT_TRUE(attempt.heartbeat(""));
      env_->advance(1);
    }
    return ActivityOutcome{true, "1", {}};
  };
  EXPECT_EQ(play(options, body), RunStatus::kCompleted);
  EXPECT_GE(heartbeats_, 40);
  EXPECT_LE(heartbeats_, 41);
}

// The last one of a series is written, too, and counts from when it was given.
TEST_F(Tasks, AHeartbeatThatWasPutOffIsWritten) {
  TaskOptions options;
  options.heartbeat_timeout_ms = 4000;
  const auto body = [this](ActivityAttempt& attempt) {
    EXPECT_EQ(attempt.attempt, 1U);
    const std::int64_t begin_ms = env_->now_ms();
    attempt.heartbeat("first");
    env_->advance(900);
    must_fail_ = true;
    attempt.heartbeat("second");
    env_->advance(200);
    EXPECT_FALSE(must_fail_);
    EXPECT_EQ(task().details, "second");
    EXPECT_EQ(task().due_ms, begin_ms + 4900);
    env_->advance(3700);
    EXPECT_FALSE(attempt.should_stop());
    return ActivityOutcome{true, "1", {}};
  };
  EXPECT_EQ(play(options, body), RunStatus::kCompleted);
}

TEST_F(Tasks, ARetryGetsTheLastDetails) {
  TaskOptions options;
  options.retry = {.attempts = 4, .initial_ms = 1, .jitter = 0};
  options.attempt_timeout_ms = 700;
  std::vector<std::string> seen;
  const auto body = [&](ActivityAttempt& attempt) {
    seen.push_back(attempt.last_details);
    const std::string number = std::to_string(attempt.attempt);
    attempt.heartbeat("begins " + number);
    attempt.heartbeat("goes on " + number);
    if (attempt.attempt == 1) {
      return failure();
    }
    if (attempt.attempt == 2) {
      env_->advance(700);  // Timed out.
      EXPECT_TRUE(attempt.should_stop());
    }
    return ActivityOutcome{true, "1", {}};
  };
  EXPECT_EQ(play(options, body), RunStatus::kCompleted);
  EXPECT_THAT(seen, ElementsAre("", "goes on 1", "goes on 2"));
}

TEST_F(Tasks, DetailsThatAreTooLargeAreNotKept) {
  TaskOptions options;
  options.retry = {.attempts = 2, .initial_ms = 1, .jitter = 0};
  std::vector<std::size_t> seen;
  const auto body = [&](ActivityAttempt& attempt) {
    seen.push_back(attempt.last_details.size());
    attempt.heartbeat("small");
    attempt.heartbeat(std::string((std::size_t{64} << 20U) + 1, 'x'));
    return attempt.attempt == 1 ? failure() : ActivityOutcome{true, "1", {}};
  };
  EXPECT_EQ(play(options, body), RunStatus::kCompleted);
  EXPECT_THAT(seen, ElementsAre(0U, 5U));
}

TEST_F(Tasks, AnEngineThatStopsWritesTheLastDetails) {
  const std::shared_ptr<Environment> threads = make_thread_environment();
  const std::shared_ptr<store::Store> store = disk_.open();
  Latch runs;
  const auto body = [&runs](ActivityAttempt& attempt) {
    attempt.heartbeat("first");
    attempt.heartbeat("last");
    runs.set();
    while (!attempt.should_stop()) {
      std::this_thread::yield();
    }
    return failure();
  };
  auto engine = Engine::create({}, store, threads, {step_workflow("w", {task_step("t", {})})},
                               {{"t", body, {}}});
  ASSERT_TRUE(engine.has_value());
  ASSERT_TRUE((*engine)->start().has_value());
  StartRequest request;
  request.kind = "w";
  request.id = "r";
  request.input = "null";
  (*engine)->start_run(request, [](const Result<StartedRun>&) {});
  ASSERT_TRUE(threads->wait(runs, 60'000));
  (*engine)->stop();
  store_ = store;
  EXPECT_EQ(task().details, "last");
}

// --- Time ---

// There is one place, which the other one's second attempt has.
TEST_F(Tasks, ATaskThatNobodyTakesAgainFails) {
  TaskOptions options;
  options.wait_timeout_ms = 1000;
  options.retry = {.attempts = 2, .initial_ms = 500, .jitter = 0};
  EngineOptions one_by_one;
  one_by_one.queues = {{"default", 1}};
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Disk disk;
    const auto env = sim(seed);
    const auto body = [&](ActivityAttempt& attempt) {
      if (attempt.attempt == 1) {
        return failure();
      }
      env->advance(10'000);
      return ActivityOutcome{true, "1", {}};
    };
    Node node(disk, env, {step_workflow("w", {task_step("t", options)})}, {{"t", body, {}}},
              one_by_one);
    node.start("w", "r");
    node.start("w", "s");
    env->advance(100'000);
    const auto failed = [&](const std::string& id) {
      const std::vector<std::string> events = node.events(id);
      return std::count(events.begin(), events.end(), "TaskFailed") > 0;
    };
    EXPECT_NE(failed("r"), failed("s")) << "seed " << seed;
  }
}

// A time without end was over before it had begun: the sum with now was a negative number.
TEST_F(Tasks, MayTakeAllTheTimeThereIs) {
  TaskOptions options;
  options.wait_timeout_ms = store::kNever;
  options.attempt_timeout_ms = store::kNever;
  options.total_timeout_ms = store::kNever;
  options.heartbeat_timeout_ms = store::kNever;
  options.retry = {.attempts = 2, .initial_ms = 1, .jitter = 0};
  const auto body = [&](ActivityAttempt& attempt) {
    EXPECT_TRUE(attempt.heartbeat("1"));
    env_->advance(2000);
    EXPECT_TRUE(attempt.heartbeat("2"));
    env_->advance(2000);
    EXPECT_FALSE(attempt.should_stop());
    return attempt.attempt == 1 ? failure() : ActivityOutcome{true, "1", {}};
  };
  EXPECT_EQ(play(options, body), RunStatus::kCompleted);
}

TEST_F(Tasks, ADelayWithoutEndIsADelay) {
  TaskOptions options;
  options.retry = {.attempts = 2,
                   .initial_ms = store::kNever,
                   .maximum_ms = store::kNever,
                   .factor = 1e300,
                   .jitter = 0};
  int attempts = 0;
  const auto body = [&](ActivityAttempt&) {
    ++attempts;
    return failure();
  };
  EXPECT_EQ(play(options, body), RunStatus::kWaiting);
  EXPECT_EQ(attempts, 1);
  EXPECT_GE(task().due_ms, store::kNever - 1);
}

TEST(Time, WithoutEndIsNotOverAtOnce) {
  Disk disk;
  const auto env = sim();
  EngineOptions options;
  options.lease_ms = store::kNever;
  auto attempts = std::make_shared<int>(0);
  const auto fails = [attempts](ActivityAttempt&) {
    ++*attempts;
    return failure();
  };
  const RetryPolicy retry = {
      .attempts = 2, .initial_ms = store::kNever, .maximum_ms = store::kNever, .jitter = 0};
  Node node(disk, env,
            {step_workflow("timer", {plain_step(CommandKind::kTimer, "", store::kNever)}),
             step_workflow("signal", {plain_step(CommandKind::kSignal, "go", store::kNever)}),
             step_workflow("promise", {plain_step(CommandKind::kPromise, "p", store::kNever)}),
             step_workflow("operation", {run_step("op", fails, retry)})},
            {}, options);
  const std::vector<std::string> kinds = {"timer", "signal", "promise", "operation"};
  for (const std::string& kind : kinds) {
    node.start(kind, kind);
  }
  env->advance(1'000'000);
  for (const std::string& kind : kinds) {
    EXPECT_EQ(node.row(kind).status, RunStatus::kWaiting);
    EXPECT_GE(node.row(kind).wake_ms, store::kNever - 1) << kind;
  }
  EXPECT_EQ(*attempts, 1);
  Latch latch;
  std::thread other([&latch] { latch.set(); });
  EXPECT_TRUE(make_thread_environment()->wait(latch, store::kNever));
  other.join();
}

// --- Cancelling ---

// Who runs in the process of the workflow does not have to wait for a heartbeat.
TEST_F(Tasks, ACancelledOneIsAskedToStopAtOnce) {
  replay::FutureId task = 0;
  const Step schedule = [&task](RunHost& host) -> replay::FutureId {
    task = task_step("t", {})(host);
    return 0;
  };
  const Step cancel = [&task](RunHost& host) -> replay::FutureId {
    replay::CommandRequest request;
    request.kind = CommandKind::kCancelTask;
    request.target = task;
    PAWL_CHECK(host.machine().open(request).has_value());
    return task;
  };
  bool was_asked = false;
  Node* here = nullptr;
  const auto body = [&](ActivityAttempt& attempt) {
    here->signal("r", "go");
    env_->run_ready();
    was_asked = attempt.should_stop();
    return failure();
  };
  Node node(disk_, env_,
            {step_workflow("w", {schedule, plain_step(CommandKind::kSignal, "go"), cancel})},
            {{"t", body, {}}});
  here = &node;
  node.start("w", "r");
  env_->run_ready();
  EXPECT_TRUE(was_asked);
  EXPECT_THAT(node.events("r"), testing::Contains("TaskCancelled"));
}

}  // namespace
}  // namespace pawl::engine

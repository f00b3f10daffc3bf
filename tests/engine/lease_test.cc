// Leases, and the clock by which they are counted.
#include <memory>
#include <optional>

#include <gtest/gtest.h>

#include "engine/thread_environment.h"
#include "node.h"
#include "step_program.h"

namespace pawl::engine {
namespace {

using replay::CommandKind;
using store::RunStatus;

constexpr std::int64_t kHourMs = 3'600'000;

std::int64_t machine_ms() { return make_thread_environment()->now_ms(); }

// Whoever wonders who could serve a run was told: nobody, half a minute after the last one.
TEST(Leases, AWorkerThatHoldsNothingIsStillKnown) {
  Disk disk;
  Node idle(disk, sim(1), {step_workflow("w", {plain_step(CommandKind::kSignal, "go")})});
  Node other(disk, sim(2), {});
  int batches = 0;
  idle.store->before_apply = [&](std::span<store::Op>) -> Result<void> {
    ++batches;
    return {};
  };
  for (int minute = 0; minute < 120; ++minute) {
    idle.env->advance(60'000);
    other.env->advance(60'000);
  }
  const auto workers = idle.store->catalog().list_workers();
  ASSERT_TRUE(workers.has_value());
  ASSERT_EQ(workers->size(), 2U);
  for (const store::WorkerRow& worker : *workers) {
    EXPECT_GT(worker.expires_ms, idle.env->now_ms());
  }
  EXPECT_LE(batches, 60) << "in two hours";
}

TEST(Leases, AnIdleWorkerAsksRarelyHoweverManyRunsSleep) {
  for (const int runs : {1, 1000}) {
    Disk disk;
    Node node(disk, sim(1),
              {step_workflow("w", {plain_step(CommandKind::kTimer, "", 24 * kHourMs)})});
    Node other(disk, sim(2), {});
    // As with a server, whose clock has to be asked for.
    node.store->clock_ms = [&] { return node.env->now_ms(); };
    for (int i = 0; i < runs; ++i) {
      node.start("w", "r" + std::to_string(i));
    }
    const auto pass = [&](int minutes) {
      for (int minute = 0; minute < minutes; ++minute) {
        node.env->advance(60'000);
        other.env->advance(60'000);
      }
    };
    pass(10);
    node.store->questions = 0;
    pass(60);
    EXPECT_LE(node.store->questions, 60U) << runs << " runs sleep";
    EXPECT_GE(node.store->questions, 10U) << "it has to say that it lives";
  }
}

// It may be gone for long before that is noticed.
TEST(Leases, WhoRestsHasToldOthersWhenRunsWake) {
  Disk disk;
  const std::vector<Definition> definitions = {
      step_workflow("w", {plain_step(CommandKind::kTimer, "", 120'000)})};
  auto first = std::make_unique<Node>(disk, sim(1), definitions);
  Node second(disk, sim(2), definitions);
  second.env->advance(30'000);  // Rests, too.
  first->env->advance(30'000);
  first->start("w", "r");
  first->env->advance(30'000);
  second.env->advance(30'000);
  ASSERT_EQ(second.row("r").status, RunStatus::kWaiting);
  first.reset();  // It dies.
  second.env->advance(100'000);
  EXPECT_EQ(second.row("r").status, RunStatus::kCompleted);
}

TEST(Leases, AWorkerThatHasRestedHoldsWhatItTakesUnderAShortLease) {
  Disk disk;
  const auto env = sim();
  EngineOptions options;
  options.lease_ms = 30'000;
  Node node(disk, env, {step_workflow("w", {plain_step(CommandKind::kTimer, "", 5'000)})}, {},
            options);
  env->advance(kHourMs);
  node.store->after_apply = [&](std::span<store::Op> ops) {
    for (const store::Op& op : ops) {
      if (std::holds_alternative<store::StartRun>(op)) {
        const auto workers = node.store->catalog().list_workers();
        ASSERT_TRUE(workers.has_value());
        EXPECT_LE(workers->front().expires_ms, env->now_ms() + options.lease_ms);
      }
    }
  };
  node.start("w", "r");
  env->run_ready();
  env->advance(10'000);
  EXPECT_EQ(node.row("r").status, RunStatus::kCompleted);
}

class TimeOfTheDatabase : public testing::TestWithParam<std::int64_t> {};

TEST_P(TimeOfTheDatabase, CountsForAll) {
  Disk disk;
  const std::int64_t ahead_ms = GetParam();
  const auto store = std::make_shared<FaultyStore>(disk.open());
  store->clock_ms = [=]() -> std::optional<std::int64_t> { return machine_ms() + ahead_ms; };
  const auto env = make_thread_environment();
  auto made = Engine::create({}, store, env,
                             {step_workflow("w", {plain_step(CommandKind::kTimer, "", 50)})}, {});
  ASSERT_TRUE(made.has_value());
  const std::unique_ptr<Engine> engine = *std::move(made);
  EXPECT_NEAR(static_cast<double>(env->now_ms()), static_cast<double>(machine_ms() + ahead_ms),
              5'000);
  ASSERT_TRUE(engine->start().has_value());
  StartRequest request;
  request.kind = "w";
  request.id = "r";
  Latch begun;
  engine->start_run(request, [&](const Result<StartedRun>& started) {
    EXPECT_TRUE(started.has_value());
    begun.set();
  });
  ASSERT_TRUE(env->wait(begun, 60'000));
  Latch ended;
  engine->wait("r", [&](const Result<RunOutcome>&) { ended.set(); });
  ASSERT_TRUE(env->wait(ended, 60'000));
  const auto row = store->find_run("r", std::nullopt);
  ASSERT_TRUE(row.has_value() && row->has_value());
  EXPECT_NEAR(static_cast<double>((*row)->created_ms), static_cast<double>(machine_ms() + ahead_ms),
              60'000);
}

INSTANTIATE_TEST_SUITE_P(Ahead, TimeOfTheDatabase, testing::Values(kHourMs, -kHourMs, 0));

// The alarm was set by the old clock.
TEST(Clock, MayBeSetWhileAnAlarmIsWaitedFor) {
  const auto env = make_thread_environment();
  Latch rung;
  env->post(Lane::kLoop, [&] { env->set_alarm(env->now_ms() + kHourMs, [&] { rung.set(); }); });
  Latch set;
  env->post(Lane::kLoop, [&] { set.set(); });
  ASSERT_TRUE(env->wait(set, 60'000));
  EXPECT_FALSE(rung.is_set());
  env->set_clock(env->now_ms() + kHourMs);
  EXPECT_TRUE(env->wait(rung, 60'000));
}

}  // namespace
}  // namespace pawl::engine

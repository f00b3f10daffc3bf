// The engine on real threads and a real clock. Few assertions on purpose: the sanitizers look on.
#include <atomic>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/thread_environment.h"
#include "step_program.h"
#include "world.h"

namespace pawl::engine {
namespace {

using replay::CommandKind;

class Process {
 public:
  Process(const std::string& path, std::vector<Definition> definitions,
          std::vector<ActivityType> activities, EngineOptions options = {}) {
    store::SqliteOptions sqlite;
    sqlite.path = path;
    sqlite.durability = store::Durability::kProcess;
    auto opened = store::open_sqlite(sqlite);
    PAWL_CHECK(opened.has_value());
    environment = make_thread_environment();
    auto made = Engine::create(std::move(options), *std::move(opened), environment,
                               std::move(definitions), std::move(activities));
    PAWL_CHECK(made.has_value());
    engine = *std::move(made);
    PAWL_CHECK(engine->start().has_value());
  }
  ~Process() { engine.reset(); }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  template <class T, class Call>
  Result<T> await(const Call& call) {
    auto latch = std::make_shared<Latch>();
    auto answer = std::make_shared<std::optional<Result<T>>>();
    call([latch, answer](Result<T> result) {
      *answer = std::move(result);
      latch->set();
    });
    PAWL_CHECK(environment->wait(*latch, 60'000));
    return **answer;
  }
  Result<StartedRun> start(const std::string& kind, const std::string& id) {
    return await<StartedRun>([&](Callback<StartedRun> done) {
      StartRequest request;
      request.kind = kind;
      request.id = id;
      request.input = "null";
      engine->start_run(request, std::move(done));
    });
  }
  Result<bool> signal(const std::string& id, const std::string& name) {
    return await<bool>(
        [&](Callback<bool> done) { engine->signal(id, name, "null", "", "", std::move(done)); });
  }
  std::string outcome(const std::string& id) {
    const Result<RunOutcome> outcome =
        await<RunOutcome>([&](Callback<RunOutcome> done) { engine->wait(id, std::move(done)); });
    return outcome ? std::string(store::status_name(outcome->status)) : outcome.error().message;
  }

  std::shared_ptr<Environment> environment;
  std::unique_ptr<Engine> engine;
};

struct Counts {
  std::atomic<int> operations = 0;
  std::atomic<int> tasks = 0;
};

ActivityBody counting(std::shared_ptr<Counts> counts, std::atomic<int> Counts::* member) {
  return [counts = std::move(counts), member](ActivityAttempt&) {
    ++((*counts).*member);
    return ActivityOutcome{true, "1", {}};
  };
}

Definition mixed_workflow(const std::shared_ptr<Counts>& counts) {
  return step_workflow(
      "mixed",
      {run_step("a", counting(counts, &Counts::operations)), plain_step(CommandKind::kSignal, "go"),
       plain_step(CommandKind::kTask, "task"), plain_step(CommandKind::kTimer, "", 3),
       run_step("b", counting(counts, &Counts::operations))});
}

TEST(Threads, ManyRunsFromManyThreads) {
  const TempDir dir;
  auto counts = std::make_shared<Counts>();
  Process process(dir.file("db"), {mixed_workflow(counts)},
                  {{"task", counting(counts, &Counts::tasks), {}}});
  std::vector<std::thread> clients;
  for (int client = 0; client < 4; ++client) {
    clients.emplace_back([&process, client] {
      for (int i = 0; i < 25; ++i) {
        const std::string id = std::to_string(client) + "-" + std::to_string(i);
        EXPECT_TRUE(process.start("mixed", id).has_value());
        EXPECT_TRUE(process.signal(id, "go").has_value());
      }
      for (int i = 0; i < 25; ++i) {
        EXPECT_EQ(process.outcome(std::to_string(client) + "-" + std::to_string(i)), "completed");
      }
    });
  }
  for (std::thread& client : clients) {
    client.join();
  }
  EXPECT_EQ(counts->operations, 200);
  EXPECT_EQ(counts->tasks, 100);
}

TEST(Threads, TwoEnginesShareOneFile) {
  const TempDir dir;
  auto counts = std::make_shared<Counts>();
  const std::vector<ActivityType> activities = {{"task", counting(counts, &Counts::tasks), {}}};
  Process first(dir.file("db"), {mixed_workflow(counts)}, activities);
  Process second(dir.file("db"), {mixed_workflow(counts)}, activities);
  for (int i = 0; i < 40; ++i) {
    Process& starter = i % 2 == 0 ? first : second;
    EXPECT_TRUE(starter.start("mixed", std::to_string(i)).has_value());
  }
  for (int i = 0; i < 40; ++i) {
    Process& sender = i % 3 == 0 ? first : second;
    EXPECT_TRUE(sender.signal(std::to_string(i), "go").has_value());
  }
  for (int i = 0; i < 40; ++i) {
    Process& waiter = i % 5 == 0 ? first : second;
    EXPECT_EQ(waiter.outcome(std::to_string(i)), "completed");
  }
  EXPECT_EQ(counts->operations, 80);
  EXPECT_EQ(counts->tasks, 40);
}

TEST(Threads, StopsInTheMiddleAndGoesOn) {
  const TempDir dir;
  auto counts = std::make_shared<Counts>();
  std::atomic<bool> is_slow = true;
  ActivityBody slow = [&is_slow](ActivityAttempt& attempt) {
    while (is_slow && !attempt.should_stop()) {
      std::this_thread::yield();
    }
    return ActivityOutcome{true, "1", {}};
  };
  const Definition workflow = step_workflow(
      "w", {run_step("a", counting(counts, &Counts::operations)), run_step("slow", slow)});
  {
    Process process(dir.file("db"), {workflow}, {});
    for (int i = 0; i < 8; ++i) {
      EXPECT_TRUE(process.start("w", std::to_string(i)).has_value());
    }
    process.engine->stop();
    EXPECT_EQ(process.start("w", "late").error().code, ErrorCode::kClosed);
  }
  is_slow = false;
  Process process(dir.file("db"), {workflow}, {});
  for (int i = 0; i < 8; ++i) {
    EXPECT_EQ(process.outcome(std::to_string(i)), "completed");
  }
}

// Engines come and go on one pool of threads, while many runs go in step.
TEST(Threads, StopsAtAnyMoment) {
  constexpr int kRuns = 60;
  const TempDir dir;
  auto counts = std::make_shared<Counts>();
  const Definition workflow = step_workflow(
      "w", std::vector<Step>(10, run_step("a", counting(counts, &Counts::operations))));
  const std::shared_ptr<Environment> environment = make_thread_environment();
  for (int round = 0; round < 8; ++round) {
    store::SqliteOptions sqlite;
    sqlite.path = dir.file("db");
    sqlite.durability = store::Durability::kProcess;
    auto opened = store::open_sqlite(sqlite);
    ASSERT_TRUE(opened.has_value());
    auto made = Engine::create({}, *std::move(opened), environment, {workflow}, {});
    ASSERT_TRUE(made.has_value());
    ASSERT_TRUE((*made)->start().has_value());
    for (int i = 0; i < kRuns; ++i) {
      StartRequest request;
      request.kind = "w";
      request.id = std::to_string(round) + "-" + std::to_string(i);
      request.input = "null";
      (*made)->start_run(request, [](const Result<StartedRun>& /*started*/) {});
    }
    std::this_thread::sleep_for(std::chrono::microseconds(700 * round));
  }
}

TEST(ThreadEnvironment, RunsSerialLanesInOrder) {
  constexpr int kJobs = 2000;
  std::vector<int> order;  // Touched on the loop only.
  Latch done;
  std::atomic<int> activities = 0;
  const auto environment = make_thread_environment({.activities = 4});  // Last: it ends first.
  for (int i = 0; i < kJobs; ++i) {
    environment->post(Lane::kLoop, [&, i] {
      order.push_back(i);
      if (i == kJobs - 1) {
        done.set();
      }
    });
    environment->post(Lane::kActivity, [&] { ++activities; });
  }
  EXPECT_TRUE(environment->wait(done, 60'000));
  for (int i = 0; i < kJobs; ++i) {
    EXPECT_EQ(order[static_cast<std::size_t>(i)], i);
  }
}

TEST(ThreadEnvironment, HandsOverInCircles) {
  Latch done;
  std::atomic<int> left = 5000;
  std::function<void()> on_loop;
  const auto environment = make_thread_environment({.activities = 2});
  on_loop = [&] {
    environment->hand_over(Lane::kActivity, [&] {
      environment->hand_over(Lane::kLoop, [&] {
        if (--left == 0) {
          done.set();
        } else {
          on_loop();
        }
      });
    });
  };
  environment->post(Lane::kLoop, [&] { on_loop(); });
  EXPECT_TRUE(environment->wait(done, 60'000));
}

TEST(ThreadEnvironment, AlarmsGoOff) {
  Latch rang;
  const auto environment = make_thread_environment();
  environment->set_alarm(environment->now_ms() + 3'600'000, [] { FAIL() << "replaced"; });
  environment->set_alarm(environment->now_ms() + 5, [&] { rang.set(); });
  EXPECT_TRUE(environment->wait(rang, 60'000));
  Latch never;
  EXPECT_FALSE(environment->wait(never, 1));
}

TEST(ThreadEnvironment, ActivitiesBeginBeforeTheNextJobOfTheLoop) {
  Latch posted;
  Latch began;
  Latch done;
  bool has_begun = false;
  const auto environment = make_thread_environment();
  // So that the next two are there at once.
  environment->post(Lane::kLoop, [&] { environment->wait(posted, 60'000); });
  environment->post(Lane::kLoop, [&] { environment->post(Lane::kActivity, [&] { began.set(); }); });
  environment->post(Lane::kLoop, [&] {
    has_begun = environment->wait(began, 10'000);
    done.set();
  });
  posted.set();
  EXPECT_TRUE(environment->wait(done, 60'000));
  EXPECT_TRUE(has_begun);
}

TEST(ThreadEnvironment, BlockedActivitiesDoNotHoldUpTheLoop) {
  Latch release;
  Latch looped;
  const auto environment = make_thread_environment({.activities = 2});
  for (int i = 0; i < 10; ++i) {
    environment->post(Lane::kActivity, [&] { environment->wait(release, 60'000); });
  }
  environment->post(Lane::kLoop,
                    [&] { environment->hand_over(Lane::kStore, [&] { looped.set(); }); });
  EXPECT_TRUE(environment->wait(looped, 60'000));
  release.set();
}

// Each waits for all others: that they take long is noticed, and they get their threads.
TEST(ThreadEnvironment, AsManyActivitiesAsAreAllowedRunAtOnce) {
  constexpr int kActivities = 40;
  for (const bool from_the_loop : {false, true}) {
    Latch all_run;
    std::atomic<int> running = 0;
    const auto environment = make_thread_environment({.activities = kActivities});
    const auto start = [&] {
      for (int i = 0; i < kActivities; ++i) {
        environment->post(Lane::kActivity, [&] {
          if (++running == kActivities) {
            all_run.set();
          }
          environment->wait(all_run, 60'000);
        });
      }
    };
    if (from_the_loop) {
      environment->post(Lane::kLoop, start);
    } else {
      start();
    }
    EXPECT_TRUE(environment->wait(all_run, 60'000));
  }
}

// The timekeeper has a job for a loop that is busy, and finds activities that nobody takes.
TEST(ThreadEnvironment, AnAlarmComesWhileActivitiesWait) {
  for (int i = 0; i < 20; ++i) {
    Latch rang;
    Latch release;
    const auto environment = make_thread_environment({.activities = 4});
    environment->post(Lane::kLoop, [&] {
      for (int k = 0; k < 32; ++k) {
        environment->post(Lane::kActivity, [&] { environment->wait(release, 60'000); });
      }
      const std::int64_t now_ms = environment->now_ms();
      environment->set_alarm(now_ms + 1, [&] { rang.set(); });
      while (environment->now_ms() < now_ms + 3) {
      }
    });
    EXPECT_TRUE(environment->wait(rang, 60'000));
    release.set();
  }
}

}  // namespace
}  // namespace pawl::engine

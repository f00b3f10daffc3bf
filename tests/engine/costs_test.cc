// What is done for a run, a wait or a batch must not grow with how many others there are: counted
// at the store, and compared between sizes.
//
// PAWL_COSTS=100000 has them done with so many, and prints figures.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "node.h"
#include "step_program.h"

namespace pawl::engine {
namespace {

using replay::CommandKind;
using store::RunStatus;

int amount(int usual) {
  const char* given = std::getenv("PAWL_COSTS");
  return given == nullptr ? usual : std::atoi(given);
}

double cpu_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

void print(const char* what, int count, std::size_t counted, double seconds) {
  if (std::getenv("PAWL_COSTS") != nullptr) {
    std::printf("%s of %d: %zu, %.2f s of CPU\n", what, count, counted, seconds);
  }
}

// Arrivals that claims brought, from now on.
std::shared_ptr<std::size_t> count_claimed(Node& node) {
  auto rows = std::make_shared<std::size_t>(0);
  node.store->after_apply = [rows](std::span<store::Op> ops) {
    for (const store::Op& op : ops) {
      if (const auto* due = std::get_if<store::ClaimDue>(&op)) {
        for (const store::Claim& claim : due->claims) {
          *rows += claim.inbox.size();
        }
      } else if (const auto* send = std::get_if<store::Send>(&op); send != nullptr && send->claim) {
        *rows += send->claim->inbox.size();
      }
    }
  };
  return rows;
}

replay::FutureId open_timer(RunHost& host, std::int64_t ms) {
  replay::CommandRequest request;
  request.kind = CommandKind::kTimer;
  request.number = ms;
  const auto opened = host.machine().open(request);
  return opened ? opened->future : 0;
}

TEST(Costs, ATimerOfManyIsReadOnce) {
  const int count = amount(300);
  Disk disk;
  auto timers = std::make_shared<std::vector<replay::FutureId>>();
  std::vector<Step> steps;
  steps.push_back([=](RunHost& host) -> replay::FutureId {
    timers->clear();
    for (int i = 0; i < count; ++i) {
      timers->push_back(open_timer(host, 1000 + 10 * i));
    }
    return 0;
  });
  for (int i = 0; i < count; ++i) {
    steps.push_back([=](RunHost&) { return (*timers)[static_cast<std::size_t>(i)]; });
  }
  Node node(disk, sim(), {step_workflow("w", steps)});
  const auto rows = count_claimed(node);
  const double before = cpu_seconds();
  node.start("w", "r");
  node.env->advance(2000 + 10 * count);
  EXPECT_EQ(node.row("r").status, RunStatus::kCompleted);
  print("rows read for timers", count, *rows, cpu_seconds() - before);
  EXPECT_EQ(*rows, static_cast<std::size_t>(count));
}

TEST(Costs, ASignalThatNobodyWaitsForIsReadOnce) {
  const int count = amount(300);
  Disk disk;
  Node node(disk, sim(), {step_workflow("w", {plain_step(CommandKind::kSignal, "end")})});
  const auto rows = count_claimed(node);
  const double before = cpu_seconds();
  node.start("w", "r");
  node.env->run_ready();
  for (int i = 0; i < count; ++i) {
    node.signal("r", "other");
    node.env->run_ready();
  }
  node.signal("r", "end");
  node.env->run_ready();
  EXPECT_EQ(node.row("r").status, RunStatus::kCompleted);
  print("rows read for signals", count, *rows, cpu_seconds() - before);
  EXPECT_EQ(*rows, static_cast<std::size_t>(count) + 1);
}

// Opens timers for a day or so.
Step open_timers(const std::shared_ptr<std::vector<replay::FutureId>>& timers, int count) {
  return [=](RunHost& host) -> replay::FutureId {
    timers->clear();
    for (int i = 0; i < count; ++i) {
      timers->push_back(open_timer(host, 100'000'000 + i));
    }
    return 0;
  };
}

void cancel_timer(RunHost& host, replay::FutureId timer) {
  replay::CommandRequest request;
  request.kind = CommandKind::kCancelTimer;
  request.target = timer;
  EXPECT_TRUE(host.machine().open(request).has_value());
}

// Deadlines that the store had to look for, from now on.
std::shared_ptr<std::size_t> count_looked_for(Node& node) {
  auto count = std::make_shared<std::size_t>(0);
  node.store->after_apply = [count](std::span<store::Op> ops) {
    for (const store::Op& op : ops) {
      if (const auto* turn = std::get_if<store::CommitTurn>(&op)) {
        *count += turn->withdrawn.size();
      }
    }
  };
  return count;
}

TEST(Costs, ATimerIsTakenBackWithoutLookingForIt) {
  const int count = amount(300);
  Disk disk;
  auto timers = std::make_shared<std::vector<replay::FutureId>>();
  std::vector<Step> steps = {open_timers(timers, count)};
  for (int i = 0; i < count; ++i) {
    steps.push_back(plain_step(CommandKind::kTimer, "", 10));
    steps.push_back([=](RunHost& host) -> replay::FutureId {
      cancel_timer(host, (*timers)[static_cast<std::size_t>(i)]);
      return 0;
    });
  }
  steps.push_back(plain_step(CommandKind::kSignal, "end"));
  Node node(disk, sim(), {step_workflow("w", steps)});
  const auto looked_for = count_looked_for(node);
  std::size_t read = 0;
  node.store->after_read_due_inbox = [&](std::size_t rows) { read += rows; };
  const double before = cpu_seconds();
  node.start("w", "r");
  node.env->advance(1000 + 20 * count);
  print("looked for, of timers taken back one by one", count, *looked_for, cpu_seconds() - before);
  EXPECT_EQ(*looked_for, 0U);
  EXPECT_LE(read, static_cast<std::size_t>(count));
  const auto inbox = node.store->read_inbox_of(node.row("r").key);
  ASSERT_TRUE(inbox.has_value());
  EXPECT_EQ(inbox->size(), 0U);
  EXPECT_EQ(node.row("r").waiting_for, "signal end");
}

TEST(Costs, TimersAreTakenBackTogether) {
  const int count = amount(300);
  Disk disk;
  auto timers = std::make_shared<std::vector<replay::FutureId>>();
  const Step cancel_all = [=](RunHost& host) -> replay::FutureId {
    for (const replay::FutureId timer : *timers) {
      cancel_timer(host, timer);
    }
    return 0;
  };
  const Step open = open_timers(timers, count);
  const Step end = plain_step(CommandKind::kSignal, "end");
  Node node(
      disk, sim(),
      {step_workflow("later", {open, plain_step(CommandKind::kTimer, "", 10), cancel_all, end}),
       step_workflow("at once", {open, cancel_all, end})});
  const auto looked_for = count_looked_for(node);
  for (const char* kind : {"later", "at once"}) {
    const double before = cpu_seconds();
    node.start(kind, kind);
    node.env->advance(1000);
    print("looked for, of timers taken back together", count, *looked_for, cpu_seconds() - before);
    EXPECT_EQ(*looked_for, 0U);
    const auto inbox = node.store->read_inbox_of(node.row(kind).key);
    ASSERT_TRUE(inbox.has_value());
    EXPECT_EQ(inbox->size(), 0U);
  }
}

// One process waits for the runs of another one.
TEST(Costs, RunsThatAreWaitedForAreLookedAtNowAndThen) {
  const int count = amount(2000);
  Disk disk;
  const std::vector<Definition> code = {
      step_workflow("w", {plain_step(CommandKind::kSignal, "go")})};
  Node worker(disk, sim(1), code);
  Node client(disk, sim(2), {});
  const auto run_both = [&] {
    worker.env->run_ready();
    client.env->run_ready();
  };
  for (int i = 0; i < count; ++i) {
    worker.start("w", std::to_string(i));
  }
  run_both();
  client.store->finds_by_id = 0;
  const double before = cpu_seconds();
  std::uint64_t jobs = client.env->steps();
  std::vector<std::shared_ptr<bool>> told;
  for (int i = 0; i < count; ++i) {
    told.push_back(client.wait(std::to_string(i)));
  }
  run_both();
  jobs = client.env->steps() - jobs;
  EXPECT_EQ(client.store->finds_by_id, static_cast<std::size_t>(count));
  EXPECT_LE(jobs, static_cast<std::uint64_t>(count) * 5 / 4 + 100);  // A call is a job.
  // Each end is a change that the client hears of.
  for (int i = 0; i < count; ++i) {
    worker.signal(std::to_string(i), "go");
    run_both();
    EXPECT_EQ(worker.row(std::to_string(i)).status, RunStatus::kCompleted);
  }
  print("looks at runs", count, client.store->finds_by_id, cpu_seconds() - before);
  EXPECT_LE(client.store->finds_by_id, static_cast<std::size_t>(count) * 3);
  client.env->advance(2 * count / 100 + 10);
  EXPECT_TRUE(std::all_of(told.begin(), told.end(), [](const auto& one) { return *one; }));
  EXPECT_LE(client.store->finds_by_id, static_cast<std::size_t>(count) * 4);
}

// Timers of runs that nobody holds are not gone through at each change by another process.
TEST(Costs, WhatIsNewIsReadFromWhereTheLastReadEnded) {
  Disk disk;
  const std::vector<Definition> code = {
      step_workflow("w", {plain_step(CommandKind::kTimer, "", 1'000'000)})};
  store::ArrivalKey before_start = 0;
  {
    Node node(disk, sim(), code);
    for (int i = 0; i < 10; ++i) {
      node.start("w", std::to_string(i));
    }
    node.env->run_ready();
    before_start = node.store->read_news(1, store::kNever)->next;
    EXPECT_EQ(before_start, 10);
  }
  Node node(disk, sim(1), code);
  Node other(disk, sim(2), {});
  std::vector<store::ArrivalKey> reads;
  node.store->before_read_inbox = [&](store::ArrivalKey after) { reads.push_back(after); };
  for (int i = 10; i < 20; ++i) {
    other.start("w", std::to_string(i));
    other.env->run_ready();
    node.env->run_ready();
  }
  ASSERT_GE(reads.size(), 10U);
  EXPECT_GE(reads.front(), before_start);
  EXPECT_GE(reads.back(), before_start + 8);
}

TEST(Costs, ABatchIsNotAsLongAsTheQueue) {
  const int count = amount(10'000);
  Disk disk;
  Node node(disk, sim(), {});
  std::size_t longest = 0;
  std::size_t written = 0;
  node.store->before_apply = [&](std::span<store::Op> ops) -> Result<void> {
    longest = std::max(longest, ops.size());
    written += ops.size();
    return {};
  };
  const double before = cpu_seconds();
  std::vector<int> order;
  for (int i = 0; i < count; ++i) {
    StartRequest request;
    request.kind = "w";
    request.id = std::to_string(i);
    node.engine->start_run(request, [&, i](const Result<StartedRun>&) { order.push_back(i); });
  }
  node.env->run_ready();
  print("longest batch, of starts", count, longest, cpu_seconds() - before);
  EXPECT_LE(longest, 4096U);
  EXPECT_GE(written, static_cast<std::size_t>(count));
  EXPECT_EQ(order.size(), static_cast<std::size_t>(count));
  EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
}

}  // namespace
}  // namespace pawl::engine

// The connection is lost during a commit that has happened: whatever was in it, nobody waits for a
// lease to be over, and nothing comes twice.
#include <algorithm>
#include <map>
#include <set>

#include <gtest/gtest.h>

#include "node.h"
#include "step_program.h"

namespace pawl::engine {
namespace {

using replay::CommandKind;

constexpr std::int64_t kLeaseMs = 30'000;
constexpr std::int64_t kPatienceMs = kLeaseMs / 3;  // All steps and pauses together.

ActivityBody instant() {
  return [](ActivityAttempt&) { return ActivityOutcome{true, "1", {}}; };
}

// Everything that a worker claims, takes, is sent or writes.
Definition workflow(const std::string& id) {
  const Step child = [name = id + "/child"](RunHost& host) -> replay::FutureId {
    replay::CommandRequest request;
    request.kind = CommandKind::kChildWorkflow;
    request.name = name;
    request.child_kind = "child";
    const auto opened = host.machine().open(request);
    return opened ? opened->future : 0;
  };
  return step_workflow(id, {run_step("first", instant()), plain_step(CommandKind::kSignal, "s"),
                            task_step("task", {}), plain_step(CommandKind::kTimer, "", 20), child,
                            plain_step(CommandKind::kSignal, "s"), run_step("last", instant())});
}

const std::map<std::string, int> kEvents = {{"SignalReceived", 2},
                                            {"TaskCompleted", 1},
                                            {"TimerFired", 1},
                                            {"OperationCompleted", 2},
                                            {"ChildWorkflowCompleted", 1}};

bool is_beat(const store::Op& op) { return std::holds_alternative<store::Heartbeat>(op); }

const std::vector<std::string> kRuns = {"a", "b", "c"};

// Loses the answer to one batch, counted from 0 over all that hold more than heartbeats. Returns
// false if there were not so many.
bool play(std::uint64_t seed, int lost) {
  SCOPED_TRACE("seed " + std::to_string(seed) + ", batch " + std::to_string(lost));
  Disk disk;
  Node client(disk, sim(seed), {});
  EngineOptions options;
  options.lease_ms = kLeaseMs;
  std::vector<Definition> definitions = {step_workflow("child", {run_step("inner", instant())})};
  for (const std::string& id : kRuns) {
    definitions.push_back(workflow(id));
  }
  Node worker(disk, sim(seed), std::move(definitions), {{"task", instant(), {}}}, options);
  int batches = 0;
  bool is_lost = false;
  worker.store->loses_answer = [&](std::span<store::Op> ops) {
    const bool now = !std::ranges::all_of(ops, is_beat) && batches++ == lost;
    is_lost |= now;
    return now;
  };
  std::vector<std::shared_ptr<bool>> told;
  for (const std::string& id : kRuns) {
    client.start(id, id);
    client.signal(id, "s");
    client.env->run_ready();
    told.push_back(worker.wait(id));
  }
  const auto is_told = [&] {
    return std::ranges::all_of(told, [](const std::shared_ptr<bool>& one) { return *one; });
  };
  // The second signal comes when the first has been taken.
  std::set<std::string> waiting(kRuns.begin(), kRuns.end());
  const std::int64_t until_ms = worker.env->now_ms() + kPatienceMs;
  while (!is_told() && worker.env->now_ms() < until_ms) {
    worker.env->advance(5);
    client.env->run_until(worker.env->now_ms());
    std::erase_if(waiting, [&](const std::string& id) {
      const std::vector<std::string> events = worker.events(id);
      const bool is_taken = std::ranges::count(events, "SignalReceived") > 0;
      if (is_taken) {
        client.signal(id, "s");
      }
      return is_taken;
    });
    client.env->run_ready();
  }
  EXPECT_TRUE(is_told());
  for (const std::string& id : kRuns) {
    EXPECT_EQ(worker.row(id).status, store::RunStatus::kCompleted)
        << "owner " << worker.row(id).owner << " waits for " << worker.row(id).waiting_for;
    const std::vector<std::string> events = worker.events(id);
    for (const auto& [event, times] : kEvents) {
      EXPECT_EQ(std::ranges::count(events, event), times) << event;
    }
  }
  return is_lost;
}

TEST(UnknownOutcome, OfAnyBatch) {
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    int lost = 0;
    while (play(seed, lost) && !HasFailure()) {
      ++lost;
    }
    EXPECT_GE(lost, 5);
    if (HasFailure()) {
      return;
    }
  }
}

}  // namespace
}  // namespace pawl::engine

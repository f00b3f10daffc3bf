// The connection is lost during a commit that has happened: whatever was in it, nobody waits for a
// lease to be over, and nothing comes twice.
#include <algorithm>
#include <map>

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
std::vector<Definition> definitions() {
  const Step child = [](RunHost& host) -> replay::FutureId {
    replay::CommandRequest request;
    request.kind = CommandKind::kChildWorkflow;
    request.name = "child";
    request.child_kind = "child";
    const auto opened = host.machine().open(request);
    return opened ? opened->future : 0;
  };
  return {step_workflow("w", {run_step("first", instant()), plain_step(CommandKind::kSignal, "s"),
                              task_step("task", {}), plain_step(CommandKind::kTimer, "", 20), child,
                              plain_step(CommandKind::kSignal, "s"), run_step("last", instant())}),
          step_workflow("child", {run_step("inner", instant())})};
}

bool is_beat(const store::Op& op) { return std::holds_alternative<store::Heartbeat>(op); }

// Loses the answer to one batch, counted from 0 over all that hold more than heartbeats. Returns
// false if there were not so many.
bool play(std::uint64_t seed, int lost) {
  Disk disk;
  Node client(disk, sim(seed), {});
  EngineOptions options;
  options.lease_ms = kLeaseMs;
  Node worker(disk, sim(seed), definitions(), {{"task", instant(), {}}}, options);
  int batches = 0;
  bool is_lost = false;
  worker.store->loses_answer = [&](std::span<store::Op> ops) {
    const bool now = !std::ranges::all_of(ops, is_beat) && batches++ == lost;
    is_lost |= now;
    return now;
  };
  client.start("w", "r");
  client.env->run_ready();
  const std::shared_ptr<bool> told = worker.wait("r");
  // One signal early, the other one when the first has been taken.
  bool sent_second = false;
  client.signal("r", "s");
  client.env->run_ready();
  const std::int64_t until_ms = worker.env->now_ms() + kPatienceMs;
  while (!*told && worker.env->now_ms() < until_ms) {
    worker.env->advance(5);
    const std::vector<std::string> events = worker.events("r");
    if (!sent_second && std::ranges::count(events, "SignalReceived") == 1) {
      sent_second = true;
      client.env->run_until(worker.env->now_ms());
      client.signal("r", "s");
      client.env->run_ready();
    }
  }
  EXPECT_TRUE(*told) << "seed " << seed << ", batch " << lost << ": "
                     << store::status_name(worker.row("r").status) << " owner "
                     << worker.row("r").owner << " waits for " << worker.row("r").waiting_for;
  const std::vector<std::string> events = worker.events("r");
  for (const auto& [event, times] : std::map<std::string, int>{{"SignalReceived", 2},
                                                               {"TaskCompleted", 1},
                                                               {"TimerFired", 1},
                                                               {"OperationCompleted", 2},
                                                               {"ChildWorkflowCompleted", 1}}) {
    EXPECT_EQ(std::ranges::count(events, event), times)
        << event << ", seed " << seed << ", batch " << lost;
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

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

struct Conditions {
  std::size_t runs_at_once = 10'000;
  std::int64_t outage_ms = 0;  // From then on.
};

// Loses the answer to one batch, counted from 0 over all that hold more than heartbeats. Returns
// false if there were not so many.
bool play(std::uint64_t seed, int lost, const Conditions& conditions) {
  SCOPED_TRACE("seed " + std::to_string(seed) + ", batch " + std::to_string(lost));
  Disk disk;
  Node client(disk, sim(seed), {});
  EngineOptions options;
  options.lease_ms = kLeaseMs;
  options.runs_at_once = conditions.runs_at_once;
  std::vector<Definition> definitions = {step_workflow("child", {run_step("inner", instant())})};
  for (const std::string& id : kRuns) {
    definitions.push_back(workflow(id));
  }
  Node worker(disk, sim(seed), std::move(definitions), {{"task", instant(), {}}}, options);
  int batches = 0;
  bool is_lost = false;
  std::int64_t up_again_ms = 0;
  worker.store->loses_answer = [&](std::span<store::Op> ops) {
    const bool now = !std::ranges::all_of(ops, is_beat) && batches++ == lost;
    is_lost |= now;
    up_again_ms = now ? worker.env->now_ms() + conditions.outage_ms : up_again_ms;
    return now;
  };
  const auto is_up = [&]() -> Result<void> {
    return worker.env->now_ms() < up_again_ms ? make_error(ErrorCode::kStoreIo, "it is down")
                                              : Result<void>();
  };
  worker.store->before_apply = [&](std::span<store::Op>) { return is_up(); };
  worker.store->before_workers_change = is_up;
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

class UnknownOutcome : public testing::TestWithParam<Conditions> {};

TEST_P(UnknownOutcome, OfAnyBatch) {
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    int lost = 0;
    while (play(seed, lost, GetParam()) && !HasFailure()) {
      ++lost;
    }
    EXPECT_GE(lost, 5);
    if (HasFailure()) {
      return;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Many, UnknownOutcome,
                         testing::Values(Conditions{}, Conditions{10'000, 500}));
// Who waits for a place asks for runs whenever one is given back.
INSTANTIATE_TEST_SUITE_P(OneByOne, UnknownOutcome,
                         testing::Values(Conditions{1}, Conditions{1, 500}));

// What is kept in memory may be more than the store has, if that lost something.
TEST(AfterALoss, NothingIsTakenFromMemory) {
  Disk disk;
  Node node(disk, sim(), {workflow("a")}, {{"task", instant(), {}}});
  node.start("a", "a");
  node.env->run_ready();
  EXPECT_EQ(node.engine->figures().cached, 1U);
  node.store->loses_answer = [](std::span<store::Op> ops) {
    return std::holds_alternative<store::Send>(ops.front());
  };
  node.engine->signal("a", "other", "1", "", "", [](const Result<bool>& sent) {
    EXPECT_EQ(sent.error().code, ErrorCode::kUnknownOutcome);
  });
  node.env->run_ready();
  EXPECT_EQ(node.engine->figures().cached, 1U);
  EXPECT_EQ(node.engine->figures().replays, 1U);
}

// A turn has been written, and whoever wrote it was told that it had not. The run stayed with a
// worker that did not hold it any more.
TEST(AfterALoss, ARunThatIsAheadIsReadAgain) {
  Disk disk;
  const std::shared_ptr<store::Store> other = disk.open();
  Node node(disk, sim(),
            {step_workflow("a", {run_step("first", instant()), run_step("last", instant())})});
  int written = 0;
  node.store->before_apply = [&](std::span<store::Op> ops) -> Result<void> {
    if (std::holds_alternative<store::CommitTurn>(ops.front()) && written++ == 0) {
      std::vector<store::Op> same(ops.begin(), ops.end());
      return other->apply(same);
    }
    return {};
  };
  node.start("a", "a");
  node.env->advance(1000);
  const std::shared_ptr<bool> told = node.wait("a");
  node.env->run_ready();
  EXPECT_TRUE(*told);
  EXPECT_EQ(std::ranges::count(node.events("a"), "OperationCompleted"), 2);
  EXPECT_EQ(node.engine->figures().lost, 1U);
}

// It was read again for ever.
TEST(AfterALoss, ARunWhoseLogHidesAnEntryIsBlocked) {
  Disk disk;
  const std::vector<Definition> definitions = {step_workflow(
      "a", {run_step("first", instant()), plain_step(replay::CommandKind::kSignal, "go"),
            run_step("last", instant())})};
  {
    Node node(disk, sim(), definitions);
    node.start("a", "damaged");
    node.env->run_ready();
  }
  Node node(disk, sim(), definitions);
  node.store->hides = [](const replay::Entry&) { return true; };
  node.count_batches();
  node.env->advance(2 * kLeaseMs);
  node.signal("damaged", "go");
  node.env->run_ready();
  EXPECT_EQ(node.row("damaged").status, store::RunStatus::kBlocked);
  EXPECT_EQ(*node.store->read_reason(node.row("damaged").key),
            "the stored log is damaged: entry 1 is in it, and is not found when it is read");
}

}  // namespace
}  // namespace pawl::engine

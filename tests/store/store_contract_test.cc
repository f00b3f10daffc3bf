// What every store has to do, whatever database it stands on: each operation, each outcome, each
// condition. Time is passed in.

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <limits>
#include <mutex>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/movable_store.h"
#include "store/seal.h"
#include "store/support.h"

namespace pawl::store {
namespace {

using replay::EntryKind;
using testing::ElementsAre;
using testing::IsEmpty;

class StoreTest : public testing::TestWithParam<BackendKind> {
 protected:
  StoreTest() : backend_(GetParam().make()), store_ptr_(open()), store_(*store_ptr_) {
    worker_ = add_worker(store_);
  }

  std::unique_ptr<Store> open(const std::string& name_space = "default") {
    return value(backend_->open(name_space));
  }
  WorkerKey add_worker(Store& store, std::int64_t expires_ms = kNever) {
    return value(store.add_worker({"worker", expires_ms, 0}));
  }

  RunRow row(RunKey run) {
    const std::optional<RunRow> found = value(store_.find_run(run));
    EXPECT_TRUE(found.has_value());
    return found.value_or(RunRow{});
  }

  StartRun start(std::string id, WorkerKey owner = 0, std::int64_t now_ms = 1000) {
    StartRun op;
    op.run = new_run(std::move(id));
    op.owner = owner;
    op.now_ms = now_ms;
    return apply(store_, op);
  }
  // A run that worker_ holds.
  RunRow held(std::string id) {
    const StartRun op = start(std::move(id), worker_);
    EXPECT_EQ(op.outcome, StartOutcome::kStarted);
    return op.row;
  }
  // A run that waits for something without an end.
  RunRow waiting(std::string id) {
    const RunRow run = held(std::move(id));
    CommitTurn op = turn(run);
    op.release = true;
    op.status = RunStatus::kWaiting;
    EXPECT_TRUE(apply(store_, op).released);
    return row(run.key);
  }
  static CommitTurn turn(const RunRow& run, std::int64_t now_ms = 2000) {
    return turn_of(run, now_ms);
  }
  CommitTurn end(const RunRow& run, RunStatus status, std::int64_t now_ms = 2000) {
    CommitTurn op = turn(run, now_ms);
    op.ending = Ending{};
    op.ending->status = status;
    op = apply(store_, op);
    EXPECT_TRUE(op.committed);
    return op;
  }
  Claim claim(RunKey run, WorkerKey worker, std::int64_t now_ms = 3000) {
    Claim op;
    op.run = run;
    op.worker = worker;
    op.now_ms = now_ms;
    return apply(store_, op);
  }
  ClaimDue claim_due(std::int64_t now_ms, std::size_t limit = 100,
                     std::vector<std::string> kinds = {"order"}) {
    ClaimDue op;
    op.kinds = std::move(kinds);
    op.worker = worker_;
    op.limit = limit;
    op.now_ms = now_ms;
    return apply(store_, op);
  }
  std::vector<RunKey> due(std::int64_t now_ms, std::size_t limit = 100,
                          std::vector<std::string> kinds = {"order"}) {
    std::vector<RunKey> keys;
    for (const Claim& claimed : claim_due(now_ms, limit, std::move(kinds)).claims) {
      EXPECT_TRUE(claimed.claimed);
      keys.push_back(claimed.run);
    }
    return keys;
  }
  std::int64_t next_wake(std::vector<std::string> kinds = {"order"}) {
    return value(store_.next_wake(kinds));
  }
  Send send(std::string run_id, NewArrival arrival, std::string dedupe = "",
            std::int64_t now_ms = 3000) {
    Send op;
    op.run_id = std::move(run_id);
    op.arrival = std::move(arrival);
    op.dedupe = std::move(dedupe);
    op.now_ms = now_ms;
    return apply(store_, op);
  }
  Send resolve(std::string run_id, std::string name) {
    NewArrival arrival;
    arrival.kind = number_of(EntryKind::kPromiseResolved);
    arrival.id = std::move(name);
    return send(std::move(run_id), arrival);
  }

  Terminate terminate(std::string run_id, std::string payload = "") {
    Terminate op;
    op.run_id = std::move(run_id);
    op.payload = std::move(payload);
    return apply(store_, op);
  }
  Terminate terminate(RunKey run) {
    Terminate op;
    op.run = run;
    return apply(store_, op);
  }
  Resume resume(std::string run_id) {
    Resume op;
    op.run_id = std::move(run_id);
    op.now_ms = 8000;
    return apply(store_, op);
  }
  Resume resume(RunKey run) {
    Resume op;
    op.run = run;
    op.now_ms = 8000;
    return apply(store_, op);
  }

  // A run with one task of each of these.
  RunRow with_tasks(std::string id, std::vector<NewTask> tasks) {
    const RunRow run = held(std::move(id));
    CommitTurn op = turn(run);
    op.tasks = std::move(tasks);
    EXPECT_TRUE(apply(store_, op).committed);
    return run;
  }
  static NewTask task(std::string id, std::string type = "mail", std::int32_t priority = 0) {
    NewTask made;
    made.id = std::move(id);
    made.type = std::move(type);
    made.queue = "q";
    made.priority = priority;
    return made;
  }
  std::vector<TaskRow> take(std::int64_t now_ms, std::size_t limit = 100,
                            std::vector<std::string> types = {"mail"}) {
    TakeTasks op;
    op.queue = "q";
    op.types = std::move(types);
    op.worker = worker_;
    op.limit = limit;
    op.now_ms = now_ms;
    return apply(store_, op).taken;
  }
  static std::vector<std::string> ids(const std::vector<TaskRow>& tasks) {
    std::vector<std::string> found;
    for (const TaskRow& found_task : tasks) {
      found.push_back(found_task.id);
    }
    return found;
  }
  static ChangeTask change(const TaskRow& seen, std::optional<TaskState> next,
                           std::int64_t now_ms = 4000) {
    ChangeTask op;
    op.task = seen.key;
    op.state = seen.state;
    op.attempt = seen.attempt;
    op.next = next;
    op.now_ms = now_ms;
    return op;
  }

  std::unique_ptr<Backend> backend_;
  std::unique_ptr<Store> store_ptr_;
  Store& store_;
  WorkerKey worker_ = 0;
};

INSTANTIATE_TEST_SUITE_P(Backends, StoreTest, testing::ValuesIn(backend_kinds()), kind_name);

// --- Starting ------------------------------------------------------------------------------------

TEST_P(StoreTest, AStartedRunIsThereWithAllThatWasGiven) {
  StartRun op;
  op.run = new_run("order-1", "kind");
  op.run.input = "in";
  op.run.definition = "print";
  op.run.tags = {{"b", "2"}, {"a", "1"}, {"a", "1"}};
  op.now_ms = 77;
  op = apply(store_, op);
  EXPECT_EQ(op.outcome, StartOutcome::kStarted);
  EXPECT_EQ(op.row.number, 1U);
  EXPECT_EQ(op.row.status, RunStatus::kRunning);
  EXPECT_EQ(op.row.created_ms, 77);
  EXPECT_EQ(op.row.wake_ms, 77);
  EXPECT_EQ(op.row.owner, 0);
  EXPECT_EQ(describe(op.row), describe(row(op.row.key)));
  EXPECT_EQ(describe(op.row), describe(*value(store_.find_run("order-1", std::nullopt))));
  EXPECT_EQ(describe(op.row), describe(*value(store_.find_run("order-1", 1))));
  EXPECT_EQ(value(store_.read_input(op.row.key)), "in");
  EXPECT_THAT(value(store_.read_tags(op.row.key)), ElementsAre(Tag{"a", "1"}, Tag{"b", "2"}));
  EXPECT_EQ(value(store_.read_reason(op.row.key)), "");
}

TEST_P(StoreTest, WhatIsNotThereIsNotFound) {
  EXPECT_FALSE(value(store_.find_run(99)).has_value());
  EXPECT_FALSE(value(store_.find_run("nobody", std::nullopt)).has_value());
  start("order-1");
  EXPECT_FALSE(value(store_.find_run("order-1", 2)).has_value());
  EXPECT_EQ(value(store_.read_input(99)), "");
  EXPECT_THAT(value(store_.read_tags(99)), IsEmpty());
  EXPECT_THAT(log_of(store_, 99), IsEmpty());
}

TEST_P(StoreTest, ARunStartedForAWorkerIsHeldByIt) {
  const RunRow run = held("order-1");
  EXPECT_EQ(run.owner, worker_);
  EXPECT_EQ(run.epoch, 1);
  EXPECT_EQ(run.wake_ms, kNever);
  EXPECT_EQ(describe(run), describe(row(run.key)));
  EXPECT_THAT(due(5000), IsEmpty());
}

TEST_P(StoreTest, ARunStartedForAnUnknownWorkerIsForAnyone) {
  const StartRun op = start("order-1", worker_ + 100);
  EXPECT_EQ(op.row.owner, 0);
  EXPECT_THAT(due(1000), ElementsAre(op.row.key));
}

TEST_P(StoreTest, AnExistingRunIsReturnedAlsoIfItIsClosed) {
  const RunRow run = held("order-1");
  StartRun again = start("order-1");
  EXPECT_EQ(again.outcome, StartOutcome::kExisting);
  EXPECT_EQ(describe(again.row), describe(run));
  end(run, RunStatus::kCompleted);
  again = start("order-1");
  EXPECT_EQ(again.outcome, StartOutcome::kExisting);
  EXPECT_EQ(again.row.status, RunStatus::kCompleted);
}

TEST_P(StoreTest, AnExistingRunRefusesOneThatMustBeNew) {
  const RunRow run = waiting("order-1");
  StartRun op;
  op.run = new_run("order-1");
  op.on_existing = OnExisting::kFail;
  op.signal = signal("hello");
  op = apply(store_, op);
  EXPECT_EQ(op.outcome, StartOutcome::kRefused);
  EXPECT_EQ(op.row.key, run.key);
  EXPECT_EQ(op.arrival, 0);
  EXPECT_THAT(inbox_of(store_, run.key), IsEmpty());
}

TEST_P(StoreTest, AnExistingRunOfAnotherKindIsNotReturned) {
  const RunRow run = waiting("order-1");
  StartRun op;
  op.run = new_run("order-1", "invoice");
  op.signal = signal("hello");
  op = apply(store_, op);
  EXPECT_EQ(op.outcome, StartOutcome::kRefused);
  EXPECT_EQ(op.row.key, run.key);
  EXPECT_EQ(op.arrival, 0);
  EXPECT_THAT(inbox_of(store_, run.key), IsEmpty());
}

TEST_P(StoreTest, AReplacedRunIsTerminatedAndTheNewOneHasTheNextNumber) {
  const RunRow old = held("order-1");
  StartRun op;
  op.run = new_run("order-1");
  op.on_existing = OnExisting::kReplace;
  op.now_ms = 1500;
  op = apply(store_, op);
  EXPECT_EQ(op.outcome, StartOutcome::kStarted);
  EXPECT_EQ(op.row.number, 2U);
  EXPECT_NE(op.row.key, old.key);
  EXPECT_EQ(row(old.key).status, RunStatus::kFailed);
  EXPECT_FALSE(apply(store_, turn(old)).committed);
  EXPECT_EQ(value(store_.find_run("order-1", 1))->key, old.key);
  EXPECT_EQ(value(store_.find_run("order-1", std::nullopt))->key, op.row.key);
  // A closed one is replaced, too.
  terminate("order-1");
  op = apply(store_, op);
  EXPECT_EQ(op.row.number, 3U);
}

TEST_P(StoreTest, ASignalComesWithTheStart) {
  StartRun op;
  op.run = new_run("order-1");
  op.signal = signal("hello");
  op.dedupe = "event-1";
  op.now_ms = 10;
  op = apply(store_, op);
  EXPECT_NE(op.arrival, 0);
  EXPECT_THAT(inbox_of(store_, op.row.key), ElementsAre("hello"));
  // Once more: the run is there, and so is the signal.
  op = apply(store_, op);
  EXPECT_EQ(op.outcome, StartOutcome::kExisting);
  EXPECT_EQ(op.arrival, 0);
  op.dedupe = "event-2";
  op = apply(store_, op);
  EXPECT_NE(op.arrival, 0);
  EXPECT_THAT(inbox_of(store_, op.row.key), ElementsAre("hello", "hello"));
  terminate("order-1");
  op.dedupe = "event-3";
  op = apply(store_, op);
  EXPECT_EQ(op.outcome, StartOutcome::kExisting);
  EXPECT_EQ(op.arrival, 0);
}

TEST_P(StoreTest, AStartWithASignalWakesWhatWaits) {
  const RunRow run = waiting("order-1");
  EXPECT_EQ(run.wake_ms, kNever);
  StartRun op;
  op.run = new_run("order-1");
  op.signal = signal("hello");
  op.now_ms = 4000;
  op = apply(store_, op);
  EXPECT_EQ(op.row.wake_ms, 4000);
  EXPECT_EQ(row(run.key).wake_ms, 4000);
}

// --- Claiming ------------------------------------------------------------------------------------

TEST_P(StoreTest, AClaimBringsTheRunAndItsInbox) {
  const RunRow run = start("order-1").row;
  NewArrival full;
  full.kind = kRetryOperation;
  full.due_ms = 999'999;
  full.id = uuid_of("x").to_string();
  full.location = "{1, 2}";
  full.name = "name";
  full.number = -5;
  full.has_payload = true;
  full.extra = "extra";
  const Send sent = send("order-1", full);
  EXPECT_THAT(labels(value(store_.read_due_inbox(run.key, 999'998))), IsEmpty());
  EXPECT_THAT(value(store_.read_due_inbox(run.key, 999'999)).size(), 1U);
  const Claim op = claim(run.key, worker_, 999'999);
  EXPECT_TRUE(op.claimed);
  EXPECT_EQ(op.row.owner, worker_);
  EXPECT_EQ(op.row.epoch, 1);
  EXPECT_EQ(op.row.wake_ms, kNever);
  EXPECT_EQ(describe(op.row), describe(row(run.key)));
  ASSERT_EQ(op.inbox.size(), 1U);
  EXPECT_EQ(op.inbox[0].key, sent.key);
  EXPECT_EQ(op.inbox[0].run, run.key);
  EXPECT_EQ(describe(op.inbox[0]), describe(full));
}

TEST_P(StoreTest, NobodyClaimsWhatIsHeldClosedBlockedOrGone) {
  const RunRow run = held("order-1");
  const WorkerKey other = add_worker(store_);
  EXPECT_FALSE(claim(run.key, other).claimed);
  EXPECT_FALSE(claim(run.key, worker_).claimed);
  CommitTurn block = turn(run);
  block.release = true;
  block.status = RunStatus::kBlocked;
  EXPECT_TRUE(apply(store_, block).released);
  EXPECT_FALSE(claim(run.key, other).claimed);
  terminate(run.key);
  EXPECT_FALSE(claim(run.key, other).claimed);
  EXPECT_FALSE(claim(12345, other).claimed);
}

TEST_P(StoreTest, AnUnknownWorkerClaimsNothing) {
  const RunRow run = start("order-1").row;
  EXPECT_FALSE(claim(run.key, worker_ + 100).claimed);
  EXPECT_FALSE(claim(run.key, 0).claimed);
  ClaimDue op;
  op.kinds = {"order"};
  op.worker = worker_ + 100;
  op.limit = 10;
  op.now_ms = 9999;
  EXPECT_THAT(apply(store_, op).claims, IsEmpty());
}

TEST_P(StoreTest, AClaimMakesAWaitingRunRun) {
  const RunRow run = waiting("order-1");
  EXPECT_EQ(run.status, RunStatus::kWaiting);
  const Claim op = claim(run.key, worker_, 7000);
  EXPECT_EQ(op.row.status, RunStatus::kRunning);
  EXPECT_EQ(op.row.waiting_for, "");
  EXPECT_EQ(op.row.changed_ms, 7000);
  EXPECT_EQ(op.row.epoch, 2);
}

TEST_P(StoreTest, TheLongestDueAreClaimedFirstAndOnlyOfTheseKinds) {
  const RunKey late = start("a", 0, 300).row.key;
  const RunKey early = start("b", 0, 100).row.key;
  StartRun other;
  other.run = new_run("c", "mail");
  other.now_ms = 200;
  const RunKey mail = apply(store_, other).row.key;
  start("d", 0, 400);
  EXPECT_EQ(next_wake(), 100);
  EXPECT_EQ(next_wake({"mail"}), 200);
  EXPECT_EQ(next_wake({"order", "mail"}), 100);
  EXPECT_EQ(next_wake({"nothing"}), kNever);
  EXPECT_EQ(next_wake({}), kNever);
  EXPECT_THAT(due(99), IsEmpty());
  EXPECT_THAT(due(399, 1), ElementsAre(early));
  EXPECT_THAT(due(399, 0), IsEmpty());
  EXPECT_THAT(due(399, 9, {}), IsEmpty());
  EXPECT_THAT(due(399, 9, {"mail", "order", "mail"}), ElementsAre(mail, late));
  EXPECT_EQ(next_wake(), 400);
}

class LeftTest : public StoreTest {
 protected:
  RunKey start_under(std::string id, std::string definition, std::int64_t now_ms,
                     std::string kind = "order") {
    StartRun op;
    op.run = new_run(std::move(id), std::move(kind));
    op.run.definition = std::move(definition);
    op.now_ms = now_ms;
    return apply(store_, op).row.key;
  }
  ClaimDue leave(std::vector<KindDefinition> left, std::size_t limit = 100,
                 std::optional<WorkersMark> considered = std::nullopt) {
    ClaimDue op;
    op.kinds = {"order", "mail"};
    op.left = std::move(left);
    op.considered = considered;
    op.worker = worker_;
    op.limit = limit;
    op.now_ms = 5000;
    return apply(store_, op);
  }
  std::vector<RunKey> leaving(std::vector<KindDefinition> left, std::size_t limit = 100) {
    std::vector<RunKey> keys;
    for (const Claim& claim : leave(std::move(left), limit).claims) {
      keys.push_back(claim.run);
    }
    return keys;
  }
  std::int64_t next_wake_leaving(const std::vector<KindDefinition>& left, std::int64_t after_ms) {
    return value(store_.next_wake(std::vector<std::string>{"order", "mail"}, left, after_ms));
  }
};

INSTANTIATE_TEST_SUITE_P(Backends, LeftTest, testing::ValuesIn(backend_kinds()), kind_name);

TEST_P(LeftTest, RunsOfADefinitionOfOthersAreNotClaimed) {
  const RunKey old = start_under("a", "1", 100);
  const RunKey other = start_under("b", "2", 200);
  const RunKey unknown = start_under("c", "", 300);
  const RunKey mail = start_under("d", "1", 400, "mail");
  // Those that are left do not count.
  EXPECT_THAT(leaving({{"order", "1"}, {"order", "9"}, {"mail", "2"}}, 2),
              ElementsAre(other, unknown));
  EXPECT_THAT(leaving({{"order", "1"}, {"order", "9"}, {"mail", "2"}}), ElementsAre(mail));
  EXPECT_THAT(leaving({}), ElementsAre(old));
}

TEST_P(LeftTest, NothingIsClaimedWhileThereIsAWorkerThatIsNotKnown) {
  start_under("a", "1", 100);
  const WorkersMark before = leave({}, 0).workers;
  const WorkerKey newer = add_worker(store_);
  const ClaimDue refused = leave({}, 100, before);
  EXPECT_THAT(refused.claims, IsEmpty());
  EXPECT_TRUE(refused.known);
  EXPECT_EQ(refused.workers.newest, newer);
  // One whose number is smaller may be seen later.
  EXPECT_THAT(leave({}, 100, WorkersMark{newer, before.count}).claims, IsEmpty());
  const ClaimDue claimed = leave({}, 100, refused.workers);
  EXPECT_EQ(claimed.claims.size(), 1U);
  EXPECT_EQ(claimed.workers, refused.workers);
}

TEST_P(LeftTest, TheMarkOfTheWorkersChangesWithThem) {
  const WorkersMark before = leave({}).workers;
  const WorkerKey other = add_worker(store_);
  const WorkersMark with_other = leave({}).workers;
  EXPECT_EQ(with_other.newest, other);
  EXPECT_EQ(with_other.count, before.count + 1);
  std::vector<WorkerKey> known;
  for (const KnownWorker& worker : value(store_.read_workers())) {
    known.push_back(worker.key);
  }
  EXPECT_THAT(known, testing::IsSupersetOf({worker_, other}));
  ASSERT_TRUE(store_.remove_worker(other, 5000).has_value());
  EXPECT_EQ(leave({}).workers, before);
}

TEST_P(LeftTest, WhatIsLeftDoesNotWake) {
  start_under("a", "1", 100);
  start_under("b", "1", 6000);
  start_under("c", "2", 7000);
  start_under("d", "", 8000, "mail");
  EXPECT_EQ(next_wake_leaving({}, 5000), 100);
  EXPECT_EQ(next_wake_leaving({{"order", "1"}}, 5000), 7000);
  EXPECT_EQ(next_wake_leaving({{"order", "2"}}, 5000), 6000);
  EXPECT_EQ(next_wake_leaving({{"order", "1"}, {"order", "2"}}, 5000), 8000);
  EXPECT_EQ(next_wake_leaving({{"order", "1"}, {"order", "2"}, {"mail", "1"}}, 5000), 8000);
  EXPECT_EQ(next_wake_leaving({{"mail", "1"}}, 8000), 100);
}

// However many are left, a bounded number is looked at.
TEST_P(LeftTest, AfterManyThatAreLeftItIsLookedAgain) {
  std::vector<Op> ops;
  for (int i = 0; i < 2500; ++i) {
    StartRun op;
    op.run = new_run("run-" + std::to_string(i));
    op.run.definition = "1";
    op.now_ms = 10'000 + i;
    ops.emplace_back(op);
  }
  ASSERT_TRUE(store_.apply(ops).has_value());
  start_under("own", "2", 20'000);
  std::int64_t after_ms = 5000;
  int looks = 0;
  while (after_ms < 20'000 && looks < 10) {
    const std::int64_t next = next_wake_leaving({{"order", "1"}}, after_ms);
    EXPECT_GT(next, after_ms);
    after_ms = next;
    ++looks;
  }
  EXPECT_EQ(after_ms, 20'000);
  EXPECT_GT(looks, 1);
  EXPECT_EQ(next_wake_leaving({{"order", "1"}}, 20'000), kNever);
}

TEST_P(LeftTest, AClaimOfOneRunGoesByItsDefinition) {
  const RunKey run = start_under("a", "1", 100);
  Claim op;
  op.run = run;
  op.worker = worker_;
  op.definition = "2";
  op.now_ms = 5000;
  EXPECT_FALSE(apply(store_, op).claimed);
  op.definition = "";
  EXPECT_FALSE(apply(store_, op).claimed);
  Send sent;
  sent.run_id = "a";
  sent.arrival = signal("hello");
  sent.claim_for = worker_;
  sent.claim_as = "2";
  sent.now_ms = 5000;
  sent = apply(store_, sent);
  EXPECT_EQ(sent.outcome, SendOutcome::kSent);
  EXPECT_FALSE(sent.claim.has_value());
  EXPECT_EQ(sent.owner, 0);
  sent.claim_as = "1";
  EXPECT_TRUE(apply(store_, sent).claim.has_value());
  op.run = start_under("b", "", 100);
  op.definition = "2";
  EXPECT_TRUE(apply(store_, op).claimed);
}

TEST_P(StoreTest, RunsOfOneMomentAreClaimedInOrderOfTheirStart) {
  std::vector<RunKey> keys;
  for (int i = 0; i < 20; ++i) {
    keys.push_back(start("run-" + std::to_string(i), 0, 50).row.key);
  }
  EXPECT_EQ(due(50), keys);
}

// --- Turns ---------------------------------------------------------------------------------------

TEST_P(StoreTest, EntriesComeBackAsTheyWereWritten) {
  const RunRow run = held("order-1");
  replay::Checkpoint checkpoint;
  checkpoint.iteration = 40;
  checkpoint.state = std::string("\0state", 6);
  checkpoint.changes = {{"a", "1"}, {"b", std::nullopt}, {"c", ""}};
  checkpoint.taken = {3, 300, 30'000'000'000};
  checkpoint.done = true;
  checkpoint.result = "r";
  const std::string uuid = uuid_of("command").to_string();
  replay::Entry full = entry(1, "name", EntryKind::kChildWorkflowInitiated);
  full.version = 7;
  full.location = "{4, 0.3.1}";
  full.id = uuid;
  full.child_kind = "kind";
  full.removed = replay::CommandKind::kTask;
  full.step_key = "key";
  full.source = "a.cc:7";
  full.checked = 3;
  full.has_payload = true;
  full.payload = std::string_view("\0\xff bytes", 8);
  full.number = -1;
  full.input_digest = 0xfedcba9876543210ULL;
  full.extra = "{}";
  replay::Entry empty_payload = entry(2);
  empty_payload.has_payload = true;
  replay::Entry plain = entry(3);
  plain.id = "not-a-uuid";
  replay::Entry upper = entry(4);
  const std::string capitals = "ABCDEF00-0000-5000-8000-000000000000";
  upper.id = capitals;
  replay::Entry loop = entry(5, "", EntryKind::kLoopCheckpointed);
  loop.location = "{4}";
  loop.checkpoint = &checkpoint;
  CommitTurn op = turn(run);
  op.entries = {full, empty_payload, plain, upper, loop};
  EXPECT_TRUE(apply(store_, op).committed);
  EXPECT_THAT(log_of(store_, run.key),
              ElementsAre(describe(full), describe(empty_payload), describe(plain), describe(upper),
                          describe(loop)));
  EXPECT_THAT(log_of(store_, run.key, 4), ElementsAre(describe(upper), describe(loop)));
  std::string last;
  EXPECT_TRUE(store_.read_last(run.key, [&](const replay::Entry& seen) -> Result<void> {
    last = describe(seen);
    return {};
  }));
  EXPECT_EQ(last, describe(loop));
}

TEST_P(StoreTest, APlainTurnLeavesTheRunAlone) {
  const RunRow run = held("order-1");
  CommitTurn op = turn(run);
  op.entries = {entry(1), entry(2)};
  op = apply(store_, op);
  EXPECT_TRUE(op.committed);
  EXPECT_FALSE(op.released);
  EXPECT_EQ(describe(row(run.key)), describe(run));
}

// What a store knows of a lease from the last turn must not outlive it.
TEST_P(StoreTest, ALeaseLostToAnotherStoreBetweenTwoTurnsIsLost) {
  const RunRow run = held("order-1");
  CommitTurn first = turn(run);
  first.entries = {entry(1)};
  EXPECT_TRUE(apply(store_, first).committed);
  const std::unique_ptr<Store> other = value(backend_->open("default"));
  EXPECT_TRUE(other->remove_worker(worker_, 3000).has_value());
  CommitTurn second = turn(run);
  second.entries = {entry(2)};
  EXPECT_FALSE(apply(store_, second).committed);
  worker_ = add_worker(store_);
  const Claim again = claim(run.key, worker_);
  ASSERT_TRUE(again.claimed);
  CommitTurn third = turn(again.row);
  third.entries = {entry(2)};
  EXPECT_TRUE(apply(store_, third).committed);
  EXPECT_FALSE(apply(store_, turn(run)).committed);
}

TEST_P(StoreTest, OnlyTheHolderCommits) {
  const RunRow run = held("order-1");
  const auto refused = [&](RunKey key, WorkerKey worker, std::int64_t epoch) {
    CommitTurn op = turn(run);
    op.run = key;
    op.worker = worker;
    op.epoch = epoch;
    op.entries = {entry(1)};
    op.arrivals = {timer("t", 5)};
    op.tasks = {task("t-1")};
    op.release = true;
    op = apply(store_, op);
    return !op.committed && !op.released && op.others.woken.empty();
  };
  EXPECT_TRUE(refused(run.key, worker_ + 1, run.epoch));
  EXPECT_TRUE(refused(run.key, worker_, run.epoch + 1));
  EXPECT_TRUE(refused(run.key, worker_, 0));
  EXPECT_TRUE(refused(run.key, 0, run.epoch));
  EXPECT_TRUE(refused(run.key + 1, worker_, run.epoch));
  EXPECT_THAT(log_of(store_, run.key), IsEmpty());
  EXPECT_THAT(inbox_of(store_, run.key), IsEmpty());
  EXPECT_THAT(value(store_.read_tasks(run.key)), IsEmpty());
  const RunRow free = start("order-2").row;
  EXPECT_TRUE(refused(free.key, 0, 0));
}

TEST_P(StoreTest, AnOccupiedSeqLosesTheWholeTurnAndNothingElse) {
  const RunRow run = held("order-1");
  const RunRow other = held("order-2");
  CommitTurn first = turn(run);
  first.entries = {entry(1, "first"), entry(3, "third")};
  EXPECT_TRUE(apply(store_, first).committed);

  CommitTurn clash = turn(run);
  clash.entries = {entry(2, "second"), entry(3, "clash"), entry(4, "fourth")};
  clash.arrivals = {timer("t", 5)};
  CommitTurn good = turn(other);
  good.entries = {entry(1, "good")};
  std::vector<Op> ops = {good, clash};
  ASSERT_TRUE(store_.apply(ops).has_value());
  EXPECT_TRUE(std::get<CommitTurn>(ops[0]).committed);
  EXPECT_FALSE(std::get<CommitTurn>(ops[1]).committed);
  EXPECT_THAT(seqs_of(store_, run.key), ElementsAre(1, 3));
  EXPECT_THAT(seqs_of(store_, other.key), ElementsAre(1));
  EXPECT_THAT(inbox_of(store_, run.key), IsEmpty());
  // At the first entry, too.
  clash.entries = {entry(3, "clash")};
  EXPECT_FALSE(apply(store_, clash).committed);
  clash.entries = {entry(4)};
  EXPECT_TRUE(apply(store_, clash).committed);
}

TEST_P(StoreTest, AnErrorOfTheVisitorEndsTheRead) {
  const RunRow run = held("order-1");
  CommitTurn op = turn(run);
  op.entries = {entry(1), entry(2), entry(3)};
  apply(store_, op);
  int seen = 0;
  const Result<void> read = store_.read_log(run.key, 1, [&](const replay::Entry&) -> Result<void> {
    return ++seen == 2 ? Result<void>(make_error(ErrorCode::kCorruptLog, "enough"))
                       : Result<void>();
  });
  ASSERT_FALSE(read.has_value());
  EXPECT_EQ(read.error().message, "enough");
  EXPECT_EQ(seen, 2);
  EXPECT_THAT(seqs_of(store_, run.key), ElementsAre(1, 2, 3));
}

TEST_P(StoreTest, ATurnConsumesWithdrawsAndPutsArrivals) {
  const RunRow run = held("order-1");
  const Send first = send("order-1", signal("a"));
  send("order-1", signal("b"));
  CommitTurn op = turn(run);
  op.consumed = {first.key};
  op.arrivals = {timer("t-1", 9000), timer("t-2", 9000), timer("", 9000)};
  NewArrival wait;
  wait.kind = number_of(EntryKind::kSignalTimedOut);
  wait.location = "{7}";
  wait.due_ms = 9000;
  op.arrivals.push_back(wait);
  op = apply(store_, op);
  EXPECT_THAT(inbox_of(store_, run.key), ElementsAre("b", "t-1", "t-2", "", "{7}"));
  const std::vector<Arrival> inbox = value(store_.read_inbox_of(run.key));
  ASSERT_EQ(op.arrival_keys.size(), 4U);
  EXPECT_EQ(op.arrival_keys[0], inbox[1].key);
  EXPECT_EQ(op.arrival_keys[3], inbox[4].key);

  CommitTurn back = turn(run);
  back.withdrawn = {{number_of(EntryKind::kTimerFired), "t-1"},
                    {number_of(EntryKind::kSignalTimedOut), "{7}"},
                    {number_of(EntryKind::kTimerFired), "none"},
                    {number_of(EntryKind::kPromiseTimedOut), "t-2"}};
  back.arrivals = {timer("t-1", 8000)};  // Put after the other one is gone.
  back = apply(store_, back);
  EXPECT_THAT(inbox_of(store_, run.key), ElementsAre("b", "t-2", "", "t-1"));
}

TEST_P(StoreTest, ATurnConsumesOnlyWhatIsItsOwn) {
  const RunRow run = held("order-1");
  waiting("order-2");
  const Send foreign = send("order-2", signal("a"));
  CommitTurn op = turn(run);
  op.consumed = {foreign.key, 999};
  EXPECT_TRUE(apply(store_, op).committed);
  EXPECT_THAT(inbox_of(store_, foreign.target), ElementsAre("a"));
}

TEST_P(StoreTest, WhatReachesHeldRunsIsReadFromAPlaceOn) {
  const RunRow a = held("a");
  const RunRow b = held("b");
  waiting("c");
  const Send first = send("a", signal("1"));
  send("b", signal("2"));
  send("c", signal("3"));
  send("a", signal("4"));
  EXPECT_THAT(labels(value(store_.read_news(worker_, 0)).arrivals), ElementsAre("1", "2", "4"));
  std::vector<Arrival> later = value(store_.read_news(worker_, first.key)).arrivals;
  std::erase_if(later, [&](const Arrival& arrival) { return arrival.key <= first.key; });
  ASSERT_THAT(labels(later), ElementsAre("2", "4"));
  EXPECT_EQ(later[0].run, b.key);
  EXPECT_EQ(later[1].run, a.key);
  EXPECT_THAT(value(store_.read_news(worker_ + 1, 0)).arrivals, IsEmpty());
}

TEST_P(StoreTest, KeysOfArrivalsNeverComeBack) {
  const RunRow run = held("order-1");
  const Send first = send("order-1", signal("a"));
  CommitTurn op = turn(run);
  op.consumed = {first.key};
  apply(store_, op);
  EXPECT_GT(send("order-1", signal("b")).key, first.key);
}

TEST_P(StoreTest, ForgottenEntriesAreMovedAwayAndTheOldestDropped) {
  const RunRow run = held("order-1");
  std::uint64_t seq = 0;
  std::uint64_t last_checkpoint = 0;
  // Each iteration writes one entry; every 20 of them are forgotten, with the checkpoint before.
  for (std::uint64_t done = 20; done <= 400; done += 20) {
    CommitTurn op = turn(run);
    if (last_checkpoint != 0) {
      op.forgotten.push_back(last_checkpoint);
    }
    std::vector<std::string> locations;
    for (int i = 0; i < 20; ++i) {
      op.entries.push_back(entry(++seq));
      op.forgotten.push_back(seq);
    }
    replay::Checkpoint checkpoint;
    checkpoint.iteration = done;
    replay::Entry mark = entry(++seq, "", EntryKind::kLoopCheckpointed);
    mark.location = "{1}";
    mark.checkpoint = &checkpoint;
    op.entries.push_back(mark);
    last_checkpoint = seq;
    EXPECT_TRUE(apply(store_, op).committed);
  }
  EXPECT_THAT(seqs_of(store_, run.key), ElementsAre(last_checkpoint));
  const std::vector<std::uint64_t> kept = forgotten_of(store_, run.key);
  ASSERT_FALSE(kept.empty());
  EXPECT_TRUE(std::is_sorted(kept.begin(), kept.end()));
  EXPECT_EQ(kept.back(), seq - 1);
  EXPECT_GE(kept.size(), 100U);
  EXPECT_LE(kept.size(), 130U);
}

TEST_P(StoreTest, LoopsInLoopsLeaveWithTheIterationThatTheyWereIn) {
  const RunRow run = held("order-1");
  std::uint64_t seq = 0;
  for (std::uint64_t outer = 1; outer <= 300; ++outer) {
    // The inner loop, at {1, outer, 1}, forgets an entry of its own.
    CommitTurn inner = turn(run);
    inner.entries.push_back(entry(++seq));
    inner.forgotten = {seq};
    replay::Checkpoint inner_checkpoint;
    inner_checkpoint.iteration = 1;
    const std::string location = "{1, " + std::to_string(outer) + ", 1}";
    replay::Entry mark = entry(++seq, "", EntryKind::kLoopCheckpointed);
    mark.location = location;
    mark.checkpoint = &inner_checkpoint;
    inner.entries.push_back(mark);
    EXPECT_TRUE(apply(store_, inner).committed);
    // The outer one forgets that.
    CommitTurn op = turn(run);
    op.forgotten = {seq};
    if (outer > 1) {
      op.forgotten.insert(op.forgotten.begin(), seq - 2);
    }
    replay::Checkpoint checkpoint;
    checkpoint.iteration = outer;
    replay::Entry outer_mark = entry(++seq, "", EntryKind::kLoopCheckpointed);
    outer_mark.location = "{1}";
    outer_mark.checkpoint = &checkpoint;
    op.entries.push_back(outer_mark);
    EXPECT_TRUE(apply(store_, op).committed);
  }
  EXPECT_THAT(seqs_of(store_, run.key), ElementsAre(seq));
  const std::vector<std::uint64_t> kept = forgotten_of(store_, run.key);
  EXPECT_GE(kept.size(), 299U);
  EXPECT_LE(kept.size(), 303U);
  EXPECT_GT(kept.front(), 590U);
}

TEST_P(StoreTest, AForgottenSeqIsNotFreeAsLongAsItIsTheLast) {
  const RunRow run = held("order-1");
  CommitTurn op = turn(run);
  op.entries = {entry(1), entry(2), entry(3)};
  op.forgotten = {1, 2};
  EXPECT_TRUE(apply(store_, op).committed);
  EXPECT_THAT(seqs_of(store_, run.key), ElementsAre(3));
  EXPECT_THAT(forgotten_of(store_, run.key), ElementsAre(1, 2));
}

TEST_P(StoreTest, ADefinitionIsReplaced) {
  const RunRow run = held("order-1");
  CommitTurn op = turn(run);
  op.definition = "new print";
  apply(store_, op);
  EXPECT_EQ(row(run.key).definition, "new print");
}

// --- Giving back ---------------------------------------------------------------------------------

TEST_P(StoreTest, AReleasedRunSleepsUntilSomethingIsDue) {
  const RunRow run = held("order-1");
  CommitTurn op = turn(run, 2000);
  op.arrivals = {timer("far", 9000), timer("near", 5000)};
  op.release = true;
  op.status = RunStatus::kWaiting;
  op.waiting_for = "timer near";
  op.wake_ms = 7000;
  op = apply(store_, op);
  EXPECT_TRUE(op.released);
  EXPECT_EQ(op.wake_ms, 5000);
  const RunRow now = row(run.key);
  EXPECT_EQ(now.status, RunStatus::kWaiting);
  EXPECT_EQ(now.waiting_for, "timer near");
  EXPECT_EQ(now.owner, 0);
  EXPECT_EQ(now.epoch, 1);
  EXPECT_EQ(now.wake_ms, 5000);
  EXPECT_EQ(now.changed_ms, 2000);
  EXPECT_EQ(next_wake(), 5000);
  EXPECT_THAT(due(4999), IsEmpty());
  const ClaimDue claimed = claim_due(5000);
  ASSERT_EQ(claimed.claims.size(), 1U);
  // The other one is not due, and there for those who want it.
  EXPECT_THAT(labels(claimed.claims[0].inbox), ElementsAre("near"));
  EXPECT_THAT(labels(value(store_.read_inbox_of(run.key))), ElementsAre("far", "near"));
  // The old lease is no good any more.
  EXPECT_FALSE(apply(store_, turn(run)).committed);
}

TEST_P(StoreTest, AReleaseCanNameTheTimeToWakeItself) {
  const RunRow run = held("order-1");
  CommitTurn op = turn(run, 2000);
  op.arrivals = {timer("far", 9000)};
  op.release = true;
  op.status = RunStatus::kWaiting;
  op.wake_ms = 3000;
  EXPECT_EQ(apply(store_, op).wake_ms, 3000);
  EXPECT_EQ(next_wake(), 3000);
}

TEST_P(StoreTest, WhatIsDueKeepsARunAwake) {
  const RunRow run = held("order-1");
  const Send sent = send("order-1", signal("hello"));
  CommitTurn op = turn(run);
  op.entries = {entry(1)};
  op.release = true;
  op.status = RunStatus::kWaiting;
  op = apply(store_, op);
  EXPECT_TRUE(op.committed);
  EXPECT_FALSE(op.released);
  EXPECT_THAT(seqs_of(store_, run.key), ElementsAre(1));
  EXPECT_EQ(row(run.key).owner, worker_);
  EXPECT_EQ(row(run.key).status, RunStatus::kRunning);
  op.entries = {entry(2)};
  op.consumed = {sent.key};
  EXPECT_TRUE(apply(store_, op).released);
}

TEST_P(StoreTest, WhatIsKeptIsNoReasonToStayAwakeOrToWake) {
  const RunRow run = held("order-1");
  const Send sent = send("order-1", signal("hello"));
  CommitTurn op = turn(run);
  op.kept = {sent.key};
  op.arrivals = {timer("t", 9000)};
  op.release = true;
  op.status = RunStatus::kWaiting;
  op = apply(store_, op);
  EXPECT_TRUE(op.released);
  EXPECT_EQ(row(run.key).wake_ms, 9000);
  // Nor does a claim bring it.
  EXPECT_THAT(labels(claim(run.key, worker_).inbox), IsEmpty());
  EXPECT_THAT(labels(value(store_.read_inbox_of(run.key))), ElementsAre("hello", "t"));
}

TEST_P(StoreTest, ABlockedRunSleepsWhateverComesUntilItIsResumed) {
  const RunRow run = held("order-1");
  send("order-1", signal("hello"));
  CommitTurn op = turn(run);
  op.release = true;
  op.status = RunStatus::kBlocked;
  op.wake_ms = 10;
  op.reason = "code and history disagree";
  EXPECT_TRUE(apply(store_, op).released);
  EXPECT_EQ(row(run.key).status, RunStatus::kBlocked);
  EXPECT_EQ(value(store_.read_reason(run.key)), "code and history disagree");
  EXPECT_EQ(send("order-1", signal("more")).outcome, SendOutcome::kSent);
  EXPECT_EQ(next_wake(), kNever);
  EXPECT_THAT(due(99'999), IsEmpty());

  const Resume resumed = resume("order-1");
  EXPECT_EQ(resumed.outcome, SendOutcome::kSent);
  EXPECT_EQ(resumed.target, run.key);
  EXPECT_EQ(row(run.key).status, RunStatus::kRunning);
  EXPECT_TRUE(row(run.key).is_approved);
  EXPECT_EQ(value(store_.read_reason(run.key)), "");
  const ClaimDue claimed = claim_due(8000);
  ASSERT_EQ(claimed.claims.size(), 1U);
  EXPECT_TRUE(claimed.claims[0].row.is_approved);
  CommitTurn adopt = turn(claimed.claims[0].row);
  adopt.definition = "new";
  EXPECT_TRUE(apply(store_, adopt).committed);
  EXPECT_FALSE(row(run.key).is_approved);
}

// --- Runs that others could not go on with -------------------------------------------------------

class StuckTest : public StoreTest {
 protected:
  // A run of kind "order".
  RunRow blocked(std::string id, std::string definition, std::optional<std::string> blocked_by) {
    StartRun start;
    start.run = new_run(std::move(id));
    start.run.definition = std::move(definition);
    start.owner = worker_;
    start.now_ms = 1000;
    const RunRow run = apply(store_, start).row;
    CommitTurn op = turn(run);
    op.release = true;
    op.status = RunStatus::kBlocked;
    op.reason = "code and history disagree";
    op.blocked_by = std::move(blocked_by);
    EXPECT_TRUE(apply(store_, op).released);
    return row(run.key);
  }
  ClaimStuck claim_stuck(std::vector<ClaimStuck::Code> codes, RunKey after = 0,
                         std::size_t limit = 100) {
    ClaimStuck op;
    op.codes = std::move(codes);
    op.after = after;
    op.worker = worker_;
    op.limit = limit;
    op.now_ms = 9000;
    return apply(store_, op);
  }
  std::vector<RunKey> stuck(std::vector<ClaimStuck::Code> codes, RunKey after = 0,
                            std::size_t limit = 100) {
    std::vector<RunKey> keys;
    for (const Claim& claim : claim_stuck(std::move(codes), after, limit).claims) {
      keys.push_back(claim.run);
    }
    return keys;
  }
};

INSTANTIATE_TEST_SUITE_P(Backends, StuckTest, testing::ValuesIn(backend_kinds()), kind_name);

TEST_P(StuckTest, WhatOtherCodeHasBlockedIsClaimed) {
  const RunRow run = blocked("order-1", "1", "2");
  send("order-1", signal("hello"));
  EXPECT_THAT(stuck({{"order", "2"}}), IsEmpty());
  EXPECT_THAT(stuck({{"mail", "3"}}), IsEmpty());
  const ClaimStuck op = claim_stuck({{"mail", "3"}, {"order", "3"}});
  ASSERT_EQ(op.claims.size(), 1U);
  EXPECT_EQ(op.claims[0].run, run.key);
  EXPECT_EQ(op.claims[0].row.status, RunStatus::kRunning);
  EXPECT_EQ(op.claims[0].row.owner, worker_);
  EXPECT_EQ(op.claims[0].row.epoch, run.epoch + 1);
  EXPECT_EQ(op.claims[0].row.changed_ms, 9000);
  EXPECT_FALSE(op.claims[0].row.is_approved);
  EXPECT_THAT(labels(op.claims[0].inbox), ElementsAre("hello"));
  EXPECT_EQ(describe(row(run.key)), describe(op.claims[0].row));
  EXPECT_EQ(value(store_.read_reason(run.key)), "");
  EXPECT_THAT(stuck({{"order", "3"}}), IsEmpty());
}

TEST_P(StuckTest, OnlyWhatCodeHasBlockedIsClaimed) {
  blocked("damaged", "1", std::nullopt);
  waiting("waiting");
  held("held");
  blocked("resumed", "1", "2");
  resume("resumed");
  blocked("terminated", "1", "2");
  terminate("terminated");
  EXPECT_THAT(stuck({{"order", "3"}, {"order", ""}}), IsEmpty());
}

TEST_P(StuckTest, UnknownCodeMayBeAnother) {
  const RunRow by_unknown = blocked("a", "1", "");
  const RunRow by_known = blocked("b", "1", "2");
  EXPECT_THAT(stuck({{"order", ""}}, 0, 0), IsEmpty());
  EXPECT_THAT(stuck({{"order", ""}}), ElementsAre(by_unknown.key, by_known.key));
  const RunRow again = blocked("c", "1", "");
  EXPECT_THAT(stuck({{"order", "2"}}), ElementsAre(again.key));
}

TEST_P(StuckTest, OnlyRunsOfItsOwnDefinition) {
  blocked("a", "1", "2");
  const RunRow own = blocked("b", "3", "2");
  blocked("c", "3", "3");
  blocked("d", "", "2");
  EXPECT_THAT(stuck({{"order", "3", true}}), ElementsAre(own.key));
}

TEST_P(StuckTest, WhatOthersWillTakeIsLeftToThem) {
  const RunRow theirs = blocked("a", "1", "2");
  const RunRow hopeless = blocked("b", "1", "1");  // Their own code has blocked it.
  const RunRow free = blocked("c", "2", "1");
  ClaimStuck op;
  op.codes = {{"order", "3"}};
  op.left = {{"order", "1"}};
  op.considered.emplace();
  op.worker = worker_;
  op.limit = 100;
  op.now_ms = 9000;
  const ClaimStuck refused = apply(store_, op);
  EXPECT_THAT(refused.claims, IsEmpty());
  op.considered = refused.workers;
  std::vector<RunKey> keys;
  for (const Claim& claim : apply(store_, op).claims) {
    keys.push_back(claim.run);
  }
  EXPECT_THAT(keys, ElementsAre(hopeless.key, free.key));
  EXPECT_THAT(stuck({{"order", "3"}}), ElementsAre(theirs.key));
}

TEST_P(StuckTest, AreClaimedInPartsInOrderOfTheirKeys) {
  std::vector<RunKey> keys;
  for (const char* const id : {"a", "b", "c", "d"}) {
    keys.push_back(blocked(id, "1", "").key);
  }
  EXPECT_THAT(stuck({{"order", ""}, {"order", "2"}}, 0, 2), ElementsAre(keys[0], keys[1]));
  EXPECT_THAT(stuck({{"order", ""}}, keys[2]), ElementsAre(keys[3]));
  ClaimStuck op;
  op.codes = {{"order", ""}};
  op.worker = 999;
  op.limit = 10;
  op = apply(store_, op);
  EXPECT_FALSE(op.known);
  EXPECT_THAT(op.claims, IsEmpty());
  EXPECT_THAT(stuck({{"order", ""}}), ElementsAre(keys[2]));
}

TEST_P(StuckTest, WhatNeedsAnActivityIsClaimedByWhoHasIt) {
  const RunRow run = held("order-1");
  CommitTurn fail = turn(run);
  fail.ending = Ending{};
  fail.ending->status = RunStatus::kCompensating;
  fail.ending->goal = RunStatus::kFailed;
  fail.release = true;
  fail.status = RunStatus::kCompensating;
  fail.waiting_for = "compensation undo";
  fail.needs = "undo";
  EXPECT_TRUE(apply(store_, fail).released);
  EXPECT_EQ(row(run.key).status, RunStatus::kCompensating);
  EXPECT_EQ(value(store_.read_reason(run.key)), "");
  EXPECT_EQ(next_wake(), kNever);
  const auto claim_with = [this](std::vector<std::string> activities) {
    ClaimStuck op;
    op.activities = std::move(activities);
    op.worker = worker_;
    op.limit = 10;
    op.now_ms = 9000;
    return apply(store_, op).claims;
  };
  EXPECT_THAT(claim_with({"redo"}), IsEmpty());
  EXPECT_THAT(stuck({{"order", ""}}), IsEmpty());
  const std::vector<Claim> claims = claim_with({"redo", "undo"});
  ASSERT_EQ(claims.size(), 1U);
  EXPECT_EQ(claims[0].row.status, RunStatus::kCompensating);
  EXPECT_EQ(claims[0].row.goal, RunStatus::kFailed);
  EXPECT_EQ(claims[0].row.owner, worker_);
  EXPECT_THAT(claim_with({"undo"}), IsEmpty());

  // Whoever claims it otherwise finds out for himself.
  CommitTurn again = turn(claims[0].row);
  again.release = true;
  again.status = RunStatus::kCompensating;
  again.needs = "undo";
  EXPECT_TRUE(apply(store_, again).released);
  resume("order-1");
  EXPECT_THAT(claim_with({"undo"}), IsEmpty());
  EXPECT_THAT(due(9000), ElementsAre(run.key));
}

TEST_P(StoreTest, ResumeWakesWhatWaitsAndLeavesWhatRuns) {
  const RunRow asleep = waiting("asleep");
  EXPECT_EQ(resume(asleep.key).outcome, SendOutcome::kSent);
  EXPECT_EQ(row(asleep.key).wake_ms, 8000);
  EXPECT_EQ(row(asleep.key).status, RunStatus::kWaiting);
  const RunRow awake = held("awake");
  EXPECT_EQ(resume("awake").outcome, SendOutcome::kSent);
  EXPECT_EQ(describe(row(awake.key)), describe(awake));
  end(awake, RunStatus::kCompleted);
  EXPECT_EQ(resume("awake").outcome, SendOutcome::kClosed);
  EXPECT_EQ(resume("nobody").outcome, SendOutcome::kNoRun);
  EXPECT_EQ(resume(999).outcome, SendOutcome::kNoRun);
}

// --- Sending -------------------------------------------------------------------------------------

TEST_P(StoreTest, ASendWakesARunThatNobodyHolds) {
  const RunRow run = waiting("order-1");
  const Send sent = send("order-1", signal("hello", "payload"), "", 6000);
  EXPECT_EQ(sent.outcome, SendOutcome::kSent);
  EXPECT_EQ(sent.target, run.key);
  EXPECT_EQ(sent.owner, 0);
  EXPECT_NE(sent.key, 0);
  EXPECT_EQ(row(run.key).wake_ms, 6000);
  // One that is due later does not put it off, one that is due earlier brings it forward.
  send("order-1", timer("t", 9000));
  EXPECT_EQ(row(run.key).wake_ms, 6000);
  EXPECT_THAT(due(6000), ElementsAre(run.key));
}

TEST_P(StoreTest, AnArrivalInTheFutureWakesThen) {
  const RunRow run = waiting("order-1");
  send("order-1", timer("t", 9000));
  EXPECT_EQ(next_wake(), 9000);
  send("order-1", timer("t", 8000));
  EXPECT_EQ(next_wake(), 8000);
  EXPECT_THAT(due(7999), IsEmpty());
  EXPECT_THAT(due(8000), ElementsAre(run.key));
}

TEST_P(StoreTest, ASendTellsWhoHoldsTheRun) {
  const RunRow run = held("order-1");
  const Send sent = send("order-1", signal("hello"));
  EXPECT_EQ(sent.owner, worker_);
  EXPECT_EQ(row(run.key).wake_ms, kNever);
  Send claiming;
  claiming.run = run.key;
  claiming.arrival = signal("again");
  claiming.claim_for = add_worker(store_);
  claiming = apply(store_, claiming);
  EXPECT_EQ(claiming.owner, worker_);
  EXPECT_FALSE(claiming.claim.has_value());
}

TEST_P(StoreTest, ASendCanClaimTheRun) {
  const RunRow run = waiting("order-1");
  Send op;
  op.run = run.key;
  op.arrival = signal("hello");
  op.claim_for = worker_;
  op = apply(store_, op);
  EXPECT_EQ(op.owner, worker_);
  ASSERT_TRUE(op.claim.has_value());
  EXPECT_EQ(op.claim->row.epoch, 2);
  EXPECT_THAT(labels(op.claim->inbox), ElementsAre("hello"));
  EXPECT_TRUE(apply(store_, turn(op.claim->row)).committed);
  // Not if the worker is unknown.
  waiting("order-2");
  op.run = 0;
  op.run_id = "order-2";
  op.claim_for = worker_ + 50;
  op = apply(store_, op);
  EXPECT_EQ(op.outcome, SendOutcome::kSent);
  EXPECT_FALSE(op.claim.has_value());
  EXPECT_EQ(op.owner, 0);
}

TEST_P(StoreTest, NothingIsSentToNobodyOrToTheDead) {
  EXPECT_EQ(send("nobody", signal("s")).outcome, SendOutcome::kNoRun);
  Send by_key;
  by_key.run = 555;
  EXPECT_EQ(apply(store_, by_key).outcome, SendOutcome::kNoRun);
  const RunRow run = held("order-1");
  end(run, RunStatus::kCompleted);
  const Send sent = send("order-1", signal("s"));
  EXPECT_EQ(sent.outcome, SendOutcome::kClosed);
  EXPECT_EQ(sent.target, run.key);
  EXPECT_EQ(sent.key, 0);
  EXPECT_THAT(inbox_of(store_, run.key), IsEmpty());
}

TEST_P(StoreTest, AnEventIsTakenOnce) {
  const RunRow run = waiting("order-1");
  EXPECT_EQ(send("order-1", signal("a"), "event-1").outcome, SendOutcome::kSent);
  const Send again = send("order-1", signal("a"), "event-1");
  EXPECT_EQ(again.outcome, SendOutcome::kDuplicate);
  EXPECT_EQ(again.target, run.key);
  EXPECT_EQ(again.key, 0);
  EXPECT_EQ(send("order-1", signal("a"), "event-2").outcome, SendOutcome::kSent);
  EXPECT_EQ(send("order-1", signal("a")).outcome, SendOutcome::kSent);
  EXPECT_EQ(send("order-1", signal("a")).outcome, SendOutcome::kSent);
  // Also when it has been consumed, and per run.
  const Claim claimed = claim(run.key, worker_);
  CommitTurn op = turn(claimed.row);
  for (const Arrival& arrival : claimed.inbox) {
    op.consumed.push_back(arrival.key);
  }
  apply(store_, op);
  EXPECT_EQ(send("order-1", signal("a"), "event-1").outcome, SendOutcome::kDuplicate);
  waiting("order-2");
  EXPECT_EQ(send("order-2", signal("a"), "event-1").outcome, SendOutcome::kSent);
}

TEST_P(StoreTest, APromiseIsResolvedOnce) {
  const RunRow run = held("order-1");
  EXPECT_EQ(resolve("order-1", "paid").outcome, SendOutcome::kNoPromise);
  CommitTurn op = turn(run);
  op.promises = {"paid", "approved"};
  apply(store_, op);
  EXPECT_THAT(value(store_.read_promises(run.key)), ElementsAre("approved", "paid"));
  EXPECT_EQ(resolve("order-1", "other").outcome, SendOutcome::kNoPromise);
  EXPECT_EQ(resolve("order-1", "paid").outcome, SendOutcome::kSent);
  EXPECT_EQ(resolve("order-1", "paid").outcome, SendOutcome::kResolved);
  EXPECT_THAT(value(store_.read_promises(run.key)), ElementsAre("approved"));
  EXPECT_THAT(inbox_of(store_, run.key), ElementsAre("paid"));
  NewArrival reject;
  reject.kind = number_of(EntryKind::kPromiseRejected);
  reject.id = "paid";
  EXPECT_EQ(send("order-1", reject).outcome, SendOutcome::kResolved);
  // Opened once more: as it was.
  apply(store_, op);
  EXPECT_EQ(resolve("order-1", "paid").outcome, SendOutcome::kResolved);
}

TEST_P(StoreTest, APromiseThatTimedOutIsResolved) {
  const RunRow run = held("order-1");
  CommitTurn op = turn(run);
  op.promises = {"paid"};
  apply(store_, op);
  CommitTurn late = turn(run);
  replay::Entry timed_out = entry(1, "", EntryKind::kPromiseTimedOut);
  timed_out.id = "paid";
  late.entries = {timed_out};
  apply(store_, late);
  EXPECT_EQ(resolve("order-1", "paid").outcome, SendOutcome::kResolved);
  EXPECT_THAT(value(store_.read_promises(run.key)), IsEmpty());
}

TEST_P(StoreTest, AFailedPromiseSendDoesNotUseUpItsEvent) {
  const RunRow run = held("order-1");
  NewArrival arrival;
  arrival.kind = number_of(EntryKind::kPromiseResolved);
  arrival.id = "paid";
  EXPECT_EQ(send("order-1", arrival, "event").outcome, SendOutcome::kNoPromise);
  CommitTurn op = turn(run);
  op.promises = {"paid"};
  apply(store_, op);
  EXPECT_EQ(send("order-1", arrival, "event").outcome, SendOutcome::kSent);
  EXPECT_EQ(send("order-1", arrival, "event").outcome, SendOutcome::kDuplicate);
}

TEST_P(StoreTest, ATurnSendsToOthersAndToItself) {
  const RunRow run = held("order-1");
  const RunRow asleep = waiting("asleep");
  const RunRow awake = held("awake");
  CommitTurn op = turn(run, 5000);
  op.outgoing = {{"asleep", signal("a"), "event"},
                 {"awake", signal("b"), ""},
                 {"nobody", signal("c"), ""},
                 {"asleep", signal("d"), "event"},
                 {"order-1", signal("me"), ""}};
  op.release = true;
  op.status = RunStatus::kWaiting;
  op = apply(store_, op);
  EXPECT_THAT(op.others.woken, ElementsAre(asleep.key, awake.key, run.key));
  EXPECT_FALSE(op.released);
  EXPECT_EQ(row(asleep.key).wake_ms, 5000);
  EXPECT_THAT(inbox_of(store_, asleep.key), ElementsAre("a"));
  EXPECT_THAT(inbox_of(store_, awake.key), ElementsAre("b"));
  EXPECT_THAT(inbox_of(store_, run.key), ElementsAre("me"));
}

// --- Ending --------------------------------------------------------------------------------------

TEST_P(StoreTest, AnEndedRunLeavesNothingBehind) {
  const RunRow run = with_tasks("order-1", {task("t-1"), task("t-2")});
  const std::vector<TaskRow> taken = take(2500, 1);
  ASSERT_EQ(taken.size(), 1U);
  CommitTurn op = turn(run, 3000);
  op.entries = {entry(1, "", EntryKind::kWorkflowCompleted)};
  op.arrivals = {timer("t", 9000)};
  op.promises = {"p"};
  op.ending = Ending{};
  op.ending->status = RunStatus::kCompleted;
  op.release = true;
  op.status = RunStatus::kWaiting;
  op = apply(store_, op);
  EXPECT_TRUE(op.committed);
  const RunRow now = row(run.key);
  EXPECT_EQ(now.status, RunStatus::kCompleted);
  EXPECT_EQ(now.owner, 0);
  EXPECT_EQ(now.wake_ms, kNever);
  EXPECT_EQ(now.changed_ms, 3000);
  EXPECT_THAT(inbox_of(store_, run.key), IsEmpty());
  EXPECT_THAT(value(store_.read_tasks(run.key)), IsEmpty());
  EXPECT_THAT(value(store_.read_promises(run.key)), IsEmpty());
  EXPECT_THAT(seqs_of(store_, run.key), ElementsAre(1));
  EXPECT_THAT(take(9999), IsEmpty());
  const ChangeTask late = apply(store_, change(taken[0], std::nullopt));
  EXPECT_FALSE(late.changed);
  EXPECT_TRUE(late.cancel_requested);
  EXPECT_FALSE(apply(store_, turn(run)).committed);
}

TEST_P(StoreTest, AFailedRunCanSayWhy) {
  const RunRow run = held("order-1");
  CommitTurn op = turn(run);
  op.ending = Ending{};
  op.ending->status = RunStatus::kFailed;
  op.reason = "it is broken";
  apply(store_, op);
  EXPECT_EQ(value(store_.read_reason(run.key)), "it is broken");
}

TEST_P(StoreTest, ARunCompensatesBeforeItEnds) {
  const RunRow run = with_tasks("order-1", {task("t-1")});
  send("order-1", signal("unseen"));
  CommitTurn op = turn(run, 3000);
  op.entries = {entry(1, "", EntryKind::kWorkflowFailed)};
  op.ending = Ending{};
  op.ending->status = RunStatus::kCompensating;
  op.ending->goal = RunStatus::kFailed;
  CompensationRow refund;
  refund.position = 0;
  refund.name = "refund";
  refund.input = "10";
  refund.has_input = true;
  CompensationRow release_stock;
  release_stock.position = 1;
  release_stock.name = "release";
  release_stock.due_ms = 70;
  op.ending->compensations = {refund, release_stock};
  op = apply(store_, op);
  EXPECT_TRUE(op.committed);
  EXPECT_FALSE(op.released);
  RunRow now = row(run.key);
  EXPECT_EQ(now.status, RunStatus::kCompensating);
  EXPECT_EQ(now.goal, RunStatus::kFailed);
  EXPECT_EQ(now.owner, worker_);
  EXPECT_THAT(inbox_of(store_, run.key), IsEmpty());
  EXPECT_THAT(value(store_.read_tasks(run.key)), IsEmpty());

  CommitTurn step = turn(run, 4000);
  step.compensation_changes = {{1, CompensationState::kDone, 2, 80, "done"}};
  step.release = true;
  step.status = RunStatus::kCompensating;
  step.wake_ms = 6000;
  EXPECT_TRUE(apply(store_, step).released);
  const std::vector<CompensationRow> rows = value(store_.read_compensations(run.key));
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].name, "refund");
  EXPECT_EQ(rows[0].input, "10");
  EXPECT_TRUE(rows[0].has_input);
  EXPECT_EQ(rows[0].state, CompensationState::kOpen);
  EXPECT_FALSE(rows[1].has_input);
  EXPECT_EQ(rows[1].state, CompensationState::kDone);
  EXPECT_EQ(rows[1].attempt, 2U);
  EXPECT_EQ(rows[1].due_ms, 80);
  EXPECT_EQ(rows[1].outcome, "done");

  const ClaimDue claimed = claim_due(6000);
  ASSERT_EQ(claimed.claims.size(), 1U);
  EXPECT_EQ(claimed.claims[0].row.status, RunStatus::kCompensating);
  EXPECT_EQ(claimed.claims[0].row.goal, RunStatus::kFailed);
  end(claimed.claims[0].row, RunStatus::kFailed, 7000);
  EXPECT_EQ(row(run.key).status, RunStatus::kFailed);
}

TEST_P(StoreTest, TerminateEndsARunWhoeverHoldsIt) {
  const RunRow run = held("order-1");
  CommitTurn op = turn(run);
  op.entries = {entry(1), entry(2)};
  apply(store_, op);
  Terminate kill;
  kill.run_id = "order-1";
  kill.payload = "because";
  kill.now_ms = 5000;
  kill = apply(store_, kill);
  EXPECT_EQ(kill.outcome, SendOutcome::kSent);
  EXPECT_EQ(kill.target, run.key);
  EXPECT_EQ(row(run.key).status, RunStatus::kFailed);
  EXPECT_EQ(row(run.key).changed_ms, 5000);
  replay::Entry failed = entry(3, "", EntryKind::kWorkflowFailed);
  failed.time_ms = 5000;
  failed.has_payload = true;
  failed.payload = "because";
  EXPECT_EQ(log_of(store_, run.key).back(), describe(failed));
  op.entries = {entry(4)};
  EXPECT_FALSE(apply(store_, op).committed);
  EXPECT_EQ(apply(store_, kill).outcome, SendOutcome::kClosed);
  EXPECT_EQ(terminate("nobody").outcome, SendOutcome::kNoRun);
  // One that has never run.
  const RunRow fresh = start("fresh").row;
  EXPECT_EQ(terminate(fresh.key).outcome, SendOutcome::kSent);
  EXPECT_THAT(seqs_of(store_, fresh.key), ElementsAre(1));
  EXPECT_THAT(due(99'999), IsEmpty());
}

TEST_P(StoreTest, ARecurredRunGoesOnAsTheNextOne) {
  StartRun first;
  first.run = new_run("order-1");
  first.owner = worker_;
  first.signal = signal("hello");
  first.dedupe = "event-1";
  const RunRow run = apply(store_, first).row;
  send("order-1", signal("unseen"));
  NewArrival cancel;
  cancel.kind = number_of(EntryKind::kCancellationRequested);
  cancel.name = "(cancel)";
  send("order-1", cancel);
  send("order-1", timer("t", 9000));
  const std::vector<Arrival> inbox = value(store_.read_inbox_of(run.key));
  CommitTurn op = turn(run, 5000);
  op.entries = {entry(1, "", EntryKind::kWorkflowRecurred)};
  op.consumed = {inbox[0].key};
  op.promises = {"p"};
  op.ending = Ending{};
  op.ending->status = RunStatus::kRecurred;
  op.ending->next = new_run("order-1", "order");
  op.ending->next->input = "next";
  op.ending->signals = {signal("returned")};
  op = apply(store_, op);
  ASSERT_EQ(op.started.size(), 1U);
  const RunKey next = op.started[0];
  EXPECT_THAT(op.others.woken, ElementsAre(next));
  EXPECT_EQ(row(run.key).status, RunStatus::kRecurred);
  EXPECT_EQ(row(next).number, 2U);
  EXPECT_EQ(row(next).id, "order-1");
  EXPECT_EQ(row(next).wake_ms, 5000);
  EXPECT_EQ(value(store_.read_input(next)), "next");
  EXPECT_THAT(inbox_of(store_, run.key), IsEmpty());
  EXPECT_THAT(inbox_of(store_, next), ElementsAre("returned", "unseen", "(cancel)"));
  EXPECT_EQ(send("order-1", signal("x"), "event-1").outcome, SendOutcome::kDuplicate);
  EXPECT_EQ(send("order-1", signal("x"), "event-2").target, next);
  EXPECT_EQ(resolve("order-1", "p").outcome, SendOutcome::kNoPromise);
  // And once more: the ids are kept along the chain, and gone with its end.
  const Claim claimed = claim(next, worker_);
  CommitTurn again = turn(claimed.row, 6000);
  again.ending = Ending{};
  again.ending->status = RunStatus::kRecurred;
  again.ending->next = new_run("order-1");
  again = apply(store_, again);
  EXPECT_EQ(row(again.started[0]).number, 3U);
  EXPECT_EQ(send("order-1", signal("x"), "event-2").outcome, SendOutcome::kDuplicate);
  terminate("order-1");
  first.on_existing = OnExisting::kReplace;
  EXPECT_NE(apply(store_, first).arrival, 0);
}

// --- Children ------------------------------------------------------------------------------------

class ChildTest : public StoreTest {
 protected:
  NewRun child(const RunRow& parent, std::string id, std::string command,
               ParentClose close = ParentClose::kCancel) {
    NewRun made = new_run(std::move(id));
    made.parent = {parent.key, std::move(command), close};
    return made;
  }
  std::vector<RunKey> start_children(const RunRow& parent, std::vector<NewRun> children) {
    CommitTurn op = turn(parent);
    op.children = std::move(children);
    op = apply(store_, op);
    EXPECT_TRUE(op.committed);
    return op.started;
  }
};

INSTANTIATE_TEST_SUITE_P(Backends, ChildTest, testing::ValuesIn(backend_kinds()), kind_name);

TEST_P(ChildTest, AChildIsStartedWithTheTurnAndTellsItsParentTheEnd) {
  const RunRow parent = held("parent");
  const std::string command = uuid_of("command").to_string();
  const std::vector<RunKey> started = start_children(parent, {child(parent, "child", command)});
  ASSERT_EQ(started.size(), 1U);
  EXPECT_EQ(row(started[0]).parent, (Parent{parent.key, command, ParentClose::kCancel}));
  EXPECT_EQ(value(store_.read_children(parent.key)).size(), 1U);
  CommitTurn sleep = turn(parent);
  sleep.release = true;
  sleep.status = RunStatus::kWaiting;
  apply(store_, sleep);

  const Claim claimed = claim(started[0], worker_);
  CommitTurn op = turn(claimed.row, 7000);
  op.ending = Ending{};
  op.ending->status = RunStatus::kCompleted;
  op.ending->for_parent = NewArrival{};
  op.ending->for_parent->kind = number_of(EntryKind::kChildWorkflowCompleted);
  op.ending->for_parent->payload = "result";
  op.ending->for_parent->has_payload = true;
  op = apply(store_, op);
  EXPECT_THAT(op.others.woken, ElementsAre(parent.key));
  EXPECT_EQ(row(parent.key).wake_ms, 7000);
  const std::vector<Arrival> inbox = value(store_.read_inbox_of(parent.key));
  ASSERT_EQ(inbox.size(), 1U);
  EXPECT_EQ(inbox[0].kind, number_of(EntryKind::kChildWorkflowCompleted));
  EXPECT_EQ(inbox[0].id, command);
  EXPECT_EQ(inbox[0].payload, "result");
  EXPECT_THAT(value(store_.read_children(parent.key)), IsEmpty());
}

TEST_P(ChildTest, AnIdThatIsTakenFailsTheChild) {
  const RunRow parent = held("parent");
  start("taken");
  CommitTurn op = turn(parent);
  op.children = {child(parent, "taken", "c-1"), child(parent, "free", "c-2"),
                 child(parent, "free", "c-3"), child(parent, "parent", "c-4")};
  op = apply(store_, op);
  EXPECT_TRUE(op.committed);
  ASSERT_EQ(op.started.size(), 4U);
  EXPECT_EQ(op.started[0], 0);
  EXPECT_NE(op.started[1], 0);
  EXPECT_EQ(op.started[2], 0);
  EXPECT_EQ(op.started[3], 0);
  EXPECT_THAT(labels(op.bounced), ElementsAre("c-1", "c-3", "c-4"));
  const std::vector<Arrival> inbox = value(store_.read_inbox_of(parent.key));
  ASSERT_EQ(inbox.size(), 3U);
  EXPECT_EQ(inbox[0].kind, number_of(EntryKind::kChildWorkflowFailed));
  EXPECT_EQ(inbox[0].id, "c-1");
  EXPECT_THAT(inbox[0].payload, testing::HasSubstr("\"AlreadyExists\""));
  EXPECT_EQ(op.bounced[0].key, inbox[0].key);
}

TEST_P(ChildTest, TheEndOfTheParentReachesItsChildren) {
  const RunRow parent = held("parent");
  const std::vector<RunKey> children =
      start_children(parent, {child(parent, "cancelled", "1", ParentClose::kCancel),
                              child(parent, "abandoned", "2", ParentClose::kAbandon),
                              child(parent, "terminated", "3", ParentClose::kTerminate)});
  const Claim doomed = claim(children[2], worker_);
  start_children(doomed.row, {child(doomed.row, "grandchild", "4", ParentClose::kTerminate),
                              child(doomed.row, "nephew", "5", ParentClose::kCancel)});
  const CommitTurn op = end(parent, RunStatus::kCompleted, 9000);
  const std::vector<Arrival> inbox = value(store_.read_inbox_of(children[0]));
  ASSERT_EQ(inbox.size(), 1U);
  EXPECT_EQ(inbox[0].kind, number_of(EntryKind::kCancellationRequested));
  EXPECT_EQ(inbox[0].payload, "the parent of this run ended");
  EXPECT_THAT(op.others.woken, testing::Contains(children[0]));
  EXPECT_THAT(op.others.closed,
              ElementsAre(children[2], value(store_.find_run("grandchild", std::nullopt))->key));
  EXPECT_THAT(inbox_of(store_, children[1]), IsEmpty());
  EXPECT_EQ(row(children[1]).status, RunStatus::kRunning);
  EXPECT_EQ(row(children[2]).status, RunStatus::kFailed);
  EXPECT_THAT(seqs_of(store_, children[2]), ElementsAre(1));
  EXPECT_FALSE(apply(store_, turn(doomed.row)).committed);
  EXPECT_EQ(value(store_.find_run("grandchild", std::nullopt))->status, RunStatus::kFailed);
  const std::optional<RunRow> nephew = value(store_.find_run("nephew", std::nullopt));
  EXPECT_EQ(nephew->status, RunStatus::kRunning);
  EXPECT_EQ(value(store_.read_inbox_of(nephew->key)).size(), 1U);
}

TEST_P(ChildTest, WhoeverEndsARunHearsWhatEndedWithItAndWhatWoke) {
  const RunRow parent = held("parent");
  const RunRow run = claim(start_children(parent, {child(parent, "run", "1")})[0], worker_).row;
  const std::vector<RunKey> children =
      start_children(run, {child(run, "cancelled", "2", ParentClose::kCancel),
                           child(run, "terminated", "3", ParentClose::kTerminate)});
  const RunRow doomed = claim(children[1], worker_).row;
  const std::vector<RunKey> grandchildren =
      start_children(doomed, {child(doomed, "grandchild", "4", ParentClose::kTerminate)});
  const Terminate terminated = terminate("run");
  EXPECT_THAT(terminated.others.closed, ElementsAre(children[1], grandchildren[0]));
  EXPECT_THAT(terminated.others.woken, ElementsAre(parent.key, children[0]));
  EXPECT_THAT(terminate("run").others.closed, IsEmpty());

  start_children(parent, {child(parent, "other", "5", ParentClose::kTerminate)});
  StartRun op;
  op.run = new_run("parent");
  op.on_existing = OnExisting::kReplace;
  op = apply(store_, op);
  EXPECT_THAT(op.others.closed,
              ElementsAre(value(store_.find_run("other", std::nullopt))->key, parent.key));
  EXPECT_THAT(op.others.woken, IsEmpty());
}

TEST_P(ChildTest, ATerminatedChildTellsItsParent) {
  const RunRow parent = held("parent");
  start_children(parent, {child(parent, "child", "c-1")});
  terminate("child", "because");
  const std::vector<Arrival> inbox = value(store_.read_inbox_of(parent.key));
  ASSERT_EQ(inbox.size(), 1U);
  EXPECT_EQ(inbox[0].kind, number_of(EntryKind::kChildWorkflowFailed));
  EXPECT_EQ(inbox[0].id, "c-1");
  EXPECT_EQ(inbox[0].payload, "because");
}

TEST_P(ChildTest, AParentThatIsGoneHearsNothing) {
  const RunRow parent = held("parent");
  const std::vector<RunKey> children =
      start_children(parent, {child(parent, "child", "c-1", ParentClose::kAbandon)});
  end(parent, RunStatus::kCompleted);
  const Claim claimed = claim(children[0], worker_);
  CommitTurn op = turn(claimed.row);
  op.ending = Ending{};
  op.ending->status = RunStatus::kFailed;
  op.ending->for_parent = NewArrival{};
  op = apply(store_, op);
  EXPECT_TRUE(op.committed);
  EXPECT_THAT(op.others.woken, IsEmpty());
  EXPECT_THAT(inbox_of(store_, parent.key), IsEmpty());
}

TEST_P(ChildTest, AChildThatRecursStaysTheChild) {
  const RunRow parent = held("parent");
  const std::vector<RunKey> children = start_children(parent, {child(parent, "child", "c-1")});
  const Claim claimed = claim(children[0], worker_);
  CommitTurn op = turn(claimed.row);
  op.ending = Ending{};
  op.ending->status = RunStatus::kRecurred;
  op.ending->next = new_run("child");
  op = apply(store_, op);
  EXPECT_THAT(inbox_of(store_, parent.key), IsEmpty());
  EXPECT_EQ(row(op.started[0]).parent, (Parent{parent.key, "c-1", ParentClose::kCancel}));
  const std::vector<RunRow> open = value(store_.read_children(parent.key));
  ASSERT_EQ(open.size(), 1U);
  EXPECT_EQ(open[0].key, op.started[0]);
}

TEST_P(ChildTest, ManyGenerationsEndTogether) {
  constexpr int kGenerations = 5000;
  RunRow run = held("0");
  const RunRow first = run;
  for (int i = 1; i <= kGenerations; ++i) {
    const std::vector<RunKey> started =
        start_children(run, {child(run, std::to_string(i), "c", ParentClose::kTerminate)});
    run = claim(started[0], worker_).row;
  }
  end(first, RunStatus::kCompleted);
  EXPECT_EQ(row(run.key).status, RunStatus::kFailed);
}

// --- Several turns of a run together -------------------------------------------------------------

TEST_P(StoreTest, ATurnBehindOneThatGaveTheRunBackIsLost) {
  const RunRow run = held("order-1");
  CommitTurn first = turn(run);
  first.entries = {entry(1)};
  first.release = true;
  first.status = RunStatus::kWaiting;
  CommitTurn second = turn(run);
  second.entries = {entry(2)};
  std::vector<Op> ops = {first, second};
  ASSERT_TRUE(store_.apply(ops).has_value());
  EXPECT_TRUE(std::get<CommitTurn>(ops[0]).released);
  EXPECT_FALSE(std::get<CommitTurn>(ops[1]).committed);
  EXPECT_THAT(seqs_of(store_, run.key), ElementsAre(1));
  EXPECT_EQ(row(run.key).owner, 0);
}

TEST_P(StoreTest, ATurnBehindOneThatCouldNotGiveTheRunBackMayDoSo) {
  const RunRow run = held("order-1");
  CommitTurn first = turn(run);
  first.arrivals = {timer("timer", 100)};
  first.release = true;
  first.status = RunStatus::kWaiting;
  CommitTurn second = turn(run);
  second.withdrawn = {{number_of(EntryKind::kTimerFired), "timer"}};
  second.release = true;
  second.status = RunStatus::kWaiting;
  std::vector<Op> ops = {first, second};
  ASSERT_TRUE(store_.apply(ops).has_value());
  EXPECT_TRUE(std::get<CommitTurn>(ops[0]).committed);
  EXPECT_FALSE(std::get<CommitTurn>(ops[0]).released);
  EXPECT_TRUE(std::get<CommitTurn>(ops[1]).released);
  EXPECT_EQ(row(run.key).owner, 0);
}

TEST_P(StoreTest, WhatIsSentBehindARecurrenceStandsBehindWhatMovedWithIt) {
  const RunRow run = held("order-1");
  Send send;
  send.run_id = "order-1";
  send.arrival = signal("first");
  apply(store_, send);
  CommitTurn recur = turn(run);
  recur.ending = Ending{};
  recur.ending->status = RunStatus::kRecurred;
  recur.ending->next = new_run("order-1");
  send.arrival = signal("second");
  std::vector<Op> ops = {recur, send};
  ASSERT_TRUE(store_.apply(ops).has_value());
  const RunKey next = std::get<CommitTurn>(ops[0]).started.at(0);
  EXPECT_EQ(std::get<Send>(ops[1]).target, next);
  EXPECT_THAT(inbox_of(store_, next), ElementsAre("first", "second"));
}

TEST_P(StoreTest, AnIdWhoseFirstRunWasDeletedIsTaken) {
  const RunRow first = held("order-1");
  end(first, RunStatus::kCompleted);
  StartRun again;
  again.run = new_run("order-1");
  again.on_existing = OnExisting::kReplace;
  const RunKey second = apply(store_, again).row.key;
  DeleteRun remove;
  remove.run = first.key;
  EXPECT_EQ(apply(store_, remove).outcome, DeleteRun::Outcome::kDeleted);
  const std::unique_ptr<Store> other = open();
  again.on_existing = OnExisting::kReturn;
  again = apply(*other, again);
  EXPECT_EQ(again.outcome, StartOutcome::kExisting);
  EXPECT_EQ(again.row.key, second);
}

// Of one that has no worker nothing else would be noticed.
TEST_P(StoreTest, NothingIsChangedInANamespaceThatIsClosed) {
  const RunRow run = held("order-1");
  ASSERT_TRUE(store_.remove_worker(worker_, 5000).has_value());
  const Seal moved{Seal::Kind::kMoved, "a-move", "", "sqlite:there.db"};
  auto& closed = dynamic_cast<MovableStore&>(store_);
  ASSERT_TRUE(value(closed.change_seal("", seal_text(moved))));
  StartRun another;
  another.run = new_run("order-2");
  Send signal;
  signal.run_id = run.id;
  signal.arrival.kind = static_cast<std::uint8_t>(replay::EntryKind::kSignalReceived);
  Terminate terminate;
  terminate.run_id = run.id;
  for (const std::unique_ptr<Store> other = open();
       const Op& op : {Op(another), Op(signal), Op(terminate)}) {
    for (Store* const store : {&store_, other.get()}) {
      std::vector<Op> ops = {op};
      const Result<void> applied = store->apply(ops);
      ASSERT_FALSE(applied.has_value()) << op.index();
      EXPECT_EQ(applied.error().code, ErrorCode::kStoreUnusable);
      EXPECT_THAT(applied.error().message, testing::HasSubstr("there.db"));
    }
  }
  EXPECT_FALSE(value(store_.find_run("order-2", std::nullopt)).has_value());
  ASSERT_TRUE(value(closed.change_seal(seal_text(moved), "")));
  EXPECT_EQ(apply(store_, another).outcome, StartOutcome::kStarted);
}

// --- Two at the same moment ----------------------------------------------------------------------

TEST_P(StoreTest, AChildThatRecursWhileItsParentEndsIsNotOverlooked) {
  const RunRow parent = held("order-1");
  const std::unique_ptr<Store> other = open();
  const WorkerKey other_worker = add_worker(*other);
  CommitTurn starts = turn(parent);
  starts.children = {new_run("child")};
  starts.children[0].parent = {parent.key, "command", ParentClose::kTerminate};
  const RunKey child = apply(store_, starts).started.at(0);
  Claim claim;
  claim.run = child;
  claim.worker = other_worker;
  claim = apply(*other, claim);
  CommitTurn recur = turn(claim.row);
  std::jthread ends;
  recur.inside = [&](Database&, CommitTurn& turn) -> Result<void> {
    turn.ending = Ending{};
    turn.ending->status = RunStatus::kRecurred;
    turn.ending->next = new_run("child");
    ends = std::jthread([&] { end(parent, RunStatus::kCompleted); });
    backend_->wait_for_waiting();
    return {};
  };
  const RunKey next = apply(*other, recur).started.at(0);
  ends.join();
  EXPECT_EQ(row(parent.key).status, RunStatus::kCompleted);
  EXPECT_EQ(row(next).status, RunStatus::kFailed);
}

// --- Inside the transaction ----------------------------------------------------------------------

TEST_P(StoreTest, ACallInsideTheTransactionFillsInTheTurn) {
  const RunRow run = held("order-1");
  CommitTurn op = turn(run);
  bool was_called = false;
  op.inside = [&](Database& database, CommitTurn& turn) -> Result<void> {
    EXPECT_NE(database.handle(), nullptr);
    was_called = true;
    turn.entries = {entry(1, "late")};
    return {};
  };
  op = apply(store_, op);
  EXPECT_TRUE(was_called);
  EXPECT_TRUE(op.committed);
  EXPECT_FALSE(op.refused.has_value());
  EXPECT_THAT(log_of(store_, run.key), ElementsAre(describe(entry(1, "late"))));
}

TEST_P(StoreTest, ACallInsideTheTransactionCanRefuse) {
  const RunRow run = held("order-1");
  const RunRow other = held("order-2");
  CommitTurn op = turn(run);
  op.entries = {entry(1)};
  op.inside = [](Database&, CommitTurn&) -> Result<void> {
    return make_error(ErrorCode::kInvalidArgument, "no");
  };
  CommitTurn good = turn(other);
  good.entries = {entry(1)};
  std::vector<Op> ops = {op, good};
  ASSERT_TRUE(store_.apply(ops).has_value());
  op = std::get<CommitTurn>(ops[0]);
  EXPECT_FALSE(op.committed);
  ASSERT_TRUE(op.refused.has_value());
  EXPECT_EQ(op.refused->message, "no");
  EXPECT_THAT(seqs_of(store_, run.key), IsEmpty());
  EXPECT_THAT(seqs_of(store_, other.key), ElementsAre(1));
}

TEST_P(StoreTest, WhatComesBeforeARefusedCallIsNotForgotten) {
  const RunRow run = held("order-1");
  const RunRow other = held("order-2");
  CommitTurn first = turn(run);
  first.definition = "new";
  CommitTurn refused = turn(other);
  refused.inside = [](Database&, CommitTurn&) -> Result<void> {
    return make_error(ErrorCode::kInvalidArgument, "no");
  };
  std::vector<Op> ops = {first, refused};
  ASSERT_TRUE(store_.apply(ops).has_value());
  CommitTurn second = turn(run);
  second.ending = Ending{};
  second.ending->status = RunStatus::kCompensating;
  second.ending->goal = RunStatus::kFailed;
  EXPECT_TRUE(apply(store_, second).committed);
  EXPECT_EQ(row(run.key).definition, "new");
}

TEST_P(StoreTest, NothingIsCalledWhenTheLeaseIsLost) {
  const RunRow run = held("order-1");
  CommitTurn op = turn(run);
  op.epoch += 1;
  op.inside = [](Database&, CommitTurn&) -> Result<void> {
    ADD_FAILURE() << "called";
    return {};
  };
  EXPECT_FALSE(apply(store_, op).committed);
}

// --- Tasks ---------------------------------------------------------------------------------------

TEST_P(StoreTest, ATaskComesBackAsItWasMadeAndAsItIsTaken) {
  NewTask made = task(uuid_of("t").to_string());
  made.priority = -3;
  made.input = "input";
  made.has_input = true;
  made.options = "options";
  made.attempt_ms = 500;
  made.heartbeat_ms = 100;
  made.deadline_ms = 9000;
  made.due_ms = 8000;
  const RunRow run = with_tasks("order-1", {made});
  const std::vector<TaskRow> all = value(store_.read_tasks(run.key));
  ASSERT_EQ(all.size(), 1U);
  TaskRow want;
  static_cast<NewTask&>(want) = made;
  want.key = all[0].key;
  want.run = run.key;
  want.run_id = "order-1";
  want.created_ms = 2000;
  EXPECT_EQ(describe(all[0]), describe(want));

  const std::vector<TaskRow> taken = take(3000);
  ASSERT_EQ(taken.size(), 1U);
  want.state = TaskState::kRunning;
  want.owner = worker_;
  want.attempt = 1;
  want.started_ms = 3000;
  want.due_ms = 3100;
  EXPECT_EQ(describe(taken[0]), describe(want));
  EXPECT_EQ(describe(value(store_.read_tasks(run.key))[0]), describe(want));
  EXPECT_THAT(take(3000), IsEmpty());
}

TEST_P(StoreTest, TheHighestPriorityIsTakenFirstThenTheOldest) {
  with_tasks("order-1", {task("a", "mail", 1), task("b", "mail", 5), task("c", "print", 5),
                         task("d", "mail", 5), task("e", "mail", -1), task("f", "other", 9)});
  EXPECT_THAT(ids(take(3000, 2, {"mail", "print", "mail"})), ElementsAre("b", "c"));
  EXPECT_THAT(ids(take(3000, 0)), IsEmpty());
  EXPECT_THAT(ids(take(3000, 9, {})), IsEmpty());
  EXPECT_THAT(ids(take(3000, 9)), ElementsAre("d", "a", "e"));
  TakeTasks other_queue;
  other_queue.queue = "other";
  other_queue.types = {"other"};
  other_queue.worker = worker_;
  other_queue.limit = 9;
  EXPECT_THAT(apply(store_, other_queue).taken, IsEmpty());
  TakeTasks unknown = other_queue;
  unknown.queue = "q";
  unknown.worker = worker_ + 100;
  EXPECT_THAT(apply(store_, unknown).taken, IsEmpty());
}

TEST_P(StoreTest, AnAttemptIsDueAtTheNearestOfItsLimits) {
  NewTask free = task("free");
  NewTask attempt = task("attempt");
  attempt.attempt_ms = 50;
  attempt.heartbeat_ms = 70;
  NewTask deadline = task("deadline");
  deadline.attempt_ms = 5000;
  deadline.deadline_ms = 3010;
  NewTask endless = task("endless");
  endless.attempt_ms = std::numeric_limits<std::int64_t>::max();
  with_tasks("order-1", {free, attempt, deadline, endless});
  const std::vector<TaskRow> taken = take(3000);
  ASSERT_EQ(taken.size(), 4U);
  EXPECT_EQ(taken[0].due_ms, kNever);
  EXPECT_EQ(taken[1].due_ms, 3050);
  EXPECT_EQ(taken[2].due_ms, 3010);
  EXPECT_GE(taken[3].due_ms, kNever - 1);
}

TEST_P(StoreTest, ATaskEndsWithAnArrival) {
  const RunRow run = with_tasks("order-1", {task("t-1")});
  const std::vector<TaskRow> taken = take(3000);
  ChangeTask op = change(taken[0], std::nullopt);
  op.arrival = NewArrival{};
  op.arrival->kind = number_of(EntryKind::kTaskCompleted);
  op.arrival->id = "t-1";
  op = apply(store_, op);
  EXPECT_TRUE(op.changed);
  EXPECT_EQ(op.run, run.key);
  EXPECT_EQ(op.owner, worker_);
  EXPECT_NE(op.key, 0);
  EXPECT_THAT(inbox_of(store_, run.key), ElementsAre("t-1"));
  EXPECT_THAT(value(store_.read_tasks(run.key)), IsEmpty());
  EXPECT_FALSE(apply(store_, op).changed);
}

TEST_P(StoreTest, TheEndOfATaskWakesOrClaimsItsRun) {
  const RunRow run = with_tasks("order-1", {task("t-1"), task("t-2")});
  CommitTurn sleep = turn(run);
  sleep.release = true;
  sleep.status = RunStatus::kWaiting;
  apply(store_, sleep);
  const std::vector<TaskRow> taken = take(3000);
  ChangeTask op = change(taken[0], std::nullopt, 5000);
  op.arrival = timer("t-1", 0);
  EXPECT_EQ(apply(store_, op).owner, 0);
  EXPECT_EQ(row(run.key).wake_ms, 5000);
  op = change(taken[1], std::nullopt, 6000);
  op.arrival = timer("t-2", 0);
  op.claim_for = worker_;
  op = apply(store_, op);
  EXPECT_EQ(op.owner, worker_);
  ASSERT_TRUE(op.claim.has_value());
  EXPECT_THAT(labels(op.claim->inbox), ElementsAre("t-1", "t-2"));
}

TEST_P(StoreTest, ATaskChangesOnlyIfItIsAsItWasSeen) {
  with_tasks("order-1", {task("t-1")});
  TaskRow seen = take(3000)[0];
  ChangeTask beat = change(seen, TaskState::kRunning);
  beat.due_ms = 5000;
  beat.details = "half";
  EXPECT_TRUE(apply(store_, beat).changed);
  TaskRow now = value(store_.read_tasks(seen.run))[0];
  EXPECT_EQ(now.details, "half");
  EXPECT_EQ(now.due_ms, 5000);
  EXPECT_EQ(now.owner, worker_);
  EXPECT_EQ(now.attempt, 1U);

  ChangeTask wrong = beat;
  wrong.attempt = 2;
  wrong.details = "wrong";
  EXPECT_FALSE(apply(store_, wrong).changed);
  wrong = beat;
  wrong.state = TaskState::kReady;
  EXPECT_FALSE(apply(store_, wrong).changed);
  wrong = beat;
  wrong.task += 1;
  EXPECT_FALSE(apply(store_, wrong).changed);
  EXPECT_EQ(value(store_.read_tasks(seen.run))[0].details, "half");

  // Its retry waits, then somebody takes it again.
  ChangeTask retry = change(now, TaskState::kDelayed);
  retry.due_ms = 6000;
  retry.last_error = "it failed";
  EXPECT_TRUE(apply(store_, retry).changed);
  now = value(store_.read_tasks(seen.run))[0];
  EXPECT_EQ(now.state, TaskState::kDelayed);
  EXPECT_EQ(now.owner, 0);
  EXPECT_EQ(now.last_error, "it failed");
  EXPECT_EQ(now.details, "half");
  EXPECT_THAT(take(5999), IsEmpty());
  EXPECT_FALSE(apply(store_, change(seen, TaskState::kReady)).changed);
  ChangeTask ready = change(now, TaskState::kReady);
  EXPECT_TRUE(apply(store_, ready).changed);
  const std::vector<TaskRow> again = take(5999);
  ASSERT_EQ(again.size(), 1U);
  EXPECT_EQ(again[0].attempt, 2U);
}

TEST_P(StoreTest, ADelayedTaskIsReadyWhenItIsDue) {
  with_tasks("order-1", {task("t-1"), task("t-2", "mail", 5)});
  for (const TaskRow& seen : take(3000)) {
    ChangeTask retry = change(seen, TaskState::kDelayed);
    retry.due_ms = seen.id == "t-1" ? 5000 : 6000;
    apply(store_, retry);
  }
  EXPECT_THAT(take(4999), IsEmpty());
  EXPECT_THAT(ids(take(5000)), ElementsAre("t-1"));
  EXPECT_THAT(ids(take(6000)), ElementsAre("t-2"));
}

// Those that became ready and were not taken have their time to wait.
TEST_P(StoreTest, ADelayedTaskThatIsReadyWaitsNoLongerThanItMay) {
  NewTask limited = task("limited");
  limited.wait_ms = 500;
  NewTask ending = task("ending");
  ending.wait_ms = 500;
  ending.deadline_ms = 5300;
  NewTask patient = task("patient");
  patient.wait_ms = kNever;
  const RunRow run = with_tasks("order-1", {limited, ending, patient, task("any")});
  for (const TaskRow& taken : take(3000)) {
    ChangeTask op = change(taken, TaskState::kDelayed);
    op.due_ms = 5000;
    EXPECT_TRUE(apply(store_, op).changed);
  }
  EXPECT_THAT(take(5000, 0), IsEmpty());
  const std::vector<TaskRow> tasks = value(store_.read_tasks(run.key));
  ASSERT_EQ(tasks.size(), 4U);
  EXPECT_EQ(tasks[0].state, TaskState::kReady);
  EXPECT_EQ(tasks[0].wait_ms, 500);
  EXPECT_EQ(tasks[0].due_ms, 5500);
  EXPECT_EQ(tasks[1].due_ms, 5300);
  EXPECT_GE(tasks[2].due_ms, kNever - 1);
  EXPECT_EQ(tasks[3].due_ms, kNever);
}

TEST_P(StoreTest, TimeWithoutEndIsNoTimeBeforeNow) {
  NewTask endless = task("t");
  endless.attempt_ms = kNever;
  endless.heartbeat_ms = kNever - 1;
  with_tasks("order-1", {endless});
  const std::vector<TaskRow> taken = take(1'700'000'000'000);
  ASSERT_EQ(taken.size(), 1U);
  EXPECT_GE(taken[0].due_ms, kNever - 1);
}

TEST_P(StoreTest, DueTasksAreFoundInAnyState) {
  NewTask ready = task("ready");
  ready.due_ms = 300;
  NewTask later = task("later", "print");
  later.due_ms = 900;
  NewTask first = task("first", "print");
  first.due_ms = 100;
  with_tasks("order-1", {ready, later, first, task("never", "print")});
  std::int64_t next = 0;
  EXPECT_THAT(value(store_.due_tasks(99, 10, &next)), IsEmpty());
  EXPECT_EQ(next, 100);
  EXPECT_THAT(ids(value(store_.due_tasks(300, 10, &next))), ElementsAre("first", "ready"));
  EXPECT_EQ(next, 900);
  EXPECT_THAT(ids(value(store_.due_tasks(900, 2, &next))), ElementsAre("first", "ready"));
  EXPECT_EQ(next, 900);
  EXPECT_THAT(ids(value(store_.due_tasks(900, 1, &next))), ElementsAre("first"));
  EXPECT_EQ(next, 300);
  EXPECT_EQ(value(store_.due_tasks(900, 10, &next)).size(), 3U);
  EXPECT_EQ(next, kNever);
}

TEST_P(StoreTest, CancelledTasksAreGoneOrTold) {
  const RunRow run = with_tasks("order-1", {task("runs"), task("waits"), task("delayed", "print")});
  const TaskRow delayed = take(2500, 1, {"print"})[0];
  apply(store_, change(delayed, TaskState::kDelayed));
  const TaskRow running = take(3000, 1)[0];
  EXPECT_EQ(running.id, "runs");
  CommitTurn op = turn(run);
  op.cancelled_tasks = {"runs", "waits", "delayed", "none"};
  op = apply(store_, op);
  EXPECT_TRUE(op.committed);
  EXPECT_THAT(labels(op.bounced), ElementsAre("waits", "delayed"));
  EXPECT_EQ(op.bounced[0].kind, number_of(EntryKind::kTaskCancelled));
  EXPECT_THAT(inbox_of(store_, run.key), ElementsAre("waits", "delayed"));
  EXPECT_THAT(ids(value(store_.read_tasks(run.key))), ElementsAre("runs"));
  const ChangeTask beat = apply(store_, change(running, TaskState::kRunning));
  EXPECT_TRUE(beat.changed);
  EXPECT_TRUE(beat.cancel_requested);
}

TEST_P(StoreTest, ATaskIdThatIsThereAlreadyIsARetry) {
  const RunRow run = with_tasks("order-1", {task("t-1", "mail")});
  CommitTurn op = turn(run);
  op.tasks = {task("t-1", "mail"), task("t-2", "mail")};
  EXPECT_TRUE(apply(store_, op).committed);
  EXPECT_THAT(ids(value(store_.read_tasks(run.key))), ElementsAre("t-1", "t-2"));
}

// --- Workers -------------------------------------------------------------------------------------

TEST_P(StoreTest, WhatARemovedWorkerHeldIsFreeAtOnce) {
  const WorkerKey leaving = add_worker(store_);
  const RunRow run = start("order-1", leaving).row;
  const RunRow stays = held("order-2");
  ASSERT_TRUE(store_.remove_worker(leaving, 5000).has_value());
  EXPECT_EQ(row(run.key).owner, 0);
  EXPECT_EQ(row(run.key).wake_ms, 5000);
  EXPECT_EQ(row(run.key).status, RunStatus::kRunning);
  EXPECT_FALSE(apply(store_, turn(run)).committed);
  EXPECT_EQ(row(stays.key).owner, worker_);
  EXPECT_THAT(due(5000), ElementsAre(run.key));
  EXPECT_FALSE(apply(store_, Heartbeat{.worker = leaving, .expires_ms = 9}).known);
  EXPECT_TRUE(store_.remove_worker(leaving, 6000).has_value());
  EXPECT_TRUE(store_.remove_worker(12345, 6000).has_value());
}

TEST_P(StoreTest, AWorkerThatSaysNothingExpires) {
  const WorkerKey silent = add_worker(store_, 5000);
  const RunRow run = start("order-1", silent).row;
  with_tasks("order-2", {task("t-1")});
  TakeTasks op;
  op.queue = "q";
  op.types = {"mail"};
  op.worker = silent;
  op.limit = 1;
  op.now_ms = 1;
  ASSERT_EQ(apply(store_, op).taken.size(), 1U);
  EXPECT_EQ(value(store_.free_expired(worker_, 4999)).next_ms, 5000);
  EXPECT_EQ(row(run.key).owner, silent);
  EXPECT_TRUE(apply(store_, Heartbeat{.worker = silent, .expires_ms = 7000}).known);
  EXPECT_EQ(value(store_.free_expired(worker_, 6000)).next_ms, 7000);
  EXPECT_EQ(row(run.key).owner, silent);
  EXPECT_EQ(value(store_.free_expired(worker_, 7000)).next_ms, kNever);
  EXPECT_EQ(row(run.key).owner, 0);
  EXPECT_EQ(row(run.key).wake_ms, 7000);
  EXPECT_FALSE(apply(store_, Heartbeat{.worker = silent, .expires_ms = 9000}).known);
  EXPECT_FALSE(claim(run.key, silent).claimed);
  std::int64_t next = 0;
  const std::vector<TaskRow> due_now = value(store_.due_tasks(7000, 10, &next));
  EXPECT_THAT(ids(due_now), ElementsAre("t-1"));
  EXPECT_EQ(due_now[0].state, TaskState::kRunning);
  EXPECT_EQ(due_now[0].owner, 0);
}

TEST_P(StoreTest, AWorkerDoesNotFreeItself) {
  const WorkerKey late = add_worker(store_, 5000);
  const RunRow run = start("order-1", late).row;
  EXPECT_EQ(value(store_.free_expired(late, 6000)).next_ms, kNever);
  EXPECT_EQ(row(run.key).owner, late);
}

TEST_P(StoreTest, WorkersOfOneStoreLiveTogether) {
  const WorkerKey second = add_worker(store_);
  const RunRow run = start("order-1", second).row;
  const std::unique_ptr<Store> other = open();
  const WorkerKey third = add_worker(*other);
  EXPECT_EQ(value(store_.free_expired(worker_, 1)).next_ms, kNever);
  EXPECT_EQ(value(other->free_expired(third, 1)).next_ms, kNever);
  EXPECT_EQ(row(run.key).owner, second);
  EXPECT_TRUE(apply(store_, Heartbeat{.worker = third, .expires_ms = kNever}).known);
}

TEST_P(StoreTest, TheWorkersOfAClosedStoreAreDead) {
  std::unique_ptr<Store> other = open();
  const WorkerKey gone = add_worker(*other, GetParam().sees_the_dead ? kNever : 2000);
  StartRun op;
  op.run = new_run("order-1");
  op.owner = gone;
  const RunRow run = apply(*other, op).row;
  EXPECT_EQ(run.owner, gone);
  other.reset();
  EXPECT_EQ(value(store_.free_expired(worker_, 2000)).next_ms, kNever);
  EXPECT_EQ(row(run.key).owner, 0);
  EXPECT_EQ(row(run.key).wake_ms, 2000);
}

// --- Several stores, several processes -----------------------------------------------------------

// Runs `body` in a process of its own and returns its id. The body must not come back by return.
template <typename Body>
pid_t in_child(Body body) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    body();
    ::_exit(0);
  }
  return pid;
}

int wait_for(pid_t pid) {
  int status = 0;
  EXPECT_EQ(::waitpid(pid, &status, 0), pid);
  return status;
}

class Pipe {
 public:
  Pipe() { EXPECT_EQ(::pipe(ends_.data()), 0); }
  ~Pipe() {
    ::close(ends_[0]);
    ::close(ends_[1]);
  }
  void tell() const { EXPECT_EQ(::write(ends_[1], "x", 1), 1); }
  void hear() const {
    char byte = 0;
    EXPECT_EQ(::read(ends_[0], &byte, 1), 1);
  }

 private:
  std::array<int, 2> ends_{};
};

TEST_P(StoreTest, TwoStoresSeeOneAnothersCommits) {
  const std::unique_ptr<Store> other = open();
  const WorkerKey theirs = add_worker(*other);
  const RunRow run = start("order-1").row;
  Claim op;
  op.run = run.key;
  op.worker = theirs;
  EXPECT_TRUE(apply(*other, op).claimed);
  EXPECT_FALSE(claim(run.key, worker_).claimed);
  EXPECT_EQ(row(run.key).owner, theirs);
}

// At once where the store sees that it is dead, else when it has expired.
TEST_P(StoreTest, AKilledProcessLosesWhatItHeld) {
  const std::int64_t expires_ms = GetParam().sees_the_dead ? kNever : 200;
  store_ptr_.reset();  // A connection must not be taken along into another process.
  const Pipe ready;
  const Pipe never;
  const pid_t pid = in_child([&] {
    const std::unique_ptr<Store> mine = value(backend_->open("default"));
    StartRun op;
    op.run = new_run("order-1");
    op.owner = value(mine->add_worker({"child", expires_ms, 0}));
    apply(*mine, op);
    ready.tell();
    never.hear();
  });
  ready.hear();
  const std::unique_ptr<Store> store = open();
  const WorkerKey self = add_worker(*store);
  const auto owner = [&] { return value(store->find_run("order-1", std::nullopt))->owner; };
  EXPECT_EQ(value(store->free_expired(self, 100)).next_ms, expires_ms);
  EXPECT_NE(owner(), 0);
  ::kill(pid, SIGKILL);
  wait_for(pid);
  EXPECT_EQ(value(store->free_expired(self, 200)).next_ms, kNever);
  EXPECT_EQ(owner(), 0);
  ClaimDue op;
  op.kinds = {"order"};
  op.worker = self;
  op.limit = 1;
  op.now_ms = 200;
  EXPECT_EQ(apply(*store, op).claims.size(), 1U);
}

TEST_P(StoreTest, ProcessesThatOpenAFreshDatabaseTogetherAllSucceed) {
  store_ptr_.reset();
  for (int round = 0; round < 5; ++round) {
    const std::unique_ptr<Backend> fresh = GetParam().make();
    const Pipe go;
    std::vector<pid_t> children;
    for (int i = 0; i < 4; ++i) {
      children.push_back(in_child([&] {
        go.hear();
        const Result<std::unique_ptr<Store>> mine = fresh->open("space-" + std::to_string(i % 2));
        if (!mine.has_value()) {
          std::fprintf(stderr, "%s\n", mine.error().message.c_str());
        }
        ::_exit(mine.has_value() ? 0 : 1);
      }));
    }
    for (int i = 0; i < 4; ++i) {
      go.tell();
    }
    for (const pid_t pid : children) {
      EXPECT_EQ(wait_for(pid), 0);
    }
  }
}

TEST_P(StoreTest, EveryRunIsClaimedByOneOfManyProcesses) {
  constexpr int kRuns = 200;
  for (int i = 0; i < kRuns; ++i) {
    start("run-" + std::to_string(i));
  }
  store_ptr_.reset();
  std::vector<pid_t> children;
  for (int i = 0; i < 3; ++i) {
    children.push_back(in_child([&] {
      const std::unique_ptr<Store> mine = value(backend_->open("default"));
      const WorkerKey self = value(mine->add_worker({"child", kNever, 0}));
      ClaimDue op;
      op.kinds = {"order"};
      op.worker = self;
      op.limit = 3;
      op.now_ms = 5000;
      bool ok = true;
      while (true) {
        ClaimDue claimed = apply(*mine, op);
        if (claimed.claims.empty()) {
          break;
        }
        for (const Claim& one : claimed.claims) {
          CommitTurn step = turn(one.row);
          step.entries = {entry(1)};
          ok = ok && one.row.epoch == 1 && apply(*mine, step).committed;
          step = turn(one.row);
          step.ending = Ending{};
          step.ending->status = RunStatus::kCompleted;
          ok = ok && apply(*mine, step).committed;
        }
      }
      ::_exit(ok ? 0 : 1);
    }));
  }
  for (const pid_t pid : children) {
    EXPECT_EQ(wait_for(pid), 0);
  }
  const std::unique_ptr<Store> store = open();
  for (int i = 0; i < kRuns; ++i) {
    const std::optional<RunRow> run =
        value(store->find_run("run-" + std::to_string(i), std::nullopt));
    EXPECT_EQ(run->status, RunStatus::kCompleted);
    EXPECT_THAT(seqs_of(*store, run->key), ElementsAre(1));
  }
}

TEST_P(StoreTest, ThreadsOfOneStoreDoNotDisturbOneAnother) {
  constexpr int kThreads = 4;
  constexpr int kRuns = 50;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < kRuns; ++i) {
        const RunRow run = held(std::to_string(t) + "-" + std::to_string(i));
        CommitTurn op = turn(run);
        op.entries = {entry(1)};
        EXPECT_TRUE(apply(store_, op).committed);
        EXPECT_THAT(seqs_of(store_, run.key), ElementsAre(1));
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
}

TEST_P(StoreTest, NamespacesDoNotSeeOneAnother) {
  const std::unique_ptr<Store> shop = open("shop");
  const WorkerKey theirs = add_worker(*shop);
  StartRun op;
  op.run = new_run("order-1");
  op.run.input = "theirs";
  const RunRow run = apply(*shop, op).row;
  EXPECT_FALSE(value(store_.find_run("order-1", std::nullopt)).has_value());
  EXPECT_FALSE(value(store_.find_run(run.key)).has_value());
  EXPECT_EQ(value(store_.read_input(run.key)), "");
  EXPECT_FALSE(claim(run.key, worker_).claimed);
  EXPECT_EQ(next_wake(), kNever);
  EXPECT_THAT(due(99'999), IsEmpty());
  EXPECT_EQ(send("order-1", signal("s")).outcome, SendOutcome::kNoRun);
  EXPECT_EQ(terminate(run.key).outcome, SendOutcome::kNoRun);
  EXPECT_EQ(start("order-1").outcome, StartOutcome::kStarted);
  EXPECT_FALSE(apply(store_, Heartbeat{.worker = theirs, .expires_ms = 5}).known);
  EXPECT_EQ(value(store_.free_expired(worker_, 99'999)).next_ms, kNever);
  EXPECT_TRUE(apply(*shop, Heartbeat{.worker = theirs, .expires_ms = kNever}).known);
}

// --- Changes by others ---------------------------------------------------------------------------

class Bell {
 public:
  void ring() {
    const std::scoped_lock lock(mutex_);
    ++rings_;
    rung_.notify_all();
  }
  bool wait(int rings) {
    std::unique_lock lock(mutex_);
    return rung_.wait_for(lock, std::chrono::seconds(60), [&] { return rings_ >= rings; });
  }
  int rings() {
    const std::scoped_lock lock(mutex_);
    return rings_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable rung_;
  int rings_ = 0;
};

TEST_P(StoreTest, OthersAreToldOfWhatMayConcernThem) {
  const std::unique_ptr<Store> other = open();
  Bell bell;
  other->watch([&](Store::Change) { bell.ring(); });
  start("order-1");
  EXPECT_TRUE(bell.wait(1));
  const int before = bell.rings();
  send("order-1", signal("hello"));
  EXPECT_TRUE(bell.wait(before + 1));
  other->watch({});
}

TEST_P(StoreTest, WhoWaitsIsToldOfTheEndOfARun) {
  for (const bool watches : {false, true}) {
    const std::string id = watches ? "watched" : "unwatched";
    const std::unique_ptr<Store> other = open();
    if (watches) {
      store_.watch([](Store::Change) {});
    }
    Bell bell;
    start(id);
    other->watch([&](Store::Change) { bell.ring(); });
    EXPECT_EQ(terminate(id, "null").outcome, SendOutcome::kSent);
    EXPECT_TRUE(bell.wait(1)) << id;
    other->watch({});
    store_.watch({});
  }
}

TEST_P(StoreTest, AStoreIsNotToldOfItsOwnCommits) {
  const std::unique_ptr<Store> other = open();
  Bell mine;
  Bell theirs;
  store_.watch([&](Store::Change) { mine.ring(); });
  other->watch([&](Store::Change) { theirs.ring(); });
  for (int i = 0; i < 20; ++i) {
    start("order-" + std::to_string(i));
  }
  EXPECT_TRUE(theirs.wait(1));
  StartRun op;
  op.run = new_run("theirs");
  apply(*other, op);
  // One by the other store; had there been any by this one's, they would have come before.
  EXPECT_TRUE(mine.wait(1));
  EXPECT_EQ(mine.rings(), 1);
  store_.watch({});
  other->watch({});
}

TEST_P(StoreTest, AnotherProcessIsHeard) {
  store_ptr_.reset();
  const Pipe go;
  const pid_t pid = in_child([&] {
    const std::unique_ptr<Store> mine = value(backend_->open("default"));
    go.hear();
    StartRun op;
    op.run = new_run("theirs");
    apply(*mine, op);
  });
  const std::unique_ptr<Store> store = open();
  Bell bell;
  store->watch([&](Store::Change) { bell.ring(); });
  go.tell();
  EXPECT_TRUE(bell.wait(1));
  wait_for(pid);
  EXPECT_TRUE(value(store->find_run("theirs", std::nullopt)).has_value());
  store->watch({});
}

// --- Sizes and names -----------------------------------------------------------------------------

TEST_P(StoreTest, HostileNamesAreStoredAndFoundByteByByte) {
  const std::vector<std::string> names = {"'; DROP TABLE pawl_run; --",
                                          "\"",
                                          std::string("a\0b", 3),
                                          std::string("a\0c", 3),
                                          std::string("\0", 1),
                                          "\xff\xfe\x80",
                                          "\xc3",
                                          " ",
                                          "%_*?[",
                                          "\n\r\t",
                                          "ä",
                                          "a\xcc\x88",
                                          "A",
                                          "a"};
  std::vector<RunKey> keys;
  for (const std::string& name : names) {
    StartRun op;
    op.run = new_run(name, name);
    op.run.input = name;
    op.run.definition = name;
    op.run.tags = {{name, name}};
    op.owner = worker_;
    op.signal = signal(name, name);
    op.dedupe = name;
    op = apply(store_, op);
    ASSERT_EQ(op.outcome, StartOutcome::kStarted) << name;
    keys.push_back(op.row.key);
    CommitTurn step = turn(op.row);
    replay::Entry odd = entry(1, name);
    odd.id = name;
    odd.step_key = name;
    odd.extra = name;
    odd.payload = name;
    odd.has_payload = true;
    step.entries = {odd};
    step.promises = {name};
    step.tasks = {task(name, name)};
    step.tasks[0].queue = name;
    step.arrivals = {timer(name, 9000)};
    EXPECT_TRUE(apply(store_, step).committed);
    EXPECT_THAT(log_of(store_, op.row.key), ElementsAre(describe(odd)));
    EXPECT_EQ(send(name, signal("x"), name).outcome, SendOutcome::kDuplicate);
    EXPECT_EQ(resolve(name, name).outcome, SendOutcome::kSent);
    EXPECT_EQ(resolve(name, name).outcome, SendOutcome::kResolved);
    CommitTurn back = turn(op.row);
    back.withdrawn = {{number_of(EntryKind::kTimerFired), name}};
    apply(store_, back);
    EXPECT_THAT(inbox_of(store_, op.row.key), ElementsAre(name, name));
    TakeTasks take_odd;
    take_odd.queue = name;
    take_odd.types = {name};
    take_odd.worker = worker_;
    take_odd.limit = 10;
    const TakeTasks taken = apply(store_, take_odd);
    ASSERT_EQ(taken.taken.size(), 1U);
    EXPECT_EQ(taken.taken[0].id, name);
    EXPECT_EQ(taken.taken[0].run_id, name);
  }
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::optional<RunRow> found = value(store_.find_run(names[i], std::nullopt));
    ASSERT_TRUE(found.has_value());
    EXPECT_EQ(found->key, keys[i]);
    EXPECT_EQ(found->id, names[i]);
    EXPECT_EQ(found->kind, names[i]);
    EXPECT_EQ(found->definition, names[i]);
    EXPECT_EQ(value(store_.read_input(found->key)), names[i]);
    EXPECT_THAT(value(store_.read_tags(found->key)), ElementsAre(Tag{names[i], names[i]}));
  }
}

TEST_P(StoreTest, EmptyNamesAreNamesToo) {
  StartRun op;
  op.owner = worker_;
  const RunRow run = apply(store_, op).row;
  EXPECT_EQ(value(store_.find_run("", std::nullopt))->key, run.key);
  CommitTurn step = turn(run);
  step.promises = {""};
  step.tasks = {task("", "")};
  EXPECT_TRUE(apply(store_, step).committed);
  EXPECT_EQ(resolve("", "").outcome, SendOutcome::kSent);
  EXPECT_THAT(ids(take(5000, 10, {""})), ElementsAre(""));
}

TEST_P(StoreTest, LargePayloadsComeBackWhole) {
  std::string large(std::size_t{10} << 20U, '\0');
  for (std::size_t i = 0; i < large.size(); ++i) {
    large[i] = static_cast<char>(mix_hash(i / 64));
  }
  StartRun op;
  op.run = new_run("order-1");
  op.run.input = large;
  op.owner = worker_;
  op.signal = signal("big", large);
  const RunRow run = apply(store_, op).row;
  CommitTurn step = turn(run);
  replay::Entry big = entry(1);
  big.has_payload = true;
  big.payload = large;
  step.entries = {big};
  EXPECT_TRUE(apply(store_, step).committed);
  EXPECT_TRUE(value(store_.read_input(run.key)) == large);
  EXPECT_TRUE(value(store_.read_inbox_of(run.key))[0].payload == large);
  EXPECT_TRUE(store_.read_log(run.key, 1, [&](const replay::Entry& seen) -> Result<void> {
    EXPECT_TRUE(seen.payload == large);
    return {};
  }));
}

TEST_P(StoreTest, WhatIsTooLargeIsRefusedAndNothingIsWritten) {
  const RunRow run = held("order-1");
  const std::string large((std::size_t{64} << 20U) + 1, 'x');
  CommitTurn fine = turn(run);
  fine.entries = {entry(1)};
  CommitTurn big = turn(run);
  replay::Entry too_big = entry(2);
  too_big.has_payload = true;
  too_big.payload = large;
  big.entries = {too_big};
  std::vector<Op> ops = {fine, big};
  const Result<void> done = store_.apply(ops);
  ASSERT_FALSE(done.has_value());
  EXPECT_EQ(done.error().code, ErrorCode::kLimitExceeded);
  EXPECT_THAT(done.error().message, testing::HasSubstr("67108865"));
  EXPECT_THAT(seqs_of(store_, run.key), IsEmpty());

  const std::string long_name(replay::kNameBytesMax + 1, 'n');
  StartRun op;
  op.run = new_run(long_name);
  ops = {op};
  EXPECT_EQ(store_.apply(ops).error().code, ErrorCode::kLimitExceeded);
  // What is filled in late concerns that turn alone.
  CommitTurn late = turn(run);
  late.inside = [&](Database&, CommitTurn& turn) -> Result<void> {
    turn.entries = {too_big};
    return {};
  };
  late = apply(store_, late);
  EXPECT_FALSE(late.committed);
  ASSERT_TRUE(late.refused.has_value());
  EXPECT_EQ(late.refused->code, ErrorCode::kLimitExceeded);
  EXPECT_TRUE(apply(store_, fine).committed);
}

TEST_P(StoreTest, ALogOfAHundredThousandEntriesIsRead) {
  constexpr std::uint64_t kEntries = 100'000;
  const RunRow run = held("order-1");
  const std::string payload(100, 'p');
  for (std::uint64_t seq = 1; seq <= kEntries;) {
    CommitTurn op = turn(run);
    for (int i = 0; i < 1000; ++i, ++seq) {
      replay::Entry one = entry(seq);
      one.has_payload = true;
      one.payload = payload;
      op.entries.push_back(one);
    }
    ASSERT_TRUE(apply(store_, op).committed);
  }
  std::uint64_t seen = 0;
  EXPECT_TRUE(store_.read_log(run.key, 1, [&](const replay::Entry& one) -> Result<void> {
    EXPECT_EQ(one.seq, ++seen);
    return {};
  }));
  EXPECT_EQ(seen, kEntries);
}

TEST_P(StoreTest, AnEmptyBatchIsFine) { EXPECT_TRUE(store_.apply({}).has_value()); }

TEST_P(StoreTest, OperationsOfABatchSeeOneAnother) {
  StartRun first;
  first.run = new_run("order-1");
  first.owner = worker_;
  Send second;
  second.run_id = "order-1";
  second.arrival = signal("hello");
  StartRun third = first;
  std::vector<Op> ops = {first, second, third};
  ASSERT_TRUE(store_.apply(ops).has_value());
  EXPECT_EQ(std::get<Send>(ops[1]).target, std::get<StartRun>(ops[0]).row.key);
  EXPECT_EQ(std::get<StartRun>(ops[2]).outcome, StartOutcome::kExisting);
}

// --- What people do to runs ----------------------------------------------------------------------

class UpkeepTest : public StoreTest {
 protected:
  Pause pause(RunKey run, bool is_paused = true, std::int64_t now_ms = 5000) {
    Pause op;
    op.run = run;
    op.is_paused = is_paused;
    op.now_ms = now_ms;
    return apply(store_, op);
  }
  Hurry hurry(RunKey run, std::int64_t now_ms = 5000) {
    Hurry op;
    op.run = run;
    op.now_ms = now_ms;
    return apply(store_, op);
  }
  DeleteRun::Outcome remove(RunKey run) {
    DeleteRun op;
    op.run = run;
    return apply(store_, op).outcome;
  }
  CommitTurn release(const RunRow& run, RunStatus status = RunStatus::kWaiting) {
    CommitTurn op = turn(run);
    op.release = true;
    op.status = status;
    op.blocked_by = "code";
    op.wake_ms = 6000;
    return apply(store_, op);
  }
  RunImage image(RunKey run) { return value(store_.catalog().read_image(run)); }

  // A run with something of everything that an open one can have.
  RunRow rich(const std::string& id) {
    StartRun begin;
    begin.run = new_run(id);
    begin.run.input = std::string("in\0put", 6);
    begin.run.definition = "print";
    begin.run.tags = {{"color", "red"}, {"color", "blue"}, {"", "\xff"}};
    begin.owner = worker_;
    begin.signal = signal("early", "payload");
    begin.dedupe = "event-1";
    begin.now_ms = 1000;
    const RunRow run = apply(store_, begin).row;
    CommitTurn step = turn(run);
    replay::Checkpoint checkpoint;
    checkpoint.iteration = 3;
    checkpoint.state = "state";
    checkpoint.changes = {{"x", "1"}, {"y", std::nullopt}};
    checkpoint.taken = {2};
    replay::Entry loop = entry(2, "", EntryKind::kLoopCheckpointed);
    loop.location = "{1}";
    loop.checkpoint = &checkpoint;
    replay::Entry full = entry(3, "charge", EntryKind::kTaskScheduled);
    full.location = "{2}";
    full.id = "11111111-2222-5333-8444-555555555555";
    full.step_key = "key";
    full.source = "a.cc:1";
    full.has_payload = true;
    full.payload = std::string_view("\x01\0\xff", 3);
    full.number = -5;
    full.input_digest = 0xffff'ffff'ffff'ffffULL;
    full.extra = "{}";
    full.version = 7;
    step.entries = {entry(1), loop, full};
    step.kept = {begin.signal.has_value() ? value(store_.read_inbox_of(run.key)).back().key : 0};
    step.arrivals = {timer("t", 9000)};
    step.tasks = {task("ready", "charge"), task("later", "mail"), task("now", "print")};
    step.tasks[2].wait_ms = 50;
    step.tasks[2].deadline_ms = 90'000;
    step.promises = {"open", "done"};
    EXPECT_TRUE(apply(store_, step).committed);
    EXPECT_EQ(resolve(id, "done").outcome, SendOutcome::kSent);
    TakeTasks take;
    take.queue = step.tasks[1].queue;
    take.types = {"mail", "print"};
    take.worker = worker_;
    take.limit = 2;
    take.now_ms = 2100;
    take = apply(store_, take);
    EXPECT_EQ(take.taken.size(), 2U);
    ChangeTask later;
    later.task = take.taken[0].type == "mail" ? take.taken[0].key : take.taken[1].key;
    later.state = TaskState::kRunning;
    later.attempt = 1;
    later.next = TaskState::kDelayed;
    later.due_ms = 20'000;
    later.details = "half";
    later.last_error = "no luck";
    later.now_ms = 2200;
    EXPECT_TRUE(apply(store_, later).changed);
    return row(run.key);
  }
};

INSTANTIATE_TEST_SUITE_P(Backends, UpkeepTest, testing::ValuesIn(backend_kinds()), kind_name);

TEST_P(UpkeepTest, NobodyClaimsAPausedRun) {
  const RunRow run = waiting("order-1");
  const Pause op = pause(run.key);
  EXPECT_EQ(op.outcome, SendOutcome::kSent);
  EXPECT_EQ(op.target, run.key);
  EXPECT_TRUE(op.changed);
  EXPECT_EQ(op.owner, 0);
  EXPECT_TRUE(row(run.key).is_paused);
  EXPECT_EQ(row(run.key).status, RunStatus::kWaiting);
  Send sent;
  sent.run_id = "order-1";
  sent.arrival = signal("hello");
  sent.claim_for = worker_;
  sent.now_ms = 6000;
  sent = apply(store_, sent);
  EXPECT_EQ(sent.outcome, SendOutcome::kSent);
  EXPECT_FALSE(sent.claim.has_value());
  EXPECT_EQ(sent.owner, 0);
  EXPECT_FALSE(claim(run.key, worker_).claimed);
  EXPECT_THAT(due(99'999), IsEmpty());
  EXPECT_EQ(next_wake(), kNever);
  EXPECT_EQ(resume(run.key).outcome, SendOutcome::kSent);
  EXPECT_EQ(next_wake(), kNever);
  EXPECT_THAT(inbox_of(store_, run.key), ElementsAre("hello"));
  EXPECT_TRUE(pause(run.key, false, 7000).changed);
  EXPECT_FALSE(row(run.key).is_paused);
  EXPECT_EQ(next_wake(), 7000);
  const ClaimDue claimed = claim_due(7000);
  ASSERT_EQ(claimed.claims.size(), 1U);
  EXPECT_THAT(labels(claimed.claims[0].inbox), ElementsAre("hello"));
}

TEST_P(UpkeepTest, WhoHoldsAPausedRunIsToldAndGivesItBack) {
  const RunRow run = held("order-1");
  const Pause op = pause(run.key);
  EXPECT_TRUE(op.changed);
  EXPECT_EQ(op.owner, worker_);
  EXPECT_EQ(send("order-1", signal("hello")).owner, worker_);
  CommitTurn step = turn(run);
  step.entries = {entry(1)};
  step = apply(store_, step);
  EXPECT_TRUE(step.committed);
  EXPECT_TRUE(step.is_paused);
  EXPECT_EQ(row(run.key).owner, worker_);
  const CommitTurn back = release(run);  // Although something is due.
  EXPECT_TRUE(back.released);
  EXPECT_TRUE(back.is_paused);
  EXPECT_EQ(back.wake_ms, kNever);
  EXPECT_EQ(row(run.key).owner, 0);
  EXPECT_EQ(row(run.key).wake_ms, kNever);
}

TEST_P(UpkeepTest, AnotherStoreThatHoldsThePausedRunIsToldToo) {
  const RunRow run = held("order-1");
  CommitTurn first = turn(run);
  first.entries = {entry(1)};
  EXPECT_FALSE(apply(store_, first).is_paused);
  const std::unique_ptr<Store> other = open();
  Pause op;
  op.run_id = "order-1";
  EXPECT_EQ(apply(*other, op).owner, worker_);
  CommitTurn second = turn(run);
  second.entries = {entry(2)};
  EXPECT_TRUE(apply(store_, second).is_paused);
  op.is_paused = false;
  EXPECT_TRUE(apply(*other, op).changed);
  EXPECT_EQ(row(run.key).owner, worker_);
  EXPECT_EQ(row(run.key).wake_ms, kNever);  // It is held.
  CommitTurn third = turn(run);
  third.entries = {entry(3)};
  EXPECT_FALSE(apply(store_, third).is_paused);
}

TEST_P(UpkeepTest, APausedRunOfADeadWorkerStaysAsleep) {
  const RunRow run = held("order-1");
  pause(run.key);
  ASSERT_TRUE(store_.remove_worker(worker_, 6000).has_value());
  EXPECT_EQ(row(run.key).owner, 0);
  EXPECT_EQ(next_wake(), kNever);
  EXPECT_TRUE(pause(run.key, false, 7000).changed);
  EXPECT_EQ(next_wake(), 7000);
}

TEST_P(UpkeepTest, APausedRunThatIsBlockedNeedsBothToGoOn) {
  const RunRow run = held("order-1");
  EXPECT_TRUE(release(run, RunStatus::kBlocked).released);
  pause(run.key);
  ClaimStuck stuck;
  stuck.codes = {{"order", "new code"}};
  stuck.worker = worker_;
  stuck.limit = 10;
  EXPECT_THAT(apply(store_, stuck).claims, IsEmpty());
  EXPECT_EQ(resume(run.key).outcome, SendOutcome::kSent);
  EXPECT_TRUE(row(run.key).is_approved);
  EXPECT_EQ(row(run.key).status, RunStatus::kRunning);
  EXPECT_EQ(next_wake(), kNever);
  pause(run.key, false, 9000);
  EXPECT_EQ(next_wake(), 9000);
  // The other way round.
  const RunRow other = held("order-2");
  EXPECT_TRUE(release(other, RunStatus::kBlocked).released);
  pause(other.key);
  pause(other.key, false);
  EXPECT_EQ(row(other.key).wake_ms, kNever);
  EXPECT_EQ(row(other.key).status, RunStatus::kBlocked);
  EXPECT_EQ(apply(store_, stuck).claims.size(), 1U);
}

TEST_P(UpkeepTest, PausingSaysWhatItCannotDo) {
  EXPECT_EQ(pause(77).outcome, SendOutcome::kNoRun);
  Pause by_id;
  by_id.run_id = "nobody";
  EXPECT_EQ(apply(store_, by_id).outcome, SendOutcome::kNoRun);
  EXPECT_EQ(apply(store_, by_id).target, 0);
  const RunRow run = held("order-1");
  EXPECT_FALSE(pause(run.key, false).changed);
  EXPECT_TRUE(pause(run.key).changed);
  EXPECT_FALSE(pause(run.key).changed);
  end(run, RunStatus::kCompleted);
  EXPECT_FALSE(row(run.key).is_paused);
  const Pause closed = pause(run.key);
  EXPECT_EQ(closed.outcome, SendOutcome::kClosed);
  EXPECT_FALSE(closed.changed);
  EXPECT_FALSE(row(run.key).is_paused);
  const RunRow terminated = waiting("order-2");
  pause(terminated.key);
  terminate(terminated.key);
  EXPECT_FALSE(row(terminated.key).is_paused);
}

TEST_P(UpkeepTest, TheNextOfAPausedRunIsPaused) {
  const RunRow run = held("order-1");
  pause(run.key);
  CommitTurn op = turn(run);
  op.ending = Ending{};
  op.ending->status = RunStatus::kRecurred;
  op.ending->next = new_run("order-1");
  op = apply(store_, op);
  ASSERT_EQ(op.started.size(), 1U);
  EXPECT_TRUE(op.is_paused);
  EXPECT_FALSE(row(run.key).is_paused);
  EXPECT_TRUE(row(op.started[0]).is_paused);
  EXPECT_THAT(due(99'999), IsEmpty());
  pause(op.started[0], false, 8000);
  EXPECT_THAT(due(8000), ElementsAre(op.started[0]));
}

TEST_P(UpkeepTest, WhatWaitsForItsNextAttemptIsHurried) {
  EXPECT_EQ(hurry(77).outcome, SendOutcome::kNoRun);
  const RunRow run = rich("order-1");  // One task is delayed, one runs, one is ready.
  Hurry op = hurry(run.key);
  EXPECT_EQ(op.outcome, SendOutcome::kSent);
  EXPECT_EQ(op.target, run.key);
  EXPECT_EQ(op.attempts, 1);
  EXPECT_EQ(hurry(run.key).attempts, 0);
  TakeTasks take;
  take.queue = image(run.key).tasks[0].queue;
  take.types = {"mail"};
  take.worker = worker_;
  take.limit = 5;
  take.now_ms = 5000;
  EXPECT_EQ(apply(store_, take).taken.size(), 1U);

  const RunRow other = held("order-2");
  CommitTurn step = turn(other);
  NewArrival retry;
  retry.kind = kRetryOperation;
  retry.id = "op";
  retry.due_ms = 50'000;
  step.arrivals = {retry, timer("t", 60'000)};
  step.release = true;
  step.status = RunStatus::kWaiting;
  EXPECT_TRUE(apply(store_, step).released);
  EXPECT_EQ(next_wake(), 50'000);
  EXPECT_EQ(hurry(other.key).attempts, 1);
  EXPECT_EQ(next_wake(), 5000);  // The timer is no attempt.
  EXPECT_EQ(value(store_.read_due_inbox(other.key, 5000)).size(), 1U);
  const RunRow closed = held("order-3");
  end(closed, RunStatus::kCompleted);
  EXPECT_EQ(hurry(closed.key).outcome, SendOutcome::kClosed);
}

TEST_P(UpkeepTest, ACompensationIsHurried) {
  const RunRow run = held("order-1");
  CommitTurn op = turn(run);
  op.ending = Ending{};
  op.ending->status = RunStatus::kCompensating;
  op.ending->goal = RunStatus::kFailed;
  op.ending->compensations.resize(2);
  op.ending->compensations[0].state = CompensationState::kDone;
  op.ending->compensations[0].due_ms = 80'000;
  op.ending->compensations[1].position = 1;
  op.ending->compensations[1].due_ms = 80'000;
  op.release = true;
  op.status = RunStatus::kCompensating;
  op.wake_ms = 80'000;
  EXPECT_TRUE(apply(store_, op).released);
  pause(run.key);
  EXPECT_EQ(hurry(run.key).attempts, 1);
  EXPECT_EQ(next_wake(), kNever);  // It is paused.
  EXPECT_EQ(value(store_.read_compensations(run.key))[1].due_ms, 5000);
  EXPECT_EQ(value(store_.read_compensations(run.key))[0].due_ms, 80'000);
  pause(run.key, false, 6000);
  EXPECT_EQ(next_wake(), 6000);
}

TEST_P(UpkeepTest, AClosedRunIsDeletedAndNothingElse) {
  EXPECT_EQ(remove(77), DeleteRun::Outcome::kNoRun);
  const RunRow run = rich("order-1");
  EXPECT_EQ(remove(run.key), DeleteRun::Outcome::kOpen);
  EXPECT_EQ(log_of(store_, run.key).size(), 3U);
  const RunRow other = rich("order-2");
  const std::string before = describe(image(other.key));
  end(run, RunStatus::kCompleted);
  EXPECT_EQ(remove(run.key), DeleteRun::Outcome::kDeleted);
  EXPECT_EQ(remove(run.key), DeleteRun::Outcome::kNoRun);
  EXPECT_FALSE(value(store_.find_run(run.key)).has_value());
  EXPECT_FALSE(value(store_.find_run("order-1", std::nullopt)).has_value());
  EXPECT_THAT(log_of(store_, run.key), IsEmpty());
  EXPECT_EQ(value(store_.read_input(run.key)), "");
  EXPECT_THAT(value(store_.read_tags(run.key)), IsEmpty());
  EXPECT_EQ(store_.catalog().read_image(run.key).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(describe(image(other.key)), before);
  const StartRun again = start("order-1");
  EXPECT_EQ(again.outcome, StartOutcome::kStarted);
  EXPECT_GT(again.row.key, other.key);  // Keys do not come back.
}

TEST_P(UpkeepTest, AChildAndItsParentAreKeptForOneAnother) {
  const RunRow parent = held("parent");
  CommitTurn op = turn(parent);
  op.children = {new_run("child")};
  op.children[0].parent = {parent.key, "command", ParentClose::kAbandon};
  op = apply(store_, op);
  const RunKey child = op.started.at(0);
  terminate(child);
  EXPECT_EQ(remove(child), DeleteRun::Outcome::kNeeded);
  CommitTurn more = turn(parent);
  more.children = {new_run("second child")};
  more.children[0].parent = {parent.key, "command 2", ParentClose::kAbandon};
  const RunKey second = apply(store_, more).started.at(0);
  end(parent, RunStatus::kCompleted);
  EXPECT_EQ(remove(parent.key), DeleteRun::Outcome::kNeeded);
  EXPECT_EQ(remove(child), DeleteRun::Outcome::kDeleted);
  EXPECT_EQ(remove(second), DeleteRun::Outcome::kOpen);
  terminate(second);
  EXPECT_EQ(remove(parent.key), DeleteRun::Outcome::kDeleted);
  RunFilter filter;
  filter.parent = parent.key;
  EXPECT_EQ(value(store_.catalog().count_runs(filter)), 1);
  EXPECT_EQ(remove(second), DeleteRun::Outcome::kDeleted);
}

TEST_P(UpkeepTest, EventsThatWereTakenStayKnownToTheNextRun) {
  const RunRow run = held("order-1");
  EXPECT_EQ(send("order-1", signal("s"), "event-1").outcome, SendOutcome::kSent);
  CommitTurn op = turn(run);
  op.ending = Ending{};
  op.ending->status = RunStatus::kRecurred;
  op.ending->next = new_run("order-1");
  ASSERT_TRUE(apply(store_, op).committed);
  EXPECT_EQ(remove(run.key), DeleteRun::Outcome::kDeleted);
  EXPECT_EQ(send("order-1", signal("s"), "event-1").outcome, SendOutcome::kDuplicate);
  EXPECT_THAT(image(value(store_.find_run("order-1", std::nullopt))->key).dedupe,
              ElementsAre("event-1"));
}

// What a visit gives, as lines.
class Visited : public RunVisitor {
 public:
  Result<void> begin_run(VisitedRun run) override {
    runs.push_back(run.image.row.id);
    images.push_back(describe(run.image));
    children.push_back(run.children);
    entries.emplace_back();
    forgotten.emplace_back();
    if (on_begin) {
      on_begin();
    }
    return {};
  }
  Result<void> visit_entry(const replay::Entry& entry) override {
    EXPECT_TRUE(forgotten.back().empty());
    entries.back().push_back(describe(entry));
    bytes += entry.payload.size();
    if (entry.seq == refused_seq) {
      return make_error(ErrorCode::kStoreCorrupt, "enough");
    }
    return {};
  }
  Result<void> visit_forgotten(const replay::Entry& entry, const MovedFrom& from) override {
    forgotten.back().push_back(entry.seq);
    places.push_back(std::string(from.loop) + " " + std::to_string(from.iteration));
    return {};
  }
  Result<void> end_run() override {
    ++ended;
    return {};
  }

  std::function<void()> on_begin;
  std::uint64_t refused_seq = 0;
  std::vector<std::string> runs;
  std::vector<std::string> images;
  std::vector<std::vector<std::string>> children;
  std::vector<std::vector<std::string>> entries;
  std::vector<std::vector<std::uint64_t>> forgotten;
  std::vector<std::string> places;
  std::size_t bytes = 0;
  std::size_t ended = 0;
};

TEST_P(UpkeepTest, AVisitGivesAllThatIsStoredOfEachRun) {
  const std::unique_ptr<Store> shop = open("shop");
  std::vector<RunRow> rows;
  for (int i = 0; i < 5; ++i) {
    StartRun other;
    other.run = new_run("other-" + std::to_string(i));
    apply(*shop, other);
    rows.push_back(rich("order-" + std::to_string(i)));
  }
  CommitTurn step = turn(rows[3]);
  step.forgotten = {1};
  replay::Checkpoint checkpoint;
  checkpoint.iteration = 4;
  replay::Entry loop = entry(4, "", EntryKind::kLoopCheckpointed);
  loop.location = "{1}";
  loop.checkpoint = &checkpoint;
  step.entries = {loop};
  step.children = {new_run("child")};
  step.children[0].parent = {rows[3].key, "command", ParentClose::kAbandon};
  ASSERT_TRUE(apply(store_, step).committed);

  Visited all;
  ASSERT_TRUE(store_.catalog().visit_all_runs({}, all).has_value());
  EXPECT_THAT(all.runs,
              ElementsAre("order-0", "order-1", "order-2", "order-3", "order-4", "child"));
  EXPECT_EQ(all.ended, 6U);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(all.images[i], describe(image(rows[i].key)));
    EXPECT_EQ(all.entries[i], log_of(store_, rows[i].key));
    EXPECT_EQ(all.forgotten[i], forgotten_of(store_, rows[i].key));
    EXPECT_THAT(all.children[i], testing::SizeIs(i == 3 ? 1 : 0));
  }
  EXPECT_THAT(all.children[3], ElementsAre("command"));
  EXPECT_THAT(all.forgotten[3], ElementsAre(1));
  EXPECT_THAT(all.places, ElementsAre("{1} 4"));

  Visited some;
  ASSERT_TRUE(store_.catalog().visit_all_runs({rows[0].key, rows[2].key}, some).has_value());
  EXPECT_THAT(some.runs, ElementsAre("order-1", "order-2"));
  Visited one;
  ASSERT_TRUE(store_.catalog().visit_all_runs(range_of(rows[4].key), one).has_value());
  EXPECT_THAT(one.runs, ElementsAre("order-4"));
  Visited none;
  ASSERT_TRUE(store_.catalog().visit_all_runs(range_of(999'999), none).has_value());
  ASSERT_TRUE(store_.catalog().visit_all_runs({5, 5}, none).has_value());
  ASSERT_TRUE(store_.catalog().visit_all_runs({7, 3}, none).has_value());
  EXPECT_THAT(none.runs, IsEmpty());
  // An error of the visitor is no damage, whatever it is.
  Visited refusing;
  refusing.refused_seq = 3;
  const Result<void> refused = store_.catalog().visit_all_runs({}, refusing);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().message, "enough");
  EXPECT_THAT(refusing.runs, ElementsAre("order-0"));
  EXPECT_EQ(refusing.ended, 0U);
  EXPECT_EQ(image(rows[0].key).row.id, "order-0");  // The catalog is as good as before.
}

TEST_P(UpkeepTest, AVisitSeesOneMoment) {
  const RunRow first = held("order-1");
  const RunRow second = held("order-2");
  const std::unique_ptr<Store> other = open();
  Visited visited;
  visited.on_begin = [&] {
    visited.on_begin = {};
    Send sent;
    sent.run_id = "order-2";
    sent.arrival = signal("hello");
    sent.now_ms = 6000;
    EXPECT_EQ(apply(*other, sent).outcome, SendOutcome::kSent);
    StartRun begin;
    begin.run = new_run("order-3");
    apply(*other, begin);
  };
  const std::string before = describe(image(second.key));
  ASSERT_TRUE(store_.catalog().visit_runs({0, second.key}, visited).has_value());
  EXPECT_THAT(visited.runs, ElementsAre("order-1", "order-2"));
  EXPECT_EQ(visited.images[1], before);
  EXPECT_NE(describe(image(second.key)), before);
}

TEST_P(UpkeepTest, AVisitOfMuchGoesInPages) {
  // More entries, and more bytes, than are read at a time; between runs with little.
  constexpr int kEntries = 12'000;
  const std::string large(1'000'000, 'x');
  std::vector<RunRow> rows;
  for (const char* const id : {"small-1", "long", "small-2", "large", "small-3"}) {
    rows.push_back(held(id));
    CommitTurn step = turn(rows.back());
    const int count = std::string(id) == "long" ? kEntries : std::string(id) == "large" ? 13 : 1;
    for (int seq = 1; seq <= count; ++seq) {
      step.entries.push_back(entry(static_cast<std::uint64_t>(seq)));
      if (count == 13) {
        step.entries.back().has_payload = true;
        step.entries.back().payload = large;
      }
    }
    ASSERT_TRUE(apply(store_, step).committed);
  }
  for (int i = 0; i < 6; ++i) {
    StartRun begin;
    begin.run = new_run("input-" + std::to_string(i));
    begin.run.input = large;
    begin.owner = worker_;
    apply(store_, begin);
  }
  Visited visited;
  ASSERT_TRUE(store_.catalog().visit_all_runs({}, visited).has_value());
  ASSERT_THAT(visited.runs, testing::SizeIs(11));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(visited.runs[i], rows[i].id);
    EXPECT_EQ(visited.entries[i], log_of(store_, rows[i].key)) << rows[i].id;
  }
  EXPECT_THAT(visited.entries[1], testing::SizeIs(kEntries));
  EXPECT_EQ(visited.bytes, 13U * large.size());
}

TEST_P(UpkeepTest, ManyRunsAreVisitedOnce) {
  constexpr int kRuns = 1200;
  std::vector<std::string> ids;
  for (int i = 0; i < kRuns; ++i) {
    ids.push_back("order-" + std::to_string(i));
  }
  std::vector<Op> ops;
  for (const std::string& id : ids) {
    StartRun begin;
    begin.run = new_run(id);
    ops.emplace_back(begin);
  }
  ASSERT_TRUE(store_.apply(ops).has_value());
  Visited visited;
  ASSERT_TRUE(store_.catalog().visit_all_runs({}, visited).has_value());
  EXPECT_EQ(visited.runs, ids);
}

TEST_P(UpkeepTest, ManyRunsAreFoundAtOnce) {
  const RunRow first = held("order-1");
  const RunRow second = held("\xff\x01 it's");
  const std::vector<RunKey> keys = {second.key, 999'999, first.key, second.key, 0};
  const auto by_key = value(store_.catalog().find_runs(keys));
  ASSERT_EQ(by_key.size(), keys.size());
  EXPECT_EQ(describe(by_key[0].value()), describe(second));
  EXPECT_FALSE(by_key[1].has_value());
  EXPECT_EQ(describe(by_key[2].value()), describe(first));
  EXPECT_EQ(describe(by_key[3].value()), describe(second));
  EXPECT_FALSE(by_key[4].has_value());
  const std::vector<RunName> names = {{"none", 1}, {second.id, 1}, {first.id, 2}, {first.id, 1}};
  const auto by_name = value(store_.catalog().find_runs(names));
  ASSERT_EQ(by_name.size(), names.size());
  EXPECT_FALSE(by_name[0].has_value());
  EXPECT_EQ(describe(by_name[1].value()), describe(second));
  EXPECT_FALSE(by_name[2].has_value());
  EXPECT_EQ(describe(by_name[3].value()), describe(first));
  EXPECT_THAT(value(store_.catalog().find_runs(std::span<const RunKey>())), IsEmpty());
  const std::unique_ptr<Store> shop = open("shop");
  EXPECT_FALSE(value(shop->catalog().find_runs(keys))[0].has_value());
  EXPECT_FALSE(value(shop->catalog().find_runs(names))[1].has_value());
}

TEST_P(UpkeepTest, NamespacesAreListedByTheirNames) {
  const std::vector<std::string> own = value(store_.catalog().list_namespaces());
  ASSERT_EQ(own.size(), 1U);
  std::vector<std::string> names = {"a b", "it's", "qu\"ote", "\xc3\xbc", "\xff\x01"};
  for (const std::string& name : names) {
    open(name);
  }
  std::vector<std::string> found = value(store_.catalog().list_namespaces());
  EXPECT_EQ(found[0], own[0]);
  found.erase(found.begin());
  EXPECT_THAT(found, testing::UnorderedElementsAreArray(names));
  EXPECT_EQ(value(open(names[4])->catalog().list_namespaces())[0], names[4]);
}

TEST_P(UpkeepTest, ARunIsTheSameInAnotherStore) {
  const RunRow from = rich("order-1");
  const std::unique_ptr<Backend> elsewhere = GetParam().make();
  const std::unique_ptr<Store> there = value(elsewhere->open("theirs"));
  CreateRun op;
  op.image = image(from.key);
  EXPECT_EQ(op.image.tasks.size(), 3U);
  EXPECT_EQ(op.image.promises.size(), 2U);
  EXPECT_EQ(op.image.inbox.size(), 3U);
  EXPECT_THAT(op.image.dedupe, ElementsAre("event-1"));
  KeptLog log;
  ASSERT_TRUE(store_.read_log(from.key, 0, [&](const replay::Entry& one) { return log.add(one); })
                  .has_value());
  op.entries = log.entries();
  op.now_ms = 7000;
  op = apply(*there, op);
  ASSERT_EQ(op.outcome, CreateRun::Outcome::kCreated);
  EXPECT_EQ(op.row.id, "order-1");
  EXPECT_EQ(op.row.owner, 0);
  EXPECT_EQ(op.row.wake_ms, 7000);
  const RunImage copy = value(there->catalog().read_image(op.row.key));
  EXPECT_EQ(describe(carried(copy)), describe(carried(op.image)));
  EXPECT_EQ(describe(copy.row), describe(op.row));
  EXPECT_EQ(log_of(*there, op.row.key), log_of(store_, from.key));
  for (const TaskRow& task : copy.tasks) {
    EXPECT_NE(task.state, TaskState::kRunning);
    EXPECT_EQ(task.owner, 0);
    if (task.type == "print") {
      EXPECT_EQ(task.due_ms, 7050);  // It may wait for 50 ms each time it is ready.
    }
  }
  ClaimDue claim;
  claim.kinds = {"order"};
  claim.worker = add_worker(*there);
  claim.limit = 5;
  claim.now_ms = 7000;
  claim = apply(*there, claim);
  ASSERT_EQ(claim.claims.size(), 1U);
  EXPECT_EQ(claim.claims[0].run, op.row.key);
  Send known;
  known.run_id = "order-1";
  known.arrival = signal("s");
  known.dedupe = "event-1";
  EXPECT_EQ(apply(*there, known).outcome, SendOutcome::kDuplicate);
}

TEST_P(UpkeepTest, PausedBlockedAndClosedRunsAreNotClaimedWhereTheyArePut) {
  for (const RunStatus status : {RunStatus::kWaiting, RunStatus::kBlocked, RunStatus::kCompleted}) {
    CreateRun op;
    op.image.row.id = "run " + std::to_string(static_cast<int>(status));
    op.image.row.kind = "order";
    op.image.row.status = status;
    op.image.row.is_paused = status != RunStatus::kBlocked;
    op.image.row.created_ms = 10;
    op.image.row.changed_ms = 20;
    op.image.reason = status == RunStatus::kBlocked ? "why" : "";
    op.image.blocked_by = status == RunStatus::kBlocked ? std::optional("code") : std::nullopt;
    op.now_ms = 7000;
    op = apply(store_, op);
    EXPECT_EQ(op.outcome, CreateRun::Outcome::kCreated);
    EXPECT_EQ(op.row.wake_ms, kNever);
    EXPECT_EQ(op.row.is_paused, status == RunStatus::kWaiting);
    EXPECT_EQ(describe(row(op.row.key)), describe(op.row));
    EXPECT_EQ(op.row.created_ms, 10);
    EXPECT_EQ(op.row.changed_ms, 20);
  }
  EXPECT_THAT(due(99'999), IsEmpty());
  ClaimStuck stuck;
  stuck.codes = {{"order", "new code"}};
  stuck.worker = worker_;
  stuck.limit = 10;
  stuck = apply(store_, stuck);
  ASSERT_EQ(stuck.claims.size(), 1U);
  EXPECT_EQ(stuck.claims[0].row.id, "run 8");
}

TEST_P(UpkeepTest, ARunIsPutInTheWayOfNoOther) {
  CreateRun op;
  op.image.row.id = "order-1";
  op.image.row.kind = "order";
  op.image.row.number = 7;
  EXPECT_EQ(apply(store_, op).row.number, 7U);  // As it was there.
  op.as_next = true;
  CreateRun in_the_way = apply(store_, op);
  EXPECT_EQ(in_the_way.outcome, CreateRun::Outcome::kExists);
  EXPECT_EQ(in_the_way.row.number, 7U);
  EXPECT_EQ(in_the_way.row.id, "order-1");
  terminate("order-1");
  op.as_next = false;
  EXPECT_EQ(apply(store_, op).outcome, CreateRun::Outcome::kExists);
  op.as_next = true;
  const CreateRun next = apply(store_, op);
  EXPECT_EQ(next.outcome, CreateRun::Outcome::kCreated);
  EXPECT_EQ(next.row.number, 8U);
  EXPECT_EQ(value(store_.catalog().count_runs({})), 2);
}

TEST_P(UpkeepTest, AnErrorInTheMiddleOfABatchUndoesAllOfIt) {
  const RunRow run = waiting("order-1");
  Pause hold;
  hold.run = run.key;
  StartRun begin;
  begin.run = new_run("order-2");
  CreateRun bad;
  bad.image.row.id = "order-3";
  bad.image.row.kind = "order";
  bad.image.tags = {{"a", "b"}};
  bad.entries = {entry(1), entry(2), entry(2)};
  DeleteRun gone;
  gone.run = run.key;
  std::vector<Op> ops = {hold, begin, bad, gone};
  const Result<void> done = store_.apply(ops);
  ASSERT_FALSE(done.has_value());
  EXPECT_EQ(done.error().code, ErrorCode::kInvalidArgument);
  EXPECT_FALSE(row(run.key).is_paused);
  EXPECT_THAT(value(store_.catalog().find_ids("", "", 10)), ElementsAre("order-1"));
  RunFilter tagged;
  tagged.tags = {{"a", "b"}};
  EXPECT_EQ(value(store_.catalog().count_runs(tagged)), 0);
}

TEST_P(UpkeepTest, WhatIsTooLargeToBePutIsRefused) {
  const std::string long_name((std::size_t{1} << 20U) + 1, 'x');
  for (const int field : {0, 1, 2, 3, 4}) {
    CreateRun op;
    op.image.row.id = field == 0 ? long_name : "order-1";
    op.image.row.kind = field == 1 ? long_name : "order";
    op.image.tags = {{"tag", field == 2 ? long_name : ""}};
    op.image.promises = {{field == 3 ? long_name : "promise"}};
    op.image.dedupe = {field == 4 ? long_name : "event"};
    std::vector<Op> ops = {op};
    const Result<void> done = store_.apply(ops);
    ASSERT_FALSE(done.has_value()) << field;
    EXPECT_EQ(done.error().code, ErrorCode::kLimitExceeded);
  }
  EXPECT_EQ(value(store_.catalog().count_runs({})), 0);
}

// A damaged or made-up log must not be able to stop the batch of others with a strange error.
TEST_P(UpkeepTest, ACheckpointThatNamesAKeyTwiceIsPut) {
  replay::Checkpoint checkpoint;
  checkpoint.changes = {{"x", "1"}, {"x", "2"}};
  replay::Entry loop = entry(1, "", EntryKind::kLoopCheckpointed);
  loop.location = "{1}";
  loop.checkpoint = &checkpoint;
  CreateRun op;
  op.image.row.id = "order-1";
  op.image.row.kind = "order";
  op.entries = {loop};
  EXPECT_EQ(apply(store_, op).outcome, CreateRun::Outcome::kCreated);
}

// --- What people ask -----------------------------------------------------------------------------

class CatalogTest : public UpkeepTest {
 protected:
  std::vector<std::string> list(const RunFilter& filter, std::size_t limit = 100,
                                Store* store = nullptr) {
    Catalog& catalog = (store == nullptr ? store_ : *store).catalog();
    std::vector<std::string> ids;
    std::optional<RunCursor> next = RunCursor{};
    while (next.has_value()) {
      const RunPage page = value(catalog.list_runs(filter, *next, limit));
      EXPECT_LE(page.rows.size(), limit);
      for (const RunRow& found : page.rows) {
        ids.push_back(found.id);
      }
      EXPECT_TRUE(!page.next.has_value() || *page.next < *next);
      next = page.next;
    }
    EXPECT_EQ(value(catalog.count_runs(filter)), static_cast<std::int64_t>(ids.size()));
    return ids;
  }
  StartRun put(std::string id, std::string kind, std::vector<Tag> tags, std::int64_t now_ms) {
    StartRun op;
    op.run = new_run(std::move(id), std::move(kind));
    op.run.tags = std::move(tags);
    op.now_ms = now_ms;
    return apply(store_, op);
  }
};

INSTANTIATE_TEST_SUITE_P(Backends, CatalogTest, testing::ValuesIn(backend_kinds()), kind_name);

TEST_P(CatalogTest, AnEmptyStoreHasNothing) {
  EXPECT_THAT(list({}), IsEmpty());
  EXPECT_THAT(value(store_.catalog().find_ids("", "", 5)), IsEmpty());
  EXPECT_THAT(value(store_.catalog().find_closed(RunStatus::kFailed, kNever, {}, 5)), IsEmpty());
  EXPECT_THAT(value(store_.catalog().list_tasks({}, 0, 5)), IsEmpty());
  EXPECT_EQ(store_.catalog().read_image(0).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(store_.catalog().read_image(-1).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(value(store_.catalog().list_workers()).size(), 1U);
  const StoreFigures figures = value(store_.catalog().read_figures(1000));
  EXPECT_THAT(figures.runs, IsEmpty());
  EXPECT_THAT(figures.tasks, IsEmpty());
  EXPECT_EQ(figures.next_wake_ms, kNever);
}

TEST_P(CatalogTest, TheNewestComeFirstAlsoWhenTheClockWasPutBack) {
  put("a", "order", {}, 2000);
  put("b", "mail", {}, 1000);
  put("c", "order", {}, 2000);
  put("d", "mail", {}, 2000);
  put("e", "order", {}, 1000);
  for (const std::size_t limit : {1U, 2U, 3U, 100U}) {
    EXPECT_THAT(list({}, limit), ElementsAre("d", "c", "a", "e", "b"));
  }
  RunFilter filter;
  filter.kinds = {"order", "order", "none"};
  EXPECT_THAT(list(filter, 1), ElementsAre("c", "a", "e"));
  filter.kinds = {"none"};
  EXPECT_THAT(list(filter), IsEmpty());
  filter.kinds = {};
  filter.created_from_ms = 2000;
  EXPECT_THAT(list(filter, 2), ElementsAre("d", "c", "a"));
  filter.created_to_ms = 2000;
  EXPECT_THAT(list(filter), IsEmpty());
  filter.created_from_ms = 0;
  EXPECT_THAT(list(filter), ElementsAre("e", "b"));
  filter.created_from_ms = 5000;
  EXPECT_THAT(list(filter), IsEmpty());
  // A place before all that is wanted.
  filter = {};
  filter.created_from_ms = 2000;
  EXPECT_THAT(value(store_.catalog().list_runs(filter, {1000, kNever}, 5)).rows, IsEmpty());
}

TEST_P(CatalogTest, AllOfAFilterHolds) {
  put("a", "order", {{"color", "red"}, {"size", "big"}}, 1000);
  put("b", "order", {{"color", "red"}}, 1000);
  put("c", "mail", {{"color", "red"}, {"size", "big"}, {"color", "blue"}}, 1000);
  pause(value(store_.find_run("c", std::nullopt))->key);
  terminate("b");
  RunFilter filter;
  filter.tags = {{"color", "red"}};
  EXPECT_THAT(list(filter, 1), ElementsAre("c", "b", "a"));
  filter.tags = {{"color", "red"}, {"size", "big"}};
  EXPECT_THAT(list(filter, 1), ElementsAre("c", "a"));
  filter.tags = {{"color", "red"}, {"color", "blue"}};
  EXPECT_THAT(list(filter), ElementsAre("c"));
  filter.tags = {{"color", ""}};
  EXPECT_THAT(list(filter), IsEmpty());
  filter.tags = {{"color", "red"}};
  filter.is_paused = false;
  EXPECT_THAT(list(filter), ElementsAre("b", "a"));
  filter.is_paused = true;
  EXPECT_THAT(list(filter), ElementsAre("c"));
  filter.kinds = {"order"};
  EXPECT_THAT(list(filter), IsEmpty());
  filter = {};
  filter.statuses = {RunStatus::kFailed, RunStatus::kFailed};
  EXPECT_THAT(list(filter), ElementsAre("b"));
  filter.statuses = {static_cast<RunStatus>(99)};
  EXPECT_THAT(list(filter), IsEmpty());
}

TEST_P(CatalogTest, APageOfNothingLeadsOn) {
  put("a", "order", {}, 1000);
  const RunPage none = value(store_.catalog().list_runs({}, {}, 0));
  EXPECT_THAT(none.rows, IsEmpty());
  ASSERT_TRUE(none.next.has_value());
  EXPECT_EQ(value(store_.catalog().list_runs({}, *none.next, 5)).rows.size(), 1U);
  EXPECT_THAT(value(store_.catalog().find_ids("", "", 0)), IsEmpty());
  EXPECT_THAT(value(store_.catalog().find_closed(RunStatus::kFailed, kNever, {}, 0)), IsEmpty());
  EXPECT_THAT(value(store_.catalog().list_tasks({}, 0, 0)), IsEmpty());
  const auto all = std::numeric_limits<std::size_t>::max();
  EXPECT_EQ(value(store_.catalog().list_runs({}, {}, all)).rows.size(), 1U);
  EXPECT_EQ(value(store_.catalog().find_ids("", "", all)).size(), 1U);
  terminate("a");
  EXPECT_EQ(value(store_.catalog().find_closed(RunStatus::kFailed, kNever, {}, all)).size(), 1U);
  EXPECT_THAT(value(store_.catalog().list_tasks({}, 0, all)), IsEmpty());
}

TEST_P(CatalogTest, ACursorOutlivesItsRun) {
  for (const char* id : {"a", "b", "c", "d"}) {
    end(held(id), RunStatus::kCompleted);
  }
  const RunPage page = value(store_.catalog().list_runs({}, {}, 2));
  ASSERT_EQ(page.rows.size(), 2U);
  ASSERT_TRUE(page.next.has_value());
  const std::vector<ClosedRun> closed =
      value(store_.catalog().find_closed(RunStatus::kCompleted, kNever, {}, 2));
  ASSERT_EQ(closed.size(), 2U);
  EXPECT_EQ(remove(page.rows[1].key), DeleteRun::Outcome::kDeleted);  // "c"
  EXPECT_EQ(remove(closed[1].key), DeleteRun::Outcome::kDeleted);     // "b"
  const RunPage rest = value(store_.catalog().list_runs({}, *page.next, 5));
  ASSERT_EQ(rest.rows.size(), 1U);
  EXPECT_EQ(rest.rows[0].id, "a");
  EXPECT_FALSE(rest.next.has_value());
  EXPECT_EQ(value(store_.catalog().find_closed(RunStatus::kCompleted, kNever, closed[1], 5)).size(),
            1U);
  EXPECT_THAT(value(store_.catalog().find_ids("", "b", 5)), ElementsAre("d"));
}

TEST_P(CatalogTest, HostileTextsAreFoundByteByByte) {
  const std::vector<std::string> names = {"'; DROP TABLE pawl_run; --",
                                          "\"",
                                          std::string("a\0b", 3),
                                          std::string("a\0", 2),
                                          std::string("\0", 1),
                                          "\xff\xfe\x80",
                                          "\xff\xff",
                                          "\xff",
                                          "\xc3",
                                          "%_*?[",
                                          "a",
                                          std::string(100'000, 'x')};
  for (const std::string& name : names) {
    put(name, name, {{name, name}}, 1000);
  }
  for (const std::string& name : names) {
    RunFilter by_kind;
    by_kind.kinds = {name};
    EXPECT_THAT(list(by_kind), ElementsAre(name));
    RunFilter by_tag;
    by_tag.tags = {{name, name}};
    EXPECT_THAT(list(by_tag), ElementsAre(name));
    std::vector<std::string> want;
    for (const std::string& other : names) {
      if (other.starts_with(name)) {
        want.push_back(other);
      }
    }
    std::sort(want.begin(), want.end());
    EXPECT_EQ(value(store_.catalog().find_ids(name, "", 100)), want);
    want.erase(want.begin());
    EXPECT_EQ(value(store_.catalog().find_ids(name, name, 100)), want);
  }
  EXPECT_EQ(value(store_.catalog().find_ids("", "", 100)).size(), names.size());
  EXPECT_THAT(value(store_.catalog().find_ids("\xff\xff\xff", "", 100)), IsEmpty());
  EXPECT_THAT(value(store_.catalog().find_ids("a", "b", 100)), IsEmpty());
  EXPECT_EQ(list({}, 3).size(), names.size());
  EXPECT_EQ(value(store_.catalog().read_figures(0)).runs.size(), names.size());
}

TEST_P(CatalogTest, AnIdIsFoundOnceHoweverManyRunsHadIt) {
  for (int i = 0; i < 3; ++i) {
    StartRun op;
    op.run = new_run("order-1");
    op.on_existing = OnExisting::kReplace;
    EXPECT_EQ(apply(store_, op).row.number, static_cast<std::uint32_t>(i + 1));
  }
  start("order-2");
  EXPECT_THAT(value(store_.catalog().find_ids("order-", "", 10)),
              ElementsAre("order-1", "order-2"));
}

TEST_P(CatalogTest, ChildrenAreListedOpenOrNot) {
  const RunRow parent = held("parent");
  CommitTurn op = turn(parent);
  op.children = {new_run("one"), new_run("two")};
  for (NewRun& child : op.children) {
    child.parent = {parent.key, child.id, ParentClose::kAbandon};
  }
  ASSERT_TRUE(apply(store_, op).committed);
  terminate("one");
  RunFilter filter;
  filter.parent = parent.key;
  EXPECT_THAT(list(filter, 1), ElementsAre("two", "one"));
  filter.statuses = {RunStatus::kFailed};
  EXPECT_THAT(list(filter), ElementsAre("one"));
  filter.parent = 99;
  EXPECT_THAT(list(filter), IsEmpty());
}

TEST_P(CatalogTest, RunsAreFoundByTheirEnd) {
  for (const auto& [id, ended_ms] :
       std::vector<std::pair<std::string, std::int64_t>>{{"a", 3000}, {"b", 2000}, {"c", 3000}}) {
    end(held(id), RunStatus::kCompleted, ended_ms);
  }
  end(held("d"), RunStatus::kFailed, 3000);
  Catalog& catalog = store_.catalog();
  std::vector<ClosedRun> found = value(catalog.find_closed(RunStatus::kCompleted, 3000, {}, 10));
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(row(found[0].key).id, "b");
  found = value(catalog.find_closed(RunStatus::kCompleted, 3001, found[0], 10));
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(row(found[0].key).id, "a");
  EXPECT_THAT(value(catalog.find_closed(RunStatus::kCompleted, 3001, found[1], 10)), IsEmpty());
  EXPECT_THAT(value(catalog.find_closed(RunStatus::kRunning, kNever, {}, 10)), IsEmpty());
  RunFilter filter;
  filter.changed_from_ms = 3000;
  filter.changed_to_ms = 3001;
  EXPECT_THAT(list(filter, 1), ElementsAre("d", "c", "a"));
  filter.statuses = {RunStatus::kCompleted};
  EXPECT_THAT(list(filter, 1), ElementsAre("c", "a"));
}

TEST_P(CatalogTest, TasksAndWorkersAreListed) {
  const RunRow run = rich("order-1");
  TaskFilter filter;
  EXPECT_EQ(value(store_.catalog().list_tasks(filter, 0, 10)).size(), 3U);
  filter.state = TaskState::kDelayed;
  const std::vector<TaskRow> delayed = value(store_.catalog().list_tasks(filter, 0, 10));
  ASSERT_EQ(delayed.size(), 1U);
  EXPECT_EQ(delayed[0].type, "mail");
  EXPECT_EQ(delayed[0].run_id, "order-1");
  EXPECT_THAT(value(store_.catalog().list_tasks(filter, delayed[0].key, 10)), IsEmpty());
  filter.type = "charge";
  EXPECT_THAT(value(store_.catalog().list_tasks(filter, 0, 10)), IsEmpty());
  filter = {};
  filter.queue = "none";
  EXPECT_THAT(value(store_.catalog().list_tasks(filter, 0, 10)), IsEmpty());
  const std::string serves = R"({"kinds":{"order":"print"},"activities":[],"queues":["q"]})";
  value(store_.add_worker({"second", 9000, 0, serves}));
  const std::vector<WorkerRow> workers = value(store_.catalog().list_workers());
  ASSERT_EQ(workers.size(), 2U);
  EXPECT_EQ(workers[0].key, worker_);
  EXPECT_EQ(workers[0].runs, 1);
  EXPECT_EQ(workers[0].tasks, 1);
  EXPECT_EQ(workers[0].expires_ms, kNever);
  EXPECT_EQ(workers[0].serves, "");
  EXPECT_EQ(workers[1].name, "second");
  EXPECT_EQ(workers[1].expires_ms, 9000);
  EXPECT_EQ(workers[1].serves, serves);
  EXPECT_EQ(workers[1].runs + workers[1].tasks, 0);
  EXPECT_EQ(row(run.key).owner, worker_);
}

TEST_P(CatalogTest, FiguresSayWhatThereIs) {
  rich("order-1");
  start("order-2", 0, 4000);
  start("order-3", 0, 6000);
  pause(waiting("order-4").key);
  end(held("order-5"), RunStatus::kCompleted);
  const StoreFigures figures = value(store_.catalog().read_figures(5000));
  ASSERT_EQ(figures.runs.size(), 3U);
  EXPECT_EQ(figures.runs[0].status, RunStatus::kRunning);
  EXPECT_EQ(figures.runs[0].count, 3);
  EXPECT_EQ(figures.runs[1].status, RunStatus::kWaiting);
  EXPECT_EQ(figures.runs[2].status, RunStatus::kCompleted);
  EXPECT_EQ(figures.tasks.size(), 3U);
  EXPECT_EQ(figures.tasks[0].oldest_ms, 2000);
  EXPECT_EQ(figures.paused, 1);
  EXPECT_EQ(figures.overdue, 1);
  EXPECT_EQ(figures.next_wake_ms, 4000);
  EXPECT_GT(figures.bytes, 0);
}

TEST_P(CatalogTest, NamespacesDoNotSeeOneAnother) {
  const RunRow run = rich("order-1");
  pause(run.key);
  end(held("order-2"), RunStatus::kCompleted);
  const std::unique_ptr<Store> shop = open("shop");
  Catalog& theirs = shop->catalog();
  EXPECT_THAT(list({}, 10, shop.get()), IsEmpty());
  RunFilter filter;
  filter.kinds = {"order"};
  EXPECT_THAT(list(filter, 10, shop.get()), IsEmpty());
  filter = {};
  filter.tags = {{"color", "red"}};
  EXPECT_THAT(list(filter, 10, shop.get()), IsEmpty());
  filter = {};
  filter.is_paused = true;
  EXPECT_THAT(list(filter, 10, shop.get()), IsEmpty());
  filter = {};
  filter.changed_from_ms = 1;
  filter.statuses = {RunStatus::kCompleted};
  EXPECT_THAT(list(filter, 10, shop.get()), IsEmpty());
  filter = {};
  filter.parent = run.key;
  EXPECT_THAT(list(filter, 10, shop.get()), IsEmpty());
  EXPECT_THAT(value(theirs.find_ids("", "", 10)), IsEmpty());
  EXPECT_THAT(value(theirs.find_closed(RunStatus::kCompleted, kNever, {}, 10)), IsEmpty());
  EXPECT_EQ(theirs.read_image(run.key).error().code, ErrorCode::kNotFound);
  EXPECT_THAT(value(theirs.list_tasks({}, 0, 10)), IsEmpty());
  EXPECT_THAT(value(theirs.list_workers()), IsEmpty());
  const StoreFigures figures = value(theirs.read_figures(99'999));
  EXPECT_THAT(figures.runs, IsEmpty());
  EXPECT_THAT(figures.tasks, IsEmpty());
  EXPECT_EQ(figures.paused + figures.overdue, 0);
  EXPECT_EQ(figures.next_wake_ms, kNever);
  Pause hold;
  hold.run = run.key;
  hold.is_paused = false;
  EXPECT_EQ(apply(*shop, hold).outcome, SendOutcome::kNoRun);
  Hurry fast;
  fast.run = run.key;
  EXPECT_EQ(apply(*shop, fast).outcome, SendOutcome::kNoRun);
  DeleteRun gone;
  gone.run = value(store_.find_run("order-2", std::nullopt))->key;
  EXPECT_EQ(apply(*shop, gone).outcome, DeleteRun::Outcome::kNoRun);
  CreateRun put;
  put.image.row.id = "order-1";
  put.image.row.kind = "order";
  EXPECT_EQ(apply(*shop, put).outcome, CreateRun::Outcome::kCreated);
}

// What is asked by one thread while others write is of one moment.
TEST_P(CatalogTest, AnswersAreOfOneMomentWhileOthersWrite) {
  std::atomic<bool> is_over = false;
  const RunKey first = start("first").row.key;
  std::thread writer([&] {
    const std::unique_ptr<Store> other = open();
    for (int i = 0; i < 200; ++i) {
      std::vector<Op> ops;
      for (const char* half : {"a", "b"}) {
        StartRun op;
        op.run = new_run(half + std::to_string(i));
        op.run.tags = {{"half", half}};
        op.now_ms = i;
        ops.emplace_back(op);
      }
      EXPECT_TRUE(other->apply(ops).has_value());
    }
    is_over = true;
  });
  do {
    const std::int64_t count = value(store_.catalog().count_runs({}));
    EXPECT_EQ(count % 2, 1);
    const StoreFigures figures = value(store_.catalog().read_figures(0));
    EXPECT_GE(figures.runs.at(0).count, count);
    EXPECT_EQ(image(first).row.id, "first");
  } while (!is_over);
  writer.join();
  EXPECT_EQ(value(store_.catalog().count_runs({})), 401);
}

}  // namespace
}  // namespace pawl::store

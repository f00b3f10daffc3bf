// Two stores that need the same rows of a PostgreSQL server wait for one another, and never in a
// circle: the server would end one of the transactions, after a second. In each test one run is
// locked until both wait, so that they meet where it matters.

#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "store/support.h"

namespace pawl::store {
namespace {

using replay::EntryKind;

std::unique_ptr<Backend> make_postgres() {
  for (const BackendKind& kind : backend_kinds()) {
    if (kind.name == "postgres") {
      return kind.make();
    }
  }
  return nullptr;
}

class LockOrder : public testing::Test {
 protected:
  static constexpr std::int64_t kExpires = 5000;
  static constexpr std::int64_t kLater = 9000;

  LockOrder() {
    worker_ = value(store_->add_worker({"late", kExpires, 0}));
    const WorkerKey of_gate = value(gate_->add_worker({"gate", kNever, 0}));
    gate_run_ = start(*gate_, "gate", of_gate);
  }

  std::unique_ptr<Store> open() { return value(backend_->open("default")); }

  static RunRow start(Store& store, std::string id, WorkerKey owner = 0) {
    StartRun op;
    op.run = new_run(std::move(id));
    op.owner = owner;
    op.now_ms = 1000;
    return apply(store, op).row;
  }
  // A run that worker_ holds, known to store_.
  RunRow held(std::string id) { return start(*store_, std::move(id), worker_); }
  RunRow held_child(const RunRow& parent, std::string id) {
    CommitTurn op = turn_of(parent);
    op.children = {new_run(std::move(id))};
    op.children[0].parent = {parent.key, "command", ParentClose::kTerminate};
    return claim(apply(*store_, op).started.at(0)).row;
  }
  Claim claim(RunKey run) {
    const Claim op = apply(*store_, claim_of(run, worker_));
    EXPECT_TRUE(op.claimed);
    return op;
  }
  void add_task(const RunRow& run, std::string type) {
    CommitTurn op = turn_of(run);
    NewTask& task = op.tasks.emplace_back();
    task.id = type;
    task.type = std::move(type);
    task.queue = "q";
    apply(*store_, op);
  }
  TaskRow take(std::string type) {
    TakeTasks op;
    op.queue = "q";
    op.types = {std::move(type)};
    op.worker = worker_;
    op.limit = 1;
    op.now_ms = 2000;
    return apply(*store_, op).taken.at(0);
  }
  RunRow row(RunKey run) { return value(other_->find_run(run)).value_or(RunRow{}); }

  static Claim claim_of(RunKey run, WorkerKey worker) {
    Claim op;
    op.run = run;
    op.worker = worker;
    op.now_ms = 2000;
    return op;
  }
  static CommitTurn step(const RunRow& run) {
    CommitTurn op = turn_of(run);
    op.entries = {entry(1)};
    return op;
  }
  static CommitTurn ending(const RunRow& run) {
    CommitTurn op = turn_of(run);
    op.ending = Ending{};
    op.ending->status = RunStatus::kCompleted;
    op.ending->for_parent = NewArrival{};
    op.ending->for_parent->kind = number_of(EntryKind::kChildWorkflowCompleted);
    return op;
  }
  static ChangeTask beat(const TaskRow& task) {
    ChangeTask op;
    op.task = task.key;
    op.state = task.state;
    op.attempt = task.attempt;
    op.next = TaskState::kRunning;
    op.now_ms = 2000;
    return op;
  }
  static Send send(RunKey run) {
    Send op;
    op.run = run;
    op.arrival = signal("hello");
    op.now_ms = 2000;
    return op;
  }
  static Send send(std::string id) {
    Send op = send(RunKey{0});
    op.run_id = std::move(id);
    return op;
  }

  using Action = std::function<void()>;

  static Action applying(Store& store, std::vector<Op> ops) {
    return [&store, ops = std::move(ops)]() mutable {
      const Result<void> done = store.apply(ops);
      EXPECT_TRUE(done.has_value()) << done.error().message;
    };
  }
  // Whoever has not said in time that he lives is declared dead.
  Action sweeping() {
    return [this] { value(sweeper_->free_expired(0, kLater)); };
  }

  // To be locked: it is looked at, and nothing changes.
  static Op look_at(RunKey run) {
    Pause op;
    op.run = run;
    op.is_paused = false;
    return op;
  }
  // Calls `what` while this is locked.
  void while_locked(Op look, const Action& what) {
    CommitTurn calls = turn_of(gate_run_);
    calls.inside = [&](Database&, CommitTurn&) -> Result<void> {
      what();
      return {};
    };
    applying(*gate_, {std::move(look), calls})();
  }
  // Both go on when both wait; the first is the first to get what is locked.
  void meet(Op look, Action first, Action second) {
    std::jthread one;
    std::jthread two;
    while_locked(std::move(look), [&] {
      one = std::jthread(std::move(first));
      backend_->wait_for_waiting(1);
      two = std::jthread(std::move(second));
      backend_->wait_for_waiting(2);
    });
  }
  void meet(RunKey run, Action first, Action second) {
    meet(look_at(run), std::move(first), std::move(second));
  }

  const std::unique_ptr<Backend> backend_ = make_postgres();
  const std::unique_ptr<Store> gate_ = open();
  const std::unique_ptr<Store> store_ = open();
  const std::unique_ptr<Store> other_ = open();
  const std::unique_ptr<Store> sweeper_ = open();
  WorkerKey worker_ = 0;  // Of store_.
  RunRow gate_run_;
};

TEST_F(LockOrder, OfRunsThatAreFreed) {
  const RunKey low = start(*store_, "low").key;
  const RunKey high = start(*store_, "high").key;
  ASSERT_LT(low, high);
  claim(high);  // In the table, it is the first now.
  claim(low);
  meet(low, applying(*other_, {send(low), send(high)}), sweeping());
  EXPECT_EQ(row(low).owner, 0);
  EXPECT_EQ(row(high).owner, 0);
}

TEST_F(LockOrder, OfTasksThatAreFreed) {
  const RunRow run = held("order");
  add_task(run, "low");
  add_task(run, "high");
  const ChangeTask high = beat(take("high"));
  const ChangeTask low = beat(take("low"));
  ASSERT_LT(low.task, high.task);
  ChangeTask look = low;
  look.attempt = 7;  // There is no such one.
  meet(look, applying(*other_, {low, high}), sweeping());
  for (const TaskRow& task : value(other_->read_tasks(run.key))) {
    EXPECT_EQ(task.owner, 0);
  }
}

TEST_F(LockOrder, OfWorkersThatAreRemoved) {
  const RunRow run = held("order");
  const WorkerKey second = value(store_->add_worker({"late", kExpires, 0}));
  ASSERT_LT(worker_, second);
  meet(run.key, sweeping(), applying(*other_, {claim_of(run.key, second)}));
  EXPECT_EQ(row(run.key).owner, 0);
}

TEST_F(LockOrder, OfTheWorkerOfAClaim) {
  const RunRow run = held("order");
  const RunKey free = start(*store_, "free").key;
  meet(run.key, applying(*store_, {send(run.key), claim_of(free, worker_)}), sweeping());
  EXPECT_EQ(row(free).epoch, 1);
  EXPECT_EQ(row(free).owner, 0);
}

TEST_F(LockOrder, OfTheWorkerOfAHeartbeat) {
  const RunRow run = held("order");
  Heartbeat beat;
  beat.worker = worker_;
  beat.expires_ms = kExpires;
  meet(run.key, applying(*store_, {step(run), beat}), sweeping());
  EXPECT_EQ(seqs_of(*other_, run.key).size(), 1U);
  EXPECT_EQ(row(run.key).owner, 0);
}

TEST_F(LockOrder, OfARunThatIsHeldAndATask) {
  const RunRow run = held("order");
  add_task(run, "task");
  const ChangeTask lives = beat(take("task"));
  ChangeTask done = lives;
  done.next.reset();
  done.arrival = signal("done");
  meet(run.key, applying(*other_, {done}), applying(*store_, {lives, step(run)}));
  EXPECT_EQ(seqs_of(*other_, run.key).size(), 1U);
  EXPECT_EQ(inbox_of(*other_, run.key), std::vector<std::string>{"done"});
}

TEST_F(LockOrder, OfARunThatIsHeldAndOneThatIsClaimed) {
  const RunRow run = held("order");
  const RunKey due = start(*store_, "due").key;
  ClaimDue claims;
  claims.kinds = {"order"};
  claims.worker = worker_;
  claims.limit = 1;
  claims.now_ms = 2000;
  meet(run.key, applying(*other_, {send(run.key), send(due)}),
       applying(*store_, {claims, step(run)}));
  EXPECT_EQ(seqs_of(*other_, run.key).size(), 1U);
  EXPECT_EQ(row(due).owner, worker_);
}

TEST_F(LockOrder, OfTheParentOfARunThatIsNotKnown) {
  const RunRow parent = held("parent");
  const RunRow child = held_child(parent, "child");
  ASSERT_LT(parent.key, child.key);
  meet(child.key, applying(*other_, {ending(child)}),
       applying(*store_, {send(parent.key), send(child.key)}));
  EXPECT_EQ(row(child.key).status, RunStatus::kCompleted);
}

TEST_F(LockOrder, OfARunThatEndsAndItsChildren) {
  const RunRow parent = held("parent");
  const RunRow child = held_child(parent, "child");
  meet(parent.key, applying(*other_, {send(parent.key), send(child.key)}),
       applying(*store_, {ending(parent)}));
  EXPECT_EQ(row(child.key).status, RunStatus::kFailed);
}

TEST_F(LockOrder, OfChildrenAndOthers) {
  const RunRow parent = held("parent");
  const RunRow child = held_child(parent, "child");
  const RunKey last = held("last").key;
  ASSERT_LT(child.key, last);
  meet(last, applying(*store_, {ending(parent), send(last)}),
       applying(*other_, {send(child.key), send(last)}));
  EXPECT_EQ(row(child.key).status, RunStatus::kFailed);
}

TEST_F(LockOrder, OfDescendantsAndOthers) {
  const RunRow parent = held("parent");
  const RunRow child = held_child(parent, "child");
  const RunRow grandchild = held_child(child, "grandchild");
  const RunKey last = held("last").key;
  ASSERT_LT(grandchild.key, last);
  Terminate terminate;
  terminate.run_id = "parent";
  terminate.now_ms = 2000;
  meet(last, applying(*store_, {terminate, send(last)}),
       applying(*other_, {send(grandchild.key), send(last)}));
  EXPECT_EQ(row(grandchild.key).status, RunStatus::kFailed);
}

TEST_F(LockOrder, OfWhatARunThatIsDeletedBelongsTo) {
  const RunRow parent = held("parent");
  const RunRow child = held_child(parent, "child");
  const RunRow last = held("last");
  apply(*store_, ending(child));
  apply(*store_, ending(last));
  DeleteRun first;
  first.run = child.key;
  DeleteRun second;
  second.run = last.key;
  meet(last.key, applying(*other_, {first, second}),
       applying(*store_, {send(parent.key), send(last.key)}));
  EXPECT_EQ(row(last.key).key, 0);
}

// What was the newest run of an id has recurred before it could be locked.
TEST_F(LockOrder, OfARunThatHasRecurred) {
  const std::unique_ptr<Store> third = open();
  const RunRow first = held("recurs");
  const RunKey last = start(*other_, "last").key;
  CommitTurn recur = turn_of(first);
  RunKey next = 0;
  std::jthread one;
  std::jthread two;
  recur.inside = [&](Database&, CommitTurn& turn) -> Result<void> {
    turn.ending = Ending{};
    turn.ending->status = RunStatus::kRecurred;
    turn.ending->next = new_run("recurs");
    one = std::jthread(applying(*other_, {send("recurs"), send("last")}));
    backend_->wait_for_waiting(1);
    return {};
  };
  while_locked(look_at(last), [&] {
    next = apply(*store_, recur).started.at(0);
    backend_->wait_for_waiting(1);
    two = std::jthread(applying(*third, {send(next), send(last)}));
    backend_->wait_for_waiting(2);
  });
  one.join();
  two.join();
  ASSERT_LT(next, last);  // Stores draw keys in blocks.
  EXPECT_EQ(inbox_of(*other_, next).size(), 2U);
  EXPECT_EQ(inbox_of(*other_, last).size(), 2U);
}

}  // namespace
}  // namespace pawl::store

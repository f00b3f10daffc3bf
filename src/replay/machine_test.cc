#include "replay/machine.h"

#include <functional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/hash.h"
#include "replay/machine_test_support.h"

namespace pawl::replay {
namespace {

using enum EntryKind;
using testing::HasSubstr;

CommandRequest a(CommandKind kind, std::string_view name = "", BranchId branch = kRootBranch) {
  CommandRequest request;
  request.kind = kind;
  request.name = name;
  request.branch = branch;
  return request;
}

CommandRequest cancel_of(FutureId target) {
  CommandRequest request = a(CommandKind::kCancelTask);
  request.target = target;
  return request;
}

// --- A turn ------------------------------------------------------------------------------------

TEST(MachineTurn, CommandsAreNewOnTheFirstRunAndMatchedAfterARestart) {
  Host run;
  const FutureId charge = run.task("charge");
  const FutureId pause = run.timer("pause");
  const std::size_t both = run.all({charge, pause});
  EXPECT_EQ(run.deliver(), "nothing");
  EXPECT_EQ(run.waiting(), "{1} {2}");
  EXPECT_EQ(run.commit(),
            "1 TaskScheduled {1} charge\n"
            "2 TimerStarted {2} pause\n");

  EXPECT_TRUE(run.arrive(kTimerFired, pause));
  EXPECT_TRUE(run.arrive(kTaskCompleted, charge, "7"));
  EXPECT_EQ(run.deliver(), "3 TimerFired to 2");
  EXPECT_EQ(run.status(both), "blocked");
  EXPECT_EQ(run.deliver(), "4 TaskCompleted to 1, wakes 1");
  EXPECT_EQ(run.status(both), "ready");
  EXPECT_EQ(run.outcome(charge), "value 7");
  ASSERT_TRUE(run->finish(kWorkflowCompleted, "7"));
  EXPECT_EQ(run.commit(),
            "3 TimerFired for {2}\n"
            "4 TaskCompleted for {1} = 7\n"
            "5 WorkflowCompleted = 7\n");

  Host again = run.restarted();
  EXPECT_EQ(again.task("charge"), charge);
  EXPECT_EQ(again.timer("pause"), pause);
  EXPECT_EQ(again.all({charge, pause}), both);
  EXPECT_EQ(again.deliver_all(),
            "3 TimerFired to 2\n"
            "4 TaskCompleted to 1, wakes 1\n");
  ASSERT_TRUE(again->finish(kWorkflowCompleted, "7"));
  EXPECT_EQ(again.commit(), "");
}

TEST(MachineTurn, NothingIsHandedOutAtTheCall) {
  Host run;
  run.task("a");
  run.arrive(kTaskCompleted, 1, "1");
  run.deliver_all();
  run.commit();
  Host again = run.restarted();
  const FutureId task = again.task("a");
  EXPECT_EQ(again.outcome(task), "open");
  EXPECT_EQ(again.status(again.any({task})), "blocked");
}

TEST(MachineTurn, TakeNewHandsOutEachEntryOnce) {
  Host run;
  run.task("a");
  Batch batch = run->take_new();
  EXPECT_EQ(batch.first, 0U);
  EXPECT_EQ(batch.last, 1U);
  batch = run->take_new();
  EXPECT_EQ(batch.first, 1U);
  EXPECT_EQ(batch.last, 1U);
  run.task("b");
  run.task("c");
  batch = run->take_new();
  EXPECT_EQ(batch.first, 1U);
  EXPECT_EQ(batch.last, 3U);
  EXPECT_TRUE(batch.forgotten.empty());
  EXPECT_EQ(run->next_seq(), 4U);
}

TEST(MachineTurn, LoadedEntriesAreNotNew) {
  Host run;
  run.task("a");
  run.commit();
  Host again = run.restarted();
  EXPECT_EQ(again.commit(), "");
  again.task("a");
  again.task("b");
  EXPECT_EQ(again.commit(), "2 TaskScheduled {2} b\n");
}

TEST(MachineTurn, IdsAreMadeFromRunAndPlace) {
  Host run;
  const BranchId branch = run.branch();
  run.task("a", branch);
  const Log& log = run->log();
  EXPECT_EQ(log.id_text(log[1]), uuid5(order_run().run_id, "{1, 1}").to_string());
}

TEST(MachineTurn, TimeNeverGoesBack) {
  Host run;
  EXPECT_EQ(run->now_ms(), 1000);
  run->set_time(500);
  run.task("a");
  run->set_time(2000);
  run.task("b");
  run->set_time(1500);
  run.task("c");
  EXPECT_EQ(run->log()[0].time_ms, 1000);
  EXPECT_EQ(run->log()[1].time_ms, 2000);
  EXPECT_EQ(run->log()[2].time_ms, 2000);
  EXPECT_EQ(run->now_ms(), 1000);

  Entry arrival;
  arrival.kind = kSignalReceived;
  arrival.name = "go";
  arrival.time_ms = 1700;
  ASSERT_TRUE(*run->arrive(arrival));
  arrival.time_ms = 2500;
  ASSERT_TRUE(*run->arrive(arrival));
  run.deliver();
  EXPECT_EQ(run->now_ms(), 2000);
  run.deliver();
  EXPECT_EQ(run->now_ms(), 2500);
}

// --- The inbox ---------------------------------------------------------------------------------

TEST(MachineInbox, AnArrivalGetsItsSeqWhenItIsConsumed) {
  Host run;
  const FutureId first = run.task("a");
  const FutureId second = run.task("b");
  EXPECT_TRUE(run.arrive(kTaskCompleted, second, "2"));
  EXPECT_TRUE(run.send("go", "3"));
  EXPECT_TRUE(run.arrive(kTaskFailed, first, "1"));
  run.task("c");
  EXPECT_EQ(run.deliver(), "4 TaskCompleted to 2");
  run.task("d");
  EXPECT_EQ(run.deliver_all(),
            "6 SignalReceived\n"
            "7 TaskFailed to 1\n");
  EXPECT_EQ(run.commit(),
            "1 TaskScheduled {1} a\n"
            "2 TaskScheduled {2} b\n"
            "3 TaskScheduled {3} c\n"
            "4 TaskCompleted for {2} = 2\n"
            "5 TaskScheduled {4} d\n"
            "6 SignalReceived go = 3\n"
            "7 TaskFailed for {1} = 1\n");
}

TEST(MachineInbox, WhatTheLogHoldsComesFirst) {
  Host run;
  const FutureId task = run.task("a");
  run.timer("t");
  run.arrive(kTaskCompleted, task);
  run.deliver();
  run.commit();
  Host again = run.restarted();
  again.send("go");
  again.task("a");
  again.timer("t");
  again.arrive(kTimerFired, 2);
  EXPECT_EQ(again.deliver_all(),
            "3 TaskCompleted to 1\n"
            "4 SignalReceived\n"
            "5 TimerFired to 2\n");
}

TEST(MachineInbox, WhatNobodyAskedForIsDropped) {
  Host run;
  EXPECT_FALSE(run.arrive_for(kTaskCompleted, "no such task"));
  EXPECT_FALSE(run.arrive_for(kTaskCompleted, ""));
  EXPECT_FALSE(run.arrive_for(kTimerFired, ""));
  EXPECT_FALSE(run.arrive_for(kChildWorkflowFailed, "c-1"));
  EXPECT_FALSE(run.arrive_for(kSignalTimedOut, "", "{1}"));
  EXPECT_FALSE(run.arrive_for(kSignalTimedOut, "", "{}"));
  EXPECT_FALSE(run.arrive_for(kSignalTimedOut, "", "{3, 1, 1}"));
  const FutureId task = run.task("a");
  EXPECT_FALSE(run.arrive(kTimerFired, task));
  EXPECT_FALSE(run.arrive(kSignalTimedOut, task));
  EXPECT_EQ(run.deliver(), "nothing");
  EXPECT_EQ(run.commit(), "1 TaskScheduled {1} a\n");
}

TEST(MachineInbox, TheFirstArrivalCounts) {
  Host run;
  const FutureId task = run.task("a");
  EXPECT_TRUE(run.arrive(kTaskCompleted, task, "1"));
  EXPECT_FALSE(run.arrive(kTaskFailed, task, "2"));
  EXPECT_EQ(run.deliver_all(), "2 TaskCompleted to 1\n");
  EXPECT_FALSE(run.arrive(kTaskCancelled, task));
  EXPECT_EQ(run.deliver(), "nothing");
  EXPECT_EQ(run.outcome(task), "value 1");
  run.commit();
  Host again = run.restarted();
  EXPECT_FALSE(again.arrive_for(kTaskCompleted, run->log().id_text(run->log()[0])));
}

TEST(MachineInbox, ATimedOutWaitIsFoundByItsPlace) {
  Host run;
  const BranchId branch = run.branch();
  const FutureId wait = run.signal("go", branch);
  EXPECT_TRUE(run.arrive(kSignalTimedOut, wait));
  EXPECT_FALSE(run.arrive(kSignalTimedOut, wait));
  EXPECT_EQ(run.deliver(), "3 SignalTimedOut to 1");
  EXPECT_EQ(run.outcome(wait), "timed out");
  EXPECT_TRUE(run.send("go"));
  EXPECT_EQ(run.deliver(), "4 SignalReceived");
  EXPECT_EQ(run->signal_count("go"), 1U);
}

TEST(MachineInbox, AWaitThatTookASignalDoesNotTimeOut) {
  Host run;
  const FutureId wait = run.signal("go");
  run.send("go", "1");
  run.arrive(kSignalTimedOut, wait);
  EXPECT_EQ(run.deliver_all(), "2 SignalReceived to 1\n");
  EXPECT_EQ(run.outcome(wait), "value 1");
}

TEST(MachineInbox, AChildIsFoundByIdOrName) {
  Host run;
  CommandRequest request = a(CommandKind::kChildWorkflow, "ship");
  request.child_kind = "shipping";
  const FutureId first = run.open(request).future;
  const FutureId second = run.open(request).future;
  EXPECT_TRUE(run.arrive(kChildWorkflowFailed, first, "1"));
  run.deliver();
  Entry by_name;
  by_name.kind = kChildWorkflowCompleted;
  by_name.name = "ship";
  EXPECT_TRUE(*run->arrive(by_name));
  EXPECT_FALSE(*run->arrive(by_name));
  EXPECT_EQ(run.deliver(), "4 ChildWorkflowCompleted to 2");
  EXPECT_EQ(run.outcome(second), "value");
  EXPECT_FALSE(*run->arrive(by_name));
}

// An arrival completes the oldest command of its id that is still open, also when both wait in the
// inbox.
TEST(MachineInbox, TwoArrivalsForASharedIdCompleteTwoCommands) {
  Host run;
  const FutureId first = run.timer("pause");
  const FutureId second = run.timer("pause");
  EXPECT_TRUE(run.arrive_for(kTimerFired, "pause"));
  EXPECT_TRUE(run.arrive_for(kTimerFired, "pause"));
  EXPECT_FALSE(run.arrive_for(kTimerFired, "pause"));
  EXPECT_EQ(run.deliver_all(),
            "3 TimerFired to 1\n"
            "4 TimerFired to 2\n");
  EXPECT_EQ(run.outcome(first), "value");
  EXPECT_EQ(run.outcome(second), "value");
}

TEST(MachineInbox, TwoArrivalsForASharedIdOfLoadedTasksCompleteBoth) {
  Log log;
  for (const std::string_view location : {"{1}", "{2}"}) {
    Entry task;
    task.kind = kTaskScheduled;
    task.seq = log.last_seq() + 1;
    task.location = location;
    task.name = "a";
    task.id = "t";
    ASSERT_TRUE(log.load(task));
  }
  const auto machine = Machine::create(order_run(), std::move(log));
  ASSERT_TRUE(machine);
  Entry arrival;
  arrival.kind = kTaskCompleted;
  arrival.id = "t";
  EXPECT_TRUE(*(*machine)->arrive(arrival));
  EXPECT_TRUE(*(*machine)->arrive(arrival));
  EXPECT_FALSE(*(*machine)->arrive(arrival));
}

TEST(MachineInbox, TwoArrivalsForASharedIdOneAfterTheOther) {
  Host run;
  run.timer("pause");
  run.timer("pause");
  EXPECT_TRUE(run.arrive_for(kTimerFired, "pause"));
  EXPECT_EQ(run.deliver(), "3 TimerFired to 1");
  EXPECT_TRUE(run.arrive_for(kTimerCancelled, "pause"));
  EXPECT_EQ(run.deliver(), "4 TimerCancelled to 2");
  EXPECT_FALSE(run.arrive_for(kTimerFired, "pause"));
}

TEST(MachineInbox, AnArrivalWaitsUntilItsCommandIsIssued) {
  Host run;
  run.timer("t");
  run.task("a");
  run.commit();
  const std::string id = run->log().id_text(run->log()[1]);

  Host again = run.restarted();
  const FutureId timer = again.timer("t");
  EXPECT_TRUE(again.arrive_for(kTaskCompleted, id, "", "1"));
  EXPECT_EQ(again.deliver(), "nothing");
  EXPECT_FALSE(again.arrive_for(kTaskFailed, id, "", "2"));
  EXPECT_TRUE(again.arrive(kTimerFired, timer));
  EXPECT_EQ(again.deliver(), "3 TimerFired to 1");
  EXPECT_EQ(again.deliver(), "nothing");
  const FutureId task = again.task("a");
  EXPECT_EQ(again.deliver(), "4 TaskCompleted to 2");
  EXPECT_EQ(again.outcome(task), "value 1");
  EXPECT_FALSE(again.arrive_for(kTaskFailed, id, "", "2"));
  EXPECT_EQ(again.commit(),
            "3 TimerFired for {1}\n"
            "4 TaskCompleted for {2} = 1\n");
}

TEST(MachineInbox, TokensSayWhatBecameOfAnArrival) {
  Host run;
  const Opened loop = run.loop(1);
  const FutureId kept = run.task("b");
  const FutureId wait = run.signal("go");
  const FutureId gone = run.task("a", *run->enter_iteration(loop.branch));
  const auto arrive = [&](EntryKind kind, FutureId future, std::uint64_t token) {
    const Record& command = run->log()[run->record_of(future)];
    const std::string id = run->log().id_text(command);
    const std::string location = run->log().location(command).to_string();
    Entry entry;
    entry.kind = kind;
    entry.id = id;
    entry.location = location;
    return *run->arrive(entry, token);
  };
  Entry signal;
  signal.kind = kSignalReceived;
  signal.name = "go";
  EXPECT_TRUE(*run->arrive(signal, 11));
  EXPECT_TRUE(arrive(kTaskCompleted, gone, 12));
  EXPECT_TRUE(arrive(kSignalTimedOut, wait, 13));
  EXPECT_TRUE(arrive(kTaskCompleted, kept, 14));
  EXPECT_FALSE(arrive(kTaskFailed, kept, 15));
  EXPECT_TRUE(run->take_new().consumed.empty());
  ASSERT_TRUE(run->continue_loop(loop.branch, "1"));
  run.deliver();
  EXPECT_EQ(run.deliver(), "6 SignalReceived to 3");
  Batch batch = run->take_new();
  EXPECT_EQ(batch.consumed, (std::vector<std::uint64_t>{11}));
  EXPECT_TRUE(batch.dropped.empty());
  EXPECT_EQ(run.deliver(), "7 TaskCompleted to 2");
  batch = run->take_new();
  EXPECT_EQ(batch.consumed, (std::vector<std::uint64_t>{14}));
  EXPECT_EQ(batch.dropped, (std::vector<std::uint64_t>{12, 13}));
  batch = run->take_new();
  EXPECT_TRUE(batch.consumed.empty() && batch.dropped.empty());
}

TEST(MachineInbox, ExtraFieldsStayWithTheEntry) {
  Host run;
  Entry signal;
  signal.kind = kSignalReceived;
  signal.name = "go";
  signal.extra = R"({"id":"e-1"})";
  ASSERT_TRUE(*run->arrive(signal));
  run.deliver();
  EXPECT_EQ(run->log().extra(run->log()[0]), R"({"id":"e-1"})");
}

TEST(MachineInbox, OnlyArrivalsArrive) {
  Host run;
  for (const EntryKind kind : {kTaskScheduled, kOperationCompleted, kLoopCheckpointed,
                               kWorkflowCompleted, static_cast<EntryKind>(200), EntryKind{}}) {
    Entry entry;
    entry.kind = kind;
    const Result<bool> taken = run->arrive(entry);
    ASSERT_FALSE(taken);
    EXPECT_EQ(taken.error().code, ErrorCode::kInvalidArgument);
  }
  Entry timed_out;
  timed_out.kind = kSignalTimedOut;
  timed_out.location = "{1";
  const Result<bool> taken = run->arrive(timed_out);
  ASSERT_FALSE(taken);
  EXPECT_EQ(taken.error().code, ErrorCode::kMalformedInput);
}

// --- Operations that run while the code goes on ------------------------------------------------

TEST(MachineOperation, ALoneOneIsASingleEntry) {
  Host run;
  const Opened opened = run.open(CommandKind::kOperation, "hash");
  EXPECT_TRUE(opened.must_execute);
  EXPECT_EQ(run->record_of(opened.future), kNoRecord);
  const std::size_t await = run.all({opened.future});
  EXPECT_EQ(run.waiting(), "{1}");
  EXPECT_EQ(run.deliver(), "nothing");
  EXPECT_EQ(run.commit(), "");
  run.complete(opened.future, "42");
  EXPECT_EQ(run.status(await), "blocked");
  EXPECT_EQ(run.deliver(), "1 OperationCompleted to 1, wakes 1");
  EXPECT_EQ(run.outcome(opened.future), "value 42");
  EXPECT_EQ(run.commit(), "1 OperationCompleted {1} hash = 42\n");

  Host again = run.restarted();
  const Opened replayed = again.open(CommandKind::kOperation, "hash");
  EXPECT_FALSE(replayed.must_execute);
  EXPECT_EQ(again.outcome(replayed.future), "open");
  EXPECT_EQ(again.deliver_all(), "1 OperationCompleted to 1\n");
  EXPECT_EQ(again.outcome(replayed.future), "value 42");
}

TEST(MachineOperation, AFailureIsDeliveredLikeAnyOutcome) {
  Host run;
  const FutureId operation = run.operation("hash");
  run.complete(operation, R"("disk full")", OutcomeKind::kFailed);
  EXPECT_EQ(run.deliver(), "1 OperationFailed to 1");
  EXPECT_EQ(run.outcome(operation), R"(failed "disk full")");
}

TEST(MachineOperation, ALaterCommandOfItsBranchMakesItStarted) {
  Host run;
  const FutureId operation = run.operation("hash");
  run.task("a");
  EXPECT_EQ(run.commit(),
            "1 OperationStarted {1} hash\n"
            "2 TaskScheduled {2} a\n");
  EXPECT_NE(run->record_of(operation), kNoRecord);
  run.complete(operation, "42");
  EXPECT_EQ(run.deliver_all(), "3 OperationCompleted to 1\n");
  EXPECT_EQ(run.commit(), "3 OperationCompleted for {1} = 42\n");
}

TEST(MachineOperation, EveryKindOfLaterEntryMakesItStarted) {
  const std::vector<std::pair<std::string, std::function<void(Host&)>>> later = {
      {"branch", [](Host& run) { run.branch(); }},
      {"loop", [](Host& run) { run.loop(20); }},
      {"set", [](Host& run) { run.set("k", "1"); }},
      {"signal", [](Host& run) { run.signal("go"); }},
      {"compensation", [](Host& run) { run.open(CommandKind::kCompensation, "refund"); }},
      {"removed", [](Host& run) { ASSERT_TRUE(run->removed(a(CommandKind::kTask, "old"))); }},
      {"check_version", [](Host& run) { ASSERT_TRUE(run->check_version(kRootBranch, 2, "")); }},
  };
  for (const auto& [name, make] : later) {
    Host run;
    run.operation("hash");
    make(run);
    EXPECT_THAT(run.commit(), testing::StartsWith("1 OperationStarted {1} hash\n2 ")) << name;
  }
}

TEST(MachineOperation, TheOrderOfCompletionDecides) {
  Host run;
  const FutureId first = run.operation("one");
  const FutureId second = run.operation("two");
  const FutureId third = run.operation("three");
  run.all({first});
  run.all({second});
  run.all({third});
  EXPECT_EQ(run.waiting(), "{1} {2} {3}");
  run.complete(second, "2");
  run.complete(third, "3");
  run.complete(first, "1");
  EXPECT_EQ(run.deliver_all(),
            "2 OperationCompleted to 2, wakes 2\n"
            "3 OperationCompleted to 3, wakes 3\n"
            "4 OperationCompleted to 1, wakes 1\n");
  EXPECT_EQ(run.commit(),
            "1 OperationStarted {1} one\n"
            "2 OperationCompleted {2} two = 2\n"
            "3 OperationCompleted {3} three = 3\n"
            "4 OperationCompleted for {1} = 1\n");

  Host again = run.restarted();
  for (const char* name : {"one", "two", "three"}) {
    const Opened opened = again.open(CommandKind::kOperation, name);
    EXPECT_FALSE(opened.must_execute);
    again.all({opened.future});
  }
  EXPECT_EQ(again.deliver_all(),
            "2 OperationCompleted to 2, wakes 2\n"
            "3 OperationCompleted to 3, wakes 3\n"
            "4 OperationCompleted to 1, wakes 1\n");
  EXPECT_EQ(again.commit(), "");
}

TEST(MachineOperation, CompletionsBeforeTheFirstDeliveryKeepTheirOrder) {
  Host run;
  const FutureId first = run.operation("one");
  run.complete(first, "1");
  const FutureId second = run.operation("two");
  const FutureId third = run.operation("three");
  run.complete(third, "3");
  EXPECT_EQ(run.deliver_all(),
            "1 OperationCompleted to 1\n"
            "3 OperationCompleted to 3\n");
  run.complete(second, "2");
  EXPECT_EQ(run.deliver_all(), "4 OperationCompleted to 2\n");
}

TEST(MachineOperation, ItsCompletionAndTheInboxAreConsumedInTheOrderTheyComeIn) {
  Host run;
  const FutureId operation = run.operation("hash");
  const FutureId task = run.task("a");
  run.arrive(kTaskCompleted, task);
  EXPECT_EQ(run.deliver(), "3 TaskCompleted to 2");
  run.complete(operation, "1");
  run.send("go");
  EXPECT_EQ(run.deliver_all(),
            "4 OperationCompleted to 1\n"
            "5 SignalReceived\n");
}

TEST(MachineOperation, BranchesDoNotForceEachOther) {
  Host run;
  const BranchId left = run.branch();
  const BranchId right = run.branch();
  const FutureId operation = run.operation("hash", left);
  run.task("a", right);
  run.task("b");
  EXPECT_EQ(run.commit(),
            "1 BranchOpened {1}\n"
            "2 BranchOpened {2}\n"
            "3 TaskScheduled {2, 1} a\n"
            "4 TaskScheduled {3} b\n");
  run.complete(operation, "1");
  EXPECT_EQ(run.commit(), "5 OperationCompleted {1, 1} hash = 1\n");
}

TEST(MachineOperation, OneThatWasStartedAndNeverCompletedIsExecutedAgain) {
  Host run;
  run.operation("hash");
  run.task("a");
  run.commit();
  Host again = run.restarted();
  const Opened opened = again.open(CommandKind::kOperation, "hash");
  EXPECT_TRUE(opened.must_execute);
  again.task("a");
  again.complete(opened.future, "42");
  EXPECT_EQ(again.deliver_all(), "3 OperationCompleted to 1\n");
  EXPECT_EQ(again.commit(), "3 OperationCompleted for {1} = 42\n");
}

TEST(MachineOperation, ThePlaceOfARunningOneIsNotGivenAwayAgain) {
  Host run;
  const FutureId first = run.operation("one");
  run.operation("two");
  run.complete(first, "1");
  run.task("a");
  EXPECT_EQ(run.commit(),
            "1 OperationCompleted {1} one = 1\n"
            "2 OperationStarted {2} two\n"
            "3 TaskScheduled {3} a\n");
}

TEST(MachineOperation, AStartedOneKeepsWhatItWasAskedWith) {
  Host run;
  CommandRequest request = a(CommandKind::kOperation, "hash");
  request.has_payload = true;
  request.payload = "[1]";
  request.step_key = "k";
  request.source = "order.cc:17";
  request.extra = R"({"attempts":3})";
  request.version = 2;
  run.open(request);
  run.task("a");
  Log::EntryTexts texts;
  const Entry entry = run->log().entry(0, texts);
  EXPECT_EQ(entry.kind, kOperationStarted);
  EXPECT_EQ(entry.name, "hash");
  EXPECT_EQ(entry.step_key, "k");
  EXPECT_EQ(entry.source, "order.cc:17");
  EXPECT_EQ(entry.extra, R"({"attempts":3})");
  EXPECT_EQ(entry.version, 2U);
  EXPECT_EQ(entry.input_digest, stable_digest("[1]"));
  EXPECT_EQ(entry.id, uuid5(order_run().run_id, "{1}").to_string());
}

// The log's form gives OperationStarted an `input`, like TaskScheduled.
TEST(MachineOperation, AStartedOneKeepsItsInput) {
  Host run;
  CommandRequest request = a(CommandKind::kOperation, "hash");
  request.has_payload = true;
  request.payload = "[1]";
  run.open(request);
  run.task("a");
  EXPECT_EQ(run.commit(),
            "1 OperationStarted {1} hash = [1]\n"
            "2 TaskScheduled {2} a\n");
}

// The same code must agree with the log that it wrote, also if it did not wait for an operation.
TEST(MachineOperation, ARunThatEndsWhileOneIsRunningCanBeReplayed) {
  Host run;
  run.operation("hash");
  ASSERT_TRUE(run->finish(kWorkflowCompleted, "null"));
  run.commit();
  Host again = run.restarted();
  const Result<Opened> opened = again->open(a(CommandKind::kOperation, "hash"));
  ASSERT_TRUE(opened) << opened.error().message;
  EXPECT_TRUE(again->finish(kWorkflowCompleted, "null"));
}

TEST(MachineOperation, OneInABranchThatEndsWhileItIsRunningCanBeReplayed) {
  Host run;
  const BranchId branch = run.branch();
  run.operation("hash", branch);
  ASSERT_TRUE(run->close_branch(branch));
  ASSERT_TRUE(run->finish(kWorkflowCompleted, "null"));
  run.commit();
  Host again = run.restarted();
  const BranchId same = again.branch();
  const Result<Opened> opened = again->open(a(CommandKind::kOperation, "hash", same));
  ASSERT_TRUE(opened) << opened.error().message;
  EXPECT_TRUE(again->close_branch(same));
  EXPECT_TRUE(again->finish(kWorkflowCompleted, "null"));
}

TEST(MachineOperation, OneOfAnEndedRunIsNotExecutedAgain) {
  Host run;
  run.operation("hash");
  run.task("a");
  ASSERT_TRUE(run->finish(kWorkflowCompleted, "null"));
  run.commit();
  Host again = run.restarted();
  EXPECT_FALSE(again.open(CommandKind::kOperation, "hash").must_execute);
}

TEST(MachineOperation, ReturnsOrFails) {
  Host run;
  const FutureId operation = run.operation("hash");
  for (const OutcomeKind outcome : {OutcomeKind::kCancelled, OutcomeKind::kTimedOut}) {
    EXPECT_FALSE(run->complete_operation(operation, outcome, "1"));
  }
  EXPECT_TRUE(run->complete_operation(operation, OutcomeKind::kValue, "1"));
}

TEST(MachineOperation, OnlyWhatRunsCanBeCompleted) {
  Host run;
  const FutureId task = run.task("a");
  const FutureId operation = run.operation("hash");
  for (const FutureId future : {FutureId{0}, task, FutureId{99}}) {
    const Result<void> completed = run->complete_operation(future, OutcomeKind::kValue, "1");
    ASSERT_FALSE(completed);
    EXPECT_EQ(completed.error().code, ErrorCode::kInvalidArgument);
  }
  run.complete(operation, "1");
  EXPECT_FALSE(run->complete_operation(operation, OutcomeKind::kValue, "2"));
  run.commit();
  Host again = run.restarted();
  again.task("a");
  const FutureId replayed = again.operation("hash");
  EXPECT_FALSE(again->complete_operation(replayed, OutcomeKind::kValue, "2"));
  EXPECT_EQ(again.deliver_all(), "2 OperationCompleted to 2\n");
  EXPECT_EQ(again.outcome(replayed), "value 1");
}

// --- Awaits ------------------------------------------------------------------------------------

class MachineAwait : public testing::Test {
 protected:
  MachineAwait() {
    for (const char* name : {"a", "b", "c"}) {
      run_.task(name);
    }
  }
  void complete(FutureId task, EntryKind kind = kTaskCompleted) {
    run_.arrive(kind, task, std::to_string(task));
    run_.deliver();
  }
  Host run_;
};

TEST_F(MachineAwait, AllOfNothingIsReady) { EXPECT_EQ(run_.status(run_.all({})), "ready"); }

TEST_F(MachineAwait, AllOfCompleteFuturesIsReady) {
  complete(1);
  complete(2);
  EXPECT_EQ(run_.status(run_.all({1, 2})), "ready");
  EXPECT_EQ(run_.status(run_.all({1})), "ready by 1");
}

TEST_F(MachineAwait, AllOfWhatHasFailedIsDecidedByTheFirstFailureDelivered) {
  complete(3, kTaskCancelled);
  complete(1, kTaskFailed);
  EXPECT_EQ(run_.status(run_.all({1, 2, 3})), "ready by 3");
  EXPECT_EQ(run_.status(run_.all({1, 2})), "ready by 1");
}

TEST_F(MachineAwait, AnyOfCompleteFuturesIsTheFirstDelivered) {
  complete(2);
  complete(1);
  EXPECT_EQ(run_.status(run_.any({1, 2, 3})), "ready by 2");
  EXPECT_EQ(run_.status(run_.any({3, 1})), "ready by 1");
  EXPECT_EQ(run_.status(run_.any({3})), "blocked");
}

TEST_F(MachineAwait, AllWaitsOnlyForWhatIsMissing) {
  complete(1);
  const std::size_t await = run_.all({1, 2, 3});
  EXPECT_EQ(run_.waiting(), "{2} {3}");
  complete(3);
  EXPECT_EQ(run_.waiting(), "{2}");
  complete(2);
  EXPECT_EQ(run_.status(await), "ready");
  EXPECT_EQ(run_.waiting(), "");
}

TEST_F(MachineAwait, TheSameFutureTwice) {
  const std::size_t all = run_.all({1, 1});
  const std::size_t any = run_.any({1, 1});
  EXPECT_EQ(run_.waiting(), "{1}");
  complete(1);
  EXPECT_EQ(run_.status(all), "ready");
  EXPECT_EQ(run_.status(any), "ready by 1");
  EXPECT_EQ(run_.status(run_.all({1, 1})), "ready");
  EXPECT_EQ(run_.status(run_.any({1, 1})), "ready by 1");
}

TEST_F(MachineAwait, AwaitsGoOnInTheOrderInWhichTheyBegan) {
  run_.any({1, 2});
  run_.all({3});
  run_.any({3, 1});
  run_.all({1});
  run_.arrive(kTaskCompleted, 1);
  EXPECT_EQ(run_.deliver(), "4 TaskCompleted to 1, wakes 1 3 4");
}

TEST_F(MachineAwait, AnEndedOneIsNotKnownAnyMore) {
  const std::size_t await = run_.all({1});
  EXPECT_TRUE(run_.give_up(await));
  EXPECT_FALSE(run_.give_up(await));
  run_.arrive(kTaskCompleted, 1);
  EXPECT_EQ(run_.deliver(), "4 TaskCompleted to 1");
}

TEST_F(MachineAwait, MisuseIsAnError) {
  const std::vector<FutureId> none;
  const std::vector<FutureId> zero = {0};
  const std::vector<FutureId> unknown = {1, 99};
  EXPECT_FALSE(run_->begin_await(AwaitMode::kAny, none, false));
  EXPECT_FALSE(run_->begin_await(AwaitMode::kAll, zero, false));
  EXPECT_FALSE(run_->begin_await(AwaitMode::kAll, unknown, false));
  EXPECT_FALSE(run_->begin_await(AwaitMode::kAny, unknown, true));
  for (const AwaitId await : {0U, 1U, 0xffffffffU}) {
    EXPECT_FALSE(run_->give_up_await(await));
  }
  for (const FutureId future : {0U, 4U, 0xffffffffU}) {
    EXPECT_FALSE(run_->outcome(future));
    EXPECT_EQ(run_->record_of(future), kNoRecord);
  }
}

TEST_F(MachineAwait, TheReasonOfACompletionIsKnown) {
  complete(2, kTaskFailed);
  EXPECT_EQ(run_->outcome(2)->entry, 3U);
  EXPECT_EQ(run_->outcome(1)->entry, kNoRecord);
}

// --- Cancel requests ---------------------------------------------------------------------------

TEST(MachineCancel, InterruptsWhatIsBlockedOutsideAShieldOnce) {
  Host run;
  const FutureId task = run.task("a");
  const std::size_t plain = run.all({task});
  const std::size_t shielded = run.all({task}, true);
  EXPECT_FALSE(run->cancel_requested());
  EXPECT_TRUE(run.request_cancel(R"("too late")"));
  EXPECT_FALSE(run->cancel_requested());
  EXPECT_EQ(run.deliver(), "2 CancellationRequested, wakes 1");
  EXPECT_TRUE(run->cancel_requested());
  EXPECT_EQ(run->cancel_reason(), R"("too late")");
  EXPECT_EQ(run.status(plain), "cancelled");
  EXPECT_EQ(run.status(shielded), "blocked");
  EXPECT_FALSE(run.give_up(plain));

  // What is awaited afterwards runs normally, also after a second request.
  const std::size_t later = run.all({task});
  run.request_cancel("2");
  EXPECT_EQ(run.deliver(), "3 CancellationRequested");
  EXPECT_EQ(run->cancel_reason(), R"("too late")");
  EXPECT_EQ(run.status(later), "blocked");
  run.arrive(kTaskCompleted, task);
  EXPECT_EQ(run.deliver(), "4 TaskCompleted to 1, wakes 2 3");
}

TEST(MachineCancel, ATaskOrTimerIsAskedOnce) {
  Host run;
  const FutureId task = run.task("a");
  const FutureId timer = run.timer("pause");
  const FutureId done = run.task("b");
  run.arrive(kTaskCompleted, done);
  run.deliver();
  for (const FutureId target : {task, timer, done, task, timer}) {
    const Opened opened = run.open(cancel_of(target));
    EXPECT_EQ(opened.future, 0U);
  }
  const std::string id = run->log().id_text(run->log()[0]);
  EXPECT_EQ(run->log().id_text(run->log()[4]), id);
  EXPECT_EQ(run.commit(),
            "1 TaskScheduled {1} a\n"
            "2 TimerStarted {2} pause\n"
            "3 TaskScheduled {3} b\n"
            "4 TaskCompleted for {3}\n"
            "5 TaskCancelRequested {4}\n"
            "6 TimerCancelRequested {5} pause\n");
  run.arrive(kTaskCancelled, task);
  EXPECT_EQ(run.deliver(), "7 TaskCancelled to 1");
  EXPECT_EQ(run.outcome(task), "cancelled");
}

TEST(MachineCancel, OnlyTasksAndTimersCanBeCancelled) {
  Host run;
  const FutureId targets[] = {run.operation("hash"), run.signal("go"), FutureId{0}, FutureId{99}};
  for (const FutureId target : targets) {
    const Result<Opened> opened = run->open(cancel_of(target));
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().code, ErrorCode::kInvalidArgument);
  }
}

// A request that was refused was not made.
TEST(MachineCancel, ARefusedRequestDoesNotCountAsAsked) {
  Host run;
  const FutureId task = run.task("a");
  CommandRequest keyed = a(CommandKind::kTask, "b");
  keyed.step_key = "k";
  run.open(keyed);
  CommandRequest cancel = cancel_of(task);
  cancel.step_key = "k";
  EXPECT_FALSE(run->open(cancel));
  run.commit();
  cancel.step_key = "";
  run.open(cancel);
  EXPECT_EQ(run.commit(), "3 TaskCancelRequested {3}\n");
}

// --- Signals -----------------------------------------------------------------------------------

TEST(MachineSignals, GoToTheOldestOpenWaitElseIntoTheMailbox) {
  Host run;
  const FutureId first = run.signal("go");
  const FutureId second = run.signal("go");
  for (const char* data : {"1", "2", "3", "4"}) {
    run.send("go", data);
  }
  EXPECT_EQ(run.deliver_all(),
            "3 SignalReceived to 1\n"
            "4 SignalReceived to 2\n"
            "5 SignalReceived\n"
            "6 SignalReceived\n");
  EXPECT_EQ(run.outcome(first), "value 1");
  EXPECT_EQ(run.outcome(second), "value 2");
  EXPECT_EQ(run->signal_count("go"), 2U);
  const FutureId third = run.signal("go");
  EXPECT_EQ(run.outcome(third), "value 3");
  const auto taken = run->take_signal(kRootBranch, "go");
  ASSERT_TRUE(taken && *taken);
  EXPECT_EQ(run->log()[**taken].payload.view(), "4");
  EXPECT_EQ(run->signal_count("go"), 0U);
  EXPECT_FALSE(run->take_signal(kRootBranch, "go")->has_value());
  EXPECT_EQ(run->signal_count("never heard of"), 0U);
}

TEST(MachineSignals, UnconsumedOnesAreNamedOldestFirst) {
  Host run;
  for (const char* name : {"b", "a", "go", "b"}) {
    run.send(name);
  }
  run.send("not delivered");
  for (int i = 0; i < 4; ++i) {
    run.deliver();
  }
  run.signal("go");
  EXPECT_EQ(run->unconsumed_signals(), (std::vector<RecordId>{0, 1, 3}));
}

TEST(MachineSignals, AWaitOfAnEndedBranchSleepsUntilItIsAwaited) {
  Host run;
  const BranchId branch = run.branch();
  const FutureId wait = run.signal("go", branch);
  ASSERT_TRUE(run->close_branch(branch));
  run.send("go", "1");
  EXPECT_EQ(run.deliver(), "3 SignalReceived");
  EXPECT_EQ(run->signal_count("go"), 1U);
  EXPECT_EQ(run.outcome(wait), "open");
  EXPECT_EQ(run.status(run.all({wait})), "ready by 1");
  EXPECT_EQ(run.outcome(wait), "value 1");
  EXPECT_EQ(run->signal_count("go"), 0U);
}

// The oldest open wait is the one that was opened first, whether or not a signal passed it by while
// it slept.
TEST(MachineSignals, AnAwaitedWaitOfAnEndedBranchKeepsItsPlace) {
  for (const bool passes_by : {false, true}) {
    Host run;
    const BranchId branch = run.branch();
    const FutureId oldest = run.signal("go", branch);
    ASSERT_TRUE(run->close_branch(branch));
    if (passes_by) {
      const FutureId taker = run.signal("go");
      run.send("go", "0");
      run.deliver();
      EXPECT_EQ(run.outcome(taker), "value 0");
    }
    const FutureId later = run.signal("go");
    run.all({oldest});
    run.send("go", "1");
    run.send("go", "2");
    run.deliver_all();
    EXPECT_EQ(run.outcome(oldest), "value 1") << passes_by;
    EXPECT_EQ(run.outcome(later), "value 2") << passes_by;
  }
}

TEST(MachineSignals, AWaitOfAnEndedIterationEndsForGood) {
  Host run;
  const Opened loop = run.loop(20);
  const BranchId iteration = *run->enter_iteration(loop.branch);
  const BranchId branch = run.branch(iteration);
  const FutureId direct = run.signal("go", iteration);
  const FutureId below = run.signal("go", branch);
  ASSERT_TRUE(run->close_branch(branch));
  ASSERT_TRUE(run->continue_loop(loop.branch, "1"));
  EXPECT_EQ(run.outcome(direct), "cancelled");
  EXPECT_EQ(run.outcome(below), "cancelled");
  run.all({direct, below});
  run.send("go");
  EXPECT_EQ(run.deliver(), "5 SignalReceived");
  EXPECT_EQ(run->signal_count("go"), 1U);
}

// An await that is refused has no effect.
TEST(MachineSignals, ARefusedAwaitTakesNoSignal) {
  Host run;
  const BranchId branch = run.branch();
  const FutureId wait = run.signal("go", branch);
  ASSERT_TRUE(run->close_branch(branch));
  run.send("go");
  run.deliver();
  const std::vector<FutureId> futures = {wait, 99};
  EXPECT_FALSE(run->begin_await(AwaitMode::kAll, futures, false));
  EXPECT_EQ(run->signal_count("go"), 1U);
  EXPECT_EQ(run.outcome(wait), "open");
}

// --- Loops -------------------------------------------------------------------------------------

// Runs iterations with one task each, completing it, up to the given one.
void iterate(Host& run, BranchId loop, std::uint64_t from, std::uint64_t to) {
  for (std::uint64_t i = from; i <= to; ++i) {
    const BranchId iteration = *run->enter_iteration(loop);
    const FutureId task = run.task("a", iteration);
    run.arrive(kTaskCompleted, task, std::to_string(i));
    run.deliver_all();
    const FutureId checkpoint = *run->continue_loop(loop, std::to_string(i));
    if (checkpoint != 0) {
      run.deliver_all();
    }
  }
}

TEST(MachineLoop, ForgetsFinishedIterationsOverSeveralTurns) {
  Host run;
  const Opened loop = run.loop(2);
  EXPECT_EQ(run->outcome(loop.future)->is_complete, true);
  iterate(run, loop.branch, 1, 1);
  EXPECT_EQ(run.commit(),
            "1 LoopStarted {1} = 0\n"
            "2 TaskScheduled {1, 1, 1} a\n"
            "3 TaskCompleted for {1, 1, 1} = 1\n");
  iterate(run, loop.branch, 2, 2);
  EXPECT_EQ(run.commit(),
            "4 TaskScheduled {1, 2, 1} a\n"
            "5 TaskCompleted for {1, 2, 1} = 2\n"
            "6 LoopCheckpointed for {1} after 2 state 2\n"
            "forgotten: 2 3 4 5\n");
  EXPECT_EQ(run.commit(), "");
  iterate(run, loop.branch, 3, 4);
  EXPECT_EQ(run.commit(),
            "7 TaskScheduled {1, 3, 1} a\n"
            "8 TaskCompleted for {1, 3, 1} = 3\n"
            "9 TaskScheduled {1, 4, 1} a\n"
            "10 TaskCompleted for {1, 4, 1} = 4\n"
            "11 LoopCheckpointed for {1} after 4 state 4\n"
            "forgotten: 6 7 8 9 10\n");
  EXPECT_EQ(run.store().size(), 2U);

  Host again = run.restarted();
  const Opened same = again.loop(2);
  const std::size_t await = again.all({same.future}, true);
  EXPECT_EQ(again.status(await), "blocked");
  EXPECT_FALSE(again->loop_position(same.branch));
  EXPECT_EQ(again.deliver(), "11 LoopCheckpointed to 1, wakes 1");
  const LoopPosition position = *again->loop_position(same.branch);
  EXPECT_EQ(position.finished, 4U);
  EXPECT_EQ(position.state, "4");
  EXPECT_FALSE(position.done);
  const BranchId iteration = *again->enter_iteration(same.branch);
  again.task("a", iteration);
  EXPECT_EQ(again.commit(), "12 TaskScheduled {1, 5, 1} a\n");
}

TEST(MachineLoop, EndsWithAValueThatReplayGivesBack) {
  Host run;
  const Opened loop = run.loop(20);
  iterate(run, loop.branch, 1, 1);
  *run->enter_iteration(loop.branch);
  const FutureId end = *run->end_loop(loop.branch, "2", R"("broken")");
  const std::size_t await = run.all({end}, true);
  EXPECT_EQ(run.deliver(), "4 LoopCheckpointed to 3, wakes 1");
  EXPECT_EQ(run.status(await), "ready by 3");
  run.commit();
  Host again = run.restarted();
  const Opened same = again.loop(20);
  EXPECT_EQ(again.deliver_all(), "4 LoopCheckpointed to 1\n");
  const LoopPosition position = *again->loop_position(same.branch);
  EXPECT_TRUE(position.done);
  EXPECT_EQ(position.finished, 2U);
  EXPECT_EQ(position.result, R"("broken")");
  EXPECT_FALSE(again->enter_iteration(same.branch));
  EXPECT_EQ(*again->end_loop(same.branch, "2", R"("broken")"), 0U);
  ASSERT_TRUE(again->finish(kWorkflowCompleted, "1"));
  EXPECT_EQ(again.commit(), "5 WorkflowCompleted = 1\n");
}

TEST(MachineLoop, ACancelRequestDoesNotInterruptTheWaitForACheckpoint) {
  Host run;
  const Opened loop = run.loop(1);
  *run->enter_iteration(loop.branch);
  run.request_cancel();
  const FutureId checkpoint = *run->continue_loop(loop.branch, "1");
  const std::size_t await = run.all({checkpoint}, true);
  EXPECT_EQ(run.deliver(), "2 LoopCheckpointed to 2, wakes 1");
  EXPECT_EQ(run.status(await), "ready by 2");
  EXPECT_EQ(run.deliver(), "3 CancellationRequested");
}

// A checkpoint is on its way already: nothing outside has to happen for it.
TEST(MachineLoop, TheWaitForACheckpointIsNotInWaiting) {
  Host run;
  const Opened loop = run.loop(1);
  *run->enter_iteration(loop.branch);
  const FutureId checkpoint = *run->continue_loop(loop.branch, "1");
  run.all({checkpoint}, true);
  EXPECT_EQ(run.waiting(), "");
}

TEST(MachineLoop, ArrivalsForForgottenCommandsAreDropped) {
  Host run;
  const Opened loop = run.loop(1);
  BranchId iteration = *run->enter_iteration(loop.branch);
  const FutureId first = run.task("a", iteration);
  const FutureId second = run.task("b", iteration);
  EXPECT_TRUE(run.arrive(kTaskCompleted, first));
  *run->continue_loop(loop.branch, "1");
  EXPECT_FALSE(run.arrive(kTaskCompleted, second));
  EXPECT_EQ(run.deliver_all(), "4 LoopCheckpointed to 4\n");
  EXPECT_EQ(run.commit(),
            "1 LoopStarted {1} = 0\n"
            "2 TaskScheduled {1, 1, 1} a\n"
            "3 TaskScheduled {1, 1, 2} b\n"
            "4 LoopCheckpointed for {1} after 1 state 1\n"
            "forgotten: 2 3\n");
}

TEST(MachineLoop, AStartedOperationOfAForgottenIterationIsDropped) {
  Host run;
  const Opened loop = run.loop(1);
  const BranchId iteration = *run->enter_iteration(loop.branch);
  const FutureId operation = run.operation("hash", iteration);
  run.task("a", iteration);
  *run->continue_loop(loop.branch, "1");
  run.deliver_all();
  run.commit();
  run.complete(operation, "1");
  EXPECT_EQ(run.deliver(), "nothing");
  EXPECT_EQ(run.commit(), "");
}

// A future does not outlive the iteration that made it: what a replay will not see must not be
// seen now, and nothing of a finished iteration may stay in the log.
TEST(MachineLoop, ARunningOperationOfAForgottenIterationIsDropped) {
  Host run;
  const Opened loop = run.loop(1);
  const BranchId iteration = *run->enter_iteration(loop.branch);
  const FutureId operation = run.operation("hash", iteration);
  *run->continue_loop(loop.branch, "1");
  run.deliver_all();
  run.commit();
  run.complete(operation, "1");
  EXPECT_EQ(run.deliver(), "nothing");
  EXPECT_EQ(run.commit(), "");
}

TEST(MachineLoop, ItsBranchIsOutOfReachDuringAnIteration) {
  Host run;
  const BranchId outer = run.branch();
  const Opened loop = run.loop(20, outer);
  run.task("before", outer);
  const BranchId iteration = *run->enter_iteration(loop.branch);
  CommandRequest request;
  request.kind = CommandKind::kTask;
  request.branch = outer;
  request.name = "a";
  const Result<Opened> refused = run->open(request);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kInvalidArgument);
  EXPECT_NE(refused.error().message.find("the context that the loop's body was given"),
            std::string::npos);
  EXPECT_FALSE(run->removed(request));
  EXPECT_FALSE(run->check_version(outer, 1, ""));
  EXPECT_FALSE(run->uuid(outer));
  EXPECT_FALSE(run->random(outer));
  EXPECT_FALSE(run->take_signal(outer, "s"));
  // Other branches, and the iteration itself, are not concerned.
  run.task("b", iteration);
  run.task("c");
  ASSERT_TRUE(run->continue_loop(loop.branch, "1"));
  run.task("between", outer);
  ASSERT_TRUE(run->enter_iteration(loop.branch));
  ASSERT_TRUE(run->abandon_loop(loop.branch));
  run.task("after", outer);
}

// Another branch may still wait for it.
TEST(MachineLoop, ADroppedOperationThatIsStillAwaitedDoesNoHarm) {
  Host run;
  const Opened loop = run.loop(1);
  const BranchId iteration = *run->enter_iteration(loop.branch);
  const FutureId operation = run.operation("hash", iteration);
  const std::size_t await = run.all({operation});
  *run->continue_loop(loop.branch, "1");
  run.deliver_all();
  run.complete(operation, "1");
  EXPECT_NO_THROW(run->waiting());
  EXPECT_TRUE(run.give_up(await));
  EXPECT_EQ(run.waiting(), "");
}

TEST(MachineLoop, SignalsFromBeforeTheLoopStayAndAreListed) {
  Host run;
  run.send("go", "1");
  run.send("go", "2");
  run.deliver_all();
  const Opened loop = run.loop(1);
  BranchId iteration = *run->enter_iteration(loop.branch);
  run.signal("go", iteration);
  run.send("other");
  run.deliver_all();
  run.signal("other", iteration);
  *run->continue_loop(loop.branch, "1");
  run.deliver_all();
  iteration = *run->enter_iteration(loop.branch);
  EXPECT_TRUE(run->take_signal(iteration, "go")->has_value());
  *run->continue_loop(loop.branch, "2");
  run.deliver_all();
  EXPECT_EQ(run.commit(),
            "1 SignalReceived go = 1\n"
            "2 SignalReceived go = 2\n"
            "3 LoopStarted {1} = 0\n"
            "4 SignalAwaited {1, 1, 1} go\n"
            "5 SignalReceived other\n"
            "6 SignalAwaited {1, 1, 2} other\n"
            "7 LoopCheckpointed for {1} after 1 state 1 took 1\n"
            "8 LoopCheckpointed for {1} after 2 state 2 took 1 took 2\n"
            "forgotten: 4 5 6 7\n");
  Host again = run.restarted();
  again.deliver();
  again.deliver();
  EXPECT_EQ(again->signal_count("go"), 2U);
  again.loop(1);
  EXPECT_EQ(again->signal_count("go"), 0U);
  EXPECT_TRUE(again->unconsumed_signals().empty());
}

TEST(MachineLoop, ForgottenIterationsThatAreStillInTheLogAreIgnored) {
  // A store that crashed between writing a checkpoint and moving entries away.
  Host run;
  const Opened loop = run.loop(1);
  iterate(run, loop.branch, 1, 1);
  {
    const Batch batch = run->take_new();
    EXPECT_EQ(batch.forgotten, (std::vector<std::uint64_t>{2, 3}));
    Log log;
    for (RecordId id = batch.first; id < batch.last; ++id) {
      Log::EntryTexts texts;
      ASSERT_TRUE(log.load(run->log().entry(id, texts)));
    }
    auto machine = Machine::create(order_run(), std::move(log));
    ASSERT_TRUE(machine);
    CommandRequest request = a(CommandKind::kLoop);
    request.checkpoint_every = 1;
    ASSERT_TRUE((*machine)->open(request));
    const auto delivery = (*machine)->next_delivery();
    ASSERT_TRUE(delivery && *delivery);
    EXPECT_EQ((*delivery)->seq, 4U);
    EXPECT_FALSE((*machine)->next_delivery()->has_value());
  }
}

TEST(MachineLoop, StateOfForgottenIterationsComesBack) {
  Host run;
  run.set("outer", "0");
  const Opened loop = run.loop(1);
  const BranchId iteration = *run->enter_iteration(loop.branch);
  run.set("n", "1", iteration);
  CommandRequest clear = a(CommandKind::kState, "outer", iteration);
  clear.clear = true;
  run.open(clear);
  *run->continue_loop(loop.branch, "1");
  run.deliver_all();
  run.commit();
  Host again = run.restarted();
  again.set("outer", "0");
  again.loop(1);
  EXPECT_EQ(again->state("outer"), "0");
  EXPECT_EQ(again->state("n"), std::nullopt);
  again.deliver_all();
  EXPECT_EQ(again->state("outer"), std::nullopt);
  EXPECT_EQ(again->state("n"), "1");
}

TEST(MachineLoop, MisuseIsAnError) {
  Host run;
  for (const BranchId loop : {kRootBranch, BranchId{1}, BranchId{77}, kNoBranch}) {
    EXPECT_FALSE(run->loop_position(loop));
    EXPECT_FALSE(run->enter_iteration(loop));
    EXPECT_FALSE(run->continue_loop(loop, "1"));
    EXPECT_FALSE(run->end_loop(loop, "1", "1"));
    EXPECT_FALSE(run->abandon_loop(loop));
  }
  CommandRequest never = a(CommandKind::kLoop);
  never.checkpoint_every = 0;
  EXPECT_FALSE(run->open(never));

  const Opened loop = run.loop(1);
  EXPECT_FALSE(run->continue_loop(loop.branch, "1"));
  const BranchId iteration = *run->enter_iteration(loop.branch);
  EXPECT_FALSE(run->enter_iteration(loop.branch));
  EXPECT_FALSE(run->open(a(CommandKind::kTask, "a", loop.branch)));
  EXPECT_FALSE(run->close_branch(loop.branch));
  EXPECT_FALSE(run->close_branch(iteration));
  EXPECT_TRUE(run->continue_loop(loop.branch, "1"));
  // The checkpoint has not been awaited.
  EXPECT_FALSE(run->enter_iteration(loop.branch));
  EXPECT_FALSE(run->open(a(CommandKind::kTask, "a", iteration)));
  run.deliver_all();
  EXPECT_TRUE(run->abandon_loop(loop.branch));
  EXPECT_FALSE(run->abandon_loop(loop.branch));
  EXPECT_FALSE(run->enter_iteration(loop.branch));
}

// --- Misuse ------------------------------------------------------------------------------------

TEST(MachineMisuse, OfOpen) {
  Host run;
  const auto refused = [&](const CommandRequest& request) {
    const Result<Opened> opened = run->open(request);
    return opened ? "accepted" : opened.error().message;
  };
  EXPECT_EQ(refused(a(CommandKind::kTask, "a", 7)), "branch 7 is not open");
  EXPECT_THAT(refused(a(CommandKind::kTask, "a", kNoBranch)), HasSubstr("is not open"));
  EXPECT_THAT(refused(a(CommandKind::kNone, "a")), HasSubstr("no such kind"));
  EXPECT_THAT(refused(a(CommandKind::kVersionCheck, "a")), HasSubstr("no such kind"));
  EXPECT_THAT(refused(a(static_cast<CommandKind>(200), "a")), HasSubstr("no such kind"));
  for (const CommandKind kind : {CommandKind::kTask, CommandKind::kOperation, CommandKind::kPromise,
                                 CommandKind::kChildWorkflow, CommandKind::kState,
                                 CommandKind::kSignal, CommandKind::kCompensation}) {
    EXPECT_EQ(refused(a(kind)), "a " + std::string(step_name(kind)) + " needs a name");
  }
  EXPECT_EQ(run.commit(), "");
}

TEST(MachineMisuse, OfStepKeys) {
  Host run;
  CommandRequest keyed = a(CommandKind::kTask, "a");
  keyed.step_key = "k";
  run.open(keyed);
  EXPECT_EQ(run->open(keyed).error().message, "step key 'k' is used twice in branch {}");
  CommandRequest running = a(CommandKind::kOperation, "hash");
  running.step_key = "o";
  run.open(running);
  EXPECT_EQ(run->open(running).error().message, "step key 'o' is used twice in branch {}");
  EXPECT_FALSE(run->removed(keyed));
  keyed.branch = run.branch();
  EXPECT_TRUE(run->open(keyed));
}

TEST(MachineMisuse, OfSizes) {
  Host run;
  const std::string long_name(kNameBytesMax + 1, 'x');
  const auto code = [](const auto& result) {
    return result ? std::optional<ErrorCode>() : std::optional(result.error().code);
  };
  EXPECT_EQ(code(run->open(a(CommandKind::kTask, long_name))), ErrorCode::kLimitExceeded);
  CommandRequest request = a(CommandKind::kTask, "a");
  request.step_key = long_name;
  EXPECT_EQ(code(run->open(request)), ErrorCode::kLimitExceeded);
  EXPECT_EQ(code(run->removed(a(CommandKind::kTask, long_name))), ErrorCode::kLimitExceeded);
  Entry signal;
  signal.kind = kSignalReceived;
  signal.name = long_name;
  EXPECT_EQ(code(run->arrive(signal)), ErrorCode::kLimitExceeded);
  EXPECT_EQ(run.commit(), "");
  EXPECT_TRUE(run->open(a(CommandKind::kTask, std::string_view(long_name).substr(1))));
}

TEST(MachineMisuse, OfVersions) {
  Host run;
  EXPECT_THAT(run->check_version(kRootBranch, 0, "").error().message, HasSubstr("start at 1"));
  EXPECT_FALSE(run->check_version(9, 1, ""));
  EXPECT_FALSE(run->removed(a(CommandKind::kTask, "a", 9)));
  EXPECT_FALSE(run->removed(a(CommandKind::kNone)));
  for (const Matching matching : {Matching::kPerKind, Matching::kByName}) {
    Host other(Store(), order_run(matching));
    EXPECT_THAT(other->removed(a(CommandKind::kTask, "a")).error().message,
                HasSubstr("needs strict matching"));
    EXPECT_THAT(other->check_version(kRootBranch, 1, "").error().message,
                HasSubstr("needs strict matching"));
  }
}

TEST(MachineMisuse, OfRemovedWithAKindThatDoesNotExist) {
  Host run;
  EXPECT_FALSE(run->removed(a(static_cast<CommandKind>(200), "a")));
  EXPECT_EQ(run->take_new().last, 0U);
}

TEST(MachineMisuse, OfBranches) {
  Host run;
  EXPECT_FALSE(run->close_branch(kRootBranch));
  EXPECT_FALSE(run->close_branch(5));
  EXPECT_FALSE(run->close_branch(kNoBranch));
  const BranchId branch = run.branch();
  EXPECT_TRUE(run->close_branch(branch));
  EXPECT_FALSE(run->close_branch(branch));
  EXPECT_FALSE(run->open(a(CommandKind::kTask, "a", branch)));
  EXPECT_FALSE(run->uuid(branch));
  EXPECT_FALSE(run->random(branch));
  EXPECT_FALSE(run->take_signal(branch, "go"));
  EXPECT_FALSE(run->check_version(branch, 1, ""));
  EXPECT_FALSE(run->uuid(kNoBranch));
  EXPECT_FALSE(run->random(99));
}

TEST(MachineMisuse, OfABranchThatEndsBeforeWhatIsInIt) {
  Host run;
  const BranchId outer = run.branch();
  const BranchId inner = run.branch(outer);
  const Opened loop = run.loop(20, inner);
  EXPECT_FALSE(run->close_branch(outer));
  EXPECT_FALSE(run->close_branch(inner));
  EXPECT_TRUE(run->abandon_loop(loop.branch));
  EXPECT_FALSE(run->close_branch(outer));
  EXPECT_TRUE(run->close_branch(inner));
  EXPECT_TRUE(run->close_branch(outer));
  EXPECT_FALSE(run->violation());
}

TEST(MachineMisuse, OfFinish) {
  Host run;
  for (const EntryKind kind : {kTaskCompleted, kLoopCheckpointed, EntryKind{}}) {
    EXPECT_FALSE(run->finish(kind, "null"));
  }
  EXPECT_FALSE(run->is_finished());
}

// Every call that can fail and has an effect.
std::vector<std::pair<std::string, std::function<std::optional<Error>(Machine&)>>> all_calls() {
  const auto result = [](const auto& outcome) {
    return outcome ? std::optional<Error>() : std::optional<Error>(outcome.error());
  };
  return {
      {"open", [=](Machine& m) { return result(m.open(a(CommandKind::kTask, "a"))); }},
      {"open cancel", [=](Machine& m) { return result(m.open(cancel_of(1))); }},
      {"complete_operation",
       [=](Machine& m) { return result(m.complete_operation(1, OutcomeKind::kValue, "1")); }},
      {"removed", [=](Machine& m) { return result(m.removed(a(CommandKind::kTask, "a"))); }},
      {"check_version", [=](Machine& m) { return result(m.check_version(kRootBranch, 1, "")); }},
      {"close_branch", [=](Machine& m) { return result(m.close_branch(1)); }},
      {"loop_position", [=](Machine& m) { return result(m.loop_position(1)); }},
      {"enter_iteration", [=](Machine& m) { return result(m.enter_iteration(1)); }},
      {"continue_loop", [=](Machine& m) { return result(m.continue_loop(1, "1")); }},
      {"end_loop", [=](Machine& m) { return result(m.end_loop(1, "1", "1")); }},
      {"abandon_loop", [=](Machine& m) { return result(m.abandon_loop(1)); }},
      {"begin_await",
       [=](Machine& m) {
         return result(m.begin_await(AwaitMode::kAll, std::vector<FutureId>{1}, false));
       }},
      {"arrive",
       [=](Machine& m) {
         Entry signal;
         signal.kind = kSignalReceived;
         signal.name = "go";
         return result(m.arrive(signal));
       }},
      {"next_delivery", [=](Machine& m) { return result(m.next_delivery()); }},
      {"uuid", [=](Machine& m) { return result(m.uuid(kRootBranch)); }},
      {"random", [=](Machine& m) { return result(m.random(kRootBranch)); }},
      {"take_signal", [=](Machine& m) { return result(m.take_signal(kRootBranch, "go")); }},
      {"finish", [=](Machine& m) { return result(m.finish(kWorkflowCompleted, "1")); }},
  };
}

TEST(MachineMisuse, AfterTheEndEveryCallIsRefused) {
  Host run;
  run.task("a");
  ASSERT_TRUE(run->finish(kWorkflowFailed, R"("e")"));
  EXPECT_TRUE(run->is_finished());
  run.commit();
  for (const auto& [name, call] : all_calls()) {
    const std::optional<Error> error = call(run.machine());
    ASSERT_TRUE(error) << name;
    EXPECT_EQ(error->code, ErrorCode::kInvalidState) << name;
    EXPECT_EQ(error->message, "the workflow has ended") << name;
  }
  EXPECT_EQ(run.commit(), "");
}

// --- Violations --------------------------------------------------------------------------------

RunInfo fingerprinted(std::string then, std::string now) {
  RunInfo info = order_run();
  info.definition_then = std::move(then);
  info.definition_now = std::move(now);
  return info;
}

// A log with a task, a timer and a child, each with its source.
Store recorded_steps() {
  Host run;
  CommandRequest request = a(CommandKind::kTask, "reserve");
  request.source = "then.cc:10";
  run.open(request);
  request.name = "charge";
  request.source = "then.cc:11";
  run.open(request);
  run.commit();
  return run.store();
}

TEST(MachineViolation, ReportsEverythingAboutAMismatch) {
  Host run(recorded_steps(), fingerprinted("f1", "f2"));
  run.task("reserve");
  CommandRequest request = a(CommandKind::kTask, "ship");
  request.source = "now.cc:12";
  const Result<Opened> opened = run->open(request);
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, ErrorCode::kDeterminismViolation);
  const std::string headline = "Task type mismatch at Task(1): expected 'ship', got 'charge'";
  EXPECT_EQ(opened.error().message, headline);
  ASSERT_TRUE(run->violation());
  const Violation& violation = *run->violation();
  EXPECT_EQ(violation.kind, ViolationKind::kName);
  EXPECT_EQ(violation.code, "PAWL-1002");
  EXPECT_EQ(violation.headline, headline);
  EXPECT_EQ(violation.run_id, "a1b2c3d4-e5f6-7890-abcd-ef1234567890");
  EXPECT_EQ(violation.location, "{2}");
  EXPECT_EQ(violation.label, "{2} Task(1) ship:1");
  EXPECT_EQ(violation.recorded, "TaskScheduled 'charge' v1 as {2} Task(1) charge:1, seq 2");
  EXPECT_EQ(violation.asked, "Task 'ship' v1");
  EXPECT_EQ(violation.source_now, "now.cc:12");
  EXPECT_EQ(violation.source_then, "then.cc:11");
  EXPECT_EQ(violation.last_agreed, "TaskScheduled 'reserve' v1 as {1} Task(0) reserve:1, seq 1");
  EXPECT_EQ(violation.definition_then, "f1");
  EXPECT_EQ(violation.definition_now, "f2");
  EXPECT_THAT(violation.advice, HasSubstr("ctx.v(n)"));
  const std::string text = violation.render();
  EXPECT_EQ(text.substr(0, text.find('\n')), headline);
  for (const std::string& part :
       {violation.code, violation.run_id, violation.label, violation.recorded, violation.asked,
        violation.source_now, violation.source_then, violation.last_agreed, violation.advice,
        std::string("then f1, now f2")}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
}

TEST(MachineViolation, SaysWhenTheDefinitionIsUnchangedAndNothingAgreed) {
  Host run(recorded_steps(), fingerprinted("f1", "f1"));
  ASSERT_FALSE(run->open(a(CommandKind::kTimer, "pause")));
  EXPECT_EQ(run->violation()->code, "PAWL-1001");
  EXPECT_EQ(run->violation()->headline,
            "Type mismatch at Timer(0): expected Timer 'pause', got Task 'reserve'");
  EXPECT_THAT(run->violation()->last_agreed, HasSubstr("nothing"));
  EXPECT_THAT(run->violation()->render(), HasSubstr("unchanged (f1)"));
}

TEST(MachineViolation, OfAnOlderVersion) {
  Host old;
  CommandRequest request = a(CommandKind::kTask, "a");
  request.version = 3;
  old.open(request);
  old.commit();
  Host run = old.restarted();
  request.version = 2;
  ASSERT_FALSE(run->open(request));
  EXPECT_EQ(run->violation()->code, "PAWL-1003");
  EXPECT_EQ(run->violation()->headline,
            "Version mismatch at Task(0): expected Task 'a' v2, got Task 'a' v3");
  EXPECT_EQ(run->violation()->asked, "Task 'a' v2");
}

TEST(MachineViolation, OfRemovingAnotherStep) {
  Host run(recorded_steps());
  CommandRequest step = a(CommandKind::kTask, "charge");
  step.source = "now.cc:3";
  ASSERT_FALSE(run->removed(step));
  EXPECT_EQ(run->violation()->code, "PAWL-1004");
  EXPECT_EQ(run->violation()->asked, "removed Task 'charge' v1");
  EXPECT_EQ(run->violation()->source_now, "now.cc:3");
  EXPECT_EQ(run->violation()->source_then, "then.cc:10");
}

TEST(MachineViolation, OfLeftovers) {
  Host run(recorded_steps());
  run.task("reserve");
  ASSERT_FALSE(run->finish(kWorkflowCompleted, "null"));
  const Violation& violation = *run->violation();
  EXPECT_EQ(violation.code, "PAWL-1005");
  EXPECT_EQ(violation.location, "{2}");
  EXPECT_EQ(violation.headline,
            "Commands left over at Task(1): expected the end of branch {}, got Task 'charge'");
  EXPECT_EQ(violation.source_then, "then.cc:11");
  EXPECT_THAT(violation.last_agreed, HasSubstr("'reserve'"));
  EXPECT_THAT(violation.advice, HasSubstr("ctx.removed"));
}

TEST(MachineViolation, OfLeftoversInABranchAndAnIteration) {
  Host old;
  const BranchId branch = old.branch();
  old.task("a", branch);
  const Opened loop = old.loop(20);
  old.task("b", *old->enter_iteration(loop.branch));
  old.commit();
  {
    Host run = old.restarted();
    ASSERT_FALSE(run->close_branch(run.branch()));
    EXPECT_EQ(run->violation()->location, "{1, 1}");
  }
  {
    Host run = old.restarted();
    run.branch();
    const Opened again = run.loop(20);
    *run->enter_iteration(again.branch);
    ASSERT_FALSE(run->continue_loop(again.branch, "1"));
    EXPECT_EQ(run->violation()->location, "{2, 1, 1}");
  }
  {
    Host run = old.restarted();
    run.branch();
    const Opened again = run.loop(20);
    ASSERT_FALSE(run->end_loop(again.branch, "0", "0"));
    EXPECT_EQ(run->violation()->location, "{2, 1, 1}");
  }
}

TEST(MachineViolation, OfCommandsAfterTheEndAndOfAnotherEnd) {
  Host old;
  ASSERT_TRUE(old->finish(kWorkflowCompleted, "1"));
  old.commit();
  {
    Host run = old.restarted();
    CommandRequest request = a(CommandKind::kTask, "a");
    request.source = "now.cc:1";
    ASSERT_FALSE(run->open(request));
    const Violation& violation = *run->violation();
    EXPECT_EQ(violation.code, "PAWL-1006");
    EXPECT_EQ(violation.location, "{1}");
    EXPECT_EQ(violation.label, "{1} Task(0) a:1");
    EXPECT_EQ(violation.headline,
              "Command after the end at Task(0): expected Task 'a', got WorkflowCompleted");
    EXPECT_EQ(violation.source_now, "now.cc:1");
    EXPECT_EQ(violation.recorded, "WorkflowCompleted, seq 1");
  }
  {
    Host run = old.restarted();
    ASSERT_FALSE(run->finish(kWorkflowFailed, "1"));
    EXPECT_EQ(run->violation()->code, "PAWL-1007");
    EXPECT_EQ(run->violation()->headline,
              "Outcome mismatch at the end: expected WorkflowFailed, got WorkflowCompleted");
  }
  {
    Host run = old.restarted();
    EXPECT_TRUE(run->finish(kWorkflowCompleted, "another value"));
    EXPECT_EQ(run.commit(), "");
  }
}

TEST(MachineViolation, IsStickyAndTakesNothing) {
  Host run(recorded_steps());
  run.task("reserve");
  run.task("charge");
  run.task("new");
  run.send("go");
  ASSERT_FALSE(run->open(a(CommandKind::kTask, "other", 9)));
  EXPECT_FALSE(run->violation());
  run.commit();

  Host again(recorded_steps());
  again.task("reserve");
  again.send("go");
  again.deliver();
  ASSERT_FALSE(again->open(a(CommandKind::kTask, "other")));
  ASSERT_TRUE(again->violation());
  const std::string headline = again->violation()->headline;
  for (const auto& [name, call] : all_calls()) {
    const std::optional<Error> error = call(again.machine());
    ASSERT_TRUE(error) << name;
    EXPECT_EQ(error->code, ErrorCode::kDeterminismViolation) << name;
    EXPECT_EQ(error->message, headline) << name;
  }
  EXPECT_EQ(again->violation()->headline, headline);
  EXPECT_FALSE(again->is_finished());
  const Batch batch = again->take_new();
  EXPECT_EQ(batch.first, batch.last);
  EXPECT_TRUE(batch.forgotten.empty());
  EXPECT_EQ(again->take_new().last, batch.last);
}

TEST(MachineViolation, EveryKindHasACodeOfItsOwn) {
  EXPECT_EQ(violation_code(ViolationKind::kKind), "PAWL-1001");
  EXPECT_EQ(violation_code(ViolationKind::kName), "PAWL-1002");
  EXPECT_EQ(violation_code(ViolationKind::kVersion), "PAWL-1003");
  EXPECT_EQ(violation_code(ViolationKind::kRemoved), "PAWL-1004");
  EXPECT_EQ(violation_code(ViolationKind::kLeftover), "PAWL-1005");
  EXPECT_EQ(violation_code(ViolationKind::kEnded), "PAWL-1006");
  EXPECT_EQ(violation_code(ViolationKind::kOutcome), "PAWL-1007");
}

// --- Versions ----------------------------------------------------------------------------------

TEST(MachineVersions, InsertionsAreNewOnceAndMatchedAfterwards) {
  Host old;
  old.task("a");
  old.task("b");
  old.commit();
  CommandRequest inserted = a(CommandKind::kTask, "x");
  inserted.version = 2;
  Host run = old.restarted();
  run.open(inserted);
  run.task("a");
  run.open(inserted);
  run.open(inserted);
  run.task("b");
  EXPECT_EQ(run.commit(),
            "3 TaskScheduled {0.1} x v2\n"
            "4 TaskScheduled {1.1} x v2\n"
            "5 TaskScheduled {1.2} x v2\n");
  Host again = run.restarted();
  again.open(inserted);
  again.task("a");
  again.open(inserted);
  again.open(inserted);
  again.task("b");
  EXPECT_TRUE(again->finish(kWorkflowCompleted, "null"));
  EXPECT_EQ(again.commit(), "6 WorkflowCompleted = null\n");
}

TEST(MachineVersions, ABranchHandsItsVersionDown) {
  Host run;
  CommandRequest branch = a(CommandKind::kBranch);
  branch.version = 4;
  const BranchId below = run.open(branch).branch;
  run.task("a", below);
  run.task("b");
  EXPECT_EQ(run.commit(),
            "1 BranchOpened {1} v4\n"
            "2 TaskScheduled {1, 1} a v4\n"
            "3 TaskScheduled {2} b\n");
}

TEST(MachineVersions, CheckVersionAnswersTheSameForEver) {
  Host run;
  EXPECT_EQ(*run->check_version(kRootBranch, 2, "now.cc:1"), 2U);
  run.task("a");
  run.commit();
  Host again = run.restarted();
  EXPECT_EQ(*again->check_version(kRootBranch, 5, ""), 2U);
  EXPECT_EQ(*again->check_version(kRootBranch, 5, ""), 1U);
  again.task("a");
  EXPECT_EQ(*again->check_version(kRootBranch, 5, ""), 5U);
  EXPECT_EQ(again.commit(), "3 VersionChecked {3} v5\n");
}

TEST(MachineVersions, OnlyTheStepRightBehindACheckNotesWhatItSaid) {
  Host run;
  run.task("a");
  run.commit();
  Host again = run.restarted();
  EXPECT_EQ(*again->check_version(kRootBranch, 2, ""), 1U);
  CommandRequest inserted = a(CommandKind::kTask, "x");
  inserted.version = 2;
  again.open(inserted);
  inserted.name = "y";
  again.open(inserted);
  Log::EntryTexts texts;
  const Entry first = again->log().entry(1, texts);
  EXPECT_EQ(first.name, "x");
  EXPECT_EQ(first.checked, 1U);
  const Entry second = again->log().entry(2, texts);
  EXPECT_EQ(second.name, "y");
  EXPECT_EQ(second.checked, 0U);
}

// --- The other matchers ------------------------------------------------------------------------

TEST(MachineMatching, PerKindAndByNameReportWhatIsLeftOver) {
  Host old(Store(), order_run(Matching::kPerKind));
  old.task("a");
  old.timer("t");
  const BranchId branch = old.branch();
  old.task("b", branch);
  old.commit();
  for (const Matching matching : {Matching::kPerKind, Matching::kByName}) {
    Host run = old.restarted(order_run(matching));
    run.timer("t");
    EXPECT_TRUE(run->finish(kWorkflowCompleted, "null"));
    EXPECT_EQ(run.orphaned(), "{1} {3} {3, 1}");
  }
  Host strict = old.restarted();
  EXPECT_EQ(strict.orphaned(), "");
}

// --- Reads -------------------------------------------------------------------------------------

TEST(MachineReads, UuidsCountPerBranch) {
  Host run;
  const Uuid id = order_run().run_id;
  EXPECT_EQ(*run->uuid(kRootBranch), uuid5(id, "{}:0"));
  const BranchId branch = run.branch();
  EXPECT_EQ(*run->uuid(branch), uuid5(id, "{1}:0"));
  EXPECT_EQ(*run->uuid(kRootBranch), uuid5(id, "{}:1"));
  EXPECT_EQ(*run->uuid(branch), uuid5(id, "{1}:1"));
  const Opened loop = run.loop(20);
  const BranchId iteration = *run->enter_iteration(loop.branch);
  EXPECT_EQ(*run->uuid(iteration), uuid5(id, "{2, 1}:0"));
  ASSERT_TRUE(run->continue_loop(loop.branch, "1"));
  EXPECT_EQ(run->uuid(kRootBranch)->to_string(), uuid5(id, "{}:2").to_string());
}

TEST(MachineReads, RandomSequencesNeverChange) {
  Host run;
  const BranchId branch = run.branch();
  // Computed elsewhere: SplitMix64 from the first eight bytes of uuid5(run id, "{}:random").
  EXPECT_EQ(*run->random(kRootBranch), 0xc8cc480d14daa333ULL);
  EXPECT_EQ(*run->random(branch), 0x07c809a77322f6dcULL);
  EXPECT_EQ(*run->random(kRootBranch), 0x9abcadb2c49fdcd5ULL);
  EXPECT_EQ(*run->random(branch), 0x7e4ce479e230dd82ULL);
  EXPECT_EQ(*run->random(kRootBranch), 0xc4d8efff1f339059ULL);
  EXPECT_EQ(*run->random(branch), 0xeeb1f737d26c85f2ULL);
  EXPECT_EQ(to_unit_interval(0xc8cc480d14daa333ULL), 0.7843670875489388);
  EXPECT_EQ(to_unit_interval(0), 0.0);
  EXPECT_LT(to_unit_interval(0xffffffffffffffffULL), 1.0);
}

TEST(MachineReads, NeitherDependsOnTheOtherOrOnCommands) {
  Host run;
  run.task("a");
  *run->uuid(kRootBranch);
  EXPECT_EQ(*run->random(kRootBranch), 0xc8cc480d14daa333ULL);
  run.task("b");
  EXPECT_EQ(*run->uuid(kRootBranch), uuid5(order_run().run_id, "{}:1"));
}

TEST(MachineReads, StateIsRebuiltFromTheCommands) {
  Host run;
  run.set("k", "1");
  EXPECT_EQ(run->state("k"), "1");
  EXPECT_EQ(run->state("x"), std::nullopt);
  run.commit();
  Host again = run.restarted();
  EXPECT_EQ(again->state("k"), std::nullopt);
  // History's value counts, not what the code computes now.
  again.set("k", "2");
  EXPECT_EQ(again->state("k"), "1");
}

TEST(MachineReads, ChangedInputsAreNamed) {
  Host run;
  const auto with_input = [](CommandKind kind, std::string_view name, std::string_view input) {
    CommandRequest request = a(kind, name);
    request.has_payload = true;
    request.payload = input;
    return request;
  };
  run.open(with_input(CommandKind::kTask, "a", "1"));
  run.open(with_input(CommandKind::kTask, "b", "1"));
  run.complete(run.open(with_input(CommandKind::kOperation, "c", "1")).future, "1");
  run.open(with_input(CommandKind::kCompensation, "d", "1"));
  run.task("e");
  run.open(with_input(CommandKind::kState, "f", "1"));
  EXPECT_TRUE(run->changed_inputs().empty());
  run.commit();

  Host again = run.restarted();
  again.open(with_input(CommandKind::kTask, "a", "1"));
  again.open(with_input(CommandKind::kTask, "b", "2"));
  again.open(with_input(CommandKind::kOperation, "c", "2"));
  again.open(with_input(CommandKind::kCompensation, "d", "2"));
  again.open(with_input(CommandKind::kTask, "e", "2"));
  again.open(with_input(CommandKind::kState, "f", "2"));
  EXPECT_EQ(again->changed_inputs(), (std::vector<RecordId>{1, 2, 3}));
}

TEST(MachineReads, CompensationsAreInOrderOfRegistration) {
  Host run;
  run.open(CommandKind::kCompensation, "first");
  const BranchId branch = run.branch();
  run.open(CommandKind::kCompensation, "second", branch);
  const Opened loop = run.loop(1);
  const BranchId iteration = *run->enter_iteration(loop.branch);
  run.open(CommandKind::kCompensation, "third", iteration);
  *run->continue_loop(loop.branch, "1");
  run.deliver_all();
  run.open(CommandKind::kCompensation, "fourth", branch);
  run.commit();
  const auto names = [](Host& of) {
    std::string text;
    for (const RecordId id : of->compensations()) {
      text += std::string(of->log().name(of->log()[id])) + " ";
    }
    return text;
  };
  EXPECT_EQ(names(run), "first second third fourth ");

  // On replay, the third comes back with the checkpoint, later than the code registers the others.
  Host again = run.restarted();
  again.open(CommandKind::kCompensation, "first");
  const BranchId same = again.branch();
  again.open(CommandKind::kCompensation, "second", same);
  again.loop(1);
  again.open(CommandKind::kCompensation, "fourth", same);
  EXPECT_EQ(names(again), "first second fourth ");
  again.deliver_all();
  EXPECT_EQ(names(again), "first second third fourth ");
}

TEST(MachineReads, WaitingIsInOrderOfLocation) {
  Host run;
  const BranchId branch = run.branch();
  const FutureId deep = run.operation("hash", branch);
  const FutureId task = run.task("a");
  CommandRequest inserted = a(CommandKind::kTimer, "t", branch);
  const FutureId timer = run.open(inserted).future;
  run.any({timer, task});
  run.all({deep, task});
  EXPECT_EQ(run.waiting(), "{1, 1} {1, 2} {2}");
}

// --- Creation ----------------------------------------------------------------------------------

TEST(MachineCreate, RefusesACorruptLog) {
  Log log;
  Entry task;
  task.kind = kTaskScheduled;
  task.seq = 2;
  task.location = "{1}";
  ASSERT_TRUE(log.load(task));
  const auto machine = Machine::create(order_run(), std::move(log));
  ASSERT_FALSE(machine);
  EXPECT_EQ(machine.error().code, ErrorCode::kCorruptLog);
  EXPECT_THAT(machine.error().message, HasSubstr("seq 1 is missing"));
}

TEST(MachineCreate, SecondArrivalsInTheLogChangeNothing) {
  Host run;
  run.task("a");
  const std::string id = run->log().id_text(run->log()[0]);
  Log log;
  Log::EntryTexts texts;
  ASSERT_TRUE(log.load(run->log().entry(0, texts)));
  for (std::uint64_t seq = 2; seq <= 4; ++seq) {
    Entry arrival;
    arrival.kind = seq == 2 ? kTaskFailed : kTaskCompleted;
    arrival.seq = seq;
    arrival.time_ms = static_cast<std::int64_t>(1000 * seq);
    arrival.id = id;
    ASSERT_TRUE(log.load(arrival));
  }
  auto machine = Machine::create(order_run(), std::move(log));
  ASSERT_TRUE(machine);
  ASSERT_TRUE((*machine)->open(a(CommandKind::kTask, "a")));
  EXPECT_EQ((*(*machine)->next_delivery())->seq, 2U);
  EXPECT_FALSE((*machine)->next_delivery()->has_value());
  EXPECT_EQ((*machine)->outcome(1)->kind, OutcomeKind::kFailed);
  EXPECT_EQ((*machine)->now_ms(), 2000);
}

TEST(MachineCreate, MemoryGrowsLinearly) {
  const auto bytes = [](std::size_t tasks) {
    Host run;
    for (std::size_t i = 0; i < tasks; ++i) {
      const FutureId task = run.task("a");
      run.arrive(kTaskCompleted, task, "1");
      run.all({task});
      run.deliver();
    }
    return run->memory_bytes();
  };
  const std::size_t small = bytes(10'000);
  const std::size_t large = bytes(40'000);
  EXPECT_GT(large, 2 * small);
  EXPECT_LT(large, 8 * small);
  EXPECT_LT(large, 40'000 * std::size_t{1000});
}

TEST(MachineLoop, EveryArrivalOfAForgottenCommandGoesWithIt) {
  Log log;
  Entry entry;
  entry.kind = kLoopStarted;
  entry.seq = 1;
  entry.location = "{1}";
  ASSERT_TRUE(log.load(entry));
  entry.kind = kTaskScheduled;
  entry.seq = 2;
  entry.location = "{1, 1, 1}";
  entry.name = "a";
  entry.id = "t";
  ASSERT_TRUE(log.load(entry));
  entry.location = "";
  entry.name = "";
  entry.kind = kTaskCompleted;
  entry.seq = 3;
  ASSERT_TRUE(log.load(entry));
  entry.kind = kTaskFailed;
  entry.seq = 4;
  ASSERT_TRUE(log.load(entry));
  const auto machine = Machine::create(order_run(), std::move(log));
  ASSERT_TRUE(machine);
  CommandRequest request = a(CommandKind::kLoop);
  request.checkpoint_every = 1;
  const auto loop = (*machine)->open(request);
  ASSERT_TRUE(loop);
  const auto iteration = (*machine)->enter_iteration(loop->branch);
  ASSERT_TRUE(iteration);
  ASSERT_TRUE((*machine)->open(a(CommandKind::kTask, "a", *iteration)));
  const auto delivery = (*machine)->next_delivery();
  ASSERT_TRUE(delivery && *delivery);
  EXPECT_EQ((*delivery)->seq, 3U);
  ASSERT_TRUE((*machine)->continue_loop(loop->branch, "1"));
  EXPECT_EQ((*machine)->take_new().forgotten, (std::vector<std::uint64_t>{2, 3, 4}));
}

TEST(MachineLoop, ACompensationThatTheCodeNoLongerRegistersIsForgottenWithItsIteration) {
  Log log;
  Entry entry;
  entry.kind = EntryKind::kLoopStarted;
  entry.seq = 1;
  entry.location = "{1}";
  ASSERT_TRUE(log.load(entry));
  entry.kind = EntryKind::kCompensationRegistered;
  entry.seq = 2;
  entry.location = "{1, 1, 1}";
  entry.name = "undo";
  ASSERT_TRUE(log.load(entry));
  RunInfo info;
  info.matching = Matching::kPerKind;
  const auto machine = Machine::create(std::move(info), std::move(log));
  ASSERT_TRUE(machine);
  CommandRequest request;
  request.kind = CommandKind::kLoop;
  const auto loop = (*machine)->open(request);
  ASSERT_TRUE(loop);
  ASSERT_TRUE((*machine)->enter_iteration(loop->branch));
  ASSERT_TRUE((*machine)->end_loop(loop->branch, "1", ""));
  EXPECT_EQ((*machine)->take_new().forgotten, std::vector<std::uint64_t>{2});
}

}  // namespace
}  // namespace pawl::replay

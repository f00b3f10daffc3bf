#include "portable/fork.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "portable/fork_test_support.h"

namespace pawl::portable {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Result<ForkPlan> fork(const RunDocument& document, std::string_view at,
                      std::vector<Edit> edits = {}) {
  ForkRequest request;
  request.at = at;
  request.edits = std::move(edits);
  request.id = "order-17-again";
  request.uuid = kNewRun;
  request.now_ms = kNow;
  return plan_fork(document, request);
}

std::string refusal(const RunDocument& document, std::string_view at,
                    std::vector<Edit> edits = {}) {
  const Result<ForkPlan> plan = fork(document, at, std::move(edits));
  return plan ? "planned" : plan.error().message;
}

constexpr std::string_view kThreeSteps = R"(
  {"event": "TaskScheduled", "taskType": "reserve", "input": 1, "queue": "fast"},
  {"event": "TaskCompleted", "result": 10},
  {"event": "OperationCompleted", "operationName": "price", "result": 2.5},
  {"event": "TaskScheduled", "taskType": "charge"},
  {"event": "TaskFailed", "error": {"type": "Declined", "message": "no"}},
  {"event": "WorkflowFailed", "error": {"type": "Declined", "message": "no"}})";

TEST(Fork, TakesWhatCameBeforeAndGivesItIdsOfItsOwn) {
  const Result<ForkPlan> plan = fork(run_of("failed", kThreeSteps), "{3}");
  ASSERT_TRUE(plan) << plan.error().message;
  const RunDocument& made = plan->document;
  EXPECT_EQ(made.image.row.id, "order-17-again");
  EXPECT_EQ(made.image.row.number, 1U);
  EXPECT_EQ(made.image.row.uuid, kNewRun);
  EXPECT_EQ(made.image.row.kind, "order");
  EXPECT_EQ(made.image.row.definition, "d");
  EXPECT_EQ(made.image.row.status, store::RunStatus::kRunning);
  EXPECT_EQ(made.image.row.created_ms, 1000);
  EXPECT_EQ(made.image.input, R"({"id":17})");
  EXPECT_THAT(events(made), ElementsAre("TaskScheduled", "TaskCompleted", "OperationCompleted"));
  EXPECT_EQ(made.log[0].id, new_id("{1}"));
  EXPECT_EQ(made.log[1].id, new_id("{1}"));
  EXPECT_EQ(made.log[2].id, new_id("{2}"));
  EXPECT_EQ(made.log[2].payload, "2.5");
  EXPECT_EQ(made.log[2].seq, 3U);
  EXPECT_THAT(inbox(made), IsEmpty());
  EXPECT_THAT(made.image.tasks, IsEmpty());
  EXPECT_THAT(texts(plan->again), ElementsAre("{3} task charge"));
  EXPECT_THAT(plan->arriving, IsEmpty());
  EXPECT_THAT(plan->warnings, IsEmpty());
}

TEST(Fork, OfAWholeOperationIsBeforeItsOnlyEntry) {
  const Result<ForkPlan> plan = fork(run_of("failed", kThreeSteps), "{2}");
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_THAT(events(plan->document), ElementsAre("TaskScheduled", "TaskCompleted"));
  EXPECT_THAT(texts(plan->again), ElementsAre("{2} operation price", "{3} task charge"));
}

TEST(Fork, AtTheEndIsAllButTheEnd) {
  const Result<ForkPlan> plan = fork(run_of("failed", kThreeSteps), "end");
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_EQ(plan->document.log.size(), 5U);
  EXPECT_THAT(plan->again, IsEmpty());
}

TEST(Fork, AtTheFirstCommandBeginsAnew) {
  const Result<ForkPlan> plan = fork(run_of("failed", kThreeSteps), "{1}");
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_THAT(plan->document.log, IsEmpty());
}

TEST(Fork, OutcomesThatCameLaterArriveAgain) {
  const Result<ForkPlan> plan = fork(run_of("completed", R"(
    {"event": "TaskScheduled", "taskType": "a"},
    {"event": "TaskScheduled", "taskType": "b"},
    {"event": "OperationStarted", "operationName": "o"},
    {"event": "OperationStarted", "operationName": "q"},
    {"event": "ChildWorkflowInitiated", "childExecutionName": "c", "childWorkflowKind": "k"},
    {"event": "PromiseCreated", "promiseId": "p"},
    {"event": "TaskScheduled", "taskType": "cut"},
    {"event": "TaskCompleted", "taskExecutionId": "#{2}", "result": 2},
    {"event": "OperationCompleted", "operationName": "q", "operationId": "#{4}", "result": 33},
    {"event": "OperationFailed", "operationName": "o", "operationId": "#{3}", "error": 3},
    {"event": "PromiseResolved", "promiseId": "p", "value": 4},
    {"event": "ChildWorkflowCompleted", "childExecutionName": "c", "output": 5},
    {"event": "TaskFailed", "taskExecutionId": "#{1}", "error": 1, "more": 1},
    {"event": "WorkflowCompleted"})"),
                                     "{7}");
  ASSERT_TRUE(plan) << plan.error().message;
  const RunDocument& made = plan->document;
  EXPECT_THAT(inbox(made),
              ElementsAre("TaskCompleted " + new_id("{2}") + " @0", "PromiseResolved p @0",
                          "ChildWorkflowCompleted " + new_id("{5}") + " @0",
                          "TaskFailed " + new_id("{1}") + " @0"));
  EXPECT_EQ(made.image.inbox[0].payload, "2");
  EXPECT_EQ(made.image.inbox[3].extra, R"({"more":1})");
  // Operations are not delivered by an inbox.
  ASSERT_EQ(made.log.size(), 8U);
  EXPECT_EQ(made.log[6].kind, replay::EntryKind::kOperationCompleted);
  EXPECT_EQ(made.log[6].id, new_id("{4}"));
  EXPECT_EQ(made.log[6].seq, 7U);
  EXPECT_EQ(made.log[6].payload, "33");
  EXPECT_EQ(made.log[7].kind, replay::EntryKind::kOperationFailed);
  EXPECT_EQ(made.log[7].seq, 8U);
  ASSERT_EQ(made.image.promises.size(), 1U);
  EXPECT_TRUE(made.image.promises[0].is_resolved);
  EXPECT_THAT(made.image.tasks, IsEmpty());
  EXPECT_THAT(texts(plan->arriving),
              ElementsAre("{1} task a", "{2} task b", "{3} operation o", "{4} operation q",
                          "{5} child c", "{6} promise p"));
  EXPECT_THAT(texts(plan->again), ElementsAre("{7} task cut"));
}

TEST(Fork, WhatHasNoOutcomeIsDoneAgainOrWaitsOn) {
  const Result<ForkPlan> plan = fork(run_of("waiting", R"(
    {"event": "TaskScheduled", "taskType": "a", "input": [1], "queue": "fast", "priority": 3,
     "totalTimeoutMs": 70},
    {"event": "TimerStarted", "durationMs": 50, "time": 2000},
    {"event": "TimerStarted", "timerId": "pause", "durationMs": 60, "time": 2000},
    {"event": "PromiseCreated", "promiseId": "p", "timeoutMs": 7, "time": 2000},
    {"event": "PromiseCreated", "promiseId": "done"},
    {"event": "PromiseResolved", "promiseId": "done"},
    {"event": "SignalAwaited", "signalName": "go", "timeoutMs": 9, "time": 2000},
    {"event": "SignalAwaited", "signalName": "stop"},
    {"event": "OperationStarted", "operationName": "o"},
    {"event": "OperationStarted", "operationName": "q"},
    {"event": "TaskScheduled", "taskType": "ready"},
    {"event": "TaskScheduled", "taskType": "cut"})",
                                            R"(,
    "inbox": [{"event": "RetryOperation", "dueAt": 99, "id": "#{9}", "attempts": 2},
              {"event": "TimerFired", "dueAt": 2050, "id": "#{2}"},
              {"event": "TaskCompleted", "dueAt": 0, "id": "#{10}", "payload": 1, "kept": true},
              {"event": "SignalReceived", "dueAt": 0, "name": "late"}],
    "tasks": [{"id": "#{1}", "type": "a", "queue": "fast", "state": "delayed", "attempt": 4},
              {"id": "#{11}", "type": "cut", "queue": "default", "state": "running"}])"),
                                     "{11}");
  ASSERT_TRUE(plan) << plan.error().message;
  const RunDocument& made = plan->document;
  EXPECT_THAT(
      inbox(made),
      ElementsAre("TimerFired " + new_id("{2}") + " @2050", "TimerFired pause @2060",
                  "PromiseTimedOut p @2007", "SignalTimedOut {6} @2009",
                  "Retry " + new_id("{9}") + " @99", "TaskCompleted " + new_id("{10}") + " @0"));
  EXPECT_EQ(made.image.inbox[4].number, 2);
  EXPECT_FALSE(made.image.inbox[5].is_kept);
  ASSERT_EQ(made.image.tasks.size(), 1U);
  const store::TaskRow& task = made.image.tasks[0];
  EXPECT_EQ(task.id, new_id("{1}"));
  EXPECT_EQ(task.type, "a");
  EXPECT_EQ(task.queue, "fast");
  EXPECT_EQ(task.priority, 3);
  EXPECT_EQ(task.input, "[1]");
  EXPECT_EQ(task.state, store::TaskState::kReady);
  EXPECT_EQ(task.attempt, 0U);
  EXPECT_EQ(task.deadline_ms, kNow + 70);
  ASSERT_EQ(made.image.promises.size(), 2U);
  EXPECT_EQ(made.image.promises[0].name, "done");
  EXPECT_TRUE(made.image.promises[0].is_resolved);
  EXPECT_FALSE(made.image.promises[1].is_resolved);
  EXPECT_THAT(texts(plan->again),
              ElementsAre("{1} task a", "{8} operation o", "{9} operation q", "{11} task cut"));
  EXPECT_THAT(texts(plan->arriving), ElementsAre("{10} task ready"));
  EXPECT_THAT(plan->unseen_signals, ElementsAre("late"));
}

TEST(Fork, CancelRequestsCountOnlyIfTheyCameBefore) {
  const RunDocument document = run_of("completed", R"(
    {"event": "TaskScheduled", "taskType": "a"},
    {"event": "TimerStarted", "durationMs": 50, "time": 2000},
    {"event": "TaskScheduled", "taskType": "b"},
    {"event": "TimerStarted", "durationMs": 60, "time": 2000},
    {"event": "TaskCancelRequested", "taskExecutionId": "#{1}"},
    {"event": "TimerCancelRequested", "timerId": "#{2}"},
    {"event": "StateSet", "key": "cut", "value": 1},
    {"event": "TaskCancelRequested", "taskExecutionId": "#{3}"},
    {"event": "TimerCancelRequested", "timerId": "#{4}"},
    {"event": "TimerCancelled", "timerId": "#{2}"},
    {"event": "TaskCancelled", "taskExecutionId": "#{3}"},
    {"event": "TimerCancelled", "timerId": "#{4}"},
    {"event": "WorkflowCompleted"})");
  const Result<ForkPlan> plan = fork(document, "{7}");
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_EQ(plan->document.log[4].id, new_id("{1}"));
  EXPECT_THAT(inbox(plan->document), ElementsAre("TaskCancelled " + new_id("{1}") + " @0",
                                                 "TimerCancelled " + new_id("{2}") + " @0",
                                                 "TimerFired " + new_id("{4}") + " @2060"));
  ASSERT_EQ(plan->document.image.tasks.size(), 1U);
  EXPECT_EQ(plan->document.image.tasks[0].id, new_id("{3}"));
}

TEST(Fork, SignalsAndCancelRequestsBehindTheCutAreTold) {
  const Result<ForkPlan> plan = fork(run_of("cancelled", R"(
    {"event": "SignalReceived", "signalName": "early", "data": 1},
    {"event": "TaskScheduled", "taskType": "a"},
    {"event": "SignalReceived", "signalName": "late", "data": 2},
    {"event": "CancellationRequested"},
    {"event": "WorkflowCancelled"})",
                                            R"(,
    "compensations": [{"position": 0, "name": "refund", "state": "done", "attempts": 1},
                      {"position": 1, "name": "call", "state": "open"}])"),
                                     "{1}");
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_THAT(events(plan->document), ElementsAre("SignalReceived"));
  EXPECT_THAT(plan->unseen_signals, ElementsAre("late"));
  EXPECT_THAT(plan->document.image.compensations, IsEmpty());
  EXPECT_THAT(plan->warnings,
              ElementsAre("the original was asked to cancel later; the new run was not",
                          "the original has compensated: 'refund'; the new run goes on as if that "
                          "had not been done"));
}

TEST(Fork, AnOpenChildCannotBeShared) {
  const RunDocument document = run_of("waiting", R"(
    {"event": "TaskScheduled", "taskType": "a"},
    {"event": "ChildWorkflowInitiated", "childExecutionName": "ship", "childWorkflowKind": "k"},
    {"event": "TaskScheduled", "taskType": "b"})");
  EXPECT_EQ(refusal(document, "{3}"),
            "{3} cannot be forked at: the child run 'ship' that {2} has started is not over, and "
            "cannot be the child of two runs. Possible is {2}, which starts a child anew");
  const Result<ForkPlan> plan = fork(document, "{2}");
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_THAT(plan->children, ElementsAre("ship"));
}

constexpr std::string_view kLoop = R"(
  {"event": "TaskScheduled", "taskType": "a"},
  {"event": "LoopStarted", "state": 0},
  {"event": "BranchOpened"},
  {"seq": 10, "event": "TaskScheduled", "taskType": "beside", "location": "{3, 1}"},
  {"seq": 20, "event": "LoopCheckpointed", "loop": "{2}", "iteration": 20, "state": 1},
  {"event": "OperationCompleted", "operationName": "o", "location": "{2, 21, 1}", "result": 1},
  {"event": "OperationCompleted", "operationName": "o", "location": "{2, 22, 1}", "result": 1})";

TEST(Fork, WhatALoopHasForgottenCannotBeCut) {
  const RunDocument document = run_of("waiting", kLoop);
  const std::string possible =
      " cannot be forked at: the loop at {2} has forgotten what it did up to its iteration 20. "
      "Possible are {2} itself, which begins the loop anew, and the places from {2, 21, 1} on";
  EXPECT_EQ(refusal(document, "{2, 3, 1}"), "{2, 3, 1}" + possible);
  EXPECT_EQ(refusal(document, "{2, 20, 1}"), "{2, 20, 1}" + possible);
  EXPECT_EQ(refusal(document, "{3, 1}"), "{3, 1}" + possible);
  for (const char* at : {"{1}", "{2}", "{3}", "{2, 21, 1}", "{2, 22, 1}", "end"}) {
    const Result<ForkPlan> plan = fork(document, at);
    EXPECT_TRUE(plan) << at << ": " << plan.error().message;
  }
  EXPECT_EQ(fork(document, "{2, 22, 1}")->document.log.back().seq, 21U);
}

TEST(Fork, PlacesThatAreNotThere) {
  const RunDocument document = run_of("failed", kThreeSteps);
  EXPECT_EQ(refusal(document, "{9}"), "the run has no command at {9}; its last one is at {3}");
  EXPECT_EQ(refusal(document, "{1, 1}"),
            "the run has no command at {1, 1}; its last one is at {3}");
  EXPECT_THAT(refusal(document, "3"), HasSubstr("a location looks like {2} or {3, 1}"));
  EXPECT_EQ(refusal(run_of("running", ""), "{1}"),
            "the run has no command at {1}; it has none at all");
}

// --- Edits ---------------------------------------------------------------------------------------

TEST(ForkEdit, ResultsAreReplaced) {
  const RunDocument document = run_of("waiting", R"(
    {"event": "TaskScheduled", "taskType": "a"},
    {"event": "TaskCompleted", "result": 1},
    {"event": "TaskScheduled", "taskType": "b"},
    {"event": "TaskFailed", "error": "no"},
    {"event": "OperationFailed", "operationName": "o", "error": "no"},
    {"event": "OperationStarted", "operationName": "q"},
    {"event": "OperationFailed", "operationName": "q", "operationId": "#{4}", "error": "no"},
    {"event": "PromiseCreated", "promiseId": "p"},
    {"event": "PromiseTimedOut", "promiseId": "p"},
    {"event": "ChildWorkflowInitiated", "childExecutionName": "c", "childWorkflowKind": "k"},
    {"event": "ChildWorkflowCancelled", "childExecutionName": "c"},
    {"event": "StateSet", "key": "k", "value": 1},
    {"event": "SignalAwaited", "signalName": "go"},
    {"event": "SignalReceived", "signalName": "go", "data": 1, "id": "e-1"},
    {"event": "TaskScheduled", "taskType": "cut"})");
  std::vector<Edit> edits;
  for (int i = 1; i <= 8; ++i) {
    edits.push_back({"{" + std::to_string(i) + "}", R"({"edit":)" + std::to_string(i) + "}"});
  }
  const Result<ForkPlan> plan = fork(document, "{9}", edits);
  ASSERT_TRUE(plan) << plan.error().message;
  const std::vector<replay::Entry>& log = plan->document.log;
  EXPECT_THAT(events(plan->document),
              ElementsAre("TaskScheduled", "TaskCompleted", "TaskScheduled", "TaskCompleted",
                          "OperationCompleted", "OperationStarted", "OperationCompleted",
                          "PromiseCreated", "PromiseResolved", "ChildWorkflowInitiated",
                          "ChildWorkflowCompleted", "StateSet", "SignalAwaited", "SignalReceived"));
  const std::pair<std::size_t, int> places[] = {{1, 1}, {3, 2},  {4, 3},  {6, 4},
                                                {8, 5}, {10, 6}, {11, 7}, {13, 8}};
  for (const auto& [at, edit] : places) {
    EXPECT_EQ(log[at].payload, R"({"edit":)" + std::to_string(edit) + "}");
    EXPECT_TRUE(log[at].has_payload);
  }
  EXPECT_EQ(log[13].extra, R"({"id":"e-1"})");
  // The original is as it was.
  EXPECT_EQ(document.log[1].payload, "1");
}

TEST(ForkEdit, WhatCannotBeSetSaysWhy) {
  const RunDocument document = run_of("waiting", R"(
    {"event": "TaskScheduled", "taskType": "a"},
    {"event": "TimerStarted", "durationMs": 5},
    {"event": "SignalAwaited", "signalName": "go"},
    {"event": "SignalAwaited", "signalName": "go"},
    {"event": "SignalReceived", "signalName": "go"},
    {"event": "SignalAwaited", "signalName": "never"},
    {"event": "TaskScheduled", "taskType": "cut"},
    {"event": "TaskCompleted", "taskExecutionId": "#{1}"},
    {"event": "TaskCompleted", "taskExecutionId": "#{6}"})");
  const auto reason = [&](const char* location) {
    return refusal(document, "{6}", {{location, "1"}});
  };
  EXPECT_EQ(reason("{1}"), "{1} cannot be set: its outcome came behind the cut; fork later");
  EXPECT_EQ(reason("{2}"), "{2} cannot be set: a timer has no result");
  EXPECT_EQ(reason("{3}"),
            "{3} cannot be set: the log does not tell which signal 'go' this wait took");
  EXPECT_EQ(reason("{5}"), "{5} cannot be set: no signal 'never' came before the cut");
  EXPECT_EQ(reason("{6}"), "{6} cannot be set: it stands behind the cut, so the code does it anew");
  EXPECT_EQ(reason("{9}"), "the run has no command at {9}; its last one is at {6}");
  EXPECT_EQ(refusal(run_of("waiting", R"({"event": "TaskScheduled", "taskType": "a"},
                                         {"event": "TaskScheduled", "taskType": "b"})"),
                    "{2}", {{"{1}", "1"}}),
            "{1} cannot be set: it has no outcome yet");
}

}  // namespace
}  // namespace pawl::portable

#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "portable/fork.h"
#include "portable/fork_test_support.h"

namespace pawl::portable {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Result<ForkPlan> retry(const RunDocument& document, bool force = false) {
  RetryRequest request;
  request.uuid = kNewRun;
  request.force = force;
  request.now_ms = kNow;
  return plan_retry(document, request);
}

constexpr std::string_view kDeclined = R"({"type": "Declined", "message": "no", "details": 1})";

std::string failed_with(std::string_view steps) {
  return std::string(steps) + R"(, {"event": "WorkflowFailed", "error": )" +
         std::string(kDeclined) + "}";
}

TEST(Retry, AFailedTaskIsPutOnItsQueueAgain) {
  const Result<ForkPlan> plan = retry(run_of("failed", failed_with(R"(
    {"event": "TaskScheduled", "taskType": "charge", "input": 5, "queue": "slow"},
    {"event": "SignalReceived", "signalName": "before"},
    {"event": "TaskScheduled", "taskType": "other"},
    {"event": "TaskFailed", "taskExecutionId": "#{1}", "error": {"type": "Declined", "message": "no"}},
    {"event": "SignalReceived", "signalName": "after", "data": 7},
    {"event": "TaskCompleted", "taskExecutionId": "#{2}", "result": 8},
    {"event": "OperationCompleted", "operationName": "report", "result": 1})")));
  ASSERT_TRUE(plan) << plan.error().message;
  const RunDocument& made = plan->document;
  EXPECT_EQ(made.image.row.id, "order-17");
  EXPECT_EQ(made.image.row.uuid, kNewRun);
  ASSERT_TRUE(plan->failed);
  EXPECT_EQ(step_text(*plan->failed), "{1} task charge");
  EXPECT_THAT(events(made), ElementsAre("TaskScheduled", "SignalReceived", "TaskScheduled"));
  ASSERT_EQ(made.image.tasks.size(), 1U);
  EXPECT_EQ(made.image.tasks[0].id, new_id("{1}"));
  EXPECT_EQ(made.image.tasks[0].queue, "slow");
  EXPECT_EQ(made.image.tasks[0].input, "5");
  // In the order in which they came.
  EXPECT_THAT(inbox(made),
              ElementsAre("SignalReceived after @0", "TaskCompleted " + new_id("{2}") + " @0"));
  EXPECT_EQ(made.image.inbox[0].payload, "7");
  EXPECT_THAT(plan->unseen_signals, IsEmpty());
  EXPECT_THAT(texts(plan->again), ElementsAre("{1} task charge", "{3} operation report"));
}

TEST(Retry, TheLastFailureLikeThatOfTheRunCounts) {
  const Result<ForkPlan> plan = retry(run_of("failed", failed_with(R"(
    {"event": "TaskScheduled", "taskType": "a"},
    {"event": "TaskFailed", "error": {"type": "Declined", "message": "no"}},
    {"event": "TaskScheduled", "taskType": "b"},
    {"event": "TaskFailed", "error": {"type": "Declined", "message": "no"}},
    {"event": "TaskScheduled", "taskType": "c"},
    {"event": "TaskFailed", "error": {"type": "Declined", "message": "other"}})")));
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_EQ(step_text(*plan->failed), "{2} task b");
  EXPECT_EQ(plan->document.log.size(), 3U);
}

TEST(Retry, OperationsAreExecutedAgainByTheCode) {
  const Result<ForkPlan> whole = retry(run_of("failed", failed_with(R"(
    {"event": "StateSet", "key": "k", "value": 1},
    {"event": "OperationFailed", "operationName": "o", "error": {"type": "Declined", "message": "no"}})")));
  ASSERT_TRUE(whole) << whole.error().message;
  EXPECT_THAT(events(whole->document), ElementsAre("StateSet"));
  const Result<ForkPlan> started = retry(run_of("failed", failed_with(R"(
    {"event": "OperationStarted", "operationName": "o"},
    {"event": "OperationFailed", "operationName": "o", "operationId": "#{1}", "error": {"type": "Declined", "message": "no"}})")));
  ASSERT_TRUE(started) << started.error().message;
  EXPECT_THAT(events(started->document), ElementsAre("OperationStarted"));
  EXPECT_EQ(step_text(*started->failed), "{1} operation o");
}

TEST(Retry, PromisesAndWaitsAreOpenAgainForAsLong) {
  const Result<ForkPlan> rejected = retry(run_of("failed", failed_with(R"(
    {"event": "PromiseCreated", "promiseId": "p", "timeoutMs": 10},
    {"event": "PromiseRejected", "promiseId": "p", "error": {"type": "Declined", "message": "no"}})")));
  ASSERT_TRUE(rejected) << rejected.error().message;
  ASSERT_EQ(rejected->document.image.promises.size(), 1U);
  EXPECT_FALSE(rejected->document.image.promises[0].is_resolved);
  EXPECT_THAT(inbox(rejected->document),
              ElementsAre("PromiseTimedOut p @" + std::to_string(kNow + 10)));
  const Result<ForkPlan> late = retry(run_of("failed", R"(
    {"event": "SignalAwaited", "signalName": "go", "timeoutMs": 10},
    {"event": "SignalTimedOut"},
    {"event": "WorkflowFailed", "error": {"type": "pawl::TimedOut", "message": "signal 'go' timed out"}})"));
  ASSERT_TRUE(late) << late.error().message;
  EXPECT_EQ(step_text(*late->failed), "{1} signal go");
  EXPECT_THAT(events(late->document), ElementsAre("SignalAwaited"));
  EXPECT_THAT(inbox(late->document),
              ElementsAre("SignalTimedOut {1} @" + std::to_string(kNow + 10)));
}

TEST(Retry, AFailedChildIsStartedAgain) {
  const Result<ForkPlan> plan = retry(run_of("failed", failed_with(R"(
    {"event": "TaskScheduled", "taskType": "a"},
    {"event": "TaskCompleted"},
    {"event": "ChildWorkflowInitiated", "childExecutionName": "ship", "childWorkflowKind": "k"},
    {"event": "ChildWorkflowFailed", "childExecutionName": "ship", "error": {"type": "Declined", "message": "no"}})")));
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_THAT(events(plan->document), ElementsAre("TaskScheduled", "TaskCompleted"));
  EXPECT_THAT(plan->children, ElementsAre("ship"));
}

TEST(Retry, AFailureOfTheCodeItselfIsTriedAtTheEnd) {
  const Result<ForkPlan> plan = retry(run_of("failed", failed_with(R"(
    {"event": "TaskScheduled", "taskType": "a"},
    {"event": "TaskCompleted"},
    {"event": "TaskScheduled", "taskType": "b"})")));
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_FALSE(plan->failed);
  EXPECT_EQ(plan->document.log.size(), 3U);
  EXPECT_EQ(plan->document.image.tasks.size(), 1U);
}

TEST(Retry, ACancelledRunGoesOnBeforeTheRequest) {
  const Result<ForkPlan> plan = retry(run_of("cancelled", R"(
    {"event": "TaskScheduled", "taskType": "a"},
    {"event": "CancellationRequested", "reason": "r"},
    {"event": "TaskCancelRequested", "taskExecutionId": "#{1}"},
    {"event": "TaskCancelled", "taskExecutionId": "#{1}"},
    {"event": "WorkflowCancelled"})"));
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_THAT(events(plan->document), ElementsAre("TaskScheduled"));
  EXPECT_EQ(plan->document.image.tasks.size(), 1U);
}

TEST(Retry, WhatHasBeenUndoneHasToBeForced) {
  const RunDocument document = run_of("failed", failed_with(R"(
    {"event": "CompensationRegistered", "name": "refund"})"),
                                      R"(,
    "compensations": [{"position": 0, "name": "refund", "state": "failed", "attempts": 10}])");
  const Result<ForkPlan> plan = retry(document);
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().message,
            "run 'order-17' has compensated ('refund'): going on as if that had not been done has "
            "to be forced");
  const Result<ForkPlan> forced = retry(document, true);
  ASSERT_TRUE(forced) << forced.error().message;
  EXPECT_THAT(forced->warnings, ElementsAre(HasSubstr("'refund'")));
  EXPECT_THAT(events(forced->document), ElementsAre("CompensationRegistered"));
}

TEST(Retry, OnlyWhatHasEndedBadly) {
  EXPECT_EQ(
      retry(run_of("waiting", R"({"event": "SignalAwaited", "signalName": "go"})")).error().message,
      "run 'order-17' is waiting: only a run that has ended can be run again");
  EXPECT_EQ(retry(run_of("completed", R"({"event": "WorkflowCompleted"})")).error().message,
            "run 'order-17' is completed: there is no failure to undo; fork it instead");
}

}  // namespace
}  // namespace pawl::portable

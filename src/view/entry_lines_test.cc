#include "view/entry_lines.h"

#include <string>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "format/log_json.h"
#include "replay/labels.h"

namespace pawl::view {
namespace {

using testing::HasSubstr;

std::string lines_of(std::string_view entries, HistoryOptions options = {}) {
  Result<replay::Log> log = format::import_log(entries, {});
  EXPECT_TRUE(log) << log.error().message;
  store::RunRow row;
  EntryLines lines(row, std::move(options));
  std::string text;
  for (replay::RecordId id = 0; id < log->size(); ++id) {
    replay::Log::EntryTexts texts;
    const Result<std::string> line = lines.add(log->entry(id, texts));
    EXPECT_TRUE(line) << line.error().message;
    text += *line;
    EXPECT_EQ(lines.next_seq(), (*log)[id].seq + 1);
  }
  return text;
}

TEST(EntryLines, ThereIsOneForEachEntry) {
  EXPECT_EQ(lines_of(R"([
    {"event": "OperationCompleted", "time": 12, "location": "{1}", "operationName": "reserve", "result": "shelf 3"},
    {"event": "CompensationRegistered", "time": 12, "location": "{2}", "name": "release"},
    {"event": "BranchOpened", "time": 12, "location": "{3}"},
    {"event": "TaskScheduled", "time": 12, "location": "{3, 1}", "taskType": "charge", "taskExecutionId": "t-1",
     "queue": "payments"},
    {"event": "OperationStarted", "time": 12, "location": "{3, 2}", "operationName": "slow", "operationId": "o-1"},
    {"event": "TaskCompleted", "time": 413, "taskExecutionId": "t-1", "result": 7, "attempts": 2},
    {"event": "SignalAwaited", "time": 413, "location": "{4}", "signalName": "approved", "timeoutMs": 1000},
    {"event": "SignalReceived", "time": 1613, "signalName": "approved", "data": true, "id": "e-1"},
    {"event": "TimerStarted", "time": 1613, "location": "{5}", "durationMs": 1000},
    {"event": "TimerFired", "time": 2614},
    {"event": "StateSet", "time": 2614, "location": "{6}", "key": "seen", "value": 1},
    {"event": "LoopStarted", "time": 2614, "location": "{7}", "state": 0},
    {"event": "LoopCheckpointed", "time": 2615, "loop": "{7}", "iteration": 20, "state": 20},
    {"event": "SignalTimedOut", "time": 2616, "location": "{4}"},
    {"event": "ChildWorkflowInitiated", "time": 2616, "location": "{8}", "childExecutionName": "bill-17",
     "childWorkflowKind": "bill", "childExecutionId": "c-1"},
    {"event": "PromiseCreated", "time": 2616, "location": "{9}", "promiseId": "paid"},
    {"event": "StepRemoved", "time": 2616, "location": "{10}", "kind": "task", "name": "old"},
    {"event": "CancellationRequested", "time": 2617, "reason": "closed"},
    {"event": "OperationFailed", "time": 2618, "operationId": "o-1", "error": "no"},
    {"event": "WorkflowCancelled", "time": 2700}
  ])"),
            "      12 ms               {1} Operation(0) reserve:1 = \"shelf 3\"\n"
            "      12 ms               {2} Compensation(0) release:1 registered\n"
            "      12 ms               {3} Branch(0) opened\n"
            "      12 ms               {3, 1} Task(0) charge:1 scheduled on queue payments\n"
            "      12 ms               {3, 2} Operation(0) slow:1 started\n"
            "     413 ms       401 ms  {3, 1} Task(0) charge:1 = 7 (2 attempts)\n"
            "     413 ms               {4} Signal(0) approved:1 (at most 1.00 s) awaited\n"
            "     1.61 s               signal approved = true (id e-1)\n"
            "     1.61 s               {5} Timer(0) of 1.00 s started\n"
            "     2.61 s       1.00 s  {5} Timer(0) fired\n"
            "     2.61 s               {6} State(0) seen:1 set to 1\n"
            "     2.61 s               {7} Loop(0) started, state 0\n"
            "     2.61 s               {7} Loop(0) 20 iterations finished, state 20\n"
            "     2.61 s       2.20 s  {4} Signal(0) approved:1 timed out\n"
            "     2.61 s               {8} ChildWorkflow(0) bill-17:1 (kind bill) started\n"
            "     2.61 s               {9} Promise(0) paid:1 created\n"
            "     2.61 s               {10} Task(0) old:1 removed from the code\n"
            "     2.61 s               cancel request: closed\n"
            "     2.61 s       2.60 s  {3, 2} Operation(0) slow:1 failed: no\n"
            "     2.70 s               cancelled\n");
}

TEST(EntryLines, LabelsAreThoseOfTheCoreAtThatMoment) {
  EXPECT_EQ(lines_of(R"([
    {"event": "OperationCompleted", "location": "{1}", "operationName": "a"},
    {"event": "OperationCompleted", "location": "{2}", "operationName": "a"},
    {"event": "OperationCompleted", "location": "{1.1}", "operationName": "a", "version": 2},
    {"event": "OperationCompleted", "location": "{0.1}", "operationName": "b", "version": 2},
    {"event": "OperationCompleted", "location": "{3}", "operationName": "a"}
  ])"),
            "       1 ms               {1} Operation(0) a:1 done\n"
            "       2 ms               {2} Operation(1) a:2 done\n"
            "       3 ms               {1.1} Operation(1) a:2 (inserted, version 2) done\n"
            "       4 ms               {0.1} Operation(0) b:1 (inserted, version 2) done\n"
            "       5 ms               {3} Operation(4) a:4 done\n");
}

TEST(EntryLines, RemarksStandWhereEntriesDo) {
  const EntryLines lines(store::RunRow(), {});
  EXPECT_EQ(lines.remark(Line().add("waiting for signal go")),
            "                          waiting for signal go\n");
}

TEST(EntryLines, WhatNoRunCanHaveWrittenIsAnError) {
  EntryLines lines(store::RunRow(), {});
  replay::Entry entry;
  entry.kind = replay::EntryKind::kTaskCompleted;
  entry.seq = 1;
  entry.id = "nobody";
  const Result<std::string> line = lines.add(entry);
  ASSERT_FALSE(line);
  EXPECT_EQ(line.error().code, ErrorCode::kCorruptLog);
}

}  // namespace
}  // namespace pawl::view

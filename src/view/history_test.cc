#include "view/history.h"

#include <string>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "format/log_json.h"
#include "replay/labels.h"

namespace pawl::view {
namespace {

using store::RunStatus;
using testing::HasSubstr;
using testing::Not;

constexpr std::int64_t kStart = 1'794'859'838'000;  // 2026-11-16 20:10:38

// Times in `entries` count from the start of the run.
History make_history(std::string_view entries, RunStatus status, std::int64_t changed_ms = 0) {
  History history;
  history.row.id = "order-17";
  history.row.kind = "fulfil";
  history.row.uuid = *Uuid::parse("018f3b5c-0000-7000-8000-000000000001");
  history.row.status = status;
  history.row.created_ms = 0;
  history.row.changed_ms = changed_ms;
  history.input = R"({"item":"lamp"})";
  format::LogDefaults defaults;
  defaults.run_id = history.row.uuid;
  Result<replay::Log> log = format::import_log(entries, defaults);
  EXPECT_TRUE(log) << log.error().message;
  history.log = *std::move(log);
  const Result<void> finished = history.log.finish_loading();
  EXPECT_TRUE(finished) << finished.error().message;
  return history;
}

std::string tree(const History& history, std::int64_t now_ms = 0) {
  return history_tree(history, {.now_ms = now_ms});
}

// The part between the head and the arrivals.
std::string lines_of(const History& history, std::int64_t now_ms = 0) {
  const std::string text = tree(history, now_ms);
  const std::size_t begin = text.find("took\n");
  EXPECT_NE(begin, std::string::npos) << text;
  const std::size_t end = text.find("\n\narrived:");
  return text.substr(begin + 5, end == std::string::npos ? end : end - begin - 4);
}

TEST(HistoryTree, ShowsARunThatHasCompleted) {
  History history = make_history(R"([
    {"event": "OperationCompleted", "time": 12, "location": "{1}", "operationName": "reserve", "result": "shelf 3"},
    {"event": "CompensationRegistered", "time": 12, "location": "{2}", "name": "release", "input": "shelf 3"},
    {"event": "BranchOpened", "time": 12, "location": "{3}"},
    {"event": "BranchOpened", "time": 12, "location": "{4}"},
    {"event": "TaskScheduled", "time": 12, "location": "{3, 1}", "taskType": "charge", "taskExecutionId": "t-1"},
    {"event": "OperationCompleted", "time": 220, "location": "{4, 1}", "operationName": "label", "result": "L-1"},
    {"event": "TaskCompleted", "time": 413, "taskExecutionId": "t-1", "result": {"receipt": 7}},
    {"event": "CompensationRegistered", "time": 413, "location": "{3, 2}", "name": "refund"},
    {"event": "SignalAwaited", "time": 413, "location": "{5}", "signalName": "approved"},
    {"event": "SignalReceived", "time": 1613, "signalName": "approved", "data": true},
    {"event": "TimerStarted", "time": 1613, "location": "{6}", "durationMs": 1000},
    {"event": "TimerFired", "time": 2614},
    {"event": "OperationCompleted", "time": 2700, "location": "{7}", "operationName": "ship"},
    {"event": "WorkflowCompleted", "time": 2700, "result": "tracked"}
  ])",
                                 RunStatus::kCompleted, 2701);
  history.row.created_ms = 0;
  EXPECT_EQ(tree(history),
            "order-17: fulfil, completed after 2.70 s\n"
            "run 018f3b5c-0000-7000-8000-000000000001, started 1970-01-01 00:00:00.000 UTC\n"
            "input {\"item\":\"lamp\"}\n"
            "\n"
            "         at         took\n"
            "      12 ms       ~12 ms  {1} Operation(0) reserve:1 = \"shelf 3\"\n"
            "      12 ms               {2} Compensation(0) release:1 not needed\n"
            "      12 ms               {3} Branch(0)\n"
            "      12 ms       401 ms  ├─ {3, 1} Task(0) charge:1 = {\"receipt\":7}\n"
            "     413 ms               └─ {3, 2} Compensation(0) refund:1 not needed\n"
            "      12 ms               {4} Branch(1)\n"
            "     220 ms      ~208 ms  └─ {4, 1} Operation(0) label:1 = \"L-1\"\n"
            "     413 ms       1.20 s  {5} Signal(0) approved:1 = true\n"
            "     1.61 s       1.00 s  {6} Timer(0) done\n"
            "     2.70 s       ~86 ms  {7} Operation(1) ship:1 done\n"
            "     2.70 s               completed = \"tracked\"\n"
            "\n"
            "arrived:\n"
            "     1.61 s  signal approved = true, taken by {5}\n");
}

TEST(HistoryTree, TimesCountFromTheStartOfTheRun) {
  History history = make_history("[]", RunStatus::kRunning);
  history.row.created_ms = kStart;
  EXPECT_EQ(tree(history, kStart + 5),
            "order-17: fulfil, running, for 5 ms\n"
            "run 018f3b5c-0000-7000-8000-000000000001, started 2026-11-16 20:10:38.000 UTC\n"
            "input {\"item\":\"lamp\"}\n");
}

TEST(HistoryTree, SaysWhatARunWaitsFor) {
  History history = make_history(R"([
    {"event": "TaskScheduled", "time": 0, "location": "{1}", "taskType": "ready", "taskExecutionId": "t-1"},
    {"event": "TaskScheduled", "time": 0, "location": "{2}", "taskType": "delayed", "taskExecutionId": "t-2"},
    {"event": "TaskScheduled", "time": 0, "location": "{3}", "taskType": "runs", "taskExecutionId": "t-3"},
    {"event": "TaskScheduled", "time": 0, "location": "{4}", "taskType": "done", "taskExecutionId": "t-4"},
    {"event": "TimerStarted", "time": 0, "location": "{5}", "durationMs": 90000},
    {"event": "SignalAwaited", "time": 0, "location": "{6}", "signalName": "go", "timeoutMs": 60000},
    {"event": "PromiseCreated", "time": 0, "location": "{7}", "promiseId": "paid"},
    {"event": "OperationStarted", "time": 0, "location": "{8}", "operationName": "fetch", "operationId": "o-1"},
    {"event": "CompensationRegistered", "time": 0, "location": "{9}", "name": "refund"}
  ])",
                                 RunStatus::kWaiting);
  history.row.waiting_for = "task ready";
  store::TaskRow task;
  task.id = "t-1";
  task.queue = "payments";
  history.tasks.push_back(task);
  task.id = "t-2";
  task.state = store::TaskState::kDelayed;
  task.attempt = 2;
  task.due_ms = 1500;
  task.last_error = R"({"type":"Busy","message":"later"})";
  history.tasks.push_back(task);
  task.id = "t-3";
  task.state = store::TaskState::kRunning;
  task.attempt = 1;
  task.last_error = "";
  history.tasks.push_back(task);
  store::Arrival arrival;
  arrival.kind = static_cast<std::uint8_t>(replay::EntryKind::kTaskCompleted);
  arrival.has_payload = true;
  arrival.payload = "7";
  history.inbox.push_back(arrival);
  arrival = {};
  arrival.kind = store::kRetryOperation;
  arrival.id = "o-1";
  arrival.number = 3;
  arrival.due_ms = 2000;
  history.inbox.push_back(arrival);
  EXPECT_EQ(tree(history, 1000),
            "order-17: fulfil, waiting for task ready, for 1.00 s\n"
            "run 018f3b5c-0000-7000-8000-000000000001, started 1970-01-01 00:00:00.000 UTC\n"
            "input {\"item\":\"lamp\"}\n"
            "\n"
            "         at         took\n"
            "       0 ms               {1} Task(0) ready:1 waiting, on queue payments\n"
            "       0 ms               {2} Task(1) delayed:1 waiting, attempt 3 in 500 ms, after "
            "Busy: later\n"
            "       0 ms               {3} Task(2) runs:1 waiting, attempt 1 is running\n"
            "       0 ms               {4} Task(3) done:1 waiting\n"
            "       0 ms               {5} Timer(0) waiting, due in 1 min 29 s\n"
            "       0 ms               {6} Signal(0) go:1 waiting, at most 59.00 s more\n"
            "       0 ms               {7} Promise(0) paid:1 waiting\n"
            "       0 ms               {8} Operation(0) fetch:1 waiting, attempt 4 in 1.00 s\n"
            "       0 ms               {9} Compensation(0) refund:1 registered\n"
            "\n"
            "arrived:\n"
            "      inbox  TaskCompleted = 7\n");
}

TEST(HistoryTree, SaysWhatACompensatingRunWaitsFor) {
  History history = make_history("[]", RunStatus::kCompensating);
  history.row.waiting_for = "compensation undo";
  EXPECT_NE(history_tree(history, {}).find(", compensating, waiting for compensation undo, for "),
            std::string::npos);
}

TEST(HistoryTree, ShowsFailuresAndCompensations) {
  History history = make_history(R"([
    {"event": "CompensationRegistered", "time": 0, "location": "{1}", "name": "first"},
    {"event": "CompensationRegistered", "time": 0, "location": "{2}", "name": "second"},
    {"event": "CompensationRegistered", "time": 0, "location": "{3}", "name": "third"},
    {"event": "CompensationRegistered", "time": 0, "location": "{4}", "name": "fourth"},
    {"event": "TaskScheduled", "time": 0, "location": "{5}", "taskType": "late", "taskExecutionId": "t-1"},
    {"event": "OperationFailed", "time": 30, "location": "{6}", "operationName": "ship",
     "error": {"type": "shop::Lost", "message": "no van"}},
    {"event": "WorkflowFailed", "time": 30, "error": {"type": "shop::Lost", "message": "no van"}}
  ])",
                                 RunStatus::kCompensating);
  history.compensations.resize(4);
  for (std::uint32_t i = 0; i < 4; ++i) {
    history.compensations[i].position = i;
  }
  history.compensations[0].name = "first";
  history.compensations[1].name = "second";
  history.compensations[1].attempt = 1;
  history.compensations[1].outcome = R"({"message":"busy"})";
  history.compensations[2].name = "third";
  history.compensations[2].state = store::CompensationState::kFailed;
  history.compensations[2].attempt = 10;
  history.compensations[2].outcome = R"({"message":"gone"})";
  history.compensations[3].name = "fourth";
  history.compensations[3].state = store::CompensationState::kDone;
  history.compensations[3].attempt = 1;
  EXPECT_EQ(lines_of(history, 40),
            "       0 ms               {1} Compensation(0) first:1 to be run\n"
            "       0 ms               {2} Compensation(1) second:1 to be run, attempt 1 failed: "
            "busy\n"
            "       0 ms               {3} Compensation(2) third:1 failed: gone, attempt 10\n"
            "       0 ms               {4} Compensation(3) fourth:1 done\n"
            "       0 ms               {5} Task(0) late:1 left open\n"
            "      30 ms       ~30 ms  {6} Operation(0) ship:1 failed: shop::Lost: no van\n"
            "      30 ms               failed: shop::Lost: no van\n");
}

TEST(HistoryTree, SignalsGoToWaitsInOrder) {
  const History history = make_history(R"([
    {"event": "SignalReceived", "time": 1, "signalName": "go", "data": 1},
    {"event": "SignalAwaited", "time": 2, "location": "{1}", "signalName": "go"},
    {"event": "SignalAwaited", "time": 3, "location": "{2}", "signalName": "go", "timeoutMs": 5},
    {"event": "SignalAwaited", "time": 3, "location": "{3}", "signalName": "stop"},
    {"event": "SignalTimedOut", "time": 8, "location": "{2}"},
    {"event": "SignalReceived", "time": 9, "signalName": "go", "data": 2},
    {"event": "CancellationRequested", "time": 10, "reason": {"message": "closed"}},
    {"event": "SignalReceived", "time": 11, "signalName": "stop"}
  ])",
                                       RunStatus::kRunning);
  const std::string text = tree(history, 12);
  EXPECT_THAT(text, HasSubstr("2 ms         0 ms  {1} Signal(0) go:1 = 1\n"));
  EXPECT_THAT(text, HasSubstr("3 ms         5 ms  {2} Signal(1) go:2 timed out\n"));
  EXPECT_THAT(text, HasSubstr("3 ms         8 ms  {3} Signal(2) stop:1 done\n"));
  EXPECT_THAT(text, HasSubstr("arrived:\n"
                              "       1 ms  signal go = 1, taken by {1}\n"
                              "       9 ms  signal go = 2, not taken by a wait\n"
                              "      10 ms  cancel request: closed\n"
                              "      11 ms  signal stop, taken by {3}\n"));
}

TEST(HistoryTree, NestsBranchesAndIterations) {
  const History history = make_history(R"([
    {"event": "LoopStarted", "time": 0, "location": "{1}", "state": 0},
    {"event": "LoopCheckpointed", "time": 5, "loop": "{1}", "iteration": 20, "state": 20},
    {"event": "BranchOpened", "time": 6, "location": "{1, 21, 1}"},
    {"event": "OperationCompleted", "time": 8, "location": "{1, 21, 1, 1}", "operationName": "a", "result": 1},
    {"event": "OperationCompleted", "time": 9, "location": "{1, 21, 1, 2}", "operationName": "a", "result": 2},
    {"event": "StateSet", "time": 9, "location": "{1, 21, 2}", "key": "seen", "value": 1},
    {"event": "StateCleared", "time": 10, "location": "{1, 22, 1}", "key": "seen"}
  ])",
                                       RunStatus::kRunning);
  EXPECT_EQ(lines_of(history, 10),
            "       0 ms               {1} Loop(0) 20 iterations, state 20\n"
            "                          ├─ iteration 21\n"
            "       6 ms               │  ├─ {1, 21, 1} Branch(0)\n"
            "       8 ms        ~2 ms  │  │  ├─ {1, 21, 1, 1} Operation(0) a:1 = 1\n"
            "       9 ms        ~1 ms  │  │  └─ {1, 21, 1, 2} Operation(1) a:2 = 2\n"
            "       9 ms               │  └─ {1, 21, 2} State(0) seen:1 = 1\n"
            "                          └─ iteration 22\n"
            "      10 ms                  └─ {1, 22, 1} State(0) seen:1 cleared\n");
}

TEST(HistoryTree, ShowsALoopThatHasEndedAndInsertedSteps) {
  const History history = make_history(R"([
    {"event": "LoopStarted", "time": 0, "location": "{1}", "state": 0},
    {"event": "LoopCheckpointed", "time": 5, "loop": "{1}", "iteration": 3, "state": 3, "done": true, "result": "x"},
    {"event": "TimerStarted", "time": 5, "location": "{2}", "timerId": "pause", "durationMs": 10},
    {"event": "StepRemoved", "time": 5, "location": "{3}", "kind": "task", "name": "old"},
    {"event": "OperationCompleted", "time": 6, "location": "{1.1}", "version": 2, "operationName": "check",
     "stepKey": "k"},
    {"event": "TimerCancelRequested", "time": 7, "location": "{4}", "timerId": "pause"},
    {"event": "TimerCancelled", "time": 8, "timerId": "pause"}
  ])",
                                       RunStatus::kRunning);
  EXPECT_EQ(lines_of(history, 10),
            "       0 ms               {1} Loop(0) 3 iterations, ended with \"x\"\n"
            "       6 ms        ~1 ms  {1.1} Operation(0) check:1 [k] v2 done\n"
            "       5 ms         3 ms  {2} Timer(0) pause:1 cancelled\n"
            "       5 ms               {3} Task(0) old:1 removed\n"
            "       7 ms               {4} CancelTimer(0) of {2}\n");
}

TEST(HistoryTree, LabelsAreThoseOfTheCore) {
  const History history = make_history(R"([
    {"event": "TaskScheduled", "location": "{1}", "taskType": "charge", "taskExecutionId": "t-1"},
    {"event": "TaskScheduled", "location": "{2}", "taskType": "charge", "taskExecutionId": "t-2"},
    {"event": "BranchOpened", "location": "{3}"},
    {"event": "TaskScheduled", "location": "{3, 1}", "taskType": "charge", "taskExecutionId": "t-3"},
    {"event": "TaskScheduled", "location": "{1.1}", "taskType": "charge", "taskExecutionId": "t-4"},
    {"event": "StepRemoved", "location": "{4}", "kind": "task", "name": "charge"},
    {"event": "TaskScheduled", "location": "{5}", "taskType": "charge", "taskExecutionId": "t-5"},
    {"event": "TimerStarted", "location": "{6}", "timerId": "pause", "durationMs": 10},
    {"event": "TimerStarted", "location": "{7}", "durationMs": 10}
  ])",
                                       RunStatus::kRunning);
  const std::string text = tree(history);
  for (replay::RecordId id = 0; id < history.log.size(); ++id) {
    EXPECT_THAT(text, HasSubstr(" " + replay::labels_of(history.log, history.log[id]).to_string()));
  }
}

TEST(HistoryTree, ShowsWhyARunIsBlocked) {
  History history = make_history("[]", RunStatus::kBlocked);
  history.row.number = 3;
  history.reason = "PAWL-1002: Task type mismatch\nwhat to do\n";
  const std::string text = tree(history, 1000);
  EXPECT_THAT(text, HasSubstr("order-17: fulfil, blocked, for 1.00 s\n"));
  EXPECT_THAT(text, HasSubstr(", number 3 of this id, started"));
  EXPECT_THAT(text, HasSubstr("\n  PAWL-1002: Task type mismatch\n  what to do\n"));
}

TEST(HistoryTree, NamesCannotMoveTheCursor) {
  History history = make_history(R"([
    {"event": "TaskScheduled", "location": "{1}", "taskType": "a\u001b[2Jb", "taskExecutionId": "t-1"},
    {"event": "SignalReceived", "signalName": "x\ny"}
  ])",
                                 RunStatus::kRunning);
  history.row.id = "order\n17";
  const std::string text = tree(history);
  EXPECT_THAT(text, HasSubstr("order\\n17: fulfil"));
  EXPECT_THAT(text, HasSubstr("a\\x1b[2Jb:1 waiting"));
  EXPECT_THAT(text, HasSubstr("signal x\\ny"));
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
}

TEST(HistoryTree, DeepBranchesStayOnTheScreen) {
  std::string entries = "[";
  std::string location;
  for (int depth = 0; depth < 200; ++depth) {
    location += (depth == 0 ? "" : ", ") + std::string("1");
    entries += (depth == 0 ? "" : ",") +
               std::string(R"({"event": "BranchOpened", "location": "{)") + location + "}\"}";
  }
  const std::string text = lines_of(make_history(entries + "]", RunStatus::kRunning));
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 200);
  const std::string last = text.substr(text.rfind('\n', text.size() - 2) + 1);
  EXPECT_LT(last.find("└─"), 110U);
}

}  // namespace
}  // namespace pawl::view

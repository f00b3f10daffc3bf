#include "view/history.h"

#include <string>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/utf8.h"
#include "base/uuid.h"
#include "format/log_json.h"
#include "replay/labels.h"
#include "view/text.h"

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
  return history_tree(history, {.now_ms = now_ms, .zone = {.is_utc = true}});
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
            "run 018f3b5c-0000-7000-8000-000000000001\n"
            "started 1970-01-01 00:00:00.000 UTC\n"
            "input {\"item\":\"lamp\"}\n"
            "\n"
            "         at         took\n"
            "      12 ms       ~12 ms  {1} Operation(0) reserve:1 = \"shelf 3\"\n"
            "      12 ms               {2} Compensation(0) release:1 not needed\n"
            "      12 ms      ~401 ms  {3} Branch(0)\n"
            "      12 ms       401 ms  ├─ {3, 1} Task(0) charge:1 = {\"receipt\":7}\n"
            "     413 ms               └─ {3, 2} Compensation(0) refund:1 not needed\n"
            "      12 ms      ~208 ms  {4} Branch(1)\n"
            "     220 ms      ~208 ms  └─ {4, 1} Operation(0) label:1 = \"L-1\"\n"
            "     413 ms       1.20 s  {5} Signal(0) approved:1 = true\n"
            "     1.61 s       1.00 s  {6} Timer(0) of 1.00 s fired\n"
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
            "run 018f3b5c-0000-7000-8000-000000000001\n"
            "started 2026-11-16 20:10:38.000 UTC\n"
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
            "run 018f3b5c-0000-7000-8000-000000000001\n"
            "started 1970-01-01 00:00:00.000 UTC\n"
            "input {\"item\":\"lamp\"}\n"
            "\n"
            "         at         took\n"
            "       0 ms      1.00 s…  {1} Task(0) ready:1 waiting, on queue payments\n"
            "       0 ms      1.00 s…  {2} Task(1) delayed:1 waiting, attempt 3 in 500 ms, after "
            "Busy: later\n"
            "       0 ms      1.00 s…  {3} Task(2) runs:1 waiting, attempt 1 is running\n"
            "       0 ms      1.00 s…  {4} Task(3) done:1 waiting\n"
            "       0 ms      1.00 s…  {5} Timer(0) of 1 min 30 s waiting, due in 1 min 29 s\n"
            "       0 ms      1.00 s…  {6} Signal(0) go:1 (at most 1 min 00 s) waiting, 59.00 s "
            "more\n"
            "       0 ms      1.00 s…  {7} Promise(0) paid:1 waiting\n"
            "       0 ms      1.00 s…  {8} Operation(0) fetch:1 waiting, attempt 4 in 1.00 s\n"
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
  history.compensations[1].due_ms = 100;
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
            "       0 ms               {2} Compensation(1) second:1 to be run, attempt 2 in 60 ms, "
            "after busy\n"
            "       0 ms               {3} Compensation(2) third:1 failed: gone (10 attempts)\n"
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
  EXPECT_THAT(text, HasSubstr("3 ms         5 ms  {2} Signal(1) go:2 (at most 5 ms) timed out\n"));
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
            "       0 ms       ~10 ms  {1} Loop(0) 21 iterations finished, 20 of them forgotten, "
            "state 20 after 20\n"
            "                          ├─ iterations 1 to 20: forgotten\n"
            "                          ├─ iteration 21\n"
            "       6 ms        ~3 ms  │  ├─ {1, 21, 1} Branch(0)\n"
            "       8 ms        ~2 ms  │  │  ├─ {1, 21, 1, 1} Operation(0) a:1 = 1\n"
            "       9 ms        ~1 ms  │  │  └─ {1, 21, 1, 2} Operation(1) a:2 = 2\n"
            "       9 ms               │  └─ {1, 21, 2} State(0) seen:1 set to 1\n"
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
  EXPECT_EQ(
      lines_of(history, 10),
      "       0 ms        ~5 ms  {1} Loop(0) 3 iterations finished, ended with \"x\"\n"
      "                          └─ iterations 1 to 3: forgotten\n"
      "       6 ms        ~1 ms  {1.1} Operation(0) check:1 (inserted, version 2, key k) done\n"
      "       5 ms         3 ms  {2} Timer(0) pause:1 of 10 ms cancelled\n"
      "       5 ms               {3} Task(0) old:1 removed from the code\n"
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
  EXPECT_THAT(text, HasSubstr(", number 3 of this id\nstarted"));
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

TEST(HistoryTree, NothingHostileReachesTheTerminal) {
  const std::string hostile = "a\x1b]0;x\x07\u202e\u2066\xff\xc2\x9b\u2028z";
  History history = make_history("[]", RunStatus::kBlocked);
  history.row.id = hostile;
  history.row.kind = hostile;
  history.row.waiting_for = hostile;
  history.reason = hostile + "\n" + hostile;
  history.input = hostile;
  history.tags = {{hostile, hostile}};
  history.parent = history.row;
  replay::Log log;
  replay::Entry entry;
  const auto load = [&](replay::EntryKind kind, std::string_view location) {
    entry.kind = kind;
    ++entry.seq;
    entry.location = location;
    entry.has_payload = true;
    entry.payload = hostile;
    const Result<void> loaded = log.load(entry);
    EXPECT_TRUE(loaded) << loaded.error().message;
  };
  entry.name = hostile;
  entry.source = hostile;
  entry.extra = R"({"id":"e\u001b[2J\u202e","extensions":{"x\u0007":"\u009b"}})";
  entry.step_key = hostile;
  entry.id = hostile;
  load(replay::EntryKind::kTaskScheduled, "{1}");
  entry.step_key = "";
  load(replay::EntryKind::kTaskFailed, "");
  load(replay::EntryKind::kStateSet, "{2}");
  entry.child_kind = hostile;
  load(replay::EntryKind::kChildWorkflowInitiated, "{3}");
  load(replay::EntryKind::kPromiseCreated, "{4}");
  load(replay::EntryKind::kSignalReceived, "");
  load(replay::EntryKind::kCancellationRequested, "");
  load(replay::EntryKind::kWorkflowFailed, "");
  ASSERT_TRUE(log.finish_loading());
  history.log = std::move(log);
  const std::string text = history_tree(history, {.zone = {.is_utc = true}, .with_sources = true});
  for (std::string_view rest = text; !rest.empty();) {
    const std::size_t length = utf8_length(rest);
    ASSERT_GT(length, 0U) << "no UTF-8";
    const std::string character(rest.substr(0, length));
    EXPECT_TRUE(character == "\n" || line_text(character, 9) == character) << text;
    rest.remove_prefix(length);
  }
  EXPECT_THAT(text, HasSubstr("a\\x1b]0;x\\x07\\u202e\\u2066\\xff\\xc2\\x9b\\u2028z"));
  EXPECT_THAT(text, HasSubstr("id e\\x1b[2J\\u202e"));
  EXPECT_THAT(text, HasSubstr("its child: pawl history $'a\\x1b"));
}

TEST(HistoryTree, AttemptsAreCounted) {
  History history = make_history(R"([
    {"event": "OperationCompleted", "time": 9, "location": "{1}", "operationName": "a", "result": 1, "attempts": 3},
    {"event": "TaskScheduled", "time": 9, "location": "{2}", "taskType": "t", "taskExecutionId": "t-1"},
    {"event": "TaskFailed", "time": 19, "taskExecutionId": "t-1", "error": "no", "attempts": 2},
    {"event": "TaskScheduled", "time": 20, "location": "{3}", "taskType": "t", "taskExecutionId": "t-2",
     "queue": "q", "retry": {"attempts": 5}},
    {"event": "TaskScheduled", "time": 20, "location": "{4}", "taskType": "t", "taskExecutionId": "t-3",
     "queue": "q", "retry": {"attempts": 5}}
  ])",
                                 RunStatus::kWaiting);
  store::TaskRow task;
  task.id = "t-2";
  task.state = store::TaskState::kRunning;
  task.attempt = 4;
  task.started_ms = 70;
  task.details = "\"half\"";
  task.last_error = R"({"message":"busy"})";
  task.cancel_requested = true;
  history.tasks.push_back(task);
  task = {};
  task.id = "t-3";
  task.queue = "q";
  task.attempt = 1;
  task.last_error = R"({"message":"busy"})";
  history.tasks.push_back(task);
  const std::string text = tree(history, 100);
  EXPECT_THAT(text, HasSubstr("{1} Operation(0) a:1 = 1 (3 attempts)\n"));
  EXPECT_THAT(text, HasSubstr("10 ms  {2} Task(0) t:1 failed: no (2 attempts)\n"));
  EXPECT_THAT(text, HasSubstr("80 ms…  {3} Task(1) t:2 waiting, attempt 4 of 5 is running, for "
                              "30 ms, asked to stop, last said \"half\", after busy\n"));
  EXPECT_THAT(text, HasSubstr("{4} Task(2) t:3 waiting, on queue q, attempt 2 of 5, after busy\n"));
}

TEST(HistoryTree, AnOperationThatIsRetriedIsShownBeforeItIsRecorded) {
  History history = make_history(R"([
    {"event": "OperationCompleted", "time": 9, "location": "{1}", "operationName": "a", "result": 1},
    {"event": "BranchOpened", "time": 9, "location": "{2}"},
    {"event": "LoopStarted", "time": 9, "location": "{3}", "state": 0},
    {"event": "LoopCheckpointed", "time": 9, "loop": "{3}", "iteration": 20, "state": 20}
  ])",
                                 RunStatus::kWaiting);
  store::Arrival arrival;
  arrival.kind = store::kRetryOperation;
  arrival.due_ms = 1'000;
  arrival.number = 1;
  arrival.has_payload = true;
  arrival.payload = R"({"message":"busy"})";
  for (const std::string_view place : {"{2, 1}", "{3, 21, 1}", "{5}", "{9, 9}"}) {
    arrival.id = uuid5(history.row.uuid, place).to_string();
    history.inbox.push_back(arrival);
  }
  const std::string text = tree(history, 100);
  EXPECT_THAT(text,
              HasSubstr("  └─ {2, 1} Operation(0) waiting, attempt 2 in 900 ms, after busy\n"));
  EXPECT_THAT(text,
              HasSubstr("  └─ {3, 21, 1} Operation(0) waiting, attempt 2 in 900 ms, after busy\n"));
  EXPECT_THAT(text, HasSubstr("  {5} Operation(1) waiting, attempt 2 in 900 ms, after busy\n"));
  EXPECT_THAT(text, HasSubstr("open  an operation is not recorded yet, waiting, attempt 2 in 900 "
                              "ms, after busy\n"));
  history.inbox.erase(history.inbox.begin(), history.inbox.begin() + 2);
  history.inbox.pop_back();
  history.row.waiting_for = "operation a";
  EXPECT_THAT(tree(history, 100), HasSubstr("{5} Operation(1) a:2 waiting, attempt 2"));
}

TEST(HistoryTree, ChildrenHaveTheirStatusAndAHint) {
  History history = make_history(R"([
    {"event": "ChildWorkflowInitiated", "time": 1, "location": "{1}", "childExecutionName": "bill 17",
     "childWorkflowKind": "bill", "childExecutionId": "c-1"},
    {"event": "ChildWorkflowInitiated", "time": 1, "location": "{2}", "childExecutionName": "pack-17",
     "childWorkflowKind": "pack", "childExecutionId": "c-2"},
    {"event": "ChildWorkflowCompleted", "time": 5, "childExecutionId": "c-2", "output": 7}
  ])",
                                 RunStatus::kWaiting);
  store::RunRow child;
  child.id = "bill 17";
  child.status = RunStatus::kWaiting;
  child.waiting_for = "signal paid";
  child.created_ms = 2;
  child.parent.command = "c-1";
  history.children.push_back(child);
  const std::string text = tree(history, 10);
  EXPECT_THAT(text, HasSubstr("9 ms…  {1} ChildWorkflow(0) bill 17:1 (kind bill) waiting for "
                              "signal paid\n"));
  EXPECT_THAT(text, HasSubstr("4 ms  {2} ChildWorkflow(1) pack-17:1 (kind pack) = 7\n"));
  EXPECT_THAT(text, HasSubstr("\na child of it: pawl history 'bill 17'\n"));
}

TEST(HistoryTree, ARunThatRecurredNamesTheNextOne) {
  const History history = make_history(R"([{"event": "WorkflowRecurred", "time": 1, "input": 2}])",
                                       RunStatus::kRecurred, 1);
  const std::string text = history_tree(history, {.look_command = "pawl history --store x"});
  EXPECT_THAT(text, HasSubstr("recurred with 2\n"));
  EXPECT_THAT(text, HasSubstr("\nnext run: pawl history --store x --number 2 order-17\n"));
}

TEST(HistoryTree, SignalsShowTheAttributesOfTheirEvents) {
  const History history = make_history(R"([
    {"event": "SignalReceived", "time": 1, "signalName": "paid", "data": 1, "id": "e-1", "source": "/bank",
     "type": "paid", "subject": "order-17", "eventTime": "2026-11-16T20:10:38Z", "extensions": {"traceparent": "00-1"}},
    {"event": "SignalReceived", "time": 1, "signalName": "paid", "type": "bank.paid"}
  ])",
                                       RunStatus::kRunning);
  const std::string text = tree(history, 12);
  EXPECT_THAT(text, HasSubstr("signal paid = 1 (id e-1, source /bank, subject order-17, time "
                              "2026-11-16T20:10:38Z, traceparent 00-1), not taken by a wait\n"));
  EXPECT_THAT(text, HasSubstr("signal paid (type bank.paid), not taken by a wait\n"));
}

TEST(HistoryTree, SignalsOfForgottenIterationsAreNotLeftOver) {
  const History history = make_history(R"([
    {"event": "SignalReceived", "time": 1, "signalName": "go", "data": 1},
    {"event": "LoopStarted", "time": 2, "location": "{1}", "state": 0},
    {"event": "LoopCheckpointed", "time": 5, "loop": "{1}", "iteration": 20, "state": 20, "taken": [1],
     "set": {"seen": 1}, "cleared": ["old"]},
    {"event": "SignalAwaited", "time": 6, "location": "{1, 21, 1}", "signalName": "go"}
  ])",
                                       RunStatus::kRunning);
  const std::string text = tree(history, 12);
  EXPECT_THAT(text, HasSubstr("signal go = 1, taken by a forgotten iteration\n"));
  EXPECT_THAT(text, HasSubstr("{1, 21, 1} Signal(0) go:1 waiting\n"));
  EXPECT_THAT(text,
              HasSubstr("├─ iterations 1 to 20: forgotten, left state old cleared, seen = 1\n"));
}

TEST(HistoryTree, WhatOutlivesItsIterationIsShownWithTheLoopInOrder) {
  const History history = make_history(R"([
    {"event": "LoopStarted", "time": 0, "location": "{1}", "state": 0},
    {"event": "CompensationRegistered", "time": 1, "location": "{1, 1, 2}", "name": "undo"},
    {"event": "CompensationRegistered", "time": 2, "location": "{1, 2, 1}", "name": "undo"},
    {"event": "LoopCheckpointed", "time": 5, "loop": "{1}", "iteration": 2, "state": 2},
    {"event": "CompensationRegistered", "time": 6, "location": "{1, 3, 1}", "name": "undo"}
  ])",
                                       RunStatus::kRunning);
  EXPECT_THAT(lines_of(history, 6),
              HasSubstr("├─ {1, 1, 2} Compensation(0) undo:1 registered\n"
                        "       2 ms               ├─ {1, 2, 1} Compensation(0) undo:1 registered\n"
                        "                          └─ iteration 3\n"));
}

TEST(HistoryTree, ForgottenIterationsCanBeShown) {
  History history = make_history(R"([
    {"event": "LoopStarted", "time": 0, "location": "{1}", "state": 0},
    {"event": "OperationCompleted", "time": 1, "location": "{1, 2, 1}", "operationName": "a", "result": 1},
    {"event": "LoopCheckpointed", "time": 5, "loop": "{1}", "iteration": 2, "state": 2},
    {"event": "OperationCompleted", "time": 6, "location": "{1, 3, 1}", "operationName": "a", "result": 2}
  ])",
                                 RunStatus::kRunning);
  EXPECT_THAT(tree(history, 6), Not(HasSubstr("{1, 2, 1}")));
  history.has_forgotten = true;
  EXPECT_EQ(lines_of(history, 6),
            "       0 ms        ~6 ms  {1} Loop(0) 2 iterations finished, state 2\n"
            "                          ├─ iteration 1: no longer kept\n"
            "                          ├─ iteration 2 (forgotten)\n"
            "       1 ms        ~1 ms  │  └─ {1, 2, 1} Operation(0) a:1 = 1\n"
            "                          └─ iteration 3\n"
            "       6 ms        ~1 ms     └─ {1, 3, 1} Operation(0) a:1 = 2\n");
}

TEST(HistoryTree, SaysMoreOnRequest) {
  const History history = make_history(R"([
    {"event": "VersionChecked", "time": 0, "location": "{1}", "version": 3},
    {"event": "OperationCompleted", "time": 1, "location": "{2}", "operationName": "a", "source": "orders.cc:42",
     "result": "01234567890123456789012345678901234567890123456789012345678901234567890123456789"}
  ])",
                                       RunStatus::kRunning);
  EXPECT_THAT(tree(history), HasSubstr("{1} VersionCheck(0) says version 3\n"));
  EXPECT_THAT(tree(history), Not(HasSubstr("orders.cc")));
  EXPECT_THAT(tree(history), HasSubstr("012345678…\n"));
  EXPECT_THAT(history_tree(history, {.payload_chars_max = kNoLimit, .with_sources = true}),
              HasSubstr("23456789\"  orders.cc:42\n"));
  const std::string narrow =
      history_tree(history, {.payload_chars_max = kNoLimit, .columns_max = 80});
  for (std::size_t begin = 0; begin < narrow.size();) {
    const std::size_t end = narrow.find('\n', begin);
    EXPECT_LE(columns_of(std::string_view(narrow).substr(begin, end - begin)), 80U) << narrow;
    begin = end + 1;
  }
}

TEST(HistoryTree, ColorsSayWhatIsOpenAndWhatFailed) {
  const History history = make_history(R"([
    {"event": "OperationFailed", "time": 1, "location": "{1}", "operationName": "a", "error": "no"},
    {"event": "SignalAwaited", "time": 2, "location": "{2}", "signalName": "go"}
  ])",
                                       RunStatus::kWaiting);
  const std::string text = history_tree(history, {.in_color = true});
  EXPECT_THAT(text, HasSubstr("\x1b[31m failed: \x1b[0m\x1b[31mno\x1b[0m"));
  EXPECT_THAT(text, HasSubstr("\x1b[33mwaiting\x1b[0m\n"));
  EXPECT_THAT(text, HasSubstr("\x1b[1morder-17\x1b[0m: fulfil, \x1b[33mwaiting\x1b[0m"));
}

// 2 branches of 10 operations each, a signal for each of 5.
History history_of_many() {
  std::string entries = "[";
  for (int branch = 1; branch <= 2; ++branch) {
    const std::string at = std::to_string(branch);
    entries += R"({"event": "BranchOpened", "location": "{)" + at + R"(}"},)";
    for (int i = 1; i <= 10; ++i) {
      entries += R"({"event": "OperationCompleted", "operationName": "a", "location": "{)" + at +
                 ", " + std::to_string(i) + R"(}"},)";
    }
  }
  for (int i = 0; i < 5; ++i) {
    entries += R"({"event": "SignalReceived", "signalName": "go"},)";
  }
  entries.back() = ']';
  return make_history(entries, RunStatus::kRunning);
}

TEST(HistoryTree, TheLastLinesAreShownBelowWhatTheyBelongTo) {
  const History history = history_of_many();
  const std::string text = history_tree(history, {.lines_max = 2, .zone = {.is_utc = true}});
  EXPECT_EQ(text.substr(text.find("took\n") + 5),
            "      12 ms       ~10 ms  {2} Branch(1)\n"
            "                          … 19 lines are left out\n"
            "      21 ms        ~1 ms  ├─ {2, 9} Operation(8) a:9 done\n"
            "      22 ms        ~1 ms  └─ {2, 10} Operation(9) a:10 done\n"
            "\n"
            "arrived:\n"
            "             … 3 lines are left out\n"
            "      26 ms  signal go, not taken by a wait\n"
            "      27 ms  signal go, not taken by a wait\n");
  EXPECT_EQ(history_tree(history, {.lines_max = 22}), history_tree(history, {}));
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

#include "format/log_json.h"

#include <limits>
#include <string>
#include <vector>

#include <boost/json.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/hash.h"
#include "format/json_reader.h"

namespace pawl::format {
namespace {

namespace json = boost::json;
using testing::HasSubstr;

LogDefaults order_defaults() {
  LogDefaults defaults;
  defaults.run_id = *Uuid::parse("a1b2c3d4-e5f6-7890-abcd-ef1234567890");
  defaults.started_at_ms = 1000;
  return defaults;
}

json::value parsed(std::string_view text) {
  Result<json::value> value = parse_json(text);
  EXPECT_TRUE(value) << value.error().message;
  return value ? *std::move(value) : json::value();
}

Result<replay::Log> imported(std::string_view text) { return import_log(text, order_defaults()); }

// What comes out when this goes in, or the error.
std::string through(std::string_view text) {
  const Result<replay::Log> log = imported(text);
  return log ? json::serialize(export_log(*log)) : log.error().message;
}

std::string refusal(std::string_view text) {
  const Result<replay::Log> log = imported(text);
  return log ? "accepted" : log.error().message;
}

// --- Round trips -------------------------------------------------------------------------------

// Every event with every field that it has, and one that nobody knows.
constexpr std::string_view kEveryEvent = R"([
  {"seq": 1, "event": "TaskScheduled", "time": 5, "location": "{1}", "version": 2, "stepKey": "k",
   "source": "order.cc:17", "inputDigest": "00000000000000ff", "taskType": "charge",
   "taskExecutionId": "t-1", "input": {"id": 17}, "queue": "fast"},
  {"seq": 2, "event": "TaskScheduled", "time": 6, "location": "{2}", "version": 1, "taskType": "b",
   "taskExecutionId": "t-2"},
  {"seq": 3, "event": "TaskScheduled", "time": 6, "location": "{3}", "version": 1, "taskType": "b",
   "taskExecutionId": "t-3"},
  {"seq": 4, "event": "OperationStarted", "time": 7, "location": "{4}", "version": 1,
   "inputDigest": "fedcba9876543210", "operationName": "hash", "operationId": "o-1",
   "input": [1, 2.5, null, true, "ü"], "more": 1},
  {"seq": 5, "event": "OperationCompleted", "time": 7, "location": "{5}", "version": 1,
   "operationName": "hash", "operationId": "o-2", "result": "r", "more": 1},
  {"seq": 6, "event": "OperationFailed", "time": 7, "location": "{6}", "version": 1,
   "operationName": "hash", "operationId": "o-3", "error": {"message": "m", "type": "t"}},
  {"seq": 7, "event": "TimerStarted", "time": 8, "location": "{7}", "version": 1,
   "timerId": "pause", "durationMs": 5000, "more": 1},
  {"seq": 8, "event": "TimerStarted", "time": 8, "location": "{8}", "version": 1,
   "timerId": "long", "durationMs": 0},
  {"seq": 9, "event": "PromiseCreated", "time": 8, "location": "{9}", "version": 1,
   "promiseId": "p-1", "timeoutMs": 60000, "more": 1},
  {"seq": 10, "event": "PromiseCreated", "time": 8, "location": "{10}", "version": 1,
   "promiseId": "p-2"},
  {"seq": 11, "event": "PromiseCreated", "time": 8, "location": "{11}", "version": 1,
   "promiseId": "p-3"},
  {"seq": 12, "event": "ChildWorkflowInitiated", "time": 8, "location": "{12}", "version": 1,
   "inputDigest": "0000000000000001", "childExecutionName": "ship",
   "childWorkflowKind": "shipping", "childExecutionId": "c-1", "input": {}, "more": 1},
  {"seq": 13, "event": "ChildWorkflowInitiated", "time": 8, "location": "{13}", "version": 1,
   "childExecutionName": "ship", "childWorkflowKind": "shipping", "childExecutionId": "c-2"},
  {"seq": 14, "event": "ChildWorkflowInitiated", "time": 8, "location": "{14}", "version": 1,
   "childExecutionName": "bill", "childWorkflowKind": "billing", "childExecutionId": "c-3"},
  {"seq": 15, "event": "StateSet", "time": 8, "location": "{15}", "version": 1, "key": "total",
   "value": 18446744073709551615, "more": 1},
  {"seq": 16, "event": "StateCleared", "time": 8, "location": "{16}", "version": 1, "key": "total",
   "more": 1},
  {"seq": 17, "event": "SignalReceived", "time": 8, "signalName": "go", "data": -1, "id": "e-1",
   "source": "/shop", "subject": "s", "type": "go"},
  {"seq": 18, "event": "SignalAwaited", "time": 8, "location": "{17}", "version": 1,
   "signalName": "stop", "timeoutMs": 7, "more": 1},
  {"seq": 19, "event": "BranchOpened", "time": 8, "location": "{18}", "version": 3, "more": 1},
  {"seq": 20, "event": "LoopStarted", "time": 8, "location": "{19}", "version": 1, "state": 0,
   "more": 1},
  {"seq": 21, "event": "StepRemoved", "time": 8, "location": "{20}", "version": 1,
   "kind": "child", "name": "old", "more": 1},
  {"seq": 22, "event": "StepRemoved", "time": 8, "location": "{21}", "version": 1,
   "kind": "branch"},
  {"seq": 23, "event": "VersionChecked", "time": 8, "location": "{22}", "version": 9, "more": 1},
  {"seq": 24, "event": "CompensationRegistered", "time": 8, "location": "{23}", "version": 1,
   "inputDigest": "0000000000000002", "name": "refund", "input": 1, "more": 1},
  {"seq": 25, "event": "TaskCancelRequested", "time": 8, "location": "{24}", "version": 1,
   "taskExecutionId": "t-3", "more": 1},
  {"seq": 26, "event": "TimerCancelRequested", "time": 8, "location": "{25}", "version": 1,
   "timerId": "long", "more": 1},
  {"seq": 27, "event": "TaskScheduled", "time": 8, "location": "{18, 0.1}", "version": 3,
   "taskType": "b", "taskExecutionId": "t-4"},
  {"seq": 28, "event": "TaskCompleted", "time": 9, "taskExecutionId": "t-1", "taskType": "charge", "result": 7,
   "more": {"deep": [1]}},
  {"seq": 29, "event": "TaskFailed", "time": 9, "taskExecutionId": "t-2", "taskType": "b",
   "error": "e", "more": 1},
  {"seq": 30, "event": "TaskCancelled", "time": 9, "taskExecutionId": "t-3", "taskType": "b",
   "error": "e", "more": 1},
  {"seq": 31, "event": "OperationCompleted", "time": 9, "operationName": "hash",
   "operationId": "o-1", "result": null, "more": 1},
  {"seq": 32, "event": "TimerFired", "time": 9, "timerId": "pause", "more": 1},
  {"seq": 33, "event": "TimerCancelled", "time": 9, "timerId": "long", "more": 1},
  {"seq": 34, "event": "PromiseResolved", "time": 9, "promiseId": "p-1", "value": 1, "more": 1},
  {"seq": 35, "event": "PromiseRejected", "time": 9, "promiseId": "p-2", "error": 1, "more": 1},
  {"seq": 36, "event": "PromiseTimedOut", "time": 9, "promiseId": "p-3", "more": 1},
  {"seq": 37, "event": "ChildWorkflowCompleted", "time": 9, "childExecutionName": "ship",
   "childExecutionId": "c-1", "output": 1, "more": 1},
  {"seq": 38, "event": "ChildWorkflowFailed", "time": 9, "childExecutionName": "ship",
   "childExecutionId": "c-2", "error": 1, "more": 1},
  {"seq": 39, "event": "ChildWorkflowCancelled", "time": 9, "childExecutionName": "bill",
   "childExecutionId": "c-3", "error": 1, "more": 1},
  {"seq": 40, "event": "SignalTimedOut", "time": 9, "location": "{17}", "signalName": "stop",
   "more": 1},
  {"seq": 41, "event": "CancellationRequested", "time": 9, "reason": "r", "more": 1},
  {"seq": 50, "event": "LoopCheckpointed", "time": 10, "loop": "{19}", "iteration": 20,
   "state": {"n": 20}, "set": {"a": 1, "b": "x"}, "cleared": ["c", "d"], "taken": [17],
   "done": true, "result": "broken", "more": 1},
  END
])";

std::string every_event(std::string_view end) {
  std::string text(kEveryEvent);
  text.replace(text.find("END"), 3, end);
  return text;
}

TEST(LogJson, EveryEventComesBackWithEveryField) {
  for (const std::string_view end :
       {R"({"seq": 51, "event": "WorkflowCompleted", "time": 11, "result": 1, "more": 1})",
        R"({"seq": 51, "event": "WorkflowFailed", "time": 11, "error": "e", "more": 1})",
        R"({"seq": 51, "event": "WorkflowCancelled", "time": 11, "reason": "r", "more": 1})",
        R"({"seq": 51, "event": "WorkflowRecurred", "time": 11, "input": [], "more": 1})"}) {
    const std::string text = every_event(end);
    Result<replay::Log> log = imported(text);
    ASSERT_TRUE(log) << log.error().message;
    ASSERT_TRUE(log->finish_loading());
    const json::value given = parsed(text);
    const json::array exported = export_log(*log);
    ASSERT_EQ(exported.size(), given.get_array().size());
    for (std::size_t i = 0; i < exported.size(); ++i) {
      EXPECT_TRUE(json_equal(given.get_array()[i], exported[i]))
          << "given    " << json::serialize(given.get_array()[i]) << "\nexported "
          << json::serialize(exported[i]);
    }
    // And once more: what was exported is imported as the same.
    const Result<replay::Log> again = import_log(exported, order_defaults(), "log");
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_TRUE(json_equal(export_log(*again), exported));
  }
}

TEST(LogJson, ExportsEveryFieldOfAnEmptyEntry) {
  const struct {
    std::string_view given;
    std::string_view exported;
  } cases[] = {
      {R"([{"event": "TaskScheduled"}])",
       R"([{"seq":1,"event":"TaskScheduled","time":1001,"location":"{1}","version":1,)"
       R"("taskType":"","taskExecutionId":"389f7678-1992-59d6-b9f7-d1fdcee3011d"}])"},
      {R"([{"event": "TimerStarted"}])",
       R"([{"seq":1,"event":"TimerStarted","time":1001,"location":"{1}","version":1,)"
       R"("timerId":"389f7678-1992-59d6-b9f7-d1fdcee3011d","durationMs":0}])"},
      {R"([{"event": "BranchOpened"}])",
       R"([{"seq":1,"event":"BranchOpened","time":1001,"location":"{1}","version":1}])"},
      {R"([{"event": "SignalReceived"}])",
       R"([{"seq":1,"event":"SignalReceived","time":1001,"signalName":""}])"},
      {R"([{"event": "WorkflowCompleted"}])",
       R"([{"seq":1,"event":"WorkflowCompleted","time":1001}])"},
  };
  for (const auto& one : cases) {
    EXPECT_EQ(through(one.given), one.exported);
  }
  EXPECT_EQ(through("[]"), "[]");
}

// --- Defaults ----------------------------------------------------------------------------------

TEST(LogJson, SeqTimeAndPlaceFollowTheEntryBefore) {
  const Result<replay::Log> log = imported(R"([
    {"event": "TaskScheduled", "taskType": "a"},
    {"event": "BranchOpened", "location": "{4}"},
    {"event": "TaskScheduled", "taskType": "b", "location": "{4,1}"},
    {"event": "TimerStarted", "time": 3},
    {"event": "TaskCompleted"}
  ])");
  ASSERT_TRUE(log) << log.error().message;
  const json::array entries = export_log(*log);
  EXPECT_EQ(entries[0].at("location"), "{1}");
  EXPECT_EQ(entries[2].at("location"), "{4, 1}");
  EXPECT_EQ(entries[2].at("taskExecutionId"),
            json::value(uuid5(order_defaults().run_id, "{4, 1}").to_string()));
  EXPECT_EQ(entries[3].at("location"), "{5}");
  EXPECT_EQ(entries[3].at("seq"), 4);
  EXPECT_EQ(entries[3].at("time"), 3);
  EXPECT_EQ(entries[4].at("time"), 1005);
  EXPECT_EQ(entries[4].at("taskExecutionId"), entries[0].at("taskExecutionId"));
}

TEST(LogJson, WithoutDefaultsTheRunIsNil) {
  const Result<replay::Log> log = import_log(R"([{"event": "TaskScheduled"}])", LogDefaults());
  ASSERT_TRUE(log);
  const json::object entry = export_entry(*log, 0);
  EXPECT_EQ(entry.at("taskExecutionId"), "fec8bbaf-7d30-595f-9ba3-0e15c7f6dcb6");
  EXPECT_EQ(entry.at("time"), 1);
}

TEST(LogJson, TheDigestOfAnInputIsMade) {
  const Result<replay::Log> log =
      imported(R"([{"event": "TaskScheduled", "input": {"b": 1}}, {"event": "TaskScheduled"}])");
  ASSERT_TRUE(log);
  EXPECT_EQ((*log)[0].input_digest, stable_digest(R"({"b":1})"));
  EXPECT_EQ((*log)[1].input_digest, 0U);
}

TEST(LogJson, AnOperationOutcomeIsAnArrivalOnlyForAStartedOne) {
  const Result<replay::Log> log = imported(R"([
    {"event": "OperationStarted", "operationName": "a", "operationId": "o-1"},
    {"event": "OperationCompleted", "operationName": "b", "operationId": "o-2", "result": 1},
    {"event": "OperationFailed", "operationName": "a", "operationId": "o-1", "error": "e"},
    {"event": "OperationCompleted", "operationName": "c", "operationId": "o-3", "result": 1}
  ])");
  ASSERT_TRUE(log) << log.error().message;
  const json::array entries = export_log(*log);
  EXPECT_EQ(entries[1].at("location"), "{2}");
  EXPECT_FALSE(entries[2].get_object().contains("location"));
  EXPECT_EQ(entries[3].at("location"), "{3}");
}

// --- Unknown fields ----------------------------------------------------------------------------

TEST(LogJson, FieldsThatItDoesNotKnowAreKept) {
  EXPECT_EQ(through(R"([{"event": "TaskScheduled", "location": "{1}", "taskExecutionId": "t",
                         "priority": 3, "nested": {"a": [1, {"b": null}]}, "name": "not known here",
                         "durationMs": 5}])"),
            R"([{"seq":1,"event":"TaskScheduled","time":1001,"location":"{1}","version":1,)"
            R"("taskType":"","taskExecutionId":"t","priority":3,)"
            R"("nested":{"a":[1,{"b":null}]},"name":"not known here","durationMs":5}])");
}

TEST(LogJson, AFieldOfAnotherEventIsNotKnownHere) {
  EXPECT_EQ(through(R"([{"event": "SignalReceived", "signalName": "go", "location": "{7}",
                         "source": "/shop", "stepKey": 1}])"),
            R"([{"seq":1,"event":"SignalReceived","time":1001,"signalName":"go",)"
            R"("location":"{7}","source":"/shop","stepKey":1}])");
}

// --- Errors ------------------------------------------------------------------------------------

TEST(LogJson, WrongTypesAreNamedByTheirPath) {
  const struct {
    std::string_view entry;
    std::string_view message;
  } cases[] = {
      {R"(7)", "log[1]: expected an object, got 7"},
      {R"("x")", "log[1]: expected an object, got the text \"x\""},
      {R"({})", "log[1].event: missing"},
      {R"({"event": 3})", "log[1].event: expected a text, got 3"},
      {R"({"event": "TaskFinished"})", "log[1].event: there is no event 'TaskFinished'"},
      {R"({"event": "TimerStarted", "seq": "2"})",
       "log[1].seq: expected a whole number from 1 to 2305843009213693951, got the text \"2\""},
      {R"({"event": "TimerStarted", "seq": 0})", "log[1].seq: expected a whole number from 1"},
      {R"({"event": "TimerStarted", "seq": -1})", "log[1].seq: expected a whole number from 1"},
      {R"({"event": "TimerStarted", "seq": 2.5})", "log[1].seq: expected a whole number from 1"},
      {R"({"event": "TimerStarted", "seq": 18446744073709551615})",
       "log[1].seq: expected a whole number from 1"},
      {R"({"event": "TimerStarted", "time": null})", "log[1].time: expected a whole number"},
      {R"({"event": "TimerStarted", "version": 0})",
       "log[1].version: expected a whole number from 1 to 4294967295, got 0"},
      {R"({"event": "TimerStarted", "version": 4294967296})",
       "log[1].version: expected a whole number from 1 to 4294967295, got 4294967296"},
      {R"({"event": "TimerStarted", "location": 1})", "log[1].location: expected a text, got 1"},
      {R"({"event": "TimerStarted", "location": "{1"})",
       "log[1].location: malformed location '{1'"},
      {R"({"event": "BranchOpened", "location": "{x}"})",
       "log[1]: entry 2 (BranchOpened): malformed location '{x}'"},
      {R"({"event": "TimerStarted", "stepKey": []})",
       "log[1].stepKey: expected a text, got a list"},
      {R"({"event": "TimerStarted", "source": {}})",
       "log[1].source: expected a text, got an object"},
      {R"({"event": "TaskScheduled", "inputDigest": 5})", "log[1].inputDigest: expected a text"},
      {R"({"event": "TaskScheduled", "inputDigest": "ff"})",
       "log[1].inputDigest: expected 16 hexadecimal digits, got the text \"ff\""},
      {R"({"event": "TaskScheduled", "inputDigest": "00000000000000xf"})",
       "log[1].inputDigest: expected 16 hexadecimal digits"},
      {R"({"event": "TaskScheduled", "taskType": 1})", "log[1].taskType: expected a text, got 1"},
      {R"({"event": "TaskScheduled", "taskExecutionId": false})",
       "log[1].taskExecutionId: expected a text, got false"},
      {R"({"event": "TimerStarted", "durationMs": -5})",
       "log[1].durationMs: expected a whole number from 0"},
      {R"({"event": "TimerStarted", "durationMs": "5"})",
       "log[1].durationMs: expected a whole number from 0"},
      {R"({"event": "PromiseCreated", "timeoutMs": []})",
       "log[1].timeoutMs: expected a whole number from 0"},
      {R"({"event": "ChildWorkflowInitiated", "childWorkflowKind": 1})",
       "log[1].childWorkflowKind: expected a text, got 1"},
      {R"({"event": "StepRemoved", "kind": 1})", "log[1].kind: expected a text, got 1"},
      {R"({"event": "StepRemoved", "kind": "chore"})",
       "log[1].kind: there is no kind of step 'chore'"},
      {R"({"event": "SignalReceived", "signalName": 1})",
       "log[1].signalName: expected a text, got 1"},
      {R"({"event": "LoopCheckpointed", "loop": 1})", "log[1].loop: expected a text, got 1"},
      {R"({"event": "LoopCheckpointed", "iteration": -1})",
       "log[1].iteration: expected a whole number from 0"},
      {R"({"event": "LoopCheckpointed", "set": []})", "log[1].set: expected an object, got a list"},
      {R"({"event": "LoopCheckpointed", "cleared": {}})",
       "log[1].cleared: expected a list, got an object"},
      {R"({"event": "LoopCheckpointed", "cleared": ["a", 1]})",
       "log[1].cleared[1]: expected a text, got 1"},
      {R"({"event": "LoopCheckpointed", "taken": 1})", "log[1].taken: expected a list, got 1"},
      {R"({"event": "LoopCheckpointed", "taken": [0]})",
       "log[1].taken[0]: expected a whole number from 1"},
      {R"({"event": "LoopCheckpointed", "done": 1})", "log[1].done: expected true or false, got 1"},
  };
  for (const auto& bad : cases) {
    const std::string text = R"([{"event": "LoopStarted"}, )" + std::string(bad.entry) + "]";
    const Result<replay::Log> log = imported(text);
    ASSERT_FALSE(log) << bad.entry;
    EXPECT_EQ(log.error().code, ErrorCode::kMalformedInput) << bad.entry;
    EXPECT_THAT(log.error().message, testing::StartsWith(std::string(bad.message)));
  }
}

TEST(LogJson, ALogThatIsNoListIsRefused) {
  EXPECT_EQ(refusal("{}"), "log: expected a list, got an object");
  EXPECT_EQ(refusal("null"), "log: expected a list, got null");
}

TEST(LogJson, ACorruptLogIsNamedByPathAndEntry) {
  EXPECT_EQ(refusal(R"([{"event": "TaskScheduled"}, {"event": "TaskScheduled", "seq": 1}])"),
            "log[1]: entry 1 (TaskScheduled): seq 1 is there twice");
  EXPECT_EQ(refusal(R"([{"event": "TaskScheduled"},
                        {"event": "TaskCompleted", "taskExecutionId": "x"},
                        {"event": "TaskScheduled"}])"),
            "log[1]: entry 2 (TaskCompleted): no task with id 'x' was opened before it");
  EXPECT_THAT(refusal(R"([{"event": "TimerFired"}])"), HasSubstr("log[0]"));
  EXPECT_THAT(refusal(R"([{"event": "LoopCheckpointed"}])"), HasSubstr("log[0].loop"));
  const Result<replay::Log> log = imported(R"([{"event": "TaskScheduled", "location": "{1, 1}"}])");
  ASSERT_FALSE(log);
  EXPECT_EQ(log.error().code, ErrorCode::kCorruptLog);
}

// --- Numbers, depth, text ----------------------------------------------------------------------

TEST(LogJson, BigNumbersInPayloadsKeepTheirValue) {
  for (const std::string_view number : {"0", "-1", "9223372036854775807", "-9223372036854775808",
                                        "18446744073709551615", "0.1", "1e300", "-2.5e-10"}) {
    const std::string text =
        R"([{"event": "StateSet", "key": "k", "value": )" + std::string(number) + "}]";
    const Result<replay::Log> log = imported(text);
    ASSERT_TRUE(log);
    EXPECT_TRUE(json_equal(export_entry(*log, 0).at("value"), parsed(number))) << number;
  }
}

TEST(LogJson, LargeTimesAndNumbersKeepTheirValue) {
  const std::string text =
      R"([{"event": "TimerStarted", "time": -2305843009213693951,
           "durationMs": 2305843009213693951}])";
  const Result<replay::Log> log = imported(text);
  ASSERT_TRUE(log) << log.error().message;
  EXPECT_EQ((*log)[0].number, 2305843009213693951);
  EXPECT_EQ((*log)[0].time_ms, -2305843009213693951);
}

TEST(ParseJson, NestingIsLimited) {
  const auto nested = [](std::size_t depth) {
    return std::string(depth, '[') + std::string(depth, ']');
  };
  EXPECT_TRUE(parse_json(nested(500)));
  const Result<json::value> deep = parse_json(nested(100'000));
  ASSERT_FALSE(deep);
  EXPECT_EQ(deep.error().code, ErrorCode::kMalformedInput);
  std::string objects;
  for (int i = 0; i < 100'000; ++i) {
    objects += R"({"a":)";
  }
  EXPECT_FALSE(parse_json(objects));
}

TEST(ParseJson, MalformedTextIsNamedByLineAndColumn) {
  const struct {
    std::string_view text;
    std::string_view where;
  } cases[] = {
      {"", "line 1, column 1"},           {"   ", "line 1, column "},
      {"[1, 2", "line 1, column 6"},      {"{\n  \"a\": 1,\n  b\n}", "line 3, column 3"},
      {"[1,\n2,\n]", "line 3, column 1"}, {"{} x", "line 1, column 4"},
      {"[]\n\n  []", "line 3, column 3"}, {"nul", "line 1, column "},
      {"[01]", "line 1, column "},        {"['a']", "line 1, column 2"},
      {"\"\x01\"", "line 1, column 2"},   {"\"\xff\"", "line 1, column 2"},
      {"[1,,2]", "line 1, column 4"},     {"{\"a\" 1}", "line 1, column 6"},
  };
  for (const auto& bad : cases) {
    const Result<json::value> value = parse_json(bad.text);
    ASSERT_FALSE(value) << bad.text;
    EXPECT_EQ(value.error().code, ErrorCode::kMalformedInput);
    EXPECT_THAT(value.error().message,
                testing::StartsWith("malformed JSON at " + std::string(bad.where)))
        << bad.text;
  }
}

TEST(ParseJson, BlanksMayStandAround) { EXPECT_TRUE(parse_json(" \r\n\t[1] \n")); }

TEST(DescribeJson, NamesTypesAndShortValues) {
  EXPECT_EQ(describe_json(parsed("null")), "null");
  EXPECT_EQ(describe_json(parsed("true")), "true");
  EXPECT_EQ(describe_json(parsed("12")), "12");
  EXPECT_EQ(describe_json(parsed("\"a\"")), "the text \"a\"");
  EXPECT_EQ(describe_json(parsed("[1]")), "a list");
  EXPECT_EQ(describe_json(parsed("{}")), "an object");
  EXPECT_LT(describe_json(json::value(std::string(10'000, 'x'))).size(), 100U);
}

// --- Equality ----------------------------------------------------------------------------------

TEST(JsonEqual, NumbersAreComparedByValue) {
  const json::value small_int(std::int64_t{5});
  const json::value small_uint(std::uint64_t{5});
  const json::value small_double(5.0);
  EXPECT_TRUE(json_equal(small_int, small_uint));
  EXPECT_TRUE(json_equal(small_uint, small_int));
  EXPECT_TRUE(json_equal(small_int, small_double));
  EXPECT_TRUE(json_equal(small_double, small_uint));
  EXPECT_FALSE(json_equal(small_int, json::value(5.5)));
  EXPECT_FALSE(json_equal(small_int, json::value(std::uint64_t{6})));
  EXPECT_FALSE(json_equal(json::value(std::int64_t{-1}),
                          json::value(std::numeric_limits<std::uint64_t>::max())));
  EXPECT_TRUE(json_equal(json::value(0.0), json::value(-0.0)));
}

TEST(JsonEqual, WholeNumbersBeyondTheReachOfADoubleAreNotRounded) {
  EXPECT_FALSE(json_equal(json::value(std::int64_t{9007199254740993}),
                          json::value(std::int64_t{9007199254740992})));
  EXPECT_TRUE(
      json_equal(json::value(std::int64_t{9007199254740992}), json::value(9007199254740992.0)));
  EXPECT_FALSE(
      json_equal(json::value(std::int64_t{9007199254740993}), json::value(9007199254740992.0)));
  EXPECT_FALSE(json_equal(json::value(std::numeric_limits<std::uint64_t>::max()),
                          json::value(18446744073709551616.0)));
}

TEST(JsonEqual, TypesAreNotMixed) {
  for (const char* left : {"null", "false", "0", "\"\"", "[]", "{}", "\"0\"", "true", "[0]"}) {
    for (const char* right : {"null", "false", "0", "\"\"", "[]", "{}", "\"0\"", "true", "[0]"}) {
      EXPECT_EQ(json_equal(parsed(left), parsed(right)), std::string(left) == right)
          << left << " and " << right;
    }
  }
}

TEST(JsonEqual, LooksInside) {
  EXPECT_TRUE(json_equal(parsed(R"({"a": [1, {"b": 2}], "c": null})"),
                         parsed(R"({"c": null, "a": [1.0, {"b": 2e0}]})")));
  EXPECT_FALSE(json_equal(parsed(R"({"a": [1, {"b": 2}]})"), parsed(R"({"a": [1, {"b": 3}]})")));
  EXPECT_FALSE(json_equal(parsed(R"({"a": 1})"), parsed(R"({"b": 1})")));
  EXPECT_FALSE(json_equal(parsed(R"({"a": 1})"), parsed(R"({"a": 1, "b": 1})")));
  EXPECT_FALSE(json_equal(parsed("[1, 2]"), parsed("[2, 1]")));
  EXPECT_FALSE(json_equal(parsed("[1, 2]"), parsed("[1]")));
}

// --- Noise -------------------------------------------------------------------------------------

// A log with one thing changed is imported or refused with a message; what is imported survives
// another round.
RC_GTEST_PROP(LogJsonProperty, ChangedLogsAreImportedOrRefused, ()) {
  json::array entries = parse_json(every_event(R"({"event": "WorkflowCompleted"})"))->get_array();
  const std::vector<json::value> values = {nullptr,
                                           true,
                                           0,
                                           -1,
                                           1,
                                           2.5,
                                           "",
                                           "x",
                                           "{1}",
                                           "{19, 1, 1}",
                                           "t-1",
                                           json::array{1},
                                           json::object{{"a", 1}}};
  const int changes = *rc::gen::inRange(1, 4);
  for (int i = 0; i < changes; ++i) {
    const auto at = *rc::gen::inRange<std::size_t>(0, entries.size());
    json::object& entry = entries[at].get_object();
    const auto field = *rc::gen::inRange<std::size_t>(0, entry.size());
    const std::string key((entry.begin() + field)->key());
    const int what = *rc::gen::inRange(0, 4);
    if (what == 0) {
      entry.erase(key);
    } else if (what == 1 && entries.size() > 1) {
      entries.erase(entries.begin() + at);
    } else if (what == 2) {
      entries.insert(entries.begin() + at, json::value(entry));
    } else {
      entry[key] = *rc::gen::elementOf(values);
    }
    if (entries.empty() || entries[at % entries.size()].get_object().empty()) {
      break;
    }
  }
  const Result<replay::Log> log = import_log(entries, order_defaults(), "log");
  if (!log) {
    RC_ASSERT(log.error().message.starts_with("log["));
    RC_ASSERT(log.error().message.find('\n') == std::string::npos);
    return;
  }
  const json::array exported = export_log(*log);
  const Result<replay::Log> again = import_log(exported, order_defaults(), "log");
  RC_ASSERT(again.has_value());
  RC_ASSERT(json_equal(export_log(*again), exported));
}

}  // namespace
}  // namespace pawl::format

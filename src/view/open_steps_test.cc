#include "view/open_steps.h"

#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "format/log_json.h"

namespace pawl::view {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::string> open_in(std::string_view entries) {
  format::LogDefaults defaults;
  defaults.run_id = *Uuid::parse("018f3b5c-0000-7000-8000-000000000001");
  Result<replay::Log> log = format::import_log(entries, defaults);
  EXPECT_TRUE(log) << log.error().message;
  const Result<void> finished = log->finish_loading();
  EXPECT_TRUE(finished) << finished.error().message;
  std::vector<std::string> texts;
  for (const OpenStep& step : open_steps(*log)) {
    texts.push_back(std::string(replay::step_name(step.kind)) + " " + step.name + " " +
                    step.location + " " + std::to_string(step.time_ms));
  }
  return texts;
}

TEST(OpenSteps, AreThoseWithoutAnOutcome) {
  EXPECT_THAT(open_in("[]"), IsEmpty());
  EXPECT_THAT(open_in(R"([
    {"event": "OperationCompleted", "time": 1, "location": "{1}", "operationName": "reserve", "result": 1},
    {"event": "TaskScheduled", "time": 2, "location": "{2}", "taskType": "charge", "taskExecutionId": "t-1"},
    {"event": "TaskScheduled", "time": 3, "location": "{3}", "taskType": "print", "taskExecutionId": "t-2"},
    {"event": "TaskCompleted", "time": 4, "taskExecutionId": "t-1", "result": 1},
    {"event": "PromiseCreated", "time": 5, "location": "{4}", "promiseId": "receipt"},
    {"event": "StateSet", "time": 6, "location": "{5}", "key": "step", "value": 1}
  ])"),
              ElementsAre("task print {3} 3", "promise receipt {4} 5"));
}

TEST(OpenSteps, SignalsGoToTheOldestWait) {
  EXPECT_THAT(open_in(R"([
    {"event": "SignalAwaited", "time": 1, "location": "{1}", "signalName": "go"},
    {"event": "SignalAwaited", "time": 2, "location": "{2}", "signalName": "go"},
    {"event": "SignalReceived", "time": 3, "signalName": "go"},
    {"event": "SignalReceived", "time": 4, "signalName": "stop"},
    {"event": "SignalAwaited", "time": 5, "location": "{3}", "signalName": "stop"}
  ])"),
              ElementsAre("signal go {2} 2"));
}

}  // namespace
}  // namespace pawl::view

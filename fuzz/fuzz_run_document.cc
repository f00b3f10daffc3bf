// Any bytes as the file of a run: what is read can be written and read again as the same run, and
// forked at each of its commands.
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <boost/json.hpp>

#include "format/json_reader.h"
#include "fuzz/json_mutator.h"
#include "fuzz/require.h"
#include "portable/fork.h"
#include "portable/run_document.h"

namespace {

using namespace pawl;  // NOLINT(google-build-using-namespace): a main file.
using fuzz::require;

constexpr auto kSnippets = std::to_array<std::string_view>({
    R"({"event": "TaskScheduled", "taskType": "A"})",
    R"({"event": "TaskCompleted", "result": {"$bytes": "AQ=="}})",
    R"({"event": "TaskFailed", "error": {"$text": "no"}})",
    R"({"event": "OperationStarted", "operationName": "op"})",
    R"({"event": "OperationCompleted", "operationName": "op", "result": 1})",
    R"({"event": "TimerStarted", "timerId": "t", "durationMs": 5})",
    R"({"event": "TimerFired", "timerId": "t"})",
    R"({"event": "PromiseCreated", "promiseId": "p", "timeoutMs": 7})",
    R"({"event": "PromiseResolved", "promiseId": "p", "value": 1})",
    R"({"event": "ChildWorkflowInitiated", "childExecutionName": "c", "childWorkflowKind": "k"})",
    R"({"event": "ChildWorkflowCompleted", "childExecutionName": "c", "output": 1})",
    R"({"event": "StateSet", "key": "s", "value": 1})",
    R"({"event": "SignalAwaited", "signalName": "go", "timeoutMs": 7})",
    R"({"event": "SignalReceived", "signalName": "go", "data": 1})",
    R"({"event": "BranchOpened"})",
    R"({"event": "TaskScheduled", "location": "{1, 1}", "taskType": "B"})",
    R"({"event": "LoopStarted", "state": 0})",
    R"({"event": "LoopCheckpointed", "iteration": 1, "state": 1, "taken": [1]})",
    R"({"event": "CompensationRegistered", "name": "undo"})",
    R"({"event": "TaskCancelRequested"})",
    R"({"event": "TimerCancelRequested", "timerId": "t"})",
    R"({"event": "CancellationRequested", "reason": "stop"})",
    R"({"event": "WorkflowFailed", "error": "no"})",
    R"({"event": "TimerFired", "dueAt": 5, "id": "t"})",
    R"({"event": "RetryOperation", "dueAt": 5, "id": "x", "attempts": 2})",
    R"({"name": "p", "resolved": true})",
    R"({"position": 0, "name": "undo", "state": "done"})",
});

void check_forks(const portable::RunDocument& document) {
  for (const replay::Entry& entry : document.log) {
    portable::ForkRequest request;
    request.at = std::string(entry.location);
    request.id = "fork";
    const Result<portable::ForkPlan> plan = portable::plan_fork(document, request);
    // Its own check would say kCorruptLog.
    require(plan.has_value() || plan.error().code == ErrorCode::kInvalidArgument,
            "what is forked is a run again",
            plan.has_value() ? std::string() : plan.error().message);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Result<portable::RunDocument> document =
      portable::from_json(std::string_view(reinterpret_cast<const char*>(data), size));
  if (!document) {
    require(!document.error().message.empty(), "an error says what is wrong");
    return 0;
  }
  const std::string text = portable::to_json(*document);
  const Result<portable::RunDocument> again = portable::from_json(text);
  require(again.has_value(), "what was written is read",
          text + (again.has_value() ? std::string() : "\n" + again.error().message));
  require(portable::to_json(*again) == text, "a run and its copy are written alike", text);
  if (!fuzz::has_huge_number(*format::parse_json(text))) {
    check_forks(*document);
  }
  return 0;
}

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t size_max, unsigned seed) {
  return fuzz::mutate_json(data, size, size_max, seed, kSnippets);
}

// Any bytes as a log in its JSON form: what loads can be exported and loaded again as the same log,
// and delivering all of it does no harm.
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/json.hpp>

#include "base/uuid.h"
#include "format/json_reader.h"
#include "format/log_json.h"
#include "fuzz/json_mutator.h"
#include "fuzz/require.h"
#include "replay/machine.h"

namespace json = boost::json;

namespace {

using namespace pawl;  // NOLINT(google-build-using-namespace): a main file.
using fuzz::require;

constexpr auto kSnippets = std::to_array<std::string_view>({
    R"({"event": "TaskScheduled", "taskType": "A"})",
    R"({"event": "TaskScheduled", "taskType": "A", "stepKey": "k"})",
    R"({"event": "TaskCompleted", "result": 1})",
    R"({"event": "TaskFailed", "error": "no"})",
    R"({"event": "OperationStarted", "operationName": "op"})",
    R"({"event": "OperationCompleted", "operationName": "op", "result": 1})",
    R"({"event": "TimerStarted", "timerId": "t", "durationMs": 5})",
    R"({"event": "TimerFired", "timerId": "t"})",
    R"({"event": "PromiseCreated", "promiseId": "p"})",
    R"({"event": "PromiseResolved", "promiseId": "p", "value": 1})",
    R"({"event": "ChildWorkflowInitiated", "childExecutionName": "c", "childWorkflowKind": "k"})",
    R"({"event": "ChildWorkflowCompleted", "childExecutionName": "c", "output": 1})",
    R"({"event": "StateSet", "key": "s", "value": 1})",
    R"({"event": "SignalAwaited", "signalName": "go"})",
    R"({"event": "SignalReceived", "signalName": "go", "data": 1})",
    R"({"event": "SignalTimedOut"})",
    R"({"event": "BranchOpened"})",
    R"({"event": "TaskScheduled", "location": "{1, 1}", "taskType": "B"})",
    R"({"event": "TaskScheduled", "location": "{1, 1, 1}", "taskType": "B"})",
    R"({"event": "TaskScheduled", "location": "{0.1}", "taskType": "B", "version": 2})",
    R"({"event": "LoopStarted", "state": 0})",
    R"({"event": "LoopCheckpointed", "iteration": 1, "state": 1})",
    R"({"event": "LoopCheckpointed", "iteration": 2, "set": {"s": 1}, "cleared": ["t"], "taken": [1], "done": true})",
    R"({"event": "StepRemoved", "kind": "task", "name": "A"})",
    R"({"event": "VersionChecked", "version": 2})",
    R"({"event": "CompensationRegistered", "name": "undo", "location": "{1, 1, 1}"})",
    R"({"event": "TaskCancelRequested"})",
    R"({"event": "TimerCancelRequested", "timerId": "t"})",
    R"({"event": "CancellationRequested", "reason": "stop"})",
    R"({"event": "WorkflowCompleted", "result": 1})",
});

const format::LogDefaults kDefaults{
    *Uuid::parse("a1b2c3d4-e5f6-7890-abcd-ef1234567890"),
    1'700'000'000'000,
};

json::array exported(const replay::Log& log) { return format::export_log(log); }

void check_round_trip(const replay::Log& log) {
  const json::array once = exported(log);
  const std::string text = json::serialize(once);
  const Result<replay::Log> again = format::import_log(text, kDefaults);
  require(again.has_value(), "an exported log loads",
          text + (again.has_value() ? std::string() : "\n" + again.error().message));
  const std::string twice = json::serialize(exported(*again));
  require(twice == text, "a log and its copy print the same", text + "\n" + twice);
}

// A store loads entries straight into the log, without the importer's defaults.
void check_batch_load(const replay::Log& log) {
  replay::Log batch;
  for (replay::RecordId id = 0; id < log.size(); ++id) {
    replay::Log::EntryTexts texts;
    const Result<void> loaded = batch.load(log.entry(id, texts));
    require(loaded.has_value(), "an entry loads again",
            loaded.has_value() ? std::string() : loaded.error().message);
  }
  require(exported(batch) == exported(log), "loaded from its own entries, a log is the same",
          json::serialize(exported(batch)) + "\n" + json::serialize(exported(log)));
}

// What docs/formats/scenario.md says about ids, done the slow way: an arrival completes the oldest
// command of its id that is still open, else it belongs to the last one that had it.
void check_links(const replay::Log& log) {
  std::map<std::pair<replay::CommandKind, std::string>, std::vector<replay::RecordId>> commands;
  std::set<replay::RecordId> complete;
  for (replay::RecordId id = 0; id < log.size(); ++id) {
    const replay::Record& record = log[id];
    const std::string details = "seq " + std::to_string(record.seq);
    const replay::CommandKind kind = replay::traits(record.kind).command;
    if (record.is_command) {
      auto& same = commands[{kind, log.id_text(record)}];
      if (!replay::is_operation_outcome(record.kind)) {
        same.push_back(id);
      } else {
        require(same.empty(), "an outcome with the id of a started operation is its arrival",
                details);
      }
      continue;
    }
    const bool goes_by_id =
        kind == replay::CommandKind::kTask || kind == replay::CommandKind::kOperation ||
        kind == replay::CommandKind::kTimer || kind == replay::CommandKind::kPromise;
    if (!goes_by_id || record.link == replay::kNoRecord) {
      continue;
    }
    const auto& same = commands[{kind, log.id_text(log[record.link])}];
    require(!same.empty(), "an arrival belongs to a command", details);
    replay::RecordId expected = same.back();
    for (const replay::RecordId candidate : same) {
      if (!complete.contains(candidate)) {
        expected = candidate;
        break;
      }
    }
    require(record.link == expected, "an arrival belongs to the oldest open command of its id",
            details);
    complete.insert(expected);
  }
}

void drain(replay::Log log, replay::Matching matching) {
  replay::RunInfo info;
  info.run_id = kDefaults.run_id;
  info.started_at_ms = kDefaults.started_at_ms;
  info.matching = matching;
  const auto machine = replay::Machine::create(std::move(info), std::move(log));
  if (!machine) {
    require(!machine.error().message.empty(), "an error says what is wrong");
    return;
  }
  std::size_t left = (*machine)->log().size() + 1;
  while (true) {
    const auto delivery = (*machine)->next_delivery();
    require(delivery.has_value(), "a delivery cannot fail");
    if (!*delivery) {
      break;
    }
    require(left-- > 0, "nothing is delivered twice");
  }
  const replay::Batch batch = (*machine)->take_new();
  require(batch.first == batch.last && batch.forgotten.empty(), "deliveries write nothing");
  (*machine)->orphaned();
  (*machine)->unconsumed_signals();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Result<json::value> value =
      format::parse_json(std::string_view(reinterpret_cast<const char*>(data), size));
  if (!value || !value->is_array()) {
    return 0;
  }
  const auto load = [&] { return format::import_log(value->get_array(), kDefaults, "log"); };
  Result<replay::Log> log = load();
  if (!log) {
    require(!log.error().message.empty(), "an error says what is wrong");
    return 0;
  }
  check_links(*log);
  if (!fuzz::has_huge_number(*value)) {
    check_round_trip(*log);
    check_batch_load(*log);
  }
  for (const replay::Matching matching :
       {replay::Matching::kStrict, replay::Matching::kPerKind, replay::Matching::kByName}) {
    drain(*load(), matching);
  }
  return 0;
}

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t size_max, unsigned seed) {
  return fuzz::mutate_json(data, size, size_max, seed, kSnippets);
}

// Any bytes as a scenario: running it returns, and the same code on the log that it leaves behind
// does the same again and adds nothing.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include <boost/json.hpp>

#include "conform/interpreter.h"
#include "conform/scenario.h"
#include "format/json_reader.h"
#include "format/log_json.h"
#include "fuzz/json_mutator.h"
#include "fuzz/require.h"

namespace json = boost::json;

namespace {

using namespace pawl;  // NOLINT(google-build-using-namespace): a main file.
using fuzz::require;

constexpr auto kSnippets = std::to_array<std::string_view>({
    R"({"task": "A", "as": "x"})",
    R"({"task": "A", "stepKey": "k", "as": "x"})",
    R"({"run": "op", "returns": 1, "as": "x"})",
    R"({"run": "op", "throws": "no", "as": "y"})",
    R"({"timer": 5, "as": "t"})",
    R"({"timer": 5, "id": "t", "as": "t"})",
    R"({"promise": "p", "as": "x"})",
    R"({"child": "c", "kind": "k", "as": "x"})",
    R"({"signal": "go", "as": "s"})",
    R"({"await": "x"})",
    R"({"await_all": ["x", "y"]})",
    R"({"await_any": ["x", "t"], "as": "w"})",
    R"({"cancel": "t"})",
    R"({"set": "a", "value": 1})",
    R"({"clear": "a"})",
    R"({"get": "a", "as": "g"})",
    R"({"has_signal": "go", "as": "h"})",
    R"({"drain": "go", "as": "d"})",
    R"({"now": true, "as": "n"})",
    R"({"uuid": true, "as": "u"})",
    R"({"random": true, "as": "r"})",
    R"({"branch": [{"task": "B", "as": "b"}, {"await": "b"}], "as": "br"})",
    R"({"join": [[{"task": "A", "as": "ja"}, {"await": "ja"}], [{"signal": "go", "as": "jb"}, {"await": "jb"}]]})",
    R"({"loop": [{"run": "op", "as": "l"}, {"await": "l"}], "times": 3, "checkpointEvery": 2})",
    R"({"loop": [{"signal": "go", "as": "l"}, {"await": "l"}, {"set": "a", "value": {"$": "l"}}], "times": 5, "checkpointEvery": 1})",
    R"({"loop": [{"compensate": "undo"}, {"clear": "a"}], "times": 2})",
    R"({"v": 2, "do": {"task": "V", "as": "v"}})",
    R"({"v": 2, "do": {"run": "V", "as": "v"}})",
    R"({"removed": "task"})",
    R"({"removed": "timer", "stepKey": "k"})",
    R"({"check_version": 2, "as": "cv"})",
    R"({"compensate": "undo", "input": 1})",
    R"({"if": "x", "equals": 1, "then": [{"task": "C"}], "else": [{"task": "D"}]})",
    R"({"try": [{"throw": "bad"}], "catch": [{"task": "E"}]})",
    R"({"shield": [{"await": "x"}]})",
    R"({"return": {"$": "x"}})",
    R"({"recur": 1})",
    R"({"event": "TaskScheduled", "taskType": "A"})",
    R"({"event": "TaskCompleted", "result": 1})",
    R"({"event": "TaskFailed", "error": "no"})",
    R"({"event": "OperationStarted", "operationName": "op"})",
    R"({"event": "OperationCompleted", "operationName": "op", "result": 1})",
    R"({"event": "TimerStarted", "timerId": "t", "durationMs": 5})",
    R"({"event": "TimerFired"})",
    R"({"event": "SignalAwaited", "signalName": "go"})",
    R"({"event": "SignalReceived", "signalName": "go", "data": 1})",
    R"({"event": "SignalReceived", "signalName": "go", "data": 2})",
    R"({"event": "BranchOpened"})",
    R"({"event": "TaskScheduled", "location": "{1, 1}", "taskType": "B"})",
    R"({"event": "LoopStarted", "state": 0})",
    R"({"event": "LoopCheckpointed", "iteration": 1, "state": 1})",
    R"({"event": "LoopCheckpointed", "iteration": 2, "set": {"a": 1}, "done": true})",
    R"({"event": "StepRemoved", "kind": "task", "name": "A"})",
    R"({"event": "VersionChecked", "version": 2})",
    R"({"event": "CompensationRegistered", "name": "undo"})",
    R"({"event": "TaskCancelRequested"})",
    R"({"event": "CancellationRequested", "reason": "stop"})",
    R"({"event": "WorkflowCompleted", "result": 1})",
});

// --- What is too slow to be tried --------------------------------------------------------------

constexpr std::int64_t kIterationsMax = 200;

// An upper bound of how often a step of the list is run; kIterationsMax + 1 if that is too often.
std::int64_t iterations(const json::value& value) {
  std::int64_t total = 0;
  if (const json::array* list = value.if_array()) {
    for (const json::value& element : *list) {
      total = std::min(kIterationsMax + 1, total + iterations(element));
    }
  } else if (const json::object* object = value.if_object()) {
    for (const json::key_value_pair& member : *object) {
      total = std::min(kIterationsMax + 1, total + iterations(member.value()));
    }
    if (const json::value* times = object->if_contains("times")) {
      boost::system::error_code error;
      const auto count = times->to_number<std::int64_t>(error);
      if (error || count > kIterationsMax) {
        return kIterationsMax + 1;
      }
      total = std::min(kIterationsMax + 1, (total + 1) * std::max<std::int64_t>(count, 1));
    }
  }
  return total;
}

// --- What the second evaluation can be held to -------------------------------------------------

// Scenarios keep variables in memory only, so what a forgotten iteration set is gone in the second
// evaluation. Tells whether the program depends on that.
class Variables {
 public:
  explicit Variables(const json::array& program) { note(program, ""); }

  bool has_loop() const { return has_loop_; }

  // Each variable is set in one loop only (or outside of all) and read there or further inside, and
  // nothing runs beside a loop.
  bool are_kept_apart() const {
    if (has_loop_ && has_join_) {
      return false;
    }
    return std::all_of(uses_.begin(), uses_.end(), [](const auto& entry) {
      const Uses& uses = entry.second;
      return uses.written_in.size() <= 1 &&
             std::all_of(uses.read_in.begin(), uses.read_in.end(), [&](const std::string& loop) {
               return uses.written_in.empty() || loop.starts_with(*uses.written_in.begin());
             });
    });
  }

 private:
  struct Uses {
    std::set<std::string> written_in;
    std::set<std::string> read_in;
  };

  // `loop` is the path of the innermost loop around the value; empty if there is none.
  void note(const json::value& value, const std::string& loop) {
    if (const json::array* list = value.if_array()) {
      for (const json::value& element : *list) {
        note(element, loop);
      }
    } else if (const json::object* object = value.if_object()) {
      for (const json::key_value_pair& member : *object) {
        note_member(member.key(), member.value(), loop);
      }
    }
  }

  void note_member(std::string_view key, const json::value& value, const std::string& loop) {
    has_join_ = has_join_ || key == "join";
    if (key == "as" || key == "await" || key == "await_all" || key == "await_any") {
      use(value, [&](Uses& uses) { uses.written_in.insert(loop); });
    }
    if (key == "$" || key == "cancel" || key == "if") {
      use(value, [&](Uses& uses) { uses.read_in.insert(loop); });
    }
    if (key == "try") {
      uses_["error"].written_in.insert(loop);
    }
    std::string below = loop;
    if (key == "loop") {
      has_loop_ = true;
      below += std::to_string(++loops_) + "/";
      uses_["i"].written_in.insert(below);
    }
    note(value, below);
  }

  template <class Note>
  void use(const json::value& name, Note note_use) {
    if (const json::array* names = name.if_array()) {
      for (const json::value& one : *names) {
        use(one, note_use);
      }
    } else if (const json::string* text = name.if_string()) {
      note_use(uses_[std::string(text->data(), text->size())]);
    }
  }

  std::map<std::string, Uses> uses_;
  std::size_t loops_ = 0;
  bool has_loop_ = false;
  bool has_join_ = false;
};

// The log that the first evaluation leaves behind.
json::array continued(const conform::Scenario& scenario, const json::object& actual) {
  std::set<std::uint64_t> forgotten;
  for (const json::value& seq : actual.at("forgotten").get_array()) {
    forgotten.insert(seq.to_number<std::uint64_t>());
  }
  // Exported, because the defaults of an entry depend on those before it.
  json::array entries = format::export_log(
      *format::import_log(scenario.history, {scenario.run_id, scenario.started_at_ms}, "history"));
  for (const json::value& entry : actual.at("new").get_array()) {
    entries.push_back(entry);
  }
  json::array kept;
  for (const json::value& entry : entries) {
    if (!forgotten.contains(entry.at("seq").to_number<std::uint64_t>())) {
      kept.push_back(entry);
    }
  }
  return kept;
}

void check_again(conform::Scenario scenario, const json::object& first, bool has_loop) {
  scenario.history = continued(scenario, first);
  const Result<json::object> second = conform::run_scenario(scenario);
  const std::string details = json::serialize(first) + "\n" + json::serialize(scenario.history) +
                              "\n" + (second ? json::serialize(*second) : second.error().message);
  if (!second && has_loop && second.error().message.ends_with("is not set")) {
    return;  // By an iteration that is forgotten.
  }
  require(second.has_value(), "the log that a run leaves behind loads", details);
  require(second->at("outcome") != "violation", "code agrees with its own log", details);
  require(second->at("new").get_array().empty() && second->at("forgotten").get_array().empty(),
          "nothing is written twice", details);
  for (const std::string_view field : {"outcome", "result", "error", "waiting", "orphaned"}) {
    if (has_loop && field == "orphaned") {
      continue;  // A finished iteration takes its orphans with it.
    }
    const json::value* before = first.if_contains(field);
    const json::value* after = second->if_contains(field);
    require((before == nullptr) == (after == nullptr) &&
                (before == nullptr || format::json_equal(*before, *after)),
            "a run ends in the same way again", details);
  }
  require(has_loop || format::json_equal(first.at("values"), second->at("values")),
          "a run sees the same values again", details);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Result<json::value> value =
      format::parse_json(std::string_view(reinterpret_cast<const char*>(data), size));
  if (!value) {
    return 0;
  }
  Result<conform::Scenario> scenario = conform::read_scenario(*value);
  if (!scenario) {
    require(!scenario.error().message.empty(), "an error says what is wrong");
    return 0;
  }
  if (iterations(scenario->program) > kIterationsMax) {
    return 0;
  }
  const Result<json::object> actual = conform::run_scenario(*scenario);
  if (!actual) {
    require(!actual.error().message.empty(), "an error says what is wrong");
    return 0;
  }
  const Variables variables(scenario->program);
  if (actual->at("outcome") != "violation" && variables.are_kept_apart() &&
      !fuzz::has_huge_number(*value)) {
    check_again(*std::move(scenario), *actual, variables.has_loop());
  }
  return 0;
}

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t size_max, unsigned seed) {
  return fuzz::mutate_json(data, size, size_max, seed, kSnippets);
}

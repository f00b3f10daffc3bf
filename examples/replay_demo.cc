// A log, code that fits it, code that was changed the right way, and the report for code that does
// not fit. The "code" here is a list of steps; the calls are those that every SDK makes.
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include "base/uuid.h"
#include "format/log_json.h"
#include "replay/labels.h"
#include "replay/machine.h"

namespace {

using namespace pawl;          // NOLINT(google-build-using-namespace)
using namespace pawl::replay;  // NOLINT(google-build-using-namespace)

// What a run of the first version had recorded when its process died.
constexpr std::string_view kStoredLog = R"([
  {"seq": 1, "event": "OperationCompleted", "location": "{1}", "operationName": "reserve",
   "result": "hold R123", "source": "order.cc:12"},
  {"seq": 2, "event": "TaskScheduled", "location": "{2}", "taskType": "charge", "taskExecutionId": "t-1",
   "source": "order.cc:13"},
  {"seq": 3, "event": "TaskCompleted", "taskExecutionId": "t-1", "result": "payment T456"},
  {"seq": 4, "event": "TimerStarted", "location": "{3}", "timerId": "deadline", "durationMs": 60000,
   "source": "order.cc:14"}
])";

const Uuid kRun = *Uuid::parse("a1b2c3d4-e5f6-7890-abcd-ef1234567890");

struct Step {
  CommandKind kind;
  std::string_view name;
  std::string_view source;
  std::uint32_t version = 0;
};

class Printer {
 public:
  Printer() : colour_(isatty(STDOUT_FILENO) == 1 && std::getenv("NO_COLOR") == nullptr) {}

  void title(std::string_view text) const { std::cout << '\n' << paint("1", text) << '\n'; }
  void good(const std::string& text) const { std::cout << "  " << paint("32", text) << '\n'; }
  void fresh(const std::string& text) const { std::cout << "  " << paint("33", text) << '\n'; }
  void bad(const std::string& text) const { std::cout << paint("31", text) << '\n'; }
  void plain(const std::string& text) const { std::cout << "  " << text << '\n'; }

 private:
  std::string paint(std::string_view code, std::string_view text) const {
    return colour_ ? "\033[" + std::string(code) + "m" + std::string(text) + "\033[0m"
                   : std::string(text);
  }

  bool colour_;
};

Log load() {
  auto log = format::import_log(kStoredLog, format::LogDefaults{kRun, 1'700'000'000'000});
  if (!log) {
    std::cerr << log.error().message << '\n';
    std::exit(1);
  }
  return *std::move(log);
}

std::string describe(const Log& log, RecordId id) {
  const Record& record = log[id];
  std::string text =
      "seq " + std::to_string(record.seq) + "  " + std::string(traits(record.kind).event);
  if (record.is_command) {
    text += "  " + labels_of(log, record).to_string() + "  v" + std::to_string(record.version);
  } else if (record.link != kNoRecord) {
    text += "  for " + log.location(log[record.link]).to_string();
  }
  if (record.has_payload) {
    text += "  " + std::string(record.payload.view());
  }
  return text;
}

// Runs the steps over the stored log as a workflow would: issue, await, go on.
void run(const Printer& out, const std::vector<Step>& steps) {
  RunInfo info;
  info.run_id = kRun;
  info.started_at_ms = 1'700'000'000'000;
  info.definition_then = "order@1f3c";
  info.definition_now = "order@9ab0";
  auto created = Machine::create(std::move(info), load());
  if (!created) {
    std::cerr << created.error().message << '\n';
    std::exit(1);
  }
  Machine& machine = **created;
  for (const Step& step : steps) {
    CommandRequest request;
    request.kind = step.kind;
    request.name = step.name;
    request.source = step.source;
    request.version = step.version;
    const auto opened = machine.open(request);
    if (!opened) {
      out.bad(machine.violation()->render());
      return;
    }
    if (opened->must_execute) {
      out.fresh("executes " + std::string(step.name) + ": nothing recorded for it");
      if (!machine.complete_operation(opened->future, OutcomeKind::kValue, "\"done\"")) {
        return;
      }
    }
    const std::array<FutureId, 1> futures = {opened->future};
    const auto await = machine.begin_await(AwaitMode::kAll, futures, false);
    while (await && await->state == AwaitState::kBlocked) {
      const auto delivery = machine.next_delivery();
      if (!delivery || !*delivery) {
        out.plain("waits for " + std::string(step.name) + " at " +
                  machine.waiting()[0].to_string());
        break;
      }
    }
    const Outcome outcome = *machine.outcome(opened->future);
    if (!outcome.is_complete) {
      break;
    }
    out.good(std::string(step.name) + " = " + std::string(outcome.payload));
  }
  const Batch batch = machine.take_new();
  for (RecordId id = batch.first; id < batch.last; ++id) {
    out.fresh("appends  " + describe(machine.log(), id));
  }
  if (batch.first == batch.last) {
    out.plain("appends nothing");
  }
}

}  // namespace

int main() {
  const Printer out;
  out.title("The log of a run whose process died");
  Log stored = load();
  for (RecordId id = 0; id < stored.size(); ++id) {
    out.plain(describe(stored, id));
  }

  const Step reserve{CommandKind::kOperation, "reserve", "order.cc:12"};
  const Step charge{CommandKind::kTask, "charge", "order.cc:13"};
  const Step deadline{CommandKind::kTimer, "deadline", "order.cc:14"};

  out.title("1. The same code again: recorded steps are not executed, it waits where it was");
  run(out, {reserve, charge, deadline});

  out.title("2. A step inserted as version 2: it gets a place between {1} and {2}");
  run(out, {reserve, {CommandKind::kOperation, "check_fraud", "order.cc:13", 2}, charge, deadline});

  out.title("3. 'charge' renamed to 'bill': code and history disagree, and the report says where");
  run(out, {reserve, {CommandKind::kTask, "bill", "order.cc:13"}, deadline});

  out.title("Try next");
  out.plain(
      "build/bin/pawl conform conformance          every rule as data: log + code -> outcome");
  out.plain(
      "build/bin/pawl conform FILE --print         your own scenario (docs/formats/scenario.md)");
  out.plain(
      "docs/replay.md                              matching, versions and delivery explained");
  std::cout << '\n';
  return 0;
}

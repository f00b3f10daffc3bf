// pawl describe
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cli/client.h"
#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "cli/find_run.h"
#include "cli/json_output.h"
#include "cli/store_access.h"
#include "cli/table.h"
#include "store/catalog.h"
#include "store/state.h"
#include "view/live_workers.h"
#include "view/run_details.h"
#include "view/text.h"

namespace pawl::cli {

namespace {

namespace json = boost::json;

constexpr std::size_t kNameChars = 200;
constexpr std::size_t kPayloadChars = 400;

struct Described {
  view::RunDetails details;
  store::State state;
  std::string worker;  // Who holds it; empty: nobody.
  bool needs_worker = false;
};

std::string shown(std::string_view text) { return view::line_text(text, kNameChars); }
std::string payload(std::string_view text) { return view::payload_text(text, kPayloadChars); }

// --- JSON ----------------------------------------------------------------------------------------

json::object to_json(const Described& described) {
  const view::RunDetails& details = described.details;
  json::object object = run_json(details.row);
  object["input"] = payload_json(details.input);
  object["tags"] = tags_json(details.tags);
  object["definition"] = details.row.definition;
  object["worker"] = described.worker.empty() ? json::value() : json::value(described.worker);
  object["needsWorker"] = described.needs_worker;
  object["entries"] = details.last_seq;
  if (details.outcome) {
    object["outcome"] = payload_json(*details.outcome);
  }
  if (!details.reason.empty()) {
    object["reason"] = details.reason;
  }
  if (details.parent) {
    object["parent"] = json::object{{"id", details.parent->id}, {"number", details.parent->number}};
  }
  json::array children;
  for (const store::RunRow& child : details.children) {
    children.push_back(run_json(child));
  }
  object["children"] = std::move(children);
  json::array steps;
  for (const view::OpenStep& step : details.open_steps) {
    steps.push_back(json::object{{"step", replay::step_name(step.kind)},
                                 {"name", step.name},
                                 {"location", step.location},
                                 {"sinceAt", step.time_ms}});
  }
  object["openSteps"] = std::move(steps);
  json::array tasks;
  for (const store::TaskRow& task : details.tasks) {
    tasks.push_back(task_json(task));
  }
  object["tasks"] = std::move(tasks);
  json::array promises;
  for (const std::string& name : details.promises) {
    promises.push_back(
        json::object{{"name", name}, {"token", promise_token(details.row.id, name)}});
  }
  object["promises"] = std::move(promises);
  json::array compensations;
  for (const store::CompensationRow& compensation : details.compensations) {
    compensations.push_back(compensation_json(compensation));
  }
  object["compensations"] = std::move(compensations);
  json::array inbox;
  for (const store::StoredArrival& arrival : details.inbox) {
    inbox.push_back(arrival_json(arrival));
  }
  object["inbox"] = std::move(inbox);
  json::object state;
  for (const auto& [key, value] : described.state.values) {
    state[key] = payload_json(value);
  }
  object["state"] = std::move(state);
  return object;
}

// --- Text ----------------------------------------------------------------------------------------

class Printer {
 public:
  Printer(Console& console, const Described& described)
      : console_(console),
        details_(described.details),
        state_(described.state),
        worker_(described.worker),
        needs_worker_(described.needs_worker),
        now_ms_(console.now_ms()) {}

  void print() {
    print_head();
    print_reason();
    print_children();
    print_steps();
    print_tasks();
    print_promises();
    print_compensations();
    print_inbox();
    print_state();
  }

 private:
  void field(std::string_view name, const std::string& text, Tone tone = Tone::kPlain) {
    constexpr std::size_t kColumn = 12;
    console_.print(std::string(name) + std::string(kColumn - name.size(), ' ') +
                   console_.toned(text, tone) + "\n");
  }
  void section(std::string_view name) {
    console_.print("\n" + console_.toned(name, Tone::kStrong) + "\n");
  }
  std::string ago(std::int64_t ms) const {
    return console_.moment(ms) + " (" + view::duration_text(now_ms_ - ms) + " ago)";
  }
  std::string until(std::int64_t ms) const {
    return ms <= now_ms_ ? "now" : "in " + view::duration_text(ms - now_ms_);
  }

  void print_head() {
    const store::RunRow& row = details_.row;
    const bool is_closed = store::is_closed(row.status);
    field("run", shown(row.id), Tone::kStrong);
    field("number", std::to_string(row.number));
    field("run id", row.uuid.to_string());
    field("kind", shown(row.kind));
    field(
        "status",
        (row.is_paused ? "paused, " : "") + shown(store::status_text(row.status, row.waiting_for)),
        status_tone(store::status_name(row.status)));
    if (needs_worker_) {
      field("worker", "no live worker has its kind; start a program that does", Tone::kOdd);
    }
    field("started", ago(row.created_ms));
    field(is_closed ? "ended" : "since", ago(row.changed_ms));
    if (is_closed) {
      field("took", view::duration_text(row.changed_ms - row.created_ms));
    }
    for (std::size_t i = 0; i < details_.tags.size(); ++i) {
      field(i == 0 ? "tags" : "",
            shown(details_.tags[i].name) + "=" + shown(details_.tags[i].value));
    }
    if (details_.parent) {
      field("parent", shown(details_.parent->id) + " (number " +
                          std::to_string(details_.parent->number) + ")");
    }
    if (!row.definition.empty()) {
      field("definition", shown(row.definition));
    }
    if (!worker_.empty()) {
      field("worker", shown(worker_));
    }
    field("entries", std::to_string(details_.last_seq));
    field("input", payload(details_.input));
    if (details_.outcome) {
      const bool is_result = row.status == store::RunStatus::kCompleted;
      field(is_result ? "result" : "outcome",
            is_result ? payload(*details_.outcome)
                      : view::failure_text(*details_.outcome, kPayloadChars));
    }
  }

  void print_reason() {
    if (details_.reason.empty()) {
      return;
    }
    section(details_.row.status == store::RunStatus::kBlocked ? "blocked, because" : "report");
    std::string_view rest = details_.reason;
    while (!rest.empty()) {
      const std::size_t end = rest.find('\n');
      const std::string_view line = rest.substr(0, end);
      console_.print("  " + view::line_text(line, line.size()) + "\n");
      rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
    }
  }

  void print_children() {
    if (details_.children.empty()) {
      return;
    }
    section("children");
    Table table({"id", "kind", "status", "started"});
    for (const store::RunRow& child : details_.children) {
      const std::string_view status = store::status_name(child.status);
      table.add({{child.id},
                 {child.kind},
                 {store::status_text(child.status, child.waiting_for), status_tone(status)},
                 {console_.brief_moment(child.created_ms)}});
    }
    table.print(console_);
    if (details_.has_more_children) {
      console_.print("…\n");
    }
  }

  void print_steps() {
    if (details_.open_steps.empty()) {
      return;
    }
    section("open steps");
    Table table({"step", "name", "at", "since"});
    for (const view::OpenStep& step : details_.open_steps) {
      table.add({{std::string(replay::step_name(step.kind))},
                 {step.name},
                 {step.location},
                 {view::duration_text(now_ms_ - step.time_ms)}});
    }
    table.print(console_);
  }

  void print_tasks() {
    if (details_.tasks.empty()) {
      return;
    }
    section("tasks");
    Table table({"type", "queue", "state", "attempt", "due", "last error"});
    for (const store::TaskRow& task : details_.tasks) {
      table.add({{task.type},
                 {task.queue},
                 {std::string(task_state_name(task.state))},
                 {std::to_string(task.attempt)},
                 {task.due_ms == store::kNever ? "" : until(task.due_ms)},
                 {task.last_error.empty() ? "" : view::failure_text(task.last_error, kNameChars)}});
    }
    table.print(console_);
  }

  void print_promises() {
    if (details_.promises.empty()) {
      return;
    }
    section("open promises");
    Table table({"name", "token"});
    for (const std::string& name : details_.promises) {
      table.add({{name}, {promise_token(details_.row.id, name)}});
    }
    table.print(console_);
  }

  void print_compensations() {
    if (details_.compensations.empty()) {
      return;
    }
    section("compensations");
    Table table({"name", "state", "attempts", "outcome"});
    for (const store::CompensationRow& row : details_.compensations) {
      const bool has_failed = row.state != store::CompensationState::kDone;
      table.add({{row.name},
                 {std::string(compensation_state_name(row.state))},
                 {std::to_string(row.attempt)},
                 {row.outcome.empty() ? ""
                  : has_failed        ? view::failure_text(row.outcome, kNameChars)
                                      : payload(row.outcome)}});
    }
    table.print(console_);
  }

  void print_inbox() {
    if (details_.inbox.empty()) {
      return;
    }
    section("inbox");
    Table table({"event", "name", "due", "payload"});
    for (const store::StoredArrival& arrival : details_.inbox) {
      table.add({{std::string(event_name(arrival.kind))},
                 {arrival.name},
                 {until(arrival.due_ms)},
                 {arrival.has_payload ? payload(arrival.payload) : ""}});
    }
    table.print(console_);
  }

  void print_state() {
    if (state_.values.empty()) {
      return;
    }
    section("state");
    Table table({"", ""});
    for (const auto& [key, value] : state_.values) {
      table.add({{key}, {payload(value)}});
    }
    table.print(console_);
  }

  Console& console_;
  const view::RunDetails& details_;
  const store::State& state_;
  const std::string& worker_;
  const bool needs_worker_;
  const std::int64_t now_ms_;
};

Result<int> run(Console& console, const RunName& name) {
  PAWL_TRY_ASSIGN(const auto store, open_store(console, Access::kLook));
  PAWL_TRY_ASSIGN(const store::RunRow row, find_run(*store, name, Match::kPrefix));
  Described described;
  PAWL_TRY_ASSIGN(described.details, view::read_details(*store, row));
  PAWL_TRY_ASSIGN(described.state, store::read_state(*store, row.key));
  PAWL_TRY_ASSIGN(const std::vector<store::WorkerRow> workers, store->catalog().list_workers());
  for (const store::WorkerRow& worker : workers) {
    described.worker = worker.key == row.owner ? worker.name : described.worker;
  }
  described.needs_worker = view::LiveWorkers(workers, console.now_ms()).is_abandoned(row);
  if (console.is_table()) {
    Printer(console, described).print();
  } else {
    print_json(console, to_json(described));
  }
  return kExitOk;
}

}  // namespace

void add_describe_command(Frame& frame) {
  auto name = std::make_shared<RunName>();
  CLI::App* command = frame.add(
      {.name = "describe",
       .group = kInspect,
       .summary = "Show everything that is known of a run in one place.",
       .examples = "pawl describe order-17\n"
                   "pawl describe order-17 --number 1\n"
                   "pawl describe order-17 -o json\n",
       .details =
           "Status and what it waits for, tags, parent and children, open steps, tasks with\n"
           "their attempts, promises with their tokens, compensations, inbox, state, and the\n"
           "whole report of a run that is blocked."},
      [name](Console& console) { return run(console, *name); });
  add_run_name(frame, command, *name);
  frame.add_shared(command);
}

}  // namespace pawl::cli

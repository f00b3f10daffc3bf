// pawl tasks, stats, workers: what is going on in a store
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "cli/json_output.h"
#include "cli/store_access.h"
#include "cli/table.h"
#include "engine/serves.h"
#include "store/catalog.h"
#include "view/live_workers.h"
#include "view/text.h"

namespace pawl::cli {

namespace {

namespace json = boost::json;

constexpr std::size_t kPageSize = 500;
constexpr std::size_t kLimitMax = 1'000'000;
constexpr std::size_t kErrorChars = 200;

// --- tasks ---------------------------------------------------------------------------------------

struct TaskArguments {
  std::string queue;
  std::string type;
  std::string state;
  std::size_t limit = 100;
  bool all = false;
};

std::optional<store::TaskState> find_state(const std::string& name) {
  for (const store::TaskState state :
       {store::TaskState::kReady, store::TaskState::kDelayed, store::TaskState::kRunning}) {
    if (task_state_name(state) == name) {
      return state;
    }
  }
  return std::nullopt;
}

Table::Cell due_cell(std::int64_t due_ms, std::int64_t now_ms) {
  if (due_ms == store::kNever) {
    return {""};
  }
  return due_ms <= now_ms ? Table::Cell{"now", Tone::kOdd}
                          : Table::Cell{"in " + view::duration_text(due_ms - now_ms)};
}

Result<int> tasks(Console& console, const TaskArguments& arguments) {
  PAWL_TRY_ASSIGN(const auto store, open_store(console, Access::kLook));
  const store::TaskFilter filter{arguments.queue, arguments.type, find_state(arguments.state)};
  const std::int64_t now_ms = console.now_ms();
  Table table({"run", "type", "queue", "state", "attempt", "since", "due", "last error"});
  json::array list;
  store::TaskKey after = 0;
  std::size_t count = 0;
  bool has_more = false;
  while (console.can_print() && !has_more) {
    PAWL_TRY_ASSIGN(const std::vector<store::TaskRow> page,
                    store->catalog().list_tasks(filter, after, kPageSize));
    for (const store::TaskRow& task : page) {
      if (!arguments.all && count == arguments.limit) {
        has_more = true;
        break;
      }
      ++count;
      if (console.is_jsonl()) {
        print_json(console, task_json(task));
      } else if (console.is_json()) {
        list.push_back(task_json(task));
      } else {
        table.add(
            {{task.run_id},
             {task.type},
             {task.queue},
             {std::string(task_state_name(task.state))},
             {std::to_string(task.attempt)},
             {view::duration_text(now_ms - task.created_ms)},
             due_cell(task.due_ms, now_ms),
             {task.last_error.empty() ? "" : view::failure_text(task.last_error, kErrorChars)}});
      }
    }
    if (page.size() < kPageSize) {
      break;
    }
    after = page.back().key;
  }
  if (console.is_json()) {
    print_json(console, json::object{{"tasks", std::move(list)}, {"hasMore", has_more}});
  } else if (!table.is_empty()) {
    table.print(console);
  }
  if (has_more && !console.is_json()) {
    console.flush();  // In order, where both are the same.
    console.say("there are more: --all, or a larger --limit");
  }
  return kExitOk;
}

// --- workers -------------------------------------------------------------------------------------

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) {
    text += (text.empty() ? "" : ", ") + name;
  }
  return text;
}

json::object worker_json(const store::WorkerRow& worker, std::int64_t now_ms) {
  const engine::Serves serves = engine::read_serves(worker.serves);
  json::object kinds;
  for (const auto& [name, fingerprint] : serves.kinds) {
    kinds[name] = fingerprint;
  }
  json::array activities(serves.activities.begin(), serves.activities.end());
  json::array queues(serves.queues.begin(), serves.queues.end());
  return json::object{{"worker", worker.key},
                      {"name", worker.name},
                      {"isLive", worker.expires_ms > now_ms},
                      {"expiresAt", moment_json(worker.expires_ms)},
                      {"runs", worker.runs},
                      {"tasks", worker.tasks},
                      {"kinds", std::move(kinds)},
                      {"activities", std::move(activities)},
                      {"queues", std::move(queues)}};
}

Result<int> workers(Console& console) {
  PAWL_TRY_ASSIGN(const auto store, open_store(console, Access::kLook));
  PAWL_TRY_ASSIGN(const std::vector<store::WorkerRow> rows, store->catalog().list_workers());
  const std::int64_t now_ms = console.now_ms();
  Table table({"name", "lease", "runs", "tasks", "kinds", "activities", "queues"});
  json::array list;
  for (const store::WorkerRow& worker : rows) {
    if (console.is_jsonl()) {
      print_json(console, worker_json(worker, now_ms));
      continue;
    }
    if (console.is_json()) {
      list.push_back(worker_json(worker, now_ms));
      continue;
    }
    const engine::Serves serves = engine::read_serves(worker.serves);
    std::vector<std::string> kinds;
    for (const auto& [name, fingerprint] : serves.kinds) {
      kinds.push_back(name + (fingerprint.empty() ? "" : " (" + fingerprint + ")"));
    }
    const bool is_live = worker.expires_ms > now_ms;
    table.add({{worker.name},
               {is_live ? (worker.expires_ms == store::kNever
                               ? std::string("live")
                               : "live, " + view::duration_text(worker.expires_ms - now_ms))
                        : std::string("expired"),
                is_live ? Tone::kGood : Tone::kBad},
               {std::to_string(worker.runs)},
               {std::to_string(worker.tasks)},
               {joined(kinds)},
               {joined(serves.activities)},
               {joined(serves.queues)}});
  }
  if (console.is_json()) {
    print_json(console, json::object{{"workers", std::move(list)}});
  } else if (!table.is_empty()) {
    table.print(console);
  } else if (console.is_table()) {
    console.say("no worker is known");
  }
  return kExitOk;
}

// --- stats ---------------------------------------------------------------------------------------

std::string bytes_text(std::int64_t bytes) {
  constexpr std::int64_t kStep = 1024;
  std::int64_t unit = 1;
  const char* name = "bytes";
  for (const char* const next : {"KiB", "MiB", "GiB", "TiB"}) {
    if (bytes / unit < kStep) {
      break;
    }
    unit *= kStep;
    name = next;
  }
  const std::int64_t tenths = bytes % unit * 10 / unit;
  return std::to_string(bytes / unit) + (unit > 1 ? "." + std::to_string(tenths) : "") + " " + name;
}

// What nobody who lives can go on with: open runs by kind, tasks by queue and type.
struct Abandoned {
  std::map<std::string, std::int64_t> runs;
  std::map<std::pair<std::string, std::string>, std::int64_t> tasks;
};

Abandoned find_abandoned(const store::StoreFigures& figures, const view::LiveWorkers& workers) {
  Abandoned abandoned;
  for (const store::RunCount& each : figures.runs) {
    const bool needs_code =
        each.status == store::RunStatus::kRunning || each.status == store::RunStatus::kWaiting;
    if (needs_code && !workers.can_run(each.kind)) {
      abandoned.runs[each.kind] += each.count;
    }
  }
  for (const store::TaskCount& each : figures.tasks) {
    if (each.state != store::TaskState::kRunning && !workers.can_execute(each.type, each.queue)) {
      abandoned.tasks[{each.queue, each.type}] += each.count;
    }
  }
  return abandoned;
}

json::object to_json(const Abandoned& abandoned) {
  json::array runs;
  for (const auto& [kind, count] : abandoned.runs) {
    runs.push_back(json::object{{"kind", kind}, {"count", count}});
  }
  json::array tasks;
  for (const auto& [place, count] : abandoned.tasks) {
    tasks.push_back(json::object{{"queue", place.first}, {"type", place.second}, {"count", count}});
  }
  return json::object{{"runs", std::move(runs)}, {"tasks", std::move(tasks)}};
}

json::object figures_json(const store::StoreFigures& figures, const Abandoned& abandoned,
                          std::size_t live) {
  json::array runs;
  for (const store::RunCount& each : figures.runs) {
    runs.push_back(json::object{
        {"kind", each.kind}, {"status", store::status_name(each.status)}, {"count", each.count}});
  }
  json::array queues;
  for (const store::TaskCount& each : figures.tasks) {
    queues.push_back(json::object{{"queue", each.queue},
                                  {"type", each.type},
                                  {"state", task_state_name(each.state)},
                                  {"count", each.count},
                                  {"oldestAt", moment_json(each.oldest_ms)}});
  }
  return json::object{{"runs", std::move(runs)},
                      {"tasks", std::move(queues)},
                      {"paused", figures.paused},
                      {"overdue", figures.overdue},
                      {"nextWakeAt", moment_json(figures.next_wake_ms)},
                      {"liveWorkers", live},
                      {"needWorker", to_json(abandoned)},
                      {"bytes", figures.bytes}};
}

Result<int> stats(Console& console) {
  PAWL_TRY_ASSIGN(const auto store, open_store(console, Access::kLook));
  const std::int64_t now_ms = console.now_ms();
  PAWL_TRY_ASSIGN(const store::StoreFigures figures, store->catalog().read_figures(now_ms));
  PAWL_TRY_ASSIGN(const std::vector<store::WorkerRow> rows, store->catalog().list_workers());
  const view::LiveWorkers workers(rows, now_ms);
  const Abandoned abandoned = find_abandoned(figures, workers);
  if (!console.is_table()) {
    print_json(console, figures_json(figures, abandoned, workers.count()));
    return kExitOk;
  }
  Table runs({"kind", "status", "runs"});
  for (const store::RunCount& each : figures.runs) {
    const std::string_view status = store::status_name(each.status);
    runs.add(
        {{each.kind}, {std::string(status), status_tone(status)}, {std::to_string(each.count)}});
  }
  if (!runs.is_empty()) {
    runs.print(console);
    console.print("\n");
  }
  Table tasks({"queue", "type", "state", "tasks", "oldest"});
  for (const store::TaskCount& each : figures.tasks) {
    tasks.add(
        {{each.queue},
         {each.type},
         {std::string(task_state_name(each.state))},
         {std::to_string(each.count)},
         {each.oldest_ms == store::kNever ? "" : view::duration_text(now_ms - each.oldest_ms)}});
  }
  if (!tasks.is_empty()) {
    tasks.print(console);
    console.print("\n");
  }
  Table missing({"no live worker has", "waiting for one"});
  for (const auto& [kind, count] : abandoned.runs) {
    missing.add({{"kind " + kind}, {std::to_string(count) + " runs", Tone::kOdd}});
  }
  for (const auto& [place, count] : abandoned.tasks) {
    missing.add({{"activity " + place.second + " on queue " + place.first},
                 {std::to_string(count) + " tasks", Tone::kOdd}});
  }
  if (!missing.is_empty()) {
    missing.print(console);
    console.print("\n");
  }
  Table rest({"", ""});
  rest.add({{"live workers"},
            {std::to_string(workers.count()), workers.count() == 0 ? Tone::kOdd : Tone::kPlain}});
  rest.add({{"paused"}, {std::to_string(figures.paused)}});
  rest.add({{"overdue"},
            {std::to_string(figures.overdue), figures.overdue > 0 ? Tone::kOdd : Tone::kPlain}});
  rest.add({{"next wake"},
            {figures.next_wake_ms == store::kNever ? "none"
                                                   : console.brief_moment(figures.next_wake_ms)}});
  rest.add({{"size"}, {bytes_text(figures.bytes)}});
  rest.print(console);
  return kExitOk;
}

}  // namespace

void add_store_commands(Frame& frame) {
  auto arguments = std::make_shared<TaskArguments>();
  CLI::App* command =
      frame.add({.name = "tasks",
                 .group = kOperate,
                 .summary = "List open tasks, the oldest first.",
                 .examples = "pawl tasks\n"
                             "pawl tasks --queue payments --state ready\n"
                             "pawl tasks --type charge --all -o jsonl\n"},
                [arguments](Console& console) { return tasks(console, *arguments); });
  command->add_option("--queue", arguments->queue, "On this queue")
      ->check(not_blank())
      ->type_name("NAME");
  command->add_option("--type", arguments->type, "For this activity")
      ->check(not_blank())
      ->type_name("NAME");
  command->add_option("--state", arguments->state, "To be taken, to be tried again later, or taken")
      ->check(CLI::IsMember({"ready", "delayed", "running"}))
      ->type_name("STATE");
  command->add_option("--limit", arguments->limit, "At most so many (default: 100)")
      ->check(whole_number(kLimitMax))
      ->type_name("N");
  command->add_flag("--all", arguments->all, "All of them, whatever --limit says");
  frame.add_shared(command);

  command = frame.add({.name = "stats",
                       .group = kOperate,
                       .summary = "Count runs by kind and status, tasks by queue; what is overdue.",
                       .examples = "pawl stats\n"
                                   "pawl stats -o json | jq .overdue\n"},
                      stats);
  frame.add_shared(command);

  command = frame.add({.name = "workers",
                       .group = kOperate,
                       .summary = "List workers: who lives, what they hold and what they can do.",
                       .examples = "pawl workers\n"
                                   "pawl workers -o json\n"},
                      workers);
  frame.add_shared(command);
}

}  // namespace pawl::cli

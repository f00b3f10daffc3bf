// pawl history
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <boost/json.hpp>

#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "cli/find_run.h"
#include "cli/json_output.h"
#include "cli/store_access.h"
#include "format/log_json.h"
#include "format/payload_json.h"
#include "view/history.h"
#include "view/text.h"

namespace pawl::cli {

namespace {

namespace json = boost::json;

struct Arguments {
  RunName run;
  std::string output = "text";
};

constexpr std::size_t kPayloadCharsMax = 100;

json::object to_json(const view::History& history) {
  const store::RunRow& row = history.row;
  json::object object;
  object["id"] = row.id;
  object["number"] = row.number;
  object["runId"] = row.uuid.to_string();
  object["kind"] = row.kind;
  object["status"] = store::status_name(row.status);
  if (!row.waiting_for.empty()) {
    object["waitingFor"] = row.waiting_for;
  }
  if (!history.reason.empty()) {
    object["reason"] = history.reason;
  }
  object["startedAt"] = row.created_ms;
  object["changedAt"] = row.changed_ms;
  object["input"] = format::payload_to_json(history.input);
  object["log"] = format::export_log(history.log);
  json::array inbox;
  for (const store::Arrival& arrival : history.inbox) {
    const replay::EntryTraits* known =
        replay::find_traits(static_cast<replay::EntryKind>(arrival.kind));
    json::object waiting;
    waiting["event"] = known == nullptr ? "RetryOperation" : known->event;
    waiting["dueAt"] = arrival.due_ms;
    waiting["id"] = arrival.id;
    inbox.push_back(std::move(waiting));
  }
  object["inbox"] = std::move(inbox);
  json::array tasks;
  for (const store::TaskRow& task : history.tasks) {
    json::object open;
    open["id"] = task.id;
    open["type"] = task.type;
    open["queue"] = task.queue;
    open["attempt"] = task.attempt;
    open["dueAt"] = task.due_ms;
    tasks.push_back(std::move(open));
  }
  object["tasks"] = std::move(tasks);
  json::array compensations;
  for (const store::CompensationRow& compensation : history.compensations) {
    json::object one;
    one["name"] = compensation.name;
    one["state"] = compensation_state_name(compensation.state);
    one["attempts"] = compensation.attempt;
    compensations.push_back(std::move(one));
  }
  object["compensations"] = std::move(compensations);
  return object;
}

Result<int> run(Console& console, const Arguments& arguments) {
  PAWL_TRY_ASSIGN(const auto store, open_store(console.shared(), Access::kLook));
  PAWL_TRY_ASSIGN(const store::RunRow row, find_run(*store, arguments.run, Match::kPrefix));
  PAWL_TRY_ASSIGN(const view::History history, view::read_history(*store, row));
  if (arguments.output == "json") {
    print_json(console, to_json(history));
  } else {
    console.print(view::history_tree(
        history, {.now_ms = console.now_ms(), .payload_chars_max = kPayloadCharsMax}));
  }
  return kExitOk;
}

}  // namespace

void add_history_command(Frame& frame) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = frame.add(
      {.name = "history",
       .group = kInspect,
       .summary = "Show what a run has done: a tree by location, with results and durations.",
       .examples = "pawl history order-17 --store sqlite:shop.db\n"
                   "pawl history order-17 -o json\n"
                   "pawl history -- -odd-id\n",
       .details = "The JSON form of the log: docs/formats/scenario.md",
       .aliases = {"show"}},
      [arguments](Console& console) { return run(console, *arguments); });
  add_run_name(frame, command, arguments->run);
  frame.add_store(command);
  command->add_option("-o,--output", arguments->output, "text or json")
      ->check(CLI::IsMember({"text", "json"}))
      ->type_name("FORM");
}

}  // namespace pawl::cli

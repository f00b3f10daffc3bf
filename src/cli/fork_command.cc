// pawl fork
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/arguments.h"
#include "cli/client.h"
#include "cli/commands.h"
#include "cli/confirm.h"
#include "cli/create_run.h"
#include "cli/exit_codes.h"
#include "cli/find_run.h"
#include "cli/json_argument.h"
#include "cli/json_output.h"
#include "cli/plan_output.h"
#include "cli/store_access.h"
#include "portable/fork.h"
#include "view/text.h"

namespace pawl::cli {

namespace {

namespace json = boost::json;

constexpr std::size_t kShownChars = 100;

struct Arguments {
  RunName run;
  std::string at;
  std::vector<std::string> edits;
  std::string id;
  bool is_dry = false;
  bool is_paused = false;
  bool yes = false;
};

// Shells do things to braces, so they may be left out.
std::string location_of(const std::string& argument) {
  return argument.starts_with('{') || argument == portable::kAtEnd ? argument
                                                                   : "{" + argument + "}";
}

Result<portable::Edit> parse_edit(const std::string& argument) {
  const std::size_t equals = argument.find('=');
  if (equals == std::string::npos) {
    return make_error(
        ErrorCode::kInvalidArgument,
        "--set wants LOCATION=JSON, e.g. '{2}={\"ok\": true}', not '" + argument + "'");
  }
  portable::Edit edit;
  edit.location = location_of(argument.substr(0, equals));
  PAWL_TRY_ASSIGN(edit.payload,
                  read_json_argument(argument.substr(equals + 1), "--set " + edit.location));
  return edit;
}

// The first of order-17-fork, order-17-fork-2 … that is not taken.
Result<std::string> free_id(store::Store& store, const std::string& id) {
  for (int i = 1;; ++i) {
    std::string candidate = id + "-fork" + (i == 1 ? "" : "-" + std::to_string(i));
    PAWL_TRY_ASSIGN(const std::optional<store::RunRow> row,
                    store.find_run(candidate, std::nullopt));
    if (!row) {
      return candidate;
    }
  }
}

Result<portable::ForkRequest> make_request(const Arguments& arguments, std::int64_t now_ms) {
  portable::ForkRequest request;
  request.at = location_of(arguments.at);
  for (const std::string& argument : arguments.edits) {
    PAWL_TRY_ASSIGN(portable::Edit edit, parse_edit(argument));
    request.edits.push_back(std::move(edit));
  }
  request.uuid = new_run_uuid(now_ms);
  request.now_ms = now_ms;
  return request;
}

Result<int> run(Console& console, const Arguments& arguments) {
  PAWL_TRY_ASSIGN(portable::ForkRequest request, make_request(arguments, console.now_ms()));
  PAWL_TRY_ASSIGN(const auto store,
                  open_store(console, arguments.is_dry ? Access::kLook : Access::kChange));
  PAWL_TRY_ASSIGN(const store::RunRow row, find_run(*store, arguments.run, Match::kExact));
  request.id = arguments.id;
  if (request.id.empty()) {
    PAWL_TRY_ASSIGN(request.id, free_id(*store, row.id));
  }
  PAWL_TRY_ASSIGN(const portable::RunDocument document, portable::read_document(*store, row.key));
  PAWL_TRY_ASSIGN(portable::ForkPlan plan, portable::plan_fork(document, request));
  PAWL_TRY(warn_of_children(*store, plan));
  plan.document.image.row.is_paused = arguments.is_paused;
  if (console.is_table()) {
    print_plan(console, plan);
  }
  const std::string id = view::line_text(request.id, kShownChars);
  if (arguments.is_dry) {
    if (!console.is_table()) {
      print_json(console, plan_json(plan));
    }
    return kExitOk;
  }
  if (!plan.again.empty() && !arguments.is_paused) {
    PAWL_TRY_ASSIGN(const bool is_meant,
                    confirm(console,
                            "start " + id + ", which does " + std::to_string(plan.again.size()) +
                                (plan.again.size() == 1 ? " step" : " steps") + " again?",
                            arguments.yes));
    if (!is_meant) {
      console.say("nothing was done");
      return kExitFailure;
    }
  }
  PAWL_TRY_ASSIGN(const store::RunRow made,
                  create_run(*store, plan.document, false, console.now_ms()));
  if (console.is_table()) {
    console.print("forked " + view::line_text(row.id, kShownChars) + " as " + id + "\n");
  } else {
    json::object object = plan_json(plan);
    object["run"] = run_json(made);
    print_json(console, object);
  }
  return kExitOk;
}

}  // namespace

void add_fork_command(Frame& frame) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = frame.add(
      {.name = "fork",
       .group = kChange,
       .summary = "Start a new run that goes on from a step of another one.",
       .examples = "pawl fork order-17 --at 3 --dry-run\n"
                   "pawl fork order-17 --at '{3}' --yes\n"
                   "pawl fork order-17 --at 4,2 --set '3={\"paid\": true}' --id order-17-paid\n"
                   "pawl fork order-17 --at end --paused\n",
       .details = "The new run has all that the other one had done before LOCATION, and does the "
                  "step there\nanew; pawl history shows locations. --set gives a step that was "
                  "done another result, a\nfailed one a result at all. The other run is not "
                  "touched.\n\n"
                  "The run id is a new one, so ctx.uuid() and ctx.random() give other values: code "
                  "whose way\ndepends on them may not fit the history that it has inherited."},
      [arguments](Console& console) { return run(console, *arguments); });
  add_run_name(frame, command, arguments->run);
  command->add_option("--at", arguments->at, "Location of the first step that is done anew, or end")
      ->required()
      ->check(not_blank())
      ->type_name("LOCATION");
  command
      ->add_option("--set", arguments->edits,
                   "LOCATION=JSON: the result of a step before that; several are allowed")
      ->expected(1)
      ->take_all()
      ->type_name("EDIT");
  command->add_option("--id", arguments->id, "Id of the new run (default: ID-fork)")
      ->check(not_blank())
      ->type_name("ID");
  command->add_flag("--dry-run", arguments->is_dry, "Only say what would happen");
  command->add_flag("--paused", arguments->is_paused, "It waits until it is unpaused");
  command->add_flag("--yes", arguments->yes, "Do not ask before steps are done again");
  frame.add_store(command);
  frame.add_output(command);
}

}  // namespace pawl::cli

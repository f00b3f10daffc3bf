// pawl retry
#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cli/client.h"
#include "cli/commands.h"
#include "cli/create_run.h"
#include "cli/exit_codes.h"
#include "cli/find_run.h"
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
  bool force = false;
  bool is_dry = false;
};

void report(Console& console, const store::RunRow& row, const std::string& what,
            json::object object) {
  if (console.is_table()) {
    console.print(view::line_text(row.id, kShownChars) + ": " + what + "\n");
  } else {
    print_json(console, object);
  }
}

Result<int> resume(Console& console, store::Store& store, const store::RunRow& row) {
  store::Resume op;
  op.run = row.key;
  op.run_id = row.id;
  op.now_ms = console.now_ms();
  std::array<store::Op, 1> ops = {op};
  PAWL_TRY(apply_ops(store, ops));
  report(console, row, "resumed, its code is tried again",
         json::object{{"id", row.id}, {"resumed", true}});
  return kExitOk;
}

// What waits for its next attempt does not wait any longer.
Result<int> hurry(Console& console, store::Store& store, const store::RunRow& row) {
  store::Hurry op;
  op.run = row.key;
  op.run_id = row.id;
  op.now_ms = console.now_ms();
  std::array<store::Op, 1> ops = {op};
  PAWL_TRY(apply_ops(store, ops));
  const std::int64_t attempts = std::get<store::Hurry>(ops[0]).attempts;
  report(console, row,
         attempts == 0   ? "nothing in it waits for another attempt"
         : attempts == 1 ? "one attempt is due now"
                         : std::to_string(attempts) + " attempts are due now",
         json::object{{"id", row.id}, {"attempts", attempts}});
  return attempts == 0 ? kExitFailure : kExitOk;
}

// A child that has failed is a run of its own; as long as it is there, it cannot be started again.
Result<void> check_child(const portable::ForkPlan& plan, const std::vector<std::string>& existing,
                         bool force) {
  const bool is_child = plan.failed && plan.failed->kind == replay::CommandKind::kChildWorkflow;
  if (!is_child || force ||
      std::find(existing.begin(), existing.end(), plan.failed->name) == existing.end()) {
    return {};
  }
  const std::string child = "'" + plan.failed->name + "'";
  return make_error(ErrorCode::kInvalidArgument,
                    "what failed is the child run " + child +
                        ", and its id is taken as long as "
                        "that run is there: delete it and try again, or fork this run behind " +
                        plan.failed->location + " with --set");
}

Result<int> run_again(Console& console, store::Store& store, const store::RunRow& row,
                      const Arguments& arguments) {
  PAWL_TRY_ASSIGN(const portable::RunDocument document, portable::read_document(store, row.key));
  portable::RetryRequest request;
  request.uuid = new_run_uuid(console.now_ms());
  request.force = arguments.force;
  request.now_ms = console.now_ms();
  PAWL_TRY_ASSIGN(portable::ForkPlan plan, portable::plan_retry(document, request));
  PAWL_TRY_ASSIGN(const std::vector<std::string> existing, warn_of_children(store, plan));
  PAWL_TRY(check_child(plan, existing, arguments.force));
  const std::string from =
      plan.failed ? "from " + view::line_text(portable::step_text(*plan.failed), kShownChars)
                  : "from its end: no failed step has ended it";
  if (console.is_table() && (arguments.is_dry || !plan.warnings.empty())) {
    print_plan(console, plan);
  }
  if (arguments.is_dry) {
    report(console, row, "would go on " + from, plan_json(plan));
    return kExitOk;
  }
  PAWL_TRY_ASSIGN(const store::RunRow made,
                  create_run(store, plan.document, true, console.now_ms()));
  json::object object = plan_json(plan);
  object["run"] = run_json(made);
  report(console, row, "goes on as run " + std::to_string(made.number) + " " + from,
         std::move(object));
  return kExitOk;
}

Result<int> run(Console& console, const Arguments& arguments) {
  PAWL_TRY_ASSIGN(const auto store,
                  open_store(console.shared(), arguments.is_dry ? Access::kLook : Access::kChange));
  PAWL_TRY_ASSIGN(const store::RunRow row, find_run(*store, arguments.run, Match::kExact));
  if (store::is_closed(row.status)) {
    return run_again(console, *store, row, arguments);
  }
  if (arguments.is_dry) {
    return make_error(ErrorCode::kInvalidArgument, "--dry-run is for runs that have ended");
  }
  return row.status == store::RunStatus::kBlocked ? resume(console, *store, row)
                                                  : hurry(console, *store, row);
}

}  // namespace

void add_retry_command(Frame& frame) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = frame.add(
      {.name = "retry",
       .group = kChange,
       .summary = "Try again what a run has failed at, or waits to try again.",
       .examples = "pawl retry order-17\n"
                   "pawl retry order-17 --dry-run\n"
                   "pawl retry order-17 --force\n",
       .details = "A run that failed goes on as the next run of its id, from the step that failed; "
                  "if its\nown code failed, from its end, which helps after a deploy. One that was "
                  "cancelled goes on\nbefore the request. In an open run, attempts that are due "
                  "later are due now; a blocked\none is resumed."},
      [arguments](Console& console) { return run(console, *arguments); });
  add_run_name(frame, command, arguments->run);
  command->add_flag("--force", arguments->force, "Although its compensations have run");
  command->add_flag("--dry-run", arguments->is_dry, "Only say what would happen");
  frame.add_store(command);
  frame.add_output(command);
}

}  // namespace pawl::cli

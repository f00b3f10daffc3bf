// pawl retry
#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/client.h"
#include "cli/commands.h"
#include "cli/create_run.h"
#include "cli/exit_codes.h"
#include "cli/json_output.h"
#include "cli/plan_output.h"
#include "cli/progress.h"
#include "cli/run_filter.h"
#include "cli/store_access.h"
#include "cli/targets.h"
#include "portable/fork.h"
#include "view/text.h"

namespace pawl::cli {

namespace {

namespace json = boost::json;

constexpr std::size_t kShownChars = 100;
constexpr std::size_t kReasonChars = 500;
constexpr const char* kNewer = "a newer run is there";

struct Arguments {
  Targets targets;
  bool force = false;
  bool is_dry = false;
};

// What came of one run.
struct Tried {
  std::string what;
  json::object object;
  std::string why_not = {};  // Nothing was done.
};

Result<Tried> resume(Console& console, store::Store& store, const store::RunRow& row) {
  store::Resume op;
  op.run = row.key;
  op.run_id = row.id;
  op.now_ms = console.now_ms();
  std::array<store::Op, 1> ops = {op};
  PAWL_TRY(apply_ops(store, ops));
  return Tried{"resumed, its code is tried again", json::object{{"id", row.id}, {"resumed", true}}};
}

// What waits for its next attempt does not wait any longer.
Result<Tried> hurry(Console& console, store::Store& store, const store::RunRow& row) {
  store::Hurry op;
  op.run = row.key;
  op.run_id = row.id;
  op.now_ms = console.now_ms();
  std::array<store::Op, 1> ops = {op};
  PAWL_TRY(apply_ops(store, ops));
  const std::int64_t attempts = std::get<store::Hurry>(ops[0]).attempts;
  const std::string nothing = attempts == 0 ? "nothing in it waits for another attempt" : "";
  return Tried{attempts == 0   ? nothing
               : attempts == 1 ? "one attempt is due now"
                               : std::to_string(attempts) + " attempts are due now",
               json::object{{"id", row.id}, {"attempts", attempts}}, nothing};
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

Result<Tried> run_again(Console& console, store::Store& store, const store::RunRow& row,
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
    return Tried{"would go on " + from, plan_json(plan)};
  }
  PAWL_TRY_ASSIGN(const store::RunRow made,
                  create_run(store, plan.document, true, console.now_ms()));
  json::object object = plan_json(plan);
  object["run"] = run_json(made);
  return Tried{"goes on as run " + std::to_string(made.number) + " " + from, std::move(object)};
}

Result<Tried> try_again(Console& console, store::Store& store, const store::RunRow& row,
                        const Arguments& arguments) {
  if (store::is_closed(row.status)) {
    return run_again(console, store, row, arguments);
  }
  if (arguments.is_dry) {
    return make_error(ErrorCode::kInvalidArgument, "--dry-run is for runs that have ended");
  }
  return row.status == store::RunStatus::kBlocked ? resume(console, store, row)
                                                  : hurry(console, store, row);
}

void print_tried(Console& console, const store::RunRow& row, const std::string& what) {
  if (console.is_table()) {
    console.print(view::line_text(row.id, kShownChars) + ": " +
                  view::line_text(what, kReasonChars) + "\n");
  }
}

Result<int> retry_one(Console& console, store::Store& store, const store::RunRow& row,
                      const Arguments& arguments) {
  PAWL_TRY_ASSIGN(const Tried tried, try_again(console, store, row, arguments));
  print_tried(console, row, tried.what);
  if (!console.is_table()) {
    print_json(console, tried.object);
  }
  return tried.why_not.empty() ? kExitOk : kExitFailure;
}

// One of many: what is wrong with this one is no reason to leave the others.
Result<void> retry_next(Console& console, store::Store& store, const store::RunRow& row,
                        const Arguments& arguments, Tally& tally) {
  Result<Tried> tried = try_again(console, store, row, arguments);
  if (tried) {
    print_tried(console, row, tried->what);
    if (tried->why_not.empty()) {
      tally.add_done();
    } else {
      tally.add_skipped(tried->why_not, row.id);
    }
    return {};
  }
  switch (tried.error().code) {
    case ErrorCode::kNotFound:
      tally.add_skipped("gone", row.id);
      return {};
    case ErrorCode::kAlreadyExists:
      tally.add_skipped(kNewer, row.id);
      return {};
    case ErrorCode::kInvalidArgument:
      print_tried(console, row, tried.error().message);
      tally.add_skipped("refused", row.id);
      return {};
    default:
      return tried.error();
  }
}

Result<int> retry_matching(Console& console, store::Store& store, const Arguments& arguments) {
  PAWL_TRY_ASSIGN(const view::RunQuery query,
                  target_query(arguments.targets, console, {store::RunStatus::kFailed}));
  PAWL_TRY_ASSIGN(const std::int64_t count, count_matching(console, store, query));
  PAWL_TRY_ASSIGN(const bool is_meant, confirm_count(console, "retry", count,
                                                     arguments.targets.yes || arguments.is_dry));
  if (!is_meant) {
    return kExitFailure;
  }
  Progress progress(console, "retrying", count);
  Tally tally;
  PAWL_TRY(search_runs(store, query, {}, [&](const store::RunRow& row) -> Result<bool> {
    // Of an id's runs the newest is the one that counts: the others have been tried again.
    PAWL_TRY_ASSIGN(const std::optional<store::RunRow> newest,
                    store.find_run(row.id, std::nullopt));
    if (newest && newest->number != row.number) {
      tally.add_skipped(kNewer, row.id);
    } else {
      PAWL_TRY(retry_next(console, store, row, arguments, tally));
    }
    progress.show(tally.seen());
    return true;
  }));
  tally.report(console, arguments.is_dry ? "would retry" : "retried");
  return kExitOk;
}

Result<int> run(Console& console, const Arguments& arguments) {
  PAWL_TRY(check_targets(arguments.targets));
  PAWL_TRY_ASSIGN(const auto store,
                  open_store(console, arguments.is_dry ? Access::kLook : Access::kChange));
  if (!arguments.targets.are_named()) {
    return retry_matching(console, *store, arguments);
  }
  PAWL_TRY_ASSIGN(const std::vector<store::RunRow> rows, find_named(*store, arguments.targets));
  if (rows.size() == 1) {
    return retry_one(console, *store, rows.front(), arguments);
  }
  Tally tally;
  for (const store::RunRow& row : rows) {
    PAWL_TRY(retry_next(console, *store, row, arguments, tally));
  }
  tally.report(console, arguments.is_dry ? "would retry" : "retried");
  return tally.has_skipped() ? kExitFailure : kExitOk;
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
                   "pawl retry order-17 --force\n"
                   "pawl retry --kind fulfil --ended-after 2h\n",
       .details = "A run that failed goes on as the next run of its id, from the step that failed; "
                  "if its\nown code failed, from its end, which helps after a deploy. One that was "
                  "cancelled goes on\nbefore the request. In an open run, attempts that are due "
                  "later are due now; a blocked\none is resumed. A filter without a status means "
                  "runs that have failed."},
      [arguments](Console& console) { return run(console, *arguments); });
  add_targets(frame, command, arguments->targets);
  command->add_flag("--force", arguments->force, "Although its compensations have run");
  command->add_flag("--dry-run", arguments->is_dry, "Only say what would happen");
  frame.add_shared(command);
}

}  // namespace pawl::cli

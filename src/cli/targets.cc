#include "cli/targets.h"

#include <utility>

#include "cli/confirm.h"
#include "cli/find_run.h"
#include "cli/json_output.h"
#include "view/text.h"

namespace pawl::cli {

namespace json = boost::json;

namespace {

constexpr std::size_t kShownChars = 100;

bool has_filter(const Targets& targets) { return targets.all || !targets.filter.is_empty(); }

}  // namespace

void add_targets(Frame& frame, CLI::App* command, Targets& targets) {
  CLI::Option* ids = command->add_option("ids", targets.ids, "Ids of runs, in full");
  ids->type_name("ID");
  frame.set_values(ids, Values::kRunIds);
  add_run_number(command, targets.number);
  add_filter(frame, command, targets.filter);
  command->add_flag("--all", targets.all, "Every run that it can be done to");
  command->add_flag("--yes", targets.yes, "Do not ask before it is done to all that match");
}

Result<void> check_targets(const Targets& targets) {
  if (!targets.are_named() && !has_filter(targets)) {
    return make_error(ErrorCode::kInvalidArgument,
                      "name runs, or say which by a filter such as --kind; --all means every one");
  }
  if (targets.are_named() && has_filter(targets)) {
    return make_error(ErrorCode::kInvalidArgument,
                      "either name runs or give a filter, not both; nothing was done");
  }
  if (!targets.are_named() && targets.number != 0) {
    return make_error(ErrorCode::kInvalidArgument,
                      "--number is for runs that are named, not for a filter; nothing was done");
  }
  return {};
}

Result<std::vector<store::RunRow>> find_named(store::Store& store, const Targets& targets) {
  std::vector<store::RunRow> rows;
  for (const std::string& id : targets.ids) {
    PAWL_TRY_ASSIGN(store::RunRow row, find_run(store, {id, targets.number}, Match::kExact));
    rows.push_back(std::move(row));
  }
  return rows;
}

Result<view::RunQuery> target_query(const Targets& targets, const Console& console,
                                    const std::vector<store::RunStatus>& statuses) {
  PAWL_TRY_ASSIGN(view::RunQuery query, make_query(targets.filter, console));
  return targets.filter.has_status() ? query : query && status_query(statuses);
}

Result<bool> confirm_count(Console& console, const std::string& verb, std::int64_t count,
                           bool yes) {
  if (count == 0) {
    return true;
  }
  PAWL_TRY_ASSIGN(
      const bool is_meant,
      confirm(console, verb + " " + std::to_string(count) + (count == 1 ? " run?" : " runs?"),
              yes));
  if (!is_meant) {
    console.say("nothing was done");
  }
  return is_meant;
}

void Tally::add_skipped(const std::string& why, const std::string& id) {
  ++skipped_count_;
  Skipped& skipped = skipped_[why];
  if (skipped.count++ == 0) {
    skipped.first = id;
  }
}

void Tally::report(Console& console, const std::string& done) const {
  if (!console.is_table()) {
    json::object reasons;
    for (const auto& [why, skipped] : skipped_) {
      reasons[why] = skipped.count;
    }
    print_json(console,
               json::object{{"done", done_}, {"skipped", skipped_count_}, {"why", reasons}});
    return;
  }
  std::string line = done + " " + std::to_string(done_);
  for (const auto& [why, skipped] : skipped_) {
    line += ", skipped " + std::to_string(skipped.count) + " (" + why + ", e.g. " +
            view::line_text(skipped.first, kShownChars) + ")";
  }
  console.print(line + "\n");
}

}  // namespace pawl::cli

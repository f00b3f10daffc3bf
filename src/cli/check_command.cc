// pawl check
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <boost/json.hpp>

#include "cli/arguments.h"
#include "cli/check_report.h"
#include "cli/checked_program.h"
#include "cli/checked_runs.h"
#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "cli/json_output.h"
#include "cli/progress.h"
#include "cli/store_access.h"
#include "cli/table.h"
#include "format/payload_json.h"

namespace pawl::cli {

namespace {

namespace json = boost::json;

constexpr std::int64_t kTimeoutMax = 24 * 3600;

struct Arguments {
  std::string program;
  std::vector<std::string> program_arguments;
  std::vector<std::filesystem::path> paths;
  std::vector<std::string> kinds;
  std::int64_t timeout_s = 10;
};

json::object unchecked(const CheckedRun& run, std::string why) {
  json::object answer;
  answer["id"] = format::text_to_json(run.id);
  if (run.number > 0) {
    answer["number"] = run.number;
    answer["runId"] = run.uuid;
    answer["kind"] = format::text_to_json(run.kind);
    answer["status"] = store::status_name(run.status);
  }
  answer["verdict"] = "not_checked";
  answer["why"] = std::move(why);
  answer["warnings"] = json::array();
  answer["advice"] = json::array();
  return answer;
}

Result<json::object> check(CheckedProgram& program, const CheckedRun& run) {
  if (run.error) {
    json::object answer = unchecked(run, run.error->message);
    answer["verdict"] = "unreadable";
    return answer;
  }
  PAWL_TRY_ASSIGN(CheckedProgram::Reply reply, program.ask(run.request));
  if (reply.trouble.empty()) {
    reply.answer.erase("type");
    return std::move(reply.answer);
  }
  if (!reply.answer.empty()) {
    // It was known by then whether the run fits.
    reply.answer.erase("type");
    json::object warning;
    warning["code"] = "trouble";
    warning["text"] = "while changes to the code were tried: " + reply.trouble;
    if (json::value* warnings = reply.answer.if_contains("warnings");
        warnings != nullptr && warnings->is_array()) {
      warnings->get_array().push_back(std::move(warning));
    }
    return std::move(reply.answer);
  }
  json::object answer = unchecked(run, reply.trouble);
  if (const std::string printed = program.printed(); !printed.empty()) {
    answer["printed"] = printed;
  }
  return answer;
}

struct Checked {
  CheckReport report;
  json::array answers;  // For -o json.
};

Result<Checked> check_all(Console& console, CheckedProgram& program, CheckedRuns& runs) {
  PAWL_TRY(program.start());  // If it cannot, that is to be known even if there are no runs.
  PAWL_TRY_ASSIGN(const std::int64_t total, runs.count());
  Progress progress(console, "checking", total);
  Checked checked;
  for (std::int64_t done = 0; console.can_print(); ++done) {
    progress.show(done);
    PAWL_TRY_ASSIGN(const std::optional<CheckedRun> run, runs.next());
    if (!run) {
      break;
    }
    PAWL_TRY_ASSIGN(json::object answer, check(program, *run));
    checked.report.add(*run, answer);
    if (console.is_jsonl()) {
      print_json(console, answer);
    } else if (console.is_json()) {
      checked.answers.push_back(std::move(answer));
    }
  }
  return checked;
}

Result<Checked> check_source(Console& console, CheckedProgram& program,
                             const Arguments& arguments) {
  if (!arguments.paths.empty()) {
    PAWL_TRY_ASSIGN(const std::unique_ptr<CheckedRuns> runs,
                    exported_runs(arguments.paths, arguments.kinds));
    return check_all(console, program, *runs);
  }
  PAWL_TRY_ASSIGN(const auto store, open_store(console.shared(), Access::kLook));
  return check_all(console, program, *open_runs_of(*store, arguments.kinds));
}

void print_table(Console& console, const CheckReport& report) {
  Table table({"RUN", "KIND", "CHECK", ""});
  for (const CheckReport::Row& row : report.rows()) {
    const Tone tone = row.outcome == CheckOutcome::kFits     ? Tone::kGood
                      : row.outcome == CheckOutcome::kMisfit ? Tone::kBad
                                                             : Tone::kOdd;
    table.add({{row.run}, {row.kind}, {row.check, tone}, {row.note}});
  }
  if (!table.is_empty()) {
    table.print(console);
  }
  console.print(report.details());
  console.print((table.is_empty() ? "" : "\n") + report.summary() + "\n");
}

Result<int> run(Console& console, const Arguments& arguments) {
  if (!arguments.paths.empty() && !console.shared().store.empty()) {
    return make_error(ErrorCode::kInvalidArgument,
                      "check either the open runs of a store or exported ones: --store, or files");
  }
  std::vector<std::string> command{arguments.program};
  command.insert(command.end(), arguments.program_arguments.begin(),
                 arguments.program_arguments.end());
  CheckedProgram program(std::move(command), std::chrono::seconds(arguments.timeout_s));
  Result<Checked> checked = check_source(console, program, arguments);
  if (!checked) {
    const int code = console.tell(checked.error());
    if (const std::string printed = program.printed(); !printed.empty()) {
      console.say("it printed:\n" + printed.substr(0, printed.size() - 1));
    }
    return code;
  }
  const CheckReport& report = checked->report;
  if (console.is_table()) {
    print_table(console, report);
  } else if (console.is_json()) {
    json::object all;
    all["runs"] = std::move(checked->answers);
    all["summary"] = report.summary_json();
    print_json(console, all);
  }
  if (report.count(CheckOutcome::kMisfit) > 0) {
    return kExitMisfits;
  }
  return report.count(CheckOutcome::kUnchecked) > 0 ? kExitFailure : kExitOk;
}

}  // namespace

void add_check_command(Frame& frame) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = frame.add(
      {.name = "check",
       .group = kOperate,
       .summary = "Say for each open run whether another build of its program could go on with it.",
       .examples = "pawl check --with build/shop --store sqlite:shop.db\n"
                   "pawl check --with build/shop --arg=--config=shop.toml corpus/\n",
       .details = "The program's main calls pawl::answer_check(registry) first; see "
                  "docs/checking.md.\n"
                  "Exit codes: 0 all fit, 5 some do not, 1 some could not be checked."},
      [arguments](Console& console) { return run(console, *arguments); });
  command->add_option("--with", arguments->program, "The program; no activity of it is executed")
      ->required()
      ->type_name("PROGRAM");
  command->add_option("--arg", arguments->program_arguments, "For the program; may be repeated")
      ->take_all()
      ->allow_extra_args(false)
      ->type_name("TEXT");
  CLI::Option* paths = command->add_option("paths", arguments->paths,
                                           "Exported runs, instead of a store: files, or folders "
                                           "with *.json files");
  paths->type_name("PATH");
  frame.set_values(paths, Values::kFiles);
  CLI::Option* kinds =
      command->add_option("--kind", arguments->kinds, "Only runs of this kind; may be repeated");
  kinds->take_all()->allow_extra_args(false)->type_name("KIND");
  frame.set_values(kinds, Values::kKinds);
  command->add_option("--timeout", arguments->timeout_s, "Seconds for one run (default 10)")
      ->check(whole_number(kTimeoutMax))
      ->type_name("S");
  frame.add_shared(command);
}

}  // namespace pawl::cli

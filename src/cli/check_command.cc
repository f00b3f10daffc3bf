#include "cli/check_command.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <boost/json.hpp>

#include "cli/arguments.h"
#include "cli/check_report.h"
#include "cli/checked_program.h"
#include "cli/checked_runs.h"
#include "format/payload_json.h"
#include "store/sqlite/sqlite_store.h"
#include "view/text.h"

namespace pawl::cli {

struct CheckArguments {
  CLI::App* command = nullptr;
  std::string program;
  std::vector<std::string> program_arguments;
  std::string store;
  std::vector<std::filesystem::path> paths;
  std::vector<std::string> kinds;
  std::int64_t timeout_s = 10;
  std::string output = "table";
};

namespace {

namespace json = boost::json;

constexpr int kExitFits = 0;
constexpr int kExitFailure = 1;
constexpr int kExitUsage = 2;
constexpr int kExitMisfits = 5;

constexpr std::size_t kMessageCharsMax = 500;
constexpr std::int64_t kTimeoutMax = 24 * 3600;

Result<std::unique_ptr<store::Store>> open_existing(const std::string& url) {
  PAWL_TRY_ASSIGN(store::SqliteOptions options, store::parse_sqlite_url(url));
  std::error_code error;
  if (!std::filesystem::exists(options.path, error)) {
    return make_error(ErrorCode::kNotFound, "there is no file '" + options.path + "'");
  }
  options.read_only = true;  // Whoever only looks changes nothing.
  return store::open_sqlite(std::move(options));
}

// How far it is, for somebody who looks.
class Progress {
 public:
  explicit Progress(std::int64_t total)
      : total_(total), is_shown_(::isatty(STDERR_FILENO) == 1 && ::isatty(STDOUT_FILENO) == 1) {}
  ~Progress() {
    if (has_line_) {
      std::fputs("\r\x1b[K", stderr);
    }
  }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void show(std::int64_t done) {
    const auto now = std::chrono::steady_clock::now();
    if (is_shown_ && now - last_ > std::chrono::milliseconds(200)) {
      last_ = now;
      has_line_ = true;
      std::fprintf(stderr, "\r\x1b[Kchecking %lld of %lld", static_cast<long long>(done),
                   static_cast<long long>(total_));
    }
  }

 private:
  const std::int64_t total_;
  const bool is_shown_;
  bool has_line_ = false;
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

// Counted in characters, which is what most terminals need for them.
std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0U) != 0x80U; }));
}

std::string padded(const std::string& text, std::size_t width) {
  return text + std::string(width - std::min(width, width_of(text)), ' ');
}

void print_table(const CheckReport& report) {
  std::size_t run_width = 3;
  std::size_t kind_width = 4;
  std::size_t check_width = 5;
  for (const CheckReport::Row& row : report.rows()) {
    run_width = std::max(run_width, width_of(row.run));
    kind_width = std::max(kind_width, width_of(row.kind));
    check_width = std::max(check_width, width_of(row.check));
  }
  const auto print_row = [&](const CheckReport::Row& row) {
    std::string line = padded(row.run, run_width) + "  " + padded(row.kind, kind_width) + "  " +
                       padded(row.check, check_width) + "  " + row.note;
    line.erase(line.find_last_not_of(' ') + 1);
    std::cout << line << '\n';
  };
  if (!report.rows().empty()) {
    print_row({"RUN", "KIND", CheckOutcome::kFits, "CHECK", ""});
  }
  std::ranges::for_each(report.rows(), print_row);
  std::cout << report.details() << (report.rows().empty() ? "" : "\n") << report.summary() << '\n';
}

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

Result<CheckReport> check_all(const CheckArguments& arguments, CheckedProgram& program,
                              CheckedRuns& runs, json::array& answers) {
  PAWL_TRY(program.start());  // If it cannot, that is to be known even if there are no runs.
  PAWL_TRY_ASSIGN(const std::int64_t total, runs.count());
  Progress progress(total);
  CheckReport report;
  std::int64_t done = 0;
  while (true) {
    progress.show(done++);
    PAWL_TRY_ASSIGN(const std::optional<CheckedRun> run, runs.next());
    if (!run) {
      return report;
    }
    PAWL_TRY_ASSIGN(json::object answer, check(program, *run));
    report.add(*run, answer);
    if (arguments.output == "jsonl") {
      std::cout << json::serialize(answer) << '\n' << std::flush;
    } else if (arguments.output == "json") {
      answers.push_back(std::move(answer));
    }
  }
}

Result<CheckReport> check_source(const CheckArguments& arguments, CheckedProgram& program,
                                 json::array& answers) {
  if (!arguments.store.empty()) {
    PAWL_TRY_ASSIGN(const std::unique_ptr<store::Store> store, open_existing(arguments.store));
    return check_all(arguments, program, *open_runs_of(*store, arguments.kinds), answers);
  }
  PAWL_TRY_ASSIGN(const std::unique_ptr<CheckedRuns> runs,
                  exported_runs(arguments.paths, arguments.kinds));
  return check_all(arguments, program, *runs, answers);
}

}  // namespace

std::shared_ptr<CheckArguments> add_check_command(CLI::App& app) {
  auto arguments = std::make_shared<CheckArguments>();
  CLI::App* command = app.add_subcommand(
      "check", "Say for each open run whether another build of its program could go on with it.");
  arguments->command = command;
  command->add_option("--with", arguments->program, "The program; nothing of it is executed")
      ->required()
      ->type_name("PROGRAM");
  command->add_option("--arg", arguments->program_arguments, "For the program; may be repeated")
      ->take_all()
      ->allow_extra_args(false)
      ->type_name("TEXT");
  CLI::Option* store =
      command->add_option("--store", arguments->store, "Open runs of this store: its URL")
          ->type_name("URL");
  command->add_option("paths", arguments->paths, "Exported runs: files, or folders with *.json")
      ->excludes(store)
      ->type_name("FILE");
  command->add_option("--kind", arguments->kinds, "Only runs of this kind; may be repeated")
      ->take_all()
      ->allow_extra_args(false)
      ->type_name("KIND");
  command->add_option("--timeout", arguments->timeout_s, "Seconds for one run (default 10)")
      ->check(whole_number(kTimeoutMax))
      ->type_name("S");
  command->add_option("-o,--output", arguments->output, "table, json or jsonl")
      ->check(CLI::IsMember({"table", "json", "jsonl"}))
      ->type_name("FORM");
  command->footer(
      "Examples:\n"
      "  pawl check --with build/shop --store sqlite:shop.db\n"
      "  pawl check --with build/shop --arg=--config=shop.toml corpus/\n"
      "\nThe program's main calls pawl::answer_check(registry) first; see docs/checking.md.\n"
      "Exit codes: 0 all fit, 5 some do not, 1 some could not be checked.");
  return arguments;
}

int run_check_command(const CheckArguments& arguments) {
  if (arguments.store.empty() && arguments.paths.empty()) {
    std::fputs("pawl: check what? Say --store URL, or files of exported runs\n", stderr);
    return kExitUsage;
  }
  json::array answers;
  std::vector<std::string> command{arguments.program};
  command.insert(command.end(), arguments.program_arguments.begin(),
                 arguments.program_arguments.end());
  CheckedProgram program(std::move(command), std::chrono::seconds(arguments.timeout_s));
  const Result<CheckReport> report = check_source(arguments, program, answers);
  if (!report) {
    const std::string printed = program.printed();
    std::fprintf(stderr, "pawl: %s\n%s%s",
                 view::line_text(report.error().message, kMessageCharsMax).c_str(),
                 printed.empty() ? "" : "it printed:\n", printed.c_str());
    return kExitFailure;
  }
  if (arguments.output == "table") {
    print_table(*report);
  } else if (arguments.output == "json") {
    json::object all;
    all["runs"] = std::move(answers);
    all["summary"] = report->summary_json();
    std::cout << json::serialize(all) << '\n';
  }
  std::cout << std::flush;
  if (!std::cout) {
    return kExitFailure;
  }
  if (report->count(CheckOutcome::kMisfit) > 0) {
    return kExitMisfits;
  }
  return report->count(CheckOutcome::kUnchecked) > 0 ? kExitFailure : kExitFits;
}

}  // namespace pawl::cli

// pawl check
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <variant>
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
  std::size_t jobs = 1;
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

// Runs are given to several programs, each with a thread of its own, and told of in their order.
class Check {
 public:
  Check(Console& console, CheckedRuns& runs, std::int64_t total)
      : console_(console), runs_(runs), progress_(console, "checking", total) {}

  // Until there are no more runs, or something is wrong; then `program` knows what it has printed.
  Result<void> work(CheckedProgram& program) {
    while (true) {
      PAWL_TRY_ASSIGN(std::optional<Job> job, next());
      if (!job) {
        return {};
      }
      Result<json::object> answer = check(program, job->run);
      const std::scoped_lock lock(mutex_);
      if (!answer) {
        is_over_ = true;
        return answer.error();
      }
      job->answer = *std::move(answer);
      const std::uint64_t place = job->place;
      done_.emplace(place, *std::move(job));
      tell();
    }
  }

  Checked take() { return std::move(checked_); }

 private:
  struct Job {
    std::uint64_t place = 0;
    CheckedRun run;
    json::object answer;
  };

  Result<std::optional<Job>> next() {
    const std::scoped_lock lock(mutex_);
    is_over_ = is_over_ || !console_.can_print();
    if (is_over_) {
      return std::optional<Job>();
    }
    Result<std::optional<CheckedRun>> run = runs_.next();
    is_over_ = !run || !*run;
    if (!run) {
      return run.error();
    }
    return *run ? std::optional(Job{given_++, **std::move(run), {}}) : std::nullopt;
  }

  // All that is done up to the first that is not.
  void tell() {
    while (!done_.empty() && done_.begin()->first == told_) {
      Job job = std::move(done_.begin()->second);
      done_.erase(done_.begin());
      ++told_;
      checked_.report.add(job.run, job.answer);
      if (console_.is_jsonl()) {
        print_json(console_, job.answer);
      } else if (console_.is_json()) {
        checked_.answers.push_back(std::move(job.answer));
      }
    }
    progress_.show(static_cast<std::int64_t>(told_));
  }

  std::mutex mutex_;
  Console& console_;
  CheckedRuns& runs_;
  Progress progress_;
  bool is_over_ = false;
  std::uint64_t given_ = 0;
  std::uint64_t told_ = 0;
  std::map<std::uint64_t, Job> done_;  // And not told of, since an earlier one takes long.
  Checked checked_;
};

using Programs = std::vector<std::unique_ptr<CheckedProgram>>;

struct Trouble {
  Error error;
  std::string printed;  // By the program that it is about.
};

// As many threads as programs. Where something is wrong, the first of it.
std::variant<Checked, Trouble> check_all(Console& console, const Programs& programs,
                                         CheckedRuns& runs) {
  const auto trouble = [](const Error& error, const CheckedProgram& program) {
    return Trouble{error, program.printed()};
  };
  // If it cannot be started, that is to be known even if there are no runs.
  if (const Result<void> started = programs.front()->start(); !started) {
    return trouble(started.error(), *programs.front());
  }
  const Result<std::int64_t> total = runs.count();
  if (!total) {
    return Trouble{total.error(), ""};
  }
  Check check(console, runs, *total);
  std::vector<Result<void>> ends(programs.size(), Result<void>());
  std::vector<std::thread> threads;
  for (std::size_t i = 1; i < programs.size(); ++i) {
    threads.emplace_back([&, i] { ends[i] = check.work(*programs[i]); });
  }
  ends[0] = check.work(*programs[0]);
  for (std::thread& thread : threads) {
    thread.join();
  }
  for (std::size_t i = 0; i < programs.size(); ++i) {
    if (!ends[i]) {
      return trouble(ends[i].error(), *programs[i]);
    }
  }
  return check.take();
}

std::variant<Checked, Trouble> check_source(Console& console, const Programs& programs,
                                            const Arguments& arguments) {
  if (!arguments.paths.empty()) {
    const Result<std::unique_ptr<CheckedRuns>> runs =
        exported_runs(arguments.paths, arguments.kinds);
    return runs ? check_all(console, programs, **runs) : Trouble{runs.error(), ""};
  }
  const auto store = open_store(console, Access::kLook);
  return store ? check_all(console, programs, *open_runs_of(**store, arguments.kinds))
               : Trouble{store.error(), ""};
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
  Programs programs;
  for (std::size_t i = 0; i < arguments.jobs; ++i) {
    programs.push_back(
        std::make_unique<CheckedProgram>(command, std::chrono::seconds(arguments.timeout_s)));
  }
  std::variant<Checked, Trouble> done = check_source(console, programs, arguments);
  if (const auto* trouble = std::get_if<Trouble>(&done)) {
    const int code = console.tell(trouble->error);
    if (const std::string& printed = trouble->printed; !printed.empty()) {
      console.say("it printed:\n" + printed.substr(0, printed.size() - 1));
    }
    return code;
  }
  Checked* const checked = &std::get<Checked>(done);
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
  command
      ->add_option("-j,--jobs", arguments->jobs,
                   "Processes of the program that check at the same time (default 1)")
      ->check(whole_number(kCheckedProgramsMax))
      ->type_name("N");
  frame.add_shared(command);
}

}  // namespace pawl::cli

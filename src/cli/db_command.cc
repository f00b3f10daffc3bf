// pawl db
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <boost/json.hpp>

#include "audit/audit.h"
#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "cli/find_run.h"
#include "cli/json_output.h"
#include "cli/progress.h"
#include "cli/store_access.h"
#include "view/text.h"

namespace pawl::cli {

namespace {

namespace json = boost::json;

constexpr std::size_t kShownChars = 400;

struct Arguments {
  std::string action;
  RunName run;
  bool is_quick = false;
};

// What was found, told as it comes.
class Findings {
 public:
  explicit Findings(Console& console) : console_(console) {}

  void set_namespace(std::string name) { name_space_ = std::move(name); }

  void add(const audit::Finding& finding) {
    ++count_;
    if (console_.is_table()) {
      std::string line = audit::place_of(finding) + ": " + finding.what;
      if (has_many_namespaces && !name_space_.empty()) {
        line = "namespace '" + name_space_ + "', " + line;
      }
      line += finding.advice.empty() ? "" : "; " + finding.advice;
      console_.print(view::line_text(line, kShownChars) + "\n");
      return;
    }
    json::object object;
    object["namespace"] = as_utf8(name_space_);
    object["rule"] = finding.rule;
    object["id"] = finding.id.empty() ? json::value() : json::value(as_utf8(finding.id));
    object["number"] = finding.number == 0 ? json::value() : json::value(finding.number);
    object["run"] = finding.run == 0 ? json::value() : json::value(finding.run);
    object["seq"] = finding.seq ? json::value(*finding.seq) : json::value();
    object["what"] = as_utf8(finding.what);
    object["advice"] = as_utf8(finding.advice);
    if (console_.is_jsonl()) {
      print_json(console_, object);
    } else {
      list_.push_back(std::move(object));
    }
  }

  void finish(std::int64_t runs) {
    if (console_.is_table()) {
      const auto looked_at = static_cast<std::uint64_t>(runs);
      console_.print((count_ == 0
                          ? "nothing is wrong"
                          : view::count_text(count_, "thing is wrong", "things are wrong")) +
                     "; looked at " + view::count_text(looked_at, "run", "runs") + "\n");
    } else if (console_.is_json()) {
      json::object all;
      all["findings"] = std::move(list_);
      all["runs"] = runs;
      print_json(console_, all);
    }
  }

  std::uint64_t count() const { return count_; }

  bool has_many_namespaces = false;

 private:
  Console& console_;
  std::string name_space_;
  std::uint64_t count_ = 0;
  json::array list_;
};

Result<void> check_medium(store::Store& store, Findings& findings) {
  PAWL_TRY_ASSIGN(const std::vector<std::string> sentences, store.catalog().check_medium());
  for (const std::string& sentence : sentences) {
    audit::Finding finding;
    finding.rule = "damaged_database";
    finding.what = sentence;
    finding.advice = "stop the programs that use it, and restore a copy";
    findings.add(finding);
  }
  return {};
}

// Those of the database, unless the URL names one, or a run is named.
Result<std::vector<std::string>> namespaces(Console& console, store::Store& store,
                                            const Arguments& arguments) {
  PAWL_TRY_ASSIGN(std::vector<std::string> names, store.catalog().list_namespaces());
  const bool is_named = store_url(console.shared()).find("namespace=") != std::string::npos;
  if ((is_named || !arguments.run.id.empty()) && names.size() > 1) {
    names.resize(1);
  }
  return names;
}

// Whether somebody still reads what is printed.
Result<bool> check_namespace(Console& console, store::Store& store, const Arguments& arguments,
                             Findings& findings, std::int64_t& runs) {
  audit::Options options;
  options.now_ms = console.now_ms();
  options.reads_logs = !arguments.is_quick;
  std::int64_t total = 1;
  if (arguments.run.id.empty()) {
    PAWL_TRY_ASSIGN(total, store.catalog().count_runs({}));
  } else {
    PAWL_TRY_ASSIGN(const store::RunRow row, find_run(store, arguments.run, Match::kPrefix));
    options.only = row.key;
  }
  Progress progress(console, "checking", total);
  audit::Tell tell;
  tell.finding = [&](const audit::Finding& finding) { findings.add(finding); };
  tell.progress = [&](std::int64_t done) {
    progress.show(done);
    return console.can_print();
  };
  PAWL_TRY_ASSIGN(const std::int64_t looked_at, audit::audit(store, options, tell));
  runs += looked_at;
  return console.can_print();
}

Result<int> run(Console& console, const Arguments& arguments) {
  if (arguments.run.id.empty() && arguments.run.number != 0) {
    return make_error(ErrorCode::kInvalidArgument, "--number is for the run that --run names");
  }
  PAWL_TRY_ASSIGN(const auto store, open_store(console, Access::kLook));
  Findings findings(console);
  if (!arguments.is_quick && arguments.run.id.empty()) {
    PAWL_TRY(check_medium(*store, findings));
  }
  PAWL_TRY_ASSIGN(const std::vector<std::string> names, namespaces(console, *store, arguments));
  findings.has_many_namespaces = names.size() > 1;
  std::int64_t runs = 0;
  bool goes_on = true;
  for (std::size_t i = 0; i < names.size() && goes_on; ++i) {
    findings.set_namespace(names[i]);
    if (i == 0) {
      PAWL_TRY_ASSIGN(goes_on, check_namespace(console, *store, arguments, findings, runs));
      continue;
    }
    PAWL_TRY_ASSIGN(const auto other, open_store(console.shared(), Access::kLook, names[i]));
    PAWL_TRY_ASSIGN(goes_on, check_namespace(console, *other, arguments, findings, runs));
  }
  findings.finish(runs);
  return findings.count() > 0 ? kExitMisfits : kExitOk;
}

}  // namespace

void add_db_command(Frame& frame) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = frame.add(
      {.name = "db",
       .group = kOperate,
       .summary = "Look through a whole database for anything that is not as it has to be.",
       .examples = "pawl db check --store sqlite:shop.db\n"
                   "pawl db check --quick\n"
                   "pawl db check --run order-17\n",
       .details = "Nothing is changed, and programs may work on the database meanwhile. Each "
                  "finding is a\nline that says what to do. All namespaces are looked at, unless "
                  "the store's URL names one.\nExit codes: 0 nothing is wrong, 5 something is."},
      [arguments](Console& console) { return run(console, *arguments); });
  command->add_option("action", arguments->action, "check")
      ->required()
      ->check(CLI::IsMember({"check"}))
      ->type_name("ACTION");
  command->add_flag("--quick", arguments->is_quick,
                    "Compare rows only: neither logs nor the file itself are read through");
  CLI::Option* id =
      command->add_option("--run", arguments->run.id, "Only this run and what belongs to it");
  id->check(not_blank())->type_name("ID");
  frame.set_values(id, Values::kRunIds);
  add_run_number(command, arguments->run.number);
  frame.add_store(command);
  frame.add_output(command);
}

}  // namespace pawl::cli

// pawl start
#include <memory>
#include <string>
#include <vector>

#include "cli/arguments.h"
#include "cli/client.h"
#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "cli/json_argument.h"
#include "cli/json_output.h"
#include "cli/outcome_output.h"
#include "cli/store_access.h"
#include "cli/tag_argument.h"
#include "view/moments.h"
#include "view/text.h"

namespace pawl::cli {

namespace {

constexpr std::size_t kShownChars = 1000;

struct Arguments {
  std::string kind;
  std::string id;
  std::string input = "null";
  std::vector<std::string> tags;
  std::string on_existing = "return";
  std::string signal;
  bool wait = false;
  std::string timeout;
};

store::OnExisting on_existing(const std::string& name) {
  return name == "fail"      ? store::OnExisting::kFail
         : name == "replace" ? store::OnExisting::kReplace
                             : store::OnExisting::kReturn;
}

Result<store::NewArrival> parse_signal(const std::string& argument) {
  const std::size_t equals = argument.find('=');
  const std::string name = argument.substr(0, equals);
  if (name.empty()) {
    return make_error(ErrorCode::kInvalidArgument, "--signal: NAME or NAME=JSON is wanted");
  }
  std::string payload = "null";
  if (equals != std::string::npos) {
    PAWL_TRY_ASSIGN(payload,
                    read_json_argument(argument.substr(equals + 1), "the signal '" + name + "'"));
  }
  return signal_arrival(name, std::move(payload), {});
}

Result<int> run(Console& console, const Arguments& arguments) {
  StartRequest request;
  if (arguments.kind.empty()) {
    return make_error(ErrorCode::kInvalidArgument, "the kind of workflow is empty");
  }
  request.kind = arguments.kind;
  request.id = arguments.id;
  request.on_existing = on_existing(arguments.on_existing);
  PAWL_TRY_ASSIGN(request.input, read_json_argument(arguments.input, "the input"));
  PAWL_TRY_ASSIGN(request.tags, parse_tags(arguments.tags));
  if (!arguments.signal.empty()) {
    PAWL_TRY_ASSIGN(request.signal, parse_signal(arguments.signal));
  }
  std::int64_t limit_ms = -1;
  if (!arguments.timeout.empty()) {
    PAWL_TRY_ASSIGN(limit_ms, view::parse_duration(arguments.timeout));
  }
  PAWL_TRY_ASSIGN(const auto store, open_store(console, Access::kChange));
  PAWL_TRY_ASSIGN(StartedRun started, start_run(*store, std::move(request), console.now_ms()));
  if (arguments.wait) {
    PAWL_TRY_ASSIGN(const Outcome outcome, wait_for_end(*store, std::move(started.row), limit_ms));
    return print_outcome(console, outcome);
  }
  if (console.is_table()) {
    console.print((started.is_new ? "started " : "is there already: ") +
                  view::line_text(started.row.id, kShownChars) + "\n");
  } else {
    auto object = run_json(started.row);
    object["isNew"] = started.is_new;
    print_json(console, object);
  }
  return kExitOk;
}

}  // namespace

void add_start_command(Frame& frame) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = frame.add(
      {.name = "start",
       .group = kChange,
       .summary = "Start a run of a workflow, for whoever has that kind.",
       .examples = "pawl start fulfil --id order-17 -i '{\"item\": \"lamp\", \"cents\": 1999}'\n"
                   "pawl start fulfil --id order-18 -i @order.json --tag customer=7 --tag eu=yes\n"
                   "echo '[1, 2]' | pawl start sum -i - --wait --timeout 10s\n"
                   "pawl start fulfil --id order-17 --signal approved=true --on-existing fail\n",
       .details = "The run waits in the store until a program that has this kind takes it. With\n"
                  "--wait the result is printed as by 'pawl result', with its exit codes."},
      [arguments](Console& console) { return run(console, *arguments); });
  CLI::Option* kind =
      command->add_option("kind", arguments->kind, "Kind of the workflow")->required();
  kind->type_name("KIND");
  frame.set_values(kind, Values::kKinds);
  command->add_option("--id", arguments->id, "Id of the run (default: a new UUID)")
      ->check(not_blank())
      ->type_name("ID");
  command
      ->add_option("-i,--input", arguments->input,
                   "Input: JSON, @FILE, or - for standard input (default: null)")
      ->type_name("JSON");
  command->add_option("--tag", arguments->tags, "A tag, NAME=VALUE; may be given again")
      ->expected(1)
      ->allow_extra_args(false)
      ->take_all()
      ->type_name("TAG");
  command
      ->add_option("--on-existing", arguments->on_existing,
                   "If the id is taken: return that run, fail, or replace it (which terminates it)")
      ->check(CLI::IsMember({"return", "fail", "replace"}))
      ->type_name("WHAT");
  command
      ->add_option("--signal", arguments->signal,
                   "Send a signal in the same commit, to a new run or one that is there")
      ->check(not_blank())
      ->type_name("NAME[=JSON]");
  command->add_flag("--wait", arguments->wait, "Wait for the end, and print the result");
  command->add_option("--timeout", arguments->timeout, "Of --wait, e.g. 30s (default: none)")
      ->check(not_blank())
      ->type_name("DURATION");
  frame.add_store(command);
  frame.add_output(command);
}

}  // namespace pawl::cli

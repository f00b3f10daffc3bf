// pawl history
#include <memory>
#include <string>

#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "cli/find_run.h"
#include "cli/store_access.h"
#include "portable/run_document.h"
#include "view/history.h"
#include "view/text.h"

namespace pawl::cli {

namespace {

struct Arguments {
  RunName run;
  std::string output = "text";
};

constexpr std::size_t kPayloadCharsMax = 100;

Result<int> run(Console& console, const Arguments& arguments) {
  PAWL_TRY_ASSIGN(const auto store, open_store(console.shared(), Access::kLook));
  PAWL_TRY_ASSIGN(const store::RunRow row, find_run(*store, arguments.run, Match::kPrefix));
  if (arguments.output == "json") {
    PAWL_TRY_ASSIGN(const portable::RunDocument document, portable::read_document(*store, row.key));
    console.print(portable::to_json(document));
    return kExitOk;
  }
  PAWL_TRY_ASSIGN(const view::History history, view::read_history(*store, row));
  console.print(view::history_tree(
      history, {.now_ms = console.now_ms(), .payload_chars_max = kPayloadCharsMax}));
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
       .details = "The JSON form is that of pawl export: docs/formats/run.md",
       .aliases = {"show"}},
      [arguments](Console& console) { return run(console, *arguments); });
  add_run_name(frame, command, arguments->run);
  frame.add_store(command);
  command->add_option("-o,--output", arguments->output, "text or json")
      ->check(CLI::IsMember({"text", "json"}))
      ->type_name("FORM");
}

}  // namespace pawl::cli

// pawl history
#include <algorithm>
#include <limits>
#include <memory>
#include <string>

#include <boost/json.hpp>

#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "cli/find_run.h"
#include "cli/follow.h"
#include "cli/store_access.h"
#include "format/entry_json.h"
#include "format/json_printer.h"
#include "portable/run_document.h"
#include "view/history.h"
#include "view/shell_word.h"

namespace pawl::cli {

namespace {

struct Arguments {
  RunName run;
  std::string output = "text";
  bool as_json = false;
  bool follow = false;
  std::size_t tail = 0;
  bool full = false;
  bool sources = false;
  bool forgotten = false;
};

constexpr std::size_t kPayloadCharsMax = 100;
// On a screen, values give way to its width; longer ones than this are for --full.
constexpr std::size_t kPayloadCharsMaxOnScreen = 400;

view::HistoryOptions view_options(const Console& console, const Arguments& arguments) {
  view::HistoryOptions options;
  const std::size_t columns = console.width();
  options.now_ms = console.now_ms();
  options.columns_max = arguments.full ? 0 : columns;
  options.payload_chars_max = arguments.full ? view::kNoLimit
                              : columns > 0  ? kPayloadCharsMaxOnScreen
                                             : kPayloadCharsMax;
  options.lines_max = arguments.tail;
  options.in_color = console.has_colors();
  options.zone = console.zone();
  options.with_sources = arguments.sources;
  if (!console.shared().store.empty()) {
    options.look_command += " --store " + view::shell_word(console.shared().store);
  }
  return options;
}

Result<void> print_entries(Console& console, store::Store& store, const store::RunRow& row,
                           const Arguments& arguments) {
  PAWL_TRY_ASSIGN(const view::History history, view::read_history(store, row, arguments.forgotten));
  const replay::Log& log = history.log;
  const std::size_t count = arguments.tail == 0 ? log.size() : std::min(log.size(), arguments.tail);
  for (std::size_t id = log.size() - count; id < log.size() && console.can_print(); ++id) {
    replay::Log::EntryTexts texts;
    const replay::Entry entry = log.entry(static_cast<replay::RecordId>(id), texts);
    console.print(format::print_json(format::entry_to_json(entry)) + "\n");
  }
  return {};
}

Result<int> run(Console& console, const Arguments& arguments) {
  const auto open = [&] { return open_store(console, Access::kLook); };
  PAWL_TRY_ASSIGN(const auto store, open());
  PAWL_TRY_ASSIGN(const store::RunRow row, find_run(*store, arguments.run, Match::kPrefix));
  const bool as_jsonl = arguments.output == "jsonl";
  if (arguments.follow) {
    PAWL_TRY(follow(console, open, row, {view_options(console, arguments), as_jsonl}));
    return kExitOk;
  }
  if (as_jsonl) {
    PAWL_TRY(print_entries(console, *store, row, arguments));
    return kExitOk;
  }
  if (arguments.output == "json") {
    PAWL_TRY_ASSIGN(const portable::RunDocument document, portable::read_document(*store, row.key));
    console.print(portable::to_json(document));
    return kExitOk;
  }
  PAWL_TRY_ASSIGN(const view::History history,
                  view::read_history(*store, row, arguments.forgotten));
  view::print_history(history, view_options(console, arguments),
                      [&console](std::string_view text) { console.print(text); });
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
                   "pawl history order-17 --follow\n"
                   "pawl history order-17 --tail 20 --source\n"
                   "pawl history order-17 -o json\n"
                   "pawl history -- -odd-id\n",
       .details = "The JSON form: docs/formats/run.md; jsonl has a line for each entry of the log.",
       .aliases = {"show"}},
      [arguments](Console& console) { return run(console, *arguments); });
  add_run_name(frame, command, arguments->run);
  frame.add_store(command);
  CLI::Option* output = command->add_option("-o,--output", arguments->output, "Form of the output")
                            ->check(CLI::IsMember({"text", "json", "jsonl"}))
                            ->type_name("FORM");
  command->add_flag("--json", arguments->as_json, "The same as -o json")->excludes(output);
  command->add_flag("-f,--follow", arguments->follow,
                    "Print a line for each entry, and go on until the run is closed");
  command->add_option("--tail,--limit", arguments->tail, "Only the last N lines")
      ->check(whole_number(std::numeric_limits<std::uint32_t>::max()))
      ->type_name("N");
  command->add_flag("--full", arguments->full, "Values in full, however long they are");
  command->add_flag("--source", arguments->sources, "The source line of each step");
  command->add_flag("--forgotten", arguments->forgotten,
                    "Also what loops have forgotten, as far as it is kept");
  frame.add_looks(command);
  command->callback([arguments] {
    if (arguments->as_json) {
      arguments->output = "json";
    }
    if (arguments->follow && arguments->output == "json") {
      throw CLI::ValidationError("--follow", "prints line by line: use -o jsonl");
    }
  });
}

}  // namespace pawl::cli

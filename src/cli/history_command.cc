#include "cli/history_command.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

#include <CLI/CLI.hpp>
#include <boost/json.hpp>

#include "cli/arguments.h"
#include "cli/follow.h"
#include "format/entry_json.h"
#include "format/json_printer.h"
#include "portable/run_document.h"
#include "store/sqlite/sqlite_store.h"
#include "view/history.h"
#include "view/paint.h"
#include "view/text.h"

namespace pawl::cli {

struct HistoryArguments {
  std::string id;
  std::string store;
  std::uint32_t number = 0;
  std::string output = "text";
  bool as_json = false;
  bool follow = false;
  std::size_t tail = 0;
  bool full = false;
  bool sources = false;
  bool forgotten = false;
  bool utc = false;
  std::string color = "auto";
};

namespace {

constexpr std::size_t kPayloadCharsMax = 100;
constexpr std::size_t kMessageCharsMax = 500;
// On a screen, values give way to its width; longer ones than this are for --full.
constexpr std::size_t kPayloadCharsMaxOnScreen = 400;

Result<std::unique_ptr<store::Store>> open_existing(const std::string& url) {
  PAWL_TRY_ASSIGN(store::SqliteOptions options, store::parse_sqlite_url(url));
  std::error_code error;
  if (!std::filesystem::exists(options.path, error)) {
    return make_error(ErrorCode::kNotFound, "there is no file '" + options.path + "'");
  }
  options.read_only = true;  // Whoever only looks changes nothing.
  return store::open_sqlite(std::move(options));
}

Result<store::RunRow> find(store::Store& store, const HistoryArguments& arguments) {
  PAWL_TRY_ASSIGN(
      std::optional<store::RunRow> row,
      store.find_run(arguments.id,
                     arguments.number == 0 ? std::nullopt : std::optional(arguments.number)));
  if (!row) {
    const std::string number =
        arguments.number == 0 ? "" : " with the number " + std::to_string(arguments.number);
    return make_error(ErrorCode::kNotFound, "there is no run '" + arguments.id + "'" + number);
  }
  return *std::move(row);
}

// The whole run, for other programs: docs/formats/run.md.
Result<std::string> export_run(store::Store& store, const store::RunRow& run) {
  PAWL_TRY_ASSIGN(const portable::RunDocument document, portable::read_document(store, run.key));
  return portable::to_json(document);
}

std::int64_t now_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

// Columns of the screen; 0: it is none.
std::size_t screen_columns() {
  winsize size{};
  constexpr std::size_t kUsual = 80;
  if (isatty(STDOUT_FILENO) == 0) {
    return 0;
  }
  return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : kUsual;
}

view::HistoryOptions view_options(const HistoryArguments& arguments) {
  view::HistoryOptions options;
  options.now_ms = now_ms();
  const std::size_t columns = screen_columns();
  options.columns_max = arguments.full ? 0 : columns;
  options.payload_chars_max = arguments.full ? view::kNoLimit
                              : columns > 0  ? kPayloadCharsMaxOnScreen
                                             : kPayloadCharsMax;
  options.lines_max = arguments.tail;
  const view::ColorChoice choice = arguments.color == "always"  ? view::ColorChoice::kAlways
                                   : arguments.color == "never" ? view::ColorChoice::kNever
                                                                : view::ColorChoice::kAuto;
  options.in_color =
      view::wants_color(choice, columns > 0, std::getenv("NO_COLOR"), std::getenv("TERM"));
  options.in_utc = arguments.utc;
  options.with_sources = arguments.sources;
  options.look_command = "pawl history --store " + view::shell_text(arguments.store);
  return options;
}

void print(std::string_view text) { std::cout << text; }

Result<void> print_entries(store::Store& store, const store::RunRow& row,
                           const HistoryArguments& arguments) {
  PAWL_TRY_ASSIGN(const view::History history, view::read_history(store, row, arguments.forgotten));
  const replay::Log& log = history.log;
  const std::size_t count = arguments.tail == 0 ? log.size() : std::min(log.size(), arguments.tail);
  for (std::size_t id = log.size() - count; id < log.size(); ++id) {
    replay::Log::EntryTexts texts;
    const replay::Entry entry = log.entry(static_cast<replay::RecordId>(id), texts);
    print(format::print_json(format::entry_to_json(entry)) + "\n");
  }
  return {};
}

Result<void> show(const HistoryArguments& arguments) {
  PAWL_TRY_ASSIGN(const std::unique_ptr<store::Store> store, open_existing(arguments.store));
  PAWL_TRY_ASSIGN(const store::RunRow row, find(*store, arguments));
  const bool as_jsonl = arguments.output == "jsonl";
  if (arguments.follow) {
    return follow([&] { return open_existing(arguments.store); }, row,
                  {view_options(arguments), as_jsonl});
  }
  if (as_jsonl) {
    return print_entries(*store, row, arguments);
  }
  if (arguments.output == "json") {
    PAWL_TRY_ASSIGN(const std::string run, export_run(*store, row));
    print(run);
    return {};
  }
  PAWL_TRY_ASSIGN(const view::History history,
                  view::read_history(*store, row, arguments.forgotten));
  view::print_history(history, view_options(arguments), print);
  return {};
}

}  // namespace

std::shared_ptr<HistoryArguments> add_history_command(CLI::App& app) {
  auto arguments = std::make_shared<HistoryArguments>();
  CLI::App* command = app.add_subcommand(
      "history", "Show what a run has done: a tree by location, with results and durations.");
  command->add_option("id", arguments->id, "Id of the run; the newest one with it is shown")
      ->required()
      ->type_name("ID");
  command->add_option("--store", arguments->store, "URL of the store, e.g. sqlite:shop.db")
      ->required()
      ->type_name("URL");
  command->add_option("--number", arguments->number, "Which of the runs that had this id, from 1")
      ->check(whole_number(std::numeric_limits<std::uint32_t>::max()))
      ->type_name("N");
  CLI::Option* output =
      command->add_option("-o,--output", arguments->output, "text, json or jsonl: a line per entry")
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
  command->add_flag("--utc", arguments->utc, "Moments in UTC instead of local time");
  command->add_option("--color", arguments->color, "Colours: on terminals unless NO_COLOR is set")
      ->check(CLI::IsMember({"auto", "always", "never"}))
      ->type_name("WHEN");
  command->footer(
      "Examples:\n"
      "  pawl history order-17 --store sqlite:shop.db\n"
      "  pawl history order-17 --store sqlite:shop.db --follow\n"
      "  pawl history order-17 --store sqlite:shop.db --tail 20 --source\n"
      "  pawl history order-17 --store sqlite:shop.db -o jsonl\n"
      "  pawl history --store sqlite:shop.db -- -odd-id\n"
      "\nThe JSON form: docs/formats/run.md");
  command->callback([arguments] {
    if (arguments->as_json) {
      arguments->output = "json";
    }
    if (arguments->follow && arguments->output == "json") {
      throw CLI::ValidationError("--follow", "prints line by line: use -o jsonl");
    }
  });
  return arguments;
}

int run_history_command(const HistoryArguments& arguments) {
  const Result<void> shown = show(arguments);
  std::cout << std::flush;
  if (!shown) {
    // It may quote what was typed, or what is in the file.
    std::fprintf(stderr, "pawl: %s\n",
                 view::line_text(shown.error().message, kMessageCharsMax).c_str());
    return 1;
  }
  return std::cout ? 0 : 1;
}

}  // namespace pawl::cli

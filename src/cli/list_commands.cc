// pawl list, pawl count
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "cli/json_output.h"
#include "cli/run_filter.h"
#include "cli/store_access.h"
#include "cli/table.h"
#include "view/live_workers.h"

namespace pawl::cli {

namespace {

namespace json = boost::json;

constexpr std::size_t kLimitMax = 1'000'000;
// Rows of one table: longer lists are printed in parts, as they are read.
constexpr std::size_t kRowsAtOnce = 500;

struct Arguments {
  FilterArguments filter;
  std::size_t limit = 50;
  std::string cursor;
  bool all = false;
};

class ListPrinter {
 public:
  ListPrinter(Console& console, const view::LiveWorkers& workers)
      : console_(console), workers_(workers) {}

  void add(const store::RunRow& row) {
    if (console_.is_jsonl()) {
      print_json(console_, to_json(row));
    } else if (console_.is_json()) {
      rows_.push_back(row);
    } else {
      rows_.push_back(row);
      if (rows_.size() == kRowsAtOnce) {
        print_table();
      }
    }
  }

  void end(const std::optional<store::RunCursor>& next) {
    if (console_.is_json()) {
      json::array runs;
      for (const store::RunRow& row : rows_) {
        runs.push_back(to_json(row));
      }
      print_json(console_, json::object{{"runs", std::move(runs)},
                                        {"next", next ? json::value(store::cursor_text(*next))
                                                      : json::value()}});
      return;
    }
    if (!rows_.empty()) {
      print_table();
    }
    if (next) {
      console_.flush();  // In order, where both are the same.
      console_.say("there are more: --cursor " + store::cursor_text(*next));
    }
  }

 private:
  json::object to_json(const store::RunRow& row) const {
    json::object object = run_json(row);
    if (workers_.is_abandoned(row)) {
      object["needsWorker"] = true;
    }
    return object;
  }
  std::string status(const store::RunRow& row) const {
    return (row.is_paused ? "paused, " : "") + store::status_text(row.status, row.waiting_for) +
           (workers_.is_abandoned(row) ? ", no worker has its kind" : "");
  }
  void print_table() {
    Table table(std::exchange(has_heads_, true)
                    ? std::vector<std::string>(5)
                    : std::vector<std::string>{"id", "kind", "status", "started", "changed"});
    for (const store::RunRow& row : rows_) {
      table.add({{row.number == 1 ? row.id : row.id + " #" + std::to_string(row.number)},
                 {row.kind},
                 {status(row), status_tone(store::status_name(row.status))},
                 {console_.brief_moment(row.created_ms)},
                 {console_.brief_moment(row.changed_ms)}});
    }
    table.print(console_);
    rows_.clear();
  }

  Console& console_;
  const view::LiveWorkers& workers_;
  std::vector<store::RunRow> rows_;
  bool has_heads_ = false;
};

Result<int> list(Console& console, const Arguments& arguments) {
  PAWL_TRY_ASSIGN(const view::RunQuery query, make_query(arguments.filter, console));
  store::RunCursor after;
  if (!arguments.cursor.empty()) {
    PAWL_TRY_ASSIGN(after, read_cursor(arguments.cursor));
  }
  PAWL_TRY_ASSIGN(const auto store, open_store(console, Access::kLook));
  PAWL_TRY_ASSIGN(const std::vector<store::WorkerRow> rows, store->catalog().list_workers());
  const view::LiveWorkers workers(rows, console.now_ms());
  ListPrinter printer(console, workers);
  std::size_t count = 0;
  bool has_more = false;
  store::RunCursor last;
  PAWL_TRY(search_runs(*store, query, after, [&](const store::RunRow& row) -> Result<bool> {
    if (!arguments.all && count == arguments.limit) {
      has_more = true;
      return false;
    }
    printer.add(row);
    ++count;
    last = {row.created_ms, row.key};
    return console.can_print();
  }));
  printer.end(has_more ? std::optional(last) : std::nullopt);
  return kExitOk;
}

Result<int> count(Console& console, const FilterArguments& filter) {
  PAWL_TRY_ASSIGN(const view::RunQuery query, make_query(filter, console));
  PAWL_TRY_ASSIGN(const auto store, open_store(console, Access::kLook));
  PAWL_TRY_ASSIGN(const std::int64_t number, count_matching(console, *store, query));
  if (console.is_table()) {
    console.print(std::to_string(number) + "\n");
  } else {
    print_json(console, json::object{{"count", number}});
  }
  return kExitOk;
}

}  // namespace

void add_list_commands(Frame& frame) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = frame.add(
      {.name = "list",
       .group = kInspect,
       .summary = "List runs, the newest first.",
       .examples = "pawl list\n"
                   "pawl list --status open --kind fulfil\n"
                   "pawl list --status failed --ended-after 2h --tag customer=7\n"
                   "pawl list -q 'status = blocked or (paused and started < 7d)'\n"
                   "pawl list --all -o jsonl | jq -r .id\n",
       .details = "TIME is a date, 2026-11-16, or '2026-11-16 21:10', in your time zone unless it\n"
                  "says another, or e.g. 2h or 7d for so long ago."},
      [arguments](Console& console) { return list(console, *arguments); });
  add_filter(frame, command, arguments->filter);
  command->add_option("--limit", arguments->limit, "At most so many (default: 50)")
      ->check(whole_number(kLimitMax))
      ->type_name("N");
  command->add_option("--cursor", arguments->cursor, "Go on behind an earlier page")
      ->check(not_blank())
      ->type_name("CURSOR");
  command->add_flag("--all", arguments->all, "All of them, whatever --limit says");
  frame.add_shared(command);

  auto filter = std::make_shared<FilterArguments>();
  command = frame.add({.name = "count",
                       .group = kInspect,
                       .summary = "Count runs.",
                       .examples = "pawl count --status open\n"
                                   "pawl count --kind fulfil --started-after 2026-11-16\n"
                                   "pawl count -q 'status = failed and tag.customer = \"7\"'\n"},
                      [filter](Console& console) { return count(console, *filter); });
  add_filter(frame, command, *filter);
  frame.add_shared(command);
}

}  // namespace pawl::cli

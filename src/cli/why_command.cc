// pawl why
#include <memory>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "cli/find_run.h"
#include "cli/json_output.h"
#include "cli/store_access.h"
#include "cli/table.h"
#include "store/catalog.h"
#include "view/text.h"
#include "view/why.h"

namespace pawl::cli {

namespace {

namespace json = boost::json;

constexpr std::size_t kShownChars = 100;

json::value optional_moment(const std::optional<std::int64_t>& ms) {
  return ms ? json::value(*ms) : json::value();
}

void print_findings_json(Console& console, const store::RunRow& row,
                         const std::vector<view::Finding>& findings) {
  json::array list;
  for (const view::Finding& finding : findings) {
    list.push_back(json::object{{"code", finding.code},
                                {"what", finding.what},
                                {"sinceAt", optional_moment(finding.since_ms)},
                                {"untilAt", optional_moment(finding.until_ms)},
                                {"who", finding.who},
                                {"advice", finding.advice}});
  }
  json::object object = run_json(row);
  object["findings"] = std::move(list);
  print_json(console, object);
}

void print_findings(Console& console, const store::RunRow& row,
                    const std::vector<view::Finding>& findings) {
  const std::int64_t now_ms = console.now_ms();
  console.print(
      console.toned(view::line_text(row.id, kShownChars), Tone::kStrong) + " (" +
      view::line_text(row.kind, kShownChars) + ", " +
      console.toned(store::status_name(row.status), status_tone(store::status_name(row.status))) +
      ")\n");
  for (const view::Finding& finding : findings) {
    console.print("- " + finding.what);
    if (finding.since_ms) {
      console.print(", since " + console.brief_moment(*finding.since_ms) + " (" +
                    view::duration_text(now_ms - *finding.since_ms) + ")");
    }
    console.print("\n");
    if (!finding.who.empty()) {
      console.print("  " + finding.who + "\n");
    }
    if (!finding.advice.empty()) {
      console.print("  " + console.toned("→ ", Tone::kGood) + finding.advice + "\n");
    }
  }
}

Result<int> run(Console& console, const RunName& name) {
  PAWL_TRY_ASSIGN(const auto store, open_store(console, Access::kLook));
  PAWL_TRY_ASSIGN(const store::RunRow row, find_run(*store, name, Match::kPrefix));
  PAWL_TRY_ASSIGN(const view::RunDetails details, view::read_details(*store, row));
  PAWL_TRY_ASSIGN(const std::vector<store::WorkerRow> workers, store->catalog().list_workers());
  const std::vector<view::Finding> findings = view::find_why(details, workers, console.now_ms());
  if (console.is_table()) {
    print_findings(console, row, findings);
  } else {
    print_findings_json(console, row, findings);
  }
  return kExitOk;
}

}  // namespace

void add_why_command(Frame& frame) {
  auto name = std::make_shared<RunName>();
  CLI::App* command = frame.add(
      {.name = "why",
       .group = kInspect,
       .summary =
           "Say why a run does not go on: what it waits for, who could serve it, what to do.",
       .examples = "pawl why order-17\n"
                   "pawl why order-17 -o json\n"},
      [name](Console& console) { return run(console, *name); });
  add_run_name(frame, command, *name);
  frame.add_shared(command);
}

}  // namespace pawl::cli

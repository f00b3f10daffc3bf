// pawl state
#include <cstdint>
#include <limits>
#include <memory>
#include <string>

#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "cli/find_run.h"
#include "cli/json_output.h"
#include "cli/store_access.h"
#include "cli/table.h"
#include "store/state.h"
#include "view/text.h"

namespace pawl::cli {

namespace {

namespace json = boost::json;

constexpr std::size_t kShownChars = 100;
constexpr std::size_t kPayloadChars = 1000;

struct Arguments {
  RunName run;
  std::uint64_t at = std::numeric_limits<std::uint64_t>::max();
  std::string key;
};

Result<int> print_key(Console& console, const store::State& state, const std::string& key) {
  const auto value = state.values.find(key);
  if (value == state.values.end()) {
    return make_error(ErrorCode::kNotFound,
                      "the state has no '" + view::line_text(key, kShownChars) + "' then");
  }
  console.print(payload_line(value->second) + "\n");
  return kExitOk;
}

Result<int> run(Console& console, const Arguments& arguments) {
  PAWL_TRY_ASSIGN(const auto store, open_store(console, Access::kLook));
  PAWL_TRY_ASSIGN(const store::RunRow row, find_run(*store, arguments.run, Match::kPrefix));
  PAWL_TRY_ASSIGN(const store::State state, store::read_state(*store, row.key, arguments.at));
  if (!state.is_complete) {
    console.say("pawl: entries before " + std::to_string(arguments.at) +
                " are forgotten: something may be missing or old");
  }
  if (!arguments.key.empty()) {
    return print_key(console, state, arguments.key);
  }
  if (!console.is_table()) {
    json::object values;
    for (const auto& [key, value] : state.values) {
      values[key] = payload_json(value);
    }
    print_json(console, json::object{{"id", row.id},
                                     {"number", row.number},
                                     {"seq", state.last_seq},
                                     {"isComplete", state.is_complete},
                                     {"state", std::move(values)}});
    return kExitOk;
  }
  Table table({"key", "value"});
  for (const auto& [key, value] : state.values) {
    table.add({{key}, {view::payload_text(value, kPayloadChars)}});
  }
  if (!table.is_empty()) {
    table.print(console);
  }
  return kExitOk;
}

}  // namespace

void add_state_command(Frame& frame) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command =
      frame.add({.name = "state",
                 .group = kInspect,
                 .summary = "Show the state of a run, now or after an earlier entry of its log.",
                 .examples = "pawl state order-17\n"
                             "pawl state order-17 --key step\n"
                             "pawl state order-17 --at 12 -o json\n"},
                [arguments](Console& console) { return run(console, *arguments); });
  add_run_name(frame, command, arguments->run);
  command
      ->add_option("--at", arguments->at,
                   "After the entry with this seq, as 'pawl history -o json' has it (default: now)")
      ->check(whole_number(std::numeric_limits<std::int64_t>::max()))
      ->type_name("SEQ");
  command->add_option("--key", arguments->key, "Print the value of this key only, as JSON")
      ->type_name("KEY");
  frame.add_shared(command);
}

}  // namespace pawl::cli

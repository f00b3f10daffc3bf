#include "cli/history_command.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

#include <CLI/CLI.hpp>
#include <boost/json.hpp>

#include "base/utf8.h"
#include "cli/arguments.h"
#include "format/log_json.h"
#include "format/payload_json.h"
#include "store/sqlite/sqlite_store.h"
#include "view/history.h"
#include "view/text.h"

namespace pawl::cli {

struct HistoryArguments {
  std::string id;
  std::string store;
  std::uint32_t number = 0;
  std::string output = "text";
};

namespace {

namespace json = boost::json;

constexpr std::size_t kPayloadCharsMax = 100;
constexpr std::size_t kMessageCharsMax = 500;

Result<std::unique_ptr<store::Store>> open_existing(const std::string& url) {
  PAWL_TRY_ASSIGN(store::SqliteOptions options, store::parse_sqlite_url(url));
  std::error_code error;
  if (!std::filesystem::exists(options.path, error)) {
    return make_error(ErrorCode::kNotFound, "there is no file '" + options.path + "'");
  }
  options.read_only = true;  // Whoever only looks changes nothing.
  return store::open_sqlite(std::move(options));
}

Result<view::History> read(const HistoryArguments& arguments) {
  PAWL_TRY_ASSIGN(const std::unique_ptr<store::Store> store, open_existing(arguments.store));
  PAWL_TRY_ASSIGN(
      const std::optional<store::RunRow> row,
      store->find_run(arguments.id,
                      arguments.number == 0 ? std::nullopt : std::optional(arguments.number)));
  if (!row) {
    const std::string number =
        arguments.number == 0 ? "" : " with the number " + std::to_string(arguments.number);
    return make_error(ErrorCode::kNotFound, "there is no run '" + arguments.id + "'" + number);
  }
  return view::read_history(*store, *row);
}

std::string_view state_name(store::CompensationState state) {
  switch (state) {
    case store::CompensationState::kOpen:
      return "open";
    case store::CompensationState::kDone:
      return "done";
    case store::CompensationState::kFailed:
      return "failed";
  }
  return "unknown";
}

json::object to_json(const view::History& history) {
  const store::RunRow& row = history.row;
  json::object object;
  object["id"] = row.id;
  object["number"] = row.number;
  object["runId"] = row.uuid.to_string();
  object["kind"] = row.kind;
  object["status"] = store::status_name(row.status);
  if (!row.waiting_for.empty()) {
    object["waitingFor"] = row.waiting_for;
  }
  if (!history.reason.empty()) {
    object["reason"] = history.reason;
  }
  object["startedAt"] = row.created_ms;
  object["changedAt"] = row.changed_ms;
  object["input"] = format::payload_to_json(history.input);
  object["log"] = format::export_log(history.log);
  json::array inbox;
  for (const store::Arrival& arrival : history.inbox) {
    const replay::EntryTraits* known =
        replay::find_traits(static_cast<replay::EntryKind>(arrival.kind));
    json::object waiting;
    waiting["event"] = known == nullptr ? "RetryOperation" : known->event;
    waiting["dueAt"] = arrival.due_ms;
    waiting["id"] = arrival.id;
    inbox.push_back(std::move(waiting));
  }
  object["inbox"] = std::move(inbox);
  json::array tasks;
  for (const store::TaskRow& task : history.tasks) {
    json::object open;
    open["id"] = task.id;
    open["type"] = task.type;
    open["queue"] = task.queue;
    open["attempt"] = task.attempt;
    open["dueAt"] = task.due_ms;
    tasks.push_back(std::move(open));
  }
  object["tasks"] = std::move(tasks);
  json::array compensations;
  for (const store::CompensationRow& compensation : history.compensations) {
    json::object one;
    one["name"] = compensation.name;
    one["state"] = state_name(compensation.state);
    one["attempts"] = compensation.attempt;
    compensations.push_back(std::move(one));
  }
  object["compensations"] = std::move(compensations);
  return object;
}

// What is stored may be no UTF-8, and JSON has to be: U+FFFD stands for each such byte.
std::string as_utf8(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    result += length == 0 ? std::string_view("\xef\xbf\xbd") : text.substr(0, length);
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return result;
}

std::int64_t now_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
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
  command->add_option("-o,--output", arguments->output, "text or json")
      ->check(CLI::IsMember({"text", "json"}))
      ->type_name("FORM");
  command->footer(
      "Examples:\n"
      "  pawl history order-17 --store sqlite:shop.db\n"
      "  pawl history order-17 --store sqlite:shop.db -o json\n"
      "  pawl history --store sqlite:shop.db -- -odd-id\n"
      "\nThe JSON form of the log: docs/formats/scenario.md");
  return arguments;
}

int run_history_command(const HistoryArguments& arguments) {
  const Result<view::History> history = read(arguments);
  if (!history) {
    // It may quote what was typed, or what is in the file.
    std::fprintf(stderr, "pawl: %s\n",
                 view::line_text(history.error().message, kMessageCharsMax).c_str());
    return 1;
  }
  if (arguments.output == "json") {
    std::cout << as_utf8(json::serialize(to_json(*history))) << '\n';
  } else {
    std::cout << view::history_tree(*history,
                                    {.now_ms = now_ms(), .payload_chars_max = kPayloadCharsMax});
  }
  std::cout << std::flush;
  return std::cout ? 0 : 1;
}

}  // namespace pawl::cli

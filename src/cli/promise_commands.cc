// pawl resolve, pawl reject
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cli/arguments.h"
#include "cli/client.h"
#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "cli/find_run.h"
#include "cli/json_argument.h"
#include "cli/store_access.h"
#include "view/text.h"

namespace pawl::cli {

namespace {

constexpr std::size_t kShownChars = 100;

// Which promise: by the run's id and its name, or by its token. With a token there are no words for
// the first two, so all of them come as one list.
struct Target {
  RunName run;
  std::string promise;
};

struct Arguments {
  std::vector<std::string> words;
  std::uint32_t number = 0;
  std::string token;
  std::string type = "Rejected";
  std::string message = "rejected";
};

Result<Target> find_target(const Arguments& arguments, std::size_t words_after) {
  const std::size_t wanted = arguments.token.empty() ? 2 : 0;
  if (arguments.words.size() < wanted || arguments.words.size() > wanted + words_after) {
    return make_error(ErrorCode::kInvalidArgument,
                      arguments.token.empty() ? "the id of a run and the name of its promise are "
                                                "wanted, or --token"
                                              : "with --token neither run nor promise is named");
  }
  Target target;
  if (arguments.token.empty()) {
    target.run = {arguments.words[0], arguments.number};
    target.promise = arguments.words[1];
    return target;
  }
  PAWL_TRY_ASSIGN(auto parts, parse_token(arguments.token));
  target.run.id = std::move(parts.first);
  target.promise = std::move(parts.second);
  return target;
}

Result<int> end_promise(Console& console, const Target& target, store::NewArrival arrival,
                        const std::string& done) {
  PAWL_TRY_ASSIGN(const auto store, open_store(console, Access::kChange));
  PAWL_TRY_ASSIGN(const store::RunRow row, find_run(*store, target.run, Match::kExact));
  const Result<bool> sent = send(*store, row, std::move(arrival), "", console.now_ms());
  if (!sent) {
    std::string open;
    if (sent.error().code == ErrorCode::kNotFound) {
      PAWL_TRY_ASSIGN(const std::vector<std::string> names, store->read_promises(row.key));
      for (const std::string& name : names) {
        open += (open.empty() ? "; open ones: '" : "', '") + view::line_text(name, kShownChars);
      }
      open += open.empty() ? "" : "'";
    }
    return make_error(sent.error().code, sent.error().message + open);
  }
  console.print(done + " " + view::line_text(target.promise, kShownChars) + " of " +
                view::line_text(row.id, kShownChars) + "\n");
  return kExitOk;
}

Result<int> resolve(Console& console, const Arguments& arguments) {
  PAWL_TRY_ASSIGN(const Target target, find_target(arguments, 1));
  const std::size_t value = arguments.token.empty() ? 2 : 0;
  std::string payload = "null";
  if (arguments.words.size() > value) {
    PAWL_TRY_ASSIGN(payload, read_json_argument(arguments.words[value], "the promise's value"));
  }
  return end_promise(console, target, resolve_arrival(target.promise, std::move(payload)),
                     "resolved");
}

Result<int> reject(Console& console, const Arguments& arguments) {
  PAWL_TRY_ASSIGN(const Target target, find_target(arguments, 0));
  return end_promise(console, target,
                     reject_arrival(target.promise, arguments.type, arguments.message), "rejected");
}

void add_options(Frame& frame, CLI::App* command, Arguments& arguments, const char* words,
                 const char* text) {
  CLI::Option* option = command->add_option("words", arguments.words, text);
  option->type_name(words);
  frame.set_values(option, Values::kRunIds);
  command->add_option("--token", arguments.token, "Token of the promise, instead of run and name")
      ->check(not_blank())
      ->type_name("TOKEN");
  add_run_number(command, arguments.number);
  frame.add_store(command);
}

}  // namespace

void add_promise_commands(Frame& frame) {
  auto resolved = std::make_shared<Arguments>();
  CLI::App* command =
      frame.add({.name = "resolve",
                 .group = kChange,
                 .summary = "Resolve a promise of a run.",
                 .examples = "pawl resolve order-17 receipt '\"r-4711\"'\n"
                             "pawl resolve --token b3JkZXItMTcAcmVjZWlwdA '\"r-4711\"'\n"
                             "pawl resolve order-17 receipt @receipt.json\n",
                 .details = "Without JSON the value is null."},
                [resolved](Console& console) { return resolve(console, *resolved); });
  add_options(frame, command, *resolved, "ID PROMISE [JSON]",
              "Run and promise, or --token; then the value: JSON, @FILE, or - for standard input");
  auto rejected = std::make_shared<Arguments>();
  command =
      frame.add({.name = "reject",
                 .group = kChange,
                 .summary = "Reject a promise of a run: whoever waits for it gets an error.",
                 .examples = "pawl reject order-17 receipt --type Refused --message 'no money'\n"
                             "pawl reject --token b3JkZXItMTcAcmVjZWlwdA --message 'no money'\n"},
                [rejected](Console& console) { return reject(console, *rejected); });
  add_options(frame, command, *rejected, "ID PROMISE", "Run and promise, or --token");
  command->add_option("--type", rejected->type, "Type of the error (default: Rejected)")
      ->type_name("TYPE");
  command->add_option("--message", rejected->message, "What is wrong (default: rejected)")
      ->type_name("TEXT");
}

}  // namespace pawl::cli

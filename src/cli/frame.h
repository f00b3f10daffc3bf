// Frame: the table of commands. Each command brings its texts, its options and a body; parsing,
// help, completions, the manual and exit codes are made from the table.
//
// A command is one file with one function that is declared in commands.h:
//
//   void add_NAME_command(Frame& frame) {
//     auto arguments = std::make_shared<Arguments>();
//     CLI::App* command = frame.add({.name = "name", .group = kInspect, .summary = "…",
//                                    .examples = "pawl name order-17\n"},
//                                   [arguments](Console& console) { return run(console,
//                                   *arguments); });
//     command->add_option(…, arguments->…);
//     frame.add_store(command);   // And what else it shares.
//   }
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>

#include "base/result.h"
#include "cli/console.h"

namespace pawl::cli {

// Groups of the list of commands, in this order.
inline constexpr const char* kChange = "Change runs";
inline constexpr const char* kInspect = "Look at runs";
inline constexpr const char* kOperate = "Look after a store";
inline constexpr const char* kTools = "Other";
inline constexpr const char* kHidden = "";

struct CommandTexts {
  std::string name;
  std::string group;
  std::string summary;       // One sentence, with a dot.
  std::string examples;      // One a line.
  std::string details = {};  // What else there is to know; shown last.
  std::vector<std::string> aliases = {};
};

// What an argument stands for, where completions can tell.
enum class Values : std::uint8_t { kRunIds, kKinds, kFiles };

class Frame {
 public:
  // An exit code, or an error that is told and becomes one.
  using Body = std::function<Result<int>(Console&)>;

  explicit Frame(std::string version);

  CLI::App* add(const CommandTexts& texts, Body body);

  // --- Options that commands share ---
  void add_store(CLI::App* command);
  // -o table|json|jsonl.
  void add_output(CLI::App* command);
  // --utc, --time-zone, --color.
  void add_looks(CLI::App* command);
  // All three.
  void add_shared(CLI::App* command) {
    add_store(command);
    add_output(command);
    add_looks(command);
  }
  // For completions.
  void set_values(const CLI::Option* option, Values values) { values_[option] = values; }

  // Does what the command line says; an exit code.
  int run(int argc, char** argv);

  // --- The table ---
  const CLI::App& app() const { return app_; }
  // In order of addition, without hidden ones.
  std::vector<const CLI::App*> commands() const;
  // By name or alias; null if there is none.
  const CLI::App* find(const std::string& name) const;
  const CommandTexts* texts_of(const CLI::App* command) const;
  const Values* values_of(const CLI::Option* option) const;
  const std::string& version() const { return version_; }

 private:
  struct Entry {
    CommandTexts texts;
    Body body;
  };

  int tell_usage(const std::string& message, const CLI::App* command) const;
  int run_command(const CLI::App* command);

  CLI::App app_;
  std::string version_;
  Shared shared_;
  std::map<const CLI::App*, Entry> entries_;
  std::map<const CLI::Option*, Values> values_;
};

// Long options that belong to an option, or its name if it is positional; then the short ones.
std::vector<std::string> option_words(const CLI::Option& option);
// What may be given for it, if there is a list.
std::vector<std::string> option_choices(const CLI::Option& option);
// "-o,--output {table,json,jsonl}".
std::string option_title(const CLI::Option& option);

}  // namespace pawl::cli

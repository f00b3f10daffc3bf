#include "cli/frame.h"

#include <algorithm>
#include <csignal>
#include <iostream>
#include <sstream>
#include <utility>

#include "cli/arguments.h"
#include "cli/closest.h"
#include "cli/exit_codes.h"
#include "cli/help.h"
#include "view/text.h"

namespace pawl::cli {

namespace {

constexpr std::size_t kMessageCharsMax = 500;

CLI::Validator time_zone() {
  return CLI::Validator(
      [](const std::string& name) {
        return is_time_zone(name) ? std::string()
                                  : "local, utc or the name of a zone is wanted, e.g. "
                                    "Europe/Berlin, not '" +
                                        name + "'";
      },
      "");
}

// CLI11 takes a word such as [a,b] for a list, where a list is possible. So words that begin with a
// bracket are hidden from it by a mark in front, and have it removed when they are used.
constexpr char kMark = '\x1d';

// The same goes for nothing behind --name=, for which it would take the next word.
//
// Of --name=value it is the value that is hidden.
std::size_t mark_place(const std::string& word) {
  return word.starts_with("--") ? word.find('=') + 1 : 0;
}

std::string hidden(std::string word) {
  const std::size_t place = mark_place(word);
  const bool is_empty = place > 0 && place == word.size();
  if (is_empty || (place < word.size() && (word[place] == '[' || word[place] == kMark))) {
    word.insert(place, 1, kMark);
  }
  return word;
}

CLI::Validator unhide() {
  CLI::Validator validator;
  validator.operation([](std::string& word) {
    const std::size_t place = mark_place(word);
    if (place < word.size() && word[place] == kMark) {
      word.erase(place, 1);
    }
    return std::string();
  });
  return validator;
}

}  // namespace

namespace {

// Options that many commands have may stand before the command, too: pawl --store URL list.
std::vector<std::string> command_first(std::vector<std::string> words) {
  std::size_t command = 0;
  while (command < words.size() && words[command].starts_with("-")) {
    const std::string& word = words[command];
    const std::string name = word.substr(0, word.find('='));
    const bool is_flag = name == "--utc";
    if (!is_flag && name != "--store" && name != "--time-zone" && name != "--color" &&
        name != "-o" && name != "--output") {
      return words;
    }
    command += is_flag || name != word ? 1 : 2;
  }
  if (command < words.size()) {
    std::rotate(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(command),
                words.begin() + static_cast<std::ptrdiff_t>(command) + 1);
  }
  return words;
}

}  // namespace

Frame::Frame(std::string version)
    : app_("Durable execution for C++: the command line.", "pawl"), version_(std::move(version)) {
  app_.set_version_flag("--version", "pawl " + version_, "Print the version");
  app_.set_help_flag("-h,--help", "Print this help");
  app_.require_subcommand(1);
  app_.formatter(std::make_shared<HelpFormatter>(*this));
}

CLI::App* Frame::add(const CommandTexts& texts, Body body) {
  CLI::App* command = app_.add_subcommand(texts.name, texts.summary);
  command->group(texts.group);
  for (const std::string& alias : texts.aliases) {
    command->alias(alias);
  }
  entries_[command] = {texts, std::move(body)};
  return command;
}

void Frame::add_store(CLI::App* command) {
  command
      ->add_option("--store", shared_.store,
                   "URL of the store (default: $PAWL_STORE, or " + std::string(kDefaultStore) + ")")
      ->check(not_blank())
      ->type_name("URL");
}

void Frame::add_output(CLI::App* command) {
  command->add_option("-o,--output", shared_.output, "Form of the output")
      ->check(CLI::IsMember({"table", "json", "jsonl"}))
      ->type_name("FORM");
}

void Frame::add_looks(CLI::App* command) {
  command->add_flag("--utc", shared_.utc, "Show and read moments in UTC");
  command->add_option("--time-zone", shared_.time_zone, "Of moments: local, utc or a zone's name")
      ->check(time_zone())
      ->type_name("ZONE");
  command->add_option("--color", shared_.color, "Colours: on terminals unless NO_COLOR is set")
      ->check(CLI::IsMember({"auto", "always", "never"}))
      ->type_name("WHEN");
}

int Frame::run(int argc, char** argv) {
  // A reader that goes away is noticed when a line cannot be written.
  std::signal(SIGPIPE, SIG_IGN);
  const std::vector<std::string> arguments = command_first({argv + 1, argv + argc});
  const std::string first = arguments.empty() ? "" : arguments.front();
  if (!first.empty() && first.front() != '-' && find(first) == nullptr) {
    std::vector<std::string> names;
    for (const CLI::App* command : commands()) {
      names.push_back(command->get_name());
    }
    return tell_usage("there is no command '" + first + "'" + did_you_mean(first, names), nullptr);
  }
  for (CLI::App* command : app_.get_subcommands([](CLI::App* /*each*/) { return true; })) {
    for (CLI::Option* option : command->get_options()) {
      option->transform(unhide());
    }
  }
  std::vector<std::string> words;  // CLI11 wants the last one first.
  for (auto word = arguments.rbegin(); word != arguments.rend(); ++word) {
    words.push_back(hidden(*word));
  }
  try {
    app_.parse(std::move(words));
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) {  // Help and version.
      std::ostringstream text;
      app_.exit(error, text, text);
      Console console(Shared{});
      console.print(text.str());
      return console.finish(kExitOk);
    }
    const CLI::App* command = first.empty() || first.front() == '-' ? nullptr : find(first);
    std::string message = error.what();
    std::erase(message, kMark);
    return tell_usage(message, command);
  }
  return run_command(app_.get_subcommands().front());
}

int Frame::tell_usage(const std::string& message, const CLI::App* command) const {
  const std::string name = command == nullptr ? "pawl" : "pawl " + command->get_name();
  std::cerr << "pawl: " << view::line_text(message, kMessageCharsMax) << "\nSee '" << name
            << " --help'.\n";
  return kExitUsage;
}

int Frame::run_command(const CLI::App* command) {
  Console console(shared_);
  const Result<int> done = entries_.at(command).body(console);
  return console.finish(done ? *done : console.tell(done.error()));
}

std::vector<const CLI::App*> Frame::commands() const {
  return app_.get_subcommands(
      [](const CLI::App* command) { return !command->get_group().empty(); });
}

const CLI::App* Frame::find(const std::string& name) const {
  for (const CLI::App* command : app_.get_subcommands({})) {
    if (command->check_name(name)) {
      return command;
    }
  }
  return nullptr;
}

const CommandTexts* Frame::texts_of(const CLI::App* command) const {
  const auto found = entries_.find(command);
  return found == entries_.end() ? nullptr : &found->second.texts;
}

const Values* Frame::values_of(const CLI::Option* option) const {
  const auto found = values_.find(option);
  return found == values_.end() ? nullptr : &found->second;
}

// --- Options -------------------------------------------------------------------------------------

std::vector<std::string> option_words(const CLI::Option& option) {
  std::vector<std::string> words;
  for (const std::string& name : option.get_lnames()) {
    words.push_back("--" + name);
  }
  for (const std::string& name : option.get_snames()) {
    words.push_back("-" + name);
  }
  return words;
}

// CLI11 has the list only as the text of a check: "{a,b}".
std::vector<std::string> option_choices(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  const std::size_t begin = type.find('{');
  const std::size_t end = type.find('}', begin);
  std::vector<std::string> choices;
  if (begin == std::string::npos || end == std::string::npos) {
    return choices;
  }
  std::string word;
  for (const char letter : type.substr(begin + 1, end - begin - 1)) {
    if (letter == ',') {
      choices.push_back(std::exchange(word, ""));
    } else {
      word += letter;
    }
  }
  choices.push_back(word);
  return choices;
}

std::string option_title(const CLI::Option& option) {
  std::string title;
  for (const std::string& name : option.get_snames()) {
    title += (title.empty() ? "-" : ",-") + name;
  }
  for (const std::string& name : option.get_lnames()) {
    title += (title.empty() ? "--" : ",--") + name;
  }
  const std::string type = option.get_type_name();
  if (option.get_positional() && title.empty()) {
    const std::string name = type.empty() ? option.get_name(true) : type;
    return option.get_expected_max() > 1 ? name + "..." : name;
  }
  const bool takes_value = option.get_type_size() != 0;
  if (!option_choices(option).empty()) {
    return title + " " + type.substr(type.find('{'));
  }
  return takes_value && !type.empty() ? title + " " + type : title;
}

}  // namespace pawl::cli

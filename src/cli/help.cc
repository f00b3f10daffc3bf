#include "cli/help.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "cli/frame.h"

namespace pawl::cli {

namespace {

constexpr std::size_t kColumn = 28;

// Two columns; the second one is wrapped.
std::string entry(const std::string& title, const std::string& text) {
  constexpr std::size_t kWidth = 98;
  std::string result = "  " + title;
  if (title.size() + 4 > kColumn) {
    result += "\n" + std::string(kColumn, ' ');
  } else {
    result += std::string(kColumn - title.size() - 2, ' ');
  }
  std::size_t column = kColumn;
  std::size_t begin = 0;
  while (begin < text.size()) {
    const std::size_t end = std::min(text.find(' ', begin), text.size());
    const std::string word = text.substr(begin, end - begin);
    if (column > kColumn && column + 1 + word.size() > kWidth) {
      result += "\n" + std::string(kColumn, ' ');
      column = kColumn;
    }
    result += (column > kColumn ? " " : "") + word;
    column += word.size() + (column > kColumn ? 1 : 0);
    begin = end + 1;
  }
  return result + "\n";
}

std::string indented(const std::string& lines) {
  std::string result;
  std::size_t begin = 0;
  while (begin < lines.size()) {
    const std::size_t end = std::min(lines.find('\n', begin), lines.size());
    result += "  " + lines.substr(begin, end - begin) + "\n";
    begin = end + 1;
  }
  return result;
}

std::string option_entries(const CLI::App& app, bool is_positional) {
  std::string text;
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_positional() == is_positional && !option->get_group().empty()) {
      text += entry(option_title(*option), option->get_description());
    }
  }
  return text;
}

}  // namespace

std::string usage_line(const CLI::App& command) {
  std::string line = "pawl " + command.get_name() + " [OPTIONS]";
  for (const CLI::Option* option : command.get_options()) {
    if (option->get_positional()) {
      const std::string title = option_title(*option);
      line += option->get_required() ? " " + title : " [" + title + "]";
    }
  }
  return line;
}

std::string exit_code_lines() {
  return "0  it is done\n"
         "1  it failed\n"
         "2  the command line, or JSON in it, is not right\n"
         "3  the run that was waited for has failed or was cancelled\n"
         "4  there is no such run, promise or file to read\n"
         "5  a check has found something\n"
         "6  the store cannot be used: missing, locked, wrong, newer or damaged\n";
}

std::string HelpFormatter::make_help(const CLI::App* app, std::string /*name*/,
                                     CLI::AppFormatMode /*mode*/) const {
  return app == &frame_.app() ? all_commands() : one_command(app);
}

std::string HelpFormatter::all_commands() const {
  std::string text = frame_.app().get_description() + "\n\nUsage: pawl COMMAND [OPTIONS] …\n";
  text +=
      "\nExamples:\n"
      "  pawl start fulfil --id order-17 -i '{\"item\": \"lamp\"}' --store sqlite:shop.db\n"
      "  export PAWL_STORE=sqlite:shop.db\n"
      "  pawl list --status open --started-after 2h\n"
      "  pawl why order-17\n"
      "  pawl signal order-17 approved true\n"
      "  pawl result order-17 --timeout 30s\n";
  for (const char* const group : {kChange, kInspect, kOperate, kTools}) {
    std::string entries;
    for (const CLI::App* command : frame_.commands()) {
      if (command->get_group() == group) {
        std::string title = command->get_name();
        for (const std::string& alias : command->get_aliases()) {
          title += ", " + alias;
        }
        entries += entry(title, command->get_description());
      }
    }
    text += entries.empty() ? "" : "\n" + std::string(group) + ":\n" + entries;
  }
  text += "\nOptions:\n" + option_entries(frame_.app(), false);
  text += "\nExit codes:\n" + indented(exit_code_lines());
  return text + "\n'pawl COMMAND --help' tells more. All of it is in docs/cli.md.\n";
}

std::string HelpFormatter::one_command(const CLI::App* command) const {
  const CommandTexts* texts = frame_.texts_of(command);
  std::string text = command->get_description() + "\n\nUsage: " + usage_line(*command) + "\n";
  if (texts != nullptr) {
    for (const std::string& alias : texts->aliases) {
      text += "       (also: pawl " + alias + ")\n";
    }
    text += "\nExamples:\n" + indented(texts->examples);
  }
  const std::string positional = option_entries(*command, true);
  text += positional.empty() ? "" : "\nArguments:\n" + positional;
  text += "\nOptions:\n" + option_entries(*command, false);
  if (texts != nullptr && !texts->details.empty()) {
    text += "\n" + texts->details + (texts->details.back() == '\n' ? "" : "\n");
  }
  return text;
}

}  // namespace pawl::cli

// pawl man: the manual page, made from the table of commands
#include <string>
#include <string_view>

#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "cli/help.h"

namespace pawl::cli {

namespace {

// As roff shows it letter by letter; the lines of `text` stay lines.
std::string roff(std::string_view text) {
  std::string result;
  bool is_line_start = true;
  for (const char letter : text) {
    if (is_line_start && (letter == '.' || letter == '\'')) {
      result += "\\&";
    }
    is_line_start = letter == '\n';
    if (letter == '\\') {
      result += "\\e";
    } else if (letter == '-') {
      result += "\\-";
    } else {
      result += letter;
    }
  }
  return result;
}

std::string verbatim(const std::string& lines) {
  return lines.empty() ? ""
                       : ".PP\n.nf\n" + roff(lines) + (lines.back() == '\n' ? "" : "\n") + ".fi\n";
}

std::string option_list(const CLI::App& app, bool is_positional) {
  std::string text;
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_positional() == is_positional && !option->get_group().empty()) {
      text += ".TP\n\\fB" + roff(option_title(*option)) + "\\fR\n" +
              roff(option->get_description()) + "\n";
    }
  }
  return text;
}

std::string manual(const Frame& frame) {
  std::string text = ".TH PAWL 1 \"\" \"pawl " + roff(frame.version()) + "\"\n";
  text += ".SH NAME\npawl \\- durable execution for C++: the command line\n";
  text += ".SH SYNOPSIS\n.B pawl\n.I COMMAND\n[\\fIOPTIONS\\fR]\n";
  text +=
      ".SH DESCRIPTION\nLooks at and changes the runs of a store, beside the programs that work on "
      "it.\n";
  text += ".SH COMMANDS\n";
  for (const CLI::App* command : frame.commands()) {
    text +=
        ".SS \"" + roff(usage_line(*command)) + "\"\n" + roff(command->get_description()) + "\n";
    if (const CommandTexts* texts = frame.texts_of(command)) {
      for (const std::string& alias : texts->aliases) {
        text += "Also: \\fBpawl " + roff(alias) + "\\fR.\n";
      }
      text += verbatim(texts->examples);
    }
    text += option_list(*command, true) + option_list(*command, false);
    if (const CommandTexts* texts = frame.texts_of(command)) {
      text += verbatim(texts->details);
    }
  }
  text += ".SH OPTIONS\n" + option_list(frame.app(), false);
  text +=
      ".SH ENVIRONMENT\n.TP\n\\fBPAWL_STORE\\fR\nURL of the store, where \\-\\-store does not "
      "name one.\n.TP\n\\fBNO_COLOR\\fR\nIf it is set, there are no colours.\n.TP\n\\fBTZ\\fR\n"
      "The time zone of moments.\n";
  return text + ".SH EXIT STATUS\n" + verbatim(exit_code_lines());
}

}  // namespace

void add_man_command(Frame& frame) {
  frame.add({.name = "man",
             .group = kTools,
             .summary = "Print the manual page.",
             .examples = "pawl man | man -l -\n"},
            [&frame](Console& console) -> Result<int> {
              console.print(manual(frame));
              return kExitOk;
            });
}

}  // namespace pawl::cli

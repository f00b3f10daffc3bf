// What --help prints: what the command does, examples, then arguments and options.
#pragma once

#include <string>

#include <CLI/CLI.hpp>

namespace pawl::cli {

class Frame;

class HelpFormatter : public CLI::Formatter {
 public:
  explicit HelpFormatter(const Frame& frame) : frame_(frame) {}
  std::string make_help(const CLI::App* app, std::string name,
                        CLI::AppFormatMode mode) const override;

 private:
  std::string all_commands() const;
  std::string one_command(const CLI::App* command) const;

  const Frame& frame_;
};

// "pawl signal [OPTIONS] ID NAME [JSON]".
std::string usage_line(const CLI::App& command);
// The exit codes, a line each.
std::string exit_code_lines();

}  // namespace pawl::cli

// pawl conform
#include <filesystem>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "conform/runner.h"

namespace pawl::cli {

namespace {

struct Arguments {
  std::vector<std::filesystem::path> paths;
  bool print = false;
};

Result<int> run(Console& console, const Arguments& arguments) {
  const conform::Totals totals =
      conform::run_files(arguments.paths, {.print = arguments.print}, std::cout);
  console.print(std::to_string(totals.passed) + " passed, " + std::to_string(totals.failed) +
                " failed\n");
  return totals.failed == 0 ? kExitOk : kExitFailure;
}

}  // namespace

void add_conform_command(Frame& frame) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = frame.add(
      {.name = "conform",
       .group = kTools,
       .summary = "Run scenario files: with this log, this workflow code does exactly this.",
       .examples = "pawl conform conformance/\n"
                   "pawl conform my-scenario.json --print\n",
       .details = "The format: docs/formats/scenario.md"},
      [arguments](Console& console) { return run(console, *arguments); });
  CLI::Option* paths =
      command->add_option("paths", arguments->paths, "Scenario files, or folders with *.json files")
          ->required();
  paths->type_name("PATH");
  frame.set_values(paths, Values::kFiles);
  command->add_flag("--print", arguments->print,
                    "Show each actual outcome as JSON, in the form of `expect`");
}

}  // namespace pawl::cli

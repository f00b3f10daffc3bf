// The `pawl` command.
#include <cstdio>
#include <exception>
#include <filesystem>
#include <iostream>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "cli/bench_command.h"
#include "cli/check_command.h"
#include "cli/history_command.h"
#include "conform/runner.h"

#ifndef PAWL_VERSION
#error "PAWL_VERSION comes from the build"
#endif

namespace {

// Exit codes, the same for every subcommand.
constexpr int kExitOk = 0;
constexpr int kExitFailure = 1;
constexpr int kExitUsage = 2;

int conform(const std::vector<std::filesystem::path>& paths, bool print) {
  const pawl::conform::Totals totals = pawl::conform::run_files(paths, {.print = print}, std::cout);
  std::cout << totals.passed << " passed, " << totals.failed << " failed\n" << std::flush;
  return totals.failed == 0 && std::cout ? kExitOk : kExitFailure;
}

int run(int argc, char** argv) {
  CLI::App app("Durable execution for C++: the command line.", "pawl");
  app.set_version_flag("--version", "pawl " PAWL_VERSION);
  app.require_subcommand(1);
  app.failure_message(CLI::FailureMessage::simple);
  app.footer("Exit codes: 0 ok, 1 failure, 2 usage, 5 a check has found something.");

  CLI::App* conform_command = app.add_subcommand(
      "conform", "Run scenario files: with this log, this workflow code does exactly this.");
  std::vector<std::filesystem::path> paths;
  bool print = false;
  conform_command->add_option("paths", paths, "Scenario files, or folders with *.json files")
      ->required();
  conform_command->add_flag("--print", print,
                            "Show each actual outcome as JSON, in the form of `expect`");
  conform_command->footer(
      "Examples:\n"
      "  pawl conform conformance/\n"
      "  pawl conform my-scenario.json --print\n"
      "\nThe format: docs/formats/scenario.md");

  const auto history = pawl::cli::add_history_command(app);
  const auto check = pawl::cli::add_check_command(app);
  const auto bench = pawl::cli::add_bench_command(app);

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kExitOk : kExitUsage;
  }
  if (app.got_subcommand("bench")) {
    return pawl::cli::run_bench_command(*bench);
  }
  if (app.got_subcommand("check")) {
    return pawl::cli::run_check_command(*check);
  }
  if (app.got_subcommand("history")) {
    return pawl::cli::run_history_command(*history);
  }
  return conform(paths, print);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (const auto code = pawl::cli::run_victim_if_asked(argc, argv)) {
      return *code;
    }
    return run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "pawl: %s\n", error.what());
    return kExitFailure;
  }
}

// The `pawl` command.
#include <cstdio>
#include <exception>

#include "cli/bench_command.h"
#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "cli/frame.h"

#ifndef PAWL_VERSION
#error "PAWL_VERSION comes from the build"
#endif

namespace {

int run(int argc, char** argv) {
  pawl::cli::Frame frame(PAWL_VERSION);
  pawl::cli::add_start_command(frame);
  pawl::cli::add_signal_command(frame);
  pawl::cli::add_promise_commands(frame);
  pawl::cli::add_verb_commands(frame);
  pawl::cli::add_list_commands(frame);
  pawl::cli::add_describe_command(frame);
  pawl::cli::add_why_command(frame);
  pawl::cli::add_result_command(frame);
  pawl::cli::add_history_command(frame);
  pawl::cli::add_state_command(frame);
  pawl::cli::add_retry_command(frame);
  pawl::cli::add_fork_command(frame);
  pawl::cli::add_export_command(frame);
  pawl::cli::add_import_command(frame);
  pawl::cli::add_store_commands(frame);
  pawl::cli::add_check_command(frame);
  pawl::cli::add_db_command(frame);
  pawl::cli::add_migrate_command(frame);
  pawl::cli::add_conform_command(frame);
  pawl::cli::add_bench_command(frame);
  pawl::cli::add_completion_commands(frame);
  pawl::cli::add_man_command(frame);
  return frame.run(argc, argv);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (const auto code = pawl::cli::run_part_if_asked(argc, argv)) {
      return *code;
    }
    return run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "pawl: %s\n", error.what());
    return pawl::cli::kExitFailure;
  }
}

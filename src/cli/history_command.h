// The subcommand `pawl history`.
#pragma once

#include <memory>

namespace CLI {  // NOLINT(readability-identifier-naming): not ours.
class App;
}

namespace pawl::cli {

struct HistoryArguments;

// Adds the command. Call run_history_command() if it was given.
std::shared_ptr<HistoryArguments> add_history_command(CLI::App& app);
// An exit code.
int run_history_command(const HistoryArguments& arguments);

}  // namespace pawl::cli

// The subcommand `pawl bench`.
#pragma once

#include <memory>
#include <string>

namespace CLI {  // NOLINT(readability-identifier-naming): not ours.
class App;
}

namespace pawl::cli {

struct BenchArguments;

// Adds the command. Call run_bench_command() if it was given.
std::shared_ptr<BenchArguments> add_bench_command(CLI::App& app);
// An exit code.
int run_bench_command(const BenchArguments& arguments);

// The process that `pawl bench` starts to be killed; null if these are not its arguments.
std::unique_ptr<int> run_victim_if_asked(int argc, char** argv);

}  // namespace pawl::cli

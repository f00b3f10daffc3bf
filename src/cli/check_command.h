// pawl check
#pragma once

#include <memory>

#include <CLI/CLI.hpp>

namespace pawl::cli {

struct CheckArguments;

std::shared_ptr<CheckArguments> add_check_command(CLI::App& app);
// An exit code.
int run_check_command(const CheckArguments& arguments);

}  // namespace pawl::cli

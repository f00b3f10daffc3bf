// What `pawl bench` needs of main().
#pragma once

#include <memory>

namespace pawl::cli {

// The process that `pawl bench` starts to be killed; null if these are not its arguments.
std::unique_ptr<int> run_victim_if_asked(int argc, char** argv);

}  // namespace pawl::cli

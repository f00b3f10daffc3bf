// What `pawl bench` needs of main().
#pragma once

#include <memory>

namespace pawl::cli {

// A process that `pawl bench` has started; null if these are not the arguments of one.
std::unique_ptr<int> run_part_if_asked(int argc, char** argv);

}  // namespace pawl::cli

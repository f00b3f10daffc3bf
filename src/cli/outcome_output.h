// How a run has ended, for who waited for it.
#pragma once

#include "cli/client.h"
#include "cli/console.h"

namespace pawl::cli {

// The result as JSON on standard output; a failure on standard error. The exit code tells which.
int print_outcome(Console& console, const Outcome& outcome);

}  // namespace pawl::cli

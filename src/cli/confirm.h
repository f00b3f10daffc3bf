// Asking before something is done that cannot be undone.
#pragma once

#include <string>

#include "base/result.h"
#include "cli/console.h"

namespace pawl::cli {

// True: yes. kInvalidArgument if nobody can be asked and `is_yes` (--yes) was not given.
Result<bool> confirm(Console& console, const std::string& question, bool is_yes);

}  // namespace pawl::cli

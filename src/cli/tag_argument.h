// Tags on the command line: NAME=VALUE.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "store/rows.h"

namespace pawl::cli {

// kInvalidArgument: no name, or no equals sign.
Result<std::vector<store::Tag>> parse_tags(const std::vector<std::string>& arguments);

}  // namespace pawl::cli

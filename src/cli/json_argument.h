// JSON on the command line: the text itself, @FILE, or - for standard input.
#pragma once

#include <cstddef>
#include <string>

#include "base/result.h"

namespace pawl::cli {

inline constexpr std::size_t kJsonBytesMax = std::size_t{64} << 20U;

// The text, which is JSON, without blanks around it. kMalformedInput says where it is not: line,
// column and what was found. `what` names the argument in errors: "the input".
Result<std::string> read_json_argument(const std::string& argument, const std::string& what);

}  // namespace pawl::cli

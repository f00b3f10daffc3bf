// Files that commands read and write as a whole.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace pawl::cli {

// `path`, or standard input if it is "-". kNotFound says why it cannot be read.
Result<std::string> read_file(const std::string& path);
// All of it, or what was there stays.
Result<void> write_file(const std::string& path, std::string_view text);

}  // namespace pawl::cli

// Files that commands read and write as a whole.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"

namespace pawl::cli {

// Of a run as a file: more than anybody looks at, less than a machine has memory for.
inline constexpr std::size_t kRunFileBytesMax = std::size_t{1} << 30U;

// "standard input" for "-", else the path in quotes.
std::string file_title(const std::string& path);
// `path`, or standard input if it is "-". kNotFound says why it cannot be read, kLimitExceeded that
// it has more than `bytes_max`, which are whole MiB. Messages begin with file_title().
Result<std::string> read_file(const std::string& path, std::size_t bytes_max);
// All of it, or what was there stays; a link goes on naming the same file. What is no regular file,
// such as a pipe, is written to as it is.
Result<void> write_file(const std::string& path, std::string_view text);

}  // namespace pawl::cli

// Whether a path still names the file that was opened under it. SQLite goes on writing to a file
// that was removed or replaced, and what it writes there is lost.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace pawl::store {

class OpenedFile {
 public:
  // The file that `path` names now, links followed. What is no file, as with a VFS that has none,
  // is never found missing.
  explicit OpenedFile(const std::string& path);

  // kStoreUnusable: the path names no file, or another one. Ok again once the file is back. Any
  // thread.
  Result<void> check() const;

 private:
  std::string path_;  // Absolute: the process may change its directory.
  bool is_file_ = false;
  std::uint64_t device_ = 0;
  std::uint64_t inode_ = 0;
};

}  // namespace pawl::store

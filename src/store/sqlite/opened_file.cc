#include "store/sqlite/opened_file.h"

#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

namespace pawl::store {

OpenedFile::OpenedFile(const std::string& path) {
  std::error_code error;
  path_ = std::filesystem::absolute(path, error).string();
  struct stat info{};
  is_file_ = !error && ::stat(path_.c_str(), &info) == 0;
  device_ = info.st_dev;
  inode_ = info.st_ino;
}

Result<void> OpenedFile::check() const {
  struct stat info{};
  if (!is_file_) {
    return {};
  }
  const bool is_named = ::stat(path_.c_str(), &info) == 0;
  if (is_named && info.st_dev == device_ && info.st_ino == inode_) {
    return {};
  }
  // Any other error, e.g. of rights that the process has given up, says nothing about the file.
  if (!is_named && errno != ENOENT && errno != ENOTDIR) {
    return {};
  }
  const std::string what =
      is_named ? "was replaced by another file" : "was removed, or moved elsewhere,";
  return make_error(ErrorCode::kStoreUnusable,
                    "the database '" + path_ + "' " + what +
                        " while it was in use; nothing more is written to the old file. Put the "
                        "old file back, or end this process and start it again with the file that "
                        "is to be used");
}

}  // namespace pawl::store

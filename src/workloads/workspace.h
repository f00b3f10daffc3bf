// Workspace: the directory that a bench works in, and the process that it has started to be killed.
// Thread-safe, so that a signal can end both in the middle of the work.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <mutex>
#include <string>
#include <vector>

#include "base/result.h"

namespace pawl::workloads {

class Workspace {
 public:
  Workspace() = default;
  ~Workspace() { remove(); }
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;

  // Makes a new directory whose name begins with `prefix`. Nothing that was there is touched.
  Result<void> make(const std::string& prefix);
  const std::filesystem::path& directory() const { return directory_; }

  // Starts a program, which does not outlive this process. One at a time.
  Result<void> start(std::vector<std::string> words);
  // Waits for its end. False: it was not killed.
  bool wait_until_killed();

  // Ends the process and removes the directory with all that is in it. False: something is left.
  bool remove();

 private:
  std::mutex mutex_;
  std::filesystem::path directory_;
  pid_t process_ = 0;
  bool is_removed_ = false;
};

}  // namespace pawl::workloads

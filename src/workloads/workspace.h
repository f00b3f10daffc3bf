// Workspace: the directory that a bench works in, and the processes that it has started.
// Thread-safe, so that a signal can end both in the middle of the work.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <mutex>
#include <set>
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

  // A process that was started, and what goes to its standard input and comes from its standard
  // output, if it talks.
  struct Child {
    pid_t pid = 0;
    int to = -1;
    int from = -1;
  };
  enum class Talks : std::uint8_t { kNo, kYes };
  // Starts a program, which does not outlive this process.
  Result<Child> start(std::vector<std::string> words, Talks talks = Talks::kNo);
  // Waits for its end, and closes what it has talked by. The status as waitpid() gives it.
  int wait(Child& child);

  // Ends the processes and removes the directory with all that is in it. False: something is left.
  bool remove();

 private:
  std::mutex mutex_;
  std::filesystem::path directory_;
  std::set<pid_t> processes_;
  bool is_removed_ = false;
};

}  // namespace pawl::workloads

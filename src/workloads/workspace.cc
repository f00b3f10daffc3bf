#include "workloads/workspace.h"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <system_error>

namespace pawl::workloads {

Result<void> Workspace::make(const std::string& prefix) {
  std::string pattern = prefix + "XXXXXX";
  const std::lock_guard<std::mutex> lock(mutex_);
  if (mkdtemp(pattern.data()) == nullptr) {
    return make_error(ErrorCode::kStoreIo, "cannot make the directory '" + pattern +
                                               "' to work in: " + std::strerror(errno));
  }
  std::error_code error;
  directory_ = std::filesystem::absolute(pattern, error);
  return {};
}

Result<void> Workspace::start(std::vector<std::string> words) {
  std::vector<char*> pointers;
  pointers.reserve(words.size() + 1);
  for (std::string& word : words) {
    pointers.push_back(word.data());
  }
  pointers.push_back(nullptr);
  const std::lock_guard<std::mutex> lock(mutex_);
  if (is_removed_) {
    return make_error(ErrorCode::kInvalidState, "the bench has been stopped");
  }
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child < 0) {
    return make_error(ErrorCode::kStoreIo,
                      std::string("cannot start a second process: ") + std::strerror(errno));
  }
  if (child == 0) {
    // It goes with this process, however that ends, and takes signals in the usual way.
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    if (getppid() == parent) {
      execv(pointers[0], pointers.data());
    }
    _exit(127);
  }
  process_ = child;
  return {};
}

bool Workspace::wait_until_killed() {
  siginfo_t info{};
  // Its number stays taken until it is known here that it has gone.
  while (waitid(P_PID, static_cast<id_t>(process_), &info, WEXITED | WNOWAIT) < 0 &&
         errno == EINTR) {
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  int status = 0;
  waitpid(process_, &status, 0);
  process_ = 0;
  return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
}

bool Workspace::remove() {
  const std::lock_guard<std::mutex> lock(mutex_);
  is_removed_ = true;
  if (process_ > 0) {
    kill(process_, SIGKILL);
  }
  if (directory_.empty()) {
    return true;
  }
  // If the work is still going on, it may make another file meanwhile.
  for (int attempt = 0; attempt < 20; ++attempt) {
    std::error_code error;
    std::filesystem::remove_all(directory_, error);
    if (!error && !std::filesystem::exists(directory_, error)) {
      return true;
    }
    usleep(10'000);
  }
  return false;
}

}  // namespace pawl::workloads

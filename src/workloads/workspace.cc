#include "workloads/workspace.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
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

namespace {

// In the new process: it goes with the one that started it, however that ends, and takes signals in
// the usual way.
[[noreturn]] void become(char** words, pid_t parent, int in, int out) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  const bool is_connected = in < 0 || (dup2(in, 0) == 0 && dup2(out, 1) == 1);
  if (is_connected && getppid() == parent) {
    execv(words[0], words);
  }
  _exit(127);
}

void close_all(std::initializer_list<int> files) {
  for (const int file : files) {
    if (file >= 0) {
      close(file);
    }
  }
}

}  // namespace

Result<Workspace::Child> Workspace::start(std::vector<std::string> words, Talks talks) {
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
  int in[2] = {-1, -1};
  int out[2] = {-1, -1};
  const bool has_pipes =
      talks == Talks::kNo || (pipe2(in, O_CLOEXEC) == 0 && pipe2(out, O_CLOEXEC) == 0);
  const pid_t parent = getpid();
  const pid_t pid = has_pipes ? fork() : -1;
  if (pid < 0) {
    const int error = errno;
    close_all({in[0], in[1], out[0], out[1]});
    return make_error(ErrorCode::kStoreIo,
                      std::string("cannot start another process: ") + std::strerror(error));
  }
  if (pid == 0) {
    become(pointers.data(), parent, in[0], out[1]);
  }
  close_all({in[0], out[1]});
  processes_.insert(pid);
  return Child{pid, in[1], out[0]};
}

int Workspace::wait(Child& child) {
  close_all({child.to, child.from});
  child.to = child.from = -1;
  siginfo_t info{};
  // Its number stays taken until it is known here that it has gone.
  while (waitid(P_PID, static_cast<id_t>(child.pid), &info, WEXITED | WNOWAIT) < 0 &&
         errno == EINTR) {
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  int status = 0;
  waitpid(child.pid, &status, 0);
  processes_.erase(child.pid);
  return status;
}

bool Workspace::remove() {
  const std::lock_guard<std::mutex> lock(mutex_);
  is_removed_ = true;
  for (const pid_t process : processes_) {
    kill(process, SIGKILL);
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

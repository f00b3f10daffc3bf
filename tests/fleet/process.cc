#include "fleet/process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <stdexcept>

namespace pawl::fleet {

namespace {

// Everything is made before the fork: after it, other threads may hold any lock.
struct Prepared {
  std::vector<std::string> words;
  std::vector<char*> pointers;

  void add(std::string word) { words.push_back(std::move(word)); }
  char** get() {
    for (std::string& word : words) {
      pointers.push_back(word.data());
    }
    pointers.push_back(nullptr);
    return pointers.data();
  }
};

void read_lines(int file, const std::function<void(const std::string&)>& on_line) {
  std::string text;
  std::array<char, 4096> buffer;
  while (true) {
    const ssize_t got = ::read(file, buffer.data(), buffer.size());
    if (got <= 0) {
      return;
    }
    text.append(buffer.data(), static_cast<std::size_t>(got));
    std::size_t begin = 0;
    for (std::size_t end = text.find('\n'); end != std::string::npos;
         end = text.find('\n', begin)) {
      on_line(text.substr(begin, end - begin));
      begin = end + 1;
    }
    text.erase(0, begin);
  }
}

}  // namespace

Process::Process(const Options& options) {
  std::array<int, 2> to{};
  std::array<int, 2> from{};
  const int errors =
      ::open(options.errors.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (errors < 0 || ::pipe2(to.data(), O_CLOEXEC) != 0 || ::pipe2(from.data(), O_CLOEXEC) != 0) {
    throw std::runtime_error("no pipe for a process");
  }
  Prepared command;
  for (const std::string& word : options.command) {
    command.add(word);
  }
  Prepared environment;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    environment.add(*variable);
  }
  for (const auto& [name, value] : options.environment) {
    environment.add(name + "=" + value);
  }
  char** const arguments = command.get();
  char** const variables = environment.get();
  const pid_t parent = ::getpid();
  pid_ = ::fork();
  if (pid_ == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) {
      ::_exit(126);
    }
    ::dup2(to[0], STDIN_FILENO);
    ::dup2(from[1], STDOUT_FILENO);
    ::dup2(errors, STDERR_FILENO);
    ::execve(arguments[0], arguments, variables);
    ::_exit(127);
  }
  ::close(errors);
  ::close(to[0]);
  ::close(from[1]);
  input_ = to[1];
  output_ = from[0];
  if (pid_ < 0) {
    throw std::runtime_error("no process for " + options.command[0]);
  }
  reader_ = std::thread([file = output_, on_line = options.on_line] { read_lines(file, on_line); });
}

Process::~Process() { kill(); }

void Process::tell(const std::string& line) const {
  const std::string text = line + "\n";
  (void)!::write(input_, text.data(), text.size());
}

void Process::signal(int number) const {
  if (pid_ > 0) {
    ::kill(pid_, number);
  }
}

bool Process::has_ended() {
  if (pid_ > 0 && ::waitpid(pid_, &status_, WNOHANG) == pid_) {
    reap();
  }
  return pid_ == 0;
}

void Process::kill() {
  if (pid_ <= 0) {
    return;
  }
  ::kill(pid_, SIGKILL);
  while (::waitpid(pid_, &status_, 0) < 0 && errno == EINTR) {
  }
  reap();
}

int Process::end(int patience_s) {
  if (pid_ <= 0) {
    return -1;
  }
  ::close(input_);
  input_ = -1;
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(patience_s);
  while (::waitpid(pid_, &status_, WNOHANG) == 0) {
    if (std::chrono::steady_clock::now() > deadline) {
      kill();
      return -1;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  reap();
  return WIFEXITED(status_) ? WEXITSTATUS(status_) : -1;
}

void Process::reap() {
  pid_ = 0;
  if (reader_.joinable()) {
    reader_.join();
  }
  if (input_ >= 0) {
    ::close(input_);
  }
  ::close(output_);
}

}  // namespace pawl::fleet

#include "cli/checked_program.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include "view/text.h"

extern char** environ;

namespace pawl::cli {

namespace {

namespace json = boost::json;
using Clock = std::chrono::steady_clock;

constexpr std::string_view kProtocol = "pawl-check/1";
constexpr std::string_view kVariable = "PAWL_CHECK";
// The program's descriptors.
constexpr int kTheirRequests = 3;
constexpr int kTheirAnswers = 4;
// What is shown of the program's output, and the longest answer that is believed to be one.
constexpr std::size_t kOutputBytesMax = 4096;
constexpr std::size_t kOutputLinesMax = 12;
constexpr std::size_t kAnswerBytesMax = std::size_t{256} << 20U;
// For a process that has been told to end, or is about to.
constexpr std::chrono::milliseconds kPatience{2000};

// The process groups to be ended with this process; 0: none.
std::array<std::atomic<pid_t>, kCheckedProgramsMax> groups_to_end = {};

void add_group(pid_t group) {
  for (std::atomic<pid_t>& place : groups_to_end) {
    pid_t none = 0;
    if (place.compare_exchange_strong(none, group)) {
      return;
    }
  }
}

void remove_group(pid_t group) {
  for (std::atomic<pid_t>& place : groups_to_end) {
    pid_t found = group;
    if (place.compare_exchange_strong(found, 0)) {
      return;
    }
  }
}

void end_all(int number) {
  for (const std::atomic<pid_t>& place : groups_to_end) {
    if (const pid_t group = place.load(); group > 0) {
      ::kill(-group, SIGKILL);
    }
  }
  std::signal(number, SIG_DFL);
  ::raise(number);
}

void watch_signals() {
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction now{};
    ::sigaction(number, nullptr, &now);
    if (now.sa_handler == SIG_DFL) {
      std::signal(number, end_all);
    }
  }
  std::signal(SIGPIPE, SIG_IGN);  // A program that is gone is noticed otherwise.
}

struct Pipe {
  int reads = -1;
  int writes = -1;

  void close() {
    for (int* end : {&reads, &writes}) {
      if (*end >= 0) {
        ::close(std::exchange(*end, -1));
      }
    }
  }
};

// With numbers that leave room for those of the program.
bool open_pipe(Pipe& made) {
  std::array<int, 2> ends{-1, -1};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    return false;
  }
  made.reads = ::fcntl(ends[0], F_DUPFD_CLOEXEC, kTheirAnswers + 1);
  made.writes = ::fcntl(ends[1], F_DUPFD_CLOEXEC, kTheirAnswers + 1);
  ::close(ends[0]);
  ::close(ends[1]);
  return made.reads >= 0 && made.writes >= 0;
}

void close_end(int& descriptor) {
  if (descriptor >= 0) {
    ::close(std::exchange(descriptor, -1));
  }
}

Error trouble(std::string message) {
  return make_error(ErrorCode::kInvalidState, std::move(message));
}

std::string ending_text(int status) {
  if (WIFSIGNALED(status)) {
    const int number = WTERMSIG(status);
    return "it ended by signal " + std::to_string(number) + " (" + ::strsignal(number) + ")";
  }
  return "it ended with exit code " + std::to_string(WEXITSTATUS(status));
}

std::string seconds_text(std::chrono::milliseconds time) {
  return std::to_string(time.count() / 1000) + " s";
}

Result<json::object> parse_line(const std::string& line) {
  json::error_code error;
  json::parse_options options;
  options.allow_invalid_utf8 = true;
  json::value value = json::parse(line, error, json::storage_ptr(), options);
  if (error || !value.is_object()) {
    return trouble("it writes something else than answers to the descriptor " +
                   std::to_string(kTheirAnswers));
  }
  return std::move(value.get_object());
}

std::string_view type_of(const json::object& line) {
  const json::value* type = line.if_contains("type");
  return type != nullptr && type->is_string() ? std::string_view(type->get_string())
                                              : std::string_view();
}

}  // namespace

CheckedProgram::CheckedProgram(std::vector<std::string> command, std::chrono::milliseconds timeout)
    : command_(std::move(command)), timeout_(timeout) {
  watch_signals();
}

CheckedProgram::~CheckedProgram() { stop(kPatience); }

// --- The process ---------------------------------------------------------------------------------

Result<void> CheckedProgram::spawn() {
  Pipe requests;
  Pipe answers;
  Pipe output;
  const auto close_all = [&] {
    requests.close();
    answers.close();
    output.close();
  };
  if (!open_pipe(requests) || !open_pipe(answers) || !open_pipe(output)) {
    const std::string why = std::strerror(errno);
    close_all();
    return trouble("cannot make a pipe: " + why);
  }
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&files, output.writes, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&files, output.writes, STDERR_FILENO);
  posix_spawn_file_actions_adddup2(&files, requests.reads, kTheirRequests);
  posix_spawn_file_actions_adddup2(&files, answers.writes, kTheirAnswers);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  // A group of its own, so that what a script has started ends with it. And signals as usual.
  sigset_t defaults;
  sigemptyset(&defaults);
  sigaddset(&defaults, SIGPIPE);
  posix_spawnattr_setsigdefault(&attributes, &defaults);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF);

  std::vector<char*> arguments;
  for (const std::string& argument : command_) {
    arguments.push_back(const_cast<char*>(argument.c_str()));
  }
  arguments.push_back(nullptr);
  std::string variable = std::string(kVariable) + "=" + std::to_string(kTheirRequests) + "," +
                         std::to_string(kTheirAnswers);
  std::vector<char*> environment;
  for (char** each = environ; *each != nullptr; ++each) {
    if (!std::string_view(*each).starts_with(std::string(kVariable) + "=")) {
      environment.push_back(*each);
    }
  }
  environment.push_back(variable.data());
  environment.push_back(nullptr);
  const int error = posix_spawnp(&process_, arguments[0], &files, &attributes, arguments.data(),
                                 environment.data());
  posix_spawn_file_actions_destroy(&files);
  posix_spawnattr_destroy(&attributes);
  if (error != 0) {
    process_ = -1;
    close_all();
    return trouble("cannot start '" + command_[0] + "': " + std::strerror(error));
  }
  add_group(process_);
  ::close(requests.reads);
  ::close(answers.writes);
  ::close(output.writes);
  requests_ = requests.writes;
  answers_ = answers.reads;
  output_ = output.reads;
  for (const int descriptor : {requests_, answers_, output_}) {
    ::fcntl(descriptor, F_SETFL, O_NONBLOCK);
  }
  unsent_ = {};
  received_.clear();
  searched_ = 0;
  output_tail_.clear();
  return {};
}

std::string CheckedProgram::stop(std::chrono::milliseconds patience) {
  if (process_ < 0) {
    return "";
  }
  close_end(requests_);  // That is what it waits for.
  bool is_over = false;
  const int handle = static_cast<int>(::syscall(SYS_pidfd_open, process_, 0));
  if (handle >= 0) {
    pollfd waited{handle, POLLIN, 0};
    const auto until = Clock::now() + patience;
    int found = 0;
    do {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now());
      found = ::poll(&waited, 1, static_cast<int>(std::max<std::int64_t>(left.count(), 0)));
    } while (found < 0 && errno == EINTR);
    is_over = found > 0;
    ::close(handle);
  }
  ::kill(-process_, SIGKILL);  // Also what it may have started.
  remove_group(process_);
  int status = 0;
  while (::waitpid(process_, &status, 0) < 0 && errno == EINTR) {
  }
  process_ = -1;
  read_output();
  close_end(answers_);
  close_end(output_);
  return is_over ? ending_text(status) : std::string();
}

void CheckedProgram::read_output() {
  std::array<char, 1 << 14> part{};
  ssize_t count = 0;
  while (output_ >= 0 && (count = ::read(output_, part.data(), part.size())) > 0) {
    output_tail_.append(part.data(), static_cast<std::size_t>(count));
    if (output_tail_.size() > 2 * kOutputBytesMax) {
      output_tail_.erase(0, output_tail_.size() - kOutputBytesMax);
    }
  }
  if (count == 0) {
    close_end(output_);
  }
}

std::string CheckedProgram::printed() const {
  std::string text;
  std::size_t lines = 0;
  std::size_t end = output_tail_.size();
  while (end > 0 && lines < kOutputLinesMax) {
    const std::size_t before = end < 1 ? std::string::npos : output_tail_.rfind('\n', end - 1);
    const std::size_t begin = before == std::string::npos ? 0 : before + 1;
    if (begin < end) {
      const std::string line =
          view::line_text(std::string_view(output_tail_).substr(begin, end - begin), 500);
      text.insert(0, "  " + line + "\n");
      ++lines;
    }
    end = before == std::string::npos ? 0 : before;
  }
  return text;
}

// --- Lines ---------------------------------------------------------------------------------------

// Writes what is to be written and reads what comes, until a line is there.
CheckedProgram::Event CheckedProgram::exchange(std::string& line) {
  const auto until = Clock::now() + timeout_;
  while (true) {
    if (const std::size_t end = received_.find('\n', searched_); end != std::string::npos) {
      line = received_.substr(0, end);
      received_.erase(0, end + 1);
      searched_ = 0;
      return Event::kLine;
    }
    searched_ = received_.size();
    std::array<pollfd, 3> waited{pollfd{answers_, POLLIN, 0}, pollfd{output_, POLLIN, 0},
                                 pollfd{unsent_.empty() ? -1 : requests_, POLLOUT, 0}};
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now());
    if (left.count() <= 0) {
      return Event::kTimeout;
    }
    if (::poll(waited.data(), waited.size(), static_cast<int>(left.count())) < 0) {
      continue;  // EINTR
    }
    if (waited[1].revents != 0) {
      read_output();
    }
    if (waited[2].revents != 0) {
      const ssize_t count = ::write(requests_, unsent_.data(), unsent_.size());
      if (count > 0) {
        unsent_.remove_prefix(static_cast<std::size_t>(count));
      } else if (count < 0 && errno != EAGAIN && errno != EINTR) {
        unsent_ = {};  // Nobody reads; the answers tell why.
      }
    }
    if (waited[0].revents != 0) {
      std::array<char, 1 << 16> part{};
      const ssize_t count = ::read(answers_, part.data(), part.size());
      if (count > 0) {
        received_.append(part.data(), static_cast<std::size_t>(count));
      } else if (count == 0 || (errno != EAGAIN && errno != EINTR)) {
        return Event::kClosed;
      }
      if (received_.size() > kAnswerBytesMax) {
        return Event::kClosed;
      }
    }
  }
}

Result<void> CheckedProgram::read_hello() {
  constexpr std::string_view kCall =
      "; its main has to call pawl::answer_check(registry) before it does anything else";
  std::string line;
  const Event event = exchange(line);
  if (event != Event::kLine) {
    const std::string how = stop(event == Event::kClosed ? kPatience : std::chrono::milliseconds());
    const std::string why = event == Event::kTimeout
                                ? "it said nothing for " + seconds_text(timeout_)
                                : (how.empty() ? "it closed the descriptor of its answers" : how);
    return trouble("'" + command_[0] + "' does not answer: " + why + std::string(kCall));
  }
  PAWL_TRY_ASSIGN(const json::object hello, parse_line(line));
  const json::value* protocol = hello.if_contains("protocol");
  if (type_of(hello) != "hello" || protocol == nullptr || *protocol != json::string(kProtocol)) {
    return trouble("'" + command_[0] + "' was built with another Pawl: it does not speak " +
                   std::string(kProtocol));
  }
  return {};
}

Result<void> CheckedProgram::start() {
  if (process_ >= 0) {
    return {};
  }
  PAWL_TRY(spawn());
  Result<void> greeted = read_hello();
  if (!greeted) {
    stop({});
  }
  return greeted;
}

Result<CheckedProgram::Reply> CheckedProgram::ask(std::string_view request) {
  PAWL_TRY(start());
  const std::string line = std::string(request) + "\n";
  unsent_ = line;
  output_tail_.clear();
  Reply reply;
  while (true) {
    std::string answer;
    const Event event = exchange(answer);
    if (event == Event::kLine) {
      Result<json::object> parsed = parse_line(answer);
      const bool is_early = parsed && type_of(*parsed) == "early";
      if (is_early || (parsed && type_of(*parsed) == "answer")) {
        reply.answer = *std::move(parsed);
        if (is_early) {
          continue;
        }
        unsent_ = {};
        return reply;
      }
      stop({});
      reply.trouble = parsed ? "it writes something else than answers" : parsed.error().message;
    } else if (event == Event::kTimeout) {
      stop({});
      reply.trouble = "no answer within " + seconds_text(timeout_) +
                      ": does the workflow loop without awaiting anything?";
    } else {
      const std::string how = stop(kPatience);
      reply.trouble = how.empty() ? "it closed the descriptor of its answers" : how;
    }
    unsent_ = {};
    return reply;
  }
}

}  // namespace pawl::cli

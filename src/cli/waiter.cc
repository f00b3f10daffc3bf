#include "cli/waiter.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace pawl::cli {

namespace {

// What a signal handler can reach: a pipe whose one end it writes to. The first byte of an
// interrupt stays in `is_interrupted`.
std::array<int, 2> wake_pipe = {-1, -1};
volatile std::sig_atomic_t is_interrupted = 0;

void write_byte() {
  const int error = errno;
  const char byte = 0;
  // A full pipe wakes as well.
  if (::write(wake_pipe[1], &byte, 1) < 0) {
    errno = error;
  }
}

void on_signal(int /*number*/) {
  is_interrupted = 1;
  write_byte();
}

}  // namespace

Waiter::Waiter() {
  if (::pipe2(wake_pipe.data(), O_CLOEXEC | O_NONBLOCK) != 0) {
    throw std::system_error(errno, std::generic_category(), "cannot make a pipe");
  }
  is_interrupted = 0;
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    struct sigaction action{};
    action.sa_handler = on_signal;
    sigaction(kSignals[i], nullptr, &before_[i]);
    if (before_[i].sa_handler != SIG_IGN) {  // E.g. under nohup.
      sigaction(kSignals[i], &action, nullptr);
    }
  }
}

Waiter::~Waiter() {
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    sigaction(kSignals[i], &before_[i], nullptr);
  }
  for (int& end : wake_pipe) {
    ::close(end);
    end = -1;
  }
}

void Waiter::wake() { write_byte(); }

Waiter::Why Waiter::wait(int timeout_ms) {
  if (is_interrupted != 0) {
    return Why::kInterrupted;
  }
  std::array<pollfd, 2> files = {{{wake_pipe[0], POLLIN, 0}, {STDOUT_FILENO, 0, 0}}};
  const int ready = ::poll(files.data(), files.size(), timeout_ms);
  if (is_interrupted != 0) {
    return Why::kInterrupted;
  }
  if (ready > 0 && (files[1].revents & POLLERR) != 0) {
    return Why::kNobodyReads;
  }
  std::array<char, 256> bytes{};
  while (::read(wake_pipe[0], bytes.data(), bytes.size()) > 0) {
  }
  return ready > 0 ? Why::kWoken : Why::kTimeOver;
}

}  // namespace pawl::cli

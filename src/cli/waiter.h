// Waiter: sleeps until something has changed, and ends on ctrl-C. One at a time.
#pragma once

#include <array>
#include <csignal>
#include <cstdint>

namespace pawl::cli {

class Waiter {
 public:
  enum class Why : std::uint8_t {
    kWoken,
    kTimeOver,
    kInterrupted,  // ctrl-C, SIGTERM or SIGHUP, now or before.
    kNobodyReads,  // Standard output was closed at its other end.
  };

  // From now on these signals interrupt waits instead of ending the process.
  Waiter();
  ~Waiter();
  Waiter(const Waiter&) = delete;
  Waiter& operator=(const Waiter&) = delete;

  // Any thread. Wakes the wait that runs, or the next one.
  void wake();
  Why wait(int timeout_ms);

 private:
  static constexpr std::array<int, 3> kSignals = {SIGINT, SIGTERM, SIGHUP};
  std::array<struct sigaction, kSignals.size()> before_{};
};

}  // namespace pawl::cli

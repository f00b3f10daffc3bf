// How far something is that takes longer than a second: a line on standard error, if that is a
// terminal.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "cli/console.h"

namespace pawl::cli {

class Progress {
 public:
  // `what`: "terminating".
  Progress(const Console& console, std::string what, std::int64_t total);
  // Clears the line.
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void show(std::int64_t done);

 private:
  using Clock = std::chrono::steady_clock;

  const bool is_shown_;
  const std::string what_;
  const std::int64_t total_;
  const Clock::time_point start_;
  Clock::time_point last_;
  bool has_line_ = false;
};

// "terminating  1200 of 5000, 24 %, 600/s, 6.33 s left".
std::string progress_text(const std::string& what, std::int64_t done, std::int64_t total,
                          std::int64_t elapsed_ms);

}  // namespace pawl::cli

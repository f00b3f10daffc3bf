// What an engine says on standard error if nobody has set EngineOptions::on_error.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"

namespace pawl::detail {

// Makes the lines. A store that fails does so for every run, and again and again: of one error,
// whatever was being done, there is one line in kPause. Thread-safe.
class ErrorLines {
 public:
  using Moment = std::chrono::steady_clock::time_point;
  static constexpr std::chrono::seconds kPause{5};

  // "pawl: writing a turn of run 'a': …", without the end of the line. None: it was said a moment
  // ago; the next line says how often.
  std::optional<std::string> line(std::string_view what, const Error& error, Moment now);

 private:
  struct Said {
    Moment at;
    std::uint64_t since = 0;  // So often was nothing said.
  };

  std::mutex mutex_;
  std::map<std::string, Said, std::less<>> said_;  // By the error's message.
};

}  // namespace pawl::detail

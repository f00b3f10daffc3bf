#include "sdk/error_lines.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace pawl::detail {

namespace {

// Messages are not kept for ever: those that come no more make room.
constexpr std::size_t kMessagesMax = 64;

}  // namespace

std::optional<std::string> ErrorLines::line(std::string_view what, const Error& error, Moment now) {
  const std::scoped_lock lock(mutex_);
  const auto found = said_.find(error.message);
  std::uint64_t since = 0;
  if (found != said_.end()) {
    if (now - found->second.at < kPause) {
      ++found->second.since;
      return std::nullopt;
    }
    since = found->second.since;
    found->second = {now, 0};
  } else {
    if (said_.size() >= kMessagesMax) {
      std::erase_if(said_, [&](const auto& said) { return now - said.second.at >= kPause; });
    }
    said_.emplace(error.message, Said{now, 0});
  }
  std::string text = "pawl: " + std::string(what) + ": " + error.message;
  if (since > 0) {
    text += " (and " + std::to_string(since) + " more times since the last line)";
  }
  // It quotes what was in a file, or what user code has thrown.
  std::replace_if(
      text.begin(), text.end(),
      [](char byte) { return static_cast<unsigned char>(byte) < 0x20 || byte == 0x7f; }, ' ');
  return text;
}

}  // namespace pawl::detail

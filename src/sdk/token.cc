#include "sdk/token.h"

#include <cstdint>

namespace pawl::detail {

namespace {
constexpr std::string_view kDigits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
}  // namespace

std::string make_token(std::string_view run_id, std::string_view promise) {
  std::string bytes(run_id);
  bytes += '\0';
  bytes += promise;
  std::string token;
  std::uint32_t bits = 0;
  unsigned count = 0;
  for (const char byte : bytes) {
    bits = (bits << 8U) | static_cast<std::uint8_t>(byte);
    count += 8;
    while (count >= 6) {
      count -= 6;
      token += kDigits[(bits >> count) & 63U];
    }
  }
  if (count > 0) {
    token += kDigits[(bits << (6 - count)) & 63U];
  }
  return token;
}

std::optional<std::pair<std::string, std::string>> read_token(std::string_view token) {
  std::string bytes;
  std::uint32_t bits = 0;
  unsigned count = 0;
  for (const char digit : token) {
    const std::size_t value = kDigits.find(digit);
    if (value == std::string_view::npos) {
      return std::nullopt;
    }
    bits = (bits << 6U) | static_cast<std::uint32_t>(value);
    count += 6;
    if (count >= 8) {
      count -= 8;
      bytes += static_cast<char>((bits >> count) & 255U);
    }
  }
  // A zero byte may be in the run's id; hardly in a promise's name.
  const std::size_t split = bytes.rfind('\0');
  if (split == std::string::npos || split == 0 || split + 1 == bytes.size()) {
    return std::nullopt;
  }
  return std::pair(bytes.substr(0, split), bytes.substr(split + 1));
}

}  // namespace pawl::detail

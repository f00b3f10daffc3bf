#include "base/base64.h"

#include <cstdint>

namespace pawl {

namespace {

constexpr std::string_view kDigits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

}  // namespace

std::string encode_base64(std::string_view bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  std::uint32_t bits = 0;
  unsigned count = 0;
  for (const char byte : bytes) {
    bits = (bits << 8U) | static_cast<std::uint8_t>(byte);
    count += 8;
    while (count >= 6) {
      count -= 6;
      text += kDigits[(bits >> count) & 63U];
    }
  }
  if (count > 0) {
    text += kDigits[(bits << (6 - count)) & 63U];
  }
  text.append((4 - text.size() % 4) % 4, '=');
  return text;
}

std::optional<std::string> decode_base64(std::string_view text) {
  const std::size_t size = text.find_last_not_of('=') + 1;  // npos + 1 is 0.
  if (text.size() % 4 != 0 || text.size() - size > 2) {
    return std::nullopt;
  }
  std::string bytes;
  bytes.reserve(size * 3 / 4);
  std::uint32_t bits = 0;
  unsigned count = 0;
  for (const char digit : text.substr(0, size)) {
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
  // Bits left over that are not zero, or a digit too many, would be a second way to write it.
  const bool is_exact = count < 6 && (bits & ((1U << count) - 1)) == 0;
  return is_exact ? std::optional(std::move(bytes)) : std::nullopt;
}

}  // namespace pawl

#include "base/utf8.h"

#include <cstdint>
#include <cstring>

namespace pawl {

std::size_t utf8_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) {
    return 1;
  }
  const std::size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < length) {
    return 0;
  }
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0U) != 0x80) {
      return 0;
    }
  }
  // Written longer than needed, halves of pairs, and beyond the last character.
  const bool is_wrong = (first == 0xe0 && byte(1) < 0xa0) || (first == 0xed && byte(1) >= 0xa0) ||
                        (first == 0xf0 && byte(1) < 0x90) || (first == 0xf4 && byte(1) >= 0x90);
  return is_wrong ? 0 : length;
}

namespace {

// Without the ASCII that it begins with.
std::string_view skip_ascii(std::string_view text) {
  constexpr std::uint64_t kHighBits = 0x8080808080808080U;
  while (text.size() >= sizeof(std::uint64_t)) {
    std::uint64_t word = 0;
    std::memcpy(&word, text.data(), sizeof(word));
    if ((word & kHighBits) != 0) {
      break;
    }
    text.remove_prefix(sizeof(word));
  }
  while (!text.empty() && static_cast<unsigned char>(text[0]) < 0x80) {
    text.remove_prefix(1);
  }
  return text;
}

}  // namespace

bool is_utf8(std::string_view text) {
  for (text = skip_ascii(text); !text.empty(); text = skip_ascii(text)) {
    const std::size_t length = utf8_length(text);
    if (length == 0) {
      return false;
    }
    text.remove_prefix(length);
  }
  return true;
}

}  // namespace pawl

#include "store/postgres/text.h"

#include <algorithm>

#include "base/utf8.h"

namespace pawl::store::pg {

namespace {

constexpr std::size_t kWrittenBytes = 4;

// Of text that is UTF-8: whether it begins with one of the 256 characters, F4 8F BC 80 to F4 8F BF
// BF.
bool begins_with_written(std::string_view text) {
  return text.size() >= kWrittenBytes && text.starts_with("\xf4\x8f") &&
         static_cast<unsigned char>(text[2]) >= 0xbc;
}

void write_byte(std::string& text, char byte) {
  const auto value = static_cast<unsigned char>(byte);
  text += "\xf4\x8f";
  text += static_cast<char>(0xbcU + (value >> 6U));
  text += static_cast<char>(0x80U + (value & 0x3fU));
}

}  // namespace

bool is_plain_text(std::string_view bytes) {
  if (std::all_of(bytes.begin(), bytes.end(), [](char byte) { return byte > 0; })) {
    return true;  // ASCII, as nearly always.
  }
  return bytes.find('\0') == std::string_view::npos && is_utf8(bytes) && !has_written_bytes(bytes);
}

std::string to_text(std::string_view bytes) {
  std::string text;
  while (!bytes.empty()) {
    const std::size_t length = bytes[0] == '\0' ? 0 : utf8_length(bytes);
    if (length == 0 || begins_with_written(bytes)) {
      write_byte(text, bytes[0]);
      bytes.remove_prefix(1);
    } else {
      text += bytes.substr(0, length);
      bytes.remove_prefix(length);
    }
  }
  return text;
}

bool has_written_bytes(std::string_view text) {
  for (std::size_t at = text.find('\xf4'); at != std::string_view::npos;
       at = text.find('\xf4', at + 1)) {
    if (begins_with_written(text.substr(at))) {
      return true;
    }
  }
  return false;
}

std::string from_text(std::string_view text) {
  std::string bytes;
  while (!text.empty()) {
    if (begins_with_written(text)) {
      bytes += static_cast<char>(((static_cast<unsigned char>(text[2]) - 0xbcU) << 6U) |
                                 (static_cast<unsigned char>(text[3]) & 0x3fU));
      text.remove_prefix(kWrittenBytes);
    } else {
      bytes += text[0];
      text.remove_prefix(1);
    }
  }
  return bytes;
}

}  // namespace pawl::store::pg

#include "store/url.h"

#include <charconv>
#include <cstddef>
#include <system_error>

namespace pawl::store {

namespace {

std::optional<unsigned> hex(std::string_view digits) {
  unsigned value = 0;
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
  if (digits.size() != 2 || error != std::errc() || end != digits.data() + digits.size()) {
    return std::nullopt;
  }
  return value;
}

}  // namespace

std::optional<std::string> decode_percent(std::string_view text) {
  std::string decoded;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      decoded.push_back(text[i]);
      continue;
    }
    const std::optional<unsigned> byte = hex(text.substr(i + 1, 2));
    if (!byte.has_value()) {
      return std::nullopt;
    }
    decoded.push_back(static_cast<char>(*byte));
    i += 2;
  }
  return decoded;
}

}  // namespace pawl::store

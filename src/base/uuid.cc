#include "base/uuid.h"

#include <algorithm>

#include <boost/uuid/name_generator_sha1.hpp>
#include <boost/uuid/uuid.hpp>

namespace pawl {

namespace {

constexpr bool is_dash_position(std::size_t i) { return i == 8 || i == 13 || i == 18 || i == 23; }

int hex_value(char c) {
  if (c >= '0' && c <= '9') {
    return c - '0';
  }
  if (c >= 'a' && c <= 'f') {
    return c - 'a' + 10;
  }
  if (c >= 'A' && c <= 'F') {
    return c - 'A' + 10;
  }
  return -1;
}

}  // namespace

std::optional<Uuid> Uuid::parse(std::string_view text) {
  if (text.size() != 36) {
    return std::nullopt;
  }
  Uuid uuid;
  std::size_t nibble = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (is_dash_position(i)) {
      if (text[i] != '-') {
        return std::nullopt;
      }
      continue;
    }
    const int value = hex_value(text[i]);
    if (value < 0) {
      return std::nullopt;
    }
    std::uint8_t& byte = uuid.bytes[nibble / 2];
    byte = static_cast<std::uint8_t>(byte * 16 + value);
    ++nibble;
  }
  return uuid;
}

std::string Uuid::to_string() const {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text(36, '-');
  std::size_t at = 0;
  for (const std::uint8_t byte : bytes) {
    if (is_dash_position(at)) {
      ++at;
    }
    text[at++] = kDigits[byte >> 4U];
    text[at++] = kDigits[byte & 0xfU];
  }
  return text;
}

Uuid uuid5(const Uuid& space, std::string_view name) {
  boost::uuids::uuid boost_space{};
  std::copy(space.bytes.begin(), space.bytes.end(), boost_space.begin());
  boost::uuids::name_generator_sha1 generate(boost_space);
  const boost::uuids::uuid made = generate(name.data(), name.size());
  Uuid uuid;
  std::copy(made.begin(), made.end(), uuid.bytes.begin());
  return uuid;
}

}  // namespace pawl

#include "base/uuid.h"

#include <algorithm>

#include "base/sha1.h"

namespace pawl {

namespace {

constexpr bool is_dash_position(std::size_t i) { return i == 8 || i == 13 || i == 18 || i == 23; }

constexpr std::uint8_t kNoDigit = 0xff;

constexpr std::array<std::uint8_t, 256> digit_values(bool with_capitals) {
  std::array<std::uint8_t, 256> values{};
  values.fill(kNoDigit);
  for (unsigned char i = 0; i < 10; ++i) {
    values['0' + i] = i;
  }
  for (unsigned char i = 0; i < 6; ++i) {
    values['a' + i] = static_cast<std::uint8_t>(10 + i);
    if (with_capitals) {
      values['A' + i] = static_cast<std::uint8_t>(10 + i);
    }
  }
  return values;
}

constexpr auto kAnyCase = digit_values(true);
constexpr auto kLowerCase = digit_values(false);

std::optional<Uuid> parse_with(const std::array<std::uint8_t, 256>& values, std::string_view text) {
  // Where the pairs of digits start.
  constexpr std::array<std::uint8_t, 16> kPairs = {0,  2,  4,  6,  9,  11, 14, 16,
                                                   19, 21, 24, 26, 28, 30, 32, 34};
  if (text.size() != 36 || text[8] != '-' || text[13] != '-' || text[18] != '-' ||
      text[23] != '-') {
    return std::nullopt;
  }
  Uuid uuid;
  unsigned seen = 0;
  for (std::size_t i = 0; i < kPairs.size(); ++i) {
    const unsigned high = values[static_cast<unsigned char>(text[kPairs[i]])];
    const unsigned low = values[static_cast<unsigned char>(text[kPairs[i] + 1U])];
    seen |= high | low;
    uuid.bytes[i] = static_cast<std::uint8_t>(high * 16 + low);
  }
  return seen > 0xf ? std::nullopt : std::optional<Uuid>(uuid);
}

}  // namespace

std::optional<Uuid> Uuid::parse(std::string_view text) { return parse_with(kAnyCase, text); }

std::optional<Uuid> Uuid::parse_canonical(std::string_view text) {
  return parse_with(kLowerCase, text);
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
  Sha1 sha1;
  sha1.add(space.bytes);
  sha1.add({reinterpret_cast<const std::uint8_t*>(name.data()), name.size()});
  const std::array<std::uint8_t, 20> digest = sha1.digest();
  Uuid uuid;
  std::copy_n(digest.begin(), uuid.bytes.size(), uuid.bytes.begin());
  uuid.bytes[6] = static_cast<std::uint8_t>((uuid.bytes[6] & 0x0fU) | 0x50U);
  uuid.bytes[8] = static_cast<std::uint8_t>((uuid.bytes[8] & 0x3fU) | 0x80U);
  return uuid;
}

}  // namespace pawl

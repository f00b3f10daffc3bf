// Uuid: 16 bytes, printed in the usual lower-case form; version 5 (name-based) made here.
// Value type.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace pawl {

struct Uuid {
  std::array<std::uint8_t, 16> bytes{};

  // Accepts 8-4-4-4-12 hexadecimal digits in either case, nothing else.
  static std::optional<Uuid> parse(std::string_view text);
  // Accepts only what to_string() prints.
  static std::optional<Uuid> parse_canonical(std::string_view text);
  std::string to_string() const;

  friend auto operator<=>(const Uuid&, const Uuid&) = default;
};

// RFC 4122 version 5 of `name` in the namespace `space`.
Uuid uuid5(const Uuid& space, std::string_view name);

}  // namespace pawl

#include "base/run_uuid.h"

#include <cstddef>

namespace pawl {

Uuid make_run_uuid(std::int64_t now_ms, std::uint64_t high, std::uint64_t low) {
  Uuid uuid;
  const auto time = static_cast<std::uint64_t>(now_ms);
  for (std::size_t i = 0; i < 6; ++i) {
    uuid.bytes[i] = static_cast<std::uint8_t>(time >> (8 * (5 - i)));
  }
  for (std::size_t i = 0; i < 2; ++i) {
    uuid.bytes[6 + i] = static_cast<std::uint8_t>(high >> (8 * i));
  }
  for (std::size_t i = 0; i < 8; ++i) {
    uuid.bytes[8 + i] = static_cast<std::uint8_t>(low >> (8 * i));
  }
  uuid.bytes[6] = static_cast<std::uint8_t>((uuid.bytes[6] & 0x0fU) | 0x70U);  // Version 7.
  uuid.bytes[8] = static_cast<std::uint8_t>((uuid.bytes[8] & 0x3fU) | 0x80U);
  return uuid;
}

}  // namespace pawl

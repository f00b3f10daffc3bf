// Numbers as PostgreSQL sends them. Pure functions.
#pragma once

#include <concepts>
#include <cstddef>

namespace pawl::store::pg {

template <std::unsigned_integral T>
void store_big_endian(T value, char* to) {
  for (std::size_t i = sizeof(T); i-- > 0;) {
    to[i] = static_cast<char>(value & 0xffU);
    if constexpr (sizeof(T) > 1) {
      value >>= 8U;
    }
  }
}

template <std::unsigned_integral T>
T load_big_endian(const char* from) {
  T value = 0;
  for (std::size_t i = 0; i < sizeof(T); ++i) {
    if constexpr (sizeof(T) > 1) {
      value = static_cast<T>(value << 8U);
    }
    value = static_cast<T>(value | static_cast<unsigned char>(from[i]));
  }
  return value;
}

}  // namespace pawl::store::pg

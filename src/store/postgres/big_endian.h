// Numbers as PostgreSQL sends them. Pure functions.
#pragma once

#include <concepts>
#include <cstddef>
#include <string_view>

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

// Of sizeof(T) bytes.
template <std::unsigned_integral T>
T load_big_endian(std::string_view from) {
  T value = 0;
  for (const char byte : from) {
    value = static_cast<T>(value << 8U);
    value = static_cast<T>(value | static_cast<unsigned char>(byte));
  }
  return value;
}

}  // namespace pawl::store::pg

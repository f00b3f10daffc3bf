// Two hash functions: one that is fast, one that is stable.
// Pure functions.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

namespace pawl {

// Spreads the bits of x; for in-memory tables only.
inline std::uint64_t mix_hash(std::uint64_t x) {
  x ^= x >> 32;
  x *= 0x9fb21c651e98df25ULL;
  x ^= x >> 28;
  return x;
}

// For in-memory tables only: the value may change between versions.
inline std::uint64_t fast_hash(std::string_view text, std::uint64_t seed = 0) {
  std::uint64_t hash = seed ^ (text.size() * 0x9e3779b97f4a7c15ULL);
  const char* data = text.data();
  std::size_t left = text.size();
  while (left >= 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, data, 8);
    hash = mix_hash(hash ^ word) * 0x2545f4914f6cdd1dULL;
    data += 8;
    left -= 8;
  }
  if (left > 0) {
    std::uint64_t word = 0;
    std::memcpy(&word, data, left);
    hash = mix_hash(hash ^ word) * 0x2545f4914f6cdd1dULL;
  }
  return hash ^ (hash >> 29);
}

// FNV-1a, 64 bits. Recorded in logs, so it never changes.
inline std::uint64_t stable_digest(std::string_view bytes) {
  std::uint64_t hash = 0xcbf29ce484222325ULL;
  for (const char c : bytes) {
    hash ^= static_cast<unsigned char>(c);
    hash *= 0x100000001b3ULL;
  }
  return hash;
}

}  // namespace pawl

// The generator behind ctx.random(): SplitMix64, one sequence per branch.
// The seed is the first eight bytes, most significant first, of uuid5(run id, "<branch>:random").
// Recorded runs depend on it: it never changes.
#pragma once

#include <cstdint>

#include "base/uuid.h"

namespace pawl::replay {

class Random {
 public:
  explicit Random(const Uuid& seed) {
    for (std::size_t i = 0; i < 8; ++i) {
      state_ = (state_ << 8U) | seed.bytes[i];
    }
  }

  std::uint64_t next() {
    state_ += 0x9e3779b97f4a7c15ULL;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27U)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31U);
  }

 private:
  std::uint64_t state_ = 0;
};

// In [0, 1), a multiple of 2^-53: exact in every language.
inline double to_unit_interval(std::uint64_t random) {
  return static_cast<double>(random >> 11U) * 0x1.0p-53;
}

}  // namespace pawl::replay

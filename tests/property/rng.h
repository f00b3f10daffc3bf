// Random numbers of the property tests: splitmix64, so that a seed means the same on every machine
// and in every standard library. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace pawl::property {

class Rng {
 public:
  explicit Rng(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    state_ += 0x9e3779b97f4a7c15ULL;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
  }

  // A number below `bound`, which is not 0.
  std::size_t below(std::size_t bound) { return static_cast<std::size_t>(next() % bound); }

  // A number from `low` to `high`, both possible.
  int between(int low, int high) {
    return low + static_cast<int>(below(static_cast<std::size_t>(high - low) + 1));
  }

  bool chance(int percent) { return below(100) < static_cast<std::size_t>(percent); }

  // One of `items`, which is not empty.
  template <typename T>
  const T& pick(const std::vector<T>& items) {
    return items[below(items.size())];
  }

  // A generator of its own for a part of the work: what that part draws does not move this one.
  Rng fork() { return Rng(next()); }

 private:
  std::uint64_t state_;
};

}  // namespace pawl::property

// SHA-1, for name-based ids: every step has one, so it is made for short inputs. Not for secrets.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace pawl {

class Sha1 {
 public:
  void add(std::span<const std::uint8_t> bytes);
  // Once, at the end.
  std::array<std::uint8_t, 20> digest();

 private:
  void take_block(const std::uint8_t* block);

  std::array<std::uint32_t, 5> state_ = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476,
                                         0xc3d2e1f0};
  std::array<std::uint8_t, 64> block_{};
  std::size_t filled_ = 0;  // Bytes of block_.
  std::uint64_t bytes_ = 0;
};

}  // namespace pawl

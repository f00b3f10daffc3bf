#include "base/sha1.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace pawl {

namespace {

std::uint32_t big_endian(const std::uint8_t* at) {
  return static_cast<std::uint32_t>(at[0]) << 24U | static_cast<std::uint32_t>(at[1]) << 16U |
         static_cast<std::uint32_t>(at[2]) << 8U | at[3];
}

}  // namespace

void Sha1::add(std::span<const std::uint8_t> bytes) {
  bytes_ += bytes.size();
  while (!bytes.empty()) {
    const std::size_t part = std::min(bytes.size(), block_.size() - filled_);
    std::memcpy(block_.data() + filled_, bytes.data(), part);
    filled_ += part;
    bytes = bytes.subspan(part);
    if (filled_ == block_.size()) {
      take_block(block_.data());
      filled_ = 0;
    }
  }
}

std::array<std::uint8_t, 20> Sha1::digest() {
  constexpr std::size_t kLengthAt = 56;  // The last 8 bytes of the last block.
  block_[filled_++] = 0x80;
  if (filled_ > kLengthAt) {
    std::fill(block_.begin() + static_cast<std::ptrdiff_t>(filled_), block_.end(), 0);
    take_block(block_.data());
    filled_ = 0;
  }
  std::fill(block_.begin() + static_cast<std::ptrdiff_t>(filled_), block_.begin() + kLengthAt, 0);
  for (std::size_t i = 0; i < 8; ++i) {
    block_[kLengthAt + i] = static_cast<std::uint8_t>((bytes_ * 8) >> (56 - 8 * i));
  }
  take_block(block_.data());
  std::array<std::uint8_t, 20> digest{};
  for (std::size_t i = 0; i < digest.size(); ++i) {
    digest[i] = static_cast<std::uint8_t>(state_[i / 4] >> (24 - 8 * (i % 4)));
  }
  return digest;
}

void Sha1::take_block(const std::uint8_t* block) {
  std::array<std::uint32_t, 80> words{};
  for (std::size_t i = 0; i < 16; ++i) {
    words[i] = big_endian(block + 4 * i);
  }
  for (std::size_t i = 16; i < words.size(); ++i) {
    words[i] = std::rotl(words[i - 3] ^ words[i - 8] ^ words[i - 14] ^ words[i - 16], 1);
  }
  std::uint32_t a = state_[0];
  std::uint32_t b = state_[1];
  std::uint32_t c = state_[2];
  std::uint32_t d = state_[3];
  std::uint32_t e = state_[4];
  // The names go round instead of the values.
  const auto round = [](std::uint32_t five, std::uint32_t& thirty, std::uint32_t& sum,
                        std::uint32_t mixed, std::uint32_t added) {
    sum += std::rotl(five, 5) + mixed + added;
    thirty = std::rotl(thirty, 30);
  };
  const auto rounds = [&](std::size_t from, std::uint32_t constant, const auto& mix) {
    for (std::size_t i = from; i < from + 20; i += 5) {
      round(a, b, e, mix(b, c, d), constant + words[i]);
      round(e, a, d, mix(a, b, c), constant + words[i + 1]);
      round(d, e, c, mix(e, a, b), constant + words[i + 2]);
      round(c, d, b, mix(d, e, a), constant + words[i + 3]);
      round(b, c, a, mix(c, d, e), constant + words[i + 4]);
    }
  };
  using Word = std::uint32_t;
  const auto choose = [](Word x, Word y, Word z) { return z ^ (x & (y ^ z)); };
  const auto parity = [](Word x, Word y, Word z) { return x ^ y ^ z; };
  const auto majority = [](Word x, Word y, Word z) { return (x & y) | (z & (x | y)); };
  rounds(0, 0x5a827999, choose);
  rounds(20, 0x6ed9eba1, parity);
  rounds(40, 0x8f1bbcdc, majority);
  rounds(60, 0xca62c1d6, parity);
  state_[0] += a;
  state_[1] += b;
  state_[2] += c;
  state_[3] += d;
  state_[4] += e;
}

}  // namespace pawl

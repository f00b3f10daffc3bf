// FlatIndex: hash -> 32-bit number, for tables with millions of keys whose text lives elsewhere.
// The caller supplies hash and equality; equal keys are the caller's business. Insert and find
// only; never iterated, so hash order cannot leak into behaviour.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace pawl::replay {

class FlatIndex {
 public:
  static constexpr std::uint32_t kNone = 0xffffffffU;

  // The value for which `equal(value)` holds among those with this hash; null if there is none.
  // The pointer is valid until the next insert, and the value behind it may be replaced.
  template <class Equal>
  std::uint32_t* find(std::uint64_t hash, Equal equal) {
    if (slots_.empty()) {
      return nullptr;
    }
    const auto short_hash = static_cast<std::uint32_t>(hash);
    for (std::size_t i = short_hash & mask();; i = (i + 1) & mask()) {
      Slot& slot = slots_[i];
      if (slot.value == kNone) {
        return nullptr;
      }
      if (slot.hash == short_hash && equal(slot.value)) {
        return &slot.value;
      }
    }
  }

  // Brings the place of a key near.
  void prefetch(std::uint64_t hash) const {
    if (!slots_.empty()) {
      __builtin_prefetch(&slots_[static_cast<std::uint32_t>(hash) & mask()], 1);
    }
  }

  // How many keys to make room for with the first one.
  void expect(std::size_t keys) { expected_ = keys; }

  // Adds a value whose key is not there yet.
  void insert(std::uint64_t hash, std::uint32_t value) {
    if ((size_ + 1) * 4 > slots_.size() * 3) {
      grow();
    }
    place(Slot{static_cast<std::uint32_t>(hash), value});
    ++size_;
  }

  std::size_t memory_bytes() const { return slots_.capacity() * sizeof(Slot); }

 private:
  struct Slot {
    std::uint32_t hash = 0;
    std::uint32_t value = kNone;
  };

  std::size_t mask() const { return slots_.size() - 1; }

  void place(Slot slot) {
    std::size_t i = slot.hash & mask();
    while (slots_[i].value != kNone) {
      i = (i + 1) & mask();
    }
    slots_[i] = slot;
  }

  void grow() {
    std::size_t wanted = 16;
    while (wanted <= slots_.size() || wanted * 3 < expected_ * 4) {
      wanted *= 2;
    }
    std::vector<Slot> old(wanted);
    old.swap(slots_);
    for (const Slot& slot : old) {
      if (slot.value != kNone) {
        place(slot);
      }
    }
  }

  std::vector<Slot> slots_;
  std::size_t size_ = 0;
  std::size_t expected_ = 0;
};

}  // namespace pawl::replay

// TextPool: bytes that live as long as the pool, and names stored once each.
// Not thread-safe. Addresses stay valid; nothing is freed before the pool is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "replay/flat_index.h"

namespace pawl::replay {

// A pooled text in 12 bytes.
class TextRef {
 public:
  TextRef() = default;
  std::string_view view() const {
    // NOLINTNEXTLINE(performance-no-int-to-ptr): a pointer in two halves keeps records small.
    return {reinterpret_cast<const char*>((static_cast<std::uintptr_t>(high_) << 32U) | low_),
            size_};
  }
  bool empty() const { return size_ == 0; }

 private:
  friend class TextPool;
  TextRef(const char* data, std::uint32_t size)
      : low_(static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(data))),
        high_(static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(data) >> 32U)),
        size_(size) {}

  std::uint32_t low_ = 0;
  std::uint32_t high_ = 0;
  std::uint32_t size_ = 0;
};

// Number of a name in its pool. The empty name is 0.
using NameId = std::uint32_t;

class TextPool {
 public:
  TextPool();

  TextRef add(std::string_view text);

  // The number of this name, given now if it has none.
  NameId intern(std::string_view name);
  std::string_view name(NameId id) const { return names_[id].view(); }

  std::size_t memory_bytes() const;

 private:
  static constexpr std::size_t kChunkBytes = std::size_t{64} << 10U;

  std::vector<std::unique_ptr<char[]>> chunks_;
  char* next_ = nullptr;
  std::size_t left_ = 0;
  std::size_t chunk_bytes_ = 0;

  std::vector<TextRef> names_;
  FlatIndex name_index_;
};

}  // namespace pawl::replay

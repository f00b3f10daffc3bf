#include "replay/text_pool.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "base/hash.h"

namespace pawl::replay {

TextPool::TextPool() { names_.emplace_back(); }

TextRef TextPool::add(std::string_view text) {
  if (text.empty()) {
    return {};
  }
  PAWL_CHECK(text.size() <= 0xffffffffU);
  if (text.size() > left_) {
    if (text.size() > kChunkBytes / 4) {
      // Large texts get a chunk of their own, so that the current one is not wasted.
      auto chunk = std::make_unique_for_overwrite<char[]>(text.size());
      std::memcpy(chunk.get(), text.data(), text.size());
      chunk_bytes_ += text.size();
      const TextRef ref(chunk.get(), static_cast<std::uint32_t>(text.size()));
      chunks_.push_back(std::move(chunk));
      return ref;
    }
    // In proportion to what is there: most runs are small.
    const std::size_t size =
        std::max(text.size(), std::clamp(chunk_bytes_ / 4, kChunkBytes / 32, kChunkBytes));
    chunks_.push_back(std::make_unique_for_overwrite<char[]>(size));
    chunk_bytes_ += size;
    next_ = chunks_.back().get();
    left_ = size;
  }
  std::memcpy(next_, text.data(), text.size());
  const TextRef ref(next_, static_cast<std::uint32_t>(text.size()));
  next_ += text.size();
  left_ -= text.size();
  return ref;
}

NameId TextPool::intern(std::string_view name) {
  if (name.empty()) {
    return 0;
  }
  const std::uint64_t hash = fast_hash(name);
  const std::uint32_t* found =
      name_index_.find(hash, [&](std::uint32_t id) { return names_[id].view() == name; });
  if (found != nullptr) {
    return *found;
  }
  const auto id = static_cast<NameId>(names_.size());
  names_.push_back(add(name));
  name_index_.insert(hash, id);
  return id;
}

std::size_t TextPool::memory_bytes() const {
  return chunk_bytes_ + chunks_.capacity() * sizeof(chunks_[0]) +
         names_.capacity() * sizeof(TextRef) + name_index_.memory_bytes();
}

}  // namespace pawl::replay

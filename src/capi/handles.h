// Handles: numbers in the form of pointers, so that one that is freed or foreign is noticed instead
// of followed.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/result.h"

namespace pawl::capi {

// What a handle says of itself: the top bits. Never 0, and never those of a real address.
enum class HandleKind : std::uint64_t {
  kContext = 0xA1,
  kEngine = 0xA2,
  kBuffer = 0xA3,
  kEvents = 0xA4
};

inline Error bad_handle(const char* what) {
  return make_error(ErrorCode::kBadHandle, std::string("this is no ") + what +
                                               ": the handle is 0, was freed, or is of another "
                                               "kind");
}

// Objects that several threads may use at once: each call holds a reference.
template <class Object, HandleKind kKind, class Handle>
class SharedHandles {
 public:
  Handle add(std::shared_ptr<Object> object) {
    const std::scoped_lock lock(mutex_);
    const std::uint64_t number = (static_cast<std::uint64_t>(kKind) << 56U) | ++last_;
    objects_.emplace(number, std::move(object));
    return reinterpret_cast<Handle>(number);
  }
  Result<std::shared_ptr<Object>> find(Handle handle, const char* what) {
    const std::scoped_lock lock(mutex_);
    const auto found = objects_.find(reinterpret_cast<std::uint64_t>(handle));
    if (found == objects_.end()) {
      return bad_handle(what);
    }
    return found->second;
  }
  // Takes it out; calls that have it go on.
  Result<std::shared_ptr<Object>> remove(Handle handle, const char* what) {
    const std::scoped_lock lock(mutex_);
    const auto found = objects_.find(reinterpret_cast<std::uint64_t>(handle));
    if (found == objects_.end()) {
      return bad_handle(what);
    }
    std::shared_ptr<Object> object = std::move(found->second);
    objects_.erase(found);
    return object;
  }

 private:
  std::mutex mutex_;
  std::uint64_t last_ = 0;
  std::unordered_map<std::uint64_t, std::shared_ptr<Object>> objects_;
};

// Makes all threads of this process see what this one has written, and this one what they have,
// as if each of them had a fence where it stands. So those who come often need none.
class ProcessFence {
 public:
  constexpr ProcessFence() = default;
  // Asks the system for it, before anybody else uses this.
  void prepare();
  // False: the system has no such thing, and everybody needs a fence.
  bool works() const { return works_; }
  void operator()() const;

 private:
  bool works_ = false;
};

// Objects for one thread at a time, found without a lock: they are asked for at every step of a
// workflow. Places are used again; a handle says how often its place had been used. That somebody
// else is inside is noticed, but for two threads that come at the very same moment.
template <class Object, HandleKind kKind, class Handle>
class ExclusiveHandles {
  struct alignas(64) Place {
    std::atomic<std::uint64_t> handle = 0;  // The one that is valid here; 0: none.
    std::atomic<bool> is_busy = false;
    std::uint32_t uses = 0;
    Object* object = nullptr;
  };

 public:
  // Uses an object, for as long as this lives.
  class Use {
   public:
    Use(Use&& other) noexcept : place_(std::exchange(other.place_, nullptr)) {}
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;
    ~Use() {
      if (place_ != nullptr) {
        place_->is_busy.store(false, std::memory_order_release);
      }
    }
    // False: try_use() found nothing to use.
    explicit operator bool() const { return place_ != nullptr; }
    Object* operator->() const { return place_->object; }
    Object& operator*() const { return *place_->object; }

   private:
    friend class ExclusiveHandles;
    explicit Use(Place* place) : place_(place) {}
    Place* place_;
  };

  constexpr ExclusiveHandles() = default;

  Handle add(Object* object) {
    const std::scoped_lock lock(mutex_);
    if (chunk_count_ == 0) {
      fence_.prepare();  // Who has a handle has it after this.
    }
    if (free_.empty()) {
      grow();
    }
    const std::uint32_t index = free_.back();
    free_.pop_back();
    Place& place = *find_place(index);
    place.object = object;
    const std::uint64_t handle = (static_cast<std::uint64_t>(kKind) << 56U) |
                                 (static_cast<std::uint64_t>(++place.uses) << kIndexBits) | index;
    place.handle.store(handle, std::memory_order_release);
    return reinterpret_cast<Handle>(handle);
  }
  // Nothing: it is no handle, or somebody else uses it; why_not() tells.
  Use try_use(Handle handle) {
    Place* const place = check(handle);
    if (place == nullptr || place->is_busy.load(std::memory_order_acquire)) [[unlikely]] {
      return Use(nullptr);
    }
    // remove() makes the handle void, and looks then whether somebody is inside; here it is the
    // other way round.
    place->is_busy.store(true, std::memory_order_relaxed);
    if (fence_.works()) {
      std::atomic_signal_fence(std::memory_order_seq_cst);
    } else {
      std::atomic_thread_fence(std::memory_order_seq_cst);
    }
    if (place->handle.load(std::memory_order_acquire) != number_of(handle)) [[unlikely]] {
      place->is_busy.store(false, std::memory_order_release);
      return Use(nullptr);
    }
    return Use(place);
  }
  Error why_not(Handle handle, const char* what) {
    return check(handle) == nullptr
               ? bad_handle(what)
               : make_error(ErrorCode::kHandleBusy,
                            std::string("another thread is inside of this ") + what);
  }
  Result<Use> use(Handle handle, const char* what) {
    Use use = try_use(handle);
    if (!use) {
      return why_not(handle, what);
    }
    return use;
  }
  // From now on, nobody finds it; whoever is inside is waited for. False: it is gone already.
  bool remove(Handle handle) {
    Place* place = nullptr;
    {
      const std::scoped_lock lock(mutex_);
      place = check(handle);
      if (place == nullptr) {
        return false;
      }
      place->handle.store(0, std::memory_order_seq_cst);
    }
    fence_();
    while (place->is_busy.load(std::memory_order_acquire)) {
      std::this_thread::yield();
    }
    const std::scoped_lock lock(mutex_);
    place->object = nullptr;
    free_.push_back(index_of(handle));
    return true;
  }

 private:
  static constexpr unsigned kIndexBits = 24;
  static constexpr std::uint32_t kIndexMask = (1U << kIndexBits) - 1;
  static constexpr std::size_t kChunk = 4096;
  using Chunk = std::array<Place, kChunk>;

  static std::uint64_t number_of(Handle handle) { return reinterpret_cast<std::uint64_t>(handle); }
  static std::uint32_t index_of(Handle handle) {
    return static_cast<std::uint32_t>(number_of(handle)) & kIndexMask;
  }
  Place* find_place(std::uint32_t index) {
    Chunk* const chunk = chunks_[index / kChunk].load(std::memory_order_acquire);
    return chunk == nullptr ? nullptr : &(*chunk)[index % kChunk];
  }
  Place* check(Handle handle) {
    Place* const place = find_place(index_of(handle));
    if (place == nullptr || handle == Handle() ||
        place->handle.load(std::memory_order_acquire) != number_of(handle)) {
      return nullptr;
    }
    return place;
  }
  // Adds a chunk. With the mutex held.
  void grow() {
    if (chunk_count_ == chunks_.size()) {
      throw std::bad_alloc();
    }
    owned_.push_back(std::make_unique<Chunk>());
    const auto first = static_cast<std::uint32_t>(chunk_count_ * kChunk);
    for (std::uint32_t i = kChunk; i > 0; --i) {
      free_.push_back(first + i - 1);
    }
    chunks_[chunk_count_++].store(owned_.back().get(), std::memory_order_release);
  }

  ProcessFence fence_;
  std::mutex mutex_;
  std::vector<std::uint32_t> free_;
  std::vector<std::unique_ptr<Chunk>> owned_;
  std::size_t chunk_count_ = 0;
  std::array<std::atomic<Chunk*>, (std::size_t{1} << kIndexBits) / kChunk> chunks_{};
};

}  // namespace pawl::capi

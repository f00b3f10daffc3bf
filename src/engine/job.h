// Job: something to be called once, that can be moved but need not be copied. What is not larger
// than a few pointers is kept inside.
#pragma once

#include <cstddef>
#include <new>
#include <type_traits>
#include <utility>

namespace pawl::engine {

class Job {
 public:
  Job() = default;
  // NOLINTNEXTLINE(google-explicit-constructor): like std::function.
  Job(std::nullptr_t) {}
  template <class F>
    requires(!std::is_same_v<std::decay_t<F>, Job> && std::is_invocable_v<std::decay_t<F>&>)
  // NOLINTNEXTLINE(google-explicit-constructor)
  Job(F&& function) {
    using Function = std::decay_t<F>;
    if constexpr (fits<Function>()) {
      new (storage_) Function(std::forward<F>(function));
      actions_ = &kInside<Function>;
    } else {
      *reinterpret_cast<Function**>(storage_) = new Function(std::forward<F>(function));
      actions_ = &kOutside<Function>;
    }
  }
  Job(Job&& other) noexcept { take(other); }
  Job& operator=(Job&& other) noexcept {
    if (this != &other) {
      reset();
      take(other);
    }
    return *this;
  }
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;
  ~Job() { reset(); }

  explicit operator bool() const { return actions_ != nullptr; }
  void operator()() { actions_->call(storage_); }

 private:
  static constexpr std::size_t kBytes = 120;

  struct Actions {
    void (*call)(void*);
    void (*move)(void* from, void* to) noexcept;  // Ends what was at `from`.
    void (*end)(void*) noexcept;
  };

  template <class Function>
  static constexpr bool fits() {
    return sizeof(Function) <= kBytes && alignof(Function) <= alignof(std::max_align_t) &&
           std::is_nothrow_move_constructible_v<Function>;
  }
  template <class Function>
  static constexpr Actions kInside = {
      [](void* at) { (*static_cast<Function*>(at))(); },
      [](void* from, void* to) noexcept {
        new (to) Function(std::move(*static_cast<Function*>(from)));
        static_cast<Function*>(from)->~Function();
      },
      [](void* at) noexcept { static_cast<Function*>(at)->~Function(); }};
  template <class Function>
  static constexpr Actions kOutside = {
      [](void* at) { (**static_cast<Function**>(at))(); },
      [](void* from, void* to) noexcept {
        *static_cast<Function**>(to) = *static_cast<Function**>(from);
      },
      [](void* at) noexcept { delete *static_cast<Function**>(at); }};

  void take(Job& other) noexcept {
    actions_ = std::exchange(other.actions_, nullptr);
    if (actions_ != nullptr) {
      actions_->move(other.storage_, storage_);
    }
  }
  void reset() noexcept {
    if (actions_ != nullptr) {
      std::exchange(actions_, nullptr)->end(storage_);
    }
  }

  const Actions* actions_ = nullptr;
  alignas(std::max_align_t) unsigned char storage_[kBytes] = {};
};

}  // namespace pawl::engine

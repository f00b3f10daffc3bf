// OnceCall: something to be called once, that can be moved but need not be copied. What is not
// larger than a few strings is kept inside. Job: one without arguments.
#pragma once

#include <cstddef>
#include <new>
#include <type_traits>
#include <utility>

namespace pawl::engine {

template <class... Args>
class OnceCall {
 public:
  OnceCall() = default;
  // NOLINTNEXTLINE(google-explicit-constructor): like std::function.
  OnceCall(std::nullptr_t) {}
  template <class F>
    requires(!std::is_same_v<std::decay_t<F>, OnceCall> &&
             std::is_invocable_v<std::decay_t<F>&, Args...>)
  // NOLINTNEXTLINE(google-explicit-constructor)
  OnceCall(F&& function) {
    using Function = std::decay_t<F>;
    if constexpr (fits<Function>()) {
      new (storage_) Function(std::forward<F>(function));
      actions_ = &kInside<Function>;
    } else {
      *reinterpret_cast<Function**>(storage_) = new Function(std::forward<F>(function));
      actions_ = &kOutside<Function>;
    }
  }
  OnceCall(OnceCall&& other) noexcept { take(other); }
  OnceCall& operator=(OnceCall&& other) noexcept {
    if (this != &other) {
      reset();
      take(other);
    }
    return *this;
  }
  OnceCall(const OnceCall&) = delete;
  OnceCall& operator=(const OnceCall&) = delete;
  ~OnceCall() { reset(); }

  explicit operator bool() const { return actions_ != nullptr; }
  void operator()(Args... args) { actions_->call(storage_, std::forward<Args>(args)...); }

 private:
  static constexpr std::size_t kBytes = 120;

  struct Actions {
    void (*call)(void*, Args...);
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
      [](void* at, Args... args) { (*static_cast<Function*>(at))(std::forward<Args>(args)...); },
      [](void* from, void* to) noexcept {
        new (to) Function(std::move(*static_cast<Function*>(from)));
        static_cast<Function*>(from)->~Function();
      },
      [](void* at) noexcept { static_cast<Function*>(at)->~Function(); }};
  template <class Function>
  static constexpr Actions kOutside = {
      [](void* at, Args... args) { (**static_cast<Function**>(at))(std::forward<Args>(args)...); },
      [](void* from, void* to) noexcept {
        *static_cast<Function**>(to) = *static_cast<Function**>(from);
      },
      [](void* at) noexcept { delete *static_cast<Function**>(at); }};

  void take(OnceCall& other) noexcept {
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
  alignas(std::max_align_t) unsigned char storage_[kBytes];
};

using Job = OnceCall<>;

}  // namespace pawl::engine

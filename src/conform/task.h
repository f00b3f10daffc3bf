// Task<T>: a lazily started coroutine that hands its result to the one that awaits it. T can be
// made from nothing. Single-threaded; destroying a Task destroys the coroutine wherever it is
// suspended.
#pragma once

#include <coroutine>
#include <cstdlib>
#include <utility>

namespace pawl::conform {

template <class T>
class [[nodiscard]] Task {
 public:
  struct promise_type {
    promise_type() {}  // NOLINT(modernize-use-equals-default): not an aggregate.

    struct FinalAwaiter {
      bool await_ready() noexcept { return false; }
      std::coroutine_handle<> await_suspend(std::coroutine_handle<promise_type> self) noexcept {
        const std::coroutine_handle<> next = self.promise().continuation;
        return next ? next : std::noop_coroutine();
      }
      void await_resume() noexcept {}
    };

    Task get_return_object() { return Task(Handle::from_promise(*this)); }
    std::suspend_always initial_suspend() noexcept { return {}; }
    FinalAwaiter final_suspend() noexcept { return {}; }
    void return_value(T value) { result = std::move(value); }
    void unhandled_exception() noexcept { std::abort(); }

    T result{};
    std::coroutine_handle<> continuation;
  };
  using Handle = std::coroutine_handle<promise_type>;

  Task(Task&& other) noexcept : handle_(std::exchange(other.handle_, {})) {}
  Task(const Task&) = delete;
  Task& operator=(const Task&) = delete;
  Task& operator=(Task&&) = delete;
  ~Task() {
    if (handle_) {
      handle_.destroy();
    }
  }

  // Runs it until it first suspends. For a Task that nobody awaits.
  void start() { handle_.resume(); }
  bool is_done() const { return handle_.done(); }
  T& result() { return handle_.promise().result; }
  // Goes on with this when done.
  void set_continuation(std::coroutine_handle<> next) { handle_.promise().continuation = next; }

  bool await_ready() const noexcept { return false; }
  std::coroutine_handle<> await_suspend(std::coroutine_handle<> awaiting) noexcept {
    handle_.promise().continuation = awaiting;
    return handle_;
  }
  T await_resume() { return std::move(handle_.promise().result); }

 private:
  explicit Task(Handle handle) : handle_(handle) {}

  Handle handle_;
};

}  // namespace pawl::conform

// expect: only durable things can be awaited in a workflow
#include <coroutine>

#include "pawl/pawl.hpp"

// Somebody else's coroutine type.
struct Task {
  struct promise_type {
    Task get_return_object() { return {}; }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() {}
  };
  bool await_ready() const { return true; }
  void await_suspend(std::coroutine_handle<> /*waiting*/) const {}
  void await_resume() const {}
};
Task fetch() { co_return; }

pawl::Workflow<void> workflow(pawl::Context /*ctx*/) { co_await fetch(); }

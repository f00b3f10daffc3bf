# Refuses a compiler that gets coroutines wrong.
#
# The program below is run, not only compiled: g++ 12 builds it without a word and then destroys the closure in
# `co_await call([c] { ... })` twice. Whether a compiler has the bug cannot be told from its version, since
# distributions ship branches with and without the fix.

include(CheckCXXSourceRuns)

if(CMAKE_CROSSCOMPILING)
  message(WARNING "Cross-compiling: cannot check that ${CMAKE_CXX_COMPILER} gets coroutines right")
  return()
endif()

set(CMAKE_REQUIRED_QUIET ON)
check_cxx_source_runs([[
#include <coroutine>
#include <exception>
#include <utility>

struct Task {
  struct promise_type {
    promise_type() {}
    Task get_return_object() { return Task{std::coroutine_handle<promise_type>::from_promise(*this)}; }
    std::suspend_always initial_suspend() noexcept { return {}; }
    auto final_suspend() noexcept {
      struct Resume {
        bool await_ready() noexcept { return false; }
        std::coroutine_handle<> await_suspend(std::coroutine_handle<promise_type> h) noexcept {
          return h.promise().next;
        }
        void await_resume() noexcept {}
      };
      return Resume{};
    }
    void return_value(int v) { value = v; }
    void unhandled_exception() { std::terminate(); }
    std::coroutine_handle<> next = std::noop_coroutine();
    int value = 0;
  };

  explicit Task(std::coroutine_handle<promise_type> h) : handle(h) {}
  Task(Task&& other) noexcept : handle(std::exchange(other.handle, {})) {}
  ~Task() { if (handle) handle.destroy(); }

  bool await_ready() { return false; }
  std::coroutine_handle<> await_suspend(std::coroutine_handle<> h) { handle.promise().next = h; return handle; }
  int await_resume() { return handle.promise().value; }

  std::coroutine_handle<promise_type> handle;
};

int live = 0;
struct Counted {
  Counted() { ++live; }
  Counted(const Counted&) { ++live; }
  ~Counted() { --live; }
};

template <class F> Task call(F f) { co_return f(); }
Task probe() {
  Counted c;
  co_return co_await call([c] { return 1; });
}

int main() {
  {
    Task task = probe();
    task.handle.resume();
    if (!task.handle.done()) return 1;
  }
  return live == 0 ? 0 : 1;
}
]] PAWL_COROUTINES_WORK)
unset(CMAKE_REQUIRED_QUIET)

if(NOT PAWL_COROUTINES_WORK)
  message(FATAL_ERROR
    "${CMAKE_CXX_COMPILER} (${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}) gets C++20 coroutines wrong: "
    "a small program that awaits a call with a temporary does not compile, or destroys that temporary twice. "
    "Code built with it would corrupt memory.\n"
    "Install clang 19 and use it, in a fresh build directory:\n"
    "  apt-get install clang-19\n"
    "  cmake -DCMAKE_CXX_COMPILER=clang++-19 ...        (in Pawl's own tree: cmake --preset dev)")
endif()

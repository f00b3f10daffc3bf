// Workflow<T>: the coroutine type of workflow code. A run's root is one; others are awaited:
// `co_await part(ctx, order)`. It starts when it is awaited and belongs to whoever awaits it.
//
// Only what is durable can be awaited in it: futures of a Context, pawl::all, pawl::any,
// pawl::with_timeout, other Workflows, ctx.branch, ctx.join, ctx.loop and saga.add.
#pragma once

// Without a warning, g++ 12 destroys a temporary twice in `co_await call([c] { … })`. Some builds
// of it have the fix; the CMake package finds out.
#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ < 13 && !defined(PAWL_COROUTINES_WORK)
#error \
    "pawl: g++ before 13 gets coroutines wrong and would corrupt memory; use clang 19 (apt-get install clang-19)"
#endif

#include <coroutine>
#include <exception>
#include <optional>
#include <source_location>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

#include "pawl/detail/run.hpp"

namespace pawl {

class Context;
class Branch;
template <class T>
class Workflow;

namespace detail {

// Where a coroutine stands: filled in from its Context.
struct Place {
  RunRef run;
  BranchId branch = 0;
  bool is_shielded = false;
};

// What can be awaited says so: it has `durable_await(const Place&)`, which returns the awaiter.
template <class T>
concept Durable =
    requires(T&& awaited, const Place& place) { static_cast<T&&>(awaited).durable_await(place); };

// For the library: `co_await AwaitedAt{}` says where the coroutine itself is awaited. For what has
// no room for a default argument.
struct AwaitedAt {};

// --- Parameters of a workflow coroutine ---
// They are stored in the frame, which outlives whoever called it: what only refers to something is
// gone when the run is resumed. A member function or a lambda also has its object, by reference.

template <class T>
struct IsView : std::false_type {};
template <class Char, class Traits>
struct IsView<std::basic_string_view<Char, Traits>> : std::true_type {};
template <class T, std::size_t Extent>
struct IsView<std::span<T, Extent>> : std::true_type {};

template <class T>
inline constexpr bool kIsContext = std::is_same_v<std::remove_const_t<T>, Context> ||
                                   std::is_same_v<std::remove_const_t<T>, Branch>;

template <class... Args>
struct HasObject : std::false_type {};
template <class First, class Second, class... Rest>
struct HasObject<First, Second, Rest...>
    : std::bool_constant<std::is_lvalue_reference_v<First> &&
                         std::is_class_v<std::remove_reference_t<First>> &&
                         !kIsContext<std::remove_reference_t<First>> && kIsContext<Second>> {
  // The body of a branch, join or loop is kept by these as long as it runs: it may capture.
  static constexpr bool kIsBody = std::is_same_v<std::remove_const_t<Second>, Branch>;
  using Object = std::remove_reference_t<First>;
};

template <class... Args>
constexpr void check_values() {
  static_assert(!(std::is_reference_v<Args> || ...),
                "pawl: a workflow coroutine takes its parameters (the Context too) by value: a "
                "reference would dangle when the run is resumed.");
  static_assert(!(IsView<std::remove_cv_t<Args>>::value || ...),
                "pawl: a workflow coroutine must not take std::string_view or std::span: what they "
                "look at is gone when the run is resumed. Take std::string or a container.");
}

template <class Object, class... Args>
constexpr void check_values_behind_object() {
  check_values<Args...>();
}

template <class... Args>
constexpr void check_parameters() {
  if constexpr (HasObject<Args...>::value) {
    static_assert(
        std::is_empty_v<typename HasObject<Args...>::Object> || HasObject<Args...>::kIsBody,
        "pawl: this workflow coroutine is a capturing lambda or a member function: what "
        "it captured lies outside of the coroutine and may be gone when the run is "
        "resumed. Pass values as parameters. Bodies of branch, join and loop may capture "
        "if they take pawl::Branch.");
    check_values_behind_object<Args...>();
  } else {
    check_values<Args...>();
  }
}

// --- Promises ---

class PromiseBase {
 public:
  struct FinalAwaiter {
    bool await_ready() const noexcept { return false; }
    template <class Promise>
    std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> self) const noexcept {
      const std::coroutine_handle<> next = self.promise().continuation;
      return next ? next : std::noop_coroutine();
    }
    void await_resume() const noexcept {}
  };

  static void* operator new(std::size_t bytes) { return allocate_frame(bytes); }
  static void operator delete(void* frame, std::size_t bytes) noexcept { free_frame(frame, bytes); }

  std::suspend_always initial_suspend() const noexcept { return {}; }
  FinalAwaiter final_suspend() const noexcept { return {}; }
  void unhandled_exception() noexcept { error = std::current_exception(); }

  // `at` is the place of the co_await.
  template <class T>
  auto await_transform(T&& awaited,
                       std::source_location at = std::source_location::current()) const {
    static_assert(Durable<T>,
                  "pawl: only durable things can be awaited in a workflow: futures of its Context, "
                  "pawl::all, pawl::any, pawl::with_timeout, other Workflows (as rvalues), "
                  "ctx.branch, ctx.join, ctx.loop. Anything else would be lost in a crash: put it "
                  "into an activity and call it by ctx.run().");
    if constexpr (requires { static_cast<T&&>(awaited).durable_await(place, at); }) {
      return static_cast<T&&>(awaited).durable_await(place, at);
    } else if constexpr (Durable<T>) {
      return static_cast<T&&>(awaited).durable_await(place);
    } else {
      return std::suspend_never{};  // For fewer messages after the first.
    }
  }

  auto await_transform(AwaitedAt /*asked*/) const {
    struct Answer : std::suspend_never {
      std::source_location at;
      std::source_location await_resume() const noexcept { return at; }
    };
    return Answer{{}, awaited_at};
  }

  Place place;
  std::coroutine_handle<> continuation;
  std::source_location awaited_at = {};
  std::exception_ptr error;

 protected:
  PromiseBase() = default;
};

void find_place(Place& place, const Context& context);

template <class T>
class PromiseOf : public PromiseBase {
 public:
  template <class U = T>
  void return_value(U&& result) {
    static_assert(std::is_convertible_v<U&&, T>,
                  "pawl: this is not what the workflow returns. A future has to be awaited first: "
                  "co_return co_await ctx.run(…).");
    if constexpr (std::is_convertible_v<U&&, T>) {
      value.emplace(static_cast<U&&>(result));
    }
  }
  T take() {
    if (error) {
      std::rethrow_exception(error);
    }
    return std::move(*value);
  }

  std::optional<T> value;
};

template <>
class PromiseOf<void> : public PromiseBase {
 public:
  void return_void() const noexcept {}
  void take() const {
    if (error) {
      std::rethrow_exception(error);
    }
  }
};

template <class T, class... Args>
class Promise;

}  // namespace detail

template <class T>
class [[nodiscard("pawl: a Workflow does nothing until it is awaited: co_await it")]] Workflow {
  static_assert(!std::is_reference_v<T>, "pawl: a workflow returns a value, not a reference.");

 public:
  using Result = T;

  Workflow(Workflow&& other) noexcept
      : handle_(std::exchange(other.handle_, {})),
        promise_(std::exchange(other.promise_, nullptr)) {}
  Workflow(const Workflow&) = delete;
  Workflow& operator=(const Workflow&) = delete;
  Workflow& operator=(Workflow&&) = delete;
  ~Workflow() {
    if (handle_) {
      handle_.destroy();
    }
  }

  // Awaiting is for rvalues: it can be done once.
  auto durable_await(const detail::Place& /*place*/, std::source_location at = {}) && {
    struct Awaiter {
      Workflow workflow;

      bool await_ready() const noexcept { return false; }
      std::coroutine_handle<> await_suspend(std::coroutine_handle<> waiting) const noexcept {
        workflow.promise_->continuation = waiting;
        return workflow.handle_;
      }
      T await_resume() const { return workflow.promise_->take(); }
    };
    if (!handle_ || handle_.done()) {
      detail::throw_usage("co_await: this Workflow was awaited before, or moved from");
    }
    promise_->awaited_at = at;
    return Awaiter{std::move(*this)};
  }

  // For the library: what runs a coroutine that nobody awaits.
  void start() const { handle_.resume(); }
  bool is_done() const noexcept { return handle_.done(); }
  T take() const { return promise_->take(); }

 private:
  template <class, class...>
  friend class detail::Promise;

  Workflow(std::coroutine_handle<> handle, detail::PromiseOf<T>* promise) noexcept
      : handle_(handle), promise_(promise) {}

  std::coroutine_handle<> handle_;
  detail::PromiseOf<T>* promise_ = nullptr;
};

namespace detail {

template <class T, class... Args>
class Promise final : public PromiseOf<T> {
 public:
  // A compiler may leave the object of a lambda out.
  template <class... Parameters>
  explicit Promise(const Parameters&... parameters) {
    (look_at(parameters), ...);
  }

  Workflow<T> get_return_object() {
    check_parameters<Args...>();  // Here, because inside of a lambda its type is not complete.
    return Workflow<T>(std::coroutine_handle<Promise>::from_promise(*this), this);
  }

 private:
  template <class Arg>
  void look_at(const Arg& arg) {
    if constexpr (kIsContext<Arg>) {
      find_place(this->place, arg);
    }
  }
};

}  // namespace detail
}  // namespace pawl

template <class T, class... Args>
struct std::coroutine_traits<pawl::Workflow<T>, Args...> {
  using promise_type = pawl::detail::Promise<T, Args...>;
};

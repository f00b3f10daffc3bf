// Registry: which workflows and activities a process has, by name. Plain data: fill it, then give
// it to an Engine, which takes a copy.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "pawl/context.hpp"
#include "pawl/options.hpp"

namespace pawl {

namespace detail {

// The parameters of something that can be called in one way only.
template <class F>
struct Signature;
template <class R, class... Args>
struct Signature<R (*)(Args...)> {
  using Result = R;
  using Parameters = std::tuple<Args...>;
};
template <class R, class... Args>
struct Signature<R (*)(Args...) noexcept> : Signature<R (*)(Args...)> {};
template <class C, class R, class... Args>
struct Signature<R (C::*)(Args...) const> : Signature<R (*)(Args...)> {};
template <class C, class R, class... Args>
struct Signature<R (C::*)(Args...)> : Signature<R (*)(Args...)> {};
template <class C, class R, class... Args>
struct Signature<R (C::*)(Args...) const noexcept> : Signature<R (*)(Args...)> {};
template <class C, class R, class... Args>
struct Signature<R (C::*)(Args...) noexcept> : Signature<R (*)(Args...)> {};
template <class F>
  requires requires { &F::operator(); }
struct Signature<F> : Signature<decltype(&F::operator())> {};

template <class F>
concept HasSignature = requires { typename Signature<F>::Parameters; };

// The root of a run, whatever it returns.
class Root {
 public:
  virtual ~Root() = default;
  virtual void start() = 0;
  virtual bool is_done() const = 0;
  // Encoded; throws what left the workflow.
  virtual std::string take() = 0;
};

template <class T>
class RootOf final : public Root {
 public:
  RootOf(Workflow<T> workflow, std::string kind)
      : workflow_(std::move(workflow)), kind_(std::move(kind)) {}
  void start() override { workflow_.start(); }
  bool is_done() const override { return workflow_.is_done(); }
  std::string take() override {
    if constexpr (std::is_void_v<T>) {
      workflow_.take();
      return "null";
    } else {
      const T result = workflow_.take();
      return encode(result, [&] { return "result of workflow '" + kind_ + "'"; });
    }
  }

 private:
  Workflow<T> workflow_;
  std::string kind_;
};

template <class Parameters>
struct WorkflowParameters {
  static constexpr bool kIsValid = false;
};
template <class First, class... Args>
struct WorkflowParameters<std::tuple<First, Args...>> {
  static constexpr bool kIsValid = kIsContext<First>;
  static std::tuple<std::decay_t<Args>...> decode(std::string_view input, const auto& where) {
    return decode_arguments<std::decay_t<Args>...>(input, where);
  }
};

template <class Parameters>
struct ActivityParameters;
template <class... Args>
struct ActivityParameters<std::tuple<Args...>> {
  static std::tuple<std::decay_t<Args>...> decode(std::string_view input, const auto& where) {
    return decode_arguments<std::decay_t<Args>...>(input, where);
  }
};
template <class... Args>
struct ActivityParameters<std::tuple<Activity&, Args...>>
    : ActivityParameters<std::tuple<Args...>> {};

using Factory = std::function<std::unique_ptr<Root>(Context ctx, std::string_view input)>;

struct WorkflowEntry {
  std::string kind;
  WorkflowOptions options;
  Factory create;
  void (*function)() = nullptr;  // To find it by; null if it is no function.
};

struct ActivityEntry {
  std::string name;
  ActivityOptions options;
  ActivityFunction function;
};

// A function as an activity that gets its arguments out of the input.
template <class F>
ActivityFunction make_activity(std::string name, F function) {
  static_assert(HasSignature<F>,
                "pawl: an activity is a function or a callable whose parameters are known (no "
                "generic lambda, no overloaded operator()).");
  using Parameters = ActivityParameters<typename Signature<F>::Parameters>;
  auto shared = std::make_shared<F>(std::move(function));
  return [shared = std::move(shared), name = std::move(name)](Activity& activity) {
    const auto args =
        Parameters::decode(activity.input(), [&] { return "input of activity '" + name + "'"; });
    return std::apply(
        [&](const auto&... each) { return encode_result(name, *shared, activity, each...); }, args);
  };
}

}  // namespace detail

class Registry {
 public:
  // `function` is a coroutine: Workflow<R> function(Context, args…); no args, one, or several (then
  // the input is an array). Throws UsageError for a name that is empty or taken.
  template <class F>
  Registry& workflow(std::string kind, F function, WorkflowOptions options = {}) {
    static_assert(detail::HasSignature<F>,
                  "pawl: a workflow is a function or a lambda without captures.");
    using Signature = detail::Signature<F>;
    using Parameters = detail::WorkflowParameters<typename Signature::Parameters>;
    static_assert(detail::IsWorkflow<typename Signature::Result>::value,
                  "pawl: a workflow is a coroutine that returns pawl::Workflow<R>.");
    static_assert(Parameters::kIsValid,
                  "pawl: the first parameter of a workflow is pawl::Context, by value.");
    using Result = typename Signature::Result::Result;
    detail::WorkflowEntry entry;
    entry.create = [function, kind](Context ctx,
                                    std::string_view input) -> std::unique_ptr<detail::Root> {
      auto args = Parameters::decode(input, [&] { return "input of workflow '" + kind + "'"; });
      return std::make_unique<detail::RootOf<Result>>(
          std::apply([&](auto&... each) { return function(std::move(ctx), std::move(each)...); },
                     args),
          kind);
    };
    if constexpr (std::is_pointer_v<F>) {
      entry.function = reinterpret_cast<void (*)()>(function);
    }
    entry.kind = std::move(kind);
    entry.options = std::move(options);
    add(std::move(entry));
    return *this;
  }

  // A function that tasks and compensations ask for by name: R function(args…) or
  // R function(Activity&, args…). Called from several threads at once.
  template <class F>
  Registry& activity(std::string name, F function, ActivityOptions options = {}) {
    detail::ActivityFunction made = detail::make_activity(name, std::move(function));
    add({std::move(name), std::move(options), std::move(made)});
    return *this;
  }

  const std::vector<detail::WorkflowEntry>& workflows() const { return workflows_; }
  const std::vector<detail::ActivityEntry>& activities() const { return activities_; }

 private:
  void add(detail::WorkflowEntry entry);
  void add(detail::ActivityEntry entry);

  std::vector<detail::WorkflowEntry> workflows_;
  std::vector<detail::ActivityEntry> activities_;
};

}  // namespace pawl

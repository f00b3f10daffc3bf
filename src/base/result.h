// Result<T>: a value or an Error, a subset of std::expected (which needs C++23).
// Value type; not thread-safe; never holds an exception.
#pragma once

#include <optional>
#include <utility>
#include <variant>

#include "base/check.h"
#include "base/error.h"

namespace pawl {

template <class T>
class [[nodiscard]] Result {
 public:
  // NOLINTNEXTLINE(google-explicit-constructor): like std::expected.
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  // NOLINTNEXTLINE(google-explicit-constructor)
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  bool has_value() const { return state_.index() == 0; }
  explicit operator bool() const { return has_value(); }

  T& value() & {
    PAWL_CHECK(has_value());
    return *std::get_if<0>(&state_);
  }
  const T& value() const& {
    PAWL_CHECK(has_value());
    return *std::get_if<0>(&state_);
  }
  T&& value() && {
    PAWL_CHECK(has_value());
    return std::move(*std::get_if<0>(&state_));
  }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  const Error& error() const& {
    PAWL_CHECK(!has_value());
    return *std::get_if<1>(&state_);
  }
  Error&& error() && {
    PAWL_CHECK(!has_value());
    return std::move(*std::get_if<1>(&state_));
  }

 private:
  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  // NOLINTNEXTLINE(google-explicit-constructor)
  Result(Error error) : error_(std::move(error)) {}

  bool has_value() const { return !error_.has_value(); }
  explicit operator bool() const { return has_value(); }
  const Error& error() const& {
    PAWL_CHECK(error_.has_value());
    return *error_;
  }
  Error&& error() && {
    PAWL_CHECK(error_.has_value());
    return std::move(*error_);
  }

 private:
  std::optional<Error> error_;
};

}  // namespace pawl

// Leaves the function with the error of `expr`, if it has one.
#define PAWL_TRY(expr)                                           \
  do {                                                           \
    if (auto pawl_result_ = (expr); !pawl_result_.has_value()) { \
      return std::move(pawl_result_).error();                    \
    }                                                            \
  } while (false)

// NOLINTBEGIN(bugprone-macro-parentheses): names and declarations cannot be in parentheses.
// `lhs` = value of `expr`, or leaves the function with its error.
#define PAWL_TRY_ASSIGN(lhs, expr) PAWL_TRY_ASSIGN_(PAWL_CONCAT_(pawl_result_, __LINE__), lhs, expr)
#define PAWL_TRY_ASSIGN_(tmp, lhs, expr) \
  auto tmp = (expr);                     \
  if (!tmp.has_value()) {                \
    return std::move(tmp).error();       \
  }                                      \
  lhs = std::move(tmp).value()
#define PAWL_CONCAT_(a, b) PAWL_CONCAT2_(a, b)
#define PAWL_CONCAT2_(a, b) a##b
// NOLINTEND(bugprone-macro-parentheses)

// PAWL_CHECK: aborts when an invariant of our own code is broken. Always on.
// Never used for what an outsider can cause: that is an Error.
#pragma once

namespace pawl::detail {

[[noreturn]] void check_failed(const char* condition, const char* file, int line);

}  // namespace pawl::detail

#define PAWL_CHECK(condition)                                       \
  do {                                                              \
    if (!(condition)) [[unlikely]] {                                \
      ::pawl::detail::check_failed(#condition, __FILE__, __LINE__); \
    }                                                               \
  } while (false)

// Moments are milliseconds since 1970. The largest number is no moment: it stands for "never".
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

namespace pawl {

// The moment `span_ms` after another one. What would lie beyond all moments is the last of them,
// and not never; what begins never does not begin later either.
inline std::int64_t add_ms(std::int64_t moment_ms, std::int64_t span_ms) {
  using Limits = std::numeric_limits<std::int64_t>;
  if (moment_ms == Limits::max()) {
    return moment_ms;
  }
  std::int64_t sum = 0;
  if (__builtin_add_overflow(moment_ms, span_ms, &sum)) {
    sum = span_ms > 0 ? Limits::max() : Limits::min();
  }
  return std::min(sum, Limits::max() - 1);
}

}  // namespace pawl

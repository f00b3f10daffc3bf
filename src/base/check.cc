#include "base/check.h"

#include <cstdio>
#include <cstdlib>

namespace pawl::detail {

void check_failed(const char* condition, const char* file, int line) {
  std::fprintf(stderr, "pawl: broken invariant: %s (%s:%d)\n", condition, file, line);
  std::abort();
}

}  // namespace pawl::detail

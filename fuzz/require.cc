#include "fuzz/require.h"

#include <cstdlib>
#include <iostream>

namespace pawl::fuzz {

void require(bool holds, std::string_view claim, std::string_view details) {
  if (!holds) {
    std::cerr << "does not hold: " << claim << '\n' << details << std::endl;
    std::abort();
  }
}

}  // namespace pawl::fuzz

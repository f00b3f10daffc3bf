// require: what a fuzz harness claims. A claim that does not hold ends the process, and libFuzzer
// keeps the input.
#pragma once

#include <string_view>

namespace pawl::fuzz {

// Prints `claim` and `details`, and aborts, unless `holds`.
void require(bool holds, std::string_view claim, std::string_view details = "");

}  // namespace pawl::fuzz

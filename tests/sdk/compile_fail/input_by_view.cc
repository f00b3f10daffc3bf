// expect: must not take std::string_view or std::span
#include <string_view>

#include "pawl/pawl.hpp"

pawl::Workflow<int> workflow(pawl::Context /*ctx*/, std::string_view text) {
  co_return static_cast<int>(text.size());
}

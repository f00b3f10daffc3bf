// expect: takes its parameters (the Context too) by value
#include <string>

#include "pawl/pawl.hpp"

pawl::Workflow<int> workflow(pawl::Context /*ctx*/, const std::string& text) {
  co_return static_cast<int>(text.size());
}

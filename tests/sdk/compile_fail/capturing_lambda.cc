// expect: is a capturing lambda or a member function
#include "pawl/pawl.hpp"

auto make(int number) {
  return [number](pawl::Context /*ctx*/) -> pawl::Workflow<int> { co_return number; };
}
auto used = make(1);

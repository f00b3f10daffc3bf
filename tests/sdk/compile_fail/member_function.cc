// expect: is a capturing lambda or a member function
#include "pawl/pawl.hpp"

struct Shop {
  int number = 0;
  pawl::Workflow<int> workflow(pawl::Context /*ctx*/) { co_return number; }
};

// expect: may capture if they take pawl::Branch
#include "pawl/pawl.hpp"

pawl::Workflow<int> workflow(pawl::Context ctx) {
  int number = 1;
  co_return co_await ctx.branch(
      [&](pawl::Context /*inner*/) -> pawl::Workflow<int> { co_return number; });
}

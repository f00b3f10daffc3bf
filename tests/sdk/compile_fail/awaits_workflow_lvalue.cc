// expect: other Workflows (as rvalues)
#include "pawl/pawl.hpp"

pawl::Workflow<int> part(pawl::Context /*ctx*/) { co_return 1; }
pawl::Workflow<int> workflow(pawl::Context ctx) {
  auto once = part(ctx);
  co_return co_await once;
}

// expect: A future has to be awaited first
#include "pawl/pawl.hpp"

pawl::Workflow<int> workflow(pawl::Context ctx) {
  co_return ctx.run("one", [] { return 1; });
}

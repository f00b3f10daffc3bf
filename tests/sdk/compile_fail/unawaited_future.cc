// expect: a future that is not awaited
#include <chrono>

#include "pawl/pawl.hpp"

pawl::Workflow<void> workflow(pawl::Context ctx) {
  ctx.sleep(std::chrono::seconds(1));
  co_return;
}

// expect: only signals come with an event
#include "pawl/pawl.hpp"

pawl::Workflow<int> workflow(pawl::Context ctx) {
  const auto charged = co_await ctx.schedule<pawl::WithEvent<int>>("charge");
  co_return charged.value;
}

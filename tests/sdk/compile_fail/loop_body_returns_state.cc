// expect: the body of a loop returns pawl::Workflow<pawl::LoopStep<State, Value>>
#include "pawl/pawl.hpp"

pawl::Workflow<void> workflow(pawl::Context ctx) {
  co_await ctx.loop(
      0, [](pawl::Branch /*inner*/, int state) -> pawl::Workflow<int> { co_return state + 1; });
}

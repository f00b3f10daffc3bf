// expect: only durable things can be awaited in a workflow
#include <coroutine>

#include "pawl/pawl.hpp"

pawl::Workflow<int> workflow(pawl::Context ctx) {
  co_await std::suspend_always();
  co_return static_cast<int>(ctx.random());
}

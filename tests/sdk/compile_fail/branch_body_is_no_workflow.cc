// expect: the body of a branch or of a join's arm takes pawl::Branch and returns
#include "pawl/pawl.hpp"

pawl::Workflow<void> workflow(pawl::Context ctx) {
  co_await ctx.branch([](pawl::Branch inner) { return inner.schedule<int>("x"); });
}

// expect: this type cannot be recorded
#include "pawl/pawl.hpp"

struct Opaque {
  int* pointer = nullptr;
};
pawl::Workflow<void> workflow(pawl::Context ctx) { co_await ctx.schedule("x", Opaque{}); }

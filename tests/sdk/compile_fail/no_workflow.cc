// expect: a workflow is a coroutine that returns pawl::Workflow<R>
#include "pawl/pawl.hpp"

int workflow(pawl::Context ctx) { return static_cast<int>(ctx.random()); }
void use(pawl::Registry& registry) { registry.workflow("x", workflow); }

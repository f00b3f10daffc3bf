// expect: the first parameter of a workflow is pawl::Context
#include "pawl/pawl.hpp"

pawl::Workflow<int> workflow(int number) { co_return number; }
void use(pawl::Registry& registry) { registry.workflow("x", workflow); }

// expect: takes its parameters (the Context too) by value
#include "pawl/pawl.hpp"

pawl::Workflow<int> workflow(pawl::Context& ctx) { co_return static_cast<int>(ctx.random()); }

// expect: would refer to what is gone when it is read back
#include <string_view>

#include "pawl/pawl.hpp"

pawl::Workflow<int> workflow(pawl::Context ctx) {
  const auto text = co_await ctx.signal<std::string_view>("text");
  co_return static_cast<int>(text.size());
}

// The first version.
#include <pawl_fingerprint.hpp>

#include "fulfil.hpp"

// [v1]
pawl::Workflow<std::string> fulfil(pawl::Context ctx, Order order) {
  co_await ctx.run("reserve", act, order.item);
  co_await ctx.run("phone", act, order.item);
  co_await ctx.signal("paid");
  co_await ctx.run("ship", act, order.item);
  co_await ctx.signal("delivered");
  co_return "delivered by post";
}
// [/v1]

std::string fingerprint() { return PAWL_FINGERPRINT; }

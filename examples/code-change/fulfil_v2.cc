// The second version: a new step, check-fraud, before anybody is phoned.
#include <pawl_fingerprint.hpp>

#include "fulfil.hpp"

// [v2]
pawl::Workflow<std::string> fulfil(pawl::Context ctx, Order order) {
  co_await ctx.run("reserve", act, order.item);
  co_await ctx.v(2).run("check-fraud", act, order.item);  // Inserted.
  co_await ctx.run("phone", act, order.item);
  co_await ctx.signal("paid");
  co_await ctx.run("ship", act, order.item);
  co_await ctx.signal("delivered");
  co_return "delivered by post";
}
// [/v2]

std::string fingerprint() { return PAWL_FINGERPRINT; }

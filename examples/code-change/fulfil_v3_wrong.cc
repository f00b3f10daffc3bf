// The third version, as it was deployed by mistake: customers are no longer phoned, and parcels go
// by courier. Nobody thought of the orders that are on their way.
#include <pawl_fingerprint.hpp>

#include "fulfil.hpp"

// [wrong]
pawl::Workflow<std::string> fulfil(pawl::Context ctx, Order order) {
  co_await ctx.run("reserve", act, order.item);
  co_await ctx.v(2).run("check-fraud", act, order.item);
  co_await ctx.signal("paid");
  co_await ctx.run("ship-by-courier", act, order.item);
  co_await ctx.signal("delivered");
  co_return "delivered by courier";
}
// [/wrong]

std::string fingerprint() { return PAWL_FINGERPRINT; }

// The third version: customers are no longer phoned, and parcels go by courier, unless they were
// sent by post already.
#include <pawl_fingerprint.hpp>

#include "fulfil.hpp"

// [v3]
pawl::Workflow<std::string> fulfil(pawl::Context ctx, Order order) {
  co_await ctx.run("reserve", act, order.item);
  co_await ctx.v(2).run("check-fraud", act, order.item);
  ctx.removed(pawl::StepKind::kOperation, "phone");  // In the place of the removed step.
  co_await ctx.signal("paid");
  const bool is_old = ctx.check_version(3) < 3;  // Which way does this run go?
  if (is_old) {
    co_await ctx.run("ship", act, order.item);
  } else {
    co_await ctx.run("ship-by-courier", act, order.item);
  }
  co_await ctx.signal("delivered");
  co_return is_old ? "delivered by post" : "delivered by courier";
}
// [/v3]

std::string fingerprint() { return PAWL_FINGERPRINT; }

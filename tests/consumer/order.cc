#include "order.hpp"

#if __has_include(<pawl_fingerprint.hpp>)
#include <pawl_fingerprint.hpp>
#else
#define PAWL_FINGERPRINT ""
#endif

pawl::Workflow<std::string> order(pawl::Context ctx, Order in) {
  const auto reserve = [](int id) { return "hold-" + std::to_string(id); };
  const auto hold = co_await ctx.run("reserve", reserve, in.id);
  const auto paid = co_await ctx.schedule<int>("charge", in, {.retry = {.attempts = 3}});
  co_return hold + " " + std::to_string(paid);
}

std::string fingerprint() { return PAWL_FINGERPRINT; }

void register_all(pawl::Registry& registry) {
  registry.workflow("order", order, {.fingerprint = PAWL_FINGERPRINT});
  registry.activity("charge", [](const Order& in) { return in.id * 100; });
}

// An insurance policy: it lasts a year, and is renewed or lapses. policy_test.cc tests it; a
// program that runs it would look like those of the other examples.
#pragma once

#include <chrono>
#include <stdexcept>
#include <string>

#include <pawl/pawl.hpp>

struct Policy {
  std::string holder;
  int cents = 0;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Policy, holder, cents)

// Would send a mail. Not in a test.
inline void send_mail(const std::string& to, const std::string& text) {
  throw std::runtime_error("no mail server for '" + text + "' to " + to);
}

// [insure]
inline pawl::Workflow<std::string> insure(pawl::Context ctx, Policy policy) {
  co_await ctx.run("mail", send_mail, policy.holder, "welcome");
  co_await ctx.sleep(std::chrono::days(335));
  co_await ctx.run("mail", send_mail, policy.holder, "30 days are left");
  try {
    co_await ctx.signal("renew", {.timeout = std::chrono::days(30)});
  } catch (const pawl::TimedOut&) {
    co_return "lapsed";
  }
  co_return "renewed: " +
      co_await ctx.schedule<std::string>("collect", policy, {.retry = {.attempts = 10}});
}
// [/insure]

// A subscription: a state machine that runs for ever, driven by signals and by time. Its history
// stays small however long it runs.
//
//   subscription [STORE]        the life of a subscription in which a month takes 20 ms
//   subscription --simulate     a hundred years of one, on virtual time
//
// STORE is sqlite:subscription.db if not given.
#include <chrono>
#include <cstdint>
#include <iostream>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>

#include <pawl/pawl.hpp>
#include <pawl/testing.hpp>

using namespace std::chrono_literals;

enum class Phase { kTrial, kActive, kPastDue };
NLOHMANN_JSON_SERIALIZE_ENUM(Phase, {{Phase::kTrial, "trial"},
                                     {Phase::kActive, "active"},
                                     {Phase::kPastDue, "past due"}})

// [state]
// All that one iteration hands to the next.
struct Subscription {
  Phase phase = Phase::kTrial;
  std::string card;
  int paid_months = 0;
  int reminders = 0;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Subscription, phase, card, paid_months, reminders)
// [/state]

struct Plan {
  std::int64_t month_ms = 0;
  std::int64_t patience_ms = 0;  // How long we wait for somebody who does not pay.
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Plan, month_ms, patience_ms)

// What a customer sends.
struct Request {
  std::string what;  // "card" or "cancel".
  std::string card;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Request, what, card)

// --- Activities ----------------------------------------------------------------------------------

bool is_quiet = false;

void tell(const std::string& text) {
  if (!is_quiet) {
    std::cout << "  " << text << std::endl;
  }
}

// The card with the number 1 is good for thirty months.
bool charge(const std::string& card, int month) { return card != "card-1" || month < 30; }

// --- The workflow --------------------------------------------------------------------------------

using Step = pawl::LoopStep<Subscription, std::string>;

// [next_request]
// What the customer does next; nothing if that takes longer than `limit`.
pawl::Workflow<std::optional<Request>> next_request(pawl::Context ctx, pawl::Millis limit) {
  try {
    co_return co_await ctx.signal<Request>("request", {.timeout = limit});
  } catch (const pawl::TimedOut&) {
    co_return std::nullopt;
  }
}
// [/next_request]

// [phases]
pawl::Workflow<Step> in_trial(pawl::Context ctx, Plan plan, Subscription now) {
  const auto request = co_await next_request(ctx, pawl::Millis(plan.patience_ms));
  if (!request || request->what == "cancel") {
    co_return pawl::break_with("never became a customer");
  }
  now.card = request->card;
  now.phase = Phase::kActive;
  co_await ctx.run("tell", tell, "welcome");
  co_return pawl::continue_with(now);
}

pawl::Workflow<Step> in_active(pawl::Context ctx, Plan plan, Subscription now) {
  if (!co_await ctx.run("charge", charge, now.card, now.paid_months)) {
    now.phase = Phase::kPastDue;
    now.reminders = 0;
    co_return pawl::continue_with(now);
  }
  ++now.paid_months;
  if (const auto request = co_await next_request(ctx, pawl::Millis(plan.month_ms))) {
    if (request->what == "cancel") {
      co_return pawl::break_with("cancelled");
    }
    now.card = request->card;
  }
  co_return pawl::continue_with(now);
}

pawl::Workflow<Step> in_past_due(pawl::Context ctx, Plan plan, Subscription now) {
  if (now.reminders == 3) {
    co_return pawl::break_with("ended: three reminders were in vain");
  }
  ++now.reminders;
  co_await ctx.run("tell", tell,
                   "month " + std::to_string(now.paid_months) + " is not paid: reminder " +
                       std::to_string(now.reminders));
  if (const auto request = co_await next_request(ctx, pawl::Millis(plan.patience_ms))) {
    if (request->what == "cancel") {
      co_return pawl::break_with("cancelled with a debt");
    }
    now.card = request->card;
    now.phase = Phase::kActive;
    co_await ctx.run("tell", tell, "thanks for the new card");
  }
  co_return pawl::continue_with(now);
}
// [/phases]

// [subscription]
pawl::Workflow<std::string> subscription(pawl::Context ctx, Plan plan) {
  const auto step = [plan](pawl::Branch turn, Subscription now) -> pawl::Workflow<Step> {
    turn.set("now", now);  // For people who ask.
    switch (now.phase) {
      case Phase::kTrial:
        co_return co_await in_trial(turn, plan, now);
      case Phase::kActive:
        co_return co_await in_active(turn, plan, now);
      case Phase::kPastDue:
        co_return co_await in_past_due(turn, plan, now);
    }
    throw std::logic_error("no such phase");
  };
  co_return co_await ctx.loop(Subscription(), step);
}
// [/subscription]

// --- The program ---------------------------------------------------------------------------------

using Run = pawl::RunHandle<std::string>;

// Looks at the subscription until it is as wanted, or has ended.
template <class Condition>
void wait_until(const Run& run, Condition is_wanted) {
  while (run.status() != pawl::Status::kCompleted) {
    const auto now = run.state<Subscription>("now");
    if (now && is_wanted(*now)) {
      return;
    }
    std::this_thread::sleep_for(5ms);
  }
}

void send(const Run& run, const Request& request) {
  if (run.status() != pawl::Status::kCompleted) {
    // The id makes it one request, however often this program is killed and sends it again.
    run.signal("request", request, {.id = request.what + request.card});
  }
}

int play(const std::string& store) {
  pawl::Registry registry;
  registry.workflow("subscription", subscription);
  pawl::Engine engine(store, registry);
  const Run run = engine.start(subscription, "ada", {.month_ms = 20, .patience_ms = 10'000});
  std::cout << "ada: " << (run.is_new() ? "new" : "known") << std::endl;
  send(run, {"card", "card-1"});
  wait_until(run, [](const Subscription& now) {
    return now.phase == Phase::kPastDue || now.paid_months > 30;
  });
  send(run, {"card", "card-2"});
  wait_until(run, [](const Subscription& now) { return now.paid_months >= 60; });
  send(run, {"cancel", ""});
  const std::string end = run.result();
  std::cout << "ada: " << end << std::endl;
  return end == "cancelled" ? 0 : 1;
}

// [simulate]
int simulate() {
  is_quiet = true;
  pawl::Registry registry;
  registry.workflow("subscription", subscription);
  pawl::testing::Environment env(registry);
  constexpr std::int64_t kMonth = pawl::Millis(std::chrono::days(30)).count();
  const Run run = env.start(subscription, "bob", {.month_ms = kMonth, .patience_ms = kMonth});
  run.signal("request", Request{"card", "card-2"});
  int years = 0;
  for (const int until : {2, 20, 100}) {
    env.advance((until - years) * std::chrono::days(365));
    years = until;
    std::cout << "after " << years << " years: " << run.state<Subscription>("now")->paid_months
              << " months are paid, the history has " << env.history("bob").lines().size()
              << " entries" << std::endl;
  }
  return env.history("bob").lines().size() < 100 ? 0 : 1;
}
// [/simulate]

int main(int argc, char** argv) {
  try {
    const std::string argument = argc > 1 ? argv[1] : "sqlite:subscription.db";
    return argument == "--simulate" ? simulate() : play(argument);
  } catch (const std::exception& error) {
    std::cerr << "subscription: " << error.what() << '\n';
    return 1;
  }
}

// Tests of a workflow that takes a year, in milliseconds. No test framework is needed; with one,
// `expect` would be its macro and each function a test case.
#include "policy.hpp"

#include <chrono>
#include <iostream>
#include <string>
#include <vector>

#include <pawl/pawl.hpp>
#include <pawl/testing.hpp>

using namespace std::chrono_literals;
using std::chrono::days;

const Policy kPolicy = {"ada", 12'000};

int failures = 0;

void expect(bool holds, const std::string& what) {
  std::cout << (holds ? "  ok    " : "  WRONG ") << what << std::endl;
  failures += holds ? 0 : 1;
}

// [world]
// The world as the workflow sees it: the mails that it sent, and a bank that is down at first.
struct World {
  std::vector<std::string> mails;
  int calls_of_bank = 0;
  pawl::testing::Environment env;

  explicit World(const pawl::testing::Options& options = {}) : env(registry(), options) {
    env.fake("mail", [this](const std::string& to, const std::string& text) {
      mails.push_back(to + ": " + text);
    });
    env.fake("collect", [this](const Policy& policy) {
      if (++calls_of_bank <= 2) {
        throw std::runtime_error("the bank is down");
      }
      return "receipt for " + std::to_string(policy.cents);
    });
  }

  static pawl::Registry registry() {
    pawl::Registry registry;
    registry.workflow("insure", insure);
    return registry;
  }
};
// [/world]

// [a_year]
void a_year_passes() {
  std::cout << "a year passes and nobody renews" << std::endl;
  World world;
  auto run = world.env.start(insure, "policy-1", kPolicy);
  world.env.advance(days(300));
  expect(world.mails == std::vector<std::string>{"ada: welcome"}, "one mail in 300 days");
  expect(run.describe().waiting_for.starts_with("timer"), "it waits for a timer");
  world.env.advance(days(40));
  expect(world.mails.size() == 2, "another one after 335 days");
  expect(run.describe().waiting_for == "signal renew", "now it waits for an answer");
  world.env.advance(days(25));
  expect(run.status() == pawl::Status::kCompleted && run.result() == "lapsed", "lapsed on day 365");
}
// [/a_year]

void it_is_renewed() {
  std::cout << "it is renewed on day 350" << std::endl;
  World world;
  const pawl::Time begin = world.env.now();
  auto run = world.env.start(insure, "policy-1", kPolicy);
  world.env.advance(days(350));
  run.signal("renew");
  expect(run.result() == "renewed: receipt for 12000", "renewed, with a receipt");
  expect(world.calls_of_bank == 3, "the bank was asked until it answered");
  expect(world.env.now() - begin < days(351), "which took less than a day");
}

// [crashes]
void it_may_crash_anywhere() {
  std::cout << "the process dies after any entry of the history" << std::endl;
  int right = 0;
  std::uint64_t entries = 0;
  for (std::uint64_t seq = 1; seq == 1 || seq <= entries; ++seq) {
    World world({.replay_every_turn = true});
    world.env.crash_after("policy-1", seq);
    auto run = world.env.start(insure, "policy-1", kPolicy);
    world.env.advance(days(340));
    run.signal("renew");
    const bool is_right = run.result() == "renewed: receipt for 12000" && world.mails.size() == 2 &&
                          world.env.crashes() == 1;
    right += is_right ? 1 : 0;
    entries = world.env.history("policy-1").lines().size();
  }
  expect(entries == 9 && right == 9,
         "same result, same mails, " + std::to_string(right) + " times");
}
// [/crashes]

// [check]
void open_runs_can_go_on() {
  std::cout << "this code goes on with what is recorded of open runs" << std::endl;
  using pawl::testing::HistoryBuilder;
  const auto waiting = HistoryBuilder()
                           .operation("mail")
                           .timer(days(335))
                           .completed("{2}")
                           .operation("mail")
                           .awaits_signal("renew")
                           .build();
  auto result = pawl::testing::check(insure, kPolicy, waiting);
  expect(result.agrees && result.waiting == std::vector<std::string>{"{4}"}, "it waits at {4}");

  const auto other = HistoryBuilder().operation("mail").operation("print a letter").build();
  result = pawl::testing::check(insure, kPolicy, other);
  expect(!result.agrees, "a history of other code is refused:");
  std::cout << "        " << result.violation.substr(0, result.violation.find('\n')) << std::endl;
}
// [/check]

int main() {
  a_year_passes();
  it_is_renewed();
  it_may_crash_anywhere();
  open_runs_can_go_on();
  return failures == 0 ? 0 : 1;
}

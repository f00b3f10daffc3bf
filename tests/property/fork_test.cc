// Forks of random lives: whatever the code did before, cut at any of its commands it agrees with
// what it has inherited, and asks for that command next.

#include "portable/fork.h"

#include <iostream>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <boost/json.hpp>
#include <gtest/gtest.h>

#include "base/uuid.h"
#include "portable/run_document.h"
#include "property/life.h"
#include "property/program_gen.h"
#include "property/subjects.h"
#include "property/support.h"

namespace pawl::property {
namespace {

namespace json = boost::json;

const Uuid kFork = *Uuid::parse("0f0e0d0c-0b0a-4908-8706-050403020100");

Result<portable::RunDocument> document_of(const Life& life, const json::object& run) {
  json::object object;
  object["format"] = "pawl-run/1";
  object["id"] = "original";
  object["runId"] = run.at("id");
  object["kind"] = run.at("kind");
  object["status"] = life.outcome == "suspended" ? "waiting" : life.outcome;
  object["startedAt"] = run.at("startedAt");
  object["log"] = life.history;
  return portable::from_json(json::serialize(object));
}

json::object scenario_of(const json::object& original, const portable::RunDocument& fork) {
  json::object scenario = original;
  const json::value file = json::parse(portable::to_json(fork));
  scenario["run"].as_object()["id"] = file.at("runId");
  scenario["history"] = file.at("log");
  return scenario;
}

// What waits in the inbox of the fork, in order, as if the run had seen it now.
void append_inbox(const portable::RunDocument& fork, json::object& scenario) {
  json::array& history = scenario["history"].as_array();
  std::int64_t seq = history.empty() ? 0 : seq_of(history.back().as_object());
  const std::map<std::string, std::string> id_fields = {{"Task", "taskExecutionId"},
                                                        {"Time", "timerId"},
                                                        {"Prom", "promiseId"},
                                                        {"Chil", "childExecutionId"}};
  for (const store::StoredArrival& arrival : fork.image.inbox) {
    const auto* known = replay::find_traits(static_cast<replay::EntryKind>(arrival.kind));
    if (known == nullptr) {
      continue;
    }
    json::object entry;
    entry["seq"] = ++seq;
    entry["event"] = known->event;
    if (known->event.starts_with("Signal")) {
      entry["location"] = arrival.location;
    } else {
      entry[id_fields.at(std::string(known->event.substr(0, 4)))] = arrival.id;
    }
    if (arrival.has_payload) {
      const char* field = known->outcome == replay::OutcomeKind::kValue ? "result" : "error";
      entry[field] = json::parse(arrival.payload);
    }
    history.push_back(std::move(entry));
  }
}

struct Checker {
  std::string matching;
  json::array program;
  Life life;
  std::map<std::string, int>* seen = nullptr;

  std::optional<Failure> check_fork(const portable::RunDocument& original,
                                    const json::object& command) const;
  std::optional<Failure> check() const;
};

std::optional<Failure> Checker::check_fork(const portable::RunDocument& original,
                                           const json::object& command) const {
  portable::ForkRequest request;
  request.at = std::string(command.at("location").as_string());
  request.id = "fork";
  request.uuid = kFork;
  const json::object old_scenario = make_scenario(matching, program, life.history);
  const Result<portable::ForkPlan> plan = portable::plan_fork(original, request);
  if (!plan) {
    const bool is_known = plan.error().message.find("cannot be forked at") != std::string::npos;
    ++(*seen)[plan.error().message.find("child run") != std::string::npos
                  ? "refused because of an open child"
                  : "refused because of a loop"];
    return is_known
               ? std::nullopt
               : std::optional(Failure{request.at + ": " + plan.error().message, old_scenario});
  }
  ++(*seen)["forks"];
  json::object scenario = scenario_of(old_scenario, plan->document);
  const json::object outcome = evaluate_safely(system_evaluate, scenario);
  const json::array added = array_of(outcome, "new");
  if (outcome.at("outcome") == "violation" || outcome.at("outcome") == "exception") {
    return Failure{"forked at " + request.at + ": " + json::serialize(outcome), scenario};
  }
  // An operation is written when it ends, so its start may be what comes next.
  const json::value* next =
      added.empty() ? nullptr : added.front().as_object().if_contains("location");
  if (next == nullptr || *next != command.at("location")) {
    return Failure{"forked at " + request.at +
                       ", the next command is not that one: " + json::serialize(outcome),
                   scenario};
  }
  if (plan->document.image.inbox.empty()) {
    return std::nullopt;
  }
  append_inbox(plan->document, scenario);
  ++(*seen)["forks with something in the inbox"];
  const json::object later = evaluate_safely(system_evaluate, scenario);
  if (later.at("outcome") == "violation" || later.at("outcome") == "exception") {
    return Failure{"forked at " + request.at + ", with its inbox: " + json::serialize(later),
                   scenario};
  }
  return std::nullopt;
}

std::optional<Failure> Checker::check() const {
  const json::object scenario = make_scenario(matching, program, life.history);
  const Result<portable::RunDocument> original = document_of(life, scenario.at("run").as_object());
  if (!original) {
    return Failure{"the life is no run: " + original.error().message, scenario};
  }
  for (const json::value& value : life.history) {
    const json::object& entry = value.as_object();
    if (!entry.contains("location") || event_of(entry) == "SignalTimedOut") {
      continue;
    }
    if (std::optional<Failure> failure = check_fork(*original, entry)) {
      return failure;
    }
  }
  return std::nullopt;
}

TEST(Fork, AnyLifeCutAnywhereGoesOn) {
  const std::uint64_t base = base_seed();
  std::map<std::string, int> seen;
  const std::uint64_t count = program_count(3000);
  for (std::uint64_t n = 0; n < count; ++n) {
    const std::uint64_t seed = program_seed(base, n);
    Rng rng(seed);
    const std::vector<std::string> matchings = {"strict", "per_kind", "by_name"};
    GenOptions gen;
    gen.matching = rng.pick(matchings);
    gen.loops = rng.chance(60);
    gen.arms_share_with_loops = false;
    LifeOptions options;
    options.arrivals_max = rng.between(1, 3);
    options.world.failures_percent = rng.between(0, 15);
    options.world.signals_percent = rng.between(5, 40);
    const json::array program = generate_program(rng, gen);
    Checker checker{gen.matching, program,
                    live(system_evaluate, gen.matching, program, rng.fork(), options), &seen};
    ASSERT_NE(checker.life.outcome, "violation") << rerun_hint(seed);
    if (const std::optional<Failure> failure = checker.check()) {
      FAIL() << rerun_hint(seed) << "\n"
             << failure->what << "\n"
             << json::serialize(failure->scenario);
    }
  }
  for (const auto& [what, number] : seen) {
    std::cout << what << " " << number << "; ";
  }
  std::cout << std::endl;
  EXPECT_GT(seen["forks"], static_cast<int>(count));
}

}  // namespace
}  // namespace pawl::property

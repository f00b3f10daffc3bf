// Random programs meet the log of an earlier version of themselves. The system says what the oracle
// says, for every matching; and strict notices every change of what a branch issues, at the first
// recorded command that differs.

#include <algorithm>
#include <iomanip>
#include <iostream>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json.hpp>
#include <gtest/gtest.h>

#include "property/life.h"
#include "property/mutate.h"
#include "property/program_check.h"
#include "property/program_gen.h"
#include "property/subjects.h"
#include "property/support.h"

namespace pawl::property {
namespace {

namespace json = boost::json;

struct Counts {
  int tried = 0;
  // Violations.
  int noticed = 0;
  // Went on, with recorded commands left over.
  int reported = 0;
  int allowed = 0;
  // Violations that had to be noticed at one certain place.
  int certain = 0;
};

using Table = std::map<std::string, std::map<std::string, Counts>>;

bool has_checkpoint(const json::array& entries) {
  return std::any_of(entries.begin(), entries.end(), [](const json::value& entry) {
    return event_of(entry.as_object()) == "LoopCheckpointed";
  });
}

// A log of some life of `program`, rarely with the end of it. Unless `forgetting`, no loop has
// written a checkpoint in it.
json::array some_log(const json::array& program, bool forgetting, Rng& rng) {
  LifeOptions options;
  options.arrivals_max = rng.between(1, 3);
  options.world.failures_percent = rng.between(0, 10);
  options.world.cancel_percent = 10;
  const Life life = live(system_evaluate, "strict", program, rng.fork(), options);
  const bool with_end = rng.chance(10);
  std::vector<json::array> logs;
  for (const Turn& turn : life.turns) {
    logs.push_back(array_of(turn.scenario, "history"));
    const json::array added = array_of(turn.outcome, "new");
    if (has_checkpoint(added)) {
      if (forgetting) {
        continue;
      }
      break;
    }
    for (const json::value& entry : added) {
      if (!event_of(entry.as_object()).starts_with("Workflow") || with_end) {
        logs.back().push_back(entry);
      }
    }
  }
  // The longest most of the time: there is more in it that can differ.
  json::array log = rng.chance(70) ? logs.back() : rng.pick(logs);
  if (!log.empty() && !forgetting && rng.chance(20)) {
    log.resize(1 + rng.below(log.size()));
  }
  return log;
}

void count(const json::object& outcome, Counts& counts) {
  ++counts.tried;
  if (outcome.at("outcome") == "violation") {
    ++counts.noticed;
  } else if (!array_of(outcome, "orphaned").empty()) {
    ++counts.reported;
  } else {
    ++counts.allowed;
  }
}

void print(const Table& table) {
  for (const auto& [matching, kinds] : table) {
    std::cout << std::left << std::setw(24) << matching << std::right << std::setw(9) << "tried"
              << std::setw(9) << "noticed" << std::setw(11) << "left over" << std::setw(9)
              << "allowed" << std::setw(9) << "certain" << "\n";
    for (const auto& [kind, counts] : kinds) {
      std::cout << "  " << std::left << std::setw(22) << kind << std::right << std::setw(9)
                << counts.tried << std::setw(9) << counts.noticed << std::setw(9) << counts.reported
                << std::setw(9) << counts.allowed << std::setw(9) << counts.certain << "\n";
    }
  }
  std::cout << std::flush;
}

void check_one(std::uint64_t seed, Table& table) {
  Rng rng(seed);
  GenOptions options;
  // `removed` and `check_version` are for strict only.
  const bool strict_only = rng.chance(20);
  options.matching = strict_only ? "strict" : "per_kind";
  options.loops = rng.chance(60);
  const json::array program = generate_program(rng, options);
  const json::array history = some_log(program, rng.chance(30), rng);

  for (int i = 0; i < kMutationKinds; ++i) {
    const MutationKind kind = static_cast<MutationKind>(i);
    const std::optional<Mutation> mutation = mutate(rng, kind, program, history);
    if (!mutation) {
      continue;
    }
    for (const char* matching : {"strict", "per_kind", "by_name"}) {
      const bool strict = matching == std::string_view("strict");
      if (strict_only && !strict) {
        continue;
      }
      const json::object scenario = make_scenario(matching, mutation->program, history);
      if (std::optional<Failure> failure = compare_subjects(scenario)) {
        const json::object smaller = minimise_scenario(scenario, [](const json::object& candidate) {
          std::optional<Failure> now = compare_subjects(candidate);
          return now && now->what.starts_with("system");
        });
        std::optional<Failure> last = compare_subjects(smaller);
        FAIL() << rerun_hint(seed) << "\n"
               << name_of(kind) << ": " << failure->what
               << "\nmade smaller: " << (last ? last->what : std::string()) << "\n"
               << json::serialize(smaller);
      }
      const json::object outcome = evaluate_safely(system_evaluate, scenario);
      Counts& counts = table[matching][name_of(kind)];
      count(outcome, counts);
      if (strict && mutation->violation_at && !has_checkpoint(history)) {
        ++counts.certain;
        const bool noticed =
            outcome.at("outcome") == "violation" &&
            outcome.at("error").at("location") == json::value(*mutation->violation_at);
        ASSERT_TRUE(noticed) << rerun_hint(seed) << "\n"
                             << name_of(kind) << " must be noticed at " << *mutation->violation_at
                             << ", but the outcome is " << json::serialize(outcome)
                             << "\nbefore: " << json::serialize(program) << "\n"
                             << json::serialize(scenario);
      }
    }
  }
}

TEST(Mutation, SystemEqualsOracleAndStrictNoticesEveryChangeOfABranch) {
  Table table;
  const std::uint64_t base = base_seed();
  const std::uint64_t programs = program_count(4000);
  for (std::uint64_t n = 0; n < programs && !HasFatalFailure(); ++n) {
    check_one(program_seed(base, n), table);
  }
  print(table);
}

}  // namespace
}  // namespace pawl::property

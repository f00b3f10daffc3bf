// Lives of random programs. Live: at every turn the system does what the oracle does. Crash: a run
// that stops after any single entry of its log and starts again appends exactly what it would have
// appended.

#include <algorithm>
#include <functional>
#include <iostream>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <boost/json.hpp>
#include <gtest/gtest.h>

#include "property/life.h"
#include "property/program_check.h"
#include "property/program_gen.h"
#include "property/subjects.h"
#include "property/support.h"

namespace pawl::property {
namespace {

namespace json = boost::json;

// One program with its life's circumstances, all from one seed.
struct Case {
  std::uint64_t seed = 0;
  GenOptions gen;
  LifeOptions life;
  json::array program;
  // For the life, so that a smaller program meets the same luck.
  Rng life_rng{0};
};

enum class Sort : unsigned char { kAnything, kRestartSafe };

Case make_case(std::uint64_t seed, Sort sort) {
  Case made;
  made.seed = seed;
  Rng rng(seed);
  const std::vector<std::string> matchings = {"strict", "per_kind", "by_name"};
  made.gen.matching = rng.pick(matchings);
  made.gen.loops = rng.chance(75);
  made.gen.arms_share_with_loops = sort == Sort::kAnything;
  made.life.arrivals_max = rng.between(1, 3);
  made.life.world.failures_percent = rng.between(0, 15);
  made.life.world.signals_percent = rng.between(5, 40);
  made.life.world.cancel_percent = 15;
  made.program = generate_program(rng, made.gen);
  made.life_rng = rng.fork();
  return made;
}

// Replaces an operation's outcome by its start and cuts the log there: the process died while it
// ran.
std::optional<json::object> with_operation_begun(const json::object& scenario, Rng& rng) {
  const json::array history = array_of(scenario, "history");
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < history.size(); ++i) {
    const json::object& entry = history[i].as_object();
    if (event_of(entry).starts_with("Operation") && entry.contains("location")) {
      places.push_back(i);
    }
  }
  if (places.empty()) {
    return std::nullopt;
  }
  const std::size_t at = rng.pick(places);
  json::array cut(history.begin(), history.begin() + static_cast<std::ptrdiff_t>(at));
  json::object begun;
  for (const auto& member : history[at].as_object()) {
    if (member.key() != "result" && member.key() != "error") {
      begun.emplace(member.key(), member.value());
    }
  }
  begun["event"] = "OperationStarted";
  cut.push_back(std::move(begun));
  json::object changed = scenario;
  changed["history"] = std::move(cut);
  return changed;
}

std::optional<Failure> check_live(const Case& made, std::map<std::string, int>* outcomes) {
  const Life life =
      live(system_evaluate, made.gen.matching, made.program, made.life_rng, made.life);
  Rng rng = made.life_rng;
  for (const Turn& turn : life.turns) {
    if (std::optional<Failure> failure = compare_subjects(turn.scenario)) {
      return failure;
    }
    if (!life.forgot && rng.chance(20)) {
      if (std::optional<json::object> begun = with_operation_begun(turn.scenario, rng)) {
        if (std::optional<Failure> failure = compare_subjects(*begun)) {
          return failure;
        }
      }
    }
  }
  if (outcomes != nullptr) {
    ++(*outcomes)[life.outcome];
    (*outcomes)["turns"] += static_cast<int>(life.turns.size());
    (*outcomes)["entries"] += static_cast<int>(life.items.size());
    (*outcomes)["lives with forgotten entries"] += life.forgot ? 1 : 0;
  }
  return std::nullopt;
}

bool has_checkpoint(const json::array& entries, std::size_t begin, std::size_t end) {
  for (std::size_t i = begin; i < end; ++i) {
    if (event_of(entries[i].as_object()) == "LoopCheckpointed") {
      return true;
    }
  }
  return false;
}

// Crashes after each of the entries that one turn appended.
std::optional<Failure> crash_in_turn(const Turn& turn, const std::string& matching,
                                     const json::array& program, std::map<std::string, int>& seen) {
  const json::array history = array_of(turn.scenario, "history");
  const json::array added = array_of(turn.outcome, "new");
  const std::vector<std::int64_t> forgotten = seqs(turn.outcome, "forgotten");
  std::vector<std::vector<std::int64_t>> split;
  const bool known = split_forgotten(history, added, forgotten, split);

  json::array log = history;
  std::vector<std::int64_t> moved;
  for (std::size_t count = 1; count <= added.size(); ++count) {
    log.push_back(added[count - 1]);
    moved.insert(moved.end(), split[count - 1].begin(), split[count - 1].end());
    const bool restarted = has_checkpoint(added, 0, count);
    if (!known && restarted) {
      if (has_checkpoint(added, count, added.size())) {
        ++seen["crashes left out, unknown which checkpoint moved what"];
        continue;
      }
      moved = forgotten;
    }

    json::object expected = turn.outcome;
    expected["new"] = json::array(added.begin() + static_cast<std::ptrdiff_t>(count), added.end());
    json::array rest;
    for (std::int64_t seq : forgotten) {
      if (std::find(moved.begin(), moved.end(), seq) == moved.end()) {
        rest.push_back(seq);
      }
    }
    expected["forgotten"] = rest;

    const json::object scenario = make_scenario(matching, program, without(log, moved));
    const json::object actual = evaluate_safely(system_evaluate, scenario);
    ++seen["crashes"];
    seen["crashes behind a checkpoint of the turn"] += restarted ? 1 : 0;
    // What iterations that are gone left in variables is gone with them.
    const std::string wrong = difference(scenario, actual, expected, {.values = !restarted});
    if (!wrong.empty()) {
      return Failure{"after a crash behind seq " + std::to_string(seq_of(log.back().as_object())) +
                         ", actual and expected differ in " + wrong,
                     scenario};
    }
  }
  return std::nullopt;
}

// Crashes after `items[crash - 1]`, and goes on to the end of the original life with the original's
// arrivals.
std::optional<Failure> recover(const Life& life, const std::string& matching,
                               const json::array& program, std::size_t crash) {
  json::array log;
  json::array everything;
  const auto append = [&](const json::object& entry, const std::vector<std::int64_t>& forgotten) {
    log.push_back(entry);
    everything.push_back(comparable_entry(entry));
    log = without(log, forgotten);
  };
  std::size_t at = 0;
  for (; at < crash; ++at) {
    append(life.items[at].entry, life.items[at].forgotten);
  }
  std::string outcome;
  while (true) {
    // What arrives between two turns of the original is taken together again, so that the same is
    // delivered.
    while (at < life.items.size() && life.items[at].arrival) {
      append(life.items[at].entry, {});
      ++at;
    }
    const json::object scenario = make_scenario(matching, program, log);
    const json::object result = evaluate_safely(system_evaluate, scenario);
    outcome = std::string(result.at("outcome").as_string());
    for (const json::value& entry : array_of(result, "new")) {
      if (at == life.items.size() || life.items[at].arrival ||
          comparable_entry(entry.as_object()) != comparable_entry(life.items[at].entry)) {
        return Failure{"after a crash behind entry " + std::to_string(crash) +
                           " of the life, the run appends " + json::serialize(entry) +
                           " instead of " +
                           (at < life.items.size() ? json::serialize(life.items[at].entry)
                                                   : std::string("nothing")),
                       scenario};
      }
      append(entry.as_object(), life.items[at].forgotten);
      ++at;
    }
    if (at < life.items.size() && !life.items[at].arrival) {
      return Failure{"after a crash behind entry " + std::to_string(crash) +
                         " of the life, the run does not append " +
                         json::serialize(life.items[at].entry),
                     scenario};
    }
    if (at == life.items.size()) {
      break;
    }
  }
  if (outcome != life.outcome) {
    return Failure{"after a crash behind entry " + std::to_string(crash) + " the run ends as " +
                       outcome + " instead of " + life.outcome,
                   make_scenario(matching, program, log)};
  }
  return std::nullopt;
}

std::optional<Failure> check_crashes(const Case& made, std::map<std::string, int>& seen) {
  const Life life =
      live(system_evaluate, made.gen.matching, made.program, made.life_rng, made.life);
  if (life.outcome == "violation" || life.outcome == "exception") {
    return Failure{
        "a program diverges from its own log: " + json::serialize(life.turns.back().outcome),
        life.turns.back().scenario};
  }
  for (const Turn& turn : life.turns) {
    if (std::optional<Failure> failure =
            crash_in_turn(turn, made.gen.matching, made.program, seen)) {
      return failure;
    }
  }
  if (life.forgotten_known && !life.items.empty()) {
    Rng rng = made.life_rng;
    const std::size_t crash = rng.below(life.items.size() + 1);
    ++seen["lives recovered to the end"];
    return recover(life, made.gen.matching, made.program, crash);
  }
  return std::nullopt;
}

// Runs `check` on many cases; on a failure prints the smallest case that still fails.
void for_all_cases(std::uint64_t count, Sort sort,
                   const std::function<std::optional<Failure>(const Case&)>& check) {
  const std::uint64_t base = base_seed();
  for (std::uint64_t n = 0; n < count; ++n) {
    const Case made = make_case(program_seed(base, n), sort);
    ASSERT_EQ(check_program(made.program), "") << rerun_hint(made.seed);
    std::optional<Failure> failure = check(made);
    if (!failure) {
      continue;
    }
    const Failure first = *failure;
    Case smaller = made;
    smaller.program = minimise_program(made.program, [&](const json::array& program) {
      Case candidate = made;
      candidate.program = program;
      std::optional<Failure> now = check(candidate);
      if (now) {
        failure = now;
      }
      return now.has_value();
    });
    FAIL() << rerun_hint(made.seed) << "\n"
           << first.what << "\n\nmade smaller: " << failure->what << "\n"
           << json::serialize(failure->scenario);
  }
}

void print(const char* title, const std::map<std::string, int>& seen) {
  std::cout << title << ":";
  for (const auto& [what, count] : seen) {
    std::cout << " " << what << " " << count << ";";
  }
  std::cout << std::endl;
}

TEST(GeneratedPrograms, AreValidAndDependOnTheSeedAlone) {
  for (std::uint64_t n = 0; n < 500; ++n) {
    const Sort sort = n % 2 == 0 ? Sort::kAnything : Sort::kRestartSafe;
    const std::uint64_t seed = program_seed(base_seed(), n);
    const Case made = make_case(seed, sort);
    EXPECT_EQ(check_program(made.program), "") << json::serialize(made.program);
    EXPECT_EQ(made.program, make_case(seed, sort).program);
  }
}

TEST(Live, SystemEqualsOracle) {
  std::map<std::string, int> outcomes;
  for_all_cases(program_count(10000), Sort::kAnything,
                [&](const Case& made) { return check_live(made, &outcomes); });
  print("lives", outcomes);
}

TEST(Crash, AfterEveryEntryTheRunGoesOnAsIfNothingHadHappened) {
  std::map<std::string, int> seen;
  for_all_cases(program_count(5000), Sort::kRestartSafe,
                [&](const Case& made) { return check_crashes(made, seen); });
  print("crashes", seen);
}

}  // namespace
}  // namespace pawl::property

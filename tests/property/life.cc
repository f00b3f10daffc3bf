#include "property/life.h"

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <utility>

namespace pawl::property {
namespace {

namespace json = boost::json;

constexpr std::int64_t kStartedAt = 1'700'000'000'000;

std::string text_field(const json::object& entry, const char* field) {
  const json::value* value = entry.if_contains(field);
  return value != nullptr && value->is_string() ? std::string(value->as_string()) : "";
}

// The number of the iteration of the loop at `loop` that `location` lies in; 0 if it lies in none.
std::int64_t iteration_of(const std::string& location, const std::string& loop) {
  if (loop.size() < 2) {
    return 0;
  }
  const std::string prefix = loop.substr(0, loop.size() - 1) + ", ";
  if (!location.starts_with(prefix)) {
    return 0;
  }
  return std::strtoll(location.c_str() + prefix.size(), nullptr, 10);
}

// The location that decides whether a checkpoint takes the entry with it: its own, its command's,
// or the loop's.
std::string place_of(const json::object& entry, const json::array& log) {
  if (event_of(entry) == "LoopCheckpointed") {
    return text_field(entry, "loop");
  }
  if (std::string own = text_field(entry, "location"); !own.empty()) {
    return own;
  }
  // Find what it completed: the command that is open just before it, and not just after.
  json::array before;
  for (const json::value& value : log) {
    if (seq_of(value.as_object()) < seq_of(entry)) {
      before.push_back(value);
    }
  }
  const std::vector<json::object> open = open_commands(before);
  before.push_back(entry);
  const std::vector<json::object> still = open_commands(before);
  for (const json::object& command : open) {
    if (std::find(still.begin(), still.end(), command) == still.end()) {
      return text_field(command, "location");
    }
  }
  return "";
}

// The locations of the commands that a request to cancel may be for.
std::vector<std::string> targets_of(const json::object& request, const json::array& log) {
  const bool task = event_of(request) == "TaskCancelRequested";
  const char* id = task ? "taskExecutionId" : "timerId";
  std::vector<std::string> targets;
  for (const json::value& value : log) {
    const json::object& entry = value.as_object();
    if (event_of(entry) == (task ? "TaskScheduled" : "TimerStarted") &&
        text_field(entry, id) == text_field(request, id)) {
      targets.push_back(text_field(entry, "location"));
    }
  }
  return targets;
}

}  // namespace

std::int64_t seq_of(const json::object& entry) { return entry.at("seq").to_number<std::int64_t>(); }

std::string event_of(const json::object& entry) { return text_field(entry, "event"); }

json::array array_of(const json::object& outcome, const char* field) {
  const json::value* value = outcome.if_contains(field);
  return value != nullptr && value->is_array() ? value->as_array() : json::array{};
}

std::vector<std::int64_t> seqs(const json::object& outcome, const char* field) {
  std::vector<std::int64_t> result;
  for (const json::value& seq : array_of(outcome, field)) {
    result.push_back(seq.to_number<std::int64_t>());
  }
  std::sort(result.begin(), result.end());
  return result;
}

json::array without(const json::array& history, const std::vector<std::int64_t>& forgotten) {
  json::array kept;
  for (const json::value& entry : history) {
    if (std::find(forgotten.begin(), forgotten.end(), seq_of(entry.as_object())) ==
        forgotten.end()) {
      kept.push_back(entry);
    }
  }
  return kept;
}

bool is_end(const std::string& outcome) { return outcome != "suspended"; }

json::object evaluate_safely(const Evaluate& evaluate, const json::object& scenario) {
  try {
    return evaluate(scenario);
  } catch (const std::exception& error) {
    return {{"outcome", "exception"}, {"error", json::object{{"message", error.what()}}}};
  }
}

json::object make_scenario(const std::string& matching, const json::array& program,
                           const json::array& history) {
  return {{"name", "generated"},
          {"matching", matching},
          {"run", json::object{{"id", "a1b2c3d4-e5f6-7890-abcd-ef1234567890"},
                               {"kind", "generated"},
                               {"startedAt", kStartedAt}}},
          {"history", history},
          {"program", program}};
}

bool split_forgotten(const json::array& history, const json::array& entries,
                     const std::vector<std::int64_t>& forgotten,
                     std::vector<std::vector<std::int64_t>>& split) {
  split.assign(entries.size(), {});
  json::array log = history;
  log.insert(log.end(), entries.begin(), entries.end());
  std::vector<std::size_t> checkpoints;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (event_of(entries[i].as_object()) == "LoopCheckpointed") {
      checkpoints.push_back(i);
    }
  }
  for (std::int64_t seq : forgotten) {
    auto found = std::find_if(log.begin(), log.end(), [&](const json::value& value) {
      return seq_of(value.as_object()) == seq;
    });
    if (found == log.end() || checkpoints.empty()) {
      return false;
    }
    const json::object& entry = found->as_object();
    if (checkpoints.size() == 1) {
      split[checkpoints.front()].push_back(seq);
      continue;
    }
    std::vector<std::string> places = {place_of(entry, log)};
    if (event_of(entry).ends_with("CancelRequested")) {
      // Stays as long as what it is for: goes with a loop that holds both.
      const std::vector<std::string> targets = targets_of(entry, log);
      if (targets.size() != 1) {
        return false;
      }
      places.push_back(targets.front());
    }
    if (places.front().empty()) {
      return false;
    }
    bool placed = false;
    for (std::size_t i : checkpoints) {
      const json::object& checkpoint = entries[i].as_object();
      const std::string loop = text_field(checkpoint, "loop");
      const std::int64_t finished = checkpoint.at("iteration").to_number<std::int64_t>();
      const bool inside = std::all_of(places.begin(), places.end(), [&](const std::string& place) {
        const std::int64_t iteration = iteration_of(place, loop);
        return iteration > 0 && iteration <= finished;
      });
      const bool replaced = event_of(entry) == "LoopCheckpointed" && places.front() == loop;
      if (seq < seq_of(checkpoint) && (inside || replaced)) {
        split[i].push_back(seq);
        placed = true;
        break;
      }
    }
    if (!placed) {
      return false;
    }
  }
  return true;
}

Life live(const Evaluate& evaluate, const std::string& matching, const json::array& program,
          Rng rng, const LifeOptions& options) {
  Life life;
  World world(rng.fork(), program, kStartedAt, options.world);
  while (true) {
    Turn turn;
    turn.scenario = make_scenario(matching, program, life.history);
    turn.outcome = evaluate_safely(evaluate, turn.scenario);
    life.outcome = text_field(turn.outcome, "outcome");
    const json::array added = array_of(turn.outcome, "new");
    const std::vector<std::int64_t> forgotten = seqs(turn.outcome, "forgotten");
    const json::array waiting = array_of(turn.outcome, "waiting");
    life.turns.push_back(std::move(turn));
    if (life.outcome == "violation" || life.outcome == "exception") {
      return life;
    }

    std::vector<std::vector<std::int64_t>> split;
    if (!split_forgotten(life.history, added, forgotten, split)) {
      life.forgotten_known = false;
    }
    for (std::size_t i = 0; i < added.size(); ++i) {
      life.items.push_back({added[i].as_object(), false, split[i]});
      life.history.push_back(added[i]);
    }
    if (!forgotten.empty()) {
      life.forgot = true;
      life.history = without(life.history, forgotten);
    }
    if (is_end(life.outcome) || life.items.size() >= options.entries_max) {
      return life;
    }

    const int count = rng.between(1, options.arrivals_max);
    bool arrived = false;
    json::array blocked_on = waiting;
    for (int i = 0; i < count; ++i) {
      json::object arrival = world.next_arrival(life.history, blocked_on);
      if (arrival.empty()) {
        break;
      }
      arrived = true;
      if (event_of(arrival).starts_with("Signal")) {
        // Which wait it went to is not known before the next turn.
        blocked_on.clear();
      }
      life.items.push_back({arrival, true, {}});
      life.history.push_back(std::move(arrival));
    }
    if (!arrived) {
      return life;
    }
  }
}

}  // namespace pawl::property

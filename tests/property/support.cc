#include "property/support.h"

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <random>
#include <string_view>
#include <utility>
#include <vector>

#include "property/life.h"
#include "property/program_check.h"
#include "property/world.h"

namespace pawl::property {
namespace {

namespace json = boost::json;

constexpr int kAttemptsMax = 4000;

json::value field(const json::object& outcome, const char* name) {
  const json::value* value = outcome.if_contains(name);
  return value != nullptr ? *value : json::value(nullptr);
}

json::value error_field(const json::object& outcome, const char* name) {
  const json::value* error = outcome.if_contains("error");
  return error != nullptr && error->is_object() ? field(error->as_object(), name)
                                                : json::value(nullptr);
}

std::string differs(const char* what, const json::value& left, const json::value& right) {
  return left == right
             ? ""
             : std::string(what) + ": " + json::serialize(left) + " and " + json::serialize(right);
}

json::array comparable_entries(const json::object& outcome) {
  json::array entries;
  for (const json::value& entry : array_of(outcome, "new")) {
    entries.push_back(comparable_entry(entry.as_object()));
  }
  return entries;
}

// Every list that is `steps` with one thing left out, large things first.
std::vector<json::array> smaller_lists(const json::array& steps);

json::array replaced(const json::array& steps, std::size_t at, const json::array& by) {
  json::array result(steps.begin(), steps.begin() + static_cast<std::ptrdiff_t>(at));
  result.insert(result.end(), by.begin(), by.end());
  result.insert(result.end(), steps.begin() + static_cast<std::ptrdiff_t>(at) + 1, steps.end());
  return result;
}

// Steps that are `step` with one thing less in it.
std::vector<json::object> smaller_steps(const json::object& step) {
  std::vector<json::object> result;
  const std::string_view verb = verb_of(step);
  for (std::string_view name : step_list_fields(step)) {
    for (json::array& list : smaller_lists(step.at(name).as_array())) {
      json::object less = step;
      less[name] = std::move(list);
      result.push_back(std::move(less));
    }
  }
  if (verb == "join") {
    const json::array& arms = step.at("join").as_array();
    for (std::size_t i = 0; i < arms.size(); ++i) {
      json::object less = step;
      less["join"] = replaced(arms, i, {});
      result.push_back(less);
      for (json::array& list : smaller_lists(arms[i].as_array())) {
        less["join"] = replaced(arms, i, json::array{json::value(std::move(list))});
        result.push_back(less);
      }
    }
  }
  if (verb == "v") {
    for (json::object& inner : smaller_steps(step.at("do").as_object())) {
      json::object less = step;
      less["do"] = std::move(inner);
      result.push_back(std::move(less));
    }
  }
  for (std::string_view name : {"stepKey", "input", "timeout", "id", "else", "checkpointEvery"}) {
    if (step.contains(name)) {
      json::object less;
      for (const auto& member : step) {
        if (std::string_view(member.key()) != name) {
          less.emplace(member.key(), member.value());
        }
      }
      result.push_back(std::move(less));
    }
  }
  if (verb == "loop" && step.at("times").to_number<int>() > 1) {
    json::object less = step;
    less["times"] = step.at("times").to_number<int>() - 1;
    result.push_back(std::move(less));
  }
  for (std::string_view name : {"return", "returns", "value"}) {
    if (step.contains(name) && step.at(name).is_structured()) {
      json::object less = step;
      less[name] = 0;
      result.push_back(std::move(less));
    }
  }
  return result;
}

std::vector<json::array> smaller_lists(const json::array& steps) {
  std::vector<json::array> result;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    result.push_back(replaced(steps, i, {}));
  }
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const json::object& step = steps[i].as_object();
    for (std::string_view name : step_list_fields(step)) {
      result.push_back(replaced(steps, i, step.at(name).as_array()));
    }
    if (verb_of(step) == "join") {
      for (const json::value& arm : step.at("join").as_array()) {
        result.push_back(replaced(steps, i, arm.as_array()));
      }
    }
    if (verb_of(step) == "v") {
      result.push_back(replaced(steps, i, json::array{step.at("do")}));
    }
  }
  for (std::size_t i = 0; i < steps.size(); ++i) {
    for (json::object& less : smaller_steps(steps[i].as_object())) {
      result.push_back(replaced(steps, i, json::array{json::value(std::move(less))}));
    }
  }
  return result;
}

// Gives the entries seqs from 1 without a gap.
json::array renumbered(const json::array& history) {
  json::array result;
  std::int64_t seq = 0;
  for (const json::value& value : history) {
    json::object entry = value.as_object();
    entry["seq"] = ++seq;
    result.push_back(std::move(entry));
  }
  return result;
}

}  // namespace

json::object comparable_entry(const json::object& entry) {
  json::object result;
  for (const auto& member : entry) {
    if (member.key() != "inputDigest" && member.key() != "source") {
      result.emplace(member.key(), member.value());
    }
  }
  return result;
}

std::string difference(const json::object& scenario, const json::object& left,
                       const json::object& right, const CompareOptions& options) {
  if (std::string wrong = differs("outcome", field(left, "outcome"), field(right, "outcome"));
      !wrong.empty()) {
    return wrong + " (" + json::serialize(error_field(left, "message")) + " and " +
           json::serialize(error_field(right, "message")) + ")";
  }
  const json::value outcome = field(left, "outcome");
  if (outcome == "violation") {
    std::string wrong = differs("location of the violation", error_field(left, "location"),
                                error_field(right, "location"));
    if (!wrong.empty()) {
      wrong += " (" + json::serialize(error_field(left, "message")) + " and " +
               json::serialize(error_field(right, "message")) + ")";
    }
    return wrong;
  }
  const json::array left_new = comparable_entries(left);
  const json::array right_new = comparable_entries(right);
  for (std::size_t i = 0; i < std::max(left_new.size(), right_new.size()); ++i) {
    const json::value a = i < left_new.size() ? left_new[i] : json::value("nothing");
    const json::value b = i < right_new.size() ? right_new[i] : json::value("nothing");
    if (std::string wrong = differs(("new[" + std::to_string(i) + "]").c_str(), a, b);
        !wrong.empty()) {
      return wrong;
    }
  }
  if (std::string wrong = differs("result", field(left, "result"), field(right, "result"));
      !wrong.empty()) {
    return wrong;
  }
  if (outcome == "failed" || outcome == "cancelled") {
    if (std::string wrong =
            differs("message", error_field(left, "message"), error_field(right, "message"));
        !wrong.empty()) {
      return wrong;
    }
  }
  if (seqs(left, "forgotten") != seqs(right, "forgotten")) {
    return differs("forgotten", field(left, "forgotten"), field(right, "forgotten"));
  }
  if (options.waiting) {
    if (std::string wrong =
            differs("waiting", array_of(left, "waiting"), array_of(right, "waiting"));
        !wrong.empty()) {
      return wrong;
    }
  }
  const json::value* matching = scenario.if_contains("matching");
  if (matching != nullptr && *matching != "strict") {
    if (std::string wrong =
            differs("orphaned", array_of(left, "orphaned"), array_of(right, "orphaned"));
        !wrong.empty()) {
      return wrong;
    }
  }
  if (options.values) {
    return differs("values", field(left, "values"), field(right, "values"));
  }
  return "";
}

json::array minimise_program(json::array program,
                             const std::function<bool(const json::array&)>& fails) {
  int attempts = 0;
  bool again = true;
  while (again) {
    again = false;
    for (json::array& candidate : smaller_lists(program)) {
      if (++attempts > kAttemptsMax) {
        return program;
      }
      if (check_program(candidate).empty() && fails(candidate)) {
        program = std::move(candidate);
        again = true;
        break;
      }
    }
  }
  return program;
}

json::object minimise_scenario(json::object scenario,
                               const std::function<bool(const json::object&)>& fails) {
  bool again = true;
  int attempts = 0;
  while (again && attempts < kAttemptsMax) {
    again = false;
    const json::array history = array_of(scenario, "history");
    for (std::size_t i = history.size(); i > 0; --i) {
      // Anything at the end can go; before it only arrivals, or the log would be refused.
      if (i < history.size() && !is_arrival(history[i - 1].as_object(), history)) {
        continue;
      }
      ++attempts;
      json::object candidate = scenario;
      candidate["history"] = renumbered(replaced(history, i - 1, {}));
      if (fails(candidate)) {
        scenario = std::move(candidate);
        again = true;
        break;
      }
    }
    const json::array before = scenario.at("program").as_array();
    json::array after = minimise_program(before, [&](const json::array& program) {
      json::object candidate = scenario;
      candidate["program"] = program;
      return fails(candidate);
    });
    if (after != before) {
      scenario["program"] = std::move(after);
      again = true;
    }
  }
  return scenario;
}

std::uint64_t base_seed() {
  static const std::uint64_t kSeed = [] {
    const char* given = std::getenv("PAWL_PROPERTY_SEED");
    std::random_device device;
    const std::uint64_t seed = given != nullptr
                                   ? std::strtoull(given, nullptr, 10)
                                   : (std::uint64_t{device()} << 20) ^ std::uint64_t{device()};
    std::cout << "PAWL_PROPERTY_SEED=" << seed << std::endl;
    return seed;
  }();
  return kSeed;
}

std::uint64_t program_count(std::uint64_t usual) {
  const char* given = std::getenv("PAWL_PROPERTY_PROGRAMS");
  return given != nullptr ? std::strtoull(given, nullptr, 10) : usual;
}

std::uint64_t program_seed(std::uint64_t base, std::uint64_t n) { return base + n; }

std::string rerun_hint(std::uint64_t seed) {
  return "PAWL_PROPERTY_SEED=" + std::to_string(seed) + " PAWL_PROPERTY_PROGRAMS=1";
}

}  // namespace pawl::property

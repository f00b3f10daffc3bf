#include "conform/scenario.h"

#include <algorithm>
#include <array>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

#include "format/json_reader.h"
#include "replay/entry.h"

namespace pawl::conform {

namespace json = boost::json;

using format::bad_field;
using format::read_array;
using format::read_integer;
using format::read_object;
using format::read_text;

namespace {

enum class Type : std::uint8_t {
  kAny,
  kText,       // Not empty.
  kTextValue,  // The same, or a variable that holds one.
  kVariable,   // A text that names a variable.
  kVariables,  // A list of them, not empty.
  kDuration,   // Whole number of milliseconds.
  kCount,      // Whole number from 0, or a variable that holds one.
  kVersion,    // Whole number from 1.
  kTrue,
  kSteps,
  kArms,  // A list of lists of steps.
  kStep,
  kRemovedKind,
};

struct Field {
  std::string_view name;
  Type type;
  bool required = false;
};

struct Verb {
  std::string_view name;
  Type type;  // Of the value of the verb itself.
  std::vector<Field> fields;
};

// One row per step. "as" is allowed everywhere.
const std::vector<Verb>& verbs() {
  static const std::vector<Verb> kVerbs = {
      {"task", Type::kText, {{"input", Type::kAny}, {"stepKey", Type::kText}}},
      {"run",
       Type::kText,
       {{"returns", Type::kAny},
        {"throws", Type::kTextValue},
        {"input", Type::kAny},
        {"stepKey", Type::kText}}},
      {"timer", Type::kDuration, {{"id", Type::kText}, {"stepKey", Type::kText}}},
      {"promise", Type::kText, {{"timeout", Type::kDuration}, {"stepKey", Type::kText}}},
      {"child",
       Type::kText,
       {{"kind", Type::kText, true}, {"input", Type::kAny}, {"stepKey", Type::kText}}},
      {"signal", Type::kText, {{"timeout", Type::kDuration}, {"stepKey", Type::kText}}},
      {"await", Type::kVariable, {}},
      {"await_all", Type::kVariables, {}},
      {"await_any", Type::kVariables, {}},
      {"cancel", Type::kVariable, {}},
      {"set", Type::kText, {{"value", Type::kAny, true}, {"stepKey", Type::kText}}},
      {"clear", Type::kText, {{"stepKey", Type::kText}}},
      {"get", Type::kText, {}},
      {"has_signal", Type::kText, {}},
      {"drain", Type::kText, {}},
      {"now", Type::kTrue, {}},
      {"uuid", Type::kTrue, {}},
      {"random", Type::kTrue, {}},
      {"cancelled", Type::kTrue, {}},
      {"branch", Type::kSteps, {{"stepKey", Type::kText}}},
      {"join", Type::kArms, {}},
      {"loop",
       Type::kSteps,
       {{"times", Type::kCount, true},
        {"checkpointEvery", Type::kVersion},
        {"stepKey", Type::kText}}},
      {"v", Type::kVersion, {{"do", Type::kStep, true}}},
      {"removed", Type::kRemovedKind, {{"name", Type::kText}, {"stepKey", Type::kText}}},
      {"check_version", Type::kVersion, {}},
      {"compensate", Type::kText, {{"input", Type::kAny}, {"stepKey", Type::kText}}},
      {"if",
       Type::kVariable,
       {{"equals", Type::kAny, true}, {"then", Type::kSteps, true}, {"else", Type::kSteps}}},
      {"try", Type::kSteps, {{"catch", Type::kSteps, true}}},
      {"shield", Type::kSteps, {}},
      {"return", Type::kAny, {}},
      {"throw", Type::kTextValue, {}},
      {"recur", Type::kAny, {}},
  };
  return kVerbs;
}

// How many letters have to be put in, taken out or changed. For short words.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  constexpr std::size_t kLengthMax = 40;
  if (a.size() > kLengthMax || b.size() > kLengthMax) {
    return kLengthMax;
  }
  std::array<std::size_t, kLengthMax + 1> row{};
  for (std::size_t j = 0; j <= b.size(); ++j) {
    row[j] = j;
  }
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t above = row[j];
      row[j] = std::min({above + 1, row[j - 1] + 1, diagonal + (a[i - 1] == b[j - 1] ? 0U : 1U)});
      diagonal = above;
    }
  }
  return row[b.size()];
}

Result<void> check_steps(const json::value& value, const std::string& path);
Result<void> check_step(const json::value& value, const std::string& path);

// {"$": "x"}
bool is_variable(const json::value& value) {
  const json::object* object = value.if_object();
  const json::value* name = object == nullptr ? nullptr : object->if_contains("$");
  return name != nullptr && name->is_string() && object->size() == 1;
}

// Fields that the format does not know are for people, but a slip of the pen is not.
Result<void> check_unknown_field(std::string_view key, std::span<const std::string_view> known,
                                 const std::string& path) {
  for (const std::string_view candidate : known) {
    const std::size_t slips = candidate.size() < 5 ? 1 : 2;
    if (edit_distance(key, candidate) <= slips) {
      return bad_field(path, "there is no such field; is it '" + std::string(candidate) + "'?");
    }
  }
  return {};
}

Result<void> check_type(const json::value& value, Type type, const std::string& path) {
  constexpr std::int64_t kNumberMax = std::numeric_limits<std::int64_t>::max() / 4;
  switch (type) {
    case Type::kAny:
      return {};
    case Type::kText:
    case Type::kVariable: {
      PAWL_TRY_ASSIGN(const std::string_view text, read_text(value, path));
      if (text.empty()) {
        return bad_field(path, "must not be empty");
      }
      return {};
    }
    case Type::kVariables: {
      PAWL_TRY_ASSIGN(const json::array* list, read_array(value, path));
      for (std::size_t i = 0; i < list->size(); ++i) {
        PAWL_TRY(read_text((*list)[i], path + "[" + std::to_string(i) + "]"));
      }
      return {};
    }
    case Type::kTextValue:
      return is_variable(value) ? Result<void>() : check_type(value, Type::kText, path);
    case Type::kCount:
      return is_variable(value) ? Result<void>() : check_type(value, Type::kDuration, path);
    case Type::kDuration:
      PAWL_TRY(read_integer(value, path, 0, kNumberMax));
      return {};
    case Type::kVersion:
      PAWL_TRY(read_integer(value, path, 1, std::numeric_limits<std::uint32_t>::max()));
      return {};
    case Type::kTrue:
      if (!value.is_bool() || !value.get_bool()) {
        return bad_field(path, "expected true, got " + format::describe_json(value));
      }
      return {};
    case Type::kSteps:
      return check_steps(value, path);
    case Type::kArms: {
      PAWL_TRY_ASSIGN(const json::array* arms, read_array(value, path));
      for (std::size_t i = 0; i < arms->size(); ++i) {
        PAWL_TRY(check_steps((*arms)[i], path + "[" + std::to_string(i) + "]"));
      }
      return {};
    }
    case Type::kStep:
      return check_step(value, path);
    case Type::kRemovedKind: {
      PAWL_TRY_ASSIGN(const std::string_view text, read_text(value, path));
      if (!replay::find_step_kind(text)) {
        return bad_field(path, "there is no kind of step '" + std::string(text) + "'");
      }
      return {};
    }
  }
  return {};
}

Result<void> check_step(const json::value& value, const std::string& path) {
  PAWL_TRY_ASSIGN(const json::object* step, read_object(value, path));
  if (step->empty()) {
    return bad_field(path, "a step needs a verb as its first key");
  }
  const std::string_view name = verb_of(*step);
  const auto verb = std::find_if(verbs().begin(), verbs().end(),
                                 [&](const Verb& known) { return known.name == name; });
  if (verb == verbs().end()) {
    return bad_field(
        path, "there is no step '" + std::string(name) + "' (the first key of a step is its verb)");
  }
  PAWL_TRY(check_type(step->begin()->value(), verb->type, path + "." + std::string(name)));
  for (const json::key_value_pair& member : *step) {
    const std::string_view key = member.key();
    if (key == name) {
      continue;
    }
    const std::string at = path + "." + std::string(key);
    if (key == "as") {
      PAWL_TRY(check_type(member.value(), Type::kVariable, at));
      continue;
    }
    const auto field = std::find_if(verb->fields.begin(), verb->fields.end(),
                                    [&](const Field& known) { return known.name == key; });
    if (field == verb->fields.end()) {
      return bad_field(at, "a step '" + std::string(name) + "' has no such field");
    }
    PAWL_TRY(check_type(member.value(), field->type, at));
  }
  for (const Field& field : verb->fields) {
    if (field.required && !step->contains(field.name)) {
      return bad_field(path + "." + std::string(field.name), "missing");
    }
  }
  if (name == "run" && step->contains("returns") && step->contains("throws")) {
    return bad_field(path + ".throws", "a run either returns or throws");
  }
  if (name == "await_any" && step->begin()->value().get_array().empty()) {
    return bad_field(path + ".await_any", "must not be empty");
  }
  return {};
}

Result<void> check_steps(const json::value& value, const std::string& path) {
  PAWL_TRY_ASSIGN(const json::array* steps, read_array(value, path));
  for (std::size_t i = 0; i < steps->size(); ++i) {
    PAWL_TRY(check_step((*steps)[i], path + "[" + std::to_string(i) + "]"));
  }
  return {};
}

Result<void> check_texts(const json::value& value, const std::string& path) {
  PAWL_TRY_ASSIGN(const json::array* texts, read_array(value, path));
  for (std::size_t i = 0; i < texts->size(); ++i) {
    PAWL_TRY(read_text((*texts)[i], path + "[" + std::to_string(i) + "]"));
  }
  return {};
}

Result<void> check_expect(const json::object& expect) {
  constexpr std::array<std::string_view, 6> kOutcomes = {"completed", "failed",    "cancelled",
                                                         "recurred",  "suspended", "violation"};
  if (!expect.contains("outcome")) {
    return bad_field("expect.outcome", "missing");
  }
  for (const json::key_value_pair& member : expect) {
    const std::string_view key = member.key();
    const json::value& value = member.value();
    const std::string at = "expect." + std::string(key);
    if (key == "outcome") {
      PAWL_TRY_ASSIGN(const std::string_view outcome, read_text(value, at));
      if (std::find(kOutcomes.begin(), kOutcomes.end(), outcome) == kOutcomes.end()) {
        return bad_field(at, "there is no outcome '" + std::string(outcome) + "'");
      }
    } else if (key == "result") {
      continue;
    } else if (key == "error") {
      PAWL_TRY_ASSIGN(const json::object* error, read_object(value, at));
      for (const json::key_value_pair& part : *error) {
        const std::string part_at = at + "." + std::string(part.key());
        if (part.key() == "contains") {
          PAWL_TRY(check_texts(part.value(), part_at));
        } else if (part.key() == "location" || part.key() == "code") {
          PAWL_TRY(read_text(part.value(), part_at));
        } else {
          return bad_field(part_at, "there is no such field");
        }
      }
    } else if (key == "new") {
      PAWL_TRY_ASSIGN(const json::array* entries, read_array(value, at));
      for (std::size_t i = 0; i < entries->size(); ++i) {
        PAWL_TRY(read_object((*entries)[i], at + "[" + std::to_string(i) + "]"));
      }
    } else if (key == "values") {
      PAWL_TRY(read_object(value, at));
    } else if (key == "waiting" || key == "orphaned") {
      PAWL_TRY(check_texts(value, at));
    } else {
      return bad_field(at, "there is no such field");
    }
  }
  return {};
}

Result<void> read_run(const json::object& run, Scenario& scenario) {
  for (const json::key_value_pair& member : run) {
    const std::string_view key = member.key();
    const std::string at = "run." + std::string(key);
    if (key == "id") {
      PAWL_TRY_ASSIGN(const std::string_view text, read_text(member.value(), at));
      const std::optional<Uuid> id = Uuid::parse(text);
      if (!id) {
        return bad_field(at, "expected a UUID, got " + format::describe_json(member.value()));
      }
      scenario.run_id = *id;
    } else if (key == "startedAt") {
      constexpr std::int64_t kTimeMax = std::numeric_limits<std::int64_t>::max() / 4;
      PAWL_TRY_ASSIGN(scenario.started_at_ms,
                      read_integer(member.value(), at, -kTimeMax, kTimeMax));
    } else if (key == "kind") {
      PAWL_TRY(read_text(member.value(), at));
    } else if (key != "input") {
      constexpr std::array<std::string_view, 4> kKnown = {"id", "kind", "input", "startedAt"};
      PAWL_TRY(check_unknown_field(key, kKnown, at));
    }
  }
  return {};
}

}  // namespace

std::string_view verb_of(const json::object& step) {
  const auto key = step.begin()->key();
  return {key.data(), key.size()};
}

Result<Scenario> read_scenario(const json::value& value) {
  Scenario scenario;
  PAWL_TRY_ASSIGN(const json::object* object, read_object(value, "scenario"));
  for (const json::key_value_pair& member : *object) {
    const std::string_view key = member.key();
    const std::string at(key);
    if (key == "name") {
      PAWL_TRY_ASSIGN(const std::string_view name, read_text(member.value(), at));
      scenario.name = name;
    } else if (key == "matching") {
      PAWL_TRY_ASSIGN(const std::string_view text, read_text(member.value(), at));
      constexpr std::array kMatchings = {replay::Matching::kStrict, replay::Matching::kPerKind,
                                         replay::Matching::kByName};
      const auto* matching = std::find_if(
          kMatchings.begin(), kMatchings.end(),
          [&](replay::Matching candidate) { return replay::matching_name(candidate) == text; });
      if (matching == kMatchings.end()) {
        return bad_field(at, "expected strict, per_kind or by_name, got " +
                                 format::describe_json(member.value()));
      }
      scenario.matching = *matching;
    } else if (key == "run") {
      PAWL_TRY_ASSIGN(const json::object* run, read_object(member.value(), at));
      PAWL_TRY(read_run(*run, scenario));
    } else if (key == "history") {
      PAWL_TRY_ASSIGN(const json::array* history, read_array(member.value(), at));
      scenario.history = *history;
    } else if (key == "program") {
      PAWL_TRY(check_steps(member.value(), at));
      scenario.program = member.value().get_array();
    } else if (key == "expect") {
      PAWL_TRY_ASSIGN(const json::object* expect, read_object(member.value(), at));
      PAWL_TRY(check_expect(*expect));
      scenario.expect = *expect;
      scenario.has_expect = true;
    } else {
      constexpr std::array<std::string_view, 6> kKnown = {"name",    "matching", "run",
                                                          "history", "program",  "expect"};
      PAWL_TRY(check_unknown_field(key, kKnown, at));
    }
  }
  if (scenario.name.empty()) {
    return bad_field("name", "missing");
  }
  if (!object->contains("program")) {
    return bad_field("program", "missing");
  }
  return scenario;
}

}  // namespace pawl::conform

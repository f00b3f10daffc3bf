#include "property/mutate.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "property/life.h"
#include "property/program_check.h"

namespace pawl::property {
namespace {

namespace json = boost::json;

// What strict compares when it matches a command.
struct Issued {
  std::string event;
  // Nothing: any name will do (a timer that the code did not name).
  std::optional<std::string> name;
  std::string child_kind;
};

struct Naming {
  std::string_view verb;
  std::string_view event;
  // The field of the entry that holds the name.
  std::string_view field;
};

constexpr Naming kNamings[] = {
    {"task", "TaskScheduled", "taskType"},
    {"run", "Operation", "operationName"},
    {"timer", "TimerStarted", "timerId"},
    {"promise", "PromiseCreated", "promiseId"},
    {"child", "ChildWorkflowInitiated", "childExecutionName"},
    {"signal", "SignalAwaited", "signalName"},
    {"set", "StateSet", "key"},
    {"clear", "StateCleared", "key"},
    {"compensate", "CompensationRegistered", "name"},
    {"branch", "BranchOpened", ""},
    {"join", "BranchOpened", ""},
    {"loop", "LoopStarted", ""},
};

const Naming* naming_of(std::string_view verb) {
  const auto* found = std::find_if(std::begin(kNamings), std::end(kNamings),
                                   [&](const Naming& row) { return row.verb == verb; });
  return found == std::end(kNamings) ? nullptr : found;
}

Issued issued_by(const json::object& step) {
  const std::string_view verb = verb_of(step);
  const Naming& row = *naming_of(verb);
  Issued issued{std::string(row.event), std::nullopt, ""};
  if (verb == "timer") {
    if (const json::value* id = step.if_contains("id")) {
      issued.name = std::string(id->as_string());
    }
  } else if (!row.field.empty()) {
    issued.name = std::string(step.at(verb).as_string());
  }
  if (verb == "child") {
    issued.child_kind = std::string(step.at("kind").as_string());
  }
  return issued;
}

bool agrees(const Issued& issued, const json::object& entry) {
  const std::string event = event_of(entry);
  const auto* row = std::find_if(std::begin(kNamings), std::end(kNamings),
                                 [&](const Naming& r) { return r.event == issued.event; });
  const bool same_kind =
      issued.event == "Operation" ? event.starts_with("Operation") : event == issued.event;
  if (!same_kind) {
    return false;
  }
  if (issued.name && !row->field.empty() && entry.at(row->field) != json::value(*issued.name)) {
    return false;
  }
  return issued.event != "ChildWorkflowInitiated" ||
         entry.at("childWorkflowKind") == json::value(issued.child_kind);
}

// A command whose location follows from the text of the program alone.
struct Certain {
  const json::array* list = nullptr;
  std::size_t position = 0;
  std::string branch;
  std::size_t index = 0;
  Issued issued;
};

std::string below(const std::string& branch, std::size_t index) {
  const std::string head = branch.substr(0, branch.size() - 1);
  return head + (head == "{" ? "" : ", ") + std::to_string(index) + "}";
}

bool makes_commands_or_ends(const json::object& step) {
  bool found = false;
  for_each_step(json::array{step}, [&](const json::object& inner) {
    constexpr std::string_view kQuiet[] = {"if",  "try",  "shield", "get",      "has_signal",
                                           "now", "uuid", "drain",  "cancelled"};
    if (std::find(std::begin(kQuiet), std::end(kQuiet), verb_of(inner)) == std::end(kQuiet)) {
      found = true;
    }
  });
  return found;
}

class Walk {
 public:
  std::vector<Certain> program(const json::array& steps) {
    std::size_t next = 1;
    list(steps, "{}", next, false);
    return std::move(found_);
  }

 private:
  // Follows the steps while it is certain what they issue; false if that ended before the list did.
  // In a `try` a step that throws goes on elsewhere in the same branch.
  bool list(const json::array& steps, const std::string& branch, std::size_t& next, bool in_try) {
    for (std::size_t i = 0; i < steps.size(); ++i) {
      const json::object& step = steps[i].as_object();
      const std::string_view verb = verb_of(step);
      if (step.contains("stepKey")) {
        // Passed over by strict.
        return false;
      }
      if (makes_one_command(step) && verb != "v") {
        found_.push_back({&steps, i, branch, next, issued_by(step)});
        const std::string here = below(branch, next);
        ++next;
        std::size_t inner_next = 1;
        if (verb == "branch") {
          list(step.at("branch").as_array(), here, inner_next, false);
        } else if (verb == "loop") {
          if (step.at("times").to_number<int>() > 0) {
            list(step.at("loop").as_array(), below(here, 1), inner_next, false);
          }
        }
        if (in_try && (verb == "branch" || verb == "loop")) {
          return false;
        }
      } else if (verb == "join") {
        const json::array& arms = step.at("join").as_array();
        const std::size_t first = next;
        for (std::size_t arm = 0; arm < arms.size(); ++arm) {
          found_.push_back({&steps, i, branch, next++, issued_by(step)});
        }
        for (std::size_t arm = 0; arm < arms.size(); ++arm) {
          std::size_t inner_next = 1;
          list(arms[arm].as_array(), below(branch, first + arm), inner_next, false);
        }
        if (in_try) {
          return false;
        }
      } else if (verb == "shield") {
        if (!list(step.at("shield").as_array(), branch, next, in_try)) {
          return false;
        }
      } else if (verb == "try") {
        list(step.at("try").as_array(), branch, next, true);
        if (makes_commands_or_ends(step)) {
          return false;
        }
      } else if (verb == "await" || verb == "await_all" || verb == "await_any") {
        if (in_try) {
          return false;
        }
      } else if (makes_commands_or_ends(step)) {
        // A condition on something, a cancel, another version: it depends.
        return false;
      }
    }
    return true;
  }

  std::vector<Certain> found_;
};

void collect_lists(json::array& steps, std::vector<json::array*>& lists) {
  lists.push_back(&steps);
  for (json::value& value : steps) {
    json::object& step = value.as_object();
    for (std::string_view field : step_list_fields(step)) {
      collect_lists(step.at(field).as_array(), lists);
    }
    if (verb_of(step) == "join") {
      for (json::value& arm : step.at("join").as_array()) {
        collect_lists(arm.as_array(), lists);
      }
    }
  }
}

void forget_reads(json::value& value, const std::string& name) {
  if (value.is_array()) {
    for (json::value& item : value.as_array()) {
      forget_reads(item, name);
    }
  } else if (value.is_object()) {
    json::object& object = value.as_object();
    if (object.size() == 1 && object.begin()->key() == "$" &&
        object.begin()->value() == json::value(name)) {
      value = nullptr;
      return;
    }
    for (auto& member : object) {
      forget_reads(member.value(), name);
    }
  }
}

// Takes every use of the variable out of `steps`.
void forget_variable(json::array& steps, const std::string& name) {
  json::array kept;
  for (json::value& value : steps) {
    json::object& step = value.as_object();
    const std::string verb(verb_of(step));
    if ((verb == "await" || verb == "cancel" || verb == "if") &&
        step.at(verb) == json::value(name)) {
      continue;
    }
    if (verb == "await_all" || verb == "await_any") {
      json::array& names = step.at(verb).as_array();
      json::array others;
      std::copy_if(names.begin(), names.end(), std::back_inserter(others),
                   [&](const json::value& other) { return other != json::value(name); });
      if (others.empty()) {
        continue;
      }
      names = std::move(others);
    }
    for (std::string_view field : step_list_fields(step)) {
      forget_variable(step.at(field).as_array(), name);
    }
    if (verb == "join") {
      for (json::value& arm : step.at("join").as_array()) {
        forget_variable(arm.as_array(), name);
      }
    }
    for (std::string_view field : {"input", "returns", "value", "return", "recur"}) {
      if (json::value* held = step.if_contains(field)) {
        forget_reads(*held, name);
      }
    }
    kept.push_back(std::move(value));
  }
  steps = std::move(kept);
}

json::object renamed(const json::object& step, Rng& rng) {
  json::object result = step;
  const std::string_view verb = verb_of(step);
  const std::string_view field = verb == "timer" ? std::string_view("id") : verb;
  std::string name(step.at(field).as_string());
  if (rng.chance(50) && name.size() == 2) {
    // Another name of the same pool, which other steps may have too.
    name.back() = static_cast<char>('0' + (name.back() - '0' + 1) % 4);
  } else {
    name += "x";
  }
  result[field] = name;
  return result;
}

json::object inserted(Rng& rng) {
  const std::string name = std::to_string(rng.below(4));
  switch (rng.below(6)) {
    case 0:
      return {{"task", "A" + name}};
    case 1:
      return {{"run", "f" + name}, {"returns", 1}};
    case 2:
      return {{"timer", 100}};
    case 3:
      return {{"set", "k" + name}, {"value", 1}};
    case 4:
      return {{"branch", json::array{}}};
    default:
      return {{"promise", "p" + name}};
  }
}

json::object without_field(const json::object& step, std::string_view field) {
  json::object result;
  for (const auto& member : step) {
    if (std::string_view(member.key()) != field) {
      result.emplace(member.key(), member.value());
    }
  }
  return result;
}

bool has_place(MutationKind kind, const json::array& list, std::size_t i) {
  const json::object& step = list[i].as_object();
  const std::string_view verb = verb_of(step);
  if (verb == "v" || !makes_one_command(step)) {
    return kind == MutationKind::kInsert;
  }
  switch (kind) {
    case MutationKind::kRename:
      return verb != "branch" && verb != "loop" && (verb != "timer" || step.contains("id"));
    case MutationKind::kSwap:
      return i + 1 < list.size() && verb_of(list[i + 1].as_object()) != "v" &&
             makes_one_command(list[i + 1].as_object());
    case MutationKind::kDropKey:
      return step.contains("stepKey");
    case MutationKind::kChildKind:
      return verb == "child";
    case MutationKind::kSetToClear:
      return verb == "set";
    default:
      return true;
  }
}

class Expectation {
 public:
  Expectation(const json::array& program, const json::array& history)
      : certain_(Walk().program(program)) {
    for (const json::value& value : history) {
      const json::object& entry = value.as_object();
      if (const json::value* location = entry.if_contains("location")) {
        if (event_of(entry) != "SignalTimedOut") {
          recorded_[std::string(location->as_string())] = &entry;
        }
      }
    }
  }

  // Where strict sees the difference, if the commands of the branch from `list[position]` on become
  // what `change` makes of them, and if it shows in one of the first `within` of them.
  template <typename Change>
  std::optional<std::string> first_difference(const json::array& list, std::size_t position,
                                              std::size_t within, Change&& change) const {
    auto at = std::find_if(certain_.begin(), certain_.end(), [&](const Certain& command) {
      return command.list == &list && command.position == position;
    });
    if (at == certain_.end()) {
      return std::nullopt;
    }
    std::vector<Issued> issued;
    for (const Certain& command : certain_) {
      if (command.branch == at->branch && command.index >= at->index) {
        issued.push_back(command.issued);
      }
    }
    if (!change(issued)) {
      return std::nullopt;
    }
    for (std::size_t i = 0; i < std::min(within, issued.size()); ++i) {
      auto entry = recorded_.find(below(at->branch, at->index + i));
      if (entry == recorded_.end() || entry->second->contains("stepKey") ||
          entry->second->at("version") != 1) {
        return std::nullopt;
      }
      if (!agrees(issued[i], *entry->second)) {
        return entry->first;
      }
    }
    return std::nullopt;
  }

  // Was the step itself issued?
  bool recorded(const json::array& list, std::size_t position) const {
    return std::any_of(certain_.begin(), certain_.end(), [&](const Certain& command) {
      return command.list == &list && command.position == position &&
             recorded_.contains(below(command.branch, command.index));
    });
  }

 private:
  std::vector<Certain> certain_;
  std::map<std::string, const json::object*> recorded_;
};

}  // namespace

const char* name_of(MutationKind kind) {
  switch (kind) {
    case MutationKind::kRename:
      return "rename a step";
    case MutationKind::kSwap:
      return "swap two steps";
    case MutationKind::kDrop:
      return "drop a step";
    case MutationKind::kDuplicate:
      return "duplicate a step";
    case MutationKind::kInsert:
      return "insert a step";
    case MutationKind::kVersion:
      return "a step at version 2";
    case MutationKind::kDropKey:
      return "drop a step key";
    case MutationKind::kChildKind:
      return "another child kind";
    case MutationKind::kSetToClear:
      return "clear instead of set";
  }
  return "";
}

std::optional<Mutation> mutate(Rng& rng, MutationKind kind, const json::array& program,
                               const json::array& history) {
  Mutation mutation;
  mutation.kind = kind;
  mutation.program = program;
  std::vector<json::array*> lists;
  collect_lists(mutation.program, lists);
  std::vector<std::pair<json::array*, std::size_t>> places;
  for (json::array* list : lists) {
    for (std::size_t i = 0; i < list->size(); ++i) {
      if (has_place(kind, *list, i)) {
        places.emplace_back(list, i);
      }
    }
  }
  if (places.empty()) {
    return std::nullopt;
  }
  const auto [list, at] = rng.pick(places);
  const json::object step = (*list)[at].as_object();
  const Expectation expectation(mutation.program, history);

  switch (kind) {
    case MutationKind::kRename:
    case MutationKind::kChildKind:
    case MutationKind::kSetToClear: {
      json::object other;
      if (kind == MutationKind::kRename) {
        other = renamed(step, rng);
      } else if (kind == MutationKind::kChildKind) {
        other = step;
        other["kind"] = "another";
      } else {
        other = {{"clear", step.at("set")}};
      }
      mutation.violation_at =
          expectation.first_difference(*list, at, 1, [&](std::vector<Issued>& issued) {
            issued.front() = issued_by(other);
            return true;
          });
      (*list)[at] = other;
      break;
    }
    case MutationKind::kSwap: {
      mutation.violation_at =
          expectation.first_difference(*list, at, 1, [&](std::vector<Issued>& issued) {
            issued.front() = issued_by((*list)[at + 1].as_object());
            return !(*list)[at + 1].as_object().contains("stepKey");
          });
      std::swap((*list)[at], (*list)[at + 1]);
      break;
    }
    case MutationKind::kInsert: {
      const json::object added = inserted(rng);
      mutation.violation_at =
          expectation.first_difference(*list, at, 1, [&](std::vector<Issued>& issued) {
            issued.front() = issued_by(added);
            return true;
          });
      list->insert(list->begin() + static_cast<std::ptrdiff_t>(at), added);
      break;
    }
    case MutationKind::kDuplicate: {
      json::object copy = step;
      if (copy.contains("as")) {
        copy["as"] = "duplicate";
      }
      if (copy.contains("stepKey")) {
        copy["stepKey"] = "duplicate";
      }
      // Behind a branch or loop that may have thrown, what is recorded next may come from a
      // handler.
      const bool goes_on = verb_of(step) != "branch" && verb_of(step) != "loop";
      mutation.violation_at =
          expectation.first_difference(*list, at, 2, [&](std::vector<Issued>& issued) {
            const bool certain = goes_on || issued.size() > 1;
            issued.insert(issued.begin() + 1, issued.front());
            return certain;
          });
      list->insert(list->begin() + static_cast<std::ptrdiff_t>(at) + 1, copy);
      break;
    }
    case MutationKind::kDrop: {
      const std::string name(step.contains("as") ? step.at("as").as_string() : "");
      // Certain only if nothing but the step's own await stands before the next command: without
      // the step, other awaits may go on at other times.
      std::size_t next = at + 1;
      if (next < list->size() && !name.empty() &&
          (*list)[next].as_object() == json::object{{"await", name}}) {
        ++next;
      }
      const std::string_view verb = verb_of(step);
      if (next < list->size() && makes_one_command((*list)[next].as_object()) &&
          verb_of((*list)[next].as_object()) != "v" && verb != "branch" && verb != "loop" &&
          verb != "signal" && !(*list)[next].as_object().contains("stepKey") &&
          expectation.recorded(*list, at)) {
        mutation.violation_at =
            expectation.first_difference(*list, at, 1, [&](std::vector<Issued>& issued) {
              issued.front() = issued_by((*list)[next].as_object());
              return true;
            });
      }
      list->erase(list->begin() + static_cast<std::ptrdiff_t>(at));
      if (!name.empty()) {
        forget_variable(mutation.program, name);
      }
      break;
    }
    case MutationKind::kVersion:
      (*list)[at] = json::object{{"v", 2}, {"do", step}};
      break;
    case MutationKind::kDropKey:
      (*list)[at] = without_field(step, "stepKey");
      break;
  }
  if (!check_program(mutation.program).empty() || mutation.program == program) {
    return std::nullopt;
  }
  return mutation;
}

}  // namespace pawl::property

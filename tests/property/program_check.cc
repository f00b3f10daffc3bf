#include "property/program_check.h"

#include <algorithm>
#include <iterator>

namespace pawl::property {
namespace {

namespace json = boost::json;

std::string text(const json::value& value) { return std::string(value.as_string()); }

std::string check_list(const json::array& steps, Scope& scope, std::vector<Scope>& exits);
std::string check_inner(const json::object& step, Scope& scope, std::vector<Scope>& exits);

// The empty text if all variables that `value` reads are set.
std::string check_reads(const json::value& value, const Scope& scope) {
  if (value.is_array()) {
    for (const json::value& item : value.as_array()) {
      if (std::string wrong = check_reads(item, scope); !wrong.empty()) {
        return wrong;
      }
    }
  } else if (value.is_object()) {
    const json::object& object = value.as_object();
    if (object.size() == 1 && object.begin()->key() == "$") {
      const std::string name = text(object.begin()->value());
      return scope.vars.contains(name) ? "" : "reads " + name + ", which may not be set";
    }
    for (const auto& member : object) {
      if (std::string wrong = check_reads(member.value(), scope); !wrong.empty()) {
        return wrong;
      }
    }
  }
  return "";
}

void set_var(const json::object& step, Scope& scope, Var var) {
  if (const json::value* as = step.if_contains("as")) {
    scope.vars[text(*as)] = var;
  }
}

std::string consume(const std::string& name, Scope& scope, VarKind after) {
  auto it = scope.vars.find(name);
  if (it == scope.vars.end() || it->second.kind != VarKind::kFuture) {
    return "awaits " + name + ", which may be no open future";
  }
  if (it->second.frozen) {
    return "awaits " + name + " of outside its loop";
  }
  it->second.kind = after;
  scope.consumed.insert(name);
  scope.touched.insert(name);
  return "";
}

// The scope behind a branch or arm: where its list ended, or one of its returns.
Scope leave(Scope end, const std::vector<Scope>& exits, const Scope& entry) {
  for (const Scope& exit : exits) {
    end = merge_scopes(end, exit);
  }
  std::erase_if(end.vars, [&](const auto& item) {
    return item.second.wait && !entry.vars.contains(item.first);
  });
  return end;
}

void add_use(const Scope& from, Scope& to) {
  to.consumed.insert(from.consumed.begin(), from.consumed.end());
  to.touched.insert(from.touched.begin(), from.touched.end());
}

std::string check_join(const json::object& step, Scope& scope) {
  const json::array& arms = step.at("join").as_array();
  const Scope entry = scope;
  Scope after = entry;
  for (const json::value& arm : arms) {
    Scope inside = arm_scope(entry);
    std::vector<Scope> exits;
    if (std::string wrong = check_list(arm.as_array(), inside, exits); !wrong.empty()) {
      return wrong;
    }
    const Scope left = leave(inside, exits, entry);
    for (const std::string& name : left.touched) {
      if (entry.vars.contains(name) && after.touched.contains(name) &&
          !entry.touched.contains(name)) {
        return "two arms use " + name;
      }
    }
    add_use(left, after);
    if (!left.reachable) {
      after.reachable = false;
      continue;
    }
    for (const auto& [name, var] : left.vars) {
      auto known = entry.vars.find(name);
      if (known == entry.vars.end()) {
        after.vars[name] = var;
      } else if (!(known->second == var)) {
        after.vars[name] = var;
      }
    }
  }
  after.vars.erase("i");
  after.vars.erase("error");
  scope = after;
  set_var(step, scope, {});
  return "";
}

std::string check_try(const json::object& step, Scope& scope, std::vector<Scope>& exits) {
  const Scope entry = scope;
  Scope body = entry;
  if (std::string wrong = check_list(step.at("try").as_array(), body, exits); !wrong.empty()) {
    return wrong;
  }
  Scope handler = entry;
  add_use(body, handler);
  for (auto& [name, var] : handler.vars) {
    if (body.consumed.contains(name) && var.kind == VarKind::kFuture) {
      var.kind = VarKind::kEither;
    }
  }
  // A race is settled by what is awaited, and that may have happened in the body.
  handler.races.clear();
  // A loop in the body may have written it, or may be gone with what it wrote.
  handler.vars.erase("i");
  handler.vars["error"] = {};
  if (std::string wrong = check_list(step.at("catch").as_array(), handler, exits); !wrong.empty()) {
    return wrong;
  }
  scope = merge_scopes(body, handler);
  scope.vars.erase("error");
  return "";
}

std::string check_inner(const json::object& step, Scope& scope, std::vector<Scope>& exits) {
  const std::string_view verb = verb_of(step);
  for (std::string_view field : {"input", "returns", "value", "return", "recur"}) {
    if (const json::value* value = step.if_contains(field)) {
      if (std::string wrong = check_reads(*value, scope); !wrong.empty()) {
        return wrong;
      }
    }
  }
  if (verb == "task" || verb == "timer") {
    // Timers may share an id, and a request to cancel names its timer by nothing else.
    set_var(step, scope, {.kind = VarKind::kFuture, .cancellable = !step.contains("id")});
  } else if (verb == "run" || verb == "promise" || verb == "child") {
    set_var(step, scope, {.kind = VarKind::kFuture});
  } else if (verb == "signal") {
    set_var(step, scope, {.kind = VarKind::kFuture, .wait = true});
  } else if (verb == "await") {
    return consume(text(step.at("await")), scope, VarKind::kValue);
  } else if (verb == "await_all" || verb == "await_any") {
    const bool all = verb == "await_all";
    std::vector<std::string> names;
    for (const json::value& name : step.at(verb).as_array()) {
      names.push_back(text(name));
      if (std::string wrong =
              consume(names.back(), scope, all ? VarKind::kValue : VarKind::kEither);
          !wrong.empty()) {
        return wrong;
      }
    }
    if (names.empty()) {
      return "awaits nothing";
    }
    if (!all) {
      set_var(step, scope, {});
      if (const json::value* as = step.if_contains("as")) {
        scope.races[text(*as)] = names;
      }
    }
  } else if (verb == "cancel") {
    const std::string name = text(step.at("cancel"));
    auto it = scope.vars.find(name);
    if (it == scope.vars.end() || it->second.kind != VarKind::kFuture || !it->second.cancellable) {
      return "cancels " + name + ", which may be no open task or timer";
    }
    scope.touched.insert(name);
  } else if (verb == "branch") {
    const Scope entry = scope;
    std::vector<Scope> inner_exits;
    if (std::string wrong = check_list(step.at("branch").as_array(), scope, inner_exits);
        !wrong.empty()) {
      return wrong;
    }
    scope = leave(scope, inner_exits, entry);
    set_var(step, scope, {});
  } else if (verb == "join") {
    return check_join(step, scope);
  } else if (verb == "loop") {
    Scope body = loop_scope(scope);
    std::vector<Scope> inner_exits;
    if (std::string wrong = check_list(step.at("loop").as_array(), body, inner_exits);
        !wrong.empty()) {
      return wrong;
    }
    add_use(body, scope);
    for (const Scope& exit : inner_exits) {
      add_use(exit, scope);
    }
    scope.vars.erase("i");
    scope.vars.erase("error");
    set_var(step, scope, {});
  } else if (verb == "v") {
    return check_inner(step.at("do").as_object(), scope, exits);
  } else if (verb == "if") {
    const std::string name = text(step.at("if"));
    if (!scope.vars.contains(name)) {
      return "tests " + name + ", which may not be set";
    }
    Scope yes = refine_scope(scope, name, step.at("equals"), true);
    Scope no = refine_scope(scope, name, step.at("equals"), false);
    if (std::string wrong = check_list(step.at("then").as_array(), yes, exits); !wrong.empty()) {
      return wrong;
    }
    if (const json::value* other = step.if_contains("else")) {
      if (std::string wrong = check_list(other->as_array(), no, exits); !wrong.empty()) {
        return wrong;
      }
    }
    scope = merge_scopes(yes, no);
  } else if (verb == "try") {
    return check_try(step, scope, exits);
  } else if (verb == "shield") {
    return check_list(step.at("shield").as_array(), scope, exits);
  } else if (verb == "return") {
    exits.push_back(scope);
    scope.reachable = false;
  } else if (verb == "throw" || verb == "recur") {
    scope.reachable = false;
  } else {
    set_var(step, scope, {});
  }
  return "";
}

std::string check_list(const json::array& steps, Scope& scope, std::vector<Scope>& exits) {
  for (const json::value& step : steps) {
    if (!scope.reachable) {
      // Never executed, so nothing in it can be wrong.
      break;
    }
    if (std::string wrong = check_inner(step.as_object(), scope, exits); !wrong.empty()) {
      return wrong;
    }
  }
  return "";
}

}  // namespace

Scope loop_scope(const Scope& scope) {
  Scope body = scope;
  for (auto& [name, var] : body.vars) {
    var.frozen = true;
  }
  body.races.clear();
  body.vars["i"] = {};
  return body;
}

Scope arm_scope(const Scope& scope) {
  Scope arm = scope;
  // Other arms may write them.
  arm.vars.erase("i");
  arm.vars.erase("error");
  return arm;
}

Scope merge_scopes(const Scope& a, const Scope& b) {
  Scope merged;
  if (!a.reachable || !b.reachable) {
    merged = a.reachable ? a : b;
  } else {
    for (const auto& [name, var] : a.vars) {
      auto other = b.vars.find(name);
      if (other == b.vars.end()) {
        continue;
      }
      Var both = var;
      if (var.kind != other->second.kind) {
        both.kind = VarKind::kEither;
      }
      both.cancellable = var.cancellable && other->second.cancellable;
      both.frozen = var.frozen || other->second.frozen;
      both.wait = var.wait || other->second.wait;
      merged.vars[name] = both;
    }
    for (const auto& [name, racers] : a.races) {
      auto other = b.races.find(name);
      if (other != b.races.end() && other->second == racers) {
        merged.races[name] = racers;
      }
    }
  }
  merged.consumed.clear();
  merged.touched.clear();
  add_use(a, merged);
  add_use(b, merged);
  return merged;
}

Scope refine_scope(const Scope& scope, const std::string& variable, const json::value& equals,
                   bool then_part) {
  Scope refined = scope;
  auto race = scope.races.find(variable);
  if (race == scope.races.end() || !equals.is_string()) {
    return refined;
  }
  const std::vector<std::string>& racers = race->second;
  const std::string named = text(equals);
  if (std::find(racers.begin(), racers.end(), named) == racers.end()) {
    return refined;
  }
  if (then_part) {
    for (const std::string& racer : racers) {
      refined.vars[racer].kind = racer == named ? VarKind::kValue : VarKind::kFuture;
    }
    refined.races.erase(variable);
  } else if (racers.size() == 2) {
    for (const std::string& racer : racers) {
      refined.vars[racer].kind = racer == named ? VarKind::kFuture : VarKind::kValue;
    }
    refined.races.erase(variable);
  }
  return refined;
}

std::string check_step(const json::value& step, Scope& scope) {
  std::vector<Scope> exits;
  return check_inner(step.as_object(), scope, exits);
}

std::string check_program(const json::array& program) {
  Scope scope;
  std::vector<Scope> exits;
  return check_list(program, scope, exits);
}

std::string_view verb_of(const json::object& step) { return std::string_view(step.begin()->key()); }

bool makes_one_command(const json::object& step) {
  const std::string_view verb = verb_of(step);
  if (verb == "v") {
    return makes_one_command(step.at("do").as_object());
  }
  constexpr std::string_view kVerbs[] = {"task",   "run", "timer", "promise", "child",     "signal",
                                         "branch", "set", "clear", "loop",    "compensate"};
  return std::find(std::begin(kVerbs), std::end(kVerbs), verb) != std::end(kVerbs);
}

std::vector<std::string_view> step_list_fields(const json::object& step) {
  const std::string_view verb = verb_of(step);
  if (verb == "branch" || verb == "loop" || verb == "shield") {
    return {verb};
  }
  if (verb == "if") {
    if (step.contains("else")) {
      return {"then", "else"};
    }
    return {"then"};
  }
  if (verb == "try") {
    return {"try", "catch"};
  }
  return {};
}

}  // namespace pawl::property

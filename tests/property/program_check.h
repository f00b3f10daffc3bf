// Which variables a program may use where. The generator asks it what can be written next;
// mutations and the minimiser ask it whether what they made is still a valid program.
//
// Stricter than the scenario format where that keeps the meaning of a program beyond doubt: a
// future is awaited at most once on every path, concurrent arms do not touch the same future,
// nothing made in a loop is used outside it, and a loop does not await what was made before it.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json.hpp>

namespace pawl::property {

enum class VarKind : unsigned char {
  kValue,
  kFuture,
  // A future on one path and a value on another: can only be read.
  kEither,
};

struct Var {
  VarKind kind = VarKind::kValue;
  // A task or a timer.
  bool cancellable = false;
  // A signal wait: ends with its branch.
  bool wait = false;
  // Made outside the loop that the code stands in.
  bool frozen = false;

  bool operator==(const Var&) const = default;
};

// What is known at one point of a program.
struct Scope {
  std::map<std::string, Var> vars;
  // The variable that names the winner of a race -> the racers. Gone once one of them is known.
  std::map<std::string, std::vector<std::string>> races;
  bool reachable = true;
  // Futures awaited, and futures awaited or cancelled, on the way here.
  std::set<std::string> consumed;
  std::set<std::string> touched;
};

// A fork of `scope` for the body of a loop, and for the arms of a join.
Scope loop_scope(const Scope& scope);
Scope arm_scope(const Scope& scope);

// Where the code goes on after an `if`.
Scope merge_scopes(const Scope& a, const Scope& b);

// What `scope` is in the then part, or the else part, of an `if` on `variable`.
Scope refine_scope(const Scope& scope, const std::string& variable,
                   const boost::json::value& equals, bool then_part);

// Moves `scope` behind `step`. The empty text, or what is wrong with the step.
std::string check_step(const boost::json::value& step, Scope& scope);

// The empty text, or what is wrong with the program.
std::string check_program(const boost::json::array& program);

// The verb of a step: its first key.
std::string_view verb_of(const boost::json::object& step);

// Does the step always make exactly one command of its own, at the place where it stands (`v`
// counts for its step)?
bool makes_one_command(const boost::json::object& step);

// The fields of `step` that hold lists of steps, except for a join's, which is a list of lists.
std::vector<std::string_view> step_list_fields(const boost::json::object& step);

// Calls `visit(step)` for every step of `steps` and below, outer ones first. For `v`, both it and
// its step.
template <typename Visit>
void for_each_step(const boost::json::array& steps, Visit&& visit) {
  for (const boost::json::value& value : steps) {
    const boost::json::object& step = value.as_object();
    visit(step);
    for (std::string_view field : step_list_fields(step)) {
      for_each_step(step.at(field).as_array(), visit);
    }
    if (verb_of(step) == "join") {
      for (const boost::json::value& arm : step.at("join").as_array()) {
        for_each_step(arm.as_array(), visit);
      }
    }
    if (verb_of(step) == "v") {
      boost::json::array one{step.at("do")};
      for_each_step(one, visit);
    }
  }
}

}  // namespace pawl::property

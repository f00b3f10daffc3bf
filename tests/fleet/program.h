// Random programs whose answer is known: what the workers of a fleet run, and what has to come of
// it.
//
// A program is JSON. interpreter.h runs it as a workflow; expect() here works out what becomes of
// it without any of Pawl. The two share nothing but the meaning of a label: the place of a step in
// the program and in time, out of which its value is made. So an answer is right only if each step
// has been seen once, in its place, with the right input.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "property/rng.h"

namespace pawl::fleet {

using Number = std::int64_t;

// What a step gives that has this label and got this number.
Number value_of(std::string_view label, Number from);
// What the numbers of two steps that follow one another are together.
Number mix(Number before, Number value);

// The labels of what a step has inside.
std::string step_label(const std::string& prefix, std::size_t index);
std::string part_label(const std::string& label, char what, std::size_t number);
std::string generation_label(int generation);
std::string child_id(const std::string& run, const std::string& label);

nlohmann::json make_program(property::Rng& rng);

// What somebody outside has to do for a run. Signals of one name are sent in order.
struct Deed {
  enum class Kind : std::uint8_t { kSignal, kResolve, kReject, kCancel };
  Kind kind = Kind::kSignal;
  std::string run;
  std::string name;  // Of the signal or the promise.
  Number value = 0;
};

struct Execution {
  std::string step;  // "run label".
  int attempts = 1;  // If nobody disturbs it.
};

// What has to become of a run and all that it starts.
struct Expected {
  std::string outcome;                           // Of the run itself: see the functions below.
  std::vector<Deed> deeds;                       // In the order in which they will be waited for.
  std::vector<Execution> executed;               // Operations and tasks.
  std::vector<std::string> transacted;           // "run label" of each transaction.
  std::vector<std::vector<std::string>> undone;  // Of each run that undoes something: in order.
  std::size_t runs = 0;                          // Each generation counts.
  std::size_t steps = 0;
};

std::string completed_text(Number answer);
std::string failed_text(std::string_view message);
std::string cancelled_text(std::string_view reason);
// The message with which a program fails.
std::string failure_of(Number answer);
inline constexpr std::string_view kCancelReason = "enough";

Expected expect(const nlohmann::json& program, const std::string& run);

}  // namespace pawl::fleet

// Lives a program: evaluates it, appends what it asked for, lets something arrive, evaluates again,
// until it ends.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <boost/json.hpp>

#include "property/rng.h"
#include "property/world.h"

namespace pawl::property {

using Evaluate = std::function<boost::json::object(const boost::json::object& scenario)>;

// `evaluate`, with an exception turned into the outcome "exception" and its text as the error.
boost::json::object evaluate_safely(const Evaluate& evaluate, const boost::json::object& scenario);

struct LifeOptions {
  // Arrivals between two turns, at most. With 1 every turn delivers all there is before the next
  // arrival gets its seq.
  int arrivals_max = 3;
  std::size_t entries_max = 60;
  WorldOptions world;
};

struct Turn {
  boost::json::object scenario;
  boost::json::object outcome;
};

struct LifeItem {
  boost::json::object entry;
  bool arrival = false;
  // For LoopCheckpointed: the seqs that it moves away, if Life::forgotten_known.
  std::vector<std::int64_t> forgotten;
};

struct Life {
  std::vector<Turn> turns;
  // Everything that was ever appended, in order.
  std::vector<LifeItem> items;
  // The log at the end, without what was forgotten.
  boost::json::array history;
  std::string outcome;
  // Did any loop forget anything?
  bool forgot = false;
  // Is it known for every checkpoint which entries it moved away? (See split_forgotten.)
  bool forgotten_known = true;
};

// A scenario without `expect`.
boost::json::object make_scenario(const std::string& matching, const boost::json::array& program,
                                  const boost::json::array& history);

// The outcomes that end a life: all but "suspended".
bool is_end(const std::string& outcome);

Life live(const Evaluate& evaluate, const std::string& matching, const boost::json::array& program,
          Rng rng, const LifeOptions& options);

// The seqs that each of `entries` (new in one turn, after `history`) moves away, given those of the
// turn. False if that cannot be told from outside, because more than one checkpoint may have taken
// a signal.
bool split_forgotten(const boost::json::array& history, const boost::json::array& entries,
                     const std::vector<std::int64_t>& forgotten,
                     std::vector<std::vector<std::int64_t>>& split);

std::int64_t seq_of(const boost::json::object& entry);
std::string event_of(const boost::json::object& entry);
std::vector<std::int64_t> seqs(const boost::json::object& outcome, const char* field);
boost::json::array without(const boost::json::array& history,
                           const std::vector<std::int64_t>& forgotten);
// `outcome[field]`, or an empty array.
boost::json::array array_of(const boost::json::object& outcome, const char* field);

}  // namespace pawl::property

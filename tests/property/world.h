// The world around one run: what may arrive next, given its log. Random, but legal: it completes
// open commands only, each once, and never one that a loop has forgotten.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include <boost/json.hpp>

#include "property/rng.h"

namespace pawl::property {

struct WorldOptions {
  int failures_percent = 20;
  int signals_percent = 15;
  int signals_max = 8;
  // How likely it is that the run is asked to cancel at some time.
  int cancel_percent = 25;
};

class World {
 public:
  // `program` tells which signals there are; `started_at` is the run's.
  World(Rng rng, const boost::json::array& program, std::int64_t started_at, WorldOptions options);

  // The next arrival, with seq and time, for a run with this log and whose awaits are blocked on
  // the commands at `waiting`. An empty object if there is nothing that could arrive.
  boost::json::object next_arrival(const boost::json::array& history,
                                   const boost::json::array& waiting);

 private:
  boost::json::object completion(const boost::json::object& command);
  boost::json::value error();

  Rng rng_;
  std::vector<std::string> signal_names_;
  std::int64_t started_at_;
  WorldOptions options_;
  int signals_sent_ = 0;
  // Calls until the cancel request; below 0: none, or sent.
  int cancel_in_ = -1;
};

// Commands of `history` that an arrival can complete and that no arrival has completed, oldest
// first. Signal waits are not among them.
std::vector<boost::json::object> open_commands(const boost::json::array& history);

// Is the entry an arrival: something that came from outside, not something that the code asked for
// or the core wrote?
bool is_arrival(const boost::json::object& entry, const boost::json::array& history);

}  // namespace pawl::property

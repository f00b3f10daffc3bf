// Interpreter: runs a scenario's program as workflow code, through the same calls of the replay
// core that every SDK uses.
#pragma once

#include <boost/json/fwd.hpp>

#include "base/result.h"
#include "conform/scenario.h"

namespace pawl::conform {

// What a scenario comes to, in the form of `expect`, with "forgotten": the seqs that checkpoints of
// this turn moved away. kMalformedInput or kCorruptLog for a history or program that makes no
// sense.
Result<boost::json::object> run_scenario(const Scenario& scenario);

}  // namespace pawl::conform

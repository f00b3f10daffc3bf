// Random workflow programs in the form of scenarios.
//
// A program is a function of the generator's state alone. It is valid in the sense of
// program_check.h.
#pragma once

#include <string>

#include <boost/json.hpp>

#include "property/rng.h"

namespace pawl::property {

struct GenOptions {
  // "strict", "per_kind" or "by_name": `removed` and `check_version` are for strict only.
  std::string matching = "strict";
  bool loops = true;
  // Leaves out what may read differently once a loop has forgotten iterations that something
  // outside them depended on: loops beside other arms of a join, a peek into a mailbox that a loop
  // empties, a cancel of an outer command in a loop, an operation's outcome not yet delivered when
  // a checkpoint is written.
  bool restart_safe = false;
};

boost::json::array generate_program(Rng& rng, const GenOptions& options);

// A small random value; about half of them are 0 or 1, which the generated conditions test for.
boost::json::value small_value(Rng& rng);

}  // namespace pawl::property

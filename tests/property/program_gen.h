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
  // Arms of a join may share state and mailboxes with a loop in another arm. Such programs are
  // valid, but after a restart they may see what forgotten iterations did at another time than
  // before.
  bool arms_share_with_loops = true;
};

boost::json::array generate_program(Rng& rng, const GenOptions& options);

// A small random value; about half of them are 0 or 1, which the generated conditions test for.
boost::json::value small_value(Rng& rng);

}  // namespace pawl::property

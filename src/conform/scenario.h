// Scenario: a parsed and checked scenario. See docs/formats/scenario.md.
#pragma once

#include <cstdint>
#include <string>

#include <boost/json.hpp>

#include "base/result.h"
#include "base/uuid.h"
#include "replay/matcher.h"

namespace pawl::conform {

struct Scenario {
  std::string name;
  replay::Matching matching = replay::Matching::kStrict;
  Uuid run_id;
  std::int64_t started_at_ms = 0;
  boost::json::array history;
  boost::json::array program;  // Every step is well formed.
  boost::json::object expect;
  bool has_expect = false;
};

// Checks the whole of it; kMalformedInput names the field, e.g. "program[2].task: expected a text".
Result<Scenario> read_scenario(const boost::json::value& value);

// The verb of a checked step: its first key.
std::string_view verb_of(const boost::json::object& step);

}  // namespace pawl::conform

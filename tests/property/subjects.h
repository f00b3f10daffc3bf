// The two evaluators that the property tests compare. With PAWL_SELF_CHECK the oracle plays both
// parts, which tests the tests.
#pragma once

#include <optional>
#include <string>

#include <boost/json.hpp>

#include "oracle/oracle.h"
#include "property/life.h"
#include "property/support.h"
#ifndef PAWL_SELF_CHECK
#include "conform/evaluate.h"
#endif

namespace pawl::property {

inline boost::json::object system_evaluate(const boost::json::object& scenario) {
#ifdef PAWL_SELF_CHECK
  return ::oracle::evaluate(scenario);
#else
  return ::pawl::conform::evaluate(scenario);
#endif
}

inline boost::json::object oracle_evaluate(const boost::json::object& scenario) {
  return ::oracle::evaluate(scenario);
}

struct Failure {
  std::string what;
  boost::json::object scenario;
};

// Nothing if system and oracle agree on `scenario`.
inline std::optional<Failure> compare_subjects(const boost::json::object& scenario) {
  const boost::json::object system = evaluate_safely(system_evaluate, scenario);
  const boost::json::object oracle = evaluate_safely(oracle_evaluate, scenario);
  if (oracle.at("outcome") == "exception") {
    return Failure{"the oracle refuses it: " + boost::json::serialize(oracle), scenario};
  }
  std::string wrong = difference(scenario, system, oracle);
  if (wrong.empty()) {
    return std::nullopt;
  }
  return Failure{"system and oracle differ in " + wrong, scenario};
}

}  // namespace pawl::property

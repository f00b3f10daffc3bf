// The two evaluators that the property tests compare. With PAWL_SELF_CHECK the oracle plays both
// parts, which tests the tests.
#pragma once

#include <boost/json.hpp>

#include "oracle/oracle.h"
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

}  // namespace pawl::property

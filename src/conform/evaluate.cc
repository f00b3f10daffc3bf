#include "conform/evaluate.h"

#include <boost/json.hpp>

#include "conform/interpreter.h"
#include "conform/scenario.h"

namespace pawl::conform {

namespace json = boost::json;

namespace {

Result<json::object> try_evaluate(const json::object& value) {
  PAWL_TRY_ASSIGN(const Scenario scenario, read_scenario(json::value(value)));
  return run_scenario(scenario);
}

}  // namespace

json::object evaluate(const json::object& scenario) {
  Result<json::object> actual = try_evaluate(scenario);
  if (actual) {
    return *std::move(actual);
  }
  return {{"outcome", "invalid"}, {"error", json::object{{"message", actual.error().message}}}};
}

}  // namespace pawl::conform

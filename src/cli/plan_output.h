// What a fork or another try will do, for people and as JSON.
#pragma once

#include <string>
#include <vector>

#include <boost/json.hpp>

#include "base/result.h"
#include "cli/console.h"
#include "portable/fork.h"
#include "store/store.h"

namespace pawl::cli {

// Adds a warning for each child that the code would start again although a run with its id is
// there. Returns their ids.
Result<std::vector<std::string>> warn_of_children(store::Store& store, portable::ForkPlan& plan);

// A line for each thing that matters.
void print_plan(Console& console, const portable::ForkPlan& plan);
boost::json::object plan_json(const portable::ForkPlan& plan);

}  // namespace pawl::cli

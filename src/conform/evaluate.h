// One scenario in, its actual outcome out, both as JSON.
#pragma once

#include <boost/json/fwd.hpp>

namespace pawl::conform {

// The outcome in the form of `expect`. A scenario that makes no sense has the outcome "invalid" and
// an error message that names the field.
boost::json::object evaluate(const boost::json::object& scenario);

}  // namespace pawl::conform

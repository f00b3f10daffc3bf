// Compares what a scenario came to with what it expects.
#pragma once

#include <string>
#include <vector>

#include <boost/json/fwd.hpp>

namespace pawl::conform {

// Each difference as one line that names the field; empty: as expected.
std::vector<std::string> compare(const boost::json::object& expect,
                                 const boost::json::object& actual);

}  // namespace pawl::conform

// JSON as text, on one line: the form in which payloads are made of JSON values. Numbers and texts
// look as most JSON libraries write them (2.5, 1e+20), so that what those wrote is printed again
// byte by byte.
#pragma once

#include <string>

#include <boost/json/fwd.hpp>

namespace pawl::format {

std::string print_json(const boost::json::value& value);

}  // namespace pawl::format

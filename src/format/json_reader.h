// Typed access to parsed JSON with errors that name the field, and what std lacks around it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <boost/json/fwd.hpp>

#include "base/result.h"

namespace pawl::format {

// Deep enough for any program; shallow enough that no recursion over it can exhaust the stack.
inline constexpr std::size_t kJsonDepthMax = 2000;

// Parses text; kMalformedInput says line, column, what is wrong there and what was found. Nesting
// is limited.
Result<boost::json::value> parse_json(std::string_view text, std::size_t depth_max = kJsonDepthMax);

// Each returns kMalformedInput "<path>: expected …, got …" for another type or a value out of
// range.
Result<std::string_view> read_text(const boost::json::value& value, const std::string& path);
Result<std::int64_t> read_integer(const boost::json::value& value, const std::string& path,
                                  std::int64_t min, std::int64_t max);
Result<bool> read_bool(const boost::json::value& value, const std::string& path);
Result<const boost::json::array*> read_array(const boost::json::value& value,
                                             const std::string& path);
Result<const boost::json::object*> read_object(const boost::json::value& value,
                                               const std::string& path);

Error bad_field(const std::string& path, const std::string& what);
// "a text", "an object" …, and a short value itself.
std::string describe_json(const boost::json::value& value);

// Equality as JSON sees it: numbers by value, objects without regard to order.
bool json_equal(const boost::json::value& a, const boost::json::value& b);

}  // namespace pawl::format

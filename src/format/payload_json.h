// Payloads and texts in JSON, so that every byte comes back. See docs/formats/run.md.
#pragma once

#include <string>
#include <string_view>

#include <boost/json/fwd.hpp>

#include "base/result.h"

namespace pawl::format {

// A payload that is JSON, in the form that print_json() gives, is itself. What is not:
//   {"$text": "…"}   any other UTF-8
//   {"$bytes": "…"}  any other bytes, in base64
//   {"$json": …}     JSON that looks like one of these three
boost::json::value payload_to_json(std::string_view payload);
// `path` names the value in errors.
Result<std::string> payload_from_json(const boost::json::value& value, const std::string& path);

// The same for what the engine keeps beside payloads (options of tasks, attributes of events): JSON
// as json::serialize() writes it stands for itself.
boost::json::value extra_to_json(std::string_view extra);
Result<std::string> extra_from_json(const boost::json::value& value, const std::string& path);

// A text is a JSON text, or {"$bytes": "…"} if it is no UTF-8.
boost::json::value text_to_json(std::string_view text);
Result<std::string> text_from_json(const boost::json::value& value, const std::string& path);

}  // namespace pawl::format

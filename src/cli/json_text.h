// JSON as it is printed.
#pragma once

#include <algorithm>
#include <string>

#include <boost/json.hpp>

#include "view/text.h"

namespace pawl::cli {

// One line, without its break. What is stored may be no UTF-8, and JSON has to be: U+FFFD stands
// for each such byte.
inline std::string json_text(const boost::json::value& value) {
  const std::string serialized = boost::json::serialize(value);
  std::string result;
  result.reserve(serialized.size());
  for (std::string_view text = serialized; !text.empty();) {
    const std::size_t length = view::utf8_length(text);
    result += length == 0 ? std::string_view("\xef\xbf\xbd") : text.substr(0, length);
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return result;
}

}  // namespace pawl::cli

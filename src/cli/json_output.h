// Rows as JSON, with fields that do not change: see docs/cli.md. Moments are milliseconds since
// 1970.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <boost/json.hpp>

#include "cli/console.h"
#include "store/rows.h"

namespace pawl::cli {

// What is stored may be no UTF-8, and JSON has to be: U+FFFD stands for each such byte.
std::string as_utf8(std::string_view text);

boost::json::object run_json(const store::RunRow& row);
boost::json::object tags_json(const std::vector<store::Tag>& tags);
boost::json::object task_json(const store::TaskRow& task);
boost::json::object arrival_json(const store::NewArrival& arrival);
boost::json::object compensation_json(const store::CompensationRow& compensation);
// A moment, or null for "never".
boost::json::value moment_json(std::int64_t ms);
// JSON as it is; "<3 bytes>" and "<encoded by NAME, 9 bytes>" for what is none.
boost::json::value payload_json(std::string_view payload);
// The same as text: numbers keep all their digits.
std::string payload_line(std::string_view payload);

std::string_view task_state_name(store::TaskState state);
std::string_view compensation_state_name(store::CompensationState state);
// Of an arrival: "SignalReceived".
std::string_view event_name(std::uint8_t kind);

// One line.
void print_json(Console& console, const boost::json::value& value);

}  // namespace pawl::cli

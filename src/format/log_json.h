// The log's JSON form, in and out. See docs/formats/scenario.md.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <boost/json/fwd.hpp>

#include "base/result.h"
#include "base/uuid.h"
#include "replay/log.h"

namespace pawl::format {

// What the defaults of missing fields depend on.
struct LogDefaults {
  Uuid run_id;
  std::int64_t started_at_ms = 0;
};

// Loads the entries of a list. `path` names the list in errors: "history" gives "history[3].seq:
// …". kMalformedInput for fields of the wrong type, kCorruptLog for a log that no run can have
// written.
Result<replay::Log> import_log(const boost::json::array& entries, const LogDefaults& defaults,
                               const std::string& path);
// The same from text.
Result<replay::Log> import_log(std::string_view json_text, const LogDefaults& defaults);

// One entry with all its fields.
boost::json::object export_entry(const replay::Log& log, replay::RecordId id);
boost::json::array export_log(const replay::Log& log);

}  // namespace pawl::format

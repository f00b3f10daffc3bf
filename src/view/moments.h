// Moments and durations as people write and read them, in their own time zone or in UTC.
// The local zone is the one of the process (TZ).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace pawl::view {

struct Zone {
  bool is_utc = false;  // Else the local one.
};

// "2026-11-16 21:10:38.123 +01:00"; "… UTC".
std::string zoned_moment(std::int64_t ms_since_1970, const Zone& zone);
// "2026-11-16 21:10:38".
std::string brief_moment(std::int64_t ms_since_1970, const Zone& zone);

// "250ms", "30s", "5m" or "5min", "2h", "7d", "1w". kMalformedInput.
Result<std::int64_t> parse_duration(std::string_view text);
// A date, "2026-11-16", which is its beginning; with a time, "2026-11-16T21:10", also with seconds
// and a fraction, a blank for the T, and a zone: Z, +01:00; without one it is in `zone`. "now". A
// duration stands for so long ago. kMalformedInput.
Result<std::int64_t> parse_moment(std::string_view text, std::int64_t now_ms, const Zone& zone);

}  // namespace pawl::view

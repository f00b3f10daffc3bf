// Values as people read them: durations, moments, payloads. One line each; whatever the input
// holds, nothing comes out that a terminal would obey, or that changes the order of what is read.
// Pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace pawl::view {

// "12 ms", "1.25 s", "3 min 05 s", "2 h 00 min", "9 d 03 h". Less than nothing is "0 ms".
std::string duration_text(std::int64_t ms);
// "2026-11-16 20:10:38.123 UTC". For local time see moments.h.
std::string moment_text(std::int64_t ms_since_1970);
// Control characters escaped, and cut to about `chars_max` characters.
std::string line_text(std::string_view text, std::size_t chars_max);
// "1 entry", "2 entries", "100,000 entries".
std::string count_text(std::uint64_t count, std::string_view one, std::string_view many);

// How many columns of a terminal a text takes, that line_text() and the like have made.
std::size_t columns_of(std::string_view text);
// Cut to so many columns, the last of which says so.
std::string cut_to_columns(std::string_view text, std::size_t columns_max);

// JSON as it is; of plain bytes their number; of what a payload codec made, its name. See
// docs/formats/payload.md.
std::string payload_text(std::string_view payload, std::size_t chars_max);
// A recorded failure: "shop::OutOfStock: no lamps".
std::string failure_text(std::string_view payload, std::size_t chars_max);

}  // namespace pawl::view

// Colour for people: what a text means, and the terminal's escapes for it. Pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "store/rows.h"

namespace pawl::view {

enum class Tone : std::uint8_t {
  kPlain,
  kStrong,  // What a page is about.
  kGood,    // Completed.
  kBad,     // Failed, blocked.
  kOdd,     // To be looked at: not over, waits, runs.
  kFaint,   // Beside the point.
};

// The text is made by line_text() and the like: what it holds is not looked at.
std::string painted(std::string_view text, Tone tone, bool in_color);
// The same at the end of `out`.
void paint_to(std::string& out, std::string_view text, Tone tone, bool in_color);

Tone tone_of(store::RunStatus status);

// --color auto|always|never
enum class ColorChoice : std::uint8_t { kAuto, kAlways, kNever };
// `no_color` and `term` are the values of these environment variables, null if they are not set.
// Who asks for colour gets it; else only terminals do, and none if NO_COLOR is set.
bool wants_color(ColorChoice choice, bool is_terminal, const char* no_color, const char* term);

}  // namespace pawl::view

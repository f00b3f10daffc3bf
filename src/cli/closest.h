// What somebody may have meant: names at a small distance from what was typed.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace pawl::cli {

// Letters to change, insert, leave out or swap with their neighbour, up to `max` + 1.
std::size_t edit_distance(std::string_view a, std::string_view b, std::size_t max);
// Up to three of `names`, the closest first.
std::vector<std::string> closest(std::string_view typed, const std::vector<std::string>& names);
// "; did you mean 'a' or 'b'?", or nothing.
std::string did_you_mean(std::string_view typed, const std::vector<std::string>& names);

}  // namespace pawl::cli

// Words of a command line that somebody may copy into a shell.
#pragma once

#include <string>
#include <string_view>

namespace pawl::view {

// As it is if it is plain; else in quotes, with control characters in a form that bash, zsh and
// fish's relatives read.
std::string shell_word(std::string_view text);

}  // namespace pawl::view

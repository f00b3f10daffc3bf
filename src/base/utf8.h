// What is UTF-8 and what is not.
#pragma once

#include <cstddef>
#include <string_view>

namespace pawl {

// Bytes of the character that the text begins with; 0 if that is no UTF-8. The text is not empty.
std::size_t utf8_length(std::string_view text);
bool is_utf8(std::string_view text);

}  // namespace pawl

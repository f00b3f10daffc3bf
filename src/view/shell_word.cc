#include "view/shell_word.h"

#include <algorithm>

#include "base/utf8.h"
#include "view/text.h"

namespace pawl::view {

namespace {

bool is_plain(char byte) {
  return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
         (byte >= '0' && byte <= '9') ||
         std::string_view("_-.:/@%+=,").find(byte) != std::string_view::npos;
}

}  // namespace

std::string shell_word(std::string_view text) {
  if (!text.empty() && std::all_of(text.begin(), text.end(), is_plain)) {
    return std::string(text);
  }
  // Nothing in it that a terminal would not show.
  const bool is_shown = line_text(text, text.size()) == text;
  std::string word = is_shown ? "'" : "$'";
  for (std::string_view rest = text; !rest.empty();) {
    const std::size_t length = std::max<std::size_t>(utf8_length(rest), 1);
    const std::string_view character = rest.substr(0, length);
    rest.remove_prefix(length);
    if (is_shown) {
      word += character == "'" ? std::string_view("'\\''") : character;
    } else if (character == "'" || character == "\\") {
      word += "\\" + std::string(character);
    } else {
      word += line_text(character, 1);
    }
  }
  return word + "'";
}

}  // namespace pawl::view

#include "cli/json_argument.h"

#include <string_view>

#include <boost/json.hpp>

#include "cli/files.h"
#include "format/json_reader.h"

namespace pawl::cli {

namespace {

// Not more than can be stored.
Result<std::string> read_all(const std::string& path, const std::string& what) {
  Result<std::string> text = read_file(path, kJsonBytesMax);
  if (!text) {
    const bool is_long = text.error().code == ErrorCode::kLimitExceeded;
    return make_error(text.error().code,
                      what + ": " + text.error().message +
                          (is_long ? ", the most that a payload can have; store it elsewhere, and "
                                     "pass where that is"
                                   : ""));
  }
  return text;
}

std::string_view without_blanks(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n";
  const std::size_t begin = text.find_first_not_of(kBlanks);
  return begin == std::string_view::npos
             ? std::string_view()
             : text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

// People forget the quotes of a text, or their shell takes them.
std::string hint(std::string_view text) {
  const char first = text.empty() ? '\0' : text.front();
  const bool is_word = (first >= 'a' && first <= 'z') || (first >= 'A' && first <= 'Z');
  return is_word ? R"(; a text is written in double quotes: '"…"')" : "";
}

}  // namespace

Result<std::string> read_json_argument(const std::string& argument, const std::string& what) {
  std::string text = argument;
  std::string place = what;
  if (argument == "-" || argument.starts_with('@')) {
    const std::string path = argument == "-" ? "-" : argument.substr(1);
    PAWL_TRY_ASSIGN(text, read_all(path, what));
    place += " (" + file_title(path) + ")";
  }
  const auto value = format::parse_json(text);
  if (!value) {
    return make_error(value.error().code,
                      place + ": " + value.error().message + (text == argument ? hint(text) : ""));
  }
  return std::string(without_blanks(text));
}

}  // namespace pawl::cli

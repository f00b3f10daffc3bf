#include "cli/json_argument.h"

#include <array>
#include <cerrno>
#include <cstdio>
#include <memory>
#include <string_view>
#include <system_error>

#include <boost/json.hpp>

#include "format/json_reader.h"

namespace pawl::cli {

namespace {

struct Closer {
  void operator()(std::FILE* file) const {
    if (file != stdin) {
      std::fclose(file);
    }
  }
};

// Not more than can be stored.
Result<std::string> read_all(const std::string& path, const std::string& what) {
  const bool is_stdin = path == "-";
  const std::string name = is_stdin ? "standard input" : "'" + path + "'";
  const std::unique_ptr<std::FILE, Closer> file(is_stdin ? stdin : std::fopen(path.c_str(), "rb"));
  if (file == nullptr) {
    return make_error(ErrorCode::kNotFound,
                      what + ": " + name + ": " + std::generic_category().message(errno));
  }
  std::string text;
  std::array<char, 65536> part{};
  while (const std::size_t count = std::fread(part.data(), 1, part.size(), file.get())) {
    text.append(part.data(), count);
    if (text.size() > kJsonBytesMax) {
      return make_error(ErrorCode::kLimitExceeded,
                        what + ": " + name + " has more than " +
                            std::to_string(kJsonBytesMax >> 20U) +
                            " MiB, the most that a payload can have; store it elsewhere, and pass "
                            "where that is");
    }
  }
  if (std::ferror(file.get()) != 0) {
    return make_error(ErrorCode::kNotFound,
                      what + ": " + name + ": " + std::generic_category().message(errno));
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
    place += path == "-" ? " (standard input)" : " ('" + path + "')";
  }
  const auto value = format::parse_json(text);
  if (!value) {
    return make_error(value.error().code,
                      place + ": " + value.error().message + (text == argument ? hint(text) : ""));
  }
  return std::string(without_blanks(text));
}

}  // namespace pawl::cli

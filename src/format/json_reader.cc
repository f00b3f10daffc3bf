#include "format/json_reader.h"

#include <charconv>
#include <cmath>

#include <boost/json.hpp>
#include <boost/json/basic_parser_impl.hpp>

namespace pawl::format {

namespace json = boost::json;

namespace {

// Without rounding: not every 64-bit number is a double.
bool is_whole_number(double number, const json::value& whole) {
  if (whole.is_int64()) {
    return number >= -0x1p63 && number < 0x1p63 && number == std::trunc(number) &&
           static_cast<std::int64_t>(number) == whole.get_int64();
  }
  return number >= 0 && number < 0x1p64 && number == std::trunc(number) &&
         static_cast<std::uint64_t>(number) == whole.get_uint64();
}

// Builds the value. Boost's own parser is as good, but for the last digits of numbers.
struct Builder {
  using error_code = boost::system::error_code;
  static constexpr std::size_t max_object_size = json::object::max_size();
  static constexpr std::size_t max_array_size = json::array::max_size();
  static constexpr std::size_t max_key_size = json::string::max_size();
  static constexpr std::size_t max_string_size = json::string::max_size();

  bool on_document_begin(error_code& /*error*/) {
    stack.reset();
    return true;
  }
  bool on_document_end(error_code& /*error*/) { return true; }
  bool on_object_begin(error_code& /*error*/) { return true; }
  bool on_object_end(std::size_t size, error_code& /*error*/) {
    stack.push_object(size);
    return true;
  }
  bool on_array_begin(error_code& /*error*/) { return true; }
  bool on_array_end(std::size_t size, error_code& /*error*/) {
    stack.push_array(size);
    return true;
  }
  bool on_key_part(json::string_view text, std::size_t /*size*/, error_code& /*error*/) {
    stack.push_chars(text);
    return true;
  }
  bool on_key(json::string_view text, std::size_t /*size*/, error_code& /*error*/) {
    stack.push_key(text);
    return true;
  }
  bool on_string_part(json::string_view text, std::size_t /*size*/, error_code& /*error*/) {
    stack.push_chars(text);
    return true;
  }
  bool on_string(json::string_view text, std::size_t /*size*/, error_code& /*error*/) {
    stack.push_string(text);
    return true;
  }
  // All of a number is given at its end, since all of the text is there at once.
  bool on_number_part(json::string_view /*text*/, error_code& /*error*/) { return true; }
  bool on_int64(std::int64_t number, json::string_view /*text*/, error_code& /*error*/) {
    stack.push_int64(number);
    return true;
  }
  bool on_uint64(std::uint64_t number, json::string_view /*text*/, error_code& /*error*/) {
    stack.push_uint64(number);
    return true;
  }
  bool on_double(double about, json::string_view text, error_code& /*error*/) {
    double number = 0;
    const char* const end = text.data() + text.size();
    const std::from_chars_result read = std::from_chars(text.data(), end, number);
    stack.push_double(read.ec == std::errc() && read.ptr == end ? number : about);
    return true;
  }
  bool on_bool(bool truth, error_code& /*error*/) {
    stack.push_bool(truth);
    return true;
  }
  bool on_null(error_code& /*error*/) {
    stack.push_null();
    return true;
  }
  bool on_comment_part(json::string_view /*text*/, error_code& /*error*/) { return true; }
  bool on_comment(json::string_view /*text*/, error_code& /*error*/) { return true; }

  json::value_stack stack;
};

// What stands there: the character, or the end.
std::string found_at(std::string_view text, std::size_t place) {
  if (place >= text.size()) {
    return "the end";
  }
  const auto byte = static_cast<unsigned char>(text[place]);
  if (byte < 0x20 || byte >= 0x7f) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    return std::string("the byte ") + kDigits[byte >> 4U] + kDigits[byte & 0xfU];
  }
  return std::string("'") + text[place] + "'";
}

}  // namespace

Result<json::value> parse_json(std::string_view text, std::size_t depth_max) {
  json::parse_options options;
  options.max_depth = depth_max;
  json::basic_parser<Builder> parser(options);
  boost::system::error_code error;
  std::size_t consumed = parser.write_some(false, text.data(), text.size(), error);
  if (!error && consumed < text.size()) {
    // write_some stops after a complete value; only blanks may follow.
    const std::size_t rest = text.find_first_not_of(" \t\r\n", consumed);
    if (rest != std::string_view::npos) {
      consumed = rest;
      error = json::error::extra_data;
    }
  }
  if (error) {
    std::size_t line = 1;
    std::size_t column = 1;
    for (const char c : text.substr(0, consumed)) {
      column = c == '\n' ? 1 : column + 1;
      line += c == '\n' ? 1 : 0;
    }
    return make_error(ErrorCode::kMalformedInput, "malformed JSON at line " + std::to_string(line) +
                                                      ", column " + std::to_string(column) + ": " +
                                                      error.message() + ", found " +
                                                      found_at(text, consumed));
  }
  return parser.handler().stack.release();
}

std::string describe_json(const json::value& value) {
  constexpr std::size_t kShownMax = 60;
  const auto shown = [&] {
    std::string text = json::serialize(value);
    if (text.size() > kShownMax) {
      text.resize(kShownMax);
      text += "…";
    }
    return text;
  };
  switch (value.kind()) {
    case json::kind::null:
      return "null";
    case json::kind::bool_:
    case json::kind::int64:
    case json::kind::uint64:
    case json::kind::double_:
      return shown();
    case json::kind::string:
      return "the text " + shown();
    case json::kind::array:
      return "a list";
    case json::kind::object:
      return "an object";
  }
  return "";
}

Error bad_field(const std::string& path, const std::string& what) {
  return make_error(ErrorCode::kMalformedInput, path + ": " + what);
}

Result<std::string_view> read_text(const json::value& value, const std::string& path) {
  if (const json::string* text = value.if_string()) {
    return std::string_view(text->data(), text->size());
  }
  return bad_field(path, "expected a text, got " + describe_json(value));
}

Result<std::int64_t> read_integer(const json::value& value, const std::string& path,
                                  std::int64_t min, std::int64_t max) {
  boost::system::error_code error;
  const auto number = value.to_number<std::int64_t>(error);
  if (!value.is_number() || error || number < min || number > max) {
    return bad_field(path, "expected a whole number from " + std::to_string(min) + " to " +
                               std::to_string(max) + ", got " + describe_json(value));
  }
  return number;
}

Result<bool> read_bool(const json::value& value, const std::string& path) {
  if (const bool* flag = value.if_bool()) {
    return *flag;
  }
  return bad_field(path, "expected true or false, got " + describe_json(value));
}

Result<const json::array*> read_array(const json::value& value, const std::string& path) {
  if (const json::array* array = value.if_array()) {
    return array;
  }
  return bad_field(path, "expected a list, got " + describe_json(value));
}

Result<const json::object*> read_object(const json::value& value, const std::string& path) {
  if (const json::object* object = value.if_object()) {
    return object;
  }
  return bad_field(path, "expected an object, got " + describe_json(value));
}

bool json_equal(const json::value& a, const json::value& b) {
  if (a.is_number() && b.is_number()) {
    if (a.is_double() != b.is_double()) {
      return a.is_double() ? is_whole_number(a.get_double(), b)
                           : is_whole_number(b.get_double(), a);
    }
    if (a.is_uint64() && b.is_int64()) {
      return b.get_int64() >= 0 && a.get_uint64() == static_cast<std::uint64_t>(b.get_int64());
    }
    if (a.is_int64() && b.is_uint64()) {
      return json_equal(b, a);
    }
    return a == b;
  }
  if (a.kind() != b.kind()) {
    return false;
  }
  if (const json::array* list = a.if_array()) {
    const json::array& other = b.get_array();
    if (list->size() != other.size()) {
      return false;
    }
    for (std::size_t i = 0; i < list->size(); ++i) {
      if (!json_equal((*list)[i], other[i])) {
        return false;
      }
    }
    return true;
  }
  if (const json::object* object = a.if_object()) {
    const json::object& other = b.get_object();
    if (object->size() != other.size()) {
      return false;
    }
    for (const json::key_value_pair& member : *object) {
      const json::value* counterpart = other.if_contains(member.key());
      if (counterpart == nullptr || !json_equal(member.value(), *counterpart)) {
        return false;
      }
    }
    return true;
  }
  return a == b;
}

}  // namespace pawl::format

#include "view/text.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include <boost/json.hpp>

#include "base/utf8.h"
#include "format/json_reader.h"

namespace pawl::view {

namespace {

namespace json = boost::json;

constexpr std::int64_t kSecond = 1000;
constexpr std::int64_t kMinute = 60 * kSecond;
constexpr std::int64_t kHour = 60 * kMinute;
constexpr std::int64_t kDay = 24 * kHour;

constexpr char kBytesMark = '\x01';
constexpr char kCodecMark = '\x02';

std::string two_digits(std::int64_t number) {
  return (number < 10 ? "0" : "") + std::to_string(number);
}

std::string two_units(std::int64_t ms, std::int64_t unit, std::string_view unit_name,
                      std::int64_t part, std::string_view part_name) {
  return std::to_string(ms / unit) + " " + std::string(unit_name) + " " +
         two_digits(ms % unit / part) + " " + std::string(part_name);
}

std::string escaped(unsigned char byte) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  switch (byte) {
    case '\n':
      return "\\n";
    case '\r':
      return "\\r";
    case '\t':
      return "\\t";
    default:
      return {'\\', 'x', kDigits[byte >> 4U], kDigits[byte & 0xfU]};
  }
}

std::uint32_t code_of(std::string_view character) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(character[i]); };
  if (character.size() == 1) {
    return byte(0);
  }
  std::uint32_t code = byte(0) & (0xffU >> (character.size() + 1));
  for (std::size_t i = 1; i < character.size(); ++i) {
    code = (code << 6U) | (byte(i) & 0x3fU);
  }
  return code;
}

struct Range {
  std::uint32_t first;
  std::uint32_t last;
};

template <std::size_t N>
bool is_in(const std::array<Range, N>& ranges, std::uint32_t code) {
  return std::any_of(ranges.begin(), ranges.end(), [code](const Range& range) {
    return code >= range.first && code <= range.last;
  });
}

// What is not shown itself, but moves the cursor, breaks the line, hides, or turns what follows
// from right to left.
constexpr std::array<Range, 14> kUnseen = {{{0x00, 0x1f},
                                            {0x7f, 0x9f},
                                            {0xad, 0xad},
                                            {0x61c, 0x61c},
                                            {0x180e, 0x180e},
                                            {0x200b, 0x200b},
                                            {0x200e, 0x200f},
                                            {0x2028, 0x202e},
                                            {0x2060, 0x206f},
                                            {0xfeff, 0xfeff},
                                            {0xfff9, 0xfffb},
                                            {0x1d173, 0x1d17a},
                                            {0xe0000, 0xe0fff},
                                            {0xf0000, 0x10ffff}}};
// Shown on top of what is before them.
constexpr std::array<Range, 5> kCombining = {
    {{0x300, 0x36f}, {0x200c, 0x200d}, {0x20d0, 0x20ff}, {0xfe00, 0xfe0f}, {0xfe20, 0xfe2f}}};
constexpr std::array<Range, 9> kWide = {{{0x1100, 0x115f},
                                         {0x2e80, 0x303e},
                                         {0x3041, 0xa4cf},
                                         {0xac00, 0xd7a3},
                                         {0xf900, 0xfaff},
                                         {0xfe30, 0xfe6f},
                                         {0xff00, 0xff60},
                                         {0x1f300, 0x1faff},
                                         {0x20000, 0x3fffd}}};

std::size_t columns_of_code(std::uint32_t code) {
  if (code < 0x300) {
    return 1;
  }
  return is_in(kCombining, code) ? 0 : is_in(kWide, code) ? 2 : 1;
}

// The length of the character at the start of `text`; 0 if it is no UTF-8, or must not be shown.
std::size_t shown_length(std::string_view text) {
  const std::size_t length = utf8_length(text);
  return length > 0 && is_in(kUnseen, code_of(text.substr(0, length))) ? 0 : length;
}

// What stands for the character, or the byte that is none, at the start of `text`, which is made
// shorter by it.
std::string take_escaped(std::string_view& text) {
  const std::size_t length = std::max<std::size_t>(utf8_length(text), 1);
  std::string result;
  const std::uint32_t code = code_of(text.substr(0, length));
  if (length > 1 && code > 0xff) {
    std::array<char, 16> digits{};
    std::snprintf(digits.data(), digits.size(), code > 0xffff ? "\\U%08x" : "\\u%04x", code);
    result = digits.data();
  } else {
    for (const char byte : text.substr(0, length)) {
      result += escaped(static_cast<unsigned char>(byte));
    }
  }
  text.remove_prefix(length);
  return result;
}

}  // namespace

std::string duration_text(std::int64_t ms) {
  ms = std::max<std::int64_t>(ms, 0);
  if (ms < kSecond) {
    return std::to_string(ms) + " ms";
  }
  if (ms < kMinute) {
    return std::to_string(ms / kSecond) + "." + two_digits(ms % kSecond / 10) + " s";
  }
  if (ms < kHour) {
    return two_units(ms, kMinute, "min", kSecond, "s");
  }
  return ms < kDay ? two_units(ms, kHour, "h", kMinute, "min")
                   : two_units(ms, kDay, "d", kHour, "h");
}

std::string moment_text(std::int64_t ms_since_1970) {
  std::int64_t days = ms_since_1970 / kDay;
  std::int64_t rest = ms_since_1970 % kDay;
  if (rest < 0) {
    rest += kDay;
    --days;
  }
  // Days to a date, in years that begin with March, so that leap days come last; 400 years have
  // 146 097 days.
  days += 719'468;
  const std::int64_t era = (days >= 0 ? days : days - 146'096) / 146'097;
  const std::int64_t day_of_era = days - era * 146'097;
  const std::int64_t year_of_era =
      (day_of_era - day_of_era / 1460 + day_of_era / 36'524 - day_of_era / 146'096) / 365;
  const std::int64_t day_of_year =
      day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
  const std::int64_t shifted_month = (5 * day_of_year + 2) / 153;
  const std::int64_t day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
  const std::int64_t month = shifted_month < 10 ? shifted_month + 3 : shifted_month - 9;
  const std::int64_t year = year_of_era + era * 400 + (month <= 2 ? 1 : 0);
  std::array<char, 96> text{};
  std::snprintf(
      text.data(), text.size(), "%04lld-%02lld-%02lld %02lld:%02lld:%02lld.%03lld UTC",
      static_cast<long long>(year), static_cast<long long>(month), static_cast<long long>(day),
      static_cast<long long>(rest / kHour), static_cast<long long>(rest % kHour / kMinute),
      static_cast<long long>(rest % kMinute / kSecond), static_cast<long long>(rest % kSecond));
  return text.data();
}

std::string line_text(std::string_view text, std::size_t chars_max) {
  std::string line;
  for (std::size_t chars = 0; !text.empty(); ++chars) {
    if (chars >= chars_max) {
      return line + "…";
    }
    if (const std::size_t length = shown_length(text); length > 0) {
      line += text.substr(0, length);
      text.remove_prefix(length);
    } else {
      line += take_escaped(text);
    }
  }
  return line;
}

std::string count_text(std::uint64_t count, std::string_view one, std::string_view many) {
  std::string digits = std::to_string(count);
  for (std::size_t i = digits.size(); i > 3;) {
    i -= 3;
    digits.insert(i, ",");
  }
  return digits + " " + std::string(count == 1 ? one : many);
}

std::size_t columns_of(std::string_view text) {
  std::size_t columns = 0;
  while (!text.empty()) {
    const std::size_t length = std::max<std::size_t>(utf8_length(text), 1);
    columns += columns_of_code(code_of(text.substr(0, length)));
    text.remove_prefix(length);
  }
  return columns;
}

std::string cut_to_columns(std::string_view text, std::size_t columns_max) {
  if (columns_of(text) <= columns_max) {
    return std::string(text);
  }
  if (columns_max == 0) {
    return {};
  }
  std::size_t columns = 0;
  std::size_t bytes = 0;
  while (true) {
    const std::string_view rest = text.substr(bytes);
    const std::size_t length = std::max<std::size_t>(utf8_length(rest), 1);
    columns += columns_of_code(code_of(rest.substr(0, length)));
    if (columns > columns_max - 1) {
      return std::string(text.substr(0, bytes)) + "…";
    }
    bytes += length;
  }
}

std::string payload_text(std::string_view payload, std::size_t chars_max) {
  if (payload.empty()) {
    return "null";
  }
  if (payload[0] == kBytesMark) {
    return "<" + std::to_string(payload.size() - 1) + " bytes>";
  }
  if (payload[0] == kCodecMark) {
    const std::string_view name = payload.substr(1, payload.find('\0') - 1);
    return "<encoded by " + line_text(name, chars_max) + ", " + std::to_string(payload.size()) +
           " bytes>";
  }
  return line_text(payload, chars_max);
}

namespace {

// Where in the user's code it was, as the SDKs of other languages write it down: {"details": {"at":
// ["shop/order.py:17 charge", …]}}, innermost first. Empty: not said.
std::string_view place_of(const json::object& failure) {
  const json::value* const details = failure.if_contains("details");
  const json::object* const object = details == nullptr ? nullptr : details->if_object();
  const json::value* const at = object == nullptr ? nullptr : object->if_contains("at");
  const json::array* const places = at == nullptr ? nullptr : at->if_array();
  if (places == nullptr || places->empty() || !places->front().is_string()) {
    return {};
  }
  return places->front().get_string();
}

}  // namespace

std::string failure_text(std::string_view payload, std::size_t chars_max) {
  if (payload.empty() || payload[0] == kBytesMark || payload[0] == kCodecMark) {
    return payload_text(payload, chars_max);
  }
  const Result<json::value> value = format::parse_json(payload);
  if (!value) {
    return line_text(payload, chars_max);
  }
  if (const json::string* text = value->if_string()) {
    return line_text(*text, chars_max);
  }
  const json::object* object = value->if_object();
  const json::value* message = object == nullptr ? nullptr : object->if_contains("message");
  if (message == nullptr || !message->is_string()) {
    return line_text(payload, chars_max);
  }
  std::string text(message->get_string());
  const json::value* type = object->if_contains("type");
  if (type != nullptr && type->is_string()) {
    text = std::string(type->get_string()) + (text.empty() ? "" : ": ") + text;
  }
  const std::string_view place = place_of(*object);
  if (!place.empty()) {
    text += " (at " + std::string(place) + ")";
  }
  return line_text(text, chars_max);
}

}  // namespace pawl::view

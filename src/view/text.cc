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

// The length of the character at the start of `text`; 0 if it is no UTF-8, or one that moves the
// cursor instead of being shown.
std::size_t shown_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) {
    return first >= 0x20 && first != 0x7f ? 1 : 0;
  }
  const std::size_t length = utf8_length(text);
  return first == 0xc2 && length == 2 && byte(1) < 0xa0 ? 0 : length;
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
    const std::size_t length = shown_length(text);
    line += length > 0 ? std::string(text.substr(0, length))
                       : escaped(static_cast<unsigned char>(text[0]));
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return line;
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
  return line_text(text, chars_max);
}

}  // namespace pawl::view

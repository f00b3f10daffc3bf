#include "view/moments.h"

#include <array>
#include <charconv>
#include <cstdio>
#include <ctime>
#include <optional>
#include <utility>

#include "view/text.h"

namespace pawl::view {

namespace {

constexpr std::int64_t kSecond = 1000;
constexpr std::int64_t kMinute = 60 * kSecond;
constexpr std::int64_t kHour = 60 * kMinute;
constexpr std::int64_t kDay = 24 * kHour;
// The last moment of the year 9999: what can be printed with four digits.
constexpr std::int64_t kLastMoment = 253'402'300'799'999;

// Whole seconds, also of what is before 1970.
std::int64_t seconds_of(std::int64_t ms) { return ms / kSecond - (ms % kSecond < 0 ? 1 : 0); }

// Of what localtime_r knows; false for what is beyond it.
bool local_time(std::int64_t ms, std::tm& parts) {
  const auto seconds = static_cast<std::time_t>(seconds_of(ms));
  return ms >= -kLastMoment && ms <= kLastMoment && localtime_r(&seconds, &parts) != nullptr;
}

std::string date_and_time(const std::tm& parts) {
  std::array<char, 96> text{};
  std::snprintf(text.data(), text.size(), "%04d-%02d-%02d %02d:%02d:%02d", parts.tm_year + 1900,
                parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec);
  return text.data();
}

// Reads a text from its start, one part after the other.
class Reader {
 public:
  explicit Reader(std::string_view text) : rest_(text) {}

  bool is_at_end() const { return rest_.empty(); }
  bool skip(char wanted) {
    if (rest_.empty() || rest_.front() != wanted) {
      return false;
    }
    rest_.remove_prefix(1);
    return true;
  }
  // Exactly so many digits, from `min` to `max`.
  std::optional<int> number(std::size_t digits, int min, int max) {
    if (rest_.size() < digits) {
      return std::nullopt;
    }
    int value = 0;
    for (const char digit : rest_.substr(0, digits)) {
      if (digit < '0' || digit > '9') {
        return std::nullopt;
      }
      value = value * 10 + (digit - '0');
    }
    rest_.remove_prefix(digits);
    return value >= min && value <= max ? std::optional(value) : std::nullopt;
  }
  // Digits behind the point of a second; as milliseconds.
  std::optional<int> fraction() {
    int value = 0;
    std::size_t digits = 0;
    while (!rest_.empty() && rest_.front() >= '0' && rest_.front() <= '9') {
      value += digits < 3 ? (rest_.front() - '0') * (digits == 0 ? 100 : digits == 1 ? 10 : 1) : 0;
      ++digits;
      rest_.remove_prefix(1);
    }
    return digits > 0 ? std::optional(value) : std::nullopt;
  }

 private:
  std::string_view rest_;
};

int days_of_month(int year, int month) {
  constexpr std::array<int, 12> kDays = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  const bool is_leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
  return month == 2 && is_leap ? 29 : kDays[static_cast<std::size_t>(month - 1)];
}

struct Written {
  std::tm parts{};
  int ms = 0;
  std::optional<std::int64_t> offset_ms;  // Of its zone, if it names one.
};

// Nothing if it is no such text. Each step is one part of the form.
std::optional<Written> read_iso(std::string_view text) {
  Written written;
  Reader reader(text);
  const auto year = reader.number(4, 1970, 9999);
  const auto month = year && reader.skip('-') ? reader.number(2, 1, 12) : std::nullopt;
  const auto day =
      month && reader.skip('-') ? reader.number(2, 1, days_of_month(*year, *month)) : std::nullopt;
  if (!day) {
    return std::nullopt;
  }
  written.parts.tm_year = *year - 1900;
  written.parts.tm_mon = *month - 1;
  written.parts.tm_mday = *day;
  written.parts.tm_isdst = -1;
  if (reader.is_at_end()) {
    return written;
  }
  if (!reader.skip('T') && !reader.skip(' ')) {
    return std::nullopt;
  }
  const auto hour = reader.number(2, 0, 23);
  const auto minute = hour && reader.skip(':') ? reader.number(2, 0, 59) : std::nullopt;
  if (!minute) {
    return std::nullopt;
  }
  written.parts.tm_hour = *hour;
  written.parts.tm_min = *minute;
  if (reader.skip(':')) {
    const auto second = reader.number(2, 0, 59);
    if (!second) {
      return std::nullopt;
    }
    written.parts.tm_sec = *second;
    if (reader.skip('.')) {
      const auto ms = reader.fraction();
      if (!ms) {
        return std::nullopt;
      }
      written.ms = *ms;
    }
  }
  if (reader.skip('Z')) {
    written.offset_ms = 0;
  } else if (const bool is_east = reader.skip('+'); is_east || reader.skip('-')) {
    const auto hours = reader.number(2, 0, 23);
    reader.skip(':');
    const auto minutes = hours ? reader.number(2, 0, 59) : std::nullopt;
    if (!minutes) {
      return std::nullopt;
    }
    written.offset_ms = (*hours * kHour + *minutes * kMinute) * (is_east ? 1 : -1);
  }
  return reader.is_at_end() ? std::optional(written) : std::nullopt;
}

std::optional<std::int64_t> unit_of(std::string_view name) {
  constexpr std::array<std::pair<std::string_view, std::int64_t>, 7> kUnits = {{{"ms", 1},
                                                                                {"s", kSecond},
                                                                                {"m", kMinute},
                                                                                {"min", kMinute},
                                                                                {"h", kHour},
                                                                                {"d", kDay},
                                                                                {"w", 7 * kDay}}};
  for (const auto& [known, ms] : kUnits) {
    if (known == name) {
      return ms;
    }
  }
  return std::nullopt;
}

}  // namespace

std::string zoned_moment(std::int64_t ms_since_1970, const Zone& zone) {
  std::tm parts{};
  if (zone.is_utc || !local_time(ms_since_1970, parts)) {
    return moment_text(ms_since_1970);
  }
  std::array<char, 32> rest{};
  const long offset = parts.tm_gmtoff / 60;
  const long minutes = offset < 0 ? -offset : offset;
  std::snprintf(rest.data(), rest.size(), ".%03d %c%02ld:%02ld",
                static_cast<int>(ms_since_1970 - seconds_of(ms_since_1970) * kSecond),
                offset < 0 ? '-' : '+', minutes / 60, minutes % 60);
  return date_and_time(parts) + rest.data();
}

std::string brief_moment(std::int64_t ms_since_1970, const Zone& zone) {
  std::tm parts{};
  if (zone.is_utc || !local_time(ms_since_1970, parts)) {
    const std::string text = moment_text(ms_since_1970);
    return text.substr(0, text.rfind('.'));
  }
  return date_and_time(parts);
}

Result<std::int64_t> parse_duration(std::string_view text) {
  std::int64_t count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  const auto unit = unit_of(text.substr(static_cast<std::size_t>(end - text.data())));
  std::int64_t ms = 0;
  if (error != std::errc() || count < 0 || !unit || __builtin_mul_overflow(count, *unit, &ms) ||
      ms > kLastMoment) {
    return make_error(ErrorCode::kMalformedInput,
                      "'" + line_text(text, 60) +
                          "' is no duration; write a number and ms, s, m, h, d or w, e.g. 90s");
  }
  return ms;
}

Result<std::int64_t> parse_moment(std::string_view text, std::int64_t now_ms, const Zone& zone) {
  if (text == "now") {
    return now_ms;
  }
  if (const Result<std::int64_t> ago = parse_duration(text)) {
    return now_ms - *ago;
  }
  if (std::optional<Written> written = read_iso(text)) {
    const bool is_local = !written->offset_ms && !zone.is_utc;
    const std::time_t seconds = is_local ? mktime(&written->parts) : timegm(&written->parts);
    return static_cast<std::int64_t>(seconds) * kSecond + written->ms -
           written->offset_ms.value_or(0);
  }
  return make_error(ErrorCode::kMalformedInput,
                    "'" + line_text(text, 60) +
                        "' is no moment; write e.g. 2026-11-16, 2026-11-16T21:10:38+01:00, or 2h "
                        "for two hours ago");
}

}  // namespace pawl::view

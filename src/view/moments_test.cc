#include "view/moments.h"

#include <cstdlib>
#include <ctime>
#include <string>

#include <gtest/gtest.h>

namespace pawl::view {
namespace {

constexpr std::int64_t kNow = 1'794'859'838'123;  // 2026-11-16 20:10:38.123 UTC.
constexpr Zone kUtc{.is_utc = true};
constexpr Zone kLocal{.is_utc = false};

// The zone of the process, for the time of one test.
class InZone {
 public:
  explicit InZone(const char* rule) {
    const char* const before = std::getenv("TZ");
    before_ = before == nullptr ? "" : before;
    setenv("TZ", rule, 1);
    tzset();
  }
  ~InZone() {
    if (before_.empty()) {
      unsetenv("TZ");
    } else {
      setenv("TZ", before_.c_str(), 1);
    }
    tzset();
  }
  InZone(const InZone&) = delete;
  InZone& operator=(const InZone&) = delete;

 private:
  std::string before_;
};

// With rules that need no database of zones.
constexpr const char* kBerlin = "CET-1CEST,M3.5.0,M10.5.0/3";
constexpr const char* kNepal = "NPT-5:45";
constexpr const char* kNewfoundland = "NST3:30";

std::int64_t moment(const std::string& text, const Zone& zone) {
  const auto parsed = parse_moment(text, kNow, zone);
  EXPECT_TRUE(parsed.has_value()) << text << ": " << (parsed ? "" : parsed.error().message);
  return parsed ? *parsed : -1;
}

TEST(ZonedMoment, NamesItsZone) {
  EXPECT_EQ(zoned_moment(kNow, kUtc), "2026-11-16 20:10:38.123 UTC");
  const InZone berlin(kBerlin);
  EXPECT_EQ(zoned_moment(kNow, kLocal), "2026-11-16 21:10:38.123 +01:00");
  EXPECT_EQ(brief_moment(kNow, kLocal), "2026-11-16 21:10:38");
  EXPECT_EQ(brief_moment(kNow, kUtc), "2026-11-16 20:10:38");
  // In summer.
  EXPECT_EQ(zoned_moment(1'782'864'000'000, kLocal), "2026-07-01 02:00:00.000 +02:00");
}

TEST(ZonedMoment, HasZonesOfHalfHours) {
  {
    const InZone nepal(kNepal);
    EXPECT_EQ(zoned_moment(0, kLocal), "1970-01-01 05:45:00.000 +05:45");
  }
  const InZone newfoundland(kNewfoundland);
  EXPECT_EQ(zoned_moment(-1, kLocal), "1969-12-31 20:29:59.999 -03:30");
}

TEST(ZonedMoment, TakesAnyNumber) {
  EXPECT_FALSE(zoned_moment(std::numeric_limits<std::int64_t>::max(), kLocal).empty());
  EXPECT_FALSE(brief_moment(std::numeric_limits<std::int64_t>::min(), kLocal).empty());
}

TEST(ParseMoment, ReadsDatesAndTimes) {
  EXPECT_EQ(moment("1970-01-01", kUtc), 0);
  EXPECT_EQ(moment("2026-11-16", kUtc), kNow - kNow % 86'400'000);
  EXPECT_EQ(moment("2026-11-16T20:10:38.123Z", kLocal), kNow);
  EXPECT_EQ(moment("2026-11-16 21:10:38.123+01:00", kUtc), kNow);
  EXPECT_EQ(moment("2026-11-16T14:10:38.1239-0600", kUtc), kNow);
  EXPECT_EQ(moment("2026-11-16T20:10", kUtc), kNow - 38'123);
  EXPECT_EQ(moment("2026-11-16 20:10:38.1", kUtc), kNow - 23);
  EXPECT_EQ(moment("2024-02-29", kUtc), 1'709'164'800'000);
  const InZone berlin(kBerlin);
  EXPECT_EQ(moment("2026-11-16 21:10:38.123", kLocal), kNow);
  EXPECT_EQ(moment("2026-07-01T02:00", kLocal), 1'782'864'000'000);
}

TEST(ParseMoment, ReadsHowLongAgo) {
  EXPECT_EQ(moment("now", kUtc), kNow);
  EXPECT_EQ(moment("0s", kUtc), kNow);
  EXPECT_EQ(moment("250ms", kUtc), kNow - 250);
  EXPECT_EQ(moment("90s", kUtc), kNow - 90'000);
  EXPECT_EQ(moment("5m", kUtc), kNow - 300'000);
  EXPECT_EQ(moment("5min", kUtc), kNow - 300'000);
  EXPECT_EQ(moment("2h", kUtc), kNow - 7'200'000);
  EXPECT_EQ(moment("7d", kUtc), kNow - 7 * std::int64_t{86'400'000});
  EXPECT_EQ(moment("1w", kUtc), kNow - 7 * std::int64_t{86'400'000});
}

TEST(ParseMoment, RefusesTheRest) {
  for (const char* const text : {"",
                                 " ",
                                 "yesterday",
                                 "2026",
                                 "2026-13-01",
                                 "2026-02-29",
                                 "2026-11-31",
                                 "2026-11-16T",
                                 "2026-11-16T24:00",
                                 "2026-11-16T20:60",
                                 "2026-11-16T20:10:61",
                                 "2026-11-16T20:10:38.",
                                 "2026-11-16T20:10Zx",
                                 "2026-11-16T20:10+1",
                                 "2026-11-16x20:10",
                                 "1969-12-31",
                                 "26-11-16",
                                 "2",
                                 "h",
                                 "-2h",
                                 "2 h",
                                 "2y",
                                 "99999999999999999999d",
                                 "9223372036854775807w",
                                 "2h\n"}) {
    const auto parsed = parse_moment(text, kNow, kUtc);
    ASSERT_FALSE(parsed.has_value()) << text;
    EXPECT_EQ(parsed.error().code, ErrorCode::kMalformedInput);
  }
}

TEST(ParseDuration, SaysWhatIsWanted) {
  EXPECT_EQ(*parse_duration("30s"), 30'000);
  EXPECT_EQ(parse_duration("30").error().message,
            "'30' is no duration; write a number and ms, s, m, h, d or w, e.g. 90s");
}

}  // namespace
}  // namespace pawl::view

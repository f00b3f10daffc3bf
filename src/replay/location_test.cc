#include "replay/location.h"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace pawl::replay {
namespace {

Location parsed(std::string_view text) {
  Result<Location> location = Location::parse(text);
  EXPECT_TRUE(location) << text << ": " << location.error().message;
  return location ? *std::move(location) : Location();
}

// A coordinate as it is printed, e.g. 2.1.
Coordinate at(const std::string& text) {
  if (text == "0") {
    return Coordinate::before_first();
  }
  return parsed("{" + text + "}")[0];
}

std::string printed(const Coordinate& coordinate) {
  std::string text;
  coordinate.print_to(text);
  return text;
}

std::string between(const std::string& previous, const std::string& next) {
  return printed(insertion_between(at(previous), at(next)));
}

// --- Text --------------------------------------------------------------------------------------

TEST(Location, PrintsWhatItParsed) {
  for (const std::string_view text :
       {"{}", "{1}", "{2, 3, 1}", "{4, 0.3.1, 0.6}", "{0.0.0.1}", "{1, 1, 1, 1, 1, 1}",
        "{4611686018427387904}", "{1.4611686018427387904}"}) {
    EXPECT_EQ(parsed(text).to_string(), text);
  }
}

TEST(Location, TakesBlanksAroundCoordinates) {
  EXPECT_EQ(parsed(" { 1 ,2.1,  3 } ").to_string(), "{1, 2.1, 3}");
  EXPECT_EQ(parsed("{1,2}").to_string(), "{1, 2}");
  EXPECT_EQ(parsed("{ }").to_string(), "{}");
}

TEST(Location, KnowsItsParts) {
  const Location location = parsed("{4, 0.3.1, 6}");
  EXPECT_FALSE(location.is_root());
  EXPECT_EQ(location.depth(), 3U);
  EXPECT_TRUE(location[0].is_whole());
  EXPECT_FALSE(location[1].is_whole());
  EXPECT_EQ(location[1].size(), 3U);
  EXPECT_EQ(location[1].head(), 0U);
  EXPECT_EQ(location[1][0], 0U);
  EXPECT_EQ(location[1][1], 3U);
  EXPECT_EQ(location[1][2], 1U);
  EXPECT_TRUE(parsed("{}").is_root());
  EXPECT_TRUE(Location().is_root());
}

TEST(Location, RefusesMalformedTextAndSaysWhere) {
  const struct {
    std::string_view text;
    std::string_view message;
  } cases[] = {
      {"", "malformed location '': expected '{' at character 1"},
      {"1", "malformed location '1': expected '{' at character 1"},
      {"[1]", "malformed location '[1]': expected '{' at character 1"},
      {"{", "malformed location '{': expected a number at character 2"},
      {"{1", "malformed location '{1': expected ',' or '}' at character 3"},
      {"{1, 2", "malformed location '{1, 2': expected ',' or '}' at character 6"},
      {"{1,}", "malformed location '{1,}': expected a number at character 4"},
      {"{,1}", "malformed location '{,1}': expected a number at character 2"},
      {"{1,,2}", "malformed location '{1,,2}': expected a number at character 4"},
      {"{1 2}", "malformed location '{1 2}': expected ',' or '}' at character 4"},
      {"{1.}", "malformed location '{1.}': expected a number at character 4"},
      {"{.1}", "malformed location '{.1}': expected a number at character 2"},
      {"{1..2}", "malformed location '{1..2}': expected a number at character 4"},
      {"{1. 2}", "malformed location '{1. 2}': expected a number at character 4"},
      {"{-1}", "malformed location '{-1}': expected a number at character 2"},
      {"{+1}", "malformed location '{+1}': expected a number at character 2"},
      {"{x}", "malformed location '{x}': expected a number at character 2"},
      {"{1x}", "malformed location '{1x}': expected ',' or '}' at character 3"},
      {"{1\t}", "malformed location '{1\t}': expected ',' or '}' at character 3"},
      {"{1}}", "malformed location '{1}}': unexpected text after '}' at character 4"},
      {"{1} x", "malformed location '{1} x': unexpected text after '}' at character 5"},
      {"{} {}", "malformed location '{} {}': unexpected text after '}' at character 4"},
  };
  for (const auto& bad : cases) {
    const Result<Location> location = Location::parse(bad.text);
    ASSERT_FALSE(location) << bad.text;
    EXPECT_EQ(location.error().code, ErrorCode::kMalformedInput) << bad.text;
    EXPECT_EQ(location.error().message, bad.message);
  }
}

TEST(Location, RefusesNumbersThatNoLocationHas) {
  const struct {
    std::string_view text;
    std::string_view what;
  } cases[] = {
      {"{0}", "a coordinate cannot end in 0"},
      {"{1.0}", "a coordinate cannot end in 0"},
      {"{2, 0.0, 1}", "a coordinate cannot end in 0"},
      {"{01}", "number with a leading zero"},
      {"{1.01}", "number with a leading zero"},
      {"{00.1}", "number with a leading zero"},
      {"{4611686018427387905}", "number too large"},
      {"{18446744073709551616}", "number too large"},
      {"{1, 99999999999999999999999999}", "number too large"},
  };
  for (const auto& bad : cases) {
    const Result<Location> location = Location::parse(bad.text);
    ASSERT_FALSE(location) << bad.text;
    EXPECT_EQ(location.error().code, ErrorCode::kMalformedInput);
    EXPECT_NE(location.error().message.find("'" + std::string(bad.text) + "'"), std::string::npos);
    EXPECT_NE(location.error().message.find(bad.what), std::string::npos)
        << location.error().message;
  }
}

TEST(Location, ShowsOnlyTheBeginningOfALongText) {
  const std::string text(100'000, '1');
  const Result<Location> location = Location::parse(text);
  ASSERT_FALSE(location);
  EXPECT_LT(location.error().message.size(), 200U);
}

RC_GTEST_PROP(LocationProperty, ParseNeverAcceptsWhatItWouldPrintOtherwise,
              (const std::string& noise)) {
  const std::string alphabet = "{}0123456789., ";
  std::string text;
  for (const char c : noise) {
    text += alphabet[static_cast<unsigned char>(c) % alphabet.size()];
  }
  for (const std::string& candidate : {text, "{" + text + "}", "{1" + text + "}"}) {
    const Result<Location> location = Location::parse(candidate);
    if (location) {
      std::string squeezed = candidate;
      std::erase(squeezed, ' ');
      std::string reprinted = location->to_string();
      std::erase(reprinted, ' ');
      RC_ASSERT(reprinted == squeezed);
      RC_ASSERT(*Location::parse(location->to_string()) == *location);
    }
  }
}

// --- Order -------------------------------------------------------------------------------------

TEST(Location, OrdersLexicographicallyWithAPrefixFirst) {
  const std::vector<std::string> ascending = {
      "{}",        "{0.0.1}", "{0.1}", "{0.1, 1}", "{0.2}", "{1}",  "{1, 0.1}",
      "{1, 1}",    "{1, 2}",  "{1.1}", "{1.1, 1}", "{1.2}", "{2}",  "{2.1}",
      "{2.1.0.1}", "{2.1.1}", "{2.2}", "{3}",      "{9}",   "{10}", "{10, 1, 1}"};
  for (std::size_t i = 0; i < ascending.size(); ++i) {
    for (std::size_t j = 0; j < ascending.size(); ++j) {
      EXPECT_EQ(parsed(ascending[i]) <=> parsed(ascending[j]), i <=> j)
          << ascending[i] << " and " << ascending[j];
      EXPECT_EQ(parsed(ascending[i]) == parsed(ascending[j]), i == j);
    }
  }
}

TEST(Location, NothingStandsBeforeTheFirst) {
  for (const char* text : {"0.0.0.1", "0.1", "1", "1.1"}) {
    EXPECT_LT(Coordinate::before_first(), at(text)) << text;
  }
}

// --- Insertion ---------------------------------------------------------------------------------

TEST(Insertion, BeforeTheFirstAndAgainBeforeThat) {
  EXPECT_EQ(between("0", "1"), "0.1");
  EXPECT_EQ(between("0", "0.1"), "0.0.1");
  EXPECT_EQ(between("0", "0.0.1"), "0.0.0.1");
  EXPECT_EQ(between("0", "0.0.0.1"), "0.0.0.0.1");
}

TEST(Insertion, AfterAnInsertedOneNumbersOn) {
  EXPECT_EQ(between("0.1", "1"), "0.2");
  EXPECT_EQ(between("0.2", "1"), "0.3");
  EXPECT_EQ(between("2.1", "3"), "2.2");
  EXPECT_EQ(between("2.2", "3"), "2.3");
  EXPECT_EQ(between("1.1", "2"), "1.2");
}

TEST(Insertion, BetweenWholeNumbersGoesOneDeeper) {
  EXPECT_EQ(between("1", "2"), "1.1");
  EXPECT_EQ(between("2", "3"), "2.1");
  EXPECT_EQ(between("1", "3"), "1.1");
  EXPECT_EQ(between("3", "6"), "3.1");
  EXPECT_EQ(between("4611686018427387903", "4611686018427387904"), "4611686018427387903.1");
}

TEST(Insertion, BetweenInsertedOnesGoesOneDeeper) {
  EXPECT_EQ(between("2.1", "2.2"), "2.1.1");
  EXPECT_EQ(between("2.1.1", "2.2"), "2.1.2");
  EXPECT_EQ(between("0.1", "0.2"), "0.1.1");
}

TEST(Insertion, BetweenAPrefixAndItsExtensionCountsTheZeros) {
  EXPECT_EQ(between("2.1", "2.1.1"), "2.1.0.1");
  EXPECT_EQ(between("2.1", "2.1.0.1"), "2.1.0.0.1");
  EXPECT_EQ(between("2.1", "2.1.0.0.1"), "2.1.0.0.0.1");
  EXPECT_EQ(between("1", "1.1"), "1.0.1");
  EXPECT_EQ(between("1", "1.0.1"), "1.0.0.1");
  EXPECT_EQ(between("0.1", "0.1.0.1"), "0.1.0.0.1");
}

TEST(Insertion, AfterOneBehindZeros) {
  EXPECT_EQ(between("0.0.1", "0.1"), "0.0.2");
  EXPECT_EQ(between("0.0.0.1", "0.0.1"), "0.0.0.2");
  EXPECT_EQ(between("2.1.0.1", "2.1.1"), "2.1.0.2");
}

// --- Series of insertions ----------------------------------------------------------------------

// SplitMix64; rapidcheck supplies the seed, and prints it when something fails.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : state_(seed) {}

  // In [0, below).
  std::size_t roll(std::size_t below) {
    state_ += 0x9e3779b97f4a7c15ULL;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27U)) * 0x94d049bb133111ebULL;
    return static_cast<std::size_t>((z ^ (z >> 31U)) % below);
  }

 private:
  std::uint64_t state_;
};

std::uint64_t any_seed() {
  return *rc::gen::noShrink(rc::gen::resize(rc::kNominalSize, rc::gen::arbitrary<std::uint64_t>()));
}

// The commands of one branch, in order, and what may go wrong when one is put between two.
class Series {
 public:
  // Whole numbers with holes, as a log has them where iterations or keyed steps stand between.
  Series(std::vector<Coordinate> branch, const std::vector<Ordinate>& heads)
      : branch_(std::move(branch)) {
    for (const Ordinate head : heads) {
      commands_.emplace_back(head);
    }
    path_ = branch_;
    path_.push_back(Coordinate::before_first());
  }

  std::size_t size() const { return commands_.size(); }

  // Inserts before command number `gap`; says what is wrong with the new place, "" if nothing.
  std::string insert(std::size_t gap) {
    const Coordinate previous = gap == 0 ? Coordinate::before_first() : commands_[gap - 1];
    const Coordinate& next = commands_[gap];
    Coordinate made = insertion_between(previous, next);
    if (!(previous < made && made < next)) {
      return printed(made) + " is not between " + printed(previous) + " and " + printed(next);
    }
    if (made[made.size() - 1] == 0) {
      return printed(made) + " ends in 0";
    }
    path_.back() = made;
    const Location location(path_);
    const Result<Location> reread = Location::parse(location.to_string());
    if (!reread || !(*reread == location)) {
      return location.to_string() + " is not read back";
    }
    commands_.insert(commands_.begin() + static_cast<std::ptrdiff_t>(gap), std::move(made));
    return "";
  }

  // Insertion checks only neighbours; this looks at all.
  std::string check_all() const {
    std::set<std::string> texts;
    for (std::size_t i = 0; i < commands_.size(); ++i) {
      if (i > 0 && !(commands_[i - 1] < commands_[i])) {
        return printed(commands_[i - 1]) + " is not before " + printed(commands_[i]);
      }
      if (!texts.insert(printed(commands_[i])).second) {
        return printed(commands_[i]) + " is there twice";
      }
    }
    return "";
  }

 private:
  std::vector<Coordinate> branch_;
  std::vector<Coordinate> path_;
  std::vector<Coordinate> commands_;
};

Coordinate random_coordinate(Dice& dice) {
  std::vector<Ordinate> tail(dice.roll(3));
  for (Ordinate& ordinate : tail) {
    ordinate = dice.roll(3);
  }
  if (!tail.empty()) {
    tail.back() = 1 + dice.roll(9);
  }
  return {1 + dice.roll(12), std::move(tail)};
}

Series random_series(Dice& dice) {
  std::vector<Coordinate> branch;
  for (std::size_t depth = dice.roll(7); depth > 0; --depth) {
    branch.push_back(random_coordinate(dice));
  }
  std::vector<Ordinate> heads;
  Ordinate head = 0;
  for (std::size_t count = 1 + dice.roll(4); count > 0; --count) {
    head += 1 + dice.roll(3);
    heads.push_back(head);
  }
  return {std::move(branch), heads};
}

constexpr std::size_t kInsertionsPerProperty = 21'000;  // 100 properties: more than two million.

RC_GTEST_PROP(InsertionProperty, RandomSeriesNeverCollide, ()) {
  Dice dice(any_seed());
  std::size_t made = 0;
  while (made < kInsertionsPerProperty) {
    Series series = random_series(dice);
    // Uniform gaps, or a preference for the newest one, which makes places long.
    const bool clings = dice.roll(2) == 0;
    std::size_t last = 0;
    const std::size_t length = 1 + dice.roll(60);
    for (std::size_t i = 0; i < length; ++i, ++made) {
      std::size_t gap = dice.roll(series.size());
      if (clings && dice.roll(4) != 0) {
        gap = std::min(last + dice.roll(2), series.size() - 1);
      }
      last = gap;
      const std::string wrong = series.insert(gap);
      RC_ASSERT(wrong == "");
    }
    RC_ASSERT(series.check_all() == "");
  }
}

TEST(InsertionSeries, AlwaysAtTheFront) {
  Series series({}, {1, 2, 3});
  for (int i = 0; i < 500; ++i) {
    ASSERT_EQ(series.insert(0), "");
  }
  EXPECT_EQ(series.check_all(), "");
}

TEST(InsertionSeries, AlwaysRightAfterTheSameCommand) {
  Series series({Coordinate(2)}, {1, 2, 3});
  for (int i = 0; i < 500; ++i) {
    ASSERT_EQ(series.insert(1), "");
  }
  EXPECT_EQ(series.check_all(), "");
}

TEST(InsertionSeries, AlwaysRightBeforeTheSameCommand) {
  Series series({Coordinate(2)}, {1, 2, 3});
  for (std::size_t i = 1; i <= 2000; ++i) {
    ASSERT_EQ(series.insert(i), "");
  }
  EXPECT_EQ(series.check_all(), "");
}

TEST(InsertionSeries, AlternatingSidesOfTheNewestOne) {
  Series series({Coordinate(7), Coordinate(1)}, {4, 9});
  std::size_t gap = 1;
  for (int i = 0; i < 400; ++i) {
    ASSERT_EQ(series.insert(gap), "");
    gap += i % 2 == 0 ? 1 : 0;
  }
  EXPECT_EQ(series.check_all(), "");
}

TEST(InsertionSeries, AlternatingFrontAndBack) {
  Series series({}, {1});
  for (std::size_t i = 0; i < 400; ++i) {
    ASSERT_EQ(series.insert(i % 2 == 0 ? 0 : series.size() - 1), "");
  }
  EXPECT_EQ(series.check_all(), "");
}

TEST(InsertionSeries, IntoEveryGapAgainAndAgain) {
  Series series({}, {1, 2});
  for (int round = 0; round < 10; ++round) {
    for (std::size_t gap = series.size(); gap-- > 0;) {
      ASSERT_EQ(series.insert(gap), "");
    }
  }
  EXPECT_EQ(series.size(), 2048U);
  EXPECT_EQ(series.check_all(), "");
}

// Every series of six insertions into a branch of two commands: 2 * 3 * ... * 7 of them.
TEST(InsertionSeries, AllShortOnes) {
  std::vector<Series> level{Series({}, {1, 2})};
  for (int step = 0; step < 6; ++step) {
    std::vector<Series> next;
    for (const Series& series : level) {
      for (std::size_t gap = 0; gap < series.size(); ++gap) {
        next.push_back(series);
        ASSERT_EQ(next.back().insert(gap), "");
      }
    }
    level = std::move(next);
  }
  EXPECT_EQ(level.size(), 5040U);
  for (const Series& series : level) {
    ASSERT_EQ(series.check_all(), "");
  }
}

}  // namespace
}  // namespace pawl::replay

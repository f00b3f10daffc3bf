#include "view/line.h"

#include <string>

#include <gtest/gtest.h>

#include "view/text.h"

namespace pawl::view {
namespace {

TEST(Line, IsPaintedPieceByPiece) {
  Line line;
  line.add("a ").add("bad", Tone::kBad).add("").add(" z");
  EXPECT_EQ(line.print(0, false), "a bad z");
  EXPECT_EQ(line.print(0, true), "a \x1b[31mbad\x1b[0m z");
}

TEST(Line, ValuesGiveWayToTheRest) {
  Line line;
  line.add("{1} Task(0) = ").add_value(std::string(100, 'x')).add(" (3 attempts)");
  const std::string text = line.print(60, false);
  EXPECT_EQ(columns_of(text), 60U);
  EXPECT_EQ(text, "{1} Task(0) = " + std::string(32, 'x') + "… (3 attempts)");
  EXPECT_EQ(line.print(200, false).size(), 14U + 100U + 13U);
  EXPECT_EQ(line.print(0, false).size(), 14U + 100U + 13U);
}

TEST(Line, TheLastValueGivesWayFirstAndSomethingOfEachStays) {
  Line line;
  line.add_value(std::string(30, 'a')).add_value(std::string(30, 'b'));
  EXPECT_EQ(line.print(50, false), std::string(30, 'a') + std::string(19, 'b') + "…");
  EXPECT_EQ(line.print(30, false), std::string(17, 'a') + "…" + std::string(11, 'b') + "…");
  EXPECT_EQ(line.print(1, false), std::string(11, 'a') + "…" + std::string(11, 'b') + "…");
}

TEST(Line, RightColumnsEndWhereTheyShould) {
  Line line;
  line.add_right("7 ms", 8).add_right("too long for it", 5).add("|");
  EXPECT_EQ(line.print(0, false), "    7 ms too long for it|");
}

TEST(Paint, ColorIsForTerminalsUnlessAskedFor) {
  EXPECT_TRUE(wants_color(ColorChoice::kAuto, true, nullptr, "xterm"));
  EXPECT_TRUE(wants_color(ColorChoice::kAuto, true, "", "xterm"));
  EXPECT_FALSE(wants_color(ColorChoice::kAuto, true, "1", "xterm"));
  EXPECT_FALSE(wants_color(ColorChoice::kAuto, true, nullptr, "dumb"));
  EXPECT_FALSE(wants_color(ColorChoice::kAuto, true, nullptr, nullptr));
  EXPECT_FALSE(wants_color(ColorChoice::kAuto, false, nullptr, "xterm"));
  EXPECT_FALSE(wants_color(ColorChoice::kNever, true, nullptr, "xterm"));
  EXPECT_TRUE(wants_color(ColorChoice::kAlways, false, "1", nullptr));
}

TEST(Paint, EmptyTextHasNoEscapes) {
  EXPECT_EQ(painted("", Tone::kBad, true), "");
  EXPECT_EQ(painted("x", Tone::kPlain, true), "x");
}

}  // namespace
}  // namespace pawl::view

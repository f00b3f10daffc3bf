#include "cli/table.h"

#include <string>

#include <gtest/gtest.h>

#include "cli/progress.h"

namespace pawl::cli {
namespace {

TEST(DisplayWidth, CountsColumns) {
  EXPECT_EQ(display_width(""), 0U);
  EXPECT_EQ(display_width("abc"), 3U);
  EXPECT_EQ(display_width("Äpfel"), 5U);
  EXPECT_EQ(display_width("梨"), 2U);
  EXPECT_EQ(display_width("😀"), 2U);
  EXPECT_EQ(display_width("e\u0301"), 1U);
}

TEST(Fitted, CutsBetweenCharacters) {
  EXPECT_EQ(fitted("abc", 3), "abc");
  EXPECT_EQ(fitted("abcd", 3), "ab…");
  EXPECT_EQ(fitted("梨梨梨", 6), "梨梨梨");
  EXPECT_EQ(fitted("梨梨梨", 5), "梨梨…");
  EXPECT_EQ(fitted("梨梨梨", 4), "梨…");
  EXPECT_EQ(fitted("a\nb", 4), "a\\nb");
  EXPECT_EQ(fitted("a\x1b"
                   "b",
                   4),
            "a\\x…");
  EXPECT_EQ(display_width(fitted(std::string(1'000'000, 'x'), 50)), 50U);
}

TEST(ProgressText, HasRateAndTimeLeft) {
  EXPECT_EQ(progress_text("deleting", 1200, 5000, 2000),
            "deleting  1200 of 5000, 24 %, 600/s, 6.33 s left");
  EXPECT_EQ(progress_text("deleting", 5000, 5000, 2000), "deleting  5000 of 5000, 100 %, 2500/s");
  EXPECT_EQ(progress_text("counting", 10, 0, 1000), "counting  10, 10/s");
  EXPECT_EQ(progress_text("counting", 0, 5, 0), "counting  0 of 5, 0 %");
}

}  // namespace
}  // namespace pawl::cli

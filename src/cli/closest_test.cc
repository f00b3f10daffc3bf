#include "cli/closest.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace pawl::cli {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(EditDistance, CountsLetters) {
  EXPECT_EQ(edit_distance("", "", 3), 0U);
  EXPECT_EQ(edit_distance("list", "list", 3), 0U);
  EXPECT_EQ(edit_distance("lst", "list", 3), 1U);
  EXPECT_EQ(edit_distance("lisst", "list", 3), 1U);
  EXPECT_EQ(edit_distance("lost", "list", 3), 1U);
  EXPECT_EQ(edit_distance("lsit", "list", 3), 1U);
  EXPECT_EQ(edit_distance("kitten", "sitting", 9), 3U);
  EXPECT_EQ(edit_distance("kitten", "sitting", 2), 3U);  // More than that is not counted.
  EXPECT_EQ(edit_distance("", "abcdef", 3), 4U);
  EXPECT_EQ(edit_distance(std::string(100'000, 'x'), std::string(100'000, 'y'), 3), 4U);
}

TEST(Closest, IsTheNearestFirst) {
  const std::vector<std::string> names = {"list", "last", "count", "list"};
  EXPECT_THAT(closest("lisr", names), ElementsAre("list"));
  EXPECT_THAT(closest("lst", names), ElementsAre("last", "list"));
  EXPECT_THAT(closest("xyz", names), IsEmpty());
  EXPECT_THAT(closest("x", names), IsEmpty());
  EXPECT_THAT(closest("", names), IsEmpty());
}

TEST(DidYouMean, IsPartOfASentence) {
  EXPECT_EQ(did_you_mean("lst", {"list"}), "; did you mean 'list'?");
  EXPECT_EQ(did_you_mean("lst", {"list", "last"}), "; did you mean 'last' or 'list'?");
  EXPECT_EQ(did_you_mean("lst", {"x"}), "");
  EXPECT_EQ(did_you_mean("a\x1b"
                         "b",
                         {"a\x1b"
                          "c"}),
            "; did you mean 'a\\x1bc'?");
}

}  // namespace
}  // namespace pawl::cli

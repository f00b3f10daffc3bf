#include "view/shell_word.h"

#include <gtest/gtest.h>

namespace pawl::view {
namespace {

TEST(ShellWord, IsQuotedWhereNeeded) {
  EXPECT_EQ(shell_word("order-17"), "order-17");
  EXPECT_EQ(shell_word(""), "''");
  EXPECT_EQ(shell_word("two words"), "'two words'");
  EXPECT_EQ(shell_word("it's"), R"('it'\''s')");
  EXPECT_EQ(shell_word("$HOME"), "'$HOME'");
  EXPECT_EQ(shell_word("梨"), "'梨'");
  EXPECT_EQ(shell_word("a\nb\x1b'\\"), R"($'a\nb\x1b\'\\')");
}

}  // namespace
}  // namespace pawl::view

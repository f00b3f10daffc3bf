#include "base/result.h"

#include <memory>
#include <string>
#include <type_traits>

#include <gtest/gtest.h>

namespace pawl {
namespace {

Result<int> half(int number) {
  if (number % 2 != 0) {
    return make_error(ErrorCode::kInvalidArgument, std::to_string(number) + " is odd");
  }
  return number / 2;
}

Result<void> check_even(int number) {
  PAWL_TRY(half(number));
  return {};
}

Result<int> quarter(int number) {
  PAWL_TRY_ASSIGN(const int once, half(number));
  PAWL_TRY_ASSIGN(const int twice, half(once));
  return twice;
}

TEST(Result, HoldsAValue) {
  const Result<int> result = half(8);
  ASSERT_TRUE(result);
  EXPECT_TRUE(result.has_value());
  EXPECT_EQ(result.value(), 4);
  EXPECT_EQ(*result, 4);
}

TEST(Result, HoldsAnError) {
  const Result<int> result = half(3);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(result.error().message, "3 is odd");
}

TEST(Result, TryLeavesWithTheFirstError) {
  EXPECT_TRUE(check_even(2));
  EXPECT_EQ(check_even(1).error().message, "1 is odd");
  EXPECT_EQ(*quarter(12), 3);
  EXPECT_EQ(quarter(7).error().message, "7 is odd");
  EXPECT_EQ(quarter(6).error().message, "3 is odd");
}

TEST(Result, MovesWhatCannotBeCopied) {
  Result<std::unique_ptr<int>> result(std::make_unique<int>(5));
  const std::unique_ptr<int> taken = *std::move(result);
  EXPECT_EQ(*taken, 5);
  static_assert(!std::is_copy_constructible_v<Result<std::unique_ptr<int>>>);
}

TEST(Result, GivesAccessToMembers) {
  Result<std::string> result(std::string("four"));
  EXPECT_EQ(result->size(), 4U);
  result.value() += "!";
  EXPECT_EQ(*result, "four!");
}

TEST(Result, HoldsAnErrorAsAValueOfAnotherKind) {
  // A Result of text is not confused by an Error that holds one.
  const Result<std::string> result(make_error(ErrorCode::kCorruptLog, "text"));
  EXPECT_FALSE(result);
}

TEST(ResultDeathTest, AbortsWhenTheOtherSideIsTaken) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH((void)half(3).value(), "has_value");
  EXPECT_DEATH((void)half(2).error(), "has_value");
  EXPECT_DEATH((void)check_even(2).error(), "error_");
}

TEST(ErrorCode, NumbersArePartOfTheAbi) {
  EXPECT_EQ(static_cast<int>(ErrorCode::kInvalidArgument), 1);
  EXPECT_EQ(static_cast<int>(ErrorCode::kInvalidState), 3);
  EXPECT_EQ(static_cast<int>(ErrorCode::kLimitExceeded), 4);
  EXPECT_EQ(static_cast<int>(ErrorCode::kDeterminismViolation), 20);
  EXPECT_EQ(static_cast<int>(ErrorCode::kCorruptLog), 40);
  EXPECT_EQ(static_cast<int>(ErrorCode::kMalformedInput), 41);
}

}  // namespace
}  // namespace pawl

#include "base/moment.h"

#include <gtest/gtest.h>

namespace pawl {
namespace {

constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();

TEST(Moment, SumsStayWhereNumbersEnd) {
  EXPECT_EQ(add_ms(1000, 5), 1005);
  EXPECT_EQ(add_ms(1000, -5), 995);
  EXPECT_EQ(add_ms(1000, kMax), kMax - 1);
  EXPECT_EQ(add_ms(0, kMax), kMax - 1);
  EXPECT_EQ(add_ms(kMax - 1, kMax), kMax - 1);
  EXPECT_EQ(add_ms(-1000, kMin), kMin);
  EXPECT_EQ(add_ms(kMax, -5), kMax);
  EXPECT_EQ(add_ms(kMax, 5), kMax);
}

}  // namespace
}  // namespace pawl

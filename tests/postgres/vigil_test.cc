#include "store/postgres/vigil.h"

#include <gtest/gtest.h>

namespace pawl::store::pg {
namespace {

constexpr auto kNone = std::chrono::microseconds::zero();

TEST(Vigil, IsKeptAsLongAsAnswersComeInTime) {
  Vigil vigil;
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(vigil.begin(), Vigil::kLimit);
    vigil.end(true);
  }
}

TEST(Vigil, IsHardlyEverKeptForASlowServer) {
  Vigil vigil;
  int kept = 0;
  for (int i = 0; i < 1'000'000; ++i) {
    if (vigil.begin() != kNone) {
      ++kept;
      vigil.end(false);
    }
  }
  EXPECT_LT(kept, 1'000'000 / 1000 + 20);
  EXPECT_GT(kept, 900);  // It may have become faster.
}

TEST(Vigil, IsKeptAgainAfterOneAnswerInTime) {
  Vigil vigil;
  for (int i = 0; i < 100; ++i) {
    if (vigil.begin() != kNone) {
      vigil.end(false);
    }
  }
  int skipped = 0;
  while (vigil.begin() == kNone) {
    ++skipped;
  }
  EXPECT_GT(skipped, 0);
  vigil.end(true);
  EXPECT_EQ(vigil.begin(), Vigil::kLimit);
  vigil.end(false);
  EXPECT_EQ(vigil.begin(), kNone);  // One, then three …
  EXPECT_EQ(vigil.begin(), Vigil::kLimit);
}

}  // namespace
}  // namespace pawl::store::pg

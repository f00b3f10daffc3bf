#include "replay/text_pool.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace pawl::replay {
namespace {

TEST(TextPool, TheEmptyTextNeedsNothing) {
  TextPool pool;
  const TextRef ref = pool.add("");
  EXPECT_TRUE(ref.empty());
  EXPECT_EQ(ref.view(), "");
  EXPECT_EQ(TextRef().view(), "");
  EXPECT_EQ(pool.intern(""), 0U);
  EXPECT_EQ(pool.name(0), "");
}

TEST(TextPool, KeepsBytesOfAnyKind) {
  TextPool pool;
  const std::string bytes("\0a\xff\n", 4);
  const TextRef ref = pool.add(bytes);
  EXPECT_FALSE(ref.empty());
  EXPECT_EQ(ref.view(), bytes);
}

TEST(TextPool, AddressesStayValidWhileItGrows) {
  TextPool pool;
  const TextRef first = pool.add("first");
  const char* address = first.view().data();
  std::vector<TextRef> refs;
  for (int i = 0; i < 50'000; ++i) {
    refs.push_back(pool.add(std::to_string(i)));
  }
  EXPECT_EQ(first.view(), "first");
  EXPECT_EQ(first.view().data(), address);
  for (int i = 0; i < 50'000; ++i) {
    ASSERT_EQ(refs[static_cast<std::size_t>(i)].view(), std::to_string(i));
  }
}

TEST(TextPool, LargeTextsDoNotDisturbSmallOnes) {
  TextPool pool;
  std::vector<std::pair<TextRef, std::string>> all;
  // Around the sizes at which a text gets a chunk of its own.
  for (const std::size_t size : {1U, 4095U, 4096U, 4097U, 16384U, 16385U, 65535U, 65536U, 65537U,
                                 1'000'000U, 3U, 16384U, 2U}) {
    std::string text(size, static_cast<char>('a' + all.size()));
    all.emplace_back(pool.add(text), text);
  }
  for (const auto& [ref, text] : all) {
    EXPECT_TRUE(ref.view() == text) << text.size();
  }
}

TEST(TextPool, ANameIsStoredOnce) {
  TextPool pool;
  const NameId charge = pool.intern("charge");
  const NameId refund = pool.intern("refund");
  EXPECT_NE(charge, 0U);
  EXPECT_NE(charge, refund);
  EXPECT_EQ(pool.intern("charge"), charge);
  EXPECT_EQ(pool.name(charge), "charge");
  EXPECT_EQ(pool.name(refund), "refund");
  const std::size_t bytes = pool.memory_bytes();
  for (int i = 0; i < 100'000; ++i) {
    pool.intern("charge");
  }
  EXPECT_EQ(pool.memory_bytes(), bytes);
}

TEST(TextPool, MemoryFollowsWhatIsStored) {
  TextPool pool;
  for (int i = 0; i < 10'000; ++i) {
    pool.add(std::string(100, 'x'));
  }
  EXPECT_GE(pool.memory_bytes(), 1'000'000U);
  EXPECT_LT(pool.memory_bytes(), 1'200'000U);
}

RC_GTEST_PROP(TextPoolProperty, GivesBackWhatWasPutIn, (const std::vector<std::string>& texts)) {
  TextPool pool;
  std::vector<TextRef> refs;
  std::vector<NameId> names;
  for (const std::string& text : texts) {
    refs.push_back(pool.add(text));
    names.push_back(pool.intern(text));
  }
  for (std::size_t i = 0; i < texts.size(); ++i) {
    RC_ASSERT(refs[i].view() == texts[i]);
    RC_ASSERT(pool.name(names[i]) == texts[i]);
    for (std::size_t j = 0; j < i; ++j) {
      RC_ASSERT((names[i] == names[j]) == (texts[i] == texts[j]));
    }
  }
}

}  // namespace
}  // namespace pawl::replay

#include "replay/flat_index.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/hash.h"

namespace pawl::replay {
namespace {

std::uint32_t* find_exact(FlatIndex& index, std::uint64_t hash, std::uint32_t wanted) {
  return index.find(hash, [&](std::uint32_t value) { return value == wanted; });
}

TEST(FlatIndex, IsEmptyAtFirst) {
  FlatIndex index;
  EXPECT_EQ(index.find(1, [](std::uint32_t) { return true; }), nullptr);
  EXPECT_EQ(index.memory_bytes(), 0U);
}

TEST(FlatIndex, FindsManyKeysThroughGrowth) {
  std::vector<std::string> keys;
  FlatIndex index;
  for (std::uint32_t i = 0; i < 20'000; ++i) {
    keys.push_back("key " + std::to_string(i));
    index.insert(fast_hash(keys.back()), i);
  }
  for (std::uint32_t i = 0; i < keys.size(); ++i) {
    const std::uint32_t* found =
        index.find(fast_hash(keys[i]), [&](std::uint32_t value) { return keys[value] == keys[i]; });
    ASSERT_NE(found, nullptr) << keys[i];
    EXPECT_EQ(*found, i);
  }
  EXPECT_EQ(index.find(fast_hash("key 20000"),
                       [&](std::uint32_t value) { return keys[value] == "key 20000"; }),
            nullptr);
}

TEST(FlatIndex, TellsEqualHashesApartByTheKey) {
  FlatIndex index;
  for (std::uint32_t value = 0; value < 100; ++value) {
    index.insert(7, value);
  }
  for (std::uint32_t value = 0; value < 100; ++value) {
    const std::uint32_t* found = find_exact(index, 7, value);
    ASSERT_NE(found, nullptr);
    EXPECT_EQ(*found, value);
  }
  EXPECT_EQ(find_exact(index, 7, 100), nullptr);
}

TEST(FlatIndex, AsksOnlyAboutValuesWithThatHash) {
  FlatIndex index;
  for (std::uint32_t value = 0; value < 1000; ++value) {
    index.insert(mix_hash(value), value);
  }
  for (std::uint32_t value = 0; value < 1000; ++value) {
    index.find(mix_hash(value), [&](std::uint32_t asked) {
      EXPECT_EQ(static_cast<std::uint32_t>(mix_hash(asked)),
                static_cast<std::uint32_t>(mix_hash(value)));
      return asked == value;
    });
  }
}

TEST(FlatIndex, AValueCanBeReplaced) {
  FlatIndex index;
  index.insert(1, 10);
  index.insert(2, 20);
  *find_exact(index, 1, 10) = 11;
  EXPECT_EQ(find_exact(index, 1, 10), nullptr);
  EXPECT_NE(find_exact(index, 1, 11), nullptr);
  EXPECT_NE(find_exact(index, 2, 20), nullptr);
}

TEST(FlatIndex, ExpectedKeysNeedNoSecondTable) {
  FlatIndex index;
  index.expect(10'000);
  index.insert(0, 0);
  const std::size_t bytes = index.memory_bytes();
  for (std::uint32_t value = 1; value < 10'000; ++value) {
    index.insert(mix_hash(value), value);
  }
  EXPECT_EQ(index.memory_bytes(), bytes);
}

}  // namespace
}  // namespace pawl::replay

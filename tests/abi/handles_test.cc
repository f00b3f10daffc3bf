// Handles: whoever is inside is noticed, and what is removed is found by nobody.
#include "capi/handles.h"

#include <atomic>
#include <memory>
#include <thread>

#include <gtest/gtest.h>

namespace pawl::capi {
namespace {

struct Thing {
  int number = 17;
};
struct OfThings;
using Things = ExclusiveHandles<Thing, HandleKind::kContext, OfThings*>;

TEST(Handles, OneThatIsInUseIsBusyAndAfterwardsFree) {
  Things things;
  Thing thing;
  OfThings* const handle = things.add(&thing);
  {
    const auto use = things.use(handle, "thing");
    ASSERT_TRUE(use);
    const auto second = things.use(handle, "thing");
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().code, ErrorCode::kHandleBusy);
  }
  EXPECT_TRUE(things.use(handle, "thing"));
  EXPECT_TRUE(things.remove(handle));
  EXPECT_FALSE(things.remove(handle));
}

TEST(Handles, AnOldHandleIsNotThatOfWhoHasThePlaceNow) {
  Things things;
  Thing first;
  Thing second;
  OfThings* const old = things.add(&first);
  EXPECT_TRUE(things.remove(old));
  OfThings* const young = things.add(&second);
  EXPECT_NE(old, young);
  EXPECT_EQ(things.use(old, "thing").error().code, ErrorCode::kBadHandle);
  EXPECT_EQ(&*things.try_use(young), &second);
}

TEST(Handles, WhatIsNoHandleIsRefused) {
  Things things;
  Thing thing;
  OfThings* const handle = things.add(&thing);
  const auto number = reinterpret_cast<std::uint64_t>(handle);
  for (const std::uint64_t wrong :
       {std::uint64_t{0}, std::uint64_t{1}, number + 1, number ^ (std::uint64_t{1} << 56U),
        number + (std::uint64_t{2} << 24U), ~std::uint64_t{0},
        reinterpret_cast<std::uint64_t>(&thing)}) {
    EXPECT_EQ(things.use(reinterpret_cast<OfThings*>(wrong), "thing").error().code,
              ErrorCode::kBadHandle)
        << wrong;
  }
}

// Whoever removes a thing may destroy it at once, whatever others do.
TEST(Handles, RemovingWaitsForWhoIsInside) {
  Things things;
  for (int round = 0; round < 200; ++round) {
    auto thing = std::make_unique<Thing>();
    OfThings* const handle = things.add(thing.get());
    std::atomic<bool> is_running = false;
    int seen = 0;
    std::thread user([&] {
      while (true) {
        const auto use = things.try_use(handle);
        is_running = true;
        if (!use) {
          return;
        }
        seen += use->number == 17 ? 1 : 0;
      }
    });
    while (!is_running) {
      std::this_thread::yield();
    }
    EXPECT_TRUE(things.remove(handle));
    thing->number = 0;
    thing.reset();
    user.join();
    EXPECT_GT(seen, 0);
  }
}

}  // namespace
}  // namespace pawl::capi

#include "replay/awaits.h"

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace pawl::replay {
namespace {

using Ids = std::vector<AwaitId>;
using Overs = std::vector<AwaitStatus>;
using Futures = std::vector<FutureId>;

AwaitId all_of(Awaits& awaits, const Futures& futures, bool shielded = false) {
  return awaits.begin(AwaitMode::kAll, futures, shielded);
}
AwaitId any_of(Awaits& awaits, const Futures& futures, bool shielded = false) {
  return awaits.begin(AwaitMode::kAny, futures, shielded);
}

Overs complete(Awaits& awaits, FutureId future, bool failed = false) {
  Overs woken;
  awaits.complete(future, failed, woken);
  return woken;
}
Overs cancel(Awaits& awaits) {
  Overs woken;
  awaits.cancel(woken);
  return woken;
}
AwaitStatus ready(AwaitId await, FutureId decided_by = 0) {
  return {await, AwaitState::kReady, decided_by};
}
AwaitStatus cancelled(AwaitId await) { return {await, AwaitState::kCancelled, 0}; }

Futures blocked_on(const Awaits& awaits) {
  Futures futures = awaits.blocked_on();
  std::sort(futures.begin(), futures.end());
  return futures;
}

TEST(Awaits, AllWaitsForTheLast) {
  Awaits awaits;
  const AwaitId id = all_of(awaits, {1, 2, 3});
  EXPECT_EQ(complete(awaits, 2), Overs{});
  EXPECT_EQ(complete(awaits, 1), Overs{});
  EXPECT_TRUE(awaits.is_blocked(id));
  EXPECT_EQ(blocked_on(awaits), Futures{3});
  EXPECT_EQ(complete(awaits, 3), Overs{ready(id)});
  EXPECT_FALSE(awaits.is_blocked(id));
  EXPECT_EQ(blocked_on(awaits), Futures{});
}

TEST(Awaits, AllIsDecidedByTheFirstFailure) {
  Awaits awaits;
  const AwaitId id = all_of(awaits, {1, 2, 3});
  EXPECT_EQ(complete(awaits, 3), Overs{});
  EXPECT_EQ(complete(awaits, 2, true), Overs{ready(id, 2)});
  EXPECT_EQ(complete(awaits, 1, true), Overs{});
}

TEST(Awaits, AnyIsDecidedByTheFirst) {
  Awaits awaits;
  const AwaitId id = any_of(awaits, {1, 2, 3});
  EXPECT_EQ(blocked_on(awaits), (Futures{1, 2, 3}));
  EXPECT_EQ(complete(awaits, 2), Overs{ready(id, 2)});
  EXPECT_EQ(complete(awaits, 1), Overs{});
  const AwaitId failed = any_of(awaits, {4, 5});
  EXPECT_EQ(complete(awaits, 5, true), Overs{ready(failed, 5)});
}

TEST(Awaits, OneFutureWakesThemInTheOrderInWhichTheyBegan) {
  Awaits awaits;
  const AwaitId first = any_of(awaits, {9});
  const AwaitId second = all_of(awaits, {9});
  const AwaitId third = all_of(awaits, {8, 9});
  const AwaitId fourth = any_of(awaits, {9, 8});
  EXPECT_EQ(complete(awaits, 9), (Overs{ready(first, 9), ready(second), ready(fourth, 9)}));
  EXPECT_EQ(complete(awaits, 8), Overs{ready(third)});
}

TEST(Awaits, TheOrderIsThatOfBeginningAlsoWhenOthersHaveEnded) {
  Awaits awaits;
  const AwaitId first = any_of(awaits, {1});
  const AwaitId second = any_of(awaits, {9});
  complete(awaits, 1);
  const AwaitId third = any_of(awaits, {9});
  EXPECT_NE(third, first);
  EXPECT_FALSE(awaits.is_blocked(first));
  EXPECT_EQ(complete(awaits, 9), (Overs{ready(second, 9), ready(third, 9)}));
}

TEST(Awaits, TheSameFutureTwice) {
  Awaits awaits;
  const AwaitId all = all_of(awaits, {1, 1});
  const AwaitId any = any_of(awaits, {1, 1});
  EXPECT_EQ(complete(awaits, 1), (Overs{ready(all), ready(any, 1)}));
  const AwaitId failed = all_of(awaits, {2, 2, 3});
  EXPECT_EQ(complete(awaits, 2, true), Overs{ready(failed, 2)});
  EXPECT_EQ(complete(awaits, 3), Overs{});
}

TEST(Awaits, NumbersMeanSomethingWhileTheyAreBlocked) {
  Awaits awaits;
  EXPECT_FALSE(awaits.is_blocked(0));
  EXPECT_FALSE(awaits.is_blocked(1));
  const AwaitId id = any_of(awaits, {1});
  EXPECT_NE(id, 0U);
  EXPECT_TRUE(awaits.is_blocked(id));
  complete(awaits, 1);
  EXPECT_FALSE(awaits.is_blocked(id));
}

TEST(Awaits, ABlockedOneCanBeGivenUp) {
  Awaits awaits;
  const AwaitId given_up = all_of(awaits, {1, 2});
  const AwaitId kept = all_of(awaits, {1, 2});
  complete(awaits, 1);
  awaits.give_up(given_up);
  EXPECT_FALSE(awaits.is_blocked(given_up));
  EXPECT_EQ(complete(awaits, 2), Overs{ready(kept)});
}

TEST(Awaits, CancelInterruptsWhatIsBlockedOutsideAShield) {
  Awaits awaits;
  any_of(awaits, {1});
  complete(awaits, 1);
  const AwaitId plain = any_of(awaits, {2});
  const AwaitId shielded = any_of(awaits, {2}, true);
  const AwaitId second = all_of(awaits, {2, 3});
  EXPECT_EQ(cancel(awaits), (Overs{cancelled(plain), cancelled(second)}));
  EXPECT_TRUE(awaits.is_blocked(shielded));
  EXPECT_EQ(blocked_on(awaits), Futures{2});
  EXPECT_EQ(complete(awaits, 2), Overs{ready(shielded, 2)});
  EXPECT_EQ(complete(awaits, 3), Overs{});
}

TEST(Awaits, FuturesThatNobodyAwaitsWakeNobody) {
  Awaits awaits;
  EXPECT_EQ(complete(awaits, 1), Overs{});
  EXPECT_EQ(complete(awaits, 1'000'000), Overs{});
  any_of(awaits, {5});
  EXPECT_EQ(complete(awaits, 4), Overs{});
  EXPECT_EQ(complete(awaits, 6), Overs{});
}

TEST(Awaits, EndedOnesLeaveNoMemoryBehind) {
  Awaits awaits;
  const auto use = [&] {
    for (int i = 0; i < 1000; ++i) {
      awaits.give_up(any_of(awaits, {1, 2, 3}));
      any_of(awaits, {1, 2, 3});
      complete(awaits, 2);
    }
  };
  use();
  const std::size_t bytes = awaits.memory_bytes();
  use();
  EXPECT_EQ(awaits.memory_bytes(), bytes);
}

// The same rules, written without lists.
class Model {
 public:
  struct One {
    AwaitId id;
    AwaitMode mode;
    Futures missing;
    bool shielded;
  };

  void begin(One one) { blocked_.push_back(std::move(one)); }
  void give_up(AwaitId id) {
    std::erase_if(blocked_, [&](const One& one) { return one.id == id; });
  }
  Overs complete(FutureId future, bool failed) {
    Overs over;
    std::erase_if(blocked_, [&](One& one) {
      const bool waited = std::erase(one.missing, future) > 0;
      const bool is_decisive = one.mode == AwaitMode::kAny || failed;
      if (waited && (is_decisive || one.missing.empty())) {
        over.push_back(ready(one.id, is_decisive ? future : 0));
        return true;
      }
      return false;
    });
    return over;
  }
  Overs cancel() {
    Overs over;
    std::erase_if(blocked_, [&](const One& one) {
      if (!one.shielded) {
        over.push_back(cancelled(one.id));
      }
      return !one.shielded;
    });
    return over;
  }
  bool is_blocked(AwaitId id) const {
    return std::any_of(blocked_.begin(), blocked_.end(),
                       [&](const One& one) { return one.id == id; });
  }
  Futures blocked_on() const {
    Futures futures;
    for (const One& one : blocked_) {
      futures.insert(futures.end(), one.missing.begin(), one.missing.end());
    }
    std::sort(futures.begin(), futures.end());
    return futures;
  }

 private:
  std::vector<One> blocked_;
};

RC_GTEST_PROP(AwaitsProperty, AgreesWithASimpleModel, ()) {
  Awaits awaits;
  Model model;
  FutureId next = 1;
  Futures open;
  Ids begun;
  const int steps = *rc::gen::inRange(1, 200);
  for (int step = 0; step < steps; ++step) {
    const int choice = *rc::gen::inRange(0, 10);
    if (choice < 3 || open.empty()) {
      open.push_back(next++);
    } else if (choice < 6) {
      const auto count = *rc::gen::inRange<std::size_t>(1, 5);
      Futures futures;
      for (std::size_t i = 0; i < count; ++i) {
        futures.push_back(*rc::gen::elementOf(open));
      }
      const auto mode = *rc::gen::element(AwaitMode::kAll, AwaitMode::kAny);
      const bool shielded = *rc::gen::inRange(0, 4) == 0;
      const AwaitId id = awaits.begin(mode, futures, shielded);
      RC_ASSERT(std::count(begun.begin(), begun.end(), id) == 0);
      begun.push_back(id);
      model.begin({id, mode, futures, shielded});
    } else if (choice < 8) {
      const FutureId future = *rc::gen::elementOf(open);
      const bool failed = *rc::gen::inRange(0, 3) == 0;
      std::erase(open, future);
      RC_ASSERT(complete(awaits, future, failed) == model.complete(future, failed));
    } else if (choice < 9 && !begun.empty()) {
      const AwaitId id = *rc::gen::elementOf(begun);
      RC_ASSERT(awaits.is_blocked(id) == model.is_blocked(id));
      if (awaits.is_blocked(id)) {
        awaits.give_up(id);
        model.give_up(id);
      }
    } else if (*rc::gen::inRange(0, 4) == 0) {
      RC_ASSERT(cancel(awaits) == model.cancel());
    }
    RC_ASSERT(blocked_on(awaits) == model.blocked_on());
  }
}

}  // namespace
}  // namespace pawl::replay

#include "replay/awaits.h"

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace pawl::replay {
namespace {

using Ids = std::vector<AwaitId>;
using Futures = std::vector<FutureId>;

AwaitId all_of(Awaits& awaits, const Futures& futures, bool shielded = false) {
  return awaits.begin(AwaitMode::kAll, futures, shielded);
}
AwaitId any_of(Awaits& awaits, const Futures& futures, bool shielded = false) {
  return awaits.begin(AwaitMode::kAny, futures, shielded);
}

Ids complete(Awaits& awaits, FutureId future, bool failed = false) {
  Ids woken;
  awaits.complete(future, failed, woken);
  return woken;
}
Ids cancel(Awaits& awaits) {
  Ids woken;
  awaits.cancel(woken);
  return woken;
}

Futures blocked_on(const Awaits& awaits) {
  Futures futures = awaits.blocked_on();
  std::sort(futures.begin(), futures.end());
  return futures;
}

TEST(Awaits, AllWaitsForTheLast) {
  Awaits awaits;
  const AwaitId id = all_of(awaits, {1, 2, 3});
  EXPECT_EQ(complete(awaits, 2), Ids{});
  EXPECT_EQ(complete(awaits, 1), Ids{});
  EXPECT_EQ(awaits.status(id).state, AwaitState::kBlocked);
  EXPECT_EQ(blocked_on(awaits), Futures{3});
  EXPECT_EQ(complete(awaits, 3), Ids{id});
  EXPECT_EQ(awaits.status(id).state, AwaitState::kReady);
  EXPECT_EQ(awaits.status(id).decided_by, 0U);
  EXPECT_EQ(blocked_on(awaits), Futures{});
}

TEST(Awaits, AllIsDecidedByTheFirstFailure) {
  Awaits awaits;
  const AwaitId id = all_of(awaits, {1, 2, 3});
  EXPECT_EQ(complete(awaits, 3), Ids{});
  EXPECT_EQ(complete(awaits, 2, true), Ids{id});
  EXPECT_EQ(awaits.status(id).decided_by, 2U);
  EXPECT_EQ(complete(awaits, 1, true), Ids{});
  EXPECT_EQ(awaits.status(id).decided_by, 2U);
}

TEST(Awaits, AnyIsDecidedByTheFirst) {
  Awaits awaits;
  const AwaitId id = any_of(awaits, {1, 2, 3});
  EXPECT_EQ(blocked_on(awaits), (Futures{1, 2, 3}));
  EXPECT_EQ(complete(awaits, 2), Ids{id});
  EXPECT_EQ(awaits.status(id).decided_by, 2U);
  EXPECT_EQ(complete(awaits, 1), Ids{});
  EXPECT_EQ(awaits.status(id).decided_by, 2U);
  const AwaitId failed = any_of(awaits, {4, 5});
  EXPECT_EQ(complete(awaits, 5, true), Ids{failed});
  EXPECT_EQ(awaits.status(failed).decided_by, 5U);
}

TEST(Awaits, OneFutureWakesThemInTheOrderInWhichTheyBegan) {
  Awaits awaits;
  const AwaitId first = any_of(awaits, {9});
  const AwaitId second = all_of(awaits, {9});
  const AwaitId third = all_of(awaits, {8, 9});
  const AwaitId fourth = any_of(awaits, {9, 8});
  EXPECT_EQ(complete(awaits, 9), (Ids{first, second, fourth}));
  EXPECT_EQ(complete(awaits, 8), Ids{third});
}

TEST(Awaits, TheOrderIsThatOfBeginningAlsoWhenOthersHaveEnded) {
  Awaits awaits;
  const AwaitId first = any_of(awaits, {1});
  const AwaitId second = any_of(awaits, {9});
  complete(awaits, 1);
  awaits.end(first);
  const AwaitId third = any_of(awaits, {9});
  EXPECT_NE(third, first);
  EXPECT_FALSE(awaits.is_valid(first));
  EXPECT_EQ(complete(awaits, 9), (Ids{second, third}));
}

TEST(Awaits, TheSameFutureTwice) {
  Awaits awaits;
  const AwaitId all = all_of(awaits, {1, 1});
  const AwaitId any = any_of(awaits, {1, 1});
  EXPECT_EQ(complete(awaits, 1), (Ids{all, any}));
  const AwaitId failed = all_of(awaits, {2, 2, 3});
  EXPECT_EQ(complete(awaits, 2, true), Ids{failed});
  EXPECT_EQ(awaits.status(failed).decided_by, 2U);
  EXPECT_EQ(complete(awaits, 3), Ids{});
}

TEST(Awaits, OneThatNeedsNotWait) {
  Awaits awaits;
  const AwaitId id = awaits.begin_ready(7);
  EXPECT_TRUE(awaits.is_valid(id));
  EXPECT_EQ(awaits.status(id).state, AwaitState::kReady);
  EXPECT_EQ(awaits.status(id).decided_by, 7U);
  EXPECT_EQ(cancel(awaits), Ids{});
  EXPECT_EQ(blocked_on(awaits), Futures{});
}

TEST(Awaits, NumbersAreValidFromBeginToEnd) {
  Awaits awaits;
  EXPECT_FALSE(awaits.is_valid(0));
  EXPECT_FALSE(awaits.is_valid(1));
  const AwaitId id = any_of(awaits, {1});
  EXPECT_NE(id, 0U);
  EXPECT_TRUE(awaits.is_valid(id));
  complete(awaits, 1);
  EXPECT_TRUE(awaits.is_valid(id));
  awaits.end(id);
  EXPECT_FALSE(awaits.is_valid(id));
}

TEST(Awaits, ABlockedOneCanBeGivenUp) {
  Awaits awaits;
  const AwaitId given_up = all_of(awaits, {1, 2});
  const AwaitId kept = all_of(awaits, {1, 2});
  complete(awaits, 1);
  awaits.end(given_up);
  EXPECT_EQ(complete(awaits, 2), Ids{kept});
}

TEST(Awaits, CancelInterruptsWhatIsBlockedOutsideAShield) {
  Awaits awaits;
  const AwaitId done = any_of(awaits, {1});
  complete(awaits, 1);
  const AwaitId plain = any_of(awaits, {2});
  const AwaitId shielded = any_of(awaits, {2}, true);
  const AwaitId second = all_of(awaits, {2, 3});
  EXPECT_EQ(cancel(awaits), (Ids{plain, second}));
  EXPECT_EQ(awaits.status(plain).state, AwaitState::kCancelled);
  EXPECT_EQ(awaits.status(done).state, AwaitState::kReady);
  EXPECT_EQ(awaits.status(shielded).state, AwaitState::kBlocked);
  EXPECT_EQ(blocked_on(awaits), Futures{2});
  EXPECT_EQ(complete(awaits, 2), Ids{shielded});
  EXPECT_EQ(complete(awaits, 3), Ids{});
}

TEST(Awaits, FuturesThatNobodyAwaitsWakeNobody) {
  Awaits awaits;
  EXPECT_EQ(complete(awaits, 1), Ids{});
  EXPECT_EQ(complete(awaits, 1'000'000), Ids{});
  any_of(awaits, {5});
  EXPECT_EQ(complete(awaits, 4), Ids{});
  EXPECT_EQ(complete(awaits, 6), Ids{});
}

TEST(Awaits, EndedOnesLeaveNoMemoryBehind) {
  Awaits awaits;
  const auto use = [&] {
    for (int i = 0; i < 1000; ++i) {
      const AwaitId id = any_of(awaits, {1, 2, 3});
      awaits.end(id);
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
  void end(AwaitId id) {
    std::erase_if(blocked_, [&](const One& one) { return one.id == id; });
  }
  Ids complete(FutureId future, bool failed) {
    return wake([&](One& one) {
      const bool waited = std::erase(one.missing, future) > 0;
      return waited && (one.mode == AwaitMode::kAny || failed || one.missing.empty());
    });
  }
  Ids cancel() {
    return wake([](const One& one) { return !one.shielded; });
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
  template <class Wakes>
  Ids wake(Wakes wakes) {
    Ids woken;
    std::erase_if(blocked_, [&](One& one) {
      const bool wakes_now = wakes(one);
      if (wakes_now) {
        woken.push_back(one.id);
      }
      return wakes_now;
    });
    return woken;
  }

  std::vector<One> blocked_;
};

RC_GTEST_PROP(AwaitsProperty, AgreesWithASimpleModel, ()) {
  Awaits awaits;
  Model model;
  FutureId next = 1;
  Futures open;
  Ids alive;
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
      RC_ASSERT(std::count(alive.begin(), alive.end(), id) == 0);
      alive.push_back(id);
      model.begin({id, mode, futures, shielded});
    } else if (choice < 8) {
      const FutureId future = *rc::gen::elementOf(open);
      const bool failed = *rc::gen::inRange(0, 3) == 0;
      std::erase(open, future);
      RC_ASSERT(complete(awaits, future, failed) == model.complete(future, failed));
    } else if (choice < 9 && !alive.empty()) {
      const AwaitId id = *rc::gen::elementOf(alive);
      std::erase(alive, id);
      awaits.end(id);
      model.end(id);
    } else if (*rc::gen::inRange(0, 4) == 0) {
      RC_ASSERT(cancel(awaits) == model.cancel());
    }
    RC_ASSERT(blocked_on(awaits) == model.blocked_on());
  }
}

}  // namespace
}  // namespace pawl::replay

#include "replay/run_state.h"

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace pawl::replay {
namespace {

// A log that is nothing but structure, and the state of its run.
class RunStateTest : public testing::Test {
 protected:
  BranchId open(EntryKind kind, BranchId parent) {
    Entry entry;
    entry.kind = kind;
    entry.seq = log_.last_seq() + 1;
    const Coordinate coordinate(log_.next_whole_number(parent));
    log_.append_command(entry, parent, coordinate);
    return log_.child_branch(parent, coordinate);
  }
  BranchId loop_in(BranchId parent) { return open(EntryKind::kLoopStarted, parent); }
  BranchId branch_in(BranchId parent) { return open(EntryKind::kBranchOpened, parent); }
  BranchId iteration(BranchId loop, Ordinate number) { return log_.enter_iteration(loop, number); }

  void set(BranchId branch, std::string_view key, std::string_view value) {
    state_.write(log_, key, kept_.emplace_back(value), branch);
  }
  void clear(BranchId branch, std::string_view key) {
    state_.write(log_, key, std::nullopt, branch);
  }
  std::string get(std::string_view key) const {
    return std::string(state_.get(key).value_or("(none)"));
  }
  // "a=1 b cleared"
  std::string changes(BranchId loop) {
    std::string text;
    for (const StateChange& change : state_.net_changes(log_, loop)) {
      text += text.empty() ? "" : " ";
      text += change.key + (change.value ? "=" + *change.value : " cleared");
    }
    return text;
  }

  Log log_;
  std::deque<std::string> kept_;  // State does not copy values.
  RunState state_;
};

TEST_F(RunStateTest, SetsReplacesAndClears) {
  EXPECT_EQ(get("k"), "(none)");
  set(kRootBranch, "k", "1");
  EXPECT_EQ(get("k"), "1");
  set(kRootBranch, "k", "2");
  EXPECT_EQ(get("k"), "2");
  clear(kRootBranch, "k");
  EXPECT_EQ(get("k"), "(none)");
  clear(kRootBranch, "k");
  EXPECT_EQ(get("k"), "(none)");
  set(kRootBranch, "", "empty key");
  EXPECT_EQ(get(""), "empty key");
}

TEST_F(RunStateTest, AnEmptyValueIsAValue) {
  set(kRootBranch, "k", "");
  EXPECT_EQ(state_.get("k"), std::optional<std::string_view>(""));
}

TEST_F(RunStateTest, ALoopThatWroteNothingHasNoChanges) {
  const BranchId loop = loop_in(kRootBranch);
  set(kRootBranch, "outside", "1");
  EXPECT_EQ(changes(loop), "");
}

TEST_F(RunStateTest, TheLastValueOfEachKeyInOrderOfKey) {
  const BranchId loop = loop_in(kRootBranch);
  set(iteration(loop, 1), "b", "1");
  set(iteration(loop, 1), "a", "1");
  set(iteration(loop, 2), "b", "2");
  EXPECT_EQ(changes(loop), "a=1 b=2");
}

TEST_F(RunStateTest, ChangesOfEarlierCheckpointsStayUntilTheLoopEnds) {
  const BranchId loop = loop_in(kRootBranch);
  set(iteration(loop, 1), "a", "1");
  EXPECT_EQ(changes(loop), "a=1");
  set(iteration(loop, 2), "b", "2");
  EXPECT_EQ(changes(loop), "a=1 b=2");
  state_.end_loop(loop);
  EXPECT_EQ(changes(loop), "");
  EXPECT_EQ(get("a"), "1");
}

TEST_F(RunStateTest, WhatWasMadeAndClearedInsideLeavesNoTrace) {
  const BranchId loop = loop_in(kRootBranch);
  set(iteration(loop, 1), "k", "1");
  clear(iteration(loop, 2), "k");
  EXPECT_EQ(changes(loop), "");
  EXPECT_EQ(get("k"), "(none)");
}

TEST_F(RunStateTest, ClearingAnAbsentKeyLeavesNoTrace) {
  const BranchId loop = loop_in(kRootBranch);
  clear(iteration(loop, 1), "k");
  EXPECT_EQ(changes(loop), "");
}

TEST_F(RunStateTest, AClearedOuterValueIsCleared) {
  set(kRootBranch, "k", "outer");
  const BranchId loop = loop_in(kRootBranch);
  clear(iteration(loop, 1), "k");
  EXPECT_EQ(changes(loop), "k cleared");
  EXPECT_EQ(changes(loop), "k cleared");
}

TEST_F(RunStateTest, AReplacedAndThenClearedOuterValueIsCleared) {
  set(kRootBranch, "k", "outer");
  const BranchId loop = loop_in(kRootBranch);
  set(iteration(loop, 1), "k", "inner");
  EXPECT_EQ(changes(loop), "k=inner");
  clear(iteration(loop, 2), "k");
  EXPECT_EQ(changes(loop), "k cleared");
  set(iteration(loop, 3), "k", "again");
  EXPECT_EQ(changes(loop), "k=again");
}

TEST_F(RunStateTest, WhoeverWritesOutsideTakesTheKeyAway) {
  const BranchId loop = loop_in(kRootBranch);
  const BranchId beside = branch_in(kRootBranch);
  set(iteration(loop, 1), "a", "inner");
  set(iteration(loop, 1), "b", "inner");
  set(iteration(loop, 1), "c", "inner");
  set(beside, "a", "outer");
  clear(beside, "b");
  EXPECT_EQ(changes(loop), "c=inner");
  EXPECT_EQ(get("a"), "outer");
  EXPECT_EQ(get("b"), "(none)");
}

TEST_F(RunStateTest, ALoopCanTakeTheKeyBack) {
  const BranchId loop = loop_in(kRootBranch);
  set(iteration(loop, 1), "k", "inner");
  set(kRootBranch, "k", "outer");
  EXPECT_EQ(changes(loop), "");
  clear(iteration(loop, 2), "k");
  EXPECT_EQ(changes(loop), "k cleared");
}

TEST_F(RunStateTest, BranchesInsideAnIterationBelongToTheLoop) {
  const BranchId loop = loop_in(kRootBranch);
  const BranchId branch = branch_in(branch_in(iteration(loop, 1)));
  set(branch, "k", "deep");
  EXPECT_EQ(changes(loop), "k=deep");
}

TEST_F(RunStateTest, LoopsBesideEachOtherKeepTheirOwn) {
  const BranchId one = loop_in(branch_in(kRootBranch));
  const BranchId two = loop_in(branch_in(kRootBranch));
  set(iteration(one, 1), "a", "1");
  set(iteration(two, 1), "b", "2");
  set(iteration(one, 1), "k", "1");
  set(iteration(two, 1), "k", "2");
  EXPECT_EQ(changes(one), "a=1");
  EXPECT_EQ(changes(two), "b=2 k=2");
  clear(iteration(two, 2), "a");
  EXPECT_EQ(changes(one), "");
  EXPECT_EQ(changes(two), "a cleared b=2 k=2");
}

TEST_F(RunStateTest, WhatAnInnerLoopLeftBelongsToTheOuterOneToo) {
  set(kRootBranch, "root", "0");
  const BranchId outer = loop_in(kRootBranch);
  const BranchId first = iteration(outer, 1);
  set(first, "outer", "1");
  const BranchId inner = loop_in(first);
  set(iteration(inner, 1), "inner", "2");
  clear(iteration(inner, 1), "root");
  clear(iteration(inner, 2), "outer");
  // For the inner loop, the key of the outer one comes from outside.
  EXPECT_EQ(changes(inner), "inner=2 outer cleared root cleared");
  state_.end_loop(inner);
  // For the outer one, it was made and cleared inside.
  EXPECT_EQ(changes(outer), "inner=2 root cleared");
}

TEST_F(RunStateTest, WhatAnInnerLoopMadeAndClearedIsGoneForTheOuterOneToo) {
  const BranchId outer = loop_in(kRootBranch);
  const BranchId inner = loop_in(iteration(outer, 1));
  set(iteration(inner, 1), "k", "1");
  clear(iteration(inner, 1), "k");
  EXPECT_EQ(changes(inner), "");
  state_.end_loop(inner);
  EXPECT_EQ(changes(outer), "");
}

TEST_F(RunStateTest, ApplyingAChangeIsLikeMakingIt) {
  set(kRootBranch, "gone", "outer");
  set(kRootBranch, "kept", "outer");
  const BranchId loop = loop_in(kRootBranch);
  const std::vector<StateChange> applied = {{"gone", std::nullopt}, {"made", "1"}};
  state_.apply(log_, loop, applied);
  EXPECT_EQ(get("gone"), "(none)");
  EXPECT_EQ(get("made"), "1");
  EXPECT_EQ(get("kept"), "outer");
  EXPECT_EQ(changes(loop), "gone cleared made=1");
  set(iteration(loop, 3), "made", "2");
  EXPECT_EQ(changes(loop), "gone cleared made=2");
}

// Nothing may pile up: a loop that makes and clears a new key in every iteration.
TEST_F(RunStateTest, ManyShortLivedKeysLeaveNoTrace) {
  const BranchId loop = loop_in(kRootBranch);
  for (Ordinate i = 1; i <= 1000; ++i) {
    const std::string key = "k" + std::to_string(i);
    set(iteration(loop, i), key, "1");
    clear(iteration(loop, i), key);
    ASSERT_EQ(changes(loop), "");
  }
}

// Whoever applies a loop's net changes to the state from before the loop gets the state after it.
RC_GTEST_FIXTURE_PROP(RunStateTest, NetChangesStandForTheWrites, ()) {
  const std::vector<std::string> keys = {"a", "b", "c"};
  std::map<std::string, std::string> before;
  for (const std::string& key : keys) {
    if (*rc::gen::inRange(0, 2) == 0) {
      set(kRootBranch, key, "outer");
      before[key] = "outer";
    }
  }
  const BranchId outer = loop_in(kRootBranch);
  BranchId inner = kNoBranch;
  const int writes = *rc::gen::inRange(0, 30);
  for (int i = 1; i <= writes; ++i) {
    const auto number = static_cast<Ordinate>(i);
    BranchId writer = iteration(outer, number);
    const int where = *rc::gen::inRange(0, 3);
    if (where == 1) {
      inner = loop_in(writer);
      writer = iteration(inner, 1);
    } else if (where == 2 && inner != kNoBranch) {
      writer = iteration(inner, 2);
    }
    const std::string key = *rc::gen::elementOf(keys);
    if (*rc::gen::inRange(0, 2) == 0) {
      set(writer, key, std::to_string(i));
    } else {
      clear(writer, key);
    }
    if (inner != kNoBranch && *rc::gen::inRange(0, 4) == 0) {
      state_.net_changes(log_, inner);
    }
    std::map<std::string, std::string> after = before;
    for (const StateChange& change : state_.net_changes(log_, outer)) {
      if (change.value) {
        after[change.key] = *change.value;
      } else {
        RC_ASSERT(before.contains(change.key));
        after.erase(change.key);
      }
    }
    for (const std::string& each : keys) {
      const auto expected = after.find(each);
      RC_ASSERT(get(each) == (expected == after.end() ? "(none)" : expected->second));
    }
  }
}

}  // namespace
}  // namespace pawl::replay

#include "replay/labels.h"

#include <string>
#include <string_view>

#include <gtest/gtest.h>

namespace pawl::replay {
namespace {

constexpr std::string_view kMadeByTheCore = "fec8bbaf-7d30-595f-9ba3-0e15c7f6dcb6";

class LabelsTest : public testing::Test {
 protected:
  RecordId add(EntryKind kind, std::string_view location, std::string_view name = "",
               std::string_view id = "") {
    Entry entry;
    entry.kind = kind;
    entry.seq = log_.last_seq() + 1;
    entry.location = location;
    entry.name = name;
    entry.id = id;
    const Result<void> loaded = log_.load(entry);
    EXPECT_TRUE(loaded) << loaded.error().message;
    return static_cast<RecordId>(log_.size() - 1);
  }
  RecordId add_removed(std::string_view location, CommandKind kind, std::string_view name) {
    Entry entry;
    entry.kind = EntryKind::kStepRemoved;
    entry.seq = log_.last_seq() + 1;
    entry.location = location;
    entry.name = name;
    entry.removed = kind;
    EXPECT_TRUE(log_.load(entry));
    return static_cast<RecordId>(log_.size() - 1);
  }
  std::string label(RecordId id) const { return labels_of(log_, log_[id]).to_string(); }

  Log log_;
};

TEST_F(LabelsTest, PlaceAmongItsKindFromZeroAndAmongItsNameFromOne) {
  const RecordId first = add(EntryKind::kTaskScheduled, "{1}", "charge", "t-1");
  const RecordId timer = add(EntryKind::kTimerStarted, "{2}", "", "pause");
  const RecordId other = add(EntryKind::kTaskScheduled, "{3}", "mail", "t-2");
  const RecordId again = add(EntryKind::kTaskScheduled, "{4}", "charge", "t-3");
  EXPECT_EQ(label(first), "{1} Task(0) charge:1");
  EXPECT_EQ(label(timer), "{2} Timer(0) pause:1");
  EXPECT_EQ(label(other), "{3} Task(1) mail:1");
  EXPECT_EQ(label(again), "{4} Task(2) charge:2");
}

TEST_F(LabelsTest, CountsInOrderOfLocationNotOfTheLog) {
  const RecordId one = add(EntryKind::kTaskScheduled, "{1}", "a", "t-1");
  const RecordId two = add(EntryKind::kTaskScheduled, "{2}", "a", "t-2");
  const RecordId inserted = add(EntryKind::kTaskScheduled, "{1.1}", "a", "t-3");
  EXPECT_EQ(label(one), "{1} Task(0) a:1");
  EXPECT_EQ(label(inserted), "{1.1} Task(1) a:2");
  EXPECT_EQ(label(two), "{2} Task(2) a:3");
}

TEST_F(LabelsTest, EachBranchCountsForItself) {
  add(EntryKind::kTaskScheduled, "{1}", "a", "t-1");
  add(EntryKind::kBranchOpened, "{2}");
  const RecordId below = add(EntryKind::kTaskScheduled, "{2, 1}", "a", "t-2");
  add(EntryKind::kLoopStarted, "{3}");
  const RecordId first = add(EntryKind::kTaskScheduled, "{3, 1, 1}", "a", "t-3");
  const RecordId second = add(EntryKind::kTaskScheduled, "{3, 2, 1}", "a", "t-4");
  EXPECT_EQ(label(below), "{2, 1} Task(0) a:1");
  EXPECT_EQ(label(first), "{3, 1, 1} Task(0) a:1");
  EXPECT_EQ(label(second), "{3, 2, 1} Task(0) a:1");
}

TEST_F(LabelsTest, EveryKindHasItsWordAndItsName) {
  const struct {
    EntryKind kind;
    std::string_view name;
    std::string_view id;
    std::string_view label;
  } kinds[] = {
      {EntryKind::kTaskScheduled, "charge", "t-1", "Task(0) charge:1"},
      {EntryKind::kOperationStarted, "now", "o-1", "Operation(0) now:1"},
      {EntryKind::kOperationCompleted, "now", "o-2", "Operation(1) now:2"},
      {EntryKind::kOperationFailed, "later", "o-3", "Operation(2) later:1"},
      {EntryKind::kTimerStarted, "", "pause", "Timer(0) pause:1"},
      {EntryKind::kPromiseCreated, "", "approval", "Promise(0) approval:1"},
      {EntryKind::kChildWorkflowInitiated, "ship", "c-1", "ChildWorkflow(0) ship:1"},
      {EntryKind::kStateSet, "total", "", "State(0) total:1"},
      {EntryKind::kStateCleared, "total", "", "State(1) total:2"},
      {EntryKind::kSignalAwaited, "go", "", "Signal(0) go:1"},
      {EntryKind::kBranchOpened, "", "", "Branch(0)"},
      {EntryKind::kLoopStarted, "", "", "Loop(0)"},
      {EntryKind::kVersionChecked, "", "", "VersionCheck(0)"},
      {EntryKind::kCompensationRegistered, "refund", "", "Compensation(0) refund:1"},
      {EntryKind::kTaskCancelRequested, "", "t-1", "CancelTask(0) t-1:1"},
      {EntryKind::kTimerCancelRequested, "", "pause", "CancelTimer(0) pause:1"},
  };
  int place = 0;
  for (const auto& kind : kinds) {
    const std::string location = "{" + std::to_string(++place) + "}";
    EXPECT_EQ(label(add(kind.kind, location, kind.name, kind.id)),
              location + " " + std::string(kind.label));
  }
}

TEST_F(LabelsTest, ARemovedStepCountsAsTheKindThatItWas) {
  add(EntryKind::kTaskScheduled, "{1}", "a", "t-1");
  const RecordId removed = add_removed("{2}", CommandKind::kTask, "a");
  const RecordId after = add(EntryKind::kTaskScheduled, "{3}", "a", "t-2");
  EXPECT_EQ(label(removed), "{2} Task(1) a:2");
  EXPECT_EQ(label(after), "{3} Task(2) a:3");
}

TEST_F(LabelsTest, AnIdThatTheCoreMadeIsNoNameForATimer) {
  const RecordId timer = add(EntryKind::kTimerStarted, "{1}", "", kMadeByTheCore);
  EXPECT_EQ(label(timer), "{1} Timer(0)");
}

// A cancel request goes by the id of what is to be cancelled, whoever made that id.
TEST_F(LabelsTest, ACancelRequestIsNamedByTheIdAlsoWhenTheCoreMadeIt) {
  add(EntryKind::kTaskScheduled, "{1}", "a", kMadeByTheCore);
  const RecordId cancel = add(EntryKind::kTaskCancelRequested, "{2}", "", kMadeByTheCore);
  EXPECT_EQ(label(cancel), "{2} CancelTask(0) " + std::string(kMadeByTheCore) + ":1");
}

TEST_F(LabelsTest, NamesOfPlacesWhereNothingStands) {
  add(EntryKind::kTaskScheduled, "{1}", "a", "t-1");
  add(EntryKind::kTaskScheduled, "{2}", "b", "t-2");
  const auto at = [&](Ordinate head, std::string_view name) {
    return labels_at(log_, kRootBranch, Coordinate(head), CommandKind::kTask, name).to_string();
  };
  EXPECT_EQ(at(1, "x"), "{1} Task(0) x:1");
  EXPECT_EQ(at(2, "a"), "{2} Task(1) a:2");
  EXPECT_EQ(at(3, "b"), "{3} Task(2) b:2");
  EXPECT_EQ(at(3, ""), "{3} Task(2)");
}

TEST_F(LabelsTest, CommandNameAndHasNameAgree) {
  const RecordId task = add(EntryKind::kTaskScheduled, "{1}", "charge", kMadeByTheCore);
  const RecordId timer = add(EntryKind::kTimerStarted, "{2}", "", kMadeByTheCore);
  EXPECT_EQ(command_name(log_, log_[task]), "charge");
  EXPECT_TRUE(has_name(log_, log_[task], "charge"));
  EXPECT_FALSE(has_name(log_, log_[task], kMadeByTheCore));
  EXPECT_EQ(command_name(log_, log_[timer]), kMadeByTheCore);
  EXPECT_TRUE(has_name(log_, log_[timer], kMadeByTheCore));
  EXPECT_FALSE(has_name(log_, log_[timer], ""));
}

}  // namespace
}  // namespace pawl::replay

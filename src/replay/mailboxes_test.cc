#include "replay/mailboxes.h"

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

namespace pawl::replay {
namespace {

constexpr NameId kOrder = 1;
constexpr NameId kOther = 2;

FutureId put(Mailboxes& boxes, NameId name, RecordId signal) {
  return boxes.put(name, signal, [](FutureId) { return true; });
}

TEST(Mailboxes, ASignalThatNobodyWantsStays) {
  Mailboxes boxes;
  EXPECT_EQ(boxes.count(kOrder), 0U);
  EXPECT_EQ(boxes.take(kOrder), kNoRecord);
  EXPECT_EQ(put(boxes, kOrder, 10), 0U);
  EXPECT_EQ(boxes.count(kOrder), 1U);
  EXPECT_EQ(boxes.count(kOther), 0U);
  EXPECT_EQ(boxes.take(kOther), kNoRecord);
}

TEST(Mailboxes, SignalsAreTakenOldestFirst) {
  Mailboxes boxes;
  put(boxes, kOrder, 10);
  put(boxes, kOther, 11);
  put(boxes, kOrder, 12);
  EXPECT_EQ(boxes.take(kOrder), 10U);
  EXPECT_EQ(boxes.take(kOrder), 12U);
  EXPECT_EQ(boxes.take(kOrder), kNoRecord);
  EXPECT_EQ(boxes.take(kOther), 11U);
}

TEST(Mailboxes, TheOldestWaitTakesTheSignal) {
  Mailboxes boxes;
  boxes.add_wait(kOrder, 5);
  boxes.add_wait(kOrder, 6);
  boxes.add_wait(kOther, 7);
  EXPECT_EQ(put(boxes, kOrder, 10), 5U);
  EXPECT_EQ(put(boxes, kOrder, 11), 6U);
  EXPECT_EQ(put(boxes, kOrder, 12), 0U);
  EXPECT_EQ(boxes.count(kOrder), 1U);
  EXPECT_EQ(put(boxes, kOther, 13), 7U);
}

TEST(Mailboxes, WaitsThatAreOverTakeNothing) {
  Mailboxes boxes;
  boxes.add_wait(kOrder, 5);
  boxes.add_wait(kOrder, 6);
  boxes.add_wait(kOrder, 7);
  EXPECT_EQ(boxes.put(kOrder, 10, [](FutureId wait) { return wait == 7; }), 7U);
  EXPECT_EQ(put(boxes, kOrder, 11), 0U);
}

TEST(Mailboxes, OneVerySignalCanBeTaken) {
  Mailboxes boxes;
  put(boxes, kOrder, 10);
  put(boxes, kOrder, 11);
  put(boxes, kOrder, 12);
  boxes.take(kOrder, 11);
  boxes.take(kOrder, 99);
  boxes.take(kOther, 10);
  EXPECT_EQ(boxes.take(kOrder), 10U);
  EXPECT_EQ(boxes.take(kOrder), 12U);
}

TEST(Mailboxes, AllNamesWhatNobodyTook) {
  Mailboxes boxes;
  put(boxes, kOther, 11);
  put(boxes, kOrder, 10);
  put(boxes, kOrder, 12);
  boxes.take(kOrder);
  std::vector<RecordId> left = boxes.all();
  std::sort(left.begin(), left.end());
  EXPECT_EQ(left, (std::vector<RecordId>{11, 12}));
}

}  // namespace
}  // namespace pawl::replay

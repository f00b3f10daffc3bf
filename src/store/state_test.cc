#include "store/state.h"

#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace pawl::store {
namespace {

using replay::Entry;
using replay::EntryKind;
using Values = std::map<std::string, std::string>;

Entry set(std::uint64_t seq, std::string_view key, std::string_view value) {
  Entry entry;
  entry.kind = EntryKind::kStateSet;
  entry.seq = seq;
  entry.name = key;
  entry.has_payload = true;
  entry.payload = value;
  return entry;
}

Entry clear(std::uint64_t seq, std::string_view key) {
  Entry entry;
  entry.kind = EntryKind::kStateCleared;
  entry.seq = seq;
  entry.name = key;
  return entry;
}

Entry other(std::uint64_t seq) {
  Entry entry;
  entry.kind = EntryKind::kTimerStarted;
  entry.seq = seq;
  entry.name = "a";
  return entry;
}

Entry checkpoint(std::uint64_t seq, const replay::Checkpoint& checkpoint) {
  Entry entry;
  entry.kind = EntryKind::kLoopCheckpointed;
  entry.seq = seq;
  entry.checkpoint = &checkpoint;
  return entry;
}

State state_after(const std::vector<Entry>& log, std::uint64_t at_seq,
                  const std::vector<Entry>& forgotten = {}) {
  StateWalk walk(at_seq);
  for (const Entry& entry : forgotten) {
    walk.add_forgotten(entry);
  }
  for (const Entry& entry : log) {
    walk.add(entry);
  }
  return std::move(walk).end();
}

constexpr std::uint64_t kNow = std::numeric_limits<std::uint64_t>::max();

TEST(State, IsWhatWasSetAndNotCleared) {
  const std::vector<Entry> log = {set(1, "a", "1"), set(2, "b", "2"), other(3), set(4, "a", "3"),
                                  clear(5, "b")};
  EXPECT_EQ(state_after(log, kNow).values, (Values{{"a", "3"}}));
  EXPECT_EQ(state_after(log, 5).values, (Values{{"a", "3"}}));
  EXPECT_EQ(state_after(log, 4).values, (Values{{"a", "3"}, {"b", "2"}}));
  EXPECT_EQ(state_after(log, 3).values, (Values{{"a", "1"}, {"b", "2"}}));
  EXPECT_EQ(state_after(log, 1).values, (Values{{"a", "1"}}));
  EXPECT_EQ(state_after(log, 3).last_seq, 3U);
  EXPECT_TRUE(state_after(log, 3).is_complete);
  EXPECT_TRUE(state_after({}, kNow).is_complete);
  EXPECT_EQ(state_after({}, kNow).last_seq, 0U);
}

TEST(State, OfACheckpointIsItsNetEffect) {
  replay::Checkpoint net;
  net.changes = {{"a", "9"}, {"b", std::nullopt}};
  // 3 to 7 were moved away; 3 to 4 for good.
  const std::vector<Entry> log = {set(1, "a", "1"), set(2, "b", "2"), checkpoint(8, net),
                                  set(9, "c", "3")};
  const std::vector<Entry> forgotten = {set(5, "a", "5"), set(6, "a", "9"), clear(7, "b")};
  EXPECT_EQ(state_after(log, kNow, forgotten).values, (Values{{"a", "9"}, {"c", "3"}}));
  EXPECT_TRUE(state_after(log, kNow, forgotten).is_complete);
  EXPECT_TRUE(state_after(log, 8, forgotten).is_complete);
  EXPECT_EQ(state_after(log, 8, forgotten).values, (Values{{"a", "9"}}));
  // Inside of what is kept, after what is not.
  EXPECT_EQ(state_after(log, 5, forgotten).values, (Values{{"a", "5"}, {"b", "2"}}));
  EXPECT_FALSE(state_after(log, 5, forgotten).is_complete);
  // Inside of what is gone.
  EXPECT_FALSE(state_after(log, 3, forgotten).is_complete);
  // Before it.
  EXPECT_TRUE(state_after(log, 2, forgotten).is_complete);
}

Entry loop(std::uint64_t seq, std::string_view location) {
  Entry entry;
  entry.kind = EntryKind::kLoopStarted;
  entry.seq = seq;
  entry.location = location;
  return entry;
}

Entry of_loop(Entry entry, std::string_view location) {
  entry.location = location;
  return entry;
}

TEST(State, IsNotKnownUntilEachLoopHasToldOfItself) {
  replay::Checkpoint left;
  left.changes = {{"a", "9"}};
  replay::Checkpoint right;
  right.changes = {{"b", "9"}};
  // Two loops side by side; 3 to 6 are gone, of the one or the other.
  const std::vector<Entry> log = {loop(1, "{1, 1}"),
                                  loop(2, "{2, 1}"),
                                  of_loop(checkpoint(7, left), "{1, 1}"),
                                  other(8),
                                  of_loop(checkpoint(9, right), "{2, 1}"),
                                  loop(10, "{3}"),
                                  other(11),
                                  of_loop(checkpoint(12, left), "{3}")};
  EXPECT_TRUE(state_after(log, 2).is_complete);
  EXPECT_FALSE(state_after(log, 4).is_complete);
  EXPECT_FALSE(state_after(log, 7).is_complete);
  EXPECT_FALSE(state_after(log, 8).is_complete);
  EXPECT_TRUE(state_after(log, 9).is_complete);
  // What is gone was there before the third one.
  EXPECT_TRUE(state_after(log, 11).is_complete);
  EXPECT_TRUE(state_after(log, kNow).is_complete);
}

TEST(State, AnEarlierCheckpointThatIsKeptTells) {
  replay::Checkpoint net;
  const std::vector<Entry> log = {loop(1, "{1}"), of_loop(checkpoint(9, net), "{1}")};
  // 2 to 4 are gone.
  const std::vector<Entry> forgotten = {of_loop(checkpoint(5, net), "{1}"), other(6), other(7),
                                        other(8)};
  EXPECT_FALSE(state_after(log, 4, forgotten).is_complete);
  EXPECT_TRUE(state_after(log, 5, forgotten).is_complete);
  EXPECT_TRUE(state_after(log, 7, forgotten).is_complete);
}

TEST(State, InsideAnIterationIsKnownWhileItIsKept) {
  replay::Checkpoint net;
  net.changes = {{"a", "3"}};
  const std::vector<Entry> log = {other(1), checkpoint(5, net)};
  const std::vector<Entry> forgotten = {set(2, "a", "1"), set(3, "a", "2"), set(4, "a", "3")};
  for (std::uint64_t seq = 2; seq <= 4; ++seq) {
    const State state = state_after(log, seq, forgotten);
    EXPECT_TRUE(state.is_complete) << seq;
    EXPECT_EQ(state.values, (Values{{"a", std::to_string(seq - 1)}}));
  }
}

}  // namespace
}  // namespace pawl::store

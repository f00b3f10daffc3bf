#include "replay/log.h"

#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace pawl::replay {
namespace {

using enum EntryKind;

Entry entry_at(EntryKind kind, std::uint64_t seq, std::string_view location = "",
               std::string_view name = "", std::string_view id = "") {
  Entry entry;
  entry.kind = kind;
  entry.seq = seq;
  entry.location = location;
  entry.name = name;
  entry.id = id;
  return entry;
}

// Commands have a place; everything else names what it completes.
Entry task(std::uint64_t seq, std::string_view location, std::string_view id) {
  return entry_at(kTaskScheduled, seq, location, "a", id);
}
Entry task_completed(std::uint64_t seq, std::string_view id) {
  return entry_at(kTaskCompleted, seq, "", "", id);
}
Entry loop(std::uint64_t seq, std::string_view location) {
  return entry_at(kLoopStarted, seq, location);
}
Entry branch(std::uint64_t seq, std::string_view location) {
  return entry_at(kBranchOpened, seq, location);
}

const Checkpoint& checkpoint_after(std::uint64_t iteration) {
  static std::vector<std::unique_ptr<Checkpoint>> all;
  all.push_back(std::make_unique<Checkpoint>());
  all.back()->iteration = iteration;
  all.back()->state = "0";
  return *all.back();
}
Entry checkpoint(std::uint64_t seq, std::string_view loop, std::uint64_t iteration) {
  Entry entry = entry_at(kLoopCheckpointed, seq, loop);
  entry.checkpoint = &checkpoint_after(iteration);
  return entry;
}

Result<Log> loaded(const std::vector<Entry>& entries) {
  Log log;
  for (const Entry& entry : entries) {
    PAWL_TRY(log.load(entry));
  }
  PAWL_TRY(log.finish_loading());
  return log;
}

// "ok", or the message of the refusal.
std::string verdict(const std::vector<Entry>& entries) {
  const Result<Log> log = loaded(entries);
  if (!log) {
    EXPECT_TRUE(log.error().code == ErrorCode::kCorruptLog ||
                log.error().code == ErrorCode::kMalformedInput)
        << log.error().message;
    return log.error().message;
  }
  return "ok";
}

std::string places(const Log& log, std::span<const RecordId> ids) {
  std::string text;
  for (const RecordId id : ids) {
    text += (text.empty() ? "" : " ") + log.location(log[id]).to_string();
  }
  return text;
}

// --- What is refused ---------------------------------------------------------------------------

TEST(LogRefuses, ASeqThatIsThereTwice) {
  EXPECT_EQ(verdict({task(1, "{1}", "t-1"), task(1, "{2}", "t-2")}),
            "entry 1 (TaskScheduled): seq 1 is there twice");
}

TEST(LogRefuses, ASeqThatDecreases) {
  EXPECT_EQ(verdict({task(1, "{1}", "t-1"), task(2, "{2}", "t-2"), task(1, "{3}", "t-3")}),
            "entry 1 (TaskScheduled): seq does not increase: the entry before it has 2");
}

TEST(LogRefuses, SeqZeroAndSeqBeyondAllLogs) {
  EXPECT_EQ(verdict({task(0, "{1}", "t-1")}), "entry 0 (TaskScheduled): seq must be at least 1");
  EXPECT_NE(verdict({task(0xffffffffffffffffULL, "{1}", "t-1")}), "ok");
}

// There is no room for another one behind it: a log that a run continues from there is refused. No
// run comes to such numbers by counting.
TEST(LogAccepts, TheHighestNumbers) {
  const std::uint64_t highest = kOrdinateMax;
  const std::string last = "{" + std::to_string(highest) + "}";
  const std::string behind = "{" + std::to_string(highest + 1) + "}";
  EXPECT_EQ(verdict({task(1, last, "t-1")}), "ok");
  EXPECT_NE(verdict({task(1, behind, "t-1")}), "ok");
  EXPECT_EQ(verdict({loop(1, "{1}"), checkpoint(highest, "{1}", 1)}), "ok");
  EXPECT_NE(verdict({loop(1, "{1}"), checkpoint(highest + 1, "{1}", 1)}), "ok");
  const Result<Log> log = loaded({task(1, last, "t-1")});
  ASSERT_TRUE(log);
  EXPECT_EQ(log->next_whole_number(kRootBranch), highest + 1);
}

TEST(LogRefuses, AGapThatNothingExplains) {
  EXPECT_EQ(verdict({task(1, "{1}", "t-1"), task(3, "{2}", "t-2")}),
            "entry 3 (TaskScheduled): seq 2 is missing before it, and no loop has forgotten it");
  EXPECT_EQ(verdict({task(5, "{1}", "t-1")}),
            "entry 5 (TaskScheduled): seq 1 is missing before it, and no loop has forgotten it");
}

TEST(LogRefuses, AGapOfALoopThatHasNotForgottenAnything) {
  EXPECT_EQ(verdict({loop(1, "{1}"), task(4, "{1, 1, 1}", "t-1")}),
            "entry 4 (TaskScheduled): seq 2 is missing before it, and no loop has forgotten it");
}

TEST(LogRefuses, AGapBeforeTheLoopOrAfterItsCheckpoint) {
  EXPECT_EQ(verdict({task(1, "{1}", "t-1"), loop(3, "{2}"), checkpoint(9, "{2}", 20)}),
            "entry 3 (LoopStarted): seq 2 is missing before it, and no loop has forgotten it");
  EXPECT_EQ(verdict({loop(1, "{1}"), checkpoint(9, "{1}", 20), task(11, "{1, 21, 1}", "t-1")}),
            "entry 11 (TaskScheduled): seq 10 is missing before it, and no loop has forgotten it");
}

TEST(LogAccepts, AGapBetweenALoopAndItsCheckpoint) {
  EXPECT_EQ(verdict({loop(1, "{1}"), checkpoint(42, "{1}", 20)}), "ok");
  EXPECT_EQ(verdict({task(1, "{1}", "t-1"), loop(2, "{2}"), task_completed(30, "t-1"),
                     checkpoint(42, "{2}", 20), task(43, "{2, 21, 1}", "t-2")}),
            "ok");
  // One loop ends where another goes on.
  EXPECT_EQ(verdict({branch(1, "{1}"), branch(2, "{2}"), loop(3, "{1, 1}"), loop(4, "{2, 1}"),
                     checkpoint(10, "{1, 1}", 2), checkpoint(20, "{2, 1}", 2)}),
            "ok");
}

TEST(LogRefuses, ALocationThatIsThereTwice) {
  EXPECT_EQ(verdict({task(1, "{1}", "t-1"), task(2, "{1}", "t-2")}),
            "entry 2 (TaskScheduled): location {1} is there twice, or comes after a later sibling "
            "of its branch");
  EXPECT_EQ(verdict({task(1, "{1}", "t-1"), task(2, "{1.1}", "t-2"), task(3, "{1.1}", "t-3")}),
            "entry 3 (TaskScheduled): location {1.1} is there twice");
  EXPECT_EQ(verdict({branch(1, "{1}"), branch(2, "{1, 0.1}"), branch(3, "{1, 0.1}")}),
            "entry 3 (BranchOpened): location {1, 0.1} is there twice");
}

TEST(LogRefuses, AWholeNumberAfterALaterSibling) {
  EXPECT_EQ(verdict({task(1, "{2}", "t-1"), task(2, "{1}", "t-2")}),
            "entry 2 (TaskScheduled): location {1} is there twice, or comes after a later sibling "
            "of its branch");
}

TEST(LogAccepts, AnInsertedOneAfterALaterSibling) {
  EXPECT_EQ(verdict({task(1, "{1}", "t-1"), task(2, "{2}", "t-2"), task(3, "{0.1}", "t-3"),
                     task(4, "{1.1}", "t-4"), task(5, "{0.0.1}", "t-5")}),
            "ok");
}

TEST(LogRefuses, AChildBeforeItsOpener) {
  const std::string_view below = ", which is no branch or loop opened before it";
  EXPECT_EQ(verdict({task(1, "{1, 1}", "t-1")}),
            "entry 1 (TaskScheduled): location {1, 1} lies below {1}" + std::string(below));
  EXPECT_EQ(verdict({task(1, "{1}", "t-1"), task(2, "{1, 1}", "t-2")}),
            "entry 2 (TaskScheduled): location {1, 1} lies below {1}" + std::string(below));
  EXPECT_EQ(verdict({branch(1, "{1}"), task(2, "{1, 1, 1}", "t-2")}),
            "entry 2 (TaskScheduled): location {1, 1, 1} lies below {1, 1}" + std::string(below));
  EXPECT_EQ(verdict({branch(1, "{1}"), task(2, "{1.1, 1}", "t-2")}),
            "entry 2 (TaskScheduled): location {1.1, 1} lies below {1.1}" + std::string(below));
  EXPECT_EQ(
      verdict({loop(1, "{1}"), task(2, "{1, 0.1, 1}", "t-2")}),
      "entry 2 (TaskScheduled): location {1, 0.1, 1} lies below {1, 0.1}" + std::string(below));
}

TEST(LogRefuses, ASurvivorOfAnIterationThatIsNotForgotten) {
  const std::string message =
      verdict({loop(1, "{1}"), entry_at(kCompensationRegistered, 2, "{1, 1, 1, 1}", "refund")});
  EXPECT_EQ(message,
            "entry 2 (CompensationRegistered): location {1, 1, 1, 1} lies below what is no branch "
            "or loop opened before it");
}

TEST(LogAccepts, WhatStaysOfAForgottenIterationWithoutItsBranch) {
  EXPECT_EQ(verdict({loop(1, "{1}"), entry_at(kCompensationRegistered, 4, "{1, 1, 1, 1}", "refund"),
                     checkpoint(9, "{1}", 1)}),
            "ok");
}

TEST(LogRefuses, ACommandAtAnIterationOrAtTheRoot) {
  EXPECT_EQ(verdict({loop(1, "{1}"), task(2, "{1, 1}", "t-1")}),
            "entry 2 (TaskScheduled): location {1, 1} is an iteration of a loop, no place for a "
            "command");
  EXPECT_EQ(verdict({task(1, "{}", "t-1")}),
            "entry 1 (TaskScheduled): the root {} is no place for an entry");
}

TEST(LogRefuses, AMalformedLocation) {
  EXPECT_EQ(verdict({task(1, "{1", "t-1")}),
            "entry 1 (TaskScheduled): malformed location '{1': expected ',' or '}' at character 3");
  EXPECT_EQ(verdict({branch(1, "{1}"), task(2, "{1, 1}", "t-1"), task(3, "{1, x}", "t-2")}),
            "entry 3 (TaskScheduled): malformed location '{1, x}': expected a number at character "
            "5");
  EXPECT_EQ(verdict({task(1, "", "t-1")}),
            "entry 1 (TaskScheduled): malformed location '': expected '{' at character 1");
}

TEST(LogRefuses, AStepKeyThatIsThereTwiceInABranch) {
  Entry first = task(2, "{1, 1}", "t-1");
  first.step_key = "k";
  Entry second = task(3, "{1, 2}", "t-2");
  second.step_key = "k";
  EXPECT_EQ(verdict({branch(1, "{1}"), first, second}),
            "entry 3 (TaskScheduled): step key 'k' is there twice in branch {1}");
  second.location = "{2}";
  EXPECT_EQ(verdict({branch(1, "{1}"), first, second}), "ok");
}

TEST(LogRefuses, AnArrivalForNothing) {
  const struct {
    EntryKind kind;
    std::string_view message;
  } arrivals[] = {
      {kTaskCompleted, "entry 2 (TaskCompleted): no task with id 'x' was opened before it"},
      {kTaskFailed, "entry 2 (TaskFailed): no task with id 'x' was opened before it"},
      {kTaskCancelled, "entry 2 (TaskCancelled): no task with id 'x' was opened before it"},
      {kTimerFired, "entry 2 (TimerFired): no timer with id 'x' was opened before it"},
      {kTimerCancelled, "entry 2 (TimerCancelled): no timer with id 'x' was opened before it"},
      {kPromiseResolved, "entry 2 (PromiseResolved): no promise with id 'x' was opened before it"},
      {kPromiseRejected, "entry 2 (PromiseRejected): no promise with id 'x' was opened before it"},
      {kPromiseTimedOut, "entry 2 (PromiseTimedOut): no promise with id 'x' was opened before it"},
      {kChildWorkflowCompleted,
       "entry 2 (ChildWorkflowCompleted): no child with id 'x' was opened before it"},
      {kChildWorkflowFailed,
       "entry 2 (ChildWorkflowFailed): no child with id 'x' was opened before it"},
      {kChildWorkflowCancelled,
       "entry 2 (ChildWorkflowCancelled): no child with id 'x' was opened before it"},
  };
  for (const auto& arrival : arrivals) {
    EXPECT_EQ(verdict({task(1, "{1}", "t-1"), entry_at(arrival.kind, 2, "", "", "x")}),
              arrival.message);
  }
  EXPECT_EQ(verdict({entry_at(kChildWorkflowCompleted, 1, "", "ship")}),
            "entry 1 (ChildWorkflowCompleted): no child named 'ship' was opened before it");
  EXPECT_EQ(verdict({task(1, "{1}", "t-1"), entry_at(kSignalTimedOut, 2, "{1}")}),
            "entry 2 (SignalTimedOut): no signal wait at {1} was opened before it");
}

TEST(LogRefuses, AnArrivalForACommandOfAnotherKind) {
  EXPECT_EQ(verdict({task(1, "{1}", "x"), entry_at(kTimerFired, 2, "", "", "x")}),
            "entry 2 (TimerFired): no timer with id 'x' was opened before it");
}

TEST(LogRefuses, AnArrivalBeforeItsCommand) {
  EXPECT_EQ(verdict({task_completed(1, "t-1"), task(2, "{1}", "t-1")}),
            "entry 1 (TaskCompleted): no task with id 't-1' was opened before it");
}

TEST(LogRefuses, ACheckpointThatGoesBack) {
  EXPECT_EQ(verdict({entry_at(kLoopStarted, 1, "{1}", "", ""), checkpoint(2, "{1}", 20),
                     checkpoint(3, "{1}", 0)}),
            "entry 3 (LoopCheckpointed): iteration 0 is before that of the last checkpoint, 20");
}

TEST(LogRefuses, ACheckpointOfNoLoop) {
  EXPECT_EQ(verdict({branch(1, "{1}"), checkpoint(2, "{1}", 1)}),
            "entry 2 (LoopCheckpointed): no loop was started at {1} before it");
  EXPECT_EQ(verdict({entry_at(kLoopCheckpointed, 1, "{1}")}),
            "entry 1 (LoopCheckpointed): holds no checkpoint");
}

TEST(LogRefuses, AnythingAfterTheEnd) {
  for (const EntryKind end :
       {kWorkflowCompleted, kWorkflowFailed, kWorkflowCancelled, kWorkflowRecurred}) {
    EXPECT_EQ(verdict({task(1, "{1}", "t-1"), entry_at(end, 2), task_completed(3, "t-1")}),
              "entry 3 (TaskCompleted): comes after the end of the workflow at seq 2");
    EXPECT_EQ(verdict({entry_at(end, 1), entry_at(end, 2)}).substr(0, 8), "entry 2 ");
  }
}

TEST(LogRefuses, AnUnknownKind) {
  for (const int number : {0, 18, 31, 46, 63, 69, 255}) {
    EXPECT_EQ(verdict({entry_at(static_cast<EntryKind>(number), 1, "{1}")}),
              "entry 1 (unknown kind): no such kind of entry")
        << number;
  }
}

TEST(LogRefuses, VersionZero) {
  Entry entry = task(1, "{1}", "t-1");
  entry.version = 0;
  EXPECT_EQ(verdict({entry}), "entry 1 (TaskScheduled): version must be at least 1");
}

// --- Links -------------------------------------------------------------------------------------

TEST(Log, LinksACommandAndWhatCompletedIt) {
  const Result<Log> log = loaded({task(1, "{1}", "t-1"), task_completed(2, "t-1")});
  ASSERT_TRUE(log);
  EXPECT_EQ((*log)[0].link, 1U);
  EXPECT_EQ((*log)[1].link, 0U);
  EXPECT_TRUE((*log)[0].is_command);
  EXPECT_FALSE((*log)[1].is_command);
}

TEST(Log, TheFirstArrivalCounts) {
  const Result<Log> log =
      loaded({task(1, "{1}", "t-1"), entry_at(kTaskFailed, 2, "", "", "t-1"),
              task_completed(3, "t-1"), entry_at(kTaskCancelled, 4, "", "", "t-1")});
  ASSERT_TRUE(log);
  EXPECT_EQ((*log)[0].link, 1U);
  EXPECT_EQ((*log)[2].link, 0U);
  EXPECT_EQ((*log)[3].link, 0U);
}

TEST(Log, ASharedIdMeansTheOldestOpenCommand) {
  const auto timer = [](std::uint64_t seq, std::string_view location) {
    return entry_at(kTimerStarted, seq, location, "", "pause");
  };
  const auto fired = [](std::uint64_t seq) { return entry_at(kTimerFired, seq, "", "", "pause"); };
  const Result<Log> log = loaded(
      {timer(1, "{1}"), timer(2, "{2}"), fired(3), timer(4, "{3}"), fired(5), fired(6), fired(7)});
  ASSERT_TRUE(log);
  EXPECT_EQ((*log)[0].link, 2U);
  EXPECT_EQ((*log)[1].link, 4U);
  EXPECT_EQ((*log)[3].link, 5U);
  // Nobody is left for the last one.
  EXPECT_EQ((*log)[6].link, 3U);
}

// The core gives every task, operation and child an id of its own, but a log may come from
// elsewhere.
TEST(Log, ASharedIdMeansTheOldestOpenCommandAlsoForIdsThatTheCoreMakes) {
  const struct {
    EntryKind command;
    EntryKind arrival;
  } kinds[] = {{kTaskScheduled, kTaskCompleted},
               {kOperationStarted, kOperationCompleted},
               {kChildWorkflowInitiated, kChildWorkflowFailed}};
  for (const auto& kind : kinds) {
    for (const std::string_view id : {"t", "a1b2c3d4-e5f6-7890-abcd-ef1234567890"}) {
      SCOPED_TRACE(traits(kind.command).event);
      const Result<Log> log =
          loaded({entry_at(kind.command, 1, "{1}", "a", id),
                  entry_at(kind.command, 2, "{2}", "a", id), entry_at(kind.arrival, 3, "", "", id),
                  entry_at(kind.arrival, 4, "", "", id), entry_at(kind.arrival, 5, "", "", id)});
      ASSERT_TRUE(log) << log.error().message;
      EXPECT_EQ((*log)[2].link, 0U);
      EXPECT_EQ((*log)[3].link, 1U);
      // Nobody is left for the last one.
      EXPECT_EQ((*log)[4].link, 1U);
    }
  }
}

TEST(Log, ASharedIdMeansTheOldestOpenCommandWhateverArrivedBefore) {
  const Result<Log> log =
      loaded({task(1, "{1}", "slow"), task(2, "{2}", "t"), task(3, "{3}", "a"), task(4, "{4}", "t"),
              task(5, "{5}", "b"), task_completed(6, "b"), task_completed(7, "a"),
              task_completed(8, "t"), task_completed(9, "t")});
  ASSERT_TRUE(log);
  EXPECT_EQ((*log)[7].link, 1U);
  EXPECT_EQ((*log)[8].link, 3U);
}

TEST(Log, ASharedIdIsOfOneForm) {
  // The bytes of the one are the text of the other.
  const std::string_view text = "abcdefghijklmnop";
  const std::string_view uuid = "61626364-6566-6768-696a-6b6c6d6e6f70";
  std::vector<Entry> entries;
  std::vector<std::string> places;
  for (std::uint64_t seq = 1; seq <= 40; ++seq) {
    places.push_back("{" + std::to_string(seq) + "}");
  }
  for (std::uint64_t seq = 1; seq <= 40; ++seq) {
    // So many others are open that none of these is at hand.
    const std::string_view id = seq <= 36 ? places[seq - 1] : (seq % 2 == 1 ? text : uuid);
    entries.push_back(task(seq, places[seq - 1], id));
  }
  for (const std::string_view id : {uuid, text, uuid, text}) {
    entries.push_back(task_completed(entries.size() + 1, id));
  }
  const Result<Log> log = loaded(entries);
  ASSERT_TRUE(log);
  EXPECT_EQ((*log)[40].link, 37U);
  EXPECT_EQ((*log)[41].link, 36U);
  EXPECT_EQ((*log)[42].link, 39U);
  EXPECT_EQ((*log)[43].link, 38U);
}

TEST(Log, NothingArrivesForACommandWithoutAnId) {
  EXPECT_EQ(verdict({task(1, "{1}", ""), task_completed(2, "")}),
            "entry 2 (TaskCompleted): no task with id '' was opened before it");
}

TEST(Log, AnIdIsOnlyKnownForItsKind) {
  const Result<Log> log = loaded({task(1, "{1}", "x"), entry_at(kTimerStarted, 2, "{2}", "", "x"),
                                  entry_at(kPromiseCreated, 3, "{3}", "", "x"),
                                  entry_at(kPromiseResolved, 4, "", "", "x"),
                                  entry_at(kTimerFired, 5, "", "", "x"), task_completed(6, "x")});
  ASSERT_TRUE(log);
  EXPECT_EQ((*log)[0].link, 5U);
  EXPECT_EQ((*log)[1].link, 4U);
  EXPECT_EQ((*log)[2].link, 3U);
}

TEST(Log, AChildIsFoundByIdOrByName) {
  const Result<Log> log = loaded({entry_at(kChildWorkflowInitiated, 1, "{1}", "ship", "c-1"),
                                  entry_at(kChildWorkflowInitiated, 2, "{2}", "ship", "c-2"),
                                  entry_at(kChildWorkflowInitiated, 3, "{3}", "bill", "c-3"),
                                  entry_at(kChildWorkflowFailed, 4, "", "", "c-1"),
                                  entry_at(kChildWorkflowCompleted, 5, "", "ship"),
                                  entry_at(kChildWorkflowCancelled, 6, "", "bill")});
  ASSERT_TRUE(log);
  EXPECT_EQ((*log)[0].link, 3U);
  EXPECT_EQ((*log)[1].link, 4U);
  EXPECT_EQ((*log)[2].link, 5U);
}

TEST(Log, AnOperationIsOneEntryOrTwo) {
  const Result<Log> log = loaded({entry_at(kOperationStarted, 1, "{1}", "a", "o-1"),
                                  entry_at(kOperationCompleted, 2, "{2}", "b", "o-2"),
                                  entry_at(kOperationFailed, 3, "", "a", "o-1")});
  ASSERT_TRUE(log);
  EXPECT_EQ((*log)[0].link, 2U);
  EXPECT_TRUE((*log)[1].is_command);
  EXPECT_EQ((*log)[1].link, kNoRecord);
  EXPECT_FALSE((*log)[2].is_command);
}

TEST(Log, AWholeOperationIsNeverCompleted) {
  // With and without something behind it.
  for (const bool has_more : {false, true}) {
    std::vector<Entry> entries = {entry_at(kOperationCompleted, 1, "{1}", "a", "x"),
                                  entry_at(kOperationStarted, 2, "{2}", "a", "x")};
    if (has_more) {
      entries.push_back(task(3, "{3}", "t-1"));
    }
    entries.push_back(entry_at(kOperationCompleted, entries.size() + 1, "", "a", "x"));
    const Result<Log> log = loaded(entries);
    ASSERT_TRUE(log) << log.error().message;
    const auto arrival = static_cast<RecordId>(log->size() - 1);
    EXPECT_EQ((*log)[0].link, kNoRecord);
    EXPECT_EQ((*log)[1].link, arrival);
    EXPECT_FALSE((*log)[arrival].is_command);
    EXPECT_EQ((*log)[arrival].link, 1U);
  }
}

TEST(Log, ATimedOutWaitIsFoundByItsPlace) {
  const Result<Log> log =
      loaded({branch(1, "{1}"), entry_at(kSignalAwaited, 2, "{1, 1}", "go"),
              entry_at(kSignalAwaited, 3, "{1, 0.1}", "go"),
              entry_at(kSignalTimedOut, 4, "{1, 0.1}"), entry_at(kSignalTimedOut, 5, "{ 1,1 }")});
  ASSERT_TRUE(log) << log.error().message;
  EXPECT_EQ((*log)[1].link, 4U);
  EXPECT_EQ((*log)[2].link, 3U);
}

TEST(Log, IdsThatLookAlikeAreTwoIds) {
  // One is kept as bytes, the other as text.
  const Result<Log> log = loaded({task(1, "{1}", "a1b2c3d4-e5f6-7890-abcd-ef1234567890"),
                                  task(2, "{2}", "A1B2C3D4-E5F6-7890-ABCD-EF1234567890"),
                                  task_completed(3, "A1B2C3D4-E5F6-7890-ABCD-EF1234567890")});
  ASSERT_TRUE(log);
  EXPECT_EQ((*log)[0].link, kNoRecord);
  EXPECT_EQ((*log)[1].link, 2U);
  EXPECT_EQ(log->id_text((*log)[0]), "a1b2c3d4-e5f6-7890-abcd-ef1234567890");
  EXPECT_EQ(log->id_text((*log)[1]), "A1B2C3D4-E5F6-7890-ABCD-EF1234567890");
  EXPECT_TRUE(log->id_equals((*log)[1], "A1B2C3D4-E5F6-7890-ABCD-EF1234567890"));
  EXPECT_FALSE(log->id_equals((*log)[1], "a1b2c3d4-e5f6-7890-abcd-ef1234567890"));
}

TEST(Log, FindsBySeqAlsoAcrossGaps) {
  const Result<Log> log = loaded({loop(1, "{1}"), checkpoint(42, "{1}", 20)});
  ASSERT_TRUE(log);
  EXPECT_EQ(log->find_seq(1), 0U);
  EXPECT_EQ(log->find_seq(42), 1U);
  EXPECT_EQ(log->find_seq(2), kNoRecord);
  EXPECT_EQ(log->find_seq(43), kNoRecord);
}

TEST(Log, FindsByKeyInItsBranch) {
  Entry keyed = task(2, "{1, 1}", "t-1");
  keyed.step_key = "process_a:1";
  Result<Log> log = loaded({branch(1, "{1}"), keyed});
  ASSERT_TRUE(log);
  EXPECT_EQ(log->find_by_key(1, "process_a:1"), 1U);
  EXPECT_EQ(log->find_by_key(1, "process_a:2"), kNoRecord);
  EXPECT_EQ(log->find_by_key(kRootBranch, "process_a:1"), kNoRecord);
}

// --- Structure ---------------------------------------------------------------------------------

TEST(Log, RecordedCommandsAreInOrderOfLocation) {
  const Result<Log> log =
      loaded({task(1, "{1}", "t-1"), branch(2, "{2}"), task(3, "{3}", "t-3"),
              task(4, "{2, 1}", "t-4"), task(5, "{1.1}", "t-5"), task_completed(6, "t-1"),
              task(7, "{0.1}", "t-7"), task(8, "{2, 0.1}", "t-8"), task(9, "{1.0.1}", "t-9")});
  ASSERT_TRUE(log);
  EXPECT_EQ(places(*log, log->recorded(kRootBranch)), "{0.1} {1} {1.0.1} {1.1} {2} {3}");
  EXPECT_EQ(places(*log, log->recorded(1)), "{2, 0.1} {2, 1}");
}

TEST(Log, IterationsNeedNoEntryOfTheirOwn) {
  const Result<Log> log =
      loaded({loop(1, "{1}"), task(2, "{1, 1, 1}", "t-1"), task(3, "{1, 3, 1}", "t-2")});
  ASSERT_TRUE(log);
  const BranchId node = log->child_branch(kRootBranch, Coordinate(1));
  EXPECT_TRUE(log->branch(node).is_loop);
  const BranchId third = log->recorded_iteration_after(node, 1);
  ASSERT_NE(third, kNoBranch);
  EXPECT_EQ(log->location(third).to_string(), "{1, 3}");
  EXPECT_EQ(log->recorded_iteration_after(node, 3), kNoBranch);
  EXPECT_TRUE(log->is_below(third, node));
  EXPECT_TRUE(log->is_below(third, kRootBranch));
  EXPECT_FALSE(log->is_below(node, third));
  EXPECT_EQ(log->outer_loop(node), kNoBranch);
}

TEST(Log, ForgottenIterationsThatAreStillThereAreIgnored) {
  const Result<Log> log =
      loaded({loop(1, "{1}"), task(2, "{1, 1, 1}", "t-1"), task_completed(3, "t-1"),
              branch(4, "{1, 2, 1}"), task(5, "{1, 2, 1, 1}", "t-2"), checkpoint(6, "{1}", 2),
              task(7, "{1, 3, 1}", "t-3")});
  ASSERT_TRUE(log) << log.error().message;
  const BranchId node = log->child_branch(kRootBranch, Coordinate(1));
  EXPECT_EQ(places(*log, log->recorded(log->child_branch(node, Coordinate(1)))), "");
  EXPECT_EQ(places(*log, log->recorded(log->child_branch(node, Coordinate(2)))), "");
  EXPECT_EQ(places(*log, log->recorded(log->child_branch(node, Coordinate(3)))), "{1, 3, 1}");
  std::string forgotten;
  for (RecordId id = 0; id < log->size(); ++id) {
    forgotten += (*log)[id].forgotten ? std::to_string((*log)[id].seq) + " " : "";
  }
  EXPECT_EQ(forgotten, "2 3 4 5 ");
}

TEST(Log, ACheckpointInAForgottenIterationIsForgotten) {
  const Result<Log> log = loaded({loop(1, "{1}"), loop(2, "{1, 1, 1}"),
                                  checkpoint(3, "{1, 1, 1}", 7), checkpoint(4, "{1}", 1)});
  ASSERT_TRUE(log);
  EXPECT_TRUE((*log)[2].forgotten);
  EXPECT_FALSE((*log)[3].forgotten);
}

TEST(Log, NextWholeNumberFollowsTheHighestHead) {
  const Result<Log> log =
      loaded({task(1, "{4}", "t-1"), task(2, "{6.1}", "t-2"), task(3, "{0.1}", "t-3")});
  ASSERT_TRUE(log);
  EXPECT_EQ(log->next_whole_number(kRootBranch), 7U);
}

// --- The outward form --------------------------------------------------------------------------

// A copy of an entry that owns its texts.
struct Kept {
  explicit Kept(const Entry& from)
      : entry(from),
        location(from.location),
        id(from.id),
        name(from.name),
        payload(from.payload),
        has_checkpoint(from.checkpoint != nullptr) {
    if (has_checkpoint) {
      checkpoint = *from.checkpoint;
    }
  }
  Entry entry;
  std::string location;
  std::string id;
  std::string name;
  std::string payload;
  bool has_checkpoint;
  Checkpoint checkpoint;
};

void expect_same(const Entry& a, const Entry& b) {
  EXPECT_EQ(a.kind, b.kind);
  EXPECT_EQ(a.seq, b.seq);
  EXPECT_EQ(a.time_ms, b.time_ms);
  EXPECT_EQ(a.version, b.version);
  EXPECT_EQ(a.location, b.location);
  EXPECT_EQ(a.id, b.id);
  EXPECT_EQ(a.name, b.name);
  EXPECT_EQ(a.child_kind, b.child_kind);
  EXPECT_EQ(a.removed, b.removed);
  EXPECT_EQ(a.step_key, b.step_key);
  EXPECT_EQ(a.source, b.source);
  EXPECT_EQ(a.has_payload, b.has_payload);
  EXPECT_EQ(a.payload, b.payload);
  EXPECT_EQ(a.number, b.number);
  EXPECT_EQ(a.input_digest, b.input_digest);
  EXPECT_EQ(a.extra, b.extra);
  ASSERT_EQ(a.checkpoint == nullptr, b.checkpoint == nullptr);
  if (a.checkpoint != nullptr) {
    EXPECT_EQ(a.checkpoint->iteration, b.checkpoint->iteration);
    EXPECT_EQ(a.checkpoint->state, b.checkpoint->state);
    EXPECT_EQ(a.checkpoint->changes, b.checkpoint->changes);
    EXPECT_EQ(a.checkpoint->taken, b.checkpoint->taken);
    EXPECT_EQ(a.checkpoint->done, b.checkpoint->done);
    EXPECT_EQ(a.checkpoint->result, b.checkpoint->result);
  }
}

// A log with every kind of entry, with every field that the kind has.
std::vector<Entry> every_kind() {
  static Checkpoint full;
  full.iteration = 2;
  full.state = R"({"n":2})";
  full.changes = {{"a", "1"}, {"b", std::nullopt}};
  full.taken = {20};
  full.done = true;
  full.result = R"("broken")";
  std::vector<Entry> all;
  std::uint64_t seq = 0;
  const auto add = [&](Entry entry) {
    entry.seq = ++seq;
    entry.time_ms = 1'700'000'000'000 + static_cast<std::int64_t>(seq);
    all.push_back(entry);
    return all.size() - 1;
  };
  const auto command = [&](EntryKind kind, std::string_view location, std::string_view name,
                           std::string_view id) {
    Entry entry = entry_at(kind, 0, location, name, id);
    entry.version = 3;
    entry.source = "order.cc:17";
    entry.extra = R"({"queue":"fast"})";
    return add(entry);
  };
  all[command(kTaskScheduled, "{1}", "charge", "t-1")].step_key = "charge:1";
  all[0].has_payload = true;
  all[0].payload = "[1]";
  all[0].input_digest = 0xfedcba9876543210ULL;
  command(kTaskScheduled, "{2}", "mail", "389f7678-1992-59d6-b9f7-d1fdcee3011d");
  command(kTaskScheduled, "{3}", "mail", "t-3");
  command(kOperationStarted, "{4}", "hash", "o-1");
  command(kOperationCompleted, "{5}", "hash", "o-2");
  command(kOperationFailed, "{6}", "hash", "o-3");
  all[command(kTimerStarted, "{7}", "", "pause")].number = 5000;
  command(kTimerStarted, "{8}", "", "long");
  all[command(kPromiseCreated, "{9}", "", "p-1")].number = 60'000;
  command(kPromiseCreated, "{10}", "", "p-2");
  command(kPromiseCreated, "{11}", "", "p-3");
  all[command(kChildWorkflowInitiated, "{12}", "ship", "c-1")].child_kind = "shipping";
  command(kChildWorkflowInitiated, "{13}", "ship", "c-2");
  command(kChildWorkflowInitiated, "{14}", "bill", "c-3");
  command(kStateSet, "{15}", "total", "");
  all.back().has_payload = true;
  all.back().payload = "17";
  command(kStateCleared, "{16}", "total", "");
  all[command(kSignalAwaited, "{17}", "go", "")].number = 7;
  command(kSignalAwaited, "{17.0.1}", "stop", "");
  command(kBranchOpened, "{18}", "", "");
  add(entry_at(kSignalReceived, 0, "", "go"));
  all.back().has_payload = true;
  all.back().payload = R"("data")";
  all.back().extra = R"({"id":"e-1","source":"/shop"})";
  command(kLoopStarted, "{19}", "", "");
  all.back().has_payload = true;
  all.back().payload = "0";
  all[command(kStepRemoved, "{20}", "old", "")].removed = CommandKind::kTask;
  command(kVersionChecked, "{21}", "", "");
  command(kCompensationRegistered, "{22}", "refund", "");
  command(kTaskCancelRequested, "{23}", "", "t-1");
  command(kTimerCancelRequested, "{24}", "", "long");
  command(kTaskScheduled, "{18, 0.1}", "mail", "t-9");
  const auto arrival = [&](EntryKind kind, std::string_view id, std::string_view name) {
    Entry entry = entry_at(kind, 0, "", name, id);
    entry.has_payload = true;
    entry.payload = R"({"message":"m"})";
    entry.extra = R"({"attempt":2})";
    add(entry);
  };
  arrival(kTaskCompleted, "t-1", "charge");
  arrival(kTaskFailed, "389f7678-1992-59d6-b9f7-d1fdcee3011d", "mail");
  arrival(kTaskCancelled, "t-3", "mail");
  arrival(kOperationCompleted, "o-1", "hash");
  arrival(kTimerFired, "pause", "");
  arrival(kTimerCancelled, "long", "");
  arrival(kPromiseResolved, "p-1", "");
  arrival(kPromiseRejected, "p-2", "");
  arrival(kPromiseTimedOut, "p-3", "");
  arrival(kChildWorkflowCompleted, "c-1", "ship");
  arrival(kChildWorkflowFailed, "c-2", "ship");
  arrival(kChildWorkflowCancelled, "c-3", "bill");
  all[add(entry_at(kSignalTimedOut, 0, "{17.0.1}"))].name = "stop";
  arrival(kCancellationRequested, "", "");
  add(entry_at(kLoopCheckpointed, 0, "{19}"));
  all.back().checkpoint = &full;
  return all;
}

TEST(LogEntry, ComesBackAsItWasLoadedForEveryKind) {
  std::vector<Entry> entries = every_kind();
  for (const EntryKind end :
       {kWorkflowCompleted, kWorkflowFailed, kWorkflowCancelled, kWorkflowRecurred}) {
    std::vector<Entry> all = entries;
    all.push_back(entry_at(end, all.size() + 1));
    all.back().has_payload = true;
    all.back().payload = "null";
    const Result<Log> log = loaded(all);
    ASSERT_TRUE(log) << log.error().message;
    ASSERT_EQ(log->size(), all.size());
    Log again;
    for (RecordId id = 0; id < log->size(); ++id) {
      SCOPED_TRACE("seq " + std::to_string(id + 1) + " " + std::string(traits(all[id].kind).event));
      Log::EntryTexts texts;
      const Entry entry = log->entry(id, texts);
      expect_same(all[id], entry);
      const Result<void> reloaded = again.load(entry);
      ASSERT_TRUE(reloaded) << reloaded.error().message;
    }
    ASSERT_TRUE(again.finish_loading());
    for (RecordId id = 0; id < log->size(); ++id) {
      Log::EntryTexts texts;
      expect_same(all[id], again.entry(id, texts));
      EXPECT_EQ((*log)[id].link, again[id].link);
    }
  }
}

TEST(LogEntry, KeepsPayloadsAsTheyAre) {
  const std::string bytes("\0\xff not JSON", 11);
  Entry entry = task(1, "{1}", "t-1");
  entry.has_payload = true;
  entry.payload = bytes;
  const Result<Log> log = loaded({entry, task(2, "{2}", "t-2")});
  ASSERT_TRUE(log);
  Log::EntryTexts texts;
  EXPECT_EQ(log->entry(0, texts).payload, bytes);
  EXPECT_FALSE(log->entry(1, texts).has_payload);
}

TEST(LogEntry, AppendedEntriesLookLikeLoadedOnes) {
  Log log;
  ASSERT_TRUE(log.finish_loading());
  log.append_command(branch(1, ""), kRootBranch, Coordinate(1));
  const BranchId below = log.child_branch(kRootBranch, Coordinate(1));
  const RecordId id = log.append_command(task(2, "", "t-1"), below, Coordinate(0, {1}));
  log.append_plain(task_completed(3, ""), id);
  Log::EntryTexts texts;
  EXPECT_EQ(log.entry(1, texts).location, "{1, 0.1}");
  EXPECT_EQ(log.entry(2, texts).id, "t-1");
  EXPECT_EQ(log[id].link, 2U);
}

TEST(Log, MemoryGrowsWithTheLog) {
  const auto bytes = [](std::size_t entries) {
    Log log;
    for (std::size_t i = 0; i < entries; ++i) {
      const std::string place = "{" + std::to_string(i + 1) + "}";
      const std::string id = "t-" + std::to_string(i);
      EXPECT_TRUE(log.load(task(i + 1, place, id)));
    }
    EXPECT_TRUE(log.finish_loading());
    return log.memory_bytes();
  };
  EXPECT_LT(bytes(40'000), 3 * bytes(20'000));
  EXPECT_LT(bytes(40'000), 40'000 * std::size_t{400});
}

// An arrival belongs to the oldest open command of its kind and id, else to the last one that had
// the id. Here that is looked for from the first entry on.
RC_GTEST_PROP(LogProperty, ArrivalsFindTheirCommand, ()) {
  const struct {
    EntryKind command;
    EntryKind arrival;
  } kinds[] = {{kTaskScheduled, kTaskFailed},
               {kOperationStarted, kOperationFailed},
               {kChildWorkflowInitiated, kChildWorkflowCompleted},
               {kTimerStarted, kTimerFired}};
  const int ids = *rc::gen::elementOf(std::vector<int>{2, 10, 60});
  const int commands_in_ten = *rc::gen::inRange(3, 9);
  Log log;
  std::vector<RecordId> expected;  // By record; of commands what completed them.
  std::vector<std::pair<std::size_t, std::string>> commands;
  for (int i = *rc::gen::inRange(0, 200); i > 0; --i) {
    const auto next = static_cast<RecordId>(log.size());
    const std::size_t kind =
        *rc::gen::weightedElement<std::size_t>({{7, 0}, {1, 1}, {1, 2}, {1, 3}});
    const std::string id = "id-" + std::to_string(*rc::gen::inRange(0, ids));
    if (*rc::gen::inRange(0, 10) < commands_in_ten) {
      const std::string place = "{" + std::to_string(next + 1) + "}";
      RC_ASSERT(log.load(entry_at(kinds[kind].command, next + 1, place, "a", id)).has_value());
      expected.push_back(kNoRecord);
      commands.emplace_back(kind, id);
      continue;
    }
    RecordId command = kNoRecord;
    for (RecordId other = 0; other < next; ++other) {
      if (commands[other] == std::pair(kind, id)) {
        command = other;
        if (expected[other] == kNoRecord) {
          break;
        }
      }
    }
    if (command == kNoRecord) {
      continue;
    }
    RC_ASSERT(log.load(entry_at(kinds[kind].arrival, next + 1, "", "", id)).has_value());
    expected.push_back(command);
    commands.emplace_back(kind, "");
    if (expected[command] == kNoRecord) {
      expected[command] = next;
    }
  }
  for (RecordId id = 0; id < log.size(); ++id) {
    RC_ASSERT(log[id].link == expected[id]);
  }
}

// Whatever the texts, load() answers and never crashes.
RC_GTEST_PROP(LogProperty, AnyEntriesAreLoadedOrRefused, ()) {
  const std::vector<std::string> locations = {
      "{1}",   "{2}",          "{3}", "{1, 1}", "{1, 1, 1}", "{1, 2, 1}", "{0.1}",
      "{1.1}", "{2, 1, 1, 1}", "",    "{}",     "{1",        "{0}",       "{1, 0.1}"};
  const std::vector<std::string> ids = {"", "x", "y", "a1b2c3d4-e5f6-7890-abcd-ef1234567890"};
  Log log;
  std::uint64_t seq = 0;
  const int count = *rc::gen::inRange(0, 60);
  for (int i = 0; i < count; ++i) {
    Entry entry;
    entry.kind = static_cast<EntryKind>(*rc::gen::inRange(0, 70));
    seq += *rc::gen::weightedElement<std::uint64_t>({{30, 1}, {1, 0}, {1, 2}});
    entry.seq = seq;
    const std::string location = *rc::gen::elementOf(locations);
    const std::string id = *rc::gen::elementOf(ids);
    const std::string name = *rc::gen::elementOf(ids);
    const std::string key = *rc::gen::elementOf(ids);
    entry.location = location;
    entry.id = id;
    entry.name = name;
    entry.step_key = key;
    entry.version = *rc::gen::inRange<std::uint32_t>(0, 4);
    Checkpoint one;
    one.iteration = *rc::gen::inRange<std::uint64_t>(0, 3);
    if (entry.kind == kLoopCheckpointed) {
      entry.checkpoint = &one;
    }
    const Result<void> result = log.load(entry);
    if (!result) {
      // A load may report what an earlier one put off.
      RC_ASSERT(result.error().message.starts_with("entry "));
      return;
    }
  }
  if (log.finish_loading()) {
    for (RecordId id = 0; id < log.size(); ++id) {
      Log::EntryTexts texts;
      RC_ASSERT(log.entry(id, texts).seq == log[id].seq);
    }
  }
}

}  // namespace
}  // namespace pawl::replay

#include "portable/run_document.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <iostream>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "portable/random_document.h"
#include "store/sqlite/sqlite_store.h"

namespace pawl::portable {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

std::uint64_t new_seed() {
  const std::uint64_t seed = std::random_device()();
  std::cout << "seed " << seed << std::endl;
  return seed;
}

// --- Comparing field by field --------------------------------------------------------------------

auto fields(const replay::Entry& it) {
  return std::tuple(it.kind, it.seq, it.time_ms, it.version, it.location, it.id, it.name,
                    it.child_kind, it.removed, it.step_key, it.source, it.checked, it.has_payload,
                    it.payload, it.number, it.input_digest, it.extra);
}
auto fields(const replay::Checkpoint& it) {
  return std::tie(it.iteration, it.state, it.changes, it.taken, it.done, it.result);
}
auto fields(const store::RunRow& it) {
  return std::tie(it.id, it.number, it.uuid, it.kind, it.status, it.goal, it.waiting_for,
                  it.definition, it.is_approved, it.is_paused, it.created_ms, it.changed_ms);
}
auto fields(const store::StoredArrival& it) {
  return std::tie(it.kind, it.due_ms, it.id, it.location, it.name, it.number, it.has_payload,
                  it.payload, it.extra, it.is_kept);
}
auto fields(const store::TaskRow& it) {
  return std::tuple(std::tie(it.id, it.type, it.queue, it.priority, it.input, it.has_input,
                             it.options, it.wait_ms, it.attempt_ms, it.heartbeat_ms),
                    std::tie(it.deadline_ms, it.due_ms, it.state, it.attempt, it.created_ms,
                             it.started_ms, it.details, it.last_error, it.cancel_requested));
}
auto fields(const store::PromiseRow& it) { return std::tie(it.name, it.is_resolved); }
auto fields(const store::CompensationRow& it) {
  return std::tie(it.position, it.name, it.input, it.has_input, it.state, it.attempt, it.due_ms,
                  it.outcome);
}

template <class Rows>
void expect_same_rows(const Rows& left, const Rows& right, const char* what) {
  ASSERT_EQ(left.size(), right.size()) << what;
  for (std::size_t i = 0; i < left.size(); ++i) {
    EXPECT_TRUE(fields(left[i]) == fields(right[i])) << what << "[" << i << "]";
  }
}

void expect_same_entries(const std::vector<replay::Entry>& left,
                         const std::vector<replay::Entry>& right, const char* what) {
  expect_same_rows(left, right, what);
  for (std::size_t i = 0; i < left.size() && i < right.size(); ++i) {
    ASSERT_EQ(left[i].checkpoint != nullptr, right[i].checkpoint != nullptr) << what;
    if (left[i].checkpoint != nullptr) {
      EXPECT_TRUE(fields(*left[i].checkpoint) == fields(*right[i].checkpoint)) << what;
    }
  }
}

void expect_same(const RunDocument& left, const RunDocument& right) {
  EXPECT_TRUE(fields(left.image.row) == fields(right.image.row));
  EXPECT_EQ(left.image.input, right.image.input);
  EXPECT_EQ(left.image.reason, right.image.reason);
  EXPECT_EQ(left.image.blocked_by, right.image.blocked_by);
  EXPECT_EQ(left.image.needs, right.image.needs);
  EXPECT_TRUE(left.image.tags == right.image.tags);
  EXPECT_EQ(left.image.dedupe, right.image.dedupe);
  expect_same_rows(left.image.inbox, right.image.inbox, "inbox");
  expect_same_rows(left.image.tasks, right.image.tasks, "tasks");
  expect_same_rows(left.image.promises, right.image.promises, "promises");
  expect_same_rows(left.image.compensations, right.image.compensations, "compensations");
  expect_same_entries(left.log, right.log, "log");
  expect_same_entries(left.forgotten, right.forgotten, "forgotten");
}

// --- The file ------------------------------------------------------------------------------------

TEST(RunDocument, EverythingComesBack) {
  RandomDocument source(new_seed());
  for (int round = 0; round < 3000 && !testing::Test::HasFailure(); ++round) {
    const RunDocument document = source.make();
    const std::string text = to_json(document);
    const Result<RunDocument> again = from_json(text);
    ASSERT_TRUE(again) << again.error().message << "\n" << text;
    expect_same(*again, document);
    EXPECT_EQ(to_json(*again), text);
    if (testing::Test::HasFailure()) {
      std::cout << text << to_json(*again);
    }
  }
}

constexpr std::string_view kSmall = R"({
  "format": "pawl-run/1", "id": "order-17", "runId": "a1b2c3d4-e5f6-7890-abcd-ef1234567890",
  "kind": "order", "status": "waiting", "startedAt": 1700000000000, "input": {"id": 17},
  "log": [
    {"event": "TaskScheduled", "taskType": "reserve"},
    {"event": "TaskCompleted", "result": 1},
    {"event": "TaskScheduled", "taskType": "charge"}],
  "tasks": [{"id": "IDENT", "type": "charge", "queue": "default", "state": "ready"}]
})";

std::string small(std::string_view from = "", std::string_view to = "") {
  std::string text(kSmall);
  const auto replace = [&](std::string_view old, std::string_view by) {
    const std::size_t at = text.find(old);
    EXPECT_NE(at, std::string::npos) << old;
    text.replace(at, old.size(), by);
  };
  if (!from.empty()) {
    replace(from, to);
  }
  if (text.find("IDENT") != std::string::npos) {
    replace("IDENT",
            uuid5(*Uuid::parse("a1b2c3d4-e5f6-7890-abcd-ef1234567890"), "{2}").to_string());
  }
  return text;
}

TEST(RunDocument, WhatTheFileLeavesOutIsSupplied) {
  const Result<RunDocument> document = from_json(small());
  ASSERT_TRUE(document) << document.error().message;
  EXPECT_EQ(document->image.row.number, 1U);
  ASSERT_EQ(document->log.size(), 3U);
  EXPECT_EQ(document->log[1].id, document->log[0].id);
  EXPECT_EQ(document->log[1].name, "reserve");
  EXPECT_EQ(document->log[2].location, "{2}");
  EXPECT_EQ(document->log[2].time_ms, 1700000000003);
}

TEST(RunDocument, MistakesAreNamed) {
  const struct {
    std::string_view from;
    std::string_view to;
    std::string_view message;
  } cases[] = {
      {R"("format": "pawl-run/1")", R"("format": "pawl-run/2")",
       "format: this is 'pawl-run/2', and this program reads 'pawl-run/1': use the one that wrote "
       "it"},
      {R"("format": "pawl-run/1")", R"("format": "history")",
       "format: expected 'pawl-run/1', got 'history': this is no run that was exported"},
      {R"("format": "pawl-run/1",)", "", "format: missing: this is no run that was exported"},
      {R"("format": "pawl-run/1")", R"("format": 1)", "format: expected a text, got 1"},
      {R"("format": "pawl-run/1",)", R"("format": "pawl-run/1")",
       "malformed JSON at line 2, column 26"},
      {R"("id": "order-17",)", "", "id: missing"},
      {R"("id": "order-17")", R"("id": 17)", "id: expected a text, got 17"},
      {R"("id": "order-17")", R"("id": "")", "id: a run needs one"},
      {R"("kind": "order")", R"("kind": "order", "colour": 1)",
       "colour: there is no such field in pawl-run/1"},
      {R"("kind": "order")", R"("kind": "order", "number": 0)", "number: runs are counted from 1"},
      {"a1b2c3d4-", "a1b2c3d4", "runId: expected a UUID, got the text"},
      {R"("status": "waiting")", R"("status": "asleep")", "status: there is no status 'asleep'"},
      {R"("status": "waiting")", R"("status": "failed")",
       "status: it is failed, but the log does not say how the workflow ended"},
      {R"("status": "waiting")", R"("status": "compensating")",
       "goal: a run that compensates ends as failed or as cancelled"},
      {R"({"event": "TaskScheduled", "taskType": "charge"}])",
       R"({"event": "TaskScheduled", "taskType": "charge"}, {"event": "WorkflowCompleted"}])",
       "status: it is waiting, but the log ends with WorkflowCompleted"},
      {R"({"event": "TaskCompleted", "result": 1},)", R"({"event": "TimerFired"},)",
       "log[1]: names no timer, and none is open before it"},
      {R"({"event": "TaskCompleted", "result": 1},)", R"({"event": "Done"},)",
       "log[1].event: there is no event 'Done'"},
      {R"({"event": "TaskCompleted", "result": 1},)",
       R"({"event": "TaskCompleted", "result": {"$bytes": "*"}},)",
       "log[1].result.$bytes: expected base64"},
      {R"({"event": "TaskCompleted", "result": 1},)", R"({"event": "LoopStarted", "seq": 4},)",
       "log: entry 4 (LoopStarted): seq 2 is missing before it"},
      {R"("taskType": "reserve")",
       R"("taskType": "reserve", "taskExecutionId": "11111111-2222-5333-8444-555555555555")",
       "log: entry 1 (TaskScheduled): its id is 11111111-2222-5333-8444-555555555555, but in the "
       "run a1b2c3d4-e5f6-7890-abcd-ef1234567890 the command at {1} has the id"},
      {R"("IDENT")", R"("x")", "tasks[0]: the log has no open task with the id 'x'"},
      {R"("state": "ready")", R"("state": "lost")", "tasks[0].state: there is no state 'lost'"},
      {R"("state": "ready")", R"("state": "ready", "attempt": -1)",
       "tasks[0].attempt: expected a whole number from 0"},
      {R"("state": "ready")", R"("state": "ready", "shift": 1)",
       "tasks[0].shift: there is no such field"},
      {R"("tasks": [)", R"("tasks": {}, "x": [)", "tasks: expected a list, got an object"},
      {R"("tasks": [)", R"("inbox": [{"event": "TaskScheduled", "dueAt": 0}], "tasks": [)",
       "inbox[0]: TaskScheduled cannot reach a run"},
      {R"("tasks": [)", R"("inbox": [{"event": "Rain", "dueAt": 0}], "tasks": [)",
       "inbox[0].event: there is no event 'Rain'"},
      {R"("tasks": [)", R"("forgotten": [{"event": "TimerFired", "seq": 2}], "tasks": [)",
       "forgotten: entry 2 (TimerFired): seq 2 is there twice, or out of order"},
      {R"("tasks": [)", R"("forgotten": [{"event": "TimerFired"}], "tasks": [)",
       "forgotten[0].seq: missing"},
      {R"("tasks": [)", R"("tags": [{"name": "a"}], "tasks": [)", "tags[0].value: missing"},
  };
  for (const auto& bad : cases) {
    const Result<RunDocument> document = from_json(small(bad.from, bad.to));
    ASSERT_FALSE(document) << bad.to;
    EXPECT_THAT(document.error().message, StartsWith(std::string(bad.message)));
  }
  EXPECT_THAT(from_json("[]").error().message, HasSubstr("no run that was exported"));
  EXPECT_THAT(from_json("").error().message, StartsWith("malformed JSON at line 1"));
}

TEST(RunDocument, IdsThatAnotherSystemGaveAreAsGoodAsAny) {
  const Result<RunDocument> document = from_json(
      small(R"("taskType": "reserve")", R"("taskType": "reserve", "taskExecutionId": "t-1")"));
  ASSERT_TRUE(document) << document.error().message;
  EXPECT_EQ(document->log[0].id, "t-1");
}

// Whatever somebody did to a file, it is read or refused with a sentence.
TEST(RunDocument, DamagedFilesAreReadOrRefused) {
  const std::uint64_t seed = new_seed();
  RandomDocument source(seed);
  std::mt19937_64 random(seed);
  int refused = 0;
  for (int round = 0; round < 4000; ++round) {
    std::string text = to_json(source.make());
    for (std::uint64_t changes = 1 + random() % 3; changes > 0; --changes) {
      const std::size_t at = random() % text.size();
      const std::size_t length = std::min<std::size_t>(1 + random() % 8, text.size() - at);
      switch (random() % 4) {
        case 0:
          text[at] = static_cast<char>(random());
          break;
        case 1:
          text.erase(at, length);
          break;
        case 2:
          text.insert(at, text.substr(random() % text.size(), length));
          break;
        default:
          text[at] = static_cast<char>('0' + random() % 10);
          break;
      }
      text += text.empty() ? " " : "";
    }
    const Result<RunDocument> document = from_json(text);
    if (!document) {
      ++refused;
      EXPECT_FALSE(document.error().message.empty());
    } else {
      EXPECT_TRUE(from_json(to_json(*document))) << text;
    }
  }
  EXPECT_GT(refused, 100);
}

// --- Stores --------------------------------------------------------------------------------------

class InStore : public testing::Test {
 protected:
  void SetUp() override {
    directory_ =
        std::filesystem::temp_directory_path() / ("pawl_portable_" + std::to_string(getpid()));
    std::filesystem::create_directories(directory_);
    store::SqliteOptions options;
    options.path = (directory_ / "runs.db").string();
    Result<std::unique_ptr<store::Store>> opened = store::open_sqlite(options);
    ASSERT_TRUE(opened) << opened.error().message;
    store_ = *std::move(opened);
  }
  void TearDown() override {
    store_.reset();
    std::filesystem::remove_all(directory_);
  }

  Result<store::RunKey> put(const RunDocument& document) {
    std::array<store::Op, 1> ops = {make_create_run(document, 5)};
    PAWL_TRY(store_->apply(ops));
    const auto& create = std::get<store::CreateRun>(ops[0]);
    EXPECT_EQ(create.outcome, store::CreateRun::Outcome::kCreated);
    return create.row.key;
  }

  std::filesystem::path directory_;
  std::unique_ptr<store::Store> store_;
};

TEST_F(InStore, WhatIsPutIsReadAgain) {
  RandomDocument source(new_seed());
  for (int round = 0; round < 200 && !HasFailure(); ++round) {
    RunDocument document = source.make();
    document.image.row.id += " " + std::to_string(round);
    std::sort(document.image.tags.begin(), document.image.tags.end());
    document.image.tags.erase(std::unique(document.image.tags.begin(), document.image.tags.end()),
                              document.image.tags.end());
    std::sort(document.image.dedupe.begin(), document.image.dedupe.end());
    std::sort(document.image.promises.begin(), document.image.promises.end(),
              [](const auto& a, const auto& b) { return a.name < b.name; });
    const Result<store::RunKey> key = put(document);
    ASSERT_TRUE(key) << key.error().message << to_json(document);
    const Result<RunDocument> again = read_document(*store_, *key);
    ASSERT_TRUE(again) << again.error().message;
    document.forgotten.clear();
    expect_same(*again, document);
    if (HasFailure()) {
      std::cout << to_json(document) << to_json(*again);
    }
  }
}

TEST_F(InStore, ATaskThatWasBeingExecutedIsReadyAgain) {
  Result<RunDocument> document = from_json(
      small(R"("state": "ready")", R"("state": "running", "attempt": 2, "startedAt": 3)"));
  ASSERT_TRUE(document) << document.error().message;
  const Result<store::RunKey> key = put(*document);
  ASSERT_TRUE(key) << key.error().message;
  const Result<RunDocument> again = read_document(*store_, *key);
  ASSERT_TRUE(again);
  ASSERT_EQ(again->image.tasks.size(), 1U);
  EXPECT_EQ(again->image.tasks[0].state, store::TaskState::kReady);
  EXPECT_EQ(again->image.tasks[0].attempt, 2U);
}

TEST_F(InStore, ARunThatIsNotThereIsNotFound) {
  const Result<RunDocument> document = read_document(*store_, 99);
  ASSERT_FALSE(document);
  EXPECT_EQ(document.error().code, ErrorCode::kNotFound);
}

}  // namespace
}  // namespace pawl::portable

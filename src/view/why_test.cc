#include "view/why.h"

#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/program.h"
#include "engine/serves.h"
#include "view/live_workers.h"

namespace pawl::view {
namespace {

using replay::CommandKind;
using store::RunStatus;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr std::int64_t kNow = 1'000'000;

RunDetails details_of(RunStatus status) {
  RunDetails details;
  details.row.key = 1;
  details.row.id = "order-17";
  details.row.kind = "fulfil";
  details.row.status = status;
  details.row.created_ms = kNow - 10'000;
  details.row.changed_ms = kNow - 5'000;
  return details;
}

OpenStep step(CommandKind kind, std::string name, std::string id = "", std::int64_t number_ms = 0) {
  OpenStep step;
  step.kind = kind;
  step.name = std::move(name);
  step.id = std::move(id);
  step.time_ms = kNow - 4'000;
  step.number_ms = number_ms;
  return step;
}

store::WorkerRow worker(std::string name, std::string serves, std::int64_t key = 7) {
  store::WorkerRow worker;
  worker.key = key;
  worker.name = std::move(name);
  worker.serves = std::move(serves);
  worker.expires_ms = kNow + 30'000;
  return worker;
}

const char* const kServesAll =
    R"({"kinds":{"fulfil":"f1"},"activities":["charge","refund"],"queues":["payments"]})";

std::vector<Finding> why(const RunDetails& details, const std::vector<store::WorkerRow>& workers = {
                                                        worker("host:1", kServesAll)}) {
  return find_why(details, workers, kNow);
}

Finding only(const std::vector<Finding>& findings) {
  EXPECT_THAT(findings, SizeIs(1));
  return findings.empty() ? Finding{} : findings.front();
}

TEST(Why, OneThatHasEnded) {
  RunDetails details = details_of(RunStatus::kFailed);
  details.outcome = R"({"type":"Refused","message":"no money"})";
  Finding found = only(why(details));
  EXPECT_EQ(found.code, "ended");
  EXPECT_EQ(found.what, "has ended: failed, Refused: no money");
  EXPECT_EQ(found.advice, "see what it has done: pawl history order-17");
  details = details_of(RunStatus::kRecurred);
  details.row.number = 3;
  EXPECT_EQ(only(why(details)).advice,
            "look at the run that it went on as: pawl why order-17 --number 4");
  EXPECT_THAT(only(why(details_of(RunStatus::kCompleted))).advice, IsEmpty());
}

TEST(Why, ASignal) {
  RunDetails details = details_of(RunStatus::kWaiting);
  details.open_steps = {step(CommandKind::kSignal, "approved")};
  Finding found = only(why(details));
  EXPECT_EQ(found.code, "signal");
  EXPECT_EQ(found.what, "waits for the signal 'approved'");
  EXPECT_EQ(found.advice, "send the signal: pawl signal order-17 approved JSON");
  EXPECT_EQ(found.since_ms, kNow - 4'000);
  EXPECT_EQ(found.until_ms, std::nullopt);
  details.open_steps = {step(CommandKind::kSignal, "approved", "", 64'000)};
  found = only(why(details));
  EXPECT_EQ(found.what, "waits for the signal 'approved', at most 1 min 00 s more");
  EXPECT_EQ(found.until_ms, kNow + 60'000);
}

TEST(Why, ASignalThatIsThereAndNobodyTakes) {
  RunDetails details = details_of(RunStatus::kWaiting);
  details.open_steps = {step(CommandKind::kSignal, "approved")};
  store::StoredArrival arrival;
  arrival.kind = static_cast<std::uint8_t>(replay::EntryKind::kSignalReceived);
  arrival.name = "approved";
  details.inbox = {arrival};
  const std::vector<Finding> found = why(details, {});
  ASSERT_THAT(found, SizeIs(2));
  EXPECT_THAT(found[0].what, HasSubstr("which is in its inbox"));
  EXPECT_EQ(found[0].who, "there is no live worker; one with the kind 'fulfil' is needed");
  EXPECT_EQ(found[0].advice, "start a program that has it");
  EXPECT_EQ(found[1].code, "inbox");
}

TEST(Why, CommandsAreFitForAShell) {
  RunDetails details = details_of(RunStatus::kWaiting);
  details.row.id = "-it's odd";
  details.open_steps = {step(CommandKind::kSignal, "a b")};
  EXPECT_EQ(only(why(details)).advice,
            R"(send the signal: pawl signal -- '-it'\''s odd' 'a b' JSON)");
}

TEST(Why, APromise) {
  RunDetails details = details_of(RunStatus::kWaiting);
  details.open_steps = {step(CommandKind::kPromise, "receipt", "receipt")};
  const Finding found = only(why(details));
  EXPECT_EQ(found.what, "waits for the promise 'receipt'");
  EXPECT_EQ(found.advice, "resolve it: pawl resolve order-17 receipt JSON");
}

TEST(Why, ATimer) {
  RunDetails details = details_of(RunStatus::kWaiting);
  details.open_steps = {step(CommandKind::kTimer, "", "t", 4'000 + 3 * 3'600'000)};
  Finding found = only(why(details));
  EXPECT_EQ(found.what, "waits for a timer, which fires in 3 h 00 min");
  EXPECT_EQ(found.until_ms, kNow + 3 * 3'600'000);
  EXPECT_THAT(found.advice, IsEmpty());
  // Overdue, and nobody there.
  details.open_steps = {step(CommandKind::kTimer, "nap", "t", 1'000)};
  const std::vector<Finding> overdue = why(details, {worker("host:1", R"({"kinds":{}})")});
  EXPECT_EQ(overdue.front().what, "waits for a timer 'nap', which should have fired 3.00 s ago");
  EXPECT_EQ(overdue.front().who, "no live worker has the kind 'fulfil'");
  EXPECT_EQ(overdue.front().advice, "start a program that has it");
}

store::TaskRow task(store::TaskState state) {
  store::TaskRow task;
  task.id = "t-1";
  task.type = "charge";
  task.queue = "payments";
  task.state = state;
  engine::TaskOptions options;
  options.retry.attempts = 5;
  task.options = engine::encode_task_options(options);
  return task;
}

TEST(Why, ATaskThatNobodyTakes) {
  RunDetails details = details_of(RunStatus::kWaiting);
  details.open_steps = {step(CommandKind::kTask, "charge", "t-1")};
  details.tasks = {task(store::TaskState::kReady)};
  const auto found =
      why(details,
          {worker("host:1", R"({"kinds":{"fulfil":""},"activities":["charge"],"queues":["x"]})")});
  EXPECT_EQ(only(found).what,
            "waits for the task 'charge' on the queue 'payments', which nobody has taken yet");
  EXPECT_EQ(only(found).who, "no live worker has the activity 'charge' on the queue 'payments'");
  EXPECT_EQ(only(found).advice, "start one that has it");
  EXPECT_EQ(only(why(details)).who, "host:1 has the activity 'charge' on the queue 'payments'");
  EXPECT_THAT(only(why(details)).advice, IsEmpty());
  // One that has told nothing may have it.
  EXPECT_THAT(why(details, {worker("old:1", "")}).front().who, HasSubstr("1 told nothing"));
}

TEST(Why, ATaskBetweenTwoAttempts) {
  RunDetails details = details_of(RunStatus::kWaiting);
  details.open_steps = {step(CommandKind::kTask, "charge", "t-1")};
  store::TaskRow delayed = task(store::TaskState::kDelayed);
  delayed.attempt = 2;
  delayed.due_ms = kNow + 12'000;
  delayed.last_error = R"({"type":"Timeout","message":"no answer"})";
  details.tasks = {delayed};
  const Finding found = only(why(details));
  EXPECT_EQ(found.what,
            "waits for the task 'charge' on the queue 'payments', attempt 3 of 5 in 12.00 s; the "
            "last one failed: Timeout: no answer");
  EXPECT_EQ(found.advice, "try now: pawl retry order-17");
  EXPECT_EQ(found.until_ms, kNow + 12'000);
}

TEST(Why, ATaskThatRuns) {
  RunDetails details = details_of(RunStatus::kWaiting);
  details.open_steps = {step(CommandKind::kTask, "charge", "t-1")};
  store::TaskRow running = task(store::TaskState::kRunning);
  running.attempt = 1;
  running.started_ms = kNow - 2'000;
  running.owner = 7;
  details.tasks = {running};
  EXPECT_EQ(only(why(details)).what,
            "waits for the task 'charge' on the queue 'payments', attempt 1 of 5 runs for 2.00 s");
  EXPECT_EQ(only(why(details)).who, "host:1 runs it");
  details.tasks[0].owner = 8;
  EXPECT_EQ(only(why(details)).who, "the worker that has taken it is gone");
}

TEST(Why, AChild) {
  RunDetails details = details_of(RunStatus::kWaiting);
  details.open_steps = {step(CommandKind::kChildWorkflow, "ship", "c-1")};
  store::RunRow child;
  child.id = "order-17/ship";
  child.status = RunStatus::kWaiting;
  child.waiting_for = "signal packed";
  child.parent.command = "c-1";
  details.children = {child};
  const Finding found = only(why(details));
  EXPECT_EQ(found.what, "waits for its child 'order-17/ship', which is waiting for signal packed");
  EXPECT_EQ(found.advice, "see why: pawl why order-17/ship");
}

TEST(Why, AnOperationBetweenTwoAttempts) {
  RunDetails details = details_of(RunStatus::kWaiting);
  details.open_steps = {step(CommandKind::kOperation, "reserve", "o-1")};
  store::StoredArrival retry;
  retry.kind = store::kRetryOperation;
  retry.id = "o-1";
  retry.number = 2;
  retry.due_ms = kNow + 30'000;
  details.inbox = {retry};
  const Finding found = only(why(details));
  EXPECT_EQ(found.what, "waits for the operation 'reserve', attempt 3 in 30.00 s");
  EXPECT_EQ(found.advice, "try now: pawl retry order-17");
}

TEST(Why, ACompensation) {
  RunDetails details = details_of(RunStatus::kCompensating);
  store::CompensationRow first;
  first.name = "refund";
  store::CompensationRow second;
  second.name = "release";
  second.position = 1;
  second.attempt = 1;
  second.due_ms = kNow + 3'600'000;
  second.outcome = R"({"message":"the bank is closed"})";
  details.compensations = {first, second};
  Finding found = only(why(details, {worker("host:1", R"({"activities":["release"]})")}));
  EXPECT_EQ(found.what,
            "undoes what it has done, next 'release'; attempt 1 failed: the bank is closed; "
            "attempt 2 in 1 h 00 min");
  EXPECT_EQ(found.advice, "try now: pawl retry order-17");
  found = only(why(details));
  EXPECT_EQ(found.who, "no live worker has the activity 'release'");
  EXPECT_EQ(found.advice, "start a program that has it");
}

TEST(Why, OneThatIsBlocked) {
  RunDetails details = details_of(RunStatus::kBlocked);
  details.reason =
      "Task type mismatch at Task(0)\n  code            PAWL-1002\n  what to do      put the step "
      "back";
  details.blocked_by = "f1";
  const Finding found = only(why(details));
  EXPECT_EQ(found.what, "is blocked: Task type mismatch at Task(0)");
  EXPECT_EQ(found.advice,
            "put the step back; then a program with code that fits goes on with it, or: pawl "
            "resume order-17");
  EXPECT_EQ(found.who,
            "no live worker has another definition of 'fulfil' than the one that blocked it");
  EXPECT_EQ(only(why(details, {worker("host:2", R"({"kinds":{"fulfil":"f2"}})")})).who,
            "host:2 has another definition of 'fulfil' than the one that blocked it");
}

TEST(Why, OneThatIsPaused) {
  RunDetails details = details_of(RunStatus::kWaiting);
  details.row.is_paused = true;
  details.open_steps = {step(CommandKind::kSignal, "approved")};
  const std::vector<Finding> found = why(details);
  ASSERT_THAT(found, SizeIs(2));
  EXPECT_EQ(found[0].code, "paused");
  EXPECT_EQ(found[0].advice, "let it go on: pawl unpause order-17");
  EXPECT_EQ(found[1].code, "signal");
}

TEST(Why, OneThatRuns) {
  RunDetails details = details_of(RunStatus::kRunning);
  Finding found = only(why(details, {}));
  EXPECT_EQ(found.code, "unclaimed");
  EXPECT_EQ(found.who, "there is no live worker; one with the kind 'fulfil' is needed");
  EXPECT_EQ(found.advice, "start a program that has it");
  details.row.owner = 7;
  EXPECT_EQ(only(why(details)).who, "host:1 holds it");
  // Whose lease is over is not there.
  std::vector<store::WorkerRow> expired = {worker("host:1", kServesAll)};
  expired[0].expires_ms = kNow;
  EXPECT_EQ(only(why(details, expired)).what, "was being worked on by a worker that is gone");
}

TEST(Why, ARunIsForThoseWhoHaveItsDefinition) {
  RunDetails details = details_of(RunStatus::kRunning);
  details.row.definition = "f1";
  const store::WorkerRow other = worker("host:2", R"({"kinds":{"fulfil":"f2"}})", 8);
  EXPECT_EQ(only(why(details, {worker("host:1", kServesAll), other})).who,
            "host:1 has the kind 'fulfil' in the definition that it was recorded under");
  const Finding found = only(why(details, {other}));
  EXPECT_EQ(found.who,
            "host:2 has the kind 'fulfil', in another definition than 'f1', which it was recorded "
            "under");
  EXPECT_THAT(found.advice, IsEmpty());
}

TEST(Why, LiveWorkersSayWhatNobodyCanServe) {
  std::vector<store::WorkerRow> rows = {worker("host:1", kServesAll)};
  const LiveWorkers workers(rows, kNow);
  EXPECT_EQ(workers.count(), 1U);
  EXPECT_TRUE(workers.can_run("fulfil"));
  EXPECT_FALSE(workers.can_run("other"));
  EXPECT_TRUE(workers.can_execute("charge", "payments"));
  EXPECT_FALSE(workers.can_execute("charge", "default"));
  EXPECT_FALSE(workers.can_execute("other", "payments"));
  store::RunRow row = details_of(RunStatus::kWaiting).row;
  EXPECT_FALSE(workers.is_abandoned(row));
  row.kind = "other";
  EXPECT_TRUE(workers.is_abandoned(row));
  row.owner = 7;
  EXPECT_FALSE(workers.is_abandoned(row));
  row.owner = 0;
  row.status = RunStatus::kCompleted;
  EXPECT_FALSE(workers.is_abandoned(row));
  rows.push_back(worker("host:2", ""));  // May have anything.
  EXPECT_TRUE(LiveWorkers(rows, kNow).can_run("other"));
  EXPECT_TRUE(LiveWorkers(rows, kNow).can_execute("other", "payments"));
  EXPECT_FALSE(LiveWorkers(rows, kNow + 30'000).can_run("fulfil"));
}

TEST(Why, NobodyIsThereForOneThatWaits) {
  RunDetails details = details_of(RunStatus::kWaiting);
  details.row.waiting_for = "task charge";
  const std::vector<Finding> found = why(details, {});
  ASSERT_THAT(found, SizeIs(2));
  EXPECT_EQ(found[0].what, "waits for task charge");
  EXPECT_EQ(found[1].code, "workers");
}

TEST(Why, ManyStepsAreCutShort) {
  RunDetails details = details_of(RunStatus::kWaiting);
  for (int i = 0; i < 1000; ++i) {
    details.open_steps.push_back(step(CommandKind::kSignal, "s" + std::to_string(i)));
  }
  const std::vector<Finding> found = why(details);
  ASSERT_THAT(found, SizeIs(kFindingsMax));
  EXPECT_EQ(found.back().what, "waits for 951 more");
}

TEST(Why, HostileNamesStayInTheirLine) {
  RunDetails details = details_of(RunStatus::kWaiting);
  details.row.id = "a\nb\x1b[2J";
  details.open_steps = {step(CommandKind::kSignal, "s\n\x1b[31m")};
  for (const Finding& finding : why(details)) {
    for (const std::string& text : {finding.what, finding.who, finding.advice}) {
      EXPECT_EQ(text.find_first_of("\n\x1b"), std::string::npos) << text;
    }
  }
}

TEST(ReadServes, TakesAnything) {
  for (const char* const text : {"", "x", "[]", "7", R"({"kinds":[1],"activities":7})"}) {
    EXPECT_THAT(engine::read_serves(text).kinds, IsEmpty()) << text;
  }
  EXPECT_FALSE(engine::read_serves("").is_known);
  const engine::Serves serves = engine::read_serves(kServesAll);
  EXPECT_TRUE(serves.is_known);
  EXPECT_EQ(serves.kinds.front().second, "f1");
  EXPECT_THAT(serves.activities, SizeIs(2));
}

}  // namespace
}  // namespace pawl::view

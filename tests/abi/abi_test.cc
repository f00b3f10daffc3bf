// The C ABI with threads, stores and code that changes. What a C program does is in smoke_test.c.
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "base/error.h"
#include "mini_sdk.h"
#include "pawl.h"

namespace pawl::abi {
namespace {

class File {
 public:
  File()
      : path_(std::filesystem::temp_directory_path() /
              ("pawl-abi-" + std::to_string(::getpid()) + "-" + std::to_string(++count_))) {
    std::filesystem::create_directory(path_);
  }
  ~File() { std::filesystem::remove_all(path_); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  std::string url() const {
    return "sqlite:" + (path_ / "abi.db").string() + "?durability=process";
  }

 private:
  static inline int count_ = 0;
  std::filesystem::path path_;
};

std::vector<Step> operations(std::size_t count) {
  std::vector<Step> steps(count);
  for (std::size_t i = 0; i < count; ++i) {
    steps[i].name = "op-" + std::to_string(i);
  }
  return steps;
}

std::string one(const std::string& /*name*/, std::uint32_t /*attempt*/) { return "1"; }

TEST(Abi, CodesAreThoseOfTheLibrary) {
  const std::map<pawl_status, ErrorCode> same = {
      {PAWL_INVALID_ARGUMENT, ErrorCode::kInvalidArgument},
      {PAWL_INVALID_STATE, ErrorCode::kInvalidState},
      {PAWL_LIMIT_EXCEEDED, ErrorCode::kLimitExceeded},
      {PAWL_NOT_FOUND, ErrorCode::kNotFound},
      {PAWL_ALREADY_EXISTS, ErrorCode::kAlreadyExists},
      {PAWL_CLOSED, ErrorCode::kClosed},
      {PAWL_TIMED_OUT, ErrorCode::kTimedOut},
      {PAWL_BAD_HANDLE, ErrorCode::kBadHandle},
      {PAWL_BUSY, ErrorCode::kHandleBusy},
      {PAWL_INTERNAL, ErrorCode::kInternal},
      {PAWL_DETERMINISM_VIOLATION, ErrorCode::kDeterminismViolation},
      {PAWL_CORRUPT_LOG, ErrorCode::kCorruptLog},
      {PAWL_MALFORMED_INPUT, ErrorCode::kMalformedInput},
      {PAWL_STORE_BUSY, ErrorCode::kStoreBusy},
      {PAWL_STORE_FULL, ErrorCode::kStoreFull},
      {PAWL_STORE_IO, ErrorCode::kStoreIo},
      {PAWL_STORE_CORRUPT, ErrorCode::kStoreCorrupt},
      {PAWL_STORE_UNUSABLE, ErrorCode::kStoreUnusable},
      {PAWL_UNKNOWN_OUTCOME, ErrorCode::kUnknownOutcome}};
  for (const auto& [status, code] : same) {
    EXPECT_EQ(status, static_cast<pawl_status>(code)) << pawl_status_name(status);
    EXPECT_STRNE(pawl_status_name(status), "PAWL_UNKNOWN");
  }
}

TEST(Abi, SeveralThreadsPollAndEveryStepIsExecutedOnce) {
  constexpr int kRuns = 40;
  const File file;
  std::atomic<int> executed = 0;
  MiniSdk sdk(file.url(), operations(8),
              [&](const std::string&, std::uint32_t) { return std::to_string(++executed); });
  for (int i = 0; i < kRuns; ++i) {
    const std::string id = "r-" + std::to_string(i);
    sdk.start(id);
    sdk.ask_for_result(id, 1U + static_cast<unsigned>(i));
  }
  sdk.is_enough = [&] { return sdk.reply_count() == kRuns; };
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      while (!sdk.is_enough() && sdk.work(50) != PAWL_CLOSED) {
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(executed, kRuns * 8);
  EXPECT_EQ(sdk.replays, kRuns);
  for (unsigned tag = 1; tag <= kRuns; ++tag) {
    EXPECT_EQ(sdk.replies[tag].status, PAWL_OK) << sdk.replies[tag].payload;
    EXPECT_EQ(sdk.replies[tag].run_status, PAWL_RUN_COMPLETED);
  }
}

TEST(Abi, RunsThatAreThrownOutOfMemoryAreToldAndComeBack) {
  const File file;
  std::vector<Step> steps = operations(3);
  steps.insert(steps.begin() + 1, {PAWL_SIGNAL, "go", 0, 1});
  MiniSdk sdk(file.url(), steps, one,
              [](pawl_engine_options& options) { options.cache_bytes = 1; });
  sdk.start("r");
  sdk.is_enough = [&] { return sdk.forgotten > 0; };
  ASSERT_EQ(sdk.work(20'000), PAWL_OK);
  ASSERT_EQ(pawl_client_signal(sdk.engine(), bytes("r"), bytes("go"), bytes("7"), {}, 2, nullptr),
            PAWL_OK);
  sdk.ask_for_result("r", 3);
  sdk.is_enough = [&] { return sdk.replies.contains(3); };
  ASSERT_EQ(sdk.work(20'000), PAWL_OK);
  EXPECT_EQ(sdk.replies[3].payload, "[1,7,1,1]");
  EXPECT_EQ(sdk.replays, 2);
}

TEST(Abi, WhatIsOutWhenTheEngineStopsGoesOnInTheNextOne) {
  const File file;
  {
    MiniSdk sdk(file.url(), operations(3), one);
    sdk.start("r");
    const pawl_event activation = sdk.take(PAWL_EVENT_ACTIVATION);
    ASSERT_EQ(pawl_engine_stop(sdk.engine()), PAWL_OK);
    std::int64_t now = 0;
    EXPECT_NE(pawl_context_now(activation.context, &now), PAWL_OK);
    EXPECT_NE(pawl_context_yield(activation.context), PAWL_OK);
    EXPECT_EQ(pawl_client_cancel(sdk.engine(), bytes("r"), {}, 0, nullptr), PAWL_CLOSED);
  }
  {
    MiniSdk sdk(file.url(), operations(3), one);
    sdk.handle(sdk.take(PAWL_EVENT_ACTIVATION));
    const pawl_event operation = sdk.take(PAWL_EVENT_OPERATION);
    ASSERT_EQ(pawl_engine_stop(sdk.engine()), PAWL_OK);
    EXPECT_EQ(pawl_attempt_complete(sdk.engine(), operation.attempt, bytes("1")), PAWL_CLOSED);
  }
  MiniSdk sdk(file.url(), operations(3), one);
  sdk.ask_for_result("r", 1);
  sdk.is_enough = [&] { return sdk.replies.contains(1); };
  ASSERT_EQ(sdk.work(20'000), PAWL_OK);
  EXPECT_EQ(sdk.replies[1].payload, "[1,1,1]");
}

TEST(Abi, PollsAndWaitsEndWhenTheEngineIsFreed) {
  const File file;
  pawl_engine_options options = {};
  options.size = sizeof(options);
  const std::string url = file.url();
  options.url = bytes(url);
  pawl_engine engine = nullptr;
  ASSERT_EQ(pawl_engine_open(&options, &engine), PAWL_OK);
  pawl_start_options start = {};
  start.size = sizeof(start);
  start.kind = bytes("nobody-has-it");
  start.id = bytes("r");
  pawl_reply started = {};
  ASSERT_EQ(pawl_client_start(engine, &start, 0, &started), PAWL_OK) << last_error();
  EXPECT_EQ(started.flag, 1);
  ASSERT_EQ(pawl_events_free(started.list), PAWL_OK);
  std::vector<pawl_status> ends(3);
  std::vector<std::thread> threads;
  threads.emplace_back([&] {
    pawl_events events = {};
    ends[0] = pawl_engine_poll(engine, ~0U, 1, -1, &events);
  });
  threads.emplace_back([&] {
    pawl_reply reply = {};
    ends[1] = pawl_client_result(engine, bytes("r"), -1, 0, &reply);
  });
  threads.emplace_back([&] {
    pawl_reply reply = {};
    ends[2] = pawl_client_result(engine, bytes("r"), 1, 0, &reply);
  });
  threads[2].join();
  EXPECT_EQ(ends[2], PAWL_TIMED_OUT);
  ASSERT_EQ(pawl_engine_free(engine), PAWL_OK);
  threads[0].join();
  threads[1].join();
  // Or they came when it was gone.
  for (const pawl_status end : {ends[0], ends[1]}) {
    EXPECT_TRUE(end == PAWL_CLOSED || end == PAWL_BAD_HANDLE) << pawl_status_name(end);
  }
}

TEST(Abi, WhoPollsIsToldThatTheEngineIsClosedBeforeItsHandleIsVoid) {
  const File file;
  MiniSdk sdk(file.url(), operations(1), one);
  sdk.start("r");
  const pawl_event activation = sdk.take(PAWL_EVENT_ACTIVATION);
  std::vector<pawl_status> ends;
  std::thread poller([&] {
    while (ends.empty() || ends.back() == PAWL_TIMED_OUT) {
      pawl_events events = {};
      ends.push_back(pawl_engine_poll(sdk.engine(), PAWL_EVENT_TROUBLE, 1, 1, &events));
    }
  });
  ASSERT_EQ(pawl_engine_stop(sdk.engine()), PAWL_OK);
  poller.join();
  EXPECT_EQ(ends.back(), PAWL_CLOSED);
  EXPECT_EQ(pawl_context_yield(activation.context), PAWL_BAD_HANDLE);
}

TEST(Abi, WhatIsNotGivenInARetryPolicyHasItsDefault) {
  pawl_retry retry = {};
  retry.size = sizeof(retry);
  retry.attempts = 3;
  pawl_task_options options = {};
  options.size = sizeof(options);
  options.retry = &retry;
  pawl_buffer extra = nullptr;
  EXPECT_EQ(pawl_task_extra(&options, &extra), PAWL_OK) << last_error();
  EXPECT_EQ(pawl_buffer_free(extra), PAWL_OK);
  retry.initial_ms = 120'000;
  EXPECT_EQ(pawl_task_extra(&options, &extra), PAWL_OK) << last_error();
  EXPECT_EQ(pawl_buffer_free(extra), PAWL_OK);
  retry.factor = 0.5;
  EXPECT_EQ(pawl_task_extra(&options, &extra), PAWL_INVALID_ARGUMENT);
}

TEST(Abi, QueriesThatMeanNothingAreRefused) {
  const File file;
  MiniSdk sdk(file.url(), operations(1), one);
  for (const std::string_view query :
       {R"({"tags":5})", R"({"kinds":"steps"})", R"({"statuses":["asleep"]})", R"({"what":1})"}) {
    pawl_reply reply = {};
    EXPECT_NE(pawl_client_list(sdk.engine(), bytes(query), 0, &reply), PAWL_OK) << query;
  }
}

TEST(Abi, CodeThatHasChangedBlocksTheRunAndTheNextCodeGoesOn) {
  const File file;
  std::vector<Step> old = operations(2);
  old.push_back({PAWL_SIGNAL, "go", 0, 1});
  {
    MiniSdk sdk(file.url(), old, one);
    sdk.start("r");
    sdk.is_enough = [&] {
      pawl_reply reply = {};
      if (pawl_client_describe(sdk.engine(), bytes("r"), 0, &reply) != PAWL_OK) {
        return false;
      }
      const bool waits = text(reply.payload).find("signal go") != std::string::npos;
      EXPECT_EQ(pawl_events_free(reply.list), PAWL_OK);
      return waits;
    };
    while (sdk.work(20) == PAWL_TIMED_OUT && !sdk.is_enough()) {
    }
  }
  {
    std::vector<Step> changed = old;
    changed[1].name = "another";
    MiniSdk sdk(file.url(), changed, one);
    ASSERT_EQ(pawl_client_signal(sdk.engine(), bytes("r"), bytes("go"), bytes("1"), {}, 1, nullptr),
              PAWL_OK);
    sdk.is_enough = [&] { return !sdk.troubles.empty(); };
    ASSERT_EQ(sdk.work(20'000), PAWL_OK);
    EXPECT_NE(sdk.troubles[0].find("another"), std::string::npos) << sdk.troubles[0];
    pawl_reply reply = {};
    ASSERT_EQ(pawl_client_describe(sdk.engine(), bytes("r"), 0, &reply), PAWL_OK);
    EXPECT_NE(text(reply.payload).find("\"blocked\""), std::string::npos) << text(reply.payload);
    EXPECT_NE(text(reply.payload).find("PAWL-1002"), std::string::npos) << text(reply.payload);
    EXPECT_EQ(pawl_events_free(reply.list), PAWL_OK);
  }
  MiniSdk sdk(file.url(), old, one);
  ASSERT_EQ(pawl_client_resume(sdk.engine(), bytes("r"), 1, nullptr), PAWL_OK);
  sdk.ask_for_result("r", 2);
  sdk.is_enough = [&] { return sdk.replies.contains(2); };
  ASSERT_EQ(sdk.work(20'000), PAWL_OK);
  EXPECT_EQ(sdk.replies[2].payload, "[1,1,1]");
}

TEST(Abi, FailedAttemptsAreTriedAgainAndTheLastFailureIsTheRuns) {
  const File file;
  std::vector<Step> steps = operations(2);
  steps[0].attempts = 3;
  MiniSdk sdk(file.url(), steps, [](const std::string& name, std::uint32_t attempt) -> std::string {
    return name == "op-0" && attempt == 3 ? "\"at last\"" : "";
  });
  sdk.start("r");
  sdk.ask_for_result("r", 1);
  sdk.is_enough = [&] { return sdk.replies.contains(1); };
  ASSERT_EQ(sdk.work(20'000), PAWL_OK);
  EXPECT_EQ(sdk.replies[1].run_status, PAWL_RUN_FAILED);
  EXPECT_NE(sdk.replies[1].payload.find("Flaky"), std::string::npos) << sdk.replies[1].payload;
}

TEST(Abi, AttemptsHearThatTheirRunIsCancelled) {
  const File file;
  MiniSdk sdk(file.url(), {{PAWL_TASK, "task", 0, 1}}, one);
  sdk.start("r");
  sdk.handle(sdk.take(PAWL_EVENT_ACTIVATION));
  const pawl_event task = sdk.take(PAWL_EVENT_TASK);
  std::int32_t should_stop = 1;
  ASSERT_EQ(pawl_attempt_should_stop(sdk.engine(), task.attempt, &should_stop), PAWL_OK);
  EXPECT_EQ(should_stop, 0);
  ASSERT_EQ(pawl_client_terminate(sdk.engine(), bytes("r"), bytes("enough"), 2, nullptr), PAWL_OK);
  sdk.is_enough = [&] { return sdk.replies.contains(2); };
  ASSERT_EQ(sdk.work(20'000), PAWL_OK);
  ASSERT_EQ(pawl_attempt_heartbeat(sdk.engine(), task.attempt, {}, &should_stop), PAWL_OK);
  EXPECT_EQ(should_stop, 1);
  EXPECT_EQ(pawl_attempt_complete(sdk.engine(), task.attempt, bytes("1")), PAWL_OK);
}

// What reaches a run while somebody has its context waits for the next turn.
TEST(Abi, WhatComesWhileAContextIsOutIsNotLost) {
  const File file;
  MiniSdk sdk(file.url(), {{PAWL_SIGNAL, "go", 0, 1}, {PAWL_SIGNAL, "go", 0, 1}}, one);
  sdk.start("r");
  const pawl_event activation = sdk.take(PAWL_EVENT_ACTIVATION);
  for (const char* const payload : {"1", "2"}) {
    pawl_reply reply = {};
    ASSERT_EQ(
        pawl_client_signal(sdk.engine(), bytes("r"), bytes("go"), bytes(payload), {}, 0, &reply),
        PAWL_OK);
    EXPECT_EQ(pawl_events_free(reply.list), PAWL_OK);
  }
  sdk.handle(activation);
  sdk.ask_for_result("r", 1);
  sdk.is_enough = [&] { return sdk.replies.contains(1); };
  ASSERT_EQ(sdk.work(20'000), PAWL_OK);
  EXPECT_EQ(sdk.replies[1].payload, "[1,2]");
}

TEST(Abi, ARunThatIsTerminatedWhileItsContextIsOutIsGone) {
  const File file;
  MiniSdk sdk(file.url(), operations(2), one);
  sdk.start("r");
  const pawl_event activation = sdk.take(PAWL_EVENT_ACTIVATION);
  pawl_reply reply = {};
  ASSERT_EQ(pawl_client_terminate(sdk.engine(), bytes("r"), bytes("enough"), 0, &reply), PAWL_OK);
  EXPECT_EQ(pawl_events_free(reply.list), PAWL_OK);
  sdk.handle(activation);  // Nothing comes of it.
  sdk.is_enough = [&] { return sdk.forgotten == 1; };
  ASSERT_EQ(sdk.work(20'000), PAWL_OK);
  std::int64_t now = 0;
  EXPECT_EQ(pawl_context_now(activation.context, &now), PAWL_BAD_HANDLE);
  ASSERT_EQ(pawl_client_result(sdk.engine(), bytes("r"), -1, 0, &reply), PAWL_OK);
  EXPECT_EQ(reply.run_status, PAWL_RUN_FAILED);
  EXPECT_EQ(pawl_events_free(reply.list), PAWL_OK);
}

TEST(Abi, CallersOfOtherVersionsAreUnderstood) {
  // Older: it knows only the first field.
  struct {
    std::size_t size;
    pawl_bytes run_id;
  } old = {};
  old.size = sizeof(old);
  old.run_id = bytes("a1b2c3d4-e5f6-7890-abcd-ef1234567890");
  pawl_context context = nullptr;
  ASSERT_EQ(pawl_context_create(reinterpret_cast<const pawl_context_options*>(&old), &context),
            PAWL_OK)
      << last_error();
  ASSERT_EQ(pawl_context_free(context), PAWL_OK);
  // Newer: what this library does not know must not be asked for.
  struct {
    pawl_context_options known;
    std::int64_t unknown;
  } young = {};
  young.known.size = sizeof(young);
  ASSERT_EQ(pawl_context_create(&young.known, &context), PAWL_OK) << last_error();
  ASSERT_EQ(pawl_context_free(context), PAWL_OK);
  young.unknown = 1;
  EXPECT_EQ(pawl_context_create(&young.known, &context), PAWL_INVALID_ARGUMENT);
}

TEST(Abi, ASizeThatCutsAPointerInTwoIsRefused) {
  pawl_retry retry = {};
  retry.size = sizeof(retry);
  pawl_task_options options = {};
  options.retry = &retry;
  for (options.size = 0; options.size < sizeof(options); ++options.size) {
    pawl_buffer extra = nullptr;
    const pawl_status status = pawl_task_extra(&options, &extra);
    if (options.size < sizeof(options.size) || options.size % sizeof(options.retry) != 0) {
      EXPECT_EQ(status, PAWL_INVALID_ARGUMENT) << options.size;
    } else {
      ASSERT_EQ(status, PAWL_OK) << options.size << ": " << last_error();
      EXPECT_EQ(pawl_buffer_free(extra), PAWL_OK);
    }
  }
}

TEST(Abi, LargePayloadsAreRefusedWhereTheyAreMade) {
  const File file;
  MiniSdk sdk(
      file.url(), operations(1),
      [](const std::string&, std::uint32_t) { return "\"" + std::string(2000, 'x') + "\""; },
      [](pawl_engine_options& options) { options.payload_bytes_max = 1000; });
  pawl_start_options start = {};
  start.size = sizeof(start);
  start.kind = bytes("steps");
  const std::string large(2000, '7');
  start.input = bytes(large);
  EXPECT_EQ(pawl_client_start(sdk.engine(), &start, 1, nullptr), PAWL_LIMIT_EXCEEDED);
  sdk.start("r");
  sdk.ask_for_result("r", 2);
  sdk.is_enough = [&] { return sdk.replies.contains(2); };
  ASSERT_EQ(sdk.work(20'000), PAWL_OK);
  EXPECT_EQ(sdk.replies[2].run_status, PAWL_RUN_FAILED);
  EXPECT_NE(sdk.replies[2].payload.find("PayloadTooLarge"), std::string::npos);
}

TEST(Abi, TimeOfATestGoesWhereItIsSent) {
  MiniSdk sdk("", {{PAWL_TIMER, "", 3'600'000, 1}}, one,
              [](pawl_engine_options& options) { options.is_test = 1; });
  std::int64_t began = 0;
  ASSERT_EQ(pawl_test_now(sdk.engine(), &began), PAWL_OK);
  sdk.start("r");
  EXPECT_EQ(sdk.work(0), PAWL_TIMED_OUT);
  std::int64_t now = 0;
  ASSERT_EQ(pawl_test_now(sdk.engine(), &now), PAWL_OK);
  EXPECT_EQ(now, began) << "nobody waits";
  ASSERT_EQ(pawl_test_advance(sdk.engine(), 1000, 2, nullptr), PAWL_OK);
  EXPECT_EQ(sdk.work(0), PAWL_TIMED_OUT);
  EXPECT_TRUE(sdk.replies.contains(2));
  ASSERT_EQ(pawl_test_now(sdk.engine(), &now), PAWL_OK);
  EXPECT_EQ(now, began + 1000);
  sdk.ask_for_result("r", 3);
  sdk.is_enough = [&] { return sdk.replies.contains(3); };
  ASSERT_EQ(sdk.work(10'000), PAWL_OK);
  ASSERT_EQ(pawl_test_now(sdk.engine(), &now), PAWL_OK);
  EXPECT_EQ(now, began + 3'600'000);
}

TEST(Abi, TimeOfATestStandsStillAgainWhenSomebodyHasGivenUpWaiting) {
  MiniSdk sdk("", {{PAWL_SIGNAL, "never", 0, 1}, {PAWL_TIMER, "", 1000, 1}}, one,
              [](pawl_engine_options& options) { options.is_test = 1; });
  sdk.start("waits");
  EXPECT_EQ(sdk.work(0), PAWL_TIMED_OUT);
  pawl_reply reply = {};
  EXPECT_EQ(pawl_client_result(sdk.engine(), bytes("waits"), 1, 0, &reply), PAWL_TIMED_OUT);
  ASSERT_EQ(pawl_client_signal(sdk.engine(), bytes("waits"), bytes("never"), bytes("1"), bytes(""),
                               2, nullptr),
            PAWL_OK);
  std::int64_t began = 0;
  ASSERT_EQ(pawl_test_now(sdk.engine(), &began), PAWL_OK);
  EXPECT_EQ(sdk.work(0), PAWL_TIMED_OUT);
  std::int64_t now = 0;
  ASSERT_EQ(pawl_test_now(sdk.engine(), &now), PAWL_OK);
  EXPECT_EQ(now, began) << "nobody waits";
}

}  // namespace
}  // namespace pawl::abi

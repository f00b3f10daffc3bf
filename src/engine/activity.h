// Activities as the engine sees them: functions from bytes to bytes, with a retry policy.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/job.h"

namespace pawl::engine {

// How an activity or a workflow failed. Kept in the log as JSON: {"type", "message", …}.
struct Failure {
  std::string type;  // E.g. "shop::OutOfStock".
  std::string message;
  std::string details;              // JSON, or empty.
  bool is_final = false;            // Not to be retried, whatever the policy says.
  std::int64_t next_delay_ms = -1;  // Of the next attempt, instead of the policy's; -1: none.
  bool is_cancelled = false;        // Ended because it was asked to.
};
std::string encode_failure(const Failure& failure);
// Takes any text: what is no JSON object becomes the message.
Failure decode_failure(std::string_view payload);

struct RetryPolicy {
  std::uint32_t attempts = 1;  // In all; 0: no limit.
  std::int64_t initial_ms = 1000;
  std::int64_t maximum_ms = 60'000;
  double factor = 2.0;
  double jitter = 0.1;  // Part of the interval that is random: 0 to 1.
  std::vector<std::string> final_types = {};
};

// False: the failure is for good.
bool may_retry(const RetryPolicy& policy, const Failure& failure, std::uint32_t attempts_made);
// `random`: 64 random bits, for the jitter.
std::int64_t retry_delay_ms(const RetryPolicy& policy, const Failure& failure,
                            std::uint32_t attempts_made, std::uint64_t random);

// What the entry of an outcome has as `extra`, for people: {"attempts":3}. Nothing if the first
// attempt was the only one.
std::string attempts_extra(std::uint32_t attempts_made);

struct ActivityOutcome {
  bool ok = true;
  std::string result;  // If ok.
  Failure failure;     // If not.
};

// One attempt, as its code sees it. Used by the thread that runs the attempt.
class ActivityAttempt {
 public:
  virtual ~ActivityAttempt() = default;

  std::string run_id;  // The user's id of the run.
  std::string type;    // Or the operation's or compensation's name.
  std::string input;
  std::string key;  // The command's id: the same for every attempt. For idempotency keys.
  std::uint32_t attempt = 1;
  std::string last_details;  // Of the last heartbeat of an earlier attempt.

  // Says that the attempt is alive, with details that the next one gets if this one fails. They are
  // written now and then, so what a process that dies has said last may be lost: that of a second,
  // or of a quarter of the heartbeat timeout. False: it should stop: cancelled, timed out, its run
  // has ended, or the engine stops. Nothing for operations.
  virtual bool heartbeat(std::string_view details) = 0;
  virtual bool should_stop() const = 0;
};

// Called on an activity thread, once per attempt. Must not throw.
using ActivityBody = std::function<ActivityOutcome(ActivityAttempt&)>;

// For activities that are executed by threads of somebody else's: called on the loop, once per
// attempt, must not block. Whoever has taken the attempt calls `done` once, on any thread, also if
// it should stop.
using ActivityDone = OnceCall<ActivityOutcome&&>;
using RemoteBody = std::function<void(std::shared_ptr<ActivityAttempt> attempt, ActivityDone done)>;

// An activity that can be asked for by name: by tasks, by compensations.
struct ActivityType {
  std::string name;
  ActivityBody body;                                  // This, or `remote`.
  RetryPolicy compensation_retry = {.attempts = 10};  // When run as a compensation.
  RemoteBody remote = {};
};

}  // namespace pawl::engine

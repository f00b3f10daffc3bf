// Rows of the store as plain data: runs, what waits for them, tasks, compensations.
// Value types. Payloads are opaque bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/uuid.h"
#include "replay/entry.h"

namespace pawl::store {

// Numbers that the store gives; 0: none. They never come back, not even after a deletion.
using RunKey = std::int64_t;
using WorkerKey = std::int64_t;
using ArrivalKey = std::int64_t;
using TaskKey = std::int64_t;

// No moment: what has no deadline, and a run that nothing will wake.
inline constexpr std::int64_t kNever = 0x7fffffffffffffff;

// The numbers are stored: append only, never reuse.
enum class RunStatus : std::uint8_t {
  kRunning = 1,
  kWaiting = 2,
  kCompensating = 3,
  kCompleted = 4,
  kFailed = 5,
  kCancelled = 6,
  kRecurred = 7,
  kBlocked = 8,
};
std::string_view status_name(RunStatus status);
// With what it waits for, if that is not empty: "waiting for signal go", "compensating, waiting for
// compensation undo".
std::string status_text(RunStatus status, std::string_view waiting_for);
std::optional<RunStatus> find_status(std::string_view name);
inline bool is_closed(RunStatus status) {
  return status >= RunStatus::kCompleted && status <= RunStatus::kRecurred;
}

// What happens to a child when its parent ends first. The numbers are stored.
enum class ParentClose : std::uint8_t { kCancel = 0, kAbandon = 1, kTerminate = 2 };

struct Tag {
  std::string name;
  std::string value;

  friend auto operator<=>(const Tag&, const Tag&) = default;
};

// Who started a run as a child.
struct Parent {
  RunKey run = 0;
  std::string command;  // Id of its ChildWorkflowInitiated.
  ParentClose close = ParentClose::kCancel;

  friend bool operator==(const Parent&, const Parent&) = default;
};

// The code of a kind of workflow, by its fingerprint.
struct KindDefinition {
  std::string kind;
  std::string definition;

  friend auto operator<=>(const KindDefinition&, const KindDefinition&) = default;
};

struct NewRun {
  std::string id;  // The user's; any text but the empty one.
  Uuid uuid;       // The run id.
  std::string kind;
  std::string input;
  std::string definition;  // Fingerprint.
  std::vector<Tag> tags;
  Parent parent;
};

struct RunRow {
  RunKey key = 0;
  std::string id;
  std::uint32_t number = 1;  // Of the runs that had this id, from 1.
  Uuid uuid;
  std::string kind;
  RunStatus status = RunStatus::kRunning;
  RunStatus goal = RunStatus::kRunning;  // kCompensating: the status to reach.
  std::string waiting_for;               // kWaiting: e.g. "signal approved".
  std::string definition;
  bool is_approved = false;  // A person let it go on under another definition.
  bool is_paused = false;    // A person holds it where it is: nobody claims it.
  std::int64_t created_ms = 0;
  std::int64_t changed_ms = 0;  // When the status last changed.
  std::int64_t wake_ms = kNever;
  WorkerKey owner = 0;
  std::int64_t epoch = 0;  // Counts the claims.
  Parent parent;
};

// Arrivals use the numbers of EntryKind; these are for the engine alone and never enter a log.
inline constexpr std::uint8_t kRetryOperation = 200;  // An operation's next attempt is due.

// Something that reaches a run, at once or when it is due.
struct NewArrival {
  std::uint8_t kind = 0;    // EntryKind, or an engine's own.
  std::int64_t due_ms = 0;  // Not before then.
  std::string id;           // Of the command that it completes.
  std::string location;     // SignalTimedOut: of the wait.
  std::string name;         // SignalReceived.
  std::int64_t number = 0;  // kRetryOperation: attempts made so far.
  bool has_payload = false;
  std::string payload;
  std::string extra;
};

struct Arrival : NewArrival {
  ArrivalKey key = 0;  // Increases in order of arrival.
  RunKey run = 0;
};

struct NewTask {
  std::string id;  // Of its TaskScheduled.
  std::string type;
  std::string queue;
  std::int32_t priority = 0;  // Higher first.
  std::string input;
  bool has_input = false;
  std::string options;                // Retry policy, in the engine's encoding.
  std::int64_t wait_ms = 0;           // Time until it is taken, each time it is ready,
  std::int64_t attempt_ms = 0;        // for one attempt, and
  std::int64_t heartbeat_ms = 0;      // between two heartbeats; 0: any.
  std::int64_t deadline_ms = kNever;  // For all of it.
  std::int64_t due_ms = kNever;       // When somebody has to look at it: the nearest deadline.
};

enum class TaskState : std::uint8_t {
  kReady = 0,    // To be taken.
  kDelayed = 1,  // Ready when due.
  kRunning = 2,  // Taken by `owner`.
};

struct TaskRow : NewTask {
  TaskKey key = 0;
  RunKey run = 0;
  std::string run_id;  // The user's.
  TaskState state{};
  WorkerKey owner = 0;
  std::uint32_t attempt = 0;  // The one that runs, or the last one; 0: none yet.
  std::int64_t created_ms = 0;
  std::int64_t started_ms = 0;  // Of the attempt.
  std::string details;          // Of the last heartbeat.
  std::string last_error;
  bool cancel_requested = false;
};

// The numbers are stored.
enum class CompensationState : std::uint8_t { kOpen = 0, kDone = 1, kFailed = 2 };

struct CompensationRow {
  std::uint32_t position = 0;  // Of registration, from 0; the last runs first.
  std::string name;
  std::string input;
  bool has_input = false;
  CompensationState state = CompensationState::kOpen;
  std::uint32_t attempt = 0;  // Attempts made.
  std::int64_t due_ms = 0;    // Not before then.
  std::string outcome;        // Result, or the last error.
};

}  // namespace pawl::store

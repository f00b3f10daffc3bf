// Entry: one record of a run's log as plain data, and the tables that say what each kind is.
// Views in an Entry are borrowed: valid as long as whoever handed it out says.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pawl::replay {

// The numbers are stored: append only, never reuse.
enum class EntryKind : std::uint8_t {
  kTaskScheduled = 1,
  kOperationStarted = 2,
  kOperationCompleted =
      3,  // With a location: a whole operation. Without: the arrival of a started one.
  kOperationFailed = 4,
  kTimerStarted = 5,
  kPromiseCreated = 6,
  kChildWorkflowInitiated = 7,
  kStateSet = 8,
  kStateCleared = 9,
  kSignalAwaited = 10,
  kBranchOpened = 11,
  kLoopStarted = 12,
  kStepRemoved = 13,
  kVersionChecked = 14,
  kCompensationRegistered = 15,
  kTaskCancelRequested = 16,
  kTimerCancelRequested = 17,

  kTaskCompleted = 32,
  kTaskFailed = 33,
  kTaskCancelled = 34,
  kTimerFired = 35,
  kTimerCancelled = 36,
  kPromiseResolved = 37,
  kPromiseRejected = 38,
  kPromiseTimedOut = 39,
  kChildWorkflowCompleted = 40,
  kChildWorkflowFailed = 41,
  kChildWorkflowCancelled = 42,
  kSignalReceived = 43,
  kSignalTimedOut = 44,
  kCancellationRequested = 45,

  kLoopCheckpointed = 64,
  kWorkflowCompleted = 65,
  kWorkflowFailed = 66,
  kWorkflowCancelled = 67,
  kWorkflowRecurred = 68,
};

// What a command is, for matching and for labels: Task(0), Timer(1) …
enum class CommandKind : std::uint8_t {
  kNone = 0,
  kTask = 1,
  kOperation = 2,
  kTimer = 3,
  kPromise = 4,
  kChildWorkflow = 5,
  kState = 6,
  kSignal = 7,
  kBranch = 8,
  kLoop = 9,
  kVersionCheck = 10,
  kCompensation = 11,
  kCancelTask = 12,
  kCancelTimer = 13,
};
inline constexpr std::size_t kCommandKinds = 14;

enum class EntryRole : std::uint8_t {
  kCommand,     // Asked for by workflow code; has a location.
  kArrival,     // Completes a command.
  kFree,        // Reached the run by itself: signals, cancel requests.
  kCheckpoint,  // Stands for a loop's forgotten iterations.
  kEnd,         // The outcome of the workflow function.
};

// How an arrival completes its future.
enum class OutcomeKind : std::uint8_t { kValue, kFailed, kCancelled, kTimedOut };

struct EntryTraits {
  EntryKind kind;
  std::string_view event;  // Its name in the JSON form.
  EntryRole role;
  CommandKind command;  // What it is (commands) or completes (arrivals).
  OutcomeKind outcome;  // Arrivals and whole operations.
};

// Null for a number that is no entry kind.
const EntryTraits* find_traits(EntryKind kind);
// Null for a name that is no event.
const EntryTraits* find_traits(std::string_view event);
// For a kind that is known to be valid.
const EntryTraits& traits(EntryKind kind);

// OperationCompleted or OperationFailed: a whole operation if it has a location, else an arrival.
inline bool is_operation_outcome(EntryKind kind) {
  return kind == EntryKind::kOperationCompleted || kind == EntryKind::kOperationFailed;
}
inline bool is_cancel_request(EntryKind kind) {
  return kind == EntryKind::kTaskCancelRequested || kind == EntryKind::kTimerCancelRequested;
}
// Timers, promises and cancel requests go by an id that the code names.
inline bool is_named_by_id(CommandKind kind) {
  return kind == CommandKind::kTimer || kind == CommandKind::kPromise ||
         kind == CommandKind::kCancelTask || kind == CommandKind::kCancelTimer;
}

// "Task", "ChildWorkflow" …: as printed in labels.
std::string_view label_name(CommandKind kind);
// "task", "child" …: as written in StepRemoved and in removed().
std::string_view step_name(CommandKind kind);
std::optional<CommandKind> find_step_kind(std::string_view step_name);

// Whoever talks to users sets lower limits; these are what a record can hold, and what a name, id
// or key may sensibly be.
inline constexpr std::size_t kPayloadBytesMax = 0xfffffff0U;
inline constexpr std::size_t kNameBytesMax = std::size_t{1} << 20U;

// One key of the run's state as a loop's forgotten iterations left it.
struct StateChange {
  std::string key;
  std::optional<std::string> value;  // Absent: cleared.

  friend bool operator==(const StateChange&, const StateChange&) = default;
};

// What stands for the forgotten iterations of a loop.
struct Checkpoint {
  std::uint64_t iteration = 0;  // Finished iterations.
  std::string state;
  std::vector<StateChange> changes;  // In order of key.
  // Signals from before the loop that its iterations took: they stay in the log, because code
  // before the loop may have looked at them.
  std::vector<std::uint64_t> taken;
  bool done = false;   // The loop has ended,
  std::string result;  // with this value.
};

struct Entry {
  EntryKind kind{};
  std::uint64_t seq = 0;
  std::int64_t time_ms = 0;
  std::uint32_t version = 1;

  // Printed location: of a command; of the wait (SignalTimedOut); of the loop (LoopCheckpointed).
  // Empty otherwise.
  std::string_view location;
  // Task execution, operation, timer, promise or child execution id.
  std::string_view id;
  // Task type, operation, signal, compensation or child name; state key; name of a removed step.
  std::string_view name;
  std::string_view child_kind;  // ChildWorkflowInitiated.
  CommandKind removed{};        // StepRemoved.
  std::string_view step_key;    // Explicit key to match by.
  std::string_view source;      // file:line of the call, if known.
  // Inserted right where check_version() had said this without writing anything; 0: not so. The
  // next check has to say the same, although this entry comes first now.
  std::uint32_t checked = 0;

  // Input, result, value, state, data, error or reason. Opaque bytes.
  bool has_payload = false;
  std::string_view payload;

  std::int64_t number = 0;         // durationMs or timeoutMs; 0: none.
  std::uint64_t input_digest = 0;  // stable_digest of the input; 0: unknown.
  std::string_view extra;  // What the core keeps but does not read, in the caller's encoding.

  const Checkpoint* checkpoint = nullptr;  // LoopCheckpointed.
};

}  // namespace pawl::replay

#include "replay/entry.h"

#include <array>

#include "base/check.h"

namespace pawl::replay {

namespace {

using enum EntryKind;
using enum EntryRole;
using enum CommandKind;

constexpr auto kValue = OutcomeKind::kValue;
constexpr auto kFailed = OutcomeKind::kFailed;
constexpr auto kGone = OutcomeKind::kCancelled;
constexpr auto kLate = OutcomeKind::kTimedOut;

constexpr auto kTraits = std::to_array<EntryTraits>({
    {kTaskScheduled, "TaskScheduled", kCommand, kTask, kValue},
    {kOperationStarted, "OperationStarted", kCommand, kOperation, kValue},
    {kOperationCompleted, "OperationCompleted", kCommand, kOperation, kValue},
    {kOperationFailed, "OperationFailed", kCommand, kOperation, kFailed},
    {kTimerStarted, "TimerStarted", kCommand, kTimer, kValue},
    {kPromiseCreated, "PromiseCreated", kCommand, kPromise, kValue},
    {kChildWorkflowInitiated, "ChildWorkflowInitiated", kCommand, kChildWorkflow, kValue},
    {kStateSet, "StateSet", kCommand, kState, kValue},
    {kStateCleared, "StateCleared", kCommand, kState, kValue},
    {kSignalAwaited, "SignalAwaited", kCommand, kSignal, kValue},
    {kBranchOpened, "BranchOpened", kCommand, kBranch, kValue},
    {kLoopStarted, "LoopStarted", kCommand, kLoop, kValue},
    {kStepRemoved, "StepRemoved", kCommand, kNone, kValue},
    {kVersionChecked, "VersionChecked", kCommand, kVersionCheck, kValue},
    {kCompensationRegistered, "CompensationRegistered", kCommand, kCompensation, kValue},
    {kTaskCancelRequested, "TaskCancelRequested", kCommand, kCancelTask, kValue},
    {kTimerCancelRequested, "TimerCancelRequested", kCommand, kCancelTimer, kValue},
    {kTaskCompleted, "TaskCompleted", kArrival, kTask, kValue},
    {kTaskFailed, "TaskFailed", kArrival, kTask, kFailed},
    {kTaskCancelled, "TaskCancelled", kArrival, kTask, kGone},
    {kTimerFired, "TimerFired", kArrival, kTimer, kValue},
    {kTimerCancelled, "TimerCancelled", kArrival, kTimer, kGone},
    {kPromiseResolved, "PromiseResolved", kArrival, kPromise, kValue},
    {kPromiseRejected, "PromiseRejected", kArrival, kPromise, kFailed},
    {kPromiseTimedOut, "PromiseTimedOut", kArrival, kPromise, kLate},
    {kChildWorkflowCompleted, "ChildWorkflowCompleted", kArrival, kChildWorkflow, kValue},
    {kChildWorkflowFailed, "ChildWorkflowFailed", kArrival, kChildWorkflow, kFailed},
    {kChildWorkflowCancelled, "ChildWorkflowCancelled", kArrival, kChildWorkflow, kGone},
    {kSignalReceived, "SignalReceived", kFree, kSignal, kValue},
    {kSignalTimedOut, "SignalTimedOut", kArrival, kSignal, kLate},
    {kCancellationRequested, "CancellationRequested", kFree, kNone, kGone},
    {kLoopCheckpointed, "LoopCheckpointed", kCheckpoint, kLoop, kValue},
    {kWorkflowCompleted, "WorkflowCompleted", kEnd, kNone, kValue},
    {kWorkflowFailed, "WorkflowFailed", kEnd, kNone, kFailed},
    {kWorkflowCancelled, "WorkflowCancelled", kEnd, kNone, kGone},
    {kWorkflowRecurred, "WorkflowRecurred", kEnd, kNone, kValue},
});

struct KindNames {
  std::string_view label;
  std::string_view step;
};

constexpr std::array<KindNames, kCommandKinds> kKindNames = {{
    {"None", "none"},
    {"Task", "task"},
    {"Operation", "operation"},
    {"Timer", "timer"},
    {"Promise", "promise"},
    {"ChildWorkflow", "child"},
    {"State", "state"},
    {"Signal", "signal"},
    {"Branch", "branch"},
    {"Loop", "loop"},
    {"VersionCheck", "version_check"},
    {"Compensation", "compensation"},
    {"CancelTask", "cancel_task"},
    {"CancelTimer", "cancel_timer"},
}};

// Position in kTraits by the number of the kind; -1 where there is none.
constexpr auto kTraitsByNumber = [] {
  std::array<std::int16_t, 256> positions{};
  positions.fill(-1);
  for (std::size_t i = 0; i < kTraits.size(); ++i) {
    positions[static_cast<std::uint8_t>(kTraits[i].kind)] = static_cast<std::int16_t>(i);
  }
  return positions;
}();

}  // namespace

const EntryTraits* find_traits(EntryKind kind) {
  const std::int16_t position = kTraitsByNumber[static_cast<std::uint8_t>(kind)];
  return position < 0 ? nullptr : &kTraits[static_cast<std::size_t>(position)];
}

const EntryTraits* find_traits(std::string_view event) {
  for (const EntryTraits& candidate : kTraits) {
    if (candidate.event == event) {
      return &candidate;
    }
  }
  return nullptr;
}

const EntryTraits& traits(EntryKind kind) {
  const EntryTraits* found = find_traits(kind);
  PAWL_CHECK(found != nullptr);
  return *found;
}

std::string_view label_name(CommandKind kind) {
  return kKindNames[static_cast<std::size_t>(kind)].label;
}

std::string_view step_name(CommandKind kind) {
  return kKindNames[static_cast<std::size_t>(kind)].step;
}

std::optional<CommandKind> find_step_kind(std::string_view name) {
  for (std::size_t i = 1; i < kKindNames.size(); ++i) {
    if (kKindNames[i].step == name) {
      return static_cast<CommandKind>(i);
    }
  }
  return std::nullopt;
}

}  // namespace pawl::replay

#include "portable/fork.h"

#include <utility>

#include "portable/cut.h"
#include "replay/log.h"

namespace pawl::portable {

namespace {

using replay::Entry;
using replay::EntryKind;
using replay::kNoRecord;
using replay::Log;
using replay::Record;
using replay::RecordId;

Error refused(std::string message) {
  return make_error(ErrorCode::kInvalidArgument, std::move(message));
}

// How a command of this kind succeeds; not set: it has no result.
std::optional<EntryKind> success_of(EntryKind command) {
  switch (command) {
    case EntryKind::kTaskScheduled:
      return EntryKind::kTaskCompleted;
    case EntryKind::kOperationStarted:
    case EntryKind::kOperationCompleted:
    case EntryKind::kOperationFailed:
      return EntryKind::kOperationCompleted;
    case EntryKind::kPromiseCreated:
      return EntryKind::kPromiseResolved;
    case EntryKind::kChildWorkflowInitiated:
      return EntryKind::kChildWorkflowCompleted;
    case EntryKind::kStateSet:
      return EntryKind::kStateSet;
    default:
      return std::nullopt;
  }
}

// The only signal of its name, for the only wait of that name: else the log does not tell who took
// it.
Result<RecordId> find_signal(const Log& log, RecordId wait, RecordId cut,
                             const std::string& place) {
  RecordId found = kNoRecord;
  std::size_t signals = 0;
  std::size_t waits = 0;
  for (RecordId id = 0; id < cut; ++id) {
    if (log[id].name != log[wait].name) {
      continue;
    }
    if (log[id].kind == EntryKind::kSignalReceived) {
      found = id;
      ++signals;
    }
    waits += log[id].kind == EntryKind::kSignalAwaited ? 1 : 0;
  }
  if (signals == 1 && waits == 1 && log[wait].link == kNoRecord && !log.has_checkpoints()) {
    return found;
  }
  const std::string name = "'" + std::string(log.name(log[wait])) + "'";
  return refused(signals == 0 ? place + " cannot be set: no signal " + name + " came before the cut"
                              : place + " cannot be set: the log does not tell which signal " +
                                    name + " this wait took");
}

// The entry that holds the result of a command.
Result<RecordId> find_result(const Log& log, RecordId command, RecordId cut,
                             const std::string& place) {
  const Record& record = log[command];
  if (command >= cut) {
    return refused(place + " cannot be set: it stands behind the cut, so the code does it anew");
  }
  if (record.kind == EntryKind::kSignalAwaited) {
    return find_signal(log, command, cut, place);
  }
  if (!success_of(record.kind)) {
    return refused(place + " cannot be set: a " +
                   std::string(replay::step_name(log.command_kind(record))) + " has no result");
  }
  if (replay::is_operation_outcome(record.kind) || record.kind == EntryKind::kStateSet) {
    return command;
  }
  if (record.link == kNoRecord) {
    return refused(place + " cannot be set: it has no outcome yet");
  }
  if (record.link >= cut) {
    return refused(place + " cannot be set: its outcome came behind the cut; fork later");
  }
  return record.link;
}

Result<void> apply_edit(const Log& log, RecordId cut, const Edit& edit, RunDocument& document) {
  PAWL_TRY_ASSIGN(const RecordId command, find_command(log, edit.location));
  const std::string place = log.location(log[command]).to_string();
  PAWL_TRY_ASSIGN(const RecordId at, find_result(log, command, cut, place));
  Entry& entry = document.log[at];
  entry.kind = success_of(log[command].kind).value_or(entry.kind);
  entry.has_payload = true;
  entry.payload = document.keeper->keep(edit.payload);
  return {};
}

}  // namespace

Result<ForkPlan> plan_fork(const RunDocument& document, const ForkRequest& request) {
  PAWL_TRY_ASSIGN(Log log, load_log(document));
  Cut cut;
  cut.id = request.id;
  cut.uuid = request.uuid;
  cut.now_ms = request.now_ms;
  if (request.at == kAtEnd) {
    cut.at = log.end_record() != kNoRecord ? log.end_record() : static_cast<RecordId>(log.size());
    cut.place = "the end";
    cut.keeps_signals = true;
  } else {
    PAWL_TRY_ASSIGN(cut.at, find_command(log, request.at));
    cut.place = log.location(log[cut.at]).to_string();
  }
  PAWL_TRY_ASSIGN(ForkPlan plan, cut_run(document, log, cut));
  for (const Edit& edit : request.edits) {
    PAWL_TRY(apply_edit(log, cut.at, edit, plan.document));
  }
  PAWL_TRY(check_document(plan.document));
  return plan;
}

}  // namespace pawl::portable

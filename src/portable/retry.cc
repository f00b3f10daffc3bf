#include <string>
#include <utility>

#include "engine/activity.h"
#include "portable/cut.h"
#include "portable/fork.h"

namespace pawl::portable {

namespace {

using replay::CommandKind;
using replay::EntryKind;
using replay::kNoRecord;
using replay::Log;
using replay::OutcomeKind;
using replay::Record;
using replay::RecordId;
using store::RunStatus;

Error refused(std::string message) {
  return make_error(ErrorCode::kInvalidArgument, std::move(message));
}

// An outcome that is thrown, and the command that it is of.
struct Failed {
  RecordId outcome = kNoRecord;
  RecordId command = kNoRecord;
};

std::optional<Failed> failure_at(const Log& log, RecordId id) {
  const Record& record = log[id];
  const replay::EntryTraits& known = replay::traits(record.kind);
  const bool is_thrown =
      known.outcome == OutcomeKind::kFailed || known.outcome == OutcomeKind::kTimedOut;
  if (!is_thrown || record.forgotten || known.role == replay::EntryRole::kEnd) {
    return std::nullopt;
  }
  if (record.is_command) {
    return Failed{id, id};  // A whole operation.
  }
  // An arrival that came second has not been seen.
  return record.link != kNoRecord && log[record.link].link == id
             ? std::optional(Failed{id, record.link})
             : std::nullopt;
}

// The failure that left the workflow, if it is that of a step: the last one like it.
std::optional<Failed> find_failed(const Log& log) {
  const std::string_view payload = log[log.end_record()].payload.view();
  const engine::Failure end = engine::decode_failure(payload);
  for (RecordId id = log.end_record(); id-- > 0;) {
    const std::optional<Failed> failed = failure_at(log, id);
    if (!failed) {
      continue;
    }
    if (replay::traits(log[id].kind).outcome == OutcomeKind::kTimedOut) {
      const Step step = step_of(log, failed->command);
      if (end.message ==
          std::string(replay::step_name(step.kind)) + " '" + step.name + "' timed out") {
        return failed;
      }
      continue;
    }
    const engine::Failure seen = engine::decode_failure(log[id].payload.view());
    if (log[id].payload.view() == payload ||
        (seen.type == end.type && seen.message == end.message)) {
      return failed;
    }
  }
  return std::nullopt;
}

Result<void> check_retry(const RunDocument& document, bool force) {
  const store::RunRow& row = document.image.row;
  const std::string run = "run '" + row.id + "'";
  if (!store::is_closed(row.status)) {
    return refused(run + " is " + std::string(store::status_name(row.status)) +
                   ": only a run that has ended can be run again");
  }
  if (row.status != RunStatus::kFailed && row.status != RunStatus::kCancelled) {
    return refused(run + " is " + std::string(store::status_name(row.status)) +
                   ": there is no failure to undo; fork it instead");
  }
  std::string undone;
  for (const store::CompensationRow& compensation : document.image.compensations) {
    if (compensation.attempt > 0 || compensation.state != store::CompensationState::kOpen) {
      undone += (undone.empty() ? "'" : ", '") + compensation.name + "'";
    }
  }
  if (!undone.empty() && !force) {
    return refused(run + " has compensated (" + undone +
                   "): going on as if that had not been done has to be forced");
  }
  return {};
}

// Before what ended it.
void place_cut(const Log& log, RunStatus status, Cut& cut, ForkPlan& plan) {
  cut.at = log.end_record();
  cut.place = "the end";
  if (status == RunStatus::kCancelled) {
    for (RecordId id = 0; id < cut.at; ++id) {
      if (log[id].kind == EntryKind::kCancellationRequested) {
        cut.at = id;
        cut.place = "the request to cancel";
        return;
      }
    }
    return;
  }
  const std::optional<Failed> failed = find_failed(log);
  if (!failed) {
    return;
  }
  plan.failed = step_of(log, failed->command);
  cut.place = plan.failed->location;
  // A child is another run; it has to be started again.
  const bool is_child = log.command_kind(log[failed->command]) == CommandKind::kChildWorkflow;
  cut.at = is_child ? failed->command : failed->outcome;
  cut.retried = failed->command;
}

}  // namespace

Result<ForkPlan> plan_retry(const RunDocument& document, const RetryRequest& request) {
  PAWL_TRY(check_retry(document, request.force));
  PAWL_TRY_ASSIGN(Log log, load_log(document));
  Cut cut;
  cut.id = document.image.row.id;
  cut.uuid = request.uuid;
  cut.now_ms = request.now_ms;
  cut.keeps_signals = true;
  ForkPlan found;
  place_cut(log, document.image.row.status, cut, found);
  PAWL_TRY_ASSIGN(ForkPlan plan, cut_run(document, log, cut));
  plan.failed = found.failed;
  return plan;
}

}  // namespace pawl::portable

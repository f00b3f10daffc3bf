// How runs are started, claimed and ended.

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "store/operations/operations.h"

namespace pawl::store {

namespace {

constexpr std::string_view kReplaced =
    R"({"type":"Terminated","message":"a new run with this id was started"})";
constexpr std::string_view kParentEnded =
    R"({"type":"Terminated","message":"the parent of this run ended"})";
constexpr std::string_view kParentEndedReason = "the parent of this run ended";

}  // namespace

Result<bool> Operations::is_known(WorkerKey worker) {
  if (worker == 0) {
    return false;
  }
  if (worker != known_worker_) {
    PAWL_TRY_ASSIGN(const bool known, workers_.has(worker));
    if (!known) {
      return false;
    }
    known_worker_ = worker;
  }
  return true;
}

Result<std::optional<RunHead>> Operations::find_target(RunKey run, std::string_view run_id) {
  return run != 0 ? runs_.find_head(run) : runs_.find_newest_head(run_id);
}

Result<void> Operations::run(StartRun& op) {
  op.arrival = 0;
  op.others = {};
  PAWL_TRY_ASSIGN(std::optional<RunRow> existing, runs_.find_newest(op.run.id));
  if (!existing.has_value()) {
    return start_new(op, 1);
  }
  if (op.on_existing == OnExisting::kReplace) {
    if (!is_closed(existing->status)) {
      PAWL_TRY_ASSIGN(const RunHead head, runs_.get_head(existing->key));
      PAWL_TRY(terminate(head, kReplaced, op.now_ms, op.others));
      op.others.closed.push_back(head.key);
    }
    return start_new(op, existing->number + 1);
  }
  op.row = *std::move(existing);
  if (op.on_existing == OnExisting::kFail || op.row.kind != op.run.kind) {
    op.outcome = StartOutcome::kRefused;
    return {};
  }
  op.outcome = StartOutcome::kExisting;
  return signal_started(op);
}

Result<void> Operations::start_new(StartRun& op, std::uint32_t number) {
  op.outcome = StartOutcome::kStarted;
  PAWL_TRY_ASSIGN(const bool has_owner, is_known(op.owner));
  const WorkerKey owner = has_owner ? op.owner : 0;
  PAWL_TRY_ASSIGN(op.row, runs_.add(op.run, number, 0, owner, op.now_ms));
  concern_others_than(owner);
  return signal_started(op);
}

Result<void> Operations::signal_started(StartRun& op) {
  if (!op.signal.has_value()) {
    return {};
  }
  PAWL_TRY_ASSIGN(const RunHead head, runs_.get_head(op.row.key));
  PAWL_TRY_ASSIGN(const Sent sent, send(head, *op.signal, op.dedupe, op.now_ms));
  op.arrival = sent.key;
  if (sent.outcome == SendOutcome::kSent && can_be_claimed(head)) {
    op.row.wake_ms = std::min(op.row.wake_ms, std::max(op.signal->due_ms, op.now_ms));
  }
  return {};
}

// `row` can be claimed, or is blocked.
Result<void> Operations::take(Claim& op, RunRow row) {
  if (row.status == RunStatus::kBlocked || row.status == RunStatus::kCompensating) {
    PAWL_TRY(runs_.remove_reason(op.run));
  }
  PAWL_TRY(runs_.claim(row, op.worker, op.now_ms));
  PAWL_TRY_ASSIGN(op.inbox, inbox_.read_due(op.run, op.now_ms));
  op.row = std::move(row);
  op.claimed = true;
  return {};
}

Result<void> Operations::run(Claim& op) {
  op.claimed = false;
  op.inbox.clear();
  PAWL_TRY_ASSIGN(const bool is_alive, is_known(op.worker));
  PAWL_TRY_ASSIGN(std::optional<RunRow> row, runs_.find(op.run));
  if (!row.has_value()) {
    return {};
  }
  const bool is_of_others =
      op.definition.has_value() && !row->definition.empty() && row->definition != *op.definition;
  if (!is_alive || is_of_others || !can_be_claimed(*row)) {
    op.row = *std::move(row);
    return {};
  }
  return take(op, *std::move(row));
}

Result<void> Operations::run(ClaimDue& op) {
  op.claims.clear();
  PAWL_TRY_ASSIGN(const bool is_alive, is_known(op.worker));
  op.known = is_alive;
  if (!is_alive) {
    return {};
  }
  PAWL_TRY_ASSIGN(const Due due, runs_.find_due(op));
  op.workers = due.workers;
  if (op.considered.value_or(op.workers) != op.workers) {
    return {};
  }
  return take(op.claims, due.runs, op.worker, op.now_ms);
}

Result<void> Operations::take(std::vector<Claim>& claims, std::span<const RunKey> runs,
                              WorkerKey worker, std::int64_t now_ms) {
  PAWL_TRY(transaction_.expect_claims(runs, now_ms));
  claims.reserve(claims.size() + runs.size());
  for (const RunKey run : runs) {
    PAWL_TRY_ASSIGN(RunRow row, runs_.get(run));
    Claim& claim = claims.emplace_back();
    claim.run = run;
    claim.worker = worker;
    claim.now_ms = now_ms;
    PAWL_TRY(take(claim, std::move(row)));
  }
  return {};
}

Result<void> Operations::run(ClaimStuck& op) {
  op.claims.clear();
  PAWL_TRY_ASSIGN(op.known, is_known(op.worker));
  if (!op.known) {
    return {};
  }
  std::set<RunKey> found;
  for (const ClaimStuck::Code& code : op.codes) {
    PAWL_TRY_ASSIGN(const std::vector<RunKey> blocked, runs_.find_blocked(op, code));
    found.insert(blocked.begin(), blocked.end());
  }
  for (const std::string& activity : op.activities) {
    PAWL_TRY_ASSIGN(const std::vector<RunKey> needing,
                    runs_.find_needing(activity, op.after, op.limit));
    found.insert(needing.begin(), needing.end());
  }
  PAWL_TRY_ASSIGN(op.workers, workers_.mark());
  if (op.considered.value_or(op.workers) != op.workers) {
    return {};
  }
  std::vector<RunKey> first(found.begin(), found.end());
  first.resize(std::min(first.size(), op.limit));
  return take(op.claims, first, op.worker, op.now_ms);
}

Result<void> Operations::run(Resume& op) {
  PAWL_TRY_ASSIGN(const std::optional<RunHead> head, find_open_target(op));
  if (!head.has_value() || head->owner != 0) {
    return {};  // It is over, or runs.
  }
  concern_others_than(0);
  return runs_.resume(head->key, op.now_ms);
}

Result<void> Operations::run(Terminate& op) {
  op.others = {};
  PAWL_TRY_ASSIGN(const std::optional<RunHead> head, find_open_target(op));
  return head.has_value() ? terminate(*head, op.payload, op.now_ms, op.others) : Result<void>();
}

Result<void> Operations::run(Heartbeat& op) {
  PAWL_TRY_ASSIGN(op.known, workers_.extend(op.worker, op.expires_ms));
  concerns_others_ = concerns_others_ || op.begins_rest;
  return {};
}

Result<void> Operations::append_failure(RunKey run, std::string_view payload, std::int64_t now_ms) {
  PAWL_TRY_ASSIGN(const std::uint64_t last_seq, log_.last_seq(run));
  replay::Entry entry;
  entry.kind = replay::EntryKind::kWorkflowFailed;
  entry.seq = last_seq + 1;
  entry.time_ms = now_ms;
  entry.has_payload = true;
  entry.payload = payload;
  PAWL_TRY(log_.append(run, {&entry, 1}));
  return {};
}

Result<void> Operations::terminate(const RunHead& run, std::string_view payload,
                                   std::int64_t now_ms, Touched& others) {
  PAWL_TRY(append_failure(run.key, payload, now_ms));
  NewArrival for_parent;
  for_parent.kind = static_cast<std::uint8_t>(replay::EntryKind::kChildWorkflowFailed);
  for_parent.has_payload = true;
  for_parent.payload = payload;
  return end_run(run, {RunStatus::kFailed, &for_parent, now_ms}, others);
}

// Descendants wait in a list: there may be more generations than the stack could take.
Result<void> Operations::end_run(const RunHead& run, const End& end, Touched& others) {
  PAWL_TRY(close(run, end, others));
  PAWL_TRY_ASSIGN(std::vector<RunHead> doomed, leave_children(run, end.now_ms, others));
  std::reverse(doomed.begin(), doomed.end());  // The last is taken first.
  const End by_parent{RunStatus::kFailed, nullptr, end.now_ms};
  while (!doomed.empty()) {
    const RunHead child = std::move(doomed.back());
    doomed.pop_back();
    PAWL_TRY(append_failure(child.key, kParentEnded, end.now_ms));
    PAWL_TRY(close(child, by_parent, others));
    others.closed.push_back(child.key);
    PAWL_TRY_ASSIGN(const std::vector<RunHead> more, leave_children(child, end.now_ms, others));
    doomed.insert(doomed.end(), more.rbegin(), more.rend());
  }
  return {};
}

Result<void> Operations::close(const RunHead& run, const End& end, Touched& others) {
  has_ended_runs_ = true;
  PAWL_TRY(runs_.close(run.key, end.status, end.now_ms));
  PAWL_TRY_ASSIGN(const bool has_some, transaction_.has_rests(run.key, run.chain));
  if (has_some) {
    PAWL_TRY(remove_rests(run, end.status));
  }
  if (end.status == RunStatus::kRecurred || end.for_parent == nullptr || run.parent.run == 0) {
    return {};
  }
  PAWL_TRY_ASSIGN(const std::optional<RunHead> parent, runs_.find_head(run.parent.run));
  if (!parent.has_value() || is_closed(parent->status)) {
    return {};
  }
  NewArrival arrival = *end.for_parent;
  arrival.id = run.parent.command;
  PAWL_TRY(deliver(*parent, arrival, end.now_ms));
  others.woken.push_back(parent->key);
  return {};
}

Result<void> Operations::remove_rests(const RunHead& run, RunStatus status) {
  PAWL_TRY(runs_.remove_reason(run.key));
  PAWL_TRY(tasks_.remove_all(run.key));
  PAWL_TRY(promises_.remove_all(run.key));
  if (status == RunStatus::kRecurred) {
    return {};  // The next run inherits the rest.
  }
  PAWL_TRY(inbox_.remove_all(run.key));
  return dedupe_.remove_all(run.chain);
}

Result<std::vector<RunHead>> Operations::leave_children(const RunHead& run, std::int64_t now_ms,
                                                        Touched& others) {
  std::vector<RunHead> doomed;
  PAWL_TRY_ASSIGN(const std::vector<RunHead> children, runs_.read_child_heads(run.key));
  for (const RunHead& child : children) {
    if (child.parent.close == ParentClose::kTerminate) {
      doomed.push_back(child);
    } else if (child.parent.close == ParentClose::kCancel) {
      NewArrival cancel;
      cancel.kind = static_cast<std::uint8_t>(replay::EntryKind::kCancellationRequested);
      cancel.has_payload = true;
      cancel.payload = kParentEndedReason;
      PAWL_TRY(deliver(child, cancel, now_ms));
      others.woken.push_back(child.key);
    }
  }
  return doomed;
}

}  // namespace pawl::store

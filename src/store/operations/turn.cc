// How a turn is written.

#include <algorithm>
#include <string>
#include <utility>

#include "store/operations/operations.h"
#include "store/operations/size_check.h"

namespace pawl::store {

namespace {

constexpr std::string_view kIdTaken =
    R"({"type":"AlreadyExists","message":"a run with this id exists already"})";

bool is_promise_end(replay::EntryKind kind) {
  return kind == replay::EntryKind::kPromiseResolved ||
         kind == replay::EntryKind::kPromiseRejected || kind == replay::EntryKind::kPromiseTimedOut;
}

NewArrival arrival_for(replay::EntryKind kind, std::string_view command) {
  NewArrival arrival;
  arrival.kind = static_cast<std::uint8_t>(kind);
  arrival.id = command;
  return arrival;
}

}  // namespace

Result<void> Operations::run(CommitTurn& turn) {
  turn.committed = false;
  turn.is_behind = false;
  turn.released = false;
  turn.is_paused = false;
  turn.refused.reset();
  turn.arrival_keys.clear();
  turn.bounced.clear();
  turn.started.clear();
  turn.others = {};
  PAWL_TRY_ASSIGN(const std::optional<Lease> lease, runs_.find_lease(turn.run));
  if (!lease.has_value() || turn.worker == 0 || lease->owner != turn.worker ||
      lease->epoch != turn.epoch) {
    return {};
  }
  turn.is_paused = lease->is_paused;
  return turn.inside ? run_inside(turn) : write(turn);
}

Result<void> Operations::run_inside(CommitTurn& turn) {
  PAWL_TRY(transaction_.begin_part());
  PAWL_TRY(call_inside(turn));
  if (!turn.refused.has_value()) {
    PAWL_TRY(write(turn));
  }
  return turn.committed ? transaction_.keep_part() : transaction_.undo_part();
}

Result<void> Operations::call_inside(CommitTurn& turn) {
  PAWL_TRY_ASSIGN(Result<void> done, transaction_.call([&](Database& database) {
    return turn.inside(database, turn);
  }));
  if (done.has_value()) {
    done = check_sizes(turn, payload_bytes_max_);
  }
  if (!done.has_value()) {
    turn.refused = std::move(done).error();
  }
  return {};
}

// Entries come first: if another worker has been there, nothing else needs to be taken back.
Result<void> Operations::write(CommitTurn& turn) {
  PAWL_TRY_ASSIGN(turn.committed, log_.append(turn.run, turn.entries));
  if (!turn.committed) {
    turn.is_behind = true;
    return {};
  }
  PAWL_TRY(forget(turn));
  PAWL_TRY(change_inbox(turn));
  PAWL_TRY(change_tasks(turn));
  PAWL_TRY(change_promises(turn));
  PAWL_TRY(start_children(turn));
  PAWL_TRY(send_outgoing(turn));
  PAWL_TRY(change_rest(turn));
  if (turn.ending.has_value()) {
    PAWL_TRY(end(turn, *turn.ending));
  }
  const bool is_over = turn.ending.has_value() && is_closed(turn.ending->status);
  if (is_over) {
    turn.released = true;
    return {};
  }
  return turn.release ? release(turn) : Result<void>();
}

Result<void> Operations::forget(const CommitTurn& turn) {
  if (turn.forgotten.empty()) {
    return {};
  }
  // The checkpoint that stands for them is written in the same turn.
  std::string_view loop;
  std::int64_t iteration = 0;
  for (const replay::Entry& entry : turn.entries) {
    if (entry.checkpoint != nullptr) {
      loop = entry.location;
      iteration = static_cast<std::int64_t>(entry.checkpoint->iteration);
    }
  }
  return log_.forget(turn.run, turn.forgotten, loop, iteration);
}

Result<void> Operations::change_inbox(CommitTurn& turn) {
  for (const ArrivalKey key : turn.consumed) {
    PAWL_TRY(inbox_.consume(turn.run, key));
  }
  for (const ArrivalKey key : turn.kept) {
    PAWL_TRY(inbox_.keep(turn.run, key));
  }
  for (const auto& [kind, id] : turn.withdrawn) {
    PAWL_TRY(inbox_.withdraw(turn.run, kind, id));
  }
  for (const NewArrival& arrival : turn.arrivals) {
    PAWL_TRY_ASSIGN(const ArrivalKey key, inbox_.put(turn.run, arrival, Inboxes::By::kHolder));
    turn.arrival_keys.push_back(key);
  }
  return {};
}

Result<void> Operations::bounce(CommitTurn& turn, NewArrival arrival) {
  Arrival& bounced = turn.bounced.emplace_back();
  static_cast<NewArrival&>(bounced) = std::move(arrival);
  bounced.run = turn.run;
  PAWL_TRY_ASSIGN(bounced.key, inbox_.put(turn.run, bounced, Inboxes::By::kHolder));
  return {};
}

Result<void> Operations::change_tasks(CommitTurn& turn) {
  for (const NewTask& task : turn.tasks) {
    PAWL_TRY(tasks_.add(turn.run, task, turn.now_ms));
    concerns_others_ = true;
  }
  for (const std::string& id : turn.cancelled_tasks) {
    PAWL_TRY_ASSIGN(const bool was_waiting, tasks_.cancel(turn.run, id));
    if (was_waiting) {
      PAWL_TRY(bounce(turn, arrival_for(replay::EntryKind::kTaskCancelled, id)));
    } else {
      concerns_others_ = true;
    }
  }
  return {};
}

Result<void> Operations::change_promises(const CommitTurn& turn) {
  for (const std::string& name : turn.promises) {
    PAWL_TRY(promises_.open(turn.run, name));
    concerns_others_ = true;
  }
  for (const replay::Entry& entry : turn.entries) {
    if (is_promise_end(entry.kind)) {
      PAWL_TRY(promises_.resolve(turn.run, entry.id));
    }
  }
  return {};
}

Result<void> Operations::start_children(CommitTurn& turn) {
  for (const NewRun& child : turn.children) {
    PAWL_TRY(start_child(turn, child));
  }
  return {};
}

Result<void> Operations::start_child(CommitTurn& turn, const NewRun& child) {
  PAWL_TRY_ASSIGN(const std::optional<RunHead> existing, runs_.find_newest_head(child.id));
  if (existing.has_value()) {
    NewArrival failed = arrival_for(replay::EntryKind::kChildWorkflowFailed, child.parent.command);
    failed.has_payload = true;
    failed.payload = kIdTaken;
    turn.started.push_back(0);
    return bounce(turn, std::move(failed));
  }
  PAWL_TRY_ASSIGN(const RunRow row, runs_.add(child, 1, 0, 0, turn.now_ms));
  concern_others_than(0);
  turn.started.push_back(row.key);
  turn.others.woken.push_back(row.key);
  return {};
}

Result<void> Operations::send_outgoing(CommitTurn& turn) {
  for (const Outgoing& outgoing : turn.outgoing) {
    PAWL_TRY_ASSIGN(const std::optional<RunHead> target, runs_.find_newest_head(outgoing.run_id));
    if (!target.has_value()) {
      continue;
    }
    PAWL_TRY_ASSIGN(const Sent sent, send(*target, outgoing.arrival, outgoing.dedupe, turn.now_ms));
    if (sent.outcome == SendOutcome::kSent) {
      turn.others.woken.push_back(target->key);
    }
  }
  return {};
}

Result<void> Operations::change_rest(const CommitTurn& turn) {
  for (const CompensationChange& change : turn.compensation_changes) {
    PAWL_TRY(compensations_.change(turn.run, change));
  }
  if (turn.definition.has_value()) {
    PAWL_TRY(runs_.set_definition(turn.run, *turn.definition));
  }
  return {};
}

Result<void> Operations::end(CommitTurn& turn, const Ending& ending) {
  if (ending.status == RunStatus::kCompensating) {
    return start_compensating(turn, ending);
  }
  PAWL_TRY_ASSIGN(const RunHead run, runs_.get_head(turn.run));
  if (ending.status == RunStatus::kRecurred) {
    PAWL_TRY(recur(turn, ending, run));
  }
  const NewArrival* const for_parent =
      ending.for_parent.has_value() ? &*ending.for_parent : nullptr;
  PAWL_TRY(end_run(run, {ending.status, for_parent, turn.now_ms}, turn.others));
  return turn.reason.empty() ? Result<void>()
                             : runs_.set_reason(turn.run, turn.reason, std::nullopt);
}

// The workflow function has ended: nothing that it asked for will be looked at any more.
Result<void> Operations::start_compensating(const CommitTurn& turn, const Ending& ending) {
  PAWL_TRY(runs_.start_compensating(turn.run, ending.goal, turn.now_ms));
  PAWL_TRY(inbox_.remove_all(turn.run));
  PAWL_TRY(tasks_.remove_all(turn.run));
  PAWL_TRY(promises_.remove_all(turn.run));
  for (const CompensationRow& row : ending.compensations) {
    PAWL_TRY(compensations_.add(turn.run, row));
  }
  return {};
}

Result<void> Operations::recur(CommitTurn& turn, const Ending& ending, const RunHead& run) {
  PAWL_CHECK(ending.next.has_value());
  PAWL_TRY_ASSIGN(const RunRow row, runs_.get(run.key));
  NewRun next = *ending.next;
  next.id = row.id;
  next.parent = row.parent;
  if (next.tags.empty()) {
    PAWL_TRY_ASSIGN(next.tags, runs_.read_tags(run.key));
  }
  PAWL_TRY_ASSIGN(const RunRow started, runs_.add(next, row.number + 1, run.chain, 0, turn.now_ms));
  for (const NewArrival& signal : ending.signals) {
    PAWL_TRY(inbox_.put(started.key, signal, Inboxes::By::kOthers));
  }
  PAWL_TRY(inbox_.move_free_ones(run.key, started.key));
  if (turn.is_paused) {
    PAWL_TRY(runs_.pause(started.key));
  }
  turn.started.push_back(started.key);
  turn.others.woken.push_back(started.key);
  return {};
}

// What has come in the meantime must not wait for the next one.
Result<void> Operations::release(CommitTurn& turn) {
  Release release;
  release.run = turn.run;
  release.status = turn.status;
  release.waiting_for = turn.waiting_for;
  release.now_ms = turn.now_ms;
  if (turn.status == RunStatus::kBlocked) {
    concerns_others_ = true;
    PAWL_TRY(runs_.set_reason(turn.run, turn.reason, turn.blocked_by));
  } else if (turn.status == RunStatus::kCompensating) {
    release.wake_ms = turn.wake_ms;  // Nothing can be delivered to it any more.
    if (!turn.needs.empty()) {
      concerns_others_ = true;
      PAWL_TRY(runs_.set_needs(turn.run, turn.needs));
    }
  } else if (!turn.is_paused) {
    release.wake_ms = turn.wake_ms;
    release.heeds_inbox = true;
    concerns_others_ = concerns_others_ || turn.wake_ms <= turn.now_ms;
  }
  if (turn.is_paused) {
    release.wake_ms = kNever;
  }
  return runs_.release(release, turn.released, turn.wake_ms);
}

}  // namespace pawl::store

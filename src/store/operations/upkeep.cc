// What people do to runs: hold them, hurry them, remove them, put them.

#include <algorithm>
#include <utility>

#include "store/operations/operations.h"
#include "store/operations/row_rules.h"

namespace pawl::store {

Result<void> Operations::run(Pause& op) {
  op.target = 0;
  op.owner = 0;
  op.changed = false;
  PAWL_TRY_ASSIGN(const std::optional<RunHead> head, find_target(op.run, op.run_id));
  if (!head.has_value()) {
    op.outcome = SendOutcome::kNoRun;
    return {};
  }
  op.target = head->key;
  op.owner = head->owner;
  if (is_closed(head->status)) {
    op.outcome = SendOutcome::kClosed;
    return {};
  }
  op.outcome = SendOutcome::kSent;
  if (head->is_paused == op.is_paused) {
    return {};
  }
  op.changed = true;
  concern_others_than(head->owner);
  return op.is_paused ? runs_.pause(head->key) : runs_.unpause(*head, op.now_ms);
}

Result<void> Operations::run(Hurry& op) {
  op.attempts = 0;
  PAWL_TRY_ASSIGN(const std::optional<RunHead> head, find_open_target(op));
  if (!head.has_value()) {
    return {};
  }
  PAWL_TRY_ASSIGN(op.attempts, tasks_.hurry(head->key, op.now_ms));
  if (head->owner == 0) {  // Whoever holds it knows what is due, and would not look again.
    PAWL_TRY_ASSIGN(const std::int64_t operations, inbox_.hurry(head->key, op.now_ms));
    PAWL_TRY_ASSIGN(const std::int64_t compensations, compensations_.hurry(head->key, op.now_ms));
    op.attempts += operations + compensations;
    if (operations + compensations > 0) {
      PAWL_TRY(runs_.wake(*head, op.now_ms));
    }
  }
  concerns_others_ = concerns_others_ || op.attempts > 0;
  return {};
}

Result<bool> Operations::is_needed(const RunHead& run) {
  if (run.parent.run != 0) {
    PAWL_TRY_ASSIGN(const std::optional<RunHead> parent, runs_.find_head(run.parent.run));
    if (parent.has_value() && !is_closed(parent->status)) {
      return true;
    }
  }
  return runs_.has_open_child(run.key);
}

// Of the runs with one id only the newest may be open.
Result<bool> Operations::is_chain_open(const RunHead& run) {
  PAWL_TRY_ASSIGN(const RunRow row, runs_.get(run.key));
  PAWL_TRY_ASSIGN(const std::optional<RunHead> newest, runs_.find_newest_head(row.id));
  return newest.has_value() && newest->chain == run.chain && !is_closed(newest->status);
}

Result<void> Operations::run(DeleteRun& op) {
  PAWL_TRY_ASSIGN(const std::optional<RunHead> head, runs_.find_head(op.run));
  if (!head.has_value()) {
    op.outcome = DeleteRun::Outcome::kNoRun;
    return {};
  }
  if (!is_closed(head->status)) {
    op.outcome = DeleteRun::Outcome::kOpen;
    return {};
  }
  PAWL_TRY_ASSIGN(const bool needed, is_needed(*head));
  if (needed) {
    op.outcome = DeleteRun::Outcome::kNeeded;
    return {};
  }
  op.outcome = DeleteRun::Outcome::kDeleted;
  PAWL_TRY_ASSIGN(const bool has_heirs, is_chain_open(*head));
  if (!has_heirs) {
    PAWL_TRY(dedupe_.remove_all(head->chain));
  }
  PAWL_TRY(log_.remove_all(op.run));
  PAWL_TRY(inbox_.remove_all(op.run));
  PAWL_TRY(tasks_.remove_all(op.run));
  PAWL_TRY(promises_.remove_all(op.run));
  PAWL_TRY(compensations_.remove_all(op.run));
  return runs_.remove(op.run);
}

Result<void> Operations::run(CreateRun& op) {
  PAWL_TRY_ASSIGN(std::optional<RunRow> existing, runs_.find_newest(op.image.row.id));
  const bool can_follow = existing.has_value() && op.as_next && is_closed(existing->status);
  if (existing.has_value() && !can_follow) {
    op.outcome = CreateRun::Outcome::kExists;
    op.row = *std::move(existing);
    return {};
  }
  RunRow row = op.image.row;
  if (can_follow) {
    row.number = existing->number + 1;
  }
  const bool can_go_on =
      !is_closed(row.status) && row.status != RunStatus::kBlocked && !row.is_paused;
  row.wake_ms = can_go_on ? op.now_ms : kNever;
  row.is_paused = row.is_paused && !is_closed(row.status);
  row.owner = 0;
  row.epoch = 0;
  row.parent = {};
  PAWL_TRY_ASSIGN(op.row, runs_.add_as_is(std::move(row), op.image.input, op.image.tags));
  PAWL_TRY(append(op.row.key, op.entries, {}));
  RunImage& image = op.image;
  for (TaskRow& task : image.tasks) {
    const CarriedTask carried = carry_task(task, op.now_ms);
    task.state = carried.state;
    task.due_ms = carried.due_ms;
  }
  PAWL_TRY(add_parts(op.row.key, image));
  op.outcome = CreateRun::Outcome::kCreated;
  concern_others_than(0);
  return {};
}

Result<void> Operations::add_parts(RunKey run, const RunImage& image) {
  for (const StoredArrival& arrival : image.inbox) {
    PAWL_TRY(inbox_.put_stored(run, arrival));
  }
  for (const TaskRow& task : image.tasks) {
    PAWL_TRY(tasks_.add_as_is(run, task));
  }
  for (const PromiseRow& promise : image.promises) {
    PAWL_TRY(promises_.open(run, promise.name));
    if (promise.is_resolved) {
      PAWL_TRY(promises_.resolve(run, promise.name));
    }
  }
  for (const CompensationRow& compensation : image.compensations) {
    PAWL_TRY(compensations_.add(run, compensation));
  }
  for (const std::string& id : image.dedupe) {
    PAWL_TRY(dedupe_.add(run, id));
  }
  if (!image.needs.empty()) {
    return runs_.set_needs(run, image.needs);
  }
  if (!image.reason.empty() || image.blocked_by.has_value() ||
      image.row.status == RunStatus::kBlocked) {
    return runs_.set_reason(run, image.reason, image.blocked_by);
  }
  return {};
}

}  // namespace pawl::store

// How tasks are taken, changed and finished.

#include <utility>

#include "store/operations/operations.h"

namespace pawl::store {

Result<void> Operations::run(TakeTasks& op) {
  op.taken.clear();
  PAWL_TRY_ASSIGN(const bool is_alive, is_known(op.worker));
  op.known = is_alive;
  if (is_alive) {
    PAWL_TRY_ASSIGN(op.taken, tasks_.take(op.queue, op.types, op.worker, op.limit, op.now_ms));
  }
  return {};
}

Result<void> Operations::run(ChangeTask& op) {
  op.changed = false;
  op.cancel_requested = false;
  op.run = 0;
  op.owner = 0;
  op.key = 0;
  op.claim.reset();
  PAWL_TRY_ASSIGN(const std::optional<TaskHead> task, tasks_.find_head(op.task));
  if (!task.has_value()) {
    op.cancel_requested = true;  // Nobody waits for it any more.
    return {};
  }
  op.run = task->run;
  op.cancel_requested = task->cancel_requested;
  if (task->state != op.state || task->attempt != op.attempt) {
    return {};
  }
  op.changed = true;
  if (!op.next.has_value()) {
    return finish_task(op, task->run);
  }
  TaskChange change;
  change.state = *op.next;
  change.owner = *op.next == TaskState::kRunning ? task->owner : 0;
  change.due_ms = op.due_ms;
  change.details = op.details.has_value() ? &*op.details : nullptr;
  change.last_error = op.last_error.has_value() ? &*op.last_error : nullptr;
  concerns_others_ = concerns_others_ || *op.next != TaskState::kRunning;
  return tasks_.change(task->run, op.task, change);
}

Result<void> Operations::finish_task(ChangeTask& op, RunKey run_key) {
  PAWL_TRY(tasks_.remove(run_key, op.task));
  PAWL_TRY_ASSIGN(const std::optional<RunHead> head, runs_.find_head(run_key));
  if (!head.has_value() || is_closed(head->status)) {
    return {};
  }
  op.owner = head->owner;
  if (!op.arrival.has_value()) {
    return {};
  }
  PAWL_TRY_ASSIGN(op.key, deliver(*head, *op.arrival, op.now_ms));
  if (head->owner == 0) {
    PAWL_TRY_ASSIGN(op.claim, claim_for(op, run_key));
    op.owner = op.claim.has_value() ? op.claim_for : 0;
  }
  return {};
}

}  // namespace pawl::store

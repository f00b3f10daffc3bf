#include "store/operations/row_rules.h"

#include <algorithm>

#include "base/moment.h"

namespace pawl::store {

RunRow new_row(const NewRun& run, std::uint32_t number, WorkerKey owner, std::int64_t now_ms) {
  RunRow row;
  row.id = run.id;
  row.number = number;
  row.uuid = run.uuid;
  row.kind = run.kind;
  row.definition = run.definition;
  row.created_ms = now_ms;
  row.changed_ms = now_ms;
  row.wake_ms = owner == 0 ? now_ms : kNever;
  row.owner = owner;
  row.epoch = owner == 0 ? 0 : 1;
  if (run.parent.run != 0) {
    row.parent = run.parent;
  }
  return row;
}

RunStatus active_status(RunStatus goal) {
  return goal == RunStatus::kRunning ? RunStatus::kRunning : RunStatus::kCompensating;
}

void mark_claimed(RunRow& row, WorkerKey worker, std::int64_t now_ms) {
  const RunStatus status = active_status(row.goal);
  row.changed_ms = row.status == status ? row.changed_ms : now_ms;
  row.status = status;
  row.owner = worker;
  row.epoch += 1;
  row.wake_ms = kNever;
  row.waiting_for.clear();
}

CarriedTask carry_task(const TaskRow& task, std::int64_t now_ms) {
  if (task.state != TaskState::kRunning) {
    return {task.state, task.due_ms};
  }
  return {TaskState::kReady, std::min(task.deadline_ms, moment_after(now_ms, task.wait_ms))};
}

bool is_left(std::span<const KindDefinition> left, std::string_view kind,
             std::string_view definition) {
  return std::ranges::any_of(left, [&](const KindDefinition& each) {
    return each.kind == kind && each.definition == definition;
  });
}

bool has_kind(std::span<const KindDefinition> left, std::string_view kind) {
  return std::ranges::any_of(left, [&](const KindDefinition& each) { return each.kind == kind; });
}

std::int64_t moment_after(std::int64_t now_ms, std::int64_t span_ms) {
  return span_ms <= 0 ? kNever : add_ms(now_ms, span_ms);
}

std::string prefix_below(std::string_view location) {
  std::string prefix(location.substr(0, location.empty() ? 0 : location.size() - 1));
  return prefix == "{" ? prefix : prefix + ", ";
}

}  // namespace pawl::store

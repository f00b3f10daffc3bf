#include "store/postgres/task_set.h"

#include <algorithm>
#include <set>

#include "base/moment.h"
#include "store/operations/row_rules.h"
#include "store/postgres/records.h"

namespace pawl::store::pg {

namespace {

constexpr Statement kLockTask{
    "lock_task",
    "SELECT key, run, state, attempt, owner, cancelled FROM {schema}.pawl_task WHERE ns = $1 AND "
    "key = $2 FOR UPDATE"};
constexpr Statement kHurry{
    "hurry_tasks",
    "UPDATE {schema}.pawl_task SET due = $3 WHERE ns = $1 AND run = $2 AND state = 1 AND (due > $3 "
    "OR due IS NULL)"};
// One that is being taken just now is waited for, and found running.
constexpr Statement kLockByIds{
    "lock_task_by_id",
    "SELECT state FROM {schema}.pawl_task WHERE ns = $1 AND run = $2 AND id = $3 FOR UPDATE"};
constexpr Statement kRemoveWaiting{
    "remove_waiting_task",
    "DELETE FROM {schema}.pawl_task WHERE ns = $1 AND run = $2 AND id = $3 AND state <> 2"};
constexpr Statement kTellRunning{
    "tell_running_task",
    "UPDATE {schema}.pawl_task SET cancelled = true WHERE ns = $1 AND run = $2 AND id = $3"};
// $5: as long as they can wait, counted from now: a sum that is too large would be an error.
constexpr Statement kPromote{
    "promote_tasks",
    "UPDATE {schema}.pawl_task AS t SET state = 0, due = CASE WHEN t.wait_ms > 0 THEN "
    "least(t.deadline, $4::int8 + least(t.wait_ms, $5::int8)) ELSE t.deadline END FROM (SELECT "
    "d.key "
    "FROM {schema}.pawl_task AS d WHERE d.ns = $1 AND d.queue = $2 AND d.type = ANY($3::text[]) "
    "AND "
    "d.state = 1 AND d.due <= $4 FOR UPDATE SKIP LOCKED) AS c WHERE t.ns = $1 AND t.key = c.key"};
// Of each type as many as are wanted: then no index has to be read further than that.
constexpr Statement kTake{
    "take_tasks",
    "UPDATE {schema}.pawl_task AS t SET state = 2, owner = $5, attempt = t.attempt + 1, started = "
    "$6::int8, due = least(t.deadline, CASE WHEN t.attempt_ms > 0 THEN $6::int8 + "
    "least(t.attempt_ms, $7::int8) END, CASE WHEN t.heartbeat_ms > 0 THEN $6::int8 + "
    "least(t.heartbeat_ms, $7::int8) END) FROM (SELECT d.key, r.id FROM unnest($3::text[]) AS "
    "k(type) CROSS JOIN LATERAL (SELECT x.key, x.run, x.priority FROM {schema}.pawl_task AS x "
    "WHERE x.ns = $1 AND x.queue = $2 AND x.type = k.type AND x.state = 0 ORDER BY x.priority "
    "DESC, x.key LIMIT $4::int8 FOR UPDATE SKIP LOCKED) AS d JOIN {schema}.pawl_run AS r ON r.ns = "
    "$1 AND r.key = d.run ORDER BY d.priority DESC, d.key LIMIT $4::int8) AS r WHERE t.ns = $1 AND "
    "t.key = r.key RETURNING " PAWL_PG_TASK_COLUMNS};
constexpr Statement kFree{
    "free_tasks",
    "UPDATE {schema}.pawl_task AS t SET owner = NULL, due = $3 FROM (SELECT x.key FROM "
    "{schema}.pawl_task AS x WHERE x.ns = $1 AND x.owner = ANY($2::int8[]) ORDER BY x.key FOR "
    "UPDATE) AS d WHERE t.ns = $1 AND t.key = d.key"};

}  // namespace

void TaskSet::put(const Row& row) {
  TaskHead head;
  head.run = row.as_integer(1);
  head.state = static_cast<TaskState>(row.as_integer(2));
  head.attempt = static_cast<std::uint32_t>(row.as_integer(3));
  head.owner = row.as_integer(4);
  head.cancel_requested = row.as_bool(5);
  heads_[row.as_integer(0)] = head;
}

Result<std::optional<TaskHead>> TaskSet::find_head(TaskKey task) {
  auto found = heads_.find(task);
  if (found == heads_.end()) {
    const Call& call = session_.query(kLockTask).integer(session_.ns()).integer(task);
    PAWL_TRY(session_.run());
    put_missing(task);
    for (const Row row : call.rows()) {
      put(row);
    }
    found = heads_.find(task);
  }
  return found->second;
}

Result<void> TaskSet::add(RunKey run, const NewTask& task, std::int64_t now_ms) {
  session_.write(Write::kAddTask, run)
      .integer(run)
      .integer(task.priority)
      .moment(task.due_ms)
      .moment(task.deadline_ms)
      .integer_or_null(task.wait_ms)
      .integer_or_null(task.attempt_ms)
      .integer_or_null(task.heartbeat_ms)
      .integer(now_ms)
      .text(task.id)
      .text(task.queue)
      .text(task.type)
      .bytes_or_null(task.options)
      .payload(task.has_input, task.input);
  return {};
}

Result<void> TaskSet::add_as_is(RunKey run, const TaskRow& task) {
  session_.write(Write::kAddTaskAsIs, run)
      .integer(run)
      .integer(static_cast<std::int64_t>(task.state))
      .integer(task.priority)
      .integer(task.attempt)
      .moment(task.due_ms)
      .moment(task.deadline_ms)
      .integer_or_null(task.wait_ms)
      .integer_or_null(task.attempt_ms)
      .integer_or_null(task.heartbeat_ms)
      .integer(task.created_ms)
      .integer_or_null(task.started_ms)
      .boolean(task.cancel_requested)
      .text(task.id)
      .text(task.queue)
      .text(task.type)
      .bytes_or_null(task.options)
      .bytes_or_null(task.last_error)
      .bytes_or_null(task.details)
      .payload(task.has_input, task.input);
  return {};
}

Result<std::int64_t> TaskSet::hurry(RunKey run, std::int64_t now_ms) {
  const Call& call = session_.query(kHurry).integer(session_.ns()).integer(run).integer(now_ms);
  PAWL_TRY(session_.run());
  return call.rows().affected();
}

Result<bool> TaskSet::cancel(RunKey run, std::string_view id) {
  session_.query(kLockByIds).integer(session_.ns()).integer(run).text(id);
  const Call& removed = session_.query(kRemoveWaiting).integer(session_.ns()).integer(run).text(id);
  session_.query(kTellRunning).integer(session_.ns()).integer(run).text(id);
  PAWL_TRY(session_.run());
  heads_.clear();
  return removed.rows().affected() > 0;
}

Result<void> TaskSet::remove(RunKey run, TaskKey task) {
  heads_[task] = std::nullopt;
  session_.write(Write::kRemoveTask, run).integer(run).integer(task);
  return {};
}

Result<void> TaskSet::remove_all(RunKey run) {
  heads_.clear();
  session_.write(Write::kRemoveTasks, run).integer(run);
  return {};
}

Result<std::vector<TaskRow>> TaskSet::take(std::string_view queue,
                                           std::span<const std::string> types, WorkerKey worker,
                                           std::size_t limit, std::int64_t now_ms) {
  TextArray names;
  for (const std::string& type : std::set<std::string>(types.begin(), types.end())) {
    names.add(type);
  }
  const std::int64_t longest_ms = add_ms(now_ms, kNever) - now_ms;
  session_.query(kPromote)
      .integer(session_.ns())
      .text(queue)
      .array(names)
      .integer(now_ms)
      .integer(longest_ms);
  const Call& call = session_.query(kTake)
                         .integer(session_.ns())
                         .text(queue)
                         .array(names)
                         .integer(static_cast<std::int64_t>(limit))
                         .integer(worker)
                         .integer(now_ms)
                         .integer(longest_ms);
  PAWL_TRY(session_.run());
  heads_.clear();
  std::vector<TaskRow> taken;
  for (const Row row : call.rows()) {
    taken.push_back(read_task(row));
  }
  std::sort(taken.begin(), taken.end(), [](const TaskRow& a, const TaskRow& b) {
    return a.priority != b.priority ? a.priority > b.priority : a.key < b.key;
  });
  return taken;
}

Result<void> TaskSet::change(RunKey run, TaskKey task, const TaskChange& change) {
  if (const auto found = heads_.find(task); found != heads_.end() && found->second.has_value()) {
    found->second->state = change.state;
    found->second->owner = change.owner;
  }
  Bulk& bulk = session_.write(Write::kChangeTask, run)
                   .integer(run)
                   .integer(task)
                   .integer(static_cast<std::int64_t>(change.state))
                   .integer_or_null(change.owner)
                   .moment(change.due_ms);
  for (const std::string* const text : {change.details, change.last_error}) {
    text == nullptr ? bulk.null() : bulk.bytes(*text);
  }
  return {};
}

Result<void> TaskSet::free_tasks(std::span<const WorkerKey> workers, std::int64_t now_ms) {
  const Int8Array keys(workers);
  session_.query(kFree).integer(session_.ns()).array(keys).integer(now_ms);
  heads_.clear();
  return session_.run();
}

}  // namespace pawl::store::pg

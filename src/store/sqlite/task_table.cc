#include "store/sqlite/task_table.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/moment.h"
#include "store/operations/row_rules.h"

#define PAWL_TASK_COLUMNS                                                                    \
  "t.key, t.run, r.id, t.state, t.priority, t.attempt, t.owner, t.due, t.deadline, "         \
  "t.attempt_ms, t.heartbeat_ms, t.created, t.started, t.cancelled, t.id, t.queue, t.type, " \
  "t.options, t.last_error, t.details, t.input, t.wait_ms"
#define PAWL_TASK_FROM " FROM pawl_task AS t JOIN pawl_run AS r ON r.key = t.run "

namespace pawl::store {

namespace {

enum Column : int {
  kKey,
  kRun,
  kRunId,
  kState,
  kPriority,
  kAttempt,
  kOwner,
  kDue,
  kDeadline,
  kAttemptMs,
  kHeartbeatMs,
  kCreated,
  kStarted,
  kCancelled,
  kId,
  kQueue,
  kType,
  kOptions,
  kLastError,
  kDetails,
  kInput,
  kWaitMs,
};

TaskRow read_row(const Query& query) {
  TaskRow row;
  row.key = query.as_integer(kKey);
  row.run = query.as_integer(kRun);
  row.run_id = query.as_string(kRunId);
  row.state = static_cast<TaskState>(query.as_integer(kState));
  row.priority = static_cast<std::int32_t>(query.as_integer(kPriority));
  row.attempt = static_cast<std::uint32_t>(query.as_integer(kAttempt));
  row.owner = query.as_integer(kOwner);
  row.due_ms = query.as_moment(kDue);
  row.deadline_ms = query.as_moment(kDeadline);
  row.attempt_ms = query.as_integer(kAttemptMs);
  row.heartbeat_ms = query.as_integer(kHeartbeatMs);
  row.created_ms = query.as_integer(kCreated);
  row.started_ms = query.as_integer(kStarted);
  row.cancel_requested = query.as_integer(kCancelled) != 0;
  row.id = query.as_id(kId);
  row.queue = query.as_string(kQueue);
  row.type = query.as_string(kType);
  row.options = query.as_string(kOptions);
  row.last_error = query.as_string(kLastError);
  row.details = query.as_string(kDetails);
  row.has_input = !query.is_null(kInput);
  row.input = query.as_string(kInput);
  row.wait_ms = query.as_integer(kWaitMs);
  return row;
}

Result<std::vector<TaskRow>> read_all(Query& query) {
  std::vector<TaskRow> rows;
  while (true) {
    PAWL_TRY_ASSIGN(const bool found, query.step());
    if (!found) {
      return rows;
    }
    rows.push_back(read_row(query));
  }
}

}  // namespace

TaskTable::TaskTable(Connection& connection, std::int64_t ns)
    : connection_(connection),
      ns_(ns),
      insert_(connection,
              "INSERT OR IGNORE INTO pawl_task(ns, run, state, priority, attempt, due, deadline, "
              "wait_ms, attempt_ms, heartbeat_ms, created, id, queue, type, options, input) "
              "VALUES(?,?,?,?,0,?,?,?,?,?,?,?,?,?,?,?)"),
      insert_as_is_(
          connection,
          "INSERT OR IGNORE INTO pawl_task(ns, run, state, priority, attempt, due, deadline, "
          "wait_ms, attempt_ms, heartbeat_ms, created, started, cancelled, id, queue, type, "
          "options, last_error, details, input) VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)"),
      hurry_(connection,
             "UPDATE pawl_task SET due = ?1 WHERE ns = ?2 AND run = ?3 AND state = 1 AND (due > "
             "?1 OR due IS NULL)"),
      remove_waiting_(connection,
                      "DELETE FROM pawl_task WHERE ns = ? AND run = ? AND id IS ? AND state <> 2"),
      tell_running_(connection,
                    "UPDATE pawl_task SET cancelled = 1 WHERE ns = ? AND run = ? AND id IS ?"),
      remove_(connection, "DELETE FROM pawl_task WHERE key = ? AND run = ?"),
      remove_all_(connection, "DELETE FROM pawl_task WHERE ns = ? AND run = ?"),
      // ?5: as long as they can wait, counted from now. A sum that is too large for an integer
      // would be none for SQLite.
      promote_(connection,
               "UPDATE pawl_task SET state = 0, due = CASE WHEN wait_ms > 0 THEN "
               "min(coalesce(deadline, ?4 + ?5), ?4 + min(wait_ms, ?5)) ELSE deadline END "
               "WHERE ns = ?1 AND queue = ?2 AND type = ?3 AND state = 1 AND due <= ?4"),
      find_ready_(connection,
                  "SELECT priority, key FROM pawl_task WHERE ns = ? AND queue = ? AND type = ? AND "
                  "state = 0 ORDER BY priority DESC, key LIMIT ?"),
      start_(connection,
             "UPDATE pawl_task SET state = 2, owner = ?, attempt = ?, started = ?, due = ? WHERE "
             "key = ?"),
      change_(connection,
              "UPDATE pawl_task SET state = ?, owner = ?, due = ?, details = coalesce(?, details), "
              "last_error = coalesce(?, last_error) WHERE key = ? AND run = ?"),
      free_(connection, "UPDATE pawl_task SET owner = NULL, due = ? WHERE owner = ? AND ns = ?"),
      find_(connection, "SELECT " PAWL_TASK_COLUMNS PAWL_TASK_FROM "WHERE t.key = ?"),
      find_head_(connection,
                 "SELECT run, state, attempt, owner, cancelled FROM pawl_task WHERE key = ? AND ns "
                 "= ?"),
      read_(connection, "SELECT " PAWL_TASK_COLUMNS PAWL_TASK_FROM
                        "WHERE t.ns = ? AND t.run = ? ORDER BY t.key"),
      list_(connection, "SELECT " PAWL_TASK_COLUMNS PAWL_TASK_FROM
                        "WHERE t.ns = ?1 AND t.key > ?2 AND (?3 IS NULL OR t.queue = ?3) AND (?4 "
                        "IS NULL OR t.type = ?4) AND (?5 < 0 OR t.state = ?5) ORDER BY t.key LIMIT "
                        "?6"),
      read_due_(connection, "SELECT " PAWL_TASK_COLUMNS PAWL_TASK_FROM
                            "WHERE t.ns = ? AND t.due <= ? AND t.due IS NOT NULL ORDER BY t.due, "
                            "t.key LIMIT ?"),
      next_due_(connection,
                "SELECT due FROM pawl_task WHERE ns = ? AND due > ? AND due IS NOT NULL ORDER BY "
                "due LIMIT 1") {}

Result<void> TaskTable::add(RunKey run, const NewTask& task, std::int64_t now_ms) {
  Query query(insert_);
  query.integer(ns_)
      .integer(run)
      .integer(static_cast<std::int64_t>(TaskState::kReady))
      .integer(task.priority)
      .moment(task.due_ms)
      .moment(task.deadline_ms)
      .integer_or_null(task.wait_ms)
      .integer_or_null(task.attempt_ms)
      .integer_or_null(task.heartbeat_ms)
      .integer(now_ms)
      .id(task.id)
      .text(task.queue)
      .text(task.type)
      .blob_or_null(task.options)
      .payload(task.has_input, task.input);
  return query.run();
}

Result<void> TaskTable::add_as_is(RunKey run, const TaskRow& task) {
  Query query(insert_as_is_);
  query.integer(ns_)
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
      .integer_or_null(task.cancel_requested ? 1 : 0)
      .id(task.id)
      .text(task.queue)
      .text(task.type)
      .blob_or_null(task.options)
      .blob_or_null(task.last_error)
      .blob_or_null(task.details)
      .payload(task.has_input, task.input);
  return query.run();
}

Result<std::int64_t> TaskTable::hurry(RunKey run, std::int64_t now_ms) {
  PAWL_TRY(Query(hurry_).integer(now_ms).integer(ns_).integer(run).run());
  return connection_.changes();
}

Result<bool> TaskTable::cancel(RunKey run, std::string_view id) {
  PAWL_TRY(Query(remove_waiting_).integer(ns_).integer(run).id(id).run());
  if (connection_.changes() > 0) {
    return true;
  }
  PAWL_TRY(Query(tell_running_).integer(ns_).integer(run).id(id).run());
  return false;
}

Result<void> TaskTable::remove(RunKey run, TaskKey task) {
  return Query(remove_).integer(task).integer(run).run();
}

Result<void> TaskTable::remove_all(RunKey run) {
  return Query(remove_all_).integer(ns_).integer(run).run();
}

Result<std::vector<TaskTable::Candidate>> TaskTable::find_ready(std::string_view queue,
                                                                std::span<const std::string> types,
                                                                std::size_t limit) {
  std::vector<Candidate> candidates;
  for (const std::string& type : types) {
    Query query(find_ready_);
    query.integer(ns_).text(queue).text(type).integer(static_cast<std::int64_t>(limit));
    while (true) {
      PAWL_TRY_ASSIGN(const bool found, query.step());
      if (!found) {
        break;
      }
      candidates.push_back({query.as_integer(0), query.as_integer(1)});
    }
  }
  std::sort(candidates.begin(), candidates.end(), [](const Candidate& a, const Candidate& b) {
    return a.priority != b.priority ? a.priority > b.priority : a.key < b.key;
  });
  // A type that is named twice brings its tasks twice.
  const auto is_same = [](const Candidate& a, const Candidate& b) { return a.key == b.key; };
  candidates.erase(std::unique(candidates.begin(), candidates.end(), is_same), candidates.end());
  if (candidates.size() > limit) {
    candidates.resize(limit);
  }
  return candidates;
}

Result<void> TaskTable::start_attempt(TaskRow& task, WorkerKey worker, std::int64_t now_ms) {
  task.state = TaskState::kRunning;
  task.owner = worker;
  task.attempt += 1;
  task.started_ms = now_ms;
  task.due_ms = std::min({task.deadline_ms, moment_after(now_ms, task.attempt_ms),
                          moment_after(now_ms, task.heartbeat_ms)});
  Query query(start_);
  query.integer(worker).integer(task.attempt).integer(now_ms).moment(task.due_ms);
  return query.integer(task.key).run();
}

Result<std::optional<TaskRow>> TaskTable::find(TaskKey task) {
  Query query(find_);
  PAWL_TRY_ASSIGN(const bool found, query.integer(task).step());
  return found ? std::optional<TaskRow>(read_row(query)) : std::nullopt;
}

Result<std::vector<TaskRow>> TaskTable::take(std::string_view queue,
                                             std::span<const std::string> types, WorkerKey worker,
                                             std::size_t limit, std::int64_t now_ms) {
  for (const std::string& type : types) {
    Query promote(promote_);
    promote.integer(ns_).text(queue).text(type).integer(now_ms);
    PAWL_TRY(promote.integer(add_ms(now_ms, kNever) - now_ms).run());
  }
  PAWL_TRY_ASSIGN(const std::vector<Candidate> candidates, find_ready(queue, types, limit));
  std::vector<TaskRow> taken;
  for (const Candidate& candidate : candidates) {
    PAWL_TRY_ASSIGN(std::optional<TaskRow> task, find(candidate.key));
    PAWL_CHECK(task.has_value());
    PAWL_TRY(start_attempt(*task, worker, now_ms));
    taken.push_back(*std::move(task));
  }
  return taken;
}

Result<void> TaskTable::change(RunKey run, TaskKey task, const TaskChange& change) {
  Query query(change_);
  query.integer(static_cast<std::int64_t>(change.state))
      .integer_or_null(change.owner)
      .moment(change.due_ms);
  for (const std::string* text : {change.details, change.last_error}) {
    if (text == nullptr) {
      query.null();
    } else {
      query.blob(*text);
    }
  }
  return query.integer(task).integer(run).run();
}

Result<void> TaskTable::free_tasks(std::span<const WorkerKey> workers, std::int64_t now_ms) {
  for (const WorkerKey worker : workers) {
    PAWL_TRY(Query(free_).integer(now_ms).integer(worker).integer(ns_).run());
  }
  return {};
}

Result<std::optional<TaskHead>> TaskTable::find_head(TaskKey task) {
  Query query(find_head_);
  PAWL_TRY_ASSIGN(const bool found, query.integer(task).integer(ns_).step());
  if (!found) {
    return std::optional<TaskHead>();
  }
  TaskHead head;
  head.run = query.as_integer(0);
  head.state = static_cast<TaskState>(query.as_integer(1));
  head.attempt = static_cast<std::uint32_t>(query.as_integer(2));
  head.owner = query.as_integer(3);
  head.cancel_requested = query.as_integer(4) != 0;
  return std::optional<TaskHead>(head);
}

Result<std::vector<TaskRow>> TaskTable::read(RunKey run) {
  Query query(read_);
  return read_all(query.integer(ns_).integer(run));
}

Result<std::vector<TaskRow>> TaskTable::list(const TaskFilter& filter, TaskKey after,
                                             std::size_t limit) {
  Query query(list_);
  query.integer(ns_).integer(after).text_or_null(filter.queue).text_or_null(filter.type);
  query.integer(filter.state.has_value() ? static_cast<std::int64_t>(*filter.state) : -1);
  return read_all(query.integer(static_cast<std::int64_t>(limit)));
}

Result<std::vector<TaskRow>> TaskTable::read_due(std::int64_t now_ms, std::size_t limit,
                                                 std::int64_t* next_due) {
  constexpr std::size_t kLimitMax = std::numeric_limits<std::int32_t>::max();
  const std::size_t count = std::min(limit, kLimitMax);
  Query query(read_due_);
  query.integer(ns_).integer(now_ms).integer(static_cast<std::int64_t>(count) + 1);
  PAWL_TRY_ASSIGN(std::vector<TaskRow> rows, read_all(query));
  std::int64_t next = kNever;
  if (rows.size() > count) {
    next = rows.back().due_ms;
    rows.pop_back();
  } else {
    Query later(next_due_);
    PAWL_TRY_ASSIGN(const bool found, later.integer(ns_).integer(now_ms).step());
    next = found ? later.as_integer(0) : kNever;
  }
  if (next_due != nullptr) {
    *next_due = next;
  }
  return rows;
}

}  // namespace pawl::store

#include "store/sqlite/schema.h"

#include <sqlite3.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <functional>
#include <string>
#include <thread>

#include "store/sqlite/checkpoint_functions.h"

namespace pawl::store {

namespace {

// Columns that cost: `ns` comes first in every key, 0 for the first namespace, which takes no
// bytes. Ids are 16 bytes if they are UUIDs, else text; what is empty is NULL. Moments are
// milliseconds since 1970; NULL: never.
//
// pawl_run is updated whenever a run is claimed, given back or ended, so it holds no payloads.
// `wake` is set if and only if the run is to be claimed by somebody at that moment: never while it
// is owned, closed or blocked. `chain` is the first of the runs that recurred to this one.
//
// pawl_inbox: what is `kept` has been seen and is no reason to wake.
//
// pawl_log is appended in order of arrival; its index leads from a run to its entries.
constexpr const char* kStep1 = R"sql(
CREATE TABLE pawl_namespace(
  key INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE
) STRICT;

CREATE TABLE pawl_run(
  key INTEGER PRIMARY KEY AUTOINCREMENT,
  ns INTEGER NOT NULL,
  owner INTEGER,
  epoch INTEGER NOT NULL,
  status INTEGER NOT NULL,
  goal INTEGER,
  wake INTEGER,
  number INTEGER NOT NULL,
  chain INTEGER,
  created INTEGER NOT NULL,
  changed INTEGER NOT NULL,
  parent INTEGER,
  parent_close INTEGER,
  parent_command ANY,
  uuid BLOB NOT NULL,
  id TEXT NOT NULL,
  kind TEXT NOT NULL,
  definition TEXT,
  approved INTEGER,
  waiting_for TEXT
) STRICT;
CREATE UNIQUE INDEX pawl_run_id ON pawl_run(ns, id, number);
CREATE INDEX pawl_run_wake ON pawl_run(ns, kind, wake) WHERE wake IS NOT NULL;
CREATE INDEX pawl_run_owner ON pawl_run(owner) WHERE owner IS NOT NULL;
CREATE INDEX pawl_run_parent ON pawl_run(ns, parent)
  WHERE parent IS NOT NULL AND status NOT BETWEEN 4 AND 7;

CREATE TABLE pawl_input(
  run INTEGER PRIMARY KEY,
  ns INTEGER NOT NULL,
  input BLOB NOT NULL
) STRICT;
CREATE TABLE pawl_reason(
  run INTEGER PRIMARY KEY,
  ns INTEGER NOT NULL,
  reason TEXT NOT NULL
) STRICT;
CREATE TABLE pawl_tag(
  ns INTEGER NOT NULL,
  run INTEGER NOT NULL,
  name TEXT NOT NULL,
  value TEXT NOT NULL,
  PRIMARY KEY(ns, run, name, value)
) STRICT, WITHOUT ROWID;
CREATE INDEX pawl_tag_value ON pawl_tag(ns, name, value, run);

CREATE TABLE pawl_log(
  run INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  ns INTEGER NOT NULL,
  kind INTEGER NOT NULL,
  time INTEGER NOT NULL,
  version INTEGER NOT NULL,
  location TEXT,
  id ANY,
  name TEXT,
  child_kind TEXT,
  removed INTEGER,
  step_key TEXT,
  source TEXT,
  checked INTEGER,
  number INTEGER,
  digest INTEGER,
  extra TEXT,
  checkpoint BLOB,
  payload BLOB
) STRICT;
CREATE UNIQUE INDEX pawl_log_entry ON pawl_log(ns, run, seq);

CREATE TABLE pawl_forgotten(
  run INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  ns INTEGER NOT NULL,
  kind INTEGER NOT NULL,
  time INTEGER NOT NULL,
  version INTEGER NOT NULL,
  location TEXT,
  id ANY,
  name TEXT,
  child_kind TEXT,
  removed INTEGER,
  step_key TEXT,
  source TEXT,
  checked INTEGER,
  number INTEGER,
  digest INTEGER,
  extra TEXT,
  checkpoint BLOB,
  payload BLOB,
  loop TEXT NOT NULL,
  iteration INTEGER NOT NULL
) STRICT;
CREATE INDEX pawl_forgotten_loop ON pawl_forgotten(ns, run, loop, iteration);

CREATE TABLE pawl_inbox(
  key INTEGER PRIMARY KEY AUTOINCREMENT,
  ns INTEGER NOT NULL,
  run INTEGER NOT NULL,
  kept INTEGER NOT NULL,
  kind INTEGER NOT NULL,
  due INTEGER NOT NULL,
  id ANY,
  location TEXT,
  name TEXT,
  number INTEGER,
  extra TEXT,
  payload BLOB
) STRICT;
CREATE INDEX pawl_inbox_run ON pawl_inbox(ns, run, kept, due);

CREATE TABLE pawl_task(
  key INTEGER PRIMARY KEY AUTOINCREMENT,
  ns INTEGER NOT NULL,
  run INTEGER NOT NULL,
  state INTEGER NOT NULL,
  priority INTEGER NOT NULL,
  attempt INTEGER NOT NULL,
  owner INTEGER,
  due INTEGER,
  deadline INTEGER,
  attempt_ms INTEGER,
  heartbeat_ms INTEGER,
  created INTEGER NOT NULL,
  started INTEGER,
  cancelled INTEGER,
  id ANY,
  queue TEXT NOT NULL,
  type TEXT NOT NULL,
  options BLOB,
  last_error BLOB,
  details BLOB,
  input BLOB
) STRICT;
CREATE UNIQUE INDEX pawl_task_id ON pawl_task(ns, run, id);
CREATE INDEX pawl_task_ready ON pawl_task(ns, queue, type, priority DESC) WHERE state = 0;
CREATE INDEX pawl_task_delayed ON pawl_task(ns, queue, type, due) WHERE state = 1;
CREATE INDEX pawl_task_due ON pawl_task(ns, due) WHERE due IS NOT NULL;
CREATE INDEX pawl_task_owner ON pawl_task(owner) WHERE owner IS NOT NULL;

CREATE TABLE pawl_promise(
  ns INTEGER NOT NULL,
  run INTEGER NOT NULL,
  name TEXT NOT NULL,
  resolved INTEGER NOT NULL,
  PRIMARY KEY(ns, run, name)
) STRICT, WITHOUT ROWID;
CREATE TABLE pawl_dedupe(
  ns INTEGER NOT NULL,
  chain INTEGER NOT NULL,
  id TEXT NOT NULL,
  PRIMARY KEY(ns, chain, id)
) STRICT, WITHOUT ROWID;
CREATE TABLE pawl_compensation(
  ns INTEGER NOT NULL,
  run INTEGER NOT NULL,
  position INTEGER NOT NULL,
  state INTEGER NOT NULL,
  attempt INTEGER NOT NULL,
  due INTEGER NOT NULL,
  name TEXT NOT NULL,
  outcome BLOB,
  input BLOB,
  PRIMARY KEY(ns, run, position)
) STRICT, WITHOUT ROWID;

CREATE TABLE pawl_worker(
  key INTEGER PRIMARY KEY AUTOINCREMENT,
  ns INTEGER NOT NULL,
  expires INTEGER,
  locked INTEGER NOT NULL,
  name TEXT NOT NULL
) STRICT;
)sql";

// pawl_reason: `blocked_by` is the fingerprint of the code that has blocked the run, '' if that is
// unknown, NULL if another code would not help. Of those blocked before, it is unknown.
constexpr const char* kStep2 = R"sql(
ALTER TABLE pawl_reason ADD blocked_by TEXT;
UPDATE pawl_reason SET blocked_by = ''
  WHERE run IN (SELECT key FROM pawl_run WHERE status = 8);
CREATE INDEX pawl_run_blocked ON pawl_run(ns, kind) WHERE status = 8;
)sql";

constexpr const char* kStep3 = "ALTER TABLE pawl_task ADD wait_ms INTEGER";

// pawl_reason: `needs` is the activity that a compensating run waits for and that whoever had it
// does not have.
constexpr const char* kStep4 = R"sql(
ALTER TABLE pawl_reason ADD needs TEXT;
CREATE INDEX pawl_reason_needs ON pawl_reason(ns, needs) WHERE needs IS NOT NULL;
)sql";

// Searching: every index that is walked for a list of runs ends in `created`, so that all of them
// give the same order; pawl_run_closed, which has another one, brings it along (the plus keeps
// SQLite from taking its condition for the range to read). pawl_kept_state is
// what a checkpoint says of the state, for the views: as long as the checkpoint is in pawl_log or
// in pawl_forgotten. The views are documented in docs/sql.md: their columns stay.
//
// How the views are written leads SQLite to the indexes, which all begin with `ns`: it is one of
// those that there are, so that a run is found by its id alone; the plus keeps SQLite from taking
// that for a reason to go through a whole namespace of entries, and likelihood() tells it that a
// namespace is a lot.
constexpr const char* kStep5 = R"sql(
ALTER TABLE pawl_run ADD paused INTEGER;
CREATE INDEX pawl_run_kind ON pawl_run(ns, kind, status, created);
CREATE INDEX pawl_run_closed ON pawl_run(ns, status, changed, key, created)
  WHERE +status BETWEEN 4 AND 7;
CREATE INDEX pawl_run_paused ON pawl_run(ns, created) WHERE paused IS NOT NULL;
DROP INDEX pawl_run_parent;
CREATE INDEX pawl_run_parent ON pawl_run(ns, parent, status) WHERE parent IS NOT NULL;

DROP INDEX pawl_tag_value;
ALTER TABLE pawl_tag ADD created INTEGER NOT NULL DEFAULT 0;
UPDATE pawl_tag SET created = (SELECT r.created FROM pawl_run AS r WHERE r.key = run);
CREATE INDEX pawl_tag_value ON pawl_tag(ns, name, value, created, run);

ALTER TABLE pawl_worker ADD serves TEXT;

CREATE TABLE pawl_kept_state(
  ns INTEGER NOT NULL,
  run INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  name TEXT NOT NULL,
  value BLOB,
  PRIMARY KEY(ns, run, seq, name)
) STRICT, WITHOUT ROWID;
CREATE INDEX pawl_kept_state_name ON pawl_kept_state(name, ns, run, seq);
CREATE INDEX pawl_forgotten_state ON pawl_forgotten(name, ns, run, seq)
  WHERE kind BETWEEN 8 AND 9;
CREATE INDEX pawl_log_state ON pawl_log(name, ns, run, seq) WHERE kind BETWEEN 8 AND 9;

INSERT OR REPLACE INTO pawl_kept_state(ns, run, seq, name, value)
WITH RECURSIVE change(ns, run, seq, checkpoint, i) AS (
  SELECT ns, run, seq, checkpoint, 0 FROM pawl_log WHERE checkpoint IS NOT NULL
  UNION ALL
  SELECT ns, run, seq, checkpoint, 0 FROM pawl_forgotten WHERE checkpoint IS NOT NULL
  UNION ALL
  SELECT ns, run, seq, checkpoint, i + 1 FROM change WHERE i < pawl_change_count(checkpoint)
)
SELECT ns, run, seq, pawl_change_key(checkpoint, i), pawl_change_value(checkpoint, i)
  FROM change WHERE i < pawl_change_count(checkpoint);

CREATE TABLE pawl_status_name(
  status INTEGER PRIMARY KEY,
  name TEXT NOT NULL
) STRICT;
INSERT INTO pawl_status_name VALUES(1, 'running'), (2, 'waiting'), (3, 'compensating'),
  (4, 'completed'), (5, 'failed'), (6, 'cancelled'), (7, 'recurred'), (8, 'blocked');
CREATE TABLE pawl_event_name(
  kind INTEGER PRIMARY KEY,
  name TEXT NOT NULL
) STRICT;
INSERT INTO pawl_event_name VALUES(1, 'TaskScheduled'), (2, 'OperationStarted'),
  (3, 'OperationCompleted'), (4, 'OperationFailed'), (5, 'TimerStarted'), (6, 'PromiseCreated'),
  (7, 'ChildWorkflowInitiated'), (8, 'StateSet'), (9, 'StateCleared'), (10, 'SignalAwaited'),
  (11, 'BranchOpened'), (12, 'LoopStarted'), (13, 'StepRemoved'), (14, 'VersionChecked'),
  (15, 'CompensationRegistered'), (16, 'TaskCancelRequested'), (17, 'TimerCancelRequested'),
  (32, 'TaskCompleted'), (33, 'TaskFailed'), (34, 'TaskCancelled'), (35, 'TimerFired'),
  (36, 'TimerCancelled'), (37, 'PromiseResolved'), (38, 'PromiseRejected'),
  (39, 'PromiseTimedOut'), (40, 'ChildWorkflowCompleted'), (41, 'ChildWorkflowFailed'),
  (42, 'ChildWorkflowCancelled'), (43, 'SignalReceived'), (44, 'SignalTimedOut'),
  (45, 'CancellationRequested'), (64, 'LoopCheckpointed'), (65, 'WorkflowCompleted'),
  (66, 'WorkflowFailed'), (67, 'WorkflowCancelled'), (68, 'WorkflowRecurred');

CREATE VIEW pawl_runs AS
SELECT (SELECT name FROM pawl_namespace WHERE key = r.ns) AS namespace,
  r.key AS run, r.id, r.number,
  lower(substr(hex(r.uuid), 1, 8) || '-' || substr(hex(r.uuid), 9, 4) || '-' ||
    substr(hex(r.uuid), 13, 4) || '-' || substr(hex(r.uuid), 17, 4) || '-' || substr(hex(r.uuid), 21)) AS run_id,
  r.kind, s.name AS status, r.paused IS NOT NULL AS paused, r.waiting_for, r.definition,
  r.created AS started_ms, r.changed AS changed_ms,
  CASE WHEN r.status BETWEEN 4 AND 7 THEN r.changed END AS ended_ms,
  r.wake AS wake_ms, r.owner AS worker, w.name AS worker_name, r.parent AS parent_run,
  p.id AS parent_id, nullif(e.reason, '') AS reason,
  CASE WHEN substr(i.input, 1, 1) IN (x'01', x'02') THEN NULL
    ELSE CAST(i.input AS TEXT) END AS input
FROM pawl_run AS r
JOIN pawl_status_name AS s ON s.status = r.status
LEFT JOIN pawl_worker AS w ON w.key = r.owner
LEFT JOIN pawl_run AS p ON p.key = r.parent
LEFT JOIN pawl_reason AS e ON e.run = r.key
LEFT JOIN pawl_input AS i ON i.run = r.key
WHERE likelihood(r.ns IN (SELECT key FROM pawl_namespace), 0.25);

CREATE VIEW pawl_tags AS
SELECT (SELECT name FROM pawl_namespace WHERE key = r.ns) AS namespace,
  r.key AS run, r.id, r.number, t.name, t.value
FROM pawl_tag AS t
JOIN pawl_run AS r ON r.key = t.run AND t.ns = +r.ns
WHERE likelihood(r.ns IN (SELECT key FROM pawl_namespace), 0.99) AND
  likelihood(t.ns IN (SELECT key FROM pawl_namespace), 0.99);

CREATE VIEW pawl_history AS
SELECT (SELECT name FROM pawl_namespace WHERE key = r.ns) AS namespace,
  r.key AS run, r.id, r.number, l.seq, l.time AS at_ms, k.name AS event,
  l.location,
  CASE typeof(l.id) WHEN 'blob' THEN
    lower(substr(hex(l.id), 1, 8) || '-' || substr(hex(l.id), 9, 4) || '-' ||
    substr(hex(l.id), 13, 4) || '-' || substr(hex(l.id), 17, 4) || '-' || substr(hex(l.id), 21))
    ELSE l.id END AS command_id,
  l.name, l.version, l.source,
  CASE WHEN substr(l.payload, 1, 1) IN (x'01', x'02') THEN NULL
    ELSE CAST(l.payload AS TEXT) END AS payload
FROM pawl_log AS l
JOIN pawl_run AS r ON r.key = l.run AND l.ns = +r.ns
LEFT JOIN pawl_event_name AS k ON k.kind = l.kind
WHERE likelihood(r.ns IN (SELECT key FROM pawl_namespace), 0.25);

CREATE VIEW pawl_state_changes AS
SELECT (SELECT name FROM pawl_namespace WHERE key = r.ns) AS namespace,
  r.key AS run, r.id, r.number, l.seq, l.name AS key,
  l.kind = 9 AS cleared,
  CASE WHEN substr(l.payload, 1, 1) IN (x'01', x'02') THEN NULL
    ELSE CAST(l.payload AS TEXT) END AS value
FROM pawl_log AS l
JOIN pawl_run AS r ON r.key = l.run AND l.ns = +r.ns
WHERE l.kind BETWEEN 8 AND 9 AND r.ns IN (SELECT key FROM pawl_namespace)
UNION ALL
SELECT (SELECT name FROM pawl_namespace WHERE key = r.ns), r.key, r.id, r.number, l.seq, l.name, l.kind = 9,
  CASE WHEN substr(l.payload, 1, 1) IN (x'01', x'02') THEN NULL
    ELSE CAST(l.payload AS TEXT) END
FROM pawl_forgotten AS l
JOIN pawl_run AS r ON r.key = l.run AND l.ns = +r.ns
WHERE l.kind BETWEEN 8 AND 9 AND r.ns IN (SELECT key FROM pawl_namespace)
UNION ALL
SELECT (SELECT name FROM pawl_namespace WHERE key = r.ns), r.key, r.id, r.number, s.seq, s.name, s.value IS NULL,
  CASE WHEN substr(s.value, 1, 1) IN (x'01', x'02') THEN NULL
    ELSE CAST(s.value AS TEXT) END
FROM pawl_kept_state AS s
JOIN pawl_run AS r ON r.key = s.run AND s.ns = +r.ns
WHERE likelihood(r.ns IN (SELECT key FROM pawl_namespace), 0.25);

CREATE VIEW pawl_state AS
SELECT (SELECT name FROM pawl_namespace WHERE key = r.ns) AS namespace,
  r.key AS run, r.id, r.number, l.name AS key,
  CASE WHEN substr(l.payload, 1, 1) IN (x'01', x'02') THEN NULL
    ELSE CAST(l.payload AS TEXT) END AS value, l.seq
FROM pawl_log AS l
JOIN pawl_run AS r ON r.key = l.run AND l.ns = +r.ns
WHERE l.kind BETWEEN 8 AND 9 AND l.kind = 8
  AND r.ns IN (SELECT key FROM pawl_namespace)
  AND NOT EXISTS(SELECT 1 FROM pawl_log AS m WHERE m.ns = l.ns AND m.name IS l.name
    AND m.run = l.run AND m.seq > l.seq AND m.kind BETWEEN 8 AND 9)
  AND NOT EXISTS(SELECT 1 FROM pawl_kept_state AS m CROSS JOIN pawl_log AS c
    ON c.ns = m.ns AND c.run = m.run AND c.seq = m.seq
    WHERE m.ns = l.ns AND m.name = coalesce(l.name, '') AND m.run = l.run AND m.seq > l.seq)
UNION ALL
SELECT (SELECT name FROM pawl_namespace WHERE key = r.ns), r.key, r.id, r.number, s.name,
  CASE WHEN substr(s.value, 1, 1) IN (x'01', x'02') THEN NULL
    ELSE CAST(s.value AS TEXT) END, s.seq
FROM pawl_kept_state AS s
JOIN pawl_run AS r ON r.key = s.run AND s.ns = +r.ns
WHERE s.value IS NOT NULL
  AND r.ns IN (SELECT key FROM pawl_namespace)
  AND EXISTS(SELECT 1 FROM pawl_log AS c WHERE c.ns = s.ns AND c.run = s.run AND c.seq = s.seq)
  AND NOT EXISTS(SELECT 1 FROM pawl_log AS m WHERE m.ns = s.ns AND m.name IS nullif(s.name, '')
    AND m.run = s.run AND m.seq > s.seq AND m.kind BETWEEN 8 AND 9)
  AND NOT EXISTS(SELECT 1 FROM pawl_kept_state AS m CROSS JOIN pawl_log AS c
    ON c.ns = m.ns AND c.run = m.run AND c.seq = m.seq
    WHERE m.ns = s.ns AND m.name = s.name AND m.run = s.run AND m.seq > s.seq);

CREATE VIEW pawl_tasks AS
SELECT (SELECT name FROM pawl_namespace WHERE key = r.ns) AS namespace,
  t.key AS task, r.key AS run, r.id, r.number, t.queue, t.type,
  CASE t.state WHEN 0 THEN 'ready' WHEN 1 THEN 'delayed' ELSE 'running' END AS state,
  t.priority, t.attempt, t.owner AS worker, w.name AS worker_name, t.created AS created_ms,
  t.started AS started_ms, t.due AS due_ms,
  CASE WHEN substr(t.last_error, 1, 1) IN (x'01', x'02') THEN NULL
    ELSE CAST(t.last_error AS TEXT) END AS last_error
FROM pawl_task AS t
JOIN pawl_run AS r ON r.key = t.run AND t.ns = +r.ns
LEFT JOIN pawl_worker AS w ON w.key = t.owner
WHERE likelihood(r.ns IN (SELECT key FROM pawl_namespace), 0.25);

CREATE VIEW pawl_inboxes AS
SELECT (SELECT name FROM pawl_namespace WHERE key = r.ns) AS namespace,
  r.key AS run, r.id, r.number, i.key AS arrival,
  CASE i.kind WHEN 200 THEN 'OperationRetry' ELSE k.name END AS event, i.name, i.due AS due_ms,
  i.kept,
  CASE WHEN substr(i.payload, 1, 1) IN (x'01', x'02') THEN NULL
    ELSE CAST(i.payload AS TEXT) END AS payload
FROM pawl_inbox AS i
JOIN pawl_run AS r ON r.key = i.run AND i.ns = +r.ns
LEFT JOIN pawl_event_name AS k ON k.kind = i.kind
WHERE likelihood(r.ns IN (SELECT key FROM pawl_namespace), 0.25);

CREATE VIEW pawl_workers AS
SELECT (SELECT name FROM pawl_namespace WHERE key = w.ns) AS namespace,
  w.key AS worker, w.name, w.expires AS expires_ms, w.serves,
  (SELECT count(*) FROM pawl_run AS r WHERE r.owner = w.key) AS runs,
  (SELECT count(*) FROM pawl_task AS t WHERE t.owner = w.key) AS tasks
FROM pawl_worker AS w;
)sql";

// Why nobody may work on a namespace, see seal.h.
constexpr const char* kStep6 = "ALTER TABLE pawl_namespace ADD seal TEXT";

constexpr std::array kSteps = {kStep1, kStep2, kStep3, kStep4, kStep5, kStep6};

Error unusable(const Connection& connection, const std::string& what) {
  return make_error(ErrorCode::kStoreUnusable, "'" + connection.path() + "' " + what);
}

// `begin` is the statement that starts it.
Result<void> in_transaction(Connection& connection, const char* begin,
                            const std::function<Result<void>()>& what_to_do) {
  PAWL_TRY(connection.execute(begin));
  Result<void> done = what_to_do();
  if (done.has_value()) {
    done = connection.execute("COMMIT");
  }
  if (!done.has_value() && connection.in_transaction()) {
    static_cast<void>(connection.execute("ROLLBACK"));  // The first error says more.
  }
  return done;
}

struct FileState {
  std::int64_t version = 0;
  bool is_empty = false;  // No tables at all.
};

// Tells our files and new ones from all others. Called in a transaction, since another process may
// be making the tables.
Result<FileState> inspect(Connection& connection) {
  FileState state;
  const Result<std::int64_t> id = connection.query_integer("PRAGMA application_id");
  if (!id.has_value()) {
    // Here a damaged header is not told from a file that never was a database.
    return id.error().code == ErrorCode::kStoreCorrupt
               ? unusable(connection, "is not an SQLite database; name another file")
               : id.error();
  }
  PAWL_TRY_ASSIGN(state.version, connection.query_integer("PRAGMA user_version"));
  if (state.version < 0) {
    return make_error(ErrorCode::kStoreCorrupt, "'" + connection.path() + "' has the schema " +
                                                    std::to_string(state.version) +
                                                    ", which there cannot be; restore a copy");
  }
  PAWL_TRY_ASSIGN(const std::int64_t tables,
                  connection.query_integer("SELECT count(*) FROM sqlite_schema"));
  state.is_empty = tables == 0;
  if (*id == kApplicationId && state.version == 0 && !state.is_empty) {
    return make_error(
        ErrorCode::kStoreCorrupt,
        "'" + connection.path() +
            "' has Pawl's tables, but not the number of their schema (user_version is "
            "0): another program has changed it; restore a copy");
  }
  const bool is_new = state.is_empty && *id == 0 && state.version == 0;
  if (*id != kApplicationId && !is_new) {
    return unusable(connection, "is the database of another program (application id " +
                                    std::to_string(*id) + "); Pawl needs a file of its own");
  }
  return state;
}

Result<void> check_not_newer(const Connection& connection, std::int64_t version,
                             std::size_t steps) {
  if (version > static_cast<std::int64_t>(steps)) {
    return unusable(connection, "was written by a newer Pawl (schema " + std::to_string(version) +
                                    ", this one knows " + std::to_string(steps) +
                                    "); use that one");
  }
  return {};
}

// Under an exclusive lock, so that it looks again: another process may have been quicker.
Result<void> take_steps(Connection& connection, std::span<const char* const> steps) {
  PAWL_TRY_ASSIGN(const FileState state, inspect(connection));
  PAWL_TRY(check_not_newer(connection, state.version, steps.size()));
  PAWL_TRY(add_checkpoint_functions(connection));
  for (const char* const step : steps.subspan(static_cast<std::size_t>(state.version))) {
    PAWL_TRY(connection.execute(step));
  }
  const std::string marks = "PRAGMA application_id = " + std::to_string(kApplicationId) +
                            "; PRAGMA user_version = " + std::to_string(steps.size());
  return connection.execute(marks.c_str());
}

Result<bool> is_wal(Connection& connection, const char* pragma) {
  Statement statement(connection, pragma);
  Query query(statement);
  PAWL_TRY(query.step());
  return query.as_bytes(0) == "wal";
}

// The switch needs the file for itself for a moment, and SQLite does not wait for that.
Result<void> enter_wal(Connection& connection, std::int64_t busy_timeout_ms) {
  PAWL_TRY_ASSIGN(const bool is_there, is_wal(connection, "PRAGMA journal_mode"));
  if (is_there) {
    return {};
  }
  const auto deadline =
      std::chrono::steady_clock::now() +
      std::chrono::milliseconds(std::clamp<std::int64_t>(busy_timeout_ms, 0, 0x7fffffff));
  while (true) {
    const Result<bool> entered = is_wal(connection, "PRAGMA journal_mode = WAL");
    if (entered.has_value()) {
      return *entered ? Result<void>()
                      : unusable(connection, "cannot be used in WAL mode; use a local file system");
    }
    if (entered.error().code != ErrorCode::kStoreBusy ||
        std::chrono::steady_clock::now() >= deadline) {
      return entered.error();
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

}  // namespace

std::span<const char* const> schema_steps() { return kSteps; }

Result<void> migrate(Connection& connection, std::span<const char* const> steps,
                     std::int64_t busy_timeout_ms) {
  FileState state;
  PAWL_TRY(in_transaction(connection, "BEGIN", [&]() -> Result<void> {
    PAWL_TRY_ASSIGN(state, inspect(connection));
    return check_not_newer(connection, state.version, steps.size());
  }));
  if (state.version < static_cast<std::int64_t>(steps.size())) {
    PAWL_TRY(in_transaction(connection, "BEGIN EXCLUSIVE",
                            [&] { return take_steps(connection, steps); }));
  }
  return enter_wal(connection, busy_timeout_ms);
}

Result<std::int64_t> find_namespace(Connection& connection, std::span<const char* const> steps,
                                    std::string_view name_space) {
  std::int64_t key = 0;
  PAWL_TRY(in_transaction(connection, "BEGIN", [&]() -> Result<void> {
    PAWL_TRY_ASSIGN(const FileState state, inspect(connection));
    PAWL_TRY(check_not_newer(connection, state.version, steps.size()));
    if (state.version == 0) {
      return unusable(connection, "is empty: no engine has used it yet");
    }
    if (state.version < static_cast<std::int64_t>(steps.size())) {
      return unusable(connection, "was written by an older Pawl (schema " +
                                      std::to_string(state.version) + ", this one has " +
                                      std::to_string(steps.size()) +
                                      "); the next engine that opens it brings it up to date");
    }
    Statement find(connection, "SELECT key FROM pawl_namespace WHERE name = ?");
    Query query(find);
    PAWL_TRY_ASSIGN(const bool found, query.text(name_space).step());
    if (!found) {
      return unusable(connection, "has no namespace '" + std::string(name_space) + "'");
    }
    key = query.as_integer(0);
    return {};
  }));
  return key;
}

Result<std::int64_t> find_or_add_namespace(Connection& connection, std::string_view name) {
  Statement find(connection, "SELECT key FROM pawl_namespace WHERE name = ?");
  {
    Query query(find);
    PAWL_TRY_ASSIGN(const bool found, query.text(name).step());
    if (found) {
      return query.as_integer(0);
    }
  }
  Statement add(connection,
                "INSERT INTO pawl_namespace(key, name) "
                "SELECT coalesce(max(key) + 1, 0), ? FROM pawl_namespace WHERE true "
                "ON CONFLICT DO NOTHING");
  PAWL_TRY(
      in_transaction(connection, "BEGIN EXCLUSIVE", [&] { return Query(add).text(name).run(); }));
  Query query(find);
  PAWL_TRY(query.text(name).step());
  return query.as_integer(0);
}

}  // namespace pawl::store

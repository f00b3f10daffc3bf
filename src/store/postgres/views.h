// The second step of the schema: views for people who ask by SQL (docs/sql.md), with the names and
// columns that the SQLite store has, too.
#pragma once

#include <string_view>

namespace pawl::store::pg {

// pawl_text: a payload as text. NULL for bytes, for what a codec has encoded, and for what
// PostgreSQL does not take as text.
inline constexpr std::string_view kViews = R"sql(
CREATE FUNCTION {schema}.pawl_text(payload bytea) RETURNS text LANGUAGE plpgsql IMMUTABLE STRICT AS $$
BEGIN
  IF length(payload) > 0 AND get_byte(payload, 0) IN (1, 2) THEN
    RETURN NULL;
  END IF;
  RETURN convert_from(payload, 'UTF8');
EXCEPTION WHEN character_not_in_repertoire OR untranslatable_character THEN
  RETURN NULL;
END
$$;

CREATE TABLE {schema}.pawl_status_name(
  status int2 PRIMARY KEY,
  name text NOT NULL
);
INSERT INTO {schema}.pawl_status_name VALUES(1, 'running'), (2, 'waiting'), (3, 'compensating'),
  (4, 'completed'), (5, 'failed'), (6, 'cancelled'), (7, 'recurred'), (8, 'blocked');
CREATE TABLE {schema}.pawl_event_name(
  kind int2 PRIMARY KEY,
  name text NOT NULL
);
INSERT INTO {schema}.pawl_event_name VALUES(1, 'TaskScheduled'), (2, 'OperationStarted'),
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

CREATE VIEW {schema}.pawl_runs AS
SELECT n.name AS namespace, r.key AS run, r.id, r.number, r.uuid AS run_id, r.kind,
  s.name AS status, r.paused, r.waiting_for, r.definition, r.created AS started_ms,
  r.changed AS changed_ms, CASE WHEN r.status BETWEEN 4 AND 7 THEN r.changed END AS ended_ms,
  r.wake AS wake_ms, r.owner AS worker, w.name AS worker_name, r.parent AS parent_run,
  p.id AS parent_id, nullif({schema}.pawl_text(e.reason), '') AS reason,
  {schema}.pawl_text(i.input) AS input
FROM {schema}.pawl_run AS r
JOIN {schema}.pawl_namespace AS n ON n.key = r.ns
JOIN {schema}.pawl_status_name AS s ON s.status = r.status
LEFT JOIN {schema}.pawl_worker AS w ON w.ns = r.ns AND w.key = r.owner
LEFT JOIN {schema}.pawl_run AS p ON p.ns = r.ns AND p.key = r.parent
LEFT JOIN {schema}.pawl_reason AS e ON e.ns = r.ns AND e.run = r.key
LEFT JOIN {schema}.pawl_input AS i ON i.ns = r.ns AND i.run = r.key;

CREATE VIEW {schema}.pawl_tags AS
SELECT n.name AS namespace, r.key AS run, r.id, r.number, t.name, t.value
FROM {schema}.pawl_tag AS t
JOIN {schema}.pawl_run AS r ON r.ns = t.ns AND r.key = t.run
JOIN {schema}.pawl_namespace AS n ON n.key = r.ns;

CREATE VIEW {schema}.pawl_history AS
SELECT n.name AS namespace, r.key AS run, r.id, r.number, l.seq, l.time AS at_ms, k.name AS event,
  l.location, l.id AS command_id, l.name, l.version, l.source,
  {schema}.pawl_text(l.payload) AS payload
FROM {schema}.pawl_log AS l
JOIN {schema}.pawl_run AS r ON r.ns = l.ns AND r.key = l.run
JOIN {schema}.pawl_namespace AS n ON n.key = r.ns
LEFT JOIN {schema}.pawl_event_name AS k ON k.kind = l.kind;

CREATE VIEW {schema}.pawl_state_changes AS
SELECT n.name AS namespace, r.key AS run, r.id, r.number, c.seq, c.key, c.cleared,
  {schema}.pawl_text(c.value) AS value
FROM (
  SELECT ns, run, seq, name AS key, kind = 9 AS cleared, payload AS value
  FROM {schema}.pawl_log WHERE kind BETWEEN 8 AND 9
  UNION ALL
  SELECT ns, run, seq, name, kind = 9, payload
  FROM {schema}.pawl_forgotten WHERE kind BETWEEN 8 AND 9
  UNION ALL
  SELECT ns, run, seq, name, value IS NULL, value FROM {schema}.pawl_kept_state
) AS c
JOIN {schema}.pawl_run AS r ON r.ns = c.ns AND r.key = c.run
JOIN {schema}.pawl_namespace AS n ON n.key = r.ns;

CREATE VIEW {schema}.pawl_state AS
SELECT n.name AS namespace, r.key AS run, r.id, r.number, c.key,
  {schema}.pawl_text(c.value) AS value, c.seq
FROM (
  SELECT l.ns, l.run, l.seq, l.name AS key, l.payload AS value
  FROM {schema}.pawl_log AS l
  WHERE l.kind BETWEEN 8 AND 9 AND l.kind = 8
    AND NOT EXISTS(SELECT 1 FROM {schema}.pawl_log AS m WHERE m.ns = l.ns AND m.run = l.run
      AND m.seq > l.seq AND m.name IS NOT DISTINCT FROM l.name AND m.kind BETWEEN 8 AND 9)
    AND NOT EXISTS(SELECT 1 FROM {schema}.pawl_kept_state AS m JOIN {schema}.pawl_log AS c
      ON c.ns = m.ns AND c.run = m.run AND c.seq = m.seq
      WHERE m.ns = l.ns AND m.name = coalesce(l.name, '') AND m.run = l.run AND m.seq > l.seq)
  UNION ALL
  SELECT s.ns, s.run, s.seq, s.name, s.value
  FROM {schema}.pawl_kept_state AS s
  WHERE s.value IS NOT NULL
    AND EXISTS(SELECT 1 FROM {schema}.pawl_log AS c
      WHERE c.ns = s.ns AND c.run = s.run AND c.seq = s.seq)
    AND NOT EXISTS(SELECT 1 FROM {schema}.pawl_log AS m WHERE m.ns = s.ns AND m.run = s.run
      AND m.seq > s.seq AND m.name IS NOT DISTINCT FROM nullif(s.name, '')
      AND m.kind BETWEEN 8 AND 9)
    AND NOT EXISTS(SELECT 1 FROM {schema}.pawl_kept_state AS m JOIN {schema}.pawl_log AS c
      ON c.ns = m.ns AND c.run = m.run AND c.seq = m.seq
      WHERE m.ns = s.ns AND m.name = s.name AND m.run = s.run AND m.seq > s.seq)
) AS c
JOIN {schema}.pawl_run AS r ON r.ns = c.ns AND r.key = c.run
JOIN {schema}.pawl_namespace AS n ON n.key = r.ns;

CREATE VIEW {schema}.pawl_tasks AS
SELECT n.name AS namespace, t.key AS task, r.key AS run, r.id, r.number, t.queue, t.type,
  CASE t.state WHEN 0 THEN 'ready' WHEN 1 THEN 'delayed' ELSE 'running' END AS state,
  t.priority, t.attempt, t.owner AS worker, w.name AS worker_name, t.created AS created_ms,
  t.started AS started_ms, t.due AS due_ms, {schema}.pawl_text(t.last_error) AS last_error
FROM {schema}.pawl_task AS t
JOIN {schema}.pawl_run AS r ON r.ns = t.ns AND r.key = t.run
JOIN {schema}.pawl_namespace AS n ON n.key = r.ns
LEFT JOIN {schema}.pawl_worker AS w ON w.ns = t.ns AND w.key = t.owner;

CREATE VIEW {schema}.pawl_inboxes AS
SELECT n.name AS namespace, r.key AS run, r.id, r.number, i.key AS arrival,
  CASE i.kind WHEN 200 THEN 'OperationRetry' ELSE k.name END AS event, i.name, i.due AS due_ms,
  i.kept, {schema}.pawl_text(i.payload) AS payload
FROM {schema}.pawl_inbox AS i
JOIN {schema}.pawl_run AS r ON r.ns = i.ns AND r.key = i.run
JOIN {schema}.pawl_namespace AS n ON n.key = r.ns
LEFT JOIN {schema}.pawl_event_name AS k ON k.kind = i.kind;

CREATE VIEW {schema}.pawl_workers AS
SELECT n.name AS namespace, w.key AS worker, w.name, w.expires AS expires_ms, w.serves,
  (SELECT count(*) FROM {schema}.pawl_run AS r WHERE r.ns = w.ns AND r.owner = w.key) AS runs,
  (SELECT count(*) FROM {schema}.pawl_task AS t WHERE t.ns = w.ns AND t.owner = w.key) AS tasks
FROM {schema}.pawl_worker AS w
JOIN {schema}.pawl_namespace AS n ON n.key = w.ns;
)sql";

}  // namespace pawl::store::pg

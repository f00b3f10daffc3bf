// Rows of the tables as the store's plain data. The column lists go into the SQL of whoever reads
// them; `{r}` is the table's alias with a dot, or nothing.
#pragma once

#include "base/result.h"
#include "replay/entry.h"
#include "store/postgres/array.h"
#include "store/postgres/batch.h"
#include "store/postgres/connection.h"
#include "store/postgres/rows.h"
#include "store/postgres/statement.h"
#include "store/rows.h"
#include "store/run_image.h"
#include "store/store.h"

#define PAWL_PG_RUN_COLUMNS(r)                                                                  \
  r "key, " r "owner, " r "epoch, " r "status, " r "goal, " r "wake, " r "number, " r           \
    "created, " r "changed, " r "parent, " r "parent_close, " r "parent_command, " r "uuid, " r \
    "id, " r "kind, " r "definition, " r "approved, " r "waiting_for, " r "paused, " r "chain"
#define PAWL_PG_ARRIVAL_COLUMNS(i)                                                           \
  i "key, " i "run, " i "kind, " i "due, " i "id, " i "location, " i "name, " i "number, " i \
    "extra, " i "payload, " i "kept"
#define PAWL_PG_TASK_COLUMNS                                                                 \
  "t.key, t.run, r.id, t.state, t.priority, t.attempt, t.owner, t.due, t.deadline, "         \
  "t.attempt_ms, t.heartbeat_ms, t.created, t.started, t.cancelled, t.id, t.queue, t.type, " \
  "t.options, t.last_error, t.details, t.input, t.wait_ms"
#define PAWL_PG_ENTRY_COLUMNS                                                             \
  "seq, kind, time, version, location, id, name, child_kind, removed, step_key, source, " \
  "checked, number, digest, extra, checkpoint, payload"

// Whether run `r` is left to others, by ClaimDue::left as two arrays.
#define PAWL_PG_IS_LEFT(kinds, definitions)                      \
  "EXISTS (SELECT 1 FROM unnest(" kinds "::text[], " definitions \
  "::text[]) AS l(kind, definition) WHERE l.kind = r.kind AND l.definition = r.definition)"

namespace pawl::store::pg {

// ClaimDue::left, to be bound.
struct LeftArrays {
  explicit LeftArrays(std::span<const KindDefinition> left) {
    for (const KindDefinition& each : left) {
      kinds.add(each.kind);
      definitions.add(each.definition);
    }
  }

  TextArray kinds;
  TextArray definitions;
};

inline constexpr Statement kWorkersMark{
    "workers_mark",
    "SELECT coalesce(max(key), 0), count(*) FROM {schema}.pawl_worker WHERE ns = $1"};
inline WorkersMark read_mark(const Call& call) {
  const Row row = call.rows()[0];
  return {row.as_integer(0), row.as_integer(1)};
}

struct StoredRun {
  RunRow row;
  RunKey chain = 0;  // Never 0 in one that is stored.
};

StoredRun read_run(const Row& row);
Arrival read_arrival(const Row& row);
StoredArrival read_stored_arrival(const Row& row);
TaskRow read_task(const Row& row);
CompensationRow read_compensation(const Row& row);
// Calls `visit` with an entry whose views are valid for the call.
Result<void> visit_entry(const Connection& connection, const Row& row,
                         const std::function<Result<void>(const replay::Entry&)>& visit);

}  // namespace pawl::store::pg

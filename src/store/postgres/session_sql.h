// The SQL of what a Session writes, and of the checks that go with it. Included by session.cc only.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "store/postgres/records.h"
#include "store/postgres/session.h"
#include "store/postgres/statement.h"

namespace pawl::store::pg {

// What is assumed is checked by dividing by zero: the only way to fail that needs no function on
// the server.

inline constexpr Statement kCheckHeld{
    "check_held",
    "SELECT 1 / (CASE count(*) WHEN $2::int8 THEN 1 ELSE 0 END) FROM (SELECT * FROM "
    "unnest($3::int8[], $4::int8[], $5::int8[], $6::bool[]) AS b(key, owner, epoch, paused) ORDER "
    "BY key) AS a CROSS JOIN LATERAL (SELECT 1 FROM {schema}.pawl_run AS r WHERE r.ns = $1 AND "
    "r.key = a.key AND r.owner IS NOT DISTINCT FROM a.owner AND r.epoch = a.epoch AND r.paused = "
    "a.paused FOR NO KEY UPDATE) AS held"};
// The number alone would not tell: the first run of an id may have been deleted.
#define PAWL_PG_IS_USED(ids) \
  "EXISTS (SELECT 1 FROM {schema}.pawl_run WHERE ns = $1 AND id = ANY(" ids "::text[]))"
inline constexpr Statement kCheckNew{
    "check_new", "SELECT 1 / (CASE WHEN " PAWL_PG_IS_USED("$2") " THEN 0 ELSE 1 END)"};
inline constexpr Statement kCheckOpen{
    "check_open",
    "SELECT 1 / (CASE WHEN EXISTS (SELECT 1 FROM {schema}.pawl_namespace WHERE key = $1 AND seal "
    "IS NOT NULL) THEN 0 ELSE 1 END)"};
#define PAWL_PG_ALIVE \
  "(SELECT 1 FROM {schema}.pawl_worker WHERE ns = $1 AND key = $2 FOR KEY SHARE) AS alive"
inline constexpr Statement kCheckAlive{"check_alive", "SELECT 1 / count(*) FROM " PAWL_PG_ALIVE};

#define PAWL_PG_HELD                                                                            \
  "(SELECT 1 FROM {schema}.pawl_run WHERE ns = $1 AND key = $2 AND owner IS NOT DISTINCT FROM " \
  "$3::int8 AND epoch = $4 AND paused = $5::bool FOR NO KEY UPDATE) AS held"
#define PAWL_PG_APPEND "INSERT INTO {schema}.pawl_log(ns, run, " PAWL_PG_ENTRY_COLUMNS ") "
#define PAWL_PG_ENTRIES_FROM_6                                                                  \
  "unnest($6::int8[], $7::int8[], $8::int8[], $9::int8[], $10::int8[], $11::text[], "           \
  "$12::text[], $13::text[], $14::text[], $15::int8[], $16::text[], $17::text[], $18::int8[], " \
  "$19::int8[], $20::int8[], $21::bytea[], $22::bytea[], $23::bytea[]) AS new"
#define PAWL_PG_INSERT_RUN                                                                   \
  "INSERT INTO {schema}.pawl_run(ns, key, owner, epoch, status, goal, wake, number, chain, " \
  "created, changed, parent, parent_close, parent_command, uuid, id, kind, definition, "     \
  "approved, waiting_for, paused) "

// The check that one run is held goes with its entries.
inline constexpr Statement kAppendHeld{
    "append_held",
    "WITH good AS MATERIALIZED (SELECT 1 / count(*) AS one FROM " PAWL_PG_HELD ") " PAWL_PG_APPEND
    "SELECT $1::int8, new.* FROM good CROSS JOIN " PAWL_PG_ENTRIES_FROM_6 " WHERE good.one = 1"};

// What is most frequent when little is going on is one statement: all of a transaction, which does
// nothing if what it assumes is not so. Its count tells.
inline constexpr Statement kAppendAlone{"append_alone",
                                        PAWL_PG_APPEND "SELECT $1::int8, new.* FROM " PAWL_PG_HELD
                                                       " CROSS JOIN " PAWL_PG_ENTRIES_FROM_6};
inline constexpr Statement kStartAlone{
    "start_alone", "WITH run AS (" PAWL_PG_INSERT_RUN
    "SELECT $1::int8, new.* FROM " PAWL_PG_ALIVE " CROSS JOIN unnest($5::int8[], $6::int8[], $7::int8[], $8::int8[], $9::int8[], $10::int8[], $11::int8[], $12::int8[], $13::int8[], $14::int8[], $15::int8[], $16::int8[], $17::text[], $18::uuid[], $19::text[], $20::text[], $21::text[], $22::bool[], $23::text[], $24::bool[]) AS new WHERE NOT " PAWL_PG_IS_USED("$3") " RETURNING key) INSERT INTO {schema}.pawl_input(ns, run, input) SELECT $1::int8, key, $4::bytea FROM run"};

// What runs leave when they end, mostly nothing: all of it at once.
inline constexpr Statement kRemoveRests{
    "remove_rests",
    "WITH reason AS (DELETE FROM {schema}.pawl_reason WHERE ns = $1 AND run = ANY($2::int8[])), "
    "task AS (DELETE FROM {schema}.pawl_task WHERE ns = $1 AND run = ANY($3::int8[])), promise AS "
    "(DELETE FROM {schema}.pawl_promise WHERE ns = $1 AND run = ANY($4::int8[])), inbox AS (DELETE "
    "FROM {schema}.pawl_inbox WHERE ns = $1 AND run = ANY($5::int8[])) DELETE FROM "
    "{schema}.pawl_dedupe WHERE ns = $1 AND chain = ANY($6::int8[])"};
inline constexpr std::array kRests = {Write::kRemoveReason, Write::kRemoveTasks,
                                      Write::kRemovePromises, Write::kRemoveInbox,
                                      Write::kRemoveDedupes};

// How rows of one kind are written.
struct Kind {
  Statement statement;
  std::string_view columns;
  bool once = false;  // At most one row of a run: a second one needs another statement.
};

inline constexpr std::array<Kind, kWriteKinds> kKinds = {{
    {{"insert_run", PAWL_PG_INSERT_RUN
      "SELECT $1::int8, * FROM unnest($2::int8[], $3::int8[], "
      "$4::int8[], $5::int8[], $6::int8[], $7::int8[], $8::int8[], $9::int8[], $10::int8[], "
      "$11::int8[], $12::int8[], $13::int8[], $14::text[], $15::uuid[], $16::text[], $17::text[], "
      "$18::text[], $19::bool[], $20::text[], $21::bool[])"},
     "iiiiiiiiiiiitutttoto"},
    {{"insert_input",
      "INSERT INTO {schema}.pawl_input(ns, run, input) SELECT $1::int8, * FROM unnest($2::int8[], "
      "$3::bytea[])"},
     "ib"},
    {{"insert_tag",
      "INSERT INTO {schema}.pawl_tag(ns, run, name, value, created) SELECT $1::int8, * FROM "
      "unnest($2::int8[], $3::text[], $4::text[], $5::int8[]) ON CONFLICT DO NOTHING"},
     "itti"},
    {{"append_entry", PAWL_PG_APPEND
      "SELECT $1::int8, * FROM unnest($2::int8[], $3::int8[], $4::int8[], $5::int8[], $6::int8[], "
      "$7::text[], $8::text[], $9::text[], $10::text[], $11::int8[], $12::text[], $13::text[], "
      "$14::int8[], $15::int8[], $16::int8[], $17::bytea[], $18::bytea[], $19::bytea[])"},
     "iiiiittttittiiibbb"},
    {{"keep_state",
      "INSERT INTO {schema}.pawl_kept_state(ns, run, seq, name, value) SELECT $1::int8, * FROM "
      "unnest($2::int8[], $3::int8[], $4::text[], $5::bytea[]) ON CONFLICT (ns, run, seq, name) DO "
      "UPDATE SET value = excluded.value"},
     "iitb"},
    {{"consume_arrival",
      "DELETE FROM {schema}.pawl_inbox AS i USING unnest($2::int8[], $3::int8[]) AS a(run, key) "
      "WHERE i.ns = $1 AND i.run = a.run AND i.key = a.key"},
     "ii"},
    {{"keep_arrival",
      "UPDATE {schema}.pawl_inbox AS i SET kept = true, news = NULL FROM unnest($2::int8[], "
      "$3::int8[]) AS a(run, key) WHERE i.ns = $1 AND i.run = a.run AND i.key = a.key"},
     "ii"},
    {{"withdraw_by_id",
      "DELETE FROM {schema}.pawl_inbox AS i USING unnest($2::int8[], $3::int8[], $4::text[]) AS "
      "a(run, kind, id) WHERE i.ns = $1 AND i.run = a.run AND i.kind = a.kind AND i.id IS NOT "
      "DISTINCT FROM a.id"},
     "iit"},
    {{"withdraw_by_location",
      "DELETE FROM {schema}.pawl_inbox AS i USING unnest($2::int8[], $3::int8[], $4::text[]) AS "
      "a(run, kind, location) WHERE i.ns = $1 AND i.run = a.run AND i.kind = a.kind AND i.location "
      "IS NOT DISTINCT FROM a.location"},
     "iit"},
    {{"put_arrival",
      "INSERT INTO {schema}.pawl_inbox(ns, run, key, kept, news, kind, due, id, location, name, "
      "number, extra, payload) SELECT $1::int8, * FROM unnest($2::int8[], $3::int8[], $4::bool[], "
      "$5::int8[], $6::int8[], $7::int8[], $8::text[], $9::text[], $10::text[], $11::int8[], "
      "$12::bytea[], $13::bytea[])"},
     "iioiiitttibb"},
    {{"add_task",
      "INSERT INTO {schema}.pawl_task(ns, key, attempt, state, run, priority, due, deadline, "
      "wait_ms, attempt_ms, heartbeat_ms, created, id, queue, type, options, input) SELECT "
      "$1::int8, "
      "nextval('{schema}.pawl_task_key'), 0, 0, * FROM unnest($2::int8[], $3::int8[], $4::int8[], "
      "$5::int8[], $6::int8[], $7::int8[], $8::int8[], $9::int8[], $10::text[], $11::text[], "
      "$12::text[], $13::bytea[], $14::bytea[]) ON CONFLICT (ns, run, id) DO NOTHING"},
     "iiiiiiiitttbb"},
    {{"add_task_as_is",
      "INSERT INTO {schema}.pawl_task(ns, key, run, state, priority, attempt, due, deadline, "
      "wait_ms, attempt_ms, heartbeat_ms, created, started, cancelled, id, queue, type, options, "
      "last_error, details, input) SELECT $1::int8, nextval('{schema}.pawl_task_key'), * FROM "
      "unnest($2::int8[], $3::int8[], $4::int8[], $5::int8[], $6::int8[], $7::int8[], $8::int8[], "
      "$9::int8[], $10::int8[], $11::int8[], $12::int8[], $13::bool[], $14::text[], $15::text[], "
      "$16::text[], $17::bytea[], $18::bytea[], $19::bytea[], $20::bytea[]) ON CONFLICT (ns, run, "
      "id) DO NOTHING"},
     "iiiiiiiiiiiotttbbbb"},
    {{"change_task",
      "UPDATE {schema}.pawl_task AS t SET state = a.state, owner = a.owner, due = a.due, details = "
      "coalesce(a.details, t.details), last_error = coalesce(a.last_error, t.last_error) FROM "
      "unnest($2::int8[], $3::int8[], $4::int8[], $5::int8[], $6::int8[], $7::bytea[], "
      "$8::bytea[]) AS a(run, key, state, owner, due, details, last_error) WHERE t.ns = $1 AND "
      "t.key = a.key AND t.run = a.run"},
     "iiiiibb",
     true},
    {{"remove_task",
      "DELETE FROM {schema}.pawl_task AS t USING unnest($2::int8[], $3::int8[]) AS a(run, key) "
      "WHERE t.ns = $1 AND t.key = a.key AND t.run = a.run"},
     "ii"},
    {{"open_promise",
      "INSERT INTO {schema}.pawl_promise(ns, run, name, resolved) SELECT $1::int8, run, name, "
      "false FROM "
      "unnest($2::int8[], $3::text[]) AS a(run, name) ON CONFLICT DO NOTHING"},
     "it"},
    {{"resolve_promise",
      "UPDATE {schema}.pawl_promise AS p SET resolved = true FROM unnest($2::int8[], $3::text[]) "
      "AS a(run, name) WHERE p.ns = $1 AND p.run = a.run AND p.name = a.name"},
     "it"},
    {{"add_dedupe",
      "INSERT INTO {schema}.pawl_dedupe(ns, chain, id) SELECT $1::int8, * FROM unnest($2::int8[], "
      "$3::text[]) ON CONFLICT DO NOTHING"},
     "it"},
    {{"add_compensation",
      "INSERT INTO {schema}.pawl_compensation(ns, run, position, state, attempt, due, name, "
      "outcome, input) SELECT $1::int8, * FROM unnest($2::int8[], $3::int8[], $4::int8[], "
      "$5::int8[], "
      "$6::int8[], $7::text[], $8::bytea[], $9::bytea[]) ON CONFLICT (ns, run, position) DO UPDATE "
      "SET state = excluded.state, attempt = excluded.attempt, due = excluded.due, name = "
      "excluded.name, outcome = excluded.outcome, input = excluded.input"},
     "iiiiitbb"},
    {{"change_compensation",
      "UPDATE {schema}.pawl_compensation AS c SET state = a.state, attempt = a.attempt, due = "
      "a.due, outcome = a.outcome FROM unnest($2::int8[], $3::int8[], $4::int8[], $5::int8[], "
      "$6::int8[], $7::bytea[]) AS a(run, position, state, attempt, due, outcome) WHERE c.ns = $1 "
      "AND c.run = a.run AND c.position = a.position"},
     "iiiiib",
     true},
    {{"set_reason",
      "INSERT INTO {schema}.pawl_reason(ns, run, reason, blocked_by, needs) SELECT $1::int8, * "
      "FROM "
      "unnest($2::int8[], $3::bytea[], $4::text[], $5::text[]) ON CONFLICT (ns, run) DO UPDATE SET "
      "reason = excluded.reason, blocked_by = excluded.blocked_by, needs = excluded.needs"},
     "ibtt",
     true},
    {{"remove_reason",
      "DELETE FROM {schema}.pawl_reason AS t USING unnest($2::int8[]) AS a(run) WHERE t.ns = $1 "
      "AND t.run = a.run"},
     "i"},
    {{"remove_tasks",
      "DELETE FROM {schema}.pawl_task AS t USING unnest($2::int8[]) AS a(run) WHERE t.ns = $1 AND "
      "t.run = a.run"},
     "i"},
    {{"remove_promises",
      "DELETE FROM {schema}.pawl_promise AS t USING unnest($2::int8[]) AS a(run) WHERE t.ns = $1 "
      "AND t.run = a.run"},
     "i"},
    {{"remove_inbox",
      "DELETE FROM {schema}.pawl_inbox AS t USING unnest($2::int8[]) AS a(run) WHERE t.ns = $1 AND "
      "t.run = a.run"},
     "i"},
    {{"remove_dedupes",
      "DELETE FROM {schema}.pawl_dedupe AS t USING unnest($2::int8[]) AS a(chain) WHERE t.ns = $1 "
      "AND t.chain = a.chain"},
     "i"},
    {{"update_run",
      "UPDATE {schema}.pawl_run AS r SET owner = a.owner, epoch = a.epoch, status = a.status, goal "
      "= a.goal, wake = a.wake, changed = a.changed, definition = a.definition, approved = "
      "a.approved, waiting_for = a.waiting_for, paused = a.paused FROM unnest($2::int8[], "
      "$3::int8[], $4::int8[], $5::int8[], $6::int8[], $7::int8[], $8::int8[], $9::text[], "
      "$10::bool[], $11::text[], $12::bool[]) AS a(key, owner, epoch, status, goal, wake, changed, "
      "definition, approved, waiting_for, paused) WHERE r.ns = $1 AND r.key = a.key"},
     "iiiiiiitoto"},
    // A run is not given back if something is due that whoever gives it back does not know of.
    {{"release_run",
      "UPDATE {schema}.pawl_run AS r SET owner = NULL, changed = CASE r.status WHEN a.status THEN "
      "r.changed ELSE a.now END, approved = r.approved AND a.status <> 8, status = a.status, "
      "waiting_for = a.waiting_for, wake = CASE WHEN a.heeds THEN least(a.wake, a.first_due) ELSE "
      "a.wake END FROM (SELECT key, status, waiting_for, wake, heeds, now, (SELECT min(due) FROM "
      "{schema}.pawl_inbox AS i WHERE i.ns = $1 AND i.run = b.key AND NOT i.kept) AS first_due "
      "FROM "
      "unnest($2::int8[], $3::int8[], $4::text[], $5::int8[], $6::bool[], $7::int8[]) AS b(key, "
      "status, waiting_for, wake, heeds, now)) AS a WHERE r.ns = $1 AND r.key = a.key AND (NOT "
      "a.heeds OR a.first_due IS NULL OR a.first_due > a.now) RETURNING r.key, r.wake"},
     "iitioi"},
}};

}  // namespace pawl::store::pg

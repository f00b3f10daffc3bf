#include "store/postgres/schema.h"

#include <array>
#include <optional>
#include <string>

#include "store/postgres/batch.h"
#include "store/postgres/views.h"

namespace pawl::store::pg {

namespace {

// As the tables of the SQLite store, with the same names and numbers. `ns` and the run come first
// in every key, so that tables can be partitioned or sharded by them. Texts are compared byte by
// byte. Moments are milliseconds since 1970; NULL: never. What is empty is NULL. Free texts and
// payloads may hold any byte.
//
// pawl_run: everything that belongs to a run is changed by whoever holds a lock on its row; all
// other tables rely on that. `wake` is set if and only if the run is to be claimed by somebody at
// that moment.
//
// pawl_inbox: keys are drawn while the run's row is locked, so within a run they are in order of
// commit. `news` is the worker that holds the run and may not know of the arrival: another process
// has put it.
//
// pawl_run, pawl_inbox and pawl_task change all the time: they are vacuumed early, and their pages
// have room.
constexpr std::string_view kStep1 = R"sql(
CREATE SEQUENCE {schema}.pawl_run_key;
CREATE SEQUENCE {schema}.pawl_arrival_key;
CREATE SEQUENCE {schema}.pawl_task_key;
CREATE SEQUENCE {schema}.pawl_worker_key;

CREATE TABLE {schema}.pawl_namespace(
  key int8 GENERATED ALWAYS AS IDENTITY (MINVALUE 0 START 0) PRIMARY KEY,
  name text COLLATE "C" NOT NULL UNIQUE
);

CREATE TABLE {schema}.pawl_run(
  ns int8 NOT NULL,
  key int8 NOT NULL,
  owner int8,
  epoch int8 NOT NULL,
  wake int8,
  created int8 NOT NULL,
  changed int8 NOT NULL,
  chain int8,
  parent int8,
  number int4 NOT NULL,
  status int2 NOT NULL,
  goal int2,
  parent_close int2,
  approved bool NOT NULL DEFAULT false,
  paused bool NOT NULL DEFAULT false,
  uuid uuid NOT NULL,
  id text COLLATE "C" NOT NULL,
  kind text COLLATE "C" NOT NULL,
  definition text COLLATE "C",
  parent_command text COLLATE "C",
  waiting_for text COLLATE "C",
  PRIMARY KEY(ns, key)
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.05);
CREATE UNIQUE INDEX pawl_run_id ON {schema}.pawl_run(ns, id, number);
CREATE INDEX pawl_run_created ON {schema}.pawl_run(ns, created, key);
CREATE INDEX pawl_run_wake ON {schema}.pawl_run(ns, kind, wake, key) WHERE wake IS NOT NULL;
CREATE INDEX pawl_run_owner ON {schema}.pawl_run(ns, owner) WHERE owner IS NOT NULL;
CREATE INDEX pawl_run_parent ON {schema}.pawl_run(ns, parent, status) WHERE parent IS NOT NULL;
CREATE INDEX pawl_run_blocked ON {schema}.pawl_run(ns, kind, key) WHERE status = 8;
CREATE INDEX pawl_run_kind ON {schema}.pawl_run(ns, kind, status, created, key);
CREATE INDEX pawl_run_closed ON {schema}.pawl_run(ns, status, changed, key)
  WHERE status BETWEEN 4 AND 7;
CREATE INDEX pawl_run_paused ON {schema}.pawl_run(ns, created, key) WHERE paused;

CREATE TABLE {schema}.pawl_input(
  ns int8 NOT NULL,
  run int8 NOT NULL,
  input bytea NOT NULL,
  PRIMARY KEY(ns, run)
);
CREATE TABLE {schema}.pawl_reason(
  ns int8 NOT NULL,
  run int8 NOT NULL,
  reason bytea NOT NULL,
  blocked_by text COLLATE "C",
  needs text COLLATE "C",
  PRIMARY KEY(ns, run)
);
CREATE INDEX pawl_reason_needs ON {schema}.pawl_reason(ns, needs, run) WHERE needs IS NOT NULL;
CREATE TABLE {schema}.pawl_tag(
  ns int8 NOT NULL,
  run int8 NOT NULL,
  name text COLLATE "C" NOT NULL,
  value text COLLATE "C" NOT NULL,
  created int8 NOT NULL,
  PRIMARY KEY(ns, run, name, value)
);
CREATE INDEX pawl_tag_value ON {schema}.pawl_tag(ns, name, value, created, run);

CREATE TABLE {schema}.pawl_log(
  ns int8 NOT NULL,
  run int8 NOT NULL,
  seq int8 NOT NULL,
  time int8 NOT NULL,
  number int8,
  digest int8,
  version int8 NOT NULL,
  checked int8,
  kind int2 NOT NULL,
  removed int2,
  location text COLLATE "C",
  id text COLLATE "C",
  name text COLLATE "C",
  child_kind text COLLATE "C",
  step_key text COLLATE "C",
  source text COLLATE "C",
  extra bytea,
  checkpoint bytea,
  payload bytea,
  PRIMARY KEY(ns, run, seq)
);
CREATE INDEX pawl_log_state ON {schema}.pawl_log(ns, name, run, seq) WHERE kind BETWEEN 8 AND 9;

CREATE TABLE {schema}.pawl_forgotten(
  LIKE {schema}.pawl_log,
  loop text COLLATE "C" NOT NULL,
  iteration int8 NOT NULL,
  PRIMARY KEY(ns, run, seq)
);
CREATE INDEX pawl_forgotten_loop ON {schema}.pawl_forgotten(ns, run, loop, iteration);
CREATE INDEX pawl_forgotten_state ON {schema}.pawl_forgotten(ns, name, run, seq)
  WHERE kind BETWEEN 8 AND 9;

CREATE TABLE {schema}.pawl_kept_state(
  ns int8 NOT NULL,
  run int8 NOT NULL,
  seq int8 NOT NULL,
  name text COLLATE "C" NOT NULL,
  value bytea,
  PRIMARY KEY(ns, run, seq, name)
);
CREATE INDEX pawl_kept_state_name ON {schema}.pawl_kept_state(ns, name, run, seq);

CREATE TABLE {schema}.pawl_inbox(
  ns int8 NOT NULL,
  run int8 NOT NULL,
  key int8 NOT NULL,
  due int8 NOT NULL,
  number int8,
  news int8,
  kind int2 NOT NULL,
  kept bool NOT NULL,
  id text COLLATE "C",
  location text COLLATE "C",
  name text COLLATE "C",
  extra bytea,
  payload bytea,
  PRIMARY KEY(ns, run, key)
) WITH (autovacuum_vacuum_scale_factor = 0.05);
CREATE INDEX pawl_inbox_due ON {schema}.pawl_inbox(ns, run, due) WHERE NOT kept;
CREATE INDEX pawl_inbox_news ON {schema}.pawl_inbox(ns, news) WHERE news IS NOT NULL;

CREATE TABLE {schema}.pawl_task(
  ns int8 NOT NULL,
  key int8 NOT NULL,
  run int8 NOT NULL,
  owner int8,
  due int8,
  deadline int8,
  wait_ms int8,
  attempt_ms int8,
  heartbeat_ms int8,
  created int8 NOT NULL,
  started int8,
  attempt int8 NOT NULL,
  priority int4 NOT NULL,
  state int2 NOT NULL,
  cancelled bool NOT NULL DEFAULT false,
  id text COLLATE "C" NOT NULL,
  queue text COLLATE "C" NOT NULL,
  type text COLLATE "C" NOT NULL,
  options bytea,
  last_error bytea,
  details bytea,
  input bytea,
  PRIMARY KEY(ns, key)
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.05);
CREATE UNIQUE INDEX pawl_task_id ON {schema}.pawl_task(ns, run, id);
CREATE INDEX pawl_task_ready ON {schema}.pawl_task(ns, queue, type, priority DESC, key)
  WHERE state = 0;
CREATE INDEX pawl_task_delayed ON {schema}.pawl_task(ns, queue, type, due) WHERE state = 1;
CREATE INDEX pawl_task_due ON {schema}.pawl_task(ns, due, key) WHERE due IS NOT NULL;
CREATE INDEX pawl_task_owner ON {schema}.pawl_task(ns, owner) WHERE owner IS NOT NULL;

CREATE TABLE {schema}.pawl_promise(
  ns int8 NOT NULL,
  run int8 NOT NULL,
  name text COLLATE "C" NOT NULL,
  resolved bool NOT NULL,
  PRIMARY KEY(ns, run, name)
);
CREATE TABLE {schema}.pawl_dedupe(
  ns int8 NOT NULL,
  chain int8 NOT NULL,
  id text COLLATE "C" NOT NULL,
  PRIMARY KEY(ns, chain, id)
);
CREATE TABLE {schema}.pawl_compensation(
  ns int8 NOT NULL,
  run int8 NOT NULL,
  position int8 NOT NULL,
  attempt int8 NOT NULL,
  due int8 NOT NULL,
  state int2 NOT NULL,
  name text COLLATE "C" NOT NULL,
  outcome bytea,
  input bytea,
  PRIMARY KEY(ns, run, position)
);

CREATE TABLE {schema}.pawl_worker(
  ns int8 NOT NULL,
  key int8 NOT NULL,
  expires int8,
  name text COLLATE "C" NOT NULL,
  serves text,
  PRIMARY KEY(ns, key)
);
)sql";

// Teaches the planner what the tables will look like, before there is anything in them: that few
// rows have one key and one run, and many have one namespace or worker. Without it, until the
// server has looked at the tables by itself, it takes any index that begins with the namespace for
// as good as any other.
constexpr std::string_view kTeach = R"sql(
INSERT INTO {schema}.pawl_run(ns, key, owner, epoch, wake, created, changed, parent, number, status,
  paused, uuid, id, kind)
SELECT g % 4, g, CASE g % 4 WHEN 0 THEN g % 20 END, 1, CASE g % 4 WHEN 1 THEN g END, g, g,
  CASE g % 5 WHEN 0 THEN g / 10 END, 1, (ARRAY[1, 2, 2, 4, 4, 4, 5, 8])[g % 8 + 1], g % 50 = 0,
  md5(g::text)::uuid, 'run-' || g, 'kind-' || g % 10
FROM generate_series(1, 400) AS g;
INSERT INTO {schema}.pawl_input SELECT g % 4, g, '1' FROM generate_series(1, 400) AS g;
INSERT INTO {schema}.pawl_reason(ns, run, reason, blocked_by, needs)
SELECT g % 4, g, 'x', 'y', CASE g % 4 WHEN 0 THEN 'activity-' || g % 10 END
FROM generate_series(1, 400) AS g;
INSERT INTO {schema}.pawl_tag
SELECT g % 4, g, 'name-' || g % 5, 'value-' || g % 100, g FROM generate_series(1, 400) AS g;
INSERT INTO {schema}.pawl_log(ns, run, seq, time, version, kind, name)
SELECT g / 10 % 4, g / 10, g % 10, g, 1, g % 20, 'name-' || g % 20
FROM generate_series(1, 800) AS g;
INSERT INTO {schema}.pawl_forgotten(ns, run, seq, time, version, kind, name, loop, iteration)
SELECT g / 10 % 4, g / 10, g % 10, g, 1, g % 20, 'name-' || g % 20, '{1}', g % 10
FROM generate_series(1, 800) AS g;
INSERT INTO {schema}.pawl_kept_state
SELECT g / 10 % 4, g / 10, g % 10, 'name-' || g % 20, '1' FROM generate_series(1, 400) AS g;
INSERT INTO {schema}.pawl_inbox(ns, run, key, due, news, kind, kept)
SELECT g / 2 % 4, g / 2, g, g, CASE g % 20 WHEN 0 THEN g % 20 END, g % 10, g % 10 = 0
FROM generate_series(1, 400) AS g;
INSERT INTO {schema}.pawl_task(ns, key, run, owner, due, created, attempt, priority, state, id, queue,
  type)
SELECT g / 2 % 4, g, g / 2, CASE g % 3 WHEN 2 THEN g % 20 END, g, g, 0, 0, g % 3, 'task-' || g,
  'queue-' || g % 5, 'type-' || g % 20
FROM generate_series(1, 400) AS g;
INSERT INTO {schema}.pawl_promise
SELECT g / 2 % 4, g / 2, 'name-' || g, false FROM generate_series(1, 400) AS g;
INSERT INTO {schema}.pawl_dedupe
SELECT g / 2 % 4, g / 2, 'id-' || g FROM generate_series(1, 400) AS g;
INSERT INTO {schema}.pawl_compensation(ns, run, position, attempt, due, state, name)
SELECT g / 2 % 4, g / 2, g % 2, 0, g, 0, 'undo' FROM generate_series(1, 400) AS g;
INSERT INTO {schema}.pawl_worker(ns, key, expires, name)
SELECT g % 4, g, g, 'worker-' || g FROM generate_series(1, 20) AS g;
ANALYZE {schema}.pawl_run, {schema}.pawl_input, {schema}.pawl_reason, {schema}.pawl_tag,
  {schema}.pawl_log, {schema}.pawl_forgotten, {schema}.pawl_kept_state, {schema}.pawl_inbox,
  {schema}.pawl_task, {schema}.pawl_promise, {schema}.pawl_dedupe, {schema}.pawl_compensation,
  {schema}.pawl_worker;
TRUNCATE {schema}.pawl_run, {schema}.pawl_input, {schema}.pawl_reason, {schema}.pawl_tag,
  {schema}.pawl_log, {schema}.pawl_forgotten, {schema}.pawl_kept_state, {schema}.pawl_inbox,
  {schema}.pawl_task, {schema}.pawl_promise, {schema}.pawl_dedupe, {schema}.pawl_compensation,
  {schema}.pawl_worker;
)sql";

// Why nobody may work on a namespace, see seal.h.
constexpr std::string_view kSeal = R"sql(
ALTER TABLE {schema}.pawl_namespace ADD seal text COLLATE "C";
)sql";

constexpr std::array<std::string_view, 3> kSteps = {kStep1, kViews, kSeal};

// 0: there is none.
constexpr Statement kFindVersion{
    "find_version",
    "SELECT CASE WHEN to_regclass('{schema}.pawl_schema') IS NULL THEN 0 ELSE 1 END"};

Result<std::int64_t> read_version(Connection& connection) {
  Batch look(connection, Effect::kReads);
  const Call& is_there = look.add(kFindVersion);
  PAWL_TRY(look.run());
  if (is_there.rows().empty() || is_there.rows()[0].as_integer(0) == 0) {
    return 0;
  }
  return connection.query_integer("SELECT max(version)::int8 FROM {schema}.pawl_schema");
}

Error newer(const Connection& connection, std::int64_t version, std::int64_t known) {
  return make_error(ErrorCode::kStoreUnusable, "the schema '" + connection.options().schema +
                                                   "' of the database at '" + connection.place() +
                                                   "' has version " + std::to_string(version) +
                                                   ", and this library knows versions up to " +
                                                   std::to_string(known) + "; use a newer Pawl");
}

Error older(const Connection& connection, std::int64_t version, const Error& why) {
  return make_error(ErrorCode::kStoreUnusable,
                    "the schema '" + connection.options().schema + "' of the database at '" +
                        connection.place() + "' has the older version " + std::to_string(version) +
                        ", which could not be brought up to date; start a program as the role that "
                        "owns the tables first (" +
                        why.message + ")");
}

// All steps in one transaction, under a lock that whoever else migrates waits for.
std::string script(std::span<const std::string_view> steps, std::int64_t from) {
  std::string sql;
  if (from == 0) {
    sql +=
        "CREATE TABLE {schema}.pawl_schema(version int8 PRIMARY KEY, applied timestamptz NOT NULL "
        "DEFAULT now());\n";
  }
  for (auto step = static_cast<std::size_t>(from); step < steps.size(); ++step) {
    sql += steps[step];
    sql += "INSERT INTO {schema}.pawl_schema(version) VALUES(" + std::to_string(step + 1) + ");\n";
  }
  if (from == 0) {
    sql += kTeach;
  }
  return sql;
}

Result<void> migrate_locked(Connection& connection, std::span<const std::string_view> steps) {
  // Two at once would both not see the schema, and one of them fail.
  PAWL_TRY(connection.execute("SELECT pg_advisory_xact_lock(7311865132241)", Effect::kReads));
  // It needs a right on the database, even if there is nothing to do.
  PAWL_TRY_ASSIGN(const std::int64_t is_there,
                  connection.query_integer(
                      "SELECT CASE WHEN to_regnamespace('{schema}') IS NULL THEN 0 ELSE 1 END"));
  if (is_there == 0) {
    PAWL_TRY(connection.execute("CREATE SCHEMA {schema}"));
  }
  PAWL_TRY_ASSIGN(const std::int64_t version, read_version(connection));
  const auto latest = static_cast<std::int64_t>(steps.size());
  if (version > latest) {
    return newer(connection, version, latest);
  }
  return version == latest ? Result<void>() : connection.execute(script(steps, version));
}

constexpr Statement kAddNamespace{
    "add_namespace", "INSERT INTO {schema}.pawl_namespace(name) VALUES($1) ON CONFLICT DO NOTHING"};
constexpr Statement kFindNamespace{"find_namespace",
                                   "SELECT key FROM {schema}.pawl_namespace WHERE name = $1"};

}  // namespace

std::int64_t schema_version() { return static_cast<std::int64_t>(kSteps.size()); }

std::span<const std::string_view> schema_steps() { return kSteps; }

Result<void> migrate(Connection& connection) { return migrate(connection, kSteps); }

Result<void> migrate(Connection& connection, std::span<const std::string_view> steps) {
  const auto latest = static_cast<std::int64_t>(steps.size());
  PAWL_TRY_ASSIGN(const std::int64_t version, read_version(connection));
  if (version > latest) {
    return newer(connection, version, latest);
  }
  if (version == latest) {
    return {};
  }
  Batch begin(connection);
  begin.begin();
  PAWL_TRY(begin.run());
  const Result<void> done = migrate_locked(connection, steps);
  if (!done.has_value()) {
    connection.rollback();
    return version > 0 && done.error().code == ErrorCode::kStoreUnusable
               ? older(connection, version, done.error())
               : done;
  }
  Batch commit(connection);
  commit.commit();
  return commit.run();
}

Result<void> check_schema(Connection& connection) {
  PAWL_TRY_ASSIGN(const std::int64_t version, read_version(connection));
  if (version > schema_version()) {
    return newer(connection, version, schema_version());
  }
  if (version < schema_version()) {
    return make_error(
        ErrorCode::kStoreUnusable,
        "the database at '" + connection.place() + "' " +
            (version == 0 ? "has no schema '" + connection.options().schema + "' of Pawl"
                          : "has an older schema of Pawl") +
            "; a program that may change it makes it when it opens the store");
  }
  return {};
}

namespace {

Result<std::optional<std::int64_t>> look_for_namespace(Connection& connection,
                                                       std::string_view name) {
  Batch look(connection, Effect::kReads);
  const Call& found = look.add(kFindNamespace).text(name);
  PAWL_TRY(look.run());
  return found.rows().empty() ? std::optional<std::int64_t>() : found.rows()[0].as_integer(0);
}

}  // namespace

Result<std::int64_t> find_namespace(Connection& connection, std::string_view name) {
  PAWL_TRY_ASSIGN(const std::optional<std::int64_t> found, look_for_namespace(connection, name));
  if (!found.has_value()) {
    return make_error(ErrorCode::kStoreUnusable, "the database at '" + connection.place() +
                                                     "' has no namespace '" + std::string(name) +
                                                     "'; a program that opens it there makes it");
  }
  return *found;
}

Result<std::int64_t> find_or_add_namespace(Connection& connection, std::string_view name) {
  PAWL_TRY_ASSIGN(const std::optional<std::int64_t> found, look_for_namespace(connection, name));
  if (found.has_value()) {
    return *found;
  }
  Batch add(connection);
  add.add(kAddNamespace).text(name);
  const Call& key = add.add(kFindNamespace).text(name);
  PAWL_TRY(add.run());
  return key.rows()[0].as_integer(0);
}

}  // namespace pawl::store::pg

#include "store/postgres/postgres_catalog.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "store/postgres/batch.h"
#include "store/postgres/connection_impl.h"
#include "store/postgres/image_rows.h"
#include "store/postgres/postgres_database.h"
#include "store/postgres/records.h"
#include "store/postgres/run_walk.h"
#include "store/postgres/text.h"

namespace pawl::store::pg {

namespace {

// A filter may lead to one run or to a million: each is planned for itself.
constexpr Statement kPlanEach{"plan_each",
                              "SELECT set_config('plan_cache_mode', 'force_custom_plan', true), "
                              "set_config('enable_seqscan', 'on', true), "
                              "set_config('enable_bitmapscan', 'on', true)"};
// What is wanted is found by keys, whatever the server believes about the tables: planned once.
// Whoever visits runs may do other things meanwhile, e.g. write them elsewhere.
constexpr Statement kUseIndexes{
    "use_indexes",
    "SELECT set_config('plan_cache_mode', 'force_generic_plan', true), "
    "set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'off', true), "
    "set_config('jit', 'off', true), set_config('idle_in_transaction_session_timeout', '10min', "
    "true)"};
constexpr Statement kBeginSnapshot{"begin_catalog",
                                   "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"};

// Every parameter is there in each of them, so that the server sees a handful of texts, however
// filters are put together; conditions that are not wanted are left out of the text.
struct Condition {
  std::string sql;
  Int8Array statuses;
  TextArray kinds;
  TextArray tag_names;
  TextArray tag_values;
};

// $1 namespace, $2 kinds, $3 statuses, $4 and $5 tags, $6 and $7 created, $8 and $9 changed,
// $10 parent.
Condition condition_of(const RunFilter& filter) {
  Condition condition;
  std::string& sql = condition.sql;
  sql =
      "r.ns = $1 AND cardinality($2::text[]) >= 0 AND cardinality($3::int8[]) >= 0 AND "
      "cardinality($4::text[]) = cardinality($5::text[]) AND $6::int8 IS NOT NULL AND $7::int8 "
      "IS NOT NULL AND $8::int8 IS NOT NULL AND $9::int8 IS NOT NULL AND $10::int8 IS NOT NULL";
  for (const std::string& kind : filter.kinds) {
    condition.kinds.add(kind);
  }
  for (const RunStatus status : filter.statuses) {
    condition.statuses.add(static_cast<std::int64_t>(status));
  }
  for (const Tag& tag : filter.tags) {
    condition.tag_names.add(tag.name);
    condition.tag_values.add(tag.value);
  }
  if (!filter.kinds.empty()) {
    sql += " AND r.kind = ANY($2::text[])";
  }
  if (!filter.statuses.empty()) {
    sql += " AND r.status = ANY($3::int8[]::int2[])";
  }
  for (std::size_t i = 1; i <= filter.tags.size(); ++i) {
    const std::string n = std::to_string(i);
    sql +=
        " AND EXISTS(SELECT 1 FROM {schema}.pawl_tag AS t WHERE t.ns = $1 AND t.run = r.key AND "
        "t.name = ($4::text[])[" +
        n + "] AND t.value = ($5::text[])[" + n + "])";
  }
  if (filter.created_from_ms > 0) {
    sql += " AND r.created >= $6::int8";
  }
  if (filter.created_to_ms != kNever) {
    sql += " AND r.created < $7::int8";
  }
  if (filter.changed_from_ms > 0) {
    sql += " AND r.changed >= $8::int8";
  }
  if (filter.changed_to_ms != kNever) {
    sql += " AND r.changed < $9::int8";
  }
  if (filter.is_paused.has_value()) {
    sql += *filter.is_paused ? " AND r.paused" : " AND NOT r.paused";
  }
  if (filter.parent != 0) {
    sql += " AND r.parent = $10::int8";
  }
  return condition;
}

Call& bind(Call& call, std::int64_t ns, const Condition& condition, const RunFilter& filter) {
  return call.integer(ns)
      .array(condition.kinds)
      .array(condition.statuses)
      .array(condition.tag_names)
      .array(condition.tag_values)
      .integer(filter.created_from_ms)
      .integer(filter.created_to_ms)
      .integer(filter.changed_from_ms)
      .integer(filter.changed_to_ms)
      .integer(filter.parent);
}

std::int64_t as_limit(std::size_t limit) {
  constexpr std::size_t kMax = std::numeric_limits<std::int32_t>::max();
  return static_cast<std::int64_t>(std::min(limit, kMax));
}

constexpr Statement kFindIds{
    "find_ids",
    "SELECT DISTINCT id FROM {schema}.pawl_run WHERE ns = $1 AND id >= $2 AND starts_with(id, $2) "
    "AND id > $3 AND ($4::text IS NULL OR id < $4::text) ORDER BY id LIMIT $5::int8"};
constexpr Statement kFindClosed{
    "find_closed",
    "SELECT changed, key FROM {schema}.pawl_run WHERE ns = $1 AND status = $2::int8::int2 AND "
    "status "
    "BETWEEN 4 AND 7 AND changed < $3 AND (changed, key) > ($4::int8, $5::int8) ORDER BY changed, "
    "key LIMIT $6::int8"};
constexpr Statement kListTasks{
    "list_tasks",
    "SELECT " PAWL_PG_TASK_COLUMNS
    " FROM {schema}.pawl_task AS t JOIN {schema}.pawl_run AS r ON r.ns = t.ns AND r.key = t.run "
    "WHERE t.ns = $1 AND t.key > $2 AND ($3::text IS NULL OR t.queue = $3) AND ($4::text IS NULL "
    "OR "
    "t.type = $4) AND ($5::int8 < 0 OR t.state = $5::int8) ORDER BY t.key LIMIT $6::int8"};
constexpr Statement kListWorkers{
    "list_workers",
    "SELECT key, name, expires, serves, (SELECT count(*) FROM {schema}.pawl_run AS r WHERE r.ns = "
    "$1 AND r.owner = w.key), (SELECT count(*) FROM {schema}.pawl_task AS t WHERE t.ns = $1 AND "
    "t.owner = w.key) FROM {schema}.pawl_worker AS w WHERE ns = $1 ORDER BY key"};
constexpr Statement kCountRuns{"count_by_kind",
                               "SELECT kind, status, count(*) FROM {schema}.pawl_run WHERE ns = $1 "
                               "GROUP BY kind, status ORDER "
                               "BY kind, status"};
constexpr Statement kCountTasks{
    "count_tasks",
    "SELECT queue, type, state, count(*), min(created) FROM {schema}.pawl_task WHERE ns = $1 GROUP "
    "BY queue, type, state ORDER BY queue, type, state"};
constexpr Statement kCountPaused{"count_paused",
                                 "SELECT count(*) FROM {schema}.pawl_run WHERE ns = $1 AND paused"};
constexpr Statement kWakes{
    "wakes",
    "SELECT count(*) FILTER (WHERE wake <= $2), min(wake) FROM {schema}.pawl_run WHERE ns = $1 AND "
    "wake IS NOT NULL"};
constexpr Statement kBytes{
    "bytes",
    "SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0)::int8 FROM pg_class AS c WHERE "
    "c.relnamespace = (SELECT relnamespace FROM pg_class WHERE oid = "
    "'{schema}.pawl_schema'::regclass) AND c.relkind = 'r' AND starts_with(c.relname, 'pawl_')"};

constexpr Statement kListNamespaces{
    "list_namespaces", "SELECT name FROM {schema}.pawl_namespace ORDER BY key <> $1::int8, name"};
constexpr Statement kHasRun{"has_run",
                            "SELECT 1 FROM {schema}.pawl_run WHERE ns = $1 AND uuid = $2 LIMIT 1"};
constexpr Statement kFindByKeys{
    "find_by_keys",
    "SELECT " PAWL_PG_RUN_COLUMNS("r.") ", w.place FROM unnest($2::int8[]) WITH ORDINALITY AS "
    "w(key, place) JOIN {schema}.pawl_run AS r ON r.ns = $1 AND r.key = w.key"};
constexpr Statement kFindByNames{
    "find_by_names",
    "SELECT " PAWL_PG_RUN_COLUMNS("r.") ", w.place FROM unnest($2::text[], $3::int8[]) WITH "
    "ORDINALITY AS w(id, number, place) JOIN {schema}.pawl_run AS r ON r.ns = $1 AND r.id = w.id "
    "AND r.number = w.number::int4"};
constexpr int kPlaceColumn = 20;  // Behind those of a run.

Catalog::FoundRuns read_found(const Call& call, std::size_t count) {
  Catalog::FoundRuns found(count);
  for (const Row row : call.rows()) {
    found[static_cast<std::size_t>(row.as_integer(kPlaceColumn)) - 1] = read_run(row).row;
  }
  return found;
}

}  // namespace

PostgresCatalog::PostgresCatalog(const PostgresOptions& options, std::int64_t ns)
    : options_(options), ns_(ns) {}

PostgresCatalog::~PostgresCatalog() = default;

template <class T>
Result<T> PostgresCatalog::ask(const std::function<Result<T>(Connection&)>& what) {
  return ask<T>(kPlanEach, what);
}

template <class T>
Result<T> PostgresCatalog::ask(const Statement& settings,
                               const std::function<Result<T>(Connection&)>& what) {
  const std::scoped_lock lock(mutex_);
  if (connection_ == nullptr) {
    PAWL_TRY_ASSIGN(connection_, Connection::open(options_));
  }
  PAWL_TRY(connection_->ensure());
  Batch begin(*connection_, Effect::kReads);
  begin.add(kBeginSnapshot);
  begin.add(settings);
  PAWL_TRY(begin.run());
  Result<T> answer = what(*connection_);
  connection_->rollback();
  return answer;
}

Result<RunPage> PostgresCatalog::list_runs(const RunFilter& filter, const RunCursor& after,
                                           std::size_t limit) {
  return ask<RunPage>([&](Connection& connection) -> Result<RunPage> {
    const Condition condition = condition_of(filter);
    const std::string sql =
        "SELECT " PAWL_PG_RUN_COLUMNS("r.") " FROM {schema}.pawl_run AS r WHERE " + condition.sql +
        " AND (r.created, r.key) < ($11::int8, $12::int8) ORDER BY r.created "
        "DESC, r.key DESC LIMIT $13::int8";
    Batch batch(connection, Effect::kReads);
    const Call& call = bind(batch.add({"", sql}), ns_, condition, filter)
                           .integer(after.created_ms)
                           .integer(after.key)
                           .integer(as_limit(limit) + 1);
    PAWL_TRY(batch.run());
    RunPage page;
    for (const Row row : call.rows()) {
      page.rows.push_back(read_run(row).row);
    }
    if (page.rows.size() > limit) {
      page.rows.pop_back();
      page.next =
          page.rows.empty() ? after : RunCursor{page.rows.back().created_ms, page.rows.back().key};
    }
    return page;
  });
}

Result<std::int64_t> PostgresCatalog::count_runs(const RunFilter& filter) {
  return ask<std::int64_t>([&](Connection& connection) -> Result<std::int64_t> {
    const Condition condition = condition_of(filter);
    const std::string sql = "SELECT count(*) FROM {schema}.pawl_run AS r WHERE " + condition.sql;
    Batch batch(connection, Effect::kReads);
    const Call& call = bind(batch.add({"", sql}), ns_, condition, filter);
    PAWL_TRY(batch.run());
    return call.rows()[0].as_integer(0);
  });
}

Result<std::vector<std::string>> PostgresCatalog::find_ids(std::string_view prefix,
                                                           std::string_view after,
                                                           std::size_t limit) {
  return ask<std::vector<std::string>>(
      [&](Connection& connection) -> Result<std::vector<std::string>> {
        // The first text behind all that begin with the prefix, so that the index ends there. There
        // is none if nothing but the greatest bytes is in it; in UTF-8 no text has those.
        std::string end = to_text(prefix);
        while (!end.empty() && static_cast<unsigned char>(end.back()) >= 0x7f) {
          end.pop_back();
        }
        if (!end.empty()) {
          end.back() = static_cast<char>(end.back() + 1);
        }
        Batch batch(connection, Effect::kReads);
        const Call& call =
            batch.add(kFindIds).integer(ns_).text(prefix).text(after).text_or_null(end).integer(
                as_limit(limit));
        PAWL_TRY(batch.run());
        std::vector<std::string> ids;
        for (const Row row : call.rows()) {
          ids.push_back(row.as_string(0));
        }
        return ids;
      });
}

Result<std::vector<ClosedRun>> PostgresCatalog::find_closed(RunStatus status,
                                                            std::int64_t before_ms,
                                                            const ClosedRun& after,
                                                            std::size_t limit) {
  return ask<std::vector<ClosedRun>>([&](Connection& connection) -> Result<std::vector<ClosedRun>> {
    Batch batch(connection, Effect::kReads);
    const Call& call = batch.add(kFindClosed)
                           .integer(ns_)
                           .integer(static_cast<std::int64_t>(status))
                           .integer(before_ms)
                           .integer(after.changed_ms)
                           .integer(after.key)
                           .integer(as_limit(limit));
    PAWL_TRY(batch.run());
    std::vector<ClosedRun> closed;
    for (const Row row : call.rows()) {
      closed.push_back({row.as_integer(0), row.as_integer(1)});
    }
    return closed;
  });
}

Result<bool> PostgresCatalog::has_run(const Uuid& run_id) {
  return ask<bool>([&](Connection& connection) -> Result<bool> {
    Batch batch(connection, Effect::kReads);
    const Call& call = batch.add(kHasRun).integer(ns_).uuid(run_id);
    PAWL_TRY(batch.run());
    return !call.rows().empty();
  });
}

Result<RunImage> PostgresCatalog::read_image(RunKey run) {
  return ask<RunImage>(kUseIndexes, [&](Connection& connection) -> Result<RunImage> {
    ImageRows images(connection, ns_, range_of(run));
    PAWL_TRY(images.read());
    VisitedRun found;
    if (!images.next(found)) {
      return make_error(ErrorCode::kNotFound, "there is no run " + std::to_string(run));
    }
    return std::move(found.image);
  });
}

Result<Catalog::FoundRuns> PostgresCatalog::find_runs(std::span<const RunKey> runs) {
  return ask<FoundRuns>(kUseIndexes, [&](Connection& connection) -> Result<FoundRuns> {
    Int8Array keys;
    for (const RunKey run : runs) {
      keys.add(run);
    }
    Batch batch(connection, Effect::kReads);
    const Call& call = batch.add(kFindByKeys).integer(ns_).array(keys);
    PAWL_TRY(batch.run());
    return read_found(call, runs.size());
  });
}

Result<Catalog::FoundRuns> PostgresCatalog::find_runs(std::span<const RunName> runs) {
  return ask<FoundRuns>(kUseIndexes, [&](Connection& connection) -> Result<FoundRuns> {
    TextArray ids;
    Int8Array numbers;
    for (const RunName& run : runs) {
      ids.add(run.id);
      numbers.add(run.number);
    }
    Batch batch(connection, Effect::kReads);
    const Call& call = batch.add(kFindByNames).integer(ns_).array(ids).array(numbers);
    PAWL_TRY(batch.run());
    return read_found(call, runs.size());
  });
}

Result<RunKey> PostgresCatalog::visit_runs(const KeyRange& range, RunVisitor& visitor) {
  return ask<RunKey>(kUseIndexes, [&](Connection& connection) {
    return walk_runs(connection, ns_, range, visitor);
  });
}

Result<std::vector<std::string>> PostgresCatalog::list_namespaces() {
  return ask<std::vector<std::string>>(
      [&](Connection& connection) -> Result<std::vector<std::string>> {
        Batch batch(connection, Effect::kReads);
        const Call& call = batch.add(kListNamespaces).integer(ns_);
        PAWL_TRY(batch.run());
        std::vector<std::string> names;
        for (const Row row : call.rows()) {
          names.push_back(row.as_string(0));
        }
        return names;
      });
}

Result<std::vector<TaskRow>> PostgresCatalog::list_tasks(const TaskFilter& filter, TaskKey after,
                                                         std::size_t limit) {
  return ask<std::vector<TaskRow>>([&](Connection& connection) -> Result<std::vector<TaskRow>> {
    Batch batch(connection, Effect::kReads);
    const Call& call =
        batch.add(kListTasks)
            .integer(ns_)
            .integer(after)
            .text_or_null(filter.queue)
            .text_or_null(filter.type)
            .integer(filter.state.has_value() ? static_cast<std::int64_t>(*filter.state) : -1)
            .integer(as_limit(limit));
    PAWL_TRY(batch.run());
    std::vector<TaskRow> tasks;
    for (const Row row : call.rows()) {
      tasks.push_back(read_task(row));
    }
    return tasks;
  });
}

Result<std::vector<WorkerRow>> PostgresCatalog::list_workers() {
  return ask<std::vector<WorkerRow>>([&](Connection& connection) -> Result<std::vector<WorkerRow>> {
    Batch batch(connection, Effect::kReads);
    const Call& call = batch.add(kListWorkers).integer(ns_);
    PAWL_TRY(batch.run());
    std::vector<WorkerRow> rows;
    for (const Row row : call.rows()) {
      rows.push_back({row.as_integer(0), row.as_string(1), row.as_moment(2), row.as_string(3),
                      row.as_integer(4), row.as_integer(5)});
    }
    return rows;
  });
}

Result<StoreFigures> PostgresCatalog::read_figures(std::int64_t now_ms) {
  return ask<StoreFigures>([&](Connection& connection) -> Result<StoreFigures> {
    Batch batch(connection, Effect::kReads);
    const Call& runs = batch.add(kCountRuns).integer(ns_);
    const Call& tasks = batch.add(kCountTasks).integer(ns_);
    const Call& paused = batch.add(kCountPaused).integer(ns_);
    const Call& wakes = batch.add(kWakes).integer(ns_).integer(now_ms);
    const Call& bytes = batch.add(kBytes);
    PAWL_TRY(batch.run());
    StoreFigures figures;
    for (const Row row : runs.rows()) {
      figures.runs.push_back(
          {row.as_string(0), static_cast<RunStatus>(row.as_integer(1)), row.as_integer(2)});
    }
    for (const Row row : tasks.rows()) {
      figures.tasks.push_back({row.as_string(0), row.as_string(1),
                               static_cast<TaskState>(row.as_integer(2)), row.as_integer(3),
                               row.as_integer(4)});
    }
    figures.paused = paused.rows()[0].as_integer(0);
    figures.overdue = wakes.rows()[0].as_integer(0);
    figures.next_wake_ms = wakes.rows()[0].as_moment(1);
    figures.bytes = bytes.rows()[0].as_integer(0);
    return figures;
  });
}

Result<Database::Rows> PostgresCatalog::query(std::string sql) {
  replace_all(sql, "{schema}", '"' + options_.schema + "\".");
  replace_all(sql, "{ns}", std::to_string(ns_));
  replace_all(sql, "{paused}", "r.paused");
  replace_all(sql, "{by_key}", "");
  return ask<Database::Rows>([&](Connection& connection) {
    return PostgresDatabase(connection.impl().native).query(sql, {});
  });
}

// The server checks what it reads; what else there is to check, extensions of it do.
Result<std::vector<std::string>> PostgresCatalog::check_medium() {
  return std::vector<std::string>();
}

}  // namespace pawl::store::pg

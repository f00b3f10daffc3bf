#include "store/sqlite/sqlite_catalog.h"

#include <utility>

namespace pawl::store {

struct SqliteCatalog::Tables {
  Tables(std::unique_ptr<Connection> opened, std::int64_t ns)
      : connection(std::move(opened)),
        search(*connection, ns),
        runs(*connection, ns),
        inbox(*connection, ns),
        tasks(*connection, ns),
        promises(*connection, ns),
        dedupe(*connection, ns),
        compensations(*connection, ns),
        begin(*connection, "BEGIN"),
        end(*connection, "ROLLBACK"),
        by_uuid(*connection, "SELECT 1 FROM pawl_run WHERE ns = ? AND uuid = ? LIMIT 1"),
        workers(*connection,
                "SELECT key, name, expires, serves, (SELECT count(*) FROM pawl_run WHERE owner = "
                "w.key), (SELECT count(*) FROM pawl_task WHERE owner = w.key) FROM pawl_worker AS "
                "w WHERE ns = ? ORDER BY key"),
        run_counts(*connection,
                   "SELECT kind, status, count(*) FROM pawl_run INDEXED BY pawl_run_kind WHERE ns "
                   "= ? GROUP BY kind, status ORDER BY kind, status"),
        task_counts(*connection,
                    "SELECT queue, type, state, count(*), min(created) FROM pawl_task WHERE ns = ? "
                    "GROUP BY queue, type, state ORDER BY queue, type, state"),
        paused_count(*connection,
                     "SELECT count(*) FROM pawl_run INDEXED BY pawl_run_paused WHERE ns = ? AND "
                     "paused IS NOT NULL"),
        wakes(*connection,
              "SELECT count(*) FILTER (WHERE wake <= ?2), min(wake) FROM pawl_run INDEXED BY "
              "pawl_run_wake WHERE ns = ?1 AND wake IS NOT NULL") {}

  std::unique_ptr<Connection> connection;
  RunSearch search;
  RunTable runs;
  InboxTable inbox;
  TaskTable tasks;
  PromiseTable promises;
  DedupeTable dedupe;
  CompensationTable compensations;
  Statement begin;
  Statement end;
  Statement by_uuid;
  Statement workers;
  Statement run_counts;
  Statement task_counts;
  Statement paused_count;
  Statement wakes;
};

SqliteCatalog::SqliteCatalog(const OpenedFile& file, std::int64_t ns, Open open)
    : file_(file), ns_(ns), open_(std::move(open)) {}

SqliteCatalog::~SqliteCatalog() = default;

template <class T>
Result<T> SqliteCatalog::ask(const std::function<Result<T>(Tables&)>& what) {
  const std::scoped_lock lock(mutex_);
  PAWL_TRY(file_.check());
  if (tables_ == nullptr) {
    PAWL_TRY_ASSIGN(std::unique_ptr<Connection> connection, open_());
    tables_ = std::make_unique<Tables>(std::move(connection), ns_);
  }
  PAWL_TRY(Query(tables_->begin).run());
  Result<T> answer = what(*tables_);
  PAWL_TRY(Query(tables_->end).run());
  return answer;
}

Result<RunPage> SqliteCatalog::list_runs(const RunFilter& filter, const RunCursor& after,
                                         std::size_t limit) {
  return ask<RunPage>([&](Tables& tables) { return tables.search.list(filter, after, limit); });
}

Result<std::int64_t> SqliteCatalog::count_runs(const RunFilter& filter) {
  return ask<std::int64_t>([&](Tables& tables) { return tables.search.count(filter); });
}

Result<std::vector<std::string>> SqliteCatalog::find_ids(std::string_view prefix,
                                                         std::string_view after,
                                                         std::size_t limit) {
  return ask<std::vector<std::string>>(
      [&](Tables& tables) { return tables.search.find_ids(prefix, after, limit); });
}

Result<std::vector<ClosedRun>> SqliteCatalog::find_closed(RunStatus status, std::int64_t before_ms,
                                                          const ClosedRun& after,
                                                          std::size_t limit) {
  return ask<std::vector<ClosedRun>>(
      [&](Tables& tables) { return tables.search.find_closed(status, before_ms, after, limit); });
}

Result<bool> SqliteCatalog::has_run(const Uuid& uuid) {
  return ask<bool>([&](Tables& tables) -> Result<bool> {
    Query query(tables.by_uuid);
    query.integer(ns_).uuid(uuid);
    return query.step();
  });
}

Result<RunImage> SqliteCatalog::read_image(RunKey run) {
  return ask<RunImage>([&](Tables& tables) -> Result<RunImage> {
    RunImage image;
    PAWL_TRY_ASSIGN(std::optional<RunRow> row, tables.runs.find(run));
    PAWL_TRY_ASSIGN(const std::optional<RunHead> head, tables.runs.find_head(run));
    if (!row.has_value() || !head.has_value()) {
      return make_error(ErrorCode::kNotFound, "there is no run " + std::to_string(run));
    }
    image.row = *std::move(row);
    PAWL_TRY_ASSIGN(image.input, tables.runs.read_input(run));
    PAWL_TRY_ASSIGN(image.tags, tables.runs.read_tags(run));
    PAWL_TRY_ASSIGN(image.reason, tables.runs.read_reason(run));
    PAWL_TRY_ASSIGN(RunTable::Blame blame, tables.runs.read_blame(run));
    image.blocked_by = std::move(blame.blocked_by);
    image.needs = std::move(blame.needs);
    PAWL_TRY_ASSIGN(image.inbox, tables.inbox.read_stored(run));
    PAWL_TRY_ASSIGN(image.tasks, tables.tasks.read(run));
    PAWL_TRY_ASSIGN(image.promises, tables.promises.read(run));
    PAWL_TRY_ASSIGN(image.compensations, tables.compensations.read(run));
    PAWL_TRY_ASSIGN(image.dedupe, tables.dedupe.read(head->chain));
    return image;
  });
}

Result<std::vector<TaskRow>> SqliteCatalog::list_tasks(const TaskFilter& filter, TaskKey after,
                                                       std::size_t limit) {
  return ask<std::vector<TaskRow>>(
      [&](Tables& tables) { return tables.tasks.list(filter, after, limit); });
}

Result<std::vector<WorkerRow>> SqliteCatalog::list_workers() {
  return ask<std::vector<WorkerRow>>([&](Tables& tables) -> Result<std::vector<WorkerRow>> {
    std::vector<WorkerRow> rows;
    Query query(tables.workers);
    query.integer(ns_);
    while (true) {
      PAWL_TRY_ASSIGN(const bool found, query.step());
      if (!found) {
        return rows;
      }
      rows.push_back({query.as_integer(0), query.as_string(1), query.as_moment(2),
                      query.as_string(3), query.as_integer(4), query.as_integer(5)});
    }
  });
}

Result<StoreFigures> SqliteCatalog::read_figures(std::int64_t now_ms) {
  return ask<StoreFigures>([&](Tables& tables) -> Result<StoreFigures> {
    StoreFigures figures;
    Query runs(tables.run_counts);
    runs.integer(ns_);
    while (true) {
      PAWL_TRY_ASSIGN(const bool found, runs.step());
      if (!found) {
        break;
      }
      figures.runs.push_back(
          {runs.as_string(0), static_cast<RunStatus>(runs.as_integer(1)), runs.as_integer(2)});
    }
    Query tasks(tables.task_counts);
    tasks.integer(ns_);
    while (true) {
      PAWL_TRY_ASSIGN(const bool found, tasks.step());
      if (!found) {
        break;
      }
      figures.tasks.push_back({tasks.as_string(0), tasks.as_string(1),
                               static_cast<TaskState>(tasks.as_integer(2)), tasks.as_integer(3),
                               tasks.as_integer(4)});
    }
    Query paused(tables.paused_count);
    PAWL_TRY(paused.integer(ns_).step());
    figures.paused = paused.as_integer(0);
    Query wakes(tables.wakes);
    PAWL_TRY(wakes.integer(ns_).integer(now_ms).step());
    figures.overdue = wakes.as_integer(0);
    figures.next_wake_ms = wakes.as_moment(1);
    PAWL_TRY_ASSIGN(const std::int64_t pages,
                    tables.connection->query_integer("PRAGMA page_count"));
    PAWL_TRY_ASSIGN(const std::int64_t page_bytes,
                    tables.connection->query_integer("PRAGMA page_size"));
    figures.bytes = pages * page_bytes;
    return figures;
  });
}

Result<Database::Rows> SqliteCatalog::query(std::string sql) {
  replace_all(sql, "{schema}", "");
  replace_all(sql, "{ns}", std::to_string(ns_));
  replace_all(sql, "{paused}", "r.paused IS NOT NULL");
  replace_all(sql, "{by_key}", "+");  // Keeps SQLite from going through the namespace.
  return ask<Database::Rows>([&](Tables& tables) -> Result<Database::Rows> {
    Database::Rows rows;
    Statement statement(*tables.connection, sql.c_str());
    Query query(statement);
    while (true) {
      PAWL_TRY_ASSIGN(const bool found, query.step());
      if (!found) {
        return rows;
      }
      std::vector<std::string>& row = rows.emplace_back();
      for (int column = 0; column < query.column_count(); ++column) {
        row.push_back(query.as_string(column));
      }
    }
  });
}

Result<std::vector<std::string>> SqliteCatalog::check_medium() {
  PAWL_TRY_ASSIGN(const Database::Rows rows, query("PRAGMA integrity_check"));
  std::vector<std::string> sentences;
  for (const std::vector<std::string>& row : rows) {
    if (row[0] != "ok") {
      sentences.push_back(row[0]);
    }
  }
  return sentences;
}

}  // namespace pawl::store

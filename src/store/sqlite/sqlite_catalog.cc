#include "store/sqlite/sqlite_catalog.h"

#include <utility>

namespace pawl::store {

namespace {

constexpr std::size_t kVisitedRuns = 500;  // By one transaction.

}  // namespace

struct SqliteCatalog::Tables {
  Tables(std::unique_ptr<Connection> opened, std::int64_t ns)
      : connection(std::move(opened)),
        search(*connection, ns),
        runs(*connection, ns),
        log(*connection, ns),
        inbox(*connection, ns),
        tasks(*connection, ns),
        promises(*connection, ns),
        dedupe(*connection, ns),
        compensations(*connection, ns),
        begin(*connection, "BEGIN"),
        end(*connection, "ROLLBACK"),
        // The sign keeps SQLite from going through the namespace.
        keys(*connection,
             "SELECT key FROM pawl_run WHERE +ns = ? AND key > ? AND key <= ? ORDER BY key LIMIT "
             "?"),
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

  Result<RunImage> read_image(RunKey run);
  Result<void> visit(RunKey run, RunVisitor& visitor);

  std::unique_ptr<Connection> connection;
  RunSearch search;
  RunTable runs;
  LogTable log;
  InboxTable inbox;
  TaskTable tasks;
  PromiseTable promises;
  DedupeTable dedupe;
  CompensationTable compensations;
  Statement begin;
  Statement end;
  Statement keys;
  Statement by_uuid;
  Statement workers;
  Statement run_counts;
  Statement task_counts;
  Statement paused_count;
  Statement wakes;
};

Result<RunImage> SqliteCatalog::Tables::read_image(RunKey run) {
  RunImage image;
  PAWL_TRY_ASSIGN(std::optional<RunRow> row, runs.find(run));
  PAWL_TRY_ASSIGN(const std::optional<RunHead> head, runs.find_head(run));
  if (!row.has_value() || !head.has_value()) {
    return make_error(ErrorCode::kNotFound, "there is no run " + std::to_string(run));
  }
  image.row = *std::move(row);
  PAWL_TRY_ASSIGN(image.input, runs.read_input(run));
  PAWL_TRY_ASSIGN(image.tags, runs.read_tags(run));
  PAWL_TRY_ASSIGN(image.reason, runs.read_reason(run));
  PAWL_TRY_ASSIGN(RunTable::Blame blame, runs.read_blame(run));
  image.blocked_by = std::move(blame.blocked_by);
  image.needs = std::move(blame.needs);
  PAWL_TRY_ASSIGN(image.inbox, inbox.read_stored(run));
  PAWL_TRY_ASSIGN(image.tasks, tasks.read(run));
  PAWL_TRY_ASSIGN(image.promises, promises.read(run));
  PAWL_TRY_ASSIGN(image.compensations, compensations.read(run));
  PAWL_TRY_ASSIGN(image.dedupe, dedupe.read(head->chain));
  return image;
}

Result<void> SqliteCatalog::Tables::visit(RunKey run, RunVisitor& visitor) {
  VisitedRun visited;
  PAWL_TRY_ASSIGN(visited.image, read_image(run));
  PAWL_TRY_ASSIGN(const std::vector<RunRow> children, runs.read_children(run));
  for (const RunRow& child : children) {
    visited.children.push_back(child.parent.command);
  }
  PAWL_TRY(visitor.begin_run(std::move(visited)));
  bool is_visitors = false;  // An error.
  const auto told = [&](Result<void> done) {
    is_visitors = !done;
    return done;
  };
  const auto check = [&](const Result<void>& done, bool is_in_log) -> Result<void> {
    return done || is_visitors || done.error().code != ErrorCode::kStoreCorrupt
               ? done
               : visitor.visit_damage(done.error(), is_in_log);
  };
  PAWL_TRY(
      check(log.read(run, 0,
                     [&](const replay::Entry& entry) { return told(visitor.visit_entry(entry)); }),
            true));
  PAWL_TRY(check(log.read_moved(run,
                                [&](const replay::Entry& entry, const MovedFrom& from) {
                                  return told(visitor.visit_forgotten(entry, from));
                                }),
                 false));
  return visitor.end_run();
}

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
  return ask<RunImage>([&](Tables& tables) { return tables.read_image(run); });
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

Result<std::vector<std::string>> SqliteCatalog::list_namespaces() {
  PAWL_TRY_ASSIGN(const Database::Rows rows,
                  query("SELECT name FROM pawl_namespace ORDER BY key <> {ns}, name"));
  std::vector<std::string> names;
  for (const std::vector<std::string>& row : rows) {
    names.push_back(row[0]);
  }
  return names;
}

Result<Catalog::FoundRuns> SqliteCatalog::find_runs(std::span<const RunKey> runs) {
  return ask<FoundRuns>([&](Tables& tables) -> Result<FoundRuns> {
    FoundRuns found(runs.size());
    for (std::size_t i = 0; i < runs.size(); ++i) {
      PAWL_TRY_ASSIGN(found[i], tables.runs.find(runs[i]));
    }
    return found;
  });
}

Result<Catalog::FoundRuns> SqliteCatalog::find_runs(std::span<const RunName> runs) {
  return ask<FoundRuns>([&](Tables& tables) -> Result<FoundRuns> {
    FoundRuns found(runs.size());
    for (std::size_t i = 0; i < runs.size(); ++i) {
      PAWL_TRY_ASSIGN(found[i], tables.runs.find_numbered(runs[i].id, runs[i].number));
    }
    return found;
  });
}

Result<RunKey> SqliteCatalog::visit_runs(const KeyRange& range, RunVisitor& visitor) {
  return ask<RunKey>([&](Tables& tables) -> Result<RunKey> {
    std::vector<RunKey> keys;
    {
      Query query(tables.keys);
      query.integer(ns_).integer(range.after).integer(range.upto).integer(kVisitedRuns);
      while (true) {
        PAWL_TRY_ASSIGN(const bool found, query.step());
        if (!found) {
          break;
        }
        keys.push_back(query.as_integer(0));
      }
    }
    for (const RunKey run : keys) {
      PAWL_TRY(tables.visit(run, visitor));
    }
    return keys.size() < kVisitedRuns ? range.upto : keys.back();
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

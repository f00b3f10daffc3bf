#include "workloads/raw_sqlite.h"

#include <sqlite3.h>

#include <chrono>
#include <cstdio>
#include <map>
#include <memory>
#include <vector>

#include "store/sqlite/sqlite_store.h"

namespace pawl::workloads {

namespace {

struct CloseDatabase {
  void operator()(sqlite3* db) const { sqlite3_close(db); }
};
struct FinalizeStatement {
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};
struct FreeValue {
  void operator()(sqlite3_value* value) const { sqlite3_value_free(value); }
};
using Database = std::unique_ptr<sqlite3, CloseDatabase>;
using Statement = std::unique_ptr<sqlite3_stmt, FinalizeStatement>;
using Value = std::unique_ptr<sqlite3_value, FreeValue>;

Error failed(sqlite3* db, const std::string& what) {
  return make_error(ErrorCode::kStoreIo, what + ": " + sqlite3_errmsg(db));
}

Result<Database> open(const std::string& path, store::Durability durability) {
  sqlite3* raw = nullptr;
  const int code =
      sqlite3_open_v2(path.c_str(), &raw, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, nullptr);
  Database db(raw);
  const std::string settings =
      std::string(
          "PRAGMA busy_timeout = 10000; PRAGMA cache_size = -65536; PRAGMA synchronous = ") +
      (durability == store::Durability::kPower ? "FULL" : "NORMAL");
  if (code != SQLITE_OK ||
      sqlite3_exec(db.get(), settings.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) {
    return failed(db.get(), path);
  }
  return db;
}

Result<Statement> prepare(sqlite3* db, const std::string& sql) {
  sqlite3_stmt* statement = nullptr;
  if (sqlite3_prepare_v2(db, sql.c_str(), -1, &statement, nullptr) != SQLITE_OK) {
    return failed(db, sql);
  }
  return Statement(statement);
}

Result<void> run(sqlite3* db, sqlite3_stmt* statement) {
  const int code = sqlite3_step(statement);
  sqlite3_reset(statement);
  if (code != SQLITE_DONE && code != SQLITE_ROW) {
    return failed(db, "raw insert");
  }
  return {};
}

using Row = std::vector<Value>;

Result<std::vector<Row>> read_rows(sqlite3* db, const std::string& sql) {
  PAWL_TRY_ASSIGN(const Statement select, prepare(db, sql));
  std::vector<Row> rows;
  while (sqlite3_step(select.get()) == SQLITE_ROW) {
    Row row;
    for (int i = 0; i < sqlite3_column_count(select.get()); ++i) {
      row.emplace_back(sqlite3_value_dup(sqlite3_column_value(select.get(), i)));
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

// Rows of one table, by the run that they belong to.
using ByRun = std::map<std::int64_t, Row>;

Result<ByRun> read_by_run(sqlite3* db, const std::string& sql) {
  PAWL_TRY_ASSIGN(std::vector<Row> rows, read_rows(db, sql));
  ByRun by_run;
  for (Row& row : rows) {
    const std::int64_t run = sqlite3_value_int64(row.front().get());
    by_run.emplace(run, std::move(row));
  }
  return by_run;
}

class Inserter {
 public:
  static Result<Inserter> make(sqlite3* db, const std::string& table, std::size_t columns) {
    std::string sql = "INSERT INTO " + table + " VALUES(?";
    for (std::size_t i = 1; i < columns; ++i) {
      sql += ",?";
    }
    PAWL_TRY_ASSIGN(Statement statement, prepare(db, sql + ")"));
    return Inserter(db, std::move(statement));
  }
  Result<void> insert(const Row& row) {
    for (std::size_t column = 0; column < row.size(); ++column) {
      sqlite3_bind_value(statement_.get(), static_cast<int>(column + 1), row[column].get());
    }
    return run(db_, statement_.get());
  }

 private:
  Inserter(sqlite3* db, Statement statement) : db_(db), statement_(std::move(statement)) {}

  sqlite3* db_;
  Statement statement_;
};

void remove_files(const std::string& path) {
  for (const char* suffix : {"", "-wal", "-shm", "-workers", "-notify"}) {
    std::remove((path + suffix).c_str());
  }
}

}  // namespace

Result<RawFigure> copy_log(const store::SqliteOptions& source, std::size_t batch,
                           std::size_t rows_max) {
  PAWL_TRY_ASSIGN(const Database from, open(source.path, source.durability));
  PAWL_TRY_ASSIGN(const std::vector<Row> log,
                  read_rows(from.get(),
                            "SELECT * FROM (SELECT * FROM pawl_log ORDER BY rowid DESC "
                            "LIMIT " +
                                std::to_string(rows_max) + ") ORDER BY rowid"));
  PAWL_TRY_ASSIGN(ByRun runs, read_by_run(from.get(), "SELECT * FROM pawl_run"));
  PAWL_TRY_ASSIGN(ByRun inputs, read_by_run(from.get(), "SELECT * FROM pawl_input"));
  store::SqliteOptions target = source;
  target.path += ".raw";
  remove_files(target.path);
  PAWL_TRY(store::open_sqlite(target));  // Makes the tables.
  RawFigure figure;
  if (!log.empty() && !runs.empty() && !inputs.empty()) {
    PAWL_TRY_ASSIGN(const Database db, open(target.path, target.durability));
    PAWL_TRY_ASSIGN(const Statement begin, prepare(db.get(), "BEGIN IMMEDIATE"));
    PAWL_TRY_ASSIGN(const Statement commit, prepare(db.get(), "COMMIT"));
    PAWL_TRY_ASSIGN(Inserter log_rows, Inserter::make(db.get(), "pawl_log", log.front().size()));
    PAWL_TRY_ASSIGN(Inserter run_rows,
                    Inserter::make(db.get(), "pawl_run", runs.begin()->second.size()));
    PAWL_TRY_ASSIGN(Inserter input_rows,
                    Inserter::make(db.get(), "pawl_input", inputs.begin()->second.size()));
    const auto started = std::chrono::steady_clock::now();
    for (std::size_t i = 0; i < log.size(); ++i) {
      if (i % batch == 0) {
        PAWL_TRY(run(db.get(), begin.get()));
      }
      const std::int64_t key = sqlite3_value_int64(log[i].front().get());
      if (const auto found = runs.find(key); found != runs.end()) {
        PAWL_TRY(run_rows.insert(found->second));
        runs.erase(found);
      }
      if (const auto found = inputs.find(key); found != inputs.end()) {
        PAWL_TRY(input_rows.insert(found->second));
        inputs.erase(found);
      }
      PAWL_TRY(log_rows.insert(log[i]));
      if (i % batch == batch - 1 || i + 1 == log.size()) {
        PAWL_TRY(run(db.get(), commit.get()));
        ++figure.commits;
      }
    }
    figure.secs = std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
    figure.rows = log.size();
  }
  remove_files(target.path);
  return figure;
}

}  // namespace pawl::workloads

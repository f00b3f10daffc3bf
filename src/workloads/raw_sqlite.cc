#include "workloads/raw_sqlite.h"

#include <sqlite3.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <optional>
#include <unordered_set>
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

// Read into memory before they are written: not all, there may be millions.
constexpr std::size_t kPartRows = 50'000;

using Row = std::vector<Value>;

Row read_row(sqlite3_stmt* select) {
  Row row;
  for (int i = 0; i < sqlite3_column_count(select); ++i) {
    row.emplace_back(sqlite3_value_dup(sqlite3_column_value(select, i)));
  }
  return row;
}

std::int64_t key_of(const Row& row) { return sqlite3_value_int64(row.front().get()); }

// What is written with one entry of the log.
struct Written {
  std::optional<Row> run;  // With its first entry.
  std::optional<Row> input;
  Row entry;
};

// Reads the log in the order in which it was written.
class Reader {
 public:
  static Result<Reader> make(sqlite3* db, std::size_t rows_max) {
    Reader reader;
    PAWL_TRY_ASSIGN(reader.log_,
                    prepare(db,
                            "SELECT * FROM pawl_log WHERE rowid > (SELECT max(rowid) FROM "
                            "pawl_log) - " +
                                std::to_string(rows_max) + " ORDER BY rowid"));
    PAWL_TRY_ASSIGN(reader.run_, prepare(db, "SELECT * FROM pawl_run WHERE key = ?"));
    PAWL_TRY_ASSIGN(reader.input_, prepare(db, "SELECT * FROM pawl_input WHERE run = ?"));
    return reader;
  }

  // The next ones, at most `count`.
  std::vector<Written> next(std::size_t count) {
    std::vector<Written> part;
    while (part.size() < count && !is_at_end_) {
      if (sqlite3_step(log_.get()) != SQLITE_ROW) {
        is_at_end_ = true;  // Another step would begin again.
        break;
      }
      Written written;
      written.entry = read_row(log_.get());
      const std::int64_t run = key_of(written.entry);
      if (seen_.insert(run).second) {
        written.run = find(run_.get(), run);
        written.input = find(input_.get(), run);
      }
      part.push_back(std::move(written));
    }
    return part;
  }

 private:
  Reader() = default;

  static std::optional<Row> find(sqlite3_stmt* select, std::int64_t run) {
    std::optional<Row> row;
    sqlite3_bind_int64(select, 1, run);
    if (sqlite3_step(select) == SQLITE_ROW) {
      row = read_row(select);
    }
    sqlite3_reset(select);
    return row;
  }

  Statement log_;
  Statement run_;
  Statement input_;
  bool is_at_end_ = false;
  std::unordered_set<std::int64_t> seen_;  // Runs.
};

class Inserter {
 public:
  static Result<Inserter> make(sqlite3* db, const std::string& table) {
    PAWL_TRY_ASSIGN(const Statement all, prepare(db, "SELECT * FROM " + table));
    std::string sql = "INSERT INTO " + table + " VALUES(?";
    for (int i = 1; i < sqlite3_column_count(all.get()); ++i) {
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
  PAWL_TRY_ASSIGN(Reader reader, Reader::make(from.get(), rows_max));
  store::SqliteOptions target = source;
  target.path += ".raw";
  remove_files(target.path);
  PAWL_TRY(store::open_sqlite(target));  // Makes the tables.
  RawFigure figure;
  {
    PAWL_TRY_ASSIGN(const Database db, open(target.path, target.durability));
    PAWL_TRY_ASSIGN(const Statement begin, prepare(db.get(), "BEGIN IMMEDIATE"));
    PAWL_TRY_ASSIGN(const Statement commit, prepare(db.get(), "COMMIT"));
    PAWL_TRY_ASSIGN(Inserter log_rows, Inserter::make(db.get(), "pawl_log"));
    PAWL_TRY_ASSIGN(Inserter run_rows, Inserter::make(db.get(), "pawl_run"));
    PAWL_TRY_ASSIGN(Inserter input_rows, Inserter::make(db.get(), "pawl_input"));
    // Whole batches in each part, so that parts make no difference.
    const std::size_t part_rows = std::max(batch, kPartRows / batch * batch);
    std::chrono::steady_clock::duration spent{};
    for (std::vector<Written> part; !(part = reader.next(part_rows)).empty();) {
      const auto started = std::chrono::steady_clock::now();
      for (std::size_t i = 0; i < part.size(); ++i) {
        const Written& written = part[i];
        if (i % batch == 0) {
          PAWL_TRY(run(db.get(), begin.get()));
        }
        if (written.run) {
          PAWL_TRY(run_rows.insert(*written.run));
        }
        if (written.input) {
          PAWL_TRY(input_rows.insert(*written.input));
        }
        PAWL_TRY(log_rows.insert(written.entry));
        if (i % batch == batch - 1 || i + 1 == part.size()) {
          PAWL_TRY(run(db.get(), commit.get()));
          ++figure.commits;
        }
      }
      spent += std::chrono::steady_clock::now() - started;
      figure.rows += part.size();
    }
    figure.secs = std::chrono::duration<double>(spent).count();
  }
  remove_files(target.path);
  return figure;
}

Result<RawFigure> read_log(const store::SqliteOptions& source, std::size_t rows_max) {
  PAWL_TRY_ASSIGN(const Database db, open(source.path, source.durability));
  PAWL_TRY_ASSIGN(const Statement select,
                  prepare(db.get(), "SELECT * FROM pawl_log ORDER BY ns, run, seq LIMIT " +
                                        std::to_string(rows_max)));
  RawFigure figure;
  const auto started = std::chrono::steady_clock::now();
  while (sqlite3_step(select.get()) == SQLITE_ROW) {
    for (int i = 0; i < sqlite3_column_count(select.get()); ++i) {
      sqlite3_column_blob(select.get(), i);
    }
    ++figure.rows;
  }
  figure.secs = std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
  return figure;
}

}  // namespace pawl::workloads

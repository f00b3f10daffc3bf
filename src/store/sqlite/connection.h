// A SQLite connection, its prepared statements, and SQLite's codes as Errors.
// Not thread-safe: whoever owns a Connection guards it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/uuid.h"

struct sqlite3;
struct sqlite3_stmt;

namespace pawl::store {

enum class Access : std::uint8_t {
  kRead,    // In WAL mode this still needs the -shm file, and makes it if it can.
  kFrozen,  // The same for a file that nobody changes and that has no commits in a -wal file: no
            // other file is looked at, and no lock is taken.
  kWrite,
  kCreate,  // kWrite; makes the file if it is not there.
};

class Connection {
 public:
  struct Options {
    std::string path;
    std::string vfs;
    std::int64_t busy_timeout_ms = 0;
    Access access = Access::kWrite;
  };

  static Result<std::unique_ptr<Connection>> open(const Options& options);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  sqlite3* native() const { return db_; }
  const std::string& path() const { return path_; }

  // Runs one or more statements without parameters, whose rows do not matter.
  Result<void> execute(const char* sql);
  // The first column of the first row of a query that has one.
  Result<std::int64_t> query_integer(const char* sql);

  // What `code` and SQLite's own message mean. `doing` is e.g. "cannot open".
  Error error(int code, std::string_view doing = "cannot use") const;

  // Whether SQLite sees that its file was removed or replaced; false if it cannot tell.
  bool has_moved() const;
  bool in_transaction() const;
  std::int64_t last_rowid() const;
  // Rows that the last INSERT, UPDATE or DELETE touched.
  std::int64_t changes() const;

 private:
  Connection(sqlite3* db, std::string path) : db_(db), path_(std::move(path)) {}

  sqlite3* db_;
  std::string path_;
};

// SQL text that is prepared on first use and kept. Lives no longer than its Connection.
class Statement {
 public:
  Statement(Connection& connection, const char* sql) : connection_(connection), sql_(sql) {}
  ~Statement();
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

 private:
  friend class Query;

  Connection& connection_;
  const char* sql_;
  sqlite3_stmt* prepared_ = nullptr;
};

// One execution of a statement: bind the parameters in order, then step. What is bound is borrowed
// until the Query ends. The first error is kept and returned by step() and run().
class Query {
 public:
  explicit Query(Statement& statement);
  ~Query();
  Query(const Query&) = delete;
  Query& operator=(const Query&) = delete;

  Query& integer(std::int64_t value);
  Query& null();
  // NULL for 0.
  Query& integer_or_null(std::int64_t value) { return value == 0 ? null() : integer(value); }
  // NULL for kNever.
  Query& moment(std::int64_t value);
  Query& text(std::string_view value);
  // NULL for the empty text.
  Query& text_or_null(std::string_view value) { return value.empty() ? null() : text(value); }
  Query& blob(std::string_view value);
  Query& blob_or_null(std::string_view value) { return value.empty() ? null() : blob(value); }
  // NULL without one.
  Query& payload(bool has_payload, std::string_view value) {
    return has_payload ? blob(value) : null();
  }
  Query& uuid(const Uuid& value);
  // An id as 16 bytes if it is a printed UUID, else as text; NULL if it is empty.
  Query& id(std::string_view value);

  // True: a row is there to be read. False: that was all.
  Result<bool> step();
  // For statements without rows.
  Result<void> run();
  // For an INSERT: false if a unique index has refused it.
  Result<bool> insert();

  // Columns of the current row. Views are valid until the next step.
  bool is_null(int column) const;
  std::int64_t as_integer(int column) const;
  std::int64_t as_moment(int column) const;     // NULL: kNever.
  std::string_view as_bytes(int column) const;  // NULL: empty.
  std::string as_string(int column) const { return std::string(as_bytes(column)); }
  Uuid as_uuid(int column) const;
  std::string as_id(int column) const;
  bool is_blob(int column) const;
  int column_count() const;

 private:
  void check(int code);
  int next_parameter() { return ++parameter_; }

  Connection& connection_;
  sqlite3_stmt* statement_ = nullptr;
  int parameter_ = 0;
  int code_ = 0;
  Uuid id_;  // Bound by id(); at most one per query.
};

}  // namespace pawl::store

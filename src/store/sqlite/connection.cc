#include "store/sqlite/connection.h"

#include <sqlite3.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "store/rows.h"

namespace pawl::store {

namespace {

ErrorCode error_code(int code) {
  switch (code & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return ErrorCode::kStoreBusy;
    case SQLITE_FULL:
      return ErrorCode::kStoreFull;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return ErrorCode::kStoreCorrupt;
    case SQLITE_READONLY:
    case SQLITE_CANTOPEN:
    case SQLITE_PERM:
    case SQLITE_AUTH:
      return ErrorCode::kStoreUnusable;
    case SQLITE_TOOBIG:
      return ErrorCode::kLimitExceeded;
    default:
      // Also SQLITE_NOMEM, SQLITE_INTERRUPT: what was begun has been undone, and may be tried
      // again.
      return ErrorCode::kStoreIo;
  }
}

std::string_view advice(ErrorCode code) {
  switch (code) {
    case ErrorCode::kStoreBusy:
      return "; another connection holds the database, try again";
    case ErrorCode::kStoreFull:
      return "; free some space and try again";
    case ErrorCode::kStoreCorrupt:
      return "; stop, and restore a copy";
    case ErrorCode::kStoreUnusable:
      return "; check the path and the rights of the file and its directory";
    default:
      return "";
  }
}

std::string parent_directory(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) {
    return ".";
  }
  return slash == 0 ? "/" : path.substr(0, slash);
}

// SQLite says only "unable to open database file"; the file system says why.
std::string why_not_opened(const std::string& path) {
  struct stat info{};
  if (::stat(path.c_str(), &info) == 0) {
    return S_ISDIR(info.st_mode) ? "it is a directory" : "";
  }
  const int path_errno = errno;
  const std::string parent = parent_directory(path);
  if (::stat(parent.c_str(), &info) != 0) {
    return "its directory '" + parent + "' cannot be reached: " + std::strerror(errno);
  }
  if (!S_ISDIR(info.st_mode)) {
    return "'" + parent + "' is not a directory";
  }
  return path_errno == ENOENT ? "" : std::strerror(path_errno);
}

bool is_directory(const std::string& path) {
  struct stat info{};
  return ::stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

int access_flags(Access access) {
  switch (access) {
    case Access::kRead:
      return SQLITE_OPEN_READONLY;
    case Access::kFrozen:
      return SQLITE_OPEN_READONLY | SQLITE_OPEN_URI;
    case Access::kWrite:
      break;
    case Access::kCreate:
      return SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
  }
  return SQLITE_OPEN_READWRITE;
}

// A path that begins with "file:" or ":" must stay a path.
std::string plain_name(const std::string& path) {
  return path.starts_with(':') || path.starts_with("file:") ? "./" + path : path;
}

std::string frozen_uri(const std::string& path) {
  std::error_code ignored;  // Then it cannot be opened either.
  std::string uri = "file://";
  for (const char byte : std::filesystem::absolute(path, ignored).string()) {
    if (byte == '%' || byte == '?' || byte == '#') {
      constexpr std::string_view kDigits = "0123456789abcdef";
      uri += '%';
      uri += kDigits[static_cast<unsigned char>(byte) >> 4U];
      uri += kDigits[static_cast<unsigned char>(byte) & 0xfU];
    } else {
      uri += byte;
    }
  }
  return uri + "?immutable=1";
}

}  // namespace

Result<std::unique_ptr<Connection>> Connection::open(const Options& options) {
  sqlite3* db = nullptr;
  const int flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE | access_flags(options.access);
  const std::string name =
      options.access == Access::kFrozen ? frozen_uri(options.path) : plain_name(options.path);
  const char* const vfs = options.vfs.empty() ? nullptr : options.vfs.c_str();
  const int code = sqlite3_open_v2(name.c_str(), &db, flags, vfs);
  std::unique_ptr<Connection> connection(new Connection(db, options.path));
  if (code != SQLITE_OK) {
    return connection->error(code, "cannot open");
  }
  // For reading it can be opened, and then not be read.
  if (is_directory(options.path)) {
    return connection->error(SQLITE_CANTOPEN, "cannot open");
  }
  const std::int64_t timeout = std::clamp<std::int64_t>(options.busy_timeout_ms, 0, 0x7fffffff);
  sqlite3_busy_timeout(db, static_cast<int>(timeout));
  return connection;
}

Connection::~Connection() { sqlite3_close_v2(db_); }

Result<void> Connection::execute(const char* sql) {
  const int code = sqlite3_exec(db_, sql, nullptr, nullptr, nullptr);
  return code == SQLITE_OK ? Result<void>() : Result<void>(error(code));
}

Result<std::int64_t> Connection::query_integer(const char* sql) {
  Statement statement(*this, sql);
  Query query(statement);
  PAWL_TRY_ASSIGN(const bool has_row, query.step());
  return has_row ? query.as_integer(0) : 0;
}

Error Connection::error(int code, std::string_view doing) const {
  const ErrorCode meaning = error_code(code);
  std::string message(doing);
  message += " the database '" + path_ + "': ";
  const std::string reason = (code & 0xff) == SQLITE_CANTOPEN ? why_not_opened(path_) : "";
  message += reason.empty() ? sqlite3_errmsg(db_) : reason;
  message += " (SQLite code " + std::to_string(code) + ")";
  message += advice(meaning);
  return make_error(meaning, std::move(message));
}

bool Connection::has_moved() const {
  int moved = 0;
  return sqlite3_file_control(db_, "main", SQLITE_FCNTL_HAS_MOVED, &moved) == SQLITE_OK &&
         moved != 0;
}

bool Connection::in_transaction() const { return sqlite3_get_autocommit(db_) == 0; }

std::int64_t Connection::last_rowid() const { return sqlite3_last_insert_rowid(db_); }

std::int64_t Connection::changes() const { return sqlite3_changes64(db_); }

Statement::~Statement() { sqlite3_finalize(prepared_); }

Query::Query(Statement& statement) : connection_(statement.connection_) {
  if (statement.prepared_ == nullptr) {
    check(sqlite3_prepare_v3(connection_.native(), statement.sql_, -1, SQLITE_PREPARE_PERSISTENT,
                             &statement.prepared_, nullptr));
  }
  statement_ = statement.prepared_;
}

Query::~Query() { sqlite3_reset(statement_); }

void Query::check(int code) {
  if (code != SQLITE_OK && code_ == SQLITE_OK) {
    code_ = code;
  }
}

Query& Query::integer(std::int64_t value) {
  check(sqlite3_bind_int64(statement_, next_parameter(), value));
  return *this;
}

Query& Query::null() {
  check(sqlite3_bind_null(statement_, next_parameter()));
  return *this;
}

Query& Query::moment(std::int64_t value) { return value == kNever ? null() : integer(value); }

// An empty view may have no address, which SQLite takes for NULL.
Query& Query::text(std::string_view value) {
  check(sqlite3_bind_text64(statement_, next_parameter(), value.empty() ? "" : value.data(),
                            value.size(), SQLITE_STATIC, SQLITE_UTF8));
  return *this;
}

Query& Query::blob(std::string_view value) {
  check(sqlite3_bind_blob64(statement_, next_parameter(), value.empty() ? "" : value.data(),
                            value.size(), SQLITE_STATIC));
  return *this;
}

Query& Query::uuid(const Uuid& value) {
  check(sqlite3_bind_blob64(statement_, next_parameter(), value.bytes.data(), value.bytes.size(),
                            SQLITE_STATIC));
  return *this;
}

Query& Query::id(std::string_view value) {
  if (const std::optional<Uuid> parsed = Uuid::parse_canonical(value)) {
    id_ = *parsed;
    return uuid(id_);
  }
  return text_or_null(value);
}

Result<bool> Query::step() {
  if (code_ == SQLITE_OK) {
    const int code = sqlite3_step(statement_);
    if (code == SQLITE_ROW) {
      return true;
    }
    if (code == SQLITE_DONE) {
      return false;
    }
    code_ = code;
  }
  return connection_.error(code_);
}

Result<void> Query::run() {
  PAWL_TRY(step());
  return {};
}

Result<bool> Query::insert() {
  if (code_ == SQLITE_OK) {
    const int code = sqlite3_step(statement_);
    if (code == SQLITE_DONE) {
      return true;
    }
    if (code == SQLITE_CONSTRAINT_UNIQUE) {
      return false;
    }
    code_ = code;
  }
  return connection_.error(code_);
}

bool Query::is_null(int column) const {
  return sqlite3_column_type(statement_, column) == SQLITE_NULL;
}

std::int64_t Query::as_integer(int column) const {
  return sqlite3_column_int64(statement_, column);
}

std::int64_t Query::as_moment(int column) const {
  return is_null(column) ? kNever : as_integer(column);
}

std::string_view Query::as_bytes(int column) const {
  const void* const data = sqlite3_column_blob(statement_, column);
  const int size = sqlite3_column_bytes(statement_, column);
  return {static_cast<const char*>(data), static_cast<std::size_t>(size)};
}

int Query::column_count() const { return sqlite3_column_count(statement_); }

bool Query::is_blob(int column) const {
  return sqlite3_column_type(statement_, column) == SQLITE_BLOB;
}

Uuid Query::as_uuid(int column) const {
  Uuid value;
  const std::string_view bytes = as_bytes(column);
  // A damaged one may be of any length; without bytes there is no address.
  std::copy_n(bytes.begin(), std::min(bytes.size(), value.bytes.size()), value.bytes.begin());
  return value;
}

std::string Query::as_id(int column) const {
  return is_blob(column) ? as_uuid(column).to_string() : as_string(column);
}

}  // namespace pawl::store

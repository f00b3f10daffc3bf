#include "store/sqlite/sqlite_store.h"

#include <sqlite3.h>

#include <algorithm>
#include <mutex>
#include <set>
#include <utility>

#include "store/sqlite/connection.h"
#include "store/sqlite/file_signal.h"
#include "store/sqlite/opened_file.h"
#include "store/sqlite/read_only.h"
#include "store/sqlite/reading_store.h"
#include "store/sqlite/schema.h"
#include "store/sqlite/worker_locks.h"
#include "store/sqlite/writer.h"

namespace pawl::store {

namespace {

// Pages in memory, so that a large database does not read its indexes again and again.
constexpr const char* kWriterSettings =
    "PRAGMA cache_size = -65536; PRAGMA temp_store = MEMORY; PRAGMA journal_size_limit = 67108864";

Result<std::unique_ptr<Connection>> open_writer(const SqliteOptions& options) {
  PAWL_TRY_ASSIGN(
      std::unique_ptr<Connection> connection,
      Connection::open({options.path, options.vfs, options.busy_timeout_ms, Access::kCreate}));
  const char* const synchronous = options.durability == Durability::kPower
                                      ? "PRAGMA synchronous = FULL"
                                      : "PRAGMA synchronous = NORMAL";
  PAWL_TRY(migrate(*connection, schema_steps(), options.busy_timeout_ms));
  PAWL_TRY(connection->execute(synchronous));
  PAWL_TRY(connection->execute(kWriterSettings));
  return connection;
}

class SqliteStore : public ReadingStore {
 public:
  SqliteStore(const SqliteOptions& options, OpenedFile file, std::int64_t ns,
              std::unique_ptr<Connection> write_connection,
              std::unique_ptr<Connection> read_connection, std::unique_ptr<WorkerLocks> locks,
              std::shared_ptr<ChangeSignal> signal)
      : ReadingStore(std::move(file), ns, std::move(read_connection),
                     [options] { return open_reader(options); }),
        write_connection_(std::move(write_connection)),
        writer_(*write_connection_, this->file(), ns, options.payload_bytes_max),
        locks_(std::move(locks)),
        signal_(std::move(signal)) {}

  ~SqliteStore() override { signal_->watch({}); }

  SqliteStore(const SqliteStore&) = delete;
  SqliteStore& operator=(const SqliteStore&) = delete;

  Result<void> apply(std::span<Op> ops) override {
    return write([&] { return writer_.apply(ops); });
  }

  Result<WorkerKey> add_worker(const WorkerInfo& info) override {
    WorkerKey worker = 0;
    PAWL_TRY(write([&]() -> Result<void> {
      PAWL_TRY_ASSIGN(worker,
                      writer_.add_worker(info, [&](WorkerKey key) { return locks_->lock(key); }));
      own_workers_.insert(worker);
      return {};
    }));
    return worker;
  }

  Result<void> remove_worker(WorkerKey worker, std::int64_t now_ms) override {
    return write([&]() -> Result<void> {
      PAWL_TRY(writer_.remove_worker(worker, now_ms));
      if (own_workers_.erase(worker) > 0) {
        locks_->unlock(worker);
      }
      return {};
    });
  }

  Result<Sweep> free_expired(WorkerKey self, std::int64_t now_ms) override {
    Sweep sweep;
    PAWL_TRY(write([&]() -> Result<void> {
      const auto is_dead = [&](const WorkerLease& worker) {
        return worker.key != self && (worker.expires_ms <= now_ms || is_lock_gone(worker));
      };
      PAWL_TRY_ASSIGN(std::vector<WorkerLease> workers, writer_.read_workers());
      if (std::any_of(workers.begin(), workers.end(), is_dead)) {
        sweep.found_dead = true;
        PAWL_TRY(writer_.remove_workers(is_dead, now_ms));
        PAWL_TRY_ASSIGN(workers, writer_.read_workers());
      }
      for (const WorkerLease& worker : workers) {
        if (worker.key != self) {
          sweep.next_ms = std::min(sweep.next_ms, worker.expires_ms);
        }
      }
      return {};
    }));
    return sweep;
  }

  Result<bool> change_seal(std::string_view expected, std::string_view next) override {
    bool changed = false;
    PAWL_TRY(write([&]() -> Result<void> {
      PAWL_TRY_ASSIGN(changed, writer_.change_seal(expected, next));
      return {};
    }));
    return changed;
  }
  Result<void> carry(std::string_view seal, std::span<CarryRun> runs) override {
    return write([&] { return writer_.carry(seal, runs); });
  }
  Result<void> append(std::string_view seal, const CarryLog& log) override {
    return write([&] { return writer_.append(seal, log); });
  }
  Result<void> link(std::string_view seal, std::span<const CarryParent> links) override {
    return write([&] { return writer_.link(seal, links); });
  }

  void watch(std::function<void(Change)> on_change) override {
    signal_->watch(any_change(std::move(on_change)));
  }

 private:
  // Others are told after the guard is gone: they may call back into this store.
  Result<void> write(const std::function<Result<void>()>& what_to_do) {
    bool has_to_tell = false;
    {
      const std::scoped_lock lock(write_mutex_);
      writer_.expect_no_concern();
      PAWL_TRY(what_to_do());
      has_to_tell = writer_.concerns_others();
    }
    if (has_to_tell) {
      signal_->notify();
    }
    return {};
  }

  bool is_lock_gone(const WorkerLease& worker) const {
    return worker.is_locked && !own_workers_.contains(worker.key) &&
           !locks_->is_locked_elsewhere(worker.key);
  }

  std::mutex write_mutex_;
  std::unique_ptr<Connection> write_connection_;
  Writer writer_;
  std::unique_ptr<WorkerLocks> locks_;
  std::set<WorkerKey> own_workers_;

  std::shared_ptr<ChangeSignal> signal_;
};

Result<void> check(const SqliteOptions& options) {
  if (options.path.empty()) {
    return make_error(ErrorCode::kInvalidArgument, "the path of the database is empty");
  }
  if (options.path.find('\0') != std::string::npos) {
    return make_error(ErrorCode::kInvalidArgument, "the path of the database holds a NUL byte");
  }
  if (options.path == ":memory:") {
    return make_error(ErrorCode::kInvalidArgument,
                      "a store in memory is not possible: it has two connections to one file; use "
                      "e.g. a file below /dev/shm");
  }
  if (options.name_space.empty() || options.name_space.size() > replay::kNameBytesMax) {
    return make_error(ErrorCode::kInvalidArgument, "the namespace is empty or too long");
  }
  if (options.payload_bytes_max > kPayloadBytesLimit) {
    return make_error(
        ErrorCode::kInvalidArgument,
        "the limit for payloads is at most " + std::to_string(kPayloadBytesLimit) + " bytes");
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<MovableStore>> open_movable_sqlite(SqliteOptions options) {
  PAWL_TRY(check(options));
  if (options.read_only) {
    return open_read_only(options);
  }
  PAWL_TRY_ASSIGN(std::unique_ptr<Connection> writer, open_writer(options));
  PAWL_TRY_ASSIGN(const std::int64_t ns, find_or_add_namespace(*writer, options.name_space));
  PAWL_TRY_ASSIGN(std::unique_ptr<Connection> reader, open_reader(options));
  // Both connections have this file, if neither finds that its own has moved.
  OpenedFile opened(options.path);
  if (writer->has_moved() || reader->has_moved()) {
    return make_error(ErrorCode::kStoreBusy,
                      "the database '" + options.path +
                          "' was removed or replaced while it was being opened; try again");
  }
  // SQLite has followed links, and its own files lie beside the real one.
  const std::string file = sqlite3_db_filename(writer->native(), "main");
  PAWL_TRY_ASSIGN(std::unique_ptr<WorkerLocks> locks, WorkerLocks::open(file + "-workers"));
  if (options.signal == nullptr) {
    PAWL_TRY_ASSIGN(options.signal, open_file_signal(file + "-notify"));
  }
  return std::unique_ptr<MovableStore>(
      std::make_unique<SqliteStore>(options, std::move(opened), ns, std::move(writer),
                                    std::move(reader), std::move(locks), options.signal));
}

Result<std::unique_ptr<Store>> open_sqlite(SqliteOptions options) {
  PAWL_TRY_ASSIGN(std::unique_ptr<MovableStore> store, open_movable_sqlite(std::move(options)));
  return std::unique_ptr<Store>(std::move(store));
}

}  // namespace pawl::store

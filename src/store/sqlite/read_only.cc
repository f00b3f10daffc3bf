#include "store/sqlite/read_only.h"

#include <sqlite3.h>
#include <sys/stat.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>

#include "store/sqlite/file_watcher.h"
#include "store/sqlite/reading_store.h"
#include "store/sqlite/schema.h"

namespace pawl::store {

namespace {

class ReadOnlyStore : public ReadingStore {
 public:
  // `wal`: what every commit is written to.
  ReadOnlyStore(OpenedFile file, std::int64_t ns, std::unique_ptr<Connection> connection,
                SqliteCatalog::Open open_another, std::string wal)
      : ReadingStore(std::move(file), ns, std::move(connection), std::move(open_another)),
        wal_(std::move(wal)) {}

  Result<void> apply(std::span<Op> /*ops*/) override { return refused(); }
  Result<WorkerKey> add_worker(const WorkerInfo& /*info*/) override { return refused(); }
  Result<void> remove_worker(WorkerKey /*worker*/, std::int64_t /*now_ms*/) override {
    return refused();
  }
  Result<Sweep> free_expired(WorkerKey /*self*/, std::int64_t /*now_ms*/) override {
    return refused();
  }
  Result<bool> change_seal(std::string_view /*expected*/, std::string_view /*next*/) override {
    return refused();
  }
  Result<void> carry(std::string_view /*seal*/, std::span<CarryRun> /*runs*/) override {
    return refused();
  }
  Result<void> append(std::string_view /*seal*/, const CarryLog& /*log*/) override {
    return refused();
  }
  Result<void> link(std::string_view /*seal*/, std::span<const CarryParent> /*links*/) override {
    return refused();
  }
  // Who only looks has nothing to do with what others tell each other, and is interested in all
  // that they do. While nobody has the database open there is nothing to watch: look again later.
  void watch(std::function<void(Change)> on_change) override {
    const std::scoped_lock lock(mutex_);
    watcher_.reset();
    if (on_change) {
      watcher_ = std::make_unique<FileWatcher>(wal_);
      watcher_->start(any_change(std::move(on_change)), FileWatcher::Tell::kAgain);
    }
  }

 private:
  static Error refused() {
    return make_error(ErrorCode::kStoreUnusable, "the store was opened for reading only");
  }

  const std::string wal_;
  std::mutex mutex_;
  std::unique_ptr<FileWatcher> watcher_;
};

// Bytes of the file; -1 if there is none.
std::int64_t size_of(const std::string& path) {
  struct stat info{};
  return ::stat(path.c_str(), &info) == 0 ? info.st_size : -1;
}

// The first read is what SQLite opens its other files for.
Result<std::unique_ptr<Connection>> open_and_look(const SqliteOptions& options, Access access) {
  PAWL_TRY_ASSIGN(std::unique_ptr<Connection> connection,
                  Connection::open({options.path, options.vfs, options.busy_timeout_ms, access}));
  // A file that is no database is told from others later.
  const Result<std::int64_t> looked = connection->query_integer("PRAGMA schema_version");
  if (!looked.has_value() && looked.error().code == ErrorCode::kStoreUnusable) {
    return looked.error();
  }
  return connection;
}

Result<std::unique_ptr<Connection>> open_to_look(const SqliteOptions& options) {
  std::string file;
  {
    PAWL_TRY_ASSIGN(const std::unique_ptr<Connection> connection,
                    Connection::open({options.path, options.vfs, 0, Access::kRead}));
    file = sqlite3_db_filename(connection->native(), "main");  // Links are followed.
  }
  // Who has the database open has a -wal file. Without one, SQLite would make it and leave it.
  if (size_of(file + "-wal") < 0) {
    return open_and_look(options, Access::kFrozen);
  }
  Result<std::unique_ptr<Connection>> opened = open_and_look(options, Access::kRead);
  if (opened.has_value() || opened.error().code != ErrorCode::kStoreUnusable) {
    return opened;
  }
  if (size_of(file + "-wal") <= 0) {
    return open_and_look(options, Access::kFrozen);
  }
  return make_error(ErrorCode::kStoreUnusable,
                    "the database '" + options.path + "' cannot be read: there are commits in '" +
                        file + "-wal', and to read them SQLite needs '" + file +
                        "-shm', which it can neither read nor make. Get the right to write to the "
                        "directory, or copy the database and its -wal file to another one");
}

}  // namespace

Result<std::unique_ptr<MovableStore>> open_read_only(const SqliteOptions& options) {
  PAWL_TRY_ASSIGN(std::unique_ptr<Connection> connection, open_to_look(options));
  PAWL_TRY_ASSIGN(const std::int64_t ns,
                  find_namespace(*connection, schema_steps(), options.name_space));
  const std::string file = sqlite3_db_filename(connection->native(), "main");
  return std::unique_ptr<MovableStore>(std::make_unique<ReadOnlyStore>(
      OpenedFile(options.path), ns, std::move(connection),
      [options] { return open_to_look(options); }, file + "-wal"));
}

}  // namespace pawl::store

// The reads of a SQLite store, by a connection of their own. Those who can also write derive from
// it.
#pragma once

#include <memory>
#include <mutex>

#include "store/movable_store.h"
#include "store/sqlite/connection.h"
#include "store/sqlite/inbox_table.h"
#include "store/sqlite/log_table.h"
#include "store/sqlite/opened_file.h"
#include "store/sqlite/options.h"
#include "store/sqlite/run_table.h"
#include "store/sqlite/side_tables.h"
#include "store/sqlite/sqlite_catalog.h"
#include "store/sqlite/task_table.h"
#include "store/sqlite/worker_table.h"
#include "store/store.h"

namespace pawl::store {

// A connection beside one that writes. It may write what SQLite needs, to recover what a dead
// process left.
Result<std::unique_ptr<Connection>> open_reader(const SqliteOptions& options);

class ReadingStore : public MovableStore {
 public:
  // `open_another` opens a connection like this one, for the catalog.
  ReadingStore(OpenedFile file, std::int64_t ns, std::unique_ptr<Connection> connection,
               SqliteCatalog::Open open_another);

  Result<std::optional<std::int64_t>> read_clock() override {
    return std::optional<std::int64_t>();
  }
  Result<std::optional<RunRow>> find_run(RunKey run) override;
  Result<std::optional<RunRow>> find_run(std::string_view id,
                                         std::optional<std::uint32_t> number) override;
  Result<std::string> read_input(RunKey run) override;
  Result<std::vector<Tag>> read_tags(RunKey run) override;
  Result<std::string> read_reason(RunKey run) override;
  Result<void> read_log(RunKey run, std::uint64_t from_seq, const LogTable::Visit& visit) override;
  Result<void> read_last(RunKey run, const LogTable::Visit& visit) override;
  Result<void> read_forgotten(RunKey run, const LogTable::Visit& visit) override;
  Result<News> read_news(WorkerKey worker, ArrivalKey after) override;
  Result<std::vector<Arrival>> read_inbox_of(RunKey run) override;
  Result<std::vector<Arrival>> read_due_inbox(RunKey run, std::int64_t now_ms) override;
  Result<std::vector<CompensationRow>> read_compensations(RunKey run) override;
  Result<std::vector<std::string>> read_promises(RunKey run) override;
  Result<std::vector<TaskRow>> read_tasks(RunKey run) override;
  Result<std::vector<RunRow>> read_children(RunKey run) override;
  using Store::next_wake;
  Result<std::int64_t> next_wake(std::span<const std::string> kinds,
                                 std::span<const KindDefinition> left,
                                 std::int64_t after_ms) override;
  Result<std::vector<KnownWorker>> read_workers() override;
  Result<std::vector<TaskRow>> due_tasks(std::int64_t now_ms, std::size_t limit,
                                         std::int64_t* next_due) override;
  Catalog& catalog() override { return catalog_; }
  Result<std::string> read_seal() override;

 protected:
  const OpenedFile& file() const { return file_; }

 private:
  // Who asks about a file that is gone would wait for ever for what nobody can write any more.
  using ReadLock = std::unique_lock<std::mutex>;
  Result<ReadLock> lock_reader() {
    PAWL_TRY(file_.check());
    return ReadLock(mutex_);
  }

  const OpenedFile file_;
  std::mutex mutex_;
  std::unique_ptr<Connection> connection_;
  RunTable runs_;
  LogTable log_;
  InboxTable inbox_;
  TaskTable tasks_;
  PromiseTable promises_;
  CompensationTable compensations_;
  WorkerTable workers_;
  SqliteCatalog catalog_;
};

}  // namespace pawl::store

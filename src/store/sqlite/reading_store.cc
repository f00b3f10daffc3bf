#include "store/sqlite/reading_store.h"

#include <algorithm>
#include <utility>

#include "store/operations/row_rules.h"

namespace pawl::store {

Result<std::unique_ptr<Connection>> open_reader(const SqliteOptions& options) {
  PAWL_TRY_ASSIGN(
      std::unique_ptr<Connection> connection,
      Connection::open({options.path, options.vfs, options.busy_timeout_ms, Access::kWrite}));
  PAWL_TRY(connection->execute(
      "PRAGMA cache_size = -16384; PRAGMA temp_store = MEMORY; PRAGMA query_only = ON"));
  return connection;
}

ReadingStore::ReadingStore(OpenedFile file, std::int64_t ns, std::unique_ptr<Connection> connection,
                           SqliteCatalog::Open open_another)
    : file_(std::move(file)),
      connection_(std::move(connection)),
      runs_(*connection_, ns),
      log_(*connection_, ns),
      inbox_(*connection_, ns),
      tasks_(*connection_, ns),
      promises_(*connection_, ns),
      compensations_(*connection_, ns),
      workers_(*connection_, ns),
      catalog_(file_, ns, std::move(open_another)) {}

Result<std::optional<RunRow>> ReadingStore::find_run(RunKey run) {
  PAWL_TRY_ASSIGN(const ReadLock lock, lock_reader());
  return runs_.find(run);
}

Result<std::optional<RunRow>> ReadingStore::find_run(std::string_view id,
                                                     std::optional<std::uint32_t> number) {
  PAWL_TRY_ASSIGN(const ReadLock lock, lock_reader());
  return number.has_value() ? runs_.find_numbered(id, *number) : runs_.find_newest(id);
}

Result<std::string> ReadingStore::read_input(RunKey run) {
  PAWL_TRY_ASSIGN(const ReadLock lock, lock_reader());
  return runs_.read_input(run);
}

Result<std::vector<Tag>> ReadingStore::read_tags(RunKey run) {
  PAWL_TRY_ASSIGN(const ReadLock lock, lock_reader());
  return runs_.read_tags(run);
}

Result<std::string> ReadingStore::read_reason(RunKey run) {
  PAWL_TRY_ASSIGN(const ReadLock lock, lock_reader());
  return runs_.read_reason(run);
}

Result<void> ReadingStore::read_log(RunKey run, std::uint64_t from_seq,
                                    const LogTable::Visit& visit) {
  PAWL_TRY_ASSIGN(const ReadLock lock, lock_reader());
  return log_.read(run, from_seq, visit);
}

Result<void> ReadingStore::read_last(RunKey run, const LogTable::Visit& visit) {
  PAWL_TRY_ASSIGN(const ReadLock lock, lock_reader());
  return log_.read_last(run, visit);
}

Result<void> ReadingStore::read_forgotten(RunKey run, const LogTable::Visit& visit) {
  PAWL_TRY_ASSIGN(const ReadLock lock, lock_reader());
  return log_.read_forgotten(run, visit);
}

Result<News> ReadingStore::read_news(WorkerKey worker, ArrivalKey after) {
  PAWL_TRY_ASSIGN(const ReadLock lock, lock_reader());
  News news;
  // First: whatever is not newer will be found, if it is for a run that is held.
  PAWL_TRY_ASSIGN(news.next, inbox_.last());
  PAWL_TRY_ASSIGN(news.arrivals, inbox_.read_held(worker, after));
  if (!news.arrivals.empty()) {
    news.next = std::max(news.next, news.arrivals.back().key);
  }
  return news;
}

Result<std::vector<Arrival>> ReadingStore::read_inbox_of(RunKey run) {
  PAWL_TRY_ASSIGN(const ReadLock lock, lock_reader());
  return inbox_.read(run);
}

Result<std::vector<Arrival>> ReadingStore::read_due_inbox(RunKey run, std::int64_t now_ms) {
  PAWL_TRY_ASSIGN(const ReadLock lock, lock_reader());
  return inbox_.read_due(run, now_ms);
}

Result<std::vector<CompensationRow>> ReadingStore::read_compensations(RunKey run) {
  PAWL_TRY_ASSIGN(const ReadLock lock, lock_reader());
  return compensations_.read(run);
}

Result<std::vector<std::string>> ReadingStore::read_promises(RunKey run) {
  PAWL_TRY_ASSIGN(const ReadLock lock, lock_reader());
  return promises_.read_open(run);
}

Result<std::vector<TaskRow>> ReadingStore::read_tasks(RunKey run) {
  PAWL_TRY_ASSIGN(const ReadLock lock, lock_reader());
  return tasks_.read(run);
}

Result<std::vector<RunRow>> ReadingStore::read_children(RunKey run) {
  PAWL_TRY_ASSIGN(const ReadLock lock, lock_reader());
  return runs_.read_children(run);
}

Result<std::string> ReadingStore::read_seal() {
  PAWL_TRY_ASSIGN(const Database::Rows rows,
                  catalog_.query("SELECT seal FROM pawl_namespace WHERE key = {ns}"));
  return rows.empty() ? std::string() : rows[0][0];
}

Result<std::int64_t> ReadingStore::next_wake(std::span<const std::string> kinds,
                                             std::span<const KindDefinition> left,
                                             std::int64_t after_ms) {
  PAWL_TRY_ASSIGN(const ReadLock lock, lock_reader());
  std::int64_t next = kNever;
  for (const std::string& kind : kinds) {
    PAWL_TRY_ASSIGN(const std::int64_t of_kind, has_kind(left, kind)
                                                    ? runs_.next_wake(kind, left, after_ms)
                                                    : runs_.next_wake(kind));
    next = std::min(next, of_kind);
  }
  return next;
}

Result<std::vector<KnownWorker>> ReadingStore::read_workers() {
  PAWL_TRY_ASSIGN(const ReadLock lock, lock_reader());
  return workers_.read_known();
}

Result<std::vector<TaskRow>> ReadingStore::due_tasks(std::int64_t now_ms, std::size_t limit,
                                                     std::int64_t* next_due) {
  PAWL_TRY_ASSIGN(const ReadLock lock, lock_reader());
  return tasks_.read_due(now_ms, limit, next_due);
}

}  // namespace pawl::store

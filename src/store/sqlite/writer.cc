#include "store/sqlite/writer.h"

#include <sqlite3.h>

#include <utility>
#include <variant>

#include "store/sqlite/size_check.h"

namespace pawl::store {

Writer::Writer(Connection& connection, const OpenedFile& file, std::int64_t ns,
               std::size_t payload_bytes_max)
    : connection_(connection),
      file_(file),
      ns_(ns),
      payload_bytes_max_(payload_bytes_max),
      runs_(connection, ns),
      log_(connection, ns),
      inbox_(connection, ns),
      tasks_(connection, ns),
      promises_(connection, ns),
      dedupe_(connection, ns),
      compensations_(connection, ns),
      workers_(connection, ns),
      begin_(connection, "BEGIN IMMEDIATE"),
      data_version_(connection, "PRAGMA data_version"),
      commit_(connection, "COMMIT"),
      has_rests_(connection,
                 "SELECT EXISTS(SELECT 1 FROM pawl_task WHERE ns = ?1 AND run = ?2) OR "
                 "EXISTS(SELECT 1 FROM pawl_promise WHERE ns = ?1 AND run = ?2) OR "
                 "EXISTS(SELECT 1 FROM pawl_inbox WHERE ns = ?1 AND run = ?2) OR "
                 "EXISTS(SELECT 1 FROM pawl_dedupe WHERE ns = ?1 AND chain = ?3) OR "
                 "EXISTS(SELECT 1 FROM pawl_reason WHERE run = ?2)"),
      rollback_(connection, "ROLLBACK"),
      savepoint_(connection, "SAVEPOINT pawl_turn"),
      undo_(connection, "ROLLBACK TO pawl_turn"),
      keep_(connection, "RELEASE pawl_turn") {
  // A COMMIT by a turn's callback becomes a rollback of the whole batch, which then is an error.
  sqlite3_commit_hook(
      connection.native(),
      [](void* writer) -> int { return static_cast<Writer*>(writer)->is_inside_ ? 1 : 0; }, this);
}

Writer::~Writer() { sqlite3_commit_hook(connection_.native(), nullptr, nullptr); }

Result<void> Writer::begin() {
  known_worker_ = 0;
  PAWL_TRY(Query(begin_).run());
  const Result<std::int64_t> version = read_version();
  if (!version.has_value()) {
    roll_back();
    return version.error();
  }
  if (*version != seen_version_) {
    seen_version_ = *version;
    runs_.forget_leases();
  }
  return {};
}

Result<std::int64_t> Writer::read_version() {
  Query query(data_version_);
  PAWL_TRY(query.step());
  return query.as_integer(0);
}

// As late as can be: a file that is removed after this might as well have been removed after the
// commit.
Result<void> Writer::commit() {
  Result<void> committed = file_.check();
  if (committed.has_value()) {
    committed = Query(commit_).run();
  }
  if (!committed.has_value()) {
    roll_back();
  }
  return committed;
}

// SQLite has rolled back by itself after some errors.
void Writer::roll_back() {
  runs_.forget_leases();
  if (connection_.in_transaction()) {
    static_cast<void>(Query(rollback_).run());
  }
}

Result<void> Writer::transact(const std::function<Result<void>()>& what_to_do) {
  PAWL_TRY(begin());
  Result<void> done = what_to_do();
  if (!done.has_value()) {
    roll_back();
    return done;
  }
  return commit();
}

Result<void> Writer::apply(std::span<Op> ops) {
  PAWL_TRY(check_sizes(ops, payload_bytes_max_));
  return transact([&]() -> Result<void> {
    for (Op& op : ops) {
      PAWL_TRY(std::visit([this](auto& one) { return run(one); }, op));
    }
    return {};
  });
}

Result<WorkerKey> Writer::add_worker(const WorkerInfo& info,
                                     const std::function<bool(WorkerKey)>& lock) {
  WorkerKey worker = 0;
  PAWL_TRY(transact([&]() -> Result<void> {
    PAWL_TRY_ASSIGN(worker, workers_.add(info));
    return lock(worker) ? workers_.mark_locked(worker) : Result<void>();
  }));
  own_workers_.insert(worker);
  concerns_others_ = true;  // They will have to look after it.
  return worker;
}

Result<void> Writer::remove_worker(WorkerKey worker, std::int64_t now_ms) {
  PAWL_TRY(remove_workers([&](const WorkerLease& row) { return row.key == worker; }, now_ms));
  own_workers_.erase(worker);
  return {};
}

Result<void> Writer::remove_workers(const std::function<bool(const WorkerLease&)>& is_dead,
                                    std::int64_t now_ms) {
  return transact([&]() -> Result<void> {
    PAWL_TRY_ASSIGN(const std::vector<WorkerLease> workers, workers_.read());
    for (const WorkerLease& worker : workers) {
      if (!is_dead(worker)) {
        continue;
      }
      PAWL_TRY(workers_.remove(worker.key));
      PAWL_TRY(runs_.free_runs(worker.key, now_ms));
      PAWL_TRY(tasks_.free_tasks(worker.key, now_ms));
      concerns_others_ = true;
    }
    return {};
  });
}

Result<std::vector<WorkerLease>> Writer::read_workers() { return workers_.read(); }

void Writer::concern_others_than(WorkerKey owner) {
  concerns_others_ = concerns_others_ || owner == 0 || !own_workers_.contains(owner);
}

}  // namespace pawl::store

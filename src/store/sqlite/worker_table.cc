#include "store/sqlite/worker_table.h"

namespace pawl::store {

WorkerTable::WorkerTable(Connection& connection, std::int64_t ns)
    : connection_(connection),
      ns_(ns),
      add_(connection,
           "INSERT INTO pawl_worker(ns, expires, locked, name, serves) VALUES(?,?,0,?,?)"),
      mark_locked_(connection, "UPDATE pawl_worker SET locked = 1 WHERE key = ?"),
      has_(connection, "SELECT 1 FROM pawl_worker WHERE key = ? AND ns = ?"),
      extend_(connection, "UPDATE pawl_worker SET expires = ? WHERE key = ? AND ns = ?"),
      remove_(connection, "DELETE FROM pawl_worker WHERE key = ? AND ns = ?"),
      read_(connection, "SELECT key, expires, locked FROM pawl_worker WHERE ns = ? ORDER BY key"),
      mark_(connection, kWorkersMark),
      read_known_(connection, "SELECT key, serves FROM pawl_worker WHERE ns = ? ORDER BY key") {}

Result<WorkerKey> WorkerTable::add(const WorkerInfo& info) {
  Query query(add_);
  query.integer(ns_).moment(info.expires_ms).text(info.name).text_or_null(info.serves);
  PAWL_TRY(query.run());
  return connection_.last_rowid();
}

Result<void> WorkerTable::mark_locked(WorkerKey worker) {
  return Query(mark_locked_).integer(worker).run();
}

Result<bool> WorkerTable::has(WorkerKey worker) {
  return Query(has_).integer(worker).integer(ns_).step();
}

Result<bool> WorkerTable::extend(WorkerKey worker, std::int64_t expires_ms) {
  PAWL_TRY(Query(extend_).moment(expires_ms).integer(worker).integer(ns_).run());
  return connection_.changes() > 0;
}

Result<void> WorkerTable::remove(std::span<const WorkerKey> workers) {
  for (const WorkerKey worker : workers) {
    PAWL_TRY(Query(remove_).integer(worker).integer(ns_).run());
  }
  return {};
}

Result<std::vector<WorkerLease>> WorkerTable::read() {
  std::vector<WorkerLease> workers;
  Query query(read_);
  query.integer(ns_);
  while (true) {
    PAWL_TRY_ASSIGN(const bool found, query.step());
    if (!found) {
      return workers;
    }
    workers.push_back({query.as_integer(0), query.as_moment(1), query.as_integer(2) != 0});
  }
}

Result<WorkersMark> WorkerTable::mark() {
  Query query(mark_);
  PAWL_TRY(query.integer(ns_).step());
  return WorkersMark{query.as_integer(0), query.as_integer(1)};
}

Result<std::vector<KnownWorker>> WorkerTable::read_known() {
  std::vector<KnownWorker> workers;
  Query query(read_known_);
  query.integer(ns_);
  while (true) {
    PAWL_TRY_ASSIGN(const bool found, query.step());
    if (!found) {
      return workers;
    }
    workers.push_back({query.as_integer(0), query.as_string(1)});
  }
}

}  // namespace pawl::store

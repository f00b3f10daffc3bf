#include "store/sqlite/writer.h"

#include <sqlite3.h>

#include <utility>

#include "store/operations/size_check.h"
#include "store/sqlite/sqlite_database.h"

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
      operations_(
          {*this, runs_, log_, inbox_, tasks_, promises_, dedupe_, compensations_, workers_},
          payload_bytes_max),
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
      read_seal_(connection, "SELECT seal FROM pawl_namespace WHERE key = ?"),
      write_seal_(connection, "UPDATE pawl_namespace SET seal = ? WHERE key = ?"),
      keep_(connection, "RELEASE pawl_turn") {
  // A COMMIT by a turn's callback becomes a rollback of the whole batch, which then is an error.
  sqlite3_commit_hook(
      connection.native(),
      [](void* writer) -> int { return static_cast<Writer*>(writer)->is_inside_ ? 1 : 0; }, this);
}

Writer::~Writer() { sqlite3_commit_hook(connection_.native(), nullptr, nullptr); }

Result<void> Writer::begin() {
  operations_.begin();
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
  return transact([&] { return operations_.apply(ops); });
}

Result<bool> Writer::change_seal(std::string_view expected, std::string_view next) {
  bool changed = false;
  PAWL_TRY(transact([&]() -> Result<void> {
    PAWL_TRY_ASSIGN(changed, operations_.change_seal(expected, next));
    return {};
  }));
  return changed;
}

Result<void> Writer::carry(std::string_view seal, std::span<CarryRun> runs) {
  PAWL_TRY(check_sizes(runs, payload_bytes_max_));
  return transact([&] { return operations_.carry(seal, runs); });
}

Result<void> Writer::append(std::string_view seal, const CarryLog& log) {
  PAWL_TRY(check_sizes(log, payload_bytes_max_));
  return transact([&] { return operations_.append(seal, log); });
}

Result<void> Writer::link(std::string_view seal, std::span<const CarryParent> links) {
  return transact([&] { return operations_.link(seal, links); });
}

// Who writes is alone.
Result<std::string> Writer::read_seal(Seals /*wanted*/) {
  Query query(read_seal_);
  PAWL_TRY(query.integer(ns_).step());
  return query.as_string(0);
}

Result<void> Writer::write_seal(std::string_view seal) {
  return Query(write_seal_).text_or_null(seal).integer(ns_).run();
}

Result<WorkerKey> Writer::add_worker(const WorkerInfo& info,
                                     const std::function<bool(WorkerKey)>& lock) {
  WorkerKey worker = 0;
  PAWL_TRY(transact([&]() -> Result<void> {
    PAWL_TRY_ASSIGN(worker, operations_.add_worker(info, lock));
    return {};
  }));
  operations_.own(worker);
  return worker;
}

Result<void> Writer::remove_worker(WorkerKey worker, std::int64_t now_ms) {
  PAWL_TRY(remove_workers([&](const WorkerLease& row) { return row.key == worker; }, now_ms));
  operations_.disown(worker);
  return {};
}

Result<void> Writer::remove_workers(const std::function<bool(const WorkerLease&)>& is_dead,
                                    std::int64_t now_ms) {
  return transact([&] { return operations_.remove_workers(is_dead, now_ms); });
}

Result<bool> Writer::has_rests(RunKey run, RunKey chain) {
  Query query(has_rests_);
  PAWL_TRY(query.integer(ns_).integer(run).integer(chain).step());
  return query.as_integer(0) != 0;
}

// Reading them one by one costs nothing more here.
Result<void> Writer::expect_claims(std::span<const RunKey> /*runs*/, std::int64_t /*now_ms*/) {
  return {};
}

Result<void> Writer::begin_part() { return Query(savepoint_).run(); }

Result<void> Writer::undo_part() {
  PAWL_TRY(Query(undo_).run());
  return Query(keep_).run();
}

Result<void> Writer::keep_part() { return Query(keep_).run(); }

Result<Result<void>> Writer::call(const Inside& function) {
  is_inside_ = true;
  SqliteDatabase database(connection_);
  Result<void> done = function(database);
  is_inside_ = false;
  if (!connection_.in_transaction()) {
    return make_error(done.has_value() ? ErrorCode::kInvalidState : ErrorCode::kStoreIo,
                      "the transaction was ended by a function that ran in it; nothing of the "
                      "batch was written" +
                          (done.has_value() ? "" : ": " + done.error().message));
  }
  return done;
}

}  // namespace pawl::store

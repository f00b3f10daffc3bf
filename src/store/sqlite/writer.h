// Writer: the transactions of a SQLite store. Every public call is one: when it returns an error,
// nothing has changed and the next call may be made. Used under the guard of its connection.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/result.h"
#include "store/operations/operations.h"
#include "store/sqlite/connection.h"
#include "store/sqlite/inbox_table.h"
#include "store/sqlite/log_table.h"
#include "store/sqlite/opened_file.h"
#include "store/sqlite/run_table.h"
#include "store/sqlite/side_tables.h"
#include "store/sqlite/task_table.h"
#include "store/sqlite/worker_table.h"
#include "store/store.h"

namespace pawl::store {

class Writer : private Transaction {
 public:
  // `file` is asked before each commit whether it is still there, and outlives the writer.
  Writer(Connection& connection, const OpenedFile& file, std::int64_t ns,
         std::size_t payload_bytes_max);
  ~Writer() override;
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  Result<void> apply(std::span<Op> ops);
  Result<WorkerKey> add_worker(const WorkerInfo& info, const std::function<bool(WorkerKey)>& lock);
  Result<void> remove_worker(WorkerKey worker, std::int64_t now_ms);
  // `is_dead` is asked in the transaction.
  Result<void> remove_workers(const std::function<bool(const WorkerLease&)>& is_dead,
                              std::int64_t now_ms);
  // As of a MovableStore.
  Result<bool> change_seal(std::string_view expected, std::string_view next);
  Result<void> carry(std::string_view seal, std::span<CarryRun> runs);
  Result<void> append(std::string_view seal, const CarryLog& log);
  Result<void> link(std::string_view seal, std::span<const CarryParent> links);
  Result<std::vector<WorkerLease>> read_workers() { return workers_.read(); }

  // Whether something that was committed since expect_no_concern() may concern other stores.
  bool concerns_others() const {
    return operations_.concerns_others() || operations_.has_ended_runs();
  }
  void expect_no_concern() { operations_.expect_no_concern(); }

 private:
  Result<void> transact(const std::function<Result<void>()>& what_to_do);
  Result<void> begin();
  Result<std::int64_t> read_version();
  Result<void> commit();
  void roll_back();

  Result<bool> has_rests(RunKey run, RunKey chain) override;
  Result<void> expect_claims(std::span<const RunKey> runs, std::int64_t now_ms) override;
  Result<std::string> read_seal(Seals wanted) override;
  Result<void> write_seal(std::string_view seal) override;
  Result<void> begin_part() override;
  Result<void> undo_part() override;
  Result<void> keep_part() override;
  Result<Result<void>> call(const Inside& function) override;

  Connection& connection_;
  const OpenedFile& file_;
  std::int64_t ns_;
  std::size_t payload_bytes_max_;
  RunTable runs_;
  LogTable log_;
  InboxTable inbox_;
  TaskTable tasks_;
  PromiseTable promises_;
  DedupeTable dedupe_;
  CompensationTable compensations_;
  WorkerTable workers_;
  Operations operations_;
  Statement begin_;
  Statement data_version_;
  Statement commit_;
  Statement has_rests_;
  Statement rollback_;
  Statement savepoint_;
  Statement undo_;
  Statement read_seal_;
  Statement write_seal_;
  Statement keep_;

  std::int64_t seen_version_ = 0;  // Changes when another connection has written.
  bool is_inside_ = false;         // A turn's callback runs: it must not end the transaction.
};

}  // namespace pawl::store

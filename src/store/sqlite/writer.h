// Writer: the operations of a store on its tables. Every public call is one transaction: when it
// returns an error, nothing has changed and the next call may be made. Used under the guard of its
// connection.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
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

class Writer {
 public:
  // `file` is asked before each commit whether it is still there, and outlives the writer.
  Writer(Connection& connection, const OpenedFile& file, std::int64_t ns,
         std::size_t payload_bytes_max);
  ~Writer();
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  Result<void> apply(std::span<Op> ops);

  // `lock` is called before anybody can see the worker; false: it can only be told by its expiry
  // whether it lives.
  Result<WorkerKey> add_worker(const WorkerInfo& info, const std::function<bool(WorkerKey)>& lock);
  Result<void> remove_worker(WorkerKey worker, std::int64_t now_ms);
  // Frees what those workers hold that `is_dead` says so of; it is asked in the transaction.
  Result<void> remove_workers(const std::function<bool(const WorkerLease&)>& is_dead,
                              std::int64_t now_ms);
  Result<std::vector<WorkerLease>> read_workers();

  // Whether something that was committed since expect_no_concern() may concern other stores.
  bool concerns_others() const { return concerns_others_; }
  void expect_no_concern() { concerns_others_ = false; }

 private:
  Result<void> transact(const std::function<Result<void>()>& what_to_do);
  Result<void> begin();
  Result<std::int64_t> read_version();
  Result<void> commit();
  void roll_back();

  // writer_runs.cc
  Result<void> run(StartRun& op);
  Result<void> run(Claim& op);
  Result<void> run(ClaimDue& op);
  Result<void> run(ClaimStuck& op);
  Result<void> run(Resume& op);
  Result<void> run(Terminate& op);
  Result<void> run(Heartbeat& op);
  Result<void> start_new(StartRun& op, std::uint32_t number);
  Result<void> signal_started(StartRun& op);
  Result<void> take(Claim& op, RunRow row);
  // Adds a claim of a run that can be claimed.
  Result<void> take(std::vector<Claim>& claims, RunKey run, WorkerKey worker, std::int64_t now_ms);
  Result<std::optional<RunHead>> find_target(RunKey run, std::string_view run_id);
  Result<bool> is_known(WorkerKey worker);

  // How a run ends.
  struct End {
    RunStatus status{};
    const NewArrival* for_parent = nullptr;
    std::int64_t now_ms = 0;
  };
  // Ends a run that is open, and does to its children what they are to suffer.
  Result<void> end_run(const RunHead& run, const End& end, Touched& others);
  Result<void> close(const RunHead& run, const End& end, Touched& others);
  // Most runs leave nothing but their log: one look is cheaper than deleting nothing five times.
  Result<bool> has_rests(const RunHead& run);
  Result<void> remove_rests(const RunHead& run, RunStatus status);
  // Returns those to be terminated.
  Result<std::vector<RunHead>> leave_children(const RunHead& run, std::int64_t now_ms,
                                              Touched& others);
  Result<void> terminate(const RunHead& run, std::string_view payload, std::int64_t now_ms,
                         Touched& others);
  Result<void> append_failure(RunKey run, std::string_view payload, std::int64_t now_ms);

  // writer_inbox.cc
  struct Sent {
    SendOutcome outcome{};
    ArrivalKey key = 0;
  };
  Result<void> run(Send& op);
  Result<Sent> send(const RunHead& target, const NewArrival& arrival, std::string_view dedupe,
                    std::int64_t now_ms);
  // Puts it into the inbox of an open run, and wakes that.
  Result<ArrivalKey> deliver(const RunHead& target, const NewArrival& arrival, std::int64_t now_ms);
  Result<std::optional<Claim>> claim_for(WorkerKey worker, RunKey run, std::int64_t now_ms);

  // writer_tasks.cc
  Result<void> run(TakeTasks& op);
  Result<void> run(ChangeTask& op);
  Result<void> finish_task(ChangeTask& op, RunKey run);

  // writer_upkeep.cc
  Result<void> run(Pause& op);
  Result<void> run(Hurry& op);
  Result<void> run(DeleteRun& op);
  Result<void> run(CreateRun& op);
  // Whether its parent or a child is open.
  Result<bool> is_needed(const RunHead& run);
  // Whether a run that it recurred to is open: ids of signals that were taken belong to it, too.
  Result<bool> is_chain_open(const RunHead& run);
  Result<void> add_parts(RunKey run, const CreateRun& op);

  // writer_turn.cc
  Result<void> run(CommitTurn& turn);
  Result<void> run_inside(CommitTurn& turn);
  Result<void> call_inside(CommitTurn& turn);
  Result<void> write(CommitTurn& turn);
  Result<void> forget(const CommitTurn& turn);
  Result<void> change_inbox(CommitTurn& turn);
  Result<void> bounce(CommitTurn& turn, NewArrival arrival);
  Result<void> change_tasks(CommitTurn& turn);
  Result<void> change_promises(const CommitTurn& turn);
  Result<void> start_children(CommitTurn& turn);
  Result<void> start_child(CommitTurn& turn, const NewRun& child);
  Result<void> send_outgoing(CommitTurn& turn);
  Result<void> change_rest(const CommitTurn& turn);
  Result<void> end(CommitTurn& turn, const Ending& ending);
  Result<void> start_compensating(const CommitTurn& turn, const Ending& ending);
  Result<void> recur(CommitTurn& turn, const Ending& ending, const RunHead& run);
  Result<void> release(CommitTurn& turn);

  void concern_others_than(WorkerKey owner);

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
  Statement begin_;
  Statement data_version_;
  Statement commit_;
  Statement has_rests_;
  Statement rollback_;
  Statement savepoint_;
  Statement undo_;
  Statement keep_;

  std::set<WorkerKey> own_workers_;
  WorkerKey known_worker_ = 0;     // Seen in this transaction.
  std::int64_t seen_version_ = 0;  // Changes when another connection has written.
  bool concerns_others_ = false;
  bool is_inside_ = false;  // A turn's callback runs: it must not end the transaction.
};

}  // namespace pawl::store

// Operations: what the operations of a store do to its tables. Every call happens inside a
// transaction that its caller begins and ends; after an error that is to be rolled back.
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
#include "store/movable_store.h"
#include "store/operations/tables.h"
#include "store/store.h"

namespace pawl::store {

class Operations {
 public:
  Operations(Tables tables, std::size_t payload_bytes_max)
      : transaction_(tables.transaction),
        runs_(tables.runs),
        log_(tables.logs),
        inbox_(tables.inboxes),
        tasks_(tables.tasks),
        promises_(tables.promises),
        dedupe_(tables.dedupes),
        compensations_(tables.compensations),
        workers_(tables.workers),
        payload_bytes_max_(payload_bytes_max) {}

  // To be called at the beginning of each transaction.
  void begin() { known_worker_ = 0; }

  Result<void> apply(std::span<Op> ops);

  // `lock` is called before anybody can see the worker; false: it can only be told by its expiry
  // whether it lives.
  Result<WorkerKey> add_worker(const WorkerInfo& info, const std::function<bool(WorkerKey)>& lock);
  // Frees what those workers hold that `is_dead` says so of.
  Result<void> remove_workers(const std::function<bool(const WorkerLease&)>& is_dead,
                              std::int64_t now_ms);

  // As of a MovableStore.
  Result<bool> change_seal(std::string_view expected, std::string_view next);
  Result<void> carry(std::string_view seal, std::span<CarryRun> runs);
  Result<void> append(std::string_view seal, const CarryLog& log);
  Result<void> link(std::string_view seal, std::span<const CarryParent> links);

  // Workers of this store: what concerns them concerns nobody else.
  void own(WorkerKey worker) { own_workers_.insert(worker); }
  void disown(WorkerKey worker) { own_workers_.erase(worker); }

  // Whether something that was done since expect_no_concern() may concern other stores; and whether
  // runs have ended, which concerns those that wait for them.
  bool concerns_others() const { return concerns_others_; }
  bool has_ended_runs() const { return has_ended_runs_; }
  void expect_no_concern() { concerns_others_ = has_ended_runs_ = false; }

 private:
  // runs.cc
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
  // Adds claims of runs that can be claimed.
  Result<void> take(std::vector<Claim>& claims, std::span<const RunKey> runs, WorkerKey worker,
                    std::int64_t now_ms);
  Result<std::optional<RunHead>> find_target(RunKey run, std::string_view run_id);
  // Of what is done to an open run: sets `target` and `outcome`. None: there is nothing to do.
  template <class T>
  Result<std::optional<RunHead>> find_open_target(T& op);
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
  Result<void> remove_rests(const RunHead& run, RunStatus status);
  // Returns those to be terminated.
  Result<std::vector<RunHead>> leave_children(const RunHead& run, std::int64_t now_ms,
                                              Touched& others);
  Result<void> terminate(const RunHead& run, std::string_view payload, std::int64_t now_ms,
                         Touched& others);
  Result<void> append_failure(RunKey run, std::string_view payload, std::int64_t now_ms);

  // inbox.cc
  struct Sent {
    SendOutcome outcome{};
    ArrivalKey key = 0;
  };
  Result<void> run(Send& op);
  Result<Sent> send(const RunHead& target, const NewArrival& arrival, std::string_view dedupe,
                    std::int64_t now_ms);
  // Puts it into the inbox of an open run, and wakes that.
  Result<ArrivalKey> deliver(const RunHead& target, const NewArrival& arrival, std::int64_t now_ms);
  // As `claim_for` and `claim_as` of `op` say.
  template <class T>
  Result<std::optional<Claim>> claim_for(const T& op, RunKey run);

  // tasks.cc
  Result<void> run(TakeTasks& op);
  Result<void> run(ChangeTask& op);
  Result<void> finish_task(ChangeTask& op, RunKey run);

  // upkeep.cc
  Result<void> run(Pause& op);
  Result<void> run(Hurry& op);
  Result<void> run(DeleteRun& op);
  Result<void> run(CreateRun& op);
  // Whether its parent or a child is open.
  Result<bool> is_needed(const RunHead& run);
  // Whether a run that it recurred to is open: ids of signals that were taken belong to it, too.
  Result<bool> is_chain_open(const RunHead& run);
  // What is stored of it besides its row, input, tags and log.
  Result<void> add_parts(RunKey run, const RunImage& image);

  // carry.cc
  Result<void> check_seal(std::string_view seal);
  Result<void> check_open(Transaction::Seals wanted);
  Result<void> carry(CarryRun& op);
  Result<void> append(RunKey run, std::span<const replay::Entry> entries,
                      std::span<const MovedAway> moved_away);

  // turn.cc
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

  Transaction& transaction_;
  Runs& runs_;
  Logs& log_;
  Inboxes& inbox_;
  Tasks& tasks_;
  Promises& promises_;
  Dedupes& dedupe_;
  Compensations& compensations_;
  Workers& workers_;
  std::size_t payload_bytes_max_;

  std::set<WorkerKey> own_workers_;
  WorkerKey known_worker_ = 0;  // Seen in this transaction.
  bool concerns_others_ = false;
  bool has_ended_runs_ = false;
};

template <class T>
Result<std::optional<Claim>> Operations::claim_for(const T& op, RunKey run_key) {
  Claim claim;
  claim.run = run_key;
  claim.worker = op.claim_for;
  claim.definition = op.claim_as;
  claim.now_ms = op.now_ms;
  if (op.claim_for != 0) {
    PAWL_TRY(run(claim));
  }
  return claim.claimed ? std::optional<Claim>(std::move(claim)) : std::nullopt;
}

template <class T>
Result<std::optional<RunHead>> Operations::find_open_target(T& op) {
  op.target = 0;
  PAWL_TRY_ASSIGN(std::optional<RunHead> head, find_target(op.run, op.run_id));
  if (!head.has_value()) {
    op.outcome = SendOutcome::kNoRun;
    return head;
  }
  op.target = head->key;
  op.outcome = is_closed(head->status) ? SendOutcome::kClosed : SendOutcome::kSent;
  return op.outcome == SendOutcome::kSent ? head : std::nullopt;
}

}  // namespace pawl::store

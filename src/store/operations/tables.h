// What the operations of a store need of its database, table by table. Each kind of database
// implements it; what an operation means is written once, in Operations.
//
// All calls belong to one transaction, which whoever calls Operations begins and ends. What was
// written in it is seen by the calls that follow.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "store/rows.h"
#include "store/run_image.h"
#include "store/store.h"

namespace pawl::store {

// Who may append to a run.
struct Lease {
  WorkerKey owner = 0;
  std::int64_t epoch = 0;
  bool is_paused = false;
};

// Of a run's row or head: whether a worker may take it.
template <class Run>
bool can_be_claimed(const Run& run) {
  return run.owner == 0 && !run.is_paused && !is_closed(run.status) &&
         run.status != RunStatus::kBlocked;
}

// What is needed of a run to send something to it.
struct RunHead {
  RunKey key = 0;
  RunStatus status{};
  WorkerKey owner = 0;
  std::int64_t wake_ms = kNever;
  RunKey chain = 0;  // The first of the runs that recurred to this one, maybe itself.
  bool is_paused = false;
  Parent parent;
};

struct Release {
  RunKey run = 0;
  RunStatus status{};
  std::string_view waiting_for;
  std::int64_t wake_ms = kNever;
  // What is in its inbox and not kept wakes it, too; and if that is due already, it is not given
  // back.
  bool heeds_inbox = false;
  std::int64_t now_ms = 0;
};

// What is due, and who works.
struct Due {
  std::vector<RunKey> runs;
  WorkersMark workers;
};

// Runs with their inputs, tags and reasons.
class Runs {
 public:
  virtual ~Runs() = default;

  virtual Result<std::optional<RunRow>> find(RunKey run) = 0;
  virtual Result<std::optional<RunRow>> find_newest(std::string_view id) = 0;
  virtual Result<std::optional<RunHead>> find_head(RunKey run) = 0;
  virtual Result<std::optional<RunHead>> find_newest_head(std::string_view id) = 0;
  // Of a run that must be there, since something else in the database says so: kStoreCorrupt if
  // not.
  virtual Result<RunRow> get(RunKey run) = 0;
  virtual Result<RunHead> get_head(RunKey run) = 0;
  // None: there is no such run.
  virtual Result<std::optional<Lease>> find_lease(RunKey run) = 0;

  // `owner` 0: it is to be claimed at once. `chain` 0: it is the first of its own.
  virtual Result<RunRow> add(const NewRun& run, std::uint32_t number, RunKey chain, WorkerKey owner,
                             std::int64_t now_ms) = 0;
  // Puts a run as it is, but for its key; it is the first of its chain.
  virtual Result<RunRow> add_as_is(RunRow row, std::string_view input,
                                   std::span<const Tag> tags) = 0;
  virtual Result<void> set_parent(RunKey run, const Parent& parent) = 0;
  // With its input, tags and reason.
  virtual Result<void> remove(RunKey run) = 0;

  // Changes `row`, which can be claimed, with what is stored.
  virtual Result<void> claim(RunRow& row, WorkerKey worker, std::int64_t now_ms) = 0;
  // Gives it back. Both answers are there when the transaction has ended, maybe not before.
  virtual Result<void> release(const Release& release, bool& released, std::int64_t& wake_ms) = 0;
  virtual Result<void> close(RunKey run, RunStatus status, std::int64_t now_ms) = 0;
  virtual Result<void> start_compensating(RunKey run, RunStatus goal, std::int64_t now_ms) = 0;
  virtual Result<void> set_definition(RunKey run, std::string_view definition) = 0;
  // Wakes it at `due_ms`, if nothing else does so before; a run that cannot be claimed is left
  // alone.
  virtual Result<void> wake(const RunHead& head, std::int64_t due_ms) = 0;
  // Of a run that nobody holds: it is to be claimed now. A blocked one is approved by that.
  virtual Result<void> resume(RunKey run, std::int64_t now_ms) = 0;
  // Nobody claims it any more; or it is to be claimed now, if it can be.
  virtual Result<void> pause(RunKey run) = 0;
  virtual Result<void> unpause(const RunHead& head, std::int64_t now_ms) = 0;
  // Runs of these workers are to be claimed now.
  virtual Result<void> free_runs(std::span<const WorkerKey> workers, std::int64_t now_ms) = 0;

  // Those that ClaimDue is for, longest due first, each once; and, as seen after that, who works.
  virtual Result<Due> find_due(const ClaimDue& op) = 0;
  // Up to `limit` blocked ones that ClaimStuck is for because of one of its codes, in order of key.
  virtual Result<std::vector<RunKey>> find_blocked(const ClaimStuck& op,
                                                   const ClaimStuck::Code& code) = 0;
  // The same for those that need an activity.
  virtual Result<std::vector<RunKey>> find_needing(std::string_view activity, RunKey after,
                                                   std::size_t limit) = 0;
  // Open ones, in order of key.
  virtual Result<std::vector<RunHead>> read_child_heads(RunKey run) = 0;
  virtual Result<bool> has_open_child(RunKey run) = 0;

  virtual Result<std::vector<Tag>> read_tags(RunKey run) = 0;
  virtual Result<void> set_reason(RunKey run, std::string_view reason,
                                  const std::optional<std::string>& blocked_by) = 0;
  virtual Result<void> set_needs(RunKey run, std::string_view activity) = 0;
  virtual Result<void> remove_reason(RunKey run) = 0;
};

// The log of each run, and what loops have moved away from it.
class Logs {
 public:
  virtual ~Logs() = default;

  // False: an entry with one of these seqs is there already; then none of them has been added.
  virtual Result<bool> append(RunKey run, std::span<const replay::Entry> entries) = 0;
  // Moves entries away, ascending seqs, on behalf of a loop that has finished `iteration`
  // iterations; and drops what this loop moved away kKeptIterations ago.
  virtual Result<void> forget(RunKey run, std::span<const std::uint64_t> seqs,
                              std::string_view loop, std::int64_t iteration) = 0;
  virtual Result<void> remove_all(RunKey run) = 0;
  // 0: the log is empty.
  virtual Result<std::uint64_t> last_seq(RunKey run) = 0;
};

// How many iterations of a loop are kept after they have been moved away.
inline constexpr std::int64_t kKeptIterations = 100;

// What waits for runs.
class Inboxes {
 public:
  virtual ~Inboxes() = default;

  // By whoever holds the run and so knows of it, or by others.
  enum class By : std::uint8_t { kHolder, kOthers };
  virtual Result<ArrivalKey> put(RunKey run, const NewArrival& arrival, By by) = 0;
  virtual Result<void> put_stored(RunKey run, const StoredArrival& arrival) = 0;
  virtual Result<void> consume(RunKey run, ArrivalKey key) = 0;
  // It stays, but is no reason to wake.
  virtual Result<void> keep(RunKey run, ArrivalKey key) = 0;
  // By kind and id; SignalTimedOut: by location.
  virtual Result<void> withdraw(RunKey run, std::uint8_t kind, std::string_view id) = 0;
  virtual Result<void> remove_all(RunKey run) = 0;
  // Signals and cancel requests go over, behind what is there.
  virtual Result<void> move_free_ones(RunKey from, RunKey to) = 0;
  // Attempts of operations that are due later are due now. Returns how many.
  virtual Result<std::int64_t> hurry(RunKey run, std::int64_t now_ms) = 0;
  // What is due and not kept.
  virtual Result<std::vector<Arrival>> read_due(RunKey run, std::int64_t now_ms) = 0;
};

// What ChangeTask needs to know.
struct TaskHead {
  RunKey run = 0;
  TaskState state{};
  std::uint32_t attempt = 0;
  WorkerKey owner = 0;
  bool cancel_requested = false;
};

struct TaskChange {
  TaskState state{};
  WorkerKey owner = 0;
  std::int64_t due_ms = kNever;
  const std::string* details = nullptr;  // None: as it was.
  const std::string* last_error = nullptr;
};

class Tasks {
 public:
  virtual ~Tasks() = default;

  // One with the same run and id that is there already stays as it is.
  virtual Result<void> add(RunKey run, const NewTask& task, std::int64_t now_ms) = 0;
  // As it is, but for its key and owner.
  virtual Result<void> add_as_is(RunKey run, const TaskRow& task) = 0;
  // Delayed ones are due now. Returns how many.
  virtual Result<std::int64_t> hurry(RunKey run, std::int64_t now_ms) = 0;
  // True: it was waiting, and is gone. False: it runs and is told, or there is none.
  virtual Result<bool> cancel(RunKey run, std::string_view id) = 0;
  virtual Result<void> remove(RunKey run, TaskKey task) = 0;
  virtual Result<void> remove_all(RunKey run) = 0;
  // Takes ready ones for a worker, highest priority first, then oldest.
  virtual Result<std::vector<TaskRow>> take(std::string_view queue,
                                            std::span<const std::string> types, WorkerKey worker,
                                            std::size_t limit, std::int64_t now_ms) = 0;
  virtual Result<void> change(RunKey run, TaskKey task, const TaskChange& change) = 0;
  // Tasks of these workers belong to nobody and are due now.
  virtual Result<void> free_tasks(std::span<const WorkerKey> workers, std::int64_t now_ms) = 0;
  virtual Result<std::optional<TaskHead>> find_head(TaskKey task) = 0;
};

enum class PromiseState : std::uint8_t { kNone, kOpen, kResolved };

class Promises {
 public:
  virtual ~Promises() = default;

  // One that is there already stays as it is.
  virtual Result<void> open(RunKey run, std::string_view name) = 0;
  virtual Result<PromiseState> find(RunKey run, std::string_view name) = 0;
  virtual Result<void> resolve(RunKey run, std::string_view name) = 0;
  virtual Result<void> remove_all(RunKey run) = 0;
};

// Ids of signals that were taken, kept for a chain of runs: all that recur to one another.
class Dedupes {
 public:
  virtual ~Dedupes() = default;

  virtual Result<bool> has(RunKey chain, std::string_view id) = 0;
  virtual Result<void> add(RunKey chain, std::string_view id) = 0;
  virtual Result<void> remove_all(RunKey chain) = 0;
};

class Compensations {
 public:
  virtual ~Compensations() = default;

  virtual Result<void> add(RunKey run, const CompensationRow& row) = 0;
  virtual Result<void> change(RunKey run, const CompensationChange& change) = 0;
  virtual Result<void> remove_all(RunKey run) = 0;
  // Open ones that are due later are due now. Returns how many.
  virtual Result<std::int64_t> hurry(RunKey run, std::int64_t now_ms) = 0;
};

struct WorkerLease {
  WorkerKey key = 0;
  std::int64_t expires_ms = kNever;
  bool is_locked = false;  // Its process holds a lock for as long as it lives.
};

// Workers that are known, and when they expire.
class Workers {
 public:
  virtual ~Workers() = default;

  virtual Result<WorkerKey> add(const WorkerInfo& info) = 0;
  virtual Result<void> mark_locked(WorkerKey worker) = 0;
  virtual Result<bool> has(WorkerKey worker) = 0;
  // False: there is no such worker.
  virtual Result<bool> extend(WorkerKey worker, std::int64_t expires_ms) = 0;
  virtual Result<void> remove(std::span<const WorkerKey> workers) = 0;
  // In order of their keys.
  virtual Result<std::vector<WorkerLease>> read() = 0;
  virtual Result<WorkersMark> mark() = 0;
};

// What is about the whole transaction.
class Transaction {
 public:
  virtual ~Transaction() = default;

  // Whether anything is stored of a run besides its row, input, tags and log: most runs leave
  // nothing else, and one look is cheaper than deleting nothing five times.
  virtual Result<bool> has_rests(RunKey run, RunKey chain) = 0;
  // These runs are about to be claimed: what is due for them may be read at once.
  virtual Result<void> expect_claims(std::span<const RunKey> runs, std::int64_t now_ms) = 0;

  // The namespace's seal, see seal.h; empty: none. It stays so until the transaction ends, unless
  // it is only looked at: then a seal may also be found by the commit, which fails.
  enum class Seals : std::uint8_t { kToLook, kToKeep, kToChange };
  virtual Result<std::string> read_seal(Seals wanted) = 0;
  virtual Result<void> write_seal(std::string_view seal) = 0;

  // A part of the transaction that can be taken back.
  virtual Result<void> begin_part() = 0;
  virtual Result<void> undo_part() = 0;
  virtual Result<void> keep_part() = 0;
  // Calls `function` with the database. The outer error: the transaction is over, since
  // the function has ended it.
  using Inside = std::function<Result<void>(Database& database)>;
  virtual Result<Result<void>> call(const Inside& function) = 0;
};

struct Tables {
  Transaction& transaction;
  Runs& runs;
  Logs& logs;
  Inboxes& inboxes;
  Tasks& tasks;
  Promises& promises;
  Dedupes& dedupes;
  Compensations& compensations;
  Workers& workers;
};

}  // namespace pawl::store

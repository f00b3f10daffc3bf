// Store: where runs live. Small and batch-shaped: all writes are operations that commit together,
// so that many runs share one sync to disk, and one round trip where there is a network.
//
// A store belongs to one namespace; several may be open on one database, in one process or many.
// Thread-safe; calls may block.
//
// Errors of every call, after which nothing has changed unless said otherwise:
//   kStoreBusy       somebody else holds the database; try again
//   kStoreFull       no space left; try again when there is
//   kStoreIo         the medium or the connection failed; try again
//   kStoreCorrupt    what is stored is damaged: stop, and restore a copy
//   kStoreUnusable   wrong file, newer schema, missing rights, or the file was removed or replaced:
//                    nothing will help but a person
//   kLimitExceeded   a payload or name is too large
//   kUnknownOutcome  the connection was lost during a commit, which may or may not have happened
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "replay/entry.h"
#include "store/catalog.h"
#include "store/database.h"
#include "store/rows.h"
#include "store/run_image.h"

namespace pawl::store {

// --- Operations ----------------------------------------------------------------------------------
// Each has what it needs, then what came of it. One whose condition does not hold changes nothing
// and says so; the others of its batch are not concerned.

// Other runs than the one that an operation is about.
struct Touched {
  std::vector<RunKey> closed;  // Ended by it, and to be dropped by whoever has them.
  std::vector<RunKey> woken;   // Got something to do by it.
};

enum class OnExisting : std::uint8_t {
  kReturn,   // Whatever became of it. One of another kind is refused.
  kFail,     // Unless there is none.
  kReplace,  // An open one is terminated; the new one has the next number.
};

enum class StartOutcome : std::uint8_t { kStarted, kExisting, kRefused };

// Starts a run, unless one with this id is there.
struct StartRun {
  NewRun run;
  OnExisting on_existing = OnExisting::kReturn;
  WorkerKey owner = 0;               // Claimed for this worker at once; 0: for anyone.
  std::optional<NewArrival> signal;  // Sent to it, new or not, unless it is closed.
  std::string dedupe;                // Of the signal, as in Send.
  std::int64_t now_ms = 0;

  StartOutcome outcome{};
  RunRow row;              // The new run, or the existing one.
  ArrivalKey arrival = 0;  // Of the signal, if it was put.
  Touched others;          // kReplace: the replaced run is among them.
};

// Takes a run for a worker. What is due for it comes with it.
struct Claim {
  RunKey run = 0;
  WorkerKey worker = 0;
  // If given: the definition that the worker has. A run that was recorded under another one is not
  // claimed: whose it is, is for ClaimDue to say.
  std::optional<std::string> definition;
  std::int64_t now_ms = 0;

  // False: somebody owns it, or it is closed, blocked or gone, or the worker is not known (any
  // more).
  bool claimed = false;
  RunRow row;
  // What is due and was not kept: what whoever had the run before may not know of. The rest, which
  // may be a lot, is there for read_inbox_of().
  std::vector<Arrival> inbox;
};

// Which workers there are: another one whenever one has come or gone.
struct WorkersMark {
  WorkerKey newest = 0;
  std::int64_t count = 0;

  friend bool operator==(const WorkersMark&, const WorkersMark&) = default;
};

// Takes up to `limit` runs of these kinds whose time to wake has come, longest due first.
struct ClaimDue {
  std::vector<std::string> kinds;
  // Runs that were recorded under one of these are left to other workers, which have that code.
  std::vector<KindDefinition> left;
  // Those that `left` takes into account, if any: if there are others now, nothing is claimed,
  // since they may have code that runs are to be left to.
  std::optional<WorkersMark> considered;
  WorkerKey worker = 0;
  std::size_t limit = 0;
  std::int64_t now_ms = 0;

  bool known = true;          // False: the worker was declared dead, as in Heartbeat.
  WorkersMark workers;        // As there are now, if this one is known.
  std::vector<Claim> claims;  // All claimed.
};

// Takes up to `limit` runs that others could not go on with and that this worker may be able to,
// in order of their keys. Nothing else wakes them.
struct ClaimStuck {
  // Of runs that code has blocked: the code that this worker has for them.
  struct Code {
    std::string kind;
    // Fingerprint: what the same code has blocked stays blocked. Empty: it is not known which code
    // this is, so it may be another one.
    std::string definition;
    bool only_own = false;  // Only runs that were recorded under this definition, which is known.
  };
  std::vector<Code> codes;
  // As in ClaimDue; but what the very code of a run has blocked is not left to it.
  std::vector<KindDefinition> left;
  std::optional<WorkersMark> considered;
  std::vector<std::string> activities;  // Of runs that need one, of any kind: those that it has.
  RunKey after = 0;                     // Only runs behind this one.
  WorkerKey worker = 0;
  std::size_t limit = 0;
  std::int64_t now_ms = 0;

  bool known = true;          // As in ClaimDue.
  WorkersMark workers;        // The same.
  std::vector<Claim> claims;  // All claimed.
};

// Sent to another run as part of a turn. To whom it cannot be delivered is not told.
struct Outgoing {
  std::string run_id;
  NewArrival arrival;
  std::string dedupe;
};

struct Ending {
  RunStatus status{};  // Closed; or kCompensating, then `goal` and `compensations` are given.
  RunStatus goal{};
  std::vector<CompensationRow> compensations;
  // kCompleted, kFailed, kCancelled: told to the parent, if there is one, when the run is closed.
  std::optional<NewArrival> for_parent;
  // kRecurred: the next run. What is in the inbox and not due to one command moves there, and
  // `signals` are put before it.
  std::optional<NewRun> next;
  std::vector<NewArrival> signals;
};

struct CompensationChange {
  std::uint32_t position = 0;
  CompensationState state{};
  std::uint32_t attempt = 0;
  std::int64_t due_ms = 0;
  std::string outcome;
};

// One turn of a run: all or nothing, and only by the worker that holds the run. A worker commits
// its turns by the store that has added it.
struct CommitTurn {
  RunKey run = 0;
  WorkerKey worker = 0;
  std::int64_t epoch = 0;
  std::int64_t now_ms = 0;

  // Views borrowed until the batch is done; `texts` is what they may point into.
  std::vector<replay::Entry> entries;
  std::shared_ptr<void> texts;
  std::vector<std::uint64_t> forgotten;  // Seqs to move away, ascending; may be among `entries`.
  std::vector<ArrivalKey> consumed;
  // Seen and left in the inbox, because the code has no use for them now. They are no reason to
  // stay awake: `release` and the time to wake pass them over.
  std::vector<ArrivalKey> kept;
  std::vector<NewArrival> arrivals;  // For this run: deadlines, mostly.
  // Arrivals of this run to take back, by kind and id (SignalTimedOut: by location); done before
  // `arrivals` are put.
  std::vector<std::pair<std::uint8_t, std::string>> withdrawn;
  std::vector<NewTask> tasks;
  // By id. One that waits is gone, and TaskCancelled is put into the run's inbox; one that runs is
  // told (ChangeTask::cancel_requested).
  std::vector<std::string> cancelled_tasks;
  std::vector<std::string> promises;  // Names, opened now.
  std::vector<NewRun> children;       // With `parent` set.
  std::vector<Outgoing> outgoing;
  std::vector<CompensationChange> compensation_changes;

  std::optional<std::string> definition;  // Fingerprint from now on.
  std::optional<Ending> ending;
  // Gives the run back, waiting or blocked; `wake_ms` at the latest wakes it (kBlocked: never), and
  // is set to when something in the inbox does so before. Not done, and said so, if something in
  // the inbox is due that the turn has not consumed; one that is blocked or
  // compensates does not mind.
  bool release = false;
  RunStatus status = RunStatus::kRunning;
  std::string waiting_for;
  std::int64_t wake_ms = kNever;
  std::string reason;  // kBlocked: why, for people. kFailed: what `read_reason` gives.
  // kBlocked: the fingerprint of the code that is to blame, empty if that is unknown. None: another
  // code would not help.
  std::optional<std::string> blocked_by;
  // kCompensating: the activity that this worker does not have and that is to run next.
  std::string needs;

  // If set: called inside the transaction, once the lease has been checked and before anything is
  // written; may use the database and fill in the fields above. What it did
  // is undone if it returns an error, which becomes `refused`.
  std::function<Result<void>(Database& database, CommitTurn& turn)> inside;

  bool committed = false;  // False: the lease is lost. Drop the run, do no more.
  // Not committed, although the lease holds: the log has more than is known.
  bool is_behind = false;
  bool released = false;
  bool is_paused = false;        // Somebody wants the run to be given back as soon as that can be.
  std::optional<Error> refused;  // What `inside` returned; nothing of the turn was written.
  std::vector<ArrivalKey> arrival_keys;  // Of `arrivals`, in order.
  // What else the turn put into the run's own inbox: cancelled tasks, children that could not be
  // started.
  std::vector<Arrival> bounced;
  // What became of the children and of the next run, in order; 0: its id is taken.
  std::vector<RunKey> started;
  Touched others;  // Parents, children, targets of `outgoing`.
};

enum class SendOutcome : std::uint8_t {
  kSent,
  kDuplicate,  // The same dedupe id was there before.
  kNoRun,
  kClosed,
  kNoPromise,  // The run has created none of this name yet.
  kResolved,   // Already.
};

// Puts something into a run's inbox.
struct Send {
  std::string run_id;       // The newest run with this id; or
  RunKey run = 0;           // this one.
  NewArrival arrival;       // PromiseResolved and PromiseRejected: `id` is the promise's name.
  std::string dedupe;       // Not empty: taken once per run (and those it recurs to).
  WorkerKey claim_for = 0;  // Claims the run, too, if nobody owns it,
  std::optional<std::string> claim_as = {};  // by Claim::definition.
  std::int64_t now_ms = 0;

  SendOutcome outcome{};
  RunKey target = 0;
  WorkerKey owner = 0;  // Who holds the run now.
  ArrivalKey key = 0;
  std::optional<Claim> claim;
};

// Ends a run from outside, whoever holds it: WorkflowFailed with `payload` is appended, and no
// compensation runs.
struct Terminate {
  std::string run_id;
  RunKey run = 0;  // If not 0, instead of run_id.
  std::string payload;
  std::int64_t now_ms = 0;

  SendOutcome outcome{};  // kSent, kNoRun, kClosed.
  RunKey target = 0;
  Touched others;
};

// Lets a blocked run go on; one that waits is woken to be replayed.
struct Resume {
  std::string run_id;
  RunKey run = 0;  // If not 0, instead of run_id.
  std::int64_t now_ms = 0;

  SendOutcome outcome{};  // kSent, kNoRun, kClosed.
  RunKey target = 0;
};

// Takes tasks that are ready, highest priority first, then oldest.
struct TakeTasks {
  std::string queue;
  std::vector<std::string> types;
  WorkerKey worker = 0;
  std::size_t limit = 0;
  std::int64_t now_ms = 0;

  bool known = true;  // As in ClaimDue.
  // With the attempt that starts now, due when its time, or that for its first heartbeat, is over.
  std::vector<TaskRow> taken;
};

// Changes a task that is still as the caller saw it, or ends it.
struct ChangeTask {
  TaskKey task = 0;
  TaskState state{};          // As seen: nothing is done if that has changed,
  std::uint32_t attempt = 0;  // or this.
  std::int64_t now_ms = 0;

  // Not set: gone, and `arrival` is put into the run's inbox.
  std::optional<TaskState> next;
  std::optional<NewArrival> arrival;
  std::int64_t due_ms = kNever;
  std::optional<std::string> details;
  std::optional<std::string> last_error;
  WorkerKey claim_for = 0;  // As in Send.
  std::optional<std::string> claim_as = {};

  bool changed = false;
  bool cancel_requested = false;  // Also if the task is gone.
  RunKey run = 0;
  WorkerKey owner = 0;  // Of the run.
  ArrivalKey key = 0;
  std::optional<Claim> claim;
};

// Says that a worker lives. Runs and tasks of one that has not said so in time are free.
struct Heartbeat {
  WorkerKey worker = 0;
  std::int64_t expires_ms = 0;
  // It holds nothing from now on, and may be gone for long before that is noticed: others have to
  // know when the runs wake that it has given back.
  bool begins_rest = false;

  bool known = false;  // False: it was declared dead; it holds nothing any more.
};

// Holds an open run where it is, or lets it go on. What reaches a paused run waits in its inbox,
// and its tasks go on; but nobody claims it. Whoever holds it is told by its next commit, which
// gives the run back.
struct Pause {
  std::string run_id;
  RunKey run = 0;  // If not 0, instead of run_id.
  bool is_paused = true;
  std::int64_t now_ms = 0;

  SendOutcome outcome{};  // kSent, kNoRun, kClosed.
  RunKey target = 0;
  bool changed = false;  // False: it was so before.
  WorkerKey owner = 0;   // Who holds it.
};

// What a run waits for to be tried again is tried now: tasks, operations and compensations whose
// next attempt is due later. Of a run that somebody holds, tasks only: whoever holds it has the
// others in memory.
struct Hurry {
  std::string run_id;
  RunKey run = 0;  // If not 0, instead of run_id.
  std::int64_t now_ms = 0;

  SendOutcome outcome{};  // kSent, kNoRun, kClosed.
  RunKey target = 0;
  std::int64_t attempts = 0;  // How many are due earlier now.
};

// Removes a closed run with all that is stored of it.
struct DeleteRun {
  enum class Outcome : std::uint8_t {
    kDeleted,
    kNoRun,
    kOpen,    // It has not ended.
    kNeeded,  // Its parent or a child is open.
  };
  RunKey run = 0;

  Outcome outcome{};
};

// Puts a run as it was elsewhere, or in another form. An open one is claimed at once by whoever
// has its kind, unless it is paused or blocked. Tasks that somebody executed there are ready here.
struct CreateRun {
  RunImage image;
  // In order of seq. Views borrowed until the batch is done; `texts` is what they may point into.
  // What loops have forgotten is not carried: replay does not read it.
  std::vector<replay::Entry> entries;
  std::shared_ptr<void> texts;
  bool as_next = false;  // Gets the next number, if the id has closed runs. False: kExists then.
  std::int64_t now_ms = 0;

  enum class Outcome : std::uint8_t { kCreated, kExists };
  Outcome outcome{};
  RunRow row;  // The new run, or the one that is in the way.
};

using Op = std::variant<StartRun, Claim, ClaimDue, CommitTurn, Send, Terminate, Resume, TakeTasks,
                        ChangeTask, Heartbeat, ClaimStuck, Pause, Hurry, DeleteRun, CreateRun>;

struct WorkerInfo {
  std::string name;  // For people: host and pid, mostly.
  std::int64_t expires_ms = 0;
  std::int64_t now_ms = 0;
  // What it can do, for people who wonder who could serve a run: a JSON object with `kinds` (of
  // workflows, each with the fingerprint of its definition), `activities` and `queues`.
  std::string serves = {};
};

// A worker that is known, with what it has told.
struct KnownWorker {
  WorkerKey key = 0;
  std::string serves;  // As in WorkerInfo.
};

struct News {
  std::vector<Arrival> arrivals;
  ArrivalKey next = 0;  // From where to go on.
};

struct Sweep {
  bool found_dead = false;
  std::int64_t next_ms = kNever;  // When the first of those that are left expires.
};

class Store {
 public:
  virtual ~Store() = default;

  // --- Writes ---
  // Does all of it in one transaction, in order, or nothing. An error is about the whole batch.
  virtual Result<void> apply(std::span<Op> ops) = 0;

  // Makes a worker known; it counts as alive until `expires_ms` or, where the store can tell, until
  // its process ends.
  virtual Result<WorkerKey> add_worker(const WorkerInfo& info) = 0;
  // Ends a worker in good order. What it still holds is free at once.
  virtual Result<void> remove_worker(WorkerKey worker, std::int64_t now_ms) = 0;
  // Frees what workers hold that are dead or have not said in time that they live: their runs wake
  // now; tasks they held count as timed out now. `self` is spared. They may have left runs that
  // sleep: look at next_wake() and due_tasks() then.
  virtual Result<Sweep> free_expired(WorkerKey self, std::int64_t now_ms) = 0;

  // The time that counts for all who use the database: that of its server, ms since 1970. None:
  // that of this machine.
  virtual Result<std::optional<std::int64_t>> read_clock() = 0;

  // --- Reads: what is committed ---
  virtual Result<std::optional<RunRow>> find_run(RunKey run) = 0;
  // The newest run with this id, or the one with this number.
  virtual Result<std::optional<RunRow>> find_run(std::string_view id,
                                                 std::optional<std::uint32_t> number) = 0;
  virtual Result<std::string> read_input(RunKey run) = 0;
  virtual Result<std::vector<Tag>> read_tags(RunKey run) = 0;
  // Why it is blocked; empty if it is not.
  virtual Result<std::string> read_reason(RunKey run) = 0;
  // Calls `visit` for each entry in order of seq, from `from_seq`; its views are valid for the
  // call. An error that it returns ends the read. It must not call the store.
  virtual Result<void> read_log(RunKey run, std::uint64_t from_seq,
                                const std::function<Result<void>(const replay::Entry&)>& visit) = 0;
  // The entry with the highest seq: of a closed run, its outcome.
  virtual Result<void> read_last(
      RunKey run, const std::function<Result<void>(const replay::Entry&)>& visit) = 0;
  // Entries that loops have moved away and that are still kept for people to look at.
  virtual Result<void> read_forgotten(
      RunKey run, const std::function<Result<void>(const replay::Entry&)>& visit) = 0;
  // What others have put, since `after`, into the inboxes of runs that this worker holds, in order
  // of key; maybe also what is older or was put by itself. kNever: nothing, but where to go on.
  virtual Result<News> read_news(WorkerKey worker, ArrivalKey after) = 0;
  // Of one run.
  virtual Result<std::vector<Arrival>> read_inbox_of(RunKey run) = 0;
  // The same, of what is due and was not kept.
  virtual Result<std::vector<Arrival>> read_due_inbox(RunKey run, std::int64_t now_ms) = 0;
  virtual Result<std::vector<CompensationRow>> read_compensations(RunKey run) = 0;
  // Promises of a run that are open, by name.
  virtual Result<std::vector<std::string>> read_promises(RunKey run) = 0;
  virtual Result<std::vector<TaskRow>> read_tasks(RunKey run) = 0;
  // Open children.
  virtual Result<std::vector<RunRow>> read_children(RunKey run) = 0;
  // When the first run of these kinds that nobody holds is to be woken; kNever if none. Of a kind
  // that is in `left`: the first one behind `after_ms` that ClaimDue would not leave to others; if
  // many are left, a moment before that, at which to look again.
  virtual Result<std::int64_t> next_wake(std::span<const std::string> kinds,
                                         std::span<const KindDefinition> left,
                                         std::int64_t after_ms) = 0;
  Result<std::int64_t> next_wake(std::span<const std::string> kinds) {
    return next_wake(kinds, {}, 0);
  }
  // In order of key.
  virtual Result<std::vector<KnownWorker>> read_workers() = 0;
  // Tasks whose `due_ms` has come, in any state, oldest first; `next_due` is when the next ones do.
  virtual Result<std::vector<TaskRow>> due_tasks(std::int64_t now_ms, std::size_t limit,
                                                 std::int64_t* next_due) = 0;

  // For people and their tools; as long-lived as the store.
  virtual Catalog& catalog() = 0;

  // --- Changes by others ---
  enum class Change : std::uint8_t {
    kAny,
    kEnds,  // Runs have ended; that concerns only who waits for them.
  };
  // `on_change` is called from any thread, soon after another Store has committed something that
  // may concern this one; a store that only reads is concerned by everything. Several changes may
  // be told as one. Of ends that a store has committed just before its process died, others may
  // not be told until it is declared dead. An empty function ends it; when this returns, the old
  // one is not running and will not be called again.
  virtual void watch(std::function<void(Change)> on_change) = 0;
};

// For stores that cannot tell what has changed.
inline std::function<void()> any_change(std::function<void(Store::Change)> on_change) {
  if (!on_change) {
    return {};
  }
  return [on_change = std::move(on_change)] { on_change(Store::Change::kAny); };
}

}  // namespace pawl::store

// Machine: one run being replayed and carried on. Workflow code in any language asks it for
// commands and is told, one delivery at a time, what came of them; it never learns whether it is
// replaying.
//
//   open(command)   -> future            matched to history, or new
//   begin_await     -> ready or blocked
//   next_delivery   -> (future, outcome), and which awaits are over
//   take_new        -> what is to be appended to the stored log
//
// The host's loop: run the code until every part of it is blocked; call next_delivery; resume what
// woken() names, in that order, each until it blocks again; repeat until there is no delivery.
//
// Pure: no clock, no threads, no I/O; the same calls give the same answers. Not thread-safe.
// Every fallible call returns an Error; after a determinism violation every call that would move
// the run on returns it.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/uuid.h"
#include "replay/awaits.h"
#include "replay/entry.h"
#include "replay/log.h"
#include "replay/mailboxes.h"
#include "replay/matcher.h"
#include "replay/random.h"
#include "replay/report.h"
#include "replay/run_state.h"
#include "replay/violation.h"

namespace pawl::replay {

inline constexpr std::uint32_t kCheckpointEveryDefault = 20;

struct RunInfo {
  Uuid run_id;
  Matching matching = Matching::kStrict;
  std::int64_t started_at_ms = 0;
  std::string definition_then;  // Fingerprints, for reports.
  std::string definition_now;
};

// What workflow code asks for. Views are borrowed for the call.
struct CommandRequest {
  CommandKind kind{};
  BranchId branch = kRootBranch;
  // Task type, operation, signal, child or compensation name, state key, promise id; a timer's id
  // or empty, then one is made.
  std::string_view name;
  std::string_view child_kind;
  FutureId target = 0;  // What to cancel.
  std::string_view step_key;
  std::uint32_t version = 0;  // 0: the branch's.
  std::string_view source;

  bool has_payload = false;  // Input, value or first loop state.
  std::string_view payload;
  bool clear = false;                                        // State: clear instead of set.
  std::int64_t number = 0;                                   // durationMs or timeoutMs.
  std::uint32_t checkpoint_every = kCheckpointEveryDefault;  // Loops.
  std::string_view extra;                                    // Kept with the entry.
};

struct Opened {
  // 0 for what has no outcome: state, branches, compensations, cancel requests.
  FutureId future = 0;
  // The new branch, or the loop.
  BranchId branch = kNoBranch;
  // Operations: execute it now, then complete_operation().
  bool must_execute = false;
};

struct Outcome {
  bool is_complete = false;
  OutcomeKind kind{};
  std::string_view payload;  // Valid as long as the machine.
  bool has_payload = false;
  RecordId entry = kNoRecord;  // What completed it.
};

struct Delivery {
  std::uint64_t seq = 0;
  EntryKind kind{};
  FutureId future = 0;  // 0: a signal that nobody waits for, or a cancel request.
};

struct LoopPosition {
  std::uint64_t finished = 0;  // Iterations.
  std::string_view state;      // As of the checkpoint, or the first state.
  bool done = false;
  std::string_view result;
};

struct Batch {
  RecordId first = 0;  // Entries [first, last) of log().
  RecordId last = 0;
  std::vector<std::uint64_t> forgotten;  // Seqs that checkpoints in it moved away, ascending.
  // Tokens of arrivals that are among the entries, and of those that came to nothing. All others
  // are still in the inbox.
  std::vector<std::uint64_t> consumed;
  std::vector<std::uint64_t> dropped;
};

class Machine {
 public:
  // `log` holds the stored entries, loaded but not finished.
  static Result<std::unique_ptr<Machine>> create(RunInfo info, Log log);

  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  // The time for entries made from now on. Entries never go back in time.
  void set_time(std::int64_t now_ms) { time_ms_ = now_ms; }

  // --- Commands ---
  Result<Opened> open(const CommandRequest& request);
  // The outcome of an operation that was to be executed. `extra` is the entry's, unless it is
  // empty.
  Result<void> complete_operation(FutureId operation, OutcomeKind outcome, std::string_view payload,
                                  std::string_view extra = {});
  // A step that the code once had: its kind, and its name and key if it had them; without a name
  // any will do. `strict` only.
  Result<void> removed(const CommandRequest& step);
  // The version that this run follows here: `latest` if it gets here for the first time. `strict`
  // only.
  Result<std::uint32_t> check_version(BranchId branch, std::uint32_t latest,
                                      std::string_view source);
  // The code of a branch has ended, by return or by error.
  Result<void> close_branch(BranchId branch);

  // --- Loops: await the loop's future, then for each iteration enter, and continue or end. ---
  Result<LoopPosition> loop_position(BranchId loop);
  Result<BranchId> enter_iteration(BranchId loop);
  // A future to be awaited, shielded, before the code goes on: that of a checkpoint. 0: none.
  Result<FutureId> continue_loop(BranchId loop, std::string_view state);
  Result<FutureId> end_loop(BranchId loop, std::string_view state, std::string_view result);
  // The loop was left by an error: no checkpoint.
  Result<void> abandon_loop(BranchId loop);

  // --- Futures and awaits ---
  // The command's entry; kNoRecord while a new operation runs.
  RecordId record_of(FutureId future) const {
    return future < futures_.size() ? futures_[future].record : kNoRecord;
  }
  // Its own id and its name; empty for what has none.
  std::string command_id(FutureId future) const;
  std::string_view command_name(FutureId future) const;
  Result<Outcome> outcome(FutureId future) const;
  // Blocked: woken() will say how it ended. Otherwise it is over already, and has no number.
  Result<AwaitStatus> begin_await(AwaitMode mode, std::span<const FutureId> futures, bool shielded);
  // Nobody waits any more. Only of one that is blocked.
  Result<void> give_up_await(AwaitId await);

  // --- Delivery ---
  // Puts something that reached the run into the inbox. False: it was dropped, because its command
  // is complete, forgotten or unknown.
  // `token` is the host's name for it: take_new() says which were consumed and which dropped later.
  Result<bool> arrive(const Entry& arrival, std::uint64_t token = 0);
  // Delivers the next arrival; none: nothing is left, the run waits.
  Result<std::optional<Delivery>> next_delivery();
  // The awaits that the last delivery has ended, in the order in which their code goes on.
  const std::vector<AwaitStatus>& woken() const { return woken_; }

  // --- Reads ---
  std::int64_t now_ms() const { return now_ms_; }
  bool cancel_requested() const { return cancel_requested_; }
  std::string_view cancel_reason() const { return cancel_reason_; }
  // Valid as long as the machine.
  std::optional<std::string_view> state(std::string_view key) const { return state_.get(key); }
  Result<Uuid> uuid(BranchId branch);
  Result<std::uint64_t> random(BranchId branch);
  std::size_t signal_count(std::string_view name);
  // Takes the oldest signal of the mailbox, without waiting.
  Result<std::optional<RecordId>> take_signal(BranchId branch, std::string_view name);

  // --- The end ---
  // How the workflow function ended: kWorkflowCompleted, Failed, Cancelled or Recurred. An empty
  // payload is left out of the entry.
  Result<void> finish(EntryKind end, std::string_view payload);
  bool is_finished() const { return finished_; }
  // Compensations registered so far, in order of registration.
  const std::vector<RecordId>& compensations() const { return compensations_; }
  // Signals that were delivered and that nobody took, oldest first. Those in the inbox are not
  // among them: the host still has them.
  std::vector<RecordId> unconsumed_signals() const;

  // --- What came of it ---
  // What was added to the log since the last call. Nothing after a violation.
  Batch take_new();
  const Log& log() const { return log_; }
  std::uint64_t next_seq() const { return log_.last_seq() + 1; }
  const std::optional<Violation>& violation() const { return violation_; }
  // What blocked awaits wait for, in order of opening; without checkpoints on their way.
  std::vector<FutureId> blocked_on() const;
  // Up to `limit` of them: those that have been waited for longest. Takes no longer if there are
  // many.
  std::vector<FutureId> first_blocked_on(std::size_t limit) const;
  // How many there are about: one that several awaits wait for counts for each.
  std::size_t blocked_count() const { return awaits_.watch_count(); }
  CommandKind kind_of(FutureId future) const { return futures_[future].kind; }
  // The labels of its command, recorded or not: "{3} Task(1) charge:2". For people: reads the log.
  std::string label_of(FutureId future) const;
  // Places of the commands that blocked awaits wait for, in order.
  std::vector<Location> waiting() const;
  // Places of recorded commands that the code did not ask for, in order. Nothing in `strict`.
  std::vector<Location> orphaned() const;
  // True if the code has asked for all that was loaded: code and history agree so far. Always,
  // where commands may be left over.
  bool has_replayed_all() const;
  // Matched commands whose input is not the recorded one.
  const std::vector<RecordId>& changed_inputs() const { return changed_inputs_; }

  std::size_t memory_bytes() const;

 private:
  // An open branch.
  struct Scope {
    Cursor cursor;
    std::uint32_t version = 1;
    std::uint64_t uuids = 0;
    std::optional<Random> random;
    std::vector<FutureId> waits;      // Signal waits opened in it; for an iteration also below it.
    std::uint32_t open_children = 0;  // Branches and loops in it that have not ended.
    std::uint32_t iterations = 0;     // Loops in it that are in an iteration.
  };

  struct Future {
    RecordId record = kNoRecord;      // Its command; none for a running operation not yet written.
    RecordId completion = kNoRecord;  // What completed it.
    std::uint32_t order = 0;          // Of completion, from 1; 0: open.
    CommandKind kind{};
    OutcomeKind outcome{};
    bool cancel_requested = false;
    bool is_asleep = false;  // A signal wait whose branch has ended.
  };

  // An operation that runs and has no entry yet.
  struct Running {
    Coordinate coordinate = Coordinate::before_first();
    std::string name;
    std::string id;
    std::string step_key;
    std::string source;
    std::string extra;
    std::string input;
    bool has_input = false;
    std::uint32_t version = 1;
    std::uint32_t checked = 0;
    std::uint64_t input_digest = 0;
  };
  using RunningKey = std::pair<BranchId, FutureId>;

  struct Loop {
    RecordId record = kNoRecord;
    RecordId checkpoint = kNoRecord;  // The last one.
    FutureId future = 0;              // Of its start, or of its last checkpoint.
    std::uint32_t checkpoint_every = kCheckpointEveryDefault;
    std::uint64_t finished = 0;
    BranchId iteration = kNoBranch;  // The open one.
    bool done = false;
    // Commands, taken signals and inner checkpoints below it, since its last checkpoint.
    std::vector<RecordId> entries;
    std::vector<std::uint64_t> taken;  // As in Checkpoint.
  };

  struct Inbound {
    EntryKind kind{};
    RecordId command = kNoRecord;
    std::int64_t time_ms = 0;
    std::uint64_t token = 0;
    std::string name;
    std::string payload;
    std::string extra;
    bool has_payload = false;
  };

  Machine(RunInfo info, Log log);

  Result<void> check_usable() const;
  Result<Scope*> open_scope(BranchId branch);
  // The same for what leaves a trace there. While a loop of it is in an iteration, that would be
  // left over when the loop has forgotten the iteration.
  Result<Scope*> usable_scope(BranchId branch);
  Result<Loop*> open_loop(BranchId loop);
  Error violate(Violation violation);
  Error violate(const Mismatch& mismatch, const Asked& asked);
  ReportContext report_context() const;

  Result<Opened> issue_recorded(RecordId id, const CommandRequest& request);
  Result<Opened> issue_new(const CommandRequest& request, std::uint32_t version, const New& place);
  Result<Opened> take_effect(RecordId id, const CommandRequest& request);
  FutureId add_future(CommandKind kind, RecordId record);
  void mark_issued(RecordId id, FutureId future);
  void note_in_loops(RecordId id, BranchId branch);
  void write_started_operations(BranchId branch, FutureId before);
  Entry new_entry(EntryKind kind) const;
  Entry running_entry(EntryKind kind, const Running& running) const;
  void open_scope_at(BranchId branch, std::uint32_t version);
  Result<void> check_leftovers(BranchId branch);
  Result<void> check_strict(std::string_view call) const;
  Result<void> check_key_unused(const CommandRequest& request);
  Result<void> check_not_ended(BranchId branch, const Coordinate& coordinate, const Asked& asked);
  void register_compensation(RecordId id);
  Result<void> end_scope(BranchId branch);
  void note_orphans(BranchId branch);
  void note_orphaned_iterations(BranchId loop, std::uint64_t last);
  void end_waits(BranchId branch);
  void wake_wait(FutureId wait);
  BranchId iteration_around(BranchId branch) const;
  static Wanted wanted_for(const CommandRequest& request, const Scope& scope);
  void erase_loop(BranchId node);

  void complete(FutureId future, RecordId by, OutcomeKind outcome);
  bool is_open(FutureId future) const { return futures_[future].order == 0; }
  RecordId next_in_log();
  RecordId next_in_inbox();
  bool is_deliverable(RecordId id) const;
  Delivery deliver(RecordId id);
  void deliver_late(RecordId id);
  Result<RecordId> find_target(const Entry& arrival);

  void start_loop(BranchId node, RecordId record, FutureId future, std::uint32_t checkpoint_every);
  void resume_loop(BranchId node);
  Result<void> close_iteration(Loop& loop);
  Result<void> check_no_later_iteration(BranchId node, std::uint64_t last);
  FutureId write_checkpoint(BranchId node, Loop& loop, std::string_view state, bool done,
                            std::string_view result);
  void forget(BranchId node, Loop& loop, RecordId id);
  void move_away(RecordId id);

  RunInfo info_;
  Log log_;
  Matcher matcher_;
  Awaits awaits_;
  Mailboxes mailboxes_;
  RunState state_;

  std::vector<std::unique_ptr<Scope>> scopes_;  // By branch; null: not open.
  std::map<BranchId, Loop> loops_;
  std::vector<Future> futures_{1};
  std::map<RunningKey, Running> running_;
  std::set<std::pair<BranchId, std::string>, std::less<>> running_keys_;
  std::map<FutureId, BranchId> operation_branches_;  // Of operations that are to be completed.

  // Of the loaded log, by loop (its node) and by command.
  std::map<BranchId, std::vector<RecordId>> loaded_checkpoints_;
  std::map<BranchId, std::vector<RecordId>> survivors_;
  std::map<RecordId, std::vector<RecordId>> second_arrivals_;

  RecordId scanned_ = 0;        // Entries before this one were looked at for delivery.
  std::vector<RecordId> late_;  // Heap: passed before their command was issued.
  std::uint32_t completions_ = 0;
  std::deque<Inbound> inbox_;
  std::map<RecordId, Inbound> parked_;  // Arrivals whose command the code has not issued yet.
  std::vector<AwaitStatus> woken_;

  std::vector<RecordId> compensations_;
  std::vector<RecordId> changed_inputs_;
  std::vector<std::uint64_t> forgotten_;
  std::vector<std::uint64_t> consumed_;
  std::vector<std::uint64_t> dropped_;
  RecordId taken_ = 0;  // Entries before this one were handed out by take_new().
  RecordId last_agreed_ = kNoRecord;
  std::int64_t time_ms_ = 0;
  std::int64_t now_ms_ = 0;
  bool cancel_requested_ = false;
  std::string cancel_reason_;
  bool finished_ = false;
  std::optional<Violation> violation_;
};

}  // namespace pawl::replay

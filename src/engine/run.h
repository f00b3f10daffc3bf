// Run: one run in memory: its machine, its code, what waits to be delivered, and the operations
// that it has going. It takes turns and says what is to be committed; when and where that happens
// is the engine's matter. Used on the loop.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "engine/code_host.h"
#include "engine/program.h"
#include "store/store.h"

namespace pawl::engine {

// An operation that the code has opened and that has no outcome yet.
struct Operation {
  enum class State : std::uint8_t {
    kNew,       // To be started when all that led to it is durable.
    kRunning,   // An attempt is under way.
    kWaiting,   // The next attempt is due later; that is in the inbox, too.
    kRecorded,  // Its outcome waits for the next turn.
  };

  std::string_view id;  // The key under which it is kept.
  std::string name;
  replay::FutureId future = 0;
  std::shared_ptr<const ActivityBody> body;  // One of these three.
  std::shared_ptr<const RemoteBody> remote;
  RunHost::TransactBody transact;
  RetryPolicy retry;
  std::int64_t timeout_ms = 0;
  State state = State::kNew;
  std::uint32_t attempts = 0;  // Failed so far.
  std::int64_t due_ms = 0;     // kWaiting: of the next one. kRunning: when it has taken too long.
  store::ArrivalKey row = 0;   // Of its kRetryOperation.
  std::uint64_t attempt = 0;   // Number of the one that runs.
  std::shared_ptr<std::atomic<bool>> stop;  // kRunning: asks it to stop. None: a transaction.
  replay::OutcomeKind outcome{};            // kRecorded.
  std::string payload;
};

// What a turn came to. Views in `commit` point into `texts` and into the run.
struct Turn {
  store::CommitTurn commit;
  std::shared_ptr<replay::Log::EntryTexts[]> texts;
  bool has_changes = false;  // Else there is nothing to commit.
  bool disagreed = false;    // The code disagrees with its history; `commit` is empty.
};

class Run {
 public:
  // `definition` may be missing for one that compensates.
  Run(const store::RunRow& row, const Definition* definition);
  ~Run();
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  const store::RunRow& row() const { return row_; }
  store::RunKey key() const { return row_.key; }
  const Definition& definition() const { return *definition_; }
  // A new claim of a run that was kept in memory.
  void set_claim(store::WorkerKey owner, std::int64_t epoch) {
    row_.owner = owner;
    row_.epoch = epoch;
  }

  // --- Loading ---
  // From the stored log. An error: the log is no log.
  Result<void> load(replay::Log log, std::string_view input);
  bool is_loaded() const { return machine_ != nullptr; }
  // Drops machine and code; operations that run go on, and are found again after load().
  void unload();
  std::size_t memory_bytes() const;

  // --- What reaches the run ---
  void put(store::Arrival&& arrival);
  void put_all(std::vector<store::Arrival> arrivals);
  // Outcomes of operations wait to be recorded.
  bool has_outcomes() const { return !recorded_.empty(); }
  // True if a turn would find something to do.
  bool has_work(std::int64_t now_ms) const;
  // When the first thing in memory that is not due yet will be.
  std::int64_t next_due_ms(std::int64_t now_ms) const;

  // --- Turns: begin, let the code go on until there is nothing more to tell it, end. ---
  void begin_turn(std::int64_t now_ms);
  // True: it has gone on. False: it goes on elsewhere, and `back` is called when it is blocked, on
  // any thread. Until then only put(), what is about attempts, and reads of what the store knows
  // of the run are allowed.
  bool go_on(const std::function<Job()>& back);
  // Takes over what the code has asked for. True: there is more to tell it.
  bool take_over();
  Turn end_turn();
  // The same for a run that disagrees with its history: it fails, or is blocked if its code has
  // changed.
  Turn refuse(std::int64_t now_ms);
  // Blocked until code of another fingerprint comes.
  Turn block_code(std::int64_t now_ms, std::string reason) const;
  // Blocked for a reason that no code can do away with.
  Turn block(std::int64_t now_ms, std::string reason) const;
  // Gives it back although operations are about to start: they are asked for again when it comes
  // back. Only if nothing is being executed.
  Turn leave(std::int64_t now_ms) const;
  // An operation runs, or its outcome waits to be recorded. Transactions are not meant.
  bool is_executing() const;
  // Says what became of a turn's commit.
  void committed(store::CommitTurn& commit);
  // True if no operation runs or is about to.
  bool is_quiet() const;

  // --- Operations ---
  // Those to start now; they count as running. Valid until the next call.
  const std::vector<Operation*>& take_startable(std::int64_t now_ms);
  Operation* find_operation(std::string_view id);
  // An attempt has ended: its outcome, or its next attempt, is part of the next turn.
  void finish_attempt(Operation& operation, ActivityOutcome outcome, std::int64_t now_ms,
                      std::uint64_t random);
  // Attempts have taken too long.
  bool has_overdue_attempts(std::int64_t now_ms) const {
    return !limit_dues_.empty() && limit_dues_.begin()->first <= now_ms;
  }
  // They are failed; their threads are asked to stop.
  void time_out_attempts(std::int64_t now_ms, std::uint64_t random);
  // For a transaction's callback, on the store's lane: records the outcome and says what to commit.
  Turn record_transaction(Operation& operation, std::string_view result, std::int64_t now_ms);
  // For a transaction that has been committed.
  void forget_operation(std::string_view id);
  // Asks all attempts to stop.
  void stop_attempts();

 private:
  void add_operation(CodeHost::Asked& asked);
  void mark_definition(store::CommitTurn& commit) const;
  void give_arrivals(std::int64_t now_ms, store::CommitTurn& commit);
  bool record_outcomes();
  void note_delivery(const replay::Delivery& delivery, store::CommitTurn& commit);
  void add_batch(Turn& turn);
  void add_effects(replay::RecordId id, const replay::Entry& entry, store::CommitTurn& commit);
  void add_end(const replay::Entry& entry, store::CommitTurn& commit);
  void drop_orphaned_retries(std::int64_t now_ms, store::CommitTurn& commit);
  void add_release(std::int64_t now_ms, store::CommitTurn& commit);
  void bring_forward(store::Arrival& known, std::int64_t due_ms);
  void take_out(store::ArrivalKey key);
  void wait_until(Operation& operation, std::int64_t due_ms);
  void withdraw(store::CommitTurn& commit, std::uint8_t kind, std::string_view id) const;
  std::string waiting_for() const;
  void begin_commit(store::CommitTurn& commit, std::int64_t now_ms) const;
  std::vector<store::CompensationRow> recorded_compensations() const;

  store::RunRow row_;
  const Definition* definition_;
  CodeHost host_;
  std::unique_ptr<replay::Machine> machine_;
  std::unique_ptr<Program> program_;  // One of these two.
  std::unique_ptr<RemoteProgram> remote_;
  bool started_ = false;
  Turn turn_;                     // The one that has begun.
  bool has_undelivered_ = false;  // A transaction's outcome is in the log, and not delivered.
  bool definition_written_ = true;
  std::uint64_t committed_seq_ = 0;

  std::map<store::ArrivalKey, store::Arrival> inbox_;
  std::size_t inbox_payload_bytes_ = 0;
  std::set<std::pair<std::int64_t, store::ArrivalKey>> not_given_;  // By due time; no retries.
  std::set<store::ArrivalKey> given_;                               // To the machine.
  // Deadlines that may be withdrawn, and retries: by kind, and id or location.
  std::map<std::pair<std::uint8_t, std::string>, store::ArrivalKey> by_id_;

  std::map<std::string, Operation, std::less<>> operations_;
  std::vector<Operation*> new_operations_;
  std::set<std::pair<std::int64_t, std::string>> retry_dues_;  // Of waiting ones.
  std::set<std::pair<std::int64_t, std::string>> limit_dues_;  // Of running ones with a time limit.
  std::size_t busy_operations_ = 0;                            // All but the waiting ones.
  std::vector<Operation*> recorded_;                           // Those with an outcome, in order.
  std::vector<Operation*> startable_;
  std::vector<store::NewArrival> retry_rows_;  // To be put into the inbox by the next turn.
  std::vector<store::ArrivalKey> used_rows_;   // To be taken out of it.
};

// How a run that ended so is told to its parent.
std::optional<store::NewArrival> arrival_for_parent(const store::Parent& parent,
                                                    replay::EntryKind end,
                                                    std::string_view payload);

}  // namespace pawl::engine

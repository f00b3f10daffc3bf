// EngineImpl: the engine's state, all of it touched on the loop only. Its parts are spread over
// engine.cc (life and clients), engine_runs.cc (claims, turns, operations), engine_workers.cc
// (which runs are left to others), engine_stuck.cc (runs that others could not go on with),
// engine_sagas.cc (compensations), engine_tasks.cc (queues) and engine_retention.cc (removing old
// runs).
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "engine/committer.h"
#include "engine/engine.h"
#include "engine/run.h"

namespace pawl::engine {

// How the reason of a run begins that no code can go on with.
inline constexpr std::string_view kDamagedLog = "the stored log is damaged: ";

// Runs taken by one claim.
inline constexpr std::size_t kClaimLimit = 1000;

// Errors of the store that are worth another try.
inline bool may_go_away(ErrorCode code) {
  return code == ErrorCode::kStoreBusy || code == ErrorCode::kStoreFull ||
         code == ErrorCode::kStoreIo || code == ErrorCode::kUnknownOutcome;
}

class EngineImpl final : public Engine {
 public:
  EngineImpl(EngineOptions options, std::shared_ptr<store::Store> store,
             std::shared_ptr<Environment> environment, std::vector<Definition> definitions,
             std::vector<ActivityType> activities);
  ~EngineImpl() override;
  // From now on, that of the store is looked at now and then. Once, at the beginning.
  void keep_to_clock();

  Result<void> start() override;
  void begin_stop() override;
  void stop() override;
  void abandon() override;
  void start_run(StartRequest request, Callback<StartedRun> done) override;
  void signal(std::string run_id, std::string name, std::string payload, std::string extra,
              std::string dedupe, Callback<bool> done) override;
  void resolve(std::string run_id, std::string promise, std::string payload,
               Callback<void> done) override;
  void reject(std::string run_id, std::string promise, std::string failure,
              Callback<void> done) override;
  void cancel(std::string run_id, std::string reason, Callback<void> done) override;
  void terminate(std::string run_id, std::string reason, Callback<void> done) override;
  void resume(std::string run_id, Callback<void> done) override;
  void pause(std::string run_id, bool is_paused, Callback<bool> done) override;
  void hurry(std::string run_id, Callback<std::int64_t> done) override;
  void remove(std::string run_id, Callback<void> done) override;
  void wait(std::string run_id, Callback<RunOutcome> done) override;
  store::Store& store() override { return *store_; }
  Environment& environment() override { return *env_; }
  Figures figures() override;

 private:
  enum class Phase : std::uint8_t {
    kLoading,     // Its log is being read.
    kIdle,        // Held; can take a turn.
    kAway,        // Held; its code goes on, maybe on a thread of somebody else's.
    kCommitting,  // Held; its turn is being written.
    kParked,      // Not held: kept in memory because it may go on soon.
  };

  // A run whose workflow function has ended and whose compensations run.
  struct Saga {
    std::vector<store::CompensationRow> rows;
    std::uint8_t end = 0;  // EntryKind of how the function ended.
    std::string payload;
    bool is_running = false;
    std::shared_ptr<std::atomic<bool>> stop;
  };

  struct Slot {
    std::shared_ptr<Run> run;
    Phase phase = Phase::kLoading;
    std::unique_ptr<Saga> saga;
    bool is_paused = false;  // Held only until nothing of it is being executed.
    bool must_read_inbox = false;
    bool must_process = false;                 // kAway: something has come.
    bool knows_inbox = true;                   // False: what its claim did not bring is to be read.
    std::uint64_t claimed_at = 0;              // In inbox_reads_begun_.
    std::deque<std::string> transactions;      // Operations to be run inside of a commit.
    std::int64_t deadline_ms = store::kNever;  // In deadlines_.
    std::size_t bytes = 0;                     // kParked: in cache_bytes_.
    std::list<store::RunKey>::iterator place;  // kParked: in parked_.
  };

  struct Queue {
    QueueOptions options;
    std::size_t running = 0;
    bool is_taking = false;
    bool may_have_more = true;
  };

  // One that has timed out may still run when the next one does.
  struct AttemptId {
    store::RunKey run = 0;
    store::TaskKey task = 0;
    std::uint32_t number = 0;

    friend auto operator<=>(const AttemptId&, const AttemptId&) = default;
  };
  class TaskAttempt;
  struct RunningTask {
    store::TaskRow row;
    TaskOptions options;
    std::size_t queue = 0;
    std::shared_ptr<TaskAttempt> attempt;
    // Heartbeats that came since one was written: the last one.
    bool has_beat = false;
    std::int64_t beat_ms = 0;
    std::optional<std::string> details;
    std::int64_t next_write_ms = 0;  // Not before then.
    bool is_given_up = false;        // Others have it, or will.
  };

  struct BlockedRun {
    store::RunKey key = 0;
    std::string id;
    std::string kind;
    std::string reason;
  };

  // What is found of a run that somebody waits for. Neither: it is on its way.
  struct RunEnd {
    std::optional<RunOutcome> outcome;
    std::optional<BlockedRun> blocked;
  };

  struct LoadedRun {
    replay::Log log;
    std::string input;
    std::vector<store::Arrival> inbox;
    std::vector<store::CompensationRow> compensations;
  };

  // --- Life (engine.cc) ---
  // Posts a job that touches this engine; stop() waits for all of them.
  template <class F>
  void post(Lane lane, F job);
  // The same as the last act of a job.
  template <class F>
  void hand_over(Lane lane, F job);
  void run_job_done();
  // Executes one attempt; `then`: void(ActivityOutcome&&), on the loop.
  template <class Body, class Then>
  void run_here(Body body, std::shared_ptr<ActivityAttempt> attempt, Then then);
  template <class Then>
  void run_elsewhere(const RemoteBody& body, std::shared_ptr<ActivityAttempt> attempt, Then then);
  template <class Then>
  void run_activity(const ActivityType& type, std::shared_ptr<ActivityAttempt> attempt, Then then);
  void declared_dead();
  void outcome_unknown();
  void register_anew(bool gives_back);
  void finish_stopping();
  void set_alarm();
  void on_alarm();
  void on_change(store::Store::Change change);
  void look_for_changes();
  void sweep();
  store::WorkerInfo worker_info(std::int64_t now_ms) const;
  bool is_known(std::string_view kind) const;
  void report(const Error& error, std::string_view what);
  // `op`: moved from. `done`: void(Result<void>, Op&).
  template <class Op, class Done>
  void submit(Op&& op, Done done);
  std::int64_t back_off();

  // --- The lease (engine_lease.cc) ---
  void beat();
  void rest();
  void extend_lease(std::int64_t until_ms, std::int64_t again_ms, bool begins_rest = false);
  void look_at_clock();

  // --- Clients (engine.cc) ---
  void begin_run(store::StartRun& written);
  void send(store::Send send, Callback<bool> done);
  void answer_send(Result<void> result, store::Send& send, const Callback<bool>& done);
  template <class Op, class T, class Then>
  void act(Op op, Callback<T> done, Then then);
  void tell_waiters(const std::string& id, const Result<RunOutcome>& outcome);
  // Tells those whose run has ended, or whose store cannot even be read any more.
  void check_waiters(bool held_too = false);
  void check_waiter(const std::string& id);
  void look_for_ends();
  Result<RunEnd> read_end(const std::string& id);

  // --- Runs (engine_runs.cc) ---
  void claim_soon();
  void claim(store::ClaimDue& due);
  // Of runs_at_once.
  std::size_t free_places() const;
  void use_places();
  void find_next_wake(std::int64_t claimed_ms);
  void take_over(store::Claim& claim);
  void load(const store::RunRow& row, std::vector<store::Arrival> inbox);
  void loaded(store::RunKey key, std::int64_t epoch, Result<LoadedRun> loaded);
  void read_again(Slot& slot);
  void process(Slot& slot);
  void go_on(Slot& slot);
  void came_back(Slot& slot);
  void leave(Slot& slot);
  void commit(Slot& slot, Turn&& turn);
  void turn_done(store::RunKey key, const Result<void>& result, store::CommitTurn& commit);
  void turn_lost(Slot& slot, const store::CommitTurn& commit);
  bool is_behind_again(store::RunKey key, std::uint64_t seq);
  void ended(Slot& slot, const store::CommitTurn& commit);
  void park(Slot& slot);
  void unpark(Slot& slot);
  void drop(store::RunKey key);
  void shrink_cache();
  void deliver(store::RunKey key, store::Arrival arrival);
  void touched(const store::Touched& runs);
  void woken(const std::vector<store::RunKey>& runs);
  void read_inbox(store::RunKey key);
  std::uint64_t begin_inbox_read();
  void end_inbox_read(std::uint64_t read, std::vector<store::Arrival> found);
  void start_operations(Slot& slot);
  void start_operation(Slot& slot, Operation& operation);
  void begin_transaction(Slot& slot);
  void transaction_failed(Slot& slot, const std::string& id, const Error& error,
                          ActivityOutcome outcome, bool is_repeated);
  void operation_done(store::RunKey key, const std::string& id, std::uint64_t attempt,
                      std::int64_t epoch, ActivityOutcome outcome);
  void watch_deadline(Slot& slot);
  Slot* find_held(store::RunKey key);
  Slot* find(store::RunKey key);

  // --- Other workers, and what is left to them (engine_workers.cc) ---
  void read_workers();
  // None: the kind is not here.
  std::optional<std::string> fingerprint_of(std::string_view kind) const;
  void know_workers(const std::vector<store::KnownWorker>& workers);

  // --- Runs that others could not go on with (engine_stuck.cc) ---
  void look_for_stuck();
  void claim_stuck();
  void end_stuck_search();
  void report_blocked(const BlockedRun& run);

  // --- Retention (engine_retention.cc) ---
  void plan_retention();
  void begin_retention();
  void retain(std::size_t rule, std::int64_t now_ms, store::ClosedRun after);

  // --- Sagas (engine_sagas.cc) ---
  void begin_saga(Slot& slot, std::vector<store::CompensationRow> rows, std::uint8_t end,
                  std::string payload);
  void process_saga(Slot& slot);
  void compensation_done(store::RunKey key, std::uint32_t position, std::int64_t epoch,
                         ActivityOutcome outcome);
  void end_saga(Slot& slot);
  Turn give_back_saga(const Slot& slot) const;

  // --- Tasks (engine_tasks.cc) ---
  void take_tasks();
  void run_task(std::size_t queue, store::TaskRow row);
  void task_done(const AttemptId& id, ActivityOutcome outcome);
  void fail_task(const store::TaskRow& row, const TaskOptions& options, const Failure& failure,
                 bool counts, std::optional<std::string> details);
  void end_task(const store::TaskRow& row, replay::EntryKind kind, std::string payload);
  void change_task(store::ChangeTask change);
  void task_changed(store::ChangeTask& done);
  void heartbeat_task(const AttemptId& id, std::string details);
  void write_heartbeat(const AttemptId& id, RunningTask& running);
  void write_due_heartbeats();
  void look_at_due_tasks();
  void due_task(const store::TaskRow& row);
  void stop_tasks();
  void give_up_tasks();
  void stop_tasks_of(store::RunKey run);
  void cancel_tasks(store::RunKey run, const std::vector<std::string>& ids);

  const EngineOptions options_;
  const std::shared_ptr<store::Store> store_;
  const std::shared_ptr<Environment> env_;
  std::map<std::string, Definition, std::less<>> definitions_;
  std::map<std::string, ActivityType, std::less<>> activities_;
  std::vector<std::string> kinds_;
  Committer committer_;

  // Life.
  // Posted and not done, submitted and not told, and one more until stop(). So when it is 0, nobody
  // is left who could end this engine before the one that made it so has posted finish_stopping().
  std::atomic<std::size_t> jobs_ = 1;
  std::atomic<bool> closed_ = false;  // No more client calls.
  std::atomic<bool> stop_called_ = false;
  std::atomic<bool> change_posted_ = false;
  std::atomic<bool> ends_posted_ = false;
  bool started_ = false;
  bool is_watching_ = false;  // Without having been started.
  bool stopping_ = false;
  Latch stopped_;
  store::WorkerKey worker_ = 0;
  std::int64_t beat_ms_ = store::kNever;  // Next heartbeat.
  std::int64_t lease_until_ms_ = 0;
  bool is_resting_ = false;                // The lease is that of a worker that holds nothing.
  bool has_given_back_ = false;            // Runs, since others were told to look.
  bool has_clock_ = false;                 // The store has one.
  std::int64_t clock_ms_ = store::kNever;  // Next look at the time of the database.
  std::int64_t sweep_ms_ = store::kNever;  // Next look for dead workers.
  std::int64_t swept_ms_ = 0;
  std::int64_t alarm_ms_ = store::kNever;
  std::int64_t store_delay_ms_ = 0;  // Grows while the store fails.
  std::int64_t store_retry_ms_ = 0;  // When to try again.
  bool is_registering_ = false;      // As a new worker.

  // Runs.
  std::unordered_map<store::RunKey, Slot> slots_;
  std::unordered_map<std::string, store::RunKey> slots_by_id_;
  std::list<store::RunKey> parked_;  // Least recently used first.
  std::size_t cache_bytes_ = 0;
  std::set<std::pair<std::int64_t, store::RunKey>> deadlines_;
  bool is_claiming_ = false;
  bool claim_again_ = false;
  std::size_t coming_ = 0;      // Places kept for what claims and starts under way may bring.
  store::WorkersMark workers_;  // Those that left_ is made of.
  std::vector<store::KindDefinition> left_;  // Runs of these are for other workers.
  bool is_reading_workers_ = false;
  std::optional<store::RunKey> stuck_after_;  // A search goes on behind this one.
  bool is_claiming_stuck_ = false;
  bool look_for_stuck_again_ = false;
  bool has_tried_all_ = false;  // That other code had blocked when this engine started.
  std::unordered_map<store::RunKey, std::size_t> told_blocked_;  // And a hash of the reason.
  std::unordered_map<store::RunKey, std::uint64_t> behind_;      // See is_behind_again().
  std::int64_t next_wake_ms_ = store::kNever;
  store::ArrivalKey inbox_read_ = 0;
  // Reads of inboxes under way. What is consumed meanwhile may still be among what they find.
  std::uint64_t inbox_reads_begun_ = 0;
  std::size_t inbox_reads_ = 0;
  std::unordered_set<store::ArrivalKey> just_consumed_;
  struct Delayed {
    std::int64_t at_ms = 0;
    Job job;
  };
  std::vector<Delayed> delayed_;  // Tries again after the store failed.

  std::map<std::string, std::vector<Callback<RunOutcome>>> waiters_;
  std::set<std::string> to_look_for_;  // Whether they have ended.
  std::string looked_for_last_;
  bool is_looking_for_ends_ = false;
  std::int64_t checked_ms_ = 0;  // All that are not held here.
  bool check_held_too_ = false;
  bool is_check_delayed_ = false;

  // Tasks.
  std::vector<Queue> queues_;
  std::vector<std::string> activity_names_;
  std::map<AttemptId, RunningTask> running_tasks_;
  std::set<std::pair<std::int64_t, AttemptId>> heartbeats_;  // To be written, by when.
  std::int64_t task_due_ms_ = store::kNever;
  bool is_looking_at_tasks_ = false;
  bool look_at_tasks_again_ = false;

  std::int64_t retention_ms_ = store::kNever;  // When closed runs are looked at next.

  // Written on the loop, read anywhere.
  struct Counters {
    std::atomic<std::uint64_t> turns = 0;
    std::atomic<std::uint64_t> replays = 0;
    std::atomic<std::uint64_t> evictions = 0;
    std::atomic<std::uint64_t> lost = 0;
    std::atomic<std::uint64_t> operations = 0;
    std::atomic<std::uint64_t> tasks = 0;
    std::atomic<std::uint64_t> removed = 0;
    std::atomic<std::size_t> held = 0;
    std::atomic<std::size_t> cached = 0;
    std::atomic<std::size_t> cache_bytes = 0;
  };
  Counters counters_;
  static void count(std::atomic<std::uint64_t>& counter) {
    counter.fetch_add(1, std::memory_order_relaxed);
  }
  void count_runs();
};

template <class F>
void EngineImpl::post(Lane lane, F job) {
  ++jobs_;
  env_->post(lane, [this, job = std::move(job)]() mutable {
    job();
    run_job_done();
  });
}

template <class F>
void EngineImpl::hand_over(Lane lane, F job) {
  ++jobs_;
  env_->hand_over(lane, [this, job = std::move(job)]() mutable {
    job();
    run_job_done();
  });
}

template <class Body, class Then>
void EngineImpl::run_here(Body body, std::shared_ptr<ActivityAttempt> attempt, Then then) {
  post(Lane::kActivity, [this, body = std::move(body), attempt = std::move(attempt),
                         then = std::move(then)]() mutable {
    ActivityOutcome outcome;
    if (attempt->should_stop()) {
      outcome.ok = false;  // Before it began.
    } else {
      outcome = body(*attempt);
    }
    hand_over(Lane::kLoop, [then = std::move(then), outcome = std::move(outcome)]() mutable {
      then(std::move(outcome));
    });
  });
}

template <class Then>
void EngineImpl::run_elsewhere(const RemoteBody& body, std::shared_ptr<ActivityAttempt> attempt,
                               Then then) {
  ++jobs_;  // stop() waits for it.
  body(std::move(attempt), [this, then = std::move(then)](ActivityOutcome&& outcome) mutable {
    post(Lane::kLoop, [then = std::move(then), outcome = std::move(outcome)]() mutable {
      then(std::move(outcome));
    });
    run_job_done();
  });
}

template <class Then>
void EngineImpl::run_activity(const ActivityType& type, std::shared_ptr<ActivityAttempt> attempt,
                              Then then) {
  if (type.remote) {
    run_elsewhere(type.remote, std::move(attempt), std::move(then));
  } else {
    run_here(type.body, std::move(attempt), std::move(then));
  }
}

template <class Op, class Done>
void EngineImpl::submit(Op&& op, Done done) {
  ++jobs_;
  committer_.submit(std::move(op), [this, done = std::move(done)](Result<void> result,
                                                                  store::Op& written) mutable {
    store_delay_ms_ = result ? 0 : store_delay_ms_;
    if (!result && result.error().code == ErrorCode::kStoreUnusable) {
      check_waiters(/*held_too=*/true);
    }
    if (!result && result.error().code == ErrorCode::kUnknownOutcome &&
        !std::is_same_v<Op, store::Heartbeat>) {
      outcome_unknown();
    }
    done(std::move(result), std::get<Op>(written));
    run_job_done();
  });
}

}  // namespace pawl::engine

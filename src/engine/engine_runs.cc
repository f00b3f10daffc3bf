// The engine, part two: runs are claimed, loaded, take turns, and are given back.
#include <algorithm>

#include "base/check.h"
#include "engine/engine_impl.h"

namespace pawl::engine {

namespace {

// Before what others hold on to is claimed again.
constexpr std::int64_t kClaimPauseMs = 20;

// Runs that are remembered to have been behind their log: most go on elsewhere and are not heard of
// again.
constexpr std::size_t kBehindMax = 10'000;

// An attempt of an operation: nothing to tell anyone while it runs.
class OperationAttempt final : public ActivityAttempt {
 public:
  bool heartbeat(std::string_view /*details*/) override { return !should_stop(); }
  bool should_stop() const override { return stop.load(); }

  std::atomic<bool> stop = false;
};

}  // namespace

EngineImpl::Slot* EngineImpl::find(store::RunKey key) {
  const auto found = slots_.find(key);
  return found == slots_.end() ? nullptr : &found->second;
}

EngineImpl::Slot* EngineImpl::find_held(store::RunKey key) {
  Slot* slot = find(key);
  return slot == nullptr || slot->phase == Phase::kParked ? nullptr : slot;
}

// --- Claims --------------------------------------------------------------------------------------

void EngineImpl::claim_soon() {
  if (!started_ || stopping_ || kinds_.empty()) {
    return;
  }
  if (is_claiming_ || is_reading_workers_ || is_registering_) {
    claim_again_ = true;
    return;
  }
  const std::size_t limit = std::min(kClaimLimit, free_places());
  if (limit == 0) {
    claim_again_ = true;  // When some have been given back.
    return;
  }
  is_claiming_ = true;
  claim_again_ = false;
  beat();
  store::ClaimDue due;
  due.kinds = kinds_;
  due.left = left_;
  due.considered = workers_;
  due.worker = worker_;
  due.limit = limit;
  due.now_ms = env_->now_ms();
  coming_ += limit;
  submit<store::ClaimDue>(std::move(due),
                          [this](const Result<void>& result, store::ClaimDue& done) {
                            is_claiming_ = false;
                            coming_ -= done.limit;
                            if (!result) {
                              report(result.error(), "claiming runs");
                              delayed_.push_back({back_off(), [this] { claim_soon(); }});
                              set_alarm();
                              return;
                            }
                            claim(done);
                            claim_stuck();
                          });
}

std::size_t EngineImpl::free_places() const {
  const std::size_t taken = slots_.size() - parked_.size() + coming_;
  return options_.runs_at_once - std::min(options_.runs_at_once, taken);
}

// Called when there may be one.
void EngineImpl::use_places() {
  if (claim_again_ && !is_claiming_ && !is_reading_workers_) {
    claim_soon();
  }
  claim_stuck();
}

void EngineImpl::claim(store::ClaimDue& due) {
  if (!due.known) {
    if (due.worker == worker_) {
      declared_dead();
    } else {
      claim_soon();  // It was under way when this became another worker.
    }
    return;
  }
  for (store::Claim& claimed : due.claims) {
    take_over(claimed);
  }
  if (due.workers != workers_) {
    read_workers();  // Claims then.
    return;
  }
  const bool was_refused = due.considered != due.workers;
  if (due.claims.size() == due.limit || claim_again_ || was_refused) {
    claim_soon();
  } else {
    find_next_wake(due.now_ms);
  }
}

// `claimed_ms`: what was due then has been claimed.
void EngineImpl::find_next_wake(std::int64_t claimed_ms) {
  next_wake_ms_ = store::kNever;
  post(Lane::kReader, [this, left = left_, claimed_ms] {
    const Result<std::int64_t> next = store_->next_wake(kinds_, left, claimed_ms);
    post(Lane::kLoop, [this, next, claimed_ms] {
      // What was due then and has not been claimed is being changed by others.
      const std::int64_t wake_ms = !next                 ? env_->now_ms() + 1000
                                   : *next <= claimed_ms ? env_->now_ms() + kClaimPauseMs
                                                         : *next;
      next_wake_ms_ = std::min(next_wake_ms_, wake_ms);  // A release may have set an earlier one.
      set_alarm();
    });
  });
}

void EngineImpl::take_over(store::Claim& claim) {
  const store::RunKey key = claim.row.key;
  const bool needs_code = claim.row.status != store::RunStatus::kCompensating;
  if (stopping_ || (needs_code && !is_known(claim.row.kind))) {
    return;  // remove_worker() frees it.
  }
  Slot* slot = find(key);
  if (slot != nullptr && slot->phase == Phase::kParked && slot->run->is_loaded() &&
      slot->run->row().epoch + 1 == claim.row.epoch) {
    // Nobody had it since: the code can go on where it is, and knows what else is in the inbox.
    unpark(*slot);
    slot->run->set_claim(claim.row.owner, claim.row.epoch);
    slot->run->put_all(std::move(claim.inbox));
    slot->phase = Phase::kIdle;
    slot->claimed_at = inbox_reads_begun_;
    process(*slot);
    return;
  }
  if (slot != nullptr) {
    drop(key);
  }
  load(claim.row, std::move(claim.inbox));
}

// --- Loading -------------------------------------------------------------------------------------

void EngineImpl::load(const store::RunRow& row, std::vector<store::Arrival> inbox) {
  const auto definition = definitions_.find(row.kind);
  Slot& slot = slots_[row.key];
  slot.run =
      std::make_shared<Run>(row, definition == definitions_.end() ? nullptr : &definition->second);
  slot.run->put_all(std::move(inbox));
  slot.claimed_at = inbox_reads_begun_;
  slot.knows_inbox = row.status == store::RunStatus::kCompensating;
  slots_by_id_[row.id] = row.key;
  read_again(slot);
}

void EngineImpl::read_again(Slot& slot) {
  slot.phase = Phase::kLoading;
  slot.run->unload();
  const store::RunKey key = slot.run->key();
  const std::int64_t epoch = slot.run->row().epoch;
  const bool compensates = slot.run->row().status == store::RunStatus::kCompensating;
  const bool knows_inbox = slot.knows_inbox;
  post(Lane::kReader, [this, key, epoch, compensates, knows_inbox] {
    Result<LoadedRun> result = [&]() -> Result<LoadedRun> {
      LoadedRun read;
      PAWL_TRY_ASSIGN(read.input, store_->read_input(key));
      PAWL_TRY(store_->read_log(
          key, 1, [&read](const replay::Entry& entry) { return read.log.load(entry); }));
      if (!knows_inbox) {
        PAWL_TRY_ASSIGN(read.inbox, store_->read_inbox_of(key));
      }
      if (compensates) {
        PAWL_TRY_ASSIGN(read.compensations, store_->read_compensations(key));
      }
      return read;
    }();
    hand_over(Lane::kLoop, [this, key, epoch, result = std::move(result)]() mutable {
      loaded(key, epoch, std::move(result));
    });
  });
}

void EngineImpl::loaded(store::RunKey key, std::int64_t epoch, Result<LoadedRun> result) {
  Slot* slot = find(key);
  if (slot == nullptr || slot->phase != Phase::kLoading || slot->run->row().epoch != epoch) {
    return;
  }
  count(counters_.replays);
  const std::int64_t now_ms = env_->now_ms();
  if (!result) {
    if (result.error().code == ErrorCode::kCorruptLog ||
        result.error().code == ErrorCode::kMalformedInput) {
      slot->phase = Phase::kIdle;
      commit(*slot, slot->run->block(now_ms, std::string(kDamagedLog) + result.error().message));
      return;
    }
    report(result.error(), "reading run '" + slot->run->row().id + "'");
    delayed_.push_back({back_off(), [this, key, epoch] {
                          Slot* again = find(key);
                          if (again != nullptr && again->phase == Phase::kLoading &&
                              again->run->row().epoch == epoch) {
                            read_again(*again);
                          }
                        }});
    set_alarm();
    return;
  }
  slot->phase = Phase::kIdle;
  Run& run = *slot->run;
  // Nothing of it can have been consumed since: only now the run takes its first turn.
  run.put_all(std::move(result->inbox));
  slot->knows_inbox = true;
  if (run.row().status == store::RunStatus::kCompensating) {
    const replay::Log& log = result->log;
    std::uint8_t end = static_cast<std::uint8_t>(replay::EntryKind::kWorkflowFailed);
    std::string payload;
    if (log.end_record() != replay::kNoRecord) {
      const replay::Record& record = log[log.end_record()];
      end = static_cast<std::uint8_t>(record.kind);
      payload = record.payload.view();
    }
    begin_saga(*slot, std::move(result->compensations), end, std::move(payload));
    return;
  }
  const Definition& definition = run.definition();
  const bool is_changed = !definition.fingerprint.empty() && !run.row().definition.empty() &&
                          definition.fingerprint != run.row().definition;
  if (is_changed && definition.on_change == OnChange::kRefuse && !run.row().is_approved) {
    commit(*slot,
           run.block_code(now_ms, "the definition of '" + definition.kind + "' has changed from " +
                                      run.row().definition + " to " + definition.fingerprint +
                                      ", and this kind refuses to go on under another one; "
                                      "resume the run to let it try"));
    return;
  }
  if (Result<void> done = run.load(std::move(result->log), result->input); !done) {
    commit(*slot, run.block(now_ms, std::string(kDamagedLog) + done.error().message));
    return;
  }
  process(*slot);
}

// --- Turns ---------------------------------------------------------------------------------------

void EngineImpl::process(Slot& slot) {
  if (slot.phase != Phase::kIdle) {
    slot.must_process = slot.phase == Phase::kAway;
    return;
  }
  if (stopping_ && (slot.saga != nullptr || !slot.run->has_outcomes())) {
    return;  // Only what has been done already is recorded.
  }
  if (slot.is_paused && (slot.saga != nullptr || !slot.run->has_outcomes())) {
    leave(slot);
    return;
  }
  if (slot.saga != nullptr) {
    process_saga(slot);
    return;
  }
  const std::int64_t now_ms = env_->now_ms();
  Run& run = *slot.run;
  if (run.has_overdue_attempts(now_ms)) {
    run.time_out_attempts(now_ms, env_->random());
  }
  // Without anything to do or to wait for here, it is given back.
  if (run.has_work(now_ms) || run.is_quiet()) {
    run.begin_turn(now_ms);
    count(counters_.turns);
    go_on(slot);
    return;
  }
  start_operations(slot);
}

void EngineImpl::go_on(Slot& slot) {
  slot.phase = Phase::kAway;
  const auto back = [this, &slot]() -> Job {
    return [this, run = slot.run, epoch = slot.run->row().epoch]() mutable {
      post(Lane::kLoop, [this, run = std::move(run), epoch] {
        Slot* again = find(run->key());
        if (again != nullptr && again->run == run && again->phase == Phase::kAway &&
            run->row().epoch == epoch) {
          came_back(*again);
        }
      });
    };
  };
  if (slot.run->go_on(back)) {
    came_back(slot);
  }
}

// The code is blocked, or has ended.
void EngineImpl::came_back(Slot& slot) {
  Run& run = *slot.run;
  if (run.take_over()) {
    go_on(slot);
    return;
  }
  slot.phase = Phase::kIdle;
  const bool must_process = std::exchange(slot.must_process, false);
  Turn turn = run.end_turn();
  if (turn.disagreed) {
    turn = run.refuse(env_->now_ms());
  }
  if (turn.has_changes) {
    commit(slot, std::move(turn));
    return;
  }
  if (std::exchange(slot.must_read_inbox, false)) {
    read_inbox(run.key());
  }
  start_operations(slot);
  if (must_process) {
    process(slot);  // Something has come meanwhile.
  }
}

// Somebody holds the run where it is: what is being executed is recorded, nothing more is begun.
void EngineImpl::leave(Slot& slot) {
  if (slot.saga != nullptr) {
    if (!slot.saga->is_running) {
      commit(slot, give_back_saga(slot));
    }
    return;
  }
  if (!slot.run->is_executing()) {
    slot.transactions.clear();
    commit(slot, slot.run->leave(env_->now_ms()));
  }
}

void EngineImpl::commit(Slot& slot, Turn&& turn) {
  slot.phase = Phase::kCommitting;
  const store::RunKey key = slot.run->key();
  // The entries have views into the run.
  turn.commit.texts = std::move(turn.texts);
  submit<store::CommitTurn>(
      std::move(turn.commit),
      [this, key, run = slot.run](const Result<void>& result, store::CommitTurn& done) {
        turn_done(key, result, done);
      });
}

void EngineImpl::turn_done(store::RunKey key, const Result<void>& result,
                           store::CommitTurn& commit) {
  Slot* slot = find(key);
  if (slot == nullptr || slot->phase != Phase::kCommitting ||
      slot->run->row().epoch != commit.epoch) {
    return;
  }
  if (!result) {
    if (result.error().code == ErrorCode::kUnknownOutcome) {
      drop(key);  // The engine stops, and leaves it to others to find out.
      return;
    }
    report(result.error(), "writing a turn of run '" + slot->run->row().id + "'");
    const bool is_too_large = result.error().code == ErrorCode::kLimitExceeded ||
                              result.error().code == ErrorCode::kInvalidArgument;
    if (is_too_large && commit.status != store::RunStatus::kBlocked) {
      slot->phase = Phase::kIdle;
      this->commit(*slot,
                   slot->run->block_code(env_->now_ms(), "a turn of this run cannot be written: " +
                                                             result.error().message));
      return;
    }
    // Nothing of it was written, and nothing has left: the same turn is tried again.
    auto again = std::make_shared<store::CommitTurn>(std::move(commit));
    delayed_.push_back({back_off(), [this, key, run = slot->run, again] {
                          submit<store::CommitTurn>(std::move(*again),
                                                    [this, key, run](const Result<void>& second,
                                                                     store::CommitTurn& done) {
                                                      turn_done(key, second, done);
                                                    });
                        }});
    set_alarm();
    return;
  }
  store_delay_ms_ = 0;
  if (!commit.committed) {
    turn_lost(*slot, commit);
    return;
  }
  if (inbox_reads_ > 0) {
    just_consumed_.insert(commit.consumed.begin(), commit.consumed.end());
  }
  if (!behind_.empty()) {
    behind_.erase(key);
  }
  if (!told_blocked_.empty() && commit.status != store::RunStatus::kBlocked) {
    told_blocked_.erase(key);  // It goes on.
  }
  slot->run->committed(commit);
  slot->is_paused = commit.is_paused;
  touched(commit.others);
  cancel_tasks(key, commit.cancelled_tasks);
  if (!commit.tasks.empty()) {
    for (Queue& queue : queues_) {
      queue.may_have_more = true;
    }
    for (const store::NewTask& task : commit.tasks) {
      task_due_ms_ = std::min(task_due_ms_, task.due_ms);
    }
    set_alarm();
    take_tasks();
  }
  if (!commit.children.empty() || (commit.ending && commit.ending->next)) {
    claim_soon();
  }
  if (commit.ending) {
    ended(*slot, commit);
    return;
  }
  if (commit.released) {
    if (commit.status == store::RunStatus::kBlocked) {
      const store::RunRow& row = slot->run->row();
      report_blocked({key, row.id, row.kind, commit.reason});
      drop(key);
    } else if (commit.is_paused) {
      drop(key);
    } else {
      has_given_back_ = true;
      next_wake_ms_ =
          std::min({next_wake_ms_, commit.wake_ms, slot->run->next_due_ms(commit.now_ms)});
      park(*slot);
      set_alarm();
    }
    return;
  }
  slot->phase = Phase::kIdle;
  const bool was_refused = commit.release;
  if (was_refused || slot->must_read_inbox) {
    slot->must_read_inbox = false;
    read_inbox(key);
  }
  if (options_.replay_every_turn && slot->saga == nullptr) {
    read_again(*slot);
    return;
  }
  if (was_refused) {
    return;  // Something has come: the read brings it.
  }
  process(*slot);
}

void EngineImpl::turn_lost(Slot& slot, const store::CommitTurn& commit) {
  count(counters_.lost);
  const store::RunKey key = slot.run->key();
  if (commit.is_behind && is_behind_again(key, commit.entries.front().seq)) {
    slot.phase = Phase::kIdle;
    this->commit(
        slot, slot.run->block(env_->now_ms(), std::string(kDamagedLog) + "entry " +
                                                  std::to_string(commit.entries.front().seq) +
                                                  " is in it, and is not found when it is read"));
    return;
  }
  const std::string id = slot.run->row().id;
  drop(key);
  check_waiter(id);
  if (commit.is_behind) {
    outcome_unknown();  // Else it would stay with this worker, which does not hold it any more.
  }
}

// Notes that the log has an entry `seq` that the run does not know of. The first time the log is
// read again; if that has not shown the entry either (true), nothing will.
bool EngineImpl::is_behind_again(store::RunKey key, std::uint64_t seq) {
  if (behind_.size() >= kBehindMax) {
    behind_.clear();
  }
  const auto [found, is_first] = behind_.try_emplace(key, seq);
  return !is_first && std::exchange(found->second, seq) == seq;
}

void EngineImpl::ended(Slot& slot, const store::CommitTurn& commit) {
  PAWL_CHECK(commit.ending.has_value());
  const store::Ending& ending = *commit.ending;
  const replay::Entry* last = commit.entries.empty() ? nullptr : &commit.entries.back();
  const std::string payload(slot.saga != nullptr ? std::string_view(slot.saga->payload)
                            : last == nullptr    ? std::string_view()
                                                 : last->payload);
  stop_tasks_of(slot.run->key());  // Nobody waits for them any more.
  if (ending.status == store::RunStatus::kCompensating) {
    slot.phase = Phase::kIdle;
    begin_saga(slot, ending.compensations, static_cast<std::uint8_t>(last->kind), payload);
    return;
  }
  const std::string id = slot.run->row().id;
  drop(slot.run->key());
  if (ending.status != store::RunStatus::kRecurred) {
    tell_waiters(id, RunOutcome{ending.status, payload});
  }
}

void EngineImpl::count_runs() {
  counters_.held = slots_.size() - parked_.size();
  counters_.cached = parked_.size();
  counters_.cache_bytes = cache_bytes_;
}

// --- Memory --------------------------------------------------------------------------------------

void EngineImpl::park(Slot& slot) {
  const store::RunKey key = slot.run->key();
  if (slot.deadline_ms != store::kNever) {
    deadlines_.erase({slot.deadline_ms, key});
    slot.deadline_ms = store::kNever;
  }
  if (options_.replay_every_turn) {
    drop(key);
    return;
  }
  slot.phase = Phase::kParked;
  slot.bytes = slot.run->memory_bytes();
  cache_bytes_ += slot.bytes;
  slot.place = parked_.insert(parked_.end(), key);
  shrink_cache();
  count_runs();
  use_places();
}

void EngineImpl::unpark(Slot& slot) {
  parked_.erase(slot.place);
  cache_bytes_ -= slot.bytes;
  slot.bytes = 0;
  count_runs();
}

void EngineImpl::shrink_cache() {
  while (cache_bytes_ > options_.cache_bytes && !parked_.empty()) {
    drop(parked_.front());
    count(counters_.evictions);
  }
}

void EngineImpl::drop(store::RunKey key) {
  const auto found = slots_.find(key);
  if (found == slots_.end()) {
    return;
  }
  Slot& slot = found->second;
  if (slot.phase == Phase::kParked) {
    unpark(slot);
  }
  if (slot.deadline_ms != store::kNever) {
    deadlines_.erase({slot.deadline_ms, key});
  }
  if (slot.saga != nullptr && slot.saga->stop != nullptr) {
    slot.saga->stop->store(true);
  }
  slot.run->stop_attempts();
  const auto named = slots_by_id_.find(slot.run->row().id);
  if (named != slots_by_id_.end() && named->second == key) {
    slots_by_id_.erase(named);
  }
  slots_.erase(found);
  count_runs();
  use_places();
}

void EngineImpl::watch_deadline(Slot& slot) {
  const std::int64_t next_ms = slot.run->next_due_ms(env_->now_ms());
  if (next_ms == slot.deadline_ms) {
    return;
  }
  const store::RunKey key = slot.run->key();
  if (slot.deadline_ms != store::kNever) {
    deadlines_.erase({slot.deadline_ms, key});
  }
  slot.deadline_ms = next_ms;
  if (next_ms != store::kNever) {
    deadlines_.emplace(next_ms, key);
    set_alarm();
  }
}

// --- What reaches a run --------------------------------------------------------------------------

// From this process, while the run is held here.
void EngineImpl::deliver(store::RunKey key, store::Arrival arrival) {
  Slot* slot = find_held(key);
  if (slot == nullptr) {
    return;
  }
  slot->run->put(std::move(arrival));
  process(*slot);
}

// A commit of ours reached these.
void EngineImpl::touched(const store::Touched& runs) {
  bool any_elsewhere = false;
  for (const store::RunKey key : runs.closed) {
    stop_tasks_of(key);
    if (const Slot* slot = find(key)) {
      const std::string id = slot->run->row().id;
      drop(key);
      check_waiter(id);
    } else {
      any_elsewhere = true;
    }
  }
  if (any_elsewhere) {
    check_waiters();
  }
  woken(runs.woken);
}

// A commit of ours gave these something to do.
void EngineImpl::woken(const std::vector<store::RunKey>& runs) {
  bool any_free = false;
  for (const store::RunKey key : runs) {
    Slot* slot = find_held(key);
    if (slot == nullptr) {
      any_free = true;
    } else if (slot->phase == Phase::kIdle) {
      read_inbox(key);
    } else {
      slot->must_read_inbox = true;
    }
  }
  if (any_free) {
    claim_soon();
  }
}

// What others have put is due at once; the rest of the inbox is known.
void EngineImpl::read_inbox(store::RunKey key) {
  post(Lane::kReader, [this, key, now_ms = env_->now_ms(), read = begin_inbox_read()] {
    Result<std::vector<store::Arrival>> arrivals = store_->read_due_inbox(key, now_ms);
    post(Lane::kLoop, [this, key, read, arrivals = std::move(arrivals)]() mutable {
      if (!arrivals) {
        report(arrivals.error(), "reading the inbox of run " + std::to_string(key));
        end_inbox_read(read, {});
        delayed_.push_back({back_off(), [this, key] { read_inbox(key); }});
        set_alarm();
        return;
      }
      end_inbox_read(read, *std::move(arrivals));
      if (Slot* slot = find_held(key)) {
        process(*slot);  // Also if nothing was found that is new.
      }
    });
  });
}

std::uint64_t EngineImpl::begin_inbox_read() {
  ++inbox_reads_;
  return ++inbox_reads_begun_;
}

// What was found may be older than what has happened since the read began.
void EngineImpl::end_inbox_read(std::uint64_t read, std::vector<store::Arrival> found) {
  for (store::Arrival& arrival : found) {
    const Slot* slot = find_held(arrival.run);
    if (slot != nullptr && slot->claimed_at < read && !just_consumed_.contains(arrival.key)) {
      const store::RunKey run = arrival.run;
      deliver(run, std::move(arrival));
    }
  }
  if (--inbox_reads_ == 0) {
    just_consumed_.clear();
  }
}

// --- Operations ----------------------------------------------------------------------------------

void EngineImpl::start_operations(Slot& slot) {
  if (stopping_) {
    return;
  }
  for (Operation* operation : slot.run->take_startable(env_->now_ms())) {
    count(counters_.operations);
    if (operation->transact) {
      slot.transactions.emplace_back(operation->id);
    } else {
      start_operation(slot, *operation);
    }
  }
  begin_transaction(slot);
  watch_deadline(slot);
}

void EngineImpl::start_operation(Slot& slot, Operation& operation) {
  auto attempt = std::make_shared<OperationAttempt>();
  operation.stop = std::shared_ptr<std::atomic<bool>>(attempt, &attempt->stop);
  attempt->run_id = slot.run->row().id;
  attempt->type = operation.name;
  attempt->key = operation.id;
  attempt->attempt = operation.attempts + 1;
  auto done = [this, run = slot.run->key(), epoch = slot.run->row().epoch,
               number = operation.attempt, attempt](ActivityOutcome&& outcome) {
    operation_done(run, attempt->key, number, epoch, std::move(outcome));
  };
  if (operation.remote != nullptr) {
    run_elsewhere(*operation.remote, std::move(attempt), std::move(done));
  } else {
    run_here([body = operation.body](ActivityAttempt& one) { return (*body)(one); },
             std::move(attempt), std::move(done));
  }
}

void EngineImpl::operation_done(store::RunKey key, const std::string& id, std::uint64_t attempt,
                                std::int64_t epoch, ActivityOutcome outcome) {
  Slot* slot = find_held(key);
  if (slot == nullptr || slot->run->row().epoch != epoch) {
    return;
  }
  Operation* operation = slot->run->find_operation(id);
  if (operation == nullptr || operation->state != Operation::State::kRunning ||
      operation->attempt != attempt) {
    return;  // It had taken too long.
  }
  if (stopping_ && !outcome.ok) {
    return;  // It was asked to stop: it begins again elsewhere.
  }
  if (outcome.ok && outcome.result.size() > options_.payload_bytes_max) {
    outcome.ok = false;
    outcome.failure = {};
    outcome.failure.type = "PayloadTooLarge";
    outcome.failure.message = "the result of operation '" + operation->name + "' has " +
                              std::to_string(outcome.result.size()) + " bytes; at most " +
                              std::to_string(options_.payload_bytes_max) + " are allowed";
    outcome.failure.is_final = true;
  }
  const std::uint64_t random = outcome.ok ? 0 : env_->random();
  slot->run->finish_attempt(*operation, std::move(outcome), env_->now_ms(), random);
  process(*slot);
}

// The body runs inside of the transaction that records it. Until that is over, the run's machine is
// not touched here.
void EngineImpl::begin_transaction(Slot& slot) {
  if (slot.phase != Phase::kIdle || slot.transactions.empty() || stopping_) {
    return;
  }
  const std::string id = slot.transactions.front();
  slot.transactions.pop_front();
  Operation* operation = slot.run->find_operation(id);
  if (operation == nullptr || operation->state != Operation::State::kRunning) {
    return;
  }
  slot.phase = Phase::kCommitting;
  store::CommitTurn turn;
  turn.run = slot.run->key();
  turn.worker = slot.run->row().owner;
  turn.epoch = slot.run->row().epoch;
  turn.now_ms = env_->now_ms();
  struct Attempt {
    ActivityOutcome outcome;
    bool is_recorded = false;  // In the machine; that cannot be taken back.
    bool is_repeated = false;
  };
  auto attempt = std::make_shared<Attempt>();
  turn.inside = [this, run = slot.run, operation, attempt](
                    store::Database& database, store::CommitTurn& written) -> Result<void> {
    if (attempt->is_recorded) {
      attempt->is_repeated = true;
      return make_error(ErrorCode::kInvalidState, "this transaction has to be tried again");
    }
    attempt->outcome = operation->transact(database);
    ActivityOutcome& outcome = attempt->outcome;
    if (outcome.ok && outcome.result.size() > options_.payload_bytes_max) {
      outcome.ok = false;
      outcome.failure.type = "PayloadTooLarge";
      outcome.failure.message = "the result of transaction '" + operation->name + "' is too large";
      outcome.failure.is_final = true;
    }
    if (!outcome.ok) {
      return make_error(ErrorCode::kInvalidArgument, outcome.failure.message);
    }
    Turn recorded = run->record_transaction(*operation, outcome.result, written.now_ms);
    attempt->is_recorded = true;
    written.entries = std::move(recorded.commit.entries);
    written.consumed = std::move(recorded.commit.consumed);
    written.texts = recorded.texts;
    return {};
  };
  submit<store::CommitTurn>(std::move(turn),
                            [this, run = slot.run, key = slot.run->key(), id, attempt](
                                const Result<void>& result, store::CommitTurn& done) {
                              Slot* held = find(key);
                              if (held == nullptr || held->phase != Phase::kCommitting ||
                                  held->run->row().epoch != done.epoch) {
                                return;
                              }
                              if (result && !done.refused) {
                                if (done.committed) {
                                  held->run->forget_operation(id);
                                }
                                turn_done(key, {}, done);
                                return;
                              }
                              transaction_failed(*held, id, result ? *done.refused : result.error(),
                                                 attempt->outcome, attempt->is_repeated);
                            });
}

// The machine may have an outcome that the log does not have: it starts again from the log then.
// `is_repeated`: only because the batch was tried again, which this cannot be.
void EngineImpl::transaction_failed(Slot& slot, const std::string& id, const Error& error,
                                    ActivityOutcome outcome, bool is_repeated) {
  Operation& operation = *slot.run->find_operation(id);
  const std::int64_t now_ms = env_->now_ms();
  // If the batch has failed, that may be why the body did: it says nothing about it.
  if (!outcome.ok && !may_go_away(error.code)) {
    slot.phase = Phase::kIdle;
    slot.run->finish_attempt(operation, std::move(outcome), now_ms, env_->random());
    process(slot);
    return;
  }
  report(error, "transaction '" + operation.name + "' of run '" + slot.run->row().id + "'");
  const bool is_own_fault = error.code == ErrorCode::kInvalidState ||
                            error.code == ErrorCode::kLimitExceeded ||
                            error.code == ErrorCode::kInvalidArgument;
  if (is_own_fault && !is_repeated) {
    ActivityOutcome failed;
    failed.ok = false;
    failed.failure.type =
        error.code == ErrorCode::kLimitExceeded ? "PayloadTooLarge" : "TransactionEnded";
    failed.failure.message = error.message;
    failed.failure.is_final = true;
    slot.run->finish_attempt(operation, std::move(failed), now_ms, env_->random());
    read_again(slot);
    return;
  }
  slot.run->forget_operation(id);
  delayed_.push_back({back_off(), [this, key = slot.run->key(), epoch = slot.run->row().epoch] {
                        Slot* again = find(key);
                        if (again != nullptr && again->phase == Phase::kCommitting &&
                            again->run->row().epoch == epoch) {
                          read_again(*again);
                        }
                      }});
  set_alarm();
}

}  // namespace pawl::engine

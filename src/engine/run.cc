#include "engine/run.h"

#include <algorithm>

#include "base/check.h"
#include "base/moment.h"
#include "engine/task_row.h"

namespace pawl::engine {

namespace {

using replay::CommandKind;
using replay::EntryKind;
using store::kNever;

std::uint8_t number_of(EntryKind kind) { return static_cast<std::uint8_t>(kind); }

store::NewArrival make_arrival(EntryKind kind, std::string_view id, std::int64_t due_ms) {
  store::NewArrival arrival;
  arrival.kind = number_of(kind);
  arrival.id = id;
  arrival.due_ms = due_ms;
  return arrival;
}

store::CompensationRow make_compensation(const replay::Log& log, replay::RecordId id,
                                         std::size_t position) {
  const replay::Record& record = log[id];
  store::CompensationRow row;
  row.position = static_cast<std::uint32_t>(position);
  row.name = log.name(record);
  row.input = record.payload.view();
  row.has_input = record.has_payload;
  return row;
}

store::RunStatus status_for(EntryKind end) {
  switch (end) {
    case EntryKind::kWorkflowCompleted:
      return store::RunStatus::kCompleted;
    case EntryKind::kWorkflowCancelled:
      return store::RunStatus::kCancelled;
    case EntryKind::kWorkflowRecurred:
      return store::RunStatus::kRecurred;
    default:
      return store::RunStatus::kFailed;
  }
}

void ask_to_stop(Operation& operation) {
  if (operation.stop != nullptr) {
    operation.stop->store(true);
  }
}

// What the same turn would put and take back.
void skip_withdrawn(store::CommitTurn& commit) {
  if (commit.withdrawn.empty()) {
    return;
  }
  std::set<std::pair<std::uint8_t, std::string>> left(commit.withdrawn.begin(),
                                                      commit.withdrawn.end());
  std::erase_if(commit.arrivals, [&](const store::NewArrival& arrival) {
    return left.erase({arrival.kind, arrival.id.empty() ? arrival.location : arrival.id}) > 0;
  });
  commit.withdrawn.assign(left.begin(), left.end());
}

bool is_end(EntryKind kind) { return replay::traits(kind).role == replay::EntryRole::kEnd; }

}  // namespace

std::optional<store::NewArrival> arrival_for_parent(const store::Parent& parent, EntryKind end,
                                                    std::string_view payload) {
  if (parent.run == 0 || end == EntryKind::kWorkflowRecurred) {
    return std::nullopt;
  }
  EntryKind kind = EntryKind::kChildWorkflowFailed;
  if (end == EntryKind::kWorkflowCompleted) {
    kind = EntryKind::kChildWorkflowCompleted;
  } else if (end == EntryKind::kWorkflowCancelled) {
    kind = EntryKind::kChildWorkflowCancelled;
  }
  store::NewArrival arrival = make_arrival(kind, parent.command, 0);
  arrival.has_payload = !payload.empty();
  arrival.payload = payload;
  return arrival;
}

Run::Run(const store::RunRow& row, const Definition* definition)
    : row_(row), definition_(definition), host_(row) {}

Run::~Run() {
  stop_attempts();
  unload();
}

// --- Loading -------------------------------------------------------------------------------------

Result<void> Run::load(replay::Log log, std::string_view input) {
  PAWL_CHECK(machine_ == nullptr);
  replay::RunInfo info;
  info.run_id = row_.uuid;
  info.matching = definition_->matching;
  info.started_at_ms = row_.created_ms;
  info.definition_then = row_.definition;
  info.definition_now = definition_->fingerprint;
  committed_seq_ = log.last_seq();
  PAWL_TRY_ASSIGN(machine_, replay::Machine::create(std::move(info), std::move(log)));
  host_.set_machine(machine_.get());
  definition_written_ =
      definition_->fingerprint.empty() || row_.definition == definition_->fingerprint;
  started_ = false;
  if (definition_->create_remote) {
    remote_ = definition_->create_remote(host_, input);
  } else {
    program_ = definition_->create(host_, input);
  }
  return {};
}

void Run::unload() {
  program_.reset();  // First: destructors in the code may look at the machine.
  remote_.reset();
  machine_.reset();
  host_.set_machine(nullptr);
  host_.clear();
  for (const store::ArrivalKey key : given_) {
    not_given_.emplace(inbox_.at(key).due_ms, key);
  }
  given_.clear();
  // The code will ask for them again, and find what has become of them.
  for (auto& [id, operation] : operations_) {
    operation.future = 0;
  }
}

std::size_t Run::memory_bytes() const {
  std::size_t bytes = sizeof(Run) + 512;
  if (machine_ != nullptr) {
    bytes += program_ != nullptr ? program_->memory_bytes() : remote_->memory_bytes();
    bytes += machine_->memory_bytes() + sizeof(replay::Machine);
  }
  bytes += inbox_.size() * sizeof(store::Arrival) + inbox_payload_bytes_;
  return bytes + operations_.size() * sizeof(Operation);
}

// --- What reaches the run ------------------------------------------------------------------------

void Run::put(store::Arrival&& arrival) {
  const store::ArrivalKey key = arrival.key;
  const auto [found, is_new] = inbox_.try_emplace(key, std::move(arrival));
  if (!is_new) {
    bring_forward(found->second, arrival.due_ms);
    return;
  }
  const store::Arrival& kept = found->second;
  inbox_payload_bytes_ += kept.payload.size();
  if (kept.kind != store::kRetryOperation) {
    not_given_.emplace(kept.due_ms, key);
  }
  if (kept.due_ms > 0) {
    by_id_[{kept.kind, kept.id.empty() ? kept.location : kept.id}] = key;
  }
}

// Somebody has hurried it. (try_emplace() leaves alone what it does not take.)
void Run::bring_forward(store::Arrival& known, std::int64_t due_ms) {
  if (known.kind != store::kRetryOperation || due_ms >= known.due_ms) {
    return;
  }
  known.due_ms = due_ms;
  Operation* operation = find_operation(known.id);
  if (operation != nullptr && operation->state == Operation::State::kWaiting) {
    retry_dues_.erase({operation->due_ms, known.id});
    operation->due_ms = due_ms;
    retry_dues_.emplace(due_ms, known.id);
  }
}

void Run::take_out(store::ArrivalKey key) {
  const auto found = inbox_.find(key);
  if (found == inbox_.end()) {
    return;
  }
  const store::Arrival& arrival = found->second;
  const auto named =
      by_id_.find({arrival.kind, arrival.id.empty() ? arrival.location : arrival.id});
  if (named != by_id_.end() && named->second == key) {
    by_id_.erase(named);
  }
  not_given_.erase({arrival.due_ms, key});
  given_.erase(key);
  inbox_payload_bytes_ -= arrival.payload.size();
  inbox_.erase(found);
}

void Run::put_all(std::vector<store::Arrival> arrivals) {
  for (store::Arrival& arrival : arrivals) {
    put(std::move(arrival));
  }
}

bool Run::has_work(std::int64_t now_ms) const {
  if (!started_ || has_undelivered_ || !recorded_.empty() || !retry_rows_.empty()) {
    return true;
  }
  return !not_given_.empty() && not_given_.begin()->first <= now_ms;
}

std::int64_t Run::next_due_ms(std::int64_t now_ms) const {
  std::int64_t next = kNever;
  if (const auto later = not_given_.upper_bound({now_ms, kNever}); later != not_given_.end()) {
    next = later->first;
  }
  for (const auto& [due_ms, id] : retry_dues_) {
    if (operations_.find(id)->second.future != 0) {  // Else the code has not asked for it again.
      next = std::min(next, due_ms);
      break;
    }
  }
  return limit_dues_.empty() ? next : std::min(next, limit_dues_.begin()->first);
}

// --- Turns ---------------------------------------------------------------------------------------

void Run::begin_commit(store::CommitTurn& commit, std::int64_t now_ms) const {
  commit.run = row_.key;
  commit.worker = row_.owner;
  commit.epoch = row_.epoch;
  commit.now_ms = now_ms;
}

void Run::begin_turn(std::int64_t now_ms) {
  turn_ = {};
  begin_commit(turn_.commit, now_ms);
  has_undelivered_ = false;
  machine_->set_time(now_ms);
  give_arrivals(now_ms, turn_.commit);
  turn_.commit.arrivals = std::exchange(retry_rows_, {});
  turn_.commit.consumed.insert(turn_.commit.consumed.end(), used_rows_.begin(), used_rows_.end());
  used_rows_.clear();
  record_outcomes();
}

bool Run::go_on(const std::function<Job()>& back) {
  const bool is_new = !std::exchange(started_, true);
  if (remote_ != nullptr) {
    remote_->go_on(host_, is_new, back());
    return false;
  }
  host_.run(*program_, is_new);
  return true;
}

bool Run::take_over() {
  for (CodeHost::Asked& asked : host_.asked()) {
    add_operation(asked);
  }
  for (store::Outgoing& sent : host_.sent()) {
    turn_.commit.outgoing.push_back(std::move(sent));
  }
  for (const replay::Delivery& delivery : host_.delivered()) {
    note_delivery(delivery, turn_.commit);
  }
  host_.clear();
  if (machine_->violation() || machine_->is_finished()) {
    return false;
  }
  return record_outcomes();  // Of what the code has asked for again only now.
}

Turn Run::end_turn() {
  Turn turn = std::move(turn_);
  if (machine_->violation()) {
    turn.commit = {};
    turn.disagreed = true;
    return turn;
  }
  const std::int64_t now_ms = turn.commit.now_ms;
  add_batch(turn);
  if (!definition_written_) {
    mark_definition(turn.commit);
  }
  if (!turn.commit.ending) {
    add_release(now_ms, turn.commit);
  }
  const store::CommitTurn& commit = turn.commit;
  turn.has_changes = !commit.entries.empty() || !commit.consumed.empty() ||
                     !commit.arrivals.empty() || commit.release || commit.definition.has_value();
  return turn;
}

// Whose history it is from now on.
void Run::mark_definition(store::CommitTurn& commit) const {
  if (machine_->has_replayed_all()) {
    commit.definition = definition_->fingerprint;  // Code and history agree.
    return;
  }
  // What comes after may disagree. If it does, this code is not to blame, nor is that from before
  // when it meets the new commands: it is not known any more whose history it is. (One that refuses
  // other code would forget by this that a person let it go on.)
  const bool any_commands = std::ranges::any_of(commit.entries, [](const replay::Entry& entry) {
    return replay::traits(entry.kind).role == replay::EntryRole::kCommand;
  });
  if (any_commands && !row_.definition.empty() && definition_->on_change != OnChange::kRefuse) {
    commit.definition = "";
  }
}

void Run::give_arrivals(std::int64_t now_ms, store::CommitTurn& commit) {
  while (!not_given_.empty() && not_given_.begin()->first <= now_ms) {
    const store::ArrivalKey key = not_given_.begin()->second;
    not_given_.erase(not_given_.begin());
    const store::Arrival& arrival = inbox_.at(key);
    replay::Entry entry;
    entry.kind = static_cast<EntryKind>(arrival.kind);
    entry.time_ms = now_ms;
    entry.id = arrival.id;
    entry.location = arrival.location;
    entry.name = arrival.name;
    entry.has_payload = arrival.has_payload;
    entry.payload = arrival.payload;
    entry.extra = arrival.extra;
    const Result<bool> taken = machine_->arrive(entry, static_cast<std::uint64_t>(key));
    if (taken && *taken) {
      given_.insert(key);
    } else {
      commit.consumed.push_back(key);
    }
  }
}

// True if there was something. What the code has not asked for again stays.
bool Run::record_outcomes() {
  std::size_t left = 0;
  for (Operation* operation : recorded_) {
    if (operation->future == 0) {
      recorded_[left++] = operation;
      continue;
    }
    const std::string extra = attempts_extra(operation->attempts);
    const Result<void> done = machine_->complete_operation(operation->future, operation->outcome,
                                                           operation->payload, extra);
    if (!done && done.error().code == ErrorCode::kLimitExceeded) {
      Failure failure;
      failure.type = "PayloadTooLarge";
      failure.message = done.error().message;
      static_cast<void>(machine_->complete_operation(
          operation->future, replay::OutcomeKind::kFailed, encode_failure(failure), extra));
    }
    --busy_operations_;
    operations_.erase(operations_.find(operation->id));
  }
  const bool any = left < recorded_.size();
  recorded_.resize(left);
  return any;
}

// What waited with a deadline and came in time does not need the deadline any more.
void Run::note_delivery(const replay::Delivery& delivery, store::CommitTurn& commit) {
  if (delivery.seq <= committed_seq_ || delivery.future == 0) {
    return;
  }
  const replay::RecordId record = machine_->record_of(delivery.future);
  if (record == replay::kNoRecord) {
    return;
  }
  const replay::Log& log = machine_->log();
  if (log[record].number <= 0 || log[record].seq > committed_seq_) {
    return;  // Without one, or it is not stored yet.
  }
  if (delivery.kind == EntryKind::kSignalReceived) {
    withdraw(commit, number_of(EntryKind::kSignalTimedOut), log.location(log[record]).to_string());
  } else if (delivery.kind == EntryKind::kPromiseResolved ||
             delivery.kind == EntryKind::kPromiseRejected) {
    withdraw(commit, number_of(EntryKind::kPromiseTimedOut), log.id_text(log[record]));
  }
}

// By its key, if that is known: the store would have to look through the inbox.
void Run::withdraw(store::CommitTurn& commit, std::uint8_t kind, std::string_view id) const {
  if (const auto known = by_id_.find({kind, std::string(id)}); known != by_id_.end()) {
    commit.consumed.push_back(known->second);
  } else {
    commit.withdrawn.emplace_back(kind, id);
  }
}

void Run::add_batch(Turn& turn) {
  store::CommitTurn& commit = turn.commit;
  const replay::Batch batch = machine_->take_new();
  const replay::Log& log = machine_->log();
  commit.entries.reserve(batch.last - batch.first);
  turn.texts = std::make_shared<replay::Log::EntryTexts[]>(batch.last - batch.first);
  for (replay::RecordId id = batch.first; id < batch.last; ++id) {
    commit.entries.push_back(log.entry(id, turn.texts[id - batch.first]));
    add_effects(id, commit.entries.back(), commit);
  }
  skip_withdrawn(commit);
  commit.forgotten = batch.forgotten;
  for (const auto* tokens : {&batch.consumed, &batch.dropped}) {
    for (const std::uint64_t token : *tokens) {
      commit.consumed.push_back(static_cast<store::ArrivalKey>(token));
    }
  }
}

void Run::add_effects(replay::RecordId id, const replay::Entry& entry, store::CommitTurn& commit) {
  switch (entry.kind) {
    case EntryKind::kTaskScheduled:
      commit.tasks.push_back(make_task(entry));
      break;
    case EntryKind::kTimerStarted:
      commit.arrivals.push_back(
          make_arrival(EntryKind::kTimerFired, entry.id, add_ms(entry.time_ms, entry.number)));
      break;
    case EntryKind::kPromiseCreated:
      commit.promises.emplace_back(entry.id);
      if (entry.number > 0) {
        commit.arrivals.push_back(make_arrival(EntryKind::kPromiseTimedOut, entry.id,
                                               add_ms(entry.time_ms, entry.number)));
      }
      break;
    case EntryKind::kSignalAwaited: {
      const replay::FutureId wait = machine_->log()[id].future;
      if (entry.number > 0 && !machine_->outcome(wait)->is_complete) {
        store::NewArrival arrival =
            make_arrival(EntryKind::kSignalTimedOut, "", add_ms(entry.time_ms, entry.number));
        arrival.location = entry.location;
        commit.arrivals.push_back(std::move(arrival));
      }
      break;
    }
    case EntryKind::kChildWorkflowInitiated: {
      const Result<ChildOptions> decoded = decode_child_options(entry.extra);
      store::NewRun child;
      child.id = entry.name;
      child.kind = entry.child_kind;
      child.uuid = uuid5(row_.uuid, std::string(entry.id) + ":run");
      child.input = entry.has_payload ? entry.payload : "null";
      child.parent = {row_.key, std::string(entry.id), store::ParentClose::kCancel};
      if (decoded) {
        child.parent.close = static_cast<store::ParentClose>(decoded->parent_close);
        for (const auto& [name, value] : decoded->tags) {
          child.tags.push_back({name, value});
        }
      }
      commit.children.push_back(std::move(child));
      break;
    }
    case EntryKind::kTaskCancelRequested:
      commit.cancelled_tasks.emplace_back(entry.id);
      break;
    case EntryKind::kTimerCancelRequested:
      withdraw(commit, number_of(EntryKind::kTimerFired), entry.id);
      commit.arrivals.push_back(make_arrival(EntryKind::kTimerCancelled, entry.id, 0));
      break;
    default:
      if (is_end(entry.kind)) {
        add_end(entry, commit);
      }
      break;
  }
}

std::vector<store::CompensationRow> Run::recorded_compensations() const {
  std::vector<store::CompensationRow> rows;
  for (const replay::RecordId id : machine_->compensations()) {
    rows.push_back(make_compensation(machine_->log(), id, rows.size()));
  }
  return rows;
}

void Run::add_end(const replay::Entry& entry, store::CommitTurn& commit) {
  store::Ending ending;
  ending.status = status_for(entry.kind);
  if (entry.kind == EntryKind::kWorkflowRecurred) {
    store::NewRun next;
    next.id = row_.id;
    next.kind = row_.kind;
    next.uuid = uuid5(row_.uuid, "recur");
    next.input = entry.has_payload ? entry.payload : "null";
    next.definition = definition_->fingerprint;
    next.parent = row_.parent;
    ending.next = std::move(next);
    const replay::Log& log = machine_->log();
    for (const replay::RecordId id : machine_->unconsumed_signals()) {
      const replay::Record& record = log[id];
      store::NewArrival signal = make_arrival(EntryKind::kSignalReceived, "", 0);
      signal.name = log.name(record);
      signal.has_payload = record.has_payload;
      signal.payload = record.payload.view();
      signal.extra = log.extra(record);
      ending.signals.push_back(std::move(signal));
    }
  } else {
    ending.for_parent = arrival_for_parent(row_.parent, entry.kind, entry.payload);
    if (entry.kind != EntryKind::kWorkflowCompleted) {
      ending.compensations = recorded_compensations();
    }
    if (!ending.compensations.empty()) {
      ending.goal = ending.status;
      ending.status = store::RunStatus::kCompensating;
      ending.for_parent.reset();
    }
  }
  commit.ending = std::move(ending);
}

bool Run::is_quiet() const { return busy_operations_ == 0; }

bool Run::is_executing() const {
  return !recorded_.empty() || std::ranges::any_of(operations_, [](const auto& entry) {
    const Operation& operation = entry.second;
    return operation.state == Operation::State::kRunning && !operation.transact;
  });
}

Turn Run::leave(std::int64_t now_ms) const {
  Turn turn;
  turn.has_changes = true;
  begin_commit(turn.commit, now_ms);
  turn.commit.kept.assign(given_.begin(), given_.end());
  turn.commit.release = true;
  turn.commit.waiting_for = is_loaded() ? waiting_for() : "";
  turn.commit.status =
      turn.commit.waiting_for.empty() ? store::RunStatus::kRunning : store::RunStatus::kWaiting;
  turn.commit.wake_ms = now_ms;  // Should it not be paused any more.
  return turn;
}

// Attempts of operations that the code, changed since, does not ask for any more.
void Run::drop_orphaned_retries(std::int64_t now_ms, store::CommitTurn& commit) {
  for (auto row = by_id_.lower_bound({store::kRetryOperation, ""}); row != by_id_.end(); ++row) {
    const store::ArrivalKey key = row->second;
    const auto found = operations_.find(row->first.second);
    const bool is_wanted = found != operations_.end() && found->second.future != 0;
    if (is_wanted || inbox_.at(key).due_ms > now_ms) {
      continue;
    }
    commit.consumed.push_back(key);
    if (found != operations_.end() && found->second.state == Operation::State::kWaiting) {
      retry_dues_.erase({found->second.due_ms, std::string(found->second.id)});
      operations_.erase(found);
    }
  }
}

void Run::add_release(std::int64_t now_ms, store::CommitTurn& commit) {
  if (!is_quiet()) {
    return;
  }
  drop_orphaned_retries(now_ms, commit);
  if (!retry_dues_.empty() && retry_dues_.begin()->first <= now_ms) {
    return;
  }
  std::sort(commit.consumed.begin(), commit.consumed.end());
  std::set_difference(given_.begin(), given_.end(), commit.consumed.begin(), commit.consumed.end(),
                      std::back_inserter(commit.kept));
  commit.release = true;
  commit.status = store::RunStatus::kWaiting;
  commit.waiting_for = waiting_for();
}

std::string Run::waiting_for() const {
  constexpr std::size_t kShown = 3;
  std::string text;
  const std::vector<replay::FutureId> shown = machine_->first_blocked_on(kShown);
  for (const replay::FutureId future : shown) {
    const replay::RecordId record = machine_->record_of(future);
    const CommandKind kind = machine_->kind_of(future);
    text += (text.empty() ? "" : ", ") + std::string(replay::step_name(kind));
    std::string name(machine_->command_name(future));
    if (name.empty() && record != replay::kNoRecord) {
      const replay::Log& log = machine_->log();
      name = log[record].id_is_binary ? "" : log.id_text(log[record]);
    }
    text += name.empty() ? "" : " " + name;
  }
  text.resize(std::min<std::size_t>(text.size(), 300));
  if (const std::size_t count = machine_->blocked_count();
      shown.size() == kShown && count > kShown) {
    text += " and " + std::to_string(count - kShown) + " more";
  }
  return text;
}

Turn Run::refuse(std::int64_t now_ms) {
  const std::optional<replay::Violation>& found = machine_->violation();
  PAWL_CHECK(found.has_value());
  const replay::Violation& violation = *found;
  // Not if a person has let other code go on with it: that may have written.
  const bool is_same_code = !definition_->fingerprint.empty() &&
                            row_.definition == definition_->fingerprint &&
                            !(definition_->on_change == OnChange::kRefuse && row_.is_approved);
  if (!is_same_code) {
    return block_code(now_ms, violation.render());
  }
  Failure failure;
  failure.type = "DETERMINISM_VIOLATION";
  failure.message = violation.render();
  Turn turn;
  turn.has_changes = true;
  begin_commit(turn.commit, now_ms);
  turn.commit.reason = failure.message;
  turn.texts = std::make_shared<replay::Log::EntryTexts[]>(1);
  turn.texts[0].id = encode_failure(failure);  // Keeps the payload alive.
  replay::Entry end;
  end.kind = EntryKind::kWorkflowFailed;
  end.seq = committed_seq_ + 1;
  end.time_ms = now_ms;
  end.has_payload = true;
  end.payload = turn.texts[0].id;
  turn.commit.entries.push_back(end);
  // What history says was registered is undone, however far this replay came.
  store::Ending ending;
  ending.status = store::RunStatus::kFailed;
  const replay::Log& log = machine_->log();
  for (replay::RecordId id = 0; id < log.size() && log[id].seq <= committed_seq_; ++id) {
    if (log[id].kind == EntryKind::kCompensationRegistered) {
      ending.compensations.push_back(make_compensation(log, id, ending.compensations.size()));
    }
  }
  if (ending.compensations.empty()) {
    ending.for_parent = arrival_for_parent(row_.parent, end.kind, end.payload);
  } else {
    ending.goal = ending.status;
    ending.status = store::RunStatus::kCompensating;
  }
  turn.commit.ending = std::move(ending);
  return turn;
}

Turn Run::block_code(std::int64_t now_ms, std::string reason) const {
  Turn turn = block(now_ms, std::move(reason));
  if (definition_ != nullptr) {
    turn.commit.blocked_by = definition_->fingerprint;
  }
  return turn;
}

Turn Run::block(std::int64_t now_ms, std::string reason) const {
  Turn turn;
  turn.has_changes = true;
  begin_commit(turn.commit, now_ms);
  turn.commit.release = true;
  turn.commit.status = store::RunStatus::kBlocked;
  turn.commit.reason = std::move(reason);
  return turn;
}

void Run::committed(store::CommitTurn& commit) {
  if (!commit.entries.empty()) {
    committed_seq_ = commit.entries.back().seq;
  }
  for (const store::ArrivalKey key : commit.consumed) {
    take_out(key);
  }
  for (const auto& [kind, id] : commit.withdrawn) {
    if (const auto found = by_id_.find({kind, id}); found != by_id_.end()) {
      take_out(found->second);
    }
  }
  for (std::size_t i = 0; i < commit.arrivals.size() && i < commit.arrival_keys.size(); ++i) {
    store::Arrival arrival;
    static_cast<store::NewArrival&>(arrival) = std::move(commit.arrivals[i]);
    arrival.key = commit.arrival_keys[i];
    arrival.run = row_.key;
    if (arrival.kind == store::kRetryOperation) {
      if (Operation* operation = find_operation(arrival.id)) {
        operation->row = arrival.key;
      }
    }
    put(std::move(arrival));
  }
  put_all(std::move(commit.bounced));
  if (commit.definition) {
    row_.definition = *commit.definition;
    row_.is_approved = false;
    definition_written_ = row_.definition == definition_->fingerprint;
  }
}

// --- Operations ----------------------------------------------------------------------------------

Operation* Run::find_operation(std::string_view id) {
  const auto found = operations_.find(id);
  return found == operations_.end() ? nullptr : &found->second;
}

void Run::add_operation(CodeHost::Asked& asked) {
  const auto [found, is_new] = operations_.try_emplace(machine_->command_id(asked.future));
  const std::string& id = found->first;
  Operation& operation = found->second;
  operation.future = asked.future;
  operation.body = std::move(asked.body);
  operation.remote = std::move(asked.remote);
  operation.transact = std::move(asked.transact);
  operation.retry = std::move(asked.retry);
  operation.timeout_ms = asked.timeout_ms;
  if (!is_new) {
    if (operation.state == Operation::State::kNew) {
      new_operations_.push_back(&operation);
    }
    return;  // From before a replay.
  }
  operation.id = id;
  operation.name = machine_->command_name(asked.future);
  ++busy_operations_;
  if (const auto row = by_id_.find({store::kRetryOperation, id}); row != by_id_.end()) {
    const store::Arrival& retry_row = inbox_.at(row->second);
    operation.attempts = static_cast<std::uint32_t>(retry_row.number);
    operation.row = retry_row.key;
    wait_until(operation, retry_row.due_ms);
  } else {
    new_operations_.push_back(&operation);
  }
}

void Run::wait_until(Operation& operation, std::int64_t due_ms) {
  operation.state = Operation::State::kWaiting;
  operation.due_ms = due_ms;
  retry_dues_.emplace(due_ms, operation.id);
  --busy_operations_;
}

const std::vector<Operation*>& Run::take_startable(std::int64_t now_ms) {
  startable_.clear();
  const auto start = [&](Operation& operation) {
    operation.state = Operation::State::kRunning;
    ++operation.attempt;
    if (operation.timeout_ms > 0) {
      operation.due_ms = add_ms(now_ms, operation.timeout_ms);
      limit_dues_.emplace(operation.due_ms, operation.id);
    }
    startable_.push_back(&operation);
  };
  for (auto due = retry_dues_.begin(); due != retry_dues_.end() && due->first <= now_ms;) {
    Operation& operation = operations_.find(due->second)->second;
    if (operation.future == 0) {
      ++due;  // The code has not asked for it again.
      continue;
    }
    due = retry_dues_.erase(due);
    ++busy_operations_;
    start(operation);
  }
  for (Operation* operation : new_operations_) {
    if (operation->state == Operation::State::kNew && operation->future != 0) {
      start(*operation);
    }
  }
  new_operations_.clear();
  return startable_;
}

void Run::finish_attempt(Operation& operation, ActivityOutcome outcome, std::int64_t now_ms,
                         std::uint64_t random) {
  if (operation.timeout_ms > 0) {
    limit_dues_.erase({operation.due_ms, std::string(operation.id)});
  }
  ++operation.attempts;
  if (operation.row != 0) {
    used_rows_.push_back(operation.row);
    operation.row = 0;
  }
  if (!outcome.ok && may_retry(operation.retry, outcome.failure, operation.attempts)) {
    const std::int64_t delay_ms =
        retry_delay_ms(operation.retry, outcome.failure, operation.attempts, random);
    wait_until(operation, add_ms(now_ms, std::max<std::int64_t>(delay_ms, 1)));
    store::NewArrival row;
    row.kind = store::kRetryOperation;
    row.id = operation.id;
    row.due_ms = operation.due_ms;
    row.number = operation.attempts;
    row.has_payload = true;
    row.payload = encode_failure(outcome.failure);
    retry_rows_.push_back(std::move(row));
    return;
  }
  operation.state = Operation::State::kRecorded;
  operation.outcome = outcome.ok ? replay::OutcomeKind::kValue : replay::OutcomeKind::kFailed;
  operation.payload = outcome.ok ? std::move(outcome.result) : encode_failure(outcome.failure);
  recorded_.push_back(&operation);
}

void Run::time_out_attempts(std::int64_t now_ms, std::uint64_t random) {
  while (has_overdue_attempts(now_ms)) {
    Operation& operation = operations_.find(limit_dues_.begin()->second)->second;
    ask_to_stop(operation);
    ActivityOutcome outcome;
    outcome.ok = false;
    outcome.failure.type = "Timeout";
    outcome.failure.message = "operation '" + operation.name + "' took longer than " +
                              std::to_string(operation.timeout_ms) + " ms";
    finish_attempt(operation, std::move(outcome), now_ms, random);
  }
}

Turn Run::record_transaction(Operation& operation, std::string_view result, std::int64_t now_ms) {
  Turn turn;
  begin_commit(turn.commit, now_ms);
  machine_->set_time(now_ms);
  if (operation.row != 0) {
    turn.commit.consumed.push_back(operation.row);
  }
  PAWL_CHECK(machine_
                 ->complete_operation(operation.future, replay::OutcomeKind::kValue, result,
                                      attempts_extra(operation.attempts + 1))
                 .has_value());
  add_batch(turn);
  turn.has_changes = true;
  return turn;
}

void Run::forget_operation(std::string_view id) {
  has_undelivered_ = true;
  operations_.erase(operations_.find(id));
  --busy_operations_;
}

void Run::stop_attempts() {
  for (auto& [id, operation] : operations_) {
    if (operation.state == Operation::State::kRunning) {
      ask_to_stop(operation);
    }
  }
}

}  // namespace pawl::engine

#include "store/model.h"

#include <algorithm>

#include "base/moment.h"

namespace pawl::store {

namespace {

using replay::EntryKind;

bool is_free(const RunRow& row) {
  return row.owner == 0 && !row.is_paused && !is_closed(row.status) &&
         row.status != RunStatus::kBlocked;
}

NewArrival arrival_of(EntryKind kind, std::string id = "") {
  NewArrival arrival;
  arrival.kind = static_cast<std::uint8_t>(kind);
  arrival.id = std::move(id);
  return arrival;
}

// When somebody has to look at a task that gets ready.
std::int64_t ready_due_ms(const TaskRow& task, std::int64_t now_ms) {
  return task.wait_ms > 0 ? std::min(task.deadline_ms, add_ms(now_ms, task.wait_ms))
                          : task.deadline_ms;
}

bool is(std::uint8_t number, EntryKind kind) { return number == static_cast<std::uint8_t>(kind); }

}  // namespace

void Model::apply(Op& op, std::deque<RunKey> started) {
  others_ = {};
  started_ = std::move(started);
  std::visit([this](auto& one) { run(one); }, op);
}

// --- Workers -------------------------------------------------------------------------------------

void Model::add_worker(WorkerKey key, const WorkerInfo& info) { workers[key] = info; }

void Model::remove_worker(WorkerKey worker, std::int64_t now_ms) {
  if (workers.erase(worker) == 0) {
    return;
  }
  for (auto& [key, run] : runs) {
    if (run.row.owner == worker) {
      run.row.owner = 0;
      run.row.wake_ms = run.row.is_paused ? kNever : now_ms;
    }
  }
  for (auto& [key, task] : tasks) {
    if (task.owner == worker) {
      task.owner = 0;
      task.due_ms = now_ms;
    }
  }
}

std::int64_t Model::free_expired(WorkerKey self, std::int64_t now_ms) {
  std::int64_t next = kNever;
  const auto all = workers;
  for (const auto& [worker, info] : all) {
    if (worker != self && info.expires_ms <= now_ms) {
      remove_worker(worker, now_ms);
    } else if (worker != self) {
      next = std::min(next, info.expires_ms);
    }
  }
  return next;
}

void Model::run(Heartbeat& op) {
  op.known = workers.contains(op.worker);
  if (op.known) {
    workers[op.worker].expires_ms = op.expires_ms;
  }
}

// --- Runs ----------------------------------------------------------------------------------------

Model::Run* Model::newest(const std::string& id) {
  Run* found = nullptr;
  for (auto& [key, run] : runs) {
    if (run.row.id == id && (found == nullptr || found->row.number < run.row.number)) {
      found = &run;
    }
  }
  return found;
}

Model::Run* Model::target(RunKey run, const std::string& id) {
  if (run == 0) {
    return newest(id);
  }
  const auto found = runs.find(run);
  return found == runs.end() ? nullptr : &found->second;
}

// One that the store has not started is another one than all of its runs.
RunKey Model::next_run() {
  RunKey key = kNever - static_cast<RunKey>(all_runs.size());
  if (!started_.empty()) {
    key = started_.front();
    started_.pop_front();
  }
  all_runs.push_back(key);
  return key;
}

Model::Run& Model::add(const NewRun& from, std::uint32_t number, RunKey chain, WorkerKey owner,
                       std::int64_t now_ms) {
  const RunKey key = next_run();
  Run& made = runs[key];
  made.row.key = key;
  made.row.id = from.id;
  made.row.number = number;
  made.row.uuid = from.uuid;
  made.row.kind = from.kind;
  made.row.definition = from.definition;
  made.row.created_ms = now_ms;
  made.row.changed_ms = now_ms;
  made.row.owner = owner;
  made.row.epoch = owner == 0 ? 0 : 1;
  made.row.wake_ms = owner == 0 ? now_ms : kNever;
  made.row.parent = from.parent;
  made.chain = chain == 0 ? key : chain;
  made.input = from.input;
  made.tags = {from.tags.begin(), from.tags.end()};
  return made;
}

void Model::run(StartRun& op) {
  Run* existing = newest(op.run.id);
  op.arrival = 0;
  op.outcome = StartOutcome::kStarted;
  const WorkerKey owner = workers.contains(op.owner) ? op.owner : 0;
  if (existing == nullptr) {
    existing = &add(op.run, 1, 0, owner, op.now_ms);
  } else if (op.on_existing == OnExisting::kReplace) {
    if (!is_closed(existing->row.status)) {
      terminate(*existing, "", op.now_ms, true);
      others_.closed.push_back(existing->row.key);
    }
    existing = &add(op.run, existing->row.number + 1, 0, owner, op.now_ms);
  } else if (op.on_existing == OnExisting::kFail || existing->row.kind != op.run.kind) {
    op.outcome = StartOutcome::kRefused;
  } else {
    op.outcome = StartOutcome::kExisting;
  }
  if (op.signal.has_value() && op.outcome != StartOutcome::kRefused) {
    op.arrival = send(*existing, *op.signal, op.dedupe, op.now_ms).second;
  }
  op.row = existing->row;
  op.others = others_;
}

void Model::run(Claim& op) {
  op.claimed = false;
  const auto found = runs.find(op.run);
  if (found == runs.end() || !workers.contains(op.worker) || !is_free(found->second.row)) {
    return;
  }
  const std::string& definition = found->second.row.definition;
  if (definition.empty() || definition == op.definition.value_or(definition)) {
    op = take(found->second, op.worker, op.now_ms);
  }
}

Claim Model::take(Run& run, WorkerKey worker, std::int64_t now_ms) {
  RunRow& row = run.row;
  const RunStatus status =
      row.goal == RunStatus::kRunning ? RunStatus::kRunning : RunStatus::kCompensating;
  if (row.status != status) {
    row.changed_ms = now_ms;
  }
  if (row.status == RunStatus::kBlocked) {
    run.reason.clear();
  }
  run.needs.clear();
  row.status = status;
  row.owner = worker;
  row.epoch += 1;
  row.wake_ms = kNever;
  row.waiting_for.clear();
  Claim claim;
  claim.run = row.key;
  claim.worker = worker;
  claim.now_ms = now_ms;
  claim.claimed = true;
  claim.row = row;
  for (const auto& [arrival, kept] : run.inbox) {
    if (!kept && arrival.due_ms <= now_ms) {
      claim.inbox.push_back(arrival);
    }
  }
  return claim;
}

void Model::run(ClaimDue& op) {
  op.claims.clear();
  op.known = workers.contains(op.worker);
  std::vector<std::pair<std::int64_t, RunKey>> due;
  for (const auto& [key, run] : runs) {
    const bool is_kind = std::count(op.kinds.begin(), op.kinds.end(), run.row.kind) > 0;
    const bool is_left = std::count(op.left.begin(), op.left.end(),
                                    KindDefinition{run.row.kind, run.row.definition}) > 0;
    if (is_kind && !is_left && run.row.wake_ms <= op.now_ms) {
      due.emplace_back(run.row.wake_ms, key);
    }
  }
  std::sort(due.begin(), due.end());
  for (const auto& [wake_ms, key] : due) {
    Claim claim;
    claim.run = key;
    claim.worker = op.worker;
    claim.now_ms = op.now_ms;
    if (op.claims.size() < op.limit) {
      run(claim);
      if (claim.claimed) {
        op.claims.push_back(claim);
      }
    }
  }
}

void Model::run(ClaimStuck& op) {
  op.claims.clear();
  op.known = workers.contains(op.worker);
  for (auto& [key, run] : runs) {
    bool may_go_on =
        std::count(op.activities.begin(), op.activities.end(), run.needs) > 0 && !run.needs.empty();
    for (const ClaimStuck::Code& code : op.codes) {
      const bool is_other = code.definition.empty() || run.blocked_by != code.definition;
      const bool is_own = !code.definition.empty() && run.row.definition == code.definition;
      const bool is_left = run.blocked_by != run.row.definition &&
                           std::count(op.left.begin(), op.left.end(),
                                      KindDefinition{run.row.kind, run.row.definition}) > 0;
      may_go_on = may_go_on ||
                  (code.kind == run.row.kind && run.row.status == RunStatus::kBlocked && !is_left &&
                   run.blocked_by.has_value() && is_other && (is_own || !code.only_own));
    }
    may_go_on = may_go_on && !run.row.is_paused;
    if (op.known && may_go_on && key > op.after && op.claims.size() < op.limit) {
      op.claims.push_back(take(run, op.worker, op.now_ms));
    }
  }
}

void Model::run(Resume& op) {
  Run* const found = target(op.run, op.run_id);
  op.target = found == nullptr ? 0 : found->row.key;
  op.outcome = found == nullptr               ? SendOutcome::kNoRun
               : is_closed(found->row.status) ? SendOutcome::kClosed
                                              : SendOutcome::kSent;
  if (op.outcome != SendOutcome::kSent || found->row.owner != 0) {
    return;
  }
  if (found->row.status == RunStatus::kBlocked) {
    found->row.status =
        found->row.goal == RunStatus::kRunning ? RunStatus::kRunning : RunStatus::kCompensating;
    found->row.changed_ms = op.now_ms;
    found->row.is_approved = true;
  }
  found->reason.clear();
  found->needs.clear();
  if (!found->row.is_paused) {
    found->row.wake_ms = std::min(found->row.wake_ms, op.now_ms);
  }
}

void Model::run(Terminate& op) {
  Run* const found = target(op.run, op.run_id);
  op.target = found == nullptr ? 0 : found->row.key;
  op.outcome = found == nullptr               ? SendOutcome::kNoRun
               : is_closed(found->row.status) ? SendOutcome::kClosed
                                              : SendOutcome::kSent;
  if (op.outcome == SendOutcome::kSent) {
    terminate(*found, op.payload, op.now_ms, true);
  }
  op.others = others_;
}

void Model::terminate(Run& run, const std::string& payload, std::int64_t now_ms,
                      bool tells_parent) {
  const std::uint64_t seq = run.log.empty() ? 1 : run.log.rbegin()->first + 1;
  run.log[seq] = {seq, EntryKind::kWorkflowFailed, "", payload};
  NewArrival for_parent = arrival_of(EntryKind::kChildWorkflowFailed);
  for_parent.has_payload = true;
  for_parent.payload = payload;
  close(run, RunStatus::kFailed, tells_parent ? &for_parent : nullptr, now_ms);
}

void Model::close(Run& run, RunStatus status, const NewArrival* for_parent, std::int64_t now_ms) {
  run.row.status = status;
  run.row.goal = RunStatus::kRunning;
  run.row.is_paused = false;
  run.row.owner = 0;
  run.row.epoch += 1;
  run.row.wake_ms = kNever;
  run.row.waiting_for.clear();
  run.row.changed_ms = now_ms;
  run.reason.clear();
  run.needs.clear();
  run.promises.clear();
  run.inbox.clear();
  remove_tasks(run.row.key);
  if (status != RunStatus::kRecurred) {
    std::erase_if(dedupe_, [&](const auto& one) { return one.first == run.chain; });
    const auto parent = runs.find(run.row.parent.run);
    if (for_parent != nullptr && parent != runs.end() && !is_closed(parent->second.row.status)) {
      NewArrival arrival = *for_parent;
      arrival.id = run.row.parent.command;
      deliver(parent->second, arrival, now_ms);
      others_.woken.push_back(parent->first);
    }
  }
  const std::vector<RunKey> left = children(run.row.key);
  for (const RunKey key : left) {
    if (runs[key].row.parent.close == ParentClose::kCancel) {
      NewArrival cancel = arrival_of(EntryKind::kCancellationRequested);
      cancel.has_payload = true;
      cancel.payload = "the parent of this run ended";
      deliver(runs[key], cancel, now_ms);
      others_.woken.push_back(key);
    }
  }
  for (const RunKey key : left) {
    if (runs[key].row.parent.close == ParentClose::kTerminate) {
      others_.closed.push_back(key);
      terminate(runs[key], "", now_ms, false);
    }
  }
}

std::vector<RunKey> Model::children(RunKey run) const {
  std::vector<RunKey> found;
  for (const auto& [key, child] : runs) {
    if (child.row.parent.run == run && !is_closed(child.row.status)) {
      found.push_back(key);
    }
  }
  return found;
}

std::int64_t Model::next_wake(const std::vector<std::string>& kinds,
                              const std::vector<KindDefinition>& left,
                              std::int64_t after_ms) const {
  std::int64_t next = kNever;
  for (const auto& [key, run] : runs) {
    const RunRow& row = run.row;
    const bool is_shared = std::any_of(left.begin(), left.end(),
                                       [&](const auto& each) { return each.kind == row.kind; });
    const bool is_left =
        std::count(left.begin(), left.end(), KindDefinition{row.kind, row.definition}) > 0;
    if (std::count(kinds.begin(), kinds.end(), row.kind) > 0 && !is_left &&
        (!is_shared || row.wake_ms > after_ms)) {
      next = std::min(next, row.wake_ms);
    }
  }
  return next;
}

// --- What people do to runs ----------------------------------------------------------------------

void Model::run(Pause& op) {
  Run* const found = target(op.run, op.run_id);
  op.target = found == nullptr ? 0 : found->row.key;
  op.owner = found == nullptr ? 0 : found->row.owner;
  op.changed = false;
  op.outcome = found == nullptr               ? SendOutcome::kNoRun
               : is_closed(found->row.status) ? SendOutcome::kClosed
                                              : SendOutcome::kSent;
  if (op.outcome != SendOutcome::kSent || found->row.is_paused == op.is_paused) {
    return;
  }
  op.changed = true;
  found->row.is_paused = op.is_paused;
  found->row.wake_ms = is_free(found->row) ? op.now_ms : kNever;
}

void Model::run(Hurry& op) {
  Run* const found = target(op.run, op.run_id);
  op.target = found == nullptr ? 0 : found->row.key;
  op.attempts = 0;
  op.outcome = found == nullptr               ? SendOutcome::kNoRun
               : is_closed(found->row.status) ? SendOutcome::kClosed
                                              : SendOutcome::kSent;
  if (op.outcome != SendOutcome::kSent) {
    return;
  }
  const auto hurry = [&](std::int64_t& due_ms) {
    const bool is_later = due_ms > op.now_ms;
    due_ms = is_later ? op.now_ms : due_ms;
    op.attempts += is_later ? 1 : 0;
    return is_later;
  };
  for (auto& [key, task] : tasks) {
    if (task.run == op.target && task.state == TaskState::kDelayed) {
      hurry(task.due_ms);
    }
  }
  if (found->row.owner != 0) {
    return;
  }
  bool has_more = false;
  for (auto& [arrival, kept] : found->inbox) {
    has_more = (arrival.kind == kRetryOperation && hurry(arrival.due_ms)) || has_more;
  }
  for (auto& [position, row] : found->compensations) {
    has_more = (row.state == CompensationState::kOpen && hurry(row.due_ms)) || has_more;
  }
  if (has_more && is_free(found->row)) {
    found->row.wake_ms = std::min(found->row.wake_ms, op.now_ms);
  }
}

void Model::run(DeleteRun& op) {
  const auto found = runs.find(op.run);
  if (found == runs.end()) {
    op.outcome = DeleteRun::Outcome::kNoRun;
    return;
  }
  if (!is_closed(found->second.row.status)) {
    op.outcome = DeleteRun::Outcome::kOpen;
    return;
  }
  const auto parent = runs.find(found->second.row.parent.run);
  if ((parent != runs.end() && !is_closed(parent->second.row.status)) ||
      !children(op.run).empty()) {
    op.outcome = DeleteRun::Outcome::kNeeded;
    return;
  }
  op.outcome = DeleteRun::Outcome::kDeleted;
  const RunKey chain = found->second.chain;
  runs.erase(found);
  remove_tasks(op.run);
  const bool is_chain_open = std::any_of(runs.begin(), runs.end(), [&](const auto& one) {
    return one.second.chain == chain && !is_closed(one.second.row.status);
  });
  if (!is_chain_open) {
    std::erase_if(dedupe_, [&](const auto& one) { return one.first == chain; });
  }
}

void Model::run(CreateRun& op) {
  const Run* const existing = newest(op.image.row.id);
  op.outcome = CreateRun::Outcome::kExists;
  if (existing != nullptr && (!op.as_next || !is_closed(existing->row.status))) {
    op.row = existing->row;
    return;
  }
  op.outcome = CreateRun::Outcome::kCreated;
  const std::uint32_t number = existing == nullptr ? op.image.row.number : existing->row.number + 1;
  const RunKey key = next_run();
  Run& made = runs[key];
  const RunImage& image = op.image;
  made.row = image.row;
  made.row.key = key;
  made.row.number = number;
  made.row.owner = 0;
  made.row.epoch = 0;
  made.row.parent = {};
  made.row.is_paused = image.row.is_paused && !is_closed(image.row.status);
  made.row.wake_ms = is_free(made.row) ? op.now_ms : kNever;
  made.chain = key;
  made.input = image.input;
  made.tags = {image.tags.begin(), image.tags.end()};
  made.reason = image.reason;
  made.blocked_by = image.blocked_by;
  made.needs = image.needs;
  for (const replay::Entry& entry : op.entries) {
    made.log[entry.seq] = {entry.seq, entry.kind, std::string(entry.id),
                           std::string(entry.payload)};
  }
  for (const StoredArrival& arrival : image.inbox) {
    put(made, arrival);
    made.inbox.back().second = arrival.is_kept;
  }
  for (const TaskRow& task : image.tasks) {
    TaskRow& row = tasks[++last_task_];
    row = task;
    row.key = last_task_;
    row.run = key;
    row.run_id = image.row.id;
    row.owner = 0;
    if (task.state == TaskState::kRunning) {
      row.state = TaskState::kReady;
      row.due_ms = ready_due_ms(row, op.now_ms);
    }
  }
  for (const PromiseRow& promise : image.promises) {
    made.promises[promise.name] = promise.is_resolved;
  }
  for (const CompensationRow& row : image.compensations) {
    made.compensations[row.position] = row;
  }
  for (const std::string& id : image.dedupe) {
    dedupe_.insert({made.chain, id});
  }
  op.row = made.row;
}

RunImage Model::image(RunKey key) const {
  const Run& from = runs.at(key);
  RunImage image;
  image.row = from.row;
  image.input = from.input;
  image.tags = {from.tags.begin(), from.tags.end()};
  image.reason = from.reason;
  image.blocked_by = from.row.status == RunStatus::kBlocked ? from.blocked_by : std::nullopt;
  image.needs = from.needs;
  for (const auto& [arrival, kept] : from.inbox) {
    image.inbox.push_back({arrival, kept});
  }
  for (const auto& [task_key, task] : tasks) {
    if (task.run == key) {
      image.tasks.push_back(task);
    }
  }
  for (const auto& [name, is_resolved] : from.promises) {
    image.promises.push_back({name, is_resolved});
  }
  for (const auto& [position, row] : from.compensations) {
    image.compensations.push_back(row);
  }
  for (const auto& [chain, id] : dedupe_) {
    if (chain == from.chain) {
      image.dedupe.push_back(id);
    }
  }
  return image;
}

// --- Inboxes -------------------------------------------------------------------------------------

ArrivalKey Model::put(Run& run, const NewArrival& arrival) {
  Arrival stored;
  static_cast<NewArrival&>(stored) = arrival;
  stored.key = ++last_arrival_;
  stored.run = run.row.key;
  run.inbox.emplace_back(stored, false);
  if (run.row.owner != 0) {
    news[stored.key] = run.row.owner;
  }
  return stored.key;
}

ArrivalKey Model::put_own(Run& run, const NewArrival& arrival) {
  const ArrivalKey key = put(run, arrival);
  news.erase(key);
  own_arrivals[key] = {run.row.owner, 0};
  return key;
}

ArrivalKey Model::deliver(Run& run, const NewArrival& arrival, std::int64_t now_ms) {
  if (is_free(run.row)) {
    run.row.wake_ms = std::min(run.row.wake_ms, std::max(arrival.due_ms, now_ms));
  }
  return put(run, arrival);
}

std::pair<SendOutcome, ArrivalKey> Model::send(Run& run, const NewArrival& arrival,
                                               const std::string& dedupe, std::int64_t now_ms) {
  if (is_closed(run.row.status)) {
    return {SendOutcome::kClosed, 0};
  }
  if (!dedupe.empty() && dedupe_.contains({run.chain, dedupe})) {
    return {SendOutcome::kDuplicate, 0};
  }
  if (is(arrival.kind, EntryKind::kPromiseResolved) ||
      is(arrival.kind, EntryKind::kPromiseRejected)) {
    const auto promise = run.promises.find(arrival.id);
    if (promise == run.promises.end() || promise->second) {
      return {promise == run.promises.end() ? SendOutcome::kNoPromise : SendOutcome::kResolved, 0};
    }
    promise->second = true;
  }
  if (!dedupe.empty()) {
    dedupe_.insert({run.chain, dedupe});
  }
  return {SendOutcome::kSent, deliver(run, arrival, now_ms)};
}

void Model::run(Send& op) {
  Run* const found = target(op.run, op.run_id);
  op.outcome = SendOutcome::kNoRun;
  op.target = 0;
  op.owner = 0;
  op.key = 0;
  op.claim.reset();
  if (found == nullptr) {
    return;
  }
  op.target = found->row.key;
  std::tie(op.outcome, op.key) = send(*found, op.arrival, op.dedupe, op.now_ms);
  if (op.outcome == SendOutcome::kSent) {
    Claim claim;
    claim.run = op.target;
    claim.worker = op.claim_for;
    claim.definition = op.claim_as;
    claim.now_ms = op.now_ms;
    run(claim);
    if (claim.claimed) {
      op.claim = claim;
    }
  }
  op.owner = found->row.owner;
}

// --- Tasks ---------------------------------------------------------------------------------------

void Model::remove_tasks(RunKey run) {
  std::erase_if(tasks, [&](const auto& one) { return one.second.run == run; });
}

std::vector<TaskRow> Model::due_tasks(std::int64_t now_ms) const {
  std::vector<TaskRow> due;
  for (const auto& [key, task] : tasks) {
    if (task.due_ms <= now_ms) {
      due.push_back(task);
    }
  }
  std::sort(due.begin(), due.end(), [](const TaskRow& a, const TaskRow& b) {
    return std::pair(a.due_ms, a.key) < std::pair(b.due_ms, b.key);
  });
  return due;
}

void Model::run(TakeTasks& op) {
  op.taken.clear();
  op.known = workers.contains(op.worker);
  if (!op.known) {
    return;
  }
  std::vector<TaskRow*> ready;
  for (auto& [key, task] : tasks) {
    if (task.queue != op.queue || std::count(op.types.begin(), op.types.end(), task.type) == 0) {
      continue;
    }
    if (task.state == TaskState::kDelayed && task.due_ms <= op.now_ms) {
      task.state = TaskState::kReady;
      task.due_ms = ready_due_ms(task, op.now_ms);
    }
    if (task.state == TaskState::kReady) {
      ready.push_back(&task);
    }
  }
  std::sort(ready.begin(), ready.end(), [](const TaskRow* a, const TaskRow* b) {
    return std::pair(-a->priority, a->key) < std::pair(-b->priority, b->key);
  });
  for (TaskRow* const task : ready) {
    if (op.taken.size() == op.limit) {
      break;
    }
    task->state = TaskState::kRunning;
    task->owner = op.worker;
    task->attempt += 1;
    task->started_ms = op.now_ms;
    task->due_ms = task->deadline_ms;
    for (const std::int64_t span : {task->attempt_ms, task->heartbeat_ms}) {
      if (span > 0) {
        task->due_ms = std::min(task->due_ms, add_ms(op.now_ms, span));
      }
    }
    op.taken.push_back(*task);
  }
}

void Model::run(ChangeTask& op) {
  op.changed = false;
  op.run = 0;
  op.owner = 0;
  op.key = 0;
  op.claim.reset();
  const auto found = tasks.find(op.task);
  op.cancel_requested = found == tasks.end() || found->second.cancel_requested;
  if (found == tasks.end()) {
    return;
  }
  TaskRow& task = found->second;
  op.run = task.run;
  if (task.state != op.state || task.attempt != op.attempt) {
    return;
  }
  op.changed = true;
  if (op.next.has_value()) {
    task.state = *op.next;
    task.owner = task.state == TaskState::kRunning ? task.owner : 0;
    task.due_ms = op.due_ms;
    task.details = op.details.value_or(task.details);
    task.last_error = op.last_error.value_or(task.last_error);
    return;
  }
  Run& owner = runs[task.run];
  tasks.erase(found);
  if (op.arrival.has_value()) {
    op.key = deliver(owner, *op.arrival, op.now_ms);
    Claim claim;
    claim.run = op.run;
    claim.worker = op.claim_for;
    claim.definition = op.claim_as;
    claim.now_ms = op.now_ms;
    run(claim);
    if (claim.claimed) {
      op.claim = claim;
    }
  }
  op.owner = owner.row.owner;
}

// --- Turns ---------------------------------------------------------------------------------------

void Model::run(CommitTurn& op) {
  op.committed = false;
  op.released = false;
  op.is_paused = false;
  op.arrival_keys.clear();
  op.bounced.clear();
  op.started.clear();
  op.others = {};
  const auto found = runs.find(op.run);
  if (found == runs.end() || op.worker == 0 || found->second.row.owner != op.worker ||
      found->second.row.epoch != op.epoch) {
    return;
  }
  Run& run = found->second;
  op.is_paused = run.row.is_paused;
  for (const replay::Entry& entry : op.entries) {
    if (run.log.contains(entry.seq)) {
      return;
    }
  }
  op.committed = true;
  for (const replay::Entry& entry : op.entries) {
    run.log[entry.seq] = {entry.seq, entry.kind, std::string(entry.id), std::string(entry.payload)};
  }
  for (const std::uint64_t seq : op.forgotten) {
    run.log.erase(seq);
  }
  const auto bounce = [&](const NewArrival& arrival) {
    put_own(run, arrival);
    op.bounced.push_back(run.inbox.back().first);
  };
  for (const ArrivalKey key : op.consumed) {
    std::erase_if(run.inbox, [&](const auto& one) { return one.first.key == key; });
  }
  for (const ArrivalKey key : op.kept) {
    for (auto& [arrival, kept] : run.inbox) {
      kept = kept || arrival.key == key;
    }
  }
  for (const auto& [kind, id] : op.withdrawn) {
    std::erase_if(run.inbox, [&, which = kind, name = id](const auto& one) {
      const Arrival& arrival = one.first;
      return arrival.kind == which &&
             (is(which, EntryKind::kSignalTimedOut) ? arrival.location : arrival.id) == name;
    });
  }
  for (const NewArrival& arrival : op.arrivals) {
    op.arrival_keys.push_back(put_own(run, arrival));
  }
  for (const NewTask& task : op.tasks) {
    const bool is_there = std::any_of(tasks.begin(), tasks.end(), [&](const auto& one) {
      return one.second.run == op.run && one.second.id == task.id;
    });
    ++last_task_;  // Used up in any case.
    if (!is_there) {
      TaskRow& row = tasks[last_task_];
      static_cast<NewTask&>(row) = task;
      row.key = last_task_;
      row.run = op.run;
      row.run_id = run.row.id;
      row.created_ms = op.now_ms;
    }
  }
  for (const std::string& id : op.cancelled_tasks) {
    for (auto task = tasks.begin(); task != tasks.end(); ++task) {
      if (task->second.run != op.run || task->second.id != id) {
        continue;
      }
      if (task->second.state == TaskState::kRunning) {
        task->second.cancel_requested = true;
      } else {
        tasks.erase(task);
        bounce(arrival_of(EntryKind::kTaskCancelled, id));
      }
      break;
    }
  }
  for (const std::string& name : op.promises) {
    run.promises.try_emplace(name, false);
  }
  for (const replay::Entry& entry : op.entries) {
    const bool is_end = entry.kind == EntryKind::kPromiseResolved ||
                        entry.kind == EntryKind::kPromiseRejected ||
                        entry.kind == EntryKind::kPromiseTimedOut;
    if (const auto promise = run.promises.find(std::string(entry.id));
        is_end && promise != run.promises.end()) {
      promise->second = true;
    }
  }
  for (const NewRun& child : op.children) {
    if (newest(child.id) == nullptr) {
      op.started.push_back(add(child, 1, 0, 0, op.now_ms).row.key);
      others_.woken.push_back(op.started.back());
    } else {
      op.started.push_back(0);
      bounce(arrival_of(EntryKind::kChildWorkflowFailed, child.parent.command));
    }
  }
  for (const Outgoing& outgoing : op.outgoing) {
    Run* const to = newest(outgoing.run_id);
    if (to != nullptr &&
        send(*to, outgoing.arrival, outgoing.dedupe, op.now_ms).first == SendOutcome::kSent) {
      others_.woken.push_back(to->row.key);
    }
  }
  for (const CompensationChange& change : op.compensation_changes) {
    if (const auto row = run.compensations.find(change.position); row != run.compensations.end()) {
      row->second.state = change.state;
      row->second.attempt = change.attempt;
      row->second.due_ms = change.due_ms;
      row->second.outcome = change.outcome;
    }
  }
  if (op.definition.has_value()) {
    run.row.definition = *op.definition;
    run.row.is_approved = false;
  }
  op.others = others_;
  if (op.ending.has_value() && op.ending->status == RunStatus::kCompensating) {
    run.row.status = RunStatus::kCompensating;
    run.row.goal = op.ending->goal;
    run.row.changed_ms = op.now_ms;
    run.inbox.clear();
    run.promises.clear();
    remove_tasks(op.run);
    for (const CompensationRow& row : op.ending->compensations) {
      run.compensations[row.position] = row;
    }
  } else if (op.ending.has_value()) {
    if (op.ending->status == RunStatus::kRecurred) {
      NewRun from = *op.ending->next;
      from.parent = run.row.parent;
      if (from.tags.empty()) {
        from.tags = {run.tags.begin(), run.tags.end()};
      }
      Run& next = add(from, run.row.number + 1, run.chain, 0, op.now_ms);
      if (run.row.is_paused) {
        next.row.is_paused = true;
        next.row.wake_ms = kNever;
      }
      for (const NewArrival& signal : op.ending->signals) {
        put(next, signal);
      }
      for (const auto& [arrival, kept] : run.inbox) {
        if (is(arrival.kind, EntryKind::kSignalReceived) ||
            is(arrival.kind, EntryKind::kCancellationRequested)) {
          const ArrivalKey moved = put(next, arrival);
          if (const auto own = own_arrivals.find(arrival.key); own != own_arrivals.end()) {
            own_arrivals[moved] = {own->second.first, own->second.second + 1};
          }
        }
      }
      op.started.push_back(next.row.key);
      others_.woken.push_back(next.row.key);
    }
    const std::optional<NewArrival>& for_parent = op.ending->for_parent;
    close(run, op.ending->status, for_parent.has_value() ? &*for_parent : nullptr, op.now_ms);
    run.reason = op.reason;
    op.others = others_;
    op.released = true;
    return;
  }
  if (!op.release) {
    return;
  }
  std::int64_t wake_ms = kNever;
  if (op.status == RunStatus::kCompensating) {
    wake_ms = op.wake_ms;
    run.needs = op.needs;
  } else if (op.status != RunStatus::kBlocked) {
    wake_ms = op.wake_ms;
    for (const auto& [arrival, kept] : run.inbox) {
      if (!kept && arrival.due_ms <= op.now_ms && !run.row.is_paused) {
        return;
      }
      if (!kept) {
        wake_ms = std::min(wake_ms, arrival.due_ms);
      }
    }
  } else {
    run.reason = op.reason;
    run.blocked_by = op.blocked_by;
    run.row.is_approved = false;
  }
  if (run.row.status != op.status) {
    run.row.changed_ms = op.now_ms;
  }
  run.row.status = op.status;
  run.row.waiting_for = op.waiting_for;
  run.row.owner = 0;
  run.row.wake_ms = run.row.is_paused ? kNever : wake_ms;
  op.wake_ms = run.row.wake_ms;
  op.released = true;
}

}  // namespace pawl::store

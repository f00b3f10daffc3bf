#include "portable/cut.h"

#include <map>
#include <optional>
#include <set>
#include <utility>

#include "base/moment.h"
#include "engine/task_row.h"
#include "replay/location.h"

namespace pawl::portable {

namespace {

using replay::CommandKind;
using replay::Entry;
using replay::EntryKind;
using replay::EntryRole;
using replay::kNoRecord;
using replay::Location;
using replay::Log;
using replay::Record;
using replay::RecordId;

Error refused(std::string message) {
  return make_error(ErrorCode::kInvalidArgument, std::move(message));
}

bool is_signal(std::uint8_t kind) {
  return kind == static_cast<std::uint8_t>(EntryKind::kSignalReceived);
}

// Their outcome is made by the clock, when it is due.
bool is_deadline(EntryKind kind) {
  return kind == EntryKind::kTimerFired || kind == EntryKind::kPromiseTimedOut ||
         kind == EntryKind::kSignalTimedOut;
}

bool is_inside(const Location& inner, const Location& outer) {
  if (inner.depth() <= outer.depth()) {
    return false;
  }
  for (std::size_t i = 0; i < outer.depth(); ++i) {
    if (inner[i] != outer[i]) {
      return false;
    }
  }
  return true;
}

std::string first_command_behind(const Log& log, RecordId entry) {
  for (RecordId id = entry; id < log.size(); ++id) {
    if (log[id].is_command && !log[id].forgotten) {
      return log.location(log[id]).to_string();
    }
  }
  return std::string(kAtEnd);
}

// The last one that stands for this loop's iterations.
RecordId last_checkpoint(const Log& log, replay::BranchId loop) {
  RecordId last = kNoRecord;
  for (RecordId id = 0; id < log.size(); ++id) {
    if (log[id].kind == EntryKind::kLoopCheckpointed && log[id].branch == loop) {
      last = id;
    }
  }
  return last;
}

Error forgotten_error(const Log& log, std::string_view place, RecordId checkpoint) {
  const Record& record = log[checkpoint];
  const std::string loop = log.location(record.branch).to_string();
  return refused(std::string(place) + " cannot be forked at: the loop at " + loop +
                 " has forgotten what it did up to its iteration " +
                 std::to_string(log.checkpoint(record)->iteration) + ". Possible are " + loop +
                 " itself, which begins the loop anew, and the places from " +
                 first_command_behind(log, last_checkpoint(log, record.branch)) + " on");
}

class Cutter {
 public:
  Cutter(const RunDocument& document, Log& log, const Cut& cut)
      : document_(document), log_(log), cut_(cut) {}

  Result<ForkPlan> run();

 private:
  Result<void> check_loops() const;
  std::string new_id(const std::string& id) const;
  void copy_entries();
  void find_cancelled();
  Result<void> add_open_commands();
  Result<void> add_open(RecordId id);
  void add_task(RecordId id);
  void add_operation(RecordId id);
  void add_timer(RecordId id);
  void add_promise(RecordId id);
  Result<void> add_child(RecordId id);
  void add_wait(RecordId id);
  void add_deadline(EntryKind kind, RecordId id);
  bool add_later_outcome(RecordId id);
  void add_arrival(EntryKind kind, const std::string& id);
  void add_signal(const store::NewArrival& signal, std::size_t place);
  void look_at_the_rest();
  void add_warnings();

  // What the log has for it behind the cut; kNoRecord if nothing.
  RecordId later_outcome(RecordId id) const;
  bool is_cancelled(RecordId id) const { return cancelled_.contains(id); }

  const RunDocument& document_;
  Log& log_;
  const Cut& cut_;
  ForkPlan plan_;
  std::map<std::string, std::string> ids_;  // Of commands: old and new.
  std::set<RecordId> cancelled_;            // Asked to be so before the cut,
  std::set<RecordId> cancelled_later_;      // or behind it.
  std::map<std::string, bool> promises_;    // By name: resolved?
  // What arrives again, by its place in the log, or in the inbox, which comes behind it.
  std::map<std::size_t, store::StoredArrival> arrivals_;
  std::map<RecordId, Entry> operation_outcomes_;  // By their place in the log.
};

Result<ForkPlan> Cutter::run() {
  PAWL_TRY(check_loops());
  store::RunImage& image = plan_.document.image;
  image.row = document_.image.row;
  image.row.id = cut_.id;
  image.row.number = 1;
  image.row.uuid = cut_.uuid;
  image.row.status = store::RunStatus::kRunning;
  image.row.goal = store::RunStatus::kRunning;
  image.row.waiting_for.clear();
  image.row.is_paused = false;
  image.row.changed_ms = cut_.now_ms;  // Its start stays: the code may have read the time of it.
  image.input = document_.image.input;
  image.tags = document_.image.tags;
  ids_ = made_ids(log_, cut_.at, document_.image.row.uuid, cut_.uuid);
  copy_entries();
  find_cancelled();
  PAWL_TRY(add_open_commands());
  look_at_the_rest();
  for (const auto& [place, arrival] : arrivals_) {
    image.inbox.push_back(arrival);
  }
  for (const auto& [place, outcome] : operation_outcomes_) {
    std::vector<Entry>& entries = plan_.document.log;
    entries.push_back(outcome);
    entries.back().seq = entries[entries.size() - 2].seq + 1;
  }
  for (const auto& [name, is_resolved] : promises_) {
    image.promises.push_back({name, is_resolved});
  }
  add_warnings();
  PAWL_TRY(check_document(plan_.document));
  return std::move(plan_);
}

// A checkpoint stands for iterations that began before it. Cut between both, part of them would be
// missing, and nothing would say so.
Result<void> Cutter::check_loops() const {
  const std::uint64_t end_seq = cut_.at < log_.size() ? log_[cut_.at].seq : log_.last_seq() + 1;
  for (RecordId id = cut_.at; id < log_.size(); ++id) {
    if (log_[id].kind != EntryKind::kLoopCheckpointed) {
      continue;
    }
    const RecordId opener = log_.branch(log_[id].branch).opener;
    if (opener < cut_.at && end_seq - log_[opener].seq != cut_.at - opener) {
      return forgotten_error(log_, cut_.place, id);
    }
  }
  return {};
}

std::string Cutter::new_id(const std::string& id) const {
  const auto found = ids_.find(id);
  return found == ids_.end() ? id : found->second;
}

void Cutter::copy_entries() {
  for (RecordId id = 0; id < cut_.at; ++id) {
    Entry entry = document_.log[id];
    const std::string mapped = new_id(std::string(entry.id));
    entry.id = mapped;
    plan_.document.log.push_back(plan_.document.keeper->keep(entry));
  }
}

void Cutter::find_cancelled() {
  for (RecordId id = 0; id < log_.size(); ++id) {
    if (replay::is_cancel_request(log_[id].kind) && log_.cancel_target(id) != kNoRecord) {
      (id < cut_.at ? cancelled_ : cancelled_later_).insert(log_.cancel_target(id));
    }
  }
}

RecordId Cutter::later_outcome(RecordId id) const {
  const RecordId outcome = log_[id].link;
  return outcome == kNoRecord || outcome < cut_.at || id == cut_.retried ? kNoRecord : outcome;
}

Result<void> Cutter::add_open_commands() {
  for (RecordId id = 0; id < cut_.at; ++id) {
    const Record& record = log_[id];
    if (!record.is_command || record.forgotten) {
      continue;
    }
    if (record.kind == EntryKind::kPromiseCreated) {
      promises_.emplace(log_.id_text(record), true);
    }
    if (record.link == kNoRecord || record.link >= cut_.at) {
      PAWL_TRY(add_open(id));
    }
  }
  return {};
}

Result<void> Cutter::add_open(RecordId id) {
  switch (log_[id].kind) {
    case EntryKind::kTaskScheduled:
      add_task(id);
      return {};
    case EntryKind::kOperationStarted:
      add_operation(id);
      return {};
    case EntryKind::kTimerStarted:
      add_timer(id);
      return {};
    case EntryKind::kPromiseCreated:
      add_promise(id);
      return {};
    case EntryKind::kChildWorkflowInitiated:
      return add_child(id);
    case EntryKind::kSignalAwaited:
      add_wait(id);
      return {};
    default:
      return {};
  }
}

void Cutter::add_arrival(EntryKind kind, const std::string& id) {
  store::StoredArrival& arrival = plan_.document.image.inbox.emplace_back();
  arrival.kind = static_cast<std::uint8_t>(kind);
  arrival.id = id;
}

// What came of it behind the cut, in the log or still in the inbox. False: nothing.
bool Cutter::add_later_outcome(RecordId id) {
  if (id == cut_.retried) {
    return false;
  }
  const Record& record = log_[id];
  const CommandKind kind = log_.command_kind(record);
  const std::string old_id = log_.id_text(record);
  if (const RecordId later = later_outcome(id); later != kNoRecord) {
    const Record& outcome = log_[later];
    store::StoredArrival& arrival = arrivals_[later];
    arrival.kind = static_cast<std::uint8_t>(outcome.kind);
    arrival.id = new_id(old_id);
    arrival.has_payload = outcome.has_payload;
    arrival.payload = outcome.payload.view();
    arrival.extra = log_.extra(outcome);
    plan_.arriving.push_back(step_of(log_, id));
    return true;
  }
  for (std::size_t i = 0; i < document_.image.inbox.size(); ++i) {
    const store::StoredArrival& waiting = document_.image.inbox[i];
    const replay::EntryTraits* known = replay::find_traits(static_cast<EntryKind>(waiting.kind));
    if (known == nullptr || known->role != EntryRole::kArrival || known->command != kind ||
        is_deadline(known->kind) || waiting.id != old_id) {
      continue;
    }
    store::StoredArrival& arrival = arrivals_[log_.size() + i];
    arrival = waiting;
    arrival.id = new_id(old_id);
    arrival.is_kept = false;
    plan_.arriving.push_back(step_of(log_, id));
    return true;
  }
  return false;
}

void Cutter::add_task(RecordId id) {
  // That it was cancelled counts only if the code asked for it before the cut, or nobody did.
  const RecordId later = later_outcome(id);
  const bool is_undone = later != kNoRecord && log_[later].kind == EntryKind::kTaskCancelled &&
                         !is_cancelled(id) && cancelled_later_.contains(id);
  if (!is_undone && add_later_outcome(id)) {
    return;
  }
  if (is_cancelled(id) && id != cut_.retried) {
    add_arrival(EntryKind::kTaskCancelled, new_id(log_.id_text(log_[id])));
    return;
  }
  Entry entry = plan_.document.log[id];
  entry.time_ms = cut_.now_ms;  // Its time begins now.
  store::TaskRow& task = plan_.document.image.tasks.emplace_back();
  static_cast<store::NewTask&>(task) = engine::make_task(entry);
  task.state = store::TaskState::kReady;
  task.created_ms = cut_.now_ms;
  plan_.again.push_back(step_of(log_, id));
}

// Whatever the log does not have an outcome for is executed by whoever replays it, so what came
// later is put behind the log.
void Cutter::add_operation(RecordId id) {
  const std::string old_id = log_.id_text(log_[id]);
  if (const RecordId later = later_outcome(id); later != kNoRecord) {
    Entry entry = document_.log[later];
    const std::string mapped = new_id(old_id);
    entry.id = mapped;
    operation_outcomes_[later] = plan_.document.keeper->keep(entry);
    plan_.arriving.push_back(step_of(log_, id));
    return;
  }
  for (const store::StoredArrival& waiting : document_.image.inbox) {
    if (waiting.kind == store::kRetryOperation && waiting.id == old_id && id != cut_.retried) {
      plan_.document.image.inbox.emplace_back(waiting).id = new_id(old_id);
    }
  }
  plan_.again.push_back(step_of(log_, id));
}

void Cutter::add_deadline(EntryKind kind, RecordId id) {
  const Record& record = log_[id];
  store::StoredArrival& arrival = plan_.document.image.inbox.emplace_back();
  arrival.kind = static_cast<std::uint8_t>(kind);
  const std::int64_t from_ms = id == cut_.retried ? cut_.now_ms : record.time_ms;
  arrival.due_ms = add_ms(from_ms, record.number);
  if (kind == EntryKind::kSignalTimedOut) {
    arrival.location = log_.location(record).to_string();
  } else {
    arrival.id = new_id(log_.id_text(record));
  }
}

void Cutter::add_timer(RecordId id) {
  if (is_cancelled(id)) {
    add_arrival(EntryKind::kTimerCancelled, new_id(log_.id_text(log_[id])));
  } else {
    add_deadline(EntryKind::kTimerFired, id);
  }
}

void Cutter::add_promise(RecordId id) {
  const RecordId later = later_outcome(id);
  const bool is_late = later != kNoRecord && log_[later].kind == EntryKind::kPromiseTimedOut;
  if (!is_late && add_later_outcome(id)) {
    return;
  }
  promises_[log_.id_text(log_[id])] = false;
  if (log_[id].number > 0) {
    add_deadline(EntryKind::kPromiseTimedOut, id);
  }
}

Result<void> Cutter::add_child(RecordId id) {
  if (add_later_outcome(id)) {
    return {};
  }
  const std::string location = log_.location(log_[id]).to_string();
  return refused(cut_.place + " cannot be forked at: the child run '" +
                 std::string(log_.name(log_[id])) + "' that " + location +
                 " has started is not over, and cannot be the child of two runs. Possible is " +
                 location + ", which starts a child anew");
}

// It may have been given a signal since: then nobody minds that the deadline comes.
void Cutter::add_wait(RecordId id) {
  if (log_[id].number > 0) {
    add_deadline(EntryKind::kSignalTimedOut, id);
  }
}

void Cutter::add_signal(const store::NewArrival& signal, std::size_t place) {
  if (cut_.keeps_signals) {
    static_cast<store::NewArrival&>(arrivals_[place]) = signal;
  } else {
    plan_.unseen_signals.push_back(signal.name);
  }
}

// What the original did and got behind the cut.
void Cutter::look_at_the_rest() {
  for (RecordId id = cut_.at; id < log_.size(); ++id) {
    const Record& record = log_[id];
    if (record.kind == EntryKind::kSignalReceived) {
      store::NewArrival signal;
      signal.kind = static_cast<std::uint8_t>(record.kind);
      signal.name = log_.name(record);
      signal.has_payload = record.has_payload;
      signal.payload = record.payload.view();
      signal.extra = log_.extra(record);
      add_signal(signal, id);
    } else if (record.kind == EntryKind::kCancellationRequested) {
      plan_.warnings.emplace_back("the original was asked to cancel later; the new run was not");
    } else if (record.is_command) {
      const CommandKind kind = log_.command_kind(record);
      const bool has_effects = kind == CommandKind::kTask || kind == CommandKind::kOperation ||
                               kind == CommandKind::kChildWorkflow;
      if (has_effects && record.kind != EntryKind::kStepRemoved) {
        plan_.again.push_back(step_of(log_, id));
      }
      if (record.kind == EntryKind::kChildWorkflowInitiated) {
        plan_.children.emplace_back(log_.name(record));
      }
    }
  }
  for (std::size_t i = 0; i < document_.image.inbox.size(); ++i) {
    if (is_signal(document_.image.inbox[i].kind)) {
      add_signal(document_.image.inbox[i], log_.size() + i);
    }
  }
  if (cut_.keeps_signals) {
    plan_.document.image.dedupe = document_.image.dedupe;
  }
}

void Cutter::add_warnings() {
  std::string undone;
  for (const store::CompensationRow& row : document_.image.compensations) {
    if (row.state != store::CompensationState::kOpen || row.attempt > 0) {
      undone += (undone.empty() ? "'" : ", '") + row.name + "'";
    }
  }
  if (!undone.empty()) {
    plan_.warnings.push_back("the original has compensated: " + undone +
                             "; the new run goes on as if that had not been done");
  }
}

}  // namespace

std::string step_text(const Step& step) {
  return step.location + " " + std::string(replay::step_name(step.kind)) +
         (step.name.empty() ? "" : " " + step.name);
}

Step step_of(const Log& log, RecordId command) {
  const Record& record = log[command];
  Step step;
  step.location = log.location(record).to_string();
  step.kind = log.command_kind(record);
  step.name = log.name(record);
  if (step.name.empty() && !record.id_is_binary) {
    step.name = log.id_text(record);
  }
  return step;
}

Result<RecordId> find_command(const Log& log, std::string_view text) {
  Result<Location> location = Location::parse(text);
  if (!location) {
    return refused(location.error().message + "; a location looks like {2} or {3, 1}");
  }
  RecordId last = kNoRecord;
  for (RecordId id = 0; id < log.size(); ++id) {
    if (!log[id].is_command || log[id].forgotten) {
      continue;
    }
    if (log.location(log[id]) == *location) {
      return id;
    }
    last = id;
  }
  for (RecordId id = 0; id < log.size(); ++id) {
    if (log[id].kind != EntryKind::kLoopCheckpointed) {
      continue;
    }
    const Location loop = log.location(log[id].branch);
    if (is_inside(*location, loop) &&
        (*location)[loop.depth()].head() <= log.checkpoint(log[id])->iteration) {
      return forgotten_error(log, location->to_string(), id);
    }
  }
  return refused("the run has no command at " + location->to_string() +
                 (last == kNoRecord
                      ? std::string("; it has none at all")
                      : "; its last one is at " + log.location(log[last]).to_string()));
}

Result<ForkPlan> cut_run(const RunDocument& document, Log& log, const Cut& cut) {
  return Cutter(document, log, cut).run();
}

}  // namespace pawl::portable

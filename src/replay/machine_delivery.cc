// Machine, part two: what reaches the run, and in which order it is handed out.
#include <algorithm>
#include <functional>

#include "replay/machine.h"

namespace pawl::replay {

// Always the entry with the smallest seq among those whose command has been issued. What the scan
// passed too early comes back through late_, so nothing is looked at twice.
RecordId Machine::next_in_log() {
  while (!late_.empty()) {
    std::pop_heap(late_.begin(), late_.end(), std::greater<>());
    const RecordId id = late_.back();
    late_.pop_back();
    if (is_deliverable(id)) {
      return id;
    }
  }
  while (scanned_ < log_.size()) {
    const RecordId id = scanned_++;
    if (is_deliverable(id)) {
      return id;
    }
  }
  return kNoRecord;
}

void Machine::deliver_late(RecordId id) {
  late_.push_back(id);
  std::push_heap(late_.begin(), late_.end(), std::greater<>());
}

bool Machine::is_deliverable(RecordId id) const {
  const Record& record = log_[id];
  if (record.forgotten) {
    return false;
  }
  if (record.is_command) {
    return is_operation_outcome(record.kind) && record.future != 0 && is_open(record.future);
  }
  if (record.kind == EntryKind::kLoopCheckpointed) {
    const auto loop = loops_.find(record.branch);
    return loop != loops_.end() && loop->second.checkpoint == id && loop->second.future != 0 &&
           is_open(loop->second.future);
  }
  if (traits(record.kind).role == EntryRole::kFree) {
    return true;
  }
  if (record.link == kNoRecord || log_[record.link].link != id) {
    return false;  // An outcome of the workflow, or an arrival that came second.
  }
  const FutureId future = log_[record.link].future;
  return future != 0 && is_open(future);
}

Result<std::optional<Delivery>> Machine::next_delivery() {
  PAWL_TRY(check_usable());
  woken_.clear();
  RecordId id = next_in_log();
  if (id == kNoRecord) {
    id = next_in_inbox();
  }
  if (id == kNoRecord) {
    return std::optional<Delivery>();
  }
  return std::optional<Delivery>(deliver(id));
}

Delivery Machine::deliver(RecordId id) {
  const Record& record = log_[id];
  Delivery delivery{record.seq, record.kind, 0};
  now_ms_ = record.time_ms;
  if (record.kind == EntryKind::kSignalReceived && !record.skipped) {
    const FutureId wait = mailboxes_.put(record.name, id, [this](FutureId future) {
      return is_open(future) && !futures_[future].is_asleep;
    });
    if (wait != 0) {
      note_in_loops(id, log_[futures_[wait].record].branch);
      complete(wait, id, OutcomeKind::kValue);
      delivery.future = wait;
    }
  } else if (record.kind == EntryKind::kSignalReceived) {
    // A forgotten iteration took it.
  } else if (record.kind == EntryKind::kCancellationRequested) {
    if (!cancel_requested_) {
      cancel_requested_ = true;
      cancel_reason_ = record.payload.view();
      awaits_.cancel(woken_);
    }
  } else if (record.kind == EntryKind::kLoopCheckpointed) {
    delivery.future = loops_.at(record.branch).future;
    if (id < log_.loaded_count()) {
      resume_loop(record.branch);
    } else if (loops_.at(record.branch).done) {
      erase_loop(record.branch);
    }
    complete(delivery.future, id, OutcomeKind::kValue);
  } else {
    delivery.future = record.is_command ? record.future : log_[record.link].future;
    complete(delivery.future, id, traits(record.kind).outcome);
  }
  return delivery;
}

void Machine::complete(FutureId future, RecordId by, OutcomeKind outcome) {
  Future& known = futures_[future];
  known.order = ++completions_;
  known.completion = by;
  known.outcome = outcome;
  awaits_.complete(future, outcome != OutcomeKind::kValue, woken_);
}

// --- The inbox ---------------------------------------------------------------------------------

Result<RecordId> Machine::find_target(const Entry& arrival) {
  const CommandKind kind = traits(arrival.kind).command;
  if (kind == CommandKind::kSignal) {
    PAWL_TRY_ASSIGN(const Location place, Location::parse(arrival.location));
    BranchId branch = kRootBranch;
    for (std::size_t i = 0; i + 1 < place.depth() && branch != kNoBranch; ++i) {
      branch = log_.child_branch(branch, place[i]);
    }
    if (branch == kNoBranch || place.is_root()) {
      return kNoRecord;
    }
    return log_.find_wait(branch, place[place.depth() - 1]);
  }
  if (kind == CommandKind::kChildWorkflow && arrival.id.empty()) {
    return log_.find_child_by_name(arrival.name);
  }
  return log_.find_command(kind, arrival.id);
}

Result<bool> Machine::arrive(const Entry& arrival, std::uint64_t token) {
  PAWL_TRY(check_usable());
  const EntryTraits* known = find_traits(arrival.kind);
  if (known == nullptr || (known->role != EntryRole::kArrival && known->role != EntryRole::kFree)) {
    return make_error(ErrorCode::kInvalidArgument, "arrive: this entry is no arrival");
  }
  if (arrival.payload.size() > kPayloadBytesMax || arrival.extra.size() > kPayloadBytesMax ||
      arrival.name.size() > kNameBytesMax) {
    return make_error(ErrorCode::kLimitExceeded, "arrive: larger than a log can hold");
  }
  Inbound inbound{arrival.kind,
                  kNoRecord,
                  arrival.time_ms,
                  token,
                  std::string(arrival.name),
                  std::string(arrival.payload),
                  std::string(arrival.extra),
                  arrival.has_payload};
  if (known->role == EntryRole::kArrival) {
    PAWL_TRY_ASSIGN(inbound.command, find_target(arrival));
    if (inbound.command == kNoRecord) {
      return false;
    }
    const Record& command = log_[inbound.command];
    if (command.forgotten || command.link != kNoRecord || command.arriving) {
      return false;
    }
    log_[inbound.command].arriving = true;
  }
  inbox_.push_back(std::move(inbound));
  return true;
}

// An arrival gets its seq when the run consumes it.
RecordId Machine::next_in_inbox() {
  while (!inbox_.empty()) {
    Inbound inbound = std::move(inbox_.front());
    inbox_.pop_front();
    if (inbound.command != kNoRecord) {
      const Record& command = log_[inbound.command];
      if (command.future == 0) {
        parked_.emplace(inbound.command, std::move(inbound));
        continue;
      }
      log_[inbound.command].arriving = false;
      if (command.forgotten || !is_open(command.future)) {
        dropped_.push_back(inbound.token);
        continue;
      }
    }
    Entry entry = new_entry(inbound.kind);
    entry.time_ms = std::max(entry.time_ms, inbound.time_ms);
    entry.name = inbound.command == kNoRecord ? std::string_view(inbound.name) : "";
    entry.payload = inbound.payload;
    entry.has_payload = inbound.has_payload;
    entry.extra = inbound.extra;
    const RecordId id = log_.append_plain(entry, inbound.command);
    scanned_ = id + 1;
    consumed_.push_back(inbound.token);
    return id;
  }
  return kNoRecord;
}

}  // namespace pawl::replay

// Machine, part three: loops that forget.
#include <algorithm>

#include "replay/machine.h"

namespace pawl::replay {

void Machine::start_loop(BranchId node, RecordId record, FutureId future,
                         std::uint32_t checkpoint_every) {
  Loop& loop = loops_[node];
  loop.record = record;
  loop.future = future;
  loop.checkpoint_every = checkpoint_every;
  const auto loaded = loaded_checkpoints_.find(node);
  if (loaded == loaded_checkpoints_.end()) {
    complete(future, kNoRecord, OutcomeKind::kValue);
    return;
  }
  // It goes on where the last checkpoint stands in the log, and not before.
  loop.entries = loaded->second;
  for (const RecordId id : loaded->second) {
    note_in_loops(id, log_.branch(node).parent);
  }
  for (const RecordId id : loaded->second) {
    for (const std::uint64_t seq : log_.checkpoint(log_[id])->taken) {
      const RecordId signal = log_.find_seq(seq);
      if (signal != kNoRecord && log_[signal].kind == EntryKind::kSignalReceived) {
        // It may be delivered only later, to a code that reacts differently: not to anyone else.
        log_[signal].skipped = true;
        mailboxes_.take(log_[signal].name, signal);
        loop.taken.push_back(seq);
        note_in_loops(signal, log_.branch(node).parent);
      }
    }
  }
  loop.checkpoint = loaded->second.back();
  if (loop.checkpoint < scanned_) {
    deliver_late(loop.checkpoint);
  }
}

void Machine::resume_loop(BranchId node) {
  Loop& loop = loops_.at(node);
  const Checkpoint& checkpoint = *log_.checkpoint(log_[loop.checkpoint]);
  loop.finished = checkpoint.iteration;
  loop.done = checkpoint.done;
  for (const RecordId id : loaded_checkpoints_.at(node)) {
    state_.apply(log_, node, log_.checkpoint(log_[id])->changes);
  }
  if (const auto kept = survivors_.find(node); kept != survivors_.end()) {
    for (const RecordId id : kept->second) {
      note_in_loops(id, log_.branch(node).parent);
      log_[id].future = kIssuedOnly;
      if (log_[id].kind == EntryKind::kCompensationRegistered) {
        register_compensation(id);
      } else if (const RecordId target = log_.cancel_target(id);
                 target != kNoRecord && log_[target].future != 0) {
        futures_[log_[target].future].cancel_requested = true;
      }
    }
  }
}

Result<Machine::Loop*> Machine::open_loop(BranchId node) {
  PAWL_TRY(check_usable());
  const auto found = loops_.find(node);
  if (found == loops_.end()) {
    return make_error(ErrorCode::kInvalidArgument, "loop " + std::to_string(node) + " is not open");
  }
  if (is_open(found->second.future)) {
    return make_error(ErrorCode::kInvalidState,
                      "loop " + log_.location(node).to_string() + " has not been awaited");
  }
  return &found->second;
}

Result<LoopPosition> Machine::loop_position(BranchId node) {
  PAWL_TRY_ASSIGN(const Loop* loop, open_loop(node));
  LoopPosition position;
  position.finished = loop->finished;
  position.done = loop->done;
  if (loop->checkpoint == kNoRecord) {
    position.state = log_[loop->record].payload.view();
  } else {
    const Checkpoint& checkpoint = *log_.checkpoint(log_[loop->checkpoint]);
    position.state = checkpoint.state;
    position.result = checkpoint.result;
  }
  return position;
}

Result<BranchId> Machine::enter_iteration(BranchId node) {
  PAWL_TRY_ASSIGN(Loop * loop, open_loop(node));
  if (loop->iteration != kNoBranch || loop->done) {
    return make_error(ErrorCode::kInvalidState,
                      "loop " + log_.location(node).to_string() +
                          (loop->done ? " has ended" : " is in an iteration already"));
  }
  loop->iteration = log_.enter_iteration(node, loop->finished + 1);
  open_scope_at(loop->iteration, log_[loop->record].version);
  ++scopes_[log_.branch(node).parent]->iterations;
  return loop->iteration;
}

Result<void> Machine::close_iteration(Loop& loop) {
  if (loop.iteration == kNoBranch) {
    return {};
  }
  PAWL_TRY(end_scope(loop.iteration));
  --scopes_[log_[loop.record].branch]->iterations;
  loop.iteration = kNoBranch;
  return {};
}

Result<FutureId> Machine::continue_loop(BranchId node, std::string_view state) {
  PAWL_TRY_ASSIGN(Loop * loop, open_loop(node));
  if (loop->iteration == kNoBranch) {
    return make_error(ErrorCode::kInvalidState,
                      "loop " + log_.location(node).to_string() + " is in no iteration");
  }
  PAWL_TRY(close_iteration(*loop));
  ++loop->finished;
  if (loop->finished % loop->checkpoint_every != 0) {
    return FutureId{0};
  }
  return write_checkpoint(node, *loop, state, false, "");
}

Result<FutureId> Machine::end_loop(BranchId node, std::string_view state, std::string_view result) {
  PAWL_TRY_ASSIGN(Loop * loop, open_loop(node));
  if (loop->iteration != kNoBranch) {
    PAWL_TRY(close_iteration(*loop));
    ++loop->finished;
  }
  PAWL_TRY(check_no_later_iteration(node, loop->finished));
  const bool is_written = loop->checkpoint != kNoRecord &&
                          log_.checkpoint(log_[loop->checkpoint])->iteration == loop->finished;
  loop->done = true;
  const FutureId future =
      is_written ? FutureId{0} : write_checkpoint(node, *loop, state, true, result);
  note_orphaned_iterations(node, loop->finished);
  state_.end_loop(node);
  if (is_written) {
    erase_loop(node);
  }
  return future;
}

void Machine::erase_loop(BranchId node) {
  loops_.erase(node);
  --scopes_[log_.branch(node).parent]->open_children;
}

Result<void> Machine::abandon_loop(BranchId node) {
  PAWL_TRY(check_usable());
  const auto found = loops_.find(node);
  if (found == loops_.end()) {
    return make_error(ErrorCode::kInvalidArgument, "loop " + std::to_string(node) + " is not open");
  }
  Loop* loop = &found->second;
  const std::uint64_t reached = loop->finished + (loop->iteration == kNoBranch ? 0 : 1);
  PAWL_TRY(close_iteration(*loop));
  PAWL_TRY(check_no_later_iteration(node, reached));
  note_orphaned_iterations(node, reached);
  state_.end_loop(node);
  erase_loop(node);
  return {};
}

Result<void> Machine::check_no_later_iteration(BranchId node, std::uint64_t last) {
  if (info_.matching != Matching::kStrict) {
    return {};
  }
  const BranchId later = log_.recorded_iteration_after(node, last);
  if (later == kNoBranch) {
    return {};
  }
  return violate(report_leftover(log_, report_context(), node, log_.recorded(later).front()));
}

// Delivered in its turn like anything else: on replay, too, the loop goes on only there.
FutureId Machine::write_checkpoint(BranchId node, Loop& loop, std::string_view state, bool done,
                                   std::string_view result) {
  Checkpoint checkpoint;
  checkpoint.iteration = loop.finished;
  checkpoint.state = state;
  checkpoint.done = done;
  checkpoint.result = result;
  checkpoint.changes = state_.net_changes(log_, node);
  for (const RecordId id : loop.entries) {
    forget(node, loop, id);
  }
  loop.entries.clear();
  std::sort(loop.taken.begin(), loop.taken.end());
  checkpoint.taken = loop.taken;
  Entry entry = new_entry(EntryKind::kLoopCheckpointed);
  entry.checkpoint = &checkpoint;
  const RecordId id = log_.append_plain(entry, loop.record, node);
  loop.checkpoint = id;
  loop.entries.push_back(id);
  log_.cover(node, loop.finished);
  note_in_loops(id, log_.branch(node).parent);
  loop.future = add_future(CommandKind::kLoop, loop.record);
  return loop.future;
}

void Machine::move_away(RecordId id) {
  if (!log_[id].moved) {
    log_[id].moved = true;
    log_[id].forgotten = true;
    forgotten_.push_back(log_[id].seq);
  }
}

// Moves an entry of a finished iteration away, with what completed it, unless it still matters.
void Machine::forget(BranchId node, Loop& loop, RecordId id) {
  const Record& record = log_[id];
  const bool is_issued = record.future != 0 && !record.skipped;
  if (record.kind == EntryKind::kCompensationRegistered && is_issued) {
    return;
  }
  if (is_cancel_request(record.kind) && is_issued) {
    const RecordId target = log_.cancel_target(id);
    if (target != kNoRecord && !log_.is_below(log_[target].branch, node)) {
      return;
    }
  }
  if (record.kind == EntryKind::kSignalReceived && record.seq < log_[loop.record].seq) {
    loop.taken.push_back(record.seq);
    return;
  }
  move_away(id);
  if (record.is_command && record.link != kNoRecord) {
    move_away(record.link);
    if (const auto second = second_arrivals_.find(id); second != second_arrivals_.end()) {
      for (const RecordId arrival : second->second) {
        move_away(arrival);
      }
    }
  }
}

}  // namespace pawl::replay

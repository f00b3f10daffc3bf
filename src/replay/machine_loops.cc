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
  if (const auto kept = forgotten_compensations_.find(node);
      kept != forgotten_compensations_.end()) {
    for (const RecordId id : kept->second) {
      register_compensation(id);
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
  return loop->iteration;
}

Result<void> Machine::close_iteration(Loop& loop) {
  if (loop.iteration == kNoBranch) {
    return {};
  }
  PAWL_TRY(check_leftovers(loop.iteration));
  end_waits(*scopes_[loop.iteration]);
  scopes_[loop.iteration].reset();
  loop.iteration = kNoBranch;
  return {};
}

Result<void> Machine::continue_loop(BranchId node, std::string_view state) {
  PAWL_TRY_ASSIGN(Loop * loop, open_loop(node));
  if (loop->iteration == kNoBranch) {
    return make_error(ErrorCode::kInvalidState,
                      "loop " + log_.location(node).to_string() + " is in no iteration");
  }
  PAWL_TRY(close_iteration(*loop));
  ++loop->finished;
  if (loop->finished % loop->checkpoint_every == 0) {
    write_checkpoint(node, *loop, state, false, "");
  }
  return {};
}

Result<void> Machine::end_loop(BranchId node, std::string_view state, std::string_view result) {
  PAWL_TRY_ASSIGN(Loop * loop, open_loop(node));
  if (loop->iteration != kNoBranch) {
    PAWL_TRY(close_iteration(*loop));
    ++loop->finished;
  }
  PAWL_TRY(check_no_later_iteration(node, loop->finished));
  const bool is_written = loop->checkpoint != kNoRecord &&
                          log_.checkpoint(log_[loop->checkpoint])->iteration == loop->finished;
  if (!is_written) {
    write_checkpoint(node, *loop, state, true, result);
  }
  state_.end_loop(node);
  loops_.erase(node);
  return {};
}

Result<void> Machine::abandon_loop(BranchId node) {
  PAWL_TRY_ASSIGN(Loop * loop, open_loop(node));
  const std::uint64_t reached = loop->finished + (loop->iteration == kNoBranch ? 0 : 1);
  PAWL_TRY(close_iteration(*loop));
  PAWL_TRY(check_no_later_iteration(node, reached));
  state_.end_loop(node);
  loops_.erase(node);
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

void Machine::write_checkpoint(BranchId node, Loop& loop, std::string_view state, bool done,
                               std::string_view result) {
  Checkpoint checkpoint;
  checkpoint.iteration = loop.finished;
  checkpoint.state = state;
  checkpoint.done = done;
  checkpoint.result = result;
  checkpoint.changes = state_.net_changes(log_, node);
  for (const RecordId id : loop.entries) {
    forget(id);
  }
  loop.entries.clear();
  Entry entry = new_entry(EntryKind::kLoopCheckpointed);
  entry.checkpoint = &checkpoint;
  const RecordId id = log_.append_plain(entry, loop.record, node);
  loop.checkpoint = id;
  loop.entries.push_back(id);
  note_in_loops(id, log_.branch(node).parent);
  now_ms_ = log_[id].time_ms;
}

// Moves an entry away, with what completed it. Compensations stay: they may still have to run.
void Machine::forget(RecordId id) {
  const auto move_away = [this](RecordId moved) {
    if (!log_[moved].forgotten) {
      log_[moved].forgotten = true;
      forgotten_.push_back(log_[moved].seq);
    }
  };
  const Record& record = log_[id];
  if (record.kind == EntryKind::kCompensationRegistered) {
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

#include "replay/machine.h"

#include <algorithm>

#include "base/hash.h"
#include "replay/labels.h"

namespace pawl::replay {

namespace {

bool has_outcome(CommandKind kind) {
  switch (kind) {
    case CommandKind::kTask:
    case CommandKind::kOperation:
    case CommandKind::kTimer:
    case CommandKind::kPromise:
    case CommandKind::kChildWorkflow:
    case CommandKind::kSignal:
    case CommandKind::kLoop:
      return true;
    default:
      return false;
  }
}

bool takes_input(CommandKind kind) {
  return kind == CommandKind::kTask || kind == CommandKind::kOperation ||
         kind == CommandKind::kChildWorkflow || kind == CommandKind::kCompensation;
}

// Kinds whose entries carry an id of their own, made by the core unless the code names it.
bool has_own_id(CommandKind kind) {
  return kind == CommandKind::kTask || kind == CommandKind::kOperation ||
         kind == CommandKind::kTimer || kind == CommandKind::kChildWorkflow;
}

EntryKind entry_kind(const CommandRequest& request) {
  switch (request.kind) {
    case CommandKind::kTask:
      return EntryKind::kTaskScheduled;
    case CommandKind::kOperation:
      return EntryKind::kOperationStarted;
    case CommandKind::kTimer:
      return EntryKind::kTimerStarted;
    case CommandKind::kPromise:
      return EntryKind::kPromiseCreated;
    case CommandKind::kChildWorkflow:
      return EntryKind::kChildWorkflowInitiated;
    case CommandKind::kState:
      return request.clear ? EntryKind::kStateCleared : EntryKind::kStateSet;
    case CommandKind::kSignal:
      return EntryKind::kSignalAwaited;
    case CommandKind::kBranch:
      return EntryKind::kBranchOpened;
    case CommandKind::kLoop:
      return EntryKind::kLoopStarted;
    case CommandKind::kCompensation:
      return EntryKind::kCompensationRegistered;
    case CommandKind::kCancelTask:
      return EntryKind::kTaskCancelRequested;
    case CommandKind::kCancelTimer:
      return EntryKind::kTimerCancelRequested;
    case CommandKind::kNone:
    case CommandKind::kVersionCheck:
      break;
  }
  return EntryKind{};
}

Result<void> check_size(std::string_view what, std::string_view text, std::size_t max) {
  if (text.size() <= max) {
    return {};
  }
  return make_error(ErrorCode::kLimitExceeded,
                    std::string(what) + " of " + std::to_string(text.size()) + " bytes: at most " +
                        std::to_string(max) + " are allowed");
}

// Nearly always. All bits of all sizes together make no smaller number than any of them.
bool is_small(const CommandRequest& request) {
  static_assert(kNameBytesMax <= kPayloadBytesMax);
  return (request.name.size() | request.child_kind.size() | request.step_key.size() |
          request.source.size() | request.extra.size() | request.payload.size()) < kNameBytesMax;
}

Result<void> check_sizes(const CommandRequest& request) {
  PAWL_TRY(check_size("a name", request.name, kNameBytesMax));
  PAWL_TRY(check_size("a child's kind", request.child_kind, kNameBytesMax));
  PAWL_TRY(check_size("a step key", request.step_key, kNameBytesMax));
  PAWL_TRY(check_size("a source", request.source, kNameBytesMax));
  PAWL_TRY(check_size("extra fields", request.extra, kPayloadBytesMax));
  return check_size("a payload", request.payload, kPayloadBytesMax);
}

Error misuse(std::string message) {
  return make_error(ErrorCode::kInvalidArgument, std::move(message));
}

}  // namespace

// --- Creation ----------------------------------------------------------------------------------

Result<std::unique_ptr<Machine>> Machine::create(RunInfo info, Log log) {
  PAWL_TRY(log.finish_loading());
  return std::unique_ptr<Machine>(new Machine(std::move(info), std::move(log)));
}

Machine::Machine(RunInfo info, Log log)
    : info_(std::move(info)),
      log_(std::move(log)),
      matcher_(log_, info_.matching, info_.run_id),
      taken_(log_.loaded_count()),
      time_ms_(info_.started_at_ms),
      now_ms_(info_.started_at_ms) {
  open_scope_at(kRootBranch, 1);
  futures_.reserve(log_.command_count() + 1);
  awaits_.reserve(log_.command_count() + 1);
  for (const RecordId id : log_.second_arrivals()) {
    second_arrivals_[log_[id].link].push_back(id);
  }
  if (!log_.has_checkpoints()) {
    return;
  }
  for (RecordId id = 0; id < log_.loaded_count(); ++id) {
    const Record& record = log_[id];
    if (record.kind == EntryKind::kLoopCheckpointed) {
      loaded_checkpoints_[record.branch].push_back(id);
    } else if (record.forgotten && survives_forgetting(record.kind)) {
      // Its iteration will not be run again: it comes back with the outermost loop that has
      // forgotten it.
      BranchId loop = kNoBranch;
      for (BranchId branch = record.branch; branch != kRootBranch;
           branch = log_.branch(branch).parent) {
        const Branch& node = log_.branch(branch);
        if (node.is_iteration && node.head <= log_.covered_iterations(node.parent)) {
          loop = node.parent;
        }
      }
      survivors_[loop].push_back(id);
    }
  }
}

// --- Checks ------------------------------------------------------------------------------------

Result<void> Machine::check_usable() const {
  if (violation_) {
    return make_error(ErrorCode::kDeterminismViolation, violation_->headline);
  }
  if (finished_) {
    return make_error(ErrorCode::kInvalidState, "the workflow has ended");
  }
  return {};
}

Result<Machine::Scope*> Machine::open_scope(BranchId branch) {
  PAWL_TRY(check_usable());
  if (branch >= scopes_.size() || scopes_[branch] == nullptr) {
    return misuse("branch " + std::to_string(branch) + " is not open");
  }
  return scopes_[branch].get();
}

Result<Machine::Scope*> Machine::usable_scope(BranchId branch) {
  PAWL_TRY_ASSIGN(Scope * scope, open_scope(branch));
  if (scope->iterations > 0) {
    return misuse("branch " + log_.location(branch).to_string() +
                  " is in an iteration of a loop: use the context that the loop's body was given; "
                  "what is to happen beside a loop belongs into an arm of a join");
  }
  return scope;
}

void Machine::open_scope_at(BranchId branch, std::uint32_t version) {
  if (branch >= scopes_.size()) {
    scopes_.resize(std::max<std::size_t>(branch + 1, log_.branch_count()));
  }
  scopes_[branch] = std::make_unique<Scope>();
  scopes_[branch]->version = version;
}

ReportContext Machine::report_context() const {
  return {info_.run_id.to_string(), info_.matching, info_.definition_then, info_.definition_now,
          last_agreed_};
}

Error Machine::violate(Violation violation) {
  violation_ = std::move(violation);
  return make_error(ErrorCode::kDeterminismViolation, violation_->headline);
}

Error Machine::violate(const Mismatch& mismatch, const Asked& asked) {
  return violate(report_mismatch(log_, report_context(), mismatch, asked));
}

Result<void> Machine::check_leftovers(BranchId branch) {
  if (info_.matching != Matching::kStrict) {
    return {};
  }
  const RecordId leftover = matcher_.first_leftover(log_, branch, scopes_[branch]->cursor);
  if (leftover != kNoRecord) {
    return violate(report_leftover(log_, report_context(), branch, leftover));
  }
  return {};
}

// --- Commands ----------------------------------------------------------------------------------

Result<Opened> Machine::open(const CommandRequest& original) {
  PAWL_TRY_ASSIGN(Scope * scope, usable_scope(original.branch));
  CommandRequest request = original;
  std::string target_id;
  if (request.kind == CommandKind::kCancelTask || request.kind == CommandKind::kCancelTimer) {
    if (request.target == 0 || request.target >= futures_.size()) {
      return misuse("cancel: no such future");
    }
    const Future& target = futures_[request.target];
    if (target.kind != CommandKind::kTask && target.kind != CommandKind::kTimer) {
      return misuse("cancel: only tasks and timers can be cancelled, this is a " +
                    std::string(step_name(target.kind)));
    }
    request.kind =
        target.kind == CommandKind::kTask ? CommandKind::kCancelTask : CommandKind::kCancelTimer;
    target_id = log_.id_text(log_[target.record]);
    request.name = target_id;
    // Nothing is left to cancel. But changed code may come here later than the recorded one did.
    if ((target.order != 0 || target.cancel_requested) &&
        !matcher_.is_recorded_next(log_, request.branch, scope->cursor,
                                   wanted_for(request, *scope))) {
      return Opened{};
    }
  }
  if (entry_kind(request) == EntryKind{}) {
    return misuse("open: no such kind of command");
  }
  if (!is_small(request)) [[unlikely]] {
    PAWL_TRY(check_sizes(request));
  }
  if (request.number < 0) {
    return misuse("a duration must not be negative");
  }
  if (request.name.empty() && request.kind != CommandKind::kTimer &&
      request.kind != CommandKind::kBranch && request.kind != CommandKind::kLoop) {
    return misuse("a " + std::string(step_name(request.kind)) + " needs a name");
  }
  if (request.kind == CommandKind::kLoop && request.checkpoint_every == 0) {
    return misuse("a loop's checkpoint_every must be at least 1");
  }
  PAWL_TRY(check_key_unused(request));

  const Wanted wanted = wanted_for(request, *scope);
  const std::uint32_t version = wanted.version;
  Placement placement = matcher_.place(log_, request.branch, scope->cursor, wanted);
  if (const auto* matched = std::get_if<Matched>(&placement)) {
    return issue_recorded(matched->record, request);
  }
  const auto asked = [&] {
    return Asked{request.kind,  std::string(request.name),      std::string(request.step_key),
                 version,       std::string(request.source),    false,
                 request.clear, std::string(request.child_kind)};
  };
  if (const auto* mismatch = std::get_if<Mismatch>(&placement)) {
    return violate(*mismatch, asked());
  }
  const New& place = std::get<New>(placement);
  if (log_.end_record() != kNoRecord) {
    PAWL_TRY(check_not_ended(request.branch, place.coordinate, asked()));
  }
  return issue_new(request, version, place);
}

Wanted Machine::wanted_for(const CommandRequest& request, const Scope& scope) {
  return {request.kind,
          request.name,
          request.child_kind,
          request.step_key,
          request.version == 0 ? scope.version : request.version,
          request.clear};
}

// A key names one command of its branch.
Result<void> Machine::check_key_unused(const CommandRequest& request) {
  if (request.step_key.empty()) {
    return {};
  }
  const RecordId same = log_.find_by_key(request.branch, request.step_key);
  const bool is_used = (same != kNoRecord && (log_[same].future != 0 || log_[same].skipped)) ||
                       running_keys_.contains({request.branch, std::string(request.step_key)});
  if (is_used) {
    return misuse("step key '" + std::string(request.step_key) + "' is used twice in branch " +
                  log_.location(request.branch).to_string());
  }
  return {};
}

Result<void> Machine::check_not_ended(BranchId branch, const Coordinate& coordinate,
                                      const Asked& asked) {
  if (log_.end_record() == kNoRecord) {
    return {};
  }
  return violate(report_after_end(log_, report_context(), branch, coordinate, asked));
}

Result<Opened> Machine::issue_recorded(RecordId id, const CommandRequest& request) {
  const Record& record = log_[id];
  if (takes_input(request.kind) && request.has_payload && record.input_digest != 0 &&
      record.input_digest != stable_digest(request.payload)) {
    changed_inputs_.push_back(id);
  }
  last_agreed_ = id;
  mark_issued(id, has_outcome(request.kind) ? add_future(request.kind, id) : kIssuedOnly);
  return take_effect(id, request);
}

Result<Opened> Machine::issue_new(const CommandRequest& request, std::uint32_t version,
                                  const New& place) {
  const Coordinate& coordinate = place.coordinate;
  std::string id;
  if (is_named_by_id(request.kind)) {
    id = request.name;
  }
  if (id.empty() && has_own_id(request.kind)) {
    const Location branch = log_.location(request.branch);
    std::vector<Coordinate> path;
    path.reserve(branch.coordinates().size() + 1);
    path = branch.coordinates();
    path.push_back(coordinate);
    id = uuid5(info_.run_id, Location(std::move(path)).to_string()).to_string();
  }
  const std::uint64_t digest =
      takes_input(request.kind) && request.has_payload ? stable_digest(request.payload) : 0;
  if (request.kind == CommandKind::kOperation) {
    // Its entry is written when it completes, or when a later command of its branch is.
    const FutureId future = add_future(request.kind, kNoRecord);
    log_.reserve_place(request.branch, coordinate);
    running_.emplace(
        RunningKey{request.branch, future},
        Running{coordinate, std::string(request.name), std::move(id), std::string(request.step_key),
                std::string(request.source), std::string(request.extra),
                std::string(request.payload), request.has_payload, version, place.checked, digest});
    operation_branches_[future] = request.branch;
    if (!request.step_key.empty()) {
      running_keys_.emplace(request.branch, std::string(request.step_key));
    }
    return Opened{future, kNoBranch, true};
  }
  write_started_operations(request.branch, kIssuedOnly);
  Entry entry = new_entry(entry_kind(request));
  entry.version = version;
  entry.id = id;
  entry.name = is_named_by_id(request.kind) ? std::string_view() : request.name;
  entry.child_kind = request.child_kind;
  entry.step_key = request.step_key;
  entry.source = request.source;
  entry.checked = place.checked;
  entry.has_payload = request.has_payload;
  entry.payload = request.payload;
  entry.number = request.number;
  entry.input_digest = digest;
  entry.extra = request.extra;
  const RecordId record = log_.append_command(entry, request.branch, coordinate);
  mark_issued(record, has_outcome(request.kind) ? add_future(request.kind, record) : kIssuedOnly);
  return take_effect(record, request);
}

// What a command does at once, recorded or new.
Result<Opened> Machine::take_effect(RecordId id, const CommandRequest& request) {
  const Record& record = log_[id];
  Opened opened;
  opened.future = record.future == kIssuedOnly ? 0 : record.future;
  switch (request.kind) {
    case CommandKind::kOperation:
      opened.must_execute = record.kind == EntryKind::kOperationStarted &&
                            record.link == kNoRecord && log_.end_record() == kNoRecord;
      if (opened.must_execute) {
        operation_branches_[opened.future] = request.branch;
      }
      break;
    case CommandKind::kState:
      state_.write(log_, log_.name(record),
                   record.kind == EntryKind::kStateSet
                       ? std::optional<std::string_view>(record.payload.view())
                       : std::nullopt,
                   record.branch);
      break;
    case CommandKind::kSignal: {
      scopes_[record.branch]->waits.push_back(opened.future);
      if (const BranchId iteration = iteration_around(record.branch);
          iteration != kNoBranch && iteration != record.branch) {
        scopes_[iteration]->waits.push_back(opened.future);
      }
      wake_wait(opened.future);
      break;
    }
    case CommandKind::kBranch:
      opened.branch = log_.opened_branch(record);
      open_scope_at(opened.branch, record.version);
      ++scopes_[record.branch]->open_children;
      break;
    case CommandKind::kLoop:
      opened.branch = log_.opened_branch(record);
      ++scopes_[record.branch]->open_children;
      start_loop(opened.branch, id, opened.future, request.checkpoint_every);
      break;
    case CommandKind::kCancelTask:
    case CommandKind::kCancelTimer:
      futures_[request.target].cancel_requested = true;
      log_.set_cancel_target(id, futures_[request.target].record);
      break;
    case CommandKind::kCompensation:
      register_compensation(id);
      break;
    default:
      break;
  }
  return opened;
}

void Machine::register_compensation(RecordId id) {
  compensations_.insert(std::upper_bound(compensations_.begin(), compensations_.end(), id), id);
}

FutureId Machine::add_future(CommandKind kind, RecordId record) {
  Future future;
  future.kind = kind;
  future.record = record;
  futures_.push_back(future);
  return static_cast<FutureId>(futures_.size() - 1);
}

void Machine::mark_issued(RecordId id, FutureId future) {
  Record& record = log_[id];
  record.future = future;
  note_in_loops(id, record.branch);
  // Its outcome may have been passed over in the log, or wait in the inbox.
  const RecordId completion = is_operation_outcome(record.kind) ? id : record.link;
  if (completion != kNoRecord && completion < scanned_) {
    deliver_late(completion);
  }
  if (const auto parked = parked_.find(id); parked != parked_.end()) {
    inbox_.push_back(std::move(parked->second));
    parked_.erase(parked);
  }
}

void Machine::note_in_loops(RecordId id, BranchId branch) {
  for (BranchId node = log_.branch(branch).loop; node != kNoBranch; node = log_.outer_loop(node)) {
    if (const auto loop = loops_.find(node); loop != loops_.end()) {
      loop->second.entries.push_back(id);
    }
  }
}

Entry Machine::new_entry(EntryKind kind) const {
  Entry entry;
  entry.kind = kind;
  entry.seq = next_seq();
  entry.time_ms = log_.size() == 0 ? std::max(time_ms_, info_.started_at_ms)
                                   : std::max(time_ms_, log_.last_time_ms());
  return entry;
}

// --- Operations --------------------------------------------------------------------------------

Entry Machine::running_entry(EntryKind kind, const Running& running) const {
  Entry entry = new_entry(kind);
  entry.name = running.name;
  entry.id = running.id;
  entry.step_key = running.step_key;
  entry.source = running.source;
  entry.extra = running.extra;
  entry.version = running.version;
  entry.checked = running.checked;
  entry.input_digest = running.input_digest;
  return entry;
}

// A log never holds a command without every one created before it in its branch.
void Machine::write_started_operations(BranchId branch, FutureId before) {
  auto it = running_.lower_bound({branch, 0});
  while (it != running_.end() && it->first.first == branch && it->first.second < before) {
    const FutureId future = it->first.second;
    Entry entry = running_entry(EntryKind::kOperationStarted, it->second);
    entry.has_payload = it->second.has_input;
    entry.payload = it->second.input;
    const RecordId id = log_.append_command(entry, branch, it->second.coordinate);
    futures_[future].record = id;
    mark_issued(id, future);
    running_keys_.erase({branch, it->second.step_key});
    it = running_.erase(it);
  }
}

Result<void> Machine::complete_operation(FutureId operation, OutcomeKind outcome,
                                         std::string_view payload, std::string_view extra) {
  PAWL_TRY(check_usable());
  PAWL_TRY(check_size("a result", payload, kPayloadBytesMax));
  if (outcome != OutcomeKind::kValue && outcome != OutcomeKind::kFailed) {
    return misuse("complete_operation: an operation returns or fails");
  }
  const auto found = operation_branches_.find(operation);
  if (found == operation_branches_.end()) {
    return misuse("complete_operation: future " + std::to_string(operation) +
                  " is no operation that runs");
  }
  const BranchId branch = found->second;
  operation_branches_.erase(found);
  if (log_.is_covered(branch)) {
    if (const auto gone = running_.find({branch, operation}); gone != running_.end()) {
      running_keys_.erase({branch, gone->second.step_key});
      running_.erase(gone);
    }
    return {};  // Its iteration is forgotten: nobody can ask for it again.
  }
  const EntryKind kind =
      outcome == OutcomeKind::kValue ? EntryKind::kOperationCompleted : EntryKind::kOperationFailed;
  const auto running = running_.find({branch, operation});
  if (running == running_.end()) {
    const RecordId command = futures_[operation].record;
    Entry entry = new_entry(kind);
    entry.has_payload = true;
    entry.payload = payload;
    entry.extra = extra;
    log_.append_plain(entry, command);
    return {};
  }
  write_started_operations(branch, operation);
  Entry entry = running_entry(kind, running->second);
  entry.has_payload = true;
  entry.payload = payload;
  if (!extra.empty()) {
    entry.extra = extra;
  }
  const RecordId id = log_.append_command(entry, branch, running->second.coordinate);
  futures_[operation].record = id;
  running_keys_.erase({branch, running->second.step_key});
  running_.erase(running);
  mark_issued(id, operation);
  return {};
}

// --- Versions ----------------------------------------------------------------------------------

Result<void> Machine::removed(const CommandRequest& step) {
  PAWL_TRY_ASSIGN(Scope * scope, usable_scope(step.branch));
  PAWL_TRY(check_strict("removed"));
  if (step.kind == CommandKind::kNone || static_cast<std::size_t>(step.kind) >= kCommandKinds) {
    return misuse("removed: no such kind of step");
  }
  PAWL_TRY(check_sizes(step));
  PAWL_TRY(check_key_unused(step));
  const std::uint32_t version = step.version == 0 ? scope->version : step.version;
  const Asked asked{step.kind,
                    std::string(step.name),
                    std::string(step.step_key),
                    version,
                    std::string(step.source),
                    true,
                    false,
                    ""};
  const Wanted wanted{step.kind, step.name, "", step.step_key, version, false};
  Placement placement = matcher_.place_removed(log_, step.branch, scope->cursor, wanted);
  if (const auto* mismatch = std::get_if<Mismatch>(&placement)) {
    return violate(*mismatch, asked);
  }
  if (const auto* matched = std::get_if<Matched>(&placement)) {
    log_[matched->record].skipped = true;
    last_agreed_ = matched->record;
    note_in_loops(matched->record, step.branch);
    return {};
  }
  const Coordinate& coordinate = std::get<New>(placement).coordinate;
  PAWL_TRY(check_not_ended(step.branch, coordinate, asked));
  write_started_operations(step.branch, kIssuedOnly);
  Entry entry = new_entry(EntryKind::kStepRemoved);
  entry.version = version;
  entry.removed = step.kind;
  entry.name = step.name;
  entry.step_key = step.step_key;
  entry.source = step.source;
  mark_issued(log_.append_command(entry, step.branch, coordinate), kIssuedOnly);
  return {};
}

Result<std::uint32_t> Machine::check_version(BranchId branch, std::uint32_t latest,
                                             std::string_view source) {
  PAWL_TRY_ASSIGN(Scope * scope, usable_scope(branch));
  PAWL_TRY(check_strict("check_version"));
  if (latest == 0) {
    return misuse("check_version: versions start at 1");
  }
  Placement placement = matcher_.place_version_check(log_, branch, scope->cursor);
  if (const auto* matched = std::get_if<Matched>(&placement)) {
    if (log_[matched->record].kind == EntryKind::kVersionChecked) {
      last_agreed_ = matched->record;
      mark_issued(matched->record, kIssuedOnly);
    }
    return log_.checked_version(log_[matched->record]);
  }
  const Coordinate& coordinate = std::get<New>(placement).coordinate;
  PAWL_TRY(check_not_ended(
      branch, coordinate,
      {CommandKind::kVersionCheck, "", "", latest, std::string(source), false, false, ""}));
  write_started_operations(branch, kIssuedOnly);
  Entry entry = new_entry(EntryKind::kVersionChecked);
  entry.version = latest;
  entry.source = source;
  mark_issued(log_.append_command(entry, branch, coordinate), kIssuedOnly);
  return latest;
}

Result<void> Machine::check_strict(std::string_view call) const {
  if (info_.matching == Matching::kStrict) {
    return {};
  }
  return misuse(std::string(call) + "() needs strict matching: this workflow matches " +
                std::string(matching_name(info_.matching)) + ", where versions have no meaning");
}

// --- Branches ----------------------------------------------------------------------------------

Result<void> Machine::close_branch(BranchId branch) {
  PAWL_TRY(open_scope(branch));
  if (branch == kRootBranch || log_.branch(branch).is_iteration) {
    return misuse("close_branch: only what open() made a branch can be closed");
  }
  PAWL_TRY(end_scope(branch));
  --scopes_[log_.branch(branch).parent]->open_children;
  return {};
}

// The code of a branch or an iteration has ended.
Result<void> Machine::end_scope(BranchId branch) {
  Scope& scope = *scopes_[branch];
  if (scope.open_children > 0) {
    return make_error(ErrorCode::kInvalidState,
                      "branch " + log_.location(branch).to_string() +
                          " ends while a branch or loop in it has not ended");
  }
  PAWL_TRY(check_leftovers(branch));
  if (scope.cursor.agreed < log_.recorded(branch).size() && log_.branch(branch).loop != kNoBranch) {
    note_orphans(branch);
  }
  end_waits(branch);
  scopes_[branch].reset();
  return {};
}

// Recorded commands that the code did not ask for are forgotten with the iteration they stand in.
void Machine::note_orphans(BranchId branch) {
  for (const RecordId id : log_.recorded(branch)) {
    const Record& record = log_[id];
    if (record.future != 0 || record.skipped) {
      continue;
    }
    note_in_loops(id, branch);
    if (record.kind == EntryKind::kBranchOpened) {
      note_orphans(log_.opened_branch(record));
    } else if (record.kind == EntryKind::kLoopStarted) {
      const BranchId loop = log_.opened_branch(record);
      for (const auto* of_loop : {&loaded_checkpoints_, &survivors_}) {
        if (const auto found = of_loop->find(loop); found != of_loop->end()) {
          for (const RecordId entry : found->second) {
            note_in_loops(entry, branch);
          }
        }
      }
      note_orphaned_iterations(loop, 0);
    }
  }
}

// The same for the iterations after `last` of a loop that the code ended there.
void Machine::note_orphaned_iterations(BranchId loop, std::uint64_t last) {
  if (log_.recorded_iteration_after(loop, last) == kNoBranch) {
    return;
  }
  for (BranchId iteration = loop + 1; iteration < log_.branch_count(); ++iteration) {
    if (log_.branch(iteration).parent == loop && log_.branch(iteration).head > last) {
      note_orphans(iteration);
    }
  }
}

// The innermost iteration that a branch lies in; kNoBranch if none.
BranchId Machine::iteration_around(BranchId branch) const {
  while (branch != kRootBranch && !log_.branch(branch).is_iteration) {
    branch = log_.branch(branch).parent;
  }
  return branch == kRootBranch ? kNoBranch : branch;
}

// An open wait of a branch that has ended takes no signal from others until somebody awaits it. One
// of an iteration ends for good, since it may be forgotten.
void Machine::end_waits(BranchId branch) {
  for (const FutureId wait : scopes_[branch]->waits) {
    if (!is_open(wait)) {
      continue;
    }
    futures_[wait].is_asleep = !awaits_.is_watched(wait);
    if (log_.branch(branch).is_iteration) {
      futures_[wait].order = ++completions_;
      futures_[wait].outcome = OutcomeKind::kCancelled;
    }
  }
}

void Machine::wake_wait(FutureId wait) {
  const Record& record = log_[futures_[wait].record];
  futures_[wait].is_asleep = false;
  const RecordId signal = mailboxes_.take(record.name);
  if (signal == kNoRecord) {
    mailboxes_.add_wait(record.name, wait);
  } else {
    note_in_loops(signal, record.branch);
    complete(wait, signal, OutcomeKind::kValue);
  }
}

// --- Futures and awaits ------------------------------------------------------------------------

std::string Machine::command_id(FutureId future) const {
  if (const RecordId record = record_of(future); record != kNoRecord) {
    return log_.id_text(log_[record]);
  }
  const auto branch = operation_branches_.find(future);
  return branch == operation_branches_.end() ? std::string()
                                             : running_.at({branch->second, future}).id;
}

std::string_view Machine::command_name(FutureId future) const {
  if (const RecordId record = record_of(future); record != kNoRecord) {
    return log_.name(log_[record]);
  }
  const auto branch = operation_branches_.find(future);
  return branch == operation_branches_.end()
             ? std::string_view()
             : std::string_view(running_.at({branch->second, future}).name);
}

Result<Outcome> Machine::outcome(FutureId future) const {
  if (future == 0 || future >= futures_.size()) {
    return misuse("no such future: " + std::to_string(future));
  }
  const Future& known = futures_[future];
  Outcome outcome;
  outcome.is_complete = known.order != 0;
  outcome.kind = known.outcome;
  outcome.entry = known.completion;
  if (known.completion != kNoRecord) {
    outcome.payload = log_[known.completion].payload.view();
    outcome.has_payload = log_[known.completion].has_payload;
  }
  return outcome;
}

Result<AwaitStatus> Machine::begin_await(AwaitMode mode, std::span<const FutureId> futures,
                                         bool shielded) {
  PAWL_TRY(check_usable());
  if (mode == AwaitMode::kAny && futures.empty()) {
    return misuse("any: needs at least one future");
  }
  for (const FutureId future : futures) {
    if (future == 0 || future >= futures_.size()) {
      return misuse("await: no such future: " + std::to_string(future));
    }
  }
  for (const FutureId future : futures) {
    if (is_open(future) && futures_[future].is_asleep) {
      wake_wait(future);
    }
  }
  if (futures.size() == 1) {
    return is_open(futures[0]) ? AwaitStatus{awaits_.begin(AwaitMode::kAny, futures, shielded)}
                               : AwaitStatus{0, AwaitState::kReady, futures[0]};
  }
  std::vector<FutureId> open;
  FutureId first = 0;  // To be delivered, of those that decide the await.
  for (const FutureId future : futures) {
    const Future& known = futures_[future];
    if (known.order == 0) {
      open.push_back(future);
    } else if (mode == AwaitMode::kAny || known.outcome != OutcomeKind::kValue) {
      if (first == 0 || known.order < futures_[first].order) {
        first = future;
      }
    }
  }
  if (first != 0 || open.empty()) {
    return AwaitStatus{0, AwaitState::kReady, first};
  }
  return AwaitStatus{awaits_.begin(mode, open, shielded)};
}

Result<void> Machine::give_up_await(AwaitId await) {
  if (!awaits_.is_blocked(await)) {
    return misuse("no await is blocked with the number " + std::to_string(await));
  }
  awaits_.give_up(await);
  return {};
}

// --- Reads -------------------------------------------------------------------------------------

Result<Uuid> Machine::uuid(BranchId branch) {
  PAWL_TRY_ASSIGN(Scope * scope, usable_scope(branch));
  return uuid5(info_.run_id,
               log_.location(branch).to_string() + ":" + std::to_string(scope->uuids++));
}

Result<std::uint64_t> Machine::random(BranchId branch) {
  PAWL_TRY_ASSIGN(Scope * scope, usable_scope(branch));
  if (!scope->random) {
    scope->random.emplace(uuid5(info_.run_id, log_.location(branch).to_string() + ":random"));
  }
  return scope->random->next();
}

std::size_t Machine::signal_count(std::string_view name) {
  return mailboxes_.count(log_.intern(name));
}

Result<std::optional<RecordId>> Machine::take_signal(BranchId branch, std::string_view name) {
  PAWL_TRY(usable_scope(branch));
  const RecordId signal = mailboxes_.take(log_.intern(name));
  if (signal == kNoRecord) {
    return std::optional<RecordId>();
  }
  note_in_loops(signal, branch);
  return std::optional<RecordId>(signal);
}

// --- The end -----------------------------------------------------------------------------------

Result<void> Machine::finish(EntryKind end, std::string_view payload) {
  PAWL_TRY(check_usable());
  const EntryTraits* known = find_traits(end);
  if (known == nullptr || known->role != EntryRole::kEnd) {
    return misuse("finish: not a way for a workflow to end");
  }
  PAWL_TRY(check_size("a result", payload, kPayloadBytesMax));
  PAWL_TRY(check_leftovers(kRootBranch));
  if (log_.end_record() != kNoRecord) {
    if (log_[log_.end_record()].kind != end) {
      return violate(report_outcome(log_, report_context(), end));
    }
  } else {
    // Replay would otherwise find commands that history does not have.
    while (!running_.empty()) {
      write_started_operations(running_.begin()->first.first, kIssuedOnly);
    }
    Entry entry = new_entry(end);
    entry.has_payload = !payload.empty();
    entry.payload = payload;
    log_.append_plain(entry, kNoRecord);
  }
  finished_ = true;
  return {};
}

std::vector<RecordId> Machine::unconsumed_signals() const {
  std::vector<RecordId> signals = mailboxes_.all();
  std::sort(signals.begin(), signals.end());
  return signals;
}

Batch Machine::take_new() {
  Batch batch;
  if (violation_) {
    return batch;
  }
  batch.first = taken_;
  batch.last = static_cast<RecordId>(log_.size());
  taken_ = batch.last;
  batch.forgotten = std::move(forgotten_);
  forgotten_.clear();
  std::sort(batch.forgotten.begin(), batch.forgotten.end());
  batch.consumed = std::move(consumed_);
  consumed_.clear();
  batch.dropped = std::move(dropped_);
  dropped_.clear();
  return batch;
}

std::vector<FutureId> Machine::blocked_on() const {
  std::vector<FutureId> futures = awaits_.blocked_on();
  std::erase_if(futures, [this](FutureId future) {
    return futures_[future].kind == CommandKind::kLoop;  // A checkpoint is on its way.
  });
  std::sort(futures.begin(), futures.end());
  futures.erase(std::unique(futures.begin(), futures.end()), futures.end());
  return futures;
}

std::vector<FutureId> Machine::first_blocked_on(std::size_t limit) const {
  std::vector<FutureId> futures;
  awaits_.visit_blocked([&](FutureId future) {
    const bool is_new = std::find(futures.begin(), futures.end(), future) == futures.end();
    if (is_new && futures_[future].kind != CommandKind::kLoop) {
      futures.push_back(future);
    }
    return futures.size() == limit;
  });
  return futures;
}

std::string Machine::label_of(FutureId future) const {
  if (const RecordId record = record_of(future); record != kNoRecord) {
    return labels_of(log_, log_[record]).to_string();
  }
  const auto branch = operation_branches_.find(future);
  if (branch == operation_branches_.end()) {
    return "";
  }
  const Running& running = running_.at({branch->second, future});
  return labels_at(log_, branch->second, running.coordinate, CommandKind::kOperation, running.name)
      .to_string();
}

std::vector<Location> Machine::waiting() const {
  std::vector<Location> places;
  for (const FutureId future : blocked_on()) {
    const RecordId record = futures_[future].record;
    if (record != kNoRecord) {
      places.push_back(log_.location(log_[record]));
    } else if (const auto branch = operation_branches_.find(future);
               branch != operation_branches_.end()) {
      std::vector<Coordinate> path = log_.location(branch->second).coordinates();
      path.push_back(running_.at({branch->second, future}).coordinate);
      places.emplace_back(std::move(path));
    }
  }
  std::sort(places.begin(), places.end());
  places.erase(std::unique(places.begin(), places.end()), places.end());
  return places;
}

std::vector<Location> Machine::orphaned() const {
  std::vector<Location> places;
  if (info_.matching == Matching::kStrict) {
    return places;
  }
  for (RecordId id = 0; id < log_.loaded_count(); ++id) {
    const Record& record = log_[id];
    const bool is_replayed = record.is_command && !log_.branch(record.branch).forgotten;
    if (is_replayed && record.future == 0) {
      places.push_back(log_.location(record));
    }
  }
  std::sort(places.begin(), places.end());
  return places;
}

bool Machine::has_replayed_all() const {
  for (RecordId id = 0; info_.matching == Matching::kStrict && id < log_.loaded_count(); ++id) {
    const Record& record = log_[id];
    if (record.is_command && !log_.branch(record.branch).forgotten && record.future == 0 &&
        !record.skipped) {
      return false;
    }
  }
  return true;
}

std::size_t Machine::memory_bytes() const {
  return log_.memory_bytes() + awaits_.memory_bytes() + futures_.capacity() * sizeof(Future) +
         scopes_.capacity() * sizeof(scopes_[0]) + late_.capacity() * sizeof(RecordId);
}

}  // namespace pawl::replay

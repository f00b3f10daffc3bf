#include "replay/matcher.h"

#include <algorithm>
#include <utility>

#include "base/hash.h"
#include "replay/labels.h"

namespace pawl::replay {

namespace {

std::string quoted(std::string_view text) { return "'" + std::string(text) + "'"; }

// "Task 'charge'", "Branch", "StepRemoved (Task 'charge')".
std::string describe(const Log& log, const Record& record) {
  const std::string name = shown_name(log, record);
  std::string text(label_name(log.command_kind(record)));
  if (!name.empty()) {
    text += " " + quoted(name);
  }
  return record.kind == EntryKind::kStepRemoved ? "StepRemoved (" + text + ")" : text;
}

std::string describe(CommandKind kind, std::string_view name) {
  std::string text(label_name(kind));
  if (!name.empty()) {
    text += " " + quoted(name);
  }
  return text;
}

std::string_view name_mismatch_title(CommandKind kind) {
  switch (kind) {
    case CommandKind::kTask:
      return "Task type mismatch";
    case CommandKind::kOperation:
      return "Operation name mismatch";
    case CommandKind::kTimer:
    case CommandKind::kCancelTimer:
      return "Timer ID mismatch";
    case CommandKind::kCancelTask:
      return "Task ID mismatch";
    case CommandKind::kPromise:
      return "Promise name mismatch";
    case CommandKind::kChildWorkflow:
      return "Child workflow name mismatch";
    case CommandKind::kState:
      return "State key mismatch";
    case CommandKind::kSignal:
      return "Signal name mismatch";
    case CommandKind::kCompensation:
      return "Compensation name mismatch";
    default:
      return "Name mismatch";
  }
}

}  // namespace

std::string_view matching_name(Matching matching) {
  switch (matching) {
    case Matching::kStrict:
      return "strict";
    case Matching::kPerKind:
      return "per_kind";
    case Matching::kByName:
      return "by_name";
  }
  return "";
}

Matcher::Matcher(const Log& log, Matching matching, const Uuid& run_id) : matching_(matching) {
  if (matching_ == Matching::kByName) {
    build_groups(log, run_id);
  }
}

Placement Matcher::place(Log& log, BranchId branch, Cursor& cursor, const Wanted& wanted) {
  if (!wanted.step_key.empty()) {
    return place_by_key(log, branch, cursor, wanted);
  }
  if (matching_ == Matching::kStrict) {
    return place_strict(log, branch, cursor, wanted);
  }
  const RecordId id = matching_ == Matching::kPerKind
                          ? take_of_kind(log, branch, cursor, wanted.kind)
                          : take_by_name(log, branch, cursor, wanted);
  if (id == kNoRecord) {
    return append(log, branch);
  }
  if (auto mismatch = validate(log, id, wanted)) {
    return *std::move(mismatch);
  }
  ++cursor.agreed;
  return Matched{id};
}

bool Matcher::is_recorded_next(Log& log, BranchId branch, const Cursor& cursor,
                               const Wanted& wanted) {
  Cursor probe = cursor;
  RecordId id = kNoRecord;
  if (!wanted.step_key.empty()) {
    id = log.find_by_key(branch, wanted.step_key);
  } else if (matching_ == Matching::kStrict) {
    id = next_recorded(log, branch, probe);
  } else if (matching_ == Matching::kPerKind) {
    id = take_of_kind(log, branch, probe, wanted.kind);
  } else if (const std::uint32_t* group = find_group(log, branch, wanted.kind, wanted.name)) {
    id = groups_[*group].next;
  }
  if (id == kNoRecord || log[id].future != 0) {
    return false;
  }
  const bool is_right_version = matching_ != Matching::kStrict || !wanted.step_key.empty() ||
                                log[id].version == wanted.version;
  return is_right_version && !validate(log, id, wanted);
}

Placement Matcher::append(const Log& log, BranchId branch) const {
  return New{Coordinate(log.next_whole_number(branch)), 0};
}

// Commands with a key are matched by it alone, so strict passes them over.
RecordId Matcher::next_recorded(const Log& log, BranchId branch, Cursor& cursor) const {
  const std::span<const RecordId> recorded = log.recorded(branch);
  while (cursor.next < recorded.size() && log.has_step_key(log[recorded[cursor.next]])) {
    ++cursor.next;
  }
  return cursor.next < recorded.size() ? recorded[cursor.next] : kNoRecord;
}

void Matcher::pass(const Log& log, Cursor& cursor, RecordId id) const {
  ++cursor.next;
  ++cursor.agreed;
  cursor.previous = log.coordinate(log[id]);
}

Placement Matcher::place_strict(const Log& log, BranchId branch, Cursor& cursor,
                                const Wanted& wanted) const {
  const RecordId id = next_recorded(log, branch, cursor);
  const std::uint32_t checked = std::exchange(cursor.checked, 0);
  if (id == kNoRecord) {
    Placement placement = append(log, branch);
    cursor.previous = std::get<New>(placement).coordinate;
    return placement;
  }
  const Record& next = log[id];
  if (wanted.version > next.version) {
    Coordinate coordinate = insertion_between(cursor.previous, next_place(log, branch, cursor));
    cursor.previous = coordinate;
    return New{std::move(coordinate), checked};
  }
  if (wanted.version < next.version) {
    return Mismatch{ViolationKind::kVersion, id, "Version mismatch",
                    describe(wanted.kind, wanted.name) + " v" + std::to_string(wanted.version),
                    describe(log, next) + " v" + std::to_string(next.version)};
  }
  if (auto mismatch = validate(log, id, wanted)) {
    return *std::move(mismatch);
  }
  pass(log, cursor, id);
  return Matched{id};
}

// Of the nearest recorded command behind the cursor, with a key or not: so that an insertion before
// it cannot hit a place that is taken.
Coordinate Matcher::next_place(const Log& log, BranchId branch, const Cursor& cursor) const {
  const std::span<const RecordId> recorded = log.recorded(branch);
  const auto behind = std::partition_point(recorded.begin(), recorded.end(), [&](RecordId id) {
    return log.coordinate(log[id]) <= cursor.previous;
  });
  PAWL_CHECK(behind != recorded.end());
  return log.coordinate(log[*behind]);
}

Placement Matcher::place_by_key(Log& log, BranchId branch, Cursor& cursor,
                                const Wanted& wanted) const {
  const RecordId id = log.find_by_key(branch, wanted.step_key);
  if (id == kNoRecord) {
    return append(log, branch);
  }
  if (auto mismatch = validate(log, id, wanted)) {
    return *std::move(mismatch);
  }
  ++cursor.agreed;
  return Matched{id};
}

std::optional<Mismatch> Matcher::validate(const Log& log, RecordId id, const Wanted& wanted) {
  const Record& record = log[id];
  if (record.kind == EntryKind::kStepRemoved || log.command_kind(record) != wanted.kind) {
    return Mismatch{ViolationKind::kKind, id, "Type mismatch", describe(wanted.kind, wanted.name),
                    describe(log, record)};
  }
  if (wanted.kind == CommandKind::kState) {
    const bool cleared = record.kind == EntryKind::kStateCleared;
    if (cleared != wanted.clear) {
      const std::string key = " of key ";
      return Mismatch{ViolationKind::kName, id, "State change mismatch",
                      (wanted.clear ? "clear" : "set") + key + quoted(wanted.name),
                      (cleared ? "clear" : "set") + key + quoted(log.name(record))};
    }
  }
  const bool is_unnamed_timer = wanted.kind == CommandKind::kTimer && wanted.name.empty();
  if (!is_unnamed_timer && !has_name(log, record, wanted.name)) {
    return Mismatch{ViolationKind::kName, id, std::string(name_mismatch_title(wanted.kind)),
                    quoted(wanted.name), quoted(command_name(log, record))};
  }
  if (wanted.kind == CommandKind::kChildWorkflow && log.child_kind(record) != wanted.child_kind) {
    return Mismatch{ViolationKind::kName, id, "Child workflow kind mismatch",
                    quoted(wanted.child_kind), quoted(log.child_kind(record))};
  }
  return std::nullopt;
}

Placement Matcher::place_removed(Log& log, BranchId branch, Cursor& cursor, const Wanted& wanted) {
  const bool has_key = !wanted.step_key.empty();
  const RecordId id =
      has_key ? log.find_by_key(branch, wanted.step_key) : next_recorded(log, branch, cursor);
  if (id == kNoRecord) {
    Placement placement = append(log, branch);
    if (!has_key) {
      cursor.previous = std::get<New>(placement).coordinate;
    }
    return placement;
  }
  const Record& record = log[id];
  if (log.command_kind(record) != wanted.kind ||
      (!wanted.name.empty() && !has_name(log, record, wanted.name))) {
    return Mismatch{ViolationKind::kRemoved, id, "Removed step mismatch",
                    "removed " + describe(wanted.kind, wanted.name), describe(log, record)};
  }
  if (has_key) {
    ++cursor.agreed;
  } else {
    pass(log, cursor, id);
    cursor.checked = 0;
  }
  return Matched{id};
}

Placement Matcher::place_version_check(Log& log, BranchId branch, Cursor& cursor) {
  const RecordId id = next_recorded(log, branch, cursor);
  if (id == kNoRecord) {
    Placement placement = append(log, branch);
    cursor.previous = std::get<New>(placement).coordinate;
    return placement;
  }
  if (log[id].kind == EntryKind::kVersionChecked) {
    pass(log, cursor, id);
    cursor.checked = 0;
  } else {
    cursor.checked = log.checked_version(log[id]);
  }
  return Matched{id};
}

RecordId Matcher::first_leftover(const Log& log, BranchId branch, const Cursor& cursor) const {
  const std::span<const RecordId> recorded = log.recorded(branch);
  if (cursor.agreed >= recorded.size()) {
    return kNoRecord;
  }
  for (const RecordId id : recorded) {
    if (log[id].future == 0 && !log[id].skipped) {
      return id;
    }
  }
  return kNoRecord;
}

// --- per_kind ----------------------------------------------------------------------------------

RecordId Matcher::take_of_kind(const Log& log, BranchId branch, Cursor& cursor,
                               CommandKind kind) const {
  const std::span<const RecordId> recorded = log.recorded(branch);
  std::uint32_t& next = cursor.next_of_kind[static_cast<std::size_t>(kind)];
  while (next < recorded.size()) {
    const RecordId id = recorded[next++];
    const Record& record = log[id];
    if (log.command_kind(record) == kind && record.kind != EntryKind::kStepRemoved &&
        !log.has_step_key(record) && record.future == 0) {
      return id;
    }
  }
  return kNoRecord;
}

// --- by_name -----------------------------------------------------------------------------------

void Matcher::build_groups(const Log& log, const Uuid& run_id) {
  next_in_group_.assign(log.loaded_count(), kNoRecord);
  for (BranchId branch = 0; branch < log.branch_count(); ++branch) {
    for (const RecordId id : log.recorded(branch)) {
      const Record& record = log[id];
      if (log.has_step_key(record) || record.kind == EntryKind::kStepRemoved) {
        continue;
      }
      const CommandKind kind = log.command_kind(record);
      std::string name = command_name(log, record);
      // A timer that the code did not name carries the id that the core made for its place.
      if (kind == CommandKind::kTimer && record.id_is_binary &&
          uuid5(run_id, log.location(record).to_string()).to_string() == name) {
        unnamed_timer_.resize(log.loaded_count());
        unnamed_timer_[id] = true;
        name.clear();
      }
      const std::uint32_t* group = find_group(log, branch, kind, name);
      if (group == nullptr) {
        group_index_.insert(
            fast_hash(name, mix_hash(branch * kCommandKinds + static_cast<std::uint64_t>(kind))),
            static_cast<std::uint32_t>(groups_.size()));
        groups_.push_back({id, id, id});
      } else {
        next_in_group_[groups_[*group].last] = id;
        groups_[*group].last = id;
      }
    }
  }
}

std::uint32_t* Matcher::find_group(const Log& log, BranchId branch, CommandKind kind,
                                   std::string_view name) {
  const std::uint64_t hash =
      fast_hash(name, mix_hash(branch * kCommandKinds + static_cast<std::uint64_t>(kind)));
  return group_index_.find(hash, [&](std::uint32_t group) {
    const RecordId sample = groups_[group].sample;
    const Record& record = log[sample];
    if (record.branch != branch || log.command_kind(record) != kind) {
      return false;
    }
    const bool unnamed = sample < unnamed_timer_.size() && unnamed_timer_[sample];
    return unnamed ? name.empty() : has_name(log, record, name);
  });
}

RecordId Matcher::take_by_name(const Log& log, BranchId branch, Cursor& cursor,
                               const Wanted& wanted) {
  const std::uint32_t* found = find_group(log, branch, wanted.kind, wanted.name);
  if (found != nullptr) {
    Group& group = groups_[*found];
    while (group.next != kNoRecord) {
      const RecordId id = group.next;
      group.next = next_in_group_[id];
      if (log[id].future == 0) {
        return id;
      }
    }
  }
  // A timer without a name takes any timer that is left: logs written by hand name them all.
  if (wanted.kind == CommandKind::kTimer && wanted.name.empty()) {
    return take_of_kind(log, branch, cursor, CommandKind::kTimer);
  }
  return kNoRecord;
}

}  // namespace pawl::replay

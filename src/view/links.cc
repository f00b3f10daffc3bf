#include "view/links.h"

#include <algorithm>
#include <deque>
#include <limits>
#include <unordered_set>
#include <utility>

#include "base/uuid.h"

namespace pawl::view {

namespace {

using replay::BranchId;
using replay::EntryKind;
using replay::Record;
using replay::RecordId;

constexpr std::int64_t kUnknown = std::numeric_limits<std::int64_t>::min();

template <class Row>
const Row* find_row(const std::unordered_map<std::string, const Row*>& rows, std::string id) {
  const auto found = rows.find(std::move(id));
  return found == rows.end() ? nullptr : found->second;
}

}  // namespace

Links::Links(const History& history) : history_(history), log_(history.log) {
  for (RecordId id = 0; id < log_.size(); ++id) {
    if (log_[id].kind == EntryKind::kLoopCheckpointed) {
      checkpoints_[log_[id].branch] = id;
    }
  }
  for (const store::TaskRow& task : history_.tasks) {
    tasks_[task.id] = &task;
  }
  for (const store::RunRow& child : history_.children) {
    children_[child.parent.command] = &child;
  }
  pair_signals();
  pair_compensations();
  find_times();
  find_retries();
}

// Mailboxes, as far as the log tells: a signal goes to the oldest open wait of its name.
void Links::pair_signals() {
  struct Mailbox {
    std::deque<RecordId> waits;
    std::deque<RecordId> signals;
  };
  partners_.assign(log_.size(), replay::kNoRecord);
  taken_.assign(log_.size(), false);
  for (const auto& [loop, id] : checkpoints_) {
    for (const std::uint64_t seq : log_.checkpoint(log_[id])->taken) {
      const RecordId signal = log_.find_seq(seq);
      if (signal != replay::kNoRecord) {
        taken_[signal] = true;
      }
    }
  }
  std::unordered_map<replay::NameId, Mailbox> boxes;
  std::vector<bool> timed_out(log_.size(), false);
  const auto pair = [this](RecordId wait, RecordId signal) {
    partners_[wait] = signal;
    partners_[signal] = wait;
  };
  for (RecordId id = 0; id < log_.size(); ++id) {
    const Record& record = log_[id];
    if (record.kind == EntryKind::kSignalAwaited && record.is_command) {
      Mailbox& box = boxes[record.name];
      if (box.signals.empty()) {
        box.waits.push_back(id);
      } else {
        pair(id, box.signals.front());
        box.signals.pop_front();
      }
    } else if (record.kind == EntryKind::kSignalReceived &&
               (history_.has_forgotten || !taken_[id])) {
      Mailbox& box = boxes[record.name];
      while (!box.waits.empty() && timed_out[box.waits.front()]) {
        box.waits.pop_front();
      }
      if (box.waits.empty()) {
        box.signals.push_back(id);
      } else {
        pair(box.waits.front(), id);
        box.waits.pop_front();
      }
    } else if (record.kind == EntryKind::kSignalTimedOut && record.link != replay::kNoRecord) {
      timed_out[record.link] = true;
    }
  }
}

void Links::pair_compensations() {
  if (history_.compensations.empty()) {
    return;
  }
  std::vector<RecordId> registered;
  for (RecordId id = 0; id < log_.size(); ++id) {
    if (log_[id].kind == EntryKind::kCompensationRegistered) {
      registered.push_back(id);
    }
  }
  for (std::size_t i = 0; i < history_.compensations.size(); ++i) {
    const store::CompensationRow& row = history_.compensations[i];
    if (row.position < registered.size() && log_.name(log_[registered[row.position]]) == row.name) {
      compensations_[registered[row.position]] = i;
    }
  }
}

void Links::find_times() {
  began_ms_.assign(log_.size(), kUnknown);
  last_ms_.assign(log_.branch_count(), 0);
  std::vector<std::int64_t> before_ms(log_.branch_count(), history_.row.created_ms);
  for (RecordId id = 0; id < log_.size(); ++id) {
    const Record& record = log_[id];
    BranchId branch = record.branch;
    if (record.kind == EntryKind::kSignalReceived && partners_[id] != replay::kNoRecord) {
      branch = log_[partners_[id]].branch;
    } else if (!record.is_command && record.link != replay::kNoRecord &&
               record.kind != EntryKind::kLoopCheckpointed) {
      branch = log_[record.link].branch;
    }
    if (branch == replay::kNoBranch) {
      continue;
    }
    if (record.is_command && replay::is_operation_outcome(record.kind)) {
      // An iteration begins, without an entry, where the one before has ended.
      const bool is_first = last_ms_[branch] == 0 && log_.branch(branch).is_iteration;
      began_ms_[id] = before_ms[is_first ? log_.branch(branch).parent : branch];
    }
    if (record.is_command &&
        (record.kind == EntryKind::kBranchOpened || record.kind == EntryKind::kLoopStarted)) {
      before_ms[log_.opened_branch(record)] = record.time_ms;
    }
    for (; branch != replay::kNoBranch; branch = log_.branch(branch).parent) {
      before_ms[branch] = record.time_ms;
      last_ms_[branch] = record.time_ms;
    }
  }
}

void Links::find_retries() {
  for (const store::Arrival& arrival : history_.inbox) {
    if (arrival.kind == store::kRetryOperation) {
      retries_[arrival.id] = &arrival;
    }
  }
  if (retries_.empty()) {
    return;
  }
  std::unordered_set<std::string> recorded;
  for (RecordId id = 0; id < log_.size(); ++id) {
    if (log_[id].kind == EntryKind::kOperationStarted) {
      recorded.insert(log_.id_text(log_[id]));
    }
  }
  for (BranchId id = 1; id < log_.branch_count(); ++id) {
    const replay::Branch& branch = log_.branch(id);
    if (branch.is_iteration) {
      replay::Ordinate& last = last_iterations_[branch.parent];
      last = std::max(last, branch.head);
    }
  }
  std::unordered_map<std::string, std::size_t> wanted;
  for (const store::Arrival& arrival : history_.inbox) {
    if (arrival.kind == store::kRetryOperation && !recorded.contains(arrival.id)) {
      wanted[arrival.id] = unrecorded_.size();
      unrecorded_.push_back({&arrival, replay::kNoBranch, 0, ""});
    }
  }
  place_retries(std::move(wanted));
}

// The id of a command is made of its location: one of the next places of a branch is likely.
void Links::place_retries(std::unordered_map<std::string, std::size_t> wanted) {
  constexpr replay::Ordinate kNextPlaces = 4;
  for (BranchId id = 0; id < log_.branch_count() && !wanted.empty(); ++id) {
    const replay::Branch& branch = log_.branch(id);
    if (branch.forgotten) {
      continue;
    }
    std::vector<replay::Coordinate> path = log_.location(id).coordinates();
    replay::Ordinate before = branch.last_head;
    replay::Ordinate iteration = 0;
    if (branch.is_loop) {
      // The iteration that has no entry yet.
      iteration = std::max(log_.covered_iterations(id), last_iterations_[id]) + 1;
      before = 0;
      path.emplace_back(iteration);
    }
    for (replay::Ordinate next = before + 1; next <= before + kNextPlaces; ++next) {
      std::vector<replay::Coordinate> place = path;
      place.emplace_back(next);
      std::string location = replay::Location(std::move(place)).to_string();
      const auto found = wanted.find(uuid5(history_.row.uuid, location).to_string());
      if (found != wanted.end()) {
        UnrecordedRetry& retry = unrecorded_[found->second];
        retry.owner = id;
        retry.head = branch.is_loop ? iteration : next;
        retry.location = std::move(location);
        wanted.erase(found);
      }
    }
  }
}

RecordId Links::completion(RecordId command) const {
  return log_[command].link != replay::kNoRecord ? log_[command].link : partners_[command];
}

std::optional<std::int64_t> Links::began_ms(RecordId command) const {
  return began_ms_[command] == kUnknown ? std::nullopt : std::optional(began_ms_[command]);
}

const replay::Checkpoint* Links::checkpoint(BranchId loop) const {
  const auto found = checkpoints_.find(loop);
  return found == checkpoints_.end() ? nullptr : log_.checkpoint(log_[found->second]);
}

const store::CompensationRow* Links::compensation(RecordId registered) const {
  const auto found = compensations_.find(registered);
  return found == compensations_.end() ? nullptr : &history_.compensations[found->second];
}

const store::TaskRow* Links::task(const Record& record) const {
  return tasks_.empty() ? nullptr : find_row(tasks_, log_.id_text(record));
}

const store::RunRow* Links::child(const Record& record) const {
  return children_.empty() ? nullptr : find_row(children_, log_.id_text(record));
}

const store::Arrival* Links::retry(const Record& record) const {
  return retries_.empty() ? nullptr : find_row(retries_, log_.id_text(record));
}

}  // namespace pawl::view

#include "view/history.h"

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "replay/labels.h"
#include "view/text.h"

namespace pawl::view {

namespace {

using replay::BranchId;
using replay::CommandKind;
using replay::Coordinate;
using replay::EntryKind;
using replay::EntryRole;
using replay::Log;
using replay::OutcomeKind;
using replay::Record;
using replay::RecordId;

constexpr std::size_t kAtWidth = 11;
constexpr std::size_t kTookWidth = 13;
// Lines of deeper branches do not move further to the right.
constexpr std::size_t kIndentLevelsMax = 24;

std::string padded(const std::string& text, std::size_t width) {
  return std::string(width - std::min(width, text.size()), ' ') + text;
}

// A line of the tree: a command, or an iteration of a loop.
struct Item {
  Coordinate coordinate = Coordinate::before_first();
  std::uint64_t seq = 0;  // Among equal coordinates.
  RecordId record = replay::kNoRecord;
  BranchId below = replay::kNoBranch;  // What hangs under it.
};

class Tree {
 public:
  Tree(const History& history, const HistoryOptions& options)
      : log_(history.log), history_(history), options_(options) {
    gather();
    pair_signals();
    pair_compensations();
    find_times_before();
  }

  std::string print() {
    print_head();
    if (!items_.empty() || end_ != replay::kNoRecord) {
      text_ += "\n" + padded("at", kAtWidth) + padded("took", kTookWidth) + "\n";
    }
    print_branches();
    if (end_ != replay::kNoRecord) {
      print_line(log_[end_].time_ms, "", "", end_text());
    }
    print_arrivals();
    return std::move(text_);
  }

 private:
  void gather();
  void pair_signals();
  void pair_compensations();
  void find_times_before();
  void print_head();
  void print_branches();
  void print_item(const Item& item, const std::string& prefix);
  void print_line(std::int64_t time_ms, const std::string& took, const std::string& prefix,
                  const std::string& what);
  void print_arrivals();

  std::string labels(const Record& record);
  std::string outcome(RecordId id) const;
  std::string open_text(const Record& record) const;
  std::string task_text(const Record& record) const;
  std::string compensation_text(RecordId id) const;
  std::string loop_text(const Record& record) const;
  std::string end_text() const;
  std::string took(RecordId id) const;
  RecordId completion(RecordId id) const;
  std::string at(std::int64_t time_ms) const {
    return padded(duration_text(time_ms - history_.row.created_ms), kAtWidth);
  }
  std::string in(std::int64_t due_ms) const { return duration_text(due_ms - options_.now_ms); }
  std::string shown(std::string_view payload) const {
    return payload_text(payload, options_.payload_chars_max);
  }
  std::string failure(std::string_view payload) const {
    return failure_text(payload, options_.payload_chars_max);
  }
  std::string line(std::string_view text) const {
    return line_text(text, options_.payload_chars_max);
  }

  const Log& log_;
  const History& history_;
  const HistoryOptions& options_;
  std::string text_;

  std::map<BranchId, std::vector<Item>> items_;  // By branch, in order of location.
  RecordId end_ = replay::kNoRecord;
  std::vector<RecordId> free_;                     // Signals and cancel requests.
  std::map<RecordId, RecordId> signal_of_;         // By wait,
  std::map<RecordId, RecordId> wait_of_;           // and the other way round.
  std::map<BranchId, RecordId> last_checkpoint_;   // By loop.
  std::map<RecordId, std::size_t> compensations_;  // Positions in history_.compensations.
  std::map<RecordId, std::int64_t> before_ms_;     // Of whole operations; see find_times_before().
  std::map<std::pair<BranchId, CommandKind>, std::size_t> of_kind_;
  std::map<std::pair<std::pair<BranchId, CommandKind>, std::string>, std::size_t> of_name_;
};

// --- What belongs together -----------------------------------------------------------------------

void Tree::gather() {
  std::map<BranchId, bool> has_iteration_item;
  for (RecordId id = 0; id < log_.size(); ++id) {
    const Record& record = log_[id];
    const EntryRole role = replay::traits(record.kind).role;
    if (role == EntryRole::kEnd) {
      end_ = id;
    } else if (role == EntryRole::kFree) {
      free_.push_back(id);
    } else if (record.kind == EntryKind::kLoopCheckpointed) {
      last_checkpoint_[record.branch] = id;
    }
    const bool is_kept = !record.forgotten || record.kind == EntryKind::kCompensationRegistered;
    if (!record.is_command || !is_kept) {
      continue;
    }
    // What outlives its iteration is shown with the loop.
    BranchId branch = record.branch;
    while (log_.branch(branch).forgotten) {
      branch = log_.branch(branch).parent;
    }
    Item item;
    item.coordinate = log_.coordinate(record);
    item.seq = record.seq;
    item.record = id;
    if (record.kind == EntryKind::kBranchOpened || record.kind == EntryKind::kLoopStarted) {
      item.below = log_.opened_branch(record);
    }
    items_[branch].push_back(std::move(item));
    if (log_.branch(branch).is_iteration && !std::exchange(has_iteration_item[branch], true)) {
      Item iteration;
      iteration.coordinate = log_.location(branch).coordinates().back();
      iteration.below = branch;
      items_[log_.branch(branch).parent].push_back(std::move(iteration));
    }
  }
  for (auto& [branch, items] : items_) {
    std::sort(items.begin(), items.end(), [](const Item& a, const Item& b) {
      return a.coordinate != b.coordinate ? a.coordinate < b.coordinate : a.seq < b.seq;
    });
  }
}

// Mailboxes, as far as the log tells: a signal goes to the oldest open wait of its name.
void Tree::pair_signals() {
  std::map<std::string, std::deque<RecordId>, std::less<>> waits;
  std::map<std::string, std::deque<RecordId>, std::less<>> signals;
  const auto pair = [this](RecordId wait, RecordId signal) {
    signal_of_[wait] = signal;
    wait_of_[signal] = wait;
  };
  for (RecordId id = 0; id < log_.size(); ++id) {
    const Record& record = log_[id];
    const std::string name(log_.name(record));
    if (record.kind == EntryKind::kSignalAwaited && record.is_command) {
      std::deque<RecordId>& box = signals[name];
      if (box.empty()) {
        waits[name].push_back(id);
      } else {
        pair(id, box.front());
        box.pop_front();
      }
    } else if (record.kind == EntryKind::kSignalReceived && !record.skipped) {
      std::deque<RecordId>& open = waits[name];
      if (open.empty()) {
        signals[name].push_back(id);
      } else {
        pair(open.front(), id);
        open.pop_front();
      }
    } else if (record.kind == EntryKind::kSignalTimedOut && record.link != replay::kNoRecord) {
      std::erase(waits[std::string(log_.name(log_[record.link]))], record.link);
    }
  }
}

void Tree::pair_compensations() {
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

// For each whole operation: when something last happened in its branch or below, which is when it
// began, if its branch does one thing at a time.
void Tree::find_times_before() {
  std::vector<std::int64_t> last_ms(log_.branch_count(), history_.row.created_ms);
  for (RecordId id = 0; id < log_.size(); ++id) {
    const Record& record = log_[id];
    BranchId branch = record.branch;
    if (const auto wait = wait_of_.find(id); wait != wait_of_.end()) {
      branch = log_[wait->second].branch;
    } else if (!record.is_command && record.link != replay::kNoRecord &&
               record.kind != EntryKind::kLoopCheckpointed) {
      branch = log_[record.link].branch;
    }
    if (branch == replay::kNoBranch) {
      continue;
    }
    if (record.is_command && replay::is_operation_outcome(record.kind)) {
      before_ms_[id] = last_ms[branch];
    }
    if (record.is_command &&
        (record.kind == EntryKind::kBranchOpened || record.kind == EntryKind::kLoopStarted)) {
      last_ms[log_.opened_branch(record)] = record.time_ms;
    }
    while (branch != replay::kNoBranch) {
      last_ms[branch] = record.time_ms;
      branch = log_.branch(branch).parent;
    }
  }
}

RecordId Tree::completion(RecordId id) const {
  if (const auto signal = signal_of_.find(id); signal != signal_of_.end()) {
    return signal->second;
  }
  return log_[id].link;
}

// --- Lines ---------------------------------------------------------------------------------------

void Tree::print_head() {
  const store::RunRow& row = history_.row;
  const std::int64_t until_ms =
      store::is_closed(row.status) ? row.changed_ms : std::max(options_.now_ms, row.created_ms);
  text_ += line(row.id) + ": " + line(row.kind) + ", " +
           line(store::status_text(row.status, row.waiting_for));
  text_ += (store::is_closed(row.status) ? " after " : ", for ") +
           duration_text(until_ms - row.created_ms) + "\n";
  text_ += "run " + row.uuid.to_string();
  if (row.number != 1) {
    text_ += ", number " + std::to_string(row.number) + " of this id";
  }
  text_ += ", started " + moment_text(row.created_ms, Zone::kUtc) + " " +
           zone_text(row.created_ms, Zone::kUtc) + "\n";
  text_ += "input " + shown(history_.input) + "\n";
  std::string_view reason = history_.reason;
  while (!reason.empty()) {
    const std::size_t end = reason.find('\n');
    text_ += "  " + line_text(reason.substr(0, end), reason.size()) + "\n";
    reason = end == std::string_view::npos ? std::string_view() : reason.substr(end + 1);
  }
}

void Tree::print_branches() {
  struct Frame {
    BranchId branch;
    const std::vector<Item>* items;
    std::size_t next;
    std::string prefix;  // Of what hangs under the branch.
  };
  std::vector<Frame> frames;
  const auto enter = [&](BranchId branch, std::string prefix) {
    if (const auto found = items_.find(branch); found != items_.end()) {
      frames.push_back({branch, &found->second, 0, std::move(prefix)});
    }
  };
  enter(replay::kRootBranch, "");
  while (!frames.empty()) {
    Frame& frame = frames.back();
    if (frame.next == frame.items->size()) {
      frames.pop_back();
      continue;
    }
    const Item& item = (*frame.items)[frame.next++];
    const bool is_last = frame.next == frame.items->size();
    const bool is_root = frame.branch == replay::kRootBranch;
    print_item(item, is_root ? "" : frame.prefix + (is_last ? "└─ " : "├─ "));
    if (item.below != replay::kNoBranch) {
      const bool is_deep = frames.size() > kIndentLevelsMax;
      enter(item.below,
            is_root || is_deep ? frame.prefix : frame.prefix + (is_last ? "   " : "│  "));
    }
  }
}

void Tree::print_item(const Item& item, const std::string& prefix) {
  if (item.record == replay::kNoRecord) {
    text_ += std::string(kAtWidth + kTookWidth, ' ') + "  " + prefix + "iteration " +
             std::to_string(item.coordinate.head()) + "\n";
    return;
  }
  const Record& record = log_[item.record];
  std::string what = labels(record);
  if (!log_.step_key(record).empty()) {
    what += " [" + line(log_.step_key(record)) + "]";
  }
  if (record.version != 1) {
    what += " v" + std::to_string(record.version);
  }
  print_line(record.time_ms, took(item.record), prefix, what + outcome(item.record));
}

void Tree::print_line(std::int64_t time_ms, const std::string& took, const std::string& prefix,
                      const std::string& what) {
  text_ += at(time_ms) + padded(took, kTookWidth) + "  " + prefix + what + "\n";
}

// As replay::labels_of(), counted on the way instead of anew for each.
std::string Tree::labels(const Record& record) {
  const std::pair place(record.branch, log_.command_kind(record));
  replay::Labels labels;
  labels.location = log_.location(record).to_string();
  labels.of_kind =
      std::string(replay::label_name(place.second)) + "(" + std::to_string(of_kind_[place]++) + ")";
  const std::string name = replay::shown_name(log_, record);
  if (!name.empty() && !replay::is_cancel_request(record.kind)) {
    labels.of_name = line(name) + ":" + std::to_string(++of_name_[{place, name}]);
  }
  return labels.to_string();
}

void Tree::print_arrivals() {
  const bool has_inbox = std::any_of(
      history_.inbox.begin(), history_.inbox.end(), [this](const store::Arrival& arrival) {
        return arrival.due_ms <= options_.now_ms && arrival.kind != store::kRetryOperation;
      });
  if (free_.empty() && !has_inbox) {
    return;
  }
  text_ += "\narrived:\n";
  for (const RecordId id : free_) {
    const Record& record = log_[id];
    std::string what;
    if (record.kind == EntryKind::kCancellationRequested) {
      what = "cancel request" + (record.has_payload ? ": " + failure(record.payload.view()) : "");
    } else {
      what = "signal " + line(log_.name(record));
      if (record.has_payload && record.payload.view() != "null") {
        what += " = " + shown(record.payload.view());
      }
      const auto wait = wait_of_.find(id);
      what += wait == wait_of_.end()
                  ? (record.skipped ? ", taken by a loop" : ", not taken by a wait")
                  : ", taken by " + log_.location(log_[wait->second]).to_string();
    }
    text_ += at(record.time_ms) + "  " + what + "\n";
  }
  for (const store::Arrival& arrival : history_.inbox) {
    if (arrival.due_ms > options_.now_ms || arrival.kind == store::kRetryOperation) {
      continue;  // What is not due belongs to its command.
    }
    const replay::EntryTraits* known = replay::find_traits(static_cast<EntryKind>(arrival.kind));
    text_ += padded("inbox", kAtWidth) + "  " +
             (known == nullptr ? std::string("?") : std::string(known->event));
    if (!arrival.name.empty()) {
      text_ += " " + line(arrival.name);
    }
    if (arrival.has_payload && arrival.payload != "null") {
      text_ += " = " + shown(arrival.payload);
    }
    text_ += "\n";
  }
}

// --- What came of a command ----------------------------------------------------------------------

std::string Tree::outcome(RecordId id) const {
  const Record& record = log_[id];
  switch (record.kind) {
    case EntryKind::kBranchOpened:
    case EntryKind::kVersionChecked:
      return "";
    case EntryKind::kStepRemoved:
      return " removed";
    case EntryKind::kStateSet:
      return " = " + shown(record.payload.view());
    case EntryKind::kStateCleared:
      return " cleared";
    case EntryKind::kLoopStarted:
      return loop_text(record);
    case EntryKind::kCompensationRegistered:
      return compensation_text(id);
    case EntryKind::kTaskCancelRequested:
    case EntryKind::kTimerCancelRequested: {
      const RecordId target = log_.cancel_target(id);
      return target == replay::kNoRecord ? "" : " of " + log_.location(log_[target]).to_string();
    }
    default:
      break;
  }
  RecordId last = id;  // A whole operation has its outcome itself.
  if (!replay::is_operation_outcome(record.kind)) {
    last = completion(id);
    if (last == replay::kNoRecord) {
      return " " + open_text(record);
    }
  }
  const Record& done = log_[last];
  switch (replay::traits(done.kind).outcome) {
    case OutcomeKind::kFailed:
      return " failed: " + failure(done.payload.view());
    case OutcomeKind::kCancelled:
      return " cancelled";
    case OutcomeKind::kTimedOut:
      return " timed out";
    case OutcomeKind::kValue:
      break;
  }
  const bool has_value =
      done.has_payload && !done.payload.view().empty() && done.payload.view() != "null";
  return has_value ? " = " + shown(done.payload.view()) : " done";
}

std::string Tree::open_text(const Record& record) const {
  if (store::is_closed(history_.row.status) || end_ != replay::kNoRecord) {
    return "left open";
  }
  switch (replay::traits(record.kind).command) {
    case CommandKind::kTask:
      return task_text(record);
    case CommandKind::kTimer:
      return "waiting, due in " + in(record.time_ms + record.number);
    case CommandKind::kOperation:
      for (const store::Arrival& arrival : history_.inbox) {
        if (arrival.kind == store::kRetryOperation && log_.id_equals(record, arrival.id)) {
          return "waiting, attempt " + std::to_string(arrival.number + 1) + " in " +
                 in(arrival.due_ms);
        }
      }
      return "waiting";
    default:
      return record.number > 0 ? "waiting, at most " + in(record.time_ms + record.number) + " more"
                               : "waiting";
  }
}

std::string Tree::task_text(const Record& record) const {
  const auto task =
      std::find_if(history_.tasks.begin(), history_.tasks.end(),
                   [&](const store::TaskRow& row) { return log_.id_equals(record, row.id); });
  if (task == history_.tasks.end()) {
    return "waiting";
  }
  std::string text = "waiting, ";
  switch (task->state) {
    case store::TaskState::kReady:
      text += "on queue " + line(task->queue);
      break;
    case store::TaskState::kDelayed:
      text += "attempt " + std::to_string(task->attempt + 1) + " in " + in(task->due_ms);
      break;
    case store::TaskState::kRunning:
      text += "attempt " + std::to_string(task->attempt) + " is running";
      break;
  }
  return task->last_error.empty() ? text : text + ", after " + failure(task->last_error);
}

std::string Tree::compensation_text(RecordId id) const {
  const auto found = compensations_.find(id);
  if (found == compensations_.end()) {
    const store::RunStatus status = history_.row.status;
    return status == store::RunStatus::kCompleted || status == store::RunStatus::kRecurred
               ? " not needed"
               : " registered";
  }
  const store::CompensationRow& row = history_.compensations[found->second];
  const std::string attempts =
      row.attempt > 1 ? ", attempt " + std::to_string(row.attempt) : std::string();
  switch (row.state) {
    case store::CompensationState::kDone:
      return " done" + attempts;
    case store::CompensationState::kFailed:
      return " failed: " + failure(row.outcome) + attempts;
    case store::CompensationState::kOpen:
      break;
  }
  return row.attempt == 0 ? " to be run"
                          : " to be run, attempt " + std::to_string(row.attempt) +
                                " failed: " + failure(row.outcome);
}

std::string Tree::loop_text(const Record& record) const {
  const auto found = last_checkpoint_.find(log_.opened_branch(record));
  const replay::Checkpoint* checkpoint =
      found == last_checkpoint_.end() ? nullptr : log_.checkpoint(log_[found->second]);
  if (checkpoint == nullptr) {
    return " state " + shown(record.payload.view());
  }
  const std::string iterations = " " + std::to_string(checkpoint->iteration) + " iterations, ";
  return checkpoint->done ? iterations + "ended with " + shown(checkpoint->result)
                          : iterations + "state " + shown(checkpoint->state);
}

std::string Tree::end_text() const {
  const Record& end = log_[end_];
  const std::string_view payload = end.payload.view();
  const bool has_value = end.has_payload && !payload.empty() && payload != "null";
  switch (end.kind) {
    case EntryKind::kWorkflowFailed:
      return "failed: " + failure(payload);
    case EntryKind::kWorkflowCancelled:
      return "cancelled" + (has_value ? ": " + failure(payload) : "");
    case EntryKind::kWorkflowRecurred:
      return "recurred with " + shown(payload);
    default:
      return "completed" + (has_value ? " = " + shown(payload) : "");
  }
}

// --- Durations -----------------------------------------------------------------------------------

std::string Tree::took(RecordId id) const {
  const Record& record = log_[id];
  if (const auto before = before_ms_.find(id); before != before_ms_.end()) {
    return "~" + duration_text(record.time_ms - before->second);
  }
  const bool completes = record.kind != EntryKind::kLoopStarted;
  const RecordId last = completion(id);
  if (!completes || last == replay::kNoRecord) {
    return "";
  }
  return duration_text(log_[last].time_ms - record.time_ms);
}

}  // namespace

Result<History> read_history(store::Store& store, const store::RunRow& row) {
  History history;
  history.row = row;
  PAWL_TRY_ASSIGN(history.input, store.read_input(row.key));
  PAWL_TRY_ASSIGN(history.reason, store.read_reason(row.key));
  PAWL_TRY(store.read_log(
      row.key, 1, [&history](const replay::Entry& entry) { return history.log.load(entry); }));
  PAWL_TRY(history.log.finish_loading());
  PAWL_TRY_ASSIGN(history.inbox, store.read_inbox_of(row.key));
  PAWL_TRY_ASSIGN(history.tasks, store.read_tasks(row.key));
  PAWL_TRY_ASSIGN(history.compensations, store.read_compensations(row.key));
  return history;
}

std::string history_tree(const History& history, const HistoryOptions& options) {
  return Tree(history, options).print();
}

}  // namespace pawl::view

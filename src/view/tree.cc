#include <algorithm>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "base/moment.h"
#include "view/entry_text.h"
#include "view/history.h"
#include "view/label_counter.h"
#include "view/line.h"
#include "view/links.h"
#include "view/shell_word.h"
#include "view/text.h"

namespace pawl::view {

namespace {

using replay::BranchId;
using replay::CommandKind;
using replay::EntryKind;
using replay::EntryRole;
using replay::Log;
using replay::Record;
using replay::RecordId;

// Lines of deeper branches do not move further to the right.
constexpr std::size_t kIndentLevelsMax = 24;

using Write = std::function<void(std::string_view)>;

// Passes lines on; of more than `lines_max` only the last ones, below the lines that they hang
// under, and the number of the others.
class LastLines {
 public:
  LastLines(std::size_t lines_max, const Write& write) : lines_max_(lines_max), write_(write) {}

  void add(std::size_t depth, std::string line) {
    if (lines_max_ == 0) {
      write_(line);
      return;
    }
    last_.push_back({depth, std::move(line)});
    if (last_.size() > lines_max_) {
      Kept& gone = last_.front();
      above_.resize(std::min(above_.size(), gone.depth));
      above_.push_back(std::move(gone));
      last_.pop_front();
      ++left_out_;
    }
  }

  void finish(std::size_t indent) {
    if (!last_.empty()) {
      above_.resize(std::min(above_.size(), last_.front().depth));
    }
    for (const Kept& line : above_) {
      write_(line.line);
    }
    if (left_out_ > above_.size()) {
      write_(std::string(indent, ' ') + "… " +
             count_text(left_out_ - above_.size(), "line is", "lines are") + " left out\n");
    }
    for (const Kept& line : last_) {
      write_(line.line);
    }
  }

 private:
  struct Kept {
    std::size_t depth = 0;
    std::string line;
  };
  const std::size_t lines_max_;
  const Write& write_;
  std::deque<Kept> last_;
  std::vector<Kept> above_;  // One of each depth, of what was left out.
  std::size_t left_out_ = 0;
};

// A line of the tree. Small: there is one for each command.
struct Item {
  enum class What : std::uint8_t {
    kForgotten,  // Stands for the iterations that a loop has forgotten.
    kIteration,  // `index` is its branch.
    kCommand,    // `index` is its record.
    kRetry,      // `index` is a position in Links::unrecorded_retries().
  };
  BranchId owner = replay::kNoBranch;  // Under which it hangs.
  std::uint32_t index = 0;
  replay::Ordinate head = 0;  // Of the coordinate below the owner.
  What what = What::kCommand;
};

class Tree {
 public:
  Tree(const History& history, const HistoryOptions& options, const Write& write)
      : log_(history.log),
        history_(history),
        options_(options),
        links_(history),
        text_(history.log, options.payload_chars_max),
        write_(write),
        is_over_(store::is_closed(history.row.status)) {
    gather();
  }

  void print();

 private:
  struct Frame {
    BranchId branch;
    std::size_t next;  // Positions in items_.
    std::size_t end;
    std::string prefix;  // Of what hangs under the branch.
    std::string place;   // Of its commands' locations, up to the last coordinate: "{3, ".
  };

  void gather();
  void order_items();
  void print_tree();
  BranchId below_of(const Item& item) const;
  Line item_line(const Item& item, const Frame& frame, const std::string& prefix);
  void print_arrivals();
  void print_hints();

  Line begin(std::optional<std::int64_t> time_ms, const std::string& took,
             const std::string& prefix) const;
  void add_labels(Line& line, const std::string& location, CommandKind kind,
                  const std::string& name, BranchId branch);
  void add_outcome(Line& line, RecordId id);
  void add_open(Line& line, const Record& record);
  void add_open_task(Line& line, const Record& record) const;
  void add_retry(Line& line, const store::Arrival& retry) const;
  void add_compensation(Line& line, RecordId id) const;
  void add_loop(Line& line, const Record& record) const;
  // What is not shown of the iterations that a loop has forgotten; may be empty.
  std::string forgotten_text(BranchId loop) const;
  std::string took(RecordId id) const;
  bool is_open_now(RecordId id) const;
  std::string retried_name() const;
  std::string print(const Line& line) const {
    return line.print(options_.columns_max, options_.in_color) + "\n";
  }
  std::string in_the_past(std::int64_t since_ms) const {
    return duration_text(options_.now_ms - since_ms);
  }
  std::string in(std::int64_t due_ms) const { return duration_text(due_ms - options_.now_ms); }
  // Far ahead, people look at the clock.
  std::string when(std::int64_t due_ms) const {
    constexpr std::int64_t kFarMs = 3'600'000;
    const bool is_far = due_ms - options_.now_ms >= kFarMs;
    return is_far ? in(due_ms) + ", at " + brief_moment(due_ms, options_.zone).substr(0, 16)
                  : in(due_ms);
  }

  const Log& log_;
  const History& history_;
  const HistoryOptions& options_;
  const Links links_;
  const EntryText text_;
  const Write& write_;
  const bool is_over_;

  std::vector<Item> items_;                        // By owner, in order of location.
  std::vector<std::uint32_t> first_item_;          // By branch, and one more.
  std::vector<RecordId> free_;                     // Signals and cancel requests.
  std::vector<replay::Ordinate> first_iteration_;  // Shown, by branch, for loops; 0: none.
  std::vector<replay::Ordinate> last_iteration_;
  RecordId end_ = replay::kNoRecord;
  RecordId child_ = replay::kNoRecord;  // One that was shown.
  std::size_t children_ = 0;
  LabelCounter counter_;
};

// --- What is shown -------------------------------------------------------------------------------

void Tree::gather() {
  first_iteration_.assign(log_.branch_count(), 0);
  last_iteration_.assign(log_.branch_count(), 0);
  std::vector<bool> has_line(log_.branch_count(), false);  // Iterations.
  for (RecordId id = 0; id < log_.size(); ++id) {
    const Record& record = log_[id];
    const EntryRole role = replay::traits(record.kind).role;
    if (role == EntryRole::kEnd) {
      end_ = id;
    } else if (role == EntryRole::kFree) {
      free_.push_back(id);
    }
    const bool is_shown = !record.forgotten || history_.has_forgotten ||
                          record.kind == EntryKind::kCompensationRegistered;
    if (!record.is_command || !is_shown) {
      continue;
    }
    Item item{record.branch, id, record.head, Item::What::kCommand};
    // What outlives its iteration is shown with the loop.
    while (!history_.has_forgotten && log_.branch(item.owner).forgotten) {
      item.head = log_.branch(item.owner).head;
      item.owner = log_.branch(item.owner).parent;
    }
    items_.push_back(item);
    if (const replay::Branch& iteration = log_.branch(item.owner);
        iteration.is_iteration && !has_line[item.owner]) {
      has_line[item.owner] = true;
      items_.push_back({iteration.parent, item.owner, iteration.head, Item::What::kIteration});
      replay::Ordinate& first = first_iteration_[iteration.parent];
      first = first == 0 ? iteration.head : std::min(first, iteration.head);
      replay::Ordinate& last = last_iteration_[iteration.parent];
      last = std::max(last, iteration.head);
    }
  }
  for (BranchId branch = 0; branch < log_.branch_count(); ++branch) {
    if (log_.branch(branch).is_loop && links_.checkpoint(branch) != nullptr &&
        (history_.has_forgotten || !log_.branch(branch).forgotten) &&
        !forgotten_text(branch).empty()) {
      items_.push_back({branch, 0, 0, Item::What::kForgotten});
    }
  }
  const std::vector<UnrecordedRetry>& retries = links_.unrecorded_retries();
  for (std::uint32_t i = 0; i < retries.size() && !is_over_; ++i) {
    if (retries[i].owner != replay::kNoBranch) {
      items_.push_back({retries[i].owner, i, retries[i].head, Item::What::kRetry});
    }
  }
  order_items();
}

void Tree::order_items() {
  first_item_.assign(log_.branch_count() + 1, 0);
  for (const Item& item : items_) {
    ++first_item_[item.owner + 1];
  }
  for (std::size_t branch = 1; branch < first_item_.size(); ++branch) {
    first_item_[branch] += first_item_[branch - 1];
  }
  std::vector<Item> ordered(items_.size());
  std::vector<std::uint32_t> next = first_item_;
  for (const Item& item : items_) {
    ordered[next[item.owner]++] = item;
  }
  items_ = std::move(ordered);
  const auto is_before = [this](const Item& a, const Item& b) {
    if (a.head != b.head) {
      return a.head < b.head;
    }
    if (a.what != b.what) {
      return a.what < b.what;
    }
    if (a.what == Item::What::kCommand) {
      const Record& one = log_[a.index];
      const Record& other = log_[b.index];
      if (one.tail != other.tail && one.branch == other.branch) {
        return log_.coordinate(one) < log_.coordinate(other);
      }
    }
    return a.index < b.index;
  };
  for (std::size_t branch = 0; branch + 1 < first_item_.size(); ++branch) {
    const auto begin = items_.begin() + first_item_[branch];
    const auto end = items_.begin() + first_item_[branch + 1];
    if (!std::is_sorted(begin, end, is_before)) {
      std::sort(begin, end, is_before);
    }
  }
}

// --- Lines ---------------------------------------------------------------------------------------

void Tree::print() {
  write_(history_head(history_, options_));
  if (!items_.empty() || end_ != replay::kNoRecord) {
    Line title;
    title.add_right("at", kAtWidth, Tone::kFaint).add_right("took", kTookWidth, Tone::kFaint);
    write_("\n" + print(title));
  }
  print_tree();
  print_arrivals();
  print_hints();
}

void Tree::print_tree() {
  LastLines lines(options_.lines_max, write_);
  std::vector<Frame> frames;
  const auto enter = [&](BranchId branch, std::string prefix, std::string place) {
    if (first_item_[branch] < first_item_[branch + 1]) {
      frames.push_back({branch, first_item_[branch], first_item_[branch + 1], std::move(prefix),
                        std::move(place)});
    }
  };
  enter(replay::kRootBranch, "", "{");
  while (!frames.empty()) {
    Frame& frame = frames.back();
    if (frame.next == frame.end) {
      counter_.forget(frame.branch);
      frames.pop_back();
      continue;
    }
    const Item& item = items_[frame.next++];
    const bool is_last = frame.next == frame.end;
    const bool is_root = frame.branch == replay::kRootBranch;
    const std::string prefix = is_root ? "" : frame.prefix + (is_last ? "└─ " : "├─ ");
    Line line = item_line(item, frame, prefix);
    lines.add(frames.size() - 1, print(line));
    const BranchId below = below_of(item);
    if (below != replay::kNoBranch) {
      const bool is_deep = frames.size() > kIndentLevelsMax;
      std::string place = frame.place;
      if (item.what == Item::What::kIteration) {
        place += std::to_string(item.head);
      } else {
        log_.coordinate(log_[item.index]).print_to(place);
      }
      enter(below, is_root || is_deep ? frame.prefix : frame.prefix + (is_last ? "   " : "│  "),
            place + ", ");
    }
  }
  if (end_ != replay::kNoRecord) {
    Line line = begin(log_[end_].time_ms, "", "");
    text_.add_end(line, log_[end_]);
    lines.add(0, print(line));
  }
  lines.finish(kAtWidth + kTookWidth + 2);
}

BranchId Tree::below_of(const Item& item) const {
  if (item.what == Item::What::kIteration) {
    return item.index;
  }
  if (item.what != Item::What::kCommand) {
    return replay::kNoBranch;
  }
  const Record& record = log_[item.index];
  return record.kind == EntryKind::kBranchOpened || record.kind == EntryKind::kLoopStarted
             ? log_.opened_branch(record)
             : replay::kNoBranch;
}

Line Tree::begin(std::optional<std::int64_t> time_ms, const std::string& took,
                 const std::string& prefix) const {
  Line line;
  const std::string at = time_ms ? duration_text(*time_ms - history_.row.created_ms) : "";
  line.add_right(at, kAtWidth, Tone::kFaint).add_right(took, kTookWidth, Tone::kFaint);
  line.add("  ").add(prefix, Tone::kFaint);
  return line;
}

Line Tree::item_line(const Item& item, const Frame& frame, const std::string& prefix) {
  switch (item.what) {
    case Item::What::kForgotten:
      return begin(std::nullopt, "", prefix).add(forgotten_text(frame.branch), Tone::kFaint);
    case Item::What::kIteration: {
      Line line = begin(std::nullopt, "", prefix);
      line.add("iteration " + std::to_string(item.head));
      return log_.branch(item.index).forgotten ? line.add(" (forgotten)", Tone::kFaint) : line;
    }
    case Item::What::kRetry: {
      const UnrecordedRetry& retry = links_.unrecorded_retries()[item.index];
      Line line = begin(std::nullopt, "", prefix);
      add_labels(line, retry.location, CommandKind::kOperation, retried_name(), frame.branch);
      line.add(" ");
      add_retry(line, *retry.arrival);
      return line;
    }
    case Item::What::kCommand:
      break;
  }
  const Record& record = log_[item.index];
  Line line = begin(record.time_ms, took(item.index), prefix);
  std::string location;
  if (record.branch == frame.branch) {
    location = frame.place;
    log_.coordinate(record).print_to(location);
    location += "}";
  } else {
    location = log_.location(record).to_string();
  }
  add_labels(line, location, log_.command_kind(record), counted_name(log_, record), record.branch);
  text_.add_notes(line, record);
  add_outcome(line, item.index);
  if (options_.with_sources) {
    text_.add_source(line, record);
  }
  return line;
}

// As replay::Labels::to_string().
void Tree::add_labels(Line& line, const std::string& location, CommandKind kind,
                      const std::string& name, BranchId branch) {
  const LabelCounter::Counted counted = counter_.count(branch, kind, name);
  line.add(location + " " + std::string(replay::label_name(kind)) + "(" +
           std::to_string(counted.of_kind) + ")");
  if (!name.empty()) {
    line.add(" ").add(text_.name(name) + ":" + std::to_string(counted.of_name), Tone::kStrong);
  }
}

// The run's row has the name of what it waits for, if that is all.
std::string Tree::retried_name() const {
  constexpr std::string_view kOperation = "operation ";
  const std::string& waiting_for = history_.row.waiting_for;
  const bool is_alone = links_.unrecorded_retries().size() == 1 &&
                        waiting_for.starts_with(kOperation) &&
                        waiting_for.find(", ") == std::string::npos;
  return is_alone ? waiting_for.substr(kOperation.size()) : "";
}

std::string Tree::forgotten_text(BranchId loop) const {
  const replay::Checkpoint& checkpoint = *links_.checkpoint(loop);
  std::uint64_t last = checkpoint.iteration;
  if (history_.has_forgotten && first_iteration_[loop] > 0) {
    last = std::min(last, first_iteration_[loop] - 1);
  }
  std::string text;
  if (last > 0) {
    text = (last == 1 ? "iteration 1" : "iterations 1 to " + std::to_string(last)) +
           (history_.has_forgotten ? ": no longer kept" : ": forgotten");
  }
  const std::string changes = text_.changes_text(checkpoint);
  if (!changes.empty()) {
    text += (text.empty() ? "" : ", ") + std::string("left state ") + changes;
  }
  return text;
}

void Tree::print_arrivals() {
  std::vector<const store::Arrival*> inbox;
  for (const store::Arrival& arrival : history_.inbox) {
    // What is not due belongs to its command.
    if (arrival.due_ms <= options_.now_ms && arrival.kind != store::kRetryOperation) {
      inbox.push_back(&arrival);
    }
  }
  std::vector<const UnrecordedRetry*> retries;
  for (const UnrecordedRetry& retry : links_.unrecorded_retries()) {
    if (retry.owner == replay::kNoBranch && !is_over_) {
      retries.push_back(&retry);
    }
  }
  if (free_.empty() && inbox.empty() && retries.empty()) {
    return;
  }
  write_("\narrived:\n");
  LastLines lines(options_.lines_max, write_);
  for (const RecordId id : free_) {
    const Record& record = log_[id];
    Line line;
    line.add_right(duration_text(record.time_ms - history_.row.created_ms), kAtWidth, Tone::kFaint);
    line.add("  ");
    text_.add_arrival(line, record);
    if (record.kind == EntryKind::kSignalReceived) {
      const RecordId wait = links_.wait_of(id);
      line.add(wait != replay::kNoRecord     ? ", taken by " + log_.location(log_[wait]).to_string()
               : links_.is_taken_by_loop(id) ? ", taken by a forgotten iteration"
                                             : ", not taken by a wait");
    }
    lines.add(0, print(line));
  }
  for (const store::Arrival* arrival : inbox) {
    const replay::EntryTraits* known = replay::find_traits(static_cast<EntryKind>(arrival->kind));
    Line line;
    line.add_right("inbox", kAtWidth, Tone::kOdd).add("  ");
    line.add(known == nullptr ? "?" : known->event);
    if (!arrival->name.empty()) {
      line.add(" " + text_.name(arrival->name));
    }
    if (arrival->has_payload && arrival->payload != "null") {
      line.add(" = ").add_value(text_.value(arrival->payload));
    }
    lines.add(0, print(line));
  }
  for (const UnrecordedRetry* retry : retries) {
    Line line;
    line.add_right("open", kAtWidth, Tone::kOdd).add("  an operation is not recorded yet, ");
    add_retry(line, *retry->arrival);
    lines.add(0, print(line));
  }
  lines.finish(kAtWidth + 2);
}

void Tree::print_hints() {
  const auto look = [this](std::string_view id, const std::string& options) {
    return options_.look_command + options + (id.starts_with('-') ? " -- " : " ") + shell_word(id);
  };
  Line line;
  if (end_ != replay::kNoRecord && log_[end_].kind == EntryKind::kWorkflowRecurred) {
    line.add("\nnext run: ", Tone::kFaint)
        .add(look(history_.row.id, " --number " + std::to_string(history_.row.number + 1)));
  } else if (child_ != replay::kNoRecord) {
    line.add(children_ == 1 ? "\nits child: " : "\na child of it: ", Tone::kFaint)
        .add(look(log_.name(log_[child_]), ""));
  }
  if (!line.empty()) {
    write_(line.print(0, options_.in_color) + "\n");
  }
}

// --- What came of a command ----------------------------------------------------------------------

void Tree::add_outcome(Line& line, RecordId id) {
  const Record& record = log_[id];
  if (text_.add_immediate(line, id)) {
    return;
  }
  if (record.kind == EntryKind::kLoopStarted) {
    add_loop(line, record);
    return;
  }
  if (record.kind == EntryKind::kCompensationRegistered) {
    add_compensation(line, id);
    return;
  }
  if (record.kind == EntryKind::kChildWorkflowInitiated) {
    // One that goes on is what people want to look at.
    if (child_ == replay::kNoRecord || links_.child(record) != nullptr) {
      child_ = id;
    }
    ++children_;
  }
  if (replay::is_operation_outcome(record.kind)) {  // A whole operation has its outcome itself.
    text_.add_outcome(line, CommandKind::kOperation, record);
  } else if (const RecordId last = links_.completion(id); last != replay::kNoRecord) {
    text_.add_outcome(line, replay::traits(record.kind).command, log_[last]);
  } else {
    line.add(" ");
    add_open(line, record);
  }
}

bool Tree::is_open_now(RecordId id) const {
  const Record& record = log_[id];
  switch (replay::traits(record.kind).command) {
    case CommandKind::kTask:
    case CommandKind::kOperation:
    case CommandKind::kTimer:
    case CommandKind::kPromise:
    case CommandKind::kChildWorkflow:
    case CommandKind::kSignal:
      break;
    default:
      return false;
  }
  return !is_over_ && end_ == replay::kNoRecord && !record.forgotten &&
         !replay::is_operation_outcome(record.kind) && record.kind != EntryKind::kStepRemoved &&
         links_.completion(id) == replay::kNoRecord;
}

void Tree::add_open(Line& line, const Record& record) {
  const store::RunRow* child = links_.child(record);
  if (child != nullptr) {  // It may outlive its parent.
    line.add(text_.name(store::status_text(child->status, child->waiting_for)), Tone::kOdd);
    return;
  }
  if (is_over_ || end_ != replay::kNoRecord || record.forgotten) {
    line.add("left open", Tone::kFaint);
    return;
  }
  switch (replay::traits(record.kind).command) {
    case CommandKind::kTask:
      add_open_task(line, record);
      return;
    case CommandKind::kTimer:
      line.add("waiting", Tone::kOdd)
          .add(", due in " + when(add_ms(record.time_ms, record.number)));
      return;
    case CommandKind::kOperation:
      if (const store::Arrival* retry = links_.retry(record); retry != nullptr) {
        add_retry(line, *retry);
      } else {
        line.add("waiting", Tone::kOdd).add(" for its outcome");
      }
      return;
    default:
      line.add("waiting", Tone::kOdd);
      if (record.number > 0) {
        line.add(", " + when(add_ms(record.time_ms, record.number)) + " more");
      }
      return;
  }
}

void Tree::add_retry(Line& line, const store::Arrival& retry) const {
  line.add("waiting", Tone::kOdd)
      .add(", attempt " + std::to_string(retry.number + 1) + " in " + when(retry.due_ms));
  if (retry.has_payload) {
    line.add(", after ").add_value(text_.failure(retry.payload), Tone::kBad);
  }
}

void Tree::add_open_task(Line& line, const Record& record) const {
  const store::TaskRow* task = links_.task(record);
  line.add("waiting", Tone::kOdd);
  if (task == nullptr) {
    return;
  }
  const std::uint64_t attempts_max = text_.attempts_max(record);
  const auto attempt = [&](std::uint64_t number) {
    return ", attempt " + std::to_string(number) +
           (number > 1 && number <= attempts_max ? " of " + std::to_string(attempts_max) : "");
  };
  switch (task->state) {
    case store::TaskState::kReady:
      line.add(", on queue " + text_.name(task->queue));
      if (task->attempt > 0) {
        line.add(attempt(task->attempt + 1));
      }
      break;
    case store::TaskState::kDelayed:
      line.add(attempt(task->attempt + 1) + " in " + when(task->due_ms));
      break;
    case store::TaskState::kRunning:
      line.add(attempt(task->attempt) + " is running");
      if (task->started_ms > 0) {
        line.add(", for " + in_the_past(task->started_ms));
      }
      break;
  }
  if (task->cancel_requested) {
    line.add(", asked to stop");
  }
  if (!task->details.empty() && task->details != "null") {
    line.add(", last said ").add_value(text_.value(task->details));
  }
  if (!task->last_error.empty()) {
    line.add(", after ").add_value(text_.failure(task->last_error), Tone::kBad);
  }
}

void Tree::add_compensation(Line& line, RecordId id) const {
  const store::CompensationRow* row = links_.compensation(id);
  if (row == nullptr) {
    const store::RunStatus status = history_.row.status;
    line.add(status == store::RunStatus::kCompleted || status == store::RunStatus::kRecurred
                 ? " not needed"
                 : " registered");
    return;
  }
  switch (row->state) {
    case store::CompensationState::kDone:
      line.add(" done", Tone::kGood);
      break;
    case store::CompensationState::kFailed:
      line.add(" failed: ", Tone::kBad).add_value(text_.failure(row->outcome), Tone::kBad);
      break;
    case store::CompensationState::kOpen:
      line.add(" to be run", Tone::kOdd);
      if (row->attempt > 0) {
        line.add(", attempt " + std::to_string(row->attempt + 1) + " in " + when(row->due_ms));
        line.add(", after ").add_value(text_.failure(row->outcome), Tone::kBad);
      }
      return;
  }
  if (row->attempt > 1) {
    line.add(" (" + count_text(row->attempt, "attempt", "attempts") + ")");
  }
}

void Tree::add_loop(Line& line, const Record& record) const {
  const BranchId loop = log_.opened_branch(record);
  const replay::Checkpoint* checkpoint = links_.checkpoint(loop);
  // One that has begun says that those before it are over.
  const replay::Ordinate last = last_iteration_[loop];
  const replay::Ordinate forgotten = checkpoint == nullptr ? 0 : checkpoint->iteration;
  const replay::Ordinate finished = std::max(forgotten, last == 0 ? 0 : last - 1);
  line.add(" " + count_text(finished, "iteration", "iterations") + " finished");
  if (forgotten > 0 && forgotten < finished) {
    line.add(", " + std::to_string(forgotten) + " of them forgotten");
  }
  if (checkpoint != nullptr) {
    text_.add_checkpoint(line, *checkpoint);
    if (forgotten < finished) {
      line.add(" after " + std::to_string(forgotten));
    }
  } else {
    line.add(", state ").add_value(text_.value(record.payload.view()));
    if (finished > 0) {
      line.add(" at the start");
    }
  }
}

// --- Durations -----------------------------------------------------------------------------------

std::string Tree::took(RecordId id) const {
  const Record& record = log_[id];
  if (const std::optional<std::int64_t> began = links_.began_ms(id); began) {
    return "~" + duration_text(record.time_ms - *began);
  }
  if (record.kind == EntryKind::kBranchOpened || record.kind == EntryKind::kLoopStarted) {
    const std::int64_t last_ms = links_.last_ms(log_.opened_branch(record));
    return last_ms == 0 ? "" : "~" + duration_text(last_ms - record.time_ms);
  }
  if (is_open_now(id)) {
    return in_the_past(record.time_ms) + "…";
  }
  const RecordId last = links_.completion(id);
  return last == replay::kNoRecord ? "" : duration_text(log_[last].time_ms - record.time_ms);
}

}  // namespace

std::string history_head(const History& history, const HistoryOptions& options) {
  const store::RunRow& row = history.row;
  const EntryText text(history.log, options.payload_chars_max);
  const bool is_over = store::is_closed(row.status);
  const std::int64_t until_ms = is_over ? row.changed_ms : std::max(options.now_ms, row.created_ms);
  std::string head;
  const auto add = [&](const Line& line) {
    head += line.print(options.columns_max, options.in_color) + "\n";
  };
  Line first;
  first.add(text.name(row.id), Tone::kStrong).add(": " + text.name(row.kind) + ", ");
  first.add(text.name(store::status_text(row.status, row.waiting_for)), tone_of(row.status));
  first.add((is_over ? " after " : ", for ") + duration_text(until_ms - row.created_ms));
  add(first);
  Line second;
  second.add("run " + row.uuid.to_string());
  if (row.number != 1) {
    second.add(", number " + std::to_string(row.number) + " of this id");
  }
  if (history.parent) {
    second.add(", child of " + text.name(history.parent->id));
  }
  add(second);
  add(Line().add("started " + zoned_moment(row.created_ms, options.zone)));
  if (!history.tags.empty()) {
    std::string tags;
    for (const store::Tag& tag : history.tags) {
      tags += (tags.empty() ? "" : ", ") + text.name(tag.name) + "=" + text.name(tag.value);
    }
    add(Line().add("tags ").add_value(tags));
  }
  add(Line().add("input ").add_value(text.value(history.input)));
  return head + reason_text(history.reason, options.in_color);
}

std::string reason_text(std::string_view reason, bool in_color) {
  std::string text;
  while (!reason.empty()) {
    const std::size_t end = reason.find('\n');
    text += "  ";
    paint_to(text, line_text(reason.substr(0, end), kNoLimit), Tone::kBad, in_color);
    text += "\n";
    reason = end == std::string_view::npos ? std::string_view() : reason.substr(end + 1);
  }
  return text;
}

void print_history(const History& history, const HistoryOptions& options,
                   const std::function<void(std::string_view)>& write) {
  Tree(history, options, write).print();
}

std::string history_tree(const History& history, const HistoryOptions& options) {
  std::string text;
  print_history(history, options, [&text](std::string_view lines) { text += lines; });
  return text;
}

}  // namespace pawl::view

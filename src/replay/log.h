// Log: one run's totally ordered record of commands and arrivals, compact in memory, with its
// structure (branches) and the links between commands and what completed them.
// Not thread-safe. Filled by load() once, then extended by append() while the run goes on.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "replay/entry.h"
#include "replay/flat_index.h"
#include "replay/location.h"
#include "replay/text_pool.h"

namespace pawl::replay {

using RecordId = std::uint32_t;
inline constexpr RecordId kNoRecord = 0xffffffffU;

using BranchId = std::uint32_t;
inline constexpr BranchId kRootBranch = 0;
inline constexpr BranchId kNoBranch = 0xffffffffU;

// In Record::future: issued, but nothing can be awaited.
inline constexpr std::uint32_t kIssuedOnly = 0xffffffffU;

// An entry as it is kept. About a hundred bytes, so that a log of millions fits.
struct Record {
  std::uint64_t seq = 0;
  std::int64_t time_ms = 0;
  std::int64_t number =
      0;  // durationMs or timeoutMs. BranchOpened, LoopStarted: the node it opened.
  std::uint64_t input_digest = 0;
  Ordinate head = 0;  // With `tail`: the coordinate of a command in its branch.
  TextRef id;
  TextRef payload;
  BranchId branch = kNoBranch;  // Commands: theirs. LoopCheckpointed: the loop's node.
  std::uint32_t tail = 0;
  NameId name = 0;
  std::uint32_t rare = 0;
  // Command: what completed it. Arrival: its command. LoopCheckpointed: its LoopStarted.
  RecordId link = kNoRecord;
  std::uint32_t future = 0;  // Commands: the future they were issued as; 0: not issued.
  std::uint32_t version = 1;
  EntryKind kind{};
  bool is_command : 1 = false;
  bool has_payload : 1 = false;
  bool id_is_binary : 1 = false;
  bool shares_id : 1 = false;
  bool skipped : 1 = false;    // Passed by removed(); a signal: taken by a forgotten iteration.
  bool forgotten : 1 = false;  // In a finished iteration below a checkpoint.
  bool moved : 1 = false;      // Told to the store to be moved away.
  bool arriving : 1 = false;   // Commands: what completes it waits in the inbox.
};

// A node of the structure: the root, a branch, a loop (its children are its iterations), an
// iteration.
struct Branch {
  Ordinate head = 0;       // With `tail`: its coordinate in the parent.
  Ordinate last_head = 0;  // The highest whole number given away below it.
  BranchId parent = kNoBranch;
  BranchId loop = kNoBranch;    // The nearest loop node at or above this one.
  RecordId opener = kNoRecord;  // BranchOpened or LoopStarted.
  std::uint32_t tail = 0;
  std::uint32_t first_recorded = 0;  // Its commands in Log::recorded().
  std::uint32_t recorded_count = 0;
  bool is_loop : 1 = false;
  bool is_iteration : 1 = false;
  bool has_insertions : 1 = false;  // Commands that are no whole numbers.
  bool forgotten : 1 = false;
};

// True for what stays in the log although its iteration is forgotten: a compensation may still have
// to run, and something outside the loop stays cancelled.
bool survives_forgetting(EntryKind kind);

class Log {
 public:
  Log();
  Log(Log&&) noexcept = default;
  Log& operator=(Log&&) noexcept = default;

  // Makes room for this many entries at once.
  void reserve(std::size_t entries) {
    records_.reserve(entries);
    id_index_.expect(entries / 2);  // Each has an arrival, in the long run.
  }
  // Adds the next entry of a stored log. Names are checked against the invariants; kCorruptLog or
  // kMalformedInput name the entry.
  Result<void> load(const Entry& entry);
  // Ends loading: checks what needs the whole log, and orders the commands of each branch.
  Result<void> finish_loading();

  // Adds a new entry. `branch` and `coordinate` place a command; the rest of `entry` is copied.
  RecordId append_command(const Entry& entry, BranchId branch, const Coordinate& coordinate);
  // Adds a new entry without a place. `link` is the completed command, if any.
  RecordId append_plain(const Entry& entry, RecordId link, BranchId loop = kNoBranch);

  std::size_t size() const { return records_.size(); }
  // Records below this number were loaded.
  RecordId loaded_count() const { return loaded_count_; }
  std::uint64_t last_seq() const { return records_.empty() ? 0 : records_.back().seq; }
  std::int64_t last_time_ms() const { return records_.empty() ? 0 : records_.back().time_ms; }
  const Record& operator[](RecordId id) const { return records_[id]; }
  Record& operator[](RecordId id) { return records_[id]; }

  std::size_t command_count() const { return command_count_; }
  bool has_checkpoints() const { return checkpoint_count_ > 0; }
  // Loaded arrivals for a command that was complete already.
  const std::vector<RecordId>& second_arrivals() const { return second_arrivals_; }
  // The outcome of the workflow function, if the loaded log holds one.
  RecordId end_record() const { return end_record_; }

  // Loaded commands of a branch in order of location, without forgotten ones.
  std::span<const RecordId> recorded(BranchId branch) const;

  const Branch& branch(BranchId id) const { return branches_[id]; }
  std::size_t branch_count() const { return branches_.size(); }
  // The node that a BranchOpened or LoopStarted opened.
  BranchId opened_branch(const Record& record) const {
    return static_cast<BranchId>(record.number);
  }
  // The node below `parent` at this coordinate; kNoBranch if none.
  BranchId child_branch(BranchId parent, const Coordinate& coordinate) const;
  BranchId enter_iteration(BranchId loop, Ordinate iteration);
  // How many iterations of a loop its checkpoints stand for.
  Ordinate covered_iterations(BranchId loop) const;
  void cover(BranchId loop, Ordinate iterations) { loop_spans_[loop].covered = iterations; }
  // True below a covered iteration.
  bool is_covered(BranchId branch) const;
  // The first iteration after `iteration` that has recorded commands; kNoBranch if none.
  BranchId recorded_iteration_after(BranchId loop, Ordinate iteration) const;
  // True also for the ancestor itself.
  bool is_below(BranchId branch, BranchId ancestor) const;
  // The next loop node outside of this one; kNoBranch if none.
  BranchId outer_loop(BranchId loop) const { return branches_[branches_[loop].parent].loop; }

  // Keeps a place for a command whose entry comes later.
  void reserve_place(BranchId branch, const Coordinate& coordinate);
  Ordinate next_whole_number(BranchId branch) const { return branches_[branch].last_head + 1; }

  Coordinate coordinate(const Record& record) const;
  Location location(BranchId branch) const;
  Location location(const Record& record) const;

  std::string id_text(const Record& record) const;
  bool id_equals(const Record& record, std::string_view id) const;
  std::string_view name(const Record& record) const { return pool_.name(record.name); }
  NameId intern(std::string_view name) { return pool_.intern(name); }
  std::string_view name_text(NameId name) const { return pool_.name(name); }
  std::string_view step_key(const Record& record) const;
  bool has_step_key(const Record& record) const { return !step_key(record).empty(); }
  std::string_view source(const Record& record) const;
  std::string_view child_kind(const Record& record) const;
  std::string_view extra(const Record& record) const;
  // What check_version() says where this is the next recorded command.
  std::uint32_t checked_version(const Record& record) const {
    return rare(record).checked != 0 ? rare(record).checked : record.version;
  }
  const Checkpoint* checkpoint(const Record& record) const;
  // The kind of command that a record is; for StepRemoved the kind that was removed.
  CommandKind command_kind(const Record& record) const;

  // The oldest command with this id that is open and has nothing in the inbox, else the last one
  // that had the id; kNoRecord if none had.
  RecordId find_command(CommandKind kind, std::string_view id);
  RecordId find_child_by_name(std::string_view name);
  RecordId find_wait(BranchId branch, const Coordinate& coordinate);
  RecordId find_by_key(BranchId branch, std::string_view key);
  RecordId find_seq(std::uint64_t seq) const;
  // What a cancel request is about; kNoRecord if that is not in the log.
  RecordId cancel_target(RecordId request) const;
  void set_cancel_target(RecordId request, RecordId target) { cancel_targets_[request] = target; }
  // True if an operation was started under this id and is no whole operation.
  bool is_started_operation(std::string_view operation_id);

  // The entry in its outward form. `location_text` and `id_text` back two of its views.
  struct EntryTexts {
    std::string location;
    std::string id;
  };
  Entry entry(RecordId id, EntryTexts& texts) const;

  std::size_t memory_bytes() const;

 private:
  struct Rare {
    TextRef step_key;
    TextRef extra;
    NameId source = 0;
    NameId child_kind = 0;
    CommandKind removed{};
    std::uint32_t checked = 0;
    std::uint32_t checkpoint = 0;  // 1-based position in checkpoints_.
  };

  struct Place {
    BranchId branch = kRootBranch;
    Coordinate coordinate = Coordinate::before_first();
  };

  // The place that a printed location names. Iterations it passes through are made.
  Result<Place> resolve(const Entry& entry);
  Result<void> load_command(const Entry& entry);
  Result<void> load_arrival(const Entry& entry);
  Result<void> load_checkpoint(const Entry& entry);
  Record make_record(const Entry& entry);
  void open_branch(BranchId parent, const Coordinate& coordinate, RecordId opener, bool is_loop);
  BranchId add_branch(Branch branch);
  void index_ids();
  void index_id(RecordId id, std::uint64_t hash);
  Result<void> link_arrival(RecordId id, RecordId command, const std::string& wanted);
  void index_child_name(RecordId id);
  std::uint32_t store_tail(const Coordinate& coordinate);
  int compare_places(const Record& a, const Record& b) const;
  bool is_at(Ordinate head, std::uint32_t tail, const Coordinate& coordinate) const;
  bool is_open(const Record& record) const { return record.link == kNoRecord; }
  // Nothing will complete it any more.
  bool is_done(const Record& record) const { return !is_open(record) || record.forgotten; }
  bool wants_arrival(RecordId id) const { return !is_done(records_[id]) && !records_[id].arriving; }
  RecordId oldest_wanting(std::deque<RecordId>& candidates) const;
  Result<void> check_gaps() const;
  Result<void> mark_forgotten();
  Result<void> order_commands();
  const Rare& rare(const Record& record) const { return rares_[record.rare]; }

  TextPool pool_;
  std::vector<Record> records_;
  std::vector<Branch> branches_;
  std::vector<Rare> rares_;                   // 0: nothing rare.
  std::vector<std::vector<Ordinate>> tails_;  // 0: empty.
  std::vector<RecordId> ordered_;             // Loaded commands by branch and location.
  std::deque<Checkpoint> checkpoints_;
  RecordId indexed_ = 0;  // Records before this one are in id_index_.
  // The oldest commands that go by an id which the core makes and may still be completed: all that
  // stand before searched_, and some that are done since.
  std::vector<RecordId> oldest_open_;
  RecordId searched_ = 0;
  std::size_t started_operations_ = 0;
  std::size_t command_count_ = 0;
  // Of loops, by node.
  struct LoopSpan {
    Ordinate covered = 0;        // Iterations that checkpoints stand for.
    Ordinate last_recorded = 0;  // The last iteration with recorded commands.
  };
  std::map<BranchId, LoopSpan> loop_spans_;
  std::size_t checkpoint_count_ = 0;  // Loaded ones.
  std::size_t lost_openers_ = 0;      // Branches whose opener is not in the log.
  std::vector<RecordId> second_arrivals_;
  std::map<RecordId, RecordId> cancel_targets_;
  FlatIndex branch_index_;
  FlatIndex id_index_;
  FlatIndex child_name_index_;
  FlatIndex wait_index_;
  FlatIndex key_index_;
  // Commands that share an id or a child name, oldest first: rare, so not in the indexes.
  std::map<std::pair<CommandKind, std::string>, std::deque<RecordId>> same_ids_;
  std::map<std::string, std::deque<RecordId>, std::less<>> same_child_names_;
  // The last resolved location up to its last coordinate, and the branch that this part names.
  std::string resolved_prefix_;
  BranchId resolved_branch_ = kNoBranch;
  std::vector<RecordId> before_gaps_;  // Records after which the loaded seq jumps.
  RecordId end_record_ = kNoRecord;
  RecordId loaded_count_ = 0;
};

}  // namespace pawl::replay

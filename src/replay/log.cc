#include "replay/log.h"

#include <algorithm>
#include <array>

#include "base/hash.h"
#include "base/uuid.h"

namespace pawl::replay {

namespace {

// Numbers of records and branches are 32 bits wide, with one value for "none".
constexpr std::size_t kRecordsMax = 0xfffffff0U;
// Behind a command or an entry at one of the limits (this one, kOrdinateMax) there is no room for
// another. A run counts from 1 and never comes near, so only a log made by hand is refused once a
// run has added to it.
constexpr std::uint64_t kSeqMax = std::uint64_t{1} << 62U;
// Few, because all of them are looked at for each arrival; enough for a handful of slow tasks while
// others come and go.
constexpr std::size_t kOldestOpenMax = 8;

std::string describe(const Entry& entry) {
  const EntryTraits* known = find_traits(entry.kind);
  return "entry " + std::to_string(entry.seq) + " (" +
         (known != nullptr ? std::string(known->event) : std::string("unknown kind")) + ")";
}

Error corrupt(const Entry& entry, const std::string& what) {
  return make_error(ErrorCode::kCorruptLog, describe(entry) + ": " + what);
}

std::uint64_t place_hash(BranchId branch, const Coordinate& coordinate) {
  std::uint64_t hash = mix_hash(coordinate.head() * 0x9e3779b97f4a7c15ULL + branch);
  for (const Ordinate ordinate : coordinate.tail()) {
    hash = mix_hash(hash ^ (ordinate + 0x9e3779b97f4a7c15ULL));
  }
  return hash;
}

// Nothing can arrive for a whole operation or a cancel request.
bool can_be_completed(EntryKind kind) {
  return !is_operation_outcome(kind) && !is_cancel_request(kind);
}

// Those for which the oldest open commands are kept at hand. Timers and promises are often left
// open, and would fill the list for good.
bool is_kept_at_hand(CommandKind kind) {
  return kind == CommandKind::kTask || kind == CommandKind::kChildWorkflow ||
         kind == CommandKind::kOperation;
}

// An id in the form in which records keep it: a UUID as its 16 bytes, anything else as it is.
class StoredId {
 public:
  explicit StoredId(std::string_view text) : text_(text), uuid_(Uuid::parse_canonical(text)) {}

  bool is_binary() const { return uuid_.has_value(); }
  std::string_view bytes() const {
    return uuid_ ? std::string_view(reinterpret_cast<const char*>(uuid_->bytes.data()),
                                    uuid_->bytes.size())
                 : text_;
  }
  bool is_of(const Record& record) const {
    return record.id_is_binary == is_binary() && record.id.view() == bytes();
  }

 private:
  std::string_view text_;
  std::optional<Uuid> uuid_;
};

std::uint64_t id_hash(CommandKind kind, std::string_view stored_bytes) {
  return fast_hash(stored_bytes, static_cast<std::uint64_t>(kind) + 1);
}

}  // namespace

Log::Log() {
  rares_.emplace_back();
  tails_.emplace_back();
  branches_.emplace_back();
}

bool survives_forgetting(EntryKind kind) {
  return kind == EntryKind::kCompensationRegistered || is_cancel_request(kind);
}

// --- Loading -----------------------------------------------------------------------------------

Result<void> Log::load(const Entry& entry) {
  PAWL_CHECK(loaded_count_ == 0);
  const EntryTraits* known = find_traits(entry.kind);
  if (known == nullptr) {
    return corrupt(entry, "no such kind of entry");
  }
  if (records_.size() >= kRecordsMax || entry.payload.size() > kPayloadBytesMax ||
      entry.extra.size() > kPayloadBytesMax || entry.name.size() > kNameBytesMax ||
      entry.id.size() > kNameBytesMax || entry.step_key.size() > kNameBytesMax ||
      entry.child_kind.size() > kNameBytesMax || entry.source.size() > kNameBytesMax) {
    return make_error(ErrorCode::kLimitExceeded, describe(entry) + ": larger than a log can hold");
  }
  if (entry.seq == 0 || entry.seq > kSeqMax) {
    return corrupt(entry, entry.seq == 0 ? "seq must be at least 1" : "seq is too large");
  }
  if (static_cast<std::size_t>(entry.removed) >= kCommandKinds ||
      (entry.kind == EntryKind::kStepRemoved && entry.removed == CommandKind::kNone)) {
    return corrupt(entry, "does not say what kind of step was removed");
  }
  if (entry.seq <= last_seq()) {
    return corrupt(entry, entry.seq == last_seq()
                              ? "seq " + std::to_string(entry.seq) + " is there twice"
                              : "seq does not increase: the entry before it has " +
                                    std::to_string(last_seq()));
  }
  if (end_record_ != kNoRecord) {
    return corrupt(entry, "comes after the end of the workflow at seq " +
                              std::to_string(records_[end_record_].seq));
  }
  if (entry.seq != last_seq() + 1) {
    before_gaps_.push_back(records_.empty() ? kNoRecord : static_cast<RecordId>(size() - 1));
  }
  if (entry.version == 0) {
    return corrupt(entry, "version must be at least 1");
  }
  switch (known->role) {
    case EntryRole::kCommand:
      if (known->command == CommandKind::kOperation && entry.kind != EntryKind::kOperationStarted &&
          !entry.id.empty() && started_operations_ > 0) {
        if (is_started_operation(entry.id)) {
          return load_arrival(entry);
        }
      }
      return load_command(entry);
    case EntryRole::kArrival:
      return load_arrival(entry);
    case EntryRole::kFree:
      append_plain(entry, kNoRecord);
      return {};
    case EntryRole::kCheckpoint:
      return load_checkpoint(entry);
    case EntryRole::kEnd:
      end_record_ = append_plain(entry, kNoRecord);
      return {};
  }
  return {};
}

Result<Log::Place> Log::resolve(const Entry& entry) {
  const std::string_view text = entry.location;
  Place place;
  // Most entries stand in the branch of the one before, or below it.
  const std::size_t comma = text.rfind(',');
  const std::string_view prefix = text.substr(0, comma == std::string_view::npos ? 0 : comma + 1);
  const bool is_known = !resolved_prefix_.empty() && prefix.starts_with(resolved_prefix_);
  LocationReader reader =
      is_known ? LocationReader(text, resolved_prefix_.size()) : LocationReader(text);
  if (is_known) {
    place.branch = resolved_branch_;
  }
  bool first = true;
  Coordinate next(0);
  while (true) {
    Result<bool> more = reader.next(next);
    if (!more) {
      return make_error(ErrorCode::kMalformedInput, describe(entry) + ": " + more.error().message);
    }
    if (!*more) {
      break;
    }
    if (!first) {
      BranchId below = child_branch(place.branch, place.coordinate);
      if (below == kNoBranch && branches_[place.branch].is_loop && place.coordinate.is_whole()) {
        // An iteration has no entry of its own: it is there as soon as its loop is.
        below = enter_iteration(place.branch, place.coordinate.head());
      }
      if (below == kNoBranch && survives_forgetting(entry.kind) &&
          branches_[place.branch].loop != kNoBranch) {
        // What opened it is forgotten; finish_loading() checks that.
        Branch gone;
        gone.parent = place.branch;
        gone.head = place.coordinate.head();
        gone.tail = store_tail(place.coordinate);
        below = add_branch(gone);
        ++lost_openers_;
      }
      if (below == kNoBranch) {
        std::vector<Coordinate> path = location(place.branch).coordinates();
        path.push_back(place.coordinate);
        return corrupt(entry, "location " + std::string(text) + " lies below " +
                                  Location(std::move(path)).to_string() +
                                  ", which is no branch or loop opened before it");
      }
      place.branch = below;
    }
    place.coordinate = next;
    first = false;
  }
  if (first) {
    return corrupt(entry, "the root {} is no place for an entry");
  }
  if (prefix.size() != resolved_prefix_.size() || !is_known) {
    resolved_prefix_ = prefix;
    resolved_branch_ = place.branch;
  }
  return place;
}

Result<void> Log::load_command(const Entry& entry) {
  PAWL_TRY_ASSIGN(const Place place, resolve(entry));
  const Branch& branch = branches_[place.branch];
  if (branch.is_loop) {
    return corrupt(entry, "location " + std::string(entry.location) +
                              " is an iteration of a loop, no place for a command");
  }
  if (place.coordinate.is_whole() && place.coordinate.head() <= branch.last_head) {
    // Whole numbers are given away in order of creation, and a log never holds a command without
    // those created before it in the same branch.
    return corrupt(entry, "location " + std::string(entry.location) +
                              " is there twice, or comes after a later sibling of its branch");
  }
  if (!entry.step_key.empty() && find_by_key(place.branch, entry.step_key) != kNoRecord) {
    return corrupt(entry, "step key '" + std::string(entry.step_key) +
                              "' is there twice in branch " + location(place.branch).to_string());
  }
  const RecordId id = append_command(entry, place.branch, place.coordinate);
  if (is_cancel_request(entry.kind)) {
    const RecordId target = find_command(
        entry.kind == EntryKind::kTaskCancelRequested ? CommandKind::kTask : CommandKind::kTimer,
        entry.id);
    if (target != kNoRecord) {
      set_cancel_target(id, target);
    }
  }
  return {};
}

Result<void> Log::load_arrival(const Entry& entry) {
  const CommandKind kind = traits(entry.kind).command;
  if (kind == CommandKind::kSignal) {
    PAWL_TRY_ASSIGN(const Place place, resolve(entry));
    const RecordId wait = find_wait(place.branch, place.coordinate);
    return link_arrival(append_plain(entry, kNoRecord), wait,
                        "signal wait at " + std::string(entry.location));
  }
  if (kind == CommandKind::kChildWorkflow && entry.id.empty()) {
    const RecordId child = find_child_by_name(entry.name);
    return link_arrival(append_plain(entry, kNoRecord), child,
                        "child named '" + std::string(entry.name) + "'");
  }
  const RecordId command = find_command(kind, entry.id);
  return link_arrival(append_plain(entry, kNoRecord), command,
                      command == kNoRecord ? std::string(step_name(kind)) + " with id '" +
                                                 std::string(entry.id) + "'"
                                           : std::string());
}

Result<void> Log::link_arrival(RecordId id, RecordId command, const std::string& wanted) {
  if (command == kNoRecord) {
    return make_error(ErrorCode::kCorruptLog, "entry " + std::to_string(records_[id].seq) + " (" +
                                                  std::string(traits(records_[id].kind).event) +
                                                  "): no " + wanted + " was opened before it");
  }
  records_[id].link = command;
  if (is_open(records_[command])) {
    records_[command].link = id;
  } else {
    second_arrivals_.push_back(id);
  }
  return {};
}

Result<void> Log::load_checkpoint(const Entry& entry) {
  if (entry.checkpoint == nullptr) {
    return corrupt(entry, "holds no checkpoint");
  }
  PAWL_TRY_ASSIGN(const Place place, resolve(entry));
  const BranchId loop = child_branch(place.branch, place.coordinate);
  if (loop == kNoBranch || !branches_[loop].is_loop) {
    return corrupt(entry, "no loop was started at " + std::string(entry.location) + " before it");
  }
  append_plain(entry, branches_[loop].opener, loop);
  ++checkpoint_count_;
  return {};
}

Result<void> Log::finish_loading() {
  loaded_count_ = static_cast<RecordId>(records_.size());
  PAWL_TRY(check_gaps());
  PAWL_TRY(mark_forgotten());
  return order_commands();
}

Result<void> Log::check_gaps() const {
  if (before_gaps_.empty()) {
    return {};
  }
  // A checkpoint explains gaps between the start of its loop and itself.
  struct Span {
    RecordId first;
    RecordId last;
  };
  std::vector<Span> spans;
  for (RecordId id = 0; id < loaded_count_; ++id) {
    if (records_[id].kind == EntryKind::kLoopCheckpointed) {
      spans.push_back({branches_[records_[id].branch].opener, id});
    }
  }
  std::sort(spans.begin(), spans.end(),
            [](const Span& a, const Span& b) { return a.first < b.first; });
  std::size_t used = 0;
  RecordId reach = 0;
  bool any = false;
  for (const RecordId before : before_gaps_) {
    while (before != kNoRecord && used < spans.size() && spans[used].first <= before) {
      reach = any ? std::max(reach, spans[used].last) : spans[used].last;
      any = true;
      ++used;
    }
    if (before == kNoRecord || !any || reach <= before) {
      const RecordId after = before == kNoRecord ? 0 : before + 1;
      const std::uint64_t expected = before == kNoRecord ? 1 : records_[before].seq + 1;
      return make_error(ErrorCode::kCorruptLog,
                        "entry " + std::to_string(records_[after].seq) + " (" +
                            std::string(traits(records_[after].kind).event) + "): seq " +
                            std::to_string(expected) +
                            " is missing before it, and no loop has forgotten it");
    }
  }
  return {};
}

Result<void> Log::mark_forgotten() {
  if (checkpoint_count_ == 0 && lost_openers_ == 0) {
    return {};
  }
  for (RecordId id = 0; id < loaded_count_; ++id) {
    const Record& record = records_[id];
    if (record.kind != EntryKind::kLoopCheckpointed) {
      continue;
    }
    Ordinate& covered = loop_spans_[record.branch].covered;
    const std::uint64_t iteration = checkpoint(record)->iteration;
    if (iteration < covered) {
      return make_error(ErrorCode::kCorruptLog,
                        "entry " + std::to_string(record.seq) + " (LoopCheckpointed): iteration " +
                            std::to_string(iteration) + " is before that of the last checkpoint, " +
                            std::to_string(covered));
    }
    covered = iteration;
  }
  for (BranchId id = 1; id < branches_.size(); ++id) {
    Branch& branch = branches_[id];  // Parents come before their children.
    const Branch& parent = branches_[branch.parent];
    branch.forgotten = parent.forgotten ||
                       (branch.is_iteration && branch.head <= covered_iterations(branch.parent));
  }
  for (Record& record : records_) {
    if (record.is_command || record.kind == EntryKind::kLoopCheckpointed) {
      record.forgotten = branches_[record.branch].forgotten;
    } else if (record.link != kNoRecord) {
      record.forgotten = records_[record.link].forgotten;
    }
    if (record.is_command && !record.forgotten && record.branch != kRootBranch &&
        branches_[record.branch].opener == kNoRecord) {
      return make_error(ErrorCode::kCorruptLog,
                        "entry " + std::to_string(record.seq) + " (" +
                            std::string(traits(record.kind).event) + "): location " +
                            location(record).to_string() +
                            " lies below what is no branch or loop opened before it");
    }
  }
  return {};
}

Result<void> Log::order_commands() {
  std::uint32_t total = 0;
  for (const Record& record : records_) {
    if (record.is_command && !record.forgotten) {
      ++branches_[record.branch].recorded_count;
    }
  }
  for (Branch& branch : branches_) {
    if (branch.is_iteration && branch.recorded_count > 0) {
      Ordinate& last = loop_spans_[branch.parent].last_recorded;
      last = std::max(last, branch.head);
    }
    branch.first_recorded = total;
    total += branch.recorded_count;
    branch.recorded_count = 0;
  }
  ordered_.resize(total);
  for (RecordId id = 0; id < loaded_count_; ++id) {
    const Record& record = records_[id];
    if (record.is_command && !record.forgotten) {
      Branch& branch = branches_[record.branch];
      ordered_[branch.first_recorded + branch.recorded_count] = id;
      ++branch.recorded_count;
    }
  }
  for (const Branch& branch : branches_) {
    if (!branch.has_insertions) {
      continue;  // Whole numbers came in order: load_command() saw to that.
    }
    const auto begin = ordered_.begin() + branch.first_recorded;
    const auto end = begin + branch.recorded_count;
    const auto before = [this](RecordId a, RecordId b) {
      return compare_places(records_[a], records_[b]) < 0;
    };
    std::sort(begin, end, before);
    for (auto next = begin; next != end && next + 1 != end; ++next) {
      if (compare_places(records_[*next], records_[*(next + 1)]) == 0) {
        const Record& later = records_[std::max(*next, *(next + 1))];
        return make_error(ErrorCode::kCorruptLog, "entry " + std::to_string(later.seq) + " (" +
                                                      std::string(traits(later.kind).event) +
                                                      "): location " + location(later).to_string() +
                                                      " is there twice");
      }
    }
  }
  return {};
}

std::span<const RecordId> Log::recorded(BranchId branch) const {
  const Branch& node = branches_[branch];
  return std::span(ordered_).subspan(node.first_recorded, node.recorded_count);
}

// --- Appending ---------------------------------------------------------------------------------

Record Log::make_record(const Entry& entry) {
  Record record;
  record.seq = entry.seq;
  record.time_ms = entry.time_ms;
  record.number = entry.number;
  record.input_digest = entry.input_digest;
  record.kind = entry.kind;
  record.version = entry.version;
  record.name = pool_.intern(entry.name);
  record.has_payload = entry.has_payload;
  record.payload = pool_.add(entry.payload);
  if (!entry.step_key.empty() || !entry.extra.empty() || !entry.source.empty() ||
      !entry.child_kind.empty() || entry.removed != CommandKind::kNone || entry.checked != 0 ||
      entry.checkpoint != nullptr) {
    Rare rare;
    rare.step_key = pool_.add(entry.step_key);
    rare.extra = pool_.add(entry.extra);
    rare.source = pool_.intern(entry.source);
    rare.child_kind = pool_.intern(entry.child_kind);
    rare.removed = entry.removed;
    rare.checked = entry.checked;
    if (entry.checkpoint != nullptr) {
      checkpoints_.push_back(*entry.checkpoint);
      rare.checkpoint = static_cast<std::uint32_t>(checkpoints_.size());
    }
    record.rare = static_cast<std::uint32_t>(rares_.size());
    rares_.push_back(rare);
  }
  return record;
}

RecordId Log::append_command(const Entry& entry, BranchId branch, const Coordinate& coordinate) {
  const auto id = static_cast<RecordId>(records_.size());
  Record record = make_record(entry);
  record.is_command = true;
  record.branch = branch;
  record.head = coordinate.head();
  record.tail = store_tail(coordinate);
  if (!entry.id.empty()) {
    const StoredId stored(entry.id);
    record.id = pool_.add(stored.bytes());
    record.id_is_binary = stored.is_binary();
  }
  records_.push_back(record);
  ++command_count_;
  branches_[branch].has_insertions |= !coordinate.is_whole();
  reserve_place(branch, coordinate);
  switch (entry.kind) {
    case EntryKind::kChildWorkflowInitiated:
      index_child_name(id);
      break;
    case EntryKind::kOperationStarted:
      ++started_operations_;
      break;
    case EntryKind::kSignalAwaited:
      wait_index_.insert(place_hash(branch, coordinate), id);
      break;
    case EntryKind::kBranchOpened:
      open_branch(branch, coordinate, id, false);
      break;
    case EntryKind::kLoopStarted:
      open_branch(branch, coordinate, id, true);
      break;
    default:
      break;
  }
  if (!entry.step_key.empty()) {
    key_index_.insert(fast_hash(entry.step_key, branch), id);
  }
  return id;
}

RecordId Log::append_plain(const Entry& entry, RecordId link, BranchId loop) {
  const auto id = static_cast<RecordId>(records_.size());
  Record record = make_record(entry);
  record.link = link;
  record.branch = loop;
  if (link != kNoRecord && loop == kNoBranch && is_open(records_[link])) {
    records_[link].link = id;
  }
  records_.push_back(record);
  return id;
}

std::uint32_t Log::store_tail(const Coordinate& coordinate) {
  if (coordinate.is_whole()) {
    return 0;
  }
  tails_.push_back(coordinate.tail());
  return static_cast<std::uint32_t>(tails_.size() - 1);
}

// Most arrivals are found without an index, so it is made when the first one is not.
void Log::index_ids() {
  constexpr std::size_t kAhead = 16;
  std::array<std::pair<RecordId, std::uint64_t>, kAhead> batch;
  while (indexed_ < records_.size()) {
    // The places of a batch in the index are fetched before the first one is needed.
    std::size_t count = 0;
    while (indexed_ < records_.size() && count < kAhead) {
      const Record& record = records_[indexed_];
      if (record.is_command && !record.id.empty() && can_be_completed(record.kind)) {
        const std::uint64_t hash = id_hash(traits(record.kind).command, record.id.view());
        id_index_.prefetch(hash);
        batch[count++] = {indexed_, hash};
      }
      ++indexed_;
    }
    for (std::size_t i = 0; i < count; ++i) {
      index_id(batch[i].first, batch[i].second);
    }
  }
}

void Log::index_id(RecordId id, std::uint64_t hash) {
  const Record& record = records_[id];
  const CommandKind kind = traits(record.kind).command;
  const std::uint32_t* same = id_index_.find(hash, [&](std::uint32_t other) {
    return traits(records_[other].kind).command == kind &&
           records_[other].id_is_binary == record.id_is_binary &&
           records_[other].id.view() == record.id.view();
  });
  if (same == nullptr) {
    id_index_.insert(hash, id);
    return;
  }
  records_[*same].shares_id = true;
  std::deque<RecordId>& all = same_ids_[{kind, id_text(record)}];
  if (all.empty()) {
    all.push_back(*same);
  }
  all.push_back(id);
}

void Log::index_child_name(RecordId id) {
  const NameId name = records_[id].name;
  const std::uint64_t hash = mix_hash(name);
  const std::uint32_t* same = child_name_index_.find(
      hash, [&](std::uint32_t other) { return records_[other].name == name; });
  if (same == nullptr) {
    child_name_index_.insert(hash, id);
    return;
  }
  std::deque<RecordId>& all = same_child_names_[std::string(pool_.name(name))];
  if (all.empty()) {
    all.push_back(*same);
  }
  all.push_back(id);
}

// --- Structure ---------------------------------------------------------------------------------

void Log::open_branch(BranchId parent, const Coordinate& coordinate, RecordId opener,
                      bool is_loop) {
  Branch branch;
  branch.parent = parent;
  branch.head = coordinate.head();
  branch.tail = records_[opener].tail;
  branch.opener = opener;
  branch.is_loop = is_loop;
  records_[opener].number = add_branch(branch);
}

BranchId Log::add_branch(Branch branch) {
  const auto id = static_cast<BranchId>(branches_.size());
  branch.loop = branch.is_loop ? id : branches_[branch.parent].loop;
  branches_.push_back(branch);
  branch_index_.insert(place_hash(branch.parent, Coordinate(branch.head, tails_[branch.tail])), id);
  return id;
}

BranchId Log::child_branch(BranchId parent, const Coordinate& coordinate) const {
  const std::uint32_t* found =
      const_cast<FlatIndex&>(branch_index_)
          .find(place_hash(parent, coordinate), [&](std::uint32_t id) {
            return branches_[id].parent == parent &&
                   is_at(branches_[id].head, branches_[id].tail, coordinate);
          });
  return found == nullptr ? kNoBranch : *found;
}

BranchId Log::enter_iteration(BranchId loop, Ordinate iteration) {
  const BranchId known = child_branch(loop, Coordinate(iteration));
  if (known != kNoBranch) {
    return known;
  }
  Branch branch;
  branch.parent = loop;
  branch.head = iteration;
  branch.opener = branches_[loop].opener;
  branch.is_iteration = true;
  return add_branch(branch);
}

Ordinate Log::covered_iterations(BranchId loop) const {
  const auto span = loop_spans_.find(loop);
  return span == loop_spans_.end() ? 0 : span->second.covered;
}

bool Log::is_covered(BranchId branch) const {
  for (; branch != kRootBranch; branch = branches_[branch].parent) {
    const Branch& node = branches_[branch];
    if (node.is_iteration && node.head <= covered_iterations(node.parent)) {
      return true;
    }
  }
  return false;
}

BranchId Log::recorded_iteration_after(BranchId loop, Ordinate iteration) const {
  const auto span = loop_spans_.find(loop);
  if (span == loop_spans_.end() || span->second.last_recorded <= iteration) {
    return kNoBranch;
  }
  BranchId first = kNoBranch;
  for (BranchId id = loop + 1; id < branches_.size(); ++id) {
    const Branch& branch = branches_[id];
    if (branch.parent == loop && branch.head > iteration && branch.recorded_count > 0 &&
        (first == kNoBranch || branch.head < branches_[first].head)) {
      first = id;
    }
  }
  return first;
}

bool Log::is_below(BranchId branch, BranchId ancestor) const {
  while (branch != kNoBranch && branch != ancestor) {
    branch = branches_[branch].parent;
  }
  return branch == ancestor;
}

void Log::reserve_place(BranchId branch, const Coordinate& coordinate) {
  branches_[branch].last_head = std::max(branches_[branch].last_head, coordinate.head());
}

bool Log::is_at(Ordinate head, std::uint32_t tail, const Coordinate& coordinate) const {
  return head == coordinate.head() && tails_[tail] == coordinate.tail();
}

int Log::compare_places(const Record& a, const Record& b) const {
  if (a.head != b.head) {
    return a.head < b.head ? -1 : 1;
  }
  if (a.tail == b.tail) {
    return 0;
  }
  const auto order = tails_[a.tail] <=> tails_[b.tail];
  return order < 0 ? -1 : (order > 0 ? 1 : 0);
}

Coordinate Log::coordinate(const Record& record) const {
  return {record.head, tails_[record.tail]};
}

Location Log::location(BranchId branch) const {
  std::vector<Coordinate> path;
  for (BranchId id = branch; id != kRootBranch; id = branches_[id].parent) {
    path.emplace_back(branches_[id].head, tails_[branches_[id].tail]);
  }
  std::reverse(path.begin(), path.end());
  return Location(std::move(path));
}

Location Log::location(const Record& record) const {
  std::vector<Coordinate> path = location(record.branch).coordinates();
  if (record.is_command) {
    path.push_back(coordinate(record));
  }
  return Location(std::move(path));
}

// --- Fields ------------------------------------------------------------------------------------

std::string Log::id_text(const Record& record) const {
  const std::string_view stored = record.id.view();
  if (!record.id_is_binary) {
    return std::string(stored);
  }
  Uuid uuid;
  std::copy(stored.begin(), stored.end(), uuid.bytes.begin());
  return uuid.to_string();
}

bool Log::id_equals(const Record& record, std::string_view id) const {
  return StoredId(id).is_of(record);
}

std::string_view Log::step_key(const Record& record) const { return rare(record).step_key.view(); }
std::string_view Log::source(const Record& record) const { return pool_.name(rare(record).source); }
std::string_view Log::child_kind(const Record& record) const {
  return pool_.name(rare(record).child_kind);
}
std::string_view Log::extra(const Record& record) const { return rare(record).extra.view(); }

const Checkpoint* Log::checkpoint(const Record& record) const {
  const std::uint32_t position = rare(record).checkpoint;
  return position == 0 ? nullptr : &checkpoints_[position - 1];
}

CommandKind Log::command_kind(const Record& record) const {
  return record.kind == EntryKind::kStepRemoved ? rare(record).removed
                                                : traits(record.kind).command;
}

// --- Finding -----------------------------------------------------------------------------------

RecordId Log::oldest_wanting(std::deque<RecordId>& candidates) const {
  while (candidates.size() > 1 && is_done(records_[candidates.front()])) {
    candidates.pop_front();
  }
  for (const RecordId id : candidates) {
    if (wants_arrival(id)) {
      return id;
    }
  }
  return candidates.back();
}

RecordId Log::cancel_target(RecordId request) const {
  const auto found = cancel_targets_.find(request);
  return found == cancel_targets_.end() ? kNoRecord : found->second;
}

RecordId Log::find_command(CommandKind kind, std::string_view id) {
  const StoredId stored(id);
  const auto is_meant = [&](RecordId other) {
    return stored.is_of(records_[other]) && traits(records_[other].kind).command == kind;
  };
  if (is_kept_at_hand(kind)) {
    // Most arrivals are for one of the oldest open commands. The first of these with the id is the
    // oldest of all with it.
    std::erase_if(oldest_open_, [this](RecordId other) { return is_done(records_[other]); });
    for (const RecordId other : oldest_open_) {
      if (!records_[other].arriving && is_meant(other)) {
        return other;
      }
    }
    while (oldest_open_.size() < kOldestOpenMax && searched_ < records_.size()) {
      const RecordId other = searched_++;
      const Record& record = records_[other];
      if (!record.is_command || is_done(record) || record.id.empty() ||
          !can_be_completed(record.kind) || !is_kept_at_hand(traits(record.kind).command)) {
        continue;
      }
      oldest_open_.push_back(other);
      if (!record.arriving && is_meant(other)) {
        return other;
      }
    }
  }
  index_ids();
  const std::uint32_t* found = id_index_.find(id_hash(kind, stored.bytes()), is_meant);
  if (found == nullptr) {
    return kNoRecord;
  }
  if (!records_[*found].shares_id) {
    return *found;
  }
  return oldest_wanting(same_ids_[{kind, std::string(id)}]);
}

RecordId Log::find_child_by_name(std::string_view name) {
  const NameId wanted = pool_.intern(name);
  const std::uint32_t* found = child_name_index_.find(
      mix_hash(wanted), [&](std::uint32_t other) { return records_[other].name == wanted; });
  if (found == nullptr) {
    return kNoRecord;
  }
  const auto shared = same_child_names_.find(name);
  if (shared == same_child_names_.end()) {
    return *found;
  }
  return oldest_wanting(shared->second);
}

RecordId Log::find_wait(BranchId branch, const Coordinate& coordinate) {
  const std::uint32_t* found =
      wait_index_.find(place_hash(branch, coordinate), [&](std::uint32_t id) {
        return records_[id].branch == branch &&
               is_at(records_[id].head, records_[id].tail, coordinate);
      });
  return found == nullptr ? kNoRecord : *found;
}

RecordId Log::find_seq(std::uint64_t seq) const {
  const auto found = std::lower_bound(
      records_.begin(), records_.end(), seq,
      [](const Record& record, std::uint64_t wanted) { return record.seq < wanted; });
  return found == records_.end() || found->seq != seq
             ? kNoRecord
             : static_cast<RecordId>(found - records_.begin());
}

RecordId Log::find_by_key(BranchId branch, std::string_view key) {
  const std::uint32_t* found = key_index_.find(fast_hash(key, branch), [&](std::uint32_t id) {
    return records_[id].branch == branch && step_key(records_[id]) == key;
  });
  return found == nullptr ? kNoRecord : *found;
}

bool Log::is_started_operation(std::string_view operation_id) {
  if (started_operations_ == 0) {
    return false;
  }
  const RecordId found = find_command(CommandKind::kOperation, operation_id);
  return found != kNoRecord && records_[found].kind == EntryKind::kOperationStarted;
}

// --- Outward form ------------------------------------------------------------------------------

Entry Log::entry(RecordId id, EntryTexts& texts) const {
  const Record& record = records_[id];
  Entry entry;
  entry.kind = record.kind;
  entry.seq = record.seq;
  entry.time_ms = record.time_ms;
  entry.version = record.version;
  entry.name = name(record);
  entry.child_kind = child_kind(record);
  entry.removed = rare(record).removed;
  entry.checked = rare(record).checked;
  entry.step_key = step_key(record);
  entry.source = source(record);
  entry.has_payload = record.has_payload;
  entry.payload = record.payload.view();
  const bool opens_branch =
      record.kind == EntryKind::kBranchOpened || record.kind == EntryKind::kLoopStarted;
  entry.number = opens_branch ? 0 : record.number;
  entry.input_digest = record.input_digest;
  entry.extra = extra(record);
  entry.checkpoint = checkpoint(record);
  texts = {};
  if (record.is_command) {
    texts.location = location(record).to_string();
    texts.id = id_text(record);
  } else if (record.kind == EntryKind::kLoopCheckpointed) {
    texts.location = location(record.branch).to_string();
  } else if (traits(record.kind).role != EntryRole::kFree && record.link != kNoRecord) {
    const Record& command = records_[record.link];
    if (record.kind == EntryKind::kSignalTimedOut) {
      texts.location = location(command).to_string();
    }
    texts.id = id_text(command);
    entry.name = name(command);
  }
  entry.location = texts.location;
  entry.id = texts.id;
  return entry;
}

std::size_t Log::memory_bytes() const {
  std::size_t bytes = pool_.memory_bytes() + records_.capacity() * sizeof(Record) +
                      branches_.capacity() * sizeof(Branch) + rares_.capacity() * sizeof(Rare) +
                      tails_.capacity() * sizeof(std::vector<Ordinate>) +
                      ordered_.capacity() * sizeof(RecordId) + branch_index_.memory_bytes() +
                      id_index_.memory_bytes() + child_name_index_.memory_bytes() +
                      wait_index_.memory_bytes() + key_index_.memory_bytes();
  for (const std::vector<Ordinate>& tail : tails_) {
    bytes += tail.capacity() * sizeof(Ordinate);
  }
  return bytes;
}

}  // namespace pawl::replay

#include "moving/copy.h"

#include <charconv>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "portable/run_document.h"

namespace pawl::moving {

namespace {

using replay::Entry;
using store::RunKey;

constexpr int kPageRuns = 500;
// Of one transaction. A log that is larger is copied by several.
constexpr std::size_t kBatchRuns = 250;
constexpr std::size_t kBatchBytes = std::size_t{4} << 20U;
constexpr std::size_t kEntryBytes = 200;  // Besides its texts, about.
constexpr std::size_t kParentsKept = 1000;

std::int64_t as_integer(const std::string& text) {
  std::int64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

std::size_t bytes_of(const Entry& entry) {
  std::size_t bytes = kEntryBytes + entry.payload.size() + entry.extra.size() + entry.name.size();
  if (entry.checkpoint != nullptr) {
    bytes += entry.checkpoint->state.size() + entry.checkpoint->result.size();
    for (const replay::StateChange& change : entry.checkpoint->changes) {
      bytes += change.key.size() + change.value.value_or("").size();
    }
  }
  return bytes;
}

// As much of a log as goes into one transaction.
struct Part {
  std::vector<Entry> entries;
  std::vector<store::MovedAway> moved_away;
  std::unique_ptr<portable::EntryKeeper> keeper = std::make_unique<portable::EntryKeeper>();
  std::size_t bytes = 0;
  bool is_last = false;
};

// A log in parts: first what is in it, then what loops have moved away.
class LogParts {
 public:
  LogParts(store::Store& store, RunKey run, bool has_moved_away)
      : store_(store), run_(run), has_moved_away_(has_moved_away) {}

  // What lies before these seqs is there.
  void skip(std::uint64_t next_seq, std::uint64_t next_moved_seq) {
    next_seq_ = next_seq;
    next_moved_seq_ = next_moved_seq;
  }

  Result<Part> next() {
    Part part;
    if (!is_log_read_) {
      PAWL_TRY_ASSIGN(is_log_read_, read(part, next_seq_, [&](const auto& visit) {
                        return store_.read_log(run_, next_seq_, visit);
                      }));
    }
    if (!is_log_read_) {
      return part;
    }
    part.is_last = true;
    if (has_moved_away_) {
      PAWL_TRY(read_places());
      const std::size_t before = part.entries.size();
      PAWL_TRY_ASSIGN(part.is_last, read(part, next_moved_seq_, [&](const auto& visit) {
                        return store_.read_forgotten(run_, visit);
                      }));
      add_places(part, before);
    }
    return part;
  }

 private:
  using Visit = std::function<Result<void>(const Entry&)>;

  // Whether that was all.
  template <class Read>
  Result<bool> read(Part& part, std::uint64_t& next_seq, const Read& read_from) {
    bool is_full = false;
    const Result<void> done = read_from(Visit([&](const Entry& entry) -> Result<void> {
      if (entry.seq < next_seq) {
        return {};
      }
      if (part.bytes > kBatchBytes) {
        is_full = true;  // Only ends the read.
        return make_error(ErrorCode::kLimitExceeded, "");
      }
      part.bytes += bytes_of(entry);
      part.entries.push_back(part.keeper->keep(entry));
      next_seq = entry.seq + 1;
      return {};
    }));
    if (!done && !is_full) {
      return done.error();
    }
    return !is_full;
  }

  Result<void> read_places() {
    if (has_places_) {
      return {};
    }
    has_places_ = true;
    PAWL_TRY_ASSIGN(const store::Database::Rows rows,
                    store_.catalog().query("SELECT f.seq, f.iteration, f.loop FROM "
                                           "{schema}pawl_forgotten AS f WHERE f.ns = {ns} AND "
                                           "f.run = " +
                                           std::to_string(run_)));
    for (const std::vector<std::string>& row : rows) {
      places_[static_cast<std::uint64_t>(as_integer(row[0]))] = {row[2], as_integer(row[1])};
    }
    return {};
  }

  void add_places(Part& part, std::size_t first) const {
    std::map<std::pair<std::string, std::int64_t>, std::vector<std::uint64_t>> groups;
    for (std::size_t i = first; i < part.entries.size(); ++i) {
      const std::uint64_t seq = part.entries[i].seq;
      groups[places_.at(seq)].push_back(seq);
    }
    for (auto& [place, seqs] : groups) {
      part.moved_away.push_back({place.first, place.second, std::move(seqs)});
    }
  }

  store::Store& store_;
  const RunKey run_;
  const bool has_moved_away_;
  bool is_log_read_ = false;
  bool has_places_ = false;
  std::uint64_t next_seq_ = 0;
  std::uint64_t next_moved_seq_ = 0;
  std::map<std::uint64_t, std::pair<std::string, std::int64_t>> places_;  // Loop and iteration.
};

class Copy {
 public:
  Copy(store::MovableStore& from, store::MovableStore& to, std::string_view seal,
       const std::function<void(const Copied&)>& tell)
      : from_(from), to_(to), seal_(seal), tell_(tell) {}

  Result<Copied> run() {
    RunKey after = -store::kNever;
    while (true) {
      PAWL_TRY_ASSIGN(const std::vector<Head> heads, read_heads(after));
      for (const Head& head : heads) {
        PAWL_TRY(copy(head));
        ++copied_.runs;
        tell_(copied_);
      }
      if (heads.size() < kPageRuns) {
        break;
      }
      after = heads.back().key;
    }
    PAWL_TRY(flush());
    PAWL_TRY(link_children());
    return copied_;
  }

 private:
  struct Head {
    RunKey key = 0;
    bool has_moved_away = false;
  };

  Result<std::vector<Head>> read_heads(RunKey after) {
    PAWL_TRY_ASSIGN(
        const store::Database::Rows rows,
        from_.catalog().query(
            "SELECT r.key, CASE WHEN EXISTS (SELECT 1 FROM {schema}pawl_forgotten AS f WHERE "
            "f.ns = r.ns AND f.run = r.key) THEN 1 ELSE 0 END FROM {schema}pawl_run AS r WHERE "
            "{by_key}r.ns = {ns} AND r.key > " +
            std::to_string(after) + " ORDER BY r.key LIMIT " + std::to_string(kPageRuns)));
    std::vector<Head> heads;
    for (const std::vector<std::string>& row : rows) {
      heads.push_back({as_integer(row[0]), row[1] == "1"});
    }
    return heads;
  }

  Result<void> copy(const Head& head) {
    PAWL_TRY_ASSIGN(store::RunImage image, from_.catalog().read_image(head.key));
    LogParts log(from_, head.key, head.has_moved_away);
    if (may_be_there_) {
      PAWL_TRY_ASSIGN(const std::optional<store::RunRow> there,
                      to_.find_run(image.row.id, image.row.number));
      if (there.has_value()) {
        ++copied_.found;
        return complete(image.row, *there, log);
      }
      may_be_there_ = false;  // They are copied in this order.
    }
    store::CarryRun& run = batch_.emplace_back();
    run.image = std::move(image);
    if (run.image.row.status == store::RunStatus::kRecurred) {
      run.image.dedupe.clear();  // They go with the run that this one recurred to.
    }
    PAWL_TRY_ASSIGN(Part part, log.next());
    const bool is_all = part.is_last;
    bytes_ += part.bytes + run.image.input.size() + kEntryBytes;
    copied_.entries += static_cast<std::int64_t>(part.entries.size());
    run.entries = std::move(part.entries);
    run.moved_away = std::move(part.moved_away);
    keepers_.push_back(std::move(part.keeper));
    if (!is_all) {
      PAWL_TRY_ASSIGN(const RunKey key, flush());
      return append_rest(key, log);
    }
    if (bytes_ >= kBatchBytes || batch_.size() >= kBatchRuns) {
      PAWL_TRY(flush());
    }
    return {};
  }

  // A run of which some parts of the log may be missing.
  Result<void> complete(const store::RunRow& run, const store::RunRow& there, LogParts& log) {
    if (there.uuid != run.uuid) {
      return make_error(ErrorCode::kInvalidState, "the target has another run '" + run.id +
                                                      "' with the number " +
                                                      std::to_string(run.number));
    }
    std::uint64_t last = 0;
    PAWL_TRY(to_.read_last(there.key, [&](const Entry& entry) -> Result<void> {
      last = entry.seq;
      return {};
    }));
    PAWL_TRY_ASSIGN(
        const store::Database::Rows moved,
        to_.catalog().query("SELECT coalesce(max(f.seq), 0) FROM {schema}pawl_forgotten AS f "
                            "WHERE f.ns = {ns} AND f.run = " +
                            std::to_string(there.key)));
    log.skip(last + 1, static_cast<std::uint64_t>(as_integer(moved[0][0])) + 1);
    return append_rest(there.key, log);
  }

  Result<void> append_rest(RunKey key, LogParts& log) {
    while (true) {
      PAWL_TRY_ASSIGN(Part part, log.next());
      if (!part.entries.empty()) {
        copied_.entries += static_cast<std::int64_t>(part.entries.size());
        PAWL_TRY(to_.append(seal_, {key, std::move(part.entries), std::move(part.moved_away)}));
      }
      if (part.is_last) {
        return {};
      }
    }
  }

  // The key of the last one there.
  Result<RunKey> flush() {
    if (batch_.empty()) {
      return 0;
    }
    PAWL_TRY(to_.carry(seal_, batch_));
    const RunKey last = batch_.back().row.key;
    batch_.clear();
    keepers_.clear();
    bytes_ = 0;
    return last;
  }

  // When all runs are there: a parent may have a greater key than its child.
  Result<void> link_children() {
    RunKey after = -store::kNever;
    while (true) {
      PAWL_TRY_ASSIGN(const store::Database::Rows rows,
                      from_.catalog().query("SELECT r.key FROM {schema}pawl_run AS r WHERE "
                                            "{by_key}r.ns = {ns} AND r.parent IS NOT NULL "
                                            "AND r.key > " +
                                            std::to_string(after) + " ORDER BY r.key LIMIT " +
                                            std::to_string(kPageRuns)));
      std::vector<store::CarryParent> links;
      for (const std::vector<std::string>& row : rows) {
        after = as_integer(row[0]);
        PAWL_TRY_ASSIGN(const std::optional<store::RunRow> child, from_.find_run(after));
        PAWL_TRY_ASSIGN(const RunKey parent, child ? key_of(child->parent.run) : Result<RunKey>(0));
        if (parent == 0) {
          continue;  // It was deleted.
        }
        PAWL_TRY_ASSIGN(const std::optional<store::RunRow> there,
                        to_.find_run(child->id, child->number));
        if (there.has_value() && there->parent.run != parent) {
          links.push_back({there->key, child->parent});
          links.back().parent.run = parent;
        }
      }
      if (!links.empty()) {
        PAWL_TRY(to_.link(seal_, links));
      }
      if (rows.size() < kPageRuns) {
        return {};
      }
    }
  }

  // In the target, of a run of the source; 0: there is none.
  Result<RunKey> key_of(RunKey parent) {
    if (const auto found = parents_.find(parent); found != parents_.end()) {
      return found->second;
    }
    PAWL_TRY_ASSIGN(const std::optional<store::RunRow> row, from_.find_run(parent));
    std::optional<store::RunRow> there;
    if (row.has_value()) {
      PAWL_TRY_ASSIGN(there, to_.find_run(row->id, row->number));
    }
    if (parents_.size() >= kParentsKept) {
      parents_.clear();
    }
    return parents_.emplace(parent, there ? there->key : 0).first->second;
  }

  store::MovableStore& from_;
  store::MovableStore& to_;
  const std::string_view seal_;
  const std::function<void(const Copied&)>& tell_;
  bool may_be_there_ = true;
  std::vector<store::CarryRun> batch_;
  std::vector<std::unique_ptr<portable::EntryKeeper>> keepers_;
  std::size_t bytes_ = 0;
  std::unordered_map<RunKey, RunKey> parents_;
  Copied copied_;
};

}  // namespace

Result<Copied> copy_runs(store::MovableStore& from, store::MovableStore& to, std::string_view seal,
                         const std::function<void(const Copied&)>& tell) {
  return Copy(from, to, seal, tell).run();
}

}  // namespace pawl::moving

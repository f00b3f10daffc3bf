#include "moving/copy.h"

#include <charconv>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "portable/run_document.h"

namespace pawl::moving {

namespace {

using replay::Entry;
using store::RunKey;

constexpr std::size_t kPageRuns = 500;
// Of one transaction. A log that is larger is copied by several.
constexpr std::size_t kBatchRuns = 250;
constexpr std::size_t kBatchBytes = std::size_t{4} << 20U;
constexpr std::size_t kEntryBytes = 200;  // Besides its texts, about.

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

std::size_t bytes_of(const store::RunImage& image) {
  std::size_t bytes = kEntryBytes + image.input.size() + image.reason.size();
  for (const store::StoredArrival& arrival : image.inbox) {
    bytes += kEntryBytes + arrival.payload.size() + arrival.extra.size();
  }
  for (const store::TaskRow& task : image.tasks) {
    bytes += kEntryBytes + task.input.size() + task.details.size() + task.last_error.size();
  }
  for (const store::CompensationRow& compensation : image.compensations) {
    bytes += kEntryBytes + compensation.input.size() + compensation.outcome.size();
  }
  return bytes;
}

// Some of the log of a run, with what loops have moved away from it.
class Part {
 public:
  void add(const Entry& entry) {
    entries_.push_back(keeper_->keep(entry));
    bytes_ += bytes_of(entry);
  }
  void add_moved(const Entry& entry, const store::MovedFrom& from) {
    add(entry);
    moved_[{std::string(from.loop), from.iteration}].push_back(entry.seq);
  }

  std::size_t bytes() const { return bytes_; }
  std::size_t size() const { return entries_.size(); }
  bool empty() const { return entries_.empty(); }

  // What the entries point into, which is empty afterwards.
  std::unique_ptr<portable::EntryKeeper> take(std::vector<Entry>& entries,
                                              std::vector<store::MovedAway>& moved_away) {
    entries = std::exchange(entries_, {});
    for (auto& [place, seqs] : std::exchange(moved_, {})) {
      moved_away.push_back({place.first, place.second, std::move(seqs)});
    }
    bytes_ = 0;
    return std::exchange(keeper_, std::make_unique<portable::EntryKeeper>());
  }

 private:
  std::vector<Entry> entries_;
  std::map<std::pair<std::string, std::int64_t>, std::vector<std::uint64_t>> moved_;
  std::unique_ptr<portable::EntryKeeper> keeper_ = std::make_unique<portable::EntryKeeper>();
  std::size_t bytes_ = 0;
};

// Takes the runs of the source as they are visited.
class Copy : public store::RunVisitor {
 public:
  Copy(store::MovableStore& from, store::MovableStore& to, std::string_view seal,
       const std::function<void(const Copied&)>& tell)
      : from_(from), to_(to), seal_(seal), tell_(tell) {}

  Result<Copied> run() {
    store::KeyRange missing;
    PAWL_TRY_ASSIGN(missing.after, complete_last());
    PAWL_TRY(from_.catalog().visit_all_runs(missing, *this));
    PAWL_TRY(flush());
    PAWL_TRY(link_children());
    return copied_;
  }

  Result<void> begin_run(store::VisitedRun run) override {
    if (there_ != 0) {
      return {};
    }
    store::CarryRun& carried = batch_.emplace_back();
    carried.image = std::move(run.image);
    if (carried.image.row.status == store::RunStatus::kRecurred) {
      carried.image.dedupe.clear();  // They go with the run that this one recurred to.
    }
    bytes_ += bytes_of(carried.image);
    return {};
  }

  Result<void> visit_entry(const Entry& entry) override {
    if (entry.seq < next_seq_) {
      return {};
    }
    PAWL_TRY(make_room());
    part_.add(entry);
    return {};
  }

  Result<void> visit_forgotten(const Entry& entry, const store::MovedFrom& from) override {
    if (entry.seq < next_moved_seq_) {
      return {};
    }
    PAWL_TRY(make_room());
    part_.add_moved(entry, from);
    return {};
  }

  Result<void> end_run() override {
    if (there_ != 0) {
      PAWL_TRY(append());
    } else {
      put_into_batch();
      if (bytes_ >= kBatchBytes || batch_.size() >= kBatchRuns) {
        PAWL_TRY(flush());
      }
    }
    there_ = 0;
    next_seq_ = 0;
    next_moved_seq_ = 0;
    ++copied_.runs;
    tell_(copied_);
    return {};
  }

 private:
  // Runs are copied in order of key, so that all but the last one that is there are complete. The
  // key of that one in the source.
  Result<RunKey> complete_last() {
    PAWL_TRY_ASSIGN(const Numbers there,
                    read_numbers(to_,
                                 "SELECT coalesce(max(r.key), 0), count(*) FROM "
                                 "{schema}pawl_run AS r WHERE r.ns = {ns}"));
    if (there[1] == 0) {
      return store::KeyRange().after;
    }
    PAWL_TRY_ASSIGN(const std::optional<store::RunRow> last, to_.find_run(there[0]));
    PAWL_TRY_ASSIGN(const std::optional<store::RunRow> original,
                    last ? from_.find_run(last->id, last->number) : std::optional<store::RunRow>());
    if (!original.has_value() || original->uuid != last->uuid) {
      return make_error(ErrorCode::kInvalidState,
                        "the target has a run" + (last ? " '" + last->id + "'" : std::string()) +
                            " that the source does not have");
    }
    PAWL_TRY_ASSIGN(const Numbers copied,
                    read_numbers(from_,
                                 "SELECT count(*) FROM {schema}pawl_run AS r WHERE r.ns = "
                                 "{ns} AND r.key <= " +
                                     std::to_string(original->key)));
    if (copied[0] != there[1]) {
      return make_error(ErrorCode::kInvalidState,
                        "the target has " + std::to_string(there[1]) + " runs up to '" + last->id +
                            "', and the source has " + std::to_string(copied[0]));
    }
    copied_.found = copied[0];
    copied_.runs = copied_.found - 1;
    return complete(original->key, last->key);
  }

  // A run of which some parts of the log may be missing.
  Result<RunKey> complete(RunKey run, RunKey there) {
    PAWL_TRY(to_.read_last(there, [&](const Entry& entry) -> Result<void> {
      next_seq_ = entry.seq + 1;
      return {};
    }));
    PAWL_TRY_ASSIGN(const Numbers moved,
                    read_numbers(to_,
                                 "SELECT coalesce(max(f.seq), 0) FROM {schema}pawl_forgotten "
                                 "AS f WHERE f.ns = {ns} AND f.run = " +
                                     std::to_string(there)));
    next_moved_seq_ = static_cast<std::uint64_t>(moved[0]) + 1;
    there_ = there;
    PAWL_TRY(from_.catalog().visit_all_runs(store::range_of(run), *this));
    return run;
  }

  // The numbers of the one row that is asked for.
  using Numbers = std::vector<std::int64_t>;
  static Result<Numbers> read_numbers(store::Store& store, std::string sql) {
    PAWL_TRY_ASSIGN(const store::Database::Rows rows, store.catalog().query(std::move(sql)));
    Numbers numbers;
    for (const std::string& value : rows.at(0)) {
      numbers.push_back(as_integer(value));
    }
    return numbers;
  }

  // A log that is too large for one transaction goes in parts.
  Result<void> make_room() {
    if (part_.bytes() <= kBatchBytes) {
      return {};
    }
    if (there_ != 0) {
      return append();
    }
    put_into_batch();
    PAWL_TRY_ASSIGN(there_, flush());
    return {};
  }

  void put_into_batch() {
    bytes_ += part_.bytes();
    copied_.entries += static_cast<std::int64_t>(part_.size());
    keepers_.push_back(part_.take(batch_.back().entries, batch_.back().moved_away));
  }

  Result<void> append() {
    if (part_.empty()) {
      return {};
    }
    copied_.entries += static_cast<std::int64_t>(part_.size());
    store::CarryLog log;
    log.run = there_;
    const auto keeper = part_.take(log.entries, log.moved_away);
    return to_.append(seal_, log);
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
    RunKey after = store::KeyRange().after;
    while (true) {
      PAWL_TRY_ASSIGN(const store::Database::Rows rows,
                      from_.catalog().query("SELECT r.key FROM {schema}pawl_run AS r WHERE "
                                            "{by_key}r.ns = {ns} AND r.parent IS NOT NULL "
                                            "AND r.key > " +
                                            std::to_string(after) + " ORDER BY r.key LIMIT " +
                                            std::to_string(kPageRuns)));
      std::vector<RunKey> children;
      for (const std::vector<std::string>& row : rows) {
        children.push_back(as_integer(row[0]));
      }
      PAWL_TRY(link(children));
      if (rows.size() < kPageRuns) {
        return {};
      }
      after = children.back();
    }
  }

  Result<void> link(std::span<const RunKey> keys) {
    PAWL_TRY_ASSIGN(const Found children, from_.catalog().find_runs(keys));
    std::vector<RunKey> parent_keys;
    for (const std::optional<store::RunRow>& child : children) {
      parent_keys.push_back(child ? child->parent.run : 0);
    }
    PAWL_TRY_ASSIGN(const Found parents, from_.catalog().find_runs(parent_keys));
    PAWL_TRY_ASSIGN(const Found children_there, find_there(children));
    PAWL_TRY_ASSIGN(const Found parents_there, find_there(parents));
    std::vector<store::CarryParent> links;
    for (std::size_t i = 0; i < keys.size(); ++i) {
      if (!parents_there[i].has_value() || !children_there[i].has_value() ||
          children_there[i]->parent.run == parents_there[i]->key) {
        continue;  // It was deleted, or is known.
      }
      links.push_back({children_there[i]->key, children[i]->parent});
      links.back().parent.run = parents_there[i]->key;
    }
    return links.empty() ? Result<void>() : to_.link(seal_, links);
  }

  using Found = store::Catalog::FoundRuns;
  // In the target, of runs of the source; none where there is none.
  Result<Found> find_there(const Found& runs) {
    std::vector<store::RunName> names;
    for (const std::optional<store::RunRow>& run : runs) {
      names.push_back(run ? store::RunName{run->id, run->number} : store::RunName());
    }
    return to_.catalog().find_runs(names);
  }

  store::MovableStore& from_;
  store::MovableStore& to_;
  const std::string_view seal_;
  const std::function<void(const Copied&)>& tell_;
  std::vector<store::CarryRun> batch_;  // The last one may be the one that is visited.
  std::vector<std::unique_ptr<portable::EntryKeeper>> keepers_;
  std::size_t bytes_ = 0;       // Of the batch.
  Part part_;                   // Of the run that is visited.
  RunKey there_ = 0;            // Its key in the target, if it is there; then
  std::uint64_t next_seq_ = 0;  // so is what lies before these.
  std::uint64_t next_moved_seq_ = 0;
  Copied copied_;
};

}  // namespace

Result<Copied> copy_runs(store::MovableStore& from, store::MovableStore& to, std::string_view seal,
                         const std::function<void(const Copied&)>& tell) {
  return Copy(from, to, seal, tell).run();
}

}  // namespace pawl::moving

#include "store/sqlite/run_search.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "store/sqlite/run_table.h"

namespace pawl::store {

namespace {

// Runs that one call looks at: some 20 ms.
constexpr std::size_t kLookedAtMax = 10'000;
constexpr std::size_t kEstimateMax = 10'000;
// Places read at a time from a stream: few at first, since most of them may not be needed.
constexpr std::size_t kFirstPlaces = 64;
constexpr std::size_t kPlacesMax = 4'096;

constexpr std::array kStatuses = {
    RunStatus::kRunning, RunStatus::kWaiting,   RunStatus::kCompensating, RunStatus::kCompleted,
    RunStatus::kFailed,  RunStatus::kCancelled, RunStatus::kRecurred,     RunStatus::kBlocked};

std::vector<RunStatus> statuses_of(const RunFilter& filter) {
  if (filter.statuses.empty()) {
    return {kStatuses.begin(), kStatuses.end()};
  }
  std::vector<RunStatus> statuses = filter.statuses;
  std::sort(statuses.begin(), statuses.end());
  statuses.erase(std::unique(statuses.begin(), statuses.end()), statuses.end());
  return statuses;
}

bool bounds_end(const RunFilter& filter) {
  return filter.changed_from_ms > 0 || filter.changed_to_ms < kNever;
}

template <class T>
bool is_among(const std::vector<T>& wanted, const T& value) {
  return wanted.empty() || std::find(wanted.begin(), wanted.end(), value) != wanted.end();
}

// All but the tags.
bool fits(const RunRow& row, const RunFilter& filter) {
  return is_among(filter.kinds, row.kind) && is_among(filter.statuses, row.status) &&
         row.created_ms >= filter.created_from_ms && row.created_ms < filter.created_to_ms &&
         row.changed_ms >= filter.changed_from_ms && row.changed_ms < filter.changed_to_ms &&
         (!filter.is_paused.has_value() || row.is_paused == *filter.is_paused) &&
         (filter.parent == 0 || row.parent.run == filter.parent);
}

// The least text that is greater.
std::string next_text(std::string_view text) { return std::string(text) + '\0'; }

// The least text that is greater than all that begin with `prefix`; none: there is none.
std::optional<std::string> behind_all(std::string_view prefix) {
  std::string end(prefix);
  while (!end.empty() && static_cast<unsigned char>(end.back()) == 0xff) {
    end.pop_back();
  }
  if (end.empty()) {
    return std::nullopt;
  }
  end.back() = static_cast<char>(static_cast<unsigned char>(end.back()) + 1);
  return end;
}

}  // namespace

struct RunSearch::Stream {
  std::string name;  // Kind, or name of a tag.
  std::string value;
  RunStatus status{};

  std::vector<RunCursor> places;  // Read and not yet taken, the next one last.
  RunCursor behind;               // Where to read on.
  std::size_t read_next = kFirstPlaces;
  bool is_exhausted = false;
};

// Runs of the same time are told apart by their keys. That takes two queries, because SQLite would
// otherwise go through all of one time again and again.
RunSearch::RunSearch(Connection& connection, std::int64_t ns)
    : ns_(ns),
      next_kind_(connection,
                 "SELECT kind FROM pawl_run INDEXED BY pawl_run_kind WHERE ns = ? AND kind >= ? "
                 "ORDER BY kind LIMIT 1"),
      kind_same_time_(connection,
                      "SELECT created, key FROM pawl_run INDEXED BY pawl_run_kind WHERE ns = ? AND "
                      "kind = ? AND status = ? AND created = ? AND key < ? ORDER BY key DESC LIMIT "
                      "?"),
      kind_older_(connection,
                  "SELECT created, key FROM pawl_run INDEXED BY pawl_run_kind WHERE ns = ? AND "
                  "kind = ? AND status = ? AND created < ? AND created >= ? ORDER BY created DESC, "
                  "key DESC LIMIT ?"),
      kind_size_(connection,
                 "SELECT count(*) FROM (SELECT 1 FROM pawl_run INDEXED BY pawl_run_kind WHERE ns = "
                 "? AND kind = ? AND status = ? AND created >= ? AND created < ? LIMIT ?)"),
      kind_count_(connection,
                  "SELECT count(*) FROM pawl_run INDEXED BY pawl_run_kind WHERE ns = ? AND kind = "
                  "? AND status = ? AND created >= ? AND created < ?"),
      tag_same_time_(connection,
                     "SELECT created, run FROM pawl_tag INDEXED BY pawl_tag_value WHERE ns = ? AND "
                     "name = ? AND value = ? AND created = ? AND run < ? ORDER BY run DESC LIMIT "
                     "?"),
      tag_older_(connection,
                 "SELECT created, run FROM pawl_tag INDEXED BY pawl_tag_value WHERE ns = ? AND "
                 "name = ? AND value = ? AND created < ? AND created >= ? ORDER BY created DESC, "
                 "run DESC LIMIT ?"),
      tag_size_(connection,
                "SELECT count(*) FROM (SELECT 1 FROM pawl_tag INDEXED BY pawl_tag_value WHERE ns = "
                "? AND name = ? AND value = ? AND created >= ? AND created < ? LIMIT ?)"),
      paused_same_time_(connection,
                        "SELECT created, key FROM pawl_run INDEXED BY pawl_run_paused WHERE ns = ? "
                        "AND paused IS NOT NULL AND created = ? AND key < ? ORDER BY key DESC "
                        "LIMIT ?"),
      paused_older_(connection,
                    "SELECT created, key FROM pawl_run INDEXED BY pawl_run_paused WHERE ns = ? AND "
                    "paused IS NOT NULL AND created < ? AND created >= ? ORDER BY created DESC, "
                    "key DESC LIMIT ?"),
      paused_size_(connection,
                   "SELECT count(*) FROM (SELECT 1 FROM pawl_run INDEXED BY pawl_run_paused WHERE "
                   "ns = ? AND paused IS NOT NULL AND created >= ? AND created < ? LIMIT ?)"),
      children_(connection,
                "SELECT created, key FROM pawl_run INDEXED BY pawl_run_parent WHERE ns = ? AND "
                "parent = ? AND parent IS NOT NULL LIMIT ?"),
      ended_(connection,
             "SELECT created, key FROM pawl_run INDEXED BY pawl_run_closed WHERE ns = ? AND status "
             "= ? AND status BETWEEN 4 AND 7 AND changed >= ? AND changed < ? LIMIT ?"),
      find_(connection, "SELECT " PAWL_RUN_COLUMNS " FROM pawl_run WHERE key = ? AND ns = ?"),
      has_tag_(connection,
               "SELECT 1 FROM pawl_tag WHERE ns = ? AND run = ? AND name = ? AND value = ?"),
      next_id_(connection,
               "SELECT id FROM pawl_run INDEXED BY pawl_run_id WHERE ns = ?1 AND id >= ?2 AND (?3 "
               "IS NULL OR id < ?3) AND id > ?4 ORDER BY id LIMIT 1"),
      closed_(connection,
              "SELECT changed, key FROM pawl_run INDEXED BY pawl_run_closed WHERE ns = ?1 AND "
              "status = ?2 AND status BETWEEN 4 AND 7 AND changed >= ?3 AND changed < ?4 AND "
              "(changed > ?3 OR key > ?5) ORDER BY changed, key LIMIT ?6") {}

// --- Which way to go ---

Result<std::vector<std::string>> RunSearch::read_kinds() {
  std::vector<std::string> kinds;
  std::string from;
  while (true) {
    Query query(next_kind_);
    PAWL_TRY_ASSIGN(const bool found, query.integer(ns_).text(from).step());
    if (!found) {
      return kinds;
    }
    kinds.push_back(query.as_string(0));
    from = next_text(kinds.back());
  }
}

Result<std::size_t> RunSearch::estimate(Way way, const Stream& stream, const RunFilter& filter) {
  Query query(way == Way::kKind ? kind_size_ : way == Way::kTag ? tag_size_ : paused_size_);
  query.integer(ns_);
  if (way != Way::kPaused) {
    query.text(stream.name);
  }
  if (way == Way::kKind) {
    query.integer(static_cast<std::int64_t>(stream.status));
  } else if (way == Way::kTag) {
    query.text(stream.value);
  }
  query.integer(filter.created_from_ms).integer(filter.created_to_ms);
  PAWL_TRY(query.integer(kEstimateMax).step());
  return static_cast<std::size_t>(query.as_integer(0));
}

Result<std::optional<std::vector<RunCursor>>> RunSearch::gather(Query& query) {
  std::vector<RunCursor> places;
  while (true) {
    PAWL_TRY_ASSIGN(const bool found, query.step());
    if (!found) {
      return std::optional(std::move(places));
    }
    if (places.size() == kEstimateMax) {
      return std::optional<std::vector<RunCursor>>();
    }
    places.push_back({query.as_integer(0), query.as_integer(1)});
  }
}

Result<std::optional<std::vector<RunCursor>>> RunSearch::gather_children(const RunFilter& filter) {
  Query query(children_);
  query.integer(ns_).integer(filter.parent);
  return gather(query.integer(kEstimateMax + 1));
}

// Only closed runs are known by their end.
Result<std::optional<std::vector<RunCursor>>> RunSearch::gather_ended(const RunFilter& filter) {
  std::vector<RunCursor> all;
  for (const RunStatus status : statuses_of(filter)) {
    if (!is_closed(status)) {
      return std::optional<std::vector<RunCursor>>();
    }
    Query query(ended_);
    query.integer(ns_).integer(static_cast<std::int64_t>(status));
    query.integer(filter.changed_from_ms).integer(filter.changed_to_ms);
    PAWL_TRY_ASSIGN(const auto places, gather(query.integer(kEstimateMax + 1)));
    if (!places.has_value() || all.size() + places->size() > kEstimateMax) {
      return std::optional<std::vector<RunCursor>>();
    }
    all.insert(all.end(), places->begin(), places->end());
  }
  return std::optional(std::move(all));
}

Result<RunSearch::Plan> RunSearch::make_plan(const RunFilter& filter, const RunCursor& after) {
  Plan best{Way::kKind, {}};
  std::size_t best_size = 0;
  std::vector<std::string> kinds = filter.kinds;
  if (kinds.empty()) {
    PAWL_TRY_ASSIGN(kinds, read_kinds());
  }
  std::sort(kinds.begin(), kinds.end());
  kinds.erase(std::unique(kinds.begin(), kinds.end()), kinds.end());
  const bool has_choice =
      !filter.tags.empty() || filter.is_paused == true || filter.parent != 0 || bounds_end(filter);
  for (const std::string& kind : kinds) {
    for (const RunStatus status : statuses_of(filter)) {
      Stream& stream = best.streams.emplace_back();
      stream.name = kind;
      stream.status = status;
      if (has_choice && best_size < kEstimateMax) {
        PAWL_TRY_ASSIGN(const std::size_t size, estimate(Way::kKind, stream, filter));
        best_size += size;
      }
    }
  }
  const auto consider = [&](Way way, Stream stream, std::size_t size) {
    if (size < best_size) {
      best = {way, {}};
      best.streams.push_back(std::move(stream));
      best_size = size;
    }
  };
  for (const Tag& tag : filter.tags) {
    Stream stream;
    stream.name = tag.name;
    stream.value = tag.value;
    PAWL_TRY_ASSIGN(const std::size_t size, estimate(Way::kTag, stream, filter));
    consider(Way::kTag, std::move(stream), size);
  }
  if (filter.is_paused == true) {
    PAWL_TRY_ASSIGN(const std::size_t size, estimate(Way::kPaused, {}, filter));
    consider(Way::kPaused, {}, size);
  }
  const auto consider_gathered = [&](std::optional<std::vector<RunCursor>> places) {
    if (places.has_value()) {
      Stream stream;
      stream.places = *std::move(places);
      std::sort(stream.places.begin(), stream.places.end());
      stream.is_exhausted = true;
      const std::size_t size = stream.places.size();
      consider(Way::kGathered, std::move(stream), size);
    }
  };
  if (filter.parent != 0) {
    PAWL_TRY_ASSIGN(auto children, gather_children(filter));
    consider_gathered(std::move(children));
  }
  if (bounds_end(filter)) {
    PAWL_TRY_ASSIGN(auto ended, gather_ended(filter));
    consider_gathered(std::move(ended));
  }
  const RunCursor start{std::min(after.created_ms, filter.created_to_ms),
                        after.created_ms < filter.created_to_ms ? after.key : 0};
  for (Stream& stream : best.streams) {
    stream.behind = start;
    while (!stream.places.empty() && stream.places.back() >= start) {
      stream.places.pop_back();
    }
  }
  return best;
}

// --- Going ---

Result<void> RunSearch::read_places(Query& query, Stream& stream) {
  while (true) {
    PAWL_TRY_ASSIGN(const bool found, query.step());
    if (!found) {
      return {};
    }
    stream.places.push_back({query.as_integer(0), query.as_integer(1)});
  }
}

// Reads the next places: those of the time where it stands, then older ones.
Result<void> RunSearch::refill(Way way, Stream& stream, const RunFilter& filter) {
  const std::size_t wanted = stream.read_next;
  stream.read_next = std::min(kPlacesMax, stream.read_next * 2);
  const auto bind = [&](Query& query) {
    query.integer(ns_);
    if (way == Way::kKind) {
      query.text(stream.name).integer(static_cast<std::int64_t>(stream.status));
    } else if (way == Way::kTag) {
      query.text(stream.name).text(stream.value);
    }
  };
  if (stream.behind.key > 0 && stream.behind.created_ms < kNever) {
    Query query(way == Way::kKind  ? kind_same_time_
                : way == Way::kTag ? tag_same_time_
                                   : paused_same_time_);
    bind(query);
    query.integer(stream.behind.created_ms).integer(stream.behind.key);
    PAWL_TRY(read_places(query.integer(static_cast<std::int64_t>(wanted)), stream));
  }
  if (stream.places.size() < wanted) {
    Query query(way == Way::kKind ? kind_older_ : way == Way::kTag ? tag_older_ : paused_older_);
    bind(query);
    query.integer(stream.behind.created_ms).integer(filter.created_from_ms);
    const std::size_t rest = wanted - stream.places.size();
    PAWL_TRY(read_places(query.integer(static_cast<std::int64_t>(rest)), stream));
  }
  stream.is_exhausted = stream.places.size() < wanted;
  if (!stream.places.empty()) {
    stream.behind = stream.places.back();
    std::reverse(stream.places.begin(), stream.places.end());
  }
  return {};
}

Result<bool> RunSearch::has_tags(RunKey run, const std::vector<Tag>& tags) {
  for (const Tag& tag : tags) {
    Query query(has_tag_);
    query.integer(ns_).integer(run).text(tag.name).text(tag.value);
    PAWL_TRY_ASSIGN(const bool has, query.step());
    if (!has) {
      return false;
    }
  }
  return true;
}

Result<std::optional<RunRow>> RunSearch::find_matching(RunKey run, const RunFilter& filter) {
  Query query(find_);
  PAWL_TRY_ASSIGN(const bool found, query.integer(run).integer(ns_).step());
  if (!found) {
    return std::optional<RunRow>();
  }
  RunRow row = read_run(query);
  if (!fits(row, filter)) {
    return std::optional<RunRow>();
  }
  PAWL_TRY_ASSIGN(const bool has, has_tags(run, filter.tags));
  return has ? std::optional(std::move(row)) : std::nullopt;
}

Result<RunPage> RunSearch::list(const RunFilter& filter, const RunCursor& after,
                                std::size_t limit) {
  RunPage page;
  PAWL_TRY_ASSIGN(Plan plan, make_plan(filter, after));
  // The next place of each stream, the newest on top.
  std::vector<std::pair<RunCursor, std::size_t>> heads;
  const auto take_next = [&](std::size_t index) -> Result<void> {
    Stream& stream = plan.streams[index];
    if (stream.places.empty() && !stream.is_exhausted) {
      PAWL_TRY(refill(plan.way, stream, filter));
    }
    if (!stream.places.empty()) {
      heads.emplace_back(stream.places.back(), index);
      std::push_heap(heads.begin(), heads.end());
      stream.places.pop_back();
    }
    return {};
  };
  for (std::size_t i = 0; i < plan.streams.size(); ++i) {
    PAWL_TRY(take_next(i));
  }
  for (std::size_t looked_at = 0; !heads.empty(); ++looked_at) {
    const auto [place, index] = heads.front();
    if (page.rows.size() == limit || looked_at == kLookedAtMax) {
      break;
    }
    std::pop_heap(heads.begin(), heads.end());
    heads.pop_back();
    PAWL_TRY_ASSIGN(std::optional<RunRow> row, find_matching(place.key, filter));
    if (row.has_value()) {
      page.rows.push_back(*std::move(row));
    }
    page.next = place;
    PAWL_TRY(take_next(index));
  }
  if (heads.empty()) {
    page.next.reset();
  } else if (!page.next.has_value()) {
    page.next = after;  // Nothing was asked for.
  }
  return page;
}

Result<std::int64_t> RunSearch::count(const RunFilter& filter) {
  std::int64_t count = 0;
  const bool needs_rows = !filter.tags.empty() || filter.is_paused.has_value() ||
                          filter.parent != 0 || bounds_end(filter);
  if (needs_rows) {
    RunCursor after;
    while (true) {
      PAWL_TRY_ASSIGN(const RunPage page, list(filter, after, kLookedAtMax));
      count += static_cast<std::int64_t>(page.rows.size());
      if (!page.next.has_value()) {
        return count;
      }
      after = *page.next;
    }
  }
  PAWL_TRY_ASSIGN(const Plan plan, make_plan(filter, {}));
  for (const Stream& stream : plan.streams) {
    Query query(kind_count_);
    query.integer(ns_).text(stream.name).integer(static_cast<std::int64_t>(stream.status));
    query.integer(filter.created_from_ms).integer(filter.created_to_ms);
    PAWL_TRY(query.step());
    count += query.as_integer(0);
  }
  return count;
}

Result<std::vector<std::string>> RunSearch::find_ids(std::string_view prefix,
                                                     std::string_view after, std::size_t limit) {
  std::vector<std::string> ids;
  const std::optional<std::string> end = behind_all(prefix);
  std::string last(after);
  while (ids.size() < limit) {
    Query query(next_id_);
    query.integer(ns_).text(prefix);
    if (end.has_value()) {
      query.text(*end);
    } else {
      query.null();
    }
    PAWL_TRY_ASSIGN(const bool found, query.text(last).step());
    if (!found) {
      return ids;
    }
    last = query.as_string(0);
    ids.push_back(last);
  }
  return ids;
}

Result<std::vector<ClosedRun>> RunSearch::find_closed(RunStatus status, std::int64_t before_ms,
                                                      const ClosedRun& after, std::size_t limit) {
  std::vector<ClosedRun> runs;
  Query query(closed_);
  query.integer(ns_).integer(static_cast<std::int64_t>(status)).integer(after.changed_ms);
  query.integer(before_ms).integer(after.key).integer(static_cast<std::int64_t>(limit));
  while (true) {
    PAWL_TRY_ASSIGN(const bool found, query.step());
    if (!found) {
      return runs;
    }
    runs.push_back({query.as_integer(0), query.as_integer(1)});
  }
}

}  // namespace pawl::store

#include "store/sqlite/run_search.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "store/sqlite/run_table.h"

#define PAWL_SAMPLE "SELECT count(*), min(created), max(created) FROM (SELECT created FROM "

namespace pawl::store {

namespace {

// Runs that one call looks at: some 20 ms if each of them has to be read from the file.
constexpr std::size_t kLookedAtMax = 2'500;
// Of each range, the newest that are counted; how many there are in all is judged by how far back
// these go.
constexpr std::size_t kSampledMax = 1'000;
constexpr double kJudgedSpanMs = 365.0 * 86'400'000.0;
// Places that are read and sorted, only for the newest of them: some 5 ms.
constexpr std::size_t kGatheredMax = 10'000;
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

// Whether a stream by kind says all there is to know, but for tags.
bool needs_row(const RunFilter& filter) {
  return filter.is_paused.has_value() || filter.parent != 0 || bounds_end(filter);
}

// The least text that is greater.
std::string next_text(std::string_view text) { return std::string(text) + '\0'; }

}  // namespace

struct RunSearch::Stream {
  Way way{};
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
      kind_size_(connection, PAWL_SAMPLE
                 "pawl_run INDEXED BY pawl_run_kind WHERE ns = ? AND kind = ? AND status = ? AND "
                 "created >= ? AND created < ? ORDER BY created DESC LIMIT ?)"),
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
      tag_size_(connection, PAWL_SAMPLE
                "pawl_tag INDEXED BY pawl_tag_value WHERE ns = ? AND name = ? AND value = ? AND "
                "created >= ? AND created < ? ORDER BY created DESC LIMIT ?)"),
      tag_count_(
          connection,
          "SELECT count(*) FROM pawl_tag INDEXED BY pawl_tag_value WHERE ns = ? AND name = ? "
          "AND value = ? AND created >= ? AND created < ?"),
      paused_same_time_(connection,
                        "SELECT created, key FROM pawl_run INDEXED BY pawl_run_paused WHERE ns = ? "
                        "AND paused IS NOT NULL AND created = ? AND key < ? ORDER BY key DESC "
                        "LIMIT ?"),
      paused_older_(connection,
                    "SELECT created, key FROM pawl_run INDEXED BY pawl_run_paused WHERE ns = ? AND "
                    "paused IS NOT NULL AND created < ? AND created >= ? ORDER BY created DESC, "
                    "key DESC LIMIT ?"),
      paused_size_(connection, PAWL_SAMPLE
                   "pawl_run INDEXED BY pawl_run_paused WHERE ns = ? AND paused IS NOT NULL AND "
                   "created >= ? AND created < ? ORDER BY created DESC LIMIT ?)"),
      children_(connection,
                "SELECT created, key FROM pawl_run INDEXED BY pawl_run_parent WHERE ns = ? AND "
                "parent = ? AND parent IS NOT NULL LIMIT ?"),
      ended_(connection,
             "SELECT created, key FROM pawl_run INDEXED BY pawl_run_closed WHERE ns = ? AND status "
             "= ? AND +status BETWEEN 4 AND 7 AND changed >= ? AND changed < ? LIMIT ?"),
      find_(connection, "SELECT " PAWL_RUN_COLUMNS " FROM pawl_run WHERE key = ? AND ns = ?"),
      check_(
          connection,
          "SELECT status, created, changed, paused, parent, kind FROM pawl_run WHERE key = ? AND "
          "ns = ?"),
      has_tag_(connection,
               "SELECT 1 FROM pawl_tag WHERE ns = ? AND run = ? AND name = ? AND value = ?"),
      next_id_(connection,
               "SELECT id FROM pawl_run INDEXED BY pawl_run_id WHERE ns = ? AND id >= ? ORDER BY "
               "id LIMIT 1"),
      closed_(connection,
              "SELECT changed, key FROM pawl_run INDEXED BY pawl_run_closed WHERE ns = ?1 AND "
              "status = ?2 AND +status BETWEEN 4 AND 7 AND changed >= ?3 AND changed < ?4 AND "
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

RunSearch::Plan RunSearch::kind_streams(const std::vector<std::string>& kinds,
                                        const std::vector<RunStatus>& statuses) {
  Plan plan;
  for (const std::string& kind : kinds) {
    for (const RunStatus status : statuses) {
      Stream& stream = plan.emplace_back();
      stream.way = Way::kKind;
      stream.name = kind;
      stream.status = status;
    }
  }
  return plan;
}

Result<double> RunSearch::estimate(const Stream& stream, const RunFilter& filter) {
  if (stream.way == Way::kGathered) {
    return static_cast<double>(stream.places.size());
  }
  const Way way = stream.way;
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
  PAWL_TRY(query.integer(kSampledMax).step());
  const std::int64_t count = query.as_integer(0);
  if (count < static_cast<std::int64_t>(kSampledMax)) {
    return static_cast<double>(count);
  }
  const auto span_ms = static_cast<double>(query.as_integer(2) - query.as_integer(1));
  return static_cast<double>(count) * std::max(1.0, kJudgedSpanMs / std::max(1.0, span_ms));
}

Result<double> RunSearch::estimate(const Plan& plan, const RunFilter& filter) {
  double size = 0;
  for (const Stream& stream : plan) {
    PAWL_TRY_ASSIGN(const double more, estimate(stream, filter));
    size += more;
  }
  return size;
}

// False: there are too many.
Result<bool> RunSearch::gather(Query& query, Stream& stream) {
  stream.way = Way::kGathered;
  stream.is_exhausted = true;
  while (true) {
    PAWL_TRY_ASSIGN(const bool found, query.step());
    if (!found) {
      return true;
    }
    if (stream.places.size() == kGatheredMax) {
      return false;
    }
    stream.places.push_back({query.as_integer(0), query.as_integer(1)});
  }
}

Result<std::optional<RunSearch::Stream>> RunSearch::gather_children(const RunFilter& filter) {
  Stream stream;
  Query query(children_);
  query.integer(ns_).integer(filter.parent).integer(kGatheredMax + 1);
  PAWL_TRY_ASSIGN(const bool is_all, gather(query, stream));
  return is_all ? std::optional(std::move(stream)) : std::nullopt;
}

Result<std::optional<RunSearch::Stream>> RunSearch::gather_ended(
    const RunFilter& filter, const std::vector<RunStatus>& statuses) {
  Stream stream;
  for (const RunStatus status : statuses) {
    Query query(ended_);
    query.integer(ns_).integer(static_cast<std::int64_t>(status));
    query.integer(filter.changed_from_ms).integer(filter.changed_to_ms).integer(kGatheredMax + 1);
    PAWL_TRY_ASSIGN(const bool is_all, gather(query, stream));
    if (!is_all) {
      return std::optional<Stream>();
    }
  }
  return std::optional(std::move(stream));
}

Result<RunSearch::Plan> RunSearch::make_plan(const RunFilter& filter, const RunCursor& after) {
  std::vector<std::string> kinds = filter.kinds;
  if (kinds.empty()) {
    PAWL_TRY_ASSIGN(kinds, read_kinds());
  }
  std::sort(kinds.begin(), kinds.end());
  kinds.erase(std::unique(kinds.begin(), kinds.end()), kinds.end());
  const std::vector<RunStatus> statuses = statuses_of(filter);
  Plan best = kind_streams(kinds, statuses);
  std::optional<double> best_size;  // Known when there is something to compare.
  const auto consider = [&](Plan plan) -> Result<void> {
    if (!best_size.has_value()) {
      PAWL_TRY_ASSIGN(best_size, estimate(best, filter));
    }
    PAWL_TRY_ASSIGN(const double size, estimate(plan, filter));
    if (size < *best_size) {
      best = std::move(plan);
      best_size = size;
    }
    return {};
  };
  for (const Tag& tag : filter.tags) {
    Plan plan(1);
    plan[0].way = Way::kTag;
    plan[0].name = tag.name;
    plan[0].value = tag.value;
    PAWL_TRY(consider(std::move(plan)));
  }
  if (filter.is_paused == true) {
    Plan plan(1);
    plan[0].way = Way::kPaused;
    PAWL_TRY(consider(std::move(plan)));
  }
  if (filter.parent != 0) {
    PAWL_TRY_ASSIGN(std::optional<Stream> children, gather_children(filter));
    if (children.has_value()) {
      Plan plan;
      plan.push_back(*std::move(children));
      PAWL_TRY(consider(std::move(plan)));
    }
  }
  if (bounds_end(filter)) {
    // Only closed runs are known by their end. Open ones are few, mostly.
    std::vector<RunStatus> closed;
    std::vector<RunStatus> open;
    for (const RunStatus status : statuses) {
      (is_closed(status) ? closed : open).push_back(status);
    }
    PAWL_TRY_ASSIGN(std::optional<Stream> ended, gather_ended(filter, closed));
    if (ended.has_value()) {
      Plan plan = kind_streams(kinds, open);
      plan.insert(plan.begin(), *std::move(ended));
      PAWL_TRY(consider(std::move(plan)));
    }
  }
  const RunCursor start{std::min(after.created_ms, filter.created_to_ms),
                        after.created_ms < filter.created_to_ms ? after.key : 0};
  for (Stream& stream : best) {
    stream.behind = start;
    std::erase_if(stream.places, [&](const RunCursor& place) { return place >= start; });
    std::sort(stream.places.begin(), stream.places.end());
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
Result<void> RunSearch::refill(Stream& stream, const RunFilter& filter) {
  const Way way = stream.way;
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

Result<bool> RunSearch::has_tag(RunKey run, const Tag& tag) {
  Query query(has_tag_);
  return query.integer(ns_).integer(run).text(tag.name).text(tag.value).step();
}

Result<bool> RunSearch::has_fitting_row(RunKey run, const RunFilter& filter) {
  Query query(check_);
  PAWL_TRY_ASSIGN(const bool found, query.integer(run).integer(ns_).step());
  if (!found) {
    return false;
  }
  const auto status = static_cast<RunStatus>(query.as_integer(0));
  const std::int64_t created_ms = query.as_integer(1);
  const std::int64_t changed_ms = query.as_integer(2);
  const bool is_paused = !query.is_null(3);
  const std::string_view kind = query.as_bytes(5);
  const auto is_among = [](const auto& wanted, const auto& value) {
    return wanted.empty() || std::find(wanted.begin(), wanted.end(), value) != wanted.end();
  };
  return is_among(filter.statuses, status) && is_among(filter.kinds, kind) &&
         created_ms >= filter.created_from_ms && created_ms < filter.created_to_ms &&
         changed_ms >= filter.changed_from_ms && changed_ms < filter.changed_to_ms &&
         filter.is_paused.value_or(is_paused) == is_paused &&
         (filter.parent == 0 || query.as_integer(4) == filter.parent);
}

Result<bool> RunSearch::fits(RunKey run, const Stream& stream, const RunFilter& filter) {
  for (const Tag& tag : filter.tags) {
    if (stream.way == Way::kTag && stream.name == tag.name && stream.value == tag.value) {
      continue;
    }
    PAWL_TRY_ASSIGN(const bool has, has_tag(run, tag));
    if (!has) {
      return false;
    }
  }
  if (stream.way == Way::kKind && !needs_row(filter)) {
    return true;
  }
  return has_fitting_row(run, filter);
}

Result<bool> RunSearch::walk(Plan& plan, const RunFilter& filter, const Visit& visit) {
  // The next place of each stream, the newest on top.
  std::vector<std::pair<RunCursor, std::size_t>> heads;
  const auto take_next = [&](std::size_t index) -> Result<void> {
    Stream& stream = plan[index];
    if (stream.places.empty() && !stream.is_exhausted) {
      PAWL_TRY(refill(stream, filter));
    }
    if (!stream.places.empty()) {
      heads.emplace_back(stream.places.back(), index);
      std::push_heap(heads.begin(), heads.end());
      stream.places.pop_back();
    }
    return {};
  };
  for (std::size_t i = 0; i < plan.size(); ++i) {
    PAWL_TRY(take_next(i));
  }
  while (!heads.empty()) {
    std::pop_heap(heads.begin(), heads.end());
    const auto [place, index] = heads.back();
    heads.pop_back();
    PAWL_TRY_ASSIGN(const bool is_wanted, fits(place.key, plan[index], filter));
    PAWL_TRY_ASSIGN(const bool goes_on, visit(place, is_wanted));
    PAWL_TRY(take_next(index));
    if (!goes_on) {
      return heads.empty();
    }
  }
  return true;
}

Result<RunPage> RunSearch::list(const RunFilter& filter, const RunCursor& after,
                                std::size_t limit) {
  RunPage page;
  page.next = after;
  if (limit == 0) {
    return page;
  }
  PAWL_TRY_ASSIGN(Plan plan, make_plan(filter, after));
  std::size_t looked_at = 0;
  const auto visit = [&](const RunCursor& place, bool is_wanted) -> Result<bool> {
    if (is_wanted) {
      Query query(find_);
      PAWL_TRY_ASSIGN(const bool found, query.integer(place.key).integer(ns_).step());
      if (found) {
        page.rows.push_back(read_run(query));
      }
    }
    page.next = place;
    return page.rows.size() < limit && ++looked_at < kLookedAtMax;
  };
  PAWL_TRY_ASSIGN(const bool is_all, walk(plan, filter, visit));
  if (is_all) {
    page.next.reset();
  }
  return page;
}

// What can be counted without looking at runs.
Result<std::optional<std::int64_t>> RunSearch::count_by_index(const RunFilter& filter) {
  if (needs_row(filter)) {
    return std::optional<std::int64_t>();
  }
  if (filter.tags.size() == 1 && filter.kinds.empty() && filter.statuses.empty()) {
    Query query(tag_count_);
    query.integer(ns_).text(filter.tags[0].name).text(filter.tags[0].value);
    PAWL_TRY(query.integer(filter.created_from_ms).integer(filter.created_to_ms).step());
    return std::optional(query.as_integer(0));
  }
  if (!filter.tags.empty()) {
    return std::optional<std::int64_t>();
  }
  std::int64_t count = 0;
  PAWL_TRY_ASSIGN(const Plan plan, make_plan(filter, {}));
  for (const Stream& stream : plan) {
    Query query(kind_count_);
    query.integer(ns_).text(stream.name).integer(static_cast<std::int64_t>(stream.status));
    PAWL_TRY(query.integer(filter.created_from_ms).integer(filter.created_to_ms).step());
    count += query.as_integer(0);
  }
  return std::optional(count);
}

Result<std::int64_t> RunSearch::count(const RunFilter& filter) {
  PAWL_TRY_ASSIGN(const std::optional<std::int64_t> known, count_by_index(filter));
  if (known.has_value()) {
    return *known;
  }
  std::int64_t count = 0;
  PAWL_TRY_ASSIGN(Plan plan, make_plan(filter, {}));
  PAWL_TRY(walk(plan, filter, [&](const RunCursor& /*place*/, bool is_wanted) -> Result<bool> {
    count += is_wanted ? 1 : 0;
    return true;
  }));
  return count;
}

Result<std::vector<std::string>> RunSearch::find_ids(std::string_view prefix,
                                                     std::string_view after, std::size_t limit) {
  std::vector<std::string> ids;
  std::string from = after < prefix ? std::string(prefix) : next_text(after);
  while (ids.size() < limit) {
    Query query(next_id_);
    PAWL_TRY_ASSIGN(const bool found, query.integer(ns_).text(from).step());
    if (!found || !query.as_bytes(0).starts_with(prefix)) {
      return ids;
    }
    ids.push_back(query.as_string(0));
    from = next_text(ids.back());
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

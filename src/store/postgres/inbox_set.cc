#include "store/postgres/inbox_set.h"

#include <algorithm>
#include <utility>

#include "store/postgres/records.h"

namespace pawl::store::pg {

namespace {

constexpr Statement kDrawKeys{
    "draw_arrival_keys",
    "SELECT nextval('{schema}.pawl_arrival_key') FROM generate_series(1, $1::int8)"};
constexpr std::int64_t kSpareKeys = 256;
constexpr Statement kReadDue{
    "read_due_arrivals", "SELECT " PAWL_PG_ARRIVAL_COLUMNS("i.")
    " FROM {schema}.pawl_inbox AS i WHERE i.ns = $1 AND i.run = ANY($2::int8[]) AND NOT i.kept AND "
    "i.due <= $3 ORDER BY i.key"};
constexpr Statement kMove{
    "move_arrivals",
    "WITH gone AS (DELETE FROM {schema}.pawl_inbox WHERE ns = $1 AND run = $2 RETURNING *) INSERT "
    "INTO {schema}.pawl_inbox(ns, run, key, kept, kind, due, id, location, name, number, extra, "
    "payload) SELECT $1::int8, $3::int8, nextval('{schema}.pawl_arrival_key'), false, kind, due, "
    "id, location, name, number, extra, payload FROM (SELECT * FROM gone WHERE kind IN ($4::int8, "
    "$5::int8) ORDER BY key) AS free"};
constexpr Statement kHurry{
    "hurry_arrivals",
    "UPDATE {schema}.pawl_inbox SET due = $3 WHERE ns = $1 AND run = $2 AND kind = $4::int8 AND "
    "due > $3"};

}  // namespace

void InboxSet::begin() {
  fresh_keys_.clear();
  seen_locks_ = runs_.late_locks();
  due_.clear();
  moved_to_.clear();
}

void InboxSet::put_loaded(RunKey run, std::int64_t now_ms) { due_[run] = {now_ms, {}}; }

void InboxSet::put_due(const Row& row) {
  Arrival arrival = read_arrival(row);
  if (const auto found = due_.find(arrival.run); found != due_.end()) {
    found->second.arrivals.push_back(std::move(arrival));
  }
}

Result<void> InboxSet::load(std::span<const RunKey> runs, std::int64_t now_ms) {
  Int8Array missing;
  for (const RunKey run : runs) {
    const auto found = due_.find(run);
    if (found == due_.end() || found->second.now_ms != now_ms) {
      missing.add(run);
    }
  }
  if (missing.size() == 0) {
    return {};
  }
  const Call& call = session_.query(kReadDue).integer(session_.ns()).array(missing).integer(now_ms);
  PAWL_TRY(session_.run());
  for (const RunKey run : runs) {
    if (const auto found = due_.find(run); found == due_.end() || found->second.now_ms != now_ms) {
      put_loaded(run, now_ms);
    }
  }
  for (const Row row : call.rows()) {
    put_due(row);
  }
  return {};
}

// Whoever holds a run knows what he puts into it himself: that may come before what others have put
// meanwhile.
Result<ArrivalKey> InboxSet::next_key(RunKey run, By by) {
  const bool is_own = by == By::kHolder;
  if (runs_.late_locks() != seen_locks_) {
    seen_locks_ = runs_.late_locks();
    fresh_keys_.clear();  // Drawn before this run may have been locked.
  }
  // What was moved to this run has keys that were drawn later than those at hand.
  std::vector<ArrivalKey> newest;
  std::vector<ArrivalKey>& keys = is_own                    ? spare_keys_
                                  : moved_to_.contains(run) ? newest
                                                            : fresh_keys_;
  if (keys.empty()) {
    const Call& call = session_.query(kDrawKeys).integer(is_own ? kSpareKeys : 1);
    PAWL_TRY(session_.run());
    for (const Row key : call.rows()) {
      keys.push_back(key.as_integer(0));
    }
    std::reverse(keys.begin(), keys.end());
  }
  const ArrivalKey key = keys.back();
  keys.pop_back();
  return key;
}

Result<ArrivalKey> InboxSet::put(RunKey run, const NewArrival& arrival, By by, bool is_kept) {
  PAWL_TRY_ASSIGN(const ArrivalKey key, next_key(run, by));
  const RunRow* const row = runs_.seen(run);
  const bool is_news = by == By::kOthers && row != nullptr && row->owner != 0;
  session_.write(Write::kPutArrival, run)
      .integer(run)
      .integer(key)
      .boolean(is_kept)
      .integer_or_null(is_news ? row->owner : 0)
      .integer(arrival.kind)
      .integer(arrival.due_ms)
      .text_or_null(arrival.id)
      .text_or_null(arrival.location)
      .text_or_null(arrival.name)
      .integer_or_null(arrival.number)
      .bytes_or_null(arrival.extra)
      .payload(arrival.has_payload, arrival.payload);
  if (const auto found = due_.find(run);
      found != due_.end() && !is_kept && arrival.due_ms <= found->second.now_ms) {
    Arrival& due = found->second.arrivals.emplace_back();
    static_cast<NewArrival&>(due) = arrival;
    due.key = key;
    due.run = run;
  }
  return key;
}

Result<ArrivalKey> InboxSet::put(RunKey run, const NewArrival& arrival, By by) {
  return put(run, arrival, by, false);
}

Result<void> InboxSet::put_stored(RunKey run, const StoredArrival& arrival) {
  PAWL_TRY(put(run, arrival, By::kOthers, arrival.is_kept));
  return {};
}

Result<void> InboxSet::consume(RunKey run, ArrivalKey key) {
  due_.erase(run);
  session_.write(Write::kConsumeArrival, run).integer(run).integer(key);
  return {};
}

Result<void> InboxSet::keep(RunKey run, ArrivalKey key) {
  due_.erase(run);
  session_.write(Write::kKeepArrival, run).integer(run).integer(key);
  return {};
}

Result<void> InboxSet::withdraw(RunKey run, std::uint8_t kind, std::string_view id) {
  due_.erase(run);
  const bool is_by_location = kind == static_cast<std::uint8_t>(replay::EntryKind::kSignalTimedOut);
  session_.write(is_by_location ? Write::kWithdrawByLocation : Write::kWithdrawById, run)
      .integer(run)
      .integer(kind)
      .text_or_null(id);
  return {};
}

Result<void> InboxSet::remove_all(RunKey run) {
  due_.erase(run);
  session_.write(Write::kRemoveInbox, run).integer(run);
  return {};
}

Result<void> InboxSet::move_free_ones(RunKey from, RunKey to) {
  due_.erase(from);
  due_.erase(to);
  moved_to_.insert(to);
  session_.query(kMove)
      .integer(session_.ns())
      .integer(from)
      .integer(to)
      .integer(static_cast<std::int64_t>(replay::EntryKind::kSignalReceived))
      .integer(static_cast<std::int64_t>(replay::EntryKind::kCancellationRequested));
  return {};
}

Result<std::int64_t> InboxSet::hurry(RunKey run, std::int64_t now_ms) {
  due_.erase(run);
  const Call& call = session_.query(kHurry)
                         .integer(session_.ns())
                         .integer(run)
                         .integer(now_ms)
                         .integer(kRetryOperation);
  PAWL_TRY(session_.run());
  return call.rows().affected();
}

Result<std::vector<Arrival>> InboxSet::read_due(RunKey run, std::int64_t now_ms) {
  PAWL_TRY(load({&run, 1}, now_ms));
  std::vector<Arrival> arrivals = due_.at(run).arrivals;
  std::sort(arrivals.begin(), arrivals.end(),
            [](const Arrival& a, const Arrival& b) { return a.key < b.key; });
  return arrivals;
}

}  // namespace pawl::store::pg

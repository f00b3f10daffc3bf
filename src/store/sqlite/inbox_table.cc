#include "store/sqlite/inbox_table.h"

#include <set>
#include <utility>

#define PAWL_ARRIVAL_COLUMNS "kind, due, id, location, name, number, extra, payload"
#define PAWL_INBOX_COLUMNS \
  "i.key, i.run, i.kind, i.due, i.id, i.location, i.name, i.number, i.extra, i.payload"

namespace pawl::store {

namespace {

Result<std::vector<Arrival>> read_all(Query& query) {
  std::vector<Arrival> arrivals;
  while (true) {
    PAWL_TRY_ASSIGN(const bool found, query.step());
    if (!found) {
      return arrivals;
    }
    Arrival& arrival = arrivals.emplace_back();
    arrival.key = query.as_integer(0);
    arrival.run = query.as_integer(1);
    arrival.kind = static_cast<std::uint8_t>(query.as_integer(2));
    arrival.due_ms = query.as_integer(3);
    arrival.id = query.as_id(4);
    arrival.location = query.as_string(5);
    arrival.name = query.as_string(6);
    arrival.number = query.as_integer(7);
    arrival.extra = query.as_string(8);
    arrival.has_payload = !query.is_null(9);
    arrival.payload = query.as_string(9);
  }
}

}  // namespace

InboxTable::InboxTable(Connection& connection, std::int64_t ns)
    : connection_(connection),
      ns_(ns),
      insert_(connection, "INSERT INTO pawl_inbox(kept, ns, run, " PAWL_ARRIVAL_COLUMNS
                          ") VALUES(0,?,?,?,?,?,?,?,?,?,?)"),
      consume_(connection, "DELETE FROM pawl_inbox WHERE key = ? AND run = ?"),
      keep_(connection, "UPDATE pawl_inbox SET kept = 1 WHERE key = ? AND run = ?"),
      withdraw_by_id_(connection,
                      "DELETE FROM pawl_inbox WHERE ns = ? AND run = ? AND kind = ? AND id IS ?"),
      withdraw_by_location_(
          connection,
          "DELETE FROM pawl_inbox WHERE ns = ? AND run = ? AND kind = ? AND location IS ?"),
      remove_all_(connection, "DELETE FROM pawl_inbox WHERE ns = ? AND run = ?"),
      copy_free_ones_(connection, "INSERT INTO pawl_inbox(kept, ns, run, " PAWL_ARRIVAL_COLUMNS
                                  ") SELECT 0, ns, ?, " PAWL_ARRIVAL_COLUMNS
                                  " FROM pawl_inbox WHERE ns = ? AND run = ? AND kind IN (?, ?) "
                                  "ORDER BY key"),
      hurry_(connection,
             "UPDATE pawl_inbox SET due = ?1 WHERE ns = ?2 AND run = ?3 AND kind = ?4 AND due > "
             "?1"),
      read_kept_(connection,
                 "SELECT key FROM pawl_inbox WHERE ns = ? AND run = ? AND kept = 1 ORDER BY key"),
      read_(connection, "SELECT " PAWL_INBOX_COLUMNS
                        " FROM pawl_inbox AS i WHERE i.ns = ? AND i.run = ? ORDER BY i.key"),
      read_due_(connection, "SELECT " PAWL_INBOX_COLUMNS
                            " FROM pawl_inbox AS i WHERE i.ns = ? AND i.run = ? AND i.kept = 0 AND "
                            "i.due <= ? ORDER BY i.key"),
      last_(connection, "SELECT coalesce(max(key), 0) FROM pawl_inbox"),
      // What is new is little, so it comes first: few runs are looked up, however many are held.
      // The plus keeps SQLite from going through the whole namespace by the index.
      read_held_(connection, "SELECT " PAWL_INBOX_COLUMNS
                             " FROM pawl_inbox AS i CROSS JOIN pawl_run AS r ON r.key = i.run "
                             "WHERE i.key > ? AND +i.ns = ? AND r.owner = ? ORDER BY i.key") {}

Result<ArrivalKey> InboxTable::put(RunKey run, const NewArrival& arrival, By /*by*/) {
  Query query(insert_);
  query.integer(ns_)
      .integer(run)
      .integer(arrival.kind)
      .integer(arrival.due_ms)
      .id(arrival.id)
      .text_or_null(arrival.location)
      .text_or_null(arrival.name)
      .integer_or_null(arrival.number)
      .text_or_null(arrival.extra)
      .payload(arrival.has_payload, arrival.payload);
  PAWL_TRY(query.run());
  return connection_.last_rowid();
}

Result<void> InboxTable::put_stored(RunKey run, const StoredArrival& arrival) {
  PAWL_TRY_ASSIGN(const ArrivalKey key, put(run, arrival, By::kOthers));
  return arrival.is_kept ? keep(run, key) : Result<void>();
}

Result<std::int64_t> InboxTable::hurry(RunKey run, std::int64_t now_ms) {
  Query query(hurry_);
  query.integer(now_ms).integer(ns_).integer(run).integer(kRetryOperation);
  PAWL_TRY(query.run());
  return connection_.changes();
}

Result<std::vector<StoredArrival>> InboxTable::read_stored(RunKey run) {
  PAWL_TRY_ASSIGN(std::vector<Arrival> arrivals, read(run));
  std::set<ArrivalKey> kept;
  Query query(read_kept_);
  query.integer(ns_).integer(run);
  while (true) {
    PAWL_TRY_ASSIGN(const bool found, query.step());
    if (!found) {
      break;
    }
    kept.insert(query.as_integer(0));
  }
  std::vector<StoredArrival> stored;
  for (Arrival& arrival : arrivals) {
    stored.push_back({std::move(arrival), kept.contains(arrival.key)});
  }
  return stored;
}

Result<void> InboxTable::consume(RunKey run, ArrivalKey key) {
  return Query(consume_).integer(key).integer(run).run();
}

Result<void> InboxTable::keep(RunKey run, ArrivalKey key) {
  return Query(keep_).integer(key).integer(run).run();
}

Result<void> InboxTable::withdraw(RunKey run, std::uint8_t kind, std::string_view id) {
  if (kind == static_cast<std::uint8_t>(replay::EntryKind::kSignalTimedOut)) {
    Query query(withdraw_by_location_);
    return query.integer(ns_).integer(run).integer(kind).text_or_null(id).run();
  }
  return Query(withdraw_by_id_).integer(ns_).integer(run).integer(kind).id(id).run();
}

Result<void> InboxTable::remove_all(RunKey run) {
  return Query(remove_all_).integer(ns_).integer(run).run();
}

Result<void> InboxTable::move_free_ones(RunKey from, RunKey to) {
  Query query(copy_free_ones_);
  query.integer(to).integer(ns_).integer(from);
  query.integer(static_cast<std::int64_t>(replay::EntryKind::kSignalReceived));
  query.integer(static_cast<std::int64_t>(replay::EntryKind::kCancellationRequested));
  PAWL_TRY(query.run());
  return remove_all(from);
}

Result<std::vector<Arrival>> InboxTable::read(RunKey run) {
  Query query(read_);
  return read_all(query.integer(ns_).integer(run));
}

Result<std::vector<Arrival>> InboxTable::read_due(RunKey run, std::int64_t now_ms) {
  Query query(read_due_);
  return read_all(query.integer(ns_).integer(run).integer(now_ms));
}

Result<ArrivalKey> InboxTable::last() {
  Query query(last_);
  PAWL_TRY(query.step());
  return query.as_integer(0);
}

Result<std::vector<Arrival>> InboxTable::read_held(WorkerKey worker, ArrivalKey after) {
  Query query(read_held_);
  return read_all(query.integer(after).integer(ns_).integer(worker));
}

}  // namespace pawl::store

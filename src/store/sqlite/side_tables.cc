#include "store/sqlite/side_tables.h"

#include "store/store.h"

namespace pawl::store {

namespace {

// The first column of all rows.
Result<std::vector<std::string>> read_texts(Query& query) {
  std::vector<std::string> texts;
  while (true) {
    PAWL_TRY_ASSIGN(const bool found, query.step());
    if (!found) {
      return texts;
    }
    texts.push_back(query.as_string(0));
  }
}

}  // namespace

PromiseTable::PromiseTable(Connection& connection, std::int64_t ns)
    : ns_(ns),
      open_(connection,
            "INSERT OR IGNORE INTO pawl_promise(ns, run, name, resolved) VALUES(?,?,?,0)"),
      find_(connection, "SELECT resolved FROM pawl_promise WHERE ns = ? AND run = ? AND name = ?"),
      resolve_(connection,
               "UPDATE pawl_promise SET resolved = 1 WHERE ns = ? AND run = ? AND name = ?"),
      remove_all_(connection, "DELETE FROM pawl_promise WHERE ns = ? AND run = ?"),
      read_open_(connection,
                 "SELECT name FROM pawl_promise WHERE ns = ? AND run = ? AND resolved = 0 ORDER BY "
                 "name"),
      read_(connection,
            "SELECT name, resolved FROM pawl_promise WHERE ns = ? AND run = ? ORDER BY name") {}

Result<void> PromiseTable::open(RunKey run, std::string_view name) {
  return Query(open_).integer(ns_).integer(run).text(name).run();
}

Result<PromiseState> PromiseTable::find(RunKey run, std::string_view name) {
  Query query(find_);
  PAWL_TRY_ASSIGN(const bool found, query.integer(ns_).integer(run).text(name).step());
  if (!found) {
    return PromiseState::kNone;
  }
  return query.as_integer(0) == 0 ? PromiseState::kOpen : PromiseState::kResolved;
}

Result<void> PromiseTable::resolve(RunKey run, std::string_view name) {
  return Query(resolve_).integer(ns_).integer(run).text(name).run();
}

Result<void> PromiseTable::remove_all(RunKey run) {
  return Query(remove_all_).integer(ns_).integer(run).run();
}

Result<std::vector<std::string>> PromiseTable::read_open(RunKey run) {
  Query query(read_open_);
  return read_texts(query.integer(ns_).integer(run));
}

Result<std::vector<PromiseRow>> PromiseTable::read(RunKey run) {
  std::vector<PromiseRow> rows;
  Query query(read_);
  query.integer(ns_).integer(run);
  while (true) {
    PAWL_TRY_ASSIGN(const bool found, query.step());
    if (!found) {
      return rows;
    }
    rows.push_back({query.as_string(0), query.as_integer(1) != 0});
  }
}

DedupeTable::DedupeTable(Connection& connection, std::int64_t ns)
    : ns_(ns),
      find_(connection, "SELECT 1 FROM pawl_dedupe WHERE ns = ? AND chain = ? AND id = ?"),
      add_(connection, "INSERT OR IGNORE INTO pawl_dedupe(ns, chain, id) VALUES(?,?,?)"),
      remove_all_(connection, "DELETE FROM pawl_dedupe WHERE ns = ? AND chain = ?"),
      read_(connection, "SELECT id FROM pawl_dedupe WHERE ns = ? AND chain = ? ORDER BY id") {}

Result<bool> DedupeTable::has(RunKey chain, std::string_view id) {
  return Query(find_).integer(ns_).integer(chain).text(id).step();
}

Result<void> DedupeTable::add(RunKey chain, std::string_view id) {
  return Query(add_).integer(ns_).integer(chain).text(id).run();
}

Result<void> DedupeTable::remove_all(RunKey chain) {
  return Query(remove_all_).integer(ns_).integer(chain).run();
}

Result<std::vector<std::string>> DedupeTable::read(RunKey chain) {
  Query query(read_);
  return read_texts(query.integer(ns_).integer(chain));
}

CompensationTable::CompensationTable(Connection& connection, std::int64_t ns)
    : connection_(connection),
      ns_(ns),
      add_(connection,
           "INSERT OR REPLACE INTO pawl_compensation(ns, run, position, state, attempt, due, name, "
           "outcome, input) VALUES(?,?,?,?,?,?,?,?,?)"),
      change_(connection,
              "UPDATE pawl_compensation SET state = ?, attempt = ?, due = ?, outcome = ? WHERE ns "
              "= ? AND run = ? AND position = ?"),
      remove_all_(connection, "DELETE FROM pawl_compensation WHERE ns = ? AND run = ?"),
      hurry_(connection,
             "UPDATE pawl_compensation SET due = ?1 WHERE ns = ?2 AND run = ?3 AND state = 0 AND "
             "due > ?1"),
      read_(connection,
            "SELECT position, state, attempt, due, name, outcome, input FROM pawl_compensation "
            "WHERE ns = ? AND run = ? ORDER BY position") {}

Result<void> CompensationTable::add(RunKey run, const CompensationRow& row) {
  Query query(add_);
  query.integer(ns_)
      .integer(run)
      .integer(row.position)
      .integer(static_cast<std::int64_t>(row.state))
      .integer(row.attempt)
      .integer(row.due_ms)
      .text(row.name)
      .blob_or_null(row.outcome)
      .payload(row.has_input, row.input);
  return query.run();
}

Result<void> CompensationTable::remove_all(RunKey run) {
  return Query(remove_all_).integer(ns_).integer(run).run();
}

Result<std::int64_t> CompensationTable::hurry(RunKey run, std::int64_t now_ms) {
  PAWL_TRY(Query(hurry_).integer(now_ms).integer(ns_).integer(run).run());
  return connection_.changes();
}

Result<void> CompensationTable::change(RunKey run, const CompensationChange& change) {
  Query query(change_);
  query.integer(static_cast<std::int64_t>(change.state))
      .integer(change.attempt)
      .integer(change.due_ms)
      .blob_or_null(change.outcome);
  return query.integer(ns_).integer(run).integer(change.position).run();
}

Result<std::vector<CompensationRow>> CompensationTable::read(RunKey run) {
  std::vector<CompensationRow> rows;
  Query query(read_);
  query.integer(ns_).integer(run);
  while (true) {
    PAWL_TRY_ASSIGN(const bool found, query.step());
    if (!found) {
      return rows;
    }
    CompensationRow& row = rows.emplace_back();
    row.position = static_cast<std::uint32_t>(query.as_integer(0));
    row.state = static_cast<CompensationState>(query.as_integer(1));
    row.attempt = static_cast<std::uint32_t>(query.as_integer(2));
    row.due_ms = query.as_integer(3);
    row.name = query.as_string(4);
    row.outcome = query.as_string(5);
    row.has_input = !query.is_null(6);
    row.input = query.as_string(6);
  }
}

}  // namespace pawl::store

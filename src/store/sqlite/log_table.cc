#include "store/sqlite/log_table.h"

#include <optional>
#include <utility>

#include "store/checkpoint_codec.h"
#include "store/operations/row_rules.h"

// Columns of an entry in the order in which they are bound and read.
#define PAWL_ENTRY_COLUMNS                                                                \
  "seq, kind, time, version, location, id, name, child_kind, removed, step_key, source, " \
  "checked, number, digest, extra, checkpoint, payload"
// Of forgotten entries: those of loops below ?3 whose iteration there is at most ?4.
#define PAWL_IS_BELOW \
  "loop > ?3 AND loop < ?3 || ':' AND CAST(substr(loop, length(?3) + 1) AS INTEGER) <= ?4"
#define PAWL_TRIM_STATE                                                                 \
  "DELETE FROM pawl_kept_state WHERE ns = ?1 AND run = ?2 AND seq IN (SELECT seq FROM " \
  "pawl_forgotten WHERE ns = ?1 AND run = ?2 AND checkpoint IS NOT NULL AND "

namespace pawl::store {

namespace {

enum Column : int {
  kSeq,
  kKind,
  kTime,
  kVersion,
  kLocation,
  kId,
  kName,
  kChildKind,
  kRemoved,
  kStepKey,
  kSource,
  kChecked,
  kNumber,
  kDigest,
  kExtra,
  kCheckpoint,
  kPayload,
  kLoop,  // Only of what was moved away.
  kIteration,
};

}  // namespace

LogTable::LogTable(Connection& connection, std::int64_t ns)
    : connection_(connection),
      ns_(ns),
      insert_(connection, "INSERT INTO pawl_log(ns, run, " PAWL_ENTRY_COLUMNS
                          ") VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)"),
      remove_rows_(connection, "DELETE FROM pawl_log WHERE rowid BETWEEN ? AND ?"),
      copy_to_forgotten_(connection,
                         "INSERT INTO pawl_forgotten(loop, iteration, ns, run, " PAWL_ENTRY_COLUMNS
                         ") SELECT ?, ?, ns, run, " PAWL_ENTRY_COLUMNS
                         " FROM pawl_log WHERE ns = ? AND run = ? AND seq BETWEEN ? AND ?"),
      remove_range_(connection,
                    "DELETE FROM pawl_log WHERE ns = ? AND run = ? AND seq BETWEEN ? AND ?"),
      trim_(connection,
            "DELETE FROM pawl_forgotten WHERE ns = ? AND run = ? AND loop = ? AND iteration <= ?"),
      // Of loops inside this one: their locations go on with the iteration they were in.
      trim_below_(connection,
                  "DELETE FROM pawl_forgotten WHERE ns = ?1 AND run = ?2 AND " PAWL_IS_BELOW),
      add_state_(
          connection,
          "INSERT OR REPLACE INTO pawl_kept_state(ns, run, seq, name, value) VALUES(?,?,?,?,?)"),
      remove_state_(connection, "DELETE FROM pawl_kept_state WHERE ns = ? AND run = ?"),
      trim_state_(connection, PAWL_TRIM_STATE "loop = ?3 AND iteration <= ?4)"),
      trim_state_below_(connection, PAWL_TRIM_STATE PAWL_IS_BELOW ")"),
      remove_log_(connection, "DELETE FROM pawl_log WHERE ns = ? AND run = ?"),
      remove_forgotten_(connection, "DELETE FROM pawl_forgotten WHERE ns = ? AND run = ?"),
      last_seq_(connection, "SELECT max(seq) FROM pawl_log WHERE ns = ? AND run = ?"),
      read_(connection, "SELECT " PAWL_ENTRY_COLUMNS
                        " FROM pawl_log WHERE ns = ? AND run = ? AND seq >= ? ORDER BY seq"),
      read_last_(connection, "SELECT " PAWL_ENTRY_COLUMNS
                             " FROM pawl_log WHERE ns = ? AND run = ? ORDER BY seq DESC LIMIT 1"),
      read_forgotten_(
          connection,
          "SELECT " PAWL_ENTRY_COLUMNS
          ", loop, iteration FROM pawl_forgotten WHERE ns = ? AND run = ? ORDER BY seq") {}

Result<bool> LogTable::append_one(RunKey run, const replay::Entry& entry) {
  std::string checkpoint;
  if (entry.checkpoint != nullptr) [[unlikely]] {
    checkpoint = encode_checkpoint(*entry.checkpoint);
  }
  Query query(insert_);
  query.integer(ns_)
      .integer(run)
      .integer(static_cast<std::int64_t>(entry.seq))
      .integer(static_cast<std::int64_t>(entry.kind))
      .integer(entry.time_ms)
      .integer(entry.version)
      .text_or_null(entry.location)
      .id(entry.id)
      .text_or_null(entry.name)
      .text_or_null(entry.child_kind)
      .integer_or_null(static_cast<std::int64_t>(entry.removed))
      .text_or_null(entry.step_key)
      .text_or_null(entry.source)
      .integer_or_null(entry.checked)
      .integer_or_null(entry.number)
      .integer_or_null(static_cast<std::int64_t>(entry.input_digest))
      .text_or_null(entry.extra)
      .blob_or_null(checkpoint)
      .payload(entry.has_payload, entry.payload);
  return query.insert();
}

// Rows of one transaction follow one another, so that a range of row ids takes them back.
Result<bool> LogTable::append(RunKey run, std::span<const replay::Entry> entries) {
  std::int64_t first_rowid = 0;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    PAWL_TRY_ASSIGN(const bool added, append_one(run, entries[i]));
    if (!added) {
      if (i > 0) {
        const std::int64_t last_rowid = first_rowid + static_cast<std::int64_t>(i) - 1;
        PAWL_TRY(Query(remove_rows_).integer(first_rowid).integer(last_rowid).run());
      }
      return false;
    }
    if (i == 0 && entries.size() > 1) {
      first_rowid = connection_.last_rowid();
    }
  }
  for (const replay::Entry& entry : entries) {
    if (entry.checkpoint != nullptr) [[unlikely]] {
      PAWL_TRY(keep_state(run, entry));
    }
  }
  return true;
}

// For those who ask by SQL what the state is: they cannot read a checkpoint. It stays as long as
// the checkpoint, forgotten or not: without it, what the trimmed iterations left would be missing
// in the state of an earlier moment.
Result<void> LogTable::keep_state(RunKey run, const replay::Entry& checkpointed) {
  for (const replay::StateChange& change : checkpointed.checkpoint->changes) {
    Query query(add_state_);
    query.integer(ns_).integer(run).integer(static_cast<std::int64_t>(checkpointed.seq));
    PAWL_TRY(query.text(change.key)
                 .payload(change.value.has_value(), change.value ? *change.value : "")
                 .run());
  }
  return {};
}

Result<void> LogTable::remove_all(RunKey run) {
  PAWL_TRY(Query(remove_log_).integer(ns_).integer(run).run());
  PAWL_TRY(Query(remove_forgotten_).integer(ns_).integer(run).run());
  return Query(remove_state_).integer(ns_).integer(run).run();
}

Result<void> LogTable::move_away(RunKey run, std::uint64_t first, std::uint64_t last,
                                 std::string_view loop, std::int64_t iteration) {
  const auto from = static_cast<std::int64_t>(first);
  const auto to = static_cast<std::int64_t>(last);
  Query copy(copy_to_forgotten_);
  copy.text(loop).integer(iteration).integer(ns_).integer(run).integer(from).integer(to);
  PAWL_TRY(copy.run());
  return Query(remove_range_).integer(ns_).integer(run).integer(from).integer(to).run();
}

Result<void> LogTable::trim(RunKey run, std::string_view loop, std::int64_t iteration) {
  const std::int64_t dropped = iteration - kKeptIterations;
  if (dropped <= 0) {
    return {};
  }
  const std::string prefix = prefix_below(loop);
  PAWL_TRY(Query(trim_state_).integer(ns_).integer(run).text(loop).integer(dropped).run());
  PAWL_TRY(Query(trim_state_below_).integer(ns_).integer(run).text(prefix).integer(dropped).run());
  PAWL_TRY(Query(trim_).integer(ns_).integer(run).text(loop).integer(dropped).run());
  return Query(trim_below_).integer(ns_).integer(run).text(prefix).integer(dropped).run();
}

Result<void> LogTable::forget(RunKey run, std::span<const std::uint64_t> seqs,
                              std::string_view loop, std::int64_t iteration) {
  std::size_t i = 0;
  while (i < seqs.size()) {
    std::size_t end = i + 1;
    while (end < seqs.size() && seqs[end] == seqs[end - 1] + 1) {
      ++end;
    }
    PAWL_TRY(move_away(run, seqs[i], seqs[end - 1], loop, iteration));
    i = end;
  }
  return trim(run, loop, iteration);
}

Result<std::uint64_t> LogTable::last_seq(RunKey run) {
  Query query(last_seq_);
  PAWL_TRY(query.integer(ns_).integer(run).step());
  return static_cast<std::uint64_t>(query.as_integer(0));
}

Result<void> LogTable::visit_row(Query& query, const Visit& visit) {
  replay::Entry entry;
  entry.seq = static_cast<std::uint64_t>(query.as_integer(kSeq));
  entry.kind = static_cast<replay::EntryKind>(query.as_integer(kKind));
  entry.time_ms = query.as_integer(kTime);
  entry.version = static_cast<std::uint32_t>(query.as_integer(kVersion));
  entry.location = query.as_bytes(kLocation);
  std::string uuid;
  if (query.is_blob(kId)) {
    uuid = query.as_id(kId);
    entry.id = uuid;
  } else {
    entry.id = query.as_bytes(kId);
  }
  entry.name = query.as_bytes(kName);
  entry.child_kind = query.as_bytes(kChildKind);
  entry.removed = static_cast<replay::CommandKind>(query.as_integer(kRemoved));
  entry.step_key = query.as_bytes(kStepKey);
  entry.source = query.as_bytes(kSource);
  entry.checked = static_cast<std::uint32_t>(query.as_integer(kChecked));
  entry.number = query.as_integer(kNumber);
  entry.input_digest = static_cast<std::uint64_t>(query.as_integer(kDigest));
  entry.extra = query.as_bytes(kExtra);
  entry.has_payload = !query.is_null(kPayload);
  entry.payload = query.as_bytes(kPayload);
  std::optional<replay::Checkpoint> checkpoint;
  if (!query.is_null(kCheckpoint)) {
    checkpoint.emplace();
    if (!decode_checkpoint(query.as_bytes(kCheckpoint), *checkpoint)) {
      return make_error(ErrorCode::kStoreCorrupt, "the database '" + connection_.path() +
                                                      "' holds a damaged checkpoint at seq " +
                                                      std::to_string(entry.seq) +
                                                      "; stop, and restore a copy");
    }
    entry.checkpoint = &*checkpoint;
  }
  return visit(entry);
}

Result<void> LogTable::visit_rows(Query& query, const Visit& visit) {
  while (true) {
    PAWL_TRY_ASSIGN(const bool has_row, query.step());
    if (!has_row) {
      return {};
    }
    PAWL_TRY(visit_row(query, visit));
  }
}

Result<void> LogTable::read(RunKey run, std::uint64_t from_seq, const Visit& visit) {
  Query query(read_);
  query.integer(ns_).integer(run).integer(static_cast<std::int64_t>(from_seq));
  return visit_rows(query, visit);
}

Result<void> LogTable::read_last(RunKey run, const Visit& visit) {
  Query query(read_last_);
  query.integer(ns_).integer(run);
  return visit_rows(query, visit);
}

Result<void> LogTable::read_forgotten(RunKey run, const Visit& visit) {
  return read_moved(run,
                    [&](const replay::Entry& entry, const MovedFrom&) { return visit(entry); });
}

Result<void> LogTable::read_moved(
    RunKey run, const std::function<Result<void>(const replay::Entry&, const MovedFrom&)>& visit) {
  Query query(read_forgotten_);
  query.integer(ns_).integer(run);
  return visit_rows(query, [&](const replay::Entry& entry) {
    return visit(entry, {query.as_bytes(kLoop), query.as_integer(kIteration)});
  });
}

}  // namespace pawl::store

#include "store/postgres/log_set.h"

#include <array>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "store/checkpoint_codec.h"
#include "store/operations/row_rules.h"
#include "store/postgres/records.h"

namespace pawl::store::pg {

namespace {

constexpr Statement kFindSeqs{
    "find_seqs",
    "SELECT 1 FROM {schema}.pawl_log WHERE ns = $1 AND run = $2 AND seq = ANY($3::int8[]) LIMIT 1"};
constexpr Statement kLastSeq{
    "last_seq", "SELECT coalesce(max(seq), 0) FROM {schema}.pawl_log WHERE ns = $1 AND run = $2"};
constexpr Statement kForget{
    "forget",
    "WITH gone AS (DELETE FROM {schema}.pawl_log WHERE ns = $1 AND run = $2 AND seq = "
    "ANY($3::int8[]) RETURNING " PAWL_PG_ENTRY_COLUMNS
    ") INSERT INTO {schema}.pawl_forgotten(ns, run, loop, iteration, " PAWL_PG_ENTRY_COLUMNS
    ") SELECT $1::int8, $2::int8, $4::text, $5::int8, " PAWL_PG_ENTRY_COLUMNS " FROM gone"};
// Of loops inside this one: their locations go on with the iteration they were in.
#define PAWL_PG_IS_BELOW                                                                 \
  "loop > $3::text AND loop < $3::text || ':' AND substr(loop, length($3::text) + 1) ~ " \
  "'^[0-9]' AND substring(substr(loop, length($3::text) + 1) FROM '^[0-9]+')::numeric <= $4::int8"
#define PAWL_PG_TRIM_STATE                                                                  \
  "DELETE FROM {schema}.pawl_kept_state WHERE ns = $1 AND run = $2 AND seq IN (SELECT seq " \
  "FROM {schema}.pawl_forgotten WHERE ns = $1 AND run = $2 AND checkpoint IS NOT NULL AND "
constexpr Statement kTrimState{"trim_state", PAWL_PG_TRIM_STATE "loop = $3 AND iteration <= $4)"};
constexpr Statement kTrimStateBelow{"trim_state_below", PAWL_PG_TRIM_STATE PAWL_PG_IS_BELOW ")"};
constexpr Statement kTrim{
    "trim",
    "DELETE FROM {schema}.pawl_forgotten WHERE ns = $1 AND run = $2 AND loop = $3 AND iteration "
    "<= $4"};
constexpr Statement kTrimBelow{
    "trim_below",
    "DELETE FROM {schema}.pawl_forgotten WHERE ns = $1 AND run = $2 AND " PAWL_PG_IS_BELOW};
constexpr std::array<Statement, 3> kRemoveAll = {{
    {"remove_log", "DELETE FROM {schema}.pawl_log WHERE ns = $1 AND run = $2"},
    {"remove_forgotten", "DELETE FROM {schema}.pawl_forgotten WHERE ns = $1 AND run = $2"},
    {"remove_state", "DELETE FROM {schema}.pawl_kept_state WHERE ns = $1 AND run = $2"},
}};

}  // namespace

Result<bool> LogSet::is_taken(RunKey run, std::span<const replay::Entry> entries) {
  std::set<std::uint64_t> seqs;
  Int8Array array;
  for (const replay::Entry& entry : entries) {
    if (!seqs.insert(entry.seq).second) {
      return true;
    }
    array.add(static_cast<std::int64_t>(entry.seq));
  }
  const Call& call = session_.query(kFindSeqs).integer(session_.ns()).integer(run).array(array);
  PAWL_TRY(session_.run());
  return !call.rows().empty();
}

Result<bool> LogSet::append(RunKey run, std::span<const replay::Entry> entries) {
  if (is_careful_ && !entries.empty()) {
    PAWL_TRY_ASSIGN(const bool taken, is_taken(run, entries));
    if (taken) {
      return false;
    }
  }
  for (const replay::Entry& entry : entries) {
    append_one(run, entry);
  }
  for (const replay::Entry& entry : entries) {
    if (entry.checkpoint != nullptr) {
      keep_state(run, entry);
    }
  }
  return true;
}

void LogSet::append_one(RunKey run, const replay::Entry& entry) {
  std::string checkpoint;
  if (entry.checkpoint != nullptr) {
    checkpoint = encode_checkpoint(*entry.checkpoint);
  }
  session_.write(Write::kAppendEntry, run)
      .integer(run)
      .integer(static_cast<std::int64_t>(entry.seq))
      .integer(static_cast<std::int64_t>(entry.kind))
      .integer(entry.time_ms)
      .integer(entry.version)
      .text_or_null(entry.location)
      .text_or_null(entry.id)
      .text_or_null(entry.name)
      .text_or_null(entry.child_kind)
      .integer_or_null(static_cast<std::int64_t>(entry.removed))
      .text_or_null(entry.step_key)
      .text_or_null(entry.source)
      .integer_or_null(entry.checked)
      .integer_or_null(entry.number)
      .integer_or_null(static_cast<std::int64_t>(entry.input_digest))
      .bytes_or_null(entry.extra)
      .bytes_or_null(checkpoint)
      .payload(entry.has_payload, entry.payload);
}

// For those who ask by SQL what the state is: they cannot read a checkpoint.
void LogSet::keep_state(RunKey run, const replay::Entry& checkpointed) {
  std::map<std::string_view, const std::optional<std::string>*> last;
  for (const replay::StateChange& change : checkpointed.checkpoint->changes) {
    last[change.key] = &change.value;
  }
  for (const auto& [key, value] : last) {
    session_.write(Write::kKeepState, run)
        .integer(run)
        .integer(static_cast<std::int64_t>(checkpointed.seq))
        .text(key)
        .payload(value->has_value(), value->has_value() ? **value : std::string_view());
  }
}

Result<void> LogSet::forget(RunKey run, std::span<const std::uint64_t> seqs, std::string_view loop,
                            std::int64_t iteration) {
  Int8Array array;
  array.reserve(seqs.size(), seqs.size() * 8);
  for (const std::uint64_t seq : seqs) {
    array.add(static_cast<std::int64_t>(seq));
  }
  // Now, because the array is borrowed; a loop does so once in many iterations.
  session_.query(kForget)
      .integer(session_.ns())
      .integer(run)
      .array(array)
      .text(loop)
      .integer(iteration);
  const std::int64_t dropped = iteration - kKeptIterations;
  const std::string prefix = prefix_below(loop);
  if (dropped > 0) {
    for (const auto& [statement, text] :
         {std::pair<Statement, std::string_view>(kTrimState, loop),
          std::pair<Statement, std::string_view>(kTrimStateBelow, prefix),
          std::pair<Statement, std::string_view>(kTrim, loop),
          std::pair<Statement, std::string_view>(kTrimBelow, prefix)}) {
      session_.query(statement).integer(session_.ns()).integer(run).text(text).integer(dropped);
    }
  }
  return session_.run();
}

Result<void> LogSet::remove_all(RunKey run) {
  for (const Statement& statement : kRemoveAll) {
    session_.query(statement).integer(session_.ns()).integer(run);
  }
  return {};
}

Result<std::uint64_t> LogSet::last_seq(RunKey run) {
  const Call& call = session_.query(kLastSeq).integer(session_.ns()).integer(run);
  PAWL_TRY(session_.run());
  return static_cast<std::uint64_t>(call.rows()[0].as_integer(0));
}

}  // namespace pawl::store::pg

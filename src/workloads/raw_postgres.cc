#include "workloads/raw_postgres.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "store/postgres/batch.h"
#include "store/postgres/bulk.h"
#include "store/postgres/connection.h"
#include "store/postgres/postgres_store.h"

namespace pawl::workloads {

namespace {

using store::pg::Batch;
using store::pg::Bulk;
using store::pg::Call;
using store::pg::Connection;
using store::pg::Effect;
using store::pg::Row;
using store::pg::Rows;
using store::pg::Statement;

// A table as it is read and written: each column with its type, as in Bulk.
struct Table {
  std::string_view columns;
  std::string_view types;
  Statement insert;
};

constexpr Table kLog = {
    "run, seq, kind, time, version, location, id, name, child_kind, removed, step_key, source, "
    "checked, number, digest, extra, checkpoint, payload",
    "iiiiittttittiiibbb",
    {"raw_log",
     "INSERT INTO {schema}.pawl_log(ns, run, seq, kind, time, version, location, id, name, "
     "child_kind, removed, step_key, source, checked, number, digest, extra, checkpoint, payload) "
     "SELECT $1::int8, * FROM unnest($2::int8[], $3::int8[], $4::int8[], $5::int8[], $6::int8[], "
     "$7::text[], $8::text[], $9::text[], $10::text[], $11::int8[], $12::text[], $13::text[], "
     "$14::int8[], $15::int8[], $16::int8[], $17::bytea[], $18::bytea[], $19::bytea[])"}};
constexpr Table kRun = {
    "key, epoch, wake, created, changed, chain, parent, number, status, goal, parent_close, "
    "approved, paused, uuid, id, kind, definition, parent_command, waiting_for",
    "iiiiiiiiiiioouttttt",
    {"raw_run",
     "INSERT INTO {schema}.pawl_run(ns, key, epoch, wake, created, changed, chain, parent, number, "
     "status, goal, parent_close, approved, paused, uuid, id, kind, definition, parent_command, "
     "waiting_for) SELECT $1::int8, * FROM unnest($2::int8[], $3::int8[], $4::int8[], $5::int8[], "
     "$6::int8[], $7::int8[], $8::int8[], $9::int8[], $10::int8[], $11::int8[], $12::int8[], "
     "$13::bool[], $14::bool[], $15::uuid[], $16::text[], $17::text[], $18::text[], $19::text[], "
     "$20::text[])"}};
constexpr Table kInput = {
    "run, input",
    "ib",
    {"raw_input",
     "INSERT INTO {schema}.pawl_input(ns, run, input) SELECT $1::int8, * FROM "
     "unnest($2::int8[], $3::bytea[])"}};

void add(Bulk& bulk, const Row& row, std::string_view types) {
  bulk.row();
  for (std::size_t i = 0; i < types.size(); ++i) {
    const int column = static_cast<int>(i);
    if (row.is_null(column)) {
      bulk.null();
    } else if (types[i] == 'i') {
      bulk.integer(row.as_integer(column));
    } else if (types[i] == 't') {
      bulk.text(row.as_bytes(column));
    } else if (types[i] == 'b') {
      bulk.bytes(row.as_bytes(column));
    } else if (types[i] == 'u') {
      bulk.uuid(row.as_uuid(column));
    } else {
      bulk.boolean(row.as_bool(column));
    }
  }
}

std::string select(const Table& table, std::string_view name, std::string_view rest) {
  return "SELECT " + std::string(table.columns) + " FROM {schema}." + std::string(name) + " " +
         std::string(rest);
}

}  // namespace

// All rows of a batch of one table are one statement, and the batch is one round trip.
Result<RawFigure> copy_log(const store::PostgresOptions& source, std::size_t batch,
                           std::size_t rows_max) {
  PAWL_TRY_ASSIGN(const auto from, Connection::open(source));
  Batch reading(*from, Effect::kReads);
  // As they lie in the table, which is as they were written.
  const std::string log_sql = select(kLog, "pawl_log", "ORDER BY ctid LIMIT $1::int8");
  const std::string run_sql = select(kRun, "pawl_run", "");
  const std::string input_sql = select(kInput, "pawl_input", "");
  const Call& log = reading.add({"", log_sql}).integer(static_cast<std::int64_t>(rows_max));
  const Call& runs = reading.add({"", run_sql});
  const Call& inputs = reading.add({"", input_sql});
  PAWL_TRY(reading.run());
  std::unordered_map<std::int64_t, Row> run_of;
  std::unordered_map<std::int64_t, Row> input_of;
  for (const Row row : runs.rows()) {
    run_of.emplace(row.as_integer(0), row);
  }
  for (const Row row : inputs.rows()) {
    input_of.emplace(row.as_integer(0), row);
  }

  store::PostgresOptions target = source;
  target.schema += "_raw";
  drop_schema(target);
  PAWL_TRY(store::open_postgres(target));  // Makes the tables.
  PAWL_TRY_ASSIGN(const auto to, Connection::open(target));
  RawFigure figure;
  const Rows& rows = log.rows();
  const auto started = std::chrono::steady_clock::now();
  for (std::size_t first = 0; first < rows.size(); first += batch) {
    Bulk new_runs(kRun.insert, kRun.types);
    Bulk new_inputs(kInput.insert, kInput.types);
    Bulk entries(kLog.insert, kLog.types);
    for (std::size_t i = first; i < std::min(rows.size(), first + batch); ++i) {
      const std::int64_t run = rows[i].as_integer(0);
      if (const auto found = run_of.find(run); found != run_of.end()) {
        add(new_runs, found->second, kRun.types);
        run_of.erase(found);
      }
      if (const auto found = input_of.find(run); found != input_of.end()) {
        add(new_inputs, found->second, kInput.types);
        input_of.erase(found);
      }
      add(entries, rows[i], kLog.types);
    }
    Batch writing(*to);  // One transaction, as it is one round trip.
    for (const Bulk* const bulk : {&new_runs, &new_inputs, &entries}) {
      if (bulk->rows() > 0) {
        bulk->send(writing, 0);
      }
    }
    PAWL_TRY(writing.run());
    ++figure.commits;
  }
  figure.secs = std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
  figure.rows = rows.size();
  drop_schema(target);
  return figure;
}

Result<RawFigure> read_log(const store::PostgresOptions& source, std::size_t rows_max) {
  PAWL_TRY_ASSIGN(const auto from, Connection::open(source));
  const std::string sql = select(kLog, "pawl_log", "ORDER BY ns, run, seq LIMIT $1::int8");
  const auto started = std::chrono::steady_clock::now();
  Batch reading(*from, Effect::kReads);
  const Call& log = reading.add({"", sql}).integer(static_cast<std::int64_t>(rows_max));
  PAWL_TRY(reading.run());
  RawFigure figure;
  for (const Row row : log.rows()) {
    figure.rows += row.as_bytes(17).size() < source.payload_bytes_max ? 1 : 0;
  }
  figure.secs = std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
  return figure;
}

void drop_schema(const store::PostgresOptions& options) {
  if (const auto connection = Connection::open(options)) {
    static_cast<void>(
        (*connection)
            ->execute(
                "SET LOCAL client_min_messages = warning; DROP SCHEMA IF EXISTS {schema} CASCADE"));
  }
}

}  // namespace pawl::workloads

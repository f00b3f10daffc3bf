#include "store/postgres/reader.h"

#include <algorithm>
#include <limits>

#include "store/operations/row_rules.h"
#include "store/postgres/records.h"

#define PAWL_PG_SELECT_RUN "SELECT " PAWL_PG_RUN_COLUMNS("") " FROM {schema}.pawl_run "
#define PAWL_PG_SELECT_TASK      \
  "SELECT " PAWL_PG_TASK_COLUMNS \
  " FROM {schema}.pawl_task AS t JOIN {schema}.pawl_run AS r ON r.ns = t.ns AND r.key = t.run "
#define PAWL_PG_SELECT_ARRIVAL \
  "SELECT " PAWL_PG_ARRIVAL_COLUMNS("i.") " FROM {schema}.pawl_inbox AS i "

namespace pawl::store::pg {

namespace {

constexpr Statement kFind{"find_run", PAWL_PG_SELECT_RUN "WHERE ns = $1 AND key = $2"};
constexpr Statement kFindNewest{
    "find_newest_run", PAWL_PG_SELECT_RUN "WHERE ns = $1 AND id = $2 ORDER BY number DESC LIMIT 1"};
constexpr Statement kFindNumbered{
    "find_numbered_run", PAWL_PG_SELECT_RUN "WHERE ns = $1 AND id = $2 AND number = $3::int8"};
constexpr Statement kReadInput{"read_input",
                               "SELECT input FROM {schema}.pawl_input WHERE ns = $1 AND run = $2"};
constexpr Statement kReadTags{
    "read_run_tags",
    "SELECT name, value FROM {schema}.pawl_tag WHERE ns = $1 AND run = $2 ORDER BY name, value"};
constexpr Statement kReadReason{
    "read_reason", "SELECT reason FROM {schema}.pawl_reason WHERE ns = $1 AND run = $2"};
constexpr Statement kReadLog{
    "read_log",
    "SELECT " PAWL_PG_ENTRY_COLUMNS
    " FROM {schema}.pawl_log WHERE ns = $1 AND run = $2 AND seq >= $3 ORDER BY seq LIMIT $4::int8"};
constexpr Statement kReadForgotten{
    "read_forgotten",
    "SELECT " PAWL_PG_ENTRY_COLUMNS
    " FROM {schema}.pawl_forgotten WHERE ns = $1 AND run = $2 AND seq >= $3 ORDER BY seq LIMIT "
    "$4::int8"};
constexpr Statement kReadLast{
    "read_last", "SELECT " PAWL_PG_ENTRY_COLUMNS
                 " FROM {schema}.pawl_log WHERE ns = $1 AND run = $2 ORDER BY seq DESC LIMIT 1"};
constexpr Statement kReadNews{"read_news", PAWL_PG_SELECT_ARRIVAL
                              "JOIN {schema}.pawl_run AS r ON r.ns = i.ns AND r.key = i.run "
                              "WHERE i.ns = $1 AND i.news = $2 AND r.owner = $2 ORDER BY i.key"};
constexpr Statement kReadInbox{
    "read_inbox", PAWL_PG_SELECT_ARRIVAL "WHERE i.ns = $1 AND i.run = $2 ORDER BY i.key"};
constexpr Statement kReadDueInbox{
    "read_due_inbox", PAWL_PG_SELECT_ARRIVAL
    "WHERE i.ns = $1 AND i.run = $2 AND NOT i.kept AND i.due <= $3 ORDER BY i.key"};
constexpr Statement kReadCompensations{
    "read_compensations",
    "SELECT position, state, attempt, due, name, outcome, input FROM {schema}.pawl_compensation "
    "WHERE ns = $1 AND run = $2 ORDER BY position"};
constexpr Statement kReadPromises{
    "read_promises",
    "SELECT name FROM {schema}.pawl_promise WHERE ns = $1 AND run = $2 AND NOT resolved ORDER BY "
    "name"};
constexpr Statement kReadTasks{"read_tasks",
                               PAWL_PG_SELECT_TASK "WHERE t.ns = $1 AND t.run = $2 ORDER BY t.key"};
constexpr Statement kReadChildren{
    "read_children",
    PAWL_PG_SELECT_RUN "WHERE ns = $1 AND parent = $2 AND status IN (1, 2, 3, 8) ORDER BY key"};
constexpr Statement kNextWake{
    "next_wake",
    "SELECT min(w.wake) FROM unnest($2::text[]) AS k(kind) CROSS JOIN LATERAL (SELECT r.wake FROM "
    "{schema}.pawl_run AS r WHERE r.ns = $1 AND r.kind = k.kind AND r.wake IS NOT NULL ORDER BY "
    "r.wake LIMIT 1) AS w"};
// As Store::next_wake() says of kinds that are in `left`.
constexpr Statement kNextWakeLeft{
    "next_wake_left",
    "SELECT min(w.wake) FROM unnest($2::text[]) AS k(kind) CROSS JOIN LATERAL (SELECT "
    "coalesce(min(f.wake) FILTER (WHERE NOT f.is_left), CASE count(*) WHEN $6::int8 THEN "
    "max(f.wake) END) AS wake FROM (SELECT r.wake, " PAWL_PG_IS_LEFT("$4", "$5") " AS is_left FROM "
    "{schema}.pawl_run AS r WHERE r.ns = $1 AND r.kind = k.kind AND r.wake > $3::int8 ORDER BY "
    "r.wake LIMIT $6::int8) AS f) AS w"};
constexpr Statement kReadWorkers{
    "read_known_workers",
    "SELECT key, coalesce(serves, '') FROM {schema}.pawl_worker WHERE ns = $1 ORDER BY key"};
constexpr Statement kDueTasks{
    "due_tasks", PAWL_PG_SELECT_TASK
    "WHERE t.ns = $1 AND t.due <= $2 AND t.due IS NOT NULL ORDER BY t.due, t.key LIMIT $3::int8"};
constexpr Statement kNextDue{
    "next_due_task",
    "SELECT due FROM {schema}.pawl_task WHERE ns = $1 AND due > $2 AND due IS NOT NULL ORDER BY "
    "due LIMIT 1"};
constexpr Statement kFirstExpiry{
    "first_expiry", "SELECT min(expires) FROM {schema}.pawl_worker WHERE ns = $1 AND key <> $2"};
constexpr Statement kReadClock{
    "read_clock",
    "SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::int8 WHERE $1::int8 "
    "IS NOT NULL"};
constexpr Statement kBeginSnapshot{"begin_snapshot",
                                   "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"};

// Entries that are in memory at a time.
constexpr std::int64_t kPageEntries = 10'000;

Result<std::vector<Arrival>> no_arrivals() { return std::vector<Arrival>(); }

}  // namespace

Result<void> Reader::ask(const Statement& statement, const Bind& bind, const Take& take) {
  const std::scoped_lock lock(mutex_);
  PAWL_TRY(connection_->ensure());
  Batch batch(*connection_, Effect::kReads);
  Call& call = batch.add(statement).integer(ns_);
  bind(call);
  PAWL_TRY(batch.run());
  for (const Row row : call.rows()) {
    PAWL_TRY(take(row));
  }
  return {};
}

Result<std::optional<RunRow>> Reader::find_run(RunKey run) {
  std::optional<RunRow> found;
  PAWL_TRY(ask(
      kFind, [&](Call& call) { call.integer(run); },
      [&](const Row& row) -> Result<void> {
        found = read_run(row).row;
        return {};
      }));
  return found;
}

Result<std::optional<RunRow>> Reader::find_run(std::string_view id,
                                               std::optional<std::uint32_t> number) {
  std::optional<RunRow> found;
  PAWL_TRY(ask(
      number.has_value() ? kFindNumbered : kFindNewest,
      [&](Call& call) {
        call.text(id);
        if (number.has_value()) {
          call.integer(*number);
        }
      },
      [&](const Row& row) -> Result<void> {
        found = read_run(row).row;
        return {};
      }));
  return found;
}

Result<std::string> Reader::read_input(RunKey run) {
  std::string input;
  PAWL_TRY(ask(
      kReadInput, [&](Call& call) { call.integer(run); },
      [&](const Row& row) -> Result<void> {
        input = row.as_string(0);
        return {};
      }));
  return input;
}

Result<std::vector<Tag>> Reader::read_tags(RunKey run) {
  std::vector<Tag> tags;
  PAWL_TRY(ask(
      kReadTags, [&](Call& call) { call.integer(run); },
      [&](const Row& row) -> Result<void> {
        tags.push_back({row.as_string(0), row.as_string(1)});
        return {};
      }));
  return tags;
}

Result<std::string> Reader::read_reason(RunKey run) {
  std::string reason;
  PAWL_TRY(ask(
      kReadReason, [&](Call& call) { call.integer(run); },
      [&](const Row& row) -> Result<void> {
        reason = row.as_string(0);
        return {};
      }));
  return reason;
}

Result<std::uint64_t> Reader::read_page(const Statement& statement, RunKey run,
                                        std::uint64_t from_seq, bool only_if_all,
                                        const Visit& visit) {
  Batch batch(*connection_, Effect::kReads);
  const Call& call = batch.add(statement)
                         .integer(ns_)
                         .integer(run)
                         .integer(static_cast<std::int64_t>(from_seq))
                         .integer(kPageEntries + 1);
  PAWL_TRY(batch.run());
  const std::size_t count = call.rows().size();
  const bool is_all = count <= static_cast<std::size_t>(kPageEntries);
  if (!is_all && only_if_all) {
    return 1;
  }
  for (std::size_t i = 0; i < count - (is_all ? 0 : 1); ++i) {
    PAWL_TRY(visit_entry(*connection_, call.rows()[i], visit));
  }
  return is_all ? 0 : static_cast<std::uint64_t>(call.rows()[count - 1].as_integer(0));
}

// A long log takes several statements, which must see the same moment.
Result<void> Reader::read_pages(const Statement& statement, RunKey run, std::uint64_t from_seq,
                                const Visit& visit) {
  const std::scoped_lock lock(mutex_);
  PAWL_TRY(connection_->ensure());
  PAWL_TRY_ASSIGN(const std::uint64_t is_more, read_page(statement, run, from_seq, true, visit));
  if (is_more == 0) {
    return {};
  }
  Batch begin(*connection_, Effect::kReads);
  begin.add(kBeginSnapshot);
  PAWL_TRY(begin.run());
  Result<std::uint64_t> next = from_seq;
  do {
    next = read_page(statement, run, *next, false, visit);
  } while (next.has_value() && *next != 0);
  connection_->rollback();
  return next.has_value() ? Result<void>() : Result<void>(next.error());
}

Result<void> Reader::read_log(RunKey run, std::uint64_t from_seq, const Visit& visit) {
  constexpr std::uint64_t kSeqMax = std::numeric_limits<std::int64_t>::max();
  return from_seq > kSeqMax ? Result<void>() : read_pages(kReadLog, run, from_seq, visit);
}

Result<void> Reader::read_forgotten(RunKey run, const Visit& visit) {
  return read_pages(kReadForgotten, run, 0, visit);
}

Result<void> Reader::read_last(RunKey run, const Visit& visit) {
  return ask(
      kReadLast, [&](Call& call) { call.integer(run); },
      [&](const Row& row) { return visit_entry(*connection_, row, visit); });
}

Result<std::vector<Arrival>> Reader::read_news(WorkerKey worker) {
  Result<std::vector<Arrival>> arrivals = no_arrivals();
  PAWL_TRY(ask(
      kReadNews, [&](Call& call) { call.integer(worker); },
      [&](const Row& row) -> Result<void> {
        arrivals->push_back(read_arrival(row));
        return {};
      }));
  return arrivals;
}

Result<std::vector<Arrival>> Reader::read_inbox(RunKey run) {
  Result<std::vector<Arrival>> arrivals = no_arrivals();
  PAWL_TRY(ask(
      kReadInbox, [&](Call& call) { call.integer(run); },
      [&](const Row& row) -> Result<void> {
        arrivals->push_back(read_arrival(row));
        return {};
      }));
  return arrivals;
}

Result<std::vector<Arrival>> Reader::read_due_inbox(RunKey run, std::int64_t now_ms) {
  Result<std::vector<Arrival>> arrivals = no_arrivals();
  PAWL_TRY(ask(
      kReadDueInbox, [&](Call& call) { call.integer(run).integer(now_ms); },
      [&](const Row& row) -> Result<void> {
        arrivals->push_back(read_arrival(row));
        return {};
      }));
  return arrivals;
}

Result<std::vector<CompensationRow>> Reader::read_compensations(RunKey run) {
  std::vector<CompensationRow> rows;
  PAWL_TRY(ask(
      kReadCompensations, [&](Call& call) { call.integer(run); },
      [&](const Row& row) -> Result<void> {
        rows.push_back(read_compensation(row));
        return {};
      }));
  return rows;
}

Result<std::vector<std::string>> Reader::read_promises(RunKey run) {
  std::vector<std::string> names;
  PAWL_TRY(ask(
      kReadPromises, [&](Call& call) { call.integer(run); },
      [&](const Row& row) -> Result<void> {
        names.push_back(row.as_string(0));
        return {};
      }));
  return names;
}

Result<std::vector<TaskRow>> Reader::read_tasks(RunKey run) {
  std::vector<TaskRow> tasks;
  PAWL_TRY(ask(
      kReadTasks, [&](Call& call) { call.integer(run); },
      [&](const Row& row) -> Result<void> {
        tasks.push_back(read_task(row));
        return {};
      }));
  return tasks;
}

Result<std::vector<RunRow>> Reader::read_children(RunKey run) {
  std::vector<RunRow> children;
  PAWL_TRY(ask(
      kReadChildren, [&](Call& call) { call.integer(run); },
      [&](const Row& row) -> Result<void> {
        children.push_back(read_run(row).row);
        return {};
      }));
  return children;
}

Result<std::int64_t> Reader::next_wake(std::span<const std::string> kinds,
                                       std::span<const KindDefinition> left,
                                       std::int64_t after_ms) {
  TextArray names;
  TextArray shared;
  for (const std::string& kind : kinds) {
    (has_kind(left, kind) ? shared : names).add(kind);
  }
  std::int64_t next = kNever;
  const auto take = [&](const Row& row) -> Result<void> {
    next = std::min(next, row.as_moment(0));
    return {};
  };
  PAWL_TRY(ask(kNextWake, [&](Call& call) { call.array(names); }, take));
  if (!left.empty()) {
    const LeftArrays arrays(left);
    PAWL_TRY(ask(
        kNextWakeLeft,
        [&](Call& call) {
          call.array(shared)
              .integer(after_ms)
              .array(arrays.kinds)
              .array(arrays.definitions)
              .integer(kWakesLookedAt);
        },
        take));
  }
  return next;
}

Result<std::vector<KnownWorker>> Reader::read_workers() {
  std::vector<KnownWorker> workers;
  PAWL_TRY(ask(
      kReadWorkers, [](Call&) {},
      [&](const Row& row) -> Result<void> {
        workers.push_back({row.as_integer(0), row.as_string(1)});
        return {};
      }));
  return workers;
}

Result<std::vector<TaskRow>> Reader::due_tasks(std::int64_t now_ms, std::size_t limit,
                                               std::int64_t* next_due) {
  const std::scoped_lock lock(mutex_);
  PAWL_TRY(connection_->ensure());
  constexpr std::size_t kLimitMax = std::numeric_limits<std::int32_t>::max();
  const std::size_t count = std::min(limit, kLimitMax);
  Batch batch(*connection_, Effect::kReads);
  const Call& due = batch.add(kDueTasks).integer(ns_).integer(now_ms).integer(
      static_cast<std::int64_t>(count) + 1);
  const Call& later = batch.add(kNextDue).integer(ns_).integer(now_ms);
  PAWL_TRY(batch.run());
  std::vector<TaskRow> tasks;
  for (const Row row : due.rows()) {
    tasks.push_back(read_task(row));
  }
  std::int64_t next = later.rows().empty() ? kNever : later.rows()[0].as_integer(0);
  if (tasks.size() > count) {
    next = tasks.back().due_ms;
    tasks.pop_back();
  }
  if (next_due != nullptr) {
    *next_due = next;
  }
  return tasks;
}

Result<std::int64_t> Reader::first_expiry(WorkerKey but) {
  std::int64_t first = kNever;
  PAWL_TRY(ask(
      kFirstExpiry, [&](Call& call) { call.integer(but); },
      [&](const Row& row) -> Result<void> {
        first = row.as_moment(0);
        return {};
      }));
  return first;
}

Result<std::int64_t> Reader::read_clock() {
  std::int64_t now_ms = 0;
  PAWL_TRY(ask(
      kReadClock, [](Call&) {},
      [&](const Row& row) -> Result<void> {
        now_ms = row.as_integer(0);
        return {};
      }));
  return now_ms;
}

}  // namespace pawl::store::pg

#include "store/postgres/run_walk.h"

#include <cstddef>
#include <memory>
#include <utility>

#include "store/postgres/batch.h"
#include "store/postgres/image_rows.h"
#include "store/postgres/records.h"

// Besides its texts, a row takes about as much. Lengths are known without reading what lies outside
// of the row.
#define PAWL_PG_ROW_BYTES "200::int8"
#define PAWL_PG_BYTES(x) "coalesce(octet_length(" x "), 0)"
// Of the rows that belong to run `r`.
#define PAWL_PG_SUM(table, bytes)                                                \
  "coalesce((SELECT sum(" PAWL_PG_ROW_BYTES " + " bytes ") FROM {schema}." table \
  " AS x WHERE x.ns = r.ns AND x.run = r.key), 0)"
// Of the rows of `x` that come before each.
#define PAWL_PG_SUM_BEFORE(x, order) \
  "sum(" x ".bytes) OVER (ORDER BY " order " ROWS UNBOUNDED PRECEDING) - " x ".bytes AS before"

// $1 namespace, $2 and $3 behind which run and seq, $4 up to which run, $5 rows, $6 bytes; the row
// that goes beyond the bytes is the last one. `more` has further columns.
#define PAWL_PG_LOG_PAGE(table, more) \
  "SELECT " PAWL_PG_ENTRY_COLUMNS ", run" more                                                    \
  " FROM (SELECT l.*, " PAWL_PG_SUM_BEFORE("l", "l.run, l.seq") " FROM (SELECT "                  \
  "e.*, " PAWL_PG_ROW_BYTES " + " PAWL_PG_BYTES("e.name") " + " PAWL_PG_BYTES("e.extra") " + "    \
  PAWL_PG_BYTES("e.checkpoint") " + " PAWL_PG_BYTES("e.payload") " AS bytes FROM {schema}." table \
  " AS e WHERE e.ns = $1 AND (e.run, e.seq) > ($2::int8, $3::int8) AND e.run <= $4 ORDER BY "     \
  "e.run, e.seq LIMIT $5::int8) AS l) AS p WHERE before <= $6::int8 ORDER BY run, seq"

namespace pawl::store::pg {

namespace {

constexpr std::int64_t kRunsMax = 500;  // By one transaction.
constexpr std::int64_t kEntriesMax = 5'000;
constexpr std::int64_t kBytesMax = std::int64_t{4} << 20;

// $1 namespace, $2 and $3 the range, $4 runs, $5 bytes of images; the run that goes beyond these is
// the last one.
constexpr Statement kChoose{
    "walk_choose",
    "SELECT max(w.key), count(*) FROM (SELECT s.key, " PAWL_PG_SUM_BEFORE("s", "s.key") " FROM "
    "(SELECT r.key, " PAWL_PG_SUM("pawl_input", PAWL_PG_BYTES("x.input")) " + "
    PAWL_PG_SUM("pawl_reason", PAWL_PG_BYTES("x.reason")) " + "
    PAWL_PG_SUM("pawl_tag", PAWL_PG_BYTES("x.value")) " + "
    PAWL_PG_SUM("pawl_inbox", PAWL_PG_BYTES("x.payload") " + " PAWL_PG_BYTES("x.extra")) " + "
    PAWL_PG_SUM("pawl_task", PAWL_PG_BYTES("x.input") " + " PAWL_PG_BYTES("x.details") " + "
                             PAWL_PG_BYTES("x.last_error")) " + "
    PAWL_PG_SUM("pawl_promise", PAWL_PG_BYTES("x.name")) " + "
    PAWL_PG_SUM("pawl_compensation", PAWL_PG_BYTES("x.input") " + " PAWL_PG_BYTES("x.outcome"))
    " + coalesce((SELECT sum(" PAWL_PG_ROW_BYTES " + octet_length(d.id)) FROM {schema}.pawl_dedupe "
    "AS d WHERE d.ns = r.ns AND d.chain = coalesce(r.chain, r.key)), 0) AS bytes FROM "
    "{schema}.pawl_run AS r WHERE r.ns = $1 AND r.key > $2 AND r.key <= $3 ORDER BY r.key LIMIT "
    "$4::int8) AS s) AS w WHERE w.before <= $5::int8"};
constexpr Statement kLogPage{"walk_log", PAWL_PG_LOG_PAGE("pawl_log", "")};
constexpr Statement kForgottenPage{"walk_forgotten",
                                   PAWL_PG_LOG_PAGE("pawl_forgotten", ", loop, iteration")};
constexpr int kRunColumn = 17;  // Of a page, behind those of an entry.
constexpr int kLoopColumn = 18;
constexpr int kIterationColumn = 19;

// The entries of the runs of a range, a page in memory.
class LogPages {
 public:
  LogPages(Connection& connection, std::int64_t ns, const Statement& statement,
           const KeyRange& range)
      : connection_(connection), ns_(ns), statement_(statement), range_(range) {
    last_run_ = range.after;
  }

  // Calls take(row) with those of this run; those of runs before it are passed over.
  template <class Take>
  Result<void> each(RunKey run, const Take& take) {
    while (true) {
      if (page_ == nullptr || next_ == page_->last().rows().size()) {
        if (is_last_) {
          return {};
        }
        PAWL_TRY(read_page());
        continue;
      }
      const Row row = page_->last().rows()[next_];
      const RunKey of = row.as_integer(kRunColumn);
      if (of > run) {
        return {};
      }
      ++next_;
      if (of == run) {
        PAWL_TRY(take(row));
      }
    }
  }

 private:
  Result<void> read_page() {
    page_.reset();  // Before the next one is there.
    page_ = std::make_unique<Batch>(connection_, Effect::kReads);
    page_->add(statement_)
        .integer(ns_)
        .integer(last_run_)
        .integer(last_seq_)
        .integer(range_.upto)
        .integer(kEntriesMax)
        .integer(kBytesMax);
    PAWL_TRY(page_->run());
    next_ = 0;
    const Rows& rows = page_->last().rows();
    is_last_ = rows.empty();
    if (!is_last_) {
      last_run_ = rows[rows.size() - 1].as_integer(kRunColumn);
      last_seq_ = rows[rows.size() - 1].as_integer(0);
    }
    return {};
  }

  Connection& connection_;
  std::int64_t ns_;
  Statement statement_;
  KeyRange range_;
  RunKey last_run_ = 0;
  std::int64_t last_seq_ = kNever;
  std::unique_ptr<Batch> page_;
  std::size_t next_ = 0;
  bool is_last_ = false;
};

class Walk {
 public:
  Walk(Connection& connection, std::int64_t ns, const KeyRange& range, RunVisitor& visitor)
      : connection_(connection),
        visitor_(visitor),
        images_(connection, ns, range),
        log_(connection, ns, kLogPage, range),
        forgotten_(connection, ns, kForgottenPage, range) {}

  Result<void> run() {
    PAWL_TRY(images_.read());
    VisitedRun run;
    while (images_.next(run)) {
      const RunKey key = run.image.row.key;
      PAWL_TRY(visitor_.begin_run(std::move(run)));
      PAWL_TRY(visit_log(key, log_, true));
      PAWL_TRY(visit_log(key, forgotten_, false));
      PAWL_TRY(visitor_.end_run());
    }
    return {};
  }

 private:
  // A damaged entry is told of once; those behind it are passed over.
  Result<void> visit_log(RunKey run, LogPages& pages, bool is_log) {
    bool is_damaged = false;
    return pages.each(run, [&](const Row& row) -> Result<void> {
      if (is_damaged) {
        return {};
      }
      bool is_visited = false;
      const Result<void> done = visit_entry(connection_, row, [&](const replay::Entry& entry) {
        is_visited = true;
        if (is_log) {
          return visitor_.visit_entry(entry);
        }
        const std::string loop = row.as_string(kLoopColumn);
        return visitor_.visit_forgotten(entry, {loop, row.as_integer(kIterationColumn)});
      });
      if (done || is_visited) {
        return done;
      }
      is_damaged = true;
      return visitor_.visit_damage(done.error(), is_log);
    });
  }

  Connection& connection_;
  RunVisitor& visitor_;
  ImageRows images_;
  LogPages log_;
  LogPages forgotten_;
};

}  // namespace

Result<RunKey> walk_runs(Connection& connection, std::int64_t ns, const KeyRange& range,
                         RunVisitor& visitor) {
  Batch batch(connection, Effect::kReads);
  const Call& chosen = batch.add(kChoose)
                           .integer(ns)
                           .integer(range.after)
                           .integer(range.upto)
                           .integer(kRunsMax)
                           .integer(kBytesMax);
  PAWL_TRY(batch.run());
  const Row row = chosen.rows()[0];
  if (row.as_integer(1) == 0) {
    return range.upto;
  }
  const RunKey last = row.as_integer(0);
  PAWL_TRY(Walk(connection, ns, {range.after, last}, visitor).run());
  return last;
}

}  // namespace pawl::store::pg

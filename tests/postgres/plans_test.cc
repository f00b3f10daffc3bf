// How the server looks for rows: as tables grow, what an operation reads does not.
#include <memory>
#include <string>
#include <vector>

#include "postgres/support.h"
#include "store/postgres/postgres_store.h"
#include "store/support.h"

namespace pawl::store::pg {
namespace {

constexpr std::int64_t kNow = 1'000'000;

std::vector<Op> starts(WorkerKey owner, int first, int count) {
  std::vector<Op> ops;
  for (int i = first; i < first + count; ++i) {
    StartRun start;
    start.run = new_run("run-" + std::to_string(i));
    start.run.input = "1";
    start.owner = owner;
    start.now_ms = kNow;
    ops.emplace_back(std::move(start));
  }
  return ops;
}

Op with_child(const RunRow& run) {
  CommitTurn turn = turn_of(run, kNow);
  NewRun& child = turn.children.emplace_back(new_run(run.id + "-child"));
  child.parent = {run.key, "command", ParentClose::kTerminate};
  return turn;
}

// A step, and the end.
Op end_of(const RunRow& run) {
  CommitTurn turn = turn_of(run, kNow);
  turn.entries = {entry(1), entry(2, "", replay::EntryKind::kWorkflowCompleted)};
  turn.ending.emplace();
  turn.ending->status = RunStatus::kCompleted;
  return turn;
}

// Nobody tells the planner that the tables are not empty any more.
PostgresServer::Options without_statistics() {
  PostgresServer::Options options;
  options.settings = {{"autovacuum", "off"}};
  return options;
}

void fill(const PostgresServer& server, int runs, int at_once, bool have_children) {
  const std::unique_ptr<Store> store = open_postgres(options_of(server.url())).value();
  WorkerInfo info;
  info.name = "w";
  info.now_ms = kNow;
  info.expires_ms = kNow + 1'000'000;
  const WorkerKey worker = store->add_worker(info).value();
  for (int i = 0; i < runs; i += at_once) {
    std::vector<Op> ops = starts(worker, i, at_once);
    EXPECT_OK(store->apply(ops));
    std::vector<Op> ends;
    std::vector<Op> parents;
    for (const Op& op : ops) {
      parents.push_back(with_child(std::get<StartRun>(op).row));
      ends.push_back(end_of(std::get<StartRun>(op).row));
    }
    if (have_children) {
      EXPECT_OK(store->apply(parents));
    }
    EXPECT_OK(store->apply(ends));
    for (const Op& op : ends) {
      EXPECT_TRUE(std::get<CommitTurn>(op).committed);
    }
  }
}

// By indexes, or by reading a whole table.
double rows_read(PostgresServer& server) {
  // Sessions leave their figures when they end.
  EXPECT_TRUE(comes_true([&] {
    return server.query("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'pawl'") ==
           "0";
  }));
  return std::stod(
      server.query("SELECT sum(idx_tup_fetch + seq_tup_read) FROM pg_stat_user_tables"));
}

double rows_read_per_run(int runs, int at_once, bool have_children) {
  PostgresServer server(without_statistics());
  fill(server, runs, at_once, have_children);
  return rows_read(server) / runs;
}

class Counting : public RunVisitor {
 public:
  Result<void> begin_run(VisitedRun /*run*/) override { return {}; }
  Result<void> visit_entry(const replay::Entry& /*entry*/) override {
    ++entries;
    return {};
  }
  Result<void> visit_forgotten(const replay::Entry& /*entry*/, const MovedFrom& /*from*/) override {
    return {};
  }
  Result<void> end_run() override {
    ++runs;
    return {};
  }

  int runs = 0;
  int entries = 0;
};

double rows_visited_per_run(int runs) {
  PostgresServer server(without_statistics());
  fill(server, runs, 50, false);
  const double before = rows_read(server);
  {
    const std::unique_ptr<Store> store = open_postgres(options_of(server.url())).value();
    Counting counting;
    EXPECT_OK(store->catalog().visit_all_runs({}, counting));
    EXPECT_EQ(counting.runs, runs);
    EXPECT_EQ(counting.entries, 2 * runs);
  }
  return (rows_read(server) - before) / runs;
}

TEST(Plans, AVisitReadsNoMoreOfEachRunIfThereAreMany) {
  const double few = rows_visited_per_run(500);
  const double many = rows_visited_per_run(5000);
  EXPECT_GT(few, 3);
  EXPECT_LT(many, 2 * few) << few << " rows a run of 500";
}

TEST(Plans, AreNotKeptFromWhenTablesWereEmpty) {
  for (const int at_once : {1, 50}) {
    const double few = rows_read_per_run(500, at_once, false);
    const double many = rows_read_per_run(5000, at_once, false);
    EXPECT_GT(few, 1);
    EXPECT_LT(many, 2 * few + 20) << at_once << " at once: " << few << " rows a run of 500";
  }
}

// Nobody knows how many descendants there are.
TEST(Plans, DoNotReadAllRunsForTheDescendantsOfSome) {
  const double few = rows_read_per_run(200, 5, true);
  const double many = rows_read_per_run(2000, 5, true);
  EXPECT_GT(few, 1);
  EXPECT_LT(many, 2 * few + 20) << few << " rows a run of 200";
}

}  // namespace
}  // namespace pawl::store::pg

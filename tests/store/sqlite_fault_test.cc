// Faults of the medium at every boundary of a series of commits: an apply() that reports an error
// has changed nothing, and works once the fault is gone; a process that is killed has lost nothing
// that was acknowledged.

#include <sqlite3.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <functional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "faults/fault_vfs.h"
#include "store/sqlite/sqlite_store.h"
#include "store/support.h"

namespace pawl::store {
namespace {

using faults::Fault;
using replay::EntryKind;

// Everything in the database, as text.
std::string dump(const std::string& path) {
  sqlite3* db = nullptr;
  EXPECT_EQ(sqlite3_open_v2(path.c_str(), &db, SQLITE_OPEN_READONLY, nullptr), SQLITE_OK);
  std::vector<std::string> tables;
  std::string text;
  const auto query = [&](const std::string& sql, const std::function<void(sqlite3_stmt*)>& visit) {
    sqlite3_stmt* statement = nullptr;
    EXPECT_EQ(sqlite3_prepare_v2(db, sql.c_str(), -1, &statement, nullptr), SQLITE_OK)
        << sql << ": " << sqlite3_errmsg(db);
    while (sqlite3_step(statement) == SQLITE_ROW) {
      visit(statement);
    }
    sqlite3_finalize(statement);
  };
  query("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name",
        [&](sqlite3_stmt* row) {
          tables.emplace_back(reinterpret_cast<const char*>(sqlite3_column_text(row, 0)));
        });
  for (const std::string& table : tables) {
    text += "\n" + table;
    query("SELECT * FROM " + table + " ORDER BY 1, 2", [&](sqlite3_stmt* row) {
      text += "\n";
      for (int i = 0; i < sqlite3_column_count(row); ++i) {
        const auto* const data = static_cast<const char*>(sqlite3_column_blob(row, i));
        const int size = sqlite3_column_bytes(row, i);
        text += " " + std::string(data, static_cast<std::size_t>(std::min(size, 40))) + ":" +
                std::to_string(size);
      }
    });
  }
  sqlite3_close(db);
  return text;
}

std::string integrity(const std::string& path) {
  sqlite3* db = nullptr;
  EXPECT_EQ(sqlite3_open_v2(path.c_str(), &db, SQLITE_OPEN_READWRITE, nullptr), SQLITE_OK);
  sqlite3_stmt* statement = nullptr;
  EXPECT_EQ(sqlite3_prepare_v2(db, "PRAGMA integrity_check", -1, &statement, nullptr), SQLITE_OK);
  EXPECT_EQ(sqlite3_step(statement), SQLITE_ROW);
  std::string found = reinterpret_cast<const char*>(sqlite3_column_text(statement, 0));
  sqlite3_finalize(statement);
  sqlite3_close(db);
  return found;
}

// A series of commits that touches all tables. The same every time.
class Series {
 public:
  explicit Series(const std::string& path) {
    SqliteOptions options;
    options.path = path;
    options.vfs = faults::kFaultVfs;
    options.busy_timeout_ms = 0;
    Result<std::unique_ptr<Store>> opened = open_sqlite(std::move(options));
    EXPECT_TRUE(opened.has_value()) << opened.error().message;
    store_ = std::move(opened).value();
    worker_ = value(store_->add_worker({"worker", kNever, 0}));
  }

  static constexpr std::size_t kSteps = 8;

  // Does step `i`. What it needs from the steps before is read from the database.
  Result<void> apply(std::size_t i) {
    std::vector<Op> ops = make(i);
    return store_->apply(ops);
  }

 private:
  RunRow run(const std::string& id) { return *value(store_->find_run(id, std::nullopt)); }

  CommitTurn turn(const std::string& id) { return turn_of(run(id)); }

  std::vector<Op> make(std::size_t i) {
    switch (i) {
      case 0: {
        StartRun a;
        a.run = new_run("a");
        a.run.input = "input";
        a.run.tags = {{"tag", "value"}};
        a.owner = worker_;
        StartRun b = a;
        b.run.id = "b";
        return {a, b};
      }
      case 1: {
        CommitTurn op = turn("a");
        for (std::uint64_t seq = 1; seq <= 30; ++seq) {
          op.entries.push_back(entry(seq));
        }
        op.promises = {"p"};
        NewTask task;
        task.id = "t";
        task.type = "mail";
        op.tasks = {task};
        op.arrivals = {timer("x", 9000)};
        return {op};
      }
      case 2: {
        // Larger than the log that SQLite writes before it makes a checkpoint.
        Send op;
        op.run_id = "b";
        op.arrival = signal("big", std::string(big_bytes_, 'x'));
        op.dedupe = "event";
        return {op};
      }
      case 3: {
        CommitTurn op = turn("a");
        checkpoint_.iteration = 10;
        replay::Entry mark = entry(31, "", EntryKind::kLoopCheckpointed);
        mark.checkpoint = &checkpoint_;
        mark.location = "{1}";
        op.entries = {mark};
        op.forgotten = {5, 6, 7, 9};
        op.release = true;
        op.status = RunStatus::kWaiting;
        TakeTasks take;
        take.types = {"mail"};
        take.worker = worker_;
        take.limit = 1;
        CommitTurn reader = turn("b");
        for (const Arrival& arrival : value(store_->read_inbox_of(reader.run))) {
          reader.consumed.push_back(arrival.key);
        }
        return {op, take, reader};
      }
      case 4: {
        Send resolve;
        resolve.run_id = "a";
        resolve.arrival.kind = number_of(EntryKind::kPromiseResolved);
        resolve.arrival.id = "p";
        ClaimDue due;
        due.kinds = {"order"};
        due.worker = worker_;
        due.limit = 9;
        due.now_ms = 10'000;
        return {resolve, due};
      }
      case 5: {
        CommitTurn op = turn("b");
        op.ending = Ending{};
        op.ending->status = RunStatus::kRecurred;
        op.ending->next = new_run("b");
        return {op};
      }
      case 6: {
        CommitTurn op = turn("a");
        op.ending = Ending{};
        op.ending->status = RunStatus::kCompensating;
        op.ending->goal = RunStatus::kFailed;
        op.ending->compensations.resize(2);
        op.ending->compensations[1].position = 1;
        return {op};
      }
      default: {
        Terminate op;
        op.run_id = "b";
        op.payload = "over";
        return {op};
      }
    }
  }

  static constexpr std::size_t big_bytes_ = std::size_t{5} << 20U;
  std::unique_ptr<Store> store_;
  WorkerKey worker_ = 0;
  replay::Checkpoint checkpoint_;
};

class FaultTest : public testing::Test {
 protected:
  FaultTest() {
    faults::register_fault_vfs();
    faults::fail_nothing();
    faults::kill_at_boundary(0);
    learn();
  }
  ~FaultTest() override {
    faults::fail_nothing();
    faults::kill_at_boundary(0);
  }

  // What the database holds after each step, and how many boundaries there are, without faults.
  void learn() {
    const TempDir dir;
    const std::string path = dir.file("test.db");
    Series series(path);
    states_.push_back(dump(path));
    faults::reset_boundaries();
    for (std::size_t i = 0; i < Series::kSteps; ++i) {
      const Result<void> done = series.apply(i);
      ASSERT_TRUE(done.has_value()) << done.error().message;
      states_.push_back(dump(path));
    }
    boundaries_ = faults::boundary_count();
  }

  // All of them if they are few; of many, all at both ends and some between.
  std::vector<std::uint64_t> chosen_boundaries() const {
    std::vector<std::uint64_t> chosen;
    for (std::uint64_t i = 1; i <= boundaries_; ++i) {
      if (i <= 40 || i + 40 > boundaries_ || i % 131 == 0) {
        chosen.push_back(i);
      }
    }
    return chosen;
  }

  void run_with_fault(std::uint64_t first, std::uint64_t last, Fault fault) {
    const TempDir dir;
    const std::string path = dir.file("test.db");
    {
      Series series(path);
      faults::reset_boundaries();
      faults::fail_boundaries(first, last, fault);
      for (std::size_t i = 0; i < Series::kSteps; ++i) {
        const Result<void> done = series.apply(i);
        if (!done.has_value()) {
          ++errors_;
          const ErrorCode code = done.error().code;
          ASSERT_TRUE(code == ErrorCode::kStoreIo || code == ErrorCode::kStoreFull)
              << done.error().message;
          ASSERT_EQ(dump(path), states_[i]) << "an error, but something has changed";
          faults::fail_nothing();
          const Result<void> again = series.apply(i);
          ASSERT_TRUE(again.has_value()) << again.error().message;
        }
        ASSERT_EQ(dump(path), states_[i + 1]);
      }
      faults::fail_nothing();
    }
    ASSERT_EQ(integrity(path), "ok");
    ASSERT_EQ(dump(path), states_.back());
  }

  std::vector<std::string> states_;
  std::uint64_t boundaries_ = 0;
  int errors_ = 0;
};

TEST_F(FaultTest, OneFailureAtAnyBoundary) {
  for (const std::uint64_t at : chosen_boundaries()) {
    constexpr std::array kFaults = {Fault::kIo, Fault::kFull, Fault::kTornWrite};
    SCOPED_TRACE("boundary " + std::to_string(at));
    run_with_fault(at, at, kFaults[at % kFaults.size()]);
    ASSERT_FALSE(HasFatalFailure());
  }
  EXPECT_GT(errors_, 50);
}

TEST_F(FaultTest, FailuresFromAnyBoundaryOn) {
  for (const std::uint64_t at : chosen_boundaries()) {
    SCOPED_TRACE("boundary " + std::to_string(at));
    run_with_fault(at, ~std::uint64_t{0}, at % 2 == 0 ? Fault::kIo : Fault::kFull);
    ASSERT_FALSE(HasFatalFailure());
  }
}

TEST_F(FaultTest, AFailureWhileADatabaseIsMade) {
  const auto open = [](const std::string& path) {
    SqliteOptions options;
    options.path = path;
    options.vfs = faults::kFaultVfs;
    options.busy_timeout_ms = 0;
    return open_sqlite(std::move(options));
  };
  faults::reset_boundaries();
  {
    const TempDir dir;
    ASSERT_TRUE(open(dir.file("test.db")).has_value());
  }
  const std::uint64_t boundaries = faults::boundary_count();
  ASSERT_GT(boundaries, 5U);
  for (std::uint64_t at = 1; at <= boundaries; ++at) {
    SCOPED_TRACE("boundary " + std::to_string(at));
    const TempDir dir;
    const std::string path = dir.file("test.db");
    faults::reset_boundaries();
    faults::fail_boundaries(at, ~std::uint64_t{0}, Fault::kIo);
    {
      const Result<std::unique_ptr<Store>> opened = open(path);
      if (!opened.has_value()) {
        EXPECT_EQ(opened.error().code, ErrorCode::kStoreIo) << opened.error().message;
      }
    }
    faults::fail_nothing();
    const Result<std::unique_ptr<Store>> opened = open(path);
    ASSERT_TRUE(opened.has_value()) << opened.error().message;
    ASSERT_TRUE((*opened)->add_worker({"worker", kNever, 0}).has_value());
    EXPECT_EQ(integrity(path), "ok");
  }
}

// A process is killed at a boundary; what it had been told is done is there, and of the rest, all
// of a step or nothing.
TEST_F(FaultTest, AKillAtAnyBoundary) {
  for (const std::uint64_t at : chosen_boundaries()) {
    SCOPED_TRACE("boundary " + std::to_string(at));
    const TempDir dir;
    const std::string path = dir.file("test.db");
    std::array<int, 2> acknowledged{};
    ASSERT_EQ(::pipe(acknowledged.data()), 0);
    const pid_t pid = ::fork();
    if (pid == 0) {
      Series series(path);
      faults::reset_boundaries();
      faults::kill_at_boundary(at);
      for (std::size_t i = 0; i < Series::kSteps; ++i) {
        if (!series.apply(i).has_value() || ::write(acknowledged[1], "x", 1) != 1) {
          ::_exit(1);
        }
      }
      ::_exit(0);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(pid, &status, 0), pid);
    ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    ::close(acknowledged[1]);
    std::array<char, Series::kSteps> bytes{};
    const auto done = static_cast<std::size_t>(
        std::max<ssize_t>(0, ::read(acknowledged[0], bytes.data(), bytes.size())));
    ::close(acknowledged[0]);
    ASSERT_EQ(integrity(path), "ok");
    const std::string now = dump(path);
    ASSERT_TRUE(now == states_[done] || now == states_[done + 1])
        << "after " << done << " steps:" << now;
  }
}

}  // namespace
}  // namespace pawl::store

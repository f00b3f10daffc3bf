// What the store adds to SQLite: turns of one entry by apply(), against the same rows put into the
// same table by prepared statements. Both are measured in turns, round by round, so that a noisy
// machine disturbs them alike; the medians are printed.
//
// Usage: store_bench [directory]   (of the database; the current one if not given)

#include <sqlite3.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/uuid.h"
#include "store/sqlite/sqlite_store.h"

namespace pawl::store {
namespace {

constexpr int kRounds = 15;
constexpr std::string_view kPayload = R"({"order":"order-4711","amount":1299,"currency":"EUR"})";

template <typename T>
T need(Result<T> result) {
  if (!result.has_value()) {
    std::fprintf(stderr, "%s\n", result.error().message.c_str());
    std::exit(1);
  }
  return std::move(result).value();
}

void need(const Result<void>& result) {
  if (!result.has_value()) {
    std::fprintf(stderr, "%s\n", result.error().message.c_str());
    std::exit(1);
  }
}

void need(int code) {
  if (code != SQLITE_OK && code != SQLITE_DONE) {
    std::fprintf(stderr, "SQLite: %s\n", sqlite3_errstr(code));
    std::exit(1);
  }
}

// What both write: one entry for each of `runs` runs, again and again.
class Workload {
 public:
  explicit Workload(std::size_t runs) : ids_(runs) {}

  std::size_t runs() const { return ids_.size(); }
  std::uint64_t next_seq() { return ++seq_; }
  replay::Entry entry(std::size_t run, std::uint64_t seq) {
    location_ = "{" + std::to_string(seq) + "}";
    ids_[run] = uuid5(Uuid{}, std::to_string(run) + location_).to_string();
    replay::Entry made;
    made.kind = replay::EntryKind::kOperationCompleted;
    made.seq = seq;
    made.time_ms = 1'700'000'000'000 + static_cast<std::int64_t>(seq);
    made.location = location_;
    made.id = ids_[run];
    made.name = "charge";
    made.has_payload = true;
    made.payload = kPayload;
    made.input_digest = 0x123456789abcdef;
    return made;
  }

 private:
  std::vector<std::string> ids_;
  std::string location_;
  std::uint64_t seq_ = 0;
};

class Subject {
 public:
  virtual ~Subject() = default;
  virtual void prepare(std::uint64_t seq) = 0;
  virtual void commit() = 0;
};

class ByStore : public Subject {
 public:
  ByStore(SqliteOptions options, Workload& workload)
      : store_(need(open_sqlite(std::move(options)))), workload_(workload) {
    const WorkerKey worker = need(store_->add_worker({"bench", kNever, 0}));
    for (std::size_t i = 0; i < workload.runs(); ++i) {
      StartRun start;
      start.run.id = "run-" + std::to_string(i);
      start.run.kind = "order";
      start.run.definition = "0123456789abcdef";
      start.owner = worker;
      ops_.emplace_back(std::move(start));
    }
    need(store_->apply(ops_));
    for (Op& op : ops_) {
      const RunRow row = std::get<StartRun>(op).row;
      CommitTurn turn;
      turn.run = row.key;
      turn.worker = worker;
      turn.epoch = row.epoch;
      op = std::move(turn);
    }
  }

  void prepare(std::uint64_t seq) override {
    for (std::size_t i = 0; i < ops_.size(); ++i) {
      auto& turn = std::get<CommitTurn>(ops_[i]);
      turn.entries.assign(1, workload_.entry(i, seq));
    }
  }
  void commit() override { need(store_->apply(ops_)); }

 private:
  std::unique_ptr<Store> store_;
  Workload& workload_;
  std::vector<Op> ops_;
};

class ByHand : public Subject {
 public:
  ByHand(const SqliteOptions& options, Workload& workload)
      : store_(need(open_sqlite(options))), workload_(workload) {
    need(sqlite3_open_v2(options.path.c_str(), &db_, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX,
                         nullptr));
    const std::string settings = std::string("PRAGMA cache_size = -65536; PRAGMA synchronous = ") +
                                 (options.durability == Durability::kPower ? "FULL" : "NORMAL");
    need(sqlite3_exec(db_, settings.c_str(), nullptr, nullptr, nullptr));
    begin_ = statement("BEGIN IMMEDIATE");
    commit_ = statement("COMMIT");
    insert_ = statement(
        "INSERT INTO pawl_log(ns, run, seq, kind, time, version, location, id, name, digest, "
        "payload) VALUES(0,?,?,?,?,1,?,?,?,?,?)");
  }
  ~ByHand() override {
    for (sqlite3_stmt* const made : {begin_, commit_, insert_}) {
      sqlite3_finalize(made);
    }
    sqlite3_close(db_);
  }
  ByHand(const ByHand&) = delete;
  ByHand& operator=(const ByHand&) = delete;

  void prepare(std::uint64_t seq) override {
    entries_.clear();
    for (std::size_t i = 0; i < workload_.runs(); ++i) {
      entries_.push_back(workload_.entry(i, seq));
      ids_.push_back(*Uuid::parse_canonical(entries_.back().id));
    }
  }
  void commit() override {
    run(begin_);
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      const replay::Entry& entry = entries_[i];
      sqlite3_bind_int64(insert_, 1, static_cast<std::int64_t>(i) + 1);
      sqlite3_bind_int64(insert_, 2, static_cast<std::int64_t>(entry.seq));
      sqlite3_bind_int64(insert_, 3, static_cast<std::int64_t>(entry.kind));
      sqlite3_bind_int64(insert_, 4, entry.time_ms);
      text(5, entry.location);
      sqlite3_bind_blob(insert_, 6, ids_[ids_.size() - entries_.size() + i].bytes.data(), 16,
                        SQLITE_STATIC);
      text(7, entry.name);
      sqlite3_bind_int64(insert_, 8, static_cast<std::int64_t>(entry.input_digest));
      sqlite3_bind_blob(insert_, 9, entry.payload.data(), static_cast<int>(entry.payload.size()),
                        SQLITE_STATIC);
      run(insert_);
    }
    run(commit_);
    ids_.clear();
  }

 private:
  sqlite3_stmt* statement(const char* sql) {
    sqlite3_stmt* made = nullptr;
    need(sqlite3_prepare_v3(db_, sql, -1, SQLITE_PREPARE_PERSISTENT, &made, nullptr));
    return made;
  }
  void text(int column, std::string_view value) {
    sqlite3_bind_text(insert_, column, value.data(), static_cast<int>(value.size()), SQLITE_STATIC);
  }
  static void run(sqlite3_stmt* made) {
    need(sqlite3_step(made));
    sqlite3_reset(made);
  }

  std::unique_ptr<Store> store_;  // Makes the tables.
  Workload& workload_;
  sqlite3* db_ = nullptr;
  sqlite3_stmt* begin_ = nullptr;
  sqlite3_stmt* commit_ = nullptr;
  sqlite3_stmt* insert_ = nullptr;
  std::vector<replay::Entry> entries_;
  std::vector<Uuid> ids_;
};

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// Seconds for each commit of one round.
double measure(Subject& subject, Workload& workload, int commits) {
  std::chrono::duration<double> spent{};
  for (int i = 0; i < commits; ++i) {
    subject.prepare(workload.next_seq());
    const auto start = std::chrono::steady_clock::now();
    subject.commit();
    spent += std::chrono::steady_clock::now() - start;
  }
  return spent.count() / commits;
}

void compare(const std::string& directory, Durability durability, std::size_t turns, int commits) {
  Workload workload(turns);
  SqliteOptions options;
  options.durability = durability;
  options.path = directory + "/store.db";
  ByStore by_store(options, workload);
  options.path = directory + "/hand.db";
  ByHand by_hand(options, workload);
  std::vector<double> store_times;
  std::vector<double> hand_times;
  std::vector<double> ratios;
  for (int round = 0; round < kRounds; ++round) {
    const bool store_first = round % 2 == 0;
    if (store_first) {
      store_times.push_back(measure(by_store, workload, commits));
    }
    hand_times.push_back(measure(by_hand, workload, commits));
    if (!store_first) {
      store_times.push_back(measure(by_store, workload, commits));
    }
    ratios.push_back(hand_times.back() / store_times.back());
  }
  const double rows = static_cast<double>(turns);
  std::printf("%-11s %6zu %14.0f %14.0f %12.1f %12.1f %8.2f\n",
              durability == Durability::kPower ? "power" : "process", turns,
              rows / median(store_times), rows / median(hand_times), median(store_times) * 1e6,
              median(hand_times) * 1e6, median(ratios));
}

}  // namespace
}  // namespace pawl::store

int main(int argc, char** argv) {
  using pawl::store::Durability;
  const std::filesystem::path base = argc > 1 ? argv[1] : ".";
  const std::filesystem::path directory = base / ("store_bench." + std::to_string(::getpid()));
  std::printf("%-11s %6s %14s %14s %12s %12s %8s\n", "durability", "turns", "store rows/s",
              "SQLite rows/s", "store us", "SQLite us", "ratio");
  for (const Durability durability : {Durability::kPower, Durability::kProcess}) {
    for (const auto& [turns, commits] : {std::pair{128, 100}, std::pair{1, 200}}) {
      std::filesystem::create_directories(directory);
      pawl::store::compare(directory, durability, static_cast<std::size_t>(turns), commits);
      std::filesystem::remove_all(directory);
    }
  }
  return 0;
}

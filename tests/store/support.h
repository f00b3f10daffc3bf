// What the tests of stores share: a database of their own to play with, and short forms of the
// operations. Not thread-safe.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/hash.h"
#include "store/store.h"

namespace pawl::store {

// A directory that is gone with the object.
class TempDir {
 public:
  TempDir();
  ~TempDir();
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;

  std::string file(std::string_view name) const { return path_ + "/" + std::string(name); }

 private:
  std::string path_;
};

// One database, on which any number of stores may be open, from any process.
class Backend {
 public:
  virtual ~Backend() = default;
  virtual Result<std::unique_ptr<Store>> open(const std::string& name_space) = 0;
  // The first column of each row, which is not NULL. For the placeholders see Catalog::query().
  virtual Result<std::vector<std::string>> query(std::string sql) = 0;
  // Returns when so many wait for what other transactions have locked. At once, where all wait for
  // the whole database.
  virtual void wait_for_waiting(int /*count*/ = 1) {}
};

// How a backend is made, with a name for the test.
struct BackendKind {
  std::string name;
  std::function<std::unique_ptr<Backend>()> make;
  bool sees_the_dead = true;  // Whether a worker is known to be dead before it expires.
  bool draws_keys = false;    // Keys have gaps, and arrivals that a holder puts have older ones.
  int model_series = 40;      // So many random series take some seconds.
};
std::vector<BackendKind> backend_kinds();

inline std::string kind_name(const ::testing::TestParamInfo<BackendKind>& info) {
  return info.param.name;
}

// Applies one operation, which must not be an error, and returns it with what came of it.
template <typename T>
T apply(Store& store, T op) {
  std::vector<Op> ops;
  ops.emplace_back(std::move(op));
  const Result<void> done = store.apply(ops);
  EXPECT_TRUE(done.has_value()) << done.error().message;
  return std::get<T>(std::move(ops[0]));
}

template <typename T>
T value(Result<T> result) {
  EXPECT_TRUE(result.has_value()) << result.error().message;
  return result.has_value() ? std::move(result).value() : T{};
}

inline Uuid uuid_of(std::string_view text) {
  Uuid uuid;
  const std::uint64_t hash = stable_digest(text);
  for (std::size_t i = 0; i < uuid.bytes.size(); ++i) {
    uuid.bytes[i] = static_cast<std::uint8_t>(hash >> (i % 8 * 8));
  }
  return uuid;
}

inline NewRun new_run(std::string id, std::string kind = "order") {
  NewRun run;
  run.uuid = uuid_of(id);
  run.id = std::move(id);
  run.kind = std::move(kind);
  return run;
}

inline std::uint8_t number_of(replay::EntryKind kind) { return static_cast<std::uint8_t>(kind); }

inline NewArrival signal(std::string name, std::string payload = "") {
  NewArrival arrival;
  arrival.kind = number_of(replay::EntryKind::kSignalReceived);
  arrival.name = std::move(name);
  arrival.has_payload = !payload.empty();
  arrival.payload = std::move(payload);
  return arrival;
}

inline NewArrival timer(std::string id, std::int64_t due_ms) {
  NewArrival arrival;
  arrival.kind = number_of(replay::EntryKind::kTimerFired);
  arrival.id = std::move(id);
  arrival.due_ms = due_ms;
  return arrival;
}

// A plain entry; `name` is borrowed.
inline replay::Entry entry(std::uint64_t seq, std::string_view name = "step",
                           replay::EntryKind kind = replay::EntryKind::kOperationCompleted) {
  replay::Entry made;
  made.kind = kind;
  made.seq = seq;
  made.time_ms = static_cast<std::int64_t>(seq) * 10;
  made.name = name;
  return made;
}

// By who holds the run. Nothing in it yet.
inline CommitTurn turn_of(const RunRow& run, std::int64_t now_ms = 2000) {
  CommitTurn turn;
  turn.run = run.key;
  turn.worker = run.owner;
  turn.epoch = run.epoch;
  turn.now_ms = now_ms;
  return turn;
}

// All fields of an entry, for comparison.
std::string describe(const replay::Entry& entry);
std::string describe(const NewArrival& arrival);
std::string describe(const RunRow& row);
std::string describe(const TaskRow& task);
std::string describe(const RunImage& image);
// What of an image is carried to another store, and how.
RunImage carried(RunImage image);

// Entries of a log, with the texts that they point to.
class KeptLog {
 public:
  Result<void> add(const replay::Entry& entry);
  // As long-lived as this.
  const std::vector<replay::Entry>& entries() const { return entries_; }

 private:
  std::string_view keep(std::string_view text);

  std::deque<std::string> texts_;
  std::deque<replay::Checkpoint> checkpoints_;
  std::vector<replay::Entry> entries_;
};

std::vector<std::string> log_of(Store& store, RunKey run, std::uint64_t from_seq = 0);
std::vector<std::uint64_t> seqs_of(Store& store, RunKey run);
std::vector<std::uint64_t> forgotten_of(Store& store, RunKey run);
// Names or ids of what is in the inbox, in order.
std::vector<std::string> inbox_of(Store& store, RunKey run);
std::vector<std::string> labels(const std::vector<Arrival>& arrivals);

}  // namespace pawl::store

// Session: a transaction whose writes are gathered and sent together, at the latest with COMMIT.
//
// Writes of one kind become one statement for many rows (Bulk). Kinds are sent in the order of
// Write; a write to a run that has one of a later kind before it begins a new group, so that the
// order of writes to one run is kept. Whoever needs an answer calls query() and run(): everything
// before it is sent first, so that the answer counts it in.
//
// Not thread-safe.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "store/postgres/batch.h"
#include "store/postgres/bulk.h"
#include "store/postgres/connection.h"
#include "store/rows.h"

namespace pawl::store::pg {

// In the order in which they are sent.
enum class Write : std::uint8_t {
  kInsertRun,
  kInsertInput,
  kInsertTag,
  kAppendEntry,
  kKeepState,
  kConsumeArrival,
  kKeepArrival,
  kWithdrawById,
  kWithdrawByLocation,
  kPutArrival,
  kAddTask,
  kAddTaskAsIs,
  kChangeTask,
  kRemoveTask,
  kOpenPromise,
  kResolvePromise,
  kAddDedupe,
  kAddCompensation,
  kChangeCompensation,
  kSetReason,
  kRemoveReason,
  kRemoveTasks,
  kRemovePromises,
  kRemoveInbox,
  kRemoveDedupes,
  kUpdateRun,
  kReleaseRun,
};
inline constexpr std::size_t kWriteKinds = static_cast<std::size_t>(Write::kReleaseRun) + 1;

class Session {
 public:
  Session(Connection& connection, std::int64_t ns) : connection_(connection), ns_(ns) {}

  Connection& connection() { return connection_; }
  std::int64_t ns() const { return ns_; }

  // A new transaction; it reaches the server with what is sent first.
  void begin();
  // What is put here is sent before the transaction's next statement: whoever else holds what it
  // locks has committed by then.
  Bulk& write(Write kind, RunKey run);
  // The first statement that is sent makes sure that the run is (still) held like this, and locks
  // it. If not: an error, and is_refuted().
  void assume(RunKey run, WorkerKey owner, std::int64_t epoch, bool is_paused);
  // The same of a worker: that it is (still) known.
  void assume_alive(WorkerKey worker);
  // The same: that there is no run with this id, which is borrowed until then.
  void assume_new(std::string_view id);
  // The same: that the namespace has no seal.
  void assume_open();

  // To be bound, then run(). What is bound is borrowed until then.
  Call& query(const Statement& statement);
  // Sends what there is. Rows of queries are valid until the next run().
  Result<void> run();
  // An empty transaction costs nothing.
  Result<void> commit(const std::optional<Notice>& notice);
  void roll_back();

  // Of the last run(): it failed because of what was assumed, or because of a row that is there
  // already.
  bool is_refuted() const;

  // Called before writes are sent, to add those that were waiting; and with the rows that
  // kReleaseRun gives.
  void set_collector(std::function<void()> collect) { collect_ = std::move(collect); }
  void set_release_reader(std::function<void(const Rows&)> read) {
    read_released_ = std::move(read);
  }

 private:
  void close_group();
  Batch& batch();
  Result<void> send();

  Connection& connection_;
  std::int64_t ns_;
  std::function<void()> collect_;
  std::function<void(const Rows&)> read_released_;

  // By BEGIN. What needs one round trip only is a transaction without it.
  bool is_begun_ = false;
  std::unique_ptr<Batch> batch_;
  std::unique_ptr<Batch> finished_;
  std::array<std::optional<Bulk>, kWriteKinds> group_;
  bool is_collecting_ = false;
  std::unordered_map<RunKey, Write> last_of_run_;  // In this group.
  struct Assumed {
    RunKey run = 0;
    WorkerKey owner = 0;
    std::int64_t epoch = 0;
    bool is_paused = false;
  };
  void collect();
  void send_assumptions();
  std::optional<std::int64_t> send_alone();
  Call& append(const Statement& statement);
  bool remove_rests();
  Result<void> refute();
  const std::optional<Bulk>& group_of(Write kind) const {
    return group_[static_cast<std::size_t>(kind)];
  }
  std::optional<Write> first_write() const;
  bool writes_only(std::span<const Write> kinds) const;
  const Bulk& take(Write kind);  // From the group, to be sent.
  const TextArray& take_new_ids();

  std::vector<Assumed> assumed_;
  std::vector<WorkerKey> assumed_alive_;
  std::vector<std::string_view> assumed_new_;
  bool is_assumed_open_ = false;
  std::deque<TextArray> sent_ids_;  // Borrowed by batch_.
  std::deque<Bulk> sent_;           // Borrowed by batch_.
  std::vector<const Call*> released_;
  std::string sqlstate_;
  std::string constraint_;
};

}  // namespace pawl::store::pg

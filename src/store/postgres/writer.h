// Writer: the transactions of a PostgreSQL store. Every public call is one, tried again by itself
// if it turns out to stand on something that others have changed. When it returns an error, nothing
// has changed, unless that is kUnknownOutcome. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "store/operations/operations.h"
#include "store/postgres/inbox_set.h"
#include "store/postgres/log_set.h"
#include "store/postgres/run_set.h"
#include "store/postgres/session.h"
#include "store/postgres/side_sets.h"
#include "store/postgres/task_set.h"
#include "store/store.h"

namespace pawl::store::pg {

class Writer : private Transaction {
 public:
  // Other stores are told on `channel`, by `sender`.
  Writer(Connection& connection, std::int64_t ns, std::string channel, std::string sender);
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  // Who tells others of ended runs, soon, instead of the transaction itself; none: an empty
  // function. A commit that tells others waits for all others that do, while it waits for the disk.
  void set_end_teller(std::function<void()> tell) { tell_ends_ = std::move(tell); }

  Result<void> apply(std::span<Op> ops);
  Result<WorkerKey> add_worker(const WorkerInfo& info);
  Result<void> remove_worker(WorkerKey worker, std::int64_t now_ms);
  // As of a MovableStore.
  Result<bool> change_seal(std::string_view expected, std::string_view next);
  Result<void> carry(std::string_view seal, std::span<CarryRun> runs);
  Result<void> append(std::string_view seal, const CarryLog& log);
  Result<void> link(std::string_view seal, std::span<const CarryParent> links);
  // As Store::free_expired().
  Result<Sweep> free_expired(WorkerKey self, std::int64_t now_ms);

 private:
  Result<void> transact(const std::function<Result<void>()>& what_to_do,
                        std::span<const Op> ops = {});
  // `trusts`: what this store holds is taken as known, and entries as new.
  std::optional<Notice> notice() const;
  bool tells_ends_later() const;
  Result<void> attempt(const std::function<Result<void>()>& what_to_do, std::span<const Op> ops,
                       bool trusts);
  void begin(bool trusts);
  // Begins, and locks what is known to be needed.
  Result<void> look_ahead(std::span<const Op> ops, bool trusts);
  // Connects if need be, and finds out whether the server still has all that it had.
  Result<void> meet_server();

  Result<bool> has_rests(RunKey run, RunKey chain) override;
  Result<void> expect_claims(std::span<const RunKey> runs, std::int64_t now_ms) override;
  Result<std::string> read_seal(Seals wanted) override;
  Result<void> write_seal(std::string_view seal) override;
  Result<void> begin_part() override;
  Result<void> undo_part() override;
  Result<void> keep_part() override;
  Result<Result<void>> call(const Inside& function) override;

  Connection& connection_;
  bool trusts_ = true;          // In this attempt: what can be assumed is not read.
  std::uint64_t connects_ = 0;  // Of the connection, when the server was last looked at.
  std::string history_;         // The server's, then.
  bool may_have_less_ = false;  // Than was committed here; not told yet.
  std::string channel_;
  std::string sender_;
  std::function<void()> tell_ends_;
  std::set<WorkerKey> own_workers_;
  Session session_;
  RunSet runs_;
  LogSet logs_;
  InboxSet inboxes_;
  TaskSet tasks_;
  PromiseSet promises_;
  DedupeSet dedupes_;
  CompensationSet compensations_;
  WorkerSet workers_;
  Operations operations_;
};

}  // namespace pawl::store::pg

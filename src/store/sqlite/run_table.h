// Runs with their inputs, tags and reasons. Used under the guard of its connection.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/result.h"
#include "store/rows.h"
#include "store/sqlite/connection.h"
#include "store/store.h"

namespace pawl::store {

// Who may append to a run.
struct Lease {
  WorkerKey owner = 0;
  std::int64_t epoch = 0;
  bool is_paused = false;
};

// Of a run's row or head: whether a worker may take it.
template <class Run>
bool can_be_claimed(const Run& run) {
  return run.owner == 0 && !run.is_paused && !is_closed(run.status) &&
         run.status != RunStatus::kBlocked;
}

// What is needed of a run to send something to it.
struct RunHead {
  RunKey key = 0;
  RunStatus status{};
  WorkerKey owner = 0;
  std::int64_t wake_ms = kNever;
  RunKey chain = 0;  // The first of the runs that recurred to this one, maybe itself.
  bool is_paused = false;
  Parent parent;
};

// Columns of a run in the order in which read_run() expects them.
#define PAWL_RUN_COLUMNS                                                                    \
  "key, owner, epoch, status, goal, wake, number, created, changed, parent, parent_close, " \
  "parent_command, uuid, id, kind, definition, approved, waiting_for, paused"
RunRow read_run(const Query& query);

class RunTable {
 public:
  RunTable(Connection& connection, std::int64_t ns);

  Result<std::optional<RunRow>> find(RunKey run);
  Result<std::optional<RunRow>> find_newest(std::string_view id);
  Result<std::optional<RunRow>> find_numbered(std::string_view id, std::uint32_t number);
  Result<std::optional<RunHead>> find_head(RunKey run);
  Result<std::optional<RunHead>> find_newest_head(std::string_view id);
  // Of a run that must be there, since something else in the database says so: kStoreCorrupt if
  // not.
  Result<RunRow> get(RunKey run);
  Result<RunHead> get_head(RunKey run);
  // None: there is no such run. What it has found it knows until forget_leases(), which is to be
  // called when others may have changed them, and after a rollback.
  Result<std::optional<Lease>> find_lease(RunKey run);
  void forget_leases() { leases_.clear(); }

  // `owner` 0: it is to be claimed at once.
  Result<RunRow> add(const NewRun& run, std::uint32_t number, RunKey chain, WorkerKey owner,
                     std::int64_t now_ms);

  // Puts a run as it is, but for its key: nobody owns it.
  Result<RunRow> add_as_is(RunRow row, std::string_view input, std::span<const Tag> tags);
  // With its input, tags and reason.
  Result<void> remove(RunKey run);

  // Changes `row`, which can be claimed, with what is stored.
  Result<void> claim(RunRow& row, WorkerKey worker, std::int64_t now_ms);
  Result<void> release(RunKey run, RunStatus status, std::string_view waiting_for,
                       std::int64_t wake_ms, std::int64_t now_ms);
  Result<void> close(RunKey run, RunStatus status, std::int64_t now_ms);
  Result<void> start_compensating(RunKey run, RunStatus goal, std::int64_t now_ms);
  Result<void> set_definition(RunKey run, std::string_view definition);
  // Wakes it at `due_ms`, if nothing else does so before; a run that cannot be claimed is left
  // alone. True: something has changed.
  Result<bool> wake(const RunHead& head, std::int64_t due_ms);
  // Of a run that nobody holds: it is to be claimed now. A blocked one is approved by that.
  Result<void> resume(RunKey run, std::int64_t now_ms);
  // Nobody claims it any more; or it is to be claimed now, if it can be.
  Result<void> pause(RunKey run);
  Result<void> unpause(const RunHead& head, std::int64_t now_ms);
  // Runs of this worker are to be claimed now. Returns how many.
  Result<std::int64_t> free_runs(WorkerKey worker, std::int64_t now_ms);

  // Up to `limit` of this kind that are to be woken by now, longest due first: moment and key.
  Result<std::vector<std::pair<std::int64_t, RunKey>>> find_due(std::string_view kind,
                                                                std::int64_t now_ms,
                                                                std::size_t limit);
  Result<std::int64_t> next_wake(std::string_view kind);
  // Up to `limit` blocked ones behind `after` that ClaimStuck is for, in order of key.
  Result<std::vector<RunKey>> find_blocked(const ClaimStuck::Code& code, RunKey after,
                                           std::size_t limit);
  // The same for those that need an activity.
  Result<std::vector<RunKey>> find_needing(std::string_view activity, RunKey after,
                                           std::size_t limit);
  // Open ones.
  Result<std::vector<RunRow>> read_children(RunKey run);
  Result<std::vector<RunHead>> read_child_heads(RunKey run);
  Result<bool> has_open_child(RunKey run);

  Result<std::string> read_input(RunKey run);
  Result<std::vector<Tag>> read_tags(RunKey run);
  Result<std::string> read_reason(RunKey run);
  Result<void> set_reason(RunKey run, std::string_view reason,
                          const std::optional<std::string>& blocked_by);
  Result<void> set_needs(RunKey run, std::string_view activity);
  Result<void> remove_reason(RunKey run);
  struct Blame {
    std::optional<std::string> blocked_by;
    std::string needs;
  };
  Result<Blame> read_blame(RunKey run);

 private:
  Result<void> add_input_and_tags(const RunRow& row, std::string_view input,
                                  std::span<const Tag> tags);
  static Result<std::vector<RunKey>> read_keys(Query& query);
  Result<std::optional<RunRow>> read_one(Query& query);
  Result<std::optional<RunHead>> read_next_head(Query& query);
  Error missing(RunKey run) const;

  Connection& connection_;
  std::int64_t ns_;
  std::unordered_map<RunKey, Lease> leases_;
  Statement find_;
  Statement find_newest_;
  Statement find_numbered_;
  Statement find_head_;
  Statement find_newest_head_;
  Statement find_lease_;
  Statement insert_;
  Statement insert_as_is_;
  Statement remove_;
  Statement remove_input_;
  Statement remove_tags_;
  Statement insert_input_;
  Statement insert_tag_;
  Statement claim_;
  Statement release_;
  Statement close_;
  Statement start_compensating_;
  Statement set_definition_;
  Statement wake_;
  Statement resume_;
  Statement pause_;
  Statement unpause_;
  Statement free_;
  Statement find_due_;
  Statement next_wake_;
  Statement find_blocked_;
  Statement find_own_blocked_;
  Statement find_needing_;
  Statement read_children_;
  Statement read_child_heads_;
  Statement has_open_child_;
  Statement read_input_;
  Statement read_tags_;
  Statement read_reason_;
  Statement read_blame_;
  Statement set_reason_;
  Statement set_needs_;
  Statement remove_reason_;
};

}  // namespace pawl::store

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
#include "store/operations/tables.h"
#include "store/rows.h"
#include "store/sqlite/connection.h"
#include "store/store.h"

namespace pawl::store {

// Columns of a run in the order in which read_run() expects them.
#define PAWL_RUN_COLUMNS                                                                    \
  "key, owner, epoch, status, goal, wake, number, created, changed, parent, parent_close, " \
  "parent_command, uuid, id, kind, definition, approved, waiting_for, paused"
RunRow read_run(const Query& query);

class RunTable : public Runs {
 public:
  RunTable(Connection& connection, std::int64_t ns);

  Result<std::optional<RunRow>> find(RunKey run) override;
  Result<std::optional<RunRow>> find_newest(std::string_view id) override;
  Result<std::optional<RunRow>> find_numbered(std::string_view id, std::uint32_t number);
  Result<std::optional<RunHead>> find_head(RunKey run) override;
  Result<std::optional<RunHead>> find_newest_head(std::string_view id) override;
  Result<RunRow> get(RunKey run) override;
  Result<RunHead> get_head(RunKey run) override;
  // What it has found it knows until forget_leases(), which is to be called when others may have
  // changed them, and after a rollback.
  Result<std::optional<Lease>> find_lease(RunKey run) override;
  void forget_leases() { leases_.clear(); }

  Result<RunRow> add(const NewRun& run, std::uint32_t number, RunKey chain, WorkerKey owner,
                     std::int64_t now_ms) override;
  Result<RunRow> add_as_is(RunRow row, std::string_view input, std::span<const Tag> tags) override;
  Result<void> set_parent(RunKey run, const Parent& parent) override;
  Result<void> remove(RunKey run) override;

  Result<void> claim(RunRow& row, WorkerKey worker, std::int64_t now_ms) override;
  Result<void> release(const Release& release, bool& released, std::int64_t& wake_ms) override;
  Result<void> close(RunKey run, RunStatus status, std::int64_t now_ms) override;
  Result<void> start_compensating(RunKey run, RunStatus goal, std::int64_t now_ms) override;
  Result<void> set_definition(RunKey run, std::string_view definition) override;
  Result<void> wake(const RunHead& head, std::int64_t due_ms) override;
  Result<void> resume(RunKey run, std::int64_t now_ms) override;
  Result<void> pause(RunKey run) override;
  Result<void> unpause(const RunHead& head, std::int64_t now_ms) override;
  Result<void> free_runs(std::span<const WorkerKey> workers, std::int64_t now_ms) override;

  Result<Due> find_due(const ClaimDue& op) override;
  Result<std::int64_t> next_wake(std::string_view kind);
  // As Store::next_wake(), of a kind that is in `left`.
  Result<std::int64_t> next_wake(std::string_view kind, std::span<const KindDefinition> left,
                                 std::int64_t after_ms);
  Result<std::vector<RunKey>> find_blocked(const ClaimStuck& op,
                                           const ClaimStuck::Code& code) override;
  Result<std::vector<RunKey>> find_needing(std::string_view activity, RunKey after,
                                           std::size_t limit) override;
  // Open ones.
  Result<std::vector<RunRow>> read_children(RunKey run);
  Result<std::vector<RunHead>> read_child_heads(RunKey run) override;
  Result<bool> has_open_child(RunKey run) override;

  Result<std::string> read_input(RunKey run);
  Result<std::vector<Tag>> read_tags(RunKey run) override;
  Result<std::string> read_reason(RunKey run);
  Result<void> set_reason(RunKey run, std::string_view reason,
                          const std::optional<std::string>& blocked_by) override;
  Result<void> set_needs(RunKey run, std::string_view activity) override;
  Result<void> remove_reason(RunKey run) override;
  struct Blame {
    std::optional<std::string> blocked_by;
    std::string needs;
  };
  Result<Blame> read_blame(RunKey run);

 private:
  Result<void> add_input_and_tags(const RunRow& row, std::string_view input,
                                  std::span<const Tag> tags);
  // Of one kind: moment and key.
  Result<void> add_due(const ClaimDue& op, std::string_view kind,
                       std::vector<std::pair<std::int64_t, RunKey>>& due);
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
  Statement set_parent_;
  Statement remove_;
  Statement remove_input_;
  Statement remove_tags_;
  Statement insert_input_;
  Statement insert_tag_;
  Statement claim_;
  Statement first_due_;
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
  Statement find_due_left_;
  Statement read_wakes_;
  Statement workers_mark_;
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

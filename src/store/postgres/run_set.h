// RunSet: the runs that a transaction is about, in memory. What is read is locked and kept, so that
// later looks cost nothing; changes are made here and sent once, with everything else.
//
// Runs that this store holds are known from one transaction to the next: nobody else changes them
// but by taking them away or by pausing them, which the server is made to check before anything of
// the transaction is written. Not thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/result.h"
#include "store/operations/tables.h"
#include "store/postgres/records.h"
#include "store/postgres/session.h"

namespace pawl::store::pg {

class RunSet : public Runs {
 public:
  explicit RunSet(Session& session);

  // A transaction begins: nothing is in the set. If `trusts` is false, nothing is taken as known
  // from before.
  void begin(bool trusts);
  // It was committed: what `own` hold is known from now on.
  void committed(const std::set<WorkerKey>& own);
  // It was not; others may have changed anything.
  void forget_known() { known_.clear(); }
  void forget_spare_keys() { spare_keys_.clear(); }
  bool is_known(RunKey run) const { return trusts_ && known_.contains(run); }
  // Whether ids are taken for new ones: the index refuses them if they are not.
  bool trusts_ids() const { return trusts_ && careful_starts_ == 0; }
  // Ids turned out to be taken: for some time it is better to look.
  void look_for_ids() { careful_starts_ = kCarefulStarts; }
  // Of a run that is known: it is taken as it is, and the server is made to check that.
  void assume_known(RunKey run);
  // Of a run that is known: its parent, 0 if it has none.
  RunKey parent_of_known(RunKey run) const;
  bool is_known_childless(RunKey run) const;

  // Rows that were read and locked.
  void put(const Row& row);
  // All of these were read: those that were not found are not there.
  void put_newest(std::string_view id, std::optional<RunKey> newest);
  void put_missing(RunKey run);
  // All open children of this run are in the set.
  void put_children(RunKey parent, std::vector<RunKey> children);
  // How many times runs were locked one by one, after what was read at the beginning.
  std::uint64_t late_locks() const { return late_locks_; }
  // None: not in the set.
  const RunRow* seen(RunKey run) const;
  // What is in the set may no longer be true.
  void clear();

  Result<std::optional<RunRow>> find(RunKey run) override;
  Result<std::optional<RunRow>> find_newest(std::string_view id) override;
  Result<std::optional<RunHead>> find_head(RunKey run) override;
  Result<std::optional<RunHead>> find_newest_head(std::string_view id) override;
  Result<RunRow> get(RunKey run) override;
  Result<RunHead> get_head(RunKey run) override;
  Result<std::optional<Lease>> find_lease(RunKey run) override;
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
  Result<std::vector<RunKey>> find_blocked(const ClaimStuck& op,
                                           const ClaimStuck::Code& code) override;
  Result<std::vector<RunKey>> find_needing(std::string_view activity, RunKey after,
                                           std::size_t limit) override;
  Result<std::vector<RunHead>> read_child_heads(RunKey run) override;
  Result<bool> has_open_child(RunKey run) override;
  Result<std::vector<Tag>> read_tags(RunKey run) override;
  Result<void> set_reason(RunKey run, std::string_view reason,
                          const std::optional<std::string>& blocked_by) override;
  Result<void> set_needs(RunKey run, std::string_view activity) override;
  Result<void> remove_reason(RunKey run) override;

 private:
  enum class State : std::uint8_t { kStored, kNew, kChanged };
  struct Seen {
    StoredRun run;
    State state = State::kStored;
    bool is_childless = false;  // Known to have no children.
  };
  struct Answer {
    bool* released;
    std::int64_t* wake_ms;
  };

  // Null: there is no such run.
  Result<Seen*> look(RunKey run);
  Result<Seen*> look_newest(std::string_view id);
  Result<Seen*> must_look(RunKey run);
  // To be changed.
  Result<RunRow*> change(RunKey run);
  Result<std::vector<RunKey>> read_locked(const Call& call);
  Result<void> lock_children(RunKey run);
  Result<RunKey> next_key();
  Seen& add_row(StoredRun run, std::string_view input, std::span<const Tag> tags);
  void collect();
  void write(const Seen& seen);
  void read_released(const Rows& rows);
  static RunHead head_of(const StoredRun& run);

  static constexpr int kCarefulStarts = 1000;

  Session& session_;
  bool trusts_ = false;
  int careful_starts_ = 0;
  std::unordered_map<RunKey, std::optional<Seen>> runs_;  // None: not there.
  std::unordered_map<std::string, std::optional<RunKey>> newest_;
  std::unordered_map<RunKey, std::vector<RunKey>> children_;
  std::uint64_t late_locks_ = 0;
  std::vector<RunKey> changed_;  // kNew, kChanged.
  std::unordered_map<RunKey, Answer> answers_;
  // Told when it is committed: a transaction that is tried again begins with what was asked.
  std::vector<std::pair<Answer, std::int64_t>> given_back_;
  std::vector<RunKey> spare_keys_;
  std::int64_t key_block_ = 64;
  struct Known {
    StoredRun run;
    bool is_childless = false;
  };
  std::unordered_map<RunKey, Known> known_;
  std::unordered_set<RunKey> no_longer_known_;  // Given back by this transaction, or maybe not.
};

}  // namespace pawl::store::pg

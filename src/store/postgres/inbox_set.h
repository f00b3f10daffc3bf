// InboxSet: what waits for the runs of a transaction. Not thread-safe.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/result.h"
#include "store/operations/tables.h"
#include "store/postgres/run_set.h"
#include "store/postgres/session.h"

namespace pawl::store::pg {

class InboxSet : public Inboxes {
 public:
  InboxSet(Session& session, const RunSet& runs) : session_(session), runs_(runs) {}

  void begin();
  void forget_spare_keys() { spare_keys_.clear(); }
  // Keys that were drawn while the runs that will be written to were locked.
  void put_key(ArrivalKey key) { fresh_keys_.push_back(key); }
  // What is due for these runs was read by now, and what there is of it.
  void put_loaded(RunKey run, std::int64_t now_ms);
  void put_due(const Row& row);
  // Reads what is due for these, unless it is known.
  Result<void> load(std::span<const RunKey> runs, std::int64_t now_ms);

  Result<ArrivalKey> put(RunKey run, const NewArrival& arrival, By by) override;
  Result<void> put_stored(RunKey run, const StoredArrival& arrival) override;
  Result<void> consume(RunKey run, ArrivalKey key) override;
  Result<void> keep(RunKey run, ArrivalKey key) override;
  Result<void> withdraw(RunKey run, std::uint8_t kind, std::string_view id) override;
  Result<void> remove_all(RunKey run) override;
  Result<void> move_free_ones(RunKey from, RunKey to) override;
  Result<std::int64_t> hurry(RunKey run, std::int64_t now_ms) override;
  Result<std::vector<Arrival>> read_due(RunKey run, std::int64_t now_ms) override;

 private:
  struct Due {
    std::int64_t now_ms = 0;
    std::vector<Arrival> arrivals;
  };

  Result<ArrivalKey> next_key(RunKey run, By by);
  Result<ArrivalKey> put(RunKey run, const NewArrival& arrival, By by, bool is_kept);

  Session& session_;
  const RunSet& runs_;
  std::vector<ArrivalKey> fresh_keys_;  // For this transaction.
  std::uint64_t seen_locks_ = 0;
  std::vector<ArrivalKey> spare_keys_;  // From earlier, for whoever holds the run.
  std::unordered_map<RunKey, Due> due_;
  std::unordered_set<RunKey> moved_to_;  // In this transaction.
};

}  // namespace pawl::store::pg

// What waits for runs. Used under the guard of its connection.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "store/operations/tables.h"
#include "store/rows.h"
#include "store/run_image.h"
#include "store/sqlite/connection.h"

namespace pawl::store {

class InboxTable : public Inboxes {
 public:
  InboxTable(Connection& connection, std::int64_t ns);

  Result<ArrivalKey> put(RunKey run, const NewArrival& arrival, By by) override;
  Result<void> put_stored(RunKey run, const StoredArrival& arrival) override;
  Result<void> consume(RunKey run, ArrivalKey key) override;
  Result<void> keep(RunKey run, ArrivalKey key) override;
  Result<void> withdraw(RunKey run, std::uint8_t kind, std::string_view id) override;
  Result<void> remove_all(RunKey run) override;
  Result<void> move_free_ones(RunKey from, RunKey to) override;
  Result<std::int64_t> hurry(RunKey run, std::int64_t now_ms) override;
  Result<std::vector<Arrival>> read_due(RunKey run, std::int64_t now_ms) override;

  Result<std::vector<Arrival>> read(RunKey run);
  // What is kept, too.
  Result<std::vector<StoredArrival>> read_stored(RunKey run);
  // 0: there is none.
  Result<ArrivalKey> last();
  // Of all runs that this worker holds.
  Result<std::vector<Arrival>> read_held(WorkerKey worker, ArrivalKey after);

 private:
  Connection& connection_;
  std::int64_t ns_;
  Statement insert_;
  Statement consume_;
  Statement keep_;
  Statement withdraw_by_id_;
  Statement withdraw_by_location_;
  Statement remove_all_;
  Statement copy_free_ones_;
  Statement hurry_;
  Statement read_kept_;
  Statement read_;
  Statement read_due_;
  Statement last_;
  Statement read_held_;
};

}  // namespace pawl::store

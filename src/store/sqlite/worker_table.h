// Workers that are known, and when they expire. Used under the guard of its connection.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "store/operations/tables.h"
#include "store/rows.h"
#include "store/sqlite/connection.h"
#include "store/store.h"

namespace pawl::store {

inline constexpr const char* kWorkersMark =
    "SELECT max(key), count(*) FROM pawl_worker WHERE ns = ?";

class WorkerTable : public Workers {
 public:
  WorkerTable(Connection& connection, std::int64_t ns);

  Result<WorkerKey> add(const WorkerInfo& info) override;
  Result<void> mark_locked(WorkerKey worker) override;
  Result<bool> has(WorkerKey worker) override;
  Result<bool> extend(WorkerKey worker, std::int64_t expires_ms) override;
  Result<void> remove(std::span<const WorkerKey> workers) override;
  Result<std::vector<WorkerLease>> read() override;
  Result<WorkersMark> mark() override;
  Result<std::vector<KnownWorker>> read_known();

 private:
  Connection& connection_;
  std::int64_t ns_;
  Statement add_;
  Statement mark_locked_;
  Statement has_;
  Statement extend_;
  Statement remove_;
  Statement read_;
  Statement mark_;
  Statement read_known_;
};

}  // namespace pawl::store

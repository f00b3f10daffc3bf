// Workers that are known, and when they expire. Used under the guard of its connection.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "store/rows.h"
#include "store/sqlite/connection.h"
#include "store/store.h"

namespace pawl::store {

struct WorkerLease {
  WorkerKey key = 0;
  std::int64_t expires_ms = kNever;
  bool is_locked = false;  // Its process holds a lock for as long as it lives.
};

class WorkerTable {
 public:
  WorkerTable(Connection& connection, std::int64_t ns);

  Result<WorkerKey> add(const WorkerInfo& info);
  Result<void> mark_locked(WorkerKey worker);
  Result<bool> has(WorkerKey worker);
  // False: there is no such worker.
  Result<bool> extend(WorkerKey worker, std::int64_t expires_ms);
  Result<bool> remove(WorkerKey worker);
  Result<std::vector<WorkerLease>> read();

 private:
  Connection& connection_;
  std::int64_t ns_;
  Statement add_;
  Statement mark_locked_;
  Statement has_;
  Statement extend_;
  Statement remove_;
  Statement read_;
};

}  // namespace pawl::store

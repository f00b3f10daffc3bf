// One locked byte for each live worker, in a file beside the database. The kernel drops the locks
// of a process that ends, however it ends, so others can tell at once that its workers are dead.
// Not thread-safe.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "store/rows.h"

namespace pawl::store {

class WorkerLocks {
 public:
  // kStoreUnusable: the file cannot be opened or made.
  static Result<std::unique_ptr<WorkerLocks>> open(const std::string& path);
  ~WorkerLocks();
  WorkerLocks(const WorkerLocks&) = delete;
  WorkerLocks& operator=(const WorkerLocks&) = delete;

  // Until unlock() or the end of this object. False: this file system cannot, or somebody else has
  // it.
  bool lock(WorkerKey worker);
  void unlock(WorkerKey worker);
  // Whether another WorkerLocks, of this process or another one, holds the lock. Also true if that
  // cannot be told.
  bool is_locked_elsewhere(WorkerKey worker) const;

 private:
  explicit WorkerLocks(int file) : file_(file) {}

  int file_;
};

}  // namespace pawl::store

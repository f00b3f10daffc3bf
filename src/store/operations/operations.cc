#include "store/operations/operations.h"

#include <variant>

#include "store/operations/size_check.h"
#include "store/seal.h"

namespace pawl::store {

Result<void> Operations::apply(std::span<Op> ops) {
  if (own_workers_.empty()) {
    PAWL_TRY(check_open(Transaction::Seals::kToLook));
  }
  for (Op& op : ops) {
    PAWL_TRY(std::visit([this](auto& one) { return run(one); }, op));
  }
  return {};
}

// Where a worker is, there is no seal.
Result<void> Operations::check_open(Transaction::Seals wanted) {
  PAWL_TRY_ASSIGN(const std::string seal, transaction_.read_seal(wanted));
  return seal.empty() ? Result<void>() : make_error(ErrorCode::kStoreUnusable, seal_sentence(seal));
}

Result<WorkerKey> Operations::add_worker(const WorkerInfo& info,
                                         const std::function<bool(WorkerKey)>& lock) {
  PAWL_TRY(check_open(Transaction::Seals::kToKeep));
  PAWL_TRY_ASSIGN(const WorkerKey worker, workers_.add(info));
  if (lock(worker)) {
    PAWL_TRY(workers_.mark_locked(worker));
  }
  concerns_others_ = true;  // They will have to look after it.
  return worker;
}

Result<void> Operations::remove_workers(const std::function<bool(const WorkerLease&)>& is_dead,
                                        std::int64_t now_ms) {
  PAWL_TRY_ASSIGN(const std::vector<WorkerLease> workers, workers_.read());
  std::vector<WorkerKey> dead;
  for (const WorkerLease& worker : workers) {
    if (is_dead(worker)) {
      dead.push_back(worker.key);
    }
  }
  if (dead.empty()) {
    return {};
  }
  concerns_others_ = true;
  PAWL_TRY(workers_.remove(dead));
  PAWL_TRY(runs_.free_runs(dead, now_ms));
  return tasks_.free_tasks(dead, now_ms);
}

void Operations::concern_others_than(WorkerKey owner) {
  concerns_others_ = concerns_others_ || owner == 0 || !own_workers_.contains(owner);
}

}  // namespace pawl::store

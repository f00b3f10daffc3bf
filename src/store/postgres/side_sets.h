// Small tables that belong to runs: promises, ids of signals seen, compensations; and workers.
// Not thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "store/operations/tables.h"
#include "store/postgres/session.h"

namespace pawl::store::pg {

class PromiseSet : public Promises {
 public:
  explicit PromiseSet(Session& session) : session_(session) {}
  void begin() { states_.clear(); }

  Result<void> open(RunKey run, std::string_view name) override;
  Result<PromiseState> find(RunKey run, std::string_view name) override;
  Result<void> resolve(RunKey run, std::string_view name) override;
  Result<void> remove_all(RunKey run) override;

 private:
  Session& session_;
  std::map<std::pair<RunKey, std::string>, PromiseState> states_;
};

class DedupeSet : public Dedupes {
 public:
  explicit DedupeSet(Session& session) : session_(session) {}

  Result<bool> has(RunKey chain, std::string_view id) override;
  Result<void> add(RunKey chain, std::string_view id) override;
  Result<void> remove_all(RunKey chain) override;

 private:
  Session& session_;
};

class CompensationSet : public Compensations {
 public:
  explicit CompensationSet(Session& session) : session_(session) {}

  Result<void> add(RunKey run, const CompensationRow& row) override;
  Result<void> change(RunKey run, const CompensationChange& change) override;
  Result<void> remove_all(RunKey run) override;
  Result<std::int64_t> hurry(RunKey run, std::int64_t now_ms) override;

 private:
  Session& session_;
};

class WorkerSet : public Workers {
 public:
  // `own` are the workers of this store.
  WorkerSet(Session& session, const std::set<WorkerKey>& own) : session_(session), own_(own) {}
  // If `trusts`, its own workers are taken for alive, and the server is made to check it.
  void begin(bool trusts) {
    trusts_ = trusts;
    alive_.clear();
  }
  bool is_trusted(WorkerKey worker) const { return trusts_ && own_.contains(worker); }
  // It is there, and nobody can remove it before the transaction ends.
  void put_alive(WorkerKey worker) { alive_.insert(worker); }

  Result<WorkerKey> add(const WorkerInfo& info) override;
  Result<void> mark_locked(WorkerKey worker) override;
  Result<bool> has(WorkerKey worker) override;
  Result<bool> extend(WorkerKey worker, std::int64_t expires_ms) override;
  Result<void> remove(std::span<const WorkerKey> workers) override;
  Result<std::vector<WorkerLease>> read() override;
  Result<WorkersMark> mark() override;

 private:
  Session& session_;
  const std::set<WorkerKey>& own_;
  bool trusts_ = false;
  std::set<WorkerKey> alive_;
};

}  // namespace pawl::store::pg

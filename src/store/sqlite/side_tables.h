// Small tables that belong to runs: promises, ids of signals seen, compensations.
// Used under the guard of their connection.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "store/operations/tables.h"
#include "store/rows.h"
#include "store/run_image.h"
#include "store/sqlite/connection.h"

namespace pawl::store {

class PromiseTable : public Promises {
 public:
  PromiseTable(Connection& connection, std::int64_t ns);

  Result<void> open(RunKey run, std::string_view name) override;
  Result<PromiseState> find(RunKey run, std::string_view name) override;
  Result<void> resolve(RunKey run, std::string_view name) override;
  Result<void> remove_all(RunKey run) override;
  Result<std::vector<std::string>> read_open(RunKey run);
  // Also those that are resolved.
  Result<std::vector<PromiseRow>> read(RunKey run);

 private:
  std::int64_t ns_;
  Statement open_;
  Statement find_;
  Statement resolve_;
  Statement remove_all_;
  Statement read_open_;
  Statement read_;
};

class DedupeTable : public Dedupes {
 public:
  DedupeTable(Connection& connection, std::int64_t ns);

  Result<bool> has(RunKey chain, std::string_view id) override;
  Result<void> add(RunKey chain, std::string_view id) override;
  Result<void> remove_all(RunKey chain) override;
  Result<std::vector<std::string>> read(RunKey chain);

 private:
  std::int64_t ns_;
  Statement find_;
  Statement add_;
  Statement remove_all_;
  Statement read_;
};

class CompensationTable : public Compensations {
 public:
  CompensationTable(Connection& connection, std::int64_t ns);

  Result<void> add(RunKey run, const CompensationRow& row) override;
  Result<void> change(RunKey run, const CompensationChange& change) override;
  Result<void> remove_all(RunKey run) override;
  Result<std::int64_t> hurry(RunKey run, std::int64_t now_ms) override;
  Result<std::vector<CompensationRow>> read(RunKey run);

 private:
  Connection& connection_;
  std::int64_t ns_;
  Statement add_;
  Statement change_;
  Statement remove_all_;
  Statement hurry_;
  Statement read_;
};

}  // namespace pawl::store

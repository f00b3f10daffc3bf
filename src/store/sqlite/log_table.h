// The log of each run, and what loops have moved away from it. Used under the guard of its
// connection.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "replay/entry.h"
#include "store/operations/tables.h"
#include "store/rows.h"
#include "store/run_visitor.h"
#include "store/sqlite/connection.h"

namespace pawl::store {

class LogTable : public Logs {
 public:
  using Visit = std::function<Result<void>(const replay::Entry&)>;

  LogTable(Connection& connection, std::int64_t ns);

  Result<bool> append(RunKey run, std::span<const replay::Entry> entries) override;
  Result<void> forget(RunKey run, std::span<const std::uint64_t> seqs, std::string_view loop,
                      std::int64_t iteration) override;
  Result<void> remove_all(RunKey run) override;
  Result<std::uint64_t> last_seq(RunKey run) override;

  Result<void> read(RunKey run, std::uint64_t from_seq, const Visit& visit);
  Result<void> read_last(RunKey run, const Visit& visit);
  Result<void> read_forgotten(RunKey run, const Visit& visit);
  // The same, with where they were moved from.
  Result<void> read_moved(
      RunKey run, const std::function<Result<void>(const replay::Entry&, const MovedFrom&)>& visit);

 private:
  Result<bool> append_one(RunKey run, const replay::Entry& entry);
  Result<void> move_away(RunKey run, std::uint64_t first, std::uint64_t last, std::string_view loop,
                         std::int64_t iteration);
  Result<void> keep_state(RunKey run, const replay::Entry& checkpointed);
  Result<void> trim(RunKey run, std::string_view loop, std::int64_t iteration);
  Result<void> visit_rows(Query& query, const Visit& visit);
  Result<void> visit_row(Query& query, const Visit& visit);

  Connection& connection_;
  std::int64_t ns_;
  Statement insert_;
  Statement remove_rows_;
  Statement copy_to_forgotten_;
  Statement remove_range_;
  Statement trim_;
  Statement trim_below_;
  Statement add_state_;
  Statement remove_state_;
  Statement trim_state_;
  Statement trim_state_below_;
  Statement remove_log_;
  Statement remove_forgotten_;
  Statement last_seq_;
  Statement read_;
  Statement read_last_;
  Statement read_forgotten_;
};

}  // namespace pawl::store

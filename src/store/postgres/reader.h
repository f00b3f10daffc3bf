// Reader: what is committed, by a connection of its own. Thread-safe; one at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "store/postgres/batch.h"
#include "store/postgres/connection.h"
#include "store/rows.h"
#include "store/store.h"

namespace pawl::store::pg {

class Reader {
 public:
  using Visit = std::function<Result<void>(const replay::Entry&)>;

  Reader(std::unique_ptr<Connection> connection, std::int64_t ns)
      : connection_(std::move(connection)), ns_(ns) {}

  Result<std::optional<RunRow>> find_run(RunKey run);
  Result<std::optional<RunRow>> find_run(std::string_view id, std::optional<std::uint32_t> number);
  Result<std::string> read_input(RunKey run);
  Result<std::vector<Tag>> read_tags(RunKey run);
  Result<std::string> read_reason(RunKey run);
  Result<void> read_log(RunKey run, std::uint64_t from_seq, const Visit& visit);
  Result<void> read_last(RunKey run, const Visit& visit);
  Result<void> read_forgotten(RunKey run, const Visit& visit);
  // Arrivals that others have put into the inboxes of runs that this worker holds.
  Result<std::vector<Arrival>> read_news(WorkerKey worker);
  Result<std::vector<Arrival>> read_inbox(RunKey run);
  Result<std::vector<Arrival>> read_due_inbox(RunKey run, std::int64_t now_ms);
  Result<std::vector<CompensationRow>> read_compensations(RunKey run);
  Result<std::vector<std::string>> read_promises(RunKey run);
  Result<std::vector<TaskRow>> read_tasks(RunKey run);
  Result<std::vector<RunRow>> read_children(RunKey run);
  Result<std::int64_t> next_wake(std::span<const std::string> kinds,
                                 std::span<const KindDefinition> left, std::int64_t after_ms);
  Result<std::vector<KnownWorker>> read_workers();
  Result<std::vector<TaskRow>> due_tasks(std::int64_t now_ms, std::size_t limit,
                                         std::int64_t* next_due);
  // When the first worker but this one expires; kNever: there is none.
  Result<std::int64_t> first_expiry(WorkerKey but);
  Result<std::int64_t> read_clock();

 private:
  using Bind = std::function<void(Call&)>;
  using Take = std::function<Result<void>(const Row&)>;
  // `bind` is given what has the namespace as its first parameter.
  Result<void> ask(const Statement& statement, const Bind& bind, const Take& take);
  Result<void> read_pages(const Statement& statement, RunKey run, std::uint64_t from_seq,
                          const Visit& visit);
  // Returns where to go on; 0: that was all.
  Result<std::uint64_t> read_page(const Statement& statement, RunKey run, std::uint64_t from_seq,
                                  bool only_if_all, const Visit& visit);

  std::mutex mutex_;
  std::unique_ptr<Connection> connection_;
  std::int64_t ns_;
};

}  // namespace pawl::store::pg

// TaskSet: the tasks that a transaction is about. Not thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "store/operations/tables.h"
#include "store/postgres/session.h"

namespace pawl::store::pg {

class TaskSet : public Tasks {
 public:
  explicit TaskSet(Session& session) : session_(session) {}

  void begin() { heads_.clear(); }
  // One that was read and locked: key, run, state, attempt, owner, cancelled.
  void put(const Row& row);
  void put_missing(TaskKey task) { heads_.try_emplace(task, std::nullopt); }

  Result<void> add(RunKey run, const NewTask& task, std::int64_t now_ms) override;
  Result<void> add_as_is(RunKey run, const TaskRow& task) override;
  Result<std::int64_t> hurry(RunKey run, std::int64_t now_ms) override;
  Result<bool> cancel(RunKey run, std::string_view id) override;
  Result<void> remove(RunKey run, TaskKey task) override;
  Result<void> remove_all(RunKey run) override;
  Result<std::vector<TaskRow>> take(std::string_view queue, std::span<const std::string> types,
                                    WorkerKey worker, std::size_t limit,
                                    std::int64_t now_ms) override;
  Result<void> change(RunKey run, TaskKey task, const TaskChange& change) override;
  Result<void> free_tasks(std::span<const WorkerKey> workers, std::int64_t now_ms) override;
  Result<std::optional<TaskHead>> find_head(TaskKey task) override;

 private:
  Session& session_;
  std::unordered_map<TaskKey, std::optional<TaskHead>> heads_;
};

}  // namespace pawl::store::pg

// Tasks in their queues. Used under the guard of its connection.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "store/catalog.h"
#include "store/operations/tables.h"
#include "store/rows.h"
#include "store/sqlite/connection.h"

namespace pawl::store {

class TaskTable : public Tasks {
 public:
  TaskTable(Connection& connection, std::int64_t ns);

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

  Result<std::vector<TaskRow>> read(RunKey run);
  Result<std::vector<TaskRow>> list(const TaskFilter& filter, TaskKey after, std::size_t limit);
  // The oldest that are due; `next_due` is when the first of the others is.
  Result<std::vector<TaskRow>> read_due(std::int64_t now_ms, std::size_t limit,
                                        std::int64_t* next_due);

 private:
  struct Candidate {
    std::int64_t priority = 0;
    TaskKey key = 0;
  };
  Result<std::vector<Candidate>> find_ready(std::string_view queue,
                                            std::span<const std::string> types, std::size_t limit);
  Result<void> start_attempt(TaskRow& task, WorkerKey worker, std::int64_t now_ms);
  Result<std::optional<TaskRow>> find(TaskKey task);

  Connection& connection_;
  std::int64_t ns_;
  Statement insert_;
  Statement insert_as_is_;
  Statement hurry_;
  Statement remove_waiting_;
  Statement tell_running_;
  Statement remove_;
  Statement remove_all_;
  Statement promote_;
  Statement find_ready_;
  Statement start_;
  Statement change_;
  Statement free_;
  Statement find_;
  Statement find_head_;
  Statement read_;
  Statement list_;
  Statement read_due_;
  Statement next_due_;
};

}  // namespace pawl::store

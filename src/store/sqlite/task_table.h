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
#include "store/rows.h"
#include "store/sqlite/connection.h"

namespace pawl::store {

class TaskTable {
 public:
  TaskTable(Connection& connection, std::int64_t ns);

  // One with the same run and id that is there already stays as it is.
  Result<void> add(RunKey run, const NewTask& task, std::int64_t now_ms);
  // As it is, but for its key and owner; one that was running is ready.
  Result<void> add_as_is(RunKey run, const TaskRow& task, std::int64_t now_ms);
  // Delayed ones are due now. Returns how many.
  Result<std::int64_t> hurry(RunKey run, std::int64_t now_ms);
  // True: it was waiting, and is gone. False: it runs and is told, or there is none.
  Result<bool> cancel(RunKey run, std::string_view id);
  Result<void> remove(TaskKey task);
  Result<void> remove_all(RunKey run);

  // Takes ready ones for a worker, highest priority first, then oldest.
  Result<std::vector<TaskRow>> take(std::string_view queue, std::span<const std::string> types,
                                    WorkerKey worker, std::size_t limit, std::int64_t now_ms);
  struct Change {
    TaskState state{};
    WorkerKey owner = 0;
    std::int64_t due_ms = kNever;
    const std::string* details = nullptr;  // None: as it was.
    const std::string* last_error = nullptr;
  };
  Result<void> change(TaskKey task, const Change& change);
  // Tasks of this worker belong to nobody and are due now. Returns how many.
  Result<std::int64_t> free_tasks(WorkerKey worker, std::int64_t now_ms);

  // What ChangeTask needs to know.
  struct Head {
    RunKey run = 0;
    TaskState state{};
    std::uint32_t attempt = 0;
    WorkerKey owner = 0;
    bool cancel_requested = false;
  };
  Result<std::optional<Head>> find_head(TaskKey task);
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

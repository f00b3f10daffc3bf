#include "engine/task_row.h"

#include <algorithm>

#include "base/moment.h"
#include "engine/program.h"

namespace pawl::engine {

store::NewTask make_task(const replay::Entry& scheduled) {
  const Result<TaskOptions> decoded = decode_task_options(scheduled.extra);
  const TaskOptions options = decoded ? *decoded : TaskOptions{};
  store::NewTask task;
  task.id = scheduled.id;
  task.type = scheduled.name;
  task.queue = options.queue;
  task.priority = options.priority;
  task.input = scheduled.payload;
  task.has_input = scheduled.has_payload;
  task.options = scheduled.extra;
  task.wait_ms = options.wait_timeout_ms;
  task.attempt_ms = options.attempt_timeout_ms;
  task.heartbeat_ms = options.heartbeat_timeout_ms;
  if (options.total_timeout_ms > 0) {
    task.deadline_ms = add_ms(scheduled.time_ms, options.total_timeout_ms);
  }
  task.due_ms = task.deadline_ms;
  if (options.wait_timeout_ms > 0) {
    task.due_ms = std::min(task.due_ms, add_ms(scheduled.time_ms, options.wait_timeout_ms));
  }
  return task;
}

}  // namespace pawl::engine

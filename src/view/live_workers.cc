#include "view/live_workers.h"

#include <algorithm>

namespace pawl::view {

namespace {

bool has(const std::vector<std::string>& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

}  // namespace

LiveWorkers::LiveWorkers(std::span<const store::WorkerRow> workers, std::int64_t now_ms) {
  for (const store::WorkerRow& worker : workers) {
    if (worker.expires_ms > now_ms) {
      workers_.push_back(engine::read_serves(worker.serves));
    }
  }
}

bool LiveWorkers::can_run(std::string_view kind) const {
  return std::ranges::any_of(workers_, [&](const engine::Serves& serves) {
    return !serves.is_known ||
           std::ranges::any_of(serves.kinds, [&](const auto& each) { return each.first == kind; });
  });
}

bool LiveWorkers::can_execute(std::string_view activity, std::string_view queue) const {
  return std::ranges::any_of(workers_, [&](const engine::Serves& serves) {
    return !serves.is_known || (has(serves.activities, activity) && has(serves.queues, queue));
  });
}

// Compensations need no code of the kind.
bool LiveWorkers::is_abandoned(const store::RunRow& row) const {
  return (row.status == store::RunStatus::kRunning || row.status == store::RunStatus::kWaiting) &&
         row.owner == 0 && !can_run(row.kind);
}

}  // namespace pawl::view

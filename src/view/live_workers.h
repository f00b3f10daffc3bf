// LiveWorkers: what the workers that live can do, for people who wonder why nobody goes on with
// something. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "engine/serves.h"
#include "store/catalog.h"

namespace pawl::view {

class LiveWorkers {
 public:
  LiveWorkers(std::span<const store::WorkerRow> workers, std::int64_t now_ms);

  std::size_t count() const { return workers_.size(); }
  // Whether one of them can go on with a run, or execute a task; or may be able to: one that has
  // told nothing.
  bool can_run(std::string_view kind) const;
  bool can_execute(std::string_view activity, std::string_view queue) const;
  // An open run that nobody holds and that nobody here could take.
  bool is_abandoned(const store::RunRow& row) const;

 private:
  std::vector<engine::Serves> workers_;
};

}  // namespace pawl::view

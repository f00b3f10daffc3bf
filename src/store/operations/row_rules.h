// What rows become by an operation, whatever the database: for those who implement tables.h.
// Pure functions.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "store/rows.h"

namespace pawl::store {

// A run that begins, but for its key. `owner` 0: it is to be claimed at once.
RunRow new_row(const NewRun& run, std::uint32_t number, WorkerKey owner, std::int64_t now_ms);

// What an open run is when somebody works on it.
RunStatus active_status(RunStatus goal);

// A run that a worker takes.
void mark_claimed(RunRow& row, WorkerKey worker, std::int64_t now_ms);

// A task that comes from elsewhere: nobody runs it here.
struct CarriedTask {
  TaskState state{};
  std::int64_t due_ms = kNever;
};
CarriedTask carry_task(const TaskRow& task, std::int64_t now_ms);

// Whether a run is left to others, by ClaimDue::left.
bool is_left(std::span<const KindDefinition> left, std::string_view kind,
             std::string_view definition);
// Whether some of a kind are.
bool has_kind(std::span<const KindDefinition> left, std::string_view kind);
// At so many runs next_wake() looks at most, of a kind some of which are left.
inline constexpr std::int64_t kWakesLookedAt = 1000;

// The moment `span_ms` from now; kNever if there is no limit.
std::int64_t moment_after(std::int64_t now_ms, std::int64_t span_ms);

// What every location below this one begins with: "{4, 2, " for "{4, 2}".
std::string prefix_below(std::string_view location);

}  // namespace pawl::store

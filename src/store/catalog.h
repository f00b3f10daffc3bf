// Catalog: what people ask of a store: which runs there are, what is going on, who works. Payloads
// are as they are stored. Reads only what is committed, by a way of its own: however long it takes,
// the engine does not wait for it. Thread-safe; calls may block; errors as in store.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/uuid.h"
#include "store/database.h"
#include "store/rows.h"
#include "store/run_image.h"
#include "store/run_visitor.h"

namespace pawl::store {

// A worker, as it has told about itself.
struct WorkerRow {
  WorkerKey key = 0;
  std::string name;
  std::int64_t expires_ms = kNever;
  std::string serves;     // What it can do, see WorkerInfo.
  std::int64_t runs = 0;  // Held now.
  std::int64_t tasks = 0;
};

// All of what is given must hold. Moments are ranges with an open end.
struct RunFilter {
  std::vector<std::string> kinds;  // Any of them; none: all.
  std::vector<RunStatus> statuses;
  std::vector<Tag> tags;  // Each of them.
  std::int64_t created_from_ms = 0;
  std::int64_t created_to_ms = kNever;
  std::int64_t changed_from_ms = 0;  // The last change of status: of a closed one, its end.
  std::int64_t changed_to_ms = kNever;
  std::optional<bool> is_paused;
  RunKey parent = 0;  // Children of this run, open or not.
};

// A place in the order of a search: the newest run first, by `created_ms`, then by key.
struct RunCursor {
  std::int64_t created_ms = kNever;
  RunKey key = kNever;

  friend auto operator<=>(const RunCursor&, const RunCursor&) = default;
};

// As text, to be handed out and given back. Its form is not to be relied on.
std::string cursor_text(const RunCursor& cursor);
std::optional<RunCursor> parse_cursor(std::string_view text);

struct RunPage {
  std::vector<RunRow> rows;
  // Where to go on. None: that was all. A page may hold less than was asked for, even nothing, if
  // much had to be looked at.
  std::optional<RunCursor> next;
};

struct TaskFilter {
  std::string queue;  // Empty: all.
  std::string type;
  std::optional<TaskState> state;
};

struct RunCount {
  std::string kind;
  RunStatus status{};
  std::int64_t count = 0;
};

struct TaskCount {
  std::string queue;
  std::string type;
  TaskState state{};
  std::int64_t count = 0;
  std::int64_t oldest_ms = kNever;  // Since when the oldest of them is there.
};

struct StoreFigures {
  std::vector<RunCount> runs;    // By kind, then status.
  std::vector<TaskCount> tasks;  // By queue, type, state.
  std::int64_t paused = 0;
  std::int64_t overdue = 0;  // Runs that should have been claimed by now.
  std::int64_t next_wake_ms = kNever;
  std::int64_t bytes = 0;  // Of the database.
};

// A closed run in order of its end.
struct ClosedRun {
  std::int64_t changed_ms = 0;
  RunKey key = 0;

  friend auto operator<=>(const ClosedRun&, const ClosedRun&) = default;
};

// A run by what is the same in every store.
struct RunName {
  std::string id;
  std::uint32_t number = 0;
};

class Catalog {
 public:
  virtual ~Catalog() = default;

  // Up to `limit` runs behind `after`, the newest first.
  virtual Result<RunPage> list_runs(const RunFilter& filter, const RunCursor& after,
                                    std::size_t limit) = 0;
  virtual Result<std::int64_t> count_runs(const RunFilter& filter) = 0;
  // Up to `limit` ids of runs that begin with `prefix`, in order, each once, behind `after`.
  virtual Result<std::vector<std::string>> find_ids(std::string_view prefix, std::string_view after,
                                                    std::size_t limit) = 0;
  // Up to `limit` runs with this status, a closed one, that ended before `before_ms`, oldest first,
  // behind `after`.
  virtual Result<std::vector<ClosedRun>> find_closed(RunStatus status, std::int64_t before_ms,
                                                     const ClosedRun& after, std::size_t limit) = 0;
  // Whether there is a run with this run id. Goes through all of them.
  virtual Result<bool> has_run(const Uuid& uuid) = 0;
  // All but the log of a run that is there; kNotFound if it is not.
  virtual Result<RunImage> read_image(RunKey run) = 0;

  // In order of key.
  virtual Result<std::vector<TaskRow>> list_tasks(const TaskFilter& filter, TaskKey after,
                                                  std::size_t limit) = 0;
  virtual Result<std::vector<WorkerRow>> list_workers() = 0;
  virtual Result<StoreFigures> read_figures(std::int64_t now_ms) = 0;

  // --- For those who go through the whole of it ---
  // Of the database; the catalog's own first, then the others in order.
  virtual Result<std::vector<std::string>> list_namespaces() = 0;
  // For each its run, in this order; none where there is none.
  using FoundRuns = std::vector<std::optional<RunRow>>;
  virtual Result<FoundRuns> find_runs(std::span<const RunKey> runs) = 0;
  virtual Result<FoundRuns> find_runs(std::span<const RunName> runs) = 0;
  // Visits some of the runs of a range, from its beginning, in order of key; all are of one moment.
  // What is in memory meanwhile is bounded, by number and by bytes, but for what a single row or
  // image has. Returns up to where it came: at `upto`, that was all.
  virtual Result<RunKey> visit_runs(const KeyRange& range, RunVisitor& visitor) = 0;
  // The same, of all of them. Each run is of one moment.
  Result<void> visit_all_runs(KeyRange range, RunVisitor& visitor) {
    while (range.after < range.upto) {
      PAWL_TRY_ASSIGN(range.after, visit_runs(range, visitor));
    }
    return {};
  }
  // One SELECT on the tables, which have the same names and columns everywhere, as of one moment.
  // "{schema}" stands before their names, "{ns}" for the namespace, "{paused}" for the condition
  // that the run `r` is paused, and "{by_key}" before the namespace of runs of which few are
  // wanted, by their keys.
  virtual Result<Database::Rows> query(std::string sql) = 0;
  // A sentence for everything that the database itself finds to be damaged. May read all of it.
  virtual Result<std::vector<std::string>> check_medium() = 0;
};

// The text with each of `from` replaced.
void replace_all(std::string& text, std::string_view from, std::string_view to);

}  // namespace pawl::store

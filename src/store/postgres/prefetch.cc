#include "store/postgres/prefetch.h"

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <variant>
#include <vector>

#include "store/postgres/records.h"

namespace pawl::store::pg {

namespace {

#define PAWL_PG_NEWEST(ids)                                                                     \
  "SELECT n.key FROM " ids                                                                      \
  " AS i(id) CROSS JOIN LATERAL (SELECT x.key FROM {schema}.pawl_run AS x WHERE x.ns = $1 AND " \
  "x.id = i.id ORDER BY x.number DESC LIMIT 1) AS n"
// Runs that are named by key, by the newest of an id, or by a task.
#define PAWL_PG_NAMED                                                                       \
  "SELECT unnest($2::int8[]) AS key UNION SELECT t.run FROM {schema}.pawl_task AS t WHERE " \
  "t.ns = $1 AND t.key = ANY($3::int8[]) UNION " PAWL_PG_NEWEST("unnest($4::text[])")
// One after the other: however many the server expects, it does not read the whole table for them.
#define PAWL_PG_LOCK_RUNS(keys) \
  "SELECT r.* FROM (SELECT k.key FROM (" keys                                                   \
  ") AS k ORDER BY k.key) AS o CROSS JOIN LATERAL (SELECT " PAWL_PG_RUN_COLUMNS(                \
      "x.") " FROM {schema}.pawl_run AS x WHERE x.ns = $1 AND x.key = o.key FOR NO KEY UPDATE)" \
            " AS r"
constexpr Statement kLockRuns{"lock_named_runs", PAWL_PG_LOCK_RUNS(PAWL_PG_NAMED)};
// Runs that end, named by key or by the newest of an id, and who ends with them. `ends` is false of
// children that only hear of it.
#define PAWL_PG_OPEN_CHILDREN(of)                                                                \
  "(SELECT x.key, x.parent_close FROM {schema}.pawl_run AS x WHERE x.ns = $1 AND x.parent = " of \
  ".key AND x.status IN (1, 2, 3, 8) OFFSET 0) AS c"
#define PAWL_PG_ENDING(keys, ids) \
  "WITH RECURSIVE ending(key) AS (SELECT unnest(" keys "::int8[]) UNION " PAWL_PG_NEWEST(         \
      "unnest(" ids "::text[])") "), family(key, ends) AS (SELECT key, true FROM ending UNION "   \
                                 "SELECT c.key, coalesce(c.parent_close = 2, false) FROM family " \
                                 "AS f CROSS JOIN LATERAL " PAWL_PG_OPEN_CHILDREN("f") " WHERE "  \
                                 "f.ends) "
// Besides those that are named: of those that end ($5, $6), who ends with them or is told of it; of
// those that are deleted ($7), whoever may need them.
constexpr Statement kLockFamilies{
    "lock_named_families",
    PAWL_PG_ENDING("$5", "$6") PAWL_PG_LOCK_RUNS(
        PAWL_PG_NAMED
        " UNION SELECT key FROM family UNION SELECT (SELECT p.parent FROM "
        "{schema}.pawl_run AS p WHERE p.ns = $1 AND p.key = e.key) FROM (SELECT key FROM "
        "ending UNION SELECT unnest($7::int8[])) AS e UNION " PAWL_PG_NEWEST(
            "(SELECT g.id FROM {schema}.pawl_run AS g WHERE g.ns = $1 AND g.key = "
            "ANY($7::int8[]))"))};
// After the locks, in a snapshot of its own.
constexpr Statement kFindNewest{
    "find_newest_keys",
    "SELECT i.id, n.key FROM unnest($2::text[]) AS i(id) LEFT JOIN LATERAL (SELECT x.key FROM "
    "{schema}.pawl_run AS x WHERE x.ns = $1 AND x.id = i.id ORDER BY x.number DESC LIMIT 1) AS n "
    "ON "
    "true"};
// As kFindNewest.
constexpr Statement kFindChildren{
    "find_children_of", PAWL_PG_ENDING("$2", "$3")
    "SELECT f.key, c.key FROM family AS f LEFT JOIN LATERAL " PAWL_PG_OPEN_CHILDREN("f")
    " ON true WHERE f.ends ORDER BY c.key"};
constexpr Statement kLockTasks{
    "lock_tasks",
    "SELECT key, run, state, attempt, owner, cancelled FROM {schema}.pawl_task WHERE ns = $1 AND "
    "key = ANY($2::int8[]) ORDER BY key FOR UPDATE"};
constexpr Statement kHoldWorkers{
    "hold_workers",
    "SELECT key FROM {schema}.pawl_worker WHERE ns = $1 AND key = ANY($2::int8[]) ORDER BY key FOR "
    "KEY SHARE"};
constexpr Statement kReadDue{
    "read_due_of_named",
    "SELECT " PAWL_PG_ARRIVAL_COLUMNS("i.") " FROM (" PAWL_PG_NAMED
                                            ") AS k JOIN {schema}.pawl_inbox AS i ON i.ns = $1 AND "
                                            "i.run = k.key WHERE NOT i.kept AND i.due "
                                            "<= $5 ORDER BY i.key"};
constexpr Statement kDrawKeys{
    "draw_arrival_keys_now",
    "SELECT nextval('{schema}.pawl_arrival_key') FROM generate_series(1, $1::int8)"};

struct Named {
  std::set<RunKey> runs;
  std::set<TaskKey> tasks;
  std::set<std::string_view> ids;

  bool empty() const { return runs.empty() && tasks.empty() && ids.empty(); }
};

Int8Array array_of(const std::set<std::int64_t>& values) {
  Int8Array array;
  for (const std::int64_t value : values) {
    array.add(value);
  }
  return array;
}

TextArray array_of(const std::set<std::string_view>& values) {
  TextArray array;
  for (const std::string_view value : values) {
    array.add(value);
  }
  return array;
}

class Plan {
 public:
  Plan(const RunSet& runs, const WorkerSet& workers) : runs_(runs), known_workers_(workers) {}

  void add(const StartRun& op) {
    (runs_.trusts_ids() ? new_ids_ : locked_.ids).insert(op.run.id);
    if (!runs_.trusts_ids() && op.on_existing == OnExisting::kReplace) {
      ending_.ids.insert(op.run.id);
    }
    worker(op.owner);
    arrivals_ += op.signal.has_value() ? 1 : 0;
  }
  void add(const Claim& op) {
    locked_.runs.insert(op.run);
    worker(op.worker);
    claimed(op.now_ms).runs.insert(op.run);
  }
  void add(const ClaimDue& op) { worker(op.worker); }
  void add(const ClaimStuck& op) { worker(op.worker); }
  void add(const TakeTasks& op) { worker(op.worker); }
  void add(const Send& op) {
    target(locked_, op);
    ++arrivals_;
    if (op.claim_for != 0) {
      worker(op.claim_for);
      target(claimed(op.now_ms), op);
    }
  }
  void add(const ChangeTask& op) {
    tasks_.insert(op.task);
    if (op.next.has_value()) {
      return;
    }
    locked_.tasks.insert(op.task);
    ++arrivals_;
    if (op.claim_for != 0) {
      worker(op.claim_for);
      claimed(op.now_ms).tasks.insert(op.task);
    }
  }
  void add(const Terminate& op) {
    target(locked_, op);
    target(ending_, op);
    ++arrivals_;
  }
  void add(const Resume& op) { target(locked_, op); }
  void add(const Pause& op) { target(locked_, op); }
  void add(const Hurry& op) { target(locked_, op); }
  void add(const DeleteRun& op) {
    locked_.runs.insert(op.run);
    deleted_.insert(op.run);
  }
  void add(const CreateRun& op) { locked_.ids.insert(op.image.row.id); }
  void add(const Heartbeat& op) { worker(op.worker); }
  void add(const CommitTurn& turn) {
    if (!runs_.is_known(turn.run) || turn.inside) {
      locked_.runs.insert(turn.run);
    } else {
      known_.insert(turn.run);
    }
    for (const NewRun& child : turn.children) {
      locked_.ids.insert(child.id);
    }
    for (const Outgoing& outgoing : turn.outgoing) {
      locked_.ids.insert(outgoing.run_id);
      ++arrivals_;
    }
    if (turn.ending.has_value() && is_closed(turn.ending->status)) {
      add_ending(turn);
    }
  }

  bool empty() const {
    return locked_.empty() && tasks_.empty() && workers_.empty() && ending_.empty();
  }

  // False: something has to be looked for again.
  Result<bool> run(const Sets& sets);
  // What is trusted goes ahead of all that will be sent.
  void assume_runs(const Sets& sets) const {
    for (const RunKey run : known_) {
      sets.runs.assume_known(run);
    }
  }
  Result<void> assume_workers(const Sets& sets) const {
    for (const WorkerKey worker : own_workers_) {
      PAWL_TRY(sets.workers.has(worker));
    }
    return {};
  }
  // Ids that nothing has to be known of.
  void put_new_ids(const Sets& sets) const {
    for (const std::string_view id : new_ids_) {
      if (!locked_.ids.contains(id)) {
        sets.runs.put_newest(id, std::nullopt);
        sets.session.assume_new(id);
      }
    }
  }

 private:
  void worker(WorkerKey worker) {
    if (worker != 0) {
      (known_workers_.is_trusted(worker) ? own_workers_ : workers_).insert(worker);
    }
  }
  template <class T>
  static void target(Named& named, const T& op) {
    if (op.run != 0) {
      named.runs.insert(op.run);
    } else {
      named.ids.insert(op.run_id);
    }
  }
  Named& claimed(std::int64_t now_ms) {
    now_ms_ = now_ms;
    return claimed_;
  }
  void add_ending(const CommitTurn& turn) {
    if (!runs_.is_known_childless(turn.run)) {
      ending_.runs.insert(turn.run);
      ++arrivals_;
    } else if (const RunKey parent = runs_.parent_of_known(turn.run); parent != 0) {
      locked_.runs.insert(parent);
      ++arrivals_;
    }
  }
  void put_newest(const Call& newest, const Sets& sets);
  void put_children(const Call& children, const Sets& sets);

  const RunSet& runs_;
  const WorkerSet& known_workers_;
  Named locked_;
  std::set<std::string_view> new_ids_;
  Named claimed_;
  std::int64_t now_ms_ = 0;
  std::set<TaskKey> tasks_;
  std::set<WorkerKey> workers_;
  std::set<WorkerKey> own_workers_;  // Trusted, and looked at if anything is.
  std::set<RunKey> known_;           // Held, and read if anything is.
  Named ending_;
  std::set<RunKey> deleted_;
  std::int64_t arrivals_ = 0;  // As many will be put, or less.

  std::set<RunKey> found_;
  std::unordered_map<std::string, RunKey> newest_of_;
  bool is_complete_ = true;
};

Call& bind(Call& call, std::int64_t ns, const Int8Array& runs, const Int8Array& tasks,
           const TextArray& ids) {
  return call.integer(ns).array(runs).array(tasks).array(ids);
}

// One that was not locked has recurred or was started meanwhile.
void Plan::put_newest(const Call& newest, const Sets& sets) {
  for (const Row row : newest.rows()) {
    if (row.is_null(1)) {
      sets.runs.put_newest(row.as_string(0), std::nullopt);
    } else if (found_.contains(row.as_integer(1))) {
      sets.runs.put_newest(row.as_string(0), row.as_integer(1));
      newest_of_[row.as_string(0)] = row.as_integer(1);
    } else {
      is_complete_ = false;
    }
  }
}

// As above, of children.
void Plan::put_children(const Call& children, const Sets& sets) {
  std::unordered_map<RunKey, std::vector<RunKey>> of;
  std::set<RunKey> unclear;
  for (const Row row : children.rows()) {
    std::vector<RunKey>& locked = of[row.as_integer(0)];
    if (row.is_null(1)) {
      continue;
    }
    if (found_.contains(row.as_integer(1))) {
      locked.push_back(row.as_integer(1));
    } else {
      unclear.insert(row.as_integer(0));
      is_complete_ = false;
    }
  }
  for (auto& [parent, locked] : of) {
    if (!unclear.contains(parent)) {
      sets.runs.put_children(parent, std::move(locked));
    }
  }
}

Result<bool> Plan::run(const Sets& sets) {
  Session& session = sets.session;
  // If anything is locked, all is locked together, in order of keys: two stores whose runs send to
  // each other would else wait for each other.
  locked_.runs.insert(known_.begin(), known_.end());
  workers_.insert(own_workers_.begin(), own_workers_.end());
  const bool has_families = !ending_.empty() || !deleted_.empty();
  const Int8Array workers = array_of(workers_);
  const Int8Array runs = array_of(locked_.runs);
  const Int8Array run_tasks = array_of(locked_.tasks);
  const TextArray ids = array_of(locked_.ids);
  const Int8Array ending_runs = array_of(ending_.runs);
  const TextArray ending_ids = array_of(ending_.ids);
  const Int8Array deleted = array_of(deleted_);
  const Int8Array tasks = array_of(tasks_);
  const Int8Array claimed_runs = array_of(claimed_.runs);
  const Int8Array claimed_tasks = array_of(claimed_.tasks);
  const TextArray claimed_ids = array_of(claimed_.ids);
  const std::int64_t ns = session.ns();

  const Call* const held =
      workers_.empty() ? nullptr : &session.query(kHoldWorkers).integer(ns).array(workers);
  const Call* locked = nullptr;
  if (has_families) {
    locked = &bind(session.query(kLockFamilies), ns, runs, run_tasks, ids)
                  .array(ending_runs)
                  .array(ending_ids)
                  .array(deleted);
  } else if (!locked_.empty()) {
    locked = &bind(session.query(kLockRuns), ns, runs, run_tasks, ids);
  }
  const Call* const newest =
      locked_.ids.empty() ? nullptr : &session.query(kFindNewest).integer(ns).array(ids);
  const Call* const children =
      ending_.empty()
          ? nullptr
          : &session.query(kFindChildren).integer(ns).array(ending_runs).array(ending_ids);
  const Call* const of_tasks =
      tasks_.empty() ? nullptr : &session.query(kLockTasks).integer(ns).array(tasks);
  const Call* const due = claimed_.empty() ? nullptr
                                           : &bind(session.query(kReadDue), ns, claimed_runs,
                                                   claimed_tasks, claimed_ids)
                                                  .integer(now_ms_);
  const Call* const keys = arrivals_ == 0 ? nullptr : &session.query(kDrawKeys).integer(arrivals_);
  PAWL_TRY(session.run());

  if (held != nullptr) {
    for (const Row row : held->rows()) {
      sets.workers.put_alive(row.as_integer(0));
    }
  }
  if (locked != nullptr) {
    for (const Row row : locked->rows()) {
      found_.insert(row.as_integer(0));
      sets.runs.put(row);
    }
    for (const RunKey run : locked_.runs) {
      if (!found_.contains(run)) {
        sets.runs.put_missing(run);
      }
    }
  }
  if (newest != nullptr) {
    put_newest(*newest, sets);
  }
  if (children != nullptr) {
    put_children(*children, sets);
  }
  std::unordered_map<TaskKey, RunKey> run_of_task;
  if (of_tasks != nullptr) {
    for (const Row row : of_tasks->rows()) {
      sets.tasks.put(row);
      run_of_task[row.as_integer(0)] = row.as_integer(1);
    }
    for (const TaskKey task : tasks_) {
      sets.tasks.put_missing(task);
    }
  }
  if (due != nullptr) {
    for (const RunKey run : claimed_.runs) {
      sets.inboxes.put_loaded(run, now_ms_);
    }
    for (const TaskKey task : claimed_.tasks) {
      if (const auto run = run_of_task.find(task); run != run_of_task.end()) {
        sets.inboxes.put_loaded(run->second, now_ms_);
      }
    }
    for (const std::string_view id : claimed_.ids) {
      if (const auto run = newest_of_.find(std::string(id)); run != newest_of_.end()) {
        sets.inboxes.put_loaded(run->second, now_ms_);
      }
    }
    for (const Row row : due->rows()) {
      sets.inboxes.put_due(row);
    }
  }
  if (keys != nullptr) {
    for (std::size_t i = keys->rows().size(); i-- > 0;) {  // The last is taken first.
      sets.inboxes.put_key(keys->rows()[i].as_integer(0));
    }
  }
  return is_complete_;
}

}  // namespace

Result<bool> prefetch(std::span<const Op> ops, const Sets& sets) {
  Plan plan(sets.runs, sets.workers);
  for (const Op& op : ops) {
    std::visit([&](const auto& one) { plan.add(one); }, op);
  }
  plan.put_new_ids(sets);
  if (!plan.empty()) {
    return plan.run(sets);
  }
  plan.assume_runs(sets);
  if (ops.size() > 1) {  // One alone asks for its worker first.
    PAWL_TRY(plan.assume_workers(sets));
  }
  return true;
}

}  // namespace pawl::store::pg

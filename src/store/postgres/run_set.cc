#include "store/postgres/run_set.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "store/operations/row_rules.h"

#define PAWL_PG_SELECT_RUN "SELECT " PAWL_PG_RUN_COLUMNS("r.") " FROM {schema}.pawl_run AS r "

namespace pawl::store::pg {

namespace {

constexpr Statement kLockRun{"lock_run",
                             PAWL_PG_SELECT_RUN "WHERE r.ns = $1 AND r.key = $2 FOR NO KEY UPDATE"};
constexpr Statement kLockNewest{
    "lock_newest", PAWL_PG_SELECT_RUN
    "WHERE r.ns = $1 AND r.id = $2 ORDER BY r.number DESC LIMIT 1 FOR NO KEY UPDATE"};
// In a snapshot of its own, after the lock: what was the newest before may have recurred.
constexpr Statement kFindNewest{
    "find_newest_key",
    "SELECT key FROM {schema}.pawl_run WHERE ns = $1 AND id = $2 ORDER BY number DESC LIMIT 1"};
constexpr Statement kSetParent{
    "set_parent",
    "UPDATE {schema}.pawl_run SET parent = $3, parent_close = $4::int8::int2, parent_command = $5 "
    "WHERE ns = $1 AND key = $2"};
#define PAWL_PG_FIND_DUE(condition)                                                              \
  "SELECT d.* FROM unnest($2::text[]) AS k(kind) CROSS JOIN LATERAL (" PAWL_PG_SELECT_RUN        \
  "WHERE r.ns = $1 AND r.kind = k.kind AND r.wake <= $3::int8 AND r.wake IS NOT NULL " condition \
  "ORDER BY r.wake, r.key LIMIT $4::int8 FOR NO KEY UPDATE SKIP LOCKED) AS d ORDER BY d.wake, "  \
  "d.key LIMIT $4::int8"
constexpr Statement kFindDue{"find_due", PAWL_PG_FIND_DUE("")};
constexpr Statement kFindDueLeft{"find_due_left",
                                 PAWL_PG_FIND_DUE("AND NOT " PAWL_PG_IS_LEFT("$5", "$6") " ")};
#define PAWL_PG_BLOCKED                                                                  \
  PAWL_PG_SELECT_RUN                                                                     \
  "JOIN {schema}.pawl_reason AS w ON w.ns = r.ns AND w.run = r.key WHERE r.ns = $1 AND " \
  "r.kind = $2 AND r.status = 8 AND r.key > $3 AND w.blocked_by IS NOT NULL AND NOT r.paused "
constexpr Statement kFindBlocked{
    "find_blocked", PAWL_PG_BLOCKED
    "AND (w.blocked_by <> $4::text OR $4::text = '') AND NOT (w.blocked_by <> r.definition "
    "AND " PAWL_PG_IS_LEFT("$6", "$7") ") ORDER BY r.key LIMIT $5::int8 FOR NO KEY UPDATE OF r "
    "SKIP LOCKED"};
constexpr Statement kFindOwnBlocked{
    "find_own_blocked", PAWL_PG_BLOCKED
    "AND w.blocked_by <> $4::text AND r.definition = $4::text ORDER BY r.key LIMIT $5::int8 FOR NO "
    "KEY UPDATE OF r SKIP LOCKED"};
constexpr Statement kFindNeeding{
    "find_needing", PAWL_PG_SELECT_RUN
    "JOIN {schema}.pawl_reason AS w ON w.ns = r.ns AND w.run = r.key WHERE w.ns = $1 AND w.needs = "
    "$2 AND w.run > $3 AND NOT r.paused AND r.owner IS NULL ORDER BY w.run LIMIT $4::int8 FOR NO "
    "KEY UPDATE OF r SKIP LOCKED"};
constexpr Statement kLockChildren{
    "lock_children", PAWL_PG_SELECT_RUN
    "WHERE r.ns = $1 AND r.parent = $2 AND r.status IN (1, 2, 3, 8) ORDER BY r.key FOR NO KEY "
    "UPDATE"};
// In a snapshot of its own, after the locks: one that was waited for may have recurred.
constexpr Statement kFindChildren{
    "find_children",
    "SELECT key FROM {schema}.pawl_run WHERE ns = $1 AND parent = $2 AND status IN (1, 2, 3, 8)"};
constexpr Statement kHasOpenChild{
    "has_open_child",
    "SELECT 1 FROM {schema}.pawl_run WHERE ns = $1 AND parent = $2 AND status IN (1, 2, 3, 8) "
    "LIMIT 1"};
constexpr Statement kFreeRuns{
    "free_runs",
    "UPDATE {schema}.pawl_run AS r SET owner = NULL, wake = CASE WHEN NOT r.paused THEN $3::int8 "
    "END FROM (SELECT x.key FROM {schema}.pawl_run AS x WHERE x.ns = $1 AND x.owner = "
    "ANY($2::int8[]) ORDER BY x.key FOR NO KEY UPDATE) AS d WHERE r.ns = $1 AND r.key = d.key"};
constexpr Statement kReadTags{
    "read_tags",
    "SELECT name, value FROM {schema}.pawl_tag WHERE ns = $1 AND run = $2 ORDER BY name, value"};
// In blocks, the more the more are used: which numbers runs get does not matter.
constexpr std::int64_t kKeyBlockMax = 1024;
constexpr Statement kNextKeys{"next_run_keys",
                              "SELECT nextval('{schema}.pawl_run_key') FROM generate_series(1, "
                              "$1::int8)"};
constexpr std::array<Statement, 3> kRemove = {{
    {"remove_input", "DELETE FROM {schema}.pawl_input WHERE ns = $1 AND run = $2"},
    {"remove_tags", "DELETE FROM {schema}.pawl_tag WHERE ns = $1 AND run = $2"},
    {"remove_run", "DELETE FROM {schema}.pawl_run WHERE ns = $1 AND key = $2"},
}};

}  // namespace

RunSet::RunSet(Session& session) : session_(session) {
  session.set_collector([this] { collect(); });
  session.set_release_reader([this](const Rows& rows) { read_released(rows); });
}

void RunSet::begin(bool trusts) {
  trusts_ = trusts;
  runs_.clear();
  newest_.clear();
  children_.clear();
  changed_.clear();
  answers_.clear();
  given_back_.clear();
  no_longer_known_.clear();
}

void RunSet::committed(const std::set<WorkerKey>& own) {
  for (const auto& [answer, wake_ms] : given_back_) {
    *answer.released = true;
    *answer.wake_ms = wake_ms;
  }
  for (const RunKey run : no_longer_known_) {
    known_.erase(run);
  }
  for (auto& [key, seen] : runs_) {
    if (seen.has_value() && own.contains(seen->run.row.owner)) {
      known_[key] = {std::move(seen->run), seen->is_childless};
    } else {
      known_.erase(key);
    }
  }
}

RunKey RunSet::parent_of_known(RunKey run) const {
  const auto found = known_.find(run);
  return found == known_.end() ? 0 : found->second.run.row.parent.run;
}

void RunSet::assume_known(RunKey run) {
  const Known& known = known_.at(run);
  const RunRow& row = known.run.row;
  session_.assume(run, row.owner, row.epoch, row.is_paused);
  runs_[run] = Seen{known.run, State::kStored, known.is_childless};
}

bool RunSet::is_known_childless(RunKey run) const {
  const auto found = known_.find(run);
  return found != known_.end() && found->second.is_childless;
}

void RunSet::put(const Row& row) {
  StoredRun run = read_run(row);
  const RunKey key = run.row.key;
  // Only whoever holds a run gives it children.
  const auto known = known_.find(key);
  const bool is_childless = known != known_.end() && known->second.is_childless &&
                            known->second.run.row.owner == run.row.owner &&
                            known->second.run.row.epoch == run.row.epoch;
  runs_[key] = Seen{std::move(run), State::kStored, is_childless};
}

void RunSet::put_newest(std::string_view id, std::optional<RunKey> newest) {
  newest_[std::string(id)] = newest;
}

void RunSet::put_missing(RunKey run) { runs_.try_emplace(run, std::nullopt); }

void RunSet::put_children(RunKey parent, std::vector<RunKey> children) {
  children_[parent] = std::move(children);
}

// What is known from before is older still.
void RunSet::clear() {
  runs_.clear();
  newest_.clear();
  children_.clear();
  known_.clear();
}

const RunRow* RunSet::seen(RunKey run) const {
  const auto found = runs_.find(run);
  return found == runs_.end() || !found->second.has_value() ? nullptr : &found->second->run.row;
}

// --- Reading -------------------------------------------------------------------------------------

Result<RunSet::Seen*> RunSet::look(RunKey run) {
  auto found = runs_.find(run);
  if (found == runs_.end()) {
    ++late_locks_;
    const Call& call = session_.query(kLockRun).integer(session_.ns()).integer(run);
    PAWL_TRY(session_.run());
    put_missing(run);
    for (const Row row : call.rows()) {
      put(row);
    }
    found = runs_.find(run);
  }
  return found->second.has_value() ? &*found->second : nullptr;
}

Result<RunSet::Seen*> RunSet::look_newest(std::string_view id) {
  careful_starts_ = std::max(0, careful_starts_ - 1);
  const auto known = newest_.find(std::string(id));
  if (known != newest_.end()) {
    return known->second.has_value() ? look(*known->second) : Result<Seen*>(nullptr);
  }
  ++late_locks_;
  while (true) {
    const Call& locked = session_.query(kLockNewest).integer(session_.ns()).text(id);
    const Call& newest = session_.query(kFindNewest).integer(session_.ns()).text(id);
    PAWL_TRY(session_.run());
    if (newest.rows().empty()) {
      put_newest(id, std::nullopt);
      return nullptr;
    }
    const RunKey key = newest.rows()[0].as_integer(0);
    if (!locked.rows().empty() && locked.rows()[0].as_integer(0) == key) {
      if (!runs_.contains(key)) {  // Else it is here, maybe changed.
        put(locked.rows()[0]);
      }
      put_newest(id, key);
      return look(key);
    }
  }
}

Result<RunSet::Seen*> RunSet::must_look(RunKey run) {
  PAWL_TRY_ASSIGN(Seen* const seen, look(run));
  if (seen == nullptr) {
    return make_error(ErrorCode::kStoreCorrupt,
                      "the database at '" + session_.connection().place() + "' has lost run " +
                          std::to_string(run) + "; stop, and restore a copy");
  }
  return seen;
}

RunHead RunSet::head_of(const StoredRun& run) {
  RunHead head;
  head.key = run.row.key;
  head.status = run.row.status;
  head.owner = run.row.owner;
  head.wake_ms = run.row.wake_ms;
  head.chain = run.chain;
  head.is_paused = run.row.is_paused;
  head.parent = run.row.parent;
  return head;
}

Result<std::optional<RunRow>> RunSet::find(RunKey run) {
  PAWL_TRY_ASSIGN(const Seen* const seen, look(run));
  return seen == nullptr ? std::optional<RunRow>() : seen->run.row;
}

Result<std::optional<RunRow>> RunSet::find_newest(std::string_view id) {
  PAWL_TRY_ASSIGN(const Seen* const seen, look_newest(id));
  return seen == nullptr ? std::optional<RunRow>() : seen->run.row;
}

Result<std::optional<RunHead>> RunSet::find_head(RunKey run) {
  PAWL_TRY_ASSIGN(const Seen* const seen, look(run));
  return seen == nullptr ? std::optional<RunHead>() : head_of(seen->run);
}

Result<std::optional<RunHead>> RunSet::find_newest_head(std::string_view id) {
  PAWL_TRY_ASSIGN(const Seen* const seen, look_newest(id));
  return seen == nullptr ? std::optional<RunHead>() : head_of(seen->run);
}

Result<RunRow> RunSet::get(RunKey run) {
  PAWL_TRY_ASSIGN(const Seen* const seen, must_look(run));
  return seen->run.row;
}

Result<RunHead> RunSet::get_head(RunKey run) {
  PAWL_TRY_ASSIGN(const Seen* const seen, must_look(run));
  return head_of(seen->run);
}

Result<std::optional<Lease>> RunSet::find_lease(RunKey run) {
  PAWL_TRY_ASSIGN(const Seen* const seen, look(run));
  if (seen == nullptr) {
    return std::optional<Lease>();
  }
  const RunRow& row = seen->run.row;
  return std::optional<Lease>(Lease{row.owner, row.epoch, row.is_paused});
}

// In the order in which they were found. What the transaction itself has changed was sent before.
Result<std::vector<RunKey>> RunSet::read_locked(const Call& call) {
  ++late_locks_;
  PAWL_TRY(session_.run());
  std::vector<RunKey> keys;
  for (const Row row : call.rows()) {
    keys.push_back(row.as_integer(0));
    if (!runs_.contains(keys.back())) {
      put(row);
    }
  }
  return keys;
}

Result<Due> RunSet::find_due(const ClaimDue& op) {
  TextArray names;
  for (const std::string& kind : std::set<std::string>(op.kinds.begin(), op.kinds.end())) {
    names.add(kind);
  }
  const LeftArrays left(op.left);
  Call& call = session_.query(op.left.empty() ? kFindDue : kFindDueLeft)
                   .integer(session_.ns())
                   .array(names)
                   .integer(op.now_ms)
                   .integer(static_cast<std::int64_t>(op.limit));
  if (!op.left.empty()) {
    call.array(left.kinds).array(left.definitions);
  }
  const Call& mark = session_.query(kWorkersMark).integer(session_.ns());
  Due due;
  PAWL_TRY_ASSIGN(due.runs, read_locked(call));
  due.workers = read_mark(mark);
  return due;
}

Result<std::vector<RunKey>> RunSet::find_blocked(const ClaimStuck& op,
                                                 const ClaimStuck::Code& code) {
  const LeftArrays left(op.left);
  Call& call = session_.query(code.only_own ? kFindOwnBlocked : kFindBlocked)
                   .integer(session_.ns())
                   .text(code.kind)
                   .integer(op.after)
                   .text(code.definition)
                   .integer(static_cast<std::int64_t>(op.limit));
  if (!code.only_own) {
    call.array(left.kinds).array(left.definitions);
  }
  return read_locked(call);
}

Result<std::vector<RunKey>> RunSet::find_needing(std::string_view activity, RunKey after,
                                                 std::size_t limit) {
  return read_locked(session_.query(kFindNeeding)
                         .integer(session_.ns())
                         .text(activity)
                         .integer(after)
                         .integer(static_cast<std::int64_t>(limit)));
}

Result<void> RunSet::lock_children(RunKey run) {
  while (true) {
    const Call& locked = session_.query(kLockChildren).integer(session_.ns()).integer(run);
    const Call& open = session_.query(kFindChildren).integer(session_.ns()).integer(run);
    PAWL_TRY_ASSIGN(std::vector<RunKey> children, read_locked(locked));
    bool are_all = true;
    for (const Row row : open.rows()) {
      are_all = are_all && std::binary_search(children.begin(), children.end(), row.as_integer(0));
    }
    if (are_all) {
      put_children(run, std::move(children));
      return {};
    }
  }
}

Result<std::vector<RunHead>> RunSet::read_child_heads(RunKey run) {
  std::vector<RunHead> heads;
  PAWL_TRY_ASSIGN(const Seen* const parent, look(run));
  if (parent != nullptr && parent->is_childless) {
    return heads;
  }
  if (!children_.contains(run)) {
    PAWL_TRY(lock_children(run));
  }
  for (const RunKey key : children_.at(run)) {
    PAWL_TRY_ASSIGN(const RunHead head, get_head(key));
    if (!is_closed(head.status)) {
      heads.push_back(head);
    }
  }
  return heads;
}

Result<bool> RunSet::has_open_child(RunKey run) {
  const Call& call = session_.query(kHasOpenChild).integer(session_.ns()).integer(run);
  PAWL_TRY(session_.run());
  return !call.rows().empty();
}

Result<std::vector<Tag>> RunSet::read_tags(RunKey run) {
  const Call& call = session_.query(kReadTags).integer(session_.ns()).integer(run);
  PAWL_TRY(session_.run());
  std::vector<Tag> tags;
  for (const Row row : call.rows()) {
    tags.push_back({row.as_string(0), row.as_string(1)});
  }
  return tags;
}

// --- Writing -------------------------------------------------------------------------------------

Result<RunKey> RunSet::next_key() {
  if (spare_keys_.empty()) {
    const Call& call = session_.query(kNextKeys).integer(key_block_);
    PAWL_TRY(session_.run());
    key_block_ = std::min(2 * key_block_, kKeyBlockMax);
    for (const Row row : call.rows()) {
      spare_keys_.push_back(row.as_integer(0));
    }
    std::reverse(spare_keys_.begin(), spare_keys_.end());  // The last is taken first.
  }
  const RunKey key = spare_keys_.back();
  spare_keys_.pop_back();
  return key;
}

RunSet::Seen& RunSet::add_row(StoredRun run, std::string_view input, std::span<const Tag> tags) {
  const RunKey key = run.row.key;
  newest_[run.row.id] = key;
  if (!input.empty()) {
    session_.write(Write::kInsertInput, key).integer(key).bytes(input);
  }
  for (const Tag& tag : tags) {
    session_.write(Write::kInsertTag, key)
        .integer(key)
        .text(tag.name)
        .text(tag.value)
        .integer(run.row.created_ms);
  }
  changed_.push_back(key);
  Seen& seen = runs_[key].emplace();
  seen.run = std::move(run);
  seen.state = State::kNew;
  return seen;
}

Result<RunRow> RunSet::add(const NewRun& run, std::uint32_t number, RunKey chain, WorkerKey owner,
                           std::int64_t now_ms) {
  StoredRun stored{new_row(run, number, owner, now_ms), chain};
  PAWL_TRY_ASSIGN(stored.row.key, next_key());
  stored.chain = chain == 0 ? stored.row.key : chain;
  if (run.parent.run != 0) {
    children_.erase(run.parent.run);
    if (const auto parent = runs_.find(run.parent.run);
        parent != runs_.end() && parent->second.has_value()) {
      parent->second->is_childless = false;
    }
  }
  Seen& seen = add_row(std::move(stored), run.input, run.tags);
  seen.is_childless = true;
  return seen.run.row;
}

Result<RunRow> RunSet::add_as_is(RunRow row, std::string_view input, std::span<const Tag> tags) {
  PAWL_TRY_ASSIGN(row.key, next_key());
  StoredRun stored{std::move(row), 0};
  stored.chain = stored.row.key;
  return add_row(std::move(stored), input, tags).run.row;
}

// Nothing else is done to these runs in the same transaction.
Result<void> RunSet::set_parent(RunKey run, const Parent& parent) {
  session_.query(kSetParent)
      .integer(session_.ns())
      .integer(run)
      .integer(parent.run)
      .integer(static_cast<std::int64_t>(parent.close))
      .text_or_null(parent.command);
  return session_.run();
}

Result<void> RunSet::remove(RunKey run) {
  PAWL_TRY(remove_reason(run));
  for (const Statement& statement : kRemove) {
    session_.query(statement).integer(session_.ns()).integer(run);
  }
  if (const RunRow* const row = seen(run)) {
    newest_.erase(row->id);
  }
  runs_[run] = std::nullopt;
  return {};
}

Result<RunRow*> RunSet::change(RunKey run) {
  PAWL_TRY_ASSIGN(Seen* const seen, must_look(run));
  if (seen->state == State::kStored) {
    seen->state = State::kChanged;
    changed_.push_back(run);
  }
  return &seen->run.row;
}

Result<void> RunSet::claim(RunRow& row, WorkerKey worker, std::int64_t now_ms) {
  mark_claimed(row, worker, now_ms);
  PAWL_TRY_ASSIGN(RunRow* const stored, change(row.key));
  *stored = row;
  return {};
}

// Whether it is given back is decided by the server: until that has answered, the row is not known.
Result<void> RunSet::release(const Release& release, bool& released, std::int64_t& wake_ms) {
  PAWL_TRY_ASSIGN(const Seen* const seen, must_look(release.run));
  if (seen->state == State::kChanged) {
    std::erase(changed_, release.run);
    write(*seen);
  }
  PAWL_CHECK(seen->state != State::kNew);
  runs_.erase(release.run);
  no_longer_known_.insert(release.run);
  answers_[release.run] = {&released, &wake_ms};
  session_.write(Write::kReleaseRun, release.run)
      .integer(release.run)
      .integer(static_cast<std::int64_t>(release.status))
      .text_or_null(release.waiting_for)
      .moment(release.wake_ms)
      .boolean(release.heeds_inbox)
      .integer(release.now_ms);
  return {};
}

void RunSet::read_released(const Rows& rows) {
  for (const Row row : rows) {
    const auto answer = answers_.find(row.as_integer(0));
    PAWL_CHECK(answer != answers_.end());
    given_back_.emplace_back(answer->second, row.as_moment(1));
  }
}

Result<void> RunSet::close(RunKey run, RunStatus status, std::int64_t now_ms) {
  PAWL_TRY_ASSIGN(RunRow* const row, change(run));
  row->owner = 0;
  row->epoch += 1;
  row->status = status;
  row->goal = RunStatus::kRunning;
  row->changed_ms = now_ms;
  row->wake_ms = kNever;
  row->waiting_for.clear();
  row->is_paused = false;
  return {};
}

Result<void> RunSet::start_compensating(RunKey run, RunStatus goal, std::int64_t now_ms) {
  PAWL_TRY_ASSIGN(RunRow* const row, change(run));
  row->status = RunStatus::kCompensating;
  row->goal = goal;
  row->changed_ms = now_ms;
  row->waiting_for.clear();
  return {};
}

Result<void> RunSet::set_definition(RunKey run, std::string_view definition) {
  PAWL_TRY_ASSIGN(RunRow* const row, change(run));
  row->definition = definition;
  row->is_approved = false;
  return {};
}

Result<void> RunSet::wake(const RunHead& head, std::int64_t due_ms) {
  if (!can_be_claimed(head) || due_ms >= head.wake_ms) {
    return {};
  }
  PAWL_TRY_ASSIGN(RunRow* const row, change(head.key));
  row->wake_ms = due_ms;
  return {};
}

Result<void> RunSet::resume(RunKey run, std::int64_t now_ms) {
  PAWL_TRY(remove_reason(run));
  PAWL_TRY_ASSIGN(RunRow* const row, change(run));
  if (row->status == RunStatus::kBlocked) {
    row->is_approved = true;
    row->changed_ms = now_ms;
    row->status = active_status(row->goal);
  }
  row->wake_ms = row->is_paused ? kNever : std::min(row->wake_ms, now_ms);
  return {};
}

Result<void> RunSet::pause(RunKey run) {
  PAWL_TRY_ASSIGN(RunRow* const row, change(run));
  row->is_paused = true;
  row->wake_ms = kNever;
  return {};
}

Result<void> RunSet::unpause(const RunHead& head, std::int64_t now_ms) {
  PAWL_TRY_ASSIGN(RunRow* const row, change(head.key));
  row->is_paused = false;
  row->wake_ms = head.owner == 0 && head.status != RunStatus::kBlocked ? now_ms : kNever;
  return {};
}

Result<void> RunSet::free_runs(std::span<const WorkerKey> workers, std::int64_t now_ms) {
  const Int8Array keys(workers);
  session_.query(kFreeRuns).integer(session_.ns()).array(keys).integer(now_ms);
  PAWL_TRY(session_.run());
  clear();
  return {};
}

Result<void> RunSet::set_reason(RunKey run, std::string_view reason,
                                const std::optional<std::string>& blocked_by) {
  Bulk& bulk = session_.write(Write::kSetReason, run).integer(run).bytes(reason);
  (blocked_by.has_value() ? bulk.text(*blocked_by) : bulk.null()).null();
  return {};
}

Result<void> RunSet::set_needs(RunKey run, std::string_view activity) {
  session_.write(Write::kSetReason, run).integer(run).bytes("").null().text(activity);
  return {};
}

Result<void> RunSet::remove_reason(RunKey run) {
  session_.write(Write::kRemoveReason, run).integer(run);
  return {};
}

// --- Sending -------------------------------------------------------------------------------------

void RunSet::collect() {
  for (const RunKey run : changed_) {
    const auto found = runs_.find(run);
    if (found == runs_.end() || !found->second.has_value()) {
      continue;  // Removed.
    }
    write(*found->second);
    found->second->state = State::kStored;
  }
  changed_.clear();
}

void RunSet::write(const Seen& seen) {
  const RunRow& row = seen.run.row;
  const std::int64_t goal =
      row.goal == RunStatus::kRunning ? 0 : static_cast<std::int64_t>(row.goal);
  if (seen.state == State::kNew) {
    session_.write(Write::kInsertRun, row.key)
        .integer(row.key)
        .integer_or_null(row.owner)
        .integer(row.epoch)
        .integer(static_cast<std::int64_t>(row.status))
        .integer_or_null(goal)
        .moment(row.wake_ms)
        .integer(row.number)
        .integer_or_null(seen.run.chain == row.key ? 0 : seen.run.chain)
        .integer(row.created_ms)
        .integer(row.changed_ms)
        .integer_or_null(row.parent.run)
        .integer_or_null(static_cast<std::int64_t>(row.parent.close))
        .text_or_null(row.parent.command)
        .uuid(row.uuid)
        .text(row.id)
        .text(row.kind)
        .text_or_null(row.definition)
        .boolean(row.is_approved)
        .text_or_null(row.waiting_for)
        .boolean(row.is_paused);
    return;
  }
  session_.write(Write::kUpdateRun, row.key)
      .integer(row.key)
      .integer_or_null(row.owner)
      .integer(row.epoch)
      .integer(static_cast<std::int64_t>(row.status))
      .integer_or_null(goal)
      .moment(row.wake_ms)
      .integer(row.changed_ms)
      .text_or_null(row.definition)
      .boolean(row.is_approved)
      .text_or_null(row.waiting_for)
      .boolean(row.is_paused);
}

}  // namespace pawl::store::pg

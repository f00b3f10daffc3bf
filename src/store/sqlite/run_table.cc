#include "store/sqlite/run_table.h"

#include <algorithm>
#include <utility>

#include "store/operations/row_rules.h"
#include "store/sqlite/worker_table.h"

#define PAWL_HEAD_COLUMNS \
  "key, status, owner, wake, chain, parent, parent_close, parent_command, paused"
#define PAWL_BLOCKED_FROM                                                                         \
  " FROM pawl_run AS r INDEXED BY pawl_run_blocked CROSS JOIN pawl_reason AS w ON w.run = r.key " \
  "WHERE r.ns = ?1 AND r.kind = ?2 AND r.status = 8 AND r.key > ?3 AND w.blocked_by IS NOT NULL " \
  "AND r.paused IS NULL "

namespace pawl::store {

namespace {

enum Column : int {
  kKey,
  kOwner,
  kEpoch,
  kStatus,
  kGoal,
  kWake,
  kNumber,
  kCreated,
  kChanged,
  kParent,
  kParentClose,
  kParentCommand,
  kUuid,
  kId,
  kKind,
  kDefinition,
  kApproved,
  kWaitingFor,
  kPaused,
};

}  // namespace

RunRow read_run(const Query& query) {
  RunRow row;
  row.key = query.as_integer(kKey);
  row.owner = query.as_integer(kOwner);
  row.epoch = query.as_integer(kEpoch);
  row.status = static_cast<RunStatus>(query.as_integer(kStatus));
  row.goal =
      query.is_null(kGoal) ? RunStatus::kRunning : static_cast<RunStatus>(query.as_integer(kGoal));
  row.wake_ms = query.as_moment(kWake);
  row.number = static_cast<std::uint32_t>(query.as_integer(kNumber));
  row.created_ms = query.as_integer(kCreated);
  row.changed_ms = query.as_integer(kChanged);
  row.parent.run = query.as_integer(kParent);
  row.parent.close = static_cast<ParentClose>(query.as_integer(kParentClose));
  row.parent.command = query.as_id(kParentCommand);
  row.uuid = query.as_uuid(kUuid);
  row.id = query.as_string(kId);
  row.kind = query.as_string(kKind);
  row.definition = query.as_string(kDefinition);
  row.is_approved = query.as_integer(kApproved) != 0;
  row.waiting_for = query.as_string(kWaitingFor);
  row.is_paused = !query.is_null(kPaused);
  return row;
}

RunTable::RunTable(Connection& connection, std::int64_t ns)
    : connection_(connection),
      ns_(ns),
      find_(connection, "SELECT " PAWL_RUN_COLUMNS " FROM pawl_run WHERE key = ? AND ns = ?"),
      find_newest_(connection, "SELECT " PAWL_RUN_COLUMNS
                               " FROM pawl_run WHERE ns = ? AND id = ? ORDER BY number DESC "
                               "LIMIT 1"),
      find_numbered_(connection, "SELECT " PAWL_RUN_COLUMNS
                                 " FROM pawl_run WHERE ns = ? AND id = ? AND number = ?"),
      find_head_(connection, "SELECT " PAWL_HEAD_COLUMNS " FROM pawl_run WHERE key = ? AND ns = ?"),
      find_newest_head_(connection, "SELECT " PAWL_HEAD_COLUMNS
                                    " FROM pawl_run WHERE ns = ? AND id = ? ORDER BY number DESC "
                                    "LIMIT 1"),
      find_lease_(connection, "SELECT owner, epoch, paused FROM pawl_run WHERE key = ? AND ns = ?"),
      insert_(connection,
              "INSERT INTO pawl_run(ns, owner, epoch, status, wake, number, chain, created, "
              "changed, parent, parent_close, parent_command, uuid, id, kind, definition) "
              "VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)"),
      insert_as_is_(
          connection,
          "INSERT INTO pawl_run(ns, epoch, status, goal, wake, number, created, changed, uuid, id, "
          "kind, definition, approved, waiting_for, paused) VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)"),
      set_parent_(
          connection,
          "UPDATE pawl_run SET parent = ?, parent_close = ?, parent_command = ? WHERE key = ?"),
      remove_(connection, "DELETE FROM pawl_run WHERE key = ?"),
      remove_input_(connection, "DELETE FROM pawl_input WHERE run = ?"),
      remove_tags_(connection, "DELETE FROM pawl_tag WHERE ns = ? AND run = ?"),
      insert_input_(connection, "INSERT INTO pawl_input(run, ns, input) VALUES(?,?,?)"),
      insert_tag_(
          connection,
          "INSERT OR IGNORE INTO pawl_tag(ns, run, name, value, created) VALUES(?,?,?,?,?)"),
      claim_(connection,
             "UPDATE pawl_run SET owner = ?, epoch = ?, status = ?, changed = ?, wake = NULL, "
             "waiting_for = NULL WHERE key = ?"),
      first_due_(connection,
                 "SELECT min(due) FROM pawl_inbox WHERE ns = ? AND run = ? AND kept = 0"),
      release_(connection,
               "UPDATE pawl_run SET owner = NULL, changed = CASE status WHEN ?1 THEN changed ELSE "
               "?2 END, approved = CASE ?1 WHEN 8 THEN NULL ELSE approved END, status = ?1, "
               "waiting_for = ?3, wake = ?4 WHERE key = ?5"),
      close_(connection,
             "UPDATE pawl_run SET owner = NULL, epoch = epoch + 1, status = ?, goal = NULL, "
             "changed = ?, wake = NULL, waiting_for = NULL, paused = NULL WHERE key = ?"),
      start_compensating_(connection,
                          "UPDATE pawl_run SET status = ?, goal = ?, changed = ?, waiting_for = "
                          "NULL WHERE key = ?"),
      set_definition_(connection,
                      "UPDATE pawl_run SET definition = ?, approved = NULL WHERE key = ?"),
      wake_(connection, "UPDATE pawl_run SET wake = ? WHERE key = ?"),
      resume_(
          connection,
          "UPDATE pawl_run SET approved = CASE status WHEN 8 THEN 1 ELSE approved END, "
          "changed = CASE status WHEN 8 THEN ?1 ELSE changed END, "
          "status = CASE WHEN status <> 8 THEN status WHEN goal IS NULL THEN 1 ELSE 3 END, "
          "wake = CASE WHEN paused IS NULL THEN min(coalesce(wake, ?1), ?1) END WHERE key = ?2"),
      pause_(connection, "UPDATE pawl_run SET paused = 1, wake = NULL WHERE key = ?"),
      unpause_(connection, "UPDATE pawl_run SET paused = NULL, wake = ? WHERE key = ?"),
      free_(connection,
            "UPDATE pawl_run SET owner = NULL, wake = CASE WHEN paused IS NULL THEN ? END WHERE "
            "owner = ? AND ns = ?"),
      find_due_(connection,
                "SELECT wake, key FROM pawl_run INDEXED BY pawl_run_wake WHERE ns = ? AND kind = ? "
                "AND wake <= ? AND wake IS NOT NULL ORDER BY wake, key LIMIT ?"),
      next_wake_(connection,
                 "SELECT wake FROM pawl_run INDEXED BY pawl_run_wake WHERE ns = ? AND kind = ? AND "
                 "wake IS NOT NULL ORDER BY wake LIMIT 1"),
      find_due_left_(connection,
                     "SELECT wake, key, definition FROM pawl_run INDEXED BY pawl_run_wake WHERE "
                     "ns = ? AND kind = ? AND wake <= ? AND wake IS NOT NULL ORDER BY wake, key"),
      read_wakes_(connection,
                  "SELECT wake, definition FROM pawl_run INDEXED BY pawl_run_wake WHERE ns = ? AND "
                  "kind = ? AND wake > ? AND wake IS NOT NULL ORDER BY wake LIMIT ?"),
      workers_mark_(connection, kWorkersMark),
      find_blocked_(connection, "SELECT r.key, r.definition, w.blocked_by" PAWL_BLOCKED_FROM
                                "AND (w.blocked_by <> ?4 OR ?4 = '') ORDER BY r.key"),
      find_own_blocked_(connection, "SELECT r.key, r.definition, w.blocked_by" PAWL_BLOCKED_FROM
                                    "AND w.blocked_by <> ?4 AND r.definition = ?4 ORDER BY r.key"),
      find_needing_(connection,
                    "SELECT w.run FROM pawl_reason AS w CROSS JOIN pawl_run AS r ON r.key = w.run "
                    "WHERE w.ns = ? AND w.needs = ? AND w.run > ? AND w.needs IS NOT NULL AND "
                    "r.paused IS NULL ORDER BY w.run LIMIT ?"),
      read_children_(connection, "SELECT " PAWL_RUN_COLUMNS
                                 " FROM pawl_run WHERE ns = ? AND parent = ? AND parent IS NOT "
                                 "NULL AND status IN (1, 2, 3, 8) ORDER BY key"),
      read_child_heads_(connection, "SELECT " PAWL_HEAD_COLUMNS
                                    " FROM pawl_run WHERE ns = ? AND parent = ? AND parent IS NOT "
                                    "NULL AND status IN (1, 2, 3, 8) ORDER BY key"),
      has_open_child_(connection,
                      "SELECT 1 FROM pawl_run WHERE ns = ? AND parent = ? AND parent IS NOT NULL "
                      "AND status IN (1, 2, 3, 8) LIMIT 1"),
      read_input_(connection, "SELECT input FROM pawl_input WHERE run = ? AND ns = ?"),
      read_tags_(connection,
                 "SELECT name, value FROM pawl_tag WHERE ns = ? AND run = ? ORDER BY name, value"),
      read_reason_(connection, "SELECT reason FROM pawl_reason WHERE run = ? AND ns = ?"),
      read_blame_(connection, "SELECT blocked_by, needs FROM pawl_reason WHERE run = ? AND ns = ?"),
      set_reason_(
          connection,
          "INSERT OR REPLACE INTO pawl_reason(run, ns, reason, blocked_by) VALUES(?,?,?,?)"),
      set_needs_(connection,
                 "INSERT OR REPLACE INTO pawl_reason(run, ns, reason, needs) VALUES(?,?,'',?)"),
      remove_reason_(connection, "DELETE FROM pawl_reason WHERE run = ?") {}

Result<std::optional<RunRow>> RunTable::read_one(Query& query) {
  PAWL_TRY_ASSIGN(const bool found, query.step());
  return found ? std::optional<RunRow>(read_run(query)) : std::nullopt;
}

Result<std::optional<RunRow>> RunTable::find(RunKey run) {
  Query query(find_);
  return read_one(query.integer(run).integer(ns_));
}

Result<std::optional<RunRow>> RunTable::find_newest(std::string_view id) {
  Query query(find_newest_);
  return read_one(query.integer(ns_).text(id));
}

Result<std::optional<RunRow>> RunTable::find_numbered(std::string_view id, std::uint32_t number) {
  Query query(find_numbered_);
  return read_one(query.integer(ns_).text(id).integer(number));
}

Result<std::optional<RunHead>> RunTable::read_next_head(Query& query) {
  PAWL_TRY_ASSIGN(const bool found, query.step());
  if (!found) {
    return std::optional<RunHead>();
  }
  RunHead head;
  head.key = query.as_integer(0);
  head.status = static_cast<RunStatus>(query.as_integer(1));
  head.owner = query.as_integer(2);
  head.wake_ms = query.as_moment(3);
  head.chain = query.is_null(4) ? head.key : query.as_integer(4);
  head.parent.run = query.as_integer(5);
  head.parent.close = static_cast<ParentClose>(query.as_integer(6));
  head.parent.command = query.as_id(7);
  head.is_paused = !query.is_null(8);
  return std::optional<RunHead>(head);
}

Result<std::optional<RunHead>> RunTable::find_head(RunKey run) {
  Query query(find_head_);
  return read_next_head(query.integer(run).integer(ns_));
}

Result<std::optional<RunHead>> RunTable::find_newest_head(std::string_view id) {
  Query query(find_newest_head_);
  return read_next_head(query.integer(ns_).text(id));
}

Error RunTable::missing(RunKey run) const {
  return make_error(ErrorCode::kStoreCorrupt, "the database '" + connection_.path() +
                                                  "' has lost run " + std::to_string(run) +
                                                  "; stop, and restore a copy");
}

Result<RunRow> RunTable::get(RunKey run) {
  PAWL_TRY_ASSIGN(std::optional<RunRow> row, find(run));
  if (!row.has_value()) {
    return missing(run);
  }
  return *std::move(row);
}

Result<RunHead> RunTable::get_head(RunKey run) {
  PAWL_TRY_ASSIGN(std::optional<RunHead> head, find_head(run));
  if (!head.has_value()) {
    return missing(run);
  }
  return *std::move(head);
}

Result<std::optional<Lease>> RunTable::find_lease(RunKey run) {
  if (const auto known = leases_.find(run); known != leases_.end()) {
    return std::optional<Lease>(known->second);
  }
  Query query(find_lease_);
  PAWL_TRY_ASSIGN(const bool found, query.integer(run).integer(ns_).step());
  if (!found) {
    return std::optional<Lease>();
  }
  const Lease lease{query.as_integer(0), query.as_integer(1), !query.is_null(2)};
  leases_.emplace(run, lease);
  return std::optional<Lease>(lease);
}

Result<RunRow> RunTable::add(const NewRun& run, std::uint32_t number, RunKey chain, WorkerKey owner,
                             std::int64_t now_ms) {
  RunRow row = new_row(run, number, owner, now_ms);
  {
    Query query(insert_);
    query.integer(ns_)
        .integer_or_null(owner)
        .integer(row.epoch)
        .integer(static_cast<std::int64_t>(row.status))
        .moment(row.wake_ms)
        .integer(number)
        .integer_or_null(chain)
        .integer(now_ms)
        .integer(now_ms)
        .integer_or_null(row.parent.run)
        .integer_or_null(static_cast<std::int64_t>(row.parent.close))
        .id(row.parent.command)
        .uuid(row.uuid)
        .text(run.id)
        .text(run.kind)
        .text_or_null(run.definition);
    PAWL_TRY(query.run());
  }
  row.key = connection_.last_rowid();
  PAWL_TRY(add_input_and_tags(row, run.input, run.tags));
  return row;
}

Result<void> RunTable::add_input_and_tags(const RunRow& row, std::string_view input,
                                          std::span<const Tag> tags) {
  if (!input.empty()) {
    PAWL_TRY(Query(insert_input_).integer(row.key).integer(ns_).blob(input).run());
  }
  for (const Tag& tag : tags) {
    Query query(insert_tag_);
    query.integer(ns_).integer(row.key).text(tag.name).text(tag.value);
    PAWL_TRY(query.integer(row.created_ms).run());
  }
  return {};
}

Result<RunRow> RunTable::add_as_is(RunRow row, std::string_view input, std::span<const Tag> tags) {
  {
    Query query(insert_as_is_);
    query.integer(ns_)
        .integer(row.epoch)
        .integer(static_cast<std::int64_t>(row.status))
        .integer_or_null(row.goal == RunStatus::kRunning ? 0 : static_cast<std::int64_t>(row.goal))
        .moment(row.wake_ms)
        .integer(row.number)
        .integer(row.created_ms)
        .integer(row.changed_ms)
        .uuid(row.uuid)
        .text(row.id)
        .text(row.kind)
        .text_or_null(row.definition)
        .integer_or_null(row.is_approved ? 1 : 0)
        .text_or_null(row.waiting_for)
        .integer_or_null(row.is_paused ? 1 : 0);
    PAWL_TRY(query.run());
  }
  row.key = connection_.last_rowid();
  PAWL_TRY(add_input_and_tags(row, input, tags));
  return row;
}

Result<void> RunTable::set_parent(RunKey run, const Parent& parent) {
  Query query(set_parent_);
  query.integer(parent.run)
      .integer_or_null(static_cast<std::int64_t>(parent.close))
      .id(parent.command)
      .integer(run);
  return query.run();
}

Result<void> RunTable::remove(RunKey run) {
  leases_.erase(run);
  PAWL_TRY(Query(remove_input_).integer(run).run());
  PAWL_TRY(Query(remove_tags_).integer(ns_).integer(run).run());
  PAWL_TRY(remove_reason(run));
  return Query(remove_).integer(run).run();
}

Result<void> RunTable::claim(RunRow& row, WorkerKey worker, std::int64_t now_ms) {
  mark_claimed(row, worker, now_ms);
  leases_.erase(row.key);
  Query query(claim_);
  query.integer(worker).integer(row.epoch).integer(static_cast<std::int64_t>(row.status));
  return query.integer(row.changed_ms).integer(row.key).run();
}

Result<void> RunTable::release(const Release& release, bool& released, std::int64_t& wake_ms) {
  std::int64_t wakes_ms = release.wake_ms;
  if (release.heeds_inbox) {
    Query first_due(first_due_);
    PAWL_TRY(first_due.integer(ns_).integer(release.run).step());
    if (first_due.as_moment(0) <= release.now_ms) {
      return {};
    }
    wakes_ms = std::min(wakes_ms, first_due.as_moment(0));
  }
  leases_.erase(release.run);
  Query query(release_);
  query.integer(static_cast<std::int64_t>(release.status)).integer(release.now_ms);
  PAWL_TRY(query.text_or_null(release.waiting_for).moment(wakes_ms).integer(release.run).run());
  released = true;
  wake_ms = wakes_ms;
  return {};
}

Result<void> RunTable::close(RunKey run, RunStatus status, std::int64_t now_ms) {
  leases_.erase(run);
  Query query(close_);
  return query.integer(static_cast<std::int64_t>(status)).integer(now_ms).integer(run).run();
}

Result<void> RunTable::start_compensating(RunKey run, RunStatus goal, std::int64_t now_ms) {
  Query query(start_compensating_);
  query.integer(static_cast<std::int64_t>(RunStatus::kCompensating));
  return query.integer(static_cast<std::int64_t>(goal)).integer(now_ms).integer(run).run();
}

Result<void> RunTable::set_definition(RunKey run, std::string_view definition) {
  return Query(set_definition_).text_or_null(definition).integer(run).run();
}

Result<void> RunTable::wake(const RunHead& head, std::int64_t due_ms) {
  return can_be_claimed(head) && due_ms < head.wake_ms
             ? Query(wake_).integer(due_ms).integer(head.key).run()
             : Result<void>();
}

Result<void> RunTable::resume(RunKey run, std::int64_t now_ms) {
  PAWL_TRY(remove_reason(run));
  return Query(resume_).integer(now_ms).integer(run).run();
}

Result<void> RunTable::pause(RunKey run) {
  leases_.erase(run);
  return Query(pause_).integer(run).run();
}

Result<void> RunTable::unpause(const RunHead& head, std::int64_t now_ms) {
  leases_.erase(head.key);
  const bool can_go_on = head.owner == 0 && head.status != RunStatus::kBlocked;
  return Query(unpause_).moment(can_go_on ? now_ms : kNever).integer(head.key).run();
}

Result<void> RunTable::free_runs(std::span<const WorkerKey> workers, std::int64_t now_ms) {
  leases_.clear();
  for (const WorkerKey worker : workers) {
    PAWL_TRY(Query(free_).integer(now_ms).integer(worker).integer(ns_).run());
  }
  return {};
}

Result<void> RunTable::add_due(const ClaimDue& op, std::string_view kind,
                               std::vector<std::pair<std::int64_t, RunKey>>& due) {
  const bool is_shared = has_kind(op.left, kind);
  Query query(is_shared ? find_due_left_ : find_due_);
  query.integer(ns_).text(kind).integer(op.now_ms);
  if (!is_shared) {
    query.integer(static_cast<std::int64_t>(op.limit));
  }
  for (std::size_t count = 0; count < op.limit;) {
    PAWL_TRY_ASSIGN(const bool found, query.step());
    if (!found) {
      break;
    }
    if (!is_shared || !is_left(op.left, kind, query.as_string(2))) {
      due.emplace_back(query.as_integer(0), query.as_integer(1));
      ++count;
    }
  }
  return {};
}

Result<Due> RunTable::find_due(const ClaimDue& op) {
  std::vector<std::pair<std::int64_t, RunKey>> due;
  for (const std::string& kind : op.kinds) {
    PAWL_TRY(add_due(op, kind, due));
  }
  std::sort(due.begin(), due.end());
  // A kind that is named twice brings its runs twice.
  due.erase(std::unique(due.begin(), due.end()), due.end());
  due.resize(std::min(due.size(), op.limit));
  Due found;
  for (const auto& [wake_ms, key] : due) {
    found.runs.push_back(key);
  }
  Query mark(workers_mark_);
  PAWL_TRY(mark.integer(ns_).step());
  found.workers = {mark.as_integer(0), mark.as_integer(1)};
  return found;
}

Result<std::int64_t> RunTable::next_wake(std::string_view kind) {
  Query query(next_wake_);
  PAWL_TRY_ASSIGN(const bool found, query.integer(ns_).text(kind).step());
  return found ? query.as_integer(0) : kNever;
}

Result<std::int64_t> RunTable::next_wake(std::string_view kind,
                                         std::span<const KindDefinition> left,
                                         std::int64_t after_ms) {
  Query query(read_wakes_);
  query.integer(ns_).text(kind).integer(after_ms).integer(kWakesLookedAt);
  std::int64_t last = kNever;
  for (std::int64_t i = 0; i < kWakesLookedAt; ++i) {
    PAWL_TRY_ASSIGN(const bool found, query.step());
    if (!found) {
      return kNever;
    }
    last = query.as_integer(0);
    if (!is_left(left, kind, query.as_string(1))) {
      break;
    }
  }
  return last;
}

Result<std::vector<RunKey>> RunTable::find_blocked(const ClaimStuck& op,
                                                   const ClaimStuck::Code& code) {
  Query query(code.only_own ? find_own_blocked_ : find_blocked_);
  query.integer(ns_).text(code.kind).integer(op.after).text(code.definition);
  std::vector<RunKey> keys;
  while (keys.size() < op.limit) {
    PAWL_TRY_ASSIGN(const bool found, query.step());
    if (!found) {
      break;
    }
    const std::string definition = query.as_string(1);
    if (definition == query.as_string(2) || !is_left(op.left, code.kind, definition)) {
      keys.push_back(query.as_integer(0));
    }
  }
  return keys;
}

Result<std::vector<RunKey>> RunTable::find_needing(std::string_view activity, RunKey after,
                                                   std::size_t limit) {
  Query query(find_needing_);
  query.integer(ns_).text(activity).integer(after);
  return read_keys(query.integer(static_cast<std::int64_t>(limit)));
}

Result<std::vector<RunKey>> RunTable::read_keys(Query& query) {
  std::vector<RunKey> keys;
  while (true) {
    PAWL_TRY_ASSIGN(const bool found, query.step());
    if (!found) {
      return keys;
    }
    keys.push_back(query.as_integer(0));
  }
}

Result<std::vector<RunRow>> RunTable::read_children(RunKey run) {
  std::vector<RunRow> children;
  Query query(read_children_);
  query.integer(ns_).integer(run);
  while (true) {
    PAWL_TRY_ASSIGN(const bool found, query.step());
    if (!found) {
      return children;
    }
    children.push_back(read_run(query));
  }
}

Result<std::vector<RunHead>> RunTable::read_child_heads(RunKey run) {
  std::vector<RunHead> children;
  Query query(read_child_heads_);
  query.integer(ns_).integer(run);
  while (true) {
    PAWL_TRY_ASSIGN(std::optional<RunHead> child, read_next_head(query));
    if (!child.has_value()) {
      return children;
    }
    children.push_back(*std::move(child));
  }
}

Result<bool> RunTable::has_open_child(RunKey run) {
  return Query(has_open_child_).integer(ns_).integer(run).step();
}

Result<std::string> RunTable::read_input(RunKey run) {
  Query query(read_input_);
  PAWL_TRY_ASSIGN(const bool found, query.integer(run).integer(ns_).step());
  return found ? query.as_string(0) : std::string();
}

Result<std::vector<Tag>> RunTable::read_tags(RunKey run) {
  std::vector<Tag> tags;
  Query query(read_tags_);
  query.integer(ns_).integer(run);
  while (true) {
    PAWL_TRY_ASSIGN(const bool found, query.step());
    if (!found) {
      return tags;
    }
    tags.push_back({query.as_string(0), query.as_string(1)});
  }
}

Result<std::string> RunTable::read_reason(RunKey run) {
  Query query(read_reason_);
  PAWL_TRY_ASSIGN(const bool found, query.integer(run).integer(ns_).step());
  return found ? query.as_string(0) : std::string();
}

Result<RunTable::Blame> RunTable::read_blame(RunKey run) {
  Blame blame;
  Query query(read_blame_);
  PAWL_TRY_ASSIGN(const bool found, query.integer(run).integer(ns_).step());
  if (found) {
    blame.blocked_by = query.is_null(0) ? std::nullopt : std::optional(query.as_string(0));
    blame.needs = query.as_string(1);
  }
  return blame;
}

Result<void> RunTable::set_reason(RunKey run, std::string_view reason,
                                  const std::optional<std::string>& blocked_by) {
  Query query(set_reason_);
  query.integer(run).integer(ns_).text(reason);
  return (blocked_by.has_value() ? query.text(*blocked_by) : query.null()).run();
}

Result<void> RunTable::set_needs(RunKey run, std::string_view activity) {
  return Query(set_needs_).integer(run).integer(ns_).text(activity).run();
}

Result<void> RunTable::remove_reason(RunKey run) {
  return Query(remove_reason_).integer(run).run();
}

}  // namespace pawl::store

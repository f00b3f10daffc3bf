#include "store/invariants.h"

#include <optional>

namespace pawl::store {

namespace {

struct Rule {
  std::string what;  // "run 7 ...": the key is put in.
  std::string sql;   // Keys of those that break it.
};

#define PAWL_IS_OPEN "r.status NOT BETWEEN 4 AND 7"
// Open, and nobody holds it, nor holds it back.
#define PAWL_IS_FREE "(r.status IN (1, 2, 3) AND r.owner IS NULL AND NOT ({paused}))"

std::vector<Rule> rules(const InspectedDatabase& database) {
  const std::string now = std::to_string(database.now_ms);
  std::vector<Rule> all = {
      {"run {} is held by a worker that is not known",
       "SELECT r.key FROM {schema}pawl_run AS r WHERE r.owner IS NOT NULL AND NOT EXISTS (SELECT 1 "
       "FROM {schema}pawl_worker AS w WHERE w.ns = r.ns AND w.key = r.owner)"},
      {"run {} is held or paused although it has ended",
       "SELECT r.key FROM {schema}pawl_run AS r WHERE NOT (" PAWL_IS_OPEN
       ") AND (r.owner IS NOT NULL OR r.goal IS NOT NULL OR {paused})"},
      {"run {} is to be woken although nobody could claim it",
       "SELECT r.key FROM {schema}pawl_run AS r WHERE r.wake IS NOT NULL AND NOT " PAWL_IS_FREE},
      {"run {} runs, nobody holds it, and it is never woken",
       "SELECT r.key FROM {schema}pawl_run AS r WHERE r.wake IS NULL AND r.status = 1 "
       "AND " PAWL_IS_FREE},
      {"run {} is woken later than something is due for it",
       "SELECT r.key FROM {schema}pawl_run AS r WHERE r.status <> 3 AND " PAWL_IS_FREE
       " AND EXISTS (SELECT 1 FROM {schema}pawl_inbox AS i WHERE i.ns = r.ns AND i.run = r.key AND "
       "NOT i.kept AND (r.wake IS NULL OR (r.wake > coalesce(i.due, 0) AND r.wake > " +
           now + ")))"},
      {"run {} is blocked for no reason",
       "SELECT r.key FROM {schema}pawl_run AS r WHERE r.status = 8 AND NOT EXISTS (SELECT 1 FROM "
       "{schema}pawl_reason AS w WHERE w.ns = r.ns AND w.run = r.key)"},
      {"run {} needs an activity although it does not wait for one",
       "SELECT r.key FROM {schema}pawl_run AS r JOIN {schema}pawl_reason AS w ON w.ns = r.ns AND "
       "w.run = r.key WHERE w.needs IS NOT NULL AND (r.status <> 3 OR r.owner IS NOT NULL)"},
      {"run {} is open although a newer one has its id",
       "SELECT r.key FROM {schema}pawl_run AS r WHERE " PAWL_IS_OPEN
       " AND EXISTS (SELECT 1 FROM {schema}pawl_run AS n WHERE n.ns = r.ns AND n.id = r.id AND "
       "n.number > r.number)"},
      {"two runs have the id and the number of run {}",
       "SELECT min(r.key) FROM {schema}pawl_run AS r GROUP BY r.ns, r.id, r.number HAVING "
       "count(*) > 1"},
      {"run {} was to end with its parent, which has ended",
       "SELECT r.key FROM {schema}pawl_run AS r JOIN {schema}pawl_run AS p ON p.ns = r.ns AND "
       "p.key "
       "= r.parent WHERE " PAWL_IS_OPEN " AND p.status BETWEEN 4 AND 7 AND r.parent_close = 2"},
      {"a signal's id is remembered for run {}, of which nothing is open",
       "SELECT d.chain FROM {schema}pawl_dedupe AS d WHERE NOT EXISTS (SELECT 1 FROM "
       "{schema}pawl_run AS r WHERE r.ns = d.ns AND coalesce(r.chain, r.key) = d.chain "
       "AND " PAWL_IS_OPEN ")"},
      {"task {} is executed by a worker that is not known",
       "SELECT t.key FROM {schema}pawl_task AS t WHERE t.owner IS NOT NULL AND NOT EXISTS (SELECT "
       "1 "
       "FROM {schema}pawl_worker AS w WHERE w.ns = t.ns AND w.key = t.owner)"},
      {"task {} is not executed but has a worker",
       "SELECT t.key FROM {schema}pawl_task AS t WHERE t.owner IS NOT NULL AND t.state <> 2"},
  };
  for (const std::string table : {"input", "reason", "tag", "log", "forgotten", "kept_state",
                                  "inbox", "task", "promise", "compensation"}) {
    all.push_back({"pawl_" + table + " has something of run {}, which is not there",
                   "SELECT DISTINCT x.run FROM {schema}pawl_" + table +
                       " AS x WHERE NOT EXISTS (SELECT 1 FROM {schema}pawl_run AS r WHERE r.ns = "
                       "x.ns AND r.key = x.run)"});
  }
  for (const std::string table : {"inbox", "task", "promise"}) {
    all.push_back({"pawl_" + table + " has something of run {}, which has ended",
                   "SELECT DISTINCT r.key FROM {schema}pawl_run AS r JOIN {schema}pawl_" + table +
                       " AS x ON x.ns = r.ns AND x.run = r.key WHERE NOT (" PAWL_IS_OPEN ")"});
  }
  if (database.has_all_runs) {
    all.push_back({"the runs with the id of run {} are not numbered from 1 without gaps",
                   "SELECT min(r.key) FROM {schema}pawl_run AS r GROUP BY r.ns, r.id HAVING "
                   "min(r.number) <> 1 OR max(r.number) <> count(*)"});
  }
  return all;
}

std::string put_in(std::string text, const std::string& key) {
  return text.replace(text.find("{}"), 2, key);
}

// What loops forget lies before a checkpoint.
Result<std::optional<std::string>> check_log(Store& store, RunKey run) {
  std::uint64_t last = 0;
  bool has_gap = false;
  bool is_doubled = false;
  PAWL_TRY(store.read_log(run, 0, [&](const replay::Entry& entry) -> Result<void> {
    is_doubled = is_doubled || entry.seq <= last;
    has_gap = (has_gap || entry.seq > last + 1) && entry.checkpoint == nullptr;
    last = entry.seq;
    return {};
  }));
  PAWL_TRY(store.read_forgotten(run, [&](const replay::Entry& entry) -> Result<void> {
    is_doubled = is_doubled || entry.seq == last;
    return {};
  }));
  const std::string name = "the log of run " + std::to_string(run);
  return is_doubled ? std::optional(name + " has an entry twice")
         : has_gap  ? std::optional(name + " has a gap")
                    : std::nullopt;
}

Result<void> check_logs(Store& store, std::vector<std::string>& violations) {
  constexpr std::size_t kPageRuns = 1000;
  std::optional<RunCursor> next = RunCursor{};
  while (next.has_value()) {
    PAWL_TRY_ASSIGN(const RunPage page, store.catalog().list_runs({}, *next, kPageRuns));
    for (const RunRow& row : page.rows) {
      PAWL_TRY_ASSIGN(std::optional<std::string> violation, check_log(store, row.key));
      if (violation.has_value()) {
        violations.push_back(*std::move(violation));
      }
    }
    next = page.next;
  }
  return {};
}

}  // namespace

Result<std::vector<std::string>> find_violations(const InspectedDatabase& database) {
  std::vector<std::string> violations;
  for (const Rule& rule : rules(database)) {
    PAWL_TRY_ASSIGN(const std::vector<std::string> keys, database.query(rule.sql));
    for (const std::string& key : keys) {
      violations.push_back(put_in(rule.what, key));
    }
  }
  PAWL_TRY(check_logs(database.store, violations));
  return violations;
}

}  // namespace pawl::store

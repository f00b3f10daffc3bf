#include "audit/row_rules.h"

#include <charconv>
#include <string>
#include <string_view>
#include <utility>

namespace pawl::audit {

namespace {

// The tables have the same names and columns everywhere. The catalog puts in {schema}, {ns} and
// {paused}, the condition that the run `r` is paused.
struct Rule {
  std::string name;
  std::string what;
  std::string advice;
  std::string sql;  // Keys of runs that break it; then a seq, if there is a second column.
};

#define PAWL_IS_OPEN "r.status NOT BETWEEN 4 AND 7"
// Open, and nobody holds it, nor holds it back.
#define PAWL_IS_FREE "(r.status IN (1, 2, 3) AND r.owner IS NULL AND NOT ({paused}))"
#define PAWL_PAGE(x, key) x ".ns = {ns} AND " x "." key " > {after} AND " x "." key " <= {upto}"
#define PAWL_PAGE_OF_RUNS "{by_key}" PAWL_PAGE("r", "key")
#define PAWL_RUNS "SELECT r.key FROM {schema}pawl_run AS r WHERE " PAWL_PAGE_OF_RUNS " AND "
#define PAWL_LAST_KIND                                                                      \
  "coalesce((SELECT l.kind FROM {schema}pawl_log AS l WHERE l.ns = r.ns AND l.run = r.key " \
  "ORDER BY l.seq DESC LIMIT 1), 0)"

constexpr std::string_view kRestore =
    "restore a copy of the database from before, or terminate the run and start it anew";
constexpr std::string_view kResume = "`pawl resume` wakes the run";
constexpr std::string_view kHarmless = "nothing reads that; it may be deleted";

std::vector<Rule> rules_of_runs() {
  return {
      {"unknown_owner", "is held by a worker that is not known",
       "nobody will go on with it: restore a copy of the database from before",
       PAWL_RUNS
       "r.owner IS NOT NULL AND NOT EXISTS (SELECT 1 FROM {schema}pawl_worker AS w WHERE w.ns = "
       "r.ns AND w.key = r.owner)"},
      {"held_after_end", "is held, paused or compensating although it has ended",
       std::string(kHarmless),
       PAWL_RUNS "NOT (" PAWL_IS_OPEN ") AND (r.owner IS NOT NULL OR r.goal IS NOT NULL OR "
                 "{paused})"},
      {"woken_in_vain", "is to be woken although nobody could claim it",
       "workers that look for it find nothing to do; restore a copy of the database from before",
       PAWL_RUNS "r.wake IS NOT NULL AND NOT " PAWL_IS_FREE},
      {"never_woken", "runs, nobody holds it, and it is never woken", std::string(kResume),
       PAWL_RUNS "r.wake IS NULL AND r.status = 1 AND " PAWL_IS_FREE},
      {"woken_late", "is woken later than something is due for it, or never", std::string(kResume),
       PAWL_RUNS
       "r.status <> 3 AND " PAWL_IS_FREE
       " AND EXISTS (SELECT 1 FROM {schema}pawl_inbox AS i WHERE i.ns = r.ns AND i.run = r.key "
       "AND NOT i.kept AND (r.wake IS NULL OR (r.wake > coalesce(i.due, 0) AND r.wake > {now})))"},
      {"no_such_status", "has a status that there is not", std::string(kRestore),
       PAWL_RUNS "r.status NOT BETWEEN 1 AND 8"},
      {"blocked_for_nothing", "is blocked for no reason", "`pawl resume` lets it go on",
       PAWL_RUNS
       "r.status = 8 AND NOT EXISTS (SELECT 1 FROM {schema}pawl_reason AS w WHERE w.ns = r.ns AND "
       "w.run = r.key)"},
      {"needs_in_vain", "needs an activity although it does not wait for one",
       std::string(kHarmless),
       PAWL_RUNS
       "EXISTS (SELECT 1 FROM {schema}pawl_reason AS w WHERE w.ns = r.ns AND w.run = r.key AND "
       "w.needs IS NOT NULL) AND (r.status <> 3 OR r.owner IS NOT NULL)"},
      {"not_newest", "is open although a newer one has its id", "terminate it",
       PAWL_RUNS PAWL_IS_OPEN
       " AND EXISTS (SELECT 1 FROM {schema}pawl_run AS n WHERE n.ns = r.ns AND n.id = r.id AND "
       "n.number > r.number)"},
      {"number_twice", "has the id and the number of another run", std::string(kRestore),
       PAWL_RUNS
       "EXISTS (SELECT 1 FROM {schema}pawl_run AS n WHERE n.ns = r.ns AND n.id = r.id AND "
       "n.number = r.number AND n.key <> r.key)"},
      {"no_parent", "is a child that is open, and its parent is not there",
       "nobody will hear of its end; terminate it if nobody needs it",
       PAWL_RUNS PAWL_IS_OPEN
       " AND r.parent IS NOT NULL AND NOT EXISTS (SELECT 1 FROM {schema}pawl_run AS p WHERE p.ns "
       "= r.ns AND p.key = r.parent)"},
      {"outlives_parent", "was to end with its parent, which has ended", "terminate it",
       PAWL_RUNS PAWL_IS_OPEN
       " AND r.parent_close = 2 AND EXISTS (SELECT 1 FROM {schema}pawl_run AS p WHERE p.ns = r.ns "
       "AND p.key = r.parent AND p.status BETWEEN 4 AND 7)"},
      {"dedupe_of_nothing", "a signal's id is remembered for it, and nothing of it is open",
       std::string(kHarmless),
       // All of a chain have one id. Without the first of them, all runs are looked at.
       "SELECT DISTINCT d.chain FROM {schema}pawl_dedupe AS d WHERE " PAWL_PAGE(
           "d", "chain") " AND CASE WHEN EXISTS (SELECT 1 FROM {schema}pawl_run AS h WHERE h.ns = "
                         "d.ns AND h.key = "
                         "d.chain) THEN NOT EXISTS (SELECT 1 FROM {schema}pawl_run AS h JOIN "
                         "{schema}pawl_run AS r "
                         "ON r.ns = h.ns AND r.id = h.id WHERE h.ns = d.ns AND h.key = d.chain "
                         "AND " PAWL_IS_OPEN
                         " AND coalesce(r.chain, r.key) = d.chain) ELSE NOT EXISTS (SELECT 1 FROM "
                         "{schema}pawl_run AS r WHERE r.ns = d.ns AND r.chain = d.chain "
                         "AND " PAWL_IS_OPEN ") END"},
      {"task_of_unknown_worker", "a task of it is executed by a worker that is not known",
       "nobody will end it; restore a copy of the database from before",
       "SELECT t.run FROM {schema}pawl_task AS t WHERE " PAWL_PAGE(
           "t", "run") " AND t.owner IS NOT NULL AND NOT EXISTS (SELECT 1 FROM {schema}pawl_worker "
                       "AS w WHERE "
                       "w.ns = t.ns AND w.key = t.owner)"},
      {"task_owned_in_vain", "a task of it is not executed but has a worker", std::string(kRestore),
       "SELECT t.run FROM {schema}pawl_task AS t WHERE " PAWL_PAGE(
           "t", "run") " AND t.owner IS NOT NULL AND t.state <> 2"},
      {"task_state", "a task of it has a state that there is not", std::string(kRestore),
       "SELECT t.run FROM {schema}pawl_task AS t WHERE " PAWL_PAGE(
           "t", "run") " AND t.state NOT BETWEEN 0 AND 2"},
      {"tag_out_of_order", "a search by one of its tags does not find it where it belongs",
       "nothing else relies on that; restore a copy of the database from before",
       "SELECT DISTINCT r.key FROM {schema}pawl_run AS r JOIN {schema}pawl_tag AS x ON x.ns = "
       "r.ns AND x.run = r.key WHERE " PAWL_PAGE_OF_RUNS " AND x.created <> r.created"},
      {"entry_twice", "an entry is both in the log and among what loops have moved away",
       std::string(kRestore),
       "SELECT f.run, f.seq FROM {schema}pawl_forgotten AS f WHERE " PAWL_PAGE(
           "f", "run") " AND EXISTS (SELECT 1 FROM {schema}pawl_log AS l WHERE l.ns = f.ns AND "
                       "l.run = f.run AND "
                       "l.seq = f.seq)"},
      {"state_of_nothing", "a state is kept of a checkpoint that is not there",
       "searches by state may be wrong, runs go on",
       "SELECT DISTINCT x.run, x.seq FROM {schema}pawl_kept_state AS x WHERE " PAWL_PAGE(
           "x", "run") " AND NOT EXISTS (SELECT 1 FROM {schema}pawl_log AS l WHERE l.ns = x.ns AND "
                       "l.run = x.run "
                       "AND l.seq = x.seq) AND NOT EXISTS (SELECT 1 FROM {schema}pawl_forgotten AS "
                       "f WHERE f.ns = "
                       "x.ns AND f.run = x.run AND f.seq = x.seq)"},
  };
}

// What engines see to: compensations come after a failure, and the last entry of the log fits the
// status. 65 to 68 are the ends that lead to 4 to 7.
std::vector<Rule> rules_of_engines() {
  return {
      {"compensation_too_early", "has compensations to run although its code has not failed",
       std::string(kRestore),
       "SELECT DISTINCT r.key FROM {schema}pawl_run AS r JOIN {schema}pawl_compensation AS c ON "
       "c.ns = r.ns AND c.run = r.key WHERE " PAWL_PAGE_OF_RUNS
       " AND r.status IN (1, 2, 4, 7) AND r.goal IS NULL"},
      {"compensates_for_nothing", "compensates, and it is not known what it is to end as",
       std::string(kRestore), PAWL_RUNS "r.status = 3 AND coalesce(r.goal, 0) NOT IN (5, 6)"},
      {"no_end", "has ended, and its log does not say so, or says something else",
       std::string(kRestore),
       PAWL_RUNS "r.status BETWEEN 4 AND 7 AND " PAWL_LAST_KIND " <> r.status + 61"},
      {"ended_but_open", "is open although its log says that it has ended", std::string(kRestore),
       PAWL_RUNS "r.status IN (1, 2) AND " PAWL_LAST_KIND " BETWEEN 65 AND 68"},
      {"compensates_too_early", "compensates, and its log does not say that it has failed",
       std::string(kRestore),
       PAWL_RUNS "r.status = 3 AND r.goal IS NOT NULL AND " PAWL_LAST_KIND " <> r.goal + 61"},
  };
}

std::vector<Rule> rules_of_parts() {
  std::vector<Rule> rules;
  for (const std::string table : {"input", "reason", "tag", "log", "forgotten", "kept_state",
                                  "inbox", "task", "promise", "compensation"}) {
    rules.push_back(
        {table + "_of_no_run", "pawl_" + table + " has rows of it, and it is not there",
         std::string(kHarmless),
         "SELECT DISTINCT x.run FROM {schema}pawl_" + table +
             " AS x WHERE " PAWL_PAGE(
                 "x", "run") " AND NOT EXISTS (SELECT 1 FROM "
                             "{schema}pawl_run AS r WHERE r.ns = x.ns AND r.key = x.run)"});
  }
  for (const std::string table : {"inbox", "task", "promise"}) {
    rules.push_back({table + "_after_end", "pawl_" + table + " has rows of it, and it has ended",
                     table == "task" ? "workers may execute it in vain; restore a copy of the "
                                       "database from before"
                                     : std::string(kHarmless),
                     "SELECT DISTINCT r.key FROM {schema}pawl_run AS r JOIN {schema}pawl_" + table +
                         " AS x ON x.ns = r.ns AND x.run = r.key WHERE " PAWL_PAGE_OF_RUNS
                         " AND NOT (" PAWL_IS_OPEN ")"});
  }
  return rules;
}

std::vector<Rule> rules(const RowRuleOptions& options) {
  std::vector<Rule> all = rules_of_runs();
  const auto add = [&](std::vector<Rule> more) {
    for (Rule& rule : more) {
      all.push_back(std::move(rule));
    }
  };
  add(rules_of_parts());
  if (options.has_real_logs) {
    add(rules_of_engines());
  }
  if (options.has_all_runs) {
    add({{"number_gap", "has a number whose predecessor is not there", "",
          PAWL_RUNS
          "r.number > 1 AND NOT EXISTS (SELECT 1 FROM {schema}pawl_run AS n WHERE n.ns = r.ns AND "
          "n.id = r.id AND n.number = r.number - 1)"}});
  }
  return all;
}

std::int64_t as_integer(const std::string& text) {
  std::int64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

}  // namespace

Result<std::vector<Finding>> check_rows(store::Catalog& catalog, const store::KeyRange& page,
                                        const RowRuleOptions& options) {
  std::vector<Finding> findings;
  for (Rule& rule : rules(options)) {
    store::replace_all(rule.sql, "{after}", std::to_string(page.after));
    store::replace_all(rule.sql, "{upto}", std::to_string(page.upto));
    store::replace_all(rule.sql, "{now}", std::to_string(options.now_ms));
    PAWL_TRY_ASSIGN(const store::Database::Rows rows, catalog.query(rule.sql));
    for (const std::vector<std::string>& row : rows) {
      Finding& finding = findings.emplace_back();
      finding.rule = rule.name;
      finding.run = as_integer(row[0]);
      if (row.size() > 1) {
        finding.seq = static_cast<std::uint64_t>(as_integer(row[1]));
      }
      finding.what = rule.what;
      finding.advice = rule.advice;
    }
  }
  return findings;
}

}  // namespace pawl::audit

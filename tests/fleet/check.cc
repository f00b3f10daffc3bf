#include "fleet/check.h"

#include <algorithm>
#include <chrono>
#include <fstream>
#include <memory>
#include <set>
#include <sstream>
#include <utility>

#include "audit/audit.h"
#include "fleet/interpreter.h"
#include "store/postgres/postgres_store.h"

namespace pawl::fleet {

namespace {

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at)) {
    text.replace(at, from.size(), to);
    at += to.size();
  }
}

// The first column of each row.
std::vector<std::string> column(const testing::PostgresServer& server, std::string sql) {
  replace_all(sql, "{schema}", "pawl.");
  std::istringstream lines(
      server.query("SELECT coalesce(string_agg(x::text, chr(10)), '') FROM (" + sql + ") AS q(x)"));
  std::vector<std::string> rows;
  for (std::string line; std::getline(lines, line);) {
    rows.push_back(line);
  }
  return rows;
}

// Everything of a run's history, what loops have forgotten included.
constexpr std::string_view kWholeLog =
    "(SELECT run, seq, kind, id, location FROM {schema}pawl_log UNION ALL "
    "SELECT run, seq, kind, id, location FROM {schema}pawl_forgotten) AS l JOIN {schema}pawl_run "
    "AS r ON r.key = l.run";

class Check {
 public:
  Check(const testing::PostgresServer& server, const std::map<std::string, Expected>& expected)
      : server_(server), expected_(expected) {}

  Findings take() { return std::move(findings_); }

  void look_at_runs() {
    std::size_t runs = 0;
    for (const auto& [id, expected] : expected_) {
      runs += expected.runs;
    }
    findings_.runs = number("SELECT count(*) FROM {schema}pawl_run");
    if (findings_.runs != runs) {
      say("there are " + std::to_string(findings_.runs) + " runs instead of " +
          std::to_string(runs));
    }
    say_each("is not closed",
             "SELECT id || ' (status ' || status || ')' FROM {schema}pawl_run WHERE status NOT "
             "BETWEEN 4 AND 7");
    say_each("is left of a run that has ended", "SELECT 'task ' || id FROM {schema}pawl_task");
    findings_.deadlocks =
        number("SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()");
    findings_.claims = number("SELECT coalesce(sum(epoch), 0) FROM {schema}pawl_run");
  }

  // The key of a table has it that no seq is there twice; but what is recorded may be. A loop has
  // one checkpoint after the other.
  void look_at_logs() {
    findings_.entries = number("SELECT count(*) FROM " + std::string(kWholeLog));
    say_each("is there twice", "SELECT r.id || ' seq ' || l.seq FROM " + std::string(kWholeLog) +
                                   " GROUP BY r.key, r.id, l.seq HAVING count(*) > 1");
    say_each("was recorded twice",
             "SELECT r.id || ' ' || coalesce(l.location, '') || ' ' || coalesce(l.id, '') || ' "
             "kind ' || l.kind FROM " +
                 std::string(kWholeLog) +
                 " WHERE (l.id IS NOT NULL OR l.location IS NOT NULL) AND l.kind <> " +
                 std::to_string(static_cast<int>(replay::EntryKind::kLoopCheckpointed)) +
                 " GROUP BY r.key, r.id, "
                 "l.location, l.id, l.kind HAVING count(*) > 1");
  }

  void look_at_invariants() {
    const Result<store::PostgresOptions> options = store::parse_postgres_url(server_.url());
    Result<std::unique_ptr<store::Store>> opened = store::open_postgres(*options);
    if (!opened) {
      say("the store does not open: " + opened.error().message);
      return;
    }
    const Result<std::optional<std::int64_t>> now_ms = (*opened)->read_clock();
    if (!now_ms) {
      say("the clock cannot be read: " + now_ms.error().message);
      return;
    }
    audit::Options rules;
    rules.now_ms = now_ms->value_or(0);
    rules.has_all_runs = true;
    const Result<std::vector<audit::Finding>> found = audit::find_all(**opened, rules);
    if (!found) {
      say("the database cannot be looked at: " + found.error().message);
      return;
    }
    for (const audit::Finding& finding : *found) {
      say(audit::place_of(finding) + ": " + finding.what);
    }
  }

  void look_at_transactions() {
    std::multiset<std::string> should;
    for (const auto& [id, expected] : expected_) {
      should.insert(expected.transacted.begin(), expected.transacted.end());
    }
    const std::vector<std::string> rows =
        column(server_, std::string("SELECT run || ' ' || label FROM ") + kTransactedTable);
    const std::multiset<std::string> did(rows.begin(), rows.end());
    std::vector<std::string> different;
    std::ranges::set_symmetric_difference(should, did, std::back_inserter(different));
    for (const std::string& step : different) {
      say("the transaction of " + step + " was done " + std::to_string(did.count(step)) + " times");
    }
  }

  // Each at least once, and nothing else.
  void look_at_notes(const std::string& path) {
    std::map<std::string, std::size_t> executed;
    std::map<std::string, std::vector<std::string>> undone;  // By run: what began, in order.
    std::ifstream file(path);
    std::string what;
    std::string run;
    std::string label;
    std::string attempt;
    while (file >> what >> run >> label >> attempt) {
      const std::string step = run + " " + label;
      if (what == "executed") {
        ++executed[step];
      } else if (std::ranges::find(undone[run], step) == undone[run].end()) {
        undone[run].push_back(step);
      }
    }
    for (const auto& [id, expected] : expected_) {
      for (const Execution& execution : expected.executed) {
        const auto found = executed.find(execution.step);
        if (found == executed.end()) {
          say(execution.step + " was never executed");
          continue;
        }
        // May be less than planned: an attempt that was lost before it began has a number, too.
        const std::size_t planned = static_cast<std::size_t>(execution.attempts);
        findings_.executions += found->second;
        findings_.executed_again += found->second - std::min(found->second, planned);
        executed.erase(found);
      }
      for (const std::vector<std::string>& steps : expected.undone) {
        const std::string of = steps.front().substr(0, steps.front().find(' '));
        if (undone[of] != steps) {
          say(of + " did not undo its steps, each once, the last one first");
        }
        undone.erase(of);
      }
    }
    for (const auto& [step, count] : executed) {
      say(step + " was executed, and should not have been");
    }
    for (const auto& [of, steps] : undone) {
      say(of + " has undone something, and should not have");
    }
  }

 private:
  void say(std::string problem) { findings_.problems.push_back(std::move(problem)); }
  void say_each(const std::string& what, const std::string& sql) {
    for (const std::string& row : column(server_, sql)) {
      say(row + " " + what);
    }
  }
  std::size_t number(const std::string& sql) {
    return static_cast<std::size_t>(std::stoull(column(server_, sql).at(0)));
  }

  const testing::PostgresServer& server_;
  const std::map<std::string, Expected>& expected_;
  Findings findings_;
};

}  // namespace

Findings check(const testing::PostgresServer& server, const std::string& notes,
               const std::map<std::string, Expected>& expected) {
  Check check(server, expected);
  check.look_at_runs();
  check.look_at_logs();
  check.look_at_invariants();
  check.look_at_transactions();
  check.look_at_notes(notes);
  return check.take();
}

}  // namespace pawl::fleet

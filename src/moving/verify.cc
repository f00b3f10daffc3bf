#include "moving/verify.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <random>
#include <string_view>
#include <utility>
#include <vector>

#include "audit/run_check.h"

namespace pawl::moving {

namespace {

using store::RunKey;

constexpr int kPageKeys = 10'000;

struct Count {
  std::string_view what;
  std::string_view sql;
};

#define PAWL_OF_RUNS(table)                                                               \
  "SELECT count(*) FROM {schema}" table                                                   \
  " AS x WHERE x.ns = {ns} AND EXISTS (SELECT 1 FROM {schema}pawl_run AS r WHERE r.ns = " \
  "x.ns AND r.key = x.run)"
#define PAWL_RUNS "SELECT count(*) FROM {schema}pawl_run AS r WHERE r.ns = {ns} AND "

// Rows that belong to no run are not carried.
constexpr std::array kCounts = {
    Count{"runs by status",
          "SELECT r.status, count(*) FROM {schema}pawl_run AS r WHERE r.ns = {ns} GROUP BY "
          "r.status ORDER BY r.status"},
    Count{"paused runs", PAWL_RUNS "({paused})"},
    Count{"runs to be woken", PAWL_RUNS "r.wake IS NOT NULL"},
    Count{"children", PAWL_RUNS
          "EXISTS (SELECT 1 FROM {schema}pawl_run AS p WHERE p.ns = r.ns AND p.key = r.parent)"},
    Count{"inputs", PAWL_OF_RUNS("pawl_input")},
    Count{"reasons",
          PAWL_OF_RUNS("pawl_reason") " AND (x.reason <> '' OR x.blocked_by IS NOT NULL OR "
                                      "coalesce(x.needs, '') <> '')"},
    Count{"tags", PAWL_OF_RUNS("pawl_tag")},
    Count{"entries", PAWL_OF_RUNS("pawl_log")},
    Count{"entries that loops have moved away", PAWL_OF_RUNS("pawl_forgotten")},
    Count{"bytes of payloads",
          "SELECT coalesce(sum(length(x.payload)), 0) FROM {schema}pawl_log AS x WHERE x.ns = {ns} "
          "AND EXISTS (SELECT 1 FROM {schema}pawl_run AS r WHERE r.ns = x.ns AND r.key = x.run)"},
    Count{"arrivals", PAWL_OF_RUNS("pawl_inbox")},
    Count{"arrivals that are kept", PAWL_OF_RUNS("pawl_inbox") " AND x.kept"},
    Count{"tasks", PAWL_OF_RUNS("pawl_task")},
    Count{"promises", PAWL_OF_RUNS("pawl_promise")},
    Count{"compensations", PAWL_OF_RUNS("pawl_compensation")},
    Count{"ids of signals",
          "SELECT count(*) FROM {schema}pawl_run AS r JOIN {schema}pawl_dedupe AS d ON d.ns = "
          "r.ns AND d.chain = coalesce(r.chain, r.key) WHERE r.ns = {ns} AND r.status NOT BETWEEN "
          "4 AND 7"},
};

std::string joined(const store::Database::Rows& rows) {
  std::string text;
  for (const std::vector<std::string>& row : rows) {
    for (const std::string& value : row) {
      text += (text.empty() ? "" : " ") + value;
    }
  }
  return text.empty() ? "0" : text;
}

// Each with the same chance, without knowing how many there are.
Result<std::vector<RunKey>> choose(store::Store& store, const SampleOptions& options) {
  std::mt19937_64 random(options.seed);
  std::vector<RunKey> chosen;
  std::uint64_t seen = 0;
  RunKey after = -store::kNever;
  while (true) {
    PAWL_TRY_ASSIGN(
        const store::Database::Rows rows,
        store.catalog().query(
            "SELECT r.key FROM {schema}pawl_run AS r WHERE {by_key}r.ns = {ns} AND r.key > " +
            std::to_string(after) + " ORDER BY r.key LIMIT " + std::to_string(kPageKeys)));
    for (const std::vector<std::string>& row : rows) {
      std::from_chars(row[0].data(), row[0].data() + row[0].size(), after);
      ++seen;
      if (chosen.size() < options.size) {
        chosen.push_back(after);
      } else if (const std::uint64_t place = random() % seen; place < chosen.size()) {
        chosen[place] = after;
      }
    }
    if (rows.size() < kPageKeys) {
      std::sort(chosen.begin(), chosen.end());
      return chosen;
    }
  }
}

class Comparison {
 public:
  Comparison(store::Store& from, store::Store& to, const SampleOptions& options)
      : from_(from), to_(to), options_(options) {}

  // None: they are the same.
  Result<std::optional<std::string>> compare(RunKey run) {
    PAWL_TRY_ASSIGN(portable::RunDocument original, portable::read_document(from_, run));
    const store::RunRow& row = original.image.row;
    const std::string name = "the run '" + row.id + "', number " + std::to_string(row.number);
    PAWL_TRY_ASSIGN(const std::optional<store::RunRow> there, to_.find_run(row.id, row.number));
    if (!there.has_value()) {
      return std::optional(name + ", is not in the target");
    }
    PAWL_TRY_ASSIGN(portable::RunDocument copy, portable::read_document(to_, there->key));
    if (row.status == store::RunStatus::kRecurred) {  // They went with the run that it recurred to.
      original.image.dedupe.clear();
      copy.image.dedupe.clear();
    }
    if (portable::to_json(original) != portable::to_json(copy) ||
        row.wake_ms != copy.image.row.wake_ms) {
      return std::optional(name + ", is not the same in the target");
    }
    PAWL_TRY_ASSIGN(const std::string parent, parent_of(from_, row));
    PAWL_TRY_ASSIGN(const std::string parent_there, parent_of(to_, *there));
    if (parent != parent_there) {
      return std::optional(name + ", has another parent in the target");
    }
    PAWL_TRY_ASSIGN(const std::vector<audit::Finding> before,
                    audit::check_run(from_.catalog(), run));
    PAWL_TRY_ASSIGN(const std::vector<audit::Finding> after,
                    audit::check_run(to_.catalog(), there->key));
    if (after.size() > before.size()) {
      return std::optional(name + ", is damaged in the target: " + after[0].what);
    }
    if (options_.replay) {
      PAWL_TRY_ASSIGN(const std::optional<std::string> trouble, options_.replay(copy));
      return trouble.has_value() ? std::optional(name + ": " + *trouble) : std::nullopt;
    }
    return std::optional<std::string>();
  }

 private:
  // One that is gone is none.
  static Result<std::string> parent_of(store::Store& store, const store::RunRow& row) {
    if (row.parent.run == 0) {
      return std::string();
    }
    PAWL_TRY_ASSIGN(const std::optional<store::RunRow> parent, store.find_run(row.parent.run));
    return parent.has_value()
               ? std::to_string(parent->number) + " " + row.parent.command + " " + parent->id
               : std::string();
  }

  store::Store& from_;
  store::Store& to_;
  const SampleOptions& options_;
};

}  // namespace

Result<std::optional<std::string>> compare_counts(store::Store& from, store::Store& to) {
  for (const Count& count : kCounts) {
    PAWL_TRY_ASSIGN(const store::Database::Rows there,
                    from.catalog().query(std::string(count.sql)));
    PAWL_TRY_ASSIGN(const store::Database::Rows here, to.catalog().query(std::string(count.sql)));
    if (joined(there) != joined(here)) {
      return std::optional(std::string(count.what) + ": the source has " + joined(there) +
                           ", the target " + joined(here));
    }
  }
  return std::optional<std::string>();
}

Result<SampleOutcome> compare_sample(store::Store& from, store::Store& to,
                                     const SampleOptions& options,
                                     const std::function<void(std::int64_t)>& tell) {
  PAWL_TRY_ASSIGN(const std::vector<RunKey> runs, choose(from, options));
  SampleOutcome outcome;
  Comparison comparison(from, to, options);
  for (const RunKey run : runs) {
    PAWL_TRY_ASSIGN(outcome.difference, comparison.compare(run));
    if (outcome.difference.has_value()) {
      return outcome;
    }
    tell(static_cast<std::int64_t>(++outcome.runs));
  }
  return outcome;
}

}  // namespace pawl::moving

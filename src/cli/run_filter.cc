#include "cli/run_filter.h"

#include <utility>

#include "cli/arguments.h"
#include "cli/progress.h"
#include "cli/tag_argument.h"

namespace pawl::cli {

namespace {

using view::QueryNode;

constexpr std::size_t kPageSize = 500;

QueryNode comparison(QueryNode::Field field, QueryNode::Operator op = {}) {
  QueryNode node;
  node.kind = QueryNode::Kind::kCompare;
  node.field = field;
  node.op = op;
  return node;
}

Result<void> add_statuses(const std::vector<std::string>& names, std::vector<QueryNode>& parts) {
  QueryNode by_status = comparison(QueryNode::Field::kStatus);
  QueryNode any;
  any.kind = QueryNode::Kind::kOr;
  for (const std::string& name : names) {
    if (name == "paused") {
      any.parts.push_back(comparison(QueryNode::Field::kPaused));
      continue;
    }
    const std::vector<store::RunStatus> found = view::find_statuses(name);
    if (found.empty()) {
      return make_error(ErrorCode::kInvalidArgument,
                        "--status: there is no status '" + name +
                            "'; there are running, waiting, compensating, blocked, completed, "
                            "failed, cancelled, recurred, and open, closed, paused");
    }
    by_status.statuses.insert(by_status.statuses.end(), found.begin(), found.end());
  }
  if (!by_status.statuses.empty()) {
    any.parts.push_back(std::move(by_status));
  }
  if (!any.parts.empty()) {
    parts.push_back(std::move(any));
  }
  return {};
}

Result<void> add_moment(const std::string& option, const std::string& text, QueryNode::Field field,
                        QueryNode::Operator op, const Console& console,
                        std::vector<QueryNode>& parts) {
  if (text.empty()) {
    return {};
  }
  const Result<std::int64_t> moment = view::parse_moment(text, console.now_ms(), console.zone());
  if (!moment) {
    return make_error(ErrorCode::kInvalidArgument, option + ": " + moment.error().message);
  }
  QueryNode node = comparison(field, op);
  node.moments.push_back(*moment);
  parts.push_back(std::move(node));
  return {};
}

}  // namespace

bool FilterArguments::is_empty() const {
  return kinds.empty() && statuses.empty() && tags.empty() && started_after.empty() &&
         started_before.empty() && ended_after.empty() && ended_before.empty() && query.empty();
}

void add_filter(Frame& frame, CLI::App* command, FilterArguments& filter) {
  const auto many = [](CLI::Option* option) {
    return option->expected(1)->allow_extra_args(false)->take_all();
  };
  CLI::Option* kind =
      many(command->add_option("--kind", filter.kinds, "Of this kind; several: of any of them"));
  kind->type_name("KIND");
  frame.set_values(kind, Values::kKinds);
  many(command->add_option("--status", filter.statuses,
                           "With this status, or open, closed, paused; several: any of them"))
      ->type_name("STATUS");
  many(command->add_option("--tag", filter.tags, "With this tag, NAME=VALUE; several: all of them"))
      ->type_name("TAG");
  command->add_option("--started-after", filter.started_after, "Started at this moment or later")
      ->check(not_blank())
      ->type_name("TIME");
  command->add_option("--started-before", filter.started_before, "Started before this moment")
      ->check(not_blank())
      ->type_name("TIME");
  command->add_option("--ended-after", filter.ended_after, "Ended at this moment or later")
      ->check(not_blank())
      ->type_name("TIME");
  command->add_option("--ended-before", filter.ended_before, "Ended before this moment")
      ->check(not_blank())
      ->type_name("TIME");
  command->add_option("-q,--query", filter.query, "An expression; see docs/cli.md")
      ->check(not_blank())
      ->type_name("QUERY");
}

Result<view::RunQuery> make_query(const FilterArguments& filter, const Console& console) {
  using Field = QueryNode::Field;
  using Operator = QueryNode::Operator;
  QueryNode all;
  all.kind = QueryNode::Kind::kAnd;
  if (!filter.kinds.empty()) {
    QueryNode node = comparison(Field::kKind);
    node.texts = filter.kinds;
    all.parts.push_back(std::move(node));
  }
  PAWL_TRY(add_statuses(filter.statuses, all.parts));
  PAWL_TRY_ASSIGN(const std::vector<store::Tag> tags, parse_tags(filter.tags));
  for (const store::Tag& tag : tags) {
    QueryNode node = comparison(Field::kTag);
    node.tag = tag.name;
    node.texts = {tag.value};
    all.parts.push_back(std::move(node));
  }
  PAWL_TRY(add_moment("--started-after", filter.started_after, Field::kStarted,
                      Operator::kMoreEqual, console, all.parts));
  PAWL_TRY(add_moment("--started-before", filter.started_before, Field::kStarted, Operator::kLess,
                      console, all.parts));
  PAWL_TRY(add_moment("--ended-after", filter.ended_after, Field::kEnded, Operator::kMoreEqual,
                      console, all.parts));
  PAWL_TRY(add_moment("--ended-before", filter.ended_before, Field::kEnded, Operator::kLess,
                      console, all.parts));
  const view::RunQuery options(std::move(all));
  if (filter.query.empty()) {
    return options;
  }
  PAWL_TRY_ASSIGN(const view::RunQuery query,
                  view::RunQuery::parse(filter.query, console.now_ms(), console.zone()));
  return options && query;
}

view::RunQuery status_query(std::vector<store::RunStatus> statuses) {
  QueryNode node = comparison(QueryNode::Field::kStatus);
  node.statuses = std::move(statuses);
  return view::RunQuery(std::move(node));
}

Result<store::RunCursor> read_cursor(const std::string& text) {
  const std::optional<store::RunCursor> cursor = store::parse_cursor(text);
  if (!cursor) {
    return make_error(ErrorCode::kInvalidArgument,
                      "--cursor: '" + text + "' is none; take it from the last page");
  }
  return *cursor;
}

Result<std::optional<store::RunCursor>> search_runs(store::Store& store,
                                                    const view::RunQuery& query,
                                                    store::RunCursor after, const VisitRun& visit) {
  const view::RunQuery::Implied implied = query.implied();
  if (implied.is_nothing) {
    return std::optional<store::RunCursor>();
  }
  const bool looks_at_tags = !implied.is_exact && query.needs_tags();
  std::optional<store::RunCursor> next = after;
  while (next) {
    PAWL_TRY_ASSIGN(const store::RunPage page,
                    store.catalog().list_runs(implied.filter, *next, kPageSize));
    for (const store::RunRow& row : page.rows) {
      if (!implied.is_exact) {
        std::vector<store::Tag> tags;
        if (looks_at_tags) {
          PAWL_TRY_ASSIGN(tags, store.read_tags(row.key));
        }
        if (!query.matches(row, tags)) {
          continue;
        }
      }
      PAWL_TRY_ASSIGN(const bool goes_on, visit(row));
      if (!goes_on) {
        return std::optional(store::RunCursor{row.created_ms, row.key});
      }
    }
    next = page.next;
  }
  return next;
}

Result<std::int64_t> count_matching(const Console& console, store::Store& store,
                                    const view::RunQuery& query) {
  const view::RunQuery::Implied implied = query.implied();
  if (implied.is_nothing) {
    return 0;
  }
  if (implied.is_exact) {
    return store.catalog().count_runs(implied.filter);
  }
  std::int64_t count = 0;
  Progress progress(console, "counting", 0);
  PAWL_TRY(search_runs(store, query, {}, [&](const store::RunRow&) -> Result<bool> {
    progress.show(++count);
    return true;
  }));
  return count;
}

}  // namespace pawl::cli

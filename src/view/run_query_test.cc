#include "view/run_query.h"

#include <algorithm>
#include <array>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace pawl::view {
namespace {

using store::RunStatus;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::UnorderedElementsAre;

constexpr std::int64_t kNow = 1'794'859'838'123;
constexpr Zone kUtc{.is_utc = true};

RunQuery parsed(const std::string& text) {
  auto query = RunQuery::parse(text, kNow, kUtc);
  EXPECT_TRUE(query.has_value()) << text << ": " << (query ? "" : query.error().message);
  return query ? *std::move(query) : RunQuery();
}

std::string error_of(const std::string& text) {
  const auto query = RunQuery::parse(text, kNow, kUtc);
  EXPECT_FALSE(query.has_value()) << text;
  return query ? "" : query.error().message;
}

store::RunRow row(RunStatus status = RunStatus::kWaiting) {
  store::RunRow row;
  row.id = "order-17";
  row.kind = "fulfil";
  row.status = status;
  row.waiting_for = "signal approved";
  row.created_ms = kNow - 3'600'000;
  row.changed_ms = kNow - 60'000;
  return row;
}

bool matches(const std::string& text, const store::RunRow& each = row(),
             const std::vector<store::Tag>& tags = {{"customer", "7"}, {"odd name", "x"}}) {
  return parsed(text).matches(each, tags);
}

TEST(RunQuery, Compares) {
  EXPECT_TRUE(matches(""));
  EXPECT_TRUE(matches("  "));
  EXPECT_TRUE(matches("kind = fulfil"));
  EXPECT_TRUE(matches("kind == 'fulfil'"));
  EXPECT_TRUE(matches("KIND = \"fulfil\""));
  EXPECT_FALSE(matches("kind = 'Fulfil'"));
  EXPECT_FALSE(matches("kind != fulfil"));
  EXPECT_TRUE(matches("id >= order-1 and id < 'order-2'"));
  EXPECT_TRUE(matches("status = waiting"));
  EXPECT_TRUE(matches("status = open"));
  EXPECT_FALSE(matches("status = closed"));
  EXPECT_TRUE(matches("status != failed"));
  EXPECT_TRUE(matches("waiting = 'signal approved'"));
  EXPECT_TRUE(matches("tag.customer = 7"));
  EXPECT_TRUE(matches("tag[\"odd name\"] = x"));
  EXPECT_TRUE(matches("tag['customer'] > '6'"));
  EXPECT_TRUE(matches("kind in (a, 'fulfil', b)"));
  EXPECT_TRUE(matches("kind not in (a, b)"));
  EXPECT_TRUE(matches("status in (waiting, blocked)"));
  EXPECT_FALSE(matches("paused"));
  EXPECT_TRUE(matches("paused = false"));
  EXPECT_TRUE(matches("not paused"));
  EXPECT_TRUE(matches("started > 2h"));
  EXPECT_FALSE(matches("started > 30m"));
  EXPECT_TRUE(matches("started <= '2026-11-16 19:10:38.123'"));
  EXPECT_FALSE(matches("started < 2026-11-16T19:10:38.123"));
  EXPECT_TRUE(matches("changed >= 1m"));
}

TEST(RunQuery, BindsAsPeopleExpect) {
  EXPECT_TRUE(matches("kind = x and kind = y or kind = fulfil"));
  EXPECT_FALSE(matches("kind = x and (kind = y or kind = fulfil)"));
  EXPECT_TRUE(matches("not kind = x and kind = fulfil"));
  EXPECT_FALSE(matches("not (kind = x or kind = fulfil)"));
  EXPECT_TRUE(matches("NOT NOT kind = fulfil"));
}

TEST(RunQuery, WhatIsMissingEqualsNothing) {
  EXPECT_FALSE(matches("tag.other = ''"));
  EXPECT_TRUE(matches("tag.other != x"));
  EXPECT_FALSE(matches("tag.other < x"));
  EXPECT_FALSE(matches("tag.other >= ''"));
  EXPECT_FALSE(matches("ended < now"));
  EXPECT_TRUE(matches("not ended < now"));
  EXPECT_TRUE(matches("ended < now", row(RunStatus::kFailed)));
  store::RunRow running = row(RunStatus::kRunning);
  running.waiting_for.clear();
  EXPECT_FALSE(matches("waiting < zzz", running));
}

TEST(RunQuery, QuotesAreWrittenTwice) {
  store::RunRow odd = row();
  odd.id = "it's \"odd\"";
  EXPECT_TRUE(matches("id = 'it''s \"odd\"'", odd));
  EXPECT_TRUE(matches("id = \"it's \"\"odd\"\"\"", odd));
}

TEST(RunQuery, ErrorsNameTheColumn) {
  EXPECT_EQ(error_of("kind fulfil"),
            "query, column 6: expected one of = != < <= > >= in, found 'fulfil'");
  EXPECT_THAT(error_of("kin = x"), HasSubstr("column 1: expected a field"));
  EXPECT_EQ(error_of("kind ="), "query, column 7: expected a value, found the end");
  EXPECT_EQ(error_of("(kind = x"), "query, column 10: expected ')', found the end");
  EXPECT_EQ(error_of("kind = x y"), "query, column 10: expected 'and', 'or' or the end, found 'y'");
  EXPECT_THAT(error_of("kind = 'x"), HasSubstr("column 8: the text that begins here has no end"));
  EXPECT_THAT(error_of("status = bad"), HasSubstr("column 10: expected a status"));
  EXPECT_THAT(error_of("status < failed"), HasSubstr("column 8: expected = or != here"));
  EXPECT_THAT(error_of("started > soon"), HasSubstr("column 11: 'soon' is no moment"));
  EXPECT_THAT(error_of("paused = maybe"), HasSubstr("expected true or false"));
  EXPECT_THAT(error_of("kind in ()"), HasSubstr("column 10: expected a value"));
  EXPECT_THAT(error_of("kind in (a b)"), HasSubstr("column 12: expected ')'"));
  EXPECT_THAT(error_of("kind not x"), HasSubstr("expected 'in'"));
  EXPECT_THAT(error_of("tag = x"), HasSubstr("expected '['"));
  EXPECT_THAT(error_of("tag[x] = y"), HasSubstr("the tag's name in quotes"));
  EXPECT_THAT(error_of("kind = x & id = y"), HasSubstr("column 10"));
  EXPECT_THAT(error_of("and"), HasSubstr("column 1"));
  EXPECT_THAT(error_of("kind = \x1b["), HasSubstr("\\x1b"));
}

TEST(RunQuery, HasLimits) {
  const std::string deep(kQueryDepthMax + 10, '(');
  EXPECT_THAT(error_of(deep + "kind = x"), HasSubstr("levels of parentheses"));
  std::string nots;
  for (std::size_t i = 0; i < kQueryDepthMax - 1; ++i) {
    nots += "not ";
  }
  EXPECT_FALSE(matches(nots + "kind = fulfil"));
  EXPECT_THAT(error_of(std::string(kQueryBytesMax + 1, ' ')), HasSubstr("at most"));
}

TEST(RunQuery, ImpliesWhatAStoreCanSearchBy) {
  auto implied = parsed("kind in (a, b) and status = failed and tag.x = y").implied();
  EXPECT_TRUE(implied.is_exact);
  EXPECT_THAT(implied.filter.kinds, ElementsAre("a", "b"));
  EXPECT_THAT(implied.filter.statuses, ElementsAre(RunStatus::kFailed));
  EXPECT_EQ(implied.filter.tags, (std::vector<store::Tag>{{"x", "y"}}));

  implied = parsed("kind = a or kind = b").implied();
  EXPECT_TRUE(implied.is_exact);
  EXPECT_THAT(implied.filter.kinds, ElementsAre("a", "b"));

  implied = parsed("kind = a and status = failed or kind = b and status = blocked").implied();
  EXPECT_FALSE(implied.is_exact);
  EXPECT_THAT(implied.filter.kinds, ElementsAre("a", "b"));
  EXPECT_THAT(implied.filter.statuses,
              UnorderedElementsAre(RunStatus::kFailed, RunStatus::kBlocked));

  implied = parsed("started >= 2h and not started >= 1h").implied();
  EXPECT_TRUE(implied.is_exact);
  EXPECT_EQ(implied.filter.created_from_ms, kNow - 7'200'000);
  EXPECT_EQ(implied.filter.created_to_ms, kNow - 3'600'000);

  implied = parsed("ended > 1h").implied();
  EXPECT_TRUE(implied.is_exact);
  EXPECT_EQ(implied.filter.changed_from_ms, kNow - 3'600'000 + 1);
  EXPECT_EQ(implied.filter.statuses.size(), 4U);

  EXPECT_TRUE(parsed("kind = a and kind = b").implied().is_nothing);
  EXPECT_TRUE(parsed("paused and not paused").implied().is_nothing);
  EXPECT_FALSE(parsed("id = x").implied().is_exact);
  EXPECT_TRUE(parsed("not status in (open, closed)").implied().is_nothing);
}

// --- Against a naive oracle, which never saw the parser ------------------------------------------

struct TestRow {
  store::RunRow row;
  std::vector<store::Tag> tags;
};

// An expression as text, and what it means.
struct Expression {
  std::string text;
  std::function<bool(const TestRow&)> holds;
};

template <class T>
T pick(const std::vector<T>& from) {
  return from[*rc::gen::inRange<std::size_t>(0, from.size())];
}

const std::vector<std::string> kNames = {"a", "b", "c", "it's", "x y"};

std::string quoted(const std::string& text) {
  const char quote = *rc::gen::arbitrary<bool>() ? '\'' : '"';
  std::string result(1, quote);
  for (const char letter : text) {
    result += letter == quote ? std::string(2, quote) : std::string(1, letter);
  }
  return result + quote;
}

template <class T>
bool naive_compare(const std::string& op, const T& left, const T& right) {
  return op == "="    ? left == right
         : op == "!=" ? !(left == right)
         : op == "<"  ? left < right
         : op == "<=" ? left <= right
         : op == ">"  ? left > right
                      : left >= right;
}

Expression text_expression() {
  const std::string field = pick<std::string>({"id", "kind", "waiting", "tag.t", "tag['u v']"});
  const std::string op = pick<std::string>({"=", "!=", "<", "<=", ">", ">="});
  const std::string value = pick(kNames);
  return {field + " " + op + " " + quoted(value), [=](const TestRow& each) {
            std::vector<std::string> values;
            if (field == "id") {
              values = {each.row.id};
            } else if (field == "kind") {
              values = {each.row.kind};
            } else if (field == "waiting") {
              if (!each.row.waiting_for.empty()) {
                values = {each.row.waiting_for};
              }
            } else {
              for (const store::Tag& tag : each.tags) {
                if (tag.name == (field == "tag.t" ? "t" : "u v")) {
                  values = {tag.value};
                }
              }
            }
            return values.empty() ? op == "!=" : naive_compare(op, values[0], value);
          }};
}

Expression list_expression() {
  const std::vector<std::string> values = {pick(kNames), pick(kNames)};
  const bool is_not = *rc::gen::arbitrary<bool>();
  return {std::string("kind ") + (is_not ? "not " : "") + "in (" + quoted(values[0]) + ", " +
              quoted(values[1]) + ")",
          [=](const TestRow& each) {
            return (each.row.kind == values[0] || each.row.kind == values[1]) != is_not;
          }};
}

Expression status_expression() {
  const std::string name =
      pick<std::string>({"running", "waiting", "compensating", "completed", "failed", "cancelled",
                         "recurred", "blocked", "open", "closed"});
  const bool is_not = *rc::gen::arbitrary<bool>();
  return {"status " + std::string(is_not ? "!=" : "=") + " " + name, [=](const TestRow& each) {
            const std::string actual(store::status_name(each.row.status));
            const bool is_closed = actual == "completed" || actual == "failed" ||
                                   actual == "cancelled" || actual == "recurred";
            const bool is_it = name == "open"     ? !is_closed
                               : name == "closed" ? is_closed
                                                  : actual == name;
            return is_it != is_not;
          }};
}

Expression moment_expression() {
  const std::string field = pick<std::string>({"started", "changed", "ended"});
  const std::string op = pick<std::string>({"=", "!=", "<", "<=", ">", ">="});
  const std::int64_t seconds = *rc::gen::inRange(0, 10);
  return {field + " " + op + " " + std::to_string(seconds) + "s", [=](const TestRow& each) {
            const std::int64_t moment = kNow - seconds * 1000;
            if (field == "ended" && !store::is_closed(each.row.status)) {
              return op == "!=";
            }
            return naive_compare(op, field == "started" ? each.row.created_ms : each.row.changed_ms,
                                 moment);
          }};
}

Expression paused_expression() {
  const bool wanted = *rc::gen::arbitrary<bool>();
  return {wanted ? "paused" : "paused = false",
          [=](const TestRow& each) { return each.row.is_paused == wanted; }};
}

Expression expression(int depth) {
  const int choice = *rc::gen::inRange(0, depth > 0 ? 8 : 5);
  switch (choice) {
    case 0:
      return text_expression();
    case 1:
      return list_expression();
    case 2:
      return status_expression();
    case 3:
      return moment_expression();
    case 4:
      return paused_expression();
    case 5: {
      const Expression inner = expression(depth - 1);
      return {"not (" + inner.text + ")", [=](const TestRow& each) { return !inner.holds(each); }};
    }
    default: {
      const Expression left = expression(depth - 1);
      const Expression right = expression(depth - 1);
      const bool is_and = choice == 6;
      return {"(" + left.text + (is_and ? ") and (" : ") or (") + right.text + ")",
              [=](const TestRow& each) {
                return is_and ? left.holds(each) && right.holds(each)
                              : left.holds(each) || right.holds(each);
              }};
    }
  }
}

TestRow random_row() {
  TestRow each;
  each.row.id = pick(kNames);
  each.row.kind = pick(kNames);
  each.row.status = static_cast<RunStatus>(*rc::gen::inRange(1, 9));
  each.row.waiting_for = *rc::gen::arbitrary<bool>() ? "" : pick(kNames);
  each.row.is_paused = *rc::gen::arbitrary<bool>();
  each.row.created_ms = kNow - *rc::gen::inRange(0, 10) * 1000;
  each.row.changed_ms = kNow - *rc::gen::inRange(0, 10) * 1000;
  for (const char* const name : {"t", "u v"}) {
    if (*rc::gen::arbitrary<bool>()) {
      each.tags.push_back({name, pick(kNames)});
    }
  }
  return each;
}

// As catalog.h says it.
bool passes(const store::RunFilter& filter, const TestRow& each) {
  const auto has = [](const auto& list, const auto& value) {
    return list.empty() || std::find(list.begin(), list.end(), value) != list.end();
  };
  return has(filter.kinds, each.row.kind) && has(filter.statuses, each.row.status) &&
         std::all_of(filter.tags.begin(), filter.tags.end(),
                     [&](const store::Tag& tag) {
                       return std::find(each.tags.begin(), each.tags.end(), tag) != each.tags.end();
                     }) &&
         each.row.created_ms >= filter.created_from_ms &&
         each.row.created_ms < filter.created_to_ms &&
         each.row.changed_ms >= filter.changed_from_ms &&
         each.row.changed_ms < filter.changed_to_ms &&
         (!filter.is_paused || *filter.is_paused == each.row.is_paused);
}

RC_GTEST_PROP(RunQueryProperty, AgreesWithTheOracle, ()) {
  const Expression wanted = expression(4);
  const auto query = RunQuery::parse(wanted.text, kNow, kUtc);
  RC_ASSERT(query.has_value());
  const RunQuery::Implied implied = query->implied();
  for (int i = 0; i < 20; ++i) {
    const TestRow each = random_row();
    const bool does_match = query->matches(each.row, each.tags);
    if (does_match != wanted.holds(each)) {
      RC_FAIL("another answer than the oracle's: " + wanted.text);
    }
    if (!query->needs_tags()) {
      RC_ASSERT(query->matches(each.row, {}) == does_match);
    }
    if (does_match) {
      RC_ASSERT(!implied.is_nothing);
      RC_ASSERT(passes(implied.filter, each));
    } else if (implied.is_exact) {
      RC_ASSERT(!passes(implied.filter, each));
    }
  }
}

}  // namespace
}  // namespace pawl::view

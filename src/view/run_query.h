// RunQuery: which runs somebody means, as an expression over what a run's row and tags hold.
//
//   status = failed and (kind in ('fulfil', 'refund') or tag.customer = "7") and started > 2h
//
//   expression  or, and, not, parentheses; `and` binds stronger than `or`
//   comparison  field, one of = != < <= > >=, a value; or: field [not] in (value, …)
//   fields      id, kind, status, waiting, tag.NAME, tag["odd name"], started, changed, ended,
//               paused (true or false; alone it means = true)
//   values      words of letters, digits and _ - . : + /, or texts in single or double quotes, in
//               which the quote itself is written twice
//   status      also open, closed, which stand for several
//   moments     as parse_moment() reads them: 2026-11-16, '2026-11-16 21:10', 2h (two hours ago)
//
// Texts are compared byte by byte. What a run does not have (a tag, `ended` of an open run) equals
// nothing and is neither less nor more than anything; so `!=` holds for it. Value type.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "store/catalog.h"
#include "store/rows.h"
#include "view/moments.h"

namespace pawl::view {

inline constexpr std::size_t kQueryBytesMax = 65'536;
inline constexpr std::size_t kQueryDepthMax = 200;

// What an expression is made of.
struct QueryNode {
  enum class Kind : std::uint8_t { kAll, kAnd, kOr, kNot, kCompare };
  enum class Field : std::uint8_t {
    kId,
    kKind,
    kStatus,
    kWaiting,
    kTag,
    kStarted,
    kChanged,
    kEnded,
    kPaused,
  };
  enum class Operator : std::uint8_t { kEqual, kLess, kLessEqual, kMore, kMoreEqual };

  Kind kind = Kind::kAll;
  std::vector<QueryNode> parts;  // kAnd, kOr: any number; kNot: one.
  // kCompare: it holds if it does for one of the values.
  Field field{};
  std::string tag;  // Its name.
  Operator op{};
  std::vector<std::string> texts;          // kId, kKind, kWaiting, kTag.
  std::vector<std::int64_t> moments;       // kStarted, kChanged, kEnded.
  std::vector<store::RunStatus> statuses;  // kStatus.
  bool flag = true;                        // kPaused.
};

class RunQuery {
 public:
  // All runs.
  RunQuery() = default;
  explicit RunQuery(QueryNode root) : root_(std::move(root)) {}

  // kMalformedInput says in which column, from 1, what was expected.
  static Result<RunQuery> parse(std::string_view text, std::int64_t now_ms, const Zone& zone);

  bool matches(const store::RunRow& row, std::span<const store::Tag> tags) const;
  // Whether matches() looks at tags.
  bool needs_tags() const;

  // What is true of every run that matches, for a store to search by.
  struct Implied {
    store::RunFilter filter;
    bool is_exact = true;     // The filter says all: every run that it finds matches.
    bool is_nothing = false;  // No run can match. The filter says less than that.
  };
  Implied implied() const;

  // Both.
  RunQuery operator&&(const RunQuery& other) const;

 private:
  QueryNode root_;
};

// "open" and "closed" give several; empty if there is no such status.
std::vector<store::RunStatus> find_statuses(std::string_view name);

}  // namespace pawl::view

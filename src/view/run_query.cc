#include "view/run_query.h"

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <utility>

#include "base/moment.h"

namespace pawl::view {

namespace {

using Node = QueryNode;
using Field = QueryNode::Field;
using Operator = QueryNode::Operator;
using store::RunStatus;

constexpr std::array<RunStatus, 8> kStatuses = {
    RunStatus::kRunning, RunStatus::kWaiting,   RunStatus::kCompensating, RunStatus::kCompleted,
    RunStatus::kFailed,  RunStatus::kCancelled, RunStatus::kRecurred,     RunStatus::kBlocked};

// --- One row -------------------------------------------------------------------------------------

template <class Left, class Right>
bool compare(const Left& left, Operator op, const Right& right) {
  switch (op) {
    case Operator::kEqual:
      return left == right;
    case Operator::kLess:
      return left < right;
    case Operator::kLessEqual:
      return left <= right;
    case Operator::kMore:
      return left > right;
    case Operator::kMoreEqual:
      return left >= right;
  }
  return false;
}

template <class Left, class Right>
bool compare_any(const Left& left, Operator op, const std::vector<Right>& rights) {
  return std::any_of(rights.begin(), rights.end(),
                     [&](const Right& right) { return compare(left, op, right); });
}

bool holds(const Node& node, const store::RunRow& row, std::span<const store::Tag> tags) {
  switch (node.field) {
    case Field::kId:
      return compare_any(row.id, node.op, node.texts);
    case Field::kKind:
      return compare_any(row.kind, node.op, node.texts);
    case Field::kStatus:
      return compare_any(row.status, Operator::kEqual, node.statuses);
    case Field::kWaiting:
      return !row.waiting_for.empty() && compare_any(row.waiting_for, node.op, node.texts);
    case Field::kTag:
      return std::any_of(tags.begin(), tags.end(), [&](const store::Tag& tag) {
        return tag.name == node.tag && compare_any(tag.value, node.op, node.texts);
      });
    case Field::kStarted:
      return compare_any(row.created_ms, node.op, node.moments);
    case Field::kChanged:
      return compare_any(row.changed_ms, node.op, node.moments);
    case Field::kEnded:
      return store::is_closed(row.status) && compare_any(row.changed_ms, node.op, node.moments);
    case Field::kPaused:
      return row.is_paused == node.flag;
  }
  return false;
}

// As deep as the parser allows.
bool matches_node(const Node& node, const store::RunRow& row, std::span<const store::Tag> tags) {
  const auto part = [&](const Node& each) { return matches_node(each, row, tags); };
  switch (node.kind) {
    case Node::Kind::kAll:
      return true;
    case Node::Kind::kAnd:
      return std::all_of(node.parts.begin(), node.parts.end(), part);
    case Node::Kind::kOr:
      return std::any_of(node.parts.begin(), node.parts.end(), part);
    case Node::Kind::kNot:
      return !part(node.parts.front());
    case Node::Kind::kCompare:
      return holds(node, row, tags);
  }
  return false;
}

bool needs_tags_node(const Node& node) {
  return (node.kind == Node::Kind::kCompare && node.field == Field::kTag) ||
         std::any_of(node.parts.begin(), node.parts.end(), needs_tags_node);
}

// --- All rows ------------------------------------------------------------------------------------

struct Range {
  std::int64_t from = 0;
  std::int64_t to = store::kNever;  // Not included.

  friend bool operator==(const Range&, const Range&) = default;
};

// What is known of the runs that match. Absent sets say nothing.
struct Bounds {
  std::optional<std::set<std::string>> kinds;
  std::optional<std::set<RunStatus>> statuses;
  std::set<store::Tag> tags;
  Range created;
  Range changed;
  std::optional<bool> paused;
  bool is_exact = true;
  bool is_nothing = false;
};

Bounds unknown() {
  Bounds bounds;
  bounds.is_exact = false;
  return bounds;
}

Bounds nothing() {
  Bounds bounds;
  bounds.is_nothing = true;
  return bounds;
}

template <class T>
void intersect(std::optional<std::set<T>>& a, const std::optional<std::set<T>>& b) {
  if (!a) {
    a = b;
  } else if (b) {
    std::erase_if(*a, [&](const T& each) { return !b->contains(each); });
  }
}

Bounds both(Bounds a, const Bounds& b) {
  intersect(a.kinds, b.kinds);
  intersect(a.statuses, b.statuses);
  a.tags.insert(b.tags.begin(), b.tags.end());
  a.created = {std::max(a.created.from, b.created.from), std::min(a.created.to, b.created.to)};
  a.changed = {std::max(a.changed.from, b.changed.from), std::min(a.changed.to, b.changed.to)};
  const bool disagree = a.paused && b.paused && *a.paused != *b.paused;
  a.paused = a.paused ? a.paused : b.paused;
  a.is_exact = a.is_exact && b.is_exact;
  a.is_nothing = a.is_nothing || b.is_nothing || disagree || (a.kinds && a.kinds->empty()) ||
                 (a.statuses && a.statuses->empty()) || a.created.from >= a.created.to ||
                 a.changed.from >= a.changed.to;
  return a;
}

template <class T>
void unite(std::optional<std::set<T>>& a, const std::optional<std::set<T>>& b) {
  if (!b) {
    a.reset();
  } else if (a) {
    a->insert(b->begin(), b->end());
  }
}

Bounds either(Bounds a, const Bounds& b) {
  if (a.is_nothing) {
    return b;
  }
  if (b.is_nothing) {
    return a;
  }
  // A filter holds for both sides exactly, if they differ in one set only.
  const bool same_rest =
      a.tags == b.tags && a.created == b.created && a.changed == b.changed && a.paused == b.paused;
  const bool one_differs = same_rest && (a.kinds == b.kinds || a.statuses == b.statuses);
  a.is_exact = a.is_exact && b.is_exact && one_differs;
  unite(a.kinds, b.kinds);
  unite(a.statuses, b.statuses);
  std::erase_if(a.tags, [&](const store::Tag& tag) { return !b.tags.contains(tag); });
  a.created = {std::min(a.created.from, b.created.from), std::max(a.created.to, b.created.to)};
  a.changed = {std::min(a.changed.from, b.changed.from), std::max(a.changed.to, b.changed.to)};
  a.paused = a.paused == b.paused ? a.paused : std::nullopt;
  return a;
}

// Of one moment; none if it is more than one range, or the negation of one moment.
std::optional<Range> range_of(Operator op, std::int64_t moment, bool is_negated) {
  if (op == Operator::kEqual) {
    return is_negated ? std::nullopt : std::optional(Range{moment, add_ms(moment, 1)});
  }
  const bool is_less = op == Operator::kLess || op == Operator::kLessEqual;
  const bool includes = op == Operator::kLessEqual || op == Operator::kMoreEqual;
  if (is_less != is_negated) {
    return Range{0, includes != is_negated ? add_ms(moment, 1) : moment};
  }
  return Range{includes != is_negated ? moment : add_ms(moment, 1), store::kNever};
}

Bounds bounds_of_moments(const Node& node, bool is_negated) {
  const bool is_ended = node.field == Field::kEnded;
  // What has no end is not in the range, and not in the opposite one either.
  if (node.moments.size() != 1 || (is_ended && is_negated)) {
    return unknown();
  }
  const std::optional<Range> range = range_of(node.op, node.moments[0], is_negated);
  Bounds bounds = range ? Bounds() : unknown();
  (node.field == Field::kStarted ? bounds.created : bounds.changed) = range.value_or(Range());
  if (is_ended) {
    bounds.statuses.emplace();
    std::copy_if(kStatuses.begin(), kStatuses.end(),
                 std::inserter(*bounds.statuses, bounds.statuses->end()), store::is_closed);
  }
  return both(std::move(bounds), Bounds());
}

Bounds bounds_of_comparison(const Node& node, bool is_negated) {
  Bounds bounds;
  switch (node.field) {
    case Field::kKind:
      if (node.op != Operator::kEqual || is_negated) {
        return unknown();
      }
      bounds.kinds.emplace(node.texts.begin(), node.texts.end());
      return bounds;
    case Field::kStatus: {
      bounds.statuses.emplace();
      for (const RunStatus status : kStatuses) {
        const bool is_named =
            std::find(node.statuses.begin(), node.statuses.end(), status) != node.statuses.end();
        if (is_named != is_negated) {
          bounds.statuses->insert(status);
        }
      }
      return bounds.statuses->empty() ? nothing() : bounds;
    }
    case Field::kTag:
      if (node.op != Operator::kEqual || is_negated || node.texts.size() != 1) {
        return unknown();
      }
      bounds.tags.insert({node.tag, node.texts[0]});
      return bounds;
    case Field::kStarted:
    case Field::kChanged:
    case Field::kEnded:
      return bounds_of_moments(node, is_negated);
    case Field::kPaused:
      bounds.paused = node.flag != is_negated;
      return bounds;
    case Field::kId:
    case Field::kWaiting:
      return unknown();
  }
  return unknown();
}

Bounds bounds_of(const Node& node, bool is_negated) {
  switch (node.kind) {
    case Node::Kind::kAll:
      return is_negated ? nothing() : Bounds();
    case Node::Kind::kNot:
      return bounds_of(node.parts.front(), !is_negated);
    case Node::Kind::kCompare:
      return bounds_of_comparison(node, is_negated);
    case Node::Kind::kAnd:
    case Node::Kind::kOr:
      break;
  }
  const bool is_and = (node.kind == Node::Kind::kAnd) != is_negated;
  Bounds bounds = is_and ? Bounds() : nothing();
  for (const Node& part : node.parts) {
    Bounds next = bounds_of(part, is_negated);
    bounds = is_and ? both(std::move(bounds), next) : either(std::move(bounds), next);
  }
  return bounds;
}

}  // namespace

bool RunQuery::matches(const store::RunRow& row, std::span<const store::Tag> tags) const {
  return matches_node(root_, row, tags);
}

bool RunQuery::needs_tags() const { return needs_tags_node(root_); }

RunQuery::Implied RunQuery::implied() const {
  const Bounds bounds = bounds_of(root_, false);
  Implied implied;
  implied.is_exact = bounds.is_exact && !bounds.is_nothing;
  implied.is_nothing = bounds.is_nothing;
  if (bounds.is_nothing) {
    return implied;
  }
  if (bounds.kinds) {
    implied.filter.kinds.assign(bounds.kinds->begin(), bounds.kinds->end());
  }
  if (bounds.statuses && bounds.statuses->size() < kStatuses.size()) {
    implied.filter.statuses.assign(bounds.statuses->begin(), bounds.statuses->end());
  }
  implied.filter.tags.assign(bounds.tags.begin(), bounds.tags.end());
  implied.filter.created_from_ms = bounds.created.from;
  implied.filter.created_to_ms = bounds.created.to;
  implied.filter.changed_from_ms = bounds.changed.from;
  implied.filter.changed_to_ms = bounds.changed.to;
  implied.filter.is_paused = bounds.paused;
  return implied;
}

RunQuery RunQuery::operator&&(const RunQuery& other) const {
  Node node;
  node.kind = Node::Kind::kAnd;
  node.parts = {root_, other.root_};
  return RunQuery(std::move(node));
}

}  // namespace pawl::view

// RunSearch: runs by what is known of them, the newest first. Used under the guard of its
// connection.
//
// Several indexes can lead to the runs that a filter wants: by kind and status, by a tag, by being
// paused, by parent, by the time of the end. The one that leads to the fewest is walked, and what
// it finds is held against the rest of the filter. A call looks at a bounded number of runs, so
// that it always answers soon.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "store/catalog.h"
#include "store/sqlite/connection.h"

namespace pawl::store {

class RunSearch {
 public:
  RunSearch(Connection& connection, std::int64_t ns);

  Result<RunPage> list(const RunFilter& filter, const RunCursor& after, std::size_t limit);
  Result<std::int64_t> count(const RunFilter& filter);
  Result<std::vector<std::string>> find_ids(std::string_view prefix, std::string_view after,
                                            std::size_t limit);
  Result<std::vector<ClosedRun>> find_closed(RunStatus status, std::int64_t before_ms,
                                             const ClosedRun& after, std::size_t limit);

 private:
  // Places of runs, the newest first, out of one range of one index.
  struct Stream;
  enum class Way : std::uint8_t { kKind, kTag, kPaused, kGathered };
  // What is walked: the streams are merged.
  struct Plan {
    Way way{};
    std::vector<Stream> streams;
  };

  Result<Plan> make_plan(const RunFilter& filter, const RunCursor& after);
  Result<std::vector<std::string>> read_kinds();
  // Of what is in the range of times; not further than kEstimateMax.
  Result<std::size_t> estimate(Way way, const Stream& stream, const RunFilter& filter);
  // Children, or what ended in a range of times: in another order, so all of it is read, unless it
  // is more than kEstimateMax.
  Result<std::optional<std::vector<RunCursor>>> gather_children(const RunFilter& filter);
  Result<std::optional<std::vector<RunCursor>>> gather_ended(const RunFilter& filter);
  Result<std::optional<std::vector<RunCursor>>> gather(Query& query);
  Result<void> refill(Way way, Stream& stream, const RunFilter& filter);
  Result<void> read_places(Query& query, Stream& stream);
  Result<std::optional<RunRow>> find_matching(RunKey run, const RunFilter& filter);
  Result<bool> has_tags(RunKey run, const std::vector<Tag>& tags);

  std::int64_t ns_;
  Statement next_kind_;
  Statement kind_same_time_;
  Statement kind_older_;
  Statement kind_size_;
  Statement kind_count_;
  Statement tag_same_time_;
  Statement tag_older_;
  Statement tag_size_;
  Statement paused_same_time_;
  Statement paused_older_;
  Statement paused_size_;
  Statement children_;
  Statement ended_;
  Statement find_;
  Statement has_tag_;
  Statement next_id_;
  Statement closed_;
};

}  // namespace pawl::store

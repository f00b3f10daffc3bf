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
#include <functional>
#include <optional>
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
  // Places of runs, the newest first: out of one range of one index, or gathered before.
  struct Stream;
  enum class Way : std::uint8_t { kKind, kTag, kPaused, kGathered };
  // What is walked: the streams are merged. Each run is in one of them at most.
  using Plan = std::vector<Stream>;
  // Returns whether to go on.
  using Visit = std::function<Result<bool>(const RunCursor& place, bool fits)>;

  Result<Plan> make_plan(const RunFilter& filter, const RunCursor& after);
  Result<std::vector<std::string>> read_kinds();
  static Plan kind_streams(const std::vector<std::string>& kinds,
                           const std::vector<RunStatus>& statuses);
  // Runs in the range of times: exactly if they are few, else about.
  Result<double> estimate(const Stream& stream, const RunFilter& filter);
  Result<double> estimate(const Plan& plan, const RunFilter& filter);
  // Children, or what ended in a range of times: in another order, so all of it is read, unless it
  // is more than kGatheredMax.
  Result<std::optional<Stream>> gather_children(const RunFilter& filter);
  Result<std::optional<Stream>> gather_ended(const RunFilter& filter,
                                             const std::vector<RunStatus>& statuses);
  Result<bool> gather(Query& query, Stream& stream);
  // Goes through the places of a plan, the newest first. Returns whether it came to the end.
  Result<bool> walk(Plan& plan, const RunFilter& filter, const Visit& visit);
  Result<void> refill(Stream& stream, const RunFilter& filter);
  Result<void> read_places(Query& query, Stream& stream);
  // Whether the run is what the filter wants; what its stream has made sure of is not asked again.
  Result<bool> fits(RunKey run, const Stream& stream, const RunFilter& filter);
  Result<bool> has_fitting_row(RunKey run, const RunFilter& filter);
  Result<bool> has_tag(RunKey run, const Tag& tag);
  Result<std::optional<std::int64_t>> count_by_index(const RunFilter& filter);

  std::int64_t ns_;
  Statement next_kind_;
  Statement kind_same_time_;
  Statement kind_older_;
  Statement kind_size_;
  Statement kind_count_;
  Statement tag_same_time_;
  Statement tag_older_;
  Statement tag_size_;
  Statement tag_count_;
  Statement paused_same_time_;
  Statement paused_older_;
  Statement paused_size_;
  Statement children_;
  Statement ended_;
  Statement find_;
  Statement check_;
  Statement has_tag_;
  Statement next_id_;
  Statement closed_;
};

}  // namespace pawl::store

// Which runs: the options that list, count and the verbs for many runs share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "base/result.h"
#include "cli/console.h"
#include "cli/frame.h"
#include "store/catalog.h"
#include "store/store.h"
#include "view/run_query.h"

namespace pawl::cli {

struct FilterArguments {
  std::vector<std::string> kinds;
  std::vector<std::string> statuses;
  std::vector<std::string> tags;
  std::string started_after;
  std::string started_before;
  std::string ended_after;
  std::string ended_before;
  std::string query;

  bool is_empty() const;
  bool has_status() const { return !statuses.empty() || !query.empty(); }
};

void add_filter(Frame& frame, CLI::App* command, FilterArguments& filter);

// All of the options together. kInvalidArgument and kMalformedInput say what is wrong.
Result<view::RunQuery> make_query(const FilterArguments& filter, const Console& console);
// Runs with one of these statuses.
view::RunQuery status_query(std::vector<store::RunStatus> statuses);

// What --cursor says.
Result<store::RunCursor> read_cursor(const std::string& text);

// Goes through the runs that match, the newest first. `visit` returns false to end it. Returns
// where the next one would be looked for; none: that was all.
using VisitRun = std::function<Result<bool>(const store::RunRow&)>;
Result<std::optional<store::RunCursor>> search_runs(store::Store& store,
                                                    const view::RunQuery& query,
                                                    store::RunCursor after, const VisitRun& visit);
// Shows how far it is.
Result<std::int64_t> count_matching(const Console& console, store::Store& store,
                                    const view::RunQuery& query);

}  // namespace pawl::cli

// `pawl history --follow`: what is new of a run, line by line, until it is over.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

#include "base/result.h"
#include "cli/console.h"
#include "store/store.h"
#include "view/history.h"

namespace pawl::cli {

struct FollowOptions {
  // As for the tree; `lines_max` is about what is there at the beginning.
  view::HistoryOptions view;
  bool as_jsonl = false;  // Entries only, each as JSON.
};

// Prints the head of the run, a line for each entry that is there, then one for each new one as it
// comes, and remarks about what is no entry. Goes on with the next run where one recurs. Returns
// when the run is closed, on ctrl-C, or when nobody reads any more. `open` opens the store for
// reading; it is called again and again, because who opens a file that nobody works on sees it as
// it was.
Result<void> follow(Console& console,
                    const std::function<Result<std::unique_ptr<store::Store>>()>& open,
                    store::RunRow row, const FollowOptions& options);

}  // namespace pawl::cli

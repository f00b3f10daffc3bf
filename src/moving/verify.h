// Whether two namespaces hold the same: by the number of everything, and by some runs in full.
// Reads only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/result.h"
#include "portable/run_document.h"
#include "store/movable_store.h"

namespace pawl::moving {

// A sentence about the first thing that there is more of on one side. None: all is equal.
Result<std::optional<std::string>> compare_counts(store::Store& from, store::Store& to);

struct SampleOptions {
  std::size_t size = 100;
  std::uint64_t seed = 0;
  // Asked about each run as it is in the target; a sentence if something is wrong with it.
  std::function<Result<std::optional<std::string>>(const portable::RunDocument& run)> replay;
};

struct SampleOutcome {
  std::size_t runs = 0;
  std::optional<std::string> difference;  // A sentence about the first.
};

// Runs that are chosen at random are read from both sides, and compared entry by entry and row by
// row; and those of the target are looked at as `pawl db check` does.
Result<SampleOutcome> compare_sample(store::Store& from, store::Store& to,
                                     const SampleOptions& options,
                                     const std::function<void(std::int64_t)>& tell);

}  // namespace pawl::moving

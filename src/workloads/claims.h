// What it costs to find work, among any number of runs that have none yet.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/result.h"
#include "store/store.h"

namespace pawl::workloads {

// Starts `runs` runs of a kind for anyone, has a worker claim them, `limit` at a time, and ends
// them. Milliseconds of each claim, sorted.
Result<std::vector<double>> measure_claims(store::Store& store, const std::string& kind,
                                           const std::string& prefix, std::size_t runs,
                                           std::size_t limit);

}  // namespace pawl::workloads

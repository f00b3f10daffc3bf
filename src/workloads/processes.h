// The same load by several processes on one store, as the workers of a fleet are.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "workloads/workspace.h"

namespace pawl::workloads {

struct FleetLoad {
  std::string program;  // This one, to be started again.
  std::string url;
  std::size_t processes = 1;
  // Of all processes together.
  std::size_t runs = 0;
  std::size_t concurrency = 1;
  std::size_t steps = 0;
};

// Seconds from the moment when all processes are told to begin until the last one is done.
Result<double> run_fleet(Workspace& workspace, const FleetLoad& load);

// What run_fleet() starts `program` with: this word, and more.
inline constexpr std::string_view kMember = "bench-member";
int run_bench_member(const std::vector<std::string>& arguments);

}  // namespace pawl::workloads

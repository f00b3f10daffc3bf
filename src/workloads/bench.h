// pawl bench: workloads on an engine, each figure beside the raw limit of the same store.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "workloads/workspace.h"

namespace pawl::workloads {

struct BenchOptions {
  std::vector<std::string> workloads;  // w1 … w9; empty: all.
  std::optional<std::size_t> concurrency;
  std::optional<std::size_t> runs;
  std::optional<std::size_t> steps;
  std::optional<std::size_t> processes;
  // URL of a file that is not there: databases are made in a new directory beside it, and removed.
  // Empty: in a new directory here.
  std::string store;
  bool quick = false;   // A smaller version of all.
  std::string program;  // This program, to be started again by workloads that kill it.
};

// The most that may be asked for: what is noted for each run and step has to fit into memory.
inline constexpr std::size_t kRunsMax = 10'000'000;
inline constexpr std::size_t kStepsMax = 10'000'000;
inline constexpr std::size_t kProcessesMax = 1000;
inline constexpr std::size_t kStepsOfAllRunsMax = 100'000'000;

struct Figure {
  std::string workload;
  std::string variant;
  // One of the two.
  std::optional<double> steps_s;
  std::optional<double> secs;
  double p50_ms = 0;
  double p99_ms = 0;
  double raw = 0;    // In the unit of steps_s or secs.
  double ratio = 0;  // Of the figure to raw.
  std::string bar;   // What is expected of it, for people; empty: nothing.
  bool is_met = true;
  std::vector<std::pair<std::string, double>> more;
};

// Calls `report` for each figure as soon as it is there, and ends with its error if it has one;
// calls `progress` with what is being done. What it needs is made in the workspace, which is empty.
Result<void> run_bench(const BenchOptions& options, Workspace& workspace,
                       const std::function<Result<void>(const Figure&)>& report,
                       const std::function<void(const std::string&)>& progress);

// The part of a workload that is killed: run_bench() starts `program` with this word and more
// arguments. Never returns if all goes well.
inline constexpr std::string_view kVictim = "bench-victim";
int run_bench_victim(const std::vector<std::string>& arguments);

}  // namespace pawl::workloads

// pawl bench: workloads on an engine, each figure beside the raw limit of the same store.
#pragma once

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace pawl::workloads {

struct BenchOptions {
  std::vector<std::string> workloads;  // w1 … w6; empty: all.
  std::optional<std::size_t> concurrency;
  std::optional<std::size_t> runs;
  std::optional<std::size_t> steps;
  std::string store;    // URL; empty: a SQLite file in a temporary directory here.
  bool quick = false;   // A smaller version of all.
  std::string program;  // This program, to be started again by workloads that kill it.
};

struct Figure {
  std::string workload;
  std::string variant;
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

// Calls `report` for each figure as soon as it is there, and `progress` with what is being done.
Result<void> run_bench(const BenchOptions& options,
                       const std::function<void(const Figure&)>& report,
                       const std::function<void(const std::string&)>& progress);

// The part of a workload that is killed: started by run_bench() as a process of its own. Says on
// stdout how far it is. Never returns if all goes well.
int run_bench_victim(const std::vector<std::string>& arguments);

}  // namespace pawl::workloads

#include "cli/bench_command.h"

#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <iostream>
#include <sstream>
#include <string_view>

#include <CLI/CLI.hpp>
#include <boost/json.hpp>

#include "workloads/bench.h"

namespace pawl::cli {

struct BenchArguments {
  CLI::App* command = nullptr;
  std::string workloads;
  std::size_t concurrency = 0;
  std::size_t runs = 0;
  std::size_t steps = 0;
  std::string store;
  std::string output = "table";
  bool quick = false;
};

namespace {

namespace json = boost::json;

double rounded(double value) {
  if (value == 0 || !std::isfinite(value)) {
    return 0;
  }
  const double scale = std::pow(10.0, 4 - std::ceil(std::log10(std::fabs(value))));
  return std::round(value * scale) / scale;
}

json::object to_json(const workloads::Figure& figure) {
  json::object object;
  object["workload"] = figure.workload;
  object["variant"] = figure.variant;
  if (figure.steps_s) {
    object["steps_s"] = rounded(*figure.steps_s);
  }
  if (figure.secs) {
    object["secs"] = rounded(*figure.secs);
  }
  object["p50_ms"] = rounded(figure.p50_ms);
  object["p99_ms"] = rounded(figure.p99_ms);
  object["raw"] = rounded(figure.raw);
  object["ratio"] = rounded(figure.ratio);
  for (const auto& [name, value] : figure.more) {
    object[name] = rounded(value);
  }
  if (!figure.bar.empty()) {
    object["bar"] = figure.bar;
    object["met"] = figure.is_met;
  }
  return object;
}

std::string shown(std::optional<double> value) {
  if (!value || *value == 0) {
    return "-";
  }
  std::ostringstream text;
  if (*value >= 1000) {
    text << static_cast<std::int64_t>(*value);
  } else {
    text << rounded(*value);
  }
  return text.str();
}

void print_row(const workloads::Figure& figure) {
  std::printf(
      "%-4s %-36s %10s %10s %9s %9s %10s %7s  %s\n", figure.workload.c_str(),
      figure.variant.c_str(), shown(figure.steps_s).c_str(), shown(figure.secs).c_str(),
      shown(figure.p50_ms).c_str(), shown(figure.p99_ms).c_str(), shown(figure.raw).c_str(),
      shown(figure.ratio).c_str(),
      figure.bar.empty() ? "" : ((figure.is_met ? "met: " : "NOT MET: ") + figure.bar).c_str());
  std::string more;
  for (const auto& [name, value] : figure.more) {
    more += (more.empty() ? "     " : ", ") + name + " " + shown(value);
  }
  if (!more.empty()) {
    std::printf("%s\n", more.c_str());
  }
  std::fflush(stdout);
}

}  // namespace

std::shared_ptr<BenchArguments> add_bench_command(CLI::App& app) {
  auto arguments = std::make_shared<BenchArguments>();
  CLI::App* command = app.add_subcommand(
      "bench", "Measure the engine, each figure beside the raw limit of the same store.");
  arguments->command = command;
  command->add_option("--workload", arguments->workloads,
                      "Comma-separated: w1 steps, w2 one long run, w3 parallel steps, w4 sleepers, "
                      "w5 signals, w6 kill and resume (default: all)");
  command->add_option("--concurrency", arguments->concurrency, "Runs at a time (w1, w6)")
      ->check(CLI::PositiveNumber);
  command->add_option("--runs", arguments->runs, "Number of runs (w1, w4, w6)")
      ->check(CLI::PositiveNumber);
  command->add_option("--steps", arguments->steps, "Steps of a run (w1, w2, w3, w5, w6)")
      ->check(CLI::PositiveNumber);
  command->add_option("--store", arguments->store,
                      "URL of a store that is not there yet (default: SQLite files in a temporary "
                      "directory here)");
  command->add_option("-o,--output", arguments->output, "table or jsonl")
      ->check(CLI::IsMember({"table", "jsonl"}));
  command->add_flag("--quick", arguments->quick, "Smaller versions, about a minute in all");
  command->footer(
      "Examples:\n"
      "  pawl bench --workload w1 --concurrency 128\n"
      "  pawl bench --workload w2,w3 -o jsonl\n"
      "  pawl bench --store 'sqlite:/fast/bench.db?durability=process'\n"
      "\nsteps_s, secs: the figure. raw: what the store alone needs for the same rows, in the "
      "same\n"
      "unit. ratio: figure / raw. Exit code 1 if a bar is not met.");
  return arguments;
}

int run_bench_command(const BenchArguments& arguments) {
  workloads::BenchOptions options;
  std::stringstream names(arguments.workloads);
  for (std::string name; std::getline(names, name, ',');) {
    options.workloads.push_back(name);
  }
  const auto given = [](std::size_t number) {
    return number == 0 ? std::nullopt : std::optional<std::size_t>(number);
  };
  options.concurrency = given(arguments.concurrency);
  options.runs = given(arguments.runs);
  options.steps = given(arguments.steps);
  options.store = arguments.store;
  options.quick = arguments.quick;
  options.program = "/proc/self/exe";
  const bool is_table = arguments.output == "table";
  const bool shows_progress = isatty(STDERR_FILENO) != 0;
  if (is_table) {
    std::printf("%-4s %-36s %10s %10s %9s %9s %10s %7s\n", "", "variant", "steps/s", "secs",
                "p50 ms", "p99 ms", "raw", "ratio");
  }
  bool all_met = true;
  const Result<void> done = workloads::run_bench(
      options,
      [&](const workloads::Figure& figure) {
        all_met = all_met && figure.is_met;
        if (shows_progress) {
          std::fprintf(stderr, "\r\033[K");
        }
        if (is_table) {
          print_row(figure);
        } else {
          std::cout << json::serialize(to_json(figure)) << "\n" << std::flush;
        }
      },
      [&](const std::string& what) {
        if (shows_progress) {
          std::fprintf(stderr, "\r\033[K%s ...", what.c_str());
        }
      });
  if (!done) {
    std::fprintf(stderr, "pawl bench: %s\n", done.error().message.c_str());
    return done.error().code == ErrorCode::kInvalidArgument ? 2 : 1;
  }
  return all_met ? 0 : 1;
}

std::unique_ptr<int> run_victim_if_asked(int argc, char** argv) {
  if (argc < 2 || std::string_view(argv[1]) != "bench-victim") {
    return nullptr;
  }
  return std::make_unique<int>(
      workloads::run_bench_victim(std::vector<std::string>(argv + 2, argv + argc)));
}

}  // namespace pawl::cli

#include "cli/bench_command.h"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cctype>
#include <charconv>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <iostream>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <boost/json.hpp>

#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "workloads/bench.h"
#include "workloads/processes.h"

namespace pawl::cli {

namespace {

namespace json = boost::json;

struct Arguments {
  std::vector<std::string> workloads;
  std::size_t concurrency = 0;
  std::size_t runs = 0;
  std::size_t steps = 0;
  std::size_t processes = 0;
  std::string store;
  std::string output = "table";
  bool quick = false;
};

// To four digits; whole numbers are counts and stay.
double rounded(double value) {
  if (!std::isfinite(value)) {
    return 0;
  }
  if (value == std::trunc(value)) {
    return value;
  }
  const double scale = std::pow(10.0, 4 - std::ceil(std::log10(std::fabs(value))));
  return std::round(value * scale) / scale;
}

// Without an exponent, for people who look at it.
std::string number_text(double value) {
  std::array<char, 400> digits{};
  const auto [end, error] = std::to_chars(digits.data(), digits.data() + digits.size(),
                                          rounded(value), std::chars_format::fixed);
  return std::string(digits.data(), end);
}

std::string to_json(const workloads::Figure& figure) {
  std::string text;
  const auto add = [&](std::string_view name, const std::string& value) {
    text += (text.empty() ? "{" : ",") + json::serialize(json::string(name)) + ":" + value;
  };
  add("workload", json::serialize(json::string(figure.workload)));
  add("variant", json::serialize(json::string(figure.variant)));
  if (figure.steps_s) {
    add("steps_s", number_text(*figure.steps_s));
  }
  if (figure.secs) {
    add("secs", number_text(*figure.secs));
  }
  add("p50_ms", number_text(figure.p50_ms));
  add("p99_ms", number_text(figure.p99_ms));
  add("raw", number_text(figure.raw));
  add("ratio", number_text(figure.ratio));
  for (const auto& [name, value] : figure.more) {
    add(name, number_text(value));
  }
  if (!figure.bar.empty()) {
    add("bar", json::serialize(json::string(figure.bar)));
    add("met", figure.is_met ? "true" : "false");
  }
  return text + "}\n";
}

std::string shown(std::optional<double> value) {
  if (!value) {
    return "-";
  }
  return *value >= 1000 ? std::to_string(static_cast<std::int64_t>(*value)) : number_text(*value);
}

std::string padded(const std::string& text, std::size_t width) {
  return std::string(width - std::min(width, text.size()), ' ') + text;
}

std::string line(const std::string& workload, std::string variant,
                 const std::vector<std::string>& cells) {
  variant.resize(std::max<std::size_t>(variant.size(), 36), ' ');
  std::string text =
      workload + std::string(5 - std::min<std::size_t>(4, workload.size()), ' ') + variant;
  for (const std::string& cell : cells) {
    text += padded(cell, 11);
  }
  return text;
}

std::string to_rows(const workloads::Figure& figure) {
  std::string text = line(figure.workload, figure.variant,
                          {shown(figure.steps_s), shown(figure.secs), shown(figure.p50_ms),
                           shown(figure.p99_ms), shown(figure.raw), shown(figure.ratio)});
  if (!figure.bar.empty()) {
    text += (figure.is_met ? "  met: " : "  NOT MET: ") + figure.bar;
  }
  text += "\n";
  std::string more;
  for (const auto& [name, value] : figure.more) {
    more += (more.empty() ? "     " : ", ") + name + " " + shown(value);
  }
  return more.empty() ? text : text + more + "\n";
}

// On ctrl-C and the like the bench ends at once, with all that it has made and started. Made before
// any other thread, which then leaves these signals to it.
class Interrupts {
 public:
  explicit Interrupts(workloads::Workspace& workspace) {
    sigemptyset(&signals_);
    for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
      struct sigaction now{};
      sigaction(number, nullptr, &now);
      if (now.sa_handler != SIG_IGN) {  // E.g. under nohup.
        sigaddset(&signals_, number);
      }
    }
    sigaddset(&signals_, SIGUSR1);  // To end the thread.
    pthread_sigmask(SIG_BLOCK, &signals_, &before_);
    // A reader that goes away is noticed when a line cannot be written.
    std::signal(SIGPIPE, SIG_IGN);
    thread_ = std::thread([this, &workspace] { watch(workspace); });
  }
  ~Interrupts() {
    is_over_ = true;
    pthread_kill(thread_.native_handle(), SIGUSR1);
    thread_.join();
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  Interrupts(const Interrupts&) = delete;
  Interrupts& operator=(const Interrupts&) = delete;

 private:
  void watch(workloads::Workspace& workspace) {
    int number = 0;
    while (number == 0 || number == SIGUSR1) {
      sigwait(&signals_, &number);
      if (is_over_) {
        return;
      }
    }
    const bool is_clean = workspace.remove();
    const std::string left =
        is_clean ? "its files are removed" : "'" + workspace.directory().string() + "' is left";
    std::fprintf(stderr, "\npawl bench: interrupted; %s\n", left.c_str());
    _exit(128 + number);
  }

  sigset_t signals_{};
  sigset_t before_{};
  std::atomic<bool> is_over_ = false;
  std::thread thread_;
};

// The names in `text`, in lower case; none if there is nothing between two commas.
std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> names(1);
  for (const char letter : text) {
    if (letter == ',') {
      names.emplace_back();
    } else if (letter != ' ') {
      names.back() += static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
    }
  }
  return names;
}

constexpr const char* kDetails =
    "Workloads:\n"
    "  w1  2,000 runs of 10 steps, 1, 16 and 128 at a time\n"
    "  w2  one run of 5,000 and one of 100,000 steps: the first 500 and the last 500; then how\n"
    "      long it takes to go on after a kill at half\n"
    "  w3  one run with 1,000 parallel steps, the median of 5\n"
    "  w4  10,000 and 1,000,000 runs that sleep 5 s: time, memory, processor time when idle. "
    "The\n"
    "      million takes some minutes and 1 GB of disk: --runs 10000 leaves it out\n"
    "  w5  from sending a signal to the code that waits for it, 2,000 times\n"
    "  w6  w1 at 128 killed at half: time until all runs are done, what was lost or doubled\n"
    "  w7  w1 at 128 by each of four processes, and shared by them, beside what one reaches\n"
    "  w8  claims of 100 runs that are due among 1,000, 10,000 and 100,000 open ones;\n"
    "      --runs 1000000 goes on\n"
    "  w9  what an idle worker asks of a PostgreSQL server in ten minutes while 100,000 runs\n"
    "      sleep; not with --quick\n"
    "\n"
    "Each result has steps_s (steps a second) or secs, p50_ms and p99_ms, raw (what the store\n"
    "alone needs for the same rows, in the unit of the figure) and ratio (figure / raw).\n"
    "Percentiles: of a step (w1, w2), of a round (w3), of how late a sleeper is (w4), of a\n"
    "signal (w5), of the end of a run after the kill (w6), of a claim (w8). raw is what one\n"
    "process reaches (w7), what the first size costs (w8). Exit code 1 if a bar is not met.\n"
    "\n"
    "Databases are made in a new directory, beside the file that --store names, and removed.\n"
    "That file and what lies beside it are left alone.\n";

int run(const Arguments& arguments) {
  workloads::BenchOptions options;
  options.workloads = arguments.workloads;
  const auto given = [](std::size_t number) {
    return number == 0 ? std::nullopt : std::optional<std::size_t>(number);
  };
  options.concurrency = given(arguments.concurrency);
  options.runs = given(arguments.runs);
  options.steps = given(arguments.steps);
  options.processes = given(arguments.processes);
  options.store = arguments.store;
  options.quick = arguments.quick;
  options.program = "/proc/self/exe";
  const bool is_table = arguments.output == "table";
  const bool shows_progress = isatty(STDERR_FILENO) != 0;
  bool has_header = false;
  bool all_met = true;
  const auto report = [&](const workloads::Figure& figure) -> Result<void> {
    all_met = all_met && figure.is_met;
    if (shows_progress) {
      std::fprintf(stderr, "\r\033[K");
    }
    if (is_table && !std::exchange(has_header, true)) {
      std::cout << line("", "variant", {"steps/s", "secs", "p50 ms", "p99 ms", "raw", "ratio"})
                << "\n";
    }
    std::cout << (is_table ? to_rows(figure) : to_json(figure)) << std::flush;
    if (!std::cout) {
      return make_error(ErrorCode::kStoreIo, "the result cannot be written");
    }
    return {};
  };
  const auto progress = [&](const std::string& what) {
    if (shows_progress) {
      std::fprintf(stderr, "\r\033[K%s ...", what.c_str());
    }
  };
  workloads::Workspace workspace;
  const Interrupts interrupts(workspace);
  const Result<void> done = workloads::run_bench(options, workspace, report, progress);
  if (shows_progress) {
    std::fprintf(stderr, "\r\033[K");
  }
  if (!done) {
    std::fprintf(stderr, "pawl bench: %s\n", done.error().message.c_str());
    return done.error().code == ErrorCode::kInvalidArgument ? kExitUsage : kExitFailure;
  }
  return all_met ? kExitOk : kExitFailure;
}

}  // namespace

void add_bench_command(Frame& frame) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = frame.add(
      {.name = "bench",
       .group = kTools,
       .summary = "Measure the engine, each figure beside the raw limit of the same store.",
       .examples = "pawl bench --quick\n"
                   "pawl bench --workload w1 --concurrency 128\n"
                   "pawl bench --workload w2,w3 -o jsonl\n"
                   "pawl bench --workload w4 --runs 1000000\n"
                   "pawl bench --store 'sqlite:/fast/bench.db?durability=process'\n",
       .details = kDetails},
      [arguments](Console& /*console*/) -> Result<int> { return run(*arguments); });
  command
      ->add_option_function<std::string>(
          "--workload",
          [target = arguments.get()](const std::string& text) { target->workloads = split(text); },
          "Comma-separated, of w1 to w9, see below (default: all)")
      ->type_name("NAMES");
  command->add_option("--concurrency", arguments->concurrency, "Runs at a time (w1, w6, w7)")
      ->check(whole_number(workloads::kRunsMax))
      ->type_name("N");
  command->add_option("--runs", arguments->runs, "Number of runs (w1, w4, w6, w7, w8, w9)")
      ->check(whole_number(workloads::kRunsMax))
      ->type_name("N");
  command
      ->add_option("--steps", arguments->steps, "Steps of a run (w1, w2, w3, w6, w7), signals (w5)")
      ->check(whole_number(workloads::kStepsMax))
      ->type_name("N");
  command->add_option("--processes", arguments->processes, "Worker processes (w7; default: 4)")
      ->check(whole_number(workloads::kProcessesMax))
      ->type_name("N");
  command
      ->add_option("--store", arguments->store,
                   "URL of a file that is not there; see below (default: a place here)")
      ->type_name("URL");
  command->add_option("-o,--output", arguments->output, "table or jsonl")
      ->check(CLI::IsMember({"table", "jsonl"}))
      ->type_name("FORM");
  command->add_flag("--quick", arguments->quick,
                    "Less of w1, w2, w5 and w6, no million: a minute in all");
}

std::unique_ptr<int> run_part_if_asked(int argc, char** argv) {
  const std::string_view word = argc < 2 ? std::string_view() : argv[1];
  if (word != workloads::kVictim && word != workloads::kMember) {
    return nullptr;
  }
  const std::vector<std::string> arguments(argv + 2, argv + argc);
  return std::make_unique<int>(word == workloads::kVictim ? workloads::run_bench_victim(arguments)
                                                          : workloads::run_bench_member(arguments));
}

}  // namespace pawl::cli

#include "workloads/bench.h"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <mutex>

#include "engine/thread_environment.h"
#include "pawl/pawl.hpp"
#include "sdk/client.h"
#include "store/sqlite/sqlite_store.h"
#include "workloads/raw_sqlite.h"

namespace pawl::workloads {

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// --- The workflows -------------------------------------------------------------------------------

// When each step of each run was executed. Written by activities; steps of one run follow one
// another.
class Recorder {
 public:
  void prepare(std::size_t runs, std::size_t steps) {
    const std::lock_guard<std::mutex> lock(mutex_);
    times_.assign(runs, {});
    for (auto& times : times_) {
      times.reserve(steps);
    }
  }
  void note(std::size_t run) {
    if (run < times_.size()) {
      times_[run].push_back(Clock::now());
    }
  }
  // Milliseconds from each step to the next one of its run, sorted.
  std::vector<double> gaps_ms() const {
    std::vector<double> gaps;
    for (const auto& times : times_) {
      for (std::size_t i = 1; i < times.size(); ++i) {
        gaps.push_back(std::chrono::duration<double, std::milli>(times[i] - times[i - 1]).count());
      }
    }
    std::sort(gaps.begin(), gaps.end());
    return gaps;
  }
  const std::vector<Clock::time_point>& times(std::size_t run) const { return times_[run]; }

 private:
  std::mutex mutex_;
  std::vector<std::vector<Clock::time_point>> times_;
};

Recorder recorder;                              // NOLINT: activities are plain functions here.
std::ofstream* step_file = nullptr;             // NOLINT
std::mutex step_file_mutex;                     // NOLINT
std::atomic<std::int64_t> continued_ns = 0;     // NOLINT
std::atomic<std::uint64_t> executed_steps = 0;  // NOLINT

std::int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now().time_since_epoch())
      .count();
}

int step(int run, int number) {
  recorder.note(static_cast<std::size_t>(run));
  executed_steps.fetch_add(1, std::memory_order_relaxed);
  if (step_file != nullptr) {
    const std::lock_guard<std::mutex> lock(step_file_mutex);
    *step_file << run << " " << number << "\n" << std::flush;
  }
  return number;
}

// `run` names the run in the recorder.
Workflow<int> run_steps(Context ctx, int run, int count) {
  int sum = 0;
  for (int i = 0; i < count; ++i) {
    sum += co_await ctx.run("step", step, run, i);
  }
  co_return sum;
}

Workflow<int> run_parallel(Context ctx, int run, int count) {
  std::vector<Future<int>> futures;
  futures.reserve(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) {
    futures.push_back(ctx.run("step", step, run, i));
  }
  const std::vector<int> results = co_await all(futures);
  co_return static_cast<int>(results.size());
}

Workflow<void> run_sleep(Context ctx, int ms) { co_await ctx.sleep(Millis(ms)); }

Workflow<int> run_signals(Context ctx, int count) {
  for (int i = 0; i < count; ++i) {
    co_await ctx.signal("go");
    continued_ns = now_ns();
  }
  co_return count;
}

Registry make_registry() {
  Registry registry;
  registry.workflow("steps", run_steps);
  registry.workflow("parallel", run_parallel);
  registry.workflow("sleep", run_sleep);
  registry.workflow("signals", run_signals);
  return registry;
}

// --- The bench -----------------------------------------------------------------------------------

double at(const std::vector<double>& sorted, double part) {
  if (sorted.empty()) {
    return 0;
  }
  const auto index = static_cast<std::size_t>(part * static_cast<double>(sorted.size() - 1));
  return sorted[index];
}

double cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

double resident_bytes() {
  std::ifstream file("/proc/self/statm");
  double total = 0;
  double resident = 0;
  file >> total >> resident;
  return resident * static_cast<double>(sysconf(_SC_PAGESIZE));
}

// An engine with the workflows of the bench, called without a thread for each caller.
class Subject {
 public:
  explicit Subject(const std::string& url, EngineOptions options = {})
      : environment_(engine::make_thread_environment()),
        client_(std::make_unique<detail::Client>(environment_, make_registry(), options)) {
    client_->open(detail::open_store(url, options),
                  {std::make_shared<detail::Settings>(), false, {}});
  }

  engine::Engine& engine() { return client_->engine(); }
  engine::Environment& environment() { return *environment_; }

  // Starts `runs` runs, `concurrency` at a time, and waits for all. The first error, if any.
  Result<void> run_all(const std::string& kind, const std::string& prefix, std::size_t runs,
                       std::size_t concurrency,
                       const std::function<std::string(std::size_t)>& input,
                       const std::function<void(std::size_t)>& on_start = {}) {
    struct State {
      std::atomic<std::size_t> next = 0;
      std::atomic<std::size_t> finished = 0;
      std::mutex mutex;
      std::optional<Error> error;
      engine::Latch done;
    };
    auto state = std::make_shared<State>();
    const auto fail = [state](const Error& error) {
      const std::lock_guard<std::mutex> lock(state->mutex);
      if (!state->error) {
        state->error = error;
      }
      state->done.set();
    };
    auto launch = std::make_shared<std::function<void()>>();
    *launch = [=, this, weak = std::weak_ptr(launch)] {
      const std::size_t number = state->next++;
      if (number >= runs) {
        return;
      }
      engine::StartRequest request;
      request.kind = kind;
      request.id = prefix + std::to_string(number);
      request.input = input(number);
      const auto self = weak.lock();
      engine().start_run(request, [=, this](const Result<engine::StartedRun>& started) {
        if (!started) {
          fail(started.error());
          return;
        }
        if (on_start) {
          on_start(number);
        }
        engine().wait(started->id, [=](const Result<engine::RunOutcome>& outcome) {
          if (!outcome) {
            fail(outcome.error());
          } else if (outcome->status != store::RunStatus::kCompleted) {
            fail(make_error(ErrorCode::kInvalidState,
                            "a run ended as " + std::string(store::status_name(outcome->status)) +
                                ": " + outcome->payload));
          } else if (++state->finished == runs) {
            state->done.set();
          } else {
            (*self)();
          }
        });
      });
    };
    for (std::size_t i = 0; i < std::min(concurrency, runs); ++i) {
      (*launch)();
    }
    if (runs > 0) {
      environment_->wait(state->done, -1);
    }
    const std::lock_guard<std::mutex> lock(state->mutex);
    return state->error ? Result<void>(*state->error) : Result<void>();
  }

  void stop() { client_->stop(); }

 private:
  std::shared_ptr<engine::Environment> environment_;
  std::unique_ptr<detail::Client> client_;
};

class Bench {
 public:
  Bench(const BenchOptions& options, std::function<void(const Figure&)> report,
        std::function<void(const std::string&)> progress)
      : options_(options), report_(std::move(report)), progress_(std::move(progress)) {}

  Result<void> run() {
    using Workload = Result<void> (Bench::*)();
    const std::vector<std::pair<std::string, Workload>> all = {
        {"w1", &Bench::w1}, {"w2", &Bench::w2}, {"w3", &Bench::w3},
        {"w4", &Bench::w4}, {"w5", &Bench::w5}, {"w6", &Bench::w6}};
    for (const std::string& name : options_.workloads) {
      if (std::none_of(all.begin(), all.end(), [&](const auto& it) { return it.first == name; })) {
        return make_error(ErrorCode::kInvalidArgument,
                          "there is no workload '" + name + "'; there are w1 to w6");
      }
    }
    PAWL_TRY(make_directory());
    for (const auto& [name, workload] : all) {
      const bool is_wanted = options_.workloads.empty() ||
                             std::find(options_.workloads.begin(), options_.workloads.end(),
                                       name) != options_.workloads.end();
      if (is_wanted) {
        PAWL_TRY((this->*workload)());
      }
    }
    return {};
  }

  ~Bench() {
    if (!directory_.empty()) {
      std::error_code ignored;
      std::filesystem::remove_all(directory_, ignored);
    }
  }
  Bench(const Bench&) = delete;
  Bench& operator=(const Bench&) = delete;

 private:
  static std::string steps_input(std::size_t run, std::size_t steps) {
    return "[" + std::to_string(run) + "," + std::to_string(steps) + "]";
  }

  Result<void> make_directory() {
    if (!options_.store.empty()) {
      PAWL_TRY_ASSIGN(const store::SqliteOptions parsed, store::parse_sqlite_url(options_.store));
      if (std::filesystem::exists(parsed.path)) {
        return make_error(ErrorCode::kInvalidArgument,
                          "'" + parsed.path + "' is there already; a bench wants a new file");
      }
      return {};
    }
    std::string pattern = "pawl-bench-XXXXXX";
    if (mkdtemp(pattern.data()) == nullptr) {
      return make_error(ErrorCode::kStoreIo, "cannot make a directory here for the database");
    }
    directory_ = std::filesystem::absolute(pattern);
    return {};
  }

  // A database of its own for each variant.
  std::string fresh_url() {
    if (options_.store.empty()) {
      return "sqlite:" + (directory_ / ("bench-" + std::to_string(++files_) + ".db")).string();
    }
    const std::size_t query = options_.store.find('?');
    const std::string number = "." + std::to_string(++files_);
    return query == std::string::npos
               ? options_.store + number
               : options_.store.substr(0, query) + number + options_.store.substr(query);
  }
  static Result<RawFigure> raw(const std::string& url, std::size_t batch, std::size_t rows) {
    PAWL_TRY_ASSIGN(const store::SqliteOptions options, store::parse_sqlite_url(url));
    return copy_log(options, batch, rows);
  }
  void clean(const std::string& url) {
    const auto options = store::parse_sqlite_url(url);
    for (const char* suffix : {"", "-wal", "-shm", "-workers", "-notify"}) {
      std::error_code ignored;
      std::filesystem::remove(options->path + suffix, ignored);
    }
  }

  Result<void> w1();
  Result<void> w2();
  Result<void> w2_recovery(std::size_t steps);
  Result<void> w3();
  Result<void> w4();
  Result<void> w4_with(std::size_t runs);
  Result<void> w5();
  Result<void> w6();
  Result<pid_t> start_victim(const std::vector<std::string>& arguments);

  const BenchOptions& options_;
  std::function<void(const Figure&)> report_;
  std::function<void(const std::string&)> progress_;
  std::filesystem::path directory_;
  int files_ = 0;
};

Result<void> Bench::w1() {
  const std::size_t runs = options_.runs.value_or(options_.quick ? 400 : 2000);
  const std::size_t steps = options_.steps.value_or(10);
  std::vector<std::size_t> levels = {1, 16, 128};
  if (options_.concurrency) {
    levels = {*options_.concurrency};
  }
  for (const std::size_t concurrency : levels) {
    progress_("w1: " + std::to_string(runs) + " runs of " + std::to_string(steps) + " steps, " +
              std::to_string(concurrency) + " at a time");
    const std::string url = fresh_url();
    Figure figure;
    figure.workload = "w1";
    figure.variant = "concurrency=" + std::to_string(concurrency);
    {
      Subject subject(url);
      recorder.prepare(runs, steps);
      const double cpu = cpu_seconds();
      const auto started = Clock::now();
      PAWL_TRY(subject.run_all("steps", "w1-", runs, concurrency,
                               [steps](std::size_t run) { return steps_input(run, steps); }));
      figure.secs = seconds_since(started);
      figure.more.emplace_back("cpu_us_per_step",
                               (cpu_seconds() - cpu) * 1e6 / static_cast<double>(runs * steps));
    }
    figure.steps_s = static_cast<double>(runs * steps) / *figure.secs;
    const std::vector<double> gaps = recorder.gaps_ms();
    figure.p50_ms = at(gaps, 0.5);
    figure.p99_ms = at(gaps, 0.99);
    PAWL_TRY_ASSIGN(const RawFigure limit, raw(url, concurrency, runs * (steps + 1)));
    figure.raw = concurrency == 1 ? static_cast<double>(limit.commits) / limit.secs
                                  : static_cast<double>(runs * steps) / limit.secs;
    figure.ratio = *figure.steps_s / figure.raw;
    if (concurrency == 1) {
      figure.bar = "a step costs at most 1.3 raw commits";
      figure.is_met = 1 / figure.ratio <= 1.3;
      figure.more.emplace_back("raw_commits_per_step", 1 / figure.ratio);
    } else if (concurrency == 128) {
      figure.bar = "40,000 steps/s and half of raw";
      figure.is_met = *figure.steps_s >= 40'000 && figure.ratio >= 0.5;
    }
    figure.more.emplace_back("raw_commit_ms", limit.commit_ms());
    clean(url);
    report_(figure);
  }
  return {};
}

Result<void> Bench::w2() {
  std::vector<std::size_t> lengths = {5000, options_.quick ? std::size_t{20'000} : 100'000};
  if (options_.steps) {
    lengths = {*options_.steps};
  }
  for (const std::size_t steps : lengths) {
    progress_("w2: one run of " + std::to_string(steps) + " steps");
    const std::string url = fresh_url();
    Figure figure;
    figure.workload = "w2";
    figure.variant = "steps=" + std::to_string(steps);
    {
      Subject subject(url);
      recorder.prepare(1, steps);
      const auto started = Clock::now();
      PAWL_TRY(subject.run_all("steps", "w2-", 1, 1,
                               [steps](std::size_t) { return steps_input(0, steps); }));
      figure.secs = seconds_since(started);
    }
    figure.steps_s = static_cast<double>(steps) / *figure.secs;
    const std::vector<double> gaps = recorder.gaps_ms();
    figure.p50_ms = at(gaps, 0.5);
    figure.p99_ms = at(gaps, 0.99);
    const std::vector<Clock::time_point>& times = recorder.times(0);
    const std::size_t part = std::min<std::size_t>(500, times.size() / 2);
    const auto median_of = [&](std::size_t from) {
      std::vector<double> part_gaps;
      for (std::size_t i = from + 1; i < from + part; ++i) {
        part_gaps.push_back(
            std::chrono::duration<double, std::milli>(times[i] - times[i - 1]).count());
      }
      std::sort(part_gaps.begin(), part_gaps.end());
      return at(part_gaps, 0.5);
    };
    const double first_ms = median_of(0);
    const double last_ms = median_of(times.size() - part);
    figure.more.emplace_back("first_500_ms", first_ms);
    figure.more.emplace_back("last_500_ms", last_ms);
    PAWL_TRY_ASSIGN(const RawFigure limit, raw(url, 1, std::min<std::size_t>(steps, 10'000)));
    figure.raw = limit.rows_s();
    figure.ratio = *figure.steps_s / figure.raw;
    figure.bar = "the last 500 steps cost what the first 500 do (within 1.5)";
    figure.is_met = last_ms <= 1.5 * first_ms;
    clean(url);
    report_(figure);
    PAWL_TRY(w2_recovery(steps));
  }
  return {};
}

Result<pid_t> Bench::start_victim(const std::vector<std::string>& arguments) {
  std::vector<std::string> words = {options_.program, "bench-victim"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> pointers;
  for (std::string& word : words) {
    pointers.push_back(word.data());
  }
  pointers.push_back(nullptr);
  const pid_t child = fork();
  if (child < 0) {
    return make_error(ErrorCode::kStoreIo, "cannot start a second process");
  }
  if (child == 0) {
    execv(pointers[0], pointers.data());
    _exit(127);
  }
  return child;
}

// Kills it itself: the victim stops dead at half of its steps.
Result<void> Bench::w2_recovery(std::size_t steps) {
  progress_("w2: recovery of a run killed after " + std::to_string(steps / 2) + " steps");
  const std::string url = fresh_url();
  // What comes before the kill is not measured: it need not wait for the disk.
  const std::string fast =
      url + (url.find('?') == std::string::npos ? "?" : "&") + "durability=process";
  PAWL_TRY_ASSIGN(const pid_t child,
                  start_victim({fast, "w2", std::to_string(steps), std::to_string(steps / 2)}));
  int status = 0;
  waitpid(child, &status, 0);
  if (!WIFSIGNALED(status)) {
    return make_error(ErrorCode::kInvalidState, "w2: the process to be killed ended by itself");
  }
  Figure figure;
  figure.workload = "w2";
  figure.variant = "recovery of " + std::to_string(steps / 2) + " steps";
  recorder.prepare(1, steps);
  const auto started = Clock::now();
  {
    Subject subject(fast);
    PAWL_TRY(subject.run_all("steps", "w2-", 1, 1,
                             [steps](std::size_t) { return steps_input(0, steps); }));
    figure.secs = std::chrono::duration<double>(recorder.times(0).front() - started).count();
  }
  figure.more.emplace_back("steps_again", static_cast<double>(recorder.times(0).size()) -
                                              static_cast<double>(steps - steps / 2));
  figure.bar = "100,000 steps in a second";
  figure.is_met = *figure.secs <= 1.0 * static_cast<double>(steps / 2) / 100'000 + 0.1;
  clean(url);
  report_(figure);
  return {};
}

Result<void> Bench::w3() {
  const std::size_t steps = options_.steps.value_or(1000);
  std::vector<double> times;
  RawFigure limit;
  for (int round = 0; round < 5; ++round) {
    progress_("w3: one run with " + std::to_string(steps) + " parallel steps");
    const std::string url = fresh_url();
    {
      Subject subject(url);
      recorder.prepare(0, 0);
      const auto started = Clock::now();
      PAWL_TRY(subject.run_all("parallel", "w3-", 1, 1,
                               [steps](std::size_t) { return steps_input(0, steps); }));
      times.push_back(seconds_since(started));
    }
    PAWL_TRY_ASSIGN(limit, raw(url, steps, 10 * steps));
    clean(url);
  }
  std::sort(times.begin(), times.end());
  Figure figure;
  figure.workload = "w3";
  figure.variant = "parallel=" + std::to_string(steps);
  figure.secs = at(times, 0.5);
  figure.p50_ms = at(times, 0.5) * 1000;
  figure.p99_ms = times.back() * 1000;
  figure.raw = limit.secs;
  figure.ratio = *figure.secs / figure.raw;
  figure.bar = "1,000 steps in 100 ms";
  figure.is_met = *figure.secs <= 0.1 * std::max(1.0, static_cast<double>(steps) / 1000);
  report_(figure);
  return {};
}

Result<void> Bench::w4() {
  if (options_.runs) {
    return w4_with(*options_.runs);
  }
  PAWL_TRY(w4_with(10'000));
  if (!options_.quick) {
    PAWL_TRY(w4_with(1'000'000));
  }
  return {};
}

Result<void> Bench::w4_with(std::size_t runs) {
  progress_("w4: " + std::to_string(runs) + " runs that sleep 5 s");
  const std::string url = fresh_url();
  Figure figure;
  figure.workload = "w4";
  figure.variant = "sleepers=" + std::to_string(runs);
  RawFigure limit;
  {
    EngineOptions options;
    Subject subject(url, options);
    const double before = resident_bytes();
    std::atomic<std::size_t> begun = 0;
    std::atomic<double> memory = 0;
    std::atomic<double> cpu_before = 0;
    const auto started = Clock::now();
    std::atomic<double> started_all = 0;
    PAWL_TRY(subject.run_all(
        "sleep", "w4-", runs, runs, [](std::size_t) { return std::string("5000"); },
        [&](std::size_t) {
          if (++begun == runs) {
            started_all = seconds_since(started);
            memory = resident_bytes();
            cpu_before = cpu_seconds();
          }
        }));
    figure.secs = seconds_since(started);
    figure.more.emplace_back("started_s", started_all);
    figure.more.emplace_back("over_s", *figure.secs - started_all - 5);
    figure.more.emplace_back("bytes_per_sleeper", (memory - before) / static_cast<double>(runs));
    figure.more.emplace_back(
        "cached", static_cast<double>(subject.engine().figures().evictions == 0 ? 1 : 0));
    // Nothing to do: neither should the process.
    const double idle_before = cpu_seconds();
    usleep(1'000'000);
    figure.more.emplace_back("idle_cpu_percent", (cpu_seconds() - idle_before) * 100);
  }
  PAWL_TRY_ASSIGN(limit, raw(url, 128, 3 * runs));
  figure.raw = limit.secs;
  figure.ratio = *figure.secs / (5 + figure.raw);
  figure.steps_s = static_cast<double>(runs) / *figure.secs;
  if (runs <= 10'000) {
    figure.bar = "10,000 done within 6 s";
    figure.is_met = *figure.secs <= 6;
  }
  clean(url);
  report_(figure);
  return {};
}

Result<void> Bench::w5() {
  const std::size_t count = options_.steps.value_or(options_.quick ? 300 : 2000);
  progress_("w5: from a signal to the code that waits for it, " + std::to_string(count) + " times");
  const std::string url = fresh_url();
  std::vector<double> delays;
  {
    Subject subject(url);
    engine::StartRequest request;
    request.kind = "signals";
    request.id = "w5";
    request.input = std::to_string(count);
    engine::Latch started;
    subject.engine().start_run(request, [&](const Result<engine::StartedRun>&) { started.set(); });
    subject.environment().wait(started, -1);
    for (std::size_t i = 0; i < count; ++i) {
      // It waits again once the turn before is written.
      while (true) {
        const auto row = subject.engine().store().find_run("w5", std::nullopt);
        if (row && *row && (*row)->status == store::RunStatus::kWaiting) {
          break;
        }
        usleep(200);
      }
      continued_ns = 0;
      const std::int64_t sent = now_ns();
      engine::Latch answered;
      subject.engine().signal("w5", "go", "null", "", "",
                              [&](const Result<bool>&) { answered.set(); });
      subject.environment().wait(answered, -1);
      while (continued_ns == 0) {
        usleep(20);
      }
      delays.push_back(static_cast<double>(continued_ns - sent) * 1e-6);
    }
  }
  std::sort(delays.begin(), delays.end());
  PAWL_TRY_ASSIGN(const RawFigure limit, raw(url, 1, count));
  Figure figure;
  figure.workload = "w5";
  figure.variant = "signal to continue";
  figure.p50_ms = at(delays, 0.5);
  figure.p99_ms = at(delays, 0.99);
  figure.secs = figure.p50_ms / 1000;
  figure.raw = limit.commit_ms() / 1000;
  figure.ratio = *figure.secs / figure.raw;
  figure.bar = "p50 under two raw commits";
  figure.is_met = figure.ratio < 2;
  clean(url);
  report_(figure);
  return {};
}

std::map<std::pair<int, int>, int> read_steps(const std::string& path) {
  std::map<std::pair<int, int>, int> counts;
  std::ifstream file(path);
  int run = 0;
  int number = 0;
  while (file >> run >> number) {
    ++counts[{run, number}];
  }
  return counts;
}

Result<void> Bench::w6() {
  const std::size_t runs = options_.runs.value_or(options_.quick ? 400 : 2000);
  const std::size_t steps = options_.steps.value_or(10);
  const std::size_t concurrency = options_.concurrency.value_or(128);
  progress_("w6: w1 killed at half and started again");
  const std::string url = fresh_url();
  PAWL_TRY_ASSIGN(const store::SqliteOptions parsed, store::parse_sqlite_url(url));
  const std::string steps_path = parsed.path + ".steps";
  const std::string starts_path = parsed.path + ".starts";
  PAWL_TRY_ASSIGN(
      const pid_t child,
      start_victim({url, "w6", std::to_string(steps), std::to_string(runs * steps / 2),
                    std::to_string(runs), std::to_string(concurrency), steps_path, starts_path}));
  int status = 0;
  waitpid(child, &status, 0);
  if (!WIFSIGNALED(status)) {
    return make_error(ErrorCode::kInvalidState, "w6: the process to be killed ended by itself");
  }
  std::vector<std::size_t> acknowledged;
  {
    std::ifstream file(starts_path);
    for (std::size_t run = 0; file >> run;) {
      acknowledged.push_back(run);
    }
  }
  Figure figure;
  figure.workload = "w6";
  figure.variant = "killed at half, " + std::to_string(acknowledged.size()) + " acknowledged";
  double lost = 0;
  double doubled = 0;
  std::size_t open = 0;
  {
    // Steps whose outcome was recorded before the kill must not run again.
    std::map<std::pair<int, int>, int> recorded;
    PAWL_TRY_ASSIGN(const auto store, store::open_sqlite(parsed));
    for (const std::size_t run : acknowledged) {
      PAWL_TRY_ASSIGN(const auto row, store->find_run("w6-" + std::to_string(run), std::nullopt));
      if (!row) {
        lost += 1;
        continue;
      }
      open += store::is_closed(row->status) ? 0 : 1;
      int number = 0;
      PAWL_TRY(store->read_log(row->key, 1, [&](const replay::Entry& entry) -> Result<void> {
        if (entry.kind == replay::EntryKind::kOperationCompleted) {
          recorded[{static_cast<int>(run), number++}] = 1;
        }
        return {};
      }));
    }
    std::ofstream file(parsed.path + ".again");
    step_file = &file;
    recorder.prepare(runs, steps);
    executed_steps = 0;
    const auto started = Clock::now();
    Subject subject(url);
    std::atomic<std::size_t> left = acknowledged.size();
    std::atomic<double> resumed = 0;
    engine::Latch done;
    std::atomic<int> wrong = 0;
    for (const std::size_t run : acknowledged) {
      subject.engine().wait("w6-" + std::to_string(run),
                            [&](const Result<engine::RunOutcome>& outcome) {
                              if (!outcome || outcome->status != store::RunStatus::kCompleted) {
                                ++wrong;
                              }
                              if (--left == 0) {
                                done.set();
                              }
                            });
    }
    if (!acknowledged.empty() && !subject.environment().wait(done, 60'000)) {
      lost += static_cast<double>(left);
    }
    figure.secs = seconds_since(started);
    lost += wrong;
    for (std::size_t run = 0; run < runs; ++run) {
      for (const Clock::time_point& time : recorder.times(run)) {
        const double after = std::chrono::duration<double>(time - started).count();
        if (resumed == 0 || after < resumed) {
          resumed = after;
        }
      }
    }
    subject.stop();
    step_file = nullptr;
    file.close();
    for (const auto& [place, count] : read_steps(parsed.path + ".again")) {
      doubled += recorded.contains(place) || count > 1 ? 1 : 0;
    }
    figure.more.emplace_back("open_at_the_kill", static_cast<double>(open));
    figure.more.emplace_back("resumed_after_s", resumed);
    figure.more.emplace_back("lost", lost);
    figure.more.emplace_back("doubled", doubled);
    figure.bar = "nothing lost or doubled, resumed within 1 s";
    figure.is_met = lost == 0 && doubled == 0 && resumed <= 1;
  }
  PAWL_TRY_ASSIGN(const RawFigure limit,
                  raw(url, concurrency, std::max<std::size_t>(executed_steps, 1)));
  figure.raw = limit.secs;
  figure.ratio = *figure.secs / std::max(figure.raw, 1e-9);
  clean(url);
  report_(figure);
  return {};
}

}  // namespace

Result<void> run_bench(const BenchOptions& options,
                       const std::function<void(const Figure&)>& report,
                       const std::function<void(const std::string&)>& progress) {
  try {
    return Bench(options, report, progress).run();
  } catch (const Exception& error) {
    return make_error(ErrorCode::kStoreIo, error.what());
  }
}

// URL, workload, steps, steps until the end; w6 also: runs, concurrency, two files.
int run_bench_victim(const std::vector<std::string>& arguments) {
  const auto number = [&](std::size_t index) { return std::stoull(arguments.at(index)); };
  const std::size_t steps = number(2);
  const std::size_t last = number(3);
  const bool is_w6 = arguments.at(1) == "w6";
  std::ofstream steps_out(is_w6 ? arguments.at(6) : "/dev/null");
  std::ofstream starts_out(is_w6 ? arguments.at(7) : "/dev/null");
  step_file = is_w6 ? &steps_out : nullptr;
  recorder.prepare(is_w6 ? number(4) : 1, steps);
  std::thread killer([last] {
    while (executed_steps < last) {
      usleep(200);
    }
    kill(getpid(), SIGKILL);
  });
  killer.detach();
  Subject subject(arguments.at(0));
  std::mutex mutex;
  const Result<void> done = subject.run_all(
      "steps", is_w6 ? "w6-" : "w2-", is_w6 ? number(4) : 1, is_w6 ? number(5) : 1,
      [steps](std::size_t run) {
        return "[" + std::to_string(run) + "," + std::to_string(steps) + "]";
      },
      [&](std::size_t run) {
        const std::lock_guard<std::mutex> lock(mutex);
        starts_out << run << "\n" << std::flush;
      });
  return done ? 0 : 1;
}

}  // namespace pawl::workloads

#include "workloads/bench.h"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>

#include "pawl/pawl.hpp"
#include "workloads/claims.h"
#include "workloads/ground.h"
#include "workloads/processes.h"
#include "workloads/subject.h"

namespace pawl::workloads {

namespace {

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

class Bench {
 public:
  Bench(const BenchOptions& options, Workspace& workspace,
        std::function<Result<void>(const Figure&)> report,
        std::function<void(const std::string&)> progress)
      : options_(options),
        workspace_(workspace),
        report_(std::move(report)),
        progress_(std::move(progress)) {}

  Result<void> run() {
    using Workload = Result<void> (Bench::*)();
    const std::vector<std::pair<std::string, Workload>> all = {
        {"w1", &Bench::w1}, {"w2", &Bench::w2}, {"w3", &Bench::w3},
        {"w4", &Bench::w4}, {"w5", &Bench::w5}, {"w6", &Bench::w6},
        {"w7", &Bench::w7}, {"w8", &Bench::w8}, {"w9", &Bench::w9}};
    for (const std::string& name : options_.workloads) {
      if (std::none_of(all.begin(), all.end(), [&](const auto& it) { return it.first == name; })) {
        return make_error(ErrorCode::kInvalidArgument,
                          "there is no workload '" + name + "'; there are w1 to w9");
      }
    }
    PAWL_TRY(check_sizes());
    PAWL_TRY_ASSIGN(ground_, make_ground(options_.store, workspace_));
    for (const auto& [name, workload] : all) {
      if (is_wanted(name)) {
        PAWL_TRY((this->*workload)());
      }
    }
    return {};
  }

 private:
  std::size_t w1_runs() const { return options_.runs.value_or(options_.quick ? 400 : 2000); }
  std::size_t w1_steps() const { return options_.steps.value_or(10); }

  bool is_wanted(const std::string& name) const {
    return options_.workloads.empty() ||
           std::find(options_.workloads.begin(), options_.workloads.end(), name) !=
               options_.workloads.end();
  }

  Result<void> check_sizes() const {
    const bool has_both = is_wanted("w1") || is_wanted("w6") || is_wanted("w7");
    if (options_.runs.value_or(1) > kRunsMax || options_.steps.value_or(1) > kStepsMax ||
        (has_both && w1_runs() * w1_steps() > kStepsOfAllRunsMax)) {
      return make_error(ErrorCode::kInvalidArgument,
                        "that is too much: at most " + std::to_string(kRunsMax) + " runs, " +
                            std::to_string(kStepsMax) + " steps of a run, and " +
                            std::to_string(kStepsOfAllRunsMax) + " of all runs (w1, w6, w7)");
    }
    return {};
  }

  std::string fresh_url() { return ground_->fresh_url(); }
  Result<RawFigure> raw(const std::string& url, std::size_t batch, std::size_t rows) {
    return ground_->copy_log(url, batch, rows);
  }
  void clean(const std::string& url) { ground_->clean(url); }
  static void set_raw(Figure& figure, double raw) {
    figure.raw = raw;
    const double value = figure.steps_s.value_or(figure.secs.value_or(0));
    figure.ratio = raw > 0 ? value / raw : 0;
  }
  // Steps that were recorded in a store that nobody has open, by the number of their run.
  Result<std::map<std::size_t, std::size_t>> recorded_steps(const std::string& url,
                                                            const std::string& prefix,
                                                            const std::vector<std::size_t>& runs) {
    std::map<std::size_t, std::size_t> recorded;
    PAWL_TRY_ASSIGN(const auto store, ground_->look(url));
    for (const std::size_t run : runs) {
      PAWL_TRY_ASSIGN(const auto row, store->find_run(prefix + std::to_string(run), std::nullopt));
      if (!row) {
        continue;
      }
      std::size_t& steps = recorded[run];
      PAWL_TRY(store->read_log(row->key, 1, [&](const replay::Entry& entry) -> Result<void> {
        steps += entry.kind == replay::EntryKind::kOperationCompleted ? 1 : 0;
        return {};
      }));
    }
    return recorded;
  }

  // Says how far it is, beside what is being done.
  std::function<void(std::size_t)> counting(const std::string& what, std::size_t runs) {
    return [this, what, runs](std::size_t ended) {
      progress_(what + ": " + std::to_string(ended) + " of " + std::to_string(runs));
    };
  }

  static Result<std::vector<Figure>> in_rounds(
      std::size_t rounds, const std::function<Result<Figure>(std::size_t round)>& measure);
  Result<void> w1();
  Result<Figure> w1_round(std::size_t concurrency, std::size_t round, std::size_t rounds);
  Result<void> w2();
  Result<void> w2_recovery(std::size_t steps);
  Result<void> w3();
  Result<void> w4();
  Result<void> w4_with(std::size_t runs);
  Result<void> w5();
  Result<void> w6();
  Result<void> w7();
  Result<Figure> w7_round(bool is_shared, std::size_t round, std::size_t rounds);
  Result<void> w8();
  Result<void> start_sleepers(const std::string& url, const std::string& prefix, std::size_t runs,
                              const std::function<void(std::size_t)>& on_tick);
  Result<void> w9();
  Result<void> run_victim(const std::vector<std::string>& arguments);
  Result<void> outlive_victim(const std::string& url);

  const BenchOptions& options_;
  Workspace& workspace_;
  std::function<Result<void>(const Figure&)> report_;
  std::function<void(const std::string&)> progress_;
  std::unique_ptr<Ground> ground_;
};

// Machines are noisy: the round with the median ratio stands for all of them. Sorted by ratio; the
// one in the middle also says how far they were apart.
Result<std::vector<Figure>> Bench::in_rounds(
    std::size_t rounds, const std::function<Result<Figure>(std::size_t round)>& measure) {
  std::vector<Figure> figures;
  for (std::size_t round = 1; round <= rounds; ++round) {
    PAWL_TRY_ASSIGN(Figure figure, measure(round));
    figures.push_back(std::move(figure));
  }
  std::sort(figures.begin(), figures.end(),
            [](const Figure& a, const Figure& b) { return a.ratio < b.ratio; });
  Figure& median = figures[rounds / 2];
  median.more.emplace_back("rounds", static_cast<double>(rounds));
  median.more.emplace_back("ratio_lowest", figures.front().ratio);
  median.more.emplace_back("ratio_highest", figures.back().ratio);
  return figures;
}

Result<void> Bench::w1() {
  std::vector<std::size_t> levels = {1, 16, 128};
  if (options_.concurrency) {
    levels = {*options_.concurrency};
  }
  const bool is_long = w1_runs() * w1_steps() > 100'000;
  for (const std::size_t concurrency : levels) {
    const std::size_t rounds = is_long ? 1 : concurrency == 1 ? 3 : 5;
    PAWL_TRY_ASSIGN(std::vector<Figure> figures, in_rounds(rounds, [&](std::size_t round) {
                      return w1_round(concurrency, round, rounds);
                    }));
    Figure& median = figures[rounds / 2];
    if (concurrency == 1) {
      const bool is_file = ground_->is_file();  // Else a round trip belongs to it.
      median.bar =
          std::string("a step costs at most ") + (is_file ? "1.3" : "1.5") + " raw commits";
      median.is_met = 1 / median.ratio <= (is_file ? 1.3 : 1.5);
      median.more.emplace_back("raw_commits_per_step", 1 / median.ratio);
    } else if (concurrency == 128) {
      const bool is_file = ground_->is_file();
      median.bar = is_file ? "40,000 steps/s and half of raw" : "40 % of raw";
      median.is_met = is_file ? median.steps_s.value_or(0) >= 40'000 && median.ratio >= 0.5
                              : median.ratio >= 0.4;
    }
    PAWL_TRY(report_(median));
  }
  return {};
}

Result<Figure> Bench::w1_round(std::size_t concurrency, std::size_t round, std::size_t rounds) {
  const std::size_t runs = w1_runs();
  const std::size_t steps = w1_steps();
  const std::string what = "w1: " + std::to_string(runs) + " runs of " + std::to_string(steps) +
                           " steps, " + std::to_string(concurrency) + " at a time, round " +
                           std::to_string(round) + " of " + std::to_string(rounds);
  progress_(what);
  const std::string url = fresh_url();
  Figure figure;
  figure.workload = "w1";
  figure.variant = "concurrency=" + std::to_string(concurrency);
  observed.recorder.prepare(runs, steps);
  {
    Subject subject(url);
    Load load = steps_load("w1-", first_numbers(runs), steps, concurrency);
    load.on_tick = counting(what, runs);
    const double cpu = cpu_seconds();
    const auto started = Clock::now();
    PAWL_TRY(subject.run(load));
    const double secs = seconds_since(started);
    figure.steps_s = static_cast<double>(runs * steps) / secs;
    figure.more.emplace_back("wall_s", secs);
    figure.more.emplace_back("cpu_us_per_step",
                             (cpu_seconds() - cpu) * 1e6 / static_cast<double>(runs * steps));
  }
  const std::vector<double> gaps = observed.recorder.gaps_ms();
  figure.p50_ms = at(gaps, 0.5);
  figure.p99_ms = at(gaps, 0.99);
  progress_(what + ": the raw limit");
  PAWL_TRY_ASSIGN(const RawFigure limit, raw(url, concurrency, runs * (steps + 1)));
  set_raw(figure, concurrency == 1 ? static_cast<double>(limit.commits) / limit.secs
                                   : static_cast<double>(runs * steps) / limit.secs);
  figure.more.emplace_back("raw_commit_ms", limit.commit_ms());
  PAWL_TRY_ASSIGN(const double disk_mb, ground_->disk_mb(url));
  figure.more.emplace_back("disk_bytes_per_step",
                           disk_mb * 1e6 / static_cast<double>(runs * steps));
  clean(url);
  return figure;
}

Result<void> Bench::w2() {
  std::vector<std::size_t> lengths = {5000, options_.quick ? std::size_t{20'000} : 100'000};
  if (options_.steps) {
    lengths = {*options_.steps};
  }
  for (const std::size_t steps : lengths) {
    const std::string what = "w2: one run of " + std::to_string(steps) + " steps";
    progress_(what);
    const std::string url = fresh_url();
    Figure figure;
    figure.workload = "w2";
    figure.variant = "steps=" + std::to_string(steps);
    observed.recorder.prepare(1, steps);
    observed.executed_steps = 0;
    {
      Subject subject(url);
      Load load = steps_load("w2-", {0}, steps, 1);
      load.on_tick = [&](std::size_t) { counting(what, steps)(observed.executed_steps); };
      const auto started = Clock::now();
      PAWL_TRY(subject.run(load));
      const double secs = seconds_since(started);
      figure.steps_s = static_cast<double>(steps) / secs;
      figure.more.emplace_back("wall_s", secs);
    }
    const std::vector<double> gaps = observed.recorder.gaps_ms();
    figure.p50_ms = at(gaps, 0.5);
    figure.p99_ms = at(gaps, 0.99);
    const std::vector<Clock::time_point>& times = observed.recorder.times(0);
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
    set_raw(figure, limit.rows_s());
    figure.bar = "the last 500 steps cost what the first 500 do (within 1.5)";
    figure.is_met = last_ms <= 1.5 * first_ms;
    clean(url);
    PAWL_TRY(report_(figure));
    PAWL_TRY(w2_recovery(steps));
  }
  return {};
}

// Starts this program again, for a part that ends by its being killed.
Result<void> Bench::run_victim(const std::vector<std::string>& arguments) {
  std::vector<std::string> words = {options_.program, std::string(kVictim)};
  words.insert(words.end(), arguments.begin(), arguments.end());
  PAWL_TRY_ASSIGN(Workspace::Child victim, workspace_.start(std::move(words)));
  const int status = workspace_.wait(victim);
  if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL) {
    return make_error(ErrorCode::kInvalidState, "the process to be killed ended by itself");
  }
  return {};
}

// How long a lease is, is no figure.
Result<void> Bench::outlive_victim(const std::string& url) {
  progress_("until what was killed is free");
  return ground_->outlive(url);
}

// The raw limit is what SQLite needs to read the entries that are recorded.
Result<void> Bench::w2_recovery(std::size_t steps) {
  const std::size_t half = steps / 2;
  progress_("w2: recovery of a run killed after " + std::to_string(half) + " steps");
  const std::string url = ground_->fast(fresh_url());
  PAWL_TRY(run_victim({url, "w2", std::to_string(steps), std::to_string(half + 1)}));
  PAWL_TRY_ASSIGN(auto recorded, recorded_steps(url, "w2-", {0}));
  PAWL_TRY(outlive_victim(url));
  Figure figure;
  figure.workload = "w2";
  figure.variant = "recovery of " + std::to_string(half) + " steps";
  observed.recorder.prepare(1, steps);
  const auto started = Clock::now();
  {
    Subject subject(url);
    PAWL_TRY(subject.run(steps_load("w2-", {0}, steps, 1)));
  }
  const std::vector<Clock::time_point>& times = observed.recorder.times(0);
  if (times.empty()) {
    return make_error(ErrorCode::kInvalidState, "w2: nothing was left to do after the kill");
  }
  figure.secs = std::chrono::duration<double>(times.front() - started).count();
  figure.p50_ms = figure.p99_ms = *figure.secs * 1000;
  PAWL_TRY_ASSIGN(const RawFigure limit, ground_->read_log(url, recorded[0]));
  set_raw(figure, limit.rows == 0 ? 0 : limit.secs);
  figure.more.emplace_back("recorded", static_cast<double>(recorded[0]));
  figure.more.emplace_back(
      "doubled", static_cast<double>(times.size() + recorded[0]) - static_cast<double>(steps));
  figure.bar = "100,000 steps in a second";
  figure.is_met = *figure.secs <= 1.0 * static_cast<double>(half) / 100'000 + 0.1;
  clean(url);
  return report_(figure);
}

Result<void> Bench::w3() {
  const std::size_t steps = options_.steps.value_or(1000);
  std::vector<double> times;
  RawFigure limit;
  for (int round = 0; round < 5; ++round) {
    progress_("w3: one run with " + std::to_string(steps) + " parallel steps, round " +
              std::to_string(round + 1) + " of 5");
    const std::string url = fresh_url();
    observed.recorder.prepare(0, 0);
    {
      Subject subject(url);
      Load load = steps_load("w3-", {0}, steps, 1);
      load.kind = "parallel";
      const auto started = Clock::now();
      PAWL_TRY(subject.run(load));
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
  set_raw(figure, limit.secs);
  figure.bar = "1,000 steps in 100 ms";
  figure.is_met = *figure.secs <= 0.1 * std::max(1.0, static_cast<double>(steps) / 1000);
  return report_(figure);
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

// The percentiles are how late a sleeper was done: from the answer to its start, without the sleep.
// What a sleeper takes of memory is seen when most of them sleep, just before the first one wakes.
Result<void> Bench::w4_with(std::size_t runs) {
  constexpr double kSleepSecs = 5;
  const std::string what = "w4: " + std::to_string(runs) + " runs that sleep 5 s";
  progress_(what);
  const std::string url = fresh_url();
  Figure figure;
  figure.workload = "w4";
  figure.variant = "sleepers=" + std::to_string(runs);
  std::vector<double> late_ms(runs, -1);  // Written to, so that it is in memory before the work.
  std::atomic<std::size_t> begun = 0;
  std::atomic<double> started_all = 0;
  const double before = resident_bytes();
  double asleep = 0;
  double asleep_bytes = 0;
  double bytes_max = 0;
  double idle_from = 0;  // When all slept, in seconds, and what had been used until then.
  double idle_from_cpu = 0;
  double idle_secs = 0;
  double idle_cpu = 0;
  {
    Subject subject(url);
    const auto started = Clock::now();
    Load load;
    load.kind = "sleep";
    load.prefix = "w4-";
    load.numbers = first_numbers(runs);
    load.open_max = runs;
    load.input = [](std::size_t) { return std::to_string(static_cast<int>(kSleepSecs * 1000)); };
    load.on_start = [&](std::size_t run) {
      late_ms[run] = seconds_since(started) * 1000;
      if (++begun == runs) {
        started_all = seconds_since(started);
      }
    };
    load.on_end = [&](std::size_t run) {
      const double lasted = seconds_since(started) * 1000 - late_ms[run];
      late_ms[run] = std::max(0.0, lasted - kSleepSecs * 1000);
    };
    load.on_tick = [&](std::size_t ended) {
      progress_(what + ": " + std::to_string(begun) + " started, " + std::to_string(ended) +
                " done");
      const double bytes = resident_bytes() - before;
      bytes_max = std::max(bytes_max, bytes);
      const auto turns = static_cast<double>(subject.engine().figures().turns);
      if (ended > 0) {
        return;
      }
      asleep = std::min(turns, static_cast<double>(runs));  // The first may be waking.
      asleep_bytes = bytes;
      if (turns >= static_cast<double>(runs)) {
        if (idle_from == 0) {
          idle_from = seconds_since(started);
          idle_from_cpu = cpu_seconds();
        }
        idle_secs = seconds_since(started) - idle_from;
        idle_cpu = cpu_seconds() - idle_from_cpu;
      }
    };
    PAWL_TRY(subject.run(load));
    figure.secs = seconds_since(started);
    figure.more.emplace_back("started_s", started_all);
    figure.more.emplace_back("over_s", *figure.secs - started_all - kSleepSecs);
    figure.more.emplace_back("asleep_at_once", asleep);
    figure.more.emplace_back("bytes_per_sleeper", asleep > 0 ? asleep_bytes / asleep : 0);
    figure.more.emplace_back("peak_mb", bytes_max / 1e6);
    figure.more.emplace_back("evictions",
                             static_cast<double>(subject.engine().figures().evictions));
    if (idle_secs < 1) {
      // They never all slept for long enough: what is used when all are done.
      const double cpu = cpu_seconds();
      usleep(1'000'000);
      idle_cpu = cpu_seconds() - cpu;
      idle_secs = 1;
    }
    figure.more.emplace_back("idle_cpu_percent", idle_cpu / idle_secs * 100);
  }
  std::sort(late_ms.begin(), late_ms.end());
  figure.p50_ms = at(late_ms, 0.5);
  figure.p99_ms = at(late_ms, 0.99);
  PAWL_TRY_ASSIGN(const double disk_mb, ground_->disk_mb(url));
  figure.more.emplace_back("disk_mb", disk_mb);
  progress_(what + ": the raw limit");
  PAWL_TRY_ASSIGN(const RawFigure limit, raw(url, 1000, 3 * runs));
  set_raw(figure, kSleepSecs + limit.secs);
  if (runs <= 10'000) {
    figure.bar = "10,000 done within 6 s";
    figure.is_met = *figure.secs <= 6;
  }
  clean(url);
  return report_(figure);
}

Result<void> Bench::w5() {
  const std::size_t count = options_.steps.value_or(options_.quick ? 300 : 2000);
  const std::string what = "w5: from a signal to the code that waits for it";
  progress_(what);
  const std::string url = fresh_url();
  std::vector<double> delays;
  {
    Subject subject(url);
    engine::StartRequest request;
    request.kind = "signals";
    request.id = "w5";
    request.input = std::to_string(count);
    const auto answer = [&](const auto& ask) -> Result<void> {
      auto given = std::make_shared<std::pair<engine::Latch, std::optional<Error>>>();
      ask([given](const auto& result) {
        if (!result) {
          given->second = result.error();
        }
        given->first.set();
      });
      PAWL_TRY(subject.wait(given->first));
      return given->second ? Result<void>(*given->second) : Result<void>();
    };
    PAWL_TRY(answer([&](const auto& done) { subject.engine().start_run(request, done); }));
    for (std::size_t i = 0; i < count; ++i) {
      // It waits again once the turn before is written.
      while (true) {
        PAWL_TRY_ASSIGN(const auto row, subject.engine().store().find_run("w5", std::nullopt));
        if (row && row->status == store::RunStatus::kWaiting) {
          break;
        }
        usleep(200);
      }
      if (i % 100 == 0) {
        counting(what, count)(i);
      }
      observed.continued_ns = 0;
      const std::int64_t sent = now_ns();
      PAWL_TRY(answer(
          [&](const auto& done) { subject.engine().signal("w5", "go", "null", "", "", done); }));
      while (observed.continued_ns == 0) {
        usleep(20);
      }
      delays.push_back(static_cast<double>(observed.continued_ns - sent) * 1e-6);
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
  set_raw(figure, limit.commit_ms() / 1000);
  const bool is_file = ground_->is_file();  // Else round trips belong to it, too.
  figure.bar = std::string("p50 under ") + (is_file ? "two" : "four") + " raw commits";
  figure.is_met = figure.ratio < (is_file ? 2 : 4);
  clean(url);
  return report_(figure);
}

std::map<std::pair<std::size_t, std::size_t>, int> read_steps(const std::string& path) {
  std::map<std::pair<std::size_t, std::size_t>, int> counts;
  std::ifstream file(path);
  std::size_t run = 0;
  std::size_t number = 0;
  while (file >> run >> number) {
    ++counts[{run, number}];
  }
  return counts;
}

// After the kill, whoever uses the engine asks for what he had no answer to, and for what he had
// not come to yet: the figure is the time until all runs of the workload are done.
Result<void> Bench::w6() {
  const std::size_t runs = w1_runs();
  const std::size_t steps = w1_steps();
  const std::size_t concurrency = options_.concurrency.value_or(128);
  const std::string what = "w6: w1 killed at half and started again";
  progress_(what);
  const std::string url = fresh_url();
  const std::string starts_path = (workspace_.directory() / "w6.starts").string();
  PAWL_TRY(run_victim({url, "w6", std::to_string(steps),
                       std::to_string(std::max<std::size_t>(runs * steps / 2, 1)),
                       std::to_string(runs), std::to_string(concurrency), starts_path}));
  std::vector<std::size_t> acknowledged;
  std::vector<bool> is_acknowledged(runs, false);
  {
    std::ifstream file(starts_path);
    for (std::size_t run = 0; file >> run && run < runs;) {
      acknowledged.push_back(run);
      is_acknowledged[run] = true;
    }
  }
  std::vector<std::size_t> others;
  for (std::size_t run = 0; run < runs; ++run) {
    if (!is_acknowledged[run]) {
      others.push_back(run);
    }
  }
  PAWL_TRY_ASSIGN(const auto recorded, recorded_steps(url, "w6-", first_numbers(runs)));
  PAWL_TRY(outlive_victim(url));
  double lost = 0;
  std::size_t open = 0;
  for (const std::size_t run : acknowledged) {
    const auto found = recorded.find(run);
    lost += found == recorded.end() ? 1 : 0;
    open += found != recorded.end() && found->second < steps ? 1 : 0;
  }
  Figure figure;
  figure.workload = "w6";
  figure.variant = "killed at half, " + std::to_string(acknowledged.size()) + " acknowledged";
  observed.recorder.prepare(runs, steps);
  observed.executed_steps = 0;
  const std::string again_path = (workspace_.directory() / "w6").string() + ".again";
  std::ofstream again(again_path);
  std::mutex mutex;
  std::vector<double> done_ms;
  std::size_t left = acknowledged.size();
  std::size_t wrong = 0;
  engine::Latch all_done;
  if (left == 0) {
    all_done.set();
  }
  observed.step_file = &again;
  const auto started = Clock::now();
  const Result<void> finished = [&]() -> Result<void> {
    Subject subject(url);
    for (const std::size_t run : acknowledged) {
      subject.engine().wait(
          "w6-" + std::to_string(run), [&](const Result<engine::RunOutcome>& outcome) {
            const std::lock_guard<std::mutex> lock(mutex);
            wrong += outcome && outcome->status == store::RunStatus::kCompleted ? 0 : 1;
            done_ms.push_back(seconds_since(started) * 1000);
            if (--left == 0) {
              all_done.set();
            }
          });
    }
    Load load = steps_load("w6-", others, steps, concurrency);
    load.on_end = [&](std::size_t) {
      const std::lock_guard<std::mutex> lock(mutex);
      done_ms.push_back(seconds_since(started) * 1000);
    };
    load.on_tick = [&](std::size_t) {
      const std::lock_guard<std::mutex> lock(mutex);
      counting(what, runs)(done_ms.size());
    };
    PAWL_TRY(subject.run(load));
    // A run that is lost never ends: as long as steps are executed, none is given up.
    std::uint64_t seen = observed.executed_steps;
    auto last_change = Clock::now();
    bool is_given_up = false;
    while (!all_done.is_set() && !is_given_up) {
      usleep(1000);
      if (seen != observed.executed_steps) {
        seen = observed.executed_steps;
        last_change = Clock::now();
      }
      is_given_up = seconds_since(last_change) > 60;
    }
    figure.secs = seconds_since(started);
    subject.stop();
    return {};
  }();
  observed.step_file = nullptr;
  again.close();
  PAWL_TRY(finished);
  lost += static_cast<double>(left + wrong);
  double resumed = figure.secs.value_or(0);  // Until the first step of a run from before the kill.
  for (const std::size_t run : acknowledged) {
    for (const Clock::time_point& time : observed.recorder.times(run)) {
      resumed = std::min(resumed, std::chrono::duration<double>(time - started).count());
    }
  }
  double doubled = 0;
  for (const auto& [place, count] : read_steps(again_path)) {
    const auto found = recorded.find(place.first);
    const bool was_recorded = found != recorded.end() && place.second < found->second;
    doubled += was_recorded || count > 1 ? 1 : 0;
  }
  std::sort(done_ms.begin(), done_ms.end());
  figure.p50_ms = at(done_ms, 0.5);
  figure.p99_ms = at(done_ms, 0.99);
  figure.more.emplace_back("open_at_the_kill", static_cast<double>(open));
  figure.more.emplace_back("resumed_after_s", resumed);
  figure.more.emplace_back("lost", lost);
  figure.more.emplace_back("doubled", doubled);
  figure.bar = "nothing lost or doubled, resumed within 1 s";
  figure.is_met = lost == 0 && doubled == 0 && resumed <= 1;
  PAWL_TRY_ASSIGN(const RawFigure limit,
                  raw(url, concurrency, std::max<std::size_t>(observed.executed_steps, 1)));
  set_raw(figure, limit.secs);
  clean(url);
  return report_(figure);
}

Result<void> Bench::w7() {
  for (const bool is_shared : {false, true}) {
    constexpr std::size_t kRounds = 5;
    PAWL_TRY_ASSIGN(std::vector<Figure> figures, in_rounds(kRounds, [&](std::size_t round) {
                      return w7_round(is_shared, round, kRounds);
                    }));
    Figure& median = figures[kRounds / 2];
    median.p99_ms =
        std::max_element(figures.begin(), figures.end(), [](const Figure& a, const Figure& b) {
          return a.p50_ms < b.p50_ms;
        })->p50_ms;
    if (!ground_->is_file() && !is_shared) {
      median.bar = "90 % of one process";
      median.is_met = median.ratio >= 0.9;
    }
    PAWL_TRY(report_(median));
  }
  return {};
}

// The limit is what one process reaches. The others have as much to do as it has, or share it.
Result<Figure> Bench::w7_round(bool is_shared, std::size_t round, std::size_t rounds) {
  const std::size_t processes = options_.processes.value_or(4);
  const std::size_t concurrency = options_.concurrency.value_or(128);
  Figure figure;
  figure.workload = "w7";
  figure.variant = "processes=" + std::to_string(processes) + ", " + std::to_string(concurrency) +
                   (is_shared ? " in all" : " each");
  FleetLoad load;
  load.program = options_.program;
  load.steps = w1_steps();
  double one = 0;
  for (const std::size_t count : {std::size_t{1}, processes}) {
    progress_("w7: runs of " + std::to_string(load.steps) + " steps by " + std::to_string(count) +
              " processes, round " + std::to_string(round) + " of " + std::to_string(rounds));
    load.url = fresh_url();
    load.processes = count;
    load.runs = w1_runs() * (is_shared ? 1 : count);
    load.concurrency = concurrency * (is_shared ? 1 : count);
    PAWL_TRY_ASSIGN(const double secs, run_fleet(workspace_, load));
    clean(load.url);
    figure.steps_s = static_cast<double>(load.runs * load.steps) / secs;
    figure.p50_ms = secs * 1000;
    one = count == 1 ? *figure.steps_s : one;
  }
  set_raw(figure, one);
  return figure;
}

// For ten days.
Result<void> Bench::start_sleepers(const std::string& url, const std::string& prefix,
                                   std::size_t runs,
                                   const std::function<void(std::size_t)>& on_tick) {
  Subject subject(url);
  Load load;
  load.kind = "sleep";
  load.prefix = prefix;
  load.numbers = first_numbers(runs);
  load.input = [](std::size_t) { return "864000000"; };
  load.on_tick = on_tick;
  return subject.start(load);
}

// Each size is reached by more runs that sleep for long. The limit is what the first size costs.
Result<void> Bench::w8() {
  constexpr std::size_t kClaimed = 2000;
  constexpr std::size_t kLimit = 100;
  const std::size_t most = options_.runs.value_or(options_.quick ? 10'000 : 100'000);
  const std::string url = ground_->fast(fresh_url());
  double first_ms = 0;
  std::size_t open = 0;
  std::vector<std::size_t> sizes;
  for (std::size_t size = 1000; size < most; size *= 10) {
    sizes.push_back(size);
  }
  sizes.push_back(most);
  for (const std::size_t size : sizes) {
    const std::string what = "w8: claims among " + std::to_string(size) + " open runs";
    progress_(what);
    PAWL_TRY(start_sleepers(url, "w8-" + std::to_string(size) + "-", size - open,
                            [&](std::size_t begun) { counting(what, size)(open + begun); }));
    open = size;
    PAWL_TRY_ASSIGN(const auto store, ground_->open(url));
    PAWL_TRY_ASSIGN(
        const std::vector<double> claims_ms,
        measure_claims(*store, "sleep", "w8-due-" + std::to_string(size) + "-", kClaimed, kLimit));
    Figure figure;
    figure.workload = "w8";
    figure.variant = "open=" + std::to_string(size);
    figure.p50_ms = at(claims_ms, 0.5);
    figure.p99_ms = at(claims_ms, 0.99);
    figure.secs = figure.p50_ms / 1000;
    first_ms = first_ms == 0 ? figure.p50_ms : first_ms;
    set_raw(figure, first_ms / 1000);
    figure.more.emplace_back("claimed_at_once", static_cast<double>(kLimit));
    if (size > sizes.front()) {
      figure.bar = "a claim costs what it does among 1,000 (within 1.5)";
      figure.is_met = figure.ratio <= 1.5;
    }
    PAWL_TRY(report_(figure));
  }
  clean(url);
  return {};
}

// What a worker that has nothing to do asks of the server.
Result<void> Bench::w9() {
  const bool is_asked_for = !options_.workloads.empty();
  if (ground_->is_file() && is_asked_for) {
    return make_error(ErrorCode::kInvalidArgument,
                      "w9 counts what a server is asked: --store postgres://… has to name one");
  }
  if (ground_->is_file() || (options_.quick && !is_asked_for)) {
    return {};
  }
  constexpr double kWatchedSecs = 600;
  constexpr double kStatementsHourMax = 60;
  const std::size_t runs = options_.runs.value_or(100'000);
  const std::string what = "w9: an idle worker, " + std::to_string(runs) + " runs sleep";
  const std::string url = ground_->fast(fresh_url());
  PAWL_TRY(start_sleepers(url, "w9-", runs, counting(what, runs)));
  Figure figure;
  figure.workload = "w9";
  figure.variant = "idle, sleepers=" + std::to_string(runs);
  {
    Subject subject(url);
    const auto watch = [&](double secs, const std::string& doing) {
      engine::Latch over;
      const auto started = Clock::now();
      return subject.wait(over, [&] {
        const double passed = seconds_since(started);
        progress_(what + ": " + doing + ", " + std::to_string(static_cast<int>(passed)) + " of " +
                  std::to_string(static_cast<int>(secs)) + " s");
        if (passed >= secs) {
          over.set();
        }
      });
    };
    PAWL_TRY(watch(10, "it comes to rest"));
    const std::uint64_t before = ground_->statements();
    const double cpu = cpu_seconds();
    const auto started = Clock::now();
    PAWL_TRY(watch(kWatchedSecs, "its statements are counted"));
    figure.secs = seconds_since(started);
    const double an_hour =
        static_cast<double>(ground_->statements() - before) * 3600 / *figure.secs;
    figure.more.emplace_back("statements_an_hour", an_hour);
    figure.more.emplace_back("idle_cpu_percent", (cpu_seconds() - cpu) * 100 / *figure.secs);
    figure.bar = "at most 60 statements an hour";
    figure.is_met = an_hour <= kStatementsHourMax;
  }
  set_raw(figure, kWatchedSecs);
  clean(url);
  return report_(figure);
}

}  // namespace

Result<void> run_bench(const BenchOptions& options, Workspace& workspace,
                       const std::function<Result<void>(const Figure&)>& report,
                       const std::function<void(const std::string&)>& progress) {
  try {
    return Bench(options, workspace, report, progress).run();
  } catch (const Exception& error) {
    return make_error(ErrorCode::kStoreIo, error.what());
  }
}

// URL, workload, steps, the step to die in; w6 also: runs, concurrency, a file for the numbers of
// the runs whose start was acknowledged.
int run_bench_victim(const std::vector<std::string>& arguments) {
  const auto number = [&](std::size_t index) { return std::stoull(arguments.at(index)); };
  const bool is_w6 = arguments.at(1) == "w6";
  const std::size_t steps = number(2);
  const std::size_t runs = is_w6 ? number(4) : 1;
  std::ofstream starts_out(is_w6 ? arguments.at(6) : "/dev/null");
  observed.recorder.prepare(runs, steps);
  observed.last_step = number(3);
  Load load = steps_load(is_w6 ? "w6-" : "w2-", first_numbers(runs), steps, is_w6 ? number(5) : 1);
  load.on_start = [&](std::size_t run) { starts_out << run << "\n" << std::flush; };
  Subject subject(arguments.at(0));
  const Result<void> done = subject.run(load);
  if (!done) {
    std::fprintf(stderr, "pawl bench: %s\n", done.error().message.c_str());
  }
  return 1;
}

}  // namespace pawl::workloads

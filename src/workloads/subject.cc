#include "workloads/subject.h"

#include <unistd.h>

#include <csignal>
#include <numeric>
#include <optional>
#include <utility>

#include "engine/thread_environment.h"
#include "pawl/pawl.hpp"
#include "sdk/client.h"

namespace pawl::workloads {

std::int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now().time_since_epoch())
      .count();
}

namespace {

int step(int run, int number) {
  observed.recorder.note(static_cast<std::size_t>(run));
  if (observed.executed_steps.fetch_add(1, std::memory_order_relaxed) + 1 == observed.last_step) {
    kill(getpid(), SIGKILL);
  }
  if (observed.step_file != nullptr) {
    const std::lock_guard<std::mutex> lock(observed.step_file_mutex);
    *observed.step_file << run << " " << number << "\n" << std::flush;
  }
  return number;
}

// `run` names the run in the observed.recorder.
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
    observed.continued_ns = now_ns();
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

}  // namespace

std::vector<std::size_t> first_numbers(std::size_t count) {
  std::vector<std::size_t> numbers(count);
  std::iota(numbers.begin(), numbers.end(), std::size_t{0});
  return numbers;
}

Load steps_load(const std::string& prefix, std::vector<std::size_t> numbers, std::size_t steps,
                std::size_t concurrency) {
  Load load;
  load.kind = "steps";
  load.prefix = prefix;
  load.numbers = std::move(numbers);
  load.open_max = concurrency;
  load.input = [steps](std::size_t run) {
    return "[" + std::to_string(run) + "," + std::to_string(steps) + "]";
  };
  return load;
}

class Subject::Trouble {
 public:
  void set(std::string_view what) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (what_.empty()) {
      what_ = what;
    }
  }
  Result<void> get() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return what_.empty() ? Result<void>() : make_error(ErrorCode::kStoreIo, what_);
  }

 private:
  std::mutex mutex_;
  std::string what_;
};

struct Subject::Loading {
  Load load;
  std::mutex mutex;
  std::size_t next = 0;  // In load.numbers.
  std::size_t starting = 0;
  std::size_t open = 0;  // With those that are starting.
  std::atomic<std::size_t> ended = 0;
  std::optional<Error> error;
  engine::Latch done;

  // True: a start is due, and is counted as under way.
  bool may_start() {
    const std::lock_guard<std::mutex> lock(mutex);
    if (error || next == load.numbers.size() || starting == load.starts_max ||
        open == load.open_max) {
      return false;
    }
    ++starting;
    ++open;
    return true;
  }
  void fail(const Error& what) {
    {
      const std::lock_guard<std::mutex> lock(mutex);
      if (!error) {
        error = what;
      }
    }
    done.set();
  }
};

Subject::Subject(const std::string& url) : trouble_(std::make_shared<Trouble>()) {
  EngineOptions options;
  options.on_error = [trouble = trouble_](std::string_view what) { trouble->set(what); };
  environment_ = engine::make_thread_environment();
  client_ = std::make_unique<detail::Client>(environment_, make_registry(), options);
  client_->open(detail::open_store(url, options),
                {std::make_shared<detail::Settings>(), false, {}});
}

Subject::~Subject() = default;

engine::Engine& Subject::engine() { return client_->engine(); }

void Subject::stop() { client_->stop(); }

Result<void> Subject::wait(engine::Latch& is_done, const std::function<void()>& on_tick) {
  while (!environment_->wait(is_done, 100)) {
    PAWL_TRY(trouble_->get());
    if (on_tick) {
      on_tick();
    }
  }
  return trouble_->get();
}

Result<void> Subject::run(const Load& load) {
  const auto loading = std::make_shared<Loading>();
  loading->load = load;
  while (loading->may_start()) {
    start_next(loading);
  }
  if (load.numbers.empty()) {
    return {};
  }
  PAWL_TRY(wait(loading->done, [&] {
    if (load.on_tick) {
      load.on_tick(loading->ended);
    }
  }));
  const std::lock_guard<std::mutex> lock(loading->mutex);
  const std::optional<Error> error = loading->error;
  return error ? Result<void>(*error) : Result<void>();
}

Result<void> Subject::start(Load load) {
  const std::size_t count = load.numbers.size();
  const std::uint64_t turns_before = engine().figures().turns;
  const auto loading = std::make_shared<Loading>();
  const auto on_tick = load.on_tick;
  std::size_t started = 0;  // On the loop.
  load.on_start = [&started, loading = loading.get(), count](std::size_t) {
    if (++started == count) {
      loading->done.set();
    }
  };
  load.open_max = count;
  loading->load = std::move(load);
  while (loading->may_start()) {
    start_next(loading);
  }
  const auto tick = [&] {
    if (on_tick) {
      on_tick(engine().figures().turns - turns_before);
    }
  };
  PAWL_TRY(wait(loading->done, tick));
  engine::Latch never;
  while (engine().figures().turns - turns_before < count) {
    environment_->wait(never, 100);
    PAWL_TRY(trouble_->get());
    tick();
  }
  const std::lock_guard<std::mutex> lock(loading->mutex);
  const std::optional<Error> error = loading->error;
  return error ? Result<void>(*error) : Result<void>();
}

void Subject::start_next(const std::shared_ptr<Loading>& loading) {
  std::size_t number = 0;
  {
    const std::lock_guard<std::mutex> lock(loading->mutex);
    number = loading->load.numbers[loading->next++];
  }
  engine::StartRequest request;
  request.kind = loading->load.kind;
  request.id = loading->load.prefix + std::to_string(number);
  request.input = loading->load.input(number);
  engine().start_run(std::move(request), [this, loading,
                                          number](const Result<engine::StartedRun>& started) {
    if (!started) {
      loading->fail(started.error());
      return;
    }
    if (loading->load.on_start) {
      loading->load.on_start(number);
    }
    engine().wait(started->id, [this, loading, number](const Result<engine::RunOutcome>& outcome) {
      run_ended(loading, number, outcome);
    });
    {
      const std::lock_guard<std::mutex> lock(loading->mutex);
      --loading->starting;
    }
    if (loading->may_start()) {
      start_next(loading);
    }
  });
}

void Subject::run_ended(const std::shared_ptr<Loading>& loading, std::size_t number,
                        const Result<engine::RunOutcome>& outcome) {
  if (!outcome) {
    loading->fail(outcome.error());
    return;
  }
  if (outcome->status != store::RunStatus::kCompleted) {
    loading->fail(make_error(ErrorCode::kInvalidState,
                             "run '" + loading->load.prefix + std::to_string(number) +
                                 "' ended as " + std::string(store::status_name(outcome->status)) +
                                 ": " + outcome->payload));
    return;
  }
  if (loading->load.on_end) {
    loading->load.on_end(number);
  }
  {
    const std::lock_guard<std::mutex> lock(loading->mutex);
    --loading->open;
  }
  if (++loading->ended == loading->load.numbers.size()) {
    loading->done.set();
  } else if (loading->may_start()) {
    start_next(loading);
  }
}

}  // namespace pawl::workloads

// A live run and the replay of its log are the same: random programs, run as a host runs them,
// with everything that scenarios cannot express: an inbox, operations that take their time, turns.
#include <algorithm>
#include <coroutine>
#include <exception>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "replay/machine.h"
#include "replay/machine_test_support.h"

namespace pawl::replay {
namespace {

using enum EntryKind;

// SplitMix64; rapidcheck supplies the seed, and prints it when something fails.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : state_(seed) {}

  // In [0, below).
  std::size_t roll(std::size_t below) {
    state_ += 0x9e3779b97f4a7c15ULL;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27U)) * 0x94d049bb133111ebULL;
    return static_cast<std::size_t>((z ^ (z >> 31U)) % below);
  }
  bool one_in(std::size_t n) { return roll(n) == 0; }

 private:
  std::uint64_t state_;
};

// --- Programs ----------------------------------------------------------------------------------

struct Step {
  enum class Kind : std::uint8_t {
    kTask,
    kTimer,
    kOperation,
    kSignal,
    kAll,
    kAny,
    kSet,
    kClear,
    kCancel,
    kCompensate,
    kReads,
    kTakeSignal,
    kBranch,
    kJoin,
    kLoop,
  };
  Kind kind{};
  std::string name;
  std::vector<std::size_t> picks;  // Futures of the same list of steps, counted from the last.
  bool shielded = false;
  std::uint64_t times = 0;
  std::uint32_t checkpoint_every = 1;
  std::vector<std::vector<Step>> bodies;
};
using Steps = std::vector<Step>;

// `names` is put before all names: concurrent branches do not share state or mailboxes with loops
// that forget.
Steps random_steps(Dice& dice, int depth, bool with_loops, const std::string& names);

Step random_step(Dice& dice, int depth, bool with_loops, const std::string& names) {
  using Kind = Step::Kind;
  static constexpr Kind kSimple[] = {
      Kind::kTask,      Kind::kTask,   Kind::kTimer,      Kind::kOperation,
      Kind::kOperation, Kind::kSignal, Kind::kAll,        Kind::kAll,
      Kind::kAny,       Kind::kAny,    Kind::kSet,        Kind::kClear,
      Kind::kCancel,    Kind::kReads,  Kind::kCompensate, Kind::kTakeSignal};
  Step step;
  step.name = names + static_cast<char>('a' + dice.roll(3));
  if (depth > 0 && dice.one_in(4)) {
    step.kind = with_loops && dice.one_in(2) ? Kind::kLoop
                : dice.one_in(2)             ? Kind::kBranch
                                             : Kind::kJoin;
    step.times = dice.roll(5);
    step.checkpoint_every = static_cast<std::uint32_t>(1 + dice.roll(3));
    const std::size_t bodies = step.kind == Kind::kJoin ? 2 + dice.roll(2) : 1;
    for (std::size_t i = 0; i < bodies; ++i) {
      const bool is_apart = with_loops && step.kind == Kind::kJoin;
      step.bodies.push_back(
          random_steps(dice, depth - 1, with_loops, is_apart ? names + std::to_string(i) : names));
    }
    return step;
  }
  step.kind = kSimple[dice.roll(std::size(kSimple))];
  step.shielded = dice.one_in(4);
  for (std::size_t picks = 1 + dice.roll(3); picks > 0; --picks) {
    step.picks.push_back(dice.roll(4));
  }
  return step;
}

Steps random_steps(Dice& dice, int depth, bool with_loops, const std::string& names) {
  Steps steps(1 + dice.roll(6));
  for (Step& step : steps) {
    step = random_step(dice, depth, with_loops, names);
  }
  return steps;
}

// Names of signals and state that the steps use.
void collect_names(const Steps& steps, std::set<std::string>& names) {
  for (const Step& step : steps) {
    names.insert(step.name);
    for (const Steps& body : step.bodies) {
      collect_names(body, names);
    }
  }
}

// --- A host ------------------------------------------------------------------------------------

class Task {
 public:
  struct promise_type {
    struct Final {
      bool await_ready() noexcept { return false; }
      std::coroutine_handle<> await_suspend(std::coroutine_handle<promise_type> self) noexcept {
        const std::coroutine_handle<> next = self.promise().continuation;
        return next ? next : std::noop_coroutine();
      }
      void await_resume() noexcept {}
    };
    Task get_return_object() {
      return Task(std::coroutine_handle<promise_type>::from_promise(*this));
    }
    std::suspend_always initial_suspend() noexcept { return {}; }
    Final final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() { std::terminate(); }

    std::coroutine_handle<> continuation;
  };

  explicit Task(std::coroutine_handle<promise_type> handle) : handle_(handle) {}
  Task(Task&& other) noexcept : handle_(std::exchange(other.handle_, {})) {}
  Task(const Task&) = delete;
  Task& operator=(const Task&) = delete;
  Task& operator=(Task&&) = delete;
  ~Task() {
    if (handle_) {
      handle_.destroy();
    }
  }

  void start() { handle_.resume(); }
  bool is_done() const { return handle_.done(); }
  bool await_ready() const noexcept { return false; }
  std::coroutine_handle<> await_suspend(std::coroutine_handle<> awaiting) noexcept {
    handle_.promise().continuation = awaiting;
    return handle_;
  }
  void await_resume() {}

 private:
  std::coroutine_handle<promise_type> handle_;
};

// Runs a program on a machine and notes what the code sees and what is delivered.
class Actor {
 public:
  Actor(const Steps& program, const Store& store)
      : host_(store), root_(run_list(&program, kRootBranch)) {
    collect_names(program, names_);
    root_.start();
  }

  Host& host() { return host_; }
  bool is_done() const { return root_.is_done(); }
  // The operations to be executed.
  std::vector<FutureId>& operations() { return operations_; }
  // Tasks, timers and signal waits that were opened.
  const std::vector<std::pair<CommandKind, FutureId>>& opened() const { return opened_; }
  const std::set<std::string>& names() const { return names_; }
  const std::string& seen() const { return seen_; }
  const std::string& delivered() const { return delivered_; }

  // One delivery; false if there is none.
  bool step() {
    const std::string line = host_.deliver();
    if (line == "nothing") {
      return false;
    }
    delivered_ += line + "\n";
    const std::vector<std::size_t> woken = host_.woken();
    for (const std::size_t await : woken) {
      const std::coroutine_handle<> handle = blocked_.at(await);
      blocked_.erase(await);
      handle.resume();
      while (!ready_.empty()) {
        const std::coroutine_handle<> next = ready_.front();
        ready_.erase(ready_.begin());
        next.resume();
      }
    }
    return true;
  }

 private:
  struct Blocked {
    Actor* actor;
    std::size_t await;

    bool await_ready() const { return actor->host_.status(await) != "blocked"; }
    void await_suspend(std::coroutine_handle<> waiting) const { actor->blocked_[await] = waiting; }
    std::string await_resume() const { return actor->host_.status(await); }
  };
  struct Join {
    std::size_t running = 0;
    std::coroutine_handle<> waiting;

    bool await_ready() const { return running == 0; }
    void await_suspend(std::coroutine_handle<> handle) { waiting = handle; }
    void await_resume() const {}
  };

  void see(const std::string& what) {
    seen_ += std::to_string(host_->now_ms()) + " " + what + "\n";
  }

  Task run_list(const Steps* steps, BranchId branch) {
    std::vector<FutureId> futures;
    for (const Step& step : *steps) {
      Task task = run_step(&step, branch, &futures);
      co_await task;
    }
  }

  Task run_arm(const Steps* steps, BranchId branch, Join* join) {
    Task body = run_list(steps, branch);
    co_await body;
    PAWL_CHECK(host_->close_branch(branch).has_value());
    if (join != nullptr && --join->running == 0 && join->waiting) {
      ready_.push_back(join->waiting);
    }
  }

  Task pass(FutureId checkpoint) {
    if (checkpoint != 0) {
      Blocked blocked{this, host_.all({checkpoint}, true)};
      const std::string status = co_await blocked;
      PAWL_CHECK(status.starts_with("ready"));
    }
  }

  Task run_loop(const Step* step, BranchId branch) {
    const Opened loop = host_.loop(step->checkpoint_every, branch);
    Task started = pass(loop.future);
    co_await started;
    LoopPosition position = host_->loop_position(loop.branch).value();
    std::uint64_t finished = position.finished;
    while (!position.done && finished < step->times) {
      const BranchId iteration = host_->enter_iteration(loop.branch).value();
      Task body = run_list(&step->bodies[0], iteration);
      co_await body;
      if (++finished < step->times) {
        Task passed = pass(host_->continue_loop(loop.branch, std::to_string(finished)).value());
        co_await passed;
      }
    }
    Task passed = pass(host_->end_loop(loop.branch, std::to_string(finished), "\"end\"").value());
    co_await passed;
  }

  Task run_step(const Step* step, BranchId branch, std::vector<FutureId>* futures) {
    using Kind = Step::Kind;
    switch (step->kind) {
      case Kind::kTask:
        futures->push_back(host_.task(step->name, branch));
        opened_.emplace_back(CommandKind::kTask, futures->back());
        break;
      case Kind::kTimer:
        futures->push_back(host_.timer("", branch));
        opened_.emplace_back(CommandKind::kTimer, futures->back());
        break;
      case Kind::kSignal:
        futures->push_back(host_.signal(step->name, branch));
        opened_.emplace_back(CommandKind::kSignal, futures->back());
        break;
      case Kind::kOperation: {
        const Opened opened = host_.open(CommandKind::kOperation, step->name, branch);
        futures->push_back(opened.future);
        if (opened.must_execute) {
          operations_.push_back(opened.future);
        }
        break;
      }
      case Kind::kAll:
      case Kind::kAny: {
        std::vector<FutureId> picked;
        for (const std::size_t pick : step->picks) {
          if (pick < futures->size()) {
            picked.push_back((*futures)[futures->size() - 1 - pick]);
          }
        }
        if (picked.empty()) {
          break;
        }
        Blocked blocked{this, step->kind == Kind::kAll ? host_.all(picked, step->shielded)
                                                       : host_.any(picked, step->shielded)};
        std::string what = co_await blocked;
        for (const FutureId future : picked) {
          what += ", " + std::to_string(future) + " " + host_.outcome(future);
        }
        see(what);
        break;
      }
      case Kind::kSet:
        host_.set(step->name, std::to_string(host_->now_ms()), branch);
        break;
      case Kind::kClear: {
        CommandRequest request;
        request.kind = CommandKind::kState;
        request.name = step->name;
        request.branch = branch;
        request.clear = true;
        host_.open(request);
        break;
      }
      case Kind::kCancel:
        for (const FutureId future : *futures) {
          const RecordId record = host_->record_of(future);
          if (record != kNoRecord && (host_->log()[record].kind == kTaskScheduled ||
                                      host_->log()[record].kind == kTimerStarted)) {
            CommandRequest request;
            request.kind = CommandKind::kCancelTask;
            request.branch = branch;
            request.target = future;
            host_.open(request);
            break;
          }
        }
        break;
      case Kind::kCompensate:
        host_.open(CommandKind::kCompensation, step->name, branch);
        break;
      case Kind::kReads:
        see(host_->uuid(branch)->to_string() + " " + std::to_string(*host_->random(branch)) + " " +
            std::to_string(host_->signal_count(step->name)) + " " +
            std::string(host_->state(step->name).value_or("none")) +
            (host_->cancel_requested() ? " cancelled" : ""));
        break;
      case Kind::kTakeSignal: {
        const std::optional<RecordId> taken = host_->take_signal(branch, step->name).value();
        see(taken ? "took " + std::string(host_->log()[*taken].payload.view()) : "took nothing");
        break;
      }
      case Kind::kBranch: {
        Task arm = run_arm(&step->bodies[0], host_.branch(branch), nullptr);
        co_await arm;
        break;
      }
      case Kind::kJoin: {
        std::vector<BranchId> branches;
        for (std::size_t i = 0; i < step->bodies.size(); ++i) {
          branches.push_back(host_.branch(branch));
        }
        Join join;
        join.running = branches.size();
        std::vector<Task> arms;
        for (std::size_t i = 0; i < branches.size(); ++i) {
          arms.push_back(run_arm(&step->bodies[i], branches[i], &join));
          arms.back().start();
        }
        co_await join;
        break;
      }
      case Kind::kLoop: {
        Task loop = run_loop(step, branch);
        co_await loop;
        break;
      }
    }
  }

  Host host_;
  std::map<std::size_t, std::coroutine_handle<>> blocked_;
  std::vector<std::coroutine_handle<>> ready_;
  std::vector<FutureId> operations_;
  std::vector<std::pair<CommandKind, FutureId>> opened_;
  std::set<std::string> names_;
  std::string seen_;
  std::string delivered_;
  Task root_;
};

// --- The world ---------------------------------------------------------------------------------

// Something happens outside: what was asked for completes, or a signal comes.
void happen(Dice& dice, Actor& actor) {
  Host& host = actor.host();
  std::vector<FutureId>& operations = actor.operations();
  const std::size_t choice = dice.roll(12);
  const std::string payload = std::to_string(dice.roll(1000));
  if (choice < 4 && !operations.empty()) {
    const std::size_t at = dice.roll(operations.size());
    host.complete(operations[at], payload,
                  dice.one_in(4) ? OutcomeKind::kFailed : OutcomeKind::kValue);
    operations.erase(operations.begin() + static_cast<std::ptrdiff_t>(at));
  } else if (choice < 9 && !actor.opened().empty()) {
    const auto& [kind, future] = actor.opened()[dice.roll(actor.opened().size())];
    if (kind == CommandKind::kTask) {
      constexpr EntryKind kEnds[] = {kTaskCompleted, kTaskCompleted, kTaskFailed, kTaskCancelled};
      host.arrive(kEnds[dice.roll(4)], future, payload);
    } else if (kind == CommandKind::kTimer) {
      host.arrive(dice.one_in(4) ? kTimerCancelled : kTimerFired, future);
    } else if (dice.one_in(3)) {
      host.arrive(kSignalTimedOut, future);
    }
  } else if (choice < 11) {
    host.send(*std::next(actor.names().begin(),
                         static_cast<std::ptrdiff_t>(dice.roll(actor.names().size()))),
              payload);
  } else if (dice.one_in(6)) {
    host.request_cancel("\"why not\"");
  }
}

// Lives through a random program, restarting from the stored log now and then, and calls
// `compare(live, replayed)` with what a replay of all that was committed comes to.
template <class Compare>
void live_and_replay(std::uint64_t seed, bool with_loops, bool restarts, Compare compare) {
  Dice dice(seed);
  const Steps program = random_steps(dice, 3, with_loops, "");
  auto live = std::make_unique<Actor>(program, Store());
  std::int64_t time = 1000;
  const std::size_t turns = 1 + dice.roll(25);
  for (std::size_t turn = 0; turn < turns; ++turn) {
    const bool is_over = live->is_done() && live->operations().empty();
    for (std::size_t events = 1 + dice.roll(4); events > 0 && !live->is_done(); --events) {
      happen(dice, *live);
    }
    // An operation that the code did not wait for completes before the end is written.
    while (live->is_done() && !live->operations().empty()) {
      live->host().complete(live->operations().back(), "0");
      live->operations().pop_back();
    }
    live->host()->set_time(time += static_cast<std::int64_t>(dice.roll(50)));
    while (live->step()) {
      if (dice.one_in(5) && !live->is_done()) {
        happen(dice, *live);
      }
    }
    if (is_over) {
      RC_ASSERT(live->host()->finish(kWorkflowCompleted, "null").has_value());
    }
    live->host().commit();

    auto replayed = std::make_unique<Actor>(program, live->host().store());
    while (replayed->step()) {
    }
    RC_ASSERT(!replayed->host()->violation());
    if (is_over) {
      RC_ASSERT(replayed->is_done());
      RC_ASSERT(replayed->host()->finish(kWorkflowCompleted, "null").has_value());
    }
    compare(*live, *replayed);
    if (is_over) {
      return;
    }
    if (restarts && dice.one_in(3)) {
      live = std::move(replayed);
    }
  }
}

std::uint64_t any_seed() {
  return *rc::gen::noShrink(rc::gen::resize(rc::kNominalSize, rc::gen::arbitrary<std::uint64_t>()));
}

constexpr int kProgramsPerProperty = 20;

RC_GTEST_PROP(MachineLiveProperty, TheReplayOfALogIsTheRunThatWroteIt, ()) {
  Dice dice(any_seed());
  for (int i = 0; i < kProgramsPerProperty; ++i) {
    live_and_replay(dice.roll(~std::size_t{0}), false, false, [](Actor& live, Actor& replayed) {
      RC_ASSERT(replayed.delivered() == live.delivered());
      RC_ASSERT(replayed.seen() == live.seen());
      RC_ASSERT(replayed.is_done() == live.is_done());
      RC_ASSERT(replayed.host().waiting() == live.host().waiting());
      RC_ASSERT(replayed.host()->unconsumed_signals() == live.host()->unconsumed_signals());
      RC_ASSERT(replayed.host()->compensations() == live.host()->compensations());
      RC_ASSERT(replayed.host()->changed_inputs().empty());
      RC_ASSERT(replayed.host().commit() == "");
    });
  }
}

// With loops that forget, what is delivered again is less, but the run stands where it stood.
RC_GTEST_PROP(MachineLiveProperty, ARunWithLoopsStandsWhereItStoodAfterARestart, ()) {
  Dice dice(any_seed());
  for (int i = 0; i < kProgramsPerProperty; ++i) {
    live_and_replay(dice.roll(~std::size_t{0}), true, true, [](Actor& live, Actor& replayed) {
      RC_ASSERT(replayed.host().commit() == "");
      RC_ASSERT(replayed.is_done() == live.is_done());
      RC_ASSERT(replayed.host().waiting() == live.host().waiting());
      RC_ASSERT(replayed.host()->next_seq() == live.host()->next_seq());
      for (const std::string& name : live.names()) {
        RC_ASSERT(replayed.host()->state(name).value_or("none") ==
                  live.host()->state(name).value_or("none"));
        RC_ASSERT(replayed.host()->signal_count(name) == live.host()->signal_count(name));
      }
      RC_ASSERT(replayed.host()->compensations().size() == live.host()->compensations().size());
      RC_ASSERT(replayed.host()->cancel_requested() == live.host()->cancel_requested());
    });
  }
}

}  // namespace
}  // namespace pawl::replay

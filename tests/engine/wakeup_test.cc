// Signals, promises, completions, cancels, timers and crashes racing with suspending runs: whatever
// the order, every run goes on to its end. Orders are drawn from seeds; PAWL_WAKEUP_SEEDS sets how
// many are tried, PAWL_WAKEUP_SEED where they begin.
#include <cstdlib>
#include <deque>
#include <random>

#include <gtest/gtest.h>

#include "step_program.h"
#include "world.h"

namespace pawl::engine {
namespace {

using replay::CommandKind;

std::uint64_t number_from(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

struct Event {
  enum class Kind { kSignal, kResolve, kCancel, kCrash } kind{};
  std::string run;
  std::string name;
  std::string dedupe;
  bool is_done = false;
};

class Race {
 public:
  explicit Race(std::uint64_t seed) : random_(seed) {
    EngineOptions options;
    options.replay_every_turn = draw(4) == 0;
    options.cache_bytes = draw(3) == 0 ? 1 : std::size_t{1} << 30U;
    options.runs_at_once = draw(4) == 0 ? 1 : 1000;
    const std::size_t runs = 1 + draw(4);
    std::vector<Definition> definitions;
    for (std::size_t i = 0; i < runs; ++i) {
      definitions.push_back(step_workflow("w" + std::to_string(i), make_steps(i)));
      names_.push_back("r" + std::to_string(i));
    }
    definitions.push_back(step_workflow(
        "child", {run_step("inner", instant()), plain_step(CommandKind::kTimer, "", 7)}));
    if (draw(3) == 0) {
      events_.push_back({Event::Kind::kCancel, names_[draw(runs)], "", "", false});
    }
    if (draw(2) == 0) {
      events_.push_back({Event::Kind::kCrash, "", "", "", false});
    }
    std::shuffle(events_.begin(), events_.end(), random_);
    ActivityType task{"task", instant(), {}};
    world_ = std::make_unique<World>(std::move(definitions), std::vector<ActivityType>{task}, seed,
                                     options);
  }

  void run() {
    for (std::size_t i = 0; i < names_.size(); ++i) {
      world_->start("w" + std::to_string(i), names_[i]);
    }
    std::size_t idle = 0;
    while (!all_events_done() && idle < 100'000) {
      ++idle;
      if (draw(4) == 0) {
        send_one();
      } else if (!world_->env->step() && draw(3) == 0) {
        world_->env->advance(static_cast<std::int64_t>(draw(20)));
      }
    }
    ASSERT_TRUE(all_events_done()) << "an event was never accepted";
    for (const std::string& name : names_) {
      const std::string outcome = world_->outcome(name, 100'000'000);
      ASSERT_EQ(outcome, "completed \"done\"")
          << name << " " << store::status_name(world_->row(name).status) << " waits for "
          << world_->row(name).waiting_for << " owner " << world_->row(name).owner << " wakes in "
          << world_->row(name).wake_ms - world_->env->now_ms() << " alarm in "
          << world_->env->next_alarm_ms() - world_->env->now_ms();
    }
    ASSERT_TRUE(world_->errors.empty()) << world_->errors.front();
  }

 private:
  std::size_t draw(std::size_t n) { return random_() % n; }

  static ActivityBody instant() {
    return [](ActivityAttempt&) { return ActivityOutcome{true, "1", {}}; };
  }
  ActivityBody flaky() {
    auto left = std::make_shared<int>(static_cast<int>(draw(3)));
    return [left](ActivityAttempt&) {
      ActivityOutcome outcome;
      outcome.ok = (*left)-- <= 0;
      outcome.result = "1";
      outcome.failure.type = "Flaky";
      return outcome;
    };
  }

  std::vector<Step> make_steps(std::size_t run) {
    std::vector<Step> steps;
    const std::string name = "r" + std::to_string(run);
    const std::size_t count = 1 + draw(6);
    for (std::size_t i = 0; i < count; ++i) {
      const std::string id = std::to_string(i);
      switch (draw(9)) {
        case 0:
          steps.push_back(run_step("op" + id, instant()));
          break;
        case 1: {
          RetryPolicy retry;
          retry.attempts = 0;
          retry.initial_ms = static_cast<std::int64_t>(draw(20));
          steps.push_back(run_step("flaky" + id, flaky(), retry));
          break;
        }
        case 2:
        case 3: {
          const std::string signal = "s" + std::to_string(draw(2));
          steps.push_back(plain_step(CommandKind::kSignal, signal));
          events_.push_back({Event::Kind::kSignal, name, signal, name + id, false});
          break;
        }
        case 4:
          steps.push_back(
              plain_step(CommandKind::kSignal, "t" + id, 1 + static_cast<std::int64_t>(draw(30))));
          if (draw(2) == 0) {
            events_.push_back({Event::Kind::kSignal, name, "t" + id, name + id, false});
          }
          break;
        case 5:
          steps.push_back(plain_step(CommandKind::kTimer, "", static_cast<std::int64_t>(draw(20))));
          break;
        case 6:
          steps.push_back(plain_step(CommandKind::kPromise, "p" + id,
                                     draw(2) == 0 ? 0 : 1 + static_cast<std::int64_t>(draw(30))));
          events_.push_back({Event::Kind::kResolve, name, "p" + id, "", false});
          break;
        case 7:
          steps.push_back(plain_step(CommandKind::kTask, "task"));
          break;
        default:
          steps.push_back(child_step(name + "-child-" + id));
          break;
      }
    }
    return steps;
  }

  static Step child_step(const std::string& id) {
    return [id](RunHost& host) -> replay::FutureId {
      replay::CommandRequest request;
      request.kind = CommandKind::kChildWorkflow;
      request.name = id;
      request.child_kind = "child";
      const auto opened = host.machine().open(request);
      return opened ? opened->future : 0;
    };
  }

  bool all_events_done() const {
    return std::all_of(events_.begin(), events_.end(), [](const Event& e) { return e.is_done; });
  }

  // Not waiting for the answer: the engine goes on beside it.
  void send_one() {
    Event& event = events_.empty() ? none_ : events_[draw(events_.size())];
    if (event.is_done || events_.empty()) {
      return;
    }
    const auto settled = [&event](const Error* error) {
      // A promise may not be there yet; a run may have ended without it.
      event.is_done = error == nullptr || error->code == ErrorCode::kClosed ||
                      error->code == ErrorCode::kAlreadyExists;
    };
    switch (event.kind) {
      case Event::Kind::kSignal:
        world_->engine->signal(
            event.run, event.name, "1", "", event.dedupe,
            [settled](const Result<bool>& sent) { settled(sent ? nullptr : &sent.error()); });
        break;
      case Event::Kind::kResolve:
        world_->engine->resolve(event.run, event.name, "1", [settled](const Result<void>& sent) {
          settled(sent ? nullptr : &sent.error());
        });
        break;
      case Event::Kind::kCancel:
        event.is_done = true;
        world_->engine->cancel(event.run, "", [](const Result<void>&) {});
        break;
      case Event::Kind::kCrash:
        event.is_done = true;
        world_->crash();
        break;
    }
  }

  std::mt19937_64 random_;
  std::vector<std::string> names_;
  std::deque<Event> events_;
  Event none_;
  std::unique_ptr<World> world_;
};

TEST(WakeUps, AreNeverLost) {
  const std::uint64_t seeds = number_from("PAWL_WAKEUP_SEEDS", 1000);
  const std::uint64_t first = number_from("PAWL_WAKEUP_SEED", 1);
  for (std::uint64_t seed = first; seed < first + seeds; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Race(seed).run();
    if (HasFatalFailure()) {
      return;
    }
  }
  std::cout << seeds << " interleavings from seed " << first << "\n";
}

}  // namespace
}  // namespace pawl::engine

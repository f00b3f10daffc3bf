// A process of the fleet.
//
//   fleet_member work URL NOTES LEASE_MS   works on runs and tasks until its input ends; says
//                                          "works" when it begins
//   fleet_member feed URL NOTES SEED       attends to runs as it is told by lines of its input
//   until
//                                          that ends, and all have their answer
//
// To attend to a run is to start it, to do from outside what its program waits for, and to wait for
// its end. Lines to the feeder:
//
//   start N     starts the run N first; "started N" is said when that is acknowledged
//   resume N    it was acknowledged before
//
// Of each it says in the end "answer N OUTCOME", or "lost N" if there is no such run.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <functional>
#include <iostream>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "fleet/interpreter.h"
#include "fleet/plan.h"
#include "fleet/program.h"

namespace pawl::fleet {

namespace {

using std::chrono::milliseconds;

constexpr milliseconds kPause(60);  // Before something is tried again.

void say(const std::string& line) {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  std::cout << line << std::endl;
}

// As whoever starts processes does: again, until the server is there.
std::unique_ptr<Engine> open(const std::string& url, const Registry& registry,
                             const EngineOptions& options) {
  while (true) {
    try {
      return std::make_unique<Engine>(url, registry, options);
    } catch (const StoreError& error) {
      std::cerr << "cannot begin: " << error.what() << std::endl;
      std::this_thread::sleep_for(kPause);
    }
  }
}

void work(const std::string& url, const std::string& notes, milliseconds lease) {
  EngineOptions options;
  options.lease = lease;
  options.activity_threads = 8;
  options.queues = {{.name = "default"}, {.name = "side", .concurrency = 2}};
  options.on_error = [](std::string_view error) { std::cerr << error << std::endl; };
  const std::unique_ptr<Engine> engine = open(url, make_registry(notes), options);
  say("works");
  std::string line;
  while (std::getline(std::cin, line)) {
  }
  engine->stop();
}

class Feeder {
 public:
  Feeder(const std::string& url, const std::string& notes, std::uint64_t seed) : seed_(seed) {
    EngineOptions options;
    options.work = false;
    options.on_error = [](std::string_view error) { std::cerr << error << std::endl; };
    engine_ = open(url, make_registry(notes), options);
  }

  void feed() {
    std::string what;
    std::size_t number = 0;
    while (std::cin >> what >> number) {
      threads_.emplace_back([this, number, is_new = what == "start"] { attend(number, is_new); });
    }
  }

 private:
  void attend(std::size_t number, bool is_new) {
    const std::string id = run_id(number);
    const nlohmann::json program = program_of(seed_, number);
    std::vector<Deed> deeds = expect(program, id).deeds;
    if (is_new) {
      start(id, first_input(program), number % 2 == 0 ? deeds : std::vector<Deed>());
      say("started " + std::to_string(number));
    }
    if (number % 5 == 0) {
      meddle(id);
    }
    do_deeds(id, std::move(deeds));
    const std::optional<std::string> outcome = outcome_of(id);
    say(outcome ? "answer " + std::to_string(number) + " " + *outcome
                : "lost " + std::to_string(number));
  }

  // With the first of `deeds`, if that can be done with it. It may be done again.
  void start(const std::string& id, const nlohmann::json& input, const std::vector<Deed>& deeds) {
    const bool has_signal =
        !deeds.empty() && deeds[0].kind == Deed::Kind::kSignal && deeds[0].run == id;
    again([&] {
      if (has_signal) {
        engine_->signal_with_start<Number>(kProgramKind, id, input, deeds[0].name, deeds[0].value,
                                           {}, event_of(deeds[0]));
      } else {
        engine_->start<Number>(kProgramKind, id, input);
      }
    });
  }

  // What people do, and what changes nothing in the end.
  void meddle(const std::string& id) {
    try {
      again([&] { engine_->get(id).pause(); });
      again([&] { engine_->get(id).retry_now(); });
      std::this_thread::sleep_for(kPause);
      again([&] { engine_->get(id).unpause(); });
    } catch (const NotFound&) {
    } catch (const Closed&) {
    }
  }

  static Event event_of(const Deed& deed) {
    return {.id = deed.name + "=" + std::to_string(deed.value)};
  }

  // Until the store does it.
  static void again(const std::function<void()>& call) {
    while (true) {
      try {
        call();
        return;
      } catch (const StoreError& error) {
        std::cerr << error.what() << std::endl;
        std::this_thread::sleep_for(kPause);
      }
    }
  }

  void do_deeds(const std::string& id, std::vector<Deed> deeds) {
    while (!deeds.empty()) {
      std::vector<Deed> left;
      for (std::size_t i = 0; i < deeds.size(); ++i) {
        const bool must_wait = std::ranges::any_of(left, [&](const Deed& before) {
          return before.run == deeds[i].run && before.name == deeds[i].name;
        });
        if (must_wait || !is_done(deeds[i])) {
          left.push_back(deeds[i]);
        }
      }
      const bool is_stuck = left.size() == deeds.size();
      deeds = std::move(left);
      if (is_stuck && is_over(id)) {
        return;  // Its answer will be wrong.
      }
      std::this_thread::sleep_for(kPause);
    }
  }

  // False: not yet.
  bool is_done(const Deed& deed) {
    try {
      switch (deed.kind) {
        case Deed::Kind::kSignal:
          engine_->get(deed.run).signal(deed.name, deed.value, event_of(deed));
          break;
        case Deed::Kind::kResolve:
          engine_->resolve(deed.run, deed.name, deed.value);
          break;
        case Deed::Kind::kReject:
          engine_->reject(deed.run, deed.name, "Refused", "no");
          break;
        case Deed::Kind::kCancel:
          engine_->get(deed.run).cancel(std::string(kCancelReason));
          break;
      }
      return true;
    } catch (const NotFound&) {
      return false;  // The run or the promise.
    } catch (const AlreadyExists&) {
      return true;  // Nobody knew that it had worked.
    } catch (const Closed&) {
      return true;
    } catch (const StoreError& error) {
      std::cerr << error.what() << std::endl;
      return false;
    }
  }

  bool is_over(const std::string& id) {
    try {
      const Status status = engine_->get(id).status();
      return status == Status::kCompleted || status == Status::kFailed ||
             status == Status::kCancelled;
    } catch (const NotFound&) {
      return true;
    } catch (const StoreError&) {
      return false;
    }
  }

  std::optional<std::string> outcome_of(const std::string& id) {
    std::optional<std::string> outcome;
    bool is_lost = false;
    again([&] {
      try {
        outcome = completed_text(engine_->get<Number>(id).result());
      } catch (const WorkflowFailed& failed) {
        outcome = failed_text(failed.message());
      } catch (const WorkflowCancelled& cancelled) {
        outcome = cancelled_text(cancelled.reason());
      } catch (const NotFound&) {
        is_lost = true;
      }
    });
    return is_lost ? std::nullopt : outcome;
  }

  const std::uint64_t seed_;
  std::unique_ptr<Engine> engine_;
  std::vector<std::jthread> threads_;
};

int run(const std::vector<std::string>& args) {
  if (args.size() == 4 && args[0] == "work") {
    work(args[1], args[2], milliseconds(std::stoi(args[3])));
    return 0;
  }
  if (args.size() == 4 && args[0] == "feed") {
    Feeder(args[1], args[2], std::stoull(args[3])).feed();
    return 0;
  }
  std::cerr << "usage: fleet_member work URL NOTES LEASE_MS | feed URL NOTES SEED\n";
  return 2;
}

}  // namespace

}  // namespace pawl::fleet

int main(int argc, char** argv) {
  try {
    return pawl::fleet::run({argv + 1, argv + argc});
  } catch (const std::exception& error) {
    std::cerr << "fleet_member: " << error.what() << "\n";
    return 1;
  }
}

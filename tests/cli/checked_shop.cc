// Two builds of one program, for tests of `pawl check`: SHOP_BUILD says which. The first one makes
// a database with open runs of every sort and is killed; the second one is checked against them,
// and comes in several variants.
//
//   checked_shop_1 make DATABASE          says "ready" when all is there, and waits to be killed
//   checked_shop_2 VARIANT check          does nothing without `pawl check`
//   checked_shop_2 VARIANT go DATABASE    works: sends what the runs wait for, prints their results
//
// Every activity adds a line to the file that the variable SHOP_EFFECTS names.
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "pawl/pawl.hpp"

namespace {

using namespace std::chrono_literals;

std::string variant = "first";

void note(const std::string& what) {
  if (const char* path = std::getenv("SHOP_EFFECTS"); path != nullptr) {
    std::ofstream(path, std::ios::app) << what << '\n';
  }
}

int work(int number) {
  note("work");
  return number + 1;
}

void undo(int /*number*/) {
  note("undo");
  throw std::runtime_error("the bank is closed");
}

int refuse(int /*number*/) {
  note("refuse");
  throw std::runtime_error("no lamps");
}

// All payloads in the database are written by it.
class Scrambled final : public pawl::PayloadCodec {
 public:
  std::string name() const override { return "scrambled"; }
  std::string encode(std::string_view bytes) const override {
    std::string result(bytes);
    for (char& byte : result) {
      byte = static_cast<char>(byte ^ 0xda);
    }
    return result;
  }
  std::string decode(std::string_view bytes) const override { return encode(bytes); }
};

// --- What does not change ------------------------------------------------------------------------

pawl::Workflow<int> task(pawl::Context ctx, int number) {
  co_return co_await ctx.schedule<int>("refuse", number,
                                       {.retry = {.attempts = 0, .initial = 1h, .maximum = 1h}});
}

pawl::Workflow<int> parent(pawl::Context ctx, int number) {
  co_return co_await ctx.child<int>("signal", "child", number);
}

pawl::Workflow<int> compensates(pawl::Context ctx, int number) {
  pawl::Saga saga(ctx);
  co_await saga.add("undo", number);
  co_return co_await ctx.run("refuse", refuse, number);
}

pawl::Workflow<void> running(pawl::Context ctx, int /*number*/) {
  co_await ctx.run("endless", [](const pawl::Activity& activity) {
    note("endless");
    while (!activity.should_stop()) {
      std::this_thread::sleep_for(5ms);
    }
  });
}

pawl::Workflow<int> bytes(pawl::Context ctx, pawl::Bytes input) {
  const pawl::Bytes twice = co_await ctx.run(
      "twice",
      [](const pawl::Bytes& once) {
        note("twice");
        return pawl::Bytes{once.data + once.data};
      },
      input);
  co_await ctx.signal("go");
  co_return static_cast<int>(twice.data.size());
}

pawl::Workflow<int> closes(pawl::Context ctx, int number) {
  co_return co_await ctx.run("work", work, number);
}

// --- What does -----------------------------------------------------------------------------------

#if SHOP_BUILD == 1

pawl::Workflow<int> on_signal(pawl::Context ctx, int number) {
  const int one = co_await ctx.run("one", work, number);
  const int two = co_await ctx.run("two", work, one);
  co_await ctx.signal("go");
  co_return two;
}

pawl::Workflow<int> on_timer(pawl::Context ctx, int number) {
  const int one = co_await ctx.run("one", work, number);
  co_await ctx.sleep(1h);
  co_return one;
}

pawl::Workflow<int> loop(pawl::Context ctx, int number) {
  co_return co_await ctx.loop(
      number,
      [](pawl::Branch inner, int sum) -> pawl::Workflow<pawl::LoopStep<int, int>> {
        const int next = co_await inner.run("step", work, sum);
        co_await inner.run("log", work, next);
        if (next < 8) {
          co_return pawl::continue_with(next);
        }
        co_await inner.signal("go");
        co_return pawl::break_with(next);
      },
      {.checkpoint_every = 3});
}

pawl::Workflow<int> branches(pawl::Context ctx, int number) {
  const auto [left, right] = co_await ctx.join(
      [number](pawl::Branch arm) -> pawl::Workflow<int> {
        const int one = co_await arm.run("left", work, number);
        co_await arm.signal("left");
        co_return one;
      },
      [number](pawl::Branch arm) -> pawl::Workflow<int> {
        const int one = co_await arm.run("right", work, number);
        co_await arm.signal("right");
        co_return one;
      });
  co_return left + right;
}

pawl::Workflow<void> changes_before(pawl::Context ctx, int /*number*/) {
  co_await ctx.signal("before");
}
pawl::Workflow<void> changes_after(pawl::Context ctx, int /*number*/) {
  co_await ctx.signal("after");
}

#else

pawl::Workflow<int> on_signal(pawl::Context ctx, int number) {
  const int one = co_await ctx.run("one", work, number);
  int more = 0;
  if (variant == "broken") {
    more = co_await ctx.run("audit", work, one);
  } else {
    more = co_await ctx.v(2).run("audit", work, one);
  }
  const int two = co_await ctx.run("two", work, one);
  co_await ctx.signal("go");
  co_return two + more;
}

pawl::Workflow<int> on_timer(pawl::Context ctx, int number) {
  const int one = co_await ctx.run("one", work, number);
  if (variant == "crashing") {
    std::cout << "about to crash" << std::endl;
    std::raise(SIGSEGV);
  }
  co_await ctx.sleep(variant == "broken" ? 2h : 1h);  // Not compared.
  co_return co_await ctx.run("more", work, one);
}

pawl::Workflow<int> loop(pawl::Context ctx, int number) {
  co_return co_await ctx.loop(
      number,
      [](pawl::Branch inner, int sum) -> pawl::Workflow<pawl::LoopStep<int, int>> {
        const int next = co_await inner.run("step", work, sum);
        if (variant != "broken") {
          inner.removed(pawl::StepKind::kOperation, "log");
        }
        if (next < 8) {
          co_return pawl::continue_with(next);
        }
        co_await inner.signal("go");
        co_return pawl::break_with(next);
      },
      {.checkpoint_every = 3});
}

pawl::Workflow<int> branches(pawl::Context ctx, int number) {
  if (variant == "looping") {
    std::ofstream(std::getenv("SHOP_PID")) << ::getpid() << std::endl;
    for (volatile int spin = 0;; spin = spin + 1) {
    }
  }
  const auto [left, right] = co_await ctx.join(
      [number](pawl::Branch arm) -> pawl::Workflow<int> {
        const int one = co_await arm.run("left", work, number);
        co_await arm.signal("left");
        co_return one;
      },
      [number](pawl::Branch arm) -> pawl::Workflow<int> {
        const int one = co_await arm.run("right", work, number);
        co_await arm.signal("right");
        co_return one;
      });
  co_return left + right;
}

pawl::Workflow<void> changes(pawl::Context ctx, int /*number*/) {
  co_await ctx.signal(variant == "broken" ? "later" : "before");
}

#endif

pawl::Registry make_registry() {
  pawl::Registry registry;
  registry.workflow("signal", on_signal)
      .workflow("timer", on_timer)
      .workflow("task", task)
      .workflow("branches", branches)
      .workflow("parent", parent)
      .workflow("compensates", compensates)
      .workflow("running", running)
      .workflow("bytes", bytes)
      .workflow("closes", closes)
      .activity("refuse", refuse);
  if (variant != "lacking") {
    registry.workflow("loop", loop)
        .activity("undo", undo,
                  {.compensation_retry = {.attempts = 0, .initial = 1h, .maximum = 1h}});
  }
#if SHOP_BUILD == 2
  registry.workflow("changes", changes, {.fingerprint = "third"});
#endif
  return registry;
}

pawl::EngineOptions options() { return {.payload_codec = std::make_shared<Scrambled>()}; }

#if SHOP_BUILD == 1

void await_status(pawl::Engine& engine, const std::string& id, pawl::Status status) {
  for (int i = 0; engine.get(id).status() != status; ++i) {
    if (i == 2000) {
      throw std::runtime_error("run '" + id + "' does not get there");
    }
    std::this_thread::sleep_for(5ms);
  }
}

void await_effects(const std::string& name, int wanted) {
  for (int i = 0; i < 2000; ++i) {
    std::ifstream file(std::getenv("SHOP_EFFECTS"));
    int count = 0;
    for (std::string line; std::getline(file, line);) {
      count += line == name ? 1 : 0;
    }
    if (count >= wanted) {
      return;
    }
    std::this_thread::sleep_for(5ms);
  }
  throw std::runtime_error("'" + name + "' is not done");
}

void make_runs(const std::string& url) {
  {
    pawl::Registry registry;
    registry.workflow("changes", changes_before, {.fingerprint = "first"});
    pawl::Engine engine(url, registry, options());
    engine.start("changes", "blocked", 1);
    await_status(engine, "blocked", pawl::Status::kWaiting);
  }
  pawl::Registry registry = make_registry();
  registry.workflow("changes", changes_after, {.fingerprint = "second"});
  pawl::Engine engine(url, registry, options());
  engine.get("blocked").signal("after");  // What wakes it also has its code compared.
  await_status(engine, "blocked", pawl::Status::kBlocked);
  for (const char* id : {"signal-1", "signal-2"}) {
    engine.start("signal", id, 1);
    await_status(engine, id, pawl::Status::kWaiting);
  }
  engine.start("bytes", "bytes", pawl::Bytes{std::string("\xff\x00\x01 no text", 11)});
  for (const char* id : {"timer", "task", "loop", "branches", "parent"}) {
    engine.start(id, id, 1);
  }
  for (const char* id : {"bytes", "timer", "task", "loop", "branches", "parent", "child"}) {
    await_status(engine, id, pawl::Status::kWaiting);
  }
  engine.start("compensates", "compensating", 1);
  await_status(engine, "compensating", pawl::Status::kCompensating);
  engine.start<int>("closes", "closed", 1).result();
  engine.start("running", "running", 1);
  await_status(engine, "running", pawl::Status::kRunning);
  // The task and the compensation have failed once, and wait for an hour.
  await_effects("refuse", 2);  // One of them in the run that compensates.
  await_effects("undo", 1);
  await_effects("endless", 1);
  std::cout << "ready\n" << std::flush;
  while (true) {
    std::this_thread::sleep_for(1h);
  }
}

#else

void go_on(const std::string& url) {
  pawl::Engine engine(url, make_registry(), options());
  for (const char* id : {"signal-1", "child", "loop", "bytes"}) {
    engine.get(id).signal("go");
  }
  engine.get("branches").signal("left");
  engine.get("branches").signal("right");
  engine.get("blocked").signal("before");
  for (const char* id : {"signal-1", "child", "parent", "loop", "bytes", "branches"}) {
    std::cout << id << " " << engine.get<int>(id).result_for(30s) << "\n";
  }
  engine.get("blocked").result_for(30s);
  std::cout << "blocked went on\n" << std::flush;
}

#endif

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  std::cout << "the program prints something first\n" << std::flush;
#if SHOP_BUILD == 1
  if (arguments.size() == 2 && arguments[0] == "make") {
    try {
      make_runs("sqlite:" + arguments[1]);
    } catch (const std::exception& error) {
      std::fprintf(stderr, "checked_shop: %s\n", error.what());
    }
    return 1;
  }
#else
  variant = arguments.empty() ? "good" : arguments[0];
  const pawl::Registry registry = make_registry();
  if (variant == "leaving") {
    std::cerr << "shop: no configuration\n";
    return 3;
  }
  if (variant != "forgetful") {
    pawl::answer_check(registry, options());
  }
  if (variant == "forgetful") {
    const pawl::Engine engine("sqlite:" + std::string(std::getenv("SHOP_DATABASE")), registry,
                              options());
  }
  if (arguments.size() == 3 && arguments[1] == "go") {
    go_on("sqlite:" + arguments[2]);
    return 0;
  }
#endif
  return 2;
}

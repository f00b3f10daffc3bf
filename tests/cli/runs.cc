// Makes a database with a run in each status, for tests of the command line, and holds it open
// until standard input ends. Says "ready" when all is there.
//
// Usage: cli_runs PATH_OF_THE_DATABASE
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <exception>
#include <iostream>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>

#include "pawl/pawl.hpp"

namespace {

using namespace std::chrono_literals;

int double_it(int number) { return 2 * number; }

int refuse(int /*number*/) { throw std::runtime_error("no\x1b[31m lamps\n"); }

void undo(int /*number*/) { throw std::runtime_error("the bank is closed"); }

pawl::Workflow<int> completes(pawl::Context ctx, int number) {
  co_return co_await ctx.run("double", double_it, number);
}

pawl::Workflow<int> fails(pawl::Context ctx, int number) {
  co_return co_await ctx.run("refuse", refuse, number);
}

pawl::Workflow<void> waits(pawl::Context ctx, int /*number*/) { co_await ctx.signal("go"); }

pawl::Workflow<int> compensates(pawl::Context ctx, int number) {
  pawl::Saga saga(ctx);
  co_await saga.add("undo", number);
  co_return co_await ctx.run("refuse", refuse, number);
}

// It lasts as long as the engine does.
pawl::Workflow<void> runs(pawl::Context ctx, int /*number*/) {
  co_await ctx.run("endless", [](const pawl::Activity& activity) {
    while (!activity.should_stop()) {
      std::this_thread::sleep_for(5ms);
    }
  });
}

pawl::Workflow<void> changes_before(pawl::Context ctx, int /*number*/) {
  co_await ctx.signal("before");
}
pawl::Workflow<void> changes_after(pawl::Context ctx, int /*number*/) {
  co_await ctx.signal("after");
}

pawl::Workflow<int> recurs(pawl::Context ctx, int number) {
  if (number < 3) {
    ctx.recur(number + 1);
  }
  co_return number;
}

void await_status(pawl::Engine& engine, const std::string& id, pawl::Status status) {
  for (int i = 0; engine.get(id).status() != status; ++i) {
    if (i == 2000) {
      throw std::runtime_error("run '" + id + "' does not get there");
    }
    std::this_thread::sleep_for(5ms);
  }
}

void make_runs(const std::string& url) {
  {
    pawl::Registry registry;
    registry.workflow("changes", changes_before, {.fingerprint = "before"});
    pawl::Engine engine(url, registry);
    engine.start("changes", "blocked", 1);
    await_status(engine, "blocked", pawl::Status::kWaiting);
  }
  pawl::Registry registry;
  registry.workflow("completes", completes)
      .workflow("fails", fails)
      .workflow("waits", waits)
      .workflow("compensates", compensates)
      .workflow("runs", runs)
      .workflow("recurs", recurs)
      .workflow("changes", changes_after, {.fingerprint = "after"})
      .activity("undo", undo,
                {.compensation_retry = {.attempts = 0, .initial = 1h, .maximum = 1h}});
  pawl::Engine engine(url, registry);
  engine.get("blocked").signal("after");  // What wakes it also has its code compared.
  await_status(engine, "blocked", pawl::Status::kBlocked);
  for (const std::string& id :
       {std::string("completed"), std::string("it's \"odd\"; --"),
        std::string("two\nlines \x1b[2J"), std::string("梨 %00 ?"), std::string("-o"),
        std::string(2000, 'x'), std::string("no \xff UTF-8")}) {
    engine.start("completes", id, 21);
    await_status(engine, id, pawl::Status::kCompleted);
  }
  engine.start("fails", "failed", 1);
  await_status(engine, "failed", pawl::Status::kFailed);
  engine.start("waits", "waiting", 1);
  await_status(engine, "waiting", pawl::Status::kWaiting);
  engine.start("waits", "cancelled", 1).cancel("not needed");
  await_status(engine, "cancelled", pawl::Status::kCancelled);
  engine.start("compensates", "compensating", 1);
  await_status(engine, "compensating", pawl::Status::kCompensating);
  engine.start("runs", "running", 1);
  await_status(engine, "running", pawl::Status::kRunning);
  engine.start<int>("recurs", "recurring", 1).result();

  std::cout << "ready\n" << std::flush;
  while (std::cin.get() != std::char_traits<char>::eof()) {
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    make_runs("sqlite:" + std::string(argc > 1 ? argv[1] : "runs.db"));
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "cli_runs: %s\n", error.what());
    return 1;
  }
}

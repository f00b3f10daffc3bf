// Runs that go on when they are told to, for tests of who looks at them meanwhile. Reads lines from
// standard input, and says "ok" after each:
//
//   start KIND ID NUMBER
//   signal ID NAME TEXT      with an event id, source and subject
//   await ID STATUS
//
// Ends with standard input. Usage: cli_steps PATH_OF_THE_DATABASE
#include <chrono>
#include <cstdio>
#include <exception>
#include <iostream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>

#include "pawl/pawl.hpp"

namespace {

using namespace std::chrono_literals;

int double_it(int number) { return 2 * number; }

int refuse(int /*number*/) { throw std::runtime_error("no\x1b[31m lamps"); }

void undo(int /*number*/) {}

// One step for each signal, until one says "stop"; then it fails, and what it did is undone. With
// the number 1 it first waits for "next", and recurs.
pawl::Workflow<int> steps(pawl::Context ctx, int number) {
  if (number == 1) {
    co_await ctx.signal<std::string>("next");
    ctx.recur(2);
  }
  ctx.set("color", std::string("red"));
  pawl::Saga saga(ctx);
  co_await saga.add("undo", number);
  while (co_await ctx.signal<std::string>("step") != "stop") {
    co_await ctx.run("double", double_it, number);
  }
  co_return co_await ctx.run("refuse", refuse, number);
}

// Forgets all but the last of its iterations.
pawl::Workflow<int> loops(pawl::Context ctx, int number) {
  co_return co_await ctx.loop(
      1,
      [number](pawl::Branch inner, int state) -> pawl::Workflow<pawl::LoopStep<int, int>> {
        co_await inner.run("double", double_it, state);
        if (state == number) {
          co_return pawl::break_with(state);
        }
        co_return pawl::continue_with(state + 1);
      },
      {.checkpoint_every = 2});
}

pawl::Workflow<int> has_child(pawl::Context ctx, int number) {
  co_return co_await ctx.child<int>("steps", "a child of it", number);
}

// Its operation fails, and is tried again in an hour.
pawl::Workflow<int> retries(pawl::Context ctx, int number) {
  co_await ctx.run("double", double_it, number);
  co_return co_await ctx.run("refuse",
                             {.retry = {.attempts = 5, .initial = 1h, .maximum = 1h, .jitter = 0}},
                             refuse, number);
}

// The second attempt is the one that counts.
pawl::Workflow<int> tries_twice(pawl::Context ctx, int number) {
  co_return co_await ctx.run(
      "second", {.retry = {.attempts = 5, .initial = 1ms}},
      [](const pawl::Activity& activity, int value) {
        if (activity.attempt() == 1) {
          throw std::runtime_error("not yet");
        }
        return value;
      },
      number);
}

void await_status(pawl::Engine& engine, const std::string& id, const std::string& status) {
  for (int i = 0; pawl::to_string(engine.get(id).status()) != status; ++i) {
    if (i == 5000) {
      throw std::runtime_error("run '" + id + "' does not get to " + status);
    }
    std::this_thread::sleep_for(5ms);
  }
}

void obey(pawl::Engine& engine, const std::string& line) {
  std::istringstream words(line);
  std::string verb;
  std::string id;
  words >> verb;
  if (verb == "start") {
    std::string kind;
    int number = 0;
    words >> kind >> id >> number;
    engine.start(kind, id, number);
  } else if (verb == "signal") {
    std::string name;
    std::string text;
    words >> id >> name >> text;
    engine.get(id).signal(name, text, {.source = "/test", .subject = "a test"});
  } else if (verb == "await") {
    std::string status;
    words >> id >> status;
    await_status(engine, id, status);
  } else {
    throw std::runtime_error("no such verb: " + line);
  }
}

void serve(const std::string& url) {
  pawl::Registry registry;
  registry.workflow("steps", steps)
      .workflow("loops", loops)
      .workflow("has_child", has_child)
      .workflow("retries", retries)
      .workflow("tries_twice", tries_twice)
      .activity("undo", undo);
  pawl::Engine engine(url, registry);
  std::string line;
  while (std::getline(std::cin, line)) {
    obey(engine, line);
    std::cout << "ok\n" << std::flush;
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    serve("sqlite:" + std::string(argc > 1 ? argv[1] : "steps.db"));
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "cli_steps: %s\n", error.what());
    return 1;
  }
}

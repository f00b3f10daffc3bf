// A program for tests that move runs from one store to another: workflows that wait for everything
// there is to wait for. Serves until its standard input ends. Says "ready" when it has started.
//
// Usage: cli_moved_host URL [serves|changed|answers|removes]
//
//   serves   the code that runs begin with
//   changed  other code for the kind `changes`, which blocks its runs
//   answers  the first code, and it has the activity that tasks wait for
//   removes  the first code, and runs that were completed an hour ago are removed
//
// Answers questions of `pawl check`, too.
#include <chrono>
#include <cstdio>
#include <exception>
#include <iostream>
#include <stdexcept>
#include <string>

#include <nlohmann/json.hpp>

#include "pawl/pawl.hpp"

namespace {

using namespace std::chrono_literals;
using Json = nlohmann::json;

int charge(int number) { return number + 1; }
int double_it(int number) { return 2 * number; }
int flaky(int /*number*/) { throw std::runtime_error("no answer"); }
void undo(int /*number*/) { throw std::runtime_error("the bank is closed"); }

pawl::Workflow<Json> echoes(pawl::Context /*ctx*/, Json value) { co_return value; }

pawl::Workflow<void> fails(pawl::Context ctx, Json /*value*/) {
  co_await ctx.sleep(0ms);
  throw std::runtime_error("no lamps");
}

pawl::Workflow<Json> waits(pawl::Context ctx, Json /*value*/) {
  ctx.set("step", 1);
  co_return co_await ctx.signal<Json>("go");
}

pawl::Workflow<Json> promises(pawl::Context ctx, Json /*value*/) {
  co_return co_await ctx.promise<Json>("receipt");
}

pawl::Workflow<int> charges(pawl::Context ctx, Json /*value*/) {
  co_return co_await ctx.schedule<int>("charge", 1, {.queue = "payments"});
}

pawl::Workflow<int> retries(pawl::Context ctx, Json /*value*/) {
  co_return co_await ctx.schedule<int>("flaky", 1,
                                       {.retry = {.attempts = 5, .initial = 1h, .maximum = 1h}});
}

pawl::Workflow<int> sleeps(pawl::Context ctx, Json /*value*/) {
  co_await ctx.sleep(3h);
  co_return 1;
}

// The first signal is kept until it has slept enough.
pawl::Workflow<Json> keeps(pawl::Context ctx, Json /*value*/) {
  co_await ctx.signal<Json>("begin");
  co_return co_await ctx.signal<Json>("go");
}

pawl::Workflow<Json> parents(pawl::Context ctx, Json value) {
  co_return co_await ctx.child<Json>("waits", value.get<std::string>(), Json(1));
}

pawl::Workflow<void> undoes(pawl::Context ctx, Json /*value*/) {
  pawl::Saga saga(ctx);
  co_await saga.add("undo", 1);
  throw std::runtime_error("no lamps");
}

pawl::Workflow<Json> recurs(pawl::Context ctx, int number) {
  co_await ctx.signal<Json>("next");
  if (number < 3) {
    ctx.recur(number + 1);
  }
  co_return co_await ctx.signal<Json>("go");
}

// Forgets its iterations but for the last one, in which it waits.
pawl::Workflow<int> loops(pawl::Context ctx, int number) {
  co_return co_await ctx.loop(
      1,
      [number](pawl::Branch inner, int state) -> pawl::Workflow<pawl::LoopStep<int, int>> {
        co_await inner.run("double", double_it, state);
        if (state == number) {
          co_await inner.signal<Json>("go");
          co_return pawl::break_with(state);
        }
        co_return pawl::continue_with(state + 1);
      },
      {.checkpoint_every = 2});
}

pawl::Workflow<Json> changes(pawl::Context ctx, Json /*value*/) {
  co_await ctx.run("double", double_it, 1);
  co_return co_await ctx.signal<Json>("go");
}
pawl::Workflow<Json> changed(pawl::Context ctx, Json /*value*/) {
  co_await ctx.sleep(1h);
  co_return co_await ctx.signal<Json>("go");
}

pawl::Registry make_registry(const std::string& mode) {
  pawl::Registry registry;
  registry.workflow("echoes", echoes)
      .workflow("fails", fails)
      .workflow("waits", waits)
      .workflow("promises", promises)
      .workflow("charges", charges)
      .workflow("retries", retries)
      .workflow("sleeps", sleeps)
      .workflow("keeps", keeps)
      .workflow("parents", parents)
      .workflow("undoes", undoes)
      .workflow("recurs", recurs)
      .workflow("loops", loops)
      .workflow("changes", mode == "changed" ? changed : changes)
      .activity("flaky", flaky)
      .activity("undo", undo,
                {.compensation_retry = {.attempts = 0, .initial = 1h, .maximum = 1h}});
  if (mode == "answers") {
    registry.activity("charge", charge);
  }
  return registry;
}

void serve(const std::string& url, const std::string& mode) {
  pawl::Registry registry = make_registry(mode);
  pawl::EngineOptions options;
  options.worker_name = "the-host";
  if (mode == "answers") {
    options.queues = {{}, {.name = "payments"}};
  }
  if (mode == "removes") {
    options.retention.completed = 1h;
  }
  pawl::Engine engine(url, registry, options);
  std::cout << "ready\n" << std::flush;
  while (std::cin.get() != std::char_traits<char>::eof()) {
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    pawl::answer_check(make_registry("serves"));
    serve(argc > 1 ? argv[1] : "", argc > 2 ? argv[2] : "serves");
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "cli_moved_host: %s\n", error.what());
    return 1;
  }
}

// A program for tests of the command line: it serves a few kinds of workflows on a database until
// its standard input ends. Says "ready" when it has started.
//
// Usage: cli_host PATH_OF_THE_DATABASE [TEXT TIMES]
//
// Starts a run whose id is TEXT, repeated TIMES times: ids can be longer than a word of a command
// line.
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

int flaky(int /*number*/) { throw std::runtime_error("no answer"); }
void undo(int /*number*/) { throw std::runtime_error("the bank is closed"); }

pawl::Workflow<Json> echoes(pawl::Context /*ctx*/, Json value) { co_return value; }

pawl::Workflow<void> fails(pawl::Context ctx, Json /*value*/) {
  co_await ctx.sleep(0ms);
  throw std::runtime_error("no lamps");
}

pawl::Workflow<Json> waits(pawl::Context ctx, Json /*value*/) {
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

pawl::Workflow<void> sleeps(pawl::Context ctx, Json /*value*/) { co_await ctx.sleep(3h); }

pawl::Workflow<Json> parents(pawl::Context ctx, Json /*value*/) {
  co_return co_await ctx.child<Json>("waits", "the-child", Json(1));
}

pawl::Workflow<void> notes(pawl::Context ctx, Json /*value*/) {
  ctx.set("step", 1);
  ctx.set("who", std::string("me"));
  ctx.set("step", 2);
  ctx.clear("who");
  co_await ctx.signal("go");
}

pawl::Workflow<void> undoes(pawl::Context ctx, Json /*value*/) {
  pawl::Saga saga(ctx);
  co_await saga.add("undo", 1);
  throw std::runtime_error("no lamps");
}

void serve(const std::string& url, const std::string& text, int times) {
  pawl::Registry registry;
  registry.workflow("echoes", echoes)
      .workflow("fails", fails)
      .workflow("waits", waits)
      .workflow("promises", promises)
      .workflow("charges", charges)
      .workflow("retries", retries)
      .workflow("sleeps", sleeps)
      .workflow("parents", parents)
      .workflow("notes", notes)
      .workflow("undoes", undoes)
      .activity("flaky", flaky)
      .activity("undo", undo,
                {.compensation_retry = {.attempts = 0, .initial = 1h, .maximum = 1h}});
  pawl::Engine engine(url, registry, {.worker_name = "the-host"});
  std::string id;
  for (int i = 0; i < times; ++i) {
    id += text;
  }
  if (!id.empty()) {
    engine.start("waits", id, Json(1));
  }
  std::cout << "ready\n" << std::flush;
  while (std::cin.get() != std::char_traits<char>::eof()) {
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    serve("sqlite:" + std::string(argc > 1 ? argv[1] : "host.db"), argc > 3 ? argv[2] : "",
          argc > 3 ? std::stoi(argv[3]) : 0);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "cli_host: %s\n", error.what());
    return 1;
  }
}

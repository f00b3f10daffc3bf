// A program for tests of exported, forked and retried runs: it serves their kinds on a database
// until its standard input ends. Says "ready" when it has started.
//
// Usage: cli_portable_host PATH_OF_THE_DATABASE
#include <atomic>
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

std::atomic<int> reserved = 0;
std::atomic<int> tries = 0;

// Other results each time, so that one can see whether it was done again.
int reserve(int number) { return number + ++reserved; }
double ship(int number) { return number + 0.5; }
int second_try(int number) {
  if (++tries == 1) {
    throw std::runtime_error("the first try fails");
  }
  return number;
}
int flaky(int /*number*/) { throw std::runtime_error("no answer"); }
void undo(int /*number*/) {}

pawl::Workflow<Json> order(pawl::Context ctx, Json /*value*/) {
  const int number = co_await ctx.run("reserve", reserve, 100);
  const auto paid = co_await ctx.signal<Json>("pay");
  const auto weight = co_await ctx.schedule<double>("ship", 7);
  co_return Json{{"number", number}, {"paid", paid}, {"weight", weight}};
}

pawl::Workflow<int> fragile(pawl::Context ctx, Json /*value*/) {
  co_return co_await ctx.schedule<int>("second_try", 5);
}

pawl::Workflow<int> retries(pawl::Context ctx, Json /*value*/) {
  co_return co_await ctx.schedule<int>("flaky", 1,
                                       {.retry = {.attempts = 5, .initial = 1h, .maximum = 1h}});
}

pawl::Workflow<void> undoes(pawl::Context ctx, Json /*value*/) {
  pawl::Saga saga(ctx);
  co_await saga.add("undo", 1);
  throw std::runtime_error("no lamps");
}

pawl::Workflow<Json> parent(pawl::Context ctx, Json /*value*/) {
  co_return co_await ctx.child<Json>("fails", "the-child", Json(1));
}

pawl::Workflow<Json> fails(pawl::Context ctx, Json /*value*/) {
  co_await ctx.sleep(0ms);
  throw std::runtime_error("no lamps");
}

void serve(const std::string& url) {
  pawl::Registry registry;
  registry.workflow("order", order)
      .workflow("fragile", fragile)
      .workflow("retries", retries)
      .workflow("undoes", undoes)
      .workflow("parent", parent)
      .workflow("fails", fails)
      .activity("ship", ship)
      .activity("second_try", second_try)
      .activity("flaky", flaky)
      .activity("undo", undo);
  pawl::Engine engine(url, registry, {.worker_name = "the-host"});
  std::cout << "ready\n" << std::flush;
  while (std::cin.get() != std::char_traits<char>::eof()) {
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    serve("sqlite:" + std::string(argc > 1 ? argv[1] : "host.db"));
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "cli_portable_host: %s\n", error.what());
    return 1;
  }
}

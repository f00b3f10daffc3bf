// One of two builds of a program, for tests of rolling deploys: ROLLING_BUILD is 1 or 2. Serves two
// kinds of workflows on a store until its standard input ends.
//
//   same   both builds have the same steps: each could go on with every run
//   order  the builds have different steps: what the one has recorded, the other cannot read
//
// The result of a run says which build has executed its first and its last step.
//
// Usage: rolling_host_N URL. Says "ready" when it has started, and answers each line that it reads:
//   start KIND PREFIX COUNT    starts runs PREFIX-0, PREFIX-1 …; "done"
//   go PREFIX FROM TO          sends them their signal; "done"
//   wait PREFIX FROM TO        "ID RESULT" for each, then "done"
#include <cstdio>
#include <exception>
#include <iostream>
#include <sstream>
#include <string>

#include "pawl/pawl.hpp"

namespace {

constexpr int kBuild = ROLLING_BUILD;

int build() { return kBuild; }

std::string text(int first, int last) { return std::to_string(first) + " " + std::to_string(last); }

pawl::Workflow<std::string> same(pawl::Context ctx, int /*number*/) {
  const int first = co_await ctx.run("first", build);
  co_await ctx.signal("go");
  const int last = co_await ctx.run("last", build);
  co_return text(first, last);
}

pawl::Workflow<std::string> order(pawl::Context ctx, int /*number*/) {
  const int first = co_await ctx.run("first", build);
  if (kBuild == 2) {
    co_await ctx.run("check", build);
  }
  co_await ctx.signal("go");
  const int last = co_await ctx.run("last", build);
  co_return text(first, last);
}

void answer(pawl::Engine& engine, const std::string& line) {
  std::istringstream words(line);
  std::string verb;
  words >> verb;
  if (verb == "start") {
    std::string kind;
    std::string prefix;
    int count = 0;
    words >> kind >> prefix >> count;
    for (int i = 0; i < count; ++i) {
      engine.start(kind, prefix + "-" + std::to_string(i), i);
    }
  } else {
    std::string prefix;
    int from = 0;
    int to = 0;
    words >> prefix >> from >> to;
    for (int i = from; i < to; ++i) {
      auto run = engine.get<std::string>(prefix + "-" + std::to_string(i));
      if (verb == "go") {
        run.signal("go");
      } else {
        std::cout << prefix << "-" << i << " " << run.result() << "\n";
      }
    }
  }
  std::cout << "done\n" << std::flush;
}

void serve(const std::string& url) {
  pawl::Registry registry;
  const std::string fingerprint = "build-" + std::to_string(kBuild);
  registry.workflow("same", same, {.fingerprint = fingerprint})
      .workflow("order", order, {.fingerprint = fingerprint});
  pawl::Engine engine(url, registry, {.worker_name = fingerprint});
  std::cout << "ready\n" << std::flush;
  for (std::string line; std::getline(std::cin, line);) {
    answer(engine, line);
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    serve(argc > 1 ? argv[1] : "");
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "rolling_host: %s\n", error.what());
    return 1;
  }
}

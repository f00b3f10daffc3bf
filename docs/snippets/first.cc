// The first program of the guide: a greeting that survives. The tests kill and restart it.
// [program]
#include <chrono>
#include <iostream>

#include <pawl/pawl.hpp>

using namespace std::chrono_literals;

// An activity: an ordinary function that does something to the world.
std::string brew(const std::string& tea) {
  std::cout << "brewing " << tea << std::endl;
  return "a cup of " + tea;
}

// A workflow: a coroutine. Everything that it learns comes through its context.
pawl::Workflow<std::string> tea_time(pawl::Context ctx, std::string tea) {
  const std::string cup = co_await ctx.run("brew", brew, tea);
  co_await ctx.sleep(2s);  // Let it steep. It could be two years.
  co_return cup + ", steeped";
}

int main() {
  pawl::Registry registry;
  registry.workflow("tea_time", tea_time);
  pawl::Engine engine("sqlite:tea.db", registry);
  auto run = engine.start(tea_time, "tea-1", "Assam");
  std::cout << run.result() << std::endl;
}
// [/program]

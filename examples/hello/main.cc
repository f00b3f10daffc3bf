// [program]
#include <iostream>

#include <pawl/pawl.hpp>

using namespace std::chrono_literals;

void say(int number) { std::cout << number << std::endl; }

pawl::Workflow<std::string> countdown(pawl::Context ctx, int from) {
  for (int number = from; number > 0; --number) {
    co_await ctx.run("say", say, number);
    co_await ctx.sleep(1s);
  }
  co_return "lift-off";
}

int main(int argc, char** argv) {
  pawl::Registry registry;
  registry.workflow("countdown", countdown);
  pawl::Engine engine(argc > 1 ? argv[1] : "sqlite:hello.db", registry);
  std::cout << engine.start(countdown, "launch", 5).result() << std::endl;
}
// [/program]

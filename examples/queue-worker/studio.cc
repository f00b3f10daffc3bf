// The studio: its workflows put tasks on the queue "render", and wait. It cannot render.
//
//   studio [STORE]      STORE is sqlite:studio.db if not given
#include <iostream>
#include <string>

#include <pawl/pawl.hpp>

#include "film.hpp"

using namespace std::chrono_literals;

// [produce]
pawl::Workflow<int> produce(pawl::Context ctx, std::string title) {
  int frames = 0;
  for (const Scene& scene : {Scene{title + ": intro", 10}, Scene{title + ": story", 60}}) {
    frames += co_await ctx.schedule<int>(
        "render", scene, {.queue = "render", .heartbeat_timeout = 20s, .retry = {.attempts = 3}});
  }
  co_return frames;
}
// [/produce]

int main(int argc, char** argv) {
  try {
    pawl::Registry registry;
    registry.workflow("produce", produce);
    // [studio]
    pawl::Engine engine(argc > 1 ? argv[1] : "sqlite:studio.db", registry, {.queues = {}});
    // [/studio]
    const auto run = engine.start(produce, "film-1", "The Pawl");
    std::cout << "film-1 " << (run.is_new() ? "starts" : "goes on") << std::endl;
    const int frames = run.result();
    std::cout << "film-1 has " << frames << " frames" << std::endl;
    return frames == 70 ? 0 : 1;
  } catch (const std::exception& error) {
    std::cerr << "studio: " << error.what() << '\n';
    return 1;
  }
}

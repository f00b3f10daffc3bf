// A worker: takes tasks from the queue "render" until it is stopped (Ctrl-C, SIGTERM). Start as
// many as you like; it has no workflows.
//
//   renderer [STORE]      STORE is sqlite:studio.db if not given
#include <chrono>
#include <csignal>
#include <iostream>
#include <thread>

#include <pawl/pawl.hpp>

#include "film.hpp"

using namespace std::chrono_literals;

// [render]
int render(pawl::Activity& activity, const Scene& scene) {
  int frame = activity.last_details<int>().value_or(0);  // How far an earlier attempt came.
  std::cout << "attempt " << activity.attempt() << " at " << scene.title << ", from frame " << frame
            << std::endl;
  while (frame < scene.frames) {
    std::this_thread::sleep_for(40ms);  // Draws it.
    if (++frame % 25 == 0) {
      std::cout << "frame " << frame << std::endl;
    }
    if (!activity.heartbeat(frame)) {
      throw pawl::ActivityError("Stopped", "stopped at frame " + std::to_string(frame));
    }
  }
  std::cout << "done: " << scene.title << std::endl;
  return frame;
}
// [/render]

int main(int argc, char** argv) {
  // Before the engine starts its threads, so that only sigwait() gets these signals.
  sigset_t stop;
  sigemptyset(&stop);
  sigaddset(&stop, SIGINT);
  sigaddset(&stop, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &stop, nullptr);
  try {
    // [worker]
    pawl::Registry registry;
    registry.activity("render", render);
    pawl::Engine engine(argc > 1 ? argv[1] : "sqlite:studio.db", registry,
                        {.queues = {{.name = "render", .concurrency = 2}}});
    // [/worker]
    int signal = 0;
    sigwait(&stop, &signal);
    return 0;
  } catch (const std::exception& error) {
    std::cerr << "renderer: " << error.what() << '\n';
    return 1;
  }
}

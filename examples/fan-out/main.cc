// A thousand thumbnails, eight at a time: tasks on a queue that has a limit. One image is damaged;
// the others do not care.
//
//   fan_out [STORE]      STORE is sqlite:thumbnails.db if not given
#include <algorithm>
#include <atomic>
#include <chrono>
#include <iostream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <pawl/pawl.hpp>

using namespace std::chrono_literals;

constexpr int kImages = 1000;
constexpr int kAtOnce = 8;
constexpr int kDamaged = 666;

struct Damaged : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// --- The activity --------------------------------------------------------------------------------

std::atomic<int> running = 0;
std::atomic<int> most_at_once = 0;

// Counts how many of them there are, to check the limit.
class Counted {
 public:
  Counted() {
    const int now = ++running;
    int most = most_at_once;
    while (now > most && !most_at_once.compare_exchange_weak(most, now)) {
    }
  }
  ~Counted() { --running; }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;
};

int shrink(int image) {
  const Counted counted;
  std::this_thread::sleep_for(2ms);
  if (image == kDamaged) {
    throw Damaged("this is no image");
  }
  return 100 + image % 7;  // The size of the thumbnail.
}

// --- The workflow --------------------------------------------------------------------------------

struct Album {
  int thumbnails = 0;
  int bytes = 0;
  std::vector<std::string> damaged;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Album, thumbnails, bytes, damaged)

// [shrink_all]
pawl::Workflow<Album> shrink_all(pawl::Context ctx, int images) {
  std::vector<pawl::Future<int>> sizes;
  for (int image = 0; image < images; ++image) {
    sizes.push_back(ctx.schedule<int>("shrink", image, {.queue = "images"}));
  }

  Album album;
  int image = 0;
  for (const pawl::Future<int>& size : sizes) {
    try {
      album.bytes += co_await size;
      ++album.thumbnails;
    } catch (const pawl::ActivityFailed& failed) {
      album.damaged.push_back("image " + std::to_string(image) + ": " + failed.message());
    }
    if (++image % 100 == 0) {
      ctx.set("done", image);  // For who wants to know how far it is.
    }
  }
  co_return album;
}
// [/shrink_all]

// --- The program ---------------------------------------------------------------------------------

// Waits for the end, and says now and then how far it is.
Album wait_for(const pawl::RunHandle<Album>& run) {
  int shown = 0;
  for (;;) {
    try {
      return run.result_for(100ms);
    } catch (const pawl::TimedOut&) {
      const int done = run.state<int>("done").value_or(0);
      if (done > shown) {
        shown = done;
        std::cout << "  " << done << " of " << kImages << std::endl;
      }
    }
  }
}

int main(int argc, char** argv) {
  try {
    // [engine]
    pawl::Registry registry;
    registry.workflow("shrink_all", shrink_all).activity("shrink", shrink);
    pawl::Engine engine(argc > 1 ? argv[1] : "sqlite:thumbnails.db", registry,
                        {.queues = {{.name = "images", .concurrency = kAtOnce}}});
    // [/engine]
    const auto run = engine.start(shrink_all, "holidays", kImages);
    std::cout << (run.is_new() ? "starts: " : "goes on: ") << kImages << " images" << std::endl;
    const Album album = wait_for(run);
    std::cout << album.thumbnails << " thumbnails, " << album.bytes << " bytes" << std::endl;
    for (const std::string& damaged : album.damaged) {
      std::cout << "not done: " << damaged << std::endl;
    }
    if (most_at_once > kAtOnce) {
      std::cerr << "fan_out: " << most_at_once << " at once are too many\n";
      return 1;
    }
    return album.thumbnails == kImages - 1 && album.damaged.size() == 1 ? 0 : 1;
  } catch (const std::exception& error) {
    std::cerr << "fan_out: " << error.what() << '\n';
    return 1;
  }
}

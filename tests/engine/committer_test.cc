// The committer alone, on a real store.
#include "engine/committer.h"

#include <gtest/gtest.h>

#include "engine/thread_environment.h"
#include "world.h"

namespace pawl::engine {
namespace {

std::shared_ptr<store::Store> open_store(const TempDir& dir) {
  store::SqliteOptions options;
  options.path = dir.file("db");
  options.durability = store::Durability::kProcess;
  auto opened = store::open_sqlite(options);
  PAWL_CHECK(opened.has_value());
  return *std::move(opened);
}

void submit(Committer& committer, std::vector<int>& told, int from, int to) {
  for (int i = from; i < to; ++i) {
    committer.submit(store::Heartbeat{}, [&told, i](const Result<void>& result, store::Op& /*op*/) {
      EXPECT_TRUE(result.has_value());
      told.push_back(i);
    });
  }
}

// Who stops waits until it is not busy, and then ends it.
TEST(Committer, HasNoJobsLeftWhenItIsNotBusy) {
  const TempDir dir;
  const std::shared_ptr<store::Store> store = open_store(dir);
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    SimEnvironment environment(seed);
    Committer committer(*store, environment);
    std::vector<int> told;
    std::mt19937_64 random(seed);
    int next = 0;
    for (int round = 0; round < 20; ++round) {
      const int count = 1 + static_cast<int>(random() % 24);
      environment.post(Lane::kLoop,
                       [&, from = next, count] { submit(committer, told, from, from + count); });
      next += count;
      for (std::uint64_t steps = random() % 8; steps > 0; --steps) {
        environment.step();
      }
    }
    while (static_cast<int>(told.size()) < next || committer.is_busy()) {
      ASSERT_TRUE(environment.step()) << "seed " << seed;
    }
    EXPECT_FALSE(environment.step()) << "seed " << seed;
    EXPECT_TRUE(std::is_sorted(told.begin(), told.end()));
  }
}

// Leases are renewed by what is committed: that cannot wait for whoever reads a long log.
TEST(Committer, DoesNotWaitForLongReads) {
  const TempDir dir;
  const std::shared_ptr<store::Store> store = open_store(dir);
  std::vector<int> told;  // Touched on the loop only.
  Latch release;
  std::optional<Committer> committer;
  const auto environment = make_thread_environment();
  committer.emplace(*store, *environment);
  environment->post(Lane::kReader, [&] { environment->wait(release, 60'000); });
  int next = 0;
  for (const int count : {40, 40, 3}) {
    Latch done;
    environment->post(Lane::kLoop, [&, from = next, count] {
      submit(*committer, told, from, from + count);
      committer->submit(store::Heartbeat{},
                        [&](const Result<void>& /*result*/, store::Op& /*op*/) { done.set(); });
    });
    next += count;
    EXPECT_TRUE(environment->wait(done, 10'000)) << count;
  }
  release.set();
  Latch last;
  environment->post(Lane::kReader, [&] { environment->post(Lane::kLoop, [&] { last.set(); }); });
  EXPECT_TRUE(environment->wait(last, 60'000));
}

}  // namespace
}  // namespace pawl::engine

// Node: one of many processes on one database, in one thread on virtual time.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "faulty_store.h"
#include "world.h"

namespace pawl::engine {

// One database, for many processes.
struct Disk {
  TempDir dir;
  store::LocalChangeHub hub;

  std::string path() const { return dir.file("db"); }

  std::shared_ptr<store::Store> open() {
    store::SqliteOptions options;
    options.path = path();
    options.durability = store::Durability::kProcess;
    options.signal = hub.make_signal();
    auto opened = store::open_sqlite(options);
    PAWL_CHECK(opened.has_value());
    return *std::move(opened);
  }
};

// A process with a clock and a faulty store of its own. When it goes, it dies.
class Node {
 public:
  Node(Disk& disk, std::shared_ptr<SimEnvironment> environment, std::vector<Definition> definitions,
       std::vector<ActivityType> activities = {}, EngineOptions options = {})
      : env(std::move(environment)), store(std::make_shared<FaultyStore>(disk.open())) {
    auto made = Engine::create(std::move(options), store, env, std::move(definitions),
                               std::move(activities));
    PAWL_CHECK(made.has_value());
    engine = *std::move(made);
    PAWL_CHECK(engine->start().has_value());
  }
  ~Node() {
    env->drop_all();
    engine->abandon();
  }
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  void start(const std::string& kind, const std::string& id) {
    StartRequest request;
    request.kind = kind;
    request.id = id;
    request.input = "null";
    engine->start_run(request, [](const Result<StartedRun>& started) {
      EXPECT_TRUE(started.has_value()) << (started ? "" : started.error().message);
    });
  }
  void signal(const std::string& id, const std::string& name) {
    engine->signal(id, name, "1", "", "",
                   [](const Result<bool>& sent) { EXPECT_TRUE(sent.has_value()); });
  }
  void resume(const std::string& id) {
    engine->resume(id, [](const Result<void>& resumed) { EXPECT_TRUE(resumed.has_value()); });
  }
  // Becomes true when the run's end is told.
  std::shared_ptr<bool> wait(const std::string& id) {
    auto told = std::make_shared<bool>(false);
    engine->wait(id, [told](const Result<RunOutcome>& outcome) { *told = outcome.has_value(); });
    return told;
  }
  store::RunRow row(const std::string& id) const {
    const auto found = store->find_run(id, std::nullopt);
    PAWL_CHECK(found.has_value() && found->has_value());
    return **found;
  }
  bool has(const std::string& id) const {
    const auto found = store->find_run(id, std::nullopt);
    return found.has_value() && found->has_value();
  }
  std::vector<std::string> events(const std::string& id) const { return events_of(*store, id); }
  static std::vector<std::string> events_of(store::Store& store, const std::string& id) {
    std::vector<std::string> events;
    const auto found = store.find_run(id, std::nullopt);
    PAWL_CHECK(found.has_value() && found->has_value());
    const auto read =
        store.read_log((*found)->key, 1, [&](const replay::Entry& entry) -> Result<void> {
          events.emplace_back(replay::traits(entry.kind).event);
          return {};
        });
    PAWL_CHECK(read.has_value());
    return events;
  }
  // Counts batches from now on, but those that only say that the worker lives. A loop without end
  // is ended by a store that is busy, so that the test fails and does not hang.
  std::shared_ptr<int> count_batches() {
    auto count = std::make_shared<int>(0);
    store->before_apply = [count](std::span<store::Op> ops) -> Result<void> {
      if (std::all_of(ops.begin(), ops.end(), [](const store::Op& op) {
            return std::holds_alternative<store::Heartbeat>(op);
          })) {
        return {};
      }
      if (++*count > 1000) {
        return make_error(ErrorCode::kStoreBusy, "it goes round and round");
      }
      return {};
    };
    return count;
  }

  std::shared_ptr<SimEnvironment> env;
  std::shared_ptr<FaultyStore> store;
  std::unique_ptr<Engine> engine;
};

inline std::shared_ptr<SimEnvironment> sim(std::uint64_t seed = 1) {
  return std::make_shared<SimEnvironment>(seed);
}

}  // namespace pawl::engine

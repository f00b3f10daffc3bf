// World: an engine in one thread on virtual time, on a database of its own, with a seed.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "engine/engine.h"
#include "engine/sim_environment.h"
#include "store/sqlite/sqlite_store.h"

namespace pawl::engine {

// A directory that goes with its owner; in memory where the system has such a place.
class TempDir {
 public:
  TempDir() {
    static int count = 0;
    const std::filesystem::path base = std::filesystem::exists("/dev/shm")
                                           ? std::filesystem::path("/dev/shm")
                                           : std::filesystem::temp_directory_path();
    path_ = base / ("pawl-test-" + std::to_string(::getpid()) + "-" + std::to_string(++count));
    std::filesystem::create_directories(path_);
  }
  ~TempDir() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;
  std::string file(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

class World {
 public:
  explicit World(std::vector<Definition> definitions, std::vector<ActivityType> activities = {},
                 std::uint64_t seed = 1, EngineOptions options = {})
      : env(std::make_shared<SimEnvironment>(seed)),
        definitions_(std::move(definitions)),
        activities_(std::move(activities)),
        options_(std::move(options)) {
    options_.on_error = [this](const Error& error, std::string_view what) {
      errors.push_back(std::string(what) + ": " + error.message);
    };
    open();
  }
  ~World() { close(); }

  void open() {
    store::SqliteOptions options;
    options.path = dir_.file("world.db");
    options.durability = store::Durability::kProcess;
    options.signal = hub_.make_signal();
    auto opened = store::open_sqlite(options);
    PAWL_CHECK(opened.has_value());
    store = *std::move(opened);
    auto made = Engine::create(options_, store, env, definitions_, activities_);
    PAWL_CHECK(made.has_value());
    engine = *std::move(made);
    PAWL_CHECK(engine->start().has_value());
  }
  void close() {
    if (engine != nullptr) {
      engine->stop();
    }
    engine.reset();
    store.reset();
  }
  // The process dies, and another one takes over.
  void crash() {
    env->drop_all();
    engine->abandon();
    engine.reset();
    store.reset();
    open();
  }

  // --- Calls, answered at once ---
  StartedRun start(const std::string& kind, const std::string& id,
                   const std::string& input = "null") {
    StartRequest request;
    request.kind = kind;
    request.id = id;
    request.input = input;
    Result<StartedRun> started = await<StartedRun>(
        [&](Callback<StartedRun> done) { engine->start_run(request, std::move(done)); });
    EXPECT_TRUE(started.has_value()) << (started ? "" : started.error().message);
    return started ? *started : StartedRun{};
  }
  Result<bool> signal(const std::string& id, const std::string& name,
                      const std::string& payload = "null", const std::string& dedupe = "") {
    return await<bool>([&](Callback<bool> done) {
      engine->signal(id, name, payload, "", dedupe, std::move(done));
    });
  }
  // "completed "done"", or the error.
  std::string outcome(const std::string& id, std::int64_t timeout_ms = -1) {
    auto answer = std::make_shared<std::string>("no answer");
    auto latch = std::make_shared<Latch>();
    engine->wait(id, [answer, latch](const Result<RunOutcome>& outcome) {
      *answer = outcome ? std::string(store::status_name(outcome->status)) + " " + outcome->payload
                        : "error: " + outcome.error().message;
      latch->set();
    });
    env->wait(*latch, timeout_ms);
    return *answer;
  }
  template <class T, class Call>
  Result<T> await(const Call& call) {
    auto latch = std::make_shared<Latch>();
    auto answer =
        std::make_shared<Result<T>>(make_error(ErrorCode::kTimedOut, "nothing was answered"));
    call([latch, answer](Result<T> result) {
      *answer = std::move(result);
      latch->set();
    });
    env->wait(*latch, 3'600'000);
    return *answer;
  }

  store::RunRow row(const std::string& id) {
    const auto found = store->find_run(id, std::nullopt);
    PAWL_CHECK(found.has_value() && found->has_value());
    return **found;
  }
  // Of one entry.
  std::string extra(const std::string& id, std::uint64_t seq) {
    std::string found;
    EXPECT_TRUE(store->read_log(row(id).key, seq, [&](const replay::Entry& entry) -> Result<void> {
      found = entry.seq == seq ? std::string(entry.extra) : found;
      return {};
    }));
    return found;
  }

  // One line for each entry: "1 OperationCompleted {1} name".
  std::vector<std::string> log(const std::string& id) {
    std::vector<std::string> lines;
    const auto read =
        store->read_log(row(id).key, 1, [&](const replay::Entry& entry) -> Result<void> {
          std::string line =
              std::to_string(entry.seq) + " " + std::string(replay::traits(entry.kind).event);
          line += entry.location.empty() ? "" : " " + std::string(entry.location);
          line += entry.name.empty() ? "" : " " + std::string(entry.name);
          lines.push_back(std::move(line));
          return {};
        });
    PAWL_CHECK(read.has_value());
    return lines;
  }

  std::shared_ptr<SimEnvironment> env;
  std::shared_ptr<store::Store> store;
  std::unique_ptr<Engine> engine;
  std::vector<std::string> errors;

 private:
  TempDir dir_;
  store::LocalChangeHub hub_;
  std::vector<Definition> definitions_;
  std::vector<ActivityType> activities_;
  EngineOptions options_;
};

}  // namespace pawl::engine

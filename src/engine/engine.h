// Engine: runs workflows on a store. It takes turns: what reached a run is delivered to its code,
// which runs until it waits; one commit makes all of that durable; only then does anything leave.
//
// Thread-safe. Callbacks are called on the loop and must not block.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "engine/activity.h"
#include "engine/environment.h"
#include "engine/program.h"
#include "store/store.h"

namespace pawl::engine {

struct QueueOptions {
  std::string name = "default";
  std::size_t concurrency = 64;  // Tasks at once.
};

// What went wrong and is being tried again. Any thread.
using ErrorSink = std::function<void(const Error& error, std::string_view what)>;

// Closed runs with this status are removed when they ended so long ago.
struct RetentionRule {
  store::RunStatus status{};
  std::int64_t age_ms = 0;
};

struct EngineOptions {
  std::string worker_name;  // For people; empty: host and pid.
  std::int64_t lease_ms = 30'000;
  std::size_t cache_bytes = std::size_t{256} << 20U;  // For suspended runs in memory.
  std::size_t payload_bytes_max = std::size_t{64} << 20U;
  std::vector<QueueOptions> queues = {{}};  // Queues to take tasks from.
  std::size_t runs_at_once = 10'000;        // Held; more wait in the store.
  std::vector<RetentionRule> retention;     // None: runs stay for ever.
  // Every run is thrown out of memory after each turn and comes back by replay. For tests.
  bool replay_every_turn = false;
  ErrorSink on_error;  // Empty: nobody is told.
};

struct StartRequest {
  std::string kind;
  std::string id;  // Empty: a new UUID.
  std::string input;
  store::OnExisting on_existing = store::OnExisting::kReturn;
  std::vector<store::Tag> tags;
  // Signal-with-start: both in one commit.
  std::string signal;
  std::string signal_payload;
  std::string signal_extra;
  std::string signal_dedupe;
};

struct StartedRun {
  store::RunKey key = 0;
  std::string id;
  std::uint32_t number = 1;
  Uuid uuid;
  bool is_new = false;
};

struct RunOutcome {
  store::RunStatus status{};  // Closed.
  std::string payload;        // Result, failure, or reason of the cancellation.
};

template <class T>
using Callback = std::function<void(Result<T>)>;

class Engine {
 public:
  // Definitions and activity types are fixed from here on.
  static Result<std::unique_ptr<Engine>> create(EngineOptions options,
                                                std::shared_ptr<store::Store> store,
                                                std::shared_ptr<Environment> environment,
                                                std::vector<Definition> definitions,
                                                std::vector<ActivityType> activities);
  virtual ~Engine() = default;

  // Starts to work on runs and tasks. Before that, only client calls work.
  virtual Result<void> start() = 0;
  // Waits for turns under way, gives runs back, drops the rest. Client calls fail with kClosed from
  // now on. Blocks; from outside of all lanes. Activities that run are asked to stop and waited
  // for.
  virtual void stop() = 0;
  // What stop() does first: asks for all of that and does not wait. An attempt that is told to have
  // failed after it was stopped: it begins again elsewhere.
  virtual void begin_stop() = 0;

  // For tests of crashes, in one thread: forgets everything at once, as if the process had died.
  // The environment has dropped its jobs before.
  virtual void abandon() = 0;

  // --- Clients. The newest run with that id is meant. ---
  virtual void start_run(StartRequest request, Callback<StartedRun> done) = 0;
  // True: sent; false: `dedupe` was there before.
  virtual void signal(std::string run_id, std::string name, std::string payload, std::string extra,
                      std::string dedupe, Callback<bool> done) = 0;
  virtual void resolve(std::string run_id, std::string promise, std::string payload,
                       Callback<void> done) = 0;
  virtual void reject(std::string run_id, std::string promise, std::string failure,
                      Callback<void> done) = 0;
  virtual void cancel(std::string run_id, std::string reason, Callback<void> done) = 0;
  virtual void terminate(std::string run_id, std::string reason, Callback<void> done) = 0;
  // Holds a run where it is, or lets it go on: what is being executed is recorded first. False: it
  // was so before.
  virtual void pause(std::string run_id, bool is_paused, Callback<bool> done) = 0;
  // What waits for its next attempt is tried now. Returns how many do.
  virtual void hurry(std::string run_id, Callback<std::int64_t> done) = 0;
  // Removes a closed run. kInvalidState: it is open, or its parent or a child is.
  virtual void remove(std::string run_id, Callback<void> done) = 0;
  // A blocked run is tried again.
  virtual void resume(std::string run_id, Callback<void> done) = 0;
  // Called when the run is closed, following a recurring one to its end.
  virtual void wait(std::string run_id, Callback<RunOutcome> done) = 0;

  virtual store::Store& store() = 0;
  virtual Environment& environment() = 0;

  struct Figures {
    std::uint64_t turns = 0;
    std::uint64_t batches = 0;  // Commits.
    std::uint64_t replays = 0;  // Runs that came back from the store.
    std::uint64_t evictions = 0;
    std::uint64_t lost = 0;  // Turns of runs that somebody else had taken.
    std::uint64_t operations = 0;
    std::uint64_t tasks = 0;
    std::uint64_t removed = 0;  // Old runs.
    std::size_t held = 0;       // Runs held now,
    std::size_t cached = 0;     // suspended in memory,
    std::size_t cache_bytes = 0;
  };
  virtual Figures figures() = 0;
};

}  // namespace pawl::engine

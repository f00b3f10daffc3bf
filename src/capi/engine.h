// ApiEngine: an engine as the ABI has it. What it would have executed comes as events to those who
// poll, and goes on when they say so. Thread-safe.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "capi/call.h"
#include "capi/handles.h"
#include "capi/queue.h"
#include "capi/test_clock.h"
#include "engine/engine.h"
#include "pawl.h"
#include "store/store.h"

namespace pawl::capi {

class Context;

struct ApiOptions {
  std::string url;
  engine::EngineOptions engine;
  bool is_test = false;
};

// What came of a client's call.
struct Answer {
  pawl_status status = PAWL_OK;
  std::string payload;  // Or what went wrong.
  std::int32_t run_status = 0;
  std::int32_t flag = 0;
};

class ApiEngine {
 public:
  static Result<std::shared_ptr<ApiEngine>> open(ApiOptions options);
  ~ApiEngine();
  ApiEngine(const ApiEngine&) = delete;
  ApiEngine& operator=(const ApiEngine&) = delete;

  // --- Before start ---
  Result<void> add_workflow(engine::Definition definition);
  Result<void> add_activity(std::string name, engine::RetryPolicy compensation_retry);
  Result<void> start();
  void stop();

  // --- Working ---
  Result<void> poll(std::uint32_t kinds, std::size_t limit, std::int64_t timeout_ms,
                    EventList& list);
  Result<void> end_attempt(std::uint64_t attempt, engine::ActivityOutcome outcome);
  Result<bool> heartbeat(std::uint64_t attempt, std::string_view details);
  Result<bool> should_stop(std::uint64_t attempt);

  // --- Clients ---
  using Done = std::function<void(Answer)>;
  // Asks, and puts the answer where it is wanted: `ask`: void(engine::Engine&, Done).
  template <class Ask>
  Result<void> ask(const Ask& what, std::uint64_t tag, pawl_reply* reply,
                   std::int64_t timeout_ms = -1, bool waits = false) {
    PAWL_TRY(check_open());
    return answer([&](Done done) { what(*engine_, std::move(done)); }, tag, reply, timeout_ms,
                  waits);
  }
  // Runs `read` where long reads are done.
  Result<void> ask_store(std::function<Answer(store::Store&)> read, std::uint64_t tag,
                         pawl_reply* reply);
  std::size_t payload_bytes_max() const { return options_.engine.payload_bytes_max; }

  // --- Tests ---
  Result<std::int64_t> test_now();
  Result<void> test_advance(std::int64_t duration_ms, std::uint64_t tag, pawl_reply* reply);

 private:
  class ContextProgram;
  struct Attempt {
    std::shared_ptr<engine::ActivityAttempt> attempt;
    engine::ActivityDone done;
  };

  explicit ApiEngine(ApiOptions options) : options_(std::move(options)) {}

  Result<void> make_engine();
  Result<void> check_open();
  Result<void> check_test() const;
  Result<void> answer(const std::function<void(Done)>& ask, std::uint64_t tag, pawl_reply* reply,
                      std::int64_t timeout_ms, bool waits);
  // From the loop: an attempt that somebody has to execute.
  void add_attempt(Event event, std::shared_ptr<engine::ActivityAttempt> attempt,
                   engine::ActivityDone done);
  engine::RemoteBody operation_body(pawl_context context, replay::FutureId future);
  engine::RemoteBody activity_body();
  void revoke_contexts();
  void one_less_out();
  bool has_nothing_out();

  const ApiOptions options_;
  std::shared_ptr<store::Store> store_;
  EventQueue queue_;
  std::atomic<std::size_t> active_ = 0;  // Contexts that are out, and attempts that are ending.

  std::mutex mutex_;
  std::vector<engine::Definition> definitions_;
  std::vector<engine::ActivityType> activities_;
  bool is_started_ = false;
  bool is_stopping_ = false;
  std::uint64_t last_attempt_ = 0;
  std::unordered_map<std::uint64_t, Attempt> attempts_;
  std::unordered_map<pawl_context, Context*> contexts_;

  // Last: what they still do uses the rest.
  std::shared_ptr<engine::Environment> environment_;
  std::shared_ptr<TestClock> clock_;  // Tests: the environment.
  std::unique_ptr<engine::Engine> engine_;
};

using EngineHandles = SharedHandles<ApiEngine, HandleKind::kEngine, pawl_engine>;
EngineHandles& engines();

// What a function of the ABI does with an engine. `body`: CallEnd(ApiEngine&).
template <class Body>
pawl_status with_engine(pawl_engine handle, const Body& body) noexcept {
  return call([&]() -> CallEnd {
    PAWL_TRY_ASSIGN(const std::shared_ptr<ApiEngine> engine, engines().find(handle, "engine"));
    return body(*engine);
  });
}

}  // namespace pawl::capi

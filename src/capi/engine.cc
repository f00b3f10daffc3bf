#include "capi/engine.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <utility>

#include "base/moment.h"
#include "capi/basics.h"
#include "capi/call.h"
#include "capi/context.h"
#include "engine/thread_environment.h"
#include "sdk/codec_store.h"
#include "store/open/open_store.h"
#include "store/sqlite/temporary_store.h"
#include "store/url.h"

namespace pawl::capi {

namespace {

Error closed() { return make_error(ErrorCode::kClosed, "the engine has been stopped"); }

Error fixed() {
  return make_error(ErrorCode::kInvalidState,
                    "workflows and activities are added before the engine is started or used");
}

engine::ActivityOutcome stopped_outcome() {
  engine::ActivityOutcome outcome;
  outcome.ok = false;
  outcome.failure.type = "Stopped";
  outcome.failure.message = "the engine has been stopped";
  return outcome;
}

// Nobody else is there who could take over, so there is no need to say often that one lives.
constexpr std::int64_t kTestLeaseMs = std::int64_t{500} * 365 * 24 * 3600 * 1000;

}  // namespace

EngineHandles& engines() {
  static auto* const handles = new EngineHandles;  // Never destroyed: threads may outlive main().
  return *handles;
}

// The code of a run: somebody has it who polls.
class ApiEngine::ContextProgram final : public engine::RemoteProgram {
 public:
  ContextProgram(ApiEngine& engine, engine::RunHost& host, std::string_view input)
      : engine_(engine), host_(host), input_(input) {
    context_.payload_bytes_max = engine.payload_bytes_max();
    handle_ = contexts().add(&context_);
    context_.body_for = [&engine, handle = handle_](replay::FutureId future) {
      return engine.operation_body(handle, future);
    };
    const std::scoped_lock lock(engine_.mutex_);
    engine_.contexts_.emplace(handle_, &context_);
  }
  ~ContextProgram() override {
    static_cast<void>(contexts().remove(handle_));
    {
      const std::scoped_lock lock(engine_.mutex_);
      engine_.contexts_.erase(handle_);
    }
    if (is_known_ && !host_.machine().is_finished()) {
      Event event;
      event.event.kind = PAWL_EVENT_FORGET;
      event.event.context = handle_;
      engine_.queue_.put(std::move(event));
    }
  }
  ContextProgram(const ContextProgram&) = delete;
  ContextProgram& operator=(const ContextProgram&) = delete;

  void go_on(engine::CodeHost& host, bool is_new, engine::Job back) override {
    {
      const std::scoped_lock lock(engine_.mutex_);
      if (engine_.is_stopping_) {
        return;  // Nobody will come for it.
      }
      ++engine_.active_;
    }
    // Nobody is inside: it was not handed out.
    context_.lend(host, [&engine = engine_, back = std::move(back)]() mutable {
      back();
      engine.one_less_out();
    });
    is_known_ = true;
    Event event;
    event.event.kind = PAWL_EVENT_ACTIVATION;
    event.event.is_new = is_new ? 1 : 0;
    event.event.context = handle_;
    event.event.number = host_.number();
    event.run_id = host_.id();
    event.run_uuid = host_.uuid().to_string();
    event.name = host_.kind();
    if (is_new) {
      event.payload = std::move(input_);
    }
    engine_.queue_.put(std::move(event));
  }
  std::size_t memory_bytes() const override { return sizeof(*this) + kCodeBytes + input_.size(); }

 private:
  static constexpr std::size_t kCodeBytes = 8192;  // A guess: what it is elsewhere, nobody tells.

  ApiEngine& engine_;
  engine::RunHost& host_;
  std::string input_;
  Context context_;
  pawl_context handle_;
  bool is_known_ = false;
};

// --- Life ----------------------------------------------------------------------------------------

Result<std::shared_ptr<ApiEngine>> ApiEngine::open(ApiOptions options) {
  std::shared_ptr<ApiEngine> engine(new ApiEngine(std::move(options)));
  if (engine->options_.is_test) {
    engine->clock_ = std::make_shared<TestClock>();
    engine->clock_->on_post([queue = &engine->queue_] { queue->wake(); });
    engine->environment_ = engine->clock_;
    PAWL_TRY_ASSIGN(engine->store_, store::open_temporary());
  } else {
    PAWL_TRY_ASSIGN(const store::StoreUrl url, store::parse_store_url(engine->options_.url));
    PAWL_TRY_ASSIGN(engine->store_, store::open_store(url));
    engine->environment_ = std::make_shared<engine::ThreadEnvironment>(engine::ThreadOptions{});
  }
  // Says what payloads are that a codec of a C++ program has written.
  engine->store_ = pawl::detail::make_codec_store(std::move(engine->store_),
                                                  pawl::detail::PayloadCodecs({}, {}));
  return engine;
}

ApiEngine::~ApiEngine() { stop(); }

Result<void> ApiEngine::add_workflow(engine::Definition definition) {
  definition.create_remote = [this](engine::RunHost& host, std::string_view input) {
    return std::make_unique<ContextProgram>(*this, host, input);
  };
  const std::scoped_lock lock(mutex_);
  if (engine_ != nullptr || is_stopping_) {
    return fixed();
  }
  for (const engine::Definition& each : definitions_) {
    if (each.kind == definition.kind) {
      return make_error(ErrorCode::kAlreadyExists,
                        "workflow '" + definition.kind + "' has been added before");
    }
  }
  definitions_.push_back(std::move(definition));
  return {};
}

Result<void> ApiEngine::add_activity(std::string name, engine::RetryPolicy compensation_retry) {
  const std::scoped_lock lock(mutex_);
  if (engine_ != nullptr || is_stopping_) {
    return fixed();
  }
  for (const engine::ActivityType& each : activities_) {
    if (each.name == name) {
      return make_error(ErrorCode::kAlreadyExists, "activity '" + name + "' has been added before");
    }
  }
  engine::ActivityType type;
  type.name = std::move(name);
  type.compensation_retry = std::move(compensation_retry);
  type.remote = activity_body();
  activities_.push_back(std::move(type));
  return {};
}

// With the mutex held.
Result<void> ApiEngine::make_engine() {
  if (engine_ != nullptr) {
    return {};
  }
  engine::EngineOptions options = options_.engine;
  if (clock_ != nullptr) {
    options.lease_ms = kTestLeaseMs;
  }
  options.on_error = [this](const Error& error, std::string_view what) {
    Event event;
    event.event.kind = PAWL_EVENT_TROUBLE;
    event.event.status = static_cast<pawl_status>(error.code);
    event.payload = std::string(what) + ": " + error.message;
    queue_.put(std::move(event));
  };
  PAWL_TRY_ASSIGN(engine_, engine::Engine::create(std::move(options), store_, environment_,
                                                  std::move(definitions_), std::move(activities_)));
  return {};
}

Result<void> ApiEngine::check_open() {
  const std::scoped_lock lock(mutex_);
  if (is_stopping_) {
    return closed();
  }
  return make_engine();
}

Result<void> ApiEngine::start() {
  {
    const std::scoped_lock lock(mutex_);
    if (is_stopping_) {
      return closed();
    }
    if (is_started_) {
      return make_error(ErrorCode::kInvalidState, "the engine has been started before");
    }
    PAWL_TRY(make_engine());
    is_started_ = true;
  }
  return engine_->start();
}

void ApiEngine::stop() {
  // First, so that an attempt that is stopped is not taken for one that has failed.
  engine::Engine* made = nullptr;
  {
    const std::scoped_lock lock(mutex_);
    made = engine_.get();
  }
  if (made != nullptr) {
    made->begin_stop();
  }
  std::unordered_map<std::uint64_t, Attempt> attempts;
  {
    const std::scoped_lock lock(mutex_);
    if (std::exchange(is_stopping_, true)) {
      return;
    }
    attempts = std::exchange(attempts_, {});
  }
  revoke_contexts();
  for (auto& [number, attempt] : attempts) {
    attempt.done(stopped_outcome());
  }
  if (engine_ != nullptr) {
    engine_->stop();
  }
  queue_.close();
}

// Whoever has one finds out by the next call. Dropping what was to be called may end the run, and
// with it the context.
void ApiEngine::revoke_contexts() {
  std::vector<pawl_context> handles;
  {
    const std::scoped_lock lock(mutex_);
    for (const auto& [handle, context] : contexts_) {
      handles.push_back(handle);
    }
  }
  for (const pawl_context handle : handles) {
    engine::Job back;
    const std::scoped_lock lock(mutex_);  // It is not destroyed while it is held.
    const auto found = contexts_.find(handle);
    if (found != contexts_.end() && contexts().remove(handle)) {
      back = found->second->take_back();
    }
  }
}

// --- Working -------------------------------------------------------------------------------------

void ApiEngine::one_less_out() {
  --active_;
  if (clock_ != nullptr) {
    queue_.wake();  // Whoever polls may have looked before.
  }
}

bool ApiEngine::has_nothing_out() {
  const std::scoped_lock lock(mutex_);
  return attempts_.empty() && active_ == 0 && queue_.is_empty();
}

Result<void> ApiEngine::poll(std::uint32_t kinds, std::size_t limit, std::int64_t timeout_ms,
                             EventList& list) {
  std::optional<EventQueue::Deadline> deadline;
  if (timeout_ms >= 0) {
    constexpr std::int64_t kLongest = std::int64_t{1000} * 3600 * 24 * 365;
    deadline = std::chrono::steady_clock::now() +
               std::chrono::milliseconds(std::min(timeout_ms, kLongest));
  }
  while (true) {
    const std::uint64_t seen = queue_.wakes();
    if (clock_ != nullptr) {
      clock_->work();
    }
    queue_.take(kinds, limit, list);
    if (!list.events.empty()) {
      return {};
    }
    if (queue_.is_closed()) {
      return closed();
    }
    if (clock_ != nullptr && has_nothing_out() && clock_->skip()) {
      continue;
    }
    if (deadline && std::chrono::steady_clock::now() >= *deadline) {
      return make_error(ErrorCode::kTimedOut, "nothing has come");
    }
    queue_.wait(kinds, deadline, seen);
  }
}

void ApiEngine::add_attempt(Event event, std::shared_ptr<engine::ActivityAttempt> attempt,
                            engine::ActivityDone done) {
  event.event.number = attempt->attempt;
  event.run_id = attempt->run_id;
  event.name = attempt->type;
  event.key = attempt->key;
  event.payload = attempt->input;
  event.details = attempt->last_details;
  bool is_stopping = false;
  {
    const std::scoped_lock lock(mutex_);
    is_stopping = is_stopping_;
    if (!is_stopping) {
      event.event.attempt = ++last_attempt_;
      attempts_.emplace(last_attempt_, Attempt{std::move(attempt), std::move(done)});
    }
  }
  if (is_stopping) {
    done(stopped_outcome());
  } else {
    queue_.put(std::move(event));
  }
}

engine::RemoteBody ApiEngine::operation_body(pawl_context context, replay::FutureId future) {
  return [this, context, future](std::shared_ptr<engine::ActivityAttempt> attempt,
                                 engine::ActivityDone done) {
    Event event;
    event.event.kind = PAWL_EVENT_OPERATION;
    event.event.context = context;
    event.event.future = future;
    add_attempt(std::move(event), std::move(attempt), std::move(done));
  };
}

engine::RemoteBody ApiEngine::activity_body() {
  return [this](std::shared_ptr<engine::ActivityAttempt> attempt, engine::ActivityDone done) {
    Event event;
    event.event.kind = PAWL_EVENT_TASK;
    add_attempt(std::move(event), std::move(attempt), std::move(done));
  };
}

Result<void> ApiEngine::end_attempt(std::uint64_t attempt, engine::ActivityOutcome outcome) {
  engine::ActivityDone done;
  {
    const std::scoped_lock lock(mutex_);
    const auto found = attempts_.find(attempt);
    if (is_stopping_) {
      return closed();
    }
    if (found == attempts_.end()) {
      return make_error(ErrorCode::kNotFound, "there is no attempt " + std::to_string(attempt) +
                                                  ", or its end has been told before");
    }
    done = std::move(found->second.done);
    attempts_.erase(found);
    ++active_;  // Till what follows from it is under way: time must not jump before.
  }
  done(std::move(outcome));
  one_less_out();
  return {};
}

Result<bool> ApiEngine::heartbeat(std::uint64_t attempt, std::string_view details) {
  std::shared_ptr<engine::ActivityAttempt> running;
  {
    const std::scoped_lock lock(mutex_);
    const auto found = attempts_.find(attempt);
    if (found == attempts_.end()) {
      return true;  // Nobody wants it any more.
    }
    running = found->second.attempt;
  }
  return !running->heartbeat(details);
}

Result<bool> ApiEngine::should_stop(std::uint64_t attempt) {
  const std::scoped_lock lock(mutex_);
  const auto found = attempts_.find(attempt);
  return found == attempts_.end() || found->second.attempt->should_stop();
}

// --- Answers -------------------------------------------------------------------------------------

namespace {

// Somebody who waits, for the clock of tests.
class Counted {
 public:
  explicit Counted(std::shared_ptr<TestClock> clock) : clock_(std::move(clock)) {
    if (clock_ != nullptr) {
      clock_->add_waiter(1);
    }
  }
  void end() {
    if (clock_ != nullptr && !has_ended_.exchange(true)) {
      clock_->add_waiter(-1);
    }
  }

 private:
  const std::shared_ptr<TestClock> clock_;
  std::atomic<bool> has_ended_ = false;
};

}  // namespace

Result<void> ApiEngine::answer(const std::function<void(Done)>& ask, std::uint64_t tag,
                               pawl_reply* reply, std::int64_t timeout_ms, bool waits) {
  // Ends with the answer, or when nobody waits for that any more.
  const auto counted = std::make_shared<Counted>(waits ? clock_ : nullptr);
  if (waits && clock_ != nullptr) {
    queue_.wake();
  }
  if (reply == nullptr) {
    ask([this, tag, counted](Answer told) {
      counted->end();
      Event event;
      event.event.kind = PAWL_EVENT_REPLY;
      event.event.attempt = tag;
      event.event.status = told.status;
      event.event.run_status = told.run_status;
      event.event.flag = told.flag;
      event.payload = std::move(told.payload);
      queue_.put(std::move(event));
    });
    return {};
  }
  struct Waiting {
    engine::Latch latch;
    Answer answer;
  };
  const auto waiting = std::make_shared<Waiting>();
  ask([waiting, counted](Answer told) {
    counted->end();
    waiting->answer = std::move(told);
    waiting->latch.set();
  });
  // In tests, others do the work, or nobody does.
  const auto since = std::chrono::steady_clock::now();
  while (!environment_->wait(waiting->latch, timeout_ms)) {
    const auto waited = std::chrono::steady_clock::now() - since;
    if (clock_ == nullptr || (timeout_ms >= 0 && waited >= std::chrono::milliseconds(timeout_ms))) {
      counted->end();
      return make_error(ErrorCode::kTimedOut, "no answer in time");
    }
    if (has_nothing_out() && clock_->skip()) {
      continue;
    }
    queue_.wait(0, std::chrono::steady_clock::now() + std::chrono::milliseconds(1), queue_.wakes());
  }
  Answer& told = waiting->answer;
  if (told.status != PAWL_OK) {
    return make_error(static_cast<ErrorCode>(told.status), std::move(told.payload));
  }
  auto list = std::make_shared<EventList>();
  Event& event = list->events.emplace_back();
  event.payload = std::move(told.payload);
  *reply = {};
  reply->payload = to_bytes(event.payload);
  reply->run_status = told.run_status;
  reply->flag = told.flag;
  reply->list = event_lists().add(std::move(list));
  return {};
}

Result<void> ApiEngine::ask_store(std::function<Answer(store::Store&)> read, std::uint64_t tag,
                                  pawl_reply* reply) {
  PAWL_TRY(check_open());
  return answer(
      [&](Done done) {
        environment_->post(engine::Lane::kReader, [store = store_, read = std::move(read),
                                                   done = std::move(done)] { done(read(*store)); });
      },
      tag, reply, -1, false);
}

// --- Tests ---------------------------------------------------------------------------------------

Result<void> ApiEngine::check_test() const {
  return clock_ != nullptr
             ? Result<void>()
             : make_error(ErrorCode::kInvalidState, "this engine was not opened with is_test");
}

Result<std::int64_t> ApiEngine::test_now() {
  PAWL_TRY(check_test());
  return clock_->now_ms();
}

Result<void> ApiEngine::test_advance(std::int64_t duration_ms, std::uint64_t tag,
                                     pawl_reply* reply) {
  PAWL_TRY(check_test());
  PAWL_TRY(check_open());
  if (duration_ms < 0) {
    return wrong_number("duration_ms", duration_ms);
  }
  return answer(
      [&](const Done& done) {
        clock_->wait_for(add_ms(clock_->now_ms(), duration_ms), [done] { done({}); });
      },
      tag, reply, -1, false);
}

}  // namespace pawl::capi

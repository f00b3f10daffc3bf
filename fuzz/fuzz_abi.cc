// Any series of calls of the C ABI, with handles that are live, freed, foreign or null, numbers out
// of every range, texts that are no UTF-8, sizes that are wrong: each call returns a code of the
// table, a sentence comes with an error, and nothing is given out without PAWL_OK.
#include <fuzzer/FuzzedDataProvider.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz/require.h"
#include "pawl.h"

namespace {

using pawl::fuzz::require;

class Caller {
 public:
  explicit Caller(FuzzedDataProvider& data) : data_(data) {}
  ~Caller() {
    for (const pawl_context context : contexts_) {
      static_cast<void>(pawl_context_free(context));
    }
    for (const pawl_buffer buffer : buffers_) {
      static_cast<void>(pawl_buffer_free(buffer));
    }
    for (const pawl_event_list list : lists_) {
      static_cast<void>(pawl_events_free(list));
    }
    for (const pawl_engine engine : engines_) {
      static_cast<void>(pawl_engine_free(engine));
    }
  }
  Caller(const Caller&) = delete;
  Caller& operator=(const Caller&) = delete;

  void call_one() {
    switch (data_.ConsumeIntegralInRange(0, 56)) {
      case 0:
        return create_context();
      case 1:
        return done_void(pawl_context_free(context()));
      case 2:
        return done_void(pawl_context_set_time(context(), number()));
      case 3:
      case 4:
      case 5:
      case 6:
        return open();
      case 7:
        return done_void(pawl_context_complete(context(), small(), kind(), bytes()));
      case 8: {
        const pawl_command step = command();
        return done_void(pawl_context_removed(context(), maybe(&step)));
      }
      case 9: {
        std::uint32_t version = 0;
        return done_void(
            pawl_context_check_version(context(), small(), small(), bytes(), maybe(&version)));
      }
      case 10:
        return done_void(pawl_context_close_branch(context(), small()));
      case 11: {
        pawl_loop_position position;
        const pawl_status status = pawl_context_loop_position(context(), small(), &position);
        if (done(status)) {
          look_at(position.state);
          look_at(position.result);
        }
        return;
      }
      case 12: {
        pawl_branch iteration = 0;
        return done_void(pawl_context_enter_iteration(context(), small(), maybe(&iteration)));
      }
      case 13: {
        pawl_future future = 0;
        return done_void(pawl_context_continue_loop(context(), small(), bytes(), maybe(&future)));
      }
      case 14: {
        pawl_future future = 0;
        return done_void(
            pawl_context_end_loop(context(), small(), bytes(), bytes(), maybe(&future)));
      }
      case 15:
        return done_void(pawl_context_abandon_loop(context(), small()));
      case 16: {
        pawl_outcome outcome;
        if (done(pawl_context_outcome(context(), small(), &outcome))) {
          require(outcome.outcome >= PAWL_PENDING && outcome.outcome <= PAWL_TIMEOUT, "an outcome");
          look_at(outcome.payload);
          look_at(outcome.extra);
        }
        return;
      }
      case 17: {
        pawl_bytes id;
        if (done(pawl_context_command_id(context(), small(), &id))) {
          look_at(id);
        }
        return;
      }
      case 18:
      case 19:
        return begin_await();
      case 20:
      case 21:
        return done_void(pawl_context_give_up_await(context(), await()));
      case 22: {
        std::int32_t is_taken = 0;
        const std::string entry = arrival();
        return done_void(
            pawl_context_arrive(context(), {entry.data(), entry.size()}, maybe(&is_taken)));
      }
      case 23:
      case 24: {
        pawl_delivery delivery;
        if (done(pawl_context_next_delivery(context(), &delivery)) && delivery.is_there != 0) {
          for (std::size_t i = 0; i < delivery.woken_count; ++i) {
            require(delivery.woken[i].id != 0, "an await that was blocked has a number");
            require(delivery.woken[i].state != PAWL_AWAIT_BLOCKED, "what goes on is over");
          }
        }
        return;
      }
      case 25: {
        std::int64_t now = 0;
        return done_void(pawl_context_now(context(), maybe(&now)));
      }
      case 26: {
        std::int32_t is_requested = 0;
        pawl_bytes reason;
        if (done(pawl_context_cancelled(context(), &is_requested, &reason))) {
          look_at(reason);
        }
        return;
      }
      case 27: {
        std::int32_t is_set = 0;
        pawl_bytes value;
        if (done(pawl_context_state(context(), bytes(), &is_set, &value))) {
          look_at(value);
        }
        return;
      }
      case 28: {
        char uuid[37];
        if (done(pawl_context_uuid(context(), small(), uuid))) {
          require(std::strlen(uuid) == 36, "a UUID has 36 characters");
        }
        return;
      }
      case 29: {
        std::uint64_t random = 0;
        return done_void(pawl_context_random(context(), small(), maybe(&random)));
      }
      case 30: {
        std::size_t count = 0;
        return done_void(pawl_context_signal_count(context(), bytes(), maybe(&count)));
      }
      case 31:
        return done_void(
            pawl_context_finish(context(), data_.ConsumeIntegralInRange(60, 72), bytes()));
      case 32:
        return take_buffer([&](pawl_buffer* out) { return pawl_context_take_new(context(), out); });
      case 33:
        return take_buffer([&](pawl_buffer* out) { return pawl_context_report(context(), out); });
      case 34:
        return look_at_violation();
      case 35: {
        const pawl_retry retry = a_retry();
        return done_void(pawl_context_execute(context(), small(), maybe(&retry), number()));
      }
      case 36:
        return done_void(
            pawl_context_send(context(), small(), bytes(), bytes(), bytes(), bytes(), bytes()));
      case 37:
        return done_void(pawl_context_yield(context()));
      case 38:
        return done_void(pawl_buffer_free(pick(buffers_)));
      case 39: {
        pawl_bytes data;
        if (done(pawl_buffer_data(pick(buffers_), &data))) {
          look_at(data);
        }
        return;
      }
      case 40: {
        pawl_task_options options = {};
        options.size = size_of(sizeof(options));
        options.queue = bytes();
        options.wait_timeout_ms = number();
        const pawl_retry retry = a_retry();
        options.retry = maybe(&retry);
        return take_buffer([&](pawl_buffer* out) { return pawl_task_extra(maybe(&options), out); });
      }
      case 41:
        return take_buffer(
            [&](pawl_buffer* out) { return pawl_child_extra(kind(), bytes(), out); });
      case 42:
        return take_buffer(
            [&](pawl_buffer* out) { return pawl_promise_token(bytes(), bytes(), out); });
      case 43: {
        pawl_buffer run = nullptr;
        pawl_buffer promise = nullptr;
        if (done(pawl_promise_token_parts(bytes(), &run, &promise))) {
          buffers_.push_back(run);
          buffers_.push_back(promise);
        }
        return;
      }
      case 44:
        return done_void(pawl_events_free(pick(lists_)));
      case 45:
        return open_engine();
      case 46: {
        pawl_workflow_options options = {};
        options.size = size_of(sizeof(options));
        options.kind = bytes();
        options.matching = kind();
        options.on_change = kind();
        return done_void(pawl_engine_add_workflow(engine(), maybe(&options)));
      }
      case 47: {
        const pawl_retry retry = a_retry();
        return done_void(pawl_engine_add_activity(engine(), bytes(), maybe(&retry)));
      }
      case 48:
        return done_void(data_.ConsumeBool() ? pawl_engine_start(engine())
                                             : pawl_engine_stop(engine()));
      case 49:
      case 50:
        return poll();
      case 51: {
        const std::uint64_t attempt = small();
        pawl_failure failure = {};
        failure.size = size_of(sizeof(failure));
        failure.type = bytes();
        failure.details = bytes();
        return done_void(data_.ConsumeBool()
                             ? pawl_attempt_complete(engine(), attempt, bytes())
                             : pawl_attempt_fail(engine(), attempt, maybe(&failure)));
      }
      case 52: {
        std::int32_t should_stop = 0;
        return done_void(pawl_attempt_heartbeat(engine(), small(), bytes(), maybe(&should_stop)));
      }
      case 53: {
        pawl_start_options options = {};
        options.size = size_of(sizeof(options));
        options.kind = bytes();
        options.id = bytes();
        options.input = bytes();
        options.on_existing = kind();
        options.tags = bytes();
        options.signal = bytes();
        options.signal_event = bytes();
        return done_void(pawl_client_start(engine(), maybe(&options), small(), nullptr));
      }
      case 54:
        return ask();
      case 55: {
        pawl_outcome signal;
        if (done(pawl_context_take_signal(context(), small(), bytes(), &signal))) {
          look_at(signal.payload);
          look_at(signal.extra);
        }
        return;
      }
      default:
        return done_void(pawl_engine_free(engine()));
    }
  }

 private:
  bool done(pawl_status status) {
    require(std::string_view(pawl_status_name(status)) != "PAWL_UNKNOWN",
            "a status is one of the table", std::to_string(status));
    require(status != PAWL_INTERNAL, "nothing is the library's own fault", message());
    if (status != PAWL_OK) {
      require(!message().empty(), "an error comes with a sentence");
    }
    return status == PAWL_OK;
  }
  void done_void(pawl_status status) { static_cast<void>(done(status)); }
  static std::string message() {
    const pawl_bytes text = pawl_last_error();
    return {text.data, text.size};
  }
  // Reads all of it.
  void look_at(pawl_bytes bytes) {
    for (std::size_t i = 0; i < bytes.size; ++i) {
      sum_ = sum_ + static_cast<unsigned char>(bytes.data[i]);
    }
  }
  template <class Take>
  void take_buffer(const Take& take) {
    pawl_buffer buffer = nullptr;
    const bool wants = data_.ConsumeIntegralInRange(0, 9) != 0;
    if (done(take(wants ? &buffer : nullptr))) {
      buffers_.push_back(buffer);
    } else {
      require(buffer == nullptr, "nothing is given out without PAWL_OK");
    }
  }

  std::uint32_t small() { return data_.ConsumeIntegralInRange<std::uint32_t>(0, 12); }
  std::int32_t kind() { return data_.ConsumeIntegralInRange(-1, 15); }
  std::int64_t number() {
    return data_.ConsumeBool() ? data_.ConsumeIntegralInRange<std::int64_t>(-2, 1000)
                               : data_.ConsumeIntegral<std::int64_t>();
  }
  std::size_t size_of(std::size_t right) {
    return data_.ConsumeIntegralInRange(0, 19) != 0
               ? right
               : data_.ConsumeIntegralInRange<std::size_t>(0, right);
  }
  template <class T>
  T* maybe(T* pointer) {
    return data_.ConsumeIntegralInRange(0, 19) != 0 ? pointer : nullptr;
  }
  // Lives as long as this.
  pawl_bytes bytes() {
    switch (data_.ConsumeIntegralInRange(0, 9)) {
      case 0:
        return {nullptr, 0};
      case 1:
        return {nullptr, 3};
      case 2:
        return {"{\"a\": \"b\"}", 10};
      case 3: {
        const std::string& kept = kept_.emplace_back(data_.ConsumeRandomLengthString(16));
        return {kept.data(), kept.size()};
      }
      default: {
        static constexpr const char* kNames[] = {"a", "b", "7", "null"};
        const char* const name = kNames[small() % 4];
        return {name, std::strlen(name)};
      }
    }
  }
  std::string arrival() {
    static constexpr const char* kEntries[] = {
        R"({"event": "SignalReceived", "signalName": "a", "data": 1})",
        R"({"event": "CancellationRequested", "reason": "r"})",
        R"({"event": "TaskCompleted", "taskExecutionId": "a", "result": 1})",
        R"({"event": "TimerFired", "timerId": "a"})",
        R"({"event": "PromiseResolved", "promiseId": "a", "value": 2})",
    };
    const std::uint32_t which = small();
    return which < 5 ? kEntries[which] : data_.ConsumeRandomLengthString(64);
  }
  template <class Handle>
  Handle pick(const std::vector<Handle>& live) {
    const auto which = data_.ConsumeIntegralInRange<std::size_t>(0, 15);
    if (which == 15) {
      return reinterpret_cast<Handle>(data_.ConsumeIntegral<std::uintptr_t>());
    }
    if (which == 14) {
      return contexts_.empty() ? nullptr : reinterpret_cast<Handle>(contexts_.back());
    }
    return live.empty() ? nullptr : live[which % live.size()];
  }
  pawl_context context() { return pick(contexts_); }
  pawl_engine engine() { return pick(engines_); }
  pawl_await await() {
    return awaits_.empty() || small() == 0 ? small() : awaits_[small() % awaits_.size()];
  }

  pawl_command command() {
    pawl_command made = {};
    made.size = size_of(sizeof(made));
    made.kind = kind();
    made.branch = small() < 9 ? 0 : small();
    made.name = bytes();
    made.child_kind = bytes();
    made.target = small();
    made.step_key = small() == 0 ? bytes() : pawl_bytes{nullptr, 0};
    made.version = small() == 0 ? small() : 0;
    made.has_payload = kind();
    made.payload = bytes();
    made.clear = small() == 0 ? 1 : 0;
    made.number = small() == 0 ? number() : small();
    made.checkpoint_every = small();
    made.extra = small() == 0 ? bytes() : pawl_bytes{nullptr, 0};
    return made;
  }
  pawl_retry a_retry() {
    pawl_retry retry = {};
    done_void(pawl_retry_default(&retry));
    if (small() == 0) {
      retry.size = size_of(sizeof(retry));
      retry.factor = data_.ConsumeFloatingPoint<double>();
      retry.jitter = data_.ConsumeFloatingPoint<double>();
      retry.initial_ms = number();
      retry.maximum_ms = number();
      retry.final_types = bytes();
    }
    return retry;
  }

  void create_context() {
    pawl_context_options options = {};
    options.size = size_of(sizeof(options));
    options.matching = data_.ConsumeIntegralInRange(-1, 3);
    options.started_at_ms = number();
    const std::string history = data_.ConsumeRandomLengthString(200);
    static constexpr const char* kHistories[] = {
        "[]",
        R"([{"event": "TaskScheduled", "taskType": "a", "taskExecutionId": "a"},
            {"event": "TaskCompleted", "taskExecutionId": "a", "result": 1}])",
        R"([{"event": "TimerStarted", "timerId": "a", "durationMs": 1},
            {"event": "LoopStarted", "state": 0}])",
    };
    const std::uint32_t which = small();
    const std::string_view text =
        which < 3 ? std::string_view(kHistories[which]) : std::string_view(history);
    options.history = {text.data(), text.size()};
    pawl_context context = nullptr;
    if (done(pawl_context_create(maybe(&options), maybe(&context)))) {
      contexts_.push_back(context);
    } else {
      require(context == nullptr, "nothing is given out without PAWL_OK");
    }
  }
  void open() {
    const pawl_command made = command();
    pawl_opened opened = {};
    if (done(pawl_context_open(context(), maybe(&made), &opened)) && opened.must_execute != 0) {
      require(opened.future != 0, "what is to be executed has a future");
    }
  }
  void begin_await() {
    std::vector<pawl_future> futures;
    for (std::uint32_t i = small() % 4; i > 0; --i) {
      futures.push_back(small());
    }
    pawl_await_state begun;
    if (done(pawl_context_begin_await(context(), data_.ConsumeIntegralInRange(-1, 2),
                                      maybe(futures.data()), futures.size(),
                                      data_.ConsumeBool() ? 1 : 0, maybe(&begun)))) {
      require((begun.id != 0) == (begun.state == PAWL_AWAIT_BLOCKED),
              "an await has a number while it is blocked");
      awaits_.push_back(begun.id);
    }
  }
  void look_at_violation() {
    pawl_violation violation = {};
    violation.size = size_of(sizeof(violation));
    if (done(pawl_context_violation(context(), maybe(&violation))) && violation.is_there != 0) {
      look_at(violation.code);
      look_at(violation.headline);
      look_at(violation.text);
      look_at(violation.advice);
    }
  }
  void open_engine() {
    if (engines_.size() >= 2) {
      return;  // Each has a file.
    }
    pawl_engine_options options = {};
    options.size = size_of(sizeof(options));
    options.is_test = 1;
    options.url = bytes();
    options.lease_ms = small() == 0 ? number() : 0;
    options.payload_bytes_max = small() == 0 ? 4 : 0;
    options.queues = small() == 0 ? bytes() : pawl_bytes{nullptr, 0};
    options.replay_every_turn = data_.ConsumeBool() ? 1 : 0;
    pawl_engine engine = nullptr;
    if (options.size == sizeof(options) && done(pawl_engine_open(maybe(&options), &engine))) {
      engines_.push_back(engine);
      const pawl_workflow_options workflow = {sizeof(workflow), {"a", 1}, 0, {nullptr, 0}, 0};
      done_void(pawl_engine_add_workflow(engine, &workflow));
      if (data_.ConsumeBool()) {
        done_void(pawl_engine_start(engine));
      }
    }
  }
  void poll() {
    pawl_events events = {};
    const pawl_status status = pawl_engine_poll(engine(), data_.ConsumeIntegralInRange(0U, 127U),
                                                small(), 0, maybe(&events));
    if (!done(status)) {
      return;
    }
    lists_.push_back(events.list);
    for (std::size_t i = 0; i < events.count; ++i) {
      const pawl_event* const event = pawl_event_at(&events, i);
      look_at(event->run_id);
      look_at(event->payload);
      look_at(event->name);
      if (event->kind == PAWL_EVENT_ACTIVATION) {
        contexts_.push_back(event->context);
      }
    }
  }
  void ask() {
    switch (data_.ConsumeIntegralInRange(0, 8)) {
      case 0:
        return done_void(
            pawl_client_signal(engine(), bytes(), bytes(), bytes(), bytes(), small(), nullptr));
      case 1:
        return done_void(
            pawl_client_resolve(engine(), bytes(), bytes(), bytes(), small(), nullptr));
      case 2:
        return done_void(pawl_client_cancel(engine(), bytes(), bytes(), small(), nullptr));
      case 3:
        return done_void(pawl_client_terminate(engine(), bytes(), bytes(), small(), nullptr));
      case 4:
        return done_void(pawl_client_pause(engine(), bytes(), kind(), small(), nullptr));
      case 5:
        return done_void(pawl_client_describe(engine(), bytes(), small(), nullptr));
      case 6:
        return done_void(pawl_client_list(engine(), bytes(), small(), nullptr));
      case 7:
        return done_void(pawl_client_history(engine(), bytes(), small(), nullptr));
      default:
        return done_void(pawl_client_result(engine(), bytes(), 0, small(), nullptr));
    }
  }

  FuzzedDataProvider& data_;
  std::vector<pawl_context> contexts_;
  std::vector<pawl_buffer> buffers_;
  std::vector<pawl_event_list> lists_;
  std::vector<pawl_engine> engines_;
  std::vector<pawl_await> awaits_;
  std::deque<std::string> kept_;
  volatile unsigned sum_ = 0;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  FuzzedDataProvider provider(data, size);
  Caller caller(provider);
  for (int i = 0; i < 200 && provider.remaining_bytes() > 0; ++i) {
    caller.call_one();
  }
  return 0;
}

// MiniSdk: the least that can drive runs by the C ABI: workflows that wait for one step after
// another. Any number of threads may call work().
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "pawl.h"

namespace pawl::abi {

inline pawl_bytes bytes(std::string_view text) { return {text.data(), text.size()}; }
inline std::string text(pawl_bytes from) {
  return {from.data == nullptr ? "" : from.data, from.size};
}
inline std::string last_error() { return text(pawl_last_error()); }

// One step: what to ask for. An operation is executed by `execute`.
struct Step {
  std::int32_t kind = PAWL_OPERATION;
  std::string name;
  std::int64_t number = 0;
  std::uint32_t attempts = 1;
};

// The result of a run is the list of what its steps came to, as JSON.
class MiniSdk {
 public:
  using Execute = std::function<std::string(const std::string& name, std::uint32_t attempt)>;

  MiniSdk(std::string url, std::vector<Step> steps, Execute execute,
          const std::function<void(pawl_engine_options&)>& change = {})
      : steps_(std::move(steps)), execute_(std::move(execute)) {
    pawl_engine_options options = {};
    options.size = sizeof(options);
    options.url = bytes(url);
    if (change) {
      change(options);
    }
    EXPECT_EQ(pawl_engine_open(&options, &engine_), PAWL_OK) << last_error();
    pawl_workflow_options workflow = {};
    workflow.size = sizeof(workflow);
    workflow.kind = bytes("steps");
    EXPECT_EQ(pawl_engine_add_workflow(engine_, &workflow), PAWL_OK) << last_error();
    EXPECT_EQ(pawl_engine_add_activity(engine_, bytes("task"), nullptr), PAWL_OK) << last_error();
    EXPECT_EQ(pawl_engine_start(engine_), PAWL_OK) << last_error();
  }
  ~MiniSdk() {
    EXPECT_EQ(pawl_engine_free(engine_), PAWL_OK) << last_error();
    for (const pawl_event_list list : lists_) {
      EXPECT_EQ(pawl_events_free(list), PAWL_OK);
    }
  }
  MiniSdk(const MiniSdk&) = delete;
  MiniSdk& operator=(const MiniSdk&) = delete;

  pawl_engine engine() const { return engine_; }

  void start(const std::string& id) {
    pawl_start_options options = {};
    options.size = sizeof(options);
    options.kind = bytes("steps");
    options.id = bytes(id);
    pawl_reply reply = {};
    ASSERT_EQ(pawl_client_start(engine_, &options, 0, &reply), PAWL_OK) << last_error();
    EXPECT_EQ(text(reply.payload), id);
    EXPECT_EQ(pawl_events_free(reply.list), PAWL_OK);
  }
  void ask_for_result(const std::string& id, std::uint64_t tag) {
    ASSERT_EQ(pawl_client_result(engine_, bytes(id), -1, tag, nullptr), PAWL_OK) << last_error();
  }

  // Handles events until one poll says something else than PAWL_OK, which is returned.
  pawl_status work(std::int64_t timeout_ms) {
    while (true) {
      pawl_events events = {};
      const pawl_status status = pawl_engine_poll(engine_, ~0U, 16, timeout_ms, &events);
      if (status != PAWL_OK) {
        return status;
      }
      for (std::size_t i = 0; i < events.count; ++i) {
        handle(*pawl_event_at(&events, i));
      }
      EXPECT_EQ(pawl_events_free(events.list), PAWL_OK);
      if (is_enough && is_enough()) {
        return PAWL_OK;
      }
    }
  }
  // The next event of these kinds, not handled.
  pawl_event take(std::uint32_t kinds) {
    pawl_events events = {};
    EXPECT_EQ(pawl_engine_poll(engine_, kinds, 1, 20'000, &events), PAWL_OK) << last_error();
    lists_.push_back(events.list);
    return events.count == 0 ? pawl_event{} : *events.first;
  }
  void handle(const pawl_event& event) {
    switch (event.kind) {
      case PAWL_EVENT_ACTIVATION:
        return go_on(event);
      case PAWL_EVENT_OPERATION:
      case PAWL_EVENT_TASK:
        return attempt(event);
      case PAWL_EVENT_FORGET: {
        const std::scoped_lock lock(mutex_);
        codes_.erase(event.context);
        ++forgotten;
        return;
      }
      case PAWL_EVENT_REPLY: {
        const std::scoped_lock lock(mutex_);
        replies[event.attempt] = {event.status, text(event.payload), event.run_status, event.flag};
        return;
      }
      default: {
        const std::scoped_lock lock(mutex_);
        troubles.push_back(text(event.payload));
      }
    }
  }

  struct Reply {
    pawl_status status = 0;
    std::string payload;
    std::int32_t run_status = 0;
    std::int32_t flag = 0;
  };
  std::size_t reply_count() {
    const std::scoped_lock lock(mutex_);
    return replies.size();
  }
  std::function<bool()> is_enough;
  // Under the lock while threads work.
  std::map<std::uint64_t, Reply> replies;
  std::vector<std::string> troubles;
  int forgotten = 0;
  int replays = 0;

 private:
  struct Code {
    std::size_t at = 0;
    std::string results;
    pawl_future future = 0;
    pawl_await await = 0;
  };

  void go_on(const pawl_event& event) {
    std::shared_ptr<Code> code;
    {
      const std::scoped_lock lock(mutex_);
      if (event.is_new != 0) {
        codes_[event.context] = std::make_shared<Code>();
        ++replays;
      }
      code = codes_.at(event.context);
    }
    bool is_over = event.is_new != 0 && !begin(event.context, *code);
    pawl_delivery delivery = {};
    while (!is_over) {
      const pawl_status status = pawl_context_next_delivery(event.context, &delivery);
      if (status != PAWL_OK) {
        break;  // A violation, or the engine has stopped.
      }
      if (delivery.is_there == 0) {
        break;
      }
      if (delivery.woken_count == 1 && delivery.woken[0].id == code->await) {
        is_over =
            !end(event.context, *code, delivery.woken[0].state) || !begin(event.context, *code);
      }
    }
    static_cast<void>(pawl_context_yield(event.context));
    if (is_over) {
      const std::scoped_lock lock(mutex_);
      codes_.erase(event.context);
    }
  }

  // False: it has ended, or cannot go on.
  bool begin(pawl_context context, Code& code) {
    if (code.at == steps_.size()) {
      EXPECT_EQ(pawl_context_finish(context, PAWL_END_COMPLETED, bytes("[" + code.results + "]")),
                PAWL_OK)
          << last_error();
      return false;
    }
    const Step& step = steps_[code.at++];
    pawl_command command = {};
    command.size = sizeof(command);
    command.kind = step.kind;
    command.name = bytes(step.name);
    command.number = step.number;
    pawl_opened opened = {};
    const pawl_status status = pawl_context_open(context, &command, &opened);
    if (status != PAWL_OK) {
      EXPECT_EQ(status, PAWL_DETERMINISM_VIOLATION) << last_error();
      return false;
    }
    code.future = opened.future;
    if (opened.must_execute != 0) {
      pawl_retry retry = {};
      EXPECT_EQ(pawl_retry_default(&retry), PAWL_OK);
      retry.attempts = step.attempts;
      retry.initial_ms = 1;
      EXPECT_EQ(pawl_context_execute(context, opened.future, &retry, 0), PAWL_OK) << last_error();
      const std::scoped_lock lock(mutex_);
      names_[{context, opened.future}] = step.name;
    }
    pawl_await_state begun = {};
    EXPECT_EQ(pawl_context_begin_await(context, PAWL_AWAIT_ALL, &code.future, 1, 0, &begun),
              PAWL_OK)
        << last_error();
    EXPECT_EQ(begun.state, PAWL_AWAIT_BLOCKED);
    code.await = begun.id;
    return true;
  }
  bool end(pawl_context context, Code& code, std::int32_t state) {
    if (state == PAWL_AWAIT_CANCELLED) {
      EXPECT_EQ(pawl_context_finish(context, PAWL_END_CANCELLED, bytes("\"cancelled\"")), PAWL_OK);
      return false;
    }
    pawl_outcome outcome = {};
    EXPECT_EQ(pawl_context_outcome(context, code.future, &outcome), PAWL_OK);
    if (outcome.outcome == PAWL_FAILED) {
      EXPECT_EQ(pawl_context_finish(context, PAWL_END_FAILED, outcome.payload), PAWL_OK);
      return false;
    }
    code.results += (code.results.empty() ? "" : ",") +
                    (outcome.payload.size == 0 ? "null" : text(outcome.payload));
    return true;
  }
  void attempt(const pawl_event& event) {
    if (event.kind == PAWL_EVENT_OPERATION) {
      const std::scoped_lock lock(mutex_);
      EXPECT_EQ(names_.at({event.context, event.future}), text(event.name));
    }
    const std::string result = execute_(text(event.name), event.number);
    pawl_status status = PAWL_OK;
    if (result.empty()) {
      pawl_failure failure = {};
      failure.size = sizeof(failure);
      failure.type = bytes("Flaky");
      failure.message = bytes("again");
      status = pawl_attempt_fail(engine_, event.attempt, &failure);
    } else {
      status = pawl_attempt_complete(engine_, event.attempt, bytes(result));
    }
    EXPECT_TRUE(status == PAWL_OK || status == PAWL_CLOSED) << last_error();
  }

  std::vector<Step> steps_;
  Execute execute_;
  pawl_engine engine_ = nullptr;
  std::mutex mutex_;
  std::map<pawl_context, std::shared_ptr<Code>> codes_;
  std::map<std::pair<pawl_context, pawl_future>, std::string> names_;
  std::vector<pawl_event_list> lists_;
};

}  // namespace pawl::abi

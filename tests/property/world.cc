#include "property/world.h"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

#include "property/program_check.h"
#include "property/program_gen.h"

namespace pawl::property {
namespace {

namespace json = boost::json;

struct Completion {
  std::string_view command;
  std::string_view id;
  std::vector<std::string_view> arrivals;
};

const std::vector<Completion>& completions() {
  static const std::vector<Completion> kTable = {
      {"TaskScheduled", "taskExecutionId", {"TaskCompleted", "TaskFailed", "TaskCancelled"}},
      {"TimerStarted", "timerId", {"TimerFired", "TimerCancelled"}},
      {"PromiseCreated", "promiseId", {"PromiseResolved", "PromiseRejected", "PromiseTimedOut"}},
      {"ChildWorkflowInitiated",
       "childExecutionId",
       {"ChildWorkflowCompleted", "ChildWorkflowFailed", "ChildWorkflowCancelled"}},
      {"OperationStarted", "operationId", {"OperationCompleted", "OperationFailed"}},
  };
  return kTable;
}

std::string_view event_of(const json::object& entry) {
  return std::string_view(entry.at("event").as_string());
}

bool same_field(const json::object& a, const json::object& b, std::string_view field) {
  const json::value* left = a.if_contains(field);
  const json::value* right = b.if_contains(field);
  return left != nullptr && right != nullptr && *left == *right;
}

// Does `arrival` complete `command`, if that is the oldest open one that it fits?
bool fits(const json::object& arrival, const json::object& command) {
  for (const Completion& row : completions()) {
    if (row.command != event_of(command)) {
      continue;
    }
    if (std::find(row.arrivals.begin(), row.arrivals.end(), event_of(arrival)) ==
        row.arrivals.end()) {
      return false;
    }
    if (row.command == "ChildWorkflowInitiated" && !arrival.contains(row.id)) {
      return same_field(arrival, command, "childExecutionName");
    }
    return same_field(arrival, command, row.id);
  }
  return false;
}

bool completable(const json::object& entry) {
  return std::any_of(completions().begin(), completions().end(),
                     [&](const Completion& row) { return row.command == event_of(entry); });
}

}  // namespace

bool is_arrival(const json::object& entry, const json::array& history) {
  const std::string_view event = event_of(entry);
  if (event == "SignalReceived" || event == "SignalTimedOut" || event == "CancellationRequested") {
    return true;
  }
  if (event == "OperationCompleted" || event == "OperationFailed") {
    return std::any_of(history.begin(), history.end(), [&](const json::value& other) {
      return event_of(other.as_object()) == "OperationStarted" &&
             same_field(other.as_object(), entry, "operationId");
    });
  }
  for (const Completion& row : completions()) {
    if (std::find(row.arrivals.begin(), row.arrivals.end(), event) != row.arrivals.end()) {
      return true;
    }
  }
  return false;
}

std::vector<json::object> open_commands(const json::array& history) {
  std::vector<json::object> open;
  for (const json::value& value : history) {
    const json::object& entry = value.as_object();
    if (completable(entry)) {
      open.push_back(entry);
      continue;
    }
    auto completed = std::find_if(open.begin(), open.end(), [&](const json::object& command) {
      return fits(entry, command);
    });
    if (completed != open.end()) {
      open.erase(completed);
    }
  }
  return open;
}

World::World(Rng rng, const json::array& program, std::int64_t started_at, WorldOptions options)
    : rng_(rng), started_at_(started_at), options_(options) {
  std::set<std::string> names;
  for_each_step(program, [&](const json::object& step) {
    const std::string_view verb = verb_of(step);
    if (verb == "signal" || verb == "has_signal" || verb == "drain") {
      names.insert(std::string(step.at(verb).as_string()));
    }
  });
  signal_names_.assign(names.begin(), names.end());
  if (rng_.chance(options_.cancel_percent)) {
    cancel_in_ = rng_.between(0, 8);
  }
}

json::value World::error() {
  std::string text = "failed" + std::to_string(rng_.below(3));
  if (rng_.chance(30)) {
    return json::object{{"message", text}, {"type", "Broken"}};
  }
  return json::value(text);
}

json::object World::completion(const json::object& command) {
  const std::string_view event = event_of(command);
  const bool failure = rng_.chance(options_.failures_percent);
  const bool other_failure = failure && rng_.chance(40);
  json::object arrival;
  if (event == "TaskScheduled") {
    arrival["event"] = other_failure ? "TaskCancelled" : (failure ? "TaskFailed" : "TaskCompleted");
    arrival["taskExecutionId"] = command.at("taskExecutionId");
  } else if (event == "TimerStarted") {
    arrival["event"] = other_failure ? "TimerCancelled" : "TimerFired";
    arrival["timerId"] = command.at("timerId");
  } else if (event == "PromiseCreated") {
    arrival["event"] =
        other_failure ? "PromiseTimedOut" : (failure ? "PromiseRejected" : "PromiseResolved");
    arrival["promiseId"] = command.at("promiseId");
  } else if (event == "OperationStarted") {
    arrival["event"] = failure ? "OperationFailed" : "OperationCompleted";
    arrival["operationName"] = command.at("operationName");
    arrival["operationId"] = command.at("operationId");
  } else {
    arrival["event"] = other_failure ? "ChildWorkflowCancelled"
                                     : (failure ? "ChildWorkflowFailed" : "ChildWorkflowCompleted");
    if (rng_.chance(50)) {
      arrival["childExecutionId"] = command.at("childExecutionId");
    } else {
      arrival["childExecutionName"] = command.at("childExecutionName");
    }
  }
  const std::string_view how = event_of(arrival);
  if (how.ends_with("Failed") || how == "PromiseRejected") {
    arrival["error"] = error();
  } else if (how == "TaskCompleted" || how == "OperationCompleted") {
    arrival["result"] = small_value(rng_);
  } else if (how == "PromiseResolved") {
    arrival["value"] = small_value(rng_);
  } else if (how == "ChildWorkflowCompleted") {
    arrival["output"] = small_value(rng_);
  }
  return arrival;
}

json::object World::next_arrival(const json::array& history, const json::array& waiting) {
  const auto awaited = [&](const json::object& command) {
    const json::value* location = command.if_contains("location");
    return location != nullptr &&
           std::find(waiting.begin(), waiting.end(), *location) != waiting.end();
  };
  std::vector<json::object> open = open_commands(history);
  std::vector<json::object> blocking;
  std::copy_if(open.begin(), open.end(), std::back_inserter(blocking), awaited);
  // A wait that something is blocked on has not ended and has no signal yet.
  std::vector<json::object> waits;
  for (const json::value& value : history) {
    const json::object& entry = value.as_object();
    if (event_of(entry) == "SignalAwaited" && awaited(entry)) {
      waits.push_back(entry);
    }
  }

  json::object arrival;
  const bool may_signal = !signal_names_.empty() && signals_sent_ < options_.signals_max;
  const auto signal = [&](const std::string& name) {
    ++signals_sent_;
    arrival = {{"event", "SignalReceived"}, {"signalName", name}, {"data", small_value(rng_)}};
    if (rng_.chance(20)) {
      arrival["id"] = "e-" + std::to_string(signals_sent_);
      arrival["source"] = "/elsewhere";
    }
  };

  if (cancel_in_ >= 0 && cancel_in_-- == 0) {
    arrival["event"] = "CancellationRequested";
    if (rng_.chance(60)) {
      arrival["reason"] = "enough";
    }
  } else if (may_signal && rng_.chance(options_.signals_percent)) {
    signal(rng_.pick(signal_names_));
  } else if (!waits.empty() && rng_.chance(blocking.empty() ? 100 : 40)) {
    const json::object& wait = rng_.pick(waits);
    const json::value* timeout = wait.if_contains("timeoutMs");
    if (timeout != nullptr && !timeout->is_null() && rng_.chance(45)) {
      arrival = {{"event", "SignalTimedOut"}, {"location", wait.at("location")}};
    } else if (may_signal) {
      signal(std::string(wait.at("signalName").as_string()));
    }
  }
  if (arrival.empty() && !open.empty()) {
    arrival =
        completion(!blocking.empty() && rng_.chance(75) ? rng_.pick(blocking) : rng_.pick(open));
  }
  if (arrival.empty() && may_signal) {
    signal(rng_.pick(signal_names_));
  }
  if (arrival.empty()) {
    return arrival;
  }

  std::int64_t seq = 1;
  std::int64_t time = started_at_;
  if (!history.empty()) {
    const json::object& last = history.back().as_object();
    seq = last.at("seq").to_number<std::int64_t>() + 1;
    time = last.at("time").to_number<std::int64_t>();
  }
  time = std::max(time, started_at_ + seq);
  if (rng_.chance(40)) {
    time += rng_.between(1, 500);
  }
  arrival["seq"] = seq;
  arrival["time"] = time;
  return arrival;
}

}  // namespace pawl::property

#include "engine/program.h"

#include <boost/json.hpp>

namespace pawl::engine {

namespace {

namespace json = boost::json;

Result<json::object> parse_object(std::string_view text, std::string_view what) {
  if (text.empty()) {
    return json::object();
  }
  json::error_code error;
  json::value value = json::parse({text.data(), text.size()}, error);
  if (error || !value.is_object()) {
    return make_error(ErrorCode::kMalformedInput,
                      std::string(what) + ": not a JSON object: " + std::string(text));
  }
  return std::move(value.get_object());
}

// Numbers keep their default if the member is missing or no number.
template <class Number>
void read_number(const json::object& object, std::string_view key, Number& number) {
  const json::value* value = object.if_contains(key);
  if (value == nullptr || !value->is_number()) {
    return;
  }
  if (value->is_double()) {
    number = static_cast<Number>(value->get_double());
  } else {
    number = static_cast<Number>(
        value->is_int64() ? value->get_int64() : static_cast<std::int64_t>(value->get_uint64()));
  }
}

json::object encode_retry(const RetryPolicy& retry) {
  json::object object;
  object["attempts"] = retry.attempts;
  object["initialMs"] = retry.initial_ms;
  object["maximumMs"] = retry.maximum_ms;
  object["factor"] = retry.factor;
  object["jitter"] = retry.jitter;
  if (!retry.final_types.empty()) {
    json::array types;
    for (const std::string& type : retry.final_types) {
      types.emplace_back(type);
    }
    object["finalTypes"] = std::move(types);
  }
  return object;
}

RetryPolicy decode_retry(const json::object& object) {
  RetryPolicy retry;
  read_number(object, "attempts", retry.attempts);
  read_number(object, "initialMs", retry.initial_ms);
  read_number(object, "maximumMs", retry.maximum_ms);
  read_number(object, "factor", retry.factor);
  read_number(object, "jitter", retry.jitter);
  if (const json::value* types = object.if_contains("finalTypes"); types && types->is_array()) {
    for (const json::value& type : types->get_array()) {
      if (type.is_string()) {
        retry.final_types.emplace_back(type.get_string());
      }
    }
  }
  return retry;
}

void write_time(json::object& object, std::string_view key, std::int64_t ms) {
  if (ms != 0) {
    object[key] = ms;
  }
}

}  // namespace

std::string encode_task_options(const TaskOptions& options) {
  json::object object;
  object["queue"] = options.queue;
  if (options.priority != 0) {
    object["priority"] = options.priority;
  }
  write_time(object, "waitTimeoutMs", options.wait_timeout_ms);
  write_time(object, "attemptTimeoutMs", options.attempt_timeout_ms);
  write_time(object, "totalTimeoutMs", options.total_timeout_ms);
  write_time(object, "heartbeatTimeoutMs", options.heartbeat_timeout_ms);
  if (options.retry.attempts != 1) {
    object["retry"] = encode_retry(options.retry);
  }
  return json::serialize(object);
}

Result<TaskOptions> decode_task_options(std::string_view extra) {
  PAWL_TRY_ASSIGN(const json::object object, parse_object(extra, "task options"));
  TaskOptions options;
  if (const json::value* queue = object.if_contains("queue"); queue && queue->is_string()) {
    options.queue = queue->get_string();
  }
  read_number(object, "priority", options.priority);
  read_number(object, "waitTimeoutMs", options.wait_timeout_ms);
  read_number(object, "attemptTimeoutMs", options.attempt_timeout_ms);
  read_number(object, "totalTimeoutMs", options.total_timeout_ms);
  read_number(object, "heartbeatTimeoutMs", options.heartbeat_timeout_ms);
  if (const json::value* retry = object.if_contains("retry"); retry && retry->is_object()) {
    options.retry = decode_retry(retry->get_object());
  }
  return options;
}

std::string encode_child_options(const ChildOptions& options) {
  json::object object;
  if (options.parent_close != 0) {
    object["parentClose"] = options.parent_close;
  }
  if (!options.tags.empty()) {
    json::object tags;
    for (const auto& [name, value] : options.tags) {
      tags[name] = value;
    }
    object["tags"] = std::move(tags);
  }
  return object.empty() ? std::string() : json::serialize(object);
}

Result<ChildOptions> decode_child_options(std::string_view extra) {
  PAWL_TRY_ASSIGN(const json::object object, parse_object(extra, "child options"));
  ChildOptions options;
  read_number(object, "parentClose", options.parent_close);
  if (const json::value* tags = object.if_contains("tags"); tags && tags->is_object()) {
    for (const auto& [name, value] : tags->get_object()) {
      if (value.is_string()) {
        options.tags.emplace_back(name, std::string(value.get_string()));
      }
    }
  }
  return options;
}

}  // namespace pawl::engine

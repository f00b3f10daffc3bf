// Versions, names of codes, buffers, and the encodings that commands carry as `extra`.
#include "capi/basics.h"

#include <boost/json.hpp>

#include "capi/call.h"
#include "engine/program.h"
#include "format/json_reader.h"
#include "sdk/token.h"
#include "store/rows.h"

namespace pawl::capi {

BufferHandles& buffers() {
  static auto* const handles = new BufferHandles;  // Never destroyed: threads may outlive main().
  return *handles;
}

void give(std::string text, pawl_buffer* buffer) {
  *buffer = buffers().add(std::make_shared<std::string>(std::move(text)));
}

Result<engine::RetryPolicy> read_retry(const pawl_retry* given) {
  engine::RetryPolicy policy;
  if (given == nullptr) {
    return policy;
  }
  PAWL_TRY_ASSIGN(pawl_retry retry, read_struct(given, "retry"));
  retry.factor = retry.factor == 0 ? policy.factor : retry.factor;
  retry.maximum_ms =
      retry.maximum_ms == 0 ? std::max(policy.maximum_ms, retry.initial_ms) : retry.maximum_ms;
  PAWL_TRY_ASSIGN(std::string_view types, read_text(retry.final_types, "retry.final_types"));
  const auto is_part = [](double value, double most) { return value >= 0 && value <= most; };
  if (retry.initial_ms < 0 || retry.maximum_ms < retry.initial_ms || !(retry.factor >= 1) ||
      !is_part(retry.factor, 1e6) || !is_part(retry.jitter, 1)) {
    return make_error(ErrorCode::kInvalidArgument,
                      "retry: the initial interval is at least 0, the maximum at least that, the "
                      "factor at least 1, and the jitter from 0 to 1");
  }
  policy.attempts = retry.attempts;
  policy.initial_ms = retry.initial_ms;
  policy.maximum_ms = retry.maximum_ms;
  policy.factor = retry.factor;
  policy.jitter = retry.jitter;
  while (!types.empty()) {
    const std::size_t end = std::min(types.find('\n'), types.size());
    if (end > 0) {
      policy.final_types.emplace_back(types.substr(0, end));
    }
    types.remove_prefix(std::min(end + 1, types.size()));
  }
  return policy;
}

Result<engine::Failure> read_failure(const pawl_failure* given) {
  PAWL_TRY_ASSIGN(const pawl_failure read, read_struct(given, "failure"));
  engine::Failure failure;
  PAWL_TRY_ASSIGN(failure.type, read_text(read.type, "failure.type"));
  PAWL_TRY_ASSIGN(failure.message, read_text(read.message, "failure.message"));
  PAWL_TRY_ASSIGN(failure.details, read_text(read.details, "failure.details"));
  if (!failure.details.empty() && !format::parse_json(failure.details)) {
    return make_error(ErrorCode::kInvalidArgument, "failure.details is no JSON");
  }
  failure.is_final = read.is_final != 0;
  failure.is_cancelled = read.is_cancelled != 0;
  if (read.has_next_delay != 0) {
    failure.next_delay_ms = std::max<std::int64_t>(read.next_delay_ms, 0);
  }
  return failure;
}

Result<std::vector<std::pair<std::string, std::string>>> read_tags(pawl_bytes given) {
  std::vector<std::pair<std::string, std::string>> tags;
  PAWL_TRY_ASSIGN(const std::string_view text, read_text(given, "tags"));
  if (text.empty()) {
    return tags;
  }
  const Result<boost::json::value> value = format::parse_json(text);
  const boost::json::object* const object = value ? value->if_object() : nullptr;
  if (object == nullptr) {
    return make_error(ErrorCode::kMalformedInput, "tags: a JSON object of strings is expected");
  }
  for (const auto& [name, tag] : *object) {
    if (!tag.is_string()) {
      return make_error(ErrorCode::kMalformedInput,
                        "tags: the value of '" + std::string(name) + "' is no string");
    }
    tags.emplace_back(std::string(name), std::string(std::string_view(tag.get_string())));
  }
  return tags;
}

}  // namespace pawl::capi

using namespace pawl;  // NOLINT(google-build-using-namespace): only functions of the ABI follow.
using namespace pawl::capi;  // NOLINT(google-build-using-namespace)

const char* pawl_version() { return PAWL_VERSION; }

uint32_t pawl_abi_version() { return PAWL_ABI_VERSION; }

const char* pawl_status_name(pawl_status status) {
  switch (status) {
#define PAWL_NAME(code) \
  case code:            \
    return #code
    PAWL_NAME(PAWL_OK);
    PAWL_NAME(PAWL_INVALID_ARGUMENT);
    PAWL_NAME(PAWL_INVALID_STATE);
    PAWL_NAME(PAWL_LIMIT_EXCEEDED);
    PAWL_NAME(PAWL_NOT_FOUND);
    PAWL_NAME(PAWL_ALREADY_EXISTS);
    PAWL_NAME(PAWL_CLOSED);
    PAWL_NAME(PAWL_TIMED_OUT);
    PAWL_NAME(PAWL_BAD_HANDLE);
    PAWL_NAME(PAWL_BUSY);
    PAWL_NAME(PAWL_INTERNAL);
    PAWL_NAME(PAWL_DETERMINISM_VIOLATION);
    PAWL_NAME(PAWL_CORRUPT_LOG);
    PAWL_NAME(PAWL_MALFORMED_INPUT);
    PAWL_NAME(PAWL_STORE_BUSY);
    PAWL_NAME(PAWL_STORE_FULL);
    PAWL_NAME(PAWL_STORE_IO);
    PAWL_NAME(PAWL_STORE_CORRUPT);
    PAWL_NAME(PAWL_STORE_UNUSABLE);
    PAWL_NAME(PAWL_UNKNOWN_OUTCOME);
#undef PAWL_NAME
    default:
      return "PAWL_UNKNOWN";
  }
}

pawl_status pawl_buffer_data(pawl_buffer buffer, pawl_bytes* data) {
  return call([&]() -> CallEnd {
    PAWL_TRY_ASSIGN(const auto text, buffers().find(buffer, "buffer"));
    if (data == nullptr) {
      return null_argument("data");
    }
    *data = to_bytes(*text);
    return {};
  });
}

pawl_status pawl_buffer_free(pawl_buffer buffer) {
  return call([&]() -> CallEnd {
    PAWL_TRY(buffers().remove(buffer, "buffer"));
    return {};
  });
}

pawl_status pawl_retry_default(pawl_retry* retry) {
  return call([&]() -> CallEnd {
    if (retry == nullptr) {
      return null_argument("retry");
    }
    const engine::RetryPolicy policy;
    *retry = {};
    retry->size = sizeof(*retry);
    retry->attempts = policy.attempts;
    retry->initial_ms = policy.initial_ms;
    retry->maximum_ms = policy.maximum_ms;
    retry->factor = policy.factor;
    retry->jitter = policy.jitter;
    return {};
  });
}

pawl_status pawl_task_extra(const pawl_task_options* given, pawl_buffer* extra) {
  return call([&]() -> CallEnd {
    PAWL_TRY_ASSIGN(const pawl_task_options read, read_struct(given, "options"));
    if (extra == nullptr) {
      return null_argument("extra");
    }
    engine::TaskOptions options;
    PAWL_TRY_ASSIGN(const std::string_view queue, read_text(read.queue, "options.queue"));
    if (!queue.empty()) {
      options.queue = queue;
    }
    for (const std::int64_t limit : {read.wait_timeout_ms, read.attempt_timeout_ms,
                                     read.total_timeout_ms, read.heartbeat_timeout_ms}) {
      if (limit < 0) {
        return make_error(ErrorCode::kInvalidArgument, "options: a timeout is negative");
      }
    }
    options.priority = read.priority;
    options.wait_timeout_ms = read.wait_timeout_ms;
    options.attempt_timeout_ms = read.attempt_timeout_ms;
    options.total_timeout_ms = read.total_timeout_ms;
    options.heartbeat_timeout_ms = read.heartbeat_timeout_ms;
    PAWL_TRY_ASSIGN(options.retry, read_retry(read.retry));
    give(engine::encode_task_options(options), extra);
    return {};
  });
}

pawl_status pawl_child_extra(int32_t parent_close, pawl_bytes tags, pawl_buffer* extra) {
  return call([&]() -> CallEnd {
    if (extra == nullptr) {
      return null_argument("extra");
    }
    if (parent_close < PAWL_PARENT_CLOSE_CANCEL || parent_close > PAWL_PARENT_CLOSE_TERMINATE) {
      return wrong_number("parent_close", parent_close);
    }
    engine::ChildOptions options;
    options.parent_close = static_cast<std::uint8_t>(parent_close);
    PAWL_TRY_ASSIGN(options.tags, read_tags(tags));
    give(engine::encode_child_options(options), extra);
    return {};
  });
}

pawl_status pawl_promise_token(pawl_bytes run_id, pawl_bytes promise, pawl_buffer* token) {
  return call([&]() -> CallEnd {
    PAWL_TRY_ASSIGN(const std::string_view run, read_name(run_id, "run_id"));
    PAWL_TRY_ASSIGN(const std::string_view name, read_name(promise, "promise"));
    if (token == nullptr) {
      return null_argument("token");
    }
    give(pawl::detail::make_token(run, name), token);
    return {};
  });
}

pawl_status pawl_promise_token_parts(pawl_bytes token, pawl_buffer* run_id, pawl_buffer* promise) {
  return call([&]() -> CallEnd {
    PAWL_TRY_ASSIGN(const std::string_view text, read_text(token, "token"));
    if (run_id == nullptr || promise == nullptr) {
      return null_argument(run_id == nullptr ? "run_id" : "promise");
    }
    auto parts = pawl::detail::read_token(text);
    if (!parts) {
      return make_error(ErrorCode::kMalformedInput, "this text is no token of a promise");
    }
    give(std::move(parts->first), run_id);
    give(std::move(parts->second), promise);
    return {};
  });
}

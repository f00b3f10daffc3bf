#include "engine/activity.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <boost/json.hpp>

namespace pawl::engine {

namespace {

namespace json = boost::json;

std::string text_of(const json::object& object, std::string_view key) {
  const json::value* value = object.if_contains(key);
  if (value == nullptr || value->is_null()) {
    return {};
  }
  return value->is_string() ? std::string(value->get_string()) : json::serialize(*value);
}

// What is recorded of a failure has a limit: it must never be the reason why nothing is recorded.
constexpr std::size_t kFailureBytesMax = std::size_t{256} << 10U;

std::string cut(const std::string& text) {
  return text.size() <= kFailureBytesMax ? text : text.substr(0, kFailureBytesMax) + " (cut)";
}

bool is_true(const json::object& object, std::string_view key) {
  const json::value* value = object.if_contains(key);
  return value != nullptr && value->is_bool() && value->get_bool();
}

}  // namespace

std::string encode_failure(const Failure& failure) {
  json::object object;
  if (!failure.type.empty()) {
    object["type"] = cut(failure.type);
  }
  std::string message = cut(failure.message);
  if (failure.details.size() > kFailureBytesMax) {
    message += " (details of " + std::to_string(failure.details.size()) +
               " bytes are left out; at most " + std::to_string(kFailureBytesMax) + " are kept)";
  }
  object["message"] = message;
  if (!failure.details.empty() && failure.details.size() <= kFailureBytesMax) {
    json::error_code error;
    json::value details = json::parse(failure.details, error);
    object["details"] = error ? json::value(failure.details) : std::move(details);
  }
  if (failure.is_final) {
    object["final"] = true;
  }
  return json::serialize(object);
}

Failure decode_failure(std::string_view payload) {
  Failure failure;
  json::error_code error;
  const json::value value = json::parse({payload.data(), payload.size()}, error);
  if (error) {
    failure.message = payload;
    return failure;
  }
  if (value.is_string()) {
    failure.message = value.get_string();
    return failure;
  }
  const json::object* object = value.if_object();
  if (object == nullptr) {
    failure.message = payload;
    return failure;
  }
  failure.type = text_of(*object, "type");
  failure.message = text_of(*object, "message");
  failure.details = object->if_contains("details") == nullptr
                        ? std::string()
                        : json::serialize(object->at("details"));
  failure.is_final = is_true(*object, "final");
  return failure;
}

bool may_retry(const RetryPolicy& policy, const Failure& failure, std::uint32_t attempts_made) {
  if (failure.is_final || failure.is_cancelled ||
      (policy.attempts != 0 && attempts_made >= policy.attempts)) {
    return false;
  }
  return std::find(policy.final_types.begin(), policy.final_types.end(), failure.type) ==
         policy.final_types.end();
}

std::int64_t retry_delay_ms(const RetryPolicy& policy, const Failure& failure,
                            std::uint32_t attempts_made, std::uint64_t random) {
  if (failure.next_delay_ms >= 0) {
    return failure.next_delay_ms;
  }
  const double factor = std::max(policy.factor, 1.0);
  const double grown = static_cast<double>(std::max<std::int64_t>(policy.initial_ms, 0)) *
                       std::pow(factor, attempts_made > 0 ? attempts_made - 1 : 0);
  const double interval = std::min(grown, static_cast<double>(policy.maximum_ms));
  // Between 1 - jitter and 1 of the interval.
  const double part = static_cast<double>(random >> 11U) * 0x1.0p-53;
  const double jitter = std::clamp(policy.jitter, 0.0, 1.0);
  const double delay = std::max(interval, 0.0) * (1.0 - jitter * part);
  // The largest integer is none for a double: the next one above is.
  return delay < 0x1.0p63 ? static_cast<std::int64_t>(delay)
                          : std::numeric_limits<std::int64_t>::max();
}

std::string attempts_extra(std::uint32_t attempts_made) {
  return attempts_made > 1 ? "{\"attempts\":" + std::to_string(attempts_made) + "}" : std::string();
}

}  // namespace pawl::engine

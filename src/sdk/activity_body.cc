#include "sdk/activity_body.h"

#include <cxxabi.h>

#include <algorithm>
#include <exception>
#include <memory>
#include <utility>
#include <vector>

#include "pawl/codec.hpp"
#include "pawl/errors.hpp"

namespace pawl {

namespace detail {

engine::RetryPolicy policy_of(const Retry& retry) {
  engine::RetryPolicy policy;
  policy.attempts = retry.attempts;
  policy.initial_ms = retry.initial.count();
  policy.maximum_ms = std::max(retry.initial, retry.maximum).count();
  policy.factor = retry.factor;
  policy.jitter = retry.jitter;
  policy.final_types = retry.final_types;
  return policy;
}

engine::Failure current_failure() {
  engine::Failure failure;
  try {
    throw;
  } catch (const ActivityError& error) {
    failure.type = error.type();
    failure.message = error.what();
    failure.details = error.options().details;
    failure.is_final = error.options().final;
    const std::optional<Millis> delay = error.options().next_delay;
    if (delay) {
      failure.next_delay_ms = delay->count();
    }
  } catch (const PayloadTooLarge& error) {
    failure.type = demangle(typeid(error));
    failure.message = error.what();
    failure.is_final = true;  // The next attempt would do it all again, for as large a result.
  } catch (const Failure& error) {
    // It failed elsewhere: that is what people want to know.
    failure.type = error.type().empty() ? demangle(typeid(error)) : error.type();
    failure.message = error.message();
    failure.details = error.details();
  } catch (const std::exception& error) {
    failure.type = demangle(typeid(error));
    failure.message = error.what();
  } catch (...) {
    const std::type_info* type = abi::__cxa_current_exception_type();
    failure.type = type != nullptr ? demangle(*type) : "unknown";
    failure.message = "something that is no std::exception was thrown";
  }
  return failure;
}

namespace {

// What an Activity refers to.
struct Attempt {
  engine::ActivityAttempt& attempt;
  std::size_t payload_bytes_max;
};

template <class Call>
engine::ActivityOutcome outcome_of(const std::string& name, const Call& call,
                                   std::size_t payload_bytes_max) {
  engine::ActivityOutcome outcome;
  try {
    outcome.result = call();
    if (outcome.result.size() > payload_bytes_max) {
      throw PayloadTooLarge("result of '" + name + "'", outcome.result.size(), payload_bytes_max);
    }
  } catch (...) {
    outcome.ok = false;
    outcome.result.clear();
    outcome.failure = current_failure();
  }
  return outcome;
}

}  // namespace

engine::ActivityBody activity_body(ActivityFunction function, std::size_t payload_bytes_max,
                                   std::optional<OperationCall> call) {
  return [function = std::move(function), payload_bytes_max,
          call = std::move(call)](engine::ActivityAttempt& attempt) {
    if (call) {
      attempt.type = call->name;
      attempt.input = call->input;
    }
    return outcome_of(
        attempt.type,
        [&] {
          Attempt with_limit{attempt, payload_bytes_max};
          Activity activity(&with_limit);
          return function(activity);
        },
        payload_bytes_max);
  };
}

engine::RunHost::TransactBody transact_body(std::string name,
                                            std::function<std::string(Transaction&)> function,
                                            std::size_t payload_bytes_max) {
  return [name = std::move(name), function = std::move(function),
          payload_bytes_max](store::Database& database) {
    return outcome_of(
        name,
        [&] {
          Transaction transaction(&database);
          return function(transaction);
        },
        payload_bytes_max);
  };
}

}  // namespace detail

// --- Activity ------------------------------------------------------------------------------------

namespace {
engine::ActivityAttempt& attempt_of(void* attempt) {
  return static_cast<detail::Attempt*>(attempt)->attempt;
}
}  // namespace

const std::string& Activity::run_id() const { return attempt_of(attempt_).run_id; }
const std::string& Activity::name() const { return attempt_of(attempt_).type; }
const std::string& Activity::key() const { return attempt_of(attempt_).key; }
std::uint32_t Activity::attempt() const { return attempt_of(attempt_).attempt; }
std::string_view Activity::input() const {
  const std::string& input = attempt_of(attempt_).input;
  return input.empty() ? std::string_view("null") : std::string_view(input);
}
bool Activity::should_stop() const { return attempt_of(attempt_).should_stop(); }
bool Activity::heartbeat_raw(std::string_view details) const {
  const std::size_t bytes_max = static_cast<detail::Attempt*>(attempt_)->payload_bytes_max;
  if (details.size() > bytes_max) {
    throw PayloadTooLarge("heartbeat of '" + name() + "'", details.size(), bytes_max);
  }
  return attempt_of(attempt_).heartbeat(details);
}
const std::string& Activity::last_details_raw() const { return attempt_of(attempt_).last_details; }

// --- Transaction ---------------------------------------------------------------------------------

namespace {

store::Database& database_of(void* database) { return *static_cast<store::Database*>(database); }

template <class T>
T checked(Result<T> result) {
  if (!result.has_value()) {
    if (result.error().code == ErrorCode::kInvalidArgument) {
      throw UsageError("transaction: " + result.error().message);
    }
    throw StoreError(result.error().message);
  }
  if constexpr (!std::is_void_v<T>) {
    return *std::move(result);
  }
}

}  // namespace

void* Transaction::handle() const { return database_of(database_).handle(); }

void Transaction::exec(const std::string& sql) const {
  checked(database_of(database_).execute(sql));
}

void Transaction::exec(const std::string& sql, const std::vector<std::string>& values) const {
  checked(database_of(database_).query(sql, values));
}

std::vector<std::vector<std::string>> Transaction::query(
    const std::string& sql, const std::vector<std::string>& values) const {
  return checked(database_of(database_).query(sql, values));
}

}  // namespace pawl

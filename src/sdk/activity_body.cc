#include "sdk/activity_body.h"

#include <cxxabi.h>
#include <sqlite3.h>

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
  return [name = std::move(name), function = std::move(function), payload_bytes_max](void* native) {
    return outcome_of(
        name,
        [&] {
          Transaction transaction(native);
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

[[noreturn]] void throw_sqlite(sqlite3* database, const std::string& sql) {
  throw StoreError(std::string(sqlite3_errmsg(database)) + " in: " + sql);
}

struct Finalize {
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};

std::vector<std::vector<std::string>> run_statement(sqlite3* database, const std::string& sql,
                                                    const std::vector<std::string>& values) {
  sqlite3_stmt* raw = nullptr;
  if (sqlite3_prepare_v2(database, sql.data(), static_cast<int>(sql.size()), &raw, nullptr) !=
      SQLITE_OK) {
    throw_sqlite(database, sql);
  }
  const std::unique_ptr<sqlite3_stmt, Finalize> statement(raw);
  if (std::cmp_not_equal(sqlite3_bind_parameter_count(raw), values.size())) {
    throw UsageError("transaction: " + std::to_string(values.size()) + " values for: " + sql);
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    sqlite3_bind_text(raw, static_cast<int>(i) + 1, values[i].data(),
                      static_cast<int>(values[i].size()), SQLITE_STATIC);
  }
  std::vector<std::vector<std::string>> rows;
  while (true) {
    const int code = sqlite3_step(raw);
    if (code == SQLITE_DONE) {
      return rows;
    }
    if (code != SQLITE_ROW) {
      throw_sqlite(database, sql);
    }
    std::vector<std::string>& row = rows.emplace_back();
    for (int column = 0; column < sqlite3_column_count(raw); ++column) {
      const unsigned char* text = sqlite3_column_text(raw, column);
      row.emplace_back(text == nullptr ? "" : reinterpret_cast<const char*>(text),
                       static_cast<std::size_t>(sqlite3_column_bytes(raw, column)));
    }
  }
}

}  // namespace

void Transaction::exec(const std::string& sql) const {
  sqlite3* database = static_cast<sqlite3*>(native_);
  if (sqlite3_exec(database, sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) {
    throw_sqlite(database, sql);
  }
}

void Transaction::exec(const std::string& sql, const std::vector<std::string>& values) const {
  run_statement(static_cast<sqlite3*>(native_), sql, values);
}

std::vector<std::vector<std::string>> Transaction::query(
    const std::string& sql, const std::vector<std::string>& values) const {
  return run_statement(static_cast<sqlite3*>(native_), sql, values);
}

}  // namespace pawl

// Activities: ordinary functions with side effects. They run outside of the workflow's thread, at
// least once; what they return or throw is recorded. One that wants to know about its attempt takes
// `pawl::Activity&` first.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "pawl/codec.hpp"
#include "pawl/errors.hpp"
#include "pawl/options.hpp"

namespace pawl {

struct ActivityErrorOptions {
  bool final = false;                     // Not tried again, whatever the retry policy says.
  std::optional<Millis> next_delay = {};  // Before the next attempt, instead of the policy's.
  std::string details = {};               // JSON, for the workflow; at most 256 KiB of it.
};

// Thrown by an activity that has more to say than a type and a text. Any other exception is
// recorded with its type and what().
class ActivityError : public Exception {
 public:
  ActivityError(std::string type, const std::string& message, ActivityErrorOptions options = {})
      : Exception(message), type_(std::move(type)), options_(std::move(options)) {}

  const std::string& type() const noexcept { return type_; }
  const ActivityErrorOptions& options() const noexcept { return options_; }

 private:
  std::string type_;
  ActivityErrorOptions options_;
};

// One attempt, for the function that runs it. Not for other threads.
class Activity {
 public:
  const std::string& run_id() const;
  const std::string& name() const;
  // The same for every attempt of this step and for no other one: an idempotency key.
  const std::string& key() const;
  std::uint32_t attempt() const;
  // The encoded argument, or the array of all.
  std::string_view input() const;

  // The time limit is over, somebody cancelled it, its run has ended, or the engine stops: end
  // soon.
  bool should_stop() const;
  // Says that it is alive; may be called often: one in a second is written. The next attempt gets
  // `details`, if this one fails. False: as should_stop().
  bool heartbeat() const { return heartbeat_raw({}); }
  template <class T>
  bool heartbeat(const T& details) const {
    return heartbeat_raw(detail::encode(details, [&] { return "heartbeat of '" + name() + "'"; }));
  }
  // What an earlier attempt said last.
  template <class T>
  std::optional<T> last_details() const {
    const std::string& details = last_details_raw();
    if (details.empty()) {
      return std::nullopt;
    }
    return detail::decode<T>(details, [&] { return "heartbeat details of '" + name() + "'"; });
  }

  // For the library.
  explicit Activity(void* attempt) : attempt_(attempt) {}
  Activity(const Activity&) = delete;
  Activity& operator=(const Activity&) = delete;

 private:
  bool heartbeat_raw(std::string_view details) const;
  const std::string& last_details_raw() const;

  void* attempt_;
};

// The store's own transaction, for Context::transact(): what is done in it commits together with
// the record that it was done, or not at all.
class Transaction {
 public:
  // Of SQLite a sqlite3*, of PostgreSQL a PGconn*. Do not end the transaction.
  void* handle() const;
  // One or more statements without results. Throws StoreError.
  void exec(const std::string& sql) const;
  // The same with text values for its `?`.
  void exec(const std::string& sql, const std::vector<std::string>& values) const;
  // The rows of a query, every value as text.
  std::vector<std::vector<std::string>> query(const std::string& sql,
                                              const std::vector<std::string>& values = {}) const;

  // For the library.
  explicit Transaction(void* database) : database_(database) {}
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;

 private:
  void* database_;
};

}  // namespace pawl

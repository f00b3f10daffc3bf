// The test kit: workflows in one thread, on virtual time, with fakes, crashes and histories. Works
// with any test framework. Single-threaded: activities run inside of the calls below.
//
//   pawl::testing::Environment env(registry);
//   env.fake("charge", [](const Order&) { return Payment{"p-1"}; });
//   auto run = env.start(order, "order-17", Order{17});
//   env.advance(24h);
//   EXPECT_EQ(run.result().payment, "p-1");
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "pawl/engine.hpp"
#include "pawl/options.hpp"
#include "pawl/registry.hpp"

namespace pawl::testing {

namespace detail {
class Kit;
struct Entries;
}  // namespace detail

// What a run has recorded. Each entry is also a line of text:
//   1 {1} OperationCompleted reserve
//   2 {2} TaskScheduled charge
//   3 {2} TaskCompleted
//   4 SignalReceived approved
//   5 WorkflowCompleted
// that is: seq; location, for an arrival that of its command; event; name; "v2" for a version other
// than 1.
class History {
 public:
  const std::vector<std::string>& lines() const { return lines_; }
  // All lines, each with a line break.
  std::string text() const;
  // Some line contains `part`.
  bool contains(std::string_view part) const { return count(part) > 0; }
  std::size_t count(std::string_view part) const;
  // Lines that contain these parts come in this order, with any others between them.
  bool contains_in_order(std::initializer_list<std::string_view> parts) const;

  // For the library.
  explicit History(std::shared_ptr<const detail::Entries> entries);
  const std::shared_ptr<const detail::Entries>& entries() const { return entries_; }

 private:
  std::shared_ptr<const detail::Entries> entries_;
  std::vector<std::string> lines_;
};

// A history written by hand, entry by entry. Commands get the next location of the root branch
// unless told otherwise, and arrivals go to the command at a location:
//   HistoryBuilder().task("reserve").completed("{1}", Hold{"h-1"}).timer(1h).build()
class HistoryBuilder {
 public:
  HistoryBuilder();

  // The next command stands here, e.g. in a branch: "{2, 1}".
  HistoryBuilder& at(std::string location);
  // The next command has this version.
  HistoryBuilder& version(std::uint32_t version);
  // The next command has this step key.
  HistoryBuilder& step_key(std::string key);

  // --- Commands ---
  HistoryBuilder& task(const std::string& type) { return command(StepKind::kTask, type); }
  // An operation that was started, and one as a whole.
  HistoryBuilder& started(const std::string& operation) {
    return command(StepKind::kOperation, operation);
  }
  template <class T = std::monostate>
  HistoryBuilder& operation(const std::string& name, const T& result = {}) {
    return whole_operation(name, encode(result));
  }
  HistoryBuilder& timer(Millis duration, const std::string& id = {});
  HistoryBuilder& promise(const std::string& name) { return command(StepKind::kPromise, name); }
  HistoryBuilder& child(const std::string& kind, const std::string& id);
  template <class T>
  HistoryBuilder& set(const std::string& key, const T& value) {
    return state(key, encode(value));
  }
  HistoryBuilder& clear(const std::string& key);
  HistoryBuilder& awaits_signal(const std::string& name) {
    return command(StepKind::kSignal, name);
  }
  HistoryBuilder& branch() { return command(StepKind::kBranch, {}); }
  template <class T = std::monostate>
  HistoryBuilder& compensation(const std::string& activity, const T& input = {}) {
    return registered(activity, encode(input));
  }
  // ctx.check_version() has answered `version`.
  HistoryBuilder& checked_version(std::uint32_t version) {
    return this->version(version).command(StepKind::kVersionCheck, {});
  }
  // ctx.cancel() of the task or timer at a location; with_timeout() does that to its timer.
  HistoryBuilder& cancels(const std::string& location);

  // --- Arrivals ---
  template <class T = std::monostate>
  HistoryBuilder& completed(const std::string& location, const T& value = {}) {
    return arrival(location, Outcome::kValue, encode(value));
  }
  HistoryBuilder& failed(const std::string& location, const std::string& type,
                         const std::string& message);
  HistoryBuilder& cancelled(const std::string& location) {
    return arrival(location, Outcome::kCancelled, {});
  }
  HistoryBuilder& timed_out(const std::string& location) {
    return arrival(location, Outcome::kTimedOut, {});
  }
  template <class T = std::monostate>
  HistoryBuilder& signal(const std::string& name, const T& value = {}, const Event& event = {}) {
    return received(name, encode(value), event);
  }
  HistoryBuilder& cancel_requested(const std::string& reason = {});

  History build() const;

 private:
  enum class Outcome : std::uint8_t { kValue, kFailed, kCancelled, kTimedOut };

  template <class T>
  static std::string encode(const T& value) {
    return pawl::detail::encode_for("history", value);
  }
  HistoryBuilder& command(StepKind kind, const std::string& name);
  HistoryBuilder& whole_operation(const std::string& name, const std::string& result);
  HistoryBuilder& state(const std::string& key, const std::string& value);
  HistoryBuilder& registered(const std::string& activity, const std::string& input);
  HistoryBuilder& arrival(const std::string& location, Outcome outcome, const std::string& payload);
  HistoryBuilder& received(const std::string& name, const std::string& payload, const Event& event);

  std::shared_ptr<detail::Entries> entries_;
  std::string location_;
  std::string step_key_;
  std::uint32_t version_ = 1;
};

// What the code of a workflow makes of a history.
struct CheckResult {
  bool agrees = false;
  std::string violation;             // If it does not: the report.
  std::vector<std::string> waiting;  // Locations of what it waits for.
  std::vector<std::string> added;    // What it would record next, as lines.
  // How it ended, if it did: "completed", "failed", "cancelled" or "recurred", and with what.
  std::string end;
  std::string payload;
};

// Replays `history` with this code. Nothing is executed.
CheckResult check(const pawl::detail::WorkflowEntry& workflow, std::string_view input,
                  const History& history);
template <class R, class... Args>
CheckResult check(Workflow<R> (*workflow)(Context, Args...),
                  const std::type_identity_t<std::decay_t<Args>>&... input, const History& history,
                  const WorkflowOptions& options = {}) {
  Registry registry;
  registry.workflow("workflow", workflow, options);
  return check(registry.workflows().front(),
               pawl::detail::encode_arguments([] { return std::string("check"); }, input...),
               history);
}

struct Options {
  std::uint64_t seed = 1;  // Of the order in which concurrent things happen.
  // Every run is thrown out of memory after each turn and comes back by replay: finds code that is
  // not deterministic.
  bool replay_every_turn = false;
  EngineOptions engine = {};
};

// An engine for tests, with all its calls. Time passes only while something waits for it: sleeps
// cost nothing. A call that waits for what can never happen throws TimedOut.
class Environment : public Engine {
 public:
  explicit Environment(const Registry& registry, const Options& options = {});
  ~Environment();
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

  // Calls `function` instead of the operation or activity of this name, which need not be
  // registered. Its parameters are taken out of the recorded input. Before the first other call.
  template <class F>
  Environment& fake(const std::string& name, F function) {
    add_fake(name, pawl::detail::make_activity(name, std::move(function)));
    return *this;
  }

  // --- Time ---
  Time now() const;
  void advance(Millis duration);
  // Lets everything happen that can: until all runs have ended or wait for something from outside.
  void run_until_idle();

  // --- Crashes ---
  // The process dies now, and another one takes over.
  void crash();
  // It dies when this run's entry with this seq has been committed: before anything that follows
  // from it happens. Takes effect in result(), advance() and run_until_idle(); other calls are
  // answered first.
  void crash_after(const std::string& run, std::uint64_t seq);
  // How often it has died.
  std::size_t crashes() const;

  // --- Looking ---
  History history(const std::string& run);
  // Trouble that no call could report.
  const std::vector<std::string>& errors() const;

 private:
  explicit Environment(std::shared_ptr<detail::Kit> kit);
  void add_fake(const std::string& name, pawl::detail::ActivityFunction function);

  std::shared_ptr<detail::Kit> kit_;
};

}  // namespace pawl::testing

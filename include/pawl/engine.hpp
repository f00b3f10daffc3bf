// Engine: runs the workflows of a registry on a store, and is the client for them. Thread-safe.
//
// All calls block until what they ask for is durable. They throw NotFound, AlreadyExists, Closed,
// UsageError, PayloadError (PayloadTooLarge, if it is that) or StoreError. A run is named by its
// id; the newest one with that id is meant. Not to be used from workflow code, nor from activities
// that the same engine waits for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "pawl/codec.hpp"
#include "pawl/context.hpp"
#include "pawl/errors.hpp"
#include "pawl/event.hpp"
#include "pawl/options.hpp"
#include "pawl/registry.hpp"

namespace pawl {

// What is known about a run.
struct Description {
  Info info;
  Status status{};
  std::string waiting_for;  // E.g. "signal approved"; kCompensating: "compensation refund".
  std::string reason;       // kBlocked: why.
  Time started;
  Time changed;  // When the status last did.
  Tags tags;
  bool paused = false;  // Somebody holds it where it is.
};

// Which runs to list: all of what is given must hold.
struct ListOptions {
  std::vector<std::string> kinds = {};  // Any of them; none: all.
  std::vector<Status> statuses = {};
  Tags tags = {};                           // Each of them.
  std::optional<Time> started_from = {};    // From then on,
  std::optional<Time> started_before = {};  // and before then.
  std::optional<Time> changed_from = {};    // The last change of status: of a run that has
  std::optional<Time> changed_before = {};  // ended, its end.
  std::optional<bool> paused = {};
  std::size_t limit = 100;
  std::string cursor = {};  // RunList::next of the page before.
};

// A page of runs, the newest first. It may hold less than was asked for although there are more.
struct RunList {
  std::vector<Description> runs;
  std::string next;  // Where the next page begins; empty: that was all.
};

namespace detail {

class Client;

struct Started {
  std::string id;
  bool is_new = false;
};
struct SignalWithStart {
  std::string name;
  std::string payload;
  Event event;
};

Started start(Client& client, std::string kind, std::string id, std::string input,
              const StartOptions& options, std::optional<SignalWithStart> signal);
std::string kind_of(Client& client, std::string_view call, void (*function)());
bool signal(Client& client, const std::string& run, const std::string& name,
            const std::string& payload, const Event& event);
void resolve(Client& client, const std::string& run, const std::string& promise,
             const std::string& payload);
void reject(Client& client, const std::string& run, const std::string& promise,
            const std::string& type, const std::string& message, const std::string& details);
void cancel(Client& client, const std::string& run, const std::string& reason);
void terminate(Client& client, const std::string& run, const std::string& reason);
void resume(Client& client, const std::string& run);
bool pause(Client& client, const std::string& run, bool is_paused);
std::int64_t retry_now(Client& client, const std::string& run);
void remove(Client& client, const std::string& run);
RunList list(Client& client, const ListOptions& options);
std::int64_t count(Client& client, const ListOptions& options);
// The encoded result; throws WorkflowFailed, WorkflowCancelled, TimedOut.
std::string wait(Client& client, const std::string& run, std::optional<Millis> limit);
Description describe(Client& client, const std::string& run);
std::optional<std::string> state(Client& client, const std::string& run, std::string_view key,
                                 std::uint64_t until_seq);
void stop(Client& client);
std::pair<std::string, std::string> parse_token(std::string_view token);

template <class T>
std::string encode_for(std::string_view call, const T& value) {
  return encode(Kept<T>(value), [&] { return std::string(call); });
}

// The input of a workflow with these parameters, as one value.
template <class... Args>
struct Input {
  using Type = std::tuple<std::decay_t<Args>...>;
};
template <>
struct Input<> {
  using Type = std::nullptr_t;
};
template <class Arg>
struct Input<Arg> {
  using Type = std::decay_t<Arg>;
};
template <class... Args>
using InputOf = typename Input<Args...>::Type;

}  // namespace detail

// A run, to ask about it and to act on it. Keeps what it needs of the engine alive.
template <class R = void>
class RunHandle {
 public:
  const std::string& id() const { return id_; }
  // The call that gave this handle has started it.
  bool is_new() const { return is_new_; }

  // Waits for the end of the run, and of those it recurs to; a blocked one has not ended. Throws
  // WorkflowFailed or WorkflowCancelled; with a limit, TimedOut, which says what the run waits for.
  R result() const { return read(detail::wait(*client_, id_, std::nullopt)); }
  R result_for(Millis limit) const { return read(detail::wait(*client_, id_, limit)); }

  Description describe() const { return detail::describe(*client_, id_); }
  Status status() const { return describe().status; }
  // What its code has set by ctx.set(), now or as it was after an entry of its log. Reads the run's
  // history; of what a loop has forgotten for good, only what it left is known.
  template <class T>
  std::optional<T> state(
      const std::string& key,
      std::uint64_t after_seq = std::numeric_limits<std::uint64_t>::max()) const {
    const std::optional<std::string> payload = detail::state(*client_, id_, key, after_seq);
    if (!payload) {
      return std::nullopt;
    }
    return detail::decode<T>(*payload, [&] { return "state '" + key + "' of '" + id_ + "'"; });
  }

  // False: the event, by its id and source, was sent before: signal("paid", sum, {.id = "p-17"}).
  template <class T = std::monostate>
  bool signal(const std::string& name, const T& value = {}, const Event& event = {}) const {
    return detail::signal(*client_, id_, name, detail::encode_for("signal", value), event);
  }
  void cancel(const std::string& reason = {}) const { detail::cancel(*client_, id_, reason); }
  // Ends it at once; no code of it runs any more, no compensation either.
  void terminate(const std::string& reason = {}) const { detail::terminate(*client_, id_, reason); }
  // Has a blocked run tried again.
  void resume() const { detail::resume(*client_, id_); }
  // Holds it where it is: what is being executed is recorded, nothing more is begun. What reaches
  // it waits; its tasks go on. False: it was so before.
  bool pause() const { return detail::pause(*client_, id_, true); }
  bool unpause() const { return detail::pause(*client_, id_, false); }
  // What waits for its next attempt is tried now. Returns how many attempts that are.
  std::int64_t retry_now() const { return detail::retry_now(*client_, id_); }
  // Removes what is stored of it. It must have ended; UsageError if not.
  void remove() const { detail::remove(*client_, id_); }

  // For the library.
  RunHandle(std::shared_ptr<detail::Client> client, std::string id, bool is_new)
      : client_(std::move(client)), id_(std::move(id)), is_new_(is_new) {}

 private:
  R read(const std::string& payload) const {
    if constexpr (!std::is_void_v<R>) {
      return detail::decode<R>(payload, [&] { return "result of run '" + id_ + "'"; });
    }
  }

  std::shared_ptr<detail::Client> client_;
  std::string id_;
  bool is_new_ = false;
};

class Engine {
 public:
  // Opens the store, e.g. "sqlite:shop.db", and starts to work. Throws StoreError or UsageError.
  Engine(std::string_view url, const Registry& registry, const EngineOptions& options = {});
  // Stops.
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // --- Runs ---
  // An empty id: a new one is made. The kind need not be in this engine's registry: the run waits
  // until a process that has it works on the store. R is what the workflow returns.
  template <class R = void, class In>
    requires(!std::is_same_v<std::decay_t<In>, StartOptions>)
  RunHandle<R> start(std::string kind, std::string id, const In& input,
                     const StartOptions& options = {}) {
    return started<R>(detail::start(*client_, std::move(kind), std::move(id),
                                    detail::encode_for("start", input), options, std::nullopt));
  }
  template <class R = void>
  RunHandle<R> start(std::string kind, std::string id, const StartOptions& options = {}) {
    return started<R>(
        detail::start(*client_, std::move(kind), std::move(id), "null", options, std::nullopt));
  }
  // By the function: its parameters and its result are checked. It must be in this engine's
  // registry, under one kind; else UsageError.
  template <class R, class... Args>
  RunHandle<R> start(Workflow<R> (*function)(Context, Args...), std::string id,
                     const StartOptions& options,
                     const std::type_identity_t<std::decay_t<Args>>&... input) {
    std::string kind = kind_of("start", function);
    return started<R>(
        detail::start(*client_, std::move(kind), std::move(id),
                      detail::encode_arguments([] { return std::string("start"); }, input...),
                      options, std::nullopt));
  }
  template <class R, class... Args>
  RunHandle<R> start(Workflow<R> (*function)(Context, Args...), std::string id,
                     const std::type_identity_t<std::decay_t<Args>>&... input) {
    return start(function, std::move(id), StartOptions(), input...);
  }
  // Starts the run unless it is there, and sends it a signal, in one commit. If that run has ended,
  // nobody gets the signal.
  template <class R = void, class In, class T>
  RunHandle<R> signal_with_start(std::string kind, std::string id, const In& input,
                                 std::string signal, const T& value,
                                 const StartOptions& options = {}, const Event& event = {}) {
    return started<R>(detail::start(
        *client_, std::move(kind), std::move(id), detail::encode_for("signal_with_start", input),
        options,
        detail::SignalWithStart{std::move(signal), detail::encode_for("signal_with_start", value),
                                event}));
  }
  // By the function. Its input is nullptr if it takes none, and a std::tuple if it takes several.
  template <class R, class... Args, class T>
  RunHandle<R> signal_with_start(Workflow<R> (*function)(Context, Args...), std::string id,
                                 const detail::InputOf<Args...>& input, std::string signal,
                                 const T& value, const StartOptions& options = {},
                                 const Event& event = {}) {
    std::string kind = kind_of("signal_with_start", function);
    return signal_with_start<R>(std::move(kind), std::move(id), input, std::move(signal), value,
                                options, event);
  }
  // A handle to a run that is there. Throws NotFound.
  template <class R = void>
  RunHandle<R> get(std::string id) {
    detail::describe(*client_, id);
    return RunHandle<R>(client_, std::move(id), false);
  }

  // --- Searching ---
  // Throws UsageError for a cursor that is none.
  RunList list(const ListOptions& options = {}) { return detail::list(*client_, options); }
  // All pages together.
  std::int64_t count(const ListOptions& options = {}) { return detail::count(*client_, options); }

  // --- Promises ---
  template <class T = std::monostate>
  void resolve(const std::string& run, const std::string& promise, const T& value = {}) {
    detail::resolve(*client_, run, promise, detail::encode_for("resolve", value));
  }
  void reject(const std::string& run, const std::string& promise, const std::string& type,
              const std::string& message, const std::string& details = {}) {
    detail::reject(*client_, run, promise, type, message, details);
  }
  // By the text that PromiseFuture::token() gave.
  template <class T = std::monostate>
  void resolve_token(std::string_view token, const T& value = {}) {
    const auto [run, promise] = detail::parse_token(token);
    resolve(run, promise, value);
  }
  void reject_token(std::string_view token, const std::string& type, const std::string& message,
                    const std::string& details = {}) {
    const auto [run, promise] = detail::parse_token(token);
    reject(run, promise, type, message, details);
  }

  // Waits for what is under way and gives the runs back. Nothing works after it.
  void stop() { detail::stop(*client_); }

 protected:
  // For the test kit.
  explicit Engine(std::shared_ptr<detail::Client> client) : client_(std::move(client)) {}
  detail::Client& client() { return *client_; }

 private:
  template <class R, class... Args>
  std::string kind_of(std::string_view call, Workflow<R> (*function)(Context, Args...)) {
    return detail::kind_of(*client_, call, reinterpret_cast<void (*)()>(function));
  }
  template <class R>
  RunHandle<R> started(detail::Started started) {
    return RunHandle<R>(client_, std::move(started.id), started.is_new);
  }

  std::shared_ptr<detail::Client> client_;
};

}  // namespace pawl

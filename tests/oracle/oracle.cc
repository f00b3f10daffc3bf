#include "oracle.h"

#include <algorithm>
#include <array>
#include <coroutine>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace oracle {
namespace {

namespace json = boost::json;

// ------------------------------------------------------------------------------------------------
// Locations. The vectors' own lexicographic order, a prefix before its extensions, is the order of
// the format.

using Coordinate = std::vector<std::uint64_t>;
using Location = std::vector<Coordinate>;

Location parse_location(std::string_view text) {
  Location location;
  bool in_number = false;
  bool new_coordinate = true;
  for (char c : text) {
    if (c >= '0' && c <= '9') {
      if (!in_number) {
        if (new_coordinate) {
          location.emplace_back();
        }
        location.back().push_back(0);
        in_number = true;
        new_coordinate = false;
      }
      location.back().back() = location.back().back() * 10 + static_cast<std::uint64_t>(c - '0');
    } else {
      in_number = false;
      if (c == ',') {
        new_coordinate = true;
      }
    }
  }
  return location;
}

std::string print_location(const Location& location) {
  std::string text = "{";
  for (std::size_t i = 0; i < location.size(); ++i) {
    if (i > 0) {
      text += ", ";
    }
    for (std::size_t j = 0; j < location[i].size(); ++j) {
      if (j > 0) {
        text += ".";
      }
      text += std::to_string(location[i][j]);
    }
  }
  return text + "}";
}

bool starts_with(const Location& location, const Location& prefix) {
  return location.size() >= prefix.size() &&
         std::equal(prefix.begin(), prefix.end(), location.begin());
}

Location child_of(const Location& parent, const Coordinate& coordinate) {
  Location location = parent;
  location.push_back(coordinate);
  return location;
}

bool below(const Location& location, const Location& parent) {
  return location.size() > parent.size() && starts_with(location, parent);
}

// Does `location` belong to one of the iterations 1 … `last` of the loop at `loop`?
bool in_iterations(const Location& location, const Location& loop, std::uint64_t last) {
  return below(location, loop) && location[loop.size()].front() <= last;
}

// The coordinate of a step inserted between `p` and the next recorded `c`.
Coordinate between(const Coordinate& p, const Coordinate& c) {
  Coordinate made = p;
  bool prefix = p.size() < c.size() && std::equal(p.begin(), p.end(), c.begin());
  if (prefix) {
    std::size_t zeros = 0;
    while (p.size() + zeros < c.size() && c[p.size() + zeros] == 0) {
      ++zeros;
    }
    made.insert(made.end(), zeros + 1, 0);
    made.push_back(1);
  } else if (p.size() <= c.size()) {
    made.push_back(1);
  } else {
    ++made.back();
  }
  return made;
}

// ------------------------------------------------------------------------------------------------
// Ids: UUID version 5, i.e. SHA-1 over the namespace's bytes and the name.

std::array<std::uint8_t, 20> sha1(std::string message) {
  std::uint64_t bits = message.size() * 8;
  message.push_back(static_cast<char>(0x80));
  while (message.size() % 64 != 56) {
    message.push_back('\0');
  }
  for (int shift = 56; shift >= 0; shift -= 8) {
    message.push_back(static_cast<char>((bits >> shift) & 0xff));
  }
  auto rotate = [](std::uint32_t x, int n) { return (x << n) | (x >> (32 - n)); };
  std::array<std::uint32_t, 5> h = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0};
  for (std::size_t block = 0; block < message.size(); block += 64) {
    std::array<std::uint32_t, 80> w{};
    for (std::size_t t = 0; t < 16; ++t) {
      for (std::size_t b = 0; b < 4; ++b) {
        w[t] = (w[t] << 8) | static_cast<std::uint8_t>(message[block + t * 4 + b]);
      }
    }
    for (std::size_t t = 16; t < 80; ++t) {
      w[t] = rotate(w[t - 3] ^ w[t - 8] ^ w[t - 14] ^ w[t - 16], 1);
    }
    std::uint32_t a = h[0], b = h[1], c = h[2], d = h[3], e = h[4];
    for (std::size_t t = 0; t < 80; ++t) {
      std::uint32_t f, k;
      if (t < 20) {
        f = (b & c) | (~b & d);
        k = 0x5a827999;
      } else if (t < 40) {
        f = b ^ c ^ d;
        k = 0x6ed9eba1;
      } else if (t < 60) {
        f = (b & c) | (b & d) | (c & d);
        k = 0x8f1bbcdc;
      } else {
        f = b ^ c ^ d;
        k = 0xca62c1d6;
      }
      std::uint32_t next = rotate(a, 5) + f + e + k + w[t];
      e = d;
      d = c;
      c = rotate(b, 30);
      b = a;
      a = next;
    }
    h[0] += a;
    h[1] += b;
    h[2] += c;
    h[3] += d;
    h[4] += e;
  }
  std::array<std::uint8_t, 20> digest{};
  for (std::size_t i = 0; i < 20; ++i) {
    digest[i] = static_cast<std::uint8_t>(h[i / 4] >> (24 - 8 * (i % 4)));
  }
  return digest;
}

std::string uuid5(std::string_view name_space, std::string_view name) {
  auto digit = [](char c) {
    if (c >= '0' && c <= '9') {
      return c - '0';
    }
    return (c | 0x20) - 'a' + 10;
  };
  std::string hex;
  for (char c : name_space) {
    if (c != '-') {
      hex.push_back(c);
    }
  }
  std::string message;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
    message.push_back(static_cast<char>(digit(hex[i]) * 16 + digit(hex[i + 1])));
  }
  message += name;
  std::array<std::uint8_t, 20> digest = sha1(message);
  digest[6] = static_cast<std::uint8_t>((digest[6] & 0x0f) | 0x50);
  digest[8] = static_cast<std::uint8_t>((digest[8] & 0x3f) | 0x80);
  std::string text;
  for (std::size_t i = 0; i < 16; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) {
      text += '-';
    }
    text += "0123456789abcdef"[digest[i] >> 4];
    text += "0123456789abcdef"[digest[i] & 15];
  }
  return text;
}

// ------------------------------------------------------------------------------------------------
// Small readers of JSON.

std::int64_t as_int(const json::value& value) { return value.to_number<std::int64_t>(); }

std::string text_of(const json::object& object, std::string_view key) {
  const json::value* found = object.if_contains(key);
  if (found == nullptr || !found->is_string()) {
    return "";
  }
  return std::string(found->as_string());
}

json::value value_of(const json::object& object, std::string_view key) {
  const json::value* found = object.if_contains(key);
  return found == nullptr ? json::value() : *found;
}

std::string error_text(const json::value& error) {
  if (error.is_string()) {
    return std::string(error.as_string());
  }
  if (error.is_object()) {
    return text_of(error.as_object(), "message");
  }
  return "";
}

// ------------------------------------------------------------------------------------------------
// The tables of the log format.

// Kind of a command, empty for anything else. OperationCompleted and OperationFailed are commands
// only if they complete no earlier OperationStarted; that is for the caller to know.
std::string kind_of(std::string_view event) {
  static const std::map<std::string_view, std::string> kinds = {
      {"TaskScheduled", "Task"},
      {"OperationStarted", "Operation"},
      {"OperationCompleted", "Operation"},
      {"OperationFailed", "Operation"},
      {"TimerStarted", "Timer"},
      {"PromiseCreated", "Promise"},
      {"ChildWorkflowInitiated", "ChildWorkflow"},
      {"StateSet", "State"},
      {"StateCleared", "State"},
      {"SignalAwaited", "Signal"},
      {"BranchOpened", "Branch"},
      {"LoopStarted", "Loop"},
      {"StepRemoved", "StepRemoved"},
      {"VersionChecked", "VersionCheck"},
      {"CompensationRegistered", "Compensation"},
      {"TaskCancelRequested", "CancelTask"},
      {"TimerCancelRequested", "CancelTimer"},
  };
  auto found = kinds.find(event);
  return found == kinds.end() ? "" : found->second;
}

// The field that holds the name in labels, by kind; empty for kinds without a name.
std::string name_field(std::string_view kind) {
  static const std::map<std::string_view, std::string> fields = {
      {"Task", "taskType"},
      {"Operation", "operationName"},
      {"Timer", "timerId"},
      {"Promise", "promiseId"},
      {"ChildWorkflow", "childExecutionName"},
      {"State", "key"},
      {"Signal", "signalName"},
      {"StepRemoved", "name"},
      {"Compensation", "name"},
      {"CancelTask", "taskExecutionId"},
      {"CancelTimer", "timerId"},
  };
  auto found = fields.find(kind);
  return found == fields.end() ? "" : found->second;
}

// The field that holds the id which the core gives to a command of this kind; empty if there is
// none.
std::string id_field(std::string_view kind) {
  static const std::map<std::string_view, std::string> fields = {
      {"Task", "taskExecutionId"}, {"Operation", "operationId"},          {"Timer", "timerId"},
      {"Promise", "promiseId"},    {"ChildWorkflow", "childExecutionId"},
  };
  auto found = fields.find(kind);
  return found == fields.end() ? "" : found->second;
}

// The kind that `removed` means by its word.
std::string kind_of_removed(std::string_view word) {
  static const std::map<std::string_view, std::string> kinds = {
      {"task", "Task"},
      {"operation", "Operation"},
      {"timer", "Timer"},
      {"promise", "Promise"},
      {"child", "ChildWorkflow"},
      {"state", "State"},
      {"signal", "Signal"},
      {"branch", "Branch"},
      {"loop", "Loop"},
      {"compensation", "Compensation"},
      {"cancel_task", "CancelTask"},
      {"cancel_timer", "CancelTimer"},
      {"version_check", "VersionCheck"},
  };
  auto found = kinds.find(word);
  if (found == kinds.end()) {
    throw std::invalid_argument("unknown kind to remove");
  }
  return found->second;
}

// ------------------------------------------------------------------------------------------------
// What the interpreter is made of.

struct Failure {
  std::string text;
  bool cancelled = false;  // a cancel request, which leaving the workflow ends it as cancelled
  json::value reason;      // of the cancel request, null if it gave none
};

// How a step or a list of steps ended.
struct Flow {
  enum class Kind { kNext, kReturn, kThrow };
  Kind kind = Kind::kNext;
  json::value value;
  Failure failure;

  static Flow next() { return {}; }
  static Flow give(json::value value) { return {Kind::kReturn, std::move(value), {}}; }
  static Flow fail(Failure failure) { return {Kind::kThrow, nullptr, std::move(failure)}; }
};

// Code and history part. Ends the turn wherever it is thrown.
struct Violation {
  std::string message;
  std::string location;
};

// The program asked for recur. Ends the turn wherever it is thrown.
struct Recurred {
  json::value input;
};

// The program did what is not allowed there; becomes an error that it may catch.
struct Misuse {
  std::string text;
};

struct Branch;

// An issued command that can be awaited.
struct Future {
  std::size_t command = 0;  // index in the log
  std::string kind;
  std::string name;
  Branch* branch = nullptr;
  bool complete = false;
  bool failed = false;
  json::value value;
  Failure failure;
  std::uint64_t order = 0;  // of its completion, among all completions
  bool asleep = false;      // a signal wait whose branch has ended
  bool closed = false;      // a signal wait whose iteration has ended
};

struct Variable {
  json::value value;
  std::shared_ptr<Future> future;  // stays after an await, so that a second one finds it
};

struct Branch {
  Location location;
  std::int64_t version = 1;
  Coordinate cursor = {0};              // the last command without a key that the code has passed
  std::optional<std::int64_t> checked;  // what check_version said here, if it wrote nothing
  std::set<std::string> keys;
  std::uint64_t uuids = 0;
  Branch* parent = nullptr;
  std::optional<Location> loop;  // for an iteration: the loop it belongs to
};

struct Entry {
  json::object body;
  std::optional<Location> location;    // of a command
  std::optional<std::size_t> target;   // of an arrival: the command that it completes
  std::optional<Location> taker;       // of a signal: the wait or the draining branch that took it
  std::optional<std::size_t> cancels;  // of a cancel request: the command that it is for, if known
  std::shared_ptr<Future> future;      // of a command that was issued and can be awaited
  bool fresh = false;                  // appended in this turn
  bool ignored = false;                // covered by a checkpoint of the given history
  bool matched = false;                // a command that the code issued or removed
  bool stands = false;                 // a command that the code issued, now or before a checkpoint
  bool delivered = false;
  bool moved = false;         // by a checkpoint written in this turn
  bool cancel_asked = false;  // a command that the code has asked to cancel

  bool is_cancel_request() const {
    return event() == "TaskCancelRequested" || event() == "TimerCancelRequested";
  }

  bool is_command() const { return location.has_value(); }
  std::string event() const { return text_of(body, "event"); }
  std::string step_key() const { return text_of(body, "stepKey"); }
  bool keyed() const { return body.contains("stepKey"); }
  std::int64_t seq() const { return as_int(body.at("seq")); }
  std::int64_t time() const { return as_int(body.at("time")); }
  std::int64_t version() const { return as_int(body.at("version")); }
  std::string kind() const { return kind_of(event()); }
  std::string name() const {
    std::string field = name_field(kind());
    return field.empty() ? "" : text_of(body, field);
  }
};

// A command that the code asks for.
struct Request {
  std::string kind;
  std::string event;
  std::optional<std::string> name;  // none: any name will do
  std::string child_kind;
  std::int64_t version = 1;
  std::optional<std::string> key;
  json::object fields;  // of the entry, if it is new; an id among them is not made
};

struct Context {
  Branch* branch = nullptr;
  bool shielded = false;
};

struct JoinPoint {
  std::size_t running = 0;
  std::coroutine_handle<> parent;  // set while the parent waits
};

// A lazily started coroutine that ends with a Flow. C++ exceptions are not for workflow errors:
// they fall through to whoever resumed the coroutine, that is, out of the whole turn.
class Task {
 public:
  struct promise_type {
    Flow flow;
    std::coroutine_handle<> continuation;
    JoinPoint* join = nullptr;

    struct Final {
      bool await_ready() noexcept { return false; }
      std::coroutine_handle<> await_suspend(std::coroutine_handle<promise_type> self) noexcept {
        promise_type& promise = self.promise();
        if (promise.join != nullptr) {
          --promise.join->running;
          if (promise.join->running == 0 && promise.join->parent) {
            return promise.join->parent;
          }
          return std::noop_coroutine();
        }
        if (promise.continuation) {
          return promise.continuation;
        }
        return std::noop_coroutine();
      }
      void await_resume() noexcept {}
    };

    Task get_return_object() {
      return Task(std::coroutine_handle<promise_type>::from_promise(*this));
    }
    std::suspend_always initial_suspend() noexcept { return {}; }
    Final final_suspend() noexcept { return {}; }
    void return_value(Flow result) { flow = std::move(result); }
    void unhandled_exception() { throw; }
  };

  explicit Task(std::coroutine_handle<promise_type> handle) : handle_(handle) {}
  Task(Task&& other) noexcept : handle_(std::exchange(other.handle_, {})) {}
  Task(const Task&) = delete;
  Task& operator=(const Task&) = delete;
  Task& operator=(Task&&) = delete;
  ~Task() {
    if (handle_) {
      handle_.destroy();
    }
  }

  // Runs it from its start as an arm of `join`, or on its own if there is none, until it is
  // blocked.
  void start(JoinPoint* join) {
    handle_.promise().join = join;
    handle_.resume();
  }
  bool done() const { return handle_.done(); }
  const Flow& flow() const { return handle_.promise().flow; }

  bool await_ready() const noexcept { return false; }
  std::coroutine_handle<> await_suspend(std::coroutine_handle<> caller) noexcept {
    handle_.promise().continuation = caller;
    return handle_;
  }
  Flow await_resume() { return std::move(handle_.promise().flow); }

 private:
  std::coroutine_handle<promise_type> handle_;
};

struct JoinWait {
  JoinPoint* join;
  bool await_ready() const noexcept { return join->running == 0; }
  void await_suspend(std::coroutine_handle<> parent) noexcept { join->parent = parent; }
  void await_resume() const noexcept {}
};

// Something that is blocked until a delivery: an await, or a loop that waits for its checkpoint.
struct Waiter {
  std::vector<std::shared_ptr<Future>> futures;
  bool all = false;  // all of the futures (or one failure), else any of them
  bool shielded = false;
  std::optional<std::size_t> checkpoint;  // index in the log
  bool checkpoint_delivered = false;
  std::optional<Failure> interrupted;
  std::coroutine_handle<> handle;

  bool satisfied() const {
    if (checkpoint) {
      return checkpoint_delivered;
    }
    std::size_t complete = 0;
    for (const auto& future : futures) {
      if (future->complete) {
        ++complete;
        if (!all || future->failed) {
          return true;
        }
      }
    }
    return complete == futures.size();
  }
};

// ------------------------------------------------------------------------------------------------

class Evaluator {
 public:
  explicit Evaluator(const json::object& scenario) : program_(scenario.at("program").as_array()) {
    if (const json::value* matching = scenario.if_contains("matching")) {
      matching_ = std::string(matching->as_string());
    }
    if (const json::value* run = scenario.if_contains("run")) {
      if (run->as_object().contains("id")) {
        run_id_ = text_of(run->as_object(), "id");
      }
      if (const json::value* started = run->as_object().if_contains("startedAt")) {
        started_at_ = as_int(*started);
      }
    }
    now_ = started_at_;
    if (const json::value* history = scenario.if_contains("history")) {
      for (const json::value& entry : history->as_array()) {
        load(entry.as_object());
      }
    }
    ignore_covered();
  }

  json::object run() {
    root_ = new_branch({}, 1, nullptr);
    json::object out;
    try {
      Task main = run_program();
      main.start(nullptr);
      while (!main.done() && deliver_one()) {
      }
      if (main.done()) {
        finish(main.flow(), out);
      } else {
        out["outcome"] = "suspended";
        out["waiting"] = waiting();
      }
    } catch (const Recurred& recurred) {
      waiters_.clear();
      out.clear();
      out["outcome"] = "recurred";
      try {
        write_end("WorkflowRecurred", {{"input", recurred.input}});
      } catch (const Violation& violation) {
        report(violation, out);
      }
    } catch (const Violation& violation) {
      report(violation, out);
    }
    bool violated = out.at("outcome") == "violation";
    json::array fresh;
    if (!violated) {
      for (const Entry& entry : log_) {
        if (entry.fresh) {
          fresh.push_back(entry.body);
        }
      }
    }
    out["new"] = std::move(fresh);
    json::object values;
    for (const auto& [name, variable] : variables_) {
      values[name] = variable.value;
    }
    out["values"] = std::move(values);
    if (!out.contains("waiting")) {
      out["waiting"] = json::array();
    }
    out["orphaned"] = orphaned();
    json::array forgotten;
    if (!violated) {
      for (const Entry& entry : log_) {
        if (entry.moved) {
          forgotten.push_back(entry.seq());
        }
      }
    }
    out["forgotten"] = std::move(forgotten);
    return out;
  }

 private:
  // --- the log ---

  void load(const json::object& given) {
    Entry entry;
    entry.body = given;
    std::string event = entry.event();
    std::string kind = kind_of(event);
    if (!entry.body.contains("seq")) {
      entry.body["seq"] = log_.empty() ? 1 : log_.back().seq() + 1;
    }
    if (!entry.body.contains("time")) {
      entry.body["time"] = started_at_ + entry.seq();
    }
    if (!entry.body.contains("version")) {
      entry.body["version"] = 1;
    }
    bool operation_arrival = false;
    if ((event == "OperationCompleted" || event == "OperationFailed") &&
        entry.body.contains("operationId")) {
      for (const Entry& other : log_) {
        operation_arrival =
            operation_arrival || (other.event() == "OperationStarted" &&
                                  other.body.at("operationId") == entry.body.at("operationId"));
      }
    }
    if (!kind.empty() && !operation_arrival) {
      if (entry.body.contains("location")) {
        entry.location = parse_location(text_of(entry.body, "location"));
      } else {
        entry.location = child_of({}, {next_whole({})});
      }
      entry.body["location"] = print_location(*entry.location);
      std::string id = id_field(kind);
      if (!id.empty() && !entry.body.contains(id)) {
        entry.body[id] = made_id(*entry.location);
      }
    } else {
      entry.target = target_of(entry, operation_arrival);
    }
    log_.push_back(std::move(entry));
  }

  // The command that an arrival completes: the oldest one of that id that nothing in the log has
  // completed yet.
  std::optional<std::size_t> target_of(const Entry& arrival, bool operation_arrival) const {
    std::string event = arrival.event();
    std::string command;
    std::string field;
    if (operation_arrival) {
      command = "OperationStarted";
      field = "operationId";
    } else if (event == "TaskCompleted" || event == "TaskFailed" || event == "TaskCancelled") {
      command = "TaskScheduled";
      field = "taskExecutionId";
    } else if (event == "TimerFired" || event == "TimerCancelled") {
      command = "TimerStarted";
      field = "timerId";
    } else if (event == "PromiseResolved" || event == "PromiseRejected" ||
               event == "PromiseTimedOut") {
      command = "PromiseCreated";
      field = "promiseId";
    } else if (event == "ChildWorkflowCompleted" || event == "ChildWorkflowFailed" ||
               event == "ChildWorkflowCancelled") {
      command = "ChildWorkflowInitiated";
      field = arrival.body.contains("childExecutionId") ? "childExecutionId" : "childExecutionName";
    } else if (event == "SignalTimedOut") {
      command = "SignalAwaited";
      field = "location";
    } else {
      return std::nullopt;
    }
    for (std::size_t i = 0; i < log_.size(); ++i) {
      if (log_[i].event() != command) {
        continue;
      }
      bool same = field == "location"
                      ? *log_[i].location == parse_location(text_of(arrival.body, field))
                      : text_of(log_[i].body, field) == text_of(arrival.body, field);
      if (same && !arrival_of(i)) {
        return i;
      }
    }
    return std::nullopt;
  }

  std::optional<std::size_t> arrival_of(std::size_t command) const {
    for (std::size_t i = 0; i < log_.size(); ++i) {
      if (log_[i].target == command) {
        return i;
      }
    }
    return std::nullopt;
  }

  // Leaves out what the newest checkpoint of each loop stands for.
  void ignore_covered() {
    for (std::size_t c = 0; c < log_.size(); ++c) {
      if (log_[c].event() != "LoopCheckpointed") {
        continue;
      }
      Location loop = parse_location(text_of(log_[c].body, "loop"));
      for (std::size_t i = 0; i < log_.size(); ++i) {
        if (i != c && covered(i, c, loop)) {
          log_[i].ignored = true;
        }
      }
    }
  }

  // Does the checkpoint at index `c`, of `loop`, stand for the entry at index `i`? Not all of what
  // it stands for leaves the log: see stays().
  bool covered(std::size_t i, std::size_t c, const Location& loop) const {
    std::uint64_t last = static_cast<std::uint64_t>(as_int(log_[c].body.at("iteration")));
    const Entry& entry = log_[i];
    if (entry.is_command()) {
      return in_iterations(*entry.location, loop, last);
    }
    if (entry.target) {
      return in_iterations(*log_[*entry.target].location, loop, last);
    }
    if (entry.taker) {
      return in_iterations(*entry.taker, loop, last);
    }
    if (entry.event() == "LoopCheckpointed") {
      Location other = parse_location(text_of(entry.body, "loop"));
      return (other == loop && i < c) || in_iterations(other, loop, last);
    }
    return false;
  }

  // Does the entry at index `i`, which a checkpoint of `loop` stands for, stay in the log
  // nevertheless?
  bool stays(std::size_t i, const Location& loop) const {
    const Entry& entry = log_[i];
    if (entry.event() == "CompensationRegistered") {
      return entry.stands;
    }
    if (entry.event() == "SignalReceived") {
      return entry.seq() < log_[started(loop)].seq();
    }
    return entry.is_cancel_request() && entry.stands && !cancels_below(i, loop);
  }

  // Is the cancel request at index `i` for something below `loop`?
  bool cancels_below(std::size_t i, const Location& loop) const {
    if (log_[i].cancels) {
      return below(*log_[*log_[i].cancels].location, loop);
    }
    for (std::size_t command = 0; command < i; ++command) {
      if (may_cancel(i, command) && below(*log_[command].location, loop)) {
        return true;
      }
    }
    return false;
  }

  // Does the cancel request at index `i` name the command at index `command`?
  bool may_cancel(std::size_t i, std::size_t command) const {
    bool task = log_[i].event() == "TaskCancelRequested";
    std::string field = task ? "taskExecutionId" : "timerId";
    return log_[command].event() == (task ? "TaskScheduled" : "TimerStarted") &&
           text_of(log_[command].body, field) == text_of(log_[i].body, field);
  }

  // The LoopStarted of `loop`.
  std::size_t started(const Location& loop) const {
    for (std::size_t i = 0; i < log_.size(); ++i) {
      if (log_[i].event() == "LoopStarted" && log_[i].location == loop) {
        return i;
      }
    }
    throw std::logic_error("a checkpoint without its loop");
  }

  // Appends to the log; gives seq and time.
  std::size_t append(std::string_view event, json::object fields) {
    Entry entry;
    std::int64_t seq = log_.empty() ? 1 : log_.back().seq() + 1;
    std::int64_t time = started_at_ + seq;
    if (!log_.empty()) {
      time = std::max(time, log_.back().time());
    }
    entry.body["seq"] = seq;
    entry.body["event"] = event;
    entry.body["time"] = time;
    for (const auto& field : fields) {
      entry.body[field.key()] = field.value();
    }
    entry.fresh = true;
    log_.push_back(std::move(entry));
    return log_.size() - 1;
  }

  std::string made_id(const Location& location) const {
    return uuid5(run_id_, print_location(location));
  }

  // Indices of the commands directly below `branch`, in order of location.
  std::vector<std::size_t> commands_in(const Location& branch) const {
    std::vector<std::size_t> found;
    for (std::size_t i = 0; i < log_.size(); ++i) {
      if (log_[i].is_command() && !log_[i].ignored &&
          log_[i].location->size() == branch.size() + 1 && starts_with(*log_[i].location, branch)) {
        found.push_back(i);
      }
    }
    std::sort(found.begin(), found.end(), [this](std::size_t a, std::size_t b) {
      return *log_[a].location < *log_[b].location;
    });
    return found;
  }

  std::uint64_t next_whole(const Location& branch) const {
    std::vector<std::size_t> commands = commands_in(branch);
    return commands.empty() ? 1 : log_[commands.back()].location->back().front() + 1;
  }

  // --- matching ---

  bool strict() const { return matching_ == "strict"; }

  [[noreturn]] void violate(std::size_t index, const std::string& message) const {
    throw Violation{message, print_location(*log_[index].location)};
  }

  // The next recorded command of the branch for `strict`.
  std::optional<std::size_t> next_recorded(const Branch& branch) const {
    for (std::size_t i : commands_in(branch.location)) {
      if (!log_[i].matched && !log_[i].keyed()) {
        return i;
      }
    }
    return std::nullopt;
  }

  bool name_agrees(const Entry& entry, const Request& request) const {
    return !request.name || entry.name() == *request.name;
  }

  void validate(std::size_t index, const Request& request) const {
    const Entry& entry = log_[index];
    if (entry.kind() != request.kind) {
      violate(index, "kind: expected " + request.kind + ", got " + entry.kind());
    }
    if (request.kind == "State" && entry.event() != request.event) {
      violate(index, "state: expected " + request.event + ", got " + entry.event());
    }
    if (!name_agrees(entry, request)) {
      violate(index, "name: expected '" + *request.name + "', got '" + entry.name() + "'");
    }
    if (request.kind == "ChildWorkflow" &&
        text_of(entry.body, "childWorkflowKind") != request.child_kind) {
      violate(index, "child kind: expected '" + request.child_kind + "'");
    }
  }

  // Is this very command, which has no key, the one that history holds next?
  bool is_next(Branch& branch, const Request& request) {
    std::optional<std::size_t> found = strict()                  ? next_recorded(branch)
                                       : matching_ == "per_kind" ? nth_of_kind(branch, request)
                                                                 : nth_of_name(branch, request);
    return found && log_[*found].kind() == request.kind && name_agrees(log_[*found], request) &&
           (!strict() || log_[*found].version() == request.version);
  }

  // Finds the recorded command for the request or appends a new one. Gives its index in the log.
  std::size_t issue(Branch& branch, const Request& request) {
    std::optional<std::size_t> found;
    if (request.key) {
      found = recorded_with_key(branch, *request.key);
      if (!found) {
        return create(branch, {next_whole(branch.location)}, request);
      }
      validate(*found, request);
      log_[*found].matched = true;
      log_[*found].stands = true;
      return *found;
    }
    if (strict()) {
      std::optional<std::int64_t> checked = std::exchange(branch.checked, std::nullopt);
      found = next_recorded(branch);
      if (!found) {
        return create(branch, {next_whole(branch.location)}, request);
      }
      if (request.version > log_[*found].version()) {
        Request inserted = request;
        if (checked) {
          inserted.fields["checked"] = *checked;
        }
        return create(branch, insertion_point(branch), inserted);
      }
      if (request.version < log_[*found].version()) {
        violate(*found, "the code is older than what history holds");
      }
    } else {
      found = matching_ == "per_kind" ? nth_of_kind(branch, request) : nth_of_name(branch, request);
      if (!found) {
        return create(branch, {next_whole(branch.location)}, request);
      }
    }
    validate(*found, request);
    log_[*found].matched = true;
    log_[*found].stands = true;
    branch.cursor = log_[*found].location->back();
    return *found;
  }

  // The recorded command with that key, which the code uses now.
  std::optional<std::size_t> recorded_with_key(Branch& branch, const std::string& key) {
    if (!branch.keys.insert(key).second) {
      throw Misuse{"step key '" + key + "' is used twice in its branch"};
    }
    for (std::size_t i : commands_in(branch.location)) {
      if (log_[i].keyed() && log_[i].step_key() == key) {
        return i;
      }
    }
    return std::nullopt;
  }

  // Between the branch's cursor and the nearest command behind it. That one is taken whether it has
  // a key or not: so the place cannot be one that exists.
  Coordinate insertion_point(const Branch& branch) const {
    for (std::size_t i : commands_in(branch.location)) {
      if (log_[i].location->back() > branch.cursor) {
        return between(branch.cursor, log_[i].location->back());
      }
    }
    throw std::logic_error("insertion without a next command");
  }

  std::optional<std::size_t> nth_of_kind(const Branch& branch, const Request& request) const {
    for (std::size_t i : commands_in(branch.location)) {
      if (!log_[i].matched && !log_[i].keyed() && log_[i].kind() == request.kind) {
        return i;
      }
    }
    return std::nullopt;
  }

  std::optional<std::size_t> nth_of_name(const Branch& branch, const Request& request) const {
    if (request.kind == "Timer" && !request.name) {
      for (std::size_t i : commands_in(branch.location)) {
        if (!log_[i].matched && !log_[i].keyed() && log_[i].kind() == "Timer" &&
            log_[i].name() == made_id(*log_[i].location)) {
          return i;
        }
      }
    }
    for (std::size_t i : commands_in(branch.location)) {
      if (!log_[i].matched && !log_[i].keyed() && log_[i].kind() == request.kind &&
          name_agrees(log_[i], request)) {
        return i;
      }
    }
    return std::nullopt;
  }

  std::size_t create(Branch& branch, const Coordinate& coordinate, const Request& request) {
    Location location = child_of(branch.location, coordinate);
    for (const Entry& entry : log_) {
      if (is_end(entry.event())) {
        throw Violation{"the run has ended in history", print_location(location)};
      }
    }
    json::object fields;
    fields["location"] = print_location(location);
    fields["version"] = request.version;
    if (request.key) {
      fields["stepKey"] = *request.key;
    }
    std::string name = name_field(request.kind);
    if (request.name && !name.empty()) {
      fields[name] = *request.name;
    }
    std::string id = id_field(request.kind);
    if (!id.empty() && !fields.contains(id)) {
      fields[id] = made_id(location);
    }
    for (const auto& field : request.fields) {
      fields[field.key()] = field.value();
    }
    std::size_t index = append(request.event, std::move(fields));
    log_[index].location = location;
    log_[index].matched = true;
    log_[index].stands = true;
    if (!request.key) {
      branch.cursor = coordinate;
    }
    return index;
  }

  // Code has come to the end of the branch: strict allows nothing recorded in it that was not
  // issued.
  void check_leftovers(const Branch& branch) const {
    if (!strict()) {
      return;
    }
    for (std::size_t i : commands_in(branch.location)) {
      if (!log_[i].matched) {
        violate(i, "left over: " + log_[i].kind() + " '" + log_[i].name() + "'");
      }
    }
  }

  // The loop has ended with iteration `last`: strict allows no commands of later ones.
  void check_loop_leftovers(const Location& loop, std::uint64_t last) const {
    if (!strict()) {
      return;
    }
    std::optional<std::size_t> first;
    for (std::size_t i = 0; i < log_.size(); ++i) {
      if (log_[i].is_command() && !log_[i].ignored && below(*log_[i].location, loop) &&
          !in_iterations(*log_[i].location, loop, last) &&
          (!first || *log_[i].location < *log_[*first].location)) {
        first = i;
      }
    }
    if (first) {
      violate(*first, "left over in an iteration that the loop does not come to");
    }
  }

  // --- delivery ---

  // Delivers the deliverable entry with the smallest seq. False if there is none.
  bool deliver_one() {
    for (std::size_t i = 0; i < log_.size(); ++i) {
      Entry& entry = log_[i];
      if (entry.delivered || entry.ignored || entry.moved) {
        continue;
      }
      std::string event = entry.event();
      Waiter* gate = gate_of(i);
      if (event == "SignalReceived") {
        start_delivery(i);
        deliver_signal(i);
      } else if (event == "CancellationRequested") {
        start_delivery(i);
        deliver_cancel(entry.body);
      } else if (gate != nullptr) {
        start_delivery(i);
        gate->checkpoint_delivered = true;
      } else if (entry.target) {
        std::shared_ptr<Future> future = log_[*entry.target].future;
        if (future == nullptr) {
          continue;
        }
        if (future->complete || future->closed) {
          entry.delivered = true;  // the first one counts; this one changes nothing, not even now()
          continue;
        }
        start_delivery(i);
        complete(*future, entry.body);
      } else if (entry.is_command() && entry.future != nullptr &&
                 (event == "OperationCompleted" || event == "OperationFailed")) {
        start_delivery(i);
        complete(*entry.future, entry.body);
      } else {
        continue;
      }
      wake();
      return true;
    }
    return false;
  }

  void start_delivery(std::size_t index) {
    log_[index].delivered = true;
    now_ = log_[index].time();
  }

  Waiter* gate_of(std::size_t checkpoint) {
    for (Waiter* waiter : waiters_) {
      if (waiter->checkpoint == checkpoint) {
        return waiter;
      }
    }
    return nullptr;
  }

  // Lets everything go on that can, in the order in which it began to wait. Nothing that one of
  // them does can satisfy another one, so the list can be made beforehand.
  void wake() {
    std::vector<Waiter*> woken;
    for (Waiter* waiter : waiters_) {
      if (waiter->interrupted || waiter->satisfied()) {
        woken.push_back(waiter);
      }
    }
    for (Waiter* waiter : woken) {
      waiters_.erase(std::find(waiters_.begin(), waiters_.end(), waiter));
      waiter->handle.resume();
    }
  }

  void succeed(Future& future, json::value value) {
    future.complete = true;
    future.value = std::move(value);
    future.order = ++completions_;
  }

  void fail(Future& future, std::string text) {
    future.complete = true;
    future.failed = true;
    future.failure = Failure{std::move(text), false, nullptr};
    future.order = ++completions_;
  }

  void complete(Future& future, const json::object& arrival) {
    std::string event = text_of(arrival, "event");
    if (event == "TaskCompleted" || event == "OperationCompleted") {
      succeed(future, value_of(arrival, "result"));
    } else if (event == "TimerFired") {
      succeed(future, nullptr);
    } else if (event == "PromiseResolved") {
      succeed(future, value_of(arrival, "value"));
    } else if (event == "ChildWorkflowCompleted") {
      succeed(future, value_of(arrival, "output"));
    } else if (event == "TaskFailed" || event == "OperationFailed" || event == "PromiseRejected" ||
               event == "ChildWorkflowFailed") {
      fail(future, error_text(value_of(arrival, "error")));
    } else if (event == "TaskCancelled") {
      fail(future, "task '" + future.name + "' was cancelled");
    } else if (event == "TimerCancelled") {
      fail(future, "timer '" + future.name + "' was cancelled");
    } else if (event == "ChildWorkflowCancelled") {
      fail(future, "child '" + future.name + "' was cancelled");
    } else if (event == "PromiseTimedOut") {
      fail(future, "promise '" + future.name + "' timed out");
    } else if (event == "SignalTimedOut") {
      fail(future, "signal '" + future.name + "' timed out");
    } else {
      throw std::logic_error("unknown arrival");
    }
  }

  void deliver_signal(std::size_t index) {
    if (log_[index].taker) {
      return;  // an iteration that is not run again took it
    }
    std::string name = text_of(log_[index].body, "signalName");
    for (const auto& wait : signal_waits_) {
      if (wait->name == name && !wait->complete && !wait->closed && !wait->asleep) {
        take_signal(index, *wait);
        return;
      }
    }
    mailbox_.push_back(index);
  }

  void take_signal(std::size_t index, Future& wait) {
    log_[index].taker = log_[wait.command].location;
    succeed(wait, value_of(log_[index].body, "data"));
  }

  void deliver_cancel(const json::object& request) {
    if (cancelled_) {
      return;
    }
    cancelled_ = true;
    json::value reason = value_of(request, "reason");
    std::string text = text_of(request, "reason");
    Failure failure{text.empty() ? "cancelled" : "cancelled: " + text, true, reason};
    for (Waiter* waiter : waiters_) {
      if (!waiter->shielded && !waiter->checkpoint) {
        waiter->interrupted = failure;
      }
    }
  }

  // Suspends its coroutine until `waiter` is satisfied or interrupted.
  struct Block {
    Evaluator* evaluator;
    Waiter* waiter;
    bool await_ready() const { return waiter->satisfied(); }
    void await_suspend(std::coroutine_handle<> handle) const {
      waiter->handle = handle;
      evaluator->waiters_.push_back(waiter);
    }
    void await_resume() const {}
  };

  // --- variables and values ---

  Variable& variable(const std::string& name) {
    auto found = variables_.find(name);
    if (found == variables_.end()) {
      throw std::invalid_argument("variable '" + name + "' was never set");
    }
    return found->second;
  }

  json::value evaluate_value(const json::value& value) {
    if (value.is_object()) {
      const json::object& object = value.as_object();
      if (object.size() == 1 && object.contains("$")) {
        return variable(text_of(object, "$")).value;
      }
      json::object made;
      for (const auto& field : object) {
        made[field.key()] = evaluate_value(field.value());
      }
      return made;
    }
    if (value.is_array()) {
      json::array made;
      for (const json::value& element : value.as_array()) {
        made.push_back(evaluate_value(element));
      }
      return made;
    }
    return value;
  }

  void assign(const json::object& step, json::value value) {
    if (step.contains("as")) {
      variables_[text_of(step, "as")] = Variable{std::move(value), nullptr};
    }
  }

  // --- state ---

  struct Write {
    std::string key;
    std::optional<json::value> value;  // none: cleared
    Location writer;                   // the branch
  };

  json::value state(const std::string& key) const {
    json::value value;
    for (const Write& write : writes_) {
      if (write.key == key) {
        value = write.value ? *write.value : json::value();
      }
    }
    return value;
  }

  // --- loops ---

  // Gives the index of the new entry.
  std::size_t write_checkpoint(const Location& loop, std::uint64_t finished, bool done,
                               const std::optional<json::value>& result) {
    json::object set;
    json::array cleared;
    std::set<std::string> keys;
    for (const Write& write : writes_) {
      keys.insert(write.key);
    }
    for (const std::string& key : keys) {
      const Write* last = nullptr;
      bool is_last_inside = false;
      bool hid_outer_value = false;  // a value from outside was replaced or cleared inside
      for (const Write& write : writes_) {
        if (write.key == key) {
          bool inside = in_iterations(write.writer, loop, finished);
          if (inside && last != nullptr && !is_last_inside && last->value) {
            hid_outer_value = true;
          }
          last = &write;
          is_last_inside = inside;
        }
      }
      if (!is_last_inside) {
        continue;
      }
      if (last->value) {
        set[key] = *last->value;
      } else if (hid_outer_value) {
        cleared.push_back(json::value(key));
      }
    }
    json::object fields;
    fields["loop"] = print_location(loop);
    fields["iteration"] = finished;
    fields["state"] = finished;
    fields["set"] = std::move(set);
    fields["cleared"] = std::move(cleared);
    json::array taken = taken_from_before(loop, finished);
    if (!taken.empty()) {
      fields["taken"] = std::move(taken);
    }
    fields["done"] = done;
    if (result) {
      fields["result"] = *result;
    }
    std::size_t index = append("LoopCheckpointed", std::move(fields));
    for (std::size_t i = 0; i < log_.size(); ++i) {
      if (i != index && covered(i, index, loop) && !stays(i, loop)) {
        log_[i].moved = true;
      }
    }
    return index;
  }

  // Seqs of the signals from before `loop` that its iterations took, those that its last checkpoint
  // listed among them.
  json::array taken_from_before(const Location& loop, std::uint64_t finished) const {
    std::set<std::int64_t> seqs;
    for (const Entry& entry : log_) {
      if (entry.event() == "SignalReceived" && entry.seq() < log_[started(loop)].seq() &&
          entry.taker && in_iterations(*entry.taker, loop, finished)) {
        seqs.insert(entry.seq());
      }
    }
    std::optional<std::size_t> last = checkpoint_of(loop);
    if (last && log_[*last].body.contains("taken")) {
      for (const json::value& seq : log_[*last].body.at("taken").as_array()) {
        seqs.insert(as_int(seq));
      }
    }
    json::array taken;
    for (std::int64_t seq : seqs) {
      taken.push_back(seq);
    }
    return taken;
  }

  // A replay opens `loop`, which starts from the checkpoint at index `c`: the signals from before
  // the loop that the forgotten iterations took are nobody else's.
  void take_for_forgotten(const Location& loop, std::size_t c) {
    const json::object& checkpoint = log_[c].body;
    if (!checkpoint.contains("taken")) {
      return;
    }
    Location taker =
        child_of(loop, {static_cast<std::uint64_t>(as_int(checkpoint.at("iteration")))});
    for (const json::value& seq : checkpoint.at("taken").as_array()) {
      for (std::size_t i = 0; i < log_.size(); ++i) {
        if (log_[i].event() == "SignalReceived" && log_[i].seq() == as_int(seq) && !log_[i].taker) {
          log_[i].taker = taker;
          std::erase(mailbox_, i);
        }
      }
    }
  }

  // The checkpoint at index `c`, from which a replay starts `loop`, is delivered: what the
  // forgotten iterations did to the rest of the run is done.
  void apply_checkpoint(const Location& loop, std::size_t c) {
    const json::object& body = log_[c].body;
    std::uint64_t finished = static_cast<std::uint64_t>(as_int(body.at("iteration")));
    Location writer = child_of(loop, {finished});
    if (body.contains("set")) {
      for (const auto& field : body.at("set").as_object()) {
        writes_.push_back({std::string(field.key()), field.value(), writer});
      }
    }
    if (body.contains("cleared")) {
      for (const json::value& key : body.at("cleared").as_array()) {
        writes_.push_back({std::string(key.as_string()), std::nullopt, writer});
      }
    }
    for (Entry& entry : log_) {
      if (entry.location && in_iterations(*entry.location, loop, finished)) {
        entry.stands = true;
      }
    }
    for (std::size_t i = 0; i < c; ++i) {
      if (log_[i].is_cancel_request() && in_iterations(*log_[i].location, loop, finished)) {
        ask_again(i, loop);
      }
    }
  }

  // Nobody issues the cancel request at index `i` of a forgotten iteration of `loop`; it was made
  // all the same, for the oldest command of that id outside the loop that was open then and that
  // no other request was for.
  void ask_again(std::size_t i, const Location& loop) {
    for (std::size_t command = 0; !log_[i].cancels && command < i; ++command) {
      std::optional<std::size_t> arrival = arrival_of(command);
      if (may_cancel(i, command) && !below(*log_[command].location, loop) &&
          !log_[command].cancel_asked && (!arrival || *arrival > i)) {
        log_[i].cancels = command;
        log_[command].cancel_asked = true;
      }
    }
  }

  std::optional<std::size_t> checkpoint_of(const Location& loop) const {
    std::optional<std::size_t> found;
    for (std::size_t i = 0; i < log_.size(); ++i) {
      if (log_[i].event() == "LoopCheckpointed" && !log_[i].ignored &&
          parse_location(text_of(log_[i].body, "loop")) == loop) {
        found = i;
      }
    }
    return found;
  }

  // --- branches ---

  Branch* new_branch(Location location, std::int64_t version, Branch* parent) {
    branches_.push_back({});
    Branch& branch = branches_.back();
    branch.location = std::move(location);
    branch.version = version;
    branch.parent = parent;
    return &branch;
  }

  void end_branch(const Branch& branch) {
    check_leftovers(branch);
    for (const auto& wait : signal_waits_) {
      if (wait->branch == &branch) {
        wait->asleep = true;
        for (const Waiter* waiter : waiters_) {
          const auto& futures = waiter->futures;
          if (std::find(futures.begin(), futures.end(), wait) != futures.end()) {
            wait->asleep = false;
          }
        }
      }
      if (is_iteration(branch) && is_prefix(branch.location, wait->branch->location)) {
        wait->closed = true;
      }
    }
  }

  static bool is_prefix(const Location& prefix, const Location& location) {
    return prefix.size() <= location.size() &&
           std::equal(prefix.begin(), prefix.end(), location.begin());
  }

  bool is_iteration(const Branch& branch) const {
    if (branch.location.empty()) {
      return false;
    }
    Location above(branch.location.begin(), branch.location.end() - 1);
    for (const Entry& entry : log_) {
      if (entry.location && *entry.location == above && entry.event() == "LoopStarted") {
        return true;
      }
    }
    return false;
  }

  // Somebody awaits a wait whose branch has ended.
  void wake(const std::shared_ptr<Future>& wait) {
    wait->asleep = false;
    if (std::optional<std::size_t> waiting = take_from_mailbox(wait->name)) {
      take_signal(*waiting, *wait);
    }
  }

  // --- the program ---

  Task run_program() {
    Flow flow = co_await run_list(program_, Context{root_, false});
    end_branch(*root_);
    co_return flow;
  }

  Task run_list(const json::array& steps, Context context) {
    for (const json::value& step : steps) {
      Flow flow = co_await run_step(step.as_object(), context, context.branch->version);
      if (flow.kind != Flow::Kind::kNext) {
        co_return flow;
      }
    }
    co_return Flow::next();
  }

  // A list that has a branch of its own. Ends with next, whose value is that of the return, or with
  // throw.
  Task run_branch(const json::array& steps, Context context) {
    Flow flow = co_await run_list(steps, context);
    end_branch(*context.branch);
    if (flow.kind == Flow::Kind::kReturn) {
      flow.kind = Flow::Kind::kNext;
    }
    co_return flow;
  }

  Task run_step(const json::object& step, Context context, std::int64_t version) {
    std::string verb(step.begin()->key());
    if (verb == "await" || verb == "await_all" || verb == "await_any") {
      co_return co_await run_await(step, verb, context);
    }
    if (verb == "branch") {
      std::size_t index = open_branch(*context.branch, version);
      Branch* branch = new_branch(*log_[index].location, log_[index].version(), context.branch);
      Flow flow = co_await run_branch(step.at(verb).as_array(), Context{branch, context.shielded});
      if (flow.kind == Flow::Kind::kNext) {
        assign(step, flow.value);
        flow.value = nullptr;
      }
      co_return flow;
    }
    if (verb == "join") {
      co_return co_await run_join(step, context, version);
    }
    if (verb == "loop") {
      co_return co_await run_loop(step, context, version);
    }
    if (verb == "v") {
      co_return co_await run_step(step.at("do").as_object(), context, as_int(step.at("v")));
    }
    if (verb == "if") {
      const char* way = variable(text_of(step, "if")).value == evaluate_value(step.at("equals"))
                            ? "then"
                            : "else";
      if (step.contains(way)) {
        co_return co_await run_list(step.at(way).as_array(), context);
      }
      co_return Flow::next();
    }
    if (verb == "try") {
      Flow flow = co_await run_list(step.at("try").as_array(), context);
      if (flow.kind != Flow::Kind::kThrow) {
        co_return flow;
      }
      variables_["error"] = Variable{json::value(flow.failure.text), nullptr};
      co_return co_await run_list(step.at("catch").as_array(), context);
    }
    if (verb == "shield") {
      co_return co_await run_list(step.at("shield").as_array(), Context{context.branch, true});
    }
    co_return run_simple(step, verb, *context.branch, version);
  }

  Task run_await(const json::object& step, std::string verb, Context context) {
    std::vector<std::string> names;
    if (verb == "await") {
      names.push_back(text_of(step, "await"));
    } else {
      for (const json::value& name : step.at(verb).as_array()) {
        names.emplace_back(name.as_string());
      }
    }
    Waiter waiter;
    waiter.all = verb != "await_any";
    waiter.shielded = context.shielded;
    for (const std::string& name : names) {
      if (variable(name).future == nullptr) {
        throw std::invalid_argument("variable '" + name + "' is no future");
      }
      waiter.futures.push_back(variable(name).future);
      if (waiter.futures.back()->asleep && !waiter.futures.back()->complete &&
          !waiter.futures.back()->closed) {
        wake(waiter.futures.back());
      }
    }
    co_await Block{this, &waiter};
    if (waiter.interrupted) {
      co_return Flow::fail(*waiter.interrupted);
    }
    // The first one to be delivered among those that decide: for any the complete ones, for all the
    // failed ones.
    std::optional<std::size_t> first;
    for (std::size_t i = 0; i < names.size(); ++i) {
      const Future& future = *waiter.futures[i];
      bool decides = waiter.all ? future.complete && future.failed : future.complete;
      if (decides && (!first || future.order < waiter.futures[*first]->order)) {
        first = i;
      }
    }
    for (std::size_t i = 0; i < names.size(); ++i) {
      const Future& future = *waiter.futures[i];
      const bool holds_it = variables_[names[i]].future == waiter.futures[i];
      if ((waiter.all || i == first) && future.complete && !future.failed && holds_it) {
        variables_[names[i]] = Variable{future.value, waiter.futures[i]};
      }
    }
    if (!waiter.all && first) {
      assign(step, json::value(names[*first]));
    }
    if (first && waiter.futures[*first]->failed) {
      co_return Flow::fail(waiter.futures[*first]->failure);
    }
    co_return Flow::next();
  }

  std::size_t open_branch(Branch& branch, std::int64_t version) {
    Request request;
    request.kind = "Branch";
    request.event = "BranchOpened";
    request.version = version;
    return issue(branch, request);
  }

  Task run_join(const json::object& step, Context context, std::int64_t version) {
    const json::array& lists = step.at("join").as_array();
    std::vector<Branch*> branches;
    for (std::size_t i = 0; i < lists.size(); ++i) {
      std::size_t index = open_branch(*context.branch, version);
      branches.push_back(new_branch(*log_[index].location, log_[index].version(), context.branch));
    }
    JoinPoint join;
    join.running = lists.size();
    std::vector<Task> arms;
    for (std::size_t i = 0; i < lists.size(); ++i) {
      arms.push_back(run_branch(lists[i].as_array(), Context{branches[i], context.shielded}));
    }
    for (Task& arm : arms) {
      arm.start(&join);
    }
    co_await JoinWait{&join};
    json::array values;
    for (const Task& arm : arms) {
      if (arm.flow().kind == Flow::Kind::kThrow) {
        co_return arm.flow();
      }
      values.push_back(arm.flow().value);
    }
    assign(step, std::move(values));
    co_return Flow::next();
  }

  Task run_loop(const json::object& step, Context context, std::int64_t version) {
    Request request;
    request.kind = "Loop";
    request.event = "LoopStarted";
    request.version = version;
    request.fields["state"] = 0;
    std::size_t opened = issue(*context.branch, request);
    Location loop = *log_[opened].location;
    std::uint64_t times = static_cast<std::uint64_t>(as_int(evaluate_value(step.at("times"))));
    std::uint64_t every = 20;
    if (step.contains("checkpointEvery")) {
      every = static_cast<std::uint64_t>(as_int(step.at("checkpointEvery")));
    }
    std::uint64_t finished = 0;
    std::optional<std::uint64_t> written;  // the iteration that the newest checkpoint stands at
    std::optional<std::size_t> checkpoint = checkpoint_of(loop);
    if (checkpoint) {
      take_for_forgotten(loop, *checkpoint);
      Waiter gate;
      gate.checkpoint = checkpoint;
      co_await Block{this, &gate};
      apply_checkpoint(loop, *checkpoint);
      const json::object& body = log_[*checkpoint].body;
      finished = static_cast<std::uint64_t>(as_int(body.at("iteration")));
      written = finished;
      const json::value* done = body.if_contains("done");
      if (done != nullptr && done->is_bool() && done->as_bool()) {
        check_loop_leftovers(loop, finished);
        assign(step, body.contains("result") ? body.at("result") : json::value(finished));
        co_return Flow::next();
      }
    }
    std::optional<Variable> outer_i;
    for (const Branch* branch = context.branch; branch != nullptr; branch = branch->parent) {
      if (branch->loop && variables_.contains("i")) {
        outer_i = variables_["i"];
      }
    }
    std::optional<json::value> result;
    while (!result && finished < times) {
      std::uint64_t iteration = finished + 1;
      variables_["i"] = Variable{json::value(iteration), nullptr};
      Branch* branch =
          new_branch(child_of(loop, {iteration}), log_[opened].version(), context.branch);
      branch->loop = loop;
      Flow flow = co_await run_list(step.at("loop").as_array(), Context{branch, context.shielded});
      end_branch(*branch);
      if (flow.kind == Flow::Kind::kThrow) {
        check_loop_leftovers(loop, iteration);
        co_return flow;
      }
      finished = iteration;
      if (flow.kind == Flow::Kind::kReturn) {
        result = flow.value;
      } else if (finished < times && finished % every == 0) {
        Waiter gate;
        gate.checkpoint = write_checkpoint(loop, finished, false, std::nullopt);
        co_await Block{this, &gate};
        written = finished;
      }
    }
    check_loop_leftovers(loop, finished);
    if (written != finished) {
      Waiter gate;
      gate.checkpoint = write_checkpoint(loop, finished, true, result);
      co_await Block{this, &gate};
    }
    if (outer_i) {
      variables_["i"] = *outer_i;
    }
    assign(step, result ? *result : json::value(finished));
    co_return Flow::next();
  }

  // The steps that never block.
  Flow run_simple(const json::object& step, const std::string& verb, Branch& branch,
                  std::int64_t version) {
    try {
      if (verb == "return") {
        return Flow::give(evaluate_value(step.at("return")));
      }
      if (verb == "throw") {
        return Flow::fail({error_text(evaluate_value(step.at("throw"))), false, nullptr});
      }
      if (verb == "recur") {
        recur(evaluate_value(step.at("recur")), branch);
      }
      if (read_step(step, verb, branch) || command_step(step, verb, branch, version) ||
          version_step(step, verb, branch, version)) {
        return Flow::next();
      }
    } catch (const Misuse& misuse) {
      return Flow::fail({misuse.text, false, nullptr});
    }
    throw std::invalid_argument("unknown verb '" + verb + "'");
  }

  // Ends the run out of whatever the code stands in, innermost first.
  [[noreturn]] void recur(json::value input, const Branch& from) {
    for (const Branch* branch = &from; branch != nullptr; branch = branch->parent) {
      check_leftovers(*branch);
      if (branch->loop) {
        check_loop_leftovers(*branch->loop, branch->location.back().front());
      }
    }
    throw Recurred{std::move(input)};
  }

  // Steps that only look at what the run has seen, or take waiting signals.
  bool read_step(const json::object& step, const std::string& verb, Branch& branch) {
    if (verb == "get") {
      assign(step, state(text_of(step, "get")));
    } else if (verb == "has_signal") {
      bool found = false;
      for (std::size_t i : mailbox_) {
        found = found || text_of(log_[i].body, "signalName") == text_of(step, "has_signal");
      }
      assign(step, found);
    } else if (verb == "drain") {
      json::array taken;
      while (std::optional<std::size_t> index = take_from_mailbox(text_of(step, "drain"))) {
        log_[*index].taker = branch.location;
        taken.push_back(value_of(log_[*index].body, "data"));
      }
      assign(step, std::move(taken));
    } else if (verb == "now") {
      assign(step, now_);
    } else if (verb == "uuid") {
      std::string name = print_location(branch.location) + ":" + std::to_string(branch.uuids++);
      assign(step, json::value(uuid5(run_id_, name)));
    } else if (verb == "random") {
      assign(step, 0.5);
    } else if (verb == "cancelled") {
      assign(step, cancelled_);
    } else {
      return false;
    }
    return true;
  }

  std::optional<std::size_t> take_from_mailbox(const std::string& name) {
    for (auto i = mailbox_.begin(); i != mailbox_.end(); ++i) {
      if (text_of(log_[*i].body, "signalName") == name) {
        std::size_t index = *i;
        mailbox_.erase(i);
        return index;
      }
    }
    return std::nullopt;
  }

  // Copies an optional part of a step into the entry that it may become.
  void copy_field(const json::object& step, std::string_view from, json::object& fields,
                  std::string_view to) {
    if (step.contains(from)) {
      fields[to] = evaluate_value(step.at(from));
    }
  }

  bool command_step(const json::object& step, const std::string& verb, Branch& branch,
                    std::int64_t version) {
    Request request;
    request.version = version;
    if (step.contains("stepKey")) {
      request.key = text_of(step, "stepKey");
    }
    if (verb == "task") {
      request.kind = "Task";
      request.event = "TaskScheduled";
      request.name = text_of(step, "task");
      copy_field(step, "input", request.fields, "input");
    } else if (verb == "run") {
      request.kind = "Operation";
      request.name = text_of(step, "run");
    } else if (verb == "timer") {
      request.kind = "Timer";
      request.event = "TimerStarted";
      if (step.contains("id")) {
        request.name = text_of(step, "id");
      }
      copy_field(step, "timer", request.fields, "durationMs");
    } else if (verb == "promise") {
      request.kind = "Promise";
      request.event = "PromiseCreated";
      request.name = text_of(step, "promise");
      copy_field(step, "timeout", request.fields, "timeoutMs");
    } else if (verb == "child") {
      request.kind = "ChildWorkflow";
      request.event = "ChildWorkflowInitiated";
      request.name = text_of(step, "child");
      request.child_kind = text_of(step, "kind");
      request.fields["childWorkflowKind"] = request.child_kind;
      copy_field(step, "input", request.fields, "input");
    } else if (verb == "signal") {
      request.kind = "Signal";
      request.event = "SignalAwaited";
      request.name = text_of(step, "signal");
      copy_field(step, "timeout", request.fields, "timeoutMs");
    } else if (verb == "set") {
      request.kind = "State";
      request.event = "StateSet";
      request.name = text_of(step, "set");
      copy_field(step, "value", request.fields, "value");
      std::size_t index = issue(branch, request);
      writes_.push_back({*request.name, value_of(log_[index].body, "value"), branch.location});
      return true;
    } else if (verb == "clear") {
      request.kind = "State";
      request.event = "StateCleared";
      request.name = text_of(step, "clear");
      issue(branch, request);
      writes_.push_back({*request.name, std::nullopt, branch.location});
      return true;
    } else if (verb == "compensate") {
      request.kind = "Compensation";
      request.event = "CompensationRegistered";
      request.name = text_of(step, "compensate");
      copy_field(step, "input", request.fields, "input");
      issue(branch, request);
      return true;
    } else if (verb == "cancel") {
      cancel(step, branch, version);
      return true;
    } else {
      return false;
    }

    if (verb == "run") {
      // What it would append if it must execute; a matched entry keeps its own.
      outcome_of_operation(step, request.event, request.fields);
    }
    std::size_t index = issue(branch, request);
    auto future = std::make_shared<Future>();
    future->command = index;
    future->kind = request.kind;
    future->name = log_[index].name();
    future->branch = &branch;
    log_[index].future = future;
    if (verb == "run" && log_[index].event() == "OperationStarted" && !arrival_of(index)) {
      // It was started once and nothing is known of its end: it executes again.
      std::string event;
      json::object fields;
      fields["operationName"] = future->name;
      fields["operationId"] = log_[index].body.at("operationId");
      outcome_of_operation(step, event, fields);
      std::size_t arrival = append(event, std::move(fields));
      log_[arrival].target = index;
    }
    if (verb == "signal") {
      signal_waits_.push_back(future);
      if (std::optional<std::size_t> waiting = take_from_mailbox(future->name)) {
        take_signal(*waiting, *future);
      }
    }
    if (step.contains("as")) {
      variables_[text_of(step, "as")] = Variable{nullptr, future};
    }
    return true;
  }

  void outcome_of_operation(const json::object& step, std::string& event, json::object& fields) {
    if (step.contains("throws")) {
      event = "OperationFailed";
      fields["error"] = step.at("throws");
    } else {
      event = "OperationCompleted";
      fields["result"] =
          step.contains("returns") ? evaluate_value(step.at("returns")) : json::value();
    }
  }

  void cancel(const json::object& step, Branch& branch, std::int64_t version) {
    std::string name = text_of(step, "cancel");
    std::shared_ptr<Future> future = variable(name).future;
    if (future == nullptr || (future->kind != "Task" && future->kind != "Timer")) {
      throw Misuse{"'" + name + "' is no task or timer: it cannot be cancelled"};
    }
    Request request;
    request.version = version;
    const json::object& command = log_[future->command].body;
    if (future->kind == "Task") {
      request.kind = "CancelTask";
      request.event = "TaskCancelRequested";
      request.name = text_of(command, "taskExecutionId");
    } else {
      request.kind = "CancelTimer";
      request.event = "TimerCancelRequested";
      request.name = text_of(command, "timerId");
    }
    if ((future->complete || log_[future->command].cancel_asked) && !is_next(branch, request)) {
      return;
    }
    log_[future->command].cancel_asked = true;
    log_[issue(branch, request)].cancels = future->command;
  }

  // The steps that change code under running workflows.
  bool version_step(const json::object& step, const std::string& verb, Branch& branch,
                    std::int64_t version) {
    if (verb != "removed" && verb != "check_version") {
      return false;
    }
    if (!strict()) {
      throw Misuse{verb + " needs strict matching"};
    }
    Request request;
    if (verb == "check_version") {
      std::optional<std::size_t> next = next_recorded(branch);
      request.kind = "VersionCheck";
      request.event = "VersionChecked";
      request.version = as_int(step.at("check_version"));
      if (!next) {
        create(branch, {next_whole(branch.location)}, request);
        assign(step, request.version);
      } else {
        if (log_[*next].event() == "VersionChecked") {
          log_[*next].matched = true;
          branch.cursor = log_[*next].location->back();
          assign(step, log_[*next].version());
          branch.checked.reset();
          return true;
        }
        branch.checked = log_[*next].body.contains("checked")
                             ? as_int(log_[*next].body.at("checked"))
                             : log_[*next].version();
        assign(step, *branch.checked);
      }
      return true;
    }
    request.event = "StepRemoved";
    request.kind = "StepRemoved";
    request.version = version;
    request.fields["kind"] = step.at("removed");
    if (step.contains("name")) {
      request.name = text_of(step, "name");
    }
    if (step.contains("stepKey")) {
      request.key = text_of(step, "stepKey");
    }
    std::optional<std::size_t> next =
        request.key ? recorded_with_key(branch, *request.key) : next_recorded(branch);
    if (!next) {
      create(branch, {next_whole(branch.location)}, request);
      return true;
    }
    const Entry& entry = log_[*next];
    bool same_kind = entry.event() == "StepRemoved"
                         ? entry.body.at("kind") == step.at("removed")
                         : entry.kind() == kind_of_removed(text_of(step, "removed"));
    if (!same_kind || !name_agrees(entry, request)) {
      violate(*next, "removed: history holds " + entry.kind() + " '" + entry.name() + "'");
    }
    log_[*next].matched = true;
    if (!request.key) {
      branch.cursor = log_[*next].location->back();
      branch.checked.reset();
    }
    return true;
  }

  // --- the end ---

  void finish(const Flow& flow, json::object& out) {
    if (flow.kind == Flow::Kind::kThrow) {
      out["outcome"] = flow.failure.cancelled ? "cancelled" : "failed";
      out["error"] = {{"message", flow.failure.text}};
      if (!flow.failure.cancelled) {
        write_end("WorkflowFailed", {{"error", flow.failure.text}});
      } else if (flow.failure.reason.is_null()) {
        write_end("WorkflowCancelled", {});
      } else {
        write_end("WorkflowCancelled", {{"reason", flow.failure.reason}});
      }
      return;
    }
    out["outcome"] = "completed";
    out["result"] = flow.value;
    write_end("WorkflowCompleted", {{"result", flow.value}});
  }

  static bool is_end(std::string_view event) {
    return event == "WorkflowCompleted" || event == "WorkflowFailed" ||
           event == "WorkflowCancelled" || event == "WorkflowRecurred";
  }

  void write_end(std::string_view event, json::object fields) {
    for (const Entry& entry : log_) {
      std::string recorded = entry.event();
      if (is_end(recorded)) {
        if (recorded != event) {
          throw Violation{"the run ended with " + recorded + " in history", "{}"};
        }
        return;
      }
    }
    append(event, std::move(fields));
  }

  static void report(const Violation& violation, json::object& out) {
    out.clear();
    out["outcome"] = "violation";
    json::object error;
    error["message"] = violation.message;
    if (!violation.location.empty()) {
      error["location"] = violation.location;
    }
    out["error"] = std::move(error);
  }

  json::array waiting() const {
    std::set<Location> locations;
    for (const Waiter* waiter : waiters_) {
      for (const auto& future : waiter->futures) {
        if (!future->complete) {
          locations.insert(*log_[future->command].location);
        }
      }
    }
    json::array texts;
    for (const Location& location : locations) {
      texts.push_back(json::value(print_location(location)));
    }
    return texts;
  }

  json::array orphaned() const {
    std::set<Location> locations;
    for (const Entry& entry : log_) {
      if (!strict() && entry.is_command() && !entry.ignored && !entry.matched) {
        locations.insert(*entry.location);
      }
    }
    json::array texts;
    for (const Location& location : locations) {
      texts.push_back(json::value(print_location(location)));
    }
    return texts;
  }

  const json::array& program_;
  std::string matching_ = "strict";
  std::string run_id_ = "00000000-0000-0000-0000-000000000000";
  std::int64_t started_at_ = 0;

  std::deque<Entry> log_;  // a deque, so that appending leaves references to entries valid
  std::int64_t now_ = 0;
  bool cancelled_ = false;
  std::uint64_t completions_ = 0;

  std::map<std::string, Variable> variables_;
  std::vector<Write> writes_;
  std::vector<std::size_t> mailbox_;                   // delivered signals that nobody has taken
  std::vector<std::shared_ptr<Future>> signal_waits_;  // in the order in which they were opened
  std::vector<Waiter*> waiters_;                       // in the order in which they began to wait
  std::deque<Branch> branches_;
  Branch* root_ = nullptr;
};

}  // namespace

boost::json::object evaluate(const boost::json::object& scenario) {
  return Evaluator(scenario).run();
}

}  // namespace oracle

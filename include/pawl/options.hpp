// Options of commands and of the engine. Plain aggregates, for designated initialisers:
// {.queue = "payments", .retry = {.attempts = 5}}.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pawl/event.hpp"

namespace pawl {

using Millis = std::chrono::milliseconds;
using Time = std::chrono::sys_time<Millis>;

// When and how often an activity is tried again.
struct Retry {
  std::uint32_t attempts = 1;  // In all; 0: no limit.
  Millis initial = std::chrono::seconds(1);
  Millis maximum = std::chrono::minutes(1);  // Not less than `initial`.
  double factor = 2.0;
  double jitter = 0.1;                        // Part of the interval that is random: 0 to 1.
  std::vector<std::string> final_types = {};  // Errors that are not tried again.
};

// In all commands: `step_key` is a name to match this step by, instead of its place in the code.

struct RunOptions {
  Retry retry = {};
  Millis timeout = Millis::zero();  // Of one attempt; zero: none.
  std::string step_key = {};
};

struct TaskOptions {
  std::string queue = "default";
  std::int32_t priority = 0;                  // Higher ones are taken first.
  Millis timeout = Millis::zero();            // Of one attempt; zero: none, here and below.
  Millis total_timeout = Millis::zero();      // Of all of it, from the call on.
  Millis wait_timeout = Millis::zero();       // Until a worker takes it, each time.
  Millis heartbeat_timeout = Millis::zero();  // Between two heartbeats.
  Retry retry = {};
  std::string step_key = {};
};

struct TimerOptions {
  std::string id = {};  // Then it is compared on replay; empty: one is made.
  std::string step_key = {};
};

struct WaitOptions {  // Promises and signals.
  Millis timeout = Millis::zero();
  std::string step_key = {};
};

struct StateOptions {
  std::string step_key = {};
};

struct SendOptions {
  Event event = {};
  std::string step_key = {};
};

struct TransactOptions {
  Retry retry = {};
  std::string step_key = {};
};

// What happens to a child that is open when its parent ends.
enum class ParentClose : std::uint8_t { kCancel = 0, kAbandon = 1, kTerminate = 2 };

using Tags = std::vector<std::pair<std::string, std::string>>;

struct ChildOptions {
  ParentClose parent_close = ParentClose::kCancel;
  Tags tags = {};
  std::string step_key = {};
};

struct BranchOptions {
  std::string step_key = {};
};

struct LoopOptions {
  // Iterations until what they recorded is replaced by the loop's state.
  std::uint32_t checkpoint_every = 20;
  std::string step_key = {};
};

// --- Definitions ---

// How the commands of the code are found in the history; see docs/replay.md.
enum class Matching : std::uint8_t { kStrict, kPerKind, kByName };

// What to do with open runs that were started under another fingerprint.
enum class OnChange : std::uint8_t {
  kVerify,  // Replay all of the history: if the code agrees with it, go on.
  kRefuse,  // Blocked until somebody decides.
};

struct WorkflowOptions {
  Matching matching = Matching::kStrict;
  std::string fingerprint = {};  // Of the code, e.g. PAWL_FINGERPRINT; empty: unknown.
  OnChange on_change = OnChange::kVerify;
};

struct ActivityOptions {
  Retry compensation_retry = {.attempts = 10};  // When it runs as a compensation.
};

// --- The engine ---

// Changes payloads on their way to the store and back: compression, encryption. Called from several
// threads. What is stored says the name of the codec that wrote it.
class PayloadCodec {
 public:
  virtual ~PayloadCodec() = default;
  virtual std::string name() const = 0;  // No zero byte in it.
  virtual std::string encode(std::string_view bytes) const = 0;
  virtual std::string decode(std::string_view bytes) const = 0;
};

struct Queue {
  std::string name = "default";
  std::size_t concurrency = 64;  // Tasks at once.
};

// How long runs are kept after they have ended; zero: for ever. Runs whose parent or a child is
// open stay. The id of a run that was removed is free again.
struct Retention {
  Millis completed = Millis::zero();
  Millis failed = Millis::zero();
  Millis cancelled = Millis::zero();
  Millis recurred = Millis::zero();
};

struct EngineOptions {
  bool work = true;              // False: clients' calls only.
  std::string worker_name = {};  // For people; empty: host and process.
  std::vector<Queue> queues = {{}};
  Millis lease = std::chrono::seconds(30);
  std::size_t cache_bytes = std::size_t{256} << 20U;  // For runs that wait in memory.
  // Larger ones are refused at the call that makes them: PayloadTooLarge.
  std::size_t payload_bytes_max = std::size_t{64} << 20U;
  Retention retention = {};          // Looked at when the engine starts, and at least every hour.
  std::size_t activity_threads = 0;  // 0: as many as seem useful.
  std::shared_ptr<const PayloadCodec> payload_codec = {};  // For what is written.
  // For what was written by others, e.g. before a change of key.
  std::vector<std::shared_ptr<const PayloadCodec>> old_codecs = {};
  // Told of trouble that no call can report, e.g. a full disk, or a run that is blocked: the engine
  // goes on trying, and who waits for a result waits. From any thread; must not block. Not set: a
  // line on standard error, for the same error at most one in five seconds. To hear nothing, set a
  // function that does nothing.
  std::function<void(std::string_view)> on_error = {};
};

// What start() does when there is a run with this id.
enum class OnExisting : std::uint8_t {
  kReturn,   // A handle to that one, whatever became of it; AlreadyExists if its kind is another.
  kFail,     // Throws AlreadyExists.
  kReplace,  // An open one is terminated; the new one has the next number.
};

struct StartOptions {
  OnExisting on_existing = OnExisting::kReturn;
  Tags tags = {};
};

enum class Status : std::uint8_t {
  kRunning = 1,
  kWaiting = 2,
  kCompensating = 3,
  kCompleted = 4,
  kFailed = 5,
  kCancelled = 6,
  kRecurred = 7,
  kBlocked = 8,  // Needs a person; Description::reason says why.
};
// "waiting".
std::string_view to_string(Status status);

}  // namespace pawl

// Program: the code of one run, in whatever language, as the engine drives it. And what the engine
// gives to it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "engine/activity.h"
#include "replay/machine.h"
#include "store/database.h"

namespace pawl::engine {

// Where a program runs. Used only while its code goes on.
class RunHost {
 public:
  virtual ~RunHost() = default;

  // For all commands and reads.
  replay::Machine& machine() { return *machine_; }
  const std::string& id() const { return id_; }  // The user's.
  std::uint32_t number() const { return number_; }
  const std::string& kind() const { return kind_; }
  const Uuid& uuid() const { return uuid_; }

  // For an operation that machine().open() said must be executed. It starts when all that led to
  // it is durable; its outcome comes as a delivery. `timeout_ms` (0: none) is for one attempt.
  virtual void execute(replay::FutureId operation, ActivityBody body, RetryPolicy retry,
                       std::int64_t timeout_ms) = 0;
  // The same, but `body` runs inside the transaction that records its outcome, and can use the
  // store's database. A failure undoes what it did.
  using TransactBody = std::function<ActivityOutcome(store::Database& database)>;
  virtual void transact(replay::FutureId operation, TransactBody body, RetryPolicy retry) = 0;
  // The same, for a signal to another run: sent in the transaction that records it, once; by
  // `dedupe` if it is not empty, else by the operation's own id.
  virtual void send(replay::FutureId operation, std::string run_id, std::string signal,
                    std::string payload, std::string extra, std::string dedupe) = 0;

 protected:
  replay::Machine* machine_ = nullptr;
  std::string id_;
  std::uint32_t number_ = 1;
  std::string kind_;
  Uuid uuid_;
};

struct ProgramEnd {
  replay::EntryKind kind{};  // kWorkflowCompleted, Failed, Cancelled or Recurred.
  std::string payload;       // Result, failure, reason or next input.
};

// Created, driven and destroyed on the loop. Destroyed at any time, mostly while it waits.
class Program {
 public:
  virtual ~Program() = default;

  // Runs the code until all of it is blocked. Called once, first.
  virtual void start() = 0;
  // Goes on with what waited for it, until all of the code is blocked.
  virtual void resume(const replay::AwaitStatus& over) = 0;
  // How it ended, once it has. Not called again after it said so.
  virtual std::optional<ProgramEnd> end() = 0;
  // What its suspended code costs in memory, about.
  virtual std::size_t memory_bytes() const = 0;
};

class CodeHost;

// The same, for code that threads of somebody else's execute: they drive the machine themselves.
// Created and destroyed like a Program, but also on those threads.
class RemoteProgram {
 public:
  virtual ~RemoteProgram() = default;

  // The code may go on, from its start if `is_new`, until all of it is blocked. On the loop; must
  // not block. `host` and its machine are the program's until it calls `back`, on any thread, once.
  virtual void go_on(CodeHost& host, bool is_new, Job back) = 0;
  virtual std::size_t memory_bytes() const = 0;
};

// What to do with runs that were started under another fingerprint.
enum class OnChange : std::uint8_t {
  kVerify,  // Replay the whole log: if code and history agree, go on under the new one.
  kRefuse,  // Blocked until a person decides.
};

struct Definition {
  std::string kind;
  replay::Matching matching = replay::Matching::kStrict;
  // Empty: unknown. Then code that disagrees with its history is taken for a changed one.
  std::string fingerprint;
  OnChange on_change = OnChange::kVerify;
  // One of these two. The host outlives the program. `input` is as given at the start.
  std::function<std::unique_ptr<Program>(RunHost& host, std::string_view input)> create;
  std::function<std::unique_ptr<RemoteProgram>(RunHost& host, std::string_view input)>
      create_remote = {};
};

// What goes into CommandRequest::extra, as JSON. The engine reads it when the command is new.
struct TaskOptions {
  std::string queue = "default";
  std::int32_t priority = 0;
  std::int64_t wait_timeout_ms = 0;       // Until it is taken, each time; 0: any.
  std::int64_t attempt_timeout_ms = 0;    // For one attempt.
  std::int64_t total_timeout_ms = 0;      // For all of it.
  std::int64_t heartbeat_timeout_ms = 0;  // Between two heartbeats.
  RetryPolicy retry;
};
std::string encode_task_options(const TaskOptions& options);
Result<TaskOptions> decode_task_options(std::string_view extra);

struct ChildOptions {
  std::uint8_t parent_close = 0;  // store::ParentClose
  std::vector<std::pair<std::string, std::string>> tags;
};
std::string encode_child_options(const ChildOptions& options);
Result<ChildOptions> decode_child_options(std::string_view extra);

}  // namespace pawl::engine

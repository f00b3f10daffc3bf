// What Pawl throws. Everything derives from pawl::Exception.
//
// In workflow code a failed step throws when it is awaited: ActivityFailed, ChildFailed,
// PromiseRejected (all of them a Failure), TimedOut, or one of the *Cancelled. A cancel request
// throws Cancelled at the awaits that are pending when it is delivered.
#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace pawl {

class Exception : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// A call that can never work: an empty name, a context used outside of its workflow …
class UsageError : public Exception {
 public:
  using Exception::Exception;
};

// The code of the workflow disagrees with its history. The run goes no further, whether this is
// caught or not; the whole report is stored with the run.
class DeterminismViolation : public Exception {
 public:
  using Exception::Exception;
};

// A payload that cannot be written, or that does not hold what the code expects.
class PayloadError : public Exception {
 public:
  // `where` is the call, e.g. "signal 'approved'"; `type` the C++ type.
  PayloadError(std::string_view where, std::string_view type, std::string_view problem);
  explicit PayloadError(const std::string& problem) : Exception(problem) {}
};

// It is larger than EngineOptions::payload_bytes_max. Nothing of it was recorded or sent.
class PayloadTooLarge : public PayloadError {
 public:
  // `what` is e.g. "input of task 'charge'".
  PayloadTooLarge(std::string_view what, std::size_t bytes, std::size_t bytes_max);
};

// The run was asked to end. Leaving the workflow function, it ends the run as cancelled. To clean
// up, catch it, leave the handler (C++ has no co_await in one), and go on: what is awaited after it
// is not interrupted again.
class Cancelled : public Exception {
 public:
  explicit Cancelled(std::string reason = {});
  const std::string& reason() const noexcept { return reason_; }

 private:
  std::string reason_;
};

// What failed elsewhere and was recorded: by type and text, since the object itself is long gone.
class Failure : public Exception {
 public:
  Failure(std::string_view subject, std::string type, std::string message, std::string details);

  // The type of the original error, e.g. "shop::OutOfStock".
  const std::string& type() const noexcept { return type_; }
  const std::string& message() const noexcept { return message_; }
  // JSON; empty if there are none.
  const std::string& details() const noexcept { return details_; }

 private:
  std::string type_;
  std::string message_;
  std::string details_;
};

// An operation or a task failed for good.
class ActivityFailed : public Failure {
 public:
  using Failure::Failure;
};
class ChildFailed : public Failure {
 public:
  using Failure::Failure;
};
class PromiseRejected : public Failure {
 public:
  using Failure::Failure;
};
// For clients: how a run ended.
class WorkflowFailed : public Failure {
 public:
  using Failure::Failure;
};

// A promise, a signal, with_timeout(), or the time limit of a client's call.
class TimedOut : public Exception {
 public:
  using Exception::Exception;
};
class TaskCancelled : public Exception {
 public:
  using Exception::Exception;
};
class TimerCancelled : public Exception {
 public:
  using Exception::Exception;
};
class ChildCancelled : public Exception {
 public:
  using Exception::Exception;
};
// For clients: how a run ended.
class WorkflowCancelled : public Exception {
 public:
  explicit WorkflowCancelled(std::string_view run, std::string reason);
  const std::string& reason() const noexcept { return reason_; }

 private:
  std::string reason_;
};

// --- Clients' calls ---

// The store cannot be opened, or does not work.
class StoreError : public Exception {
 public:
  using Exception::Exception;
};
// No such run or promise.
class NotFound : public Exception {
 public:
  using Exception::Exception;
};
// There is a run with this id, or the promise has its answer.
class AlreadyExists : public Exception {
 public:
  using Exception::Exception;
};
// The run has ended, or the engine has been stopped.
class Closed : public Exception {
 public:
  using Exception::Exception;
};

}  // namespace pawl

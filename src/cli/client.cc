#include "cli/client.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <random>
#include <utility>

#include "base/run_uuid.h"
#include "engine/activity.h"
#include "pawl/errors.hpp"
#include "pawl/event.hpp"
#include "sdk/event.h"
#include "sdk/token.h"
#include "view/text.h"

namespace pawl::cli {

namespace {

constexpr std::size_t kShownChars = 100;

std::string in_quotes(std::string_view text) {
  return "'" + view::line_text(text, kShownChars) + "'";
}

template <class Op>
Result<Op> apply_one(store::Store& store, Op op) {
  std::array<store::Op, 1> ops = {std::move(op)};
  PAWL_TRY(apply_ops(store, ops));
  return std::get<Op>(std::move(ops[0]));
}

Event to_event(const EventArguments& arguments) {
  Event event;
  event.id = arguments.id;
  event.source = arguments.source;
  event.type = arguments.type;
  event.subject = arguments.subject;
  event.time = arguments.time;
  return event;
}

std::uint8_t arrival_kind(replay::EntryKind kind) { return static_cast<std::uint8_t>(kind); }

Error not_sent(store::SendOutcome outcome, const store::RunRow& run, const std::string& promise) {
  const std::string name = "run " + in_quotes(run.id);
  switch (outcome) {
    case store::SendOutcome::kNoRun:
      return make_error(ErrorCode::kNotFound, name + " is gone");
    case store::SendOutcome::kNoPromise:
      return make_error(ErrorCode::kNotFound,
                        name + " has no promise " + in_quotes(promise) + " yet");
    case store::SendOutcome::kResolved:
      return make_error(ErrorCode::kAlreadyExists, "the promise " + in_quotes(promise) + " of " +
                                                       name + " is resolved already");
    default:
      return make_error(ErrorCode::kClosed, name + " has ended");
  }
}

}  // namespace

Result<void> apply_ops(store::Store& store, std::span<store::Op> ops) {
  Result<void> done = store.apply(ops);
  if (!done && done.error().code == ErrorCode::kStoreBusy) {
    return make_error(
        ErrorCode::kStoreBusy,
        "the database is locked by another process, and was not free in time; nothing "
        "has changed, try again");
  }
  return done;
}

Uuid new_run_uuid(std::int64_t now_ms) {
  std::random_device random;
  const auto bits = [&random] { return (static_cast<std::uint64_t>(random()) << 32U) | random(); };
  return make_run_uuid(now_ms, bits(), bits());
}

Result<StartedRun> start_run(store::Store& store, StartRequest request, std::int64_t now_ms) {
  store::StartRun start;
  start.now_ms = now_ms;
  start.run.uuid = new_run_uuid(now_ms);
  start.run.id = request.id.empty() ? start.run.uuid.to_string() : std::move(request.id);
  start.run.kind = std::move(request.kind);
  start.run.input = std::move(request.input);
  start.run.tags = std::move(request.tags);
  start.on_existing = request.on_existing;
  start.signal = std::move(request.signal);
  PAWL_TRY_ASSIGN(store::StartRun done, apply_one(store, std::move(start)));
  if (done.outcome == store::StartOutcome::kRefused) {
    const bool is_other_kind = done.row.kind != done.run.kind;
    return make_error(ErrorCode::kAlreadyExists,
                      "there is a run " + in_quotes(done.row.id) + " already, " +
                          std::string(store::status_name(done.row.status)) +
                          (is_other_kind ? ", of the kind " + in_quotes(done.row.kind) : "") +
                          (is_other_kind ? "; choose another id" : ""));
  }
  return StartedRun{std::move(done.row), done.outcome == store::StartOutcome::kStarted};
}

Result<store::NewArrival> signal_arrival(const std::string& name, std::string payload,
                                         const EventArguments& event) {
  store::NewArrival arrival;
  arrival.kind = arrival_kind(replay::EntryKind::kSignalReceived);
  arrival.name = name;
  arrival.has_payload = true;
  arrival.payload = std::move(payload);
  try {
    arrival.extra = detail::encode_event(name, to_event(event));
  } catch (const UsageError& error) {
    return make_error(ErrorCode::kInvalidArgument, error.what());
  }
  return arrival;
}

std::string event_dedupe(const EventArguments& event) {
  return detail::dedupe_text(to_event(event));
}

store::NewArrival resolve_arrival(std::string promise, std::string payload) {
  store::NewArrival arrival;
  arrival.kind = arrival_kind(replay::EntryKind::kPromiseResolved);
  arrival.id = std::move(promise);
  arrival.has_payload = true;
  arrival.payload = std::move(payload);
  return arrival;
}

store::NewArrival reject_arrival(std::string promise, const std::string& type,
                                 const std::string& message) {
  engine::Failure failure;
  failure.type = type;
  failure.message = message;
  store::NewArrival arrival;
  arrival.kind = arrival_kind(replay::EntryKind::kPromiseRejected);
  arrival.id = std::move(promise);
  arrival.has_payload = true;
  arrival.payload = engine::encode_failure(failure);
  return arrival;
}

store::NewArrival cancel_arrival(const std::string& reason) {
  store::NewArrival arrival;
  arrival.kind = arrival_kind(replay::EntryKind::kCancellationRequested);
  arrival.has_payload = !reason.empty();
  arrival.payload = reason;
  return arrival;
}

std::string terminated_payload(const std::string& reason) {
  engine::Failure failure;
  failure.type = "Terminated";
  failure.message = reason.empty() ? "terminated" : reason;
  return engine::encode_failure(failure);
}

Result<bool> send(store::Store& store, const store::RunRow& run, store::NewArrival arrival,
                  std::string dedupe, std::int64_t now_ms) {
  const std::string promise = arrival.id;
  store::Send op;
  op.run = run.key;
  op.run_id = run.id;
  op.arrival = std::move(arrival);
  op.dedupe = std::move(dedupe);
  op.now_ms = now_ms;
  PAWL_TRY_ASSIGN(const store::Send done, apply_one(store, std::move(op)));
  if (done.outcome == store::SendOutcome::kDuplicate) {
    return false;
  }
  if (done.outcome != store::SendOutcome::kSent) {
    return not_sent(done.outcome, run, promise);
  }
  return true;
}

Result<std::pair<std::string, std::string>> parse_token(const std::string& token) {
  auto parts = detail::read_token(token);
  if (!parts) {
    return make_error(ErrorCode::kInvalidArgument, in_quotes(token) + " is no token of a promise");
  }
  return *std::move(parts);
}

std::string promise_token(const std::string& run_id, const std::string& promise) {
  return detail::make_token(run_id, promise);
}

// --- Waiting -------------------------------------------------------------------------------------

namespace {

// Wakes who waits when another process has changed something.
class Changes {
 public:
  explicit Changes(store::Store& store) : store_(store) {
    store_.watch([this](store::Store::Change) {
      const std::scoped_lock lock(mutex_);
      has_changed_ = true;
      changed_.notify_all();
    });
  }
  ~Changes() { store_.watch({}); }
  Changes(const Changes&) = delete;
  Changes& operator=(const Changes&) = delete;

  void wait_until(std::chrono::steady_clock::time_point latest) {
    std::unique_lock lock(mutex_);
    changed_.wait_until(lock, latest, [this] { return has_changed_; });
    has_changed_ = false;
  }

 private:
  store::Store& store_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool has_changed_ = false;
};

Error still_open(store::Store& store, const store::RunRow& row) {
  std::string text = "run " + in_quotes(row.id) + " has not ended in time; it is " +
                     store::status_text(row.status, row.waiting_for);
  if (row.status == store::RunStatus::kBlocked) {
    const auto reason = store.read_reason(row.key);
    const std::string first = reason ? reason->substr(0, reason->find('\n')) : std::string();
    text += first.empty() ? "" : ": " + first;
  }
  return make_error(ErrorCode::kTimedOut,
                    text + "; 'pawl why " + view::line_text(row.id, kShownChars) + "' tells more");
}

}  // namespace

Result<Outcome> wait_for_end(store::Store& store, store::RunRow run, std::int64_t limit_ms) {
  using Clock = std::chrono::steady_clock;
  // Notices may be missing, e.g. of a store that was opened for reading only.
  constexpr auto kLookAgain = std::chrono::milliseconds(500);
  const auto end = Clock::now() + std::chrono::milliseconds(std::max<std::int64_t>(limit_ms, 0));
  Changes changes(store);
  while (true) {
    PAWL_TRY_ASSIGN(std::optional<store::RunRow> row, store.find_run(run.key));
    if (!row) {
      return make_error(ErrorCode::kNotFound, "run " + in_quotes(run.id) + " was deleted");
    }
    run = *std::move(row);
    if (run.status == store::RunStatus::kRecurred) {
      PAWL_TRY_ASSIGN(row, store.find_run(run.id, run.number + 1));
      if (!row) {
        return make_error(ErrorCode::kNotFound, "run " + in_quotes(run.id) + " went on as number " +
                                                    std::to_string(run.number + 1) +
                                                    ", which was deleted");
      }
      run = *std::move(row);
      continue;
    }
    if (store::is_closed(run.status)) {
      Outcome outcome{run, {}};
      PAWL_TRY(store.read_last(run.key, [&outcome](const replay::Entry& entry) -> Result<void> {
        outcome.payload = entry.payload;
        return {};
      }));
      return outcome;
    }
    const auto now = Clock::now();
    if (limit_ms >= 0 && now >= end) {
      return still_open(store, run);
    }
    changes.wait_until(limit_ms >= 0 ? std::min(end, now + kLookAgain) : now + kLookAgain);
  }
}

}  // namespace pawl::cli

// What commands do to a store: operations as an engine's clients do them, without an engine. The
// run is named by its key, so that nothing happens to another one that has its id by now.
//
// Errors are the store's, and kNotFound, kClosed and kAlreadyExists with a sentence.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/uuid.h"
#include "store/store.h"

namespace pawl::cli {

// Applies operations in one commit. A locked database is told in one sentence.
Result<void> apply_ops(store::Store& store, std::span<store::Op> ops);

// For a run that starts now.
Uuid new_run_uuid(std::int64_t now_ms);

struct StartRequest {
  std::string kind;
  std::string id;  // Empty: a new UUID.
  std::string input;
  store::OnExisting on_existing = store::OnExisting::kReturn;
  std::vector<store::Tag> tags;
  std::optional<store::NewArrival> signal;
};
struct StartedRun {
  store::RunRow row;
  bool is_new = false;
};
Result<StartedRun> start_run(store::Store& store, StartRequest request, std::int64_t now_ms);

// Attributes of a signal's event, as JSON.
struct EventArguments {
  std::string id;
  std::string source;
  std::string type;
  std::string subject;
  std::string time;
};
// kInvalidArgument: attributes that cannot be.
Result<store::NewArrival> signal_arrival(const std::string& name, std::string payload,
                                         const EventArguments& event);
// By what the store tells that it was sent before; empty: it may be sent again.
std::string event_dedupe(const EventArguments& event);
store::NewArrival resolve_arrival(std::string promise, std::string payload);
store::NewArrival reject_arrival(std::string promise, const std::string& type,
                                 const std::string& message);
store::NewArrival cancel_arrival(const std::string& reason);
// What WorkflowFailed holds then.
std::string terminated_payload(const std::string& reason);

// True: sent; false: `dedupe` was there before.
Result<bool> send(store::Store& store, const store::RunRow& run, store::NewArrival arrival,
                  std::string dedupe, std::int64_t now_ms);

// Run id and promise; kInvalidArgument if it is no token.
Result<std::pair<std::string, std::string>> parse_token(const std::string& token);
std::string promise_token(const std::string& run_id, const std::string& promise);

// How a closed run has ended.
struct Outcome {
  store::RunRow row;  // Closed, and not recurred.
  std::string payload;
};
// Waits for the end of a run, following one that recurs. `limit_ms` negative: as long as it takes.
// kTimedOut says what the run is doing.
Result<Outcome> wait_for_end(store::Store& store, store::RunRow run, std::int64_t limit_ms);

}  // namespace pawl::cli

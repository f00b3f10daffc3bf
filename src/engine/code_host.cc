#include "engine/code_host.h"

#include <utility>

namespace pawl::engine {

CodeHost::CodeHost(const store::RunRow& row) {
  id_ = row.id;
  number_ = row.number;
  kind_ = row.kind;
  uuid_ = row.uuid;
}

void CodeHost::clear() {
  sends_.clear();
  asked_.clear();
  sent_.clear();
  delivered_.clear();
}

Result<std::optional<replay::Delivery>> CodeHost::next_delivery() {
  record_sends();
  Result<std::optional<replay::Delivery>> next = machine_->next_delivery();
  if (next && next->has_value()) {
    delivered_.push_back(**next);
  }
  return next;
}

void CodeHost::finish(const ProgramEnd& end) {
  if (machine_->is_finished() || machine_->violation()) {
    return;
  }
  record_sends();
  const Result<void> finished = machine_->finish(end.kind, end.payload);
  if (!finished && !machine_->violation()) {
    Failure failure;
    failure.type = "PayloadTooLarge";
    failure.message = finished.error().message;
    static_cast<void>(
        machine_->finish(replay::EntryKind::kWorkflowFailed, encode_failure(failure)));
  }
}

void CodeHost::run(Program& program, bool is_new) {
  if (is_new) {
    program.start();
  }
  while (!machine_->violation()) {
    if (const std::optional<ProgramEnd> end = program.end()) {
      finish(*end);
      return;
    }
    const Result<std::optional<replay::Delivery>> next = next_delivery();
    if (!next || !next->has_value()) {
      return;
    }
    woken_ = machine_->woken();
    for (const replay::AwaitStatus& over : woken_) {
      program.resume(over);
      if (machine_->violation() || program.end()) {
        break;
      }
    }
  }
}

CodeHost::Asked& CodeHost::ask(replay::FutureId operation, RetryPolicy retry,
                               std::int64_t timeout_ms) {
  Asked& asked = asked_.emplace_back();
  asked.future = operation;
  asked.retry = std::move(retry);
  asked.timeout_ms = timeout_ms;
  return asked;
}

void CodeHost::execute(replay::FutureId operation, ActivityBody body, RetryPolicy retry,
                       std::int64_t timeout_ms) {
  ask(operation, std::move(retry), timeout_ms).body =
      std::make_shared<const ActivityBody>(std::move(body));
}

void CodeHost::execute_elsewhere(replay::FutureId operation, RemoteBody body, RetryPolicy retry,
                                 std::int64_t timeout_ms) {
  ask(operation, std::move(retry), timeout_ms).remote =
      std::make_shared<const RemoteBody>(std::move(body));
}

void CodeHost::transact(replay::FutureId operation, TransactBody body, RetryPolicy retry) {
  ask(operation, std::move(retry), 0).transact = std::move(body);
}

void CodeHost::send(replay::FutureId operation, std::string run_id, std::string signal,
                    std::string payload, std::string extra, std::string dedupe) {
  SendCall& call = sends_.emplace_back();
  call.future = operation;
  call.outgoing.run_id = std::move(run_id);
  store::NewArrival& arrival = call.outgoing.arrival;
  arrival.kind = static_cast<std::uint8_t>(replay::EntryKind::kSignalReceived);
  arrival.name = std::move(signal);
  arrival.has_payload = true;
  arrival.payload = std::move(payload);
  arrival.extra = std::move(extra);
  call.outgoing.dedupe = std::move(dedupe);
}

// A signal to another run is recorded and sent by the same commit, so it needs no attempts.
void CodeHost::record_sends() {
  for (SendCall& call : sends_) {
    if (call.outgoing.dedupe.empty()) {
      call.outgoing.dedupe = machine_->command_id(call.future);
    }
    if (machine_->complete_operation(call.future, replay::OutcomeKind::kValue, "null")) {
      sent_.push_back(std::move(call.outgoing));
    }
  }
  sends_.clear();
}

}  // namespace pawl::engine

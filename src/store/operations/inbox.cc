// How something reaches a run.

#include <algorithm>
#include <utility>

#include "store/operations/operations.h"

namespace pawl::store {

namespace {

bool is_promise_outcome(std::uint8_t kind) {
  return kind == static_cast<std::uint8_t>(replay::EntryKind::kPromiseResolved) ||
         kind == static_cast<std::uint8_t>(replay::EntryKind::kPromiseRejected);
}

}  // namespace

Result<ArrivalKey> Operations::deliver(const RunHead& target, const NewArrival& arrival,
                                       std::int64_t now_ms) {
  PAWL_TRY_ASSIGN(const ArrivalKey key, inbox_.put(target.key, arrival, Inboxes::By::kOthers));
  PAWL_TRY(runs_.wake(target, std::max(arrival.due_ms, now_ms)));
  concern_others_than(target.owner);
  return key;
}

Result<Operations::Sent> Operations::send(const RunHead& target, const NewArrival& arrival,
                                          std::string_view dedupe, std::int64_t now_ms) {
  if (is_closed(target.status)) {
    return Sent{SendOutcome::kClosed, 0};
  }
  if (!dedupe.empty()) {
    PAWL_TRY_ASSIGN(const bool is_duplicate, dedupe_.has(target.chain, dedupe));
    if (is_duplicate) {
      return Sent{SendOutcome::kDuplicate, 0};
    }
  }
  if (is_promise_outcome(arrival.kind)) {
    PAWL_TRY_ASSIGN(const PromiseState state, promises_.find(target.key, arrival.id));
    if (state != PromiseState::kOpen) {
      return Sent{state == PromiseState::kNone ? SendOutcome::kNoPromise : SendOutcome::kResolved,
                  0};
    }
    PAWL_TRY(promises_.resolve(target.key, arrival.id));
  }
  if (!dedupe.empty()) {
    PAWL_TRY(dedupe_.add(target.chain, dedupe));
  }
  PAWL_TRY_ASSIGN(const ArrivalKey key, deliver(target, arrival, now_ms));
  return Sent{SendOutcome::kSent, key};
}

Result<void> Operations::run(Send& op) {
  op.target = 0;
  op.owner = 0;
  op.key = 0;
  op.claim.reset();
  PAWL_TRY_ASSIGN(const std::optional<RunHead> target, find_target(op.run, op.run_id));
  if (!target.has_value()) {
    op.outcome = SendOutcome::kNoRun;
    return {};
  }
  op.target = target->key;
  op.owner = target->owner;
  PAWL_TRY_ASSIGN(const Sent sent, send(*target, op.arrival, op.dedupe, op.now_ms));
  op.outcome = sent.outcome;
  op.key = sent.key;
  if (sent.outcome == SendOutcome::kSent && target->owner == 0) {
    PAWL_TRY_ASSIGN(op.claim, claim_for(op, target->key));
    op.owner = op.claim.has_value() ? op.claim_for : 0;
  }
  return {};
}

}  // namespace pawl::store

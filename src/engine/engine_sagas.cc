// The engine, part three: compensations. They need no workflow code: names and inputs are stored.
// One that this process does not have an activity for is left to another one (engine_stuck.cc).
#include <algorithm>

#include "base/moment.h"
#include "engine/engine_impl.h"

namespace pawl::engine {

namespace {

class CompensationAttempt final : public ActivityAttempt {
 public:
  explicit CompensationAttempt(std::shared_ptr<std::atomic<bool>> stop) : stop_(std::move(stop)) {}
  bool heartbeat(std::string_view /*details*/) override { return !should_stop(); }
  bool should_stop() const override { return stop_->load(); }

 private:
  std::shared_ptr<std::atomic<bool>> stop_;
};

// The last one registered that is open.
auto next_open(auto& rows) {
  return std::find_if(rows.rbegin(), rows.rend(), [](const store::CompensationRow& row) {
    return row.state == store::CompensationState::kOpen;
  });
}

}  // namespace

void EngineImpl::begin_saga(Slot& slot, std::vector<store::CompensationRow> rows, std::uint8_t end,
                            std::string payload) {
  slot.run->unload();
  slot.saga = std::make_unique<Saga>();
  slot.saga->rows = std::move(rows);
  slot.saga->end = end;
  slot.saga->payload = std::move(payload);
  process_saga(slot);
}

// The last one registered that is open runs, or waits for its next attempt.
void EngineImpl::process_saga(Slot& slot) {
  Saga& saga = *slot.saga;
  if (slot.phase != Phase::kIdle || saga.is_running || stopping_) {
    return;
  }
  const auto next = next_open(saga.rows);
  if (next == saga.rows.rend()) {
    end_saga(slot);
    return;
  }
  const std::int64_t now_ms = env_->now_ms();
  const auto type = activities_.find(next->name);
  if (next->due_ms > now_ms || type == activities_.end()) {
    Turn turn = give_back_saga(slot);
    if (type == activities_.end()) {
      // Left to a process that has it.
      turn.commit.needs = next->name;
      turn.commit.waiting_for += " (no activity of this name is registered)";
      turn.commit.wake_ms = store::kNever;
    } else {
      turn.commit.wake_ms = next->due_ms;
    }
    commit(slot, std::move(turn));
    return;
  }
  saga.is_running = true;
  saga.stop = std::make_shared<std::atomic<bool>>(false);
  auto attempt = std::make_shared<CompensationAttempt>(saga.stop);
  attempt->run_id = slot.run->row().id;
  attempt->type = next->name;
  attempt->input = next->has_input ? next->input : "null";
  attempt->key = slot.run->row().uuid.to_string() + ":" + std::to_string(next->position);
  attempt->attempt = next->attempt + 1;
  run_activity(type->second, std::move(attempt),
               [this, key = slot.run->key(), position = next->position,
                epoch = slot.run->row().epoch](ActivityOutcome&& outcome) {
                 compensation_done(key, position, epoch, std::move(outcome));
               });
}

Turn EngineImpl::give_back_saga(const Slot& slot) const {
  Turn turn;
  turn.commit.run = slot.run->key();
  turn.commit.worker = slot.run->row().owner;
  turn.commit.epoch = slot.run->row().epoch;
  turn.commit.now_ms = env_->now_ms();
  turn.commit.release = true;
  turn.commit.status = store::RunStatus::kCompensating;
  const auto next = next_open(slot.saga->rows);
  turn.commit.waiting_for = next == slot.saga->rows.rend() ? "" : "compensation " + next->name;
  turn.commit.wake_ms = turn.commit.now_ms;
  return turn;
}

void EngineImpl::compensation_done(store::RunKey key, std::uint32_t position, std::int64_t epoch,
                                   ActivityOutcome outcome) {
  Slot* slot = find_held(key);
  if (slot == nullptr || slot->saga == nullptr || slot->run->row().epoch != epoch) {
    return;
  }
  Saga& saga = *slot->saga;
  saga.is_running = false;
  if (stopping_ && !outcome.ok) {
    return;  // It was asked to stop: it begins again elsewhere.
  }
  const auto row = std::find_if(saga.rows.begin(), saga.rows.end(),
                                [position](const auto& it) { return it.position == position; });
  const RetryPolicy& retry = activities_.find(row->name)->second.compensation_retry;
  const std::int64_t now_ms = env_->now_ms();
  ++row->attempt;
  if (outcome.ok) {
    row->state = store::CompensationState::kDone;
    row->outcome = std::move(outcome.result);
  } else {
    row->outcome = encode_failure(outcome.failure);
    if (may_retry(retry, outcome.failure, row->attempt)) {
      row->due_ms =
          add_ms(now_ms, retry_delay_ms(retry, outcome.failure, row->attempt, env_->random()));
    } else {
      row->state = store::CompensationState::kFailed;  // The others run all the same.
    }
  }
  Turn turn;
  turn.commit.run = key;
  turn.commit.worker = slot->run->row().owner;
  turn.commit.epoch = epoch;
  turn.commit.now_ms = now_ms;
  turn.commit.compensation_changes.push_back(
      {row->position, row->state, row->attempt, row->due_ms, row->outcome});
  commit(*slot, std::move(turn));
}

void EngineImpl::end_saga(Slot& slot) {
  const auto end = static_cast<replay::EntryKind>(slot.saga->end);
  Turn turn;
  turn.commit.run = slot.run->key();
  turn.commit.worker = slot.run->row().owner;
  turn.commit.epoch = slot.run->row().epoch;
  turn.commit.now_ms = env_->now_ms();
  store::Ending ending;
  ending.status = end == replay::EntryKind::kWorkflowCancelled ? store::RunStatus::kCancelled
                                                               : store::RunStatus::kFailed;
  ending.for_parent = arrival_for_parent(slot.run->row().parent, end, slot.saga->payload);
  turn.commit.ending = std::move(ending);
  commit(slot, std::move(turn));
}

}  // namespace pawl::engine

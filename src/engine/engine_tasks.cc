// The engine, part four: tasks of queues. Whatever happens to a task is a change of its row that
// holds only if the row is still as it was seen.
#include <algorithm>

#include "base/moment.h"
#include "engine/engine_impl.h"

namespace pawl::engine {

namespace {

constexpr std::size_t kDueTasksLimit = 1000;
// Between two heartbeats of one attempt that are written; less if the timeout needs it. A cancel
// request by another process is heard of with the answer.
constexpr std::int64_t kHeartbeatPauseMs = 1000;

Failure timeout_failure(std::string message) {
  Failure failure;
  failure.type = "Timeout";
  failure.message = std::move(message);
  return failure;
}

TaskOptions options_of(const store::TaskRow& row) {
  const Result<TaskOptions> options = decode_task_options(row.options);
  return options ? *options : TaskOptions{};
}

}  // namespace

// One attempt of a task. Heartbeats go to the store by way of the loop.
class EngineImpl::TaskAttempt final : public ActivityAttempt {
 public:
  TaskAttempt(EngineImpl& engine, const AttemptId& id) : engine_(engine), id_(id) {}

  bool heartbeat(std::string_view details) override {
    engine_.post(Lane::kLoop, [engine = &engine_, id = id_, text = std::string(details)]() mutable {
      engine->heartbeat_task(id, std::move(text));
    });
    return !should_stop();
  }
  bool should_stop() const override { return stop_.load(); }
  void stop() { stop_.store(true); }

 private:
  EngineImpl& engine_;
  AttemptId id_;
  std::atomic<bool> stop_ = false;
};

void EngineImpl::take_tasks() {
  if (!started_ || stopping_ || is_registering_ || activity_names_.empty()) {
    return;
  }
  for (std::size_t i = 0; i < queues_.size(); ++i) {
    Queue& queue = queues_[i];
    if (queue.is_taking || !queue.may_have_more || queue.running >= queue.options.concurrency) {
      continue;
    }
    queue.is_taking = true;
    queue.may_have_more = false;
    beat();
    store::TakeTasks take;
    take.queue = queue.options.name;
    take.types = activity_names_;
    take.worker = worker_;
    take.limit = queue.options.concurrency - queue.running;
    take.now_ms = env_->now_ms();
    submit<store::TakeTasks>(
        std::move(take), [this, i](Result<void> result, store::TakeTasks& done) {
          Queue& queue = queues_[i];
          queue.is_taking = false;
          if (!result) {
            report(result.error(), "taking tasks from queue '" + queue.options.name + "'");
            queue.may_have_more = true;
            delayed_.push_back({back_off(), [this] { take_tasks(); }});
            set_alarm();
            return;
          }
          if (!done.known) {
            queue.may_have_more = true;
            if (done.worker == worker_) {
              declared_dead();
            } else {
              take_tasks();  // As claim() does.
            }
            return;
          }
          queue.may_have_more = queue.may_have_more || done.taken.size() == done.limit;
          for (store::TaskRow& row : done.taken) {
            task_due_ms_ = std::min(task_due_ms_, row.due_ms);
            run_task(i, std::move(row));
          }
          set_alarm();
          if (queue.may_have_more) {
            take_tasks();  // Something has come while these were taken.
          }
        });
  }
}

void EngineImpl::run_task(std::size_t queue, store::TaskRow row) {
  const AttemptId id = {row.run, row.key, row.attempt};
  const ActivityType& type = activities_.find(row.type)->second;
  auto attempt = std::make_shared<TaskAttempt>(*this, id);
  attempt->run_id = row.run_id;
  attempt->type = row.type;
  attempt->input = row.has_input ? row.input : "null";
  attempt->key = row.id;
  attempt->attempt = row.attempt;
  attempt->last_details = row.details;
  ++queues_[queue].running;
  count(counters_.tasks);
  RunningTask& running = running_tasks_[id];
  running.options = options_of(row);
  running.row = std::move(row);
  running.queue = queue;
  running.attempt = attempt;
  run_activity(type, std::move(attempt),
               [this, id](ActivityOutcome&& outcome) { task_done(id, std::move(outcome)); });
}

void EngineImpl::task_done(const AttemptId& id, ActivityOutcome outcome) {
  const auto found = running_tasks_.find(id);
  if (found == running_tasks_.end()) {
    return;
  }
  RunningTask running = std::move(found->second);
  running_tasks_.erase(found);
  heartbeats_.erase({running.next_write_ms, id});
  Queue& queue = queues_[running.queue];
  --queue.running;
  queue.may_have_more = true;
  if ((stopping_ || running.is_given_up) && !outcome.ok) {
    // It was asked to stop: whoever takes the task next begins again, with what it said last.
    if (running.has_beat) {
      write_heartbeat(id, running);
    }
    take_tasks();
    return;
  }
  if (outcome.ok && outcome.result.size() > options_.payload_bytes_max) {
    outcome.ok = false;
    outcome.failure = {};
    outcome.failure.type = "PayloadTooLarge";
    outcome.failure.message = "the result of task '" + running.row.type + "' has " +
                              std::to_string(outcome.result.size()) + " bytes; at most " +
                              std::to_string(options_.payload_bytes_max) + " are allowed";
    outcome.failure.is_final = true;
  }
  if (outcome.ok) {
    end_task(running.row, replay::EntryKind::kTaskCompleted, std::move(outcome.result));
  } else if (outcome.failure.is_cancelled) {
    end_task(running.row, replay::EntryKind::kTaskCancelled, encode_failure(outcome.failure));
  } else {
    fail_task(running.row, running.options, outcome.failure, true, std::move(running.details));
  }
  take_tasks();
}

// `counts`: against the policy's attempts. A worker that died is not the activity's fault.
// `details`: of its last heartbeat, if that is not written.
void EngineImpl::fail_task(const store::TaskRow& row, const TaskOptions& options,
                           const Failure& failure, bool counts,
                           std::optional<std::string> details) {
  const std::int64_t now_ms = env_->now_ms();
  const bool again =
      !row.cancel_requested && (!counts || may_retry(options.retry, failure, row.attempt));
  const std::int64_t next_ms = add_ms(
      now_ms, counts ? retry_delay_ms(options.retry, failure, row.attempt, env_->random()) : 0);
  if (!again || next_ms >= row.deadline_ms) {
    end_task(
        row,
        row.cancel_requested ? replay::EntryKind::kTaskCancelled : replay::EntryKind::kTaskFailed,
        encode_failure(failure));
    return;
  }
  store::ChangeTask change;
  change.task = row.key;
  change.state = row.state;
  change.attempt = row.attempt;
  change.now_ms = now_ms;
  change.next = store::TaskState::kDelayed;
  change.due_ms = next_ms;
  change.details = std::move(details);
  change.last_error = encode_failure(failure);
  change_task(std::move(change));
}

void EngineImpl::end_task(const store::TaskRow& row, replay::EntryKind kind, std::string payload) {
  store::ChangeTask change;
  change.task = row.key;
  change.state = row.state;
  change.attempt = row.attempt;
  change.now_ms = env_->now_ms();
  store::NewArrival arrival;
  arrival.kind = static_cast<std::uint8_t>(kind);
  arrival.id = row.id;
  arrival.has_payload = true;
  arrival.payload = std::move(payload);
  arrival.extra = attempts_extra(row.attempt);
  change.arrival = std::move(arrival);
  if (const Slot* slot = find(row.run); slot != nullptr && slot->phase == Phase::kParked) {
    change.claim_for = worker_;
    change.claim_as = fingerprint_of(slot->run->row().kind);
  }
  change_task(std::move(change));
}

void EngineImpl::change_task(store::ChangeTask change) {
  if (free_places() == 0) {
    change.claim_for = 0;
  }
  coming_ += change.claim_for != 0 ? 1 : 0;
  submit<store::ChangeTask>(
      std::move(change), [this](Result<void> result, store::ChangeTask& done) {
        coming_ -= done.claim_for != 0 ? 1 : 0;
        if (!result) {
          report(result.error(), "recording what became of a task");
          if (result.error().code == ErrorCode::kLimitExceeded && done.arrival) {
            Failure failure;
            failure.type = "PayloadTooLarge";
            failure.message = result.error().message;
            done.arrival->kind = static_cast<std::uint8_t>(replay::EntryKind::kTaskFailed);
            done.arrival->payload = encode_failure(failure);
          } else if (result.error().code == ErrorCode::kLimitExceeded) {
            done.details.reset();
          }
          auto again = std::make_shared<store::ChangeTask>(std::move(done));
          delayed_.push_back({back_off(), [this, again] { change_task(std::move(*again)); }});
          set_alarm();
        } else if (done.changed) {  // Else it timed out, or its run is closed.
          task_changed(done);
        }
        use_places();
      });
}

void EngineImpl::task_changed(store::ChangeTask& done) {
  if (done.next) {
    task_due_ms_ = std::min(task_due_ms_, done.due_ms);
    if (*done.next == store::TaskState::kReady) {
      for (Queue& queue : queues_) {
        queue.may_have_more = true;
      }
      take_tasks();
    }
    set_alarm();
    return;
  }
  if (done.claim) {
    take_over(*done.claim);
  } else if (done.owner == worker_ && done.arrival) {
    store::Arrival arrival;
    static_cast<store::NewArrival&>(arrival) = *done.arrival;
    arrival.key = done.key;
    arrival.run = done.run;
    deliver(done.run, std::move(arrival));
  } else if (done.owner == 0) {
    claim_soon();
  }
}

void EngineImpl::heartbeat_task(const AttemptId& id, std::string details) {
  const auto found = running_tasks_.find(id);
  if (found == running_tasks_.end()) {
    return;
  }
  RunningTask& running = found->second;
  running.has_beat = true;
  running.beat_ms = env_->now_ms();
  if (details.size() <= options_.payload_bytes_max) {
    running.details = std::move(details);
  } else {
    report(make_error(ErrorCode::kLimitExceeded, "details of " + std::to_string(details.size()) +
                                                     " bytes are too large, and not kept"),
           "a heartbeat of task '" + running.row.type + "'");
  }
  if (running.next_write_ms <= running.beat_ms) {
    write_heartbeat(id, running);
  } else {
    heartbeats_.emplace(running.next_write_ms, id);
    set_alarm();
  }
}

void EngineImpl::write_due_heartbeats() {
  const std::int64_t now_ms = env_->now_ms();
  while (!heartbeats_.empty() && heartbeats_.begin()->first <= now_ms) {
    const AttemptId id = heartbeats_.begin()->second;
    write_heartbeat(id, running_tasks_.find(id)->second);
  }
}

void EngineImpl::write_heartbeat(const AttemptId& id, RunningTask& running) {
  const store::TaskRow& row = running.row;
  heartbeats_.erase({running.next_write_ms, id});
  running.has_beat = false;
  running.next_write_ms =
      env_->now_ms() + (row.heartbeat_ms > 0 ? std::min(kHeartbeatPauseMs, row.heartbeat_ms / 4)
                                             : kHeartbeatPauseMs);
  store::ChangeTask change;
  change.task = id.task;
  change.state = row.state;
  change.attempt = row.attempt;
  change.now_ms = env_->now_ms();
  change.next = store::TaskState::kRunning;
  change.details = std::exchange(running.details, std::nullopt);
  change.due_ms = row.deadline_ms;
  if (row.attempt_ms > 0) {
    change.due_ms = std::min(change.due_ms, add_ms(row.started_ms, row.attempt_ms));
  }
  if (row.heartbeat_ms > 0) {
    change.due_ms = std::min(change.due_ms, add_ms(running.beat_ms, row.heartbeat_ms));
  }
  task_due_ms_ = std::min(task_due_ms_, change.due_ms);
  submit<store::ChangeTask>(
      std::move(change), [this, id](const Result<void>& result, store::ChangeTask& done) {
        const auto found_again = running_tasks_.find(id);
        if (found_again == running_tasks_.end()) {
          return;
        }
        RunningTask& again = found_again->second;
        if (!result) {
          report(result.error(), "writing a heartbeat of task '" + again.row.type + "'");
          if (result.error().code != ErrorCode::kLimitExceeded && !again.has_beat) {
            again.has_beat = true;
            again.details = std::move(done.details);
            again.next_write_ms = back_off();
            heartbeats_.emplace(again.next_write_ms, id);
            set_alarm();
          }
        } else if (!done.changed || done.cancel_requested) {
          again.row.cancel_requested = done.cancel_requested;
          again.attempt->stop();
        }
      });
}

void EngineImpl::stop_tasks() {
  for (const auto& [id, task] : running_tasks_) {
    task.attempt->stop();
  }
}

void EngineImpl::give_up_tasks() {
  stop_tasks();
  for (auto& [id, task] : running_tasks_) {
    task.is_given_up = true;
  }
}

void EngineImpl::stop_tasks_of(store::RunKey run) {
  for (auto task = running_tasks_.lower_bound({run, 0, 0});
       task != running_tasks_.end() && task->first.run == run; ++task) {
    task->second.attempt->stop();
  }
}

// They would be told with their next heartbeat; those that run here need not wait for it.
void EngineImpl::cancel_tasks(store::RunKey run, const std::vector<std::string>& ids) {
  for (const std::string& id : ids) {
    for (auto task = running_tasks_.lower_bound({run, 0, 0});
         task != running_tasks_.end() && task->first.run == run; ++task) {
      if (task->second.row.id == id) {
        task->second.row.cancel_requested = true;
        task->second.attempt->stop();
      }
    }
  }
}

void EngineImpl::look_at_due_tasks() {
  task_due_ms_ = store::kNever;
  if (is_looking_at_tasks_) {
    look_at_tasks_again_ = true;
    return;
  }
  is_looking_at_tasks_ = true;
  const std::int64_t now_ms = env_->now_ms();
  post(Lane::kReader, [this, now_ms] {
    std::int64_t next_due = store::kNever;
    Result<std::vector<store::TaskRow>> rows = store_->due_tasks(now_ms, kDueTasksLimit, &next_due);
    post(Lane::kLoop, [this, rows = std::move(rows), next_due] {
      is_looking_at_tasks_ = false;
      if (!rows) {
        report(rows.error(), "looking for due tasks");
        task_due_ms_ = back_off();
        set_alarm();
        return;
      }
      task_due_ms_ = std::min(task_due_ms_, next_due);
      for (const store::TaskRow& row : *rows) {
        due_task(row);
      }
      if (rows->size() == kDueTasksLimit) {
        task_due_ms_ = env_->now_ms() + 1;
      }
      set_alarm();
      if (std::exchange(look_at_tasks_again_, false)) {
        look_at_due_tasks();
      }
    });
  });
}

void EngineImpl::due_task(const store::TaskRow& row) {
  const std::int64_t now_ms = env_->now_ms();
  const TaskOptions options = options_of(row);
  Failure failure = timeout_failure("task '" + row.type + "' was not done in " +
                                    std::to_string(options.total_timeout_ms) + " ms");
  const bool is_orphaned = row.state == store::TaskState::kRunning && row.owner == 0;
  if (row.deadline_ms <= now_ms) {
    failure.is_final = true;
  } else if (row.state == store::TaskState::kDelayed) {
    store::ChangeTask change;
    change.task = row.key;
    change.state = row.state;
    change.attempt = row.attempt;
    change.now_ms = now_ms;
    change.next = store::TaskState::kReady;
    change.due_ms = row.deadline_ms;
    if (row.wait_ms > 0) {
      change.due_ms = std::min(change.due_ms, add_ms(now_ms, row.wait_ms));
    }
    change_task(std::move(change));
    return;
  } else if (row.state == store::TaskState::kReady) {
    failure = timeout_failure("nobody took task '" + row.type + "' from queue '" + row.queue +
                              "' in " + std::to_string(row.wait_ms) + " ms");
    failure.is_final = true;
  } else if (is_orphaned) {
    failure = timeout_failure("the worker of attempt " + std::to_string(row.attempt) +
                              " of task '" + row.type + "' died");
  } else if (row.attempt_ms > 0 && add_ms(row.started_ms, row.attempt_ms) <= now_ms) {
    failure = timeout_failure("attempt " + std::to_string(row.attempt) + " of task '" + row.type +
                              "' took longer than " + std::to_string(row.attempt_ms) + " ms");
  } else {
    failure =
        timeout_failure("attempt " + std::to_string(row.attempt) + " of task '" + row.type +
                        "' gave no sign of life for " + std::to_string(row.heartbeat_ms) + " ms");
  }
  std::optional<std::string> details;
  if (const auto running = running_tasks_.find({row.run, row.key, row.attempt});
      running != running_tasks_.end()) {
    running->second.attempt->stop();
    details = running->second.details;
  }
  fail_task(row, options, failure, failure.is_final || !is_orphaned, std::move(details));
}

}  // namespace pawl::engine

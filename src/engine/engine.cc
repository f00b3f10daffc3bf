// The engine, part one: its life, its alarm, and the calls of clients.
#include "engine/engine.h"

#include <unistd.h>

#include <algorithm>
#include <array>

#include "base/run_uuid.h"
#include "engine/engine_impl.h"
#include "engine/serves.h"
#include "engine/store_clock.h"

namespace pawl::engine {

namespace {

constexpr std::int64_t kBackOffFirstMs = 20;
constexpr std::int64_t kBackOffMaxMs = 5000;
// Of runs that are waited for: about a third of what the store can do.
constexpr std::size_t kLooksPerMs = 100;
constexpr std::size_t kLooksAtOnce = 1000;
// A hundred years: longer than any process, and no sum with it can be too large.
constexpr std::int64_t kLeaseMsMax = 36'500LL * 86'400'000;

std::string default_worker_name() {
  std::array<char, 256> host{};
  if (::gethostname(host.data(), host.size() - 1) != 0) {
    host[0] = '?';
  }
  return std::string(host.data()) + ":" + std::to_string(::getpid());
}

Error no_run(const std::string& id) {
  return make_error(ErrorCode::kNotFound, "there is no run with the id '" + id + "'");
}

Error to_error(store::SendOutcome outcome, const std::string& id, const std::string& promise) {
  switch (outcome) {
    case store::SendOutcome::kNoRun:
      return no_run(id);
    case store::SendOutcome::kClosed:
      return make_error(ErrorCode::kClosed, "run '" + id + "' has ended");
    case store::SendOutcome::kNoPromise:
      return make_error(ErrorCode::kNotFound,
                        "run '" + id + "' has no promise '" + promise + "' (yet)");
    case store::SendOutcome::kResolved:
      return make_error(ErrorCode::kAlreadyExists,
                        "promise '" + promise + "' of run '" + id +
                            "' is resolved, rejected or timed out already");
    case store::SendOutcome::kSent:
    case store::SendOutcome::kDuplicate:
      break;
  }
  return make_error(ErrorCode::kInvalidState, "unexpected outcome");
}

Error stopped() { return make_error(ErrorCode::kClosed, "the engine has been stopped"); }

}  // namespace

Result<std::unique_ptr<Engine>> Engine::create(EngineOptions options,
                                               std::shared_ptr<store::Store> store,
                                               std::shared_ptr<Environment> environment,
                                               std::vector<Definition> definitions,
                                               std::vector<ActivityType> activities) {
  std::set<std::string_view> seen;
  for (const Definition& definition : definitions) {
    if (definition.kind.empty() || (!definition.create && !definition.create_remote)) {
      return make_error(ErrorCode::kInvalidArgument, "a workflow needs a kind and code");
    }
    if (!seen.insert(definition.kind).second) {
      return make_error(ErrorCode::kInvalidArgument,
                        "workflow '" + definition.kind + "' is registered twice");
    }
  }
  seen.clear();
  for (const ActivityType& activity : activities) {
    if (activity.name.empty() || (!activity.body && !activity.remote)) {
      return make_error(ErrorCode::kInvalidArgument, "an activity needs a name and code");
    }
    if (!seen.insert(activity.name).second) {
      return make_error(ErrorCode::kInvalidArgument,
                        "activity '" + activity.name + "' is registered twice");
    }
  }
  if (options.lease_ms < 100) {
    return make_error(ErrorCode::kInvalidArgument, "a lease must be at least 100 ms long");
  }
  options.lease_ms = std::min(options.lease_ms, kLeaseMsMax);
  if (options.runs_at_once == 0) {
    return make_error(ErrorCode::kInvalidArgument, "runs_at_once must be at least 1");
  }
  PAWL_TRY_ASSIGN(const bool has_clock, follow_clock(*store, *environment));
  auto engine =
      std::make_unique<EngineImpl>(std::move(options), std::move(store), std::move(environment),
                                   std::move(definitions), std::move(activities));
  if (has_clock) {
    engine->keep_to_clock();
  }
  return std::unique_ptr<Engine>(std::move(engine));
}

EngineImpl::EngineImpl(EngineOptions options, std::shared_ptr<store::Store> store,
                       std::shared_ptr<Environment> environment,
                       std::vector<Definition> definitions, std::vector<ActivityType> activities)
    : options_(std::move(options)),
      store_(std::move(store)),
      env_(std::move(environment)),
      committer_(*store_, *env_) {
  for (Definition& definition : definitions) {
    kinds_.push_back(definition.kind);
    definitions_.emplace(definition.kind, std::move(definition));
  }
  for (ActivityType& activity : activities) {
    activity_names_.push_back(activity.name);
    activities_.emplace(activity.name, std::move(activity));
  }
  for (const QueueOptions& queue : options_.queues) {
    queues_.push_back({queue, 0, false, true});
  }
}

EngineImpl::~EngineImpl() { stop(); }

// --- Life ----------------------------------------------------------------------------------------

void EngineImpl::run_job_done() {
  if (--jobs_ == 0) {
    env_->post(Lane::kLoop, [this] { finish_stopping(); });
  }
}

store::WorkerInfo EngineImpl::worker_info(std::int64_t now_ms) const {
  store::WorkerInfo info;
  info.name = options_.worker_name.empty() ? default_worker_name() : options_.worker_name;
  info.now_ms = now_ms;
  info.expires_ms = now_ms + options_.lease_ms;
  Serves serves;
  for (const auto& [kind, definition] : definitions_) {
    serves.kinds.emplace_back(kind, definition.fingerprint);
  }
  serves.activities = activity_names_;
  for (const Queue& queue : queues_) {
    serves.queues.push_back(queue.options.name);
  }
  info.serves = write_serves(serves);
  return info;
}

Result<void> EngineImpl::start() {
  const std::int64_t now_ms = env_->now_ms();
  PAWL_TRY_ASSIGN(worker_, store_->add_worker(worker_info(now_ms)));
  PAWL_TRY_ASSIGN(const store::Sweep swept, store_->free_expired(worker_, now_ms));
  PAWL_TRY_ASSIGN(const std::vector<store::KnownWorker> workers, store_->read_workers());
  PAWL_TRY_ASSIGN(const store::News before, store_->read_news(worker_, store::kNever));
  store_->watch([this](store::Store::Change change) { on_change(change); });
  post(Lane::kLoop, [this, now_ms, swept, workers, next = before.next] {
    inbox_read_ = next;  // Claims bring what came before.
    lease_until_ms_ = now_ms + options_.lease_ms;
    beat_ms_ = now_ms + options_.lease_ms / 3;
    know_workers(workers);
    sweep_ms_ = swept.next_ms;
    swept_ms_ = now_ms;
    started_ = true;
    claim_soon();
    look_for_stuck();
    take_tasks();
    look_at_due_tasks();
    begin_retention();
    set_alarm();
  });
  return {};
}

void EngineImpl::begin_stop() {
  if (closed_.exchange(true)) {
    return;
  }
  store_->watch({});
  post(Lane::kLoop, [this] {
    stopping_ = true;
    env_->set_alarm(store::kNever, {});
    for (auto& [key, slot] : slots_) {
      slot.run->stop_attempts();
      if (slot.saga != nullptr && slot.saga->stop != nullptr) {
        slot.saga->stop->store(true);
      }
    }
    stop_tasks();
    run_job_done();  // What was counted for the engine itself.
  });
}

void EngineImpl::stop() {
  if (stop_called_.exchange(true)) {
    return;
  }
  begin_stop();
  env_->wait(stopped_, -1);
  store_->watch({});  // A wait() may have begun to watch meanwhile.
  if (worker_ != 0) {
    const Result<void> removed = store_->remove_worker(worker_, env_->now_ms());
    if (!removed) {
      report(removed.error(), "giving back what the worker holds");
    }
  }
}

void EngineImpl::abandon() {
  closed_ = true;
  stop_called_ = true;
  stopping_ = true;
  store_->watch({});
}

void EngineImpl::finish_stopping() {
  if (jobs_ != 0 || stopped_.is_set()) {
    return;  // A call has come at the last moment: this runs again behind it.
  }
  if (committer_.is_busy()) {
    // Its jobs are not counted: look again behind them.
    env_->post(Lane::kStore, [this] { env_->post(Lane::kLoop, [this] { finish_stopping(); }); });
    return;
  }
  for (auto& [id, callbacks] : waiters_) {
    for (const Callback<RunOutcome>& callback : callbacks) {
      callback(stopped());
    }
  }
  waiters_.clear();
  delayed_.clear();
  slots_.clear();
  parked_.clear();
  stopped_.set();
}

bool EngineImpl::is_known(std::string_view kind) const { return definitions_.contains(kind); }

void EngineImpl::report(const Error& error, std::string_view what) {
  if (options_.on_error) {
    options_.on_error(error, what);
  }
}

// When to try again after the store has failed: later each time, not for each of a batch.
std::int64_t EngineImpl::back_off() {
  const std::int64_t now_ms = env_->now_ms();
  if (store_delay_ms_ == 0 || now_ms >= store_retry_ms_) {
    store_delay_ms_ = std::clamp(store_delay_ms_ * 2, kBackOffFirstMs, kBackOffMaxMs);
    store_retry_ms_ = now_ms + store_delay_ms_;
  }
  return store_retry_ms_;
}

void EngineImpl::set_alarm() {
  if (stopping_) {
    return;
  }
  std::int64_t next =
      std::min({next_wake_ms_, task_due_ms_, sweep_ms_, beat_ms_, clock_ms_, retention_ms_});
  if (!deadlines_.empty()) {
    next = std::min(next, deadlines_.begin()->first);
  }
  if (!heartbeats_.empty()) {
    next = std::min(next, heartbeats_.begin()->first);
  }
  for (const Delayed& delayed : delayed_) {
    next = std::min(next, delayed.at_ms);
  }
  if (next == alarm_ms_) {
    return;
  }
  alarm_ms_ = next;
  env_->set_alarm(next, [this] {
    alarm_ms_ = store::kNever;
    on_alarm();
  });
}

void EngineImpl::on_alarm() {
  if (stopping_) {
    return;
  }
  const std::int64_t now_ms = env_->now_ms();
  std::vector<Delayed> due;
  std::erase_if(delayed_, [&](Delayed& delayed) {
    if (delayed.at_ms > now_ms) {
      return false;
    }
    due.push_back(std::move(delayed));
    return true;
  });
  for (Delayed& delayed : due) {
    delayed.job();
  }
  while (!deadlines_.empty() && deadlines_.begin()->first <= now_ms) {
    const store::RunKey key = deadlines_.begin()->second;
    deadlines_.erase(deadlines_.begin());
    if (Slot* slot = find(key)) {
      slot->deadline_ms = store::kNever;
      process(*slot);
    }
  }
  write_due_heartbeats();
  if (next_wake_ms_ <= now_ms) {
    next_wake_ms_ = store::kNever;
    claim_soon();
  }
  if (task_due_ms_ <= now_ms) {
    look_at_due_tasks();
  }
  if (sweep_ms_ <= now_ms) {
    sweep();
  }
  if (clock_ms_ <= now_ms) {
    look_at_clock();
  }
  if (retention_ms_ <= now_ms) {
    begin_retention();
  }
  if (beat_ms_ <= now_ms) {
    beat_ms_ = store::kNever;
    slots_.size() > parked_.size() || !running_tasks_.empty() ? beat() : rest();
  }
  set_alarm();
}

// Any thread. Many changes are looked at as one.
void EngineImpl::on_change(store::Store::Change change) {
  const bool is_end = change == store::Store::Change::kEnds;
  if (closed_ || (is_end ? ends_posted_ : change_posted_).exchange(true)) {
    return;
  }
  post(Lane::kLoop, [this, is_end] {
    (is_end ? ends_posted_ : change_posted_) = false;
    if (!is_end) {
      look_for_changes();
    } else if (!stopping_) {
      check_waiters();
    }
  });
}

void EngineImpl::look_for_changes() {
  if (stopping_) {
    return;
  }
  check_waiters();
  if (!started_) {
    return;  // A client: what is to be done is for others.
  }
  claim_soon();
  look_for_stuck();
  for (Queue& queue : queues_) {
    queue.may_have_more = true;
  }
  take_tasks();
  look_at_due_tasks();
  // It may be that a worker has come, and will have to be looked after.
  if (env_->now_ms() - swept_ms_ >= options_.lease_ms) {
    sweep();
  } else {
    sweep_ms_ = std::min(sweep_ms_, swept_ms_ + options_.lease_ms);
    set_alarm();
  }
  post(Lane::kReader, [this, worker = worker_, after = inbox_read_, read = begin_inbox_read()] {
    Result<store::News> news = store_->read_news(worker, after);
    post(Lane::kLoop, [this, read, news = std::move(news)]() mutable {
      if (!news) {
        report(news.error(), "reading what came from others");
        end_inbox_read(read, {});
        delayed_.push_back({back_off(), [this] { look_for_changes(); }});
        set_alarm();
        return;
      }
      inbox_read_ = std::max(inbox_read_, news->next);
      end_inbox_read(read, std::move(news->arrivals));
    });
  });
}

// Others have taken all that was held here.
void EngineImpl::declared_dead() { register_anew(false); }

// The connection was lost during a commit. If it has happened, runs and tasks may be held here that
// nobody here knows of, and runs that are known here may have less in their inbox, and more in
// their log. If it has not, it may happen yet, as long as the server has not noticed. Who removes
// the worker waits for that, and frees all it had. The same if the store may have less than was
// written to it, or has more: nothing that is remembered counts then.
void EngineImpl::outcome_unknown() {
  if (worker_ != 0) {
    register_anew(true);
  }
}

// Starts afresh under a new number. `gives_back`: what the old one has is not free yet.
void EngineImpl::register_anew(bool gives_back) {
  if (is_registering_ || stopping_) {
    return;
  }
  is_registering_ = true;
  std::vector<store::RunKey> doubtful;
  for (const auto& [key, slot] : slots_) {
    if (gives_back || slot.phase != Phase::kParked) {
      doubtful.push_back(key);
    }
  }
  for (const store::RunKey key : doubtful) {
    drop(key);
  }
  inbox_read_ = gives_back ? 0 : inbox_read_;
  give_up_tasks();
  const store::WorkerInfo info = worker_info(env_->now_ms());
  post(Lane::kStore, [this, info, gives_back, old = worker_] {
    const auto begin = [&]() -> Result<store::WorkerKey> {
      if (gives_back) {
        PAWL_TRY(store_->remove_worker(old, info.now_ms));
      }
      return store_->add_worker(info);
    };
    const Result<store::WorkerKey> worker = begin();
    post(Lane::kLoop, [this, info, gives_back, worker] {
      is_registering_ = false;
      if (!worker) {
        report(worker.error(), "registering the worker");
        delayed_.push_back({back_off(), [this, gives_back] { register_anew(gives_back); }});
        set_alarm();
        return;
      }
      worker_ = *worker;
      lease_until_ms_ = info.expires_ms;
      is_resting_ = false;
      beat();
      look_at_clock();
      sweep();
      claim_soon();
      claim_stuck();
      take_tasks();
      check_waiters();  // The commit may have been the end of a run.
    });
  });
}

void EngineImpl::sweep() {
  sweep_ms_ = store::kNever;
  swept_ms_ = env_->now_ms();
  post(Lane::kStore, [this, worker = worker_, now_ms = swept_ms_] {
    const Result<store::Sweep> swept = store_->free_expired(worker, now_ms);
    post(Lane::kLoop, [this, swept, now_ms] {
      if (!swept) {
        report(swept.error(), "looking for dead workers");
        sweep_ms_ = back_off();
      } else {
        // Its expiry may have been put off by then; not more often than makes sense.
        sweep_ms_ = swept->next_ms == store::kNever
                        ? store::kNever
                        : std::max(swept->next_ms, now_ms + options_.lease_ms / 10);
        if (swept->found_dead) {
          claim_soon();
          look_at_due_tasks();
        }
      }
      set_alarm();
    });
  });
}

Engine::Figures EngineImpl::figures() {
  Figures figures;
  figures.turns = counters_.turns;
  figures.batches = committer_.batches();
  figures.replays = counters_.replays;
  figures.evictions = counters_.evictions;
  figures.lost = counters_.lost;
  figures.operations = counters_.operations;
  figures.tasks = counters_.tasks;
  figures.removed = counters_.removed;
  figures.held = counters_.held;
  figures.cached = counters_.cached;
  figures.cache_bytes = counters_.cache_bytes;
  return figures;
}

// --- Clients -------------------------------------------------------------------------------------

void EngineImpl::start_run(StartRequest request, Callback<StartedRun> done) {
  if (closed_) {
    done(stopped());
    return;
  }
  if (request.kind.empty()) {
    done(make_error(ErrorCode::kInvalidArgument, "start: the kind of workflow is empty"));
    return;
  }
  if (request.input.size() > options_.payload_bytes_max) {
    done(make_error(ErrorCode::kLimitExceeded,
                    "start: an input of " + std::to_string(request.input.size()) +
                        " bytes; at most " + std::to_string(options_.payload_bytes_max) +
                        " are allowed"));
    return;
  }
  post(Lane::kLoop, [this, request = std::move(request), done = std::move(done)]() mutable {
    if (stopping_) {
      done(stopped());
      return;
    }
    store::StartRun start;
    start.now_ms = env_->now_ms();
    start.run.uuid = make_run_uuid(start.now_ms, env_->random(), env_->random());
    start.run.id = request.id.empty() ? start.run.uuid.to_string() : std::move(request.id);
    start.run.kind = request.kind;
    start.run.input = std::move(request.input);
    start.run.tags = std::move(request.tags);
    start.on_existing = request.on_existing;
    const auto definition = definitions_.find(request.kind);
    if (definition != definitions_.end()) {
      start.run.definition = definition->second.fingerprint;
      if (started_ && free_places() > 0) {
        beat();
        start.owner = worker_;
        ++coming_;
      }
    }
    if (!request.signal.empty()) {
      store::NewArrival signal;
      signal.kind = static_cast<std::uint8_t>(replay::EntryKind::kSignalReceived);
      signal.name = std::move(request.signal);
      signal.has_payload = true;
      signal.payload = std::move(request.signal_payload);
      signal.extra = std::move(request.signal_extra);
      start.signal = std::move(signal);
      start.dedupe = std::move(request.signal_dedupe);
    }
    submit<store::StartRun>(
        std::move(start), [this, done](Result<void> result, store::StartRun& written) {
          coming_ -= written.owner != 0 ? 1 : 0;
          if (!result) {
            done(std::move(result).error());
            use_places();
            return;
          }
          if (written.outcome == store::StartOutcome::kRefused) {
            done(make_error(ErrorCode::kAlreadyExists,
                            "there is a run with the id '" + written.row.id + "' already (" +
                                std::string(store::status_name(written.row.status)) +
                                (written.row.kind == written.run.kind
                                     ? ""
                                     : ", of the kind '" + written.row.kind + "'") +
                                ")"));
            use_places();
            return;
          }
          touched(written.others);
          const store::RunRow& row = written.row;
          StartedRun started{row.key, row.id, row.number, row.uuid,
                             written.outcome == store::StartOutcome::kStarted};
          if (written.outcome == store::StartOutcome::kStarted && row.owner != 0 &&
              row.owner == worker_) {
            begin_run(written);
          } else if (written.arrival != 0 || row.owner == 0) {
            woken({row.key});
          }
          done(std::move(started));
          use_places();
        });
  });
}

// A run that was claimed by its start: nothing has to be read.
void EngineImpl::begin_run(store::StartRun& written) {
  const store::RunRow& row = written.row;
  Slot& slot = slots_[row.key];
  slot.run = std::make_shared<Run>(row, &definitions_.find(row.kind)->second);
  slots_by_id_[row.id] = row.key;
  if (written.arrival != 0 && written.signal) {
    store::Arrival arrival;
    static_cast<store::NewArrival&>(arrival) = std::move(*written.signal);
    arrival.key = written.arrival;
    arrival.run = row.key;
    slot.run->put(std::move(arrival));
  }
  slot.phase = Phase::kIdle;
  if (const Result<void> loaded = slot.run->load(replay::Log(), written.run.input); !loaded) {
    commit(slot, slot.run->block(env_->now_ms(), loaded.error().message));
    return;
  }
  process(slot);
}

void EngineImpl::signal(std::string run_id, std::string name, std::string payload,
                        std::string extra, std::string dedupe, Callback<bool> done) {
  store::Send send;
  send.run_id = std::move(run_id);
  send.arrival.kind = static_cast<std::uint8_t>(replay::EntryKind::kSignalReceived);
  send.arrival.name = std::move(name);
  send.arrival.has_payload = true;
  send.arrival.payload = std::move(payload);
  send.arrival.extra = std::move(extra);
  send.dedupe = std::move(dedupe);
  this->send(std::move(send), std::move(done));
}

void EngineImpl::resolve(std::string run_id, std::string promise, std::string payload,
                         Callback<void> done) {
  store::Send send;
  send.run_id = std::move(run_id);
  send.arrival.kind = static_cast<std::uint8_t>(replay::EntryKind::kPromiseResolved);
  send.arrival.id = std::move(promise);
  send.arrival.has_payload = true;
  send.arrival.payload = std::move(payload);
  this->send(std::move(send), [done = std::move(done)](const Result<bool>& sent) {
    done(sent ? Result<void>() : Result<void>(sent.error()));
  });
}

void EngineImpl::reject(std::string run_id, std::string promise, std::string failure,
                        Callback<void> done) {
  store::Send send;
  send.run_id = std::move(run_id);
  send.arrival.kind = static_cast<std::uint8_t>(replay::EntryKind::kPromiseRejected);
  send.arrival.id = std::move(promise);
  send.arrival.has_payload = true;
  send.arrival.payload = std::move(failure);
  this->send(std::move(send), [done = std::move(done)](const Result<bool>& sent) {
    done(sent ? Result<void>() : Result<void>(sent.error()));
  });
}

void EngineImpl::cancel(std::string run_id, std::string reason, Callback<void> done) {
  store::Send send;
  send.run_id = std::move(run_id);
  send.arrival.kind = static_cast<std::uint8_t>(replay::EntryKind::kCancellationRequested);
  send.arrival.has_payload = !reason.empty();
  send.arrival.payload = std::move(reason);
  this->send(std::move(send), [done = std::move(done)](const Result<bool>& sent) {
    done(sent ? Result<void>() : Result<void>(sent.error()));
  });
}

void EngineImpl::send(store::Send send, Callback<bool> done) {
  if (closed_) {
    done(stopped());
    return;
  }
  if (send.arrival.payload.size() > options_.payload_bytes_max) {
    done(make_error(ErrorCode::kLimitExceeded,
                    "a payload of " + std::to_string(send.arrival.payload.size()) +
                        " bytes; at most " + std::to_string(options_.payload_bytes_max) +
                        " are allowed"));
    return;
  }
  post(Lane::kLoop, [this, send = std::move(send), done = std::move(done)]() mutable {
    if (stopping_) {
      done(stopped());
      return;
    }
    send.now_ms = env_->now_ms();
    const auto known = slots_by_id_.find(send.run_id);
    if (known != slots_by_id_.end() && started_ && free_places() > 0 &&
        find(known->second)->phase == Phase::kParked) {
      beat();
      send.claim_for = worker_;  // It is here: no need for another commit to take it.
      send.claim_as = fingerprint_of(find(known->second)->run->row().kind);
      ++coming_;
    }
    submit<store::Send>(std::move(send), [this, done](Result<void> result, store::Send& sent) {
      coming_ -= sent.claim_for != 0 ? 1 : 0;
      answer_send(std::move(result), sent, done);
      use_places();
    });
  });
}

void EngineImpl::answer_send(Result<void> result, store::Send& send, const Callback<bool>& done) {
  if (!result) {
    done(std::move(result).error());
    return;
  }
  if (send.outcome == store::SendOutcome::kDuplicate) {
    done(false);
    return;
  }
  if (send.outcome != store::SendOutcome::kSent) {
    done(to_error(send.outcome, send.run_id, send.arrival.id));
    return;
  }
  if (send.claim) {
    take_over(*send.claim);
  } else if (send.owner != 0 && send.owner == worker_) {
    store::Arrival arrival;
    static_cast<store::NewArrival&>(arrival) = std::move(send.arrival);
    arrival.key = send.key;
    arrival.run = send.target;
    deliver(send.target, std::move(arrival));
  } else if (send.owner == 0) {
    claim_soon();
  }
  done(true);
}

void EngineImpl::terminate(std::string run_id, std::string reason, Callback<void> done) {
  if (closed_) {
    done(stopped());
    return;
  }
  Failure failure;
  failure.type = "Terminated";
  failure.message = reason.empty() ? "terminated" : std::move(reason);
  store::Terminate terminate;
  terminate.run_id = std::move(run_id);
  terminate.payload = encode_failure(failure);
  post(Lane::kLoop, [this, terminate = std::move(terminate), done = std::move(done)]() mutable {
    if (stopping_) {
      done(stopped());
      return;
    }
    terminate.now_ms = env_->now_ms();
    submit<store::Terminate>(std::move(terminate),
                             [this, done](Result<void> result, store::Terminate& written) {
                               if (!result) {
                                 done(std::move(result).error());
                                 return;
                               }
                               if (written.outcome != store::SendOutcome::kSent) {
                                 done(to_error(written.outcome, written.run_id, ""));
                                 return;
                               }
                               written.others.closed.push_back(written.target);
                               touched(written.others);
                               done({});
                             });
  });
}

// Does to a run what an operation says, and answers with what `then` makes of it.
template <class Op, class T, class Then>
void EngineImpl::act(Op op, Callback<T> done, Then then) {
  if (closed_) {
    done(stopped());
    return;
  }
  post(Lane::kLoop, [this, op = std::move(op), done = std::move(done), then]() mutable {
    if (stopping_) {
      done(stopped());
      return;
    }
    op.now_ms = env_->now_ms();
    submit<Op>(std::move(op), [done, then](Result<void> result, Op& written) {
      if (!result) {
        done(std::move(result).error());
      } else if (written.outcome != store::SendOutcome::kSent) {
        done(to_error(written.outcome, written.run_id, ""));
      } else if constexpr (std::is_void_v<T>) {
        then(written);
        done({});
      } else {
        done(then(written));
      }
    });
  });
}

void EngineImpl::resume(std::string run_id, Callback<void> done) {
  store::Resume resume;
  resume.run_id = std::move(run_id);
  act(std::move(resume), std::move(done), [this](const store::Resume&) { claim_soon(); });
}

void EngineImpl::pause(std::string run_id, bool is_paused, Callback<bool> done) {
  store::Pause pause;
  pause.run_id = std::move(run_id);
  pause.is_paused = is_paused;
  act(std::move(pause), std::move(done), [this](const store::Pause& written) {
    Slot* slot = find_held(written.target);
    if (slot != nullptr) {
      slot->is_paused = written.is_paused;
      process(*slot);
    } else if (!written.is_paused) {
      claim_soon();
    }
    return written.changed;
  });
}

void EngineImpl::hurry(std::string run_id, Callback<std::int64_t> done) {
  store::Hurry hurry;
  hurry.run_id = std::move(run_id);
  act(std::move(hurry), std::move(done), [this](const store::Hurry& written) {
    if (started_ && written.attempts > 0) {
      claim_soon();
      look_at_due_tasks();
      for (Queue& queue : queues_) {
        queue.may_have_more = true;
      }
      take_tasks();
    }
    return written.attempts;
  });
}

void EngineImpl::remove(std::string run_id, Callback<void> done) {
  if (closed_) {
    done(stopped());
    return;
  }
  post(Lane::kLoop, [this, run_id = std::move(run_id), done = std::move(done)] {
    if (stopping_) {
      done(stopped());
      return;
    }
    post(Lane::kReader, [this, run_id, done] {
      const Result<std::optional<store::RunRow>> row = store_->find_run(run_id, std::nullopt);
      post(Lane::kLoop, [this, run_id, done, row] {
        if (!row || !*row) {
          done(row ? no_run(run_id) : row.error());
          return;
        }
        store::DeleteRun remove;
        remove.run = (*row)->key;
        submit<store::DeleteRun>(
            std::move(remove),
            [run_id, done](const Result<void>& result, const store::DeleteRun& written) {
              using Outcome = store::DeleteRun::Outcome;
              if (!result) {
                done(result.error());
              } else if (written.outcome == Outcome::kDeleted) {
                done({});
              } else if (written.outcome == Outcome::kNoRun) {
                done(no_run(run_id));
              } else {
                done(make_error(ErrorCode::kInvalidState,
                                "run '" + run_id + "' " +
                                    (written.outcome == Outcome::kOpen
                                         ? "has not ended; cancel or terminate it first"
                                         : "stays as long as its parent or a child is open")));
              }
            });
      });
    });
  });
}

// --- Waiting for the end -------------------------------------------------------------------------

void EngineImpl::wait(std::string run_id, Callback<RunOutcome> done) {
  if (closed_) {
    done(stopped());
    return;
  }
  post(Lane::kLoop, [this, run_id = std::move(run_id), done = std::move(done)] {
    if (stopping_) {
      done(stopped());
      return;
    }
    if (!started_ && !is_watching_) {
      // Whoever works tells of the end of the run; one that works watches from its start.
      is_watching_ = true;
      store_->watch([this](store::Store::Change change) { on_change(change); });
    }
    // Registered before looking, so that an end in between is not missed. One that is held here
    // ends here, or its loss is noticed.
    waiters_[run_id].push_back(done);
    const auto known = slots_by_id_.find(run_id);
    if (known == slots_by_id_.end() || find_held(known->second) == nullptr) {
      check_waiter(run_id);
    }
  });
}

void EngineImpl::tell_waiters(const std::string& id, const Result<RunOutcome>& outcome) {
  const auto found = waiters_.find(id);
  if (found == waiters_.end()) {
    return;
  }
  const std::vector<Callback<RunOutcome>> callbacks = std::move(found->second);
  waiters_.erase(found);
  for (const Callback<RunOutcome>& callback : callbacks) {
    callback(outcome);
  }
}

// Those of runs that are held here are told when the runs end. Who waits for many runs does not
// look at all of them whenever another process has done something: time for others is left between.
void EngineImpl::check_waiters(bool held_too) {
  if (waiters_.empty()) {
    return;
  }
  check_held_too_ = check_held_too_ || held_too;
  if (is_check_delayed_) {
    return;
  }
  const std::int64_t now_ms = env_->now_ms();
  const auto pause_ms = static_cast<std::int64_t>(waiters_.size() / kLooksPerMs);
  if (now_ms >= checked_ms_ && now_ms - checked_ms_ < pause_ms) {
    is_check_delayed_ = true;
    delayed_.push_back({checked_ms_ + pause_ms, [this] {
                          is_check_delayed_ = false;
                          check_waiters(false);
                        }});
    set_alarm();
    return;
  }
  checked_ms_ = now_ms;
  const bool with_held = std::exchange(check_held_too_, false);
  for (const auto& [id, callbacks] : waiters_) {
    const auto known = slots_by_id_.find(id);
    if (with_held || known == slots_by_id_.end() || find_held(known->second) == nullptr) {
      to_look_for_.insert(id);
    }
  }
  look_for_ends();
}

void EngineImpl::check_waiter(const std::string& id) {
  if (waiters_.contains(id)) {
    to_look_for_.insert(id);
    look_for_ends();
  }
}

// What comes while a look is under way goes with the next one. They take turns in order of their
// ids, some at a time, so that nobody waits long for others or for the reader.
void EngineImpl::look_for_ends() {
  if (is_looking_for_ends_ || to_look_for_.empty()) {
    return;
  }
  is_looking_for_ends_ = true;
  std::vector<std::string> ids;
  auto next = to_look_for_.upper_bound(looked_for_last_);
  while (ids.size() < kLooksAtOnce && !to_look_for_.empty()) {
    if (next == to_look_for_.end()) {
      next = to_look_for_.begin();
    }
    ids.push_back(*next);
    next = to_look_for_.erase(next);
  }
  looked_for_last_ = ids.back();
  post(Lane::kReader, [this, ids = std::move(ids)] {
    std::vector<std::pair<std::string, Result<RunEnd>>> found;
    found.reserve(ids.size());
    for (const std::string& id : ids) {
      found.emplace_back(id, read_end(id));
    }
    post(Lane::kLoop, [this, found = std::move(found)] {
      for (const auto& [id, end] : found) {
        if (end && end->outcome) {
          tell_waiters(id, *end->outcome);
        } else if (end && end->blocked) {
          // Unless it is about to be tried here.
          if (!started_ || has_tried_all_) {
            report_blocked(*end->blocked);
          }
        } else if (!end && !may_go_away(end.error().code)) {
          tell_waiters(id, end.error());
        } else if (!end) {
          report(end.error(), "looking for the end of run '" + id + "'");
          delayed_.push_back({back_off(), [this, again = id] { check_waiter(again); }});
          set_alarm();
        }
      }
      is_looking_for_ends_ = false;
      look_for_ends();
    });
  });
}

Result<EngineImpl::RunEnd> EngineImpl::read_end(const std::string& id) {
  PAWL_TRY_ASSIGN(const std::optional<store::RunRow> row, store_->find_run(id, std::nullopt));
  if (!row) {
    return no_run(id);
  }
  RunEnd end;
  if (row->status == store::RunStatus::kBlocked) {
    PAWL_TRY_ASSIGN(std::string reason, store_->read_reason(row->key));
    end.blocked = {row->key, row->id, row->kind, std::move(reason)};
    return end;
  }
  if (!store::is_closed(row->status) || row->status == store::RunStatus::kRecurred) {
    return end;
  }
  RunOutcome& outcome = end.outcome.emplace();
  outcome.status = row->status;
  PAWL_TRY(store_->read_last(row->key, [&](const replay::Entry& entry) -> Result<void> {
    outcome.payload = entry.payload;
    return {};
  }));
  return end;
}

}  // namespace pawl::engine

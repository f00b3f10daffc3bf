#include "store/postgres/side_sets.h"

#include "base/check.h"
#include "store/postgres/records.h"

namespace pawl::store::pg {

namespace {

constexpr Statement kFindPromise{
    "find_promise",
    "SELECT resolved FROM {schema}.pawl_promise WHERE ns = $1 AND run = $2 AND name = $3"};
constexpr Statement kFindDedupe{
    "find_dedupe", "SELECT 1 FROM {schema}.pawl_dedupe WHERE ns = $1 AND chain = $2 AND id = $3"};
constexpr Statement kRemoveCompensations{
    "remove_compensations", "DELETE FROM {schema}.pawl_compensation WHERE ns = $1 AND run = $2"};
constexpr Statement kHurryCompensations{
    "hurry_compensations",
    "UPDATE {schema}.pawl_compensation SET due = $3 WHERE ns = $1 AND run = $2 AND state = 0 AND "
    "due > $3"};
constexpr Statement kAddWorker{
    "add_worker",
    "INSERT INTO {schema}.pawl_worker(ns, key, expires, name, serves) VALUES($1, "
    "nextval('{schema}.pawl_worker_key'), $2, $3, $4) RETURNING key"};
// A claim needs its worker to stay until it is committed: whoever declares a worker dead frees what
// he can see.
constexpr Statement kHoldWorker{
    "hold_worker", "SELECT 1 FROM {schema}.pawl_worker WHERE ns = $1 AND key = $2 FOR KEY SHARE"};
constexpr Statement kExtendWorker{
    "extend_worker", "UPDATE {schema}.pawl_worker SET expires = $3 WHERE ns = $1 AND key = $2"};
// The same, refused if there is no such worker (any more).
constexpr Statement kExtendTrusted{
    "extend_trusted_worker",
    "WITH extended AS (UPDATE {schema}.pawl_worker SET expires = $3 WHERE ns = $1 AND key = $2 "
    "RETURNING 1) SELECT 1 / count(*) FROM extended"};
constexpr Statement kRemoveWorker{"remove_worker",
                                  "DELETE FROM {schema}.pawl_worker WHERE ns = $1 AND key = $2"};
constexpr Statement kReadWorkers{
    "read_workers", "SELECT key, expires FROM {schema}.pawl_worker WHERE ns = $1 ORDER BY key"};

}  // namespace

Result<void> PromiseSet::open(RunKey run, std::string_view name) {
  if (const auto found = states_.find({run, std::string(name)});
      found != states_.end() && found->second == PromiseState::kNone) {
    found->second = PromiseState::kOpen;
  }
  session_.write(Write::kOpenPromise, run).integer(run).text(name);
  return {};
}

Result<PromiseState> PromiseSet::find(RunKey run, std::string_view name) {
  const std::pair<RunKey, std::string> key(run, name);
  if (const auto found = states_.find(key); found != states_.end()) {
    return found->second;
  }
  const Call& call = session_.query(kFindPromise).integer(session_.ns()).integer(run).text(name);
  PAWL_TRY(session_.run());
  PromiseState state = PromiseState::kNone;
  if (!call.rows().empty()) {
    state = call.rows()[0].as_bool(0) ? PromiseState::kResolved : PromiseState::kOpen;
  }
  states_[key] = state;
  return state;
}

Result<void> PromiseSet::resolve(RunKey run, std::string_view name) {
  if (const auto found = states_.find({run, std::string(name)});
      found != states_.end() && found->second == PromiseState::kOpen) {
    found->second = PromiseState::kResolved;
  }
  session_.write(Write::kResolvePromise, run).integer(run).text(name);
  return {};
}

Result<void> PromiseSet::remove_all(RunKey run) {
  states_.clear();
  session_.write(Write::kRemovePromises, run).integer(run);
  return {};
}

Result<bool> DedupeSet::has(RunKey chain, std::string_view id) {
  const Call& call = session_.query(kFindDedupe).integer(session_.ns()).integer(chain).text(id);
  PAWL_TRY(session_.run());
  return !call.rows().empty();
}

// Under the run's lock, like everything of it: two cannot both find that it is new.
Result<void> DedupeSet::add(RunKey chain, std::string_view id) {
  session_.write(Write::kAddDedupe, chain).integer(chain).text(id);
  return {};
}

Result<void> DedupeSet::remove_all(RunKey chain) {
  session_.write(Write::kRemoveDedupes, chain).integer(chain);
  return {};
}

Result<void> CompensationSet::add(RunKey run, const CompensationRow& row) {
  session_.write(Write::kAddCompensation, run)
      .integer(run)
      .integer(row.position)
      .integer(static_cast<std::int64_t>(row.state))
      .integer(row.attempt)
      .integer(row.due_ms)
      .text(row.name)
      .bytes_or_null(row.outcome)
      .payload(row.has_input, row.input);
  return {};
}

Result<void> CompensationSet::change(RunKey run, const CompensationChange& change) {
  session_.write(Write::kChangeCompensation, run)
      .integer(run)
      .integer(change.position)
      .integer(static_cast<std::int64_t>(change.state))
      .integer(change.attempt)
      .integer(change.due_ms)
      .bytes_or_null(change.outcome);
  return {};
}

Result<void> CompensationSet::remove_all(RunKey run) {
  session_.query(kRemoveCompensations).integer(session_.ns()).integer(run);
  return {};
}

Result<std::int64_t> CompensationSet::hurry(RunKey run, std::int64_t now_ms) {
  const Call& call =
      session_.query(kHurryCompensations).integer(session_.ns()).integer(run).integer(now_ms);
  PAWL_TRY(session_.run());
  return call.rows().affected();
}

Result<WorkerKey> WorkerSet::add(const WorkerInfo& info) {
  const Call& call = session_.query(kAddWorker)
                         .integer(session_.ns())
                         .moment(info.expires_ms)
                         .text(info.name)
                         .text_or_null(info.serves);
  PAWL_TRY(session_.run());
  return call.rows()[0].as_integer(0);
}

Result<void> WorkerSet::mark_locked(WorkerKey /*worker*/) {
  PAWL_CHECK(false);  // There are no such locks here.
  return {};
}

Result<bool> WorkerSet::has(WorkerKey worker) {
  if (!alive_.contains(worker) && is_trusted(worker)) {
    session_.assume_alive(worker);
    alive_.insert(worker);
  }
  if (!alive_.contains(worker)) {
    const Call& call = session_.query(kHoldWorker).integer(session_.ns()).integer(worker);
    PAWL_TRY(session_.run());
    if (call.rows().empty()) {
      return false;
    }
    alive_.insert(worker);
  }
  return true;
}

Result<bool> WorkerSet::extend(WorkerKey worker, std::int64_t expires_ms) {
  if (is_trusted(worker)) {
    session_.query(kExtendTrusted).integer(session_.ns()).integer(worker).moment(expires_ms);
    return true;
  }
  const Call& call =
      session_.query(kExtendWorker).integer(session_.ns()).integer(worker).moment(expires_ms);
  PAWL_TRY(session_.run());
  return call.rows().affected() > 0;
}

// One by one, in order of their keys.
Result<void> WorkerSet::remove(std::span<const WorkerKey> workers) {
  for (const WorkerKey worker : workers) {
    alive_.erase(worker);
    session_.query(kRemoveWorker).integer(session_.ns()).integer(worker);
  }
  return {};
}

Result<std::vector<WorkerLease>> WorkerSet::read() {
  const Call& call = session_.query(kReadWorkers).integer(session_.ns());
  PAWL_TRY(session_.run());
  std::vector<WorkerLease> workers;
  for (const Row row : call.rows()) {
    workers.push_back({row.as_integer(0), row.as_moment(1), false});
  }
  return workers;
}

Result<WorkersMark> WorkerSet::mark() {
  const Call& call = session_.query(kWorkersMark).integer(session_.ns());
  PAWL_TRY(session_.run());
  return read_mark(call);
}

}  // namespace pawl::store::pg

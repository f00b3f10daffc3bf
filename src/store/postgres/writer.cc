#include "store/postgres/writer.h"

#include <algorithm>
#include <utility>

#include <libpq-fe.h>

#include "store/operations/size_check.h"
#include "store/postgres/connection_impl.h"
#include "store/postgres/postgres_database.h"
#include "store/postgres/prefetch.h"

namespace pawl::store::pg {

namespace {

// How often something that others change at the same moment is tried again before that is said.
constexpr int kAttemptsMax = 5;
// How often all is locked anew because others came first, before the rest is locked as it comes.
constexpr int kLooksMax = 10;

constexpr Statement kSavepoint{"savepoint", "SAVEPOINT pawl_turn"};
constexpr Statement kUndo{"undo", "ROLLBACK TO SAVEPOINT pawl_turn"};
constexpr Statement kKeep{"keep", "RELEASE SAVEPOINT pawl_turn"};
// The history that the server goes on with, as far as commits may be missing in it that were
// answered: a standby that is promoted begins another one, and so does a restart where the disk is
// not waited for. Nothing while it follows another server.
constexpr Statement kReadHistory{
    "",
    "SELECT CASE WHEN pg_is_in_recovery() THEN '' ELSE "
    "substr(pg_walfile_name(pg_current_wal_lsn()), "
    "1, 8) || CASE current_setting('synchronous_commit') WHEN 'off' THEN ' ' || "
    "pg_postmaster_start_time() ELSE '' END END"};
// Who adds a worker and who changes the seal wait for each other.
#define PAWL_PG_SEAL "SELECT seal FROM {schema}.pawl_namespace WHERE key = $1"
constexpr Statement kLookAtSeal{"look_at_seal", PAWL_PG_SEAL};
constexpr Statement kReadSeal{"read_seal", PAWL_PG_SEAL " FOR SHARE"};
constexpr Statement kLockSeal{"lock_seal", PAWL_PG_SEAL " FOR UPDATE"};
constexpr Statement kWriteSeal{"write_seal",
                               "UPDATE {schema}.pawl_namespace SET seal = $2 WHERE key = $1"};

bool needs_what_was_written(std::span<const Op> ops) {
  return std::ranges::any_of(ops,
                             [](const Op& op) { return !std::holds_alternative<Heartbeat>(op); });
}

}  // namespace

Writer::Writer(Connection& connection, std::int64_t ns, std::string channel, std::string sender)
    : connection_(connection),
      channel_(std::move(channel)),
      sender_(std::move(sender)),
      session_(connection, ns),
      runs_(session_),
      logs_(session_),
      inboxes_(session_, runs_),
      tasks_(session_),
      promises_(session_),
      dedupes_(session_),
      compensations_(session_),
      workers_(session_, own_workers_),
      operations_(
          {*this, runs_, logs_, inboxes_, tasks_, promises_, dedupes_, compensations_, workers_},
          connection.options().payload_bytes_max) {}

Result<void> Writer::attempt(const std::function<Result<void>()>& what_to_do,
                             std::span<const Op> ops, bool trusts) {
  PAWL_TRY(meet_server());
  if (may_have_less_ && needs_what_was_written(ops)) {
    may_have_less_ = false;
    runs_.forget_known();
    return make_error(ErrorCode::kUnknownOutcome,
                      "the database at '" + connection_.place() +
                          "' goes on without having waited for its disk or for a standby, and may "
                          "have less than was committed; nothing of this was written, and what it "
                          "has is read again");
  }
  Result<void> done = look_ahead(ops, trusts);
  if (done.has_value()) {
    done = what_to_do();
  }
  if (done.has_value()) {
    done = session_.commit(notice());
  }
  if (!done.has_value()) {
    session_.roll_back();
    runs_.forget_known();
    if (session_.is_refuted()) {
      runs_.look_for_ids();
    }
    return done;
  }
  runs_.committed(own_workers_);
  if (tells_ends_later()) {
    tell_ends_();
  }
  return {};
}

void Writer::begin(bool trusts) {
  trusts_ = trusts;
  session_.begin();
  runs_.begin(trusts);
  logs_.begin(!trusts);
  inboxes_.begin();
  tasks_.begin();
  promises_.begin();
  workers_.begin(trusts);
  operations_.begin();
  operations_.expect_no_concern();
}

// What is missing is not locked besides what is: that would be out of order.
Result<void> Writer::look_ahead(std::span<const Op> ops, bool trusts) {
  for (int i = 1;; ++i) {
    begin(trusts);
    PAWL_TRY_ASSIGN(const bool is_complete,
                    prefetch(ops, {session_, runs_, inboxes_, tasks_, workers_}));
    if (is_complete || i == kLooksMax) {
      return {};
    }
    session_.roll_back();
  }
}

// What the transaction itself tells others.
std::optional<Notice> Writer::notice() const {
  if (operations_.concerns_others()) {
    return Notice{channel_, sender_, {}};
  }
  if (operations_.has_ended_runs() && !tells_ends_later()) {
    return Notice{channel_, sender_, kEndsNotice};
  }
  return std::nullopt;
}

bool Writer::tells_ends_later() const {
  return operations_.has_ended_runs() && !operations_.concerns_others() && tell_ends_;
}

Result<void> Writer::meet_server() {
  PAWL_TRY(connection_.ensure());
  if (connects_ == connection_.counters().connects) {
    return {};
  }
  Batch look(connection_, Effect::kReads);
  const Call& call = look.add(kReadHistory);
  Result<void> read = look.run();
  if (!read && !connection_.is_open()) {
    return read;
  }
  connects_ = connection_.counters().connects;
  // A server that has crashed gives out again what a transaction drew that it did not commit.
  runs_.forget_spare_keys();
  inboxes_.forget_spare_keys();
  // Relatives of PostgreSQL may not be able to say; they do not lose commits.
  std::string history = read ? call.rows()[0].as_string(0) : std::string();
  if (!history.empty()) {
    may_have_less_ |= !history_.empty() && history != history_ && !own_workers_.empty();
    history_ = std::move(history);
  }
  return {};
}

Result<void> Writer::transact(const std::function<Result<void>()>& what_to_do,
                              std::span<const Op> ops) {
  Result<void> done = attempt(what_to_do, ops, true);
  for (int i = 1; i < kAttemptsMax && !done.has_value() && session_.is_refuted(); ++i) {
    done = attempt(what_to_do, ops, false);
  }
  return done;
}

Result<void> Writer::apply(std::span<Op> ops) {
  PAWL_TRY(check_sizes(ops, connection_.options().payload_bytes_max));
  connection_.set_hurried(ops.size() == 1);  // Little is going on: one run waits for this.
  Result<void> done = transact([&] { return operations_.apply(ops); }, ops);
  connection_.set_hurried(false);
  return done;
}

Result<bool> Writer::change_seal(std::string_view expected, std::string_view next) {
  bool changed = false;
  PAWL_TRY(transact([&]() -> Result<void> {
    PAWL_TRY_ASSIGN(changed, operations_.change_seal(expected, next));
    return {};
  }));
  return changed;
}

Result<void> Writer::carry(std::string_view seal, std::span<CarryRun> runs) {
  PAWL_TRY(check_sizes(runs, connection_.options().payload_bytes_max));
  return transact([&] { return operations_.carry(seal, runs); });
}

Result<void> Writer::append(std::string_view seal, const CarryLog& log) {
  PAWL_TRY(check_sizes(log, connection_.options().payload_bytes_max));
  return transact([&] { return operations_.append(seal, log); });
}

Result<void> Writer::link(std::string_view seal, std::span<const CarryParent> links) {
  return transact([&] { return operations_.link(seal, links); });
}

Result<std::string> Writer::read_seal(Seals wanted) {
  if (wanted == Seals::kToLook && trusts_) {
    session_.assume_open();
    return std::string();
  }
  const Statement& statement = wanted == Seals::kToLook   ? kLookAtSeal
                               : wanted == Seals::kToKeep ? kReadSeal
                                                          : kLockSeal;
  const Call& call = session_.query(statement).integer(session_.ns());
  PAWL_TRY(session_.run());
  return call.rows().empty() ? std::string() : call.rows()[0].as_string(0);
}

Result<void> Writer::write_seal(std::string_view seal) {
  session_.query(kWriteSeal).integer(session_.ns()).text_or_null(seal);
  return session_.run();
}

Result<WorkerKey> Writer::add_worker(const WorkerInfo& info) {
  WorkerKey worker = 0;
  PAWL_TRY(transact([&]() -> Result<void> {
    PAWL_TRY_ASSIGN(worker, operations_.add_worker(info, [](WorkerKey) { return false; }));
    return {};
  }));
  own_workers_.insert(worker);
  operations_.own(worker);
  return worker;
}

Result<void> Writer::remove_worker(WorkerKey worker, std::int64_t now_ms) {
  const auto is_it = [&](const WorkerLease& row) { return row.key == worker; };
  PAWL_TRY(transact([&] { return operations_.remove_workers(is_it, now_ms); }));
  own_workers_.erase(worker);
  operations_.disown(worker);
  return {};
}

Result<Sweep> Writer::free_expired(WorkerKey self, std::int64_t now_ms) {
  Sweep sweep;
  const auto is_dead = [&](const WorkerLease& worker) {
    const bool dead = worker.key != self && worker.expires_ms <= now_ms;
    sweep.found_dead = sweep.found_dead || dead;
    return dead;
  };
  PAWL_TRY(transact([&]() -> Result<void> {
    sweep = {};
    PAWL_TRY(operations_.remove_workers(is_dead, now_ms));
    PAWL_TRY_ASSIGN(const std::vector<WorkerLease> left, workers_.read());
    for (const WorkerLease& worker : left) {
      if (worker.key != self) {
        sweep.next_ms = std::min(sweep.next_ms, worker.expires_ms);
      }
    }
    return {};
  }));
  return sweep;
}

// Deleting nothing costs no round trip.
Result<bool> Writer::has_rests(RunKey /*run*/, RunKey /*chain*/) { return true; }

Result<void> Writer::expect_claims(std::span<const RunKey> runs, std::int64_t now_ms) {
  return inboxes_.load(runs, now_ms);
}

Result<void> Writer::begin_part() {
  session_.query(kSavepoint);
  return session_.run();
}

Result<void> Writer::undo_part() {
  session_.query(kUndo);
  session_.query(kKeep);
  PAWL_TRY(session_.run());
  runs_.clear();
  inboxes_.begin();
  tasks_.begin();
  promises_.begin();
  return {};
}

Result<void> Writer::keep_part() {
  session_.query(kKeep);
  return {};
}

Result<Result<void>> Writer::call(const Inside& function) {
  pg_conn* const native = connection_.impl().native;
  PostgresDatabase database(native);
  Result<void> done = function(database);
  const PGTransactionStatusType status = PQtransactionStatus(native);
  if (status == PQTRANS_INTRANS || status == PQTRANS_INERROR) {
    if (done.has_value() && status == PQTRANS_INERROR) {
      return Result<void>(make_error(ErrorCode::kInvalidState,
                                     "a statement has failed in the transaction and was ignored"));
    }
    return done;
  }
  return make_error(
      done.has_value() && status == PQTRANS_IDLE ? ErrorCode::kInvalidState : ErrorCode::kStoreIo,
      "the transaction was ended by a function that ran in it, or the connection was lost; what "
      "was "
      "committed has to be looked up" +
          (done.has_value() ? "" : ": " + done.error().message));
}

}  // namespace pawl::store::pg

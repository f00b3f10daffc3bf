#include "store/postgres/batch.h"

#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <optional>
#include <thread>
#include <utility>

#include <libpq-fe.h>

#include "base/check.h"
#include "store/postgres/big_endian.h"
#include "store/postgres/connection_impl.h"
#include "store/postgres/server_error.h"
#include "store/postgres/text.h"
#include "store/rows.h"

namespace pawl::store::pg {

namespace {

constexpr Statement kBegin{"begin", "BEGIN ISOLATION LEVEL READ COMMITTED"};
constexpr Statement kBeginSnapshot{"begin_snapshot",
                                   "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"};
constexpr Statement kCommit{"commit", "COMMIT"};
constexpr Statement kNotify{"notify", "SELECT pg_notify($1::text, $2::text)"};

// Of one statement with its parameters. PostgreSQL takes messages of up to 1 GiB.
constexpr std::size_t kMessageBytesMax = 1'000'000'000;
constexpr std::size_t kParametersMax = 65'535;
// What libpq is given before it is made to send: so much is kept in memory twice.
constexpr std::size_t kUnsentBytesMax = 65'536;
constexpr std::size_t kMessageOverhead = 64;
// How long what the TLS library has read and libpq has not asked for may lie there: the socket does
// not tell of it. Only of large answers, and while one is awaited.
constexpr int kHiddenInputMs = 50;

bool is_lost_statement(std::string_view sqlstate) {
  return sqlstate == "26000" || sqlstate == "42P05";
}

// "cached plan must not change result type", among others.
constexpr std::string_view kNotSupported = "0A000";

}  // namespace

// One attempt to send a batch and read its answers.
class BatchRun {
 public:
  BatchRun(Batch& batch, bool prepare)
      : batch_(batch),
        connection_(batch.connection_.impl()),
        prepare_(prepare),
        was_in_transaction_(connection_.in_transaction()) {}

  Result<void> run() {
    if (PQenterPipelineMode(connection_.native) == 0) {
      return give_up();
    }
    ++connection_.counters.round_trips;
    if (!send_all() || !receive_all()) {
      return give_up();
    }
    if (PQexitPipelineMode(connection_.native) == 0) {
      connection_.close();  // It would be of no use, although all is answered.
    }
    if (!sqlstate_.empty()) {
      return failed();
    }
    return check_commit();
  }

  const std::string& sqlstate() const { return sqlstate_; }
  // The statement that failed may do better if it is prepared again, or not at all.
  bool lost_statement() const {
    return prepare_ &&
           (is_lost_statement(sqlstate_) || (sqlstate_ == kNotSupported && failed_is_old_));
  }
  bool was_in_transaction() const { return was_in_transaction_; }

 private:
  // An answer to come.
  struct Awaited {
    enum class Kind : std::uint8_t { kPrepared, kRows, kNothing, kSync };
    Kind kind;
    Call* call = nullptr;
    Prepared* statement = nullptr;
    bool is_old = false;  // Prepared before this batch.
  };

  // --- Sending: false if the connection is lost.

  bool send_all() {
    for (Call& call : batch_.calls_) {
      if (!send(call)) {
        return false;
      }
    }
    // At the end: BEGIN has to be the first.
    if (prepare_ && connection_.plans_are_due() && !send_discard()) {
      return false;
    }
    commit_is_sent_ |= commits_by_sync();
    if (PQpipelineSync(connection_.native) == 0) {
      return false;
    }
    awaited_.push_back({Awaited::Kind::kSync});
    return flush();
  }

  bool send_discard() {
    if (PQsendQueryParams(connection_.native, "DISCARD PLANS", 0, nullptr, nullptr, nullptr,
                          nullptr, 1) == 0) {
      return false;
    }
    awaited_.push_back({Awaited::Kind::kNothing});
    return true;
  }

  // Whether all of the batch is one transaction, which the end of the batch commits.
  bool commits_by_sync() const {
    return !was_in_transaction_ && !batch_.begins_ && batch_.effect_ == Effect::kWrites;
  }

  bool send(Call& call) {
    collect_parameters(call);
    commit_is_sent_ |= call.commits_ && batch_.effect_ == Effect::kWrites;
    connection_.count_statement();
    const int count = static_cast<int>(call.count_);
    if (prepare_ && !call.statement_.name.empty()) {
      Prepared& statement = connection_.prepared(call.statement_);
      const bool is_old = statement.state == Prepared::State::kReady;
      if (statement.state == Prepared::State::kNew) {
        if (PQsendPrepare(connection_.native, statement.name.c_str(), statement.sql.c_str(), 0,
                          nullptr) == 0) {
          return false;
        }
        statement.state = Prepared::State::kSent;
        unsent_bytes_ += statement.sql.size() + kMessageOverhead;
        awaited_.push_back({Awaited::Kind::kPrepared, &call, &statement, false});
      }
      if (PQsendQueryPrepared(connection_.native, statement.name.c_str(), count, values_.data(),
                              lengths_.data(), formats_.data(), 1) == 0) {
        return false;
      }
      awaited_.push_back({Awaited::Kind::kRows, &call, nullptr, is_old});
    } else {
      const std::string sql = connection_.with_schema(call.statement_.sql);
      if (PQsendQueryParams(connection_.native, sql.c_str(), count, nullptr, values_.data(),
                            lengths_.data(), formats_.data(), 1) == 0) {
        return false;
      }
      unsent_bytes_ += sql.size();
      awaited_.push_back({Awaited::Kind::kRows, &call, nullptr, false});
    }
    unsent_bytes_ += kMessageOverhead;
    return unsent_bytes_ <= kUnsentBytesMax || flush();
  }

  void collect_parameters(const Call& call) {
    values_.clear();
    lengths_.clear();
    for (std::size_t i = 0; i < call.count_; ++i) {
      const Batch::Parameter& parameter = batch_.parameters_[call.first_ + i];
      values_.push_back(parameter.value);
      lengths_.push_back(static_cast<int>(parameter.size));
      unsent_bytes_ += parameter.size;
    }
    formats_.resize(std::max(formats_.size(), call.count_), 1);
  }

  // Until the kernel has taken everything. Answers are read meanwhile: the server stops reading
  // when nobody takes them.
  bool flush() {
    unsent_bytes_ = 0;
    while (true) {
      const int left = PQflush(connection_.native);
      if (left == 0) {
        return true;
      }
      if (left < 0 || !wait(POLLIN | POLLOUT) || !take_answers()) {
        return false;
      }
    }
  }

  // --- Receiving: false if the connection is lost.

  bool receive_all() {
    if (connection_.is_hurried) {
      keep_vigil();
    }
    while (true) {
      if (!take_answers()) {
        return false;
      }
      if (answered_ == awaited_.size()) {
        return true;
      }
      if (!wait(POLLIN) || !flush()) {
        return false;
      }
    }
  }

  // Awake, but for whoever else wants the processor.
  void keep_vigil() {
    using Clock = std::chrono::steady_clock;
    const std::chrono::microseconds limit = connection_.vigil.begin();
    if (limit == std::chrono::microseconds::zero()) {
      return;
    }
    const auto end = Clock::now() + limit;
    pollfd file{PQsocket(connection_.native), POLLIN, 0};
    int ready = 0;
    while (ready == 0 && Clock::now() < end) {
      std::this_thread::yield();
      ready = ::poll(&file, 1, 0);
    }
    connection_.vigil.end(ready > 0);
  }

  // Sleeps until the socket is ready, and reads. That the connection is lost is found out by
  // take_answers(), since what was read before counts.
  bool wait(short events) {
    pollfd file{PQsocket(connection_.native), events, 0};
    if (file.fd < 0) {
      return false;
    }
    const bool is_encrypted = connection_.is_encrypted();
    const int ready = ::poll(&file, 1, is_encrypted ? kHiddenInputMs : -1);
    if (ready < 0) {
      return errno == EINTR;
    }
    if ((file.revents & ~POLLOUT) != 0 || is_encrypted) {
      PQconsumeInput(connection_.native);
    }
    return true;
  }

  bool take_answers() {
    while (answered_ < awaited_.size() &&
           (PQisBusy(connection_.native) == 0 || !connection_.is_open())) {
      PGresult* const result = PQgetResult(connection_.native);
      if (!(result == nullptr ? end_of_answer() : take(result))) {
        return false;
      }
    }
    return true;
  }

  bool end_of_answer() {
    if (has_answer_) {
      has_answer_ = false;
      ++answered_;
      return true;
    }
    return connection_.is_open();
  }

  bool take(PGresult* result) {
    Rows rows(result);
    Awaited& awaited = awaited_[answered_];
    switch (PQresultStatus(result)) {
      case PGRES_PIPELINE_SYNC:
        PAWL_CHECK(awaited.kind == Awaited::Kind::kSync);
        ++answered_;
        return true;
      case PGRES_PIPELINE_ABORTED:
        break;
      case PGRES_COMMAND_OK:
      case PGRES_TUPLES_OK:
        if (awaited.kind == Awaited::Kind::kPrepared) {
          awaited.statement->state = Prepared::State::kReady;
        } else if (awaited.kind == Awaited::Kind::kRows) {
          awaited.call->rows_ = std::move(rows);
          commit_is_answered_ |= awaited.call->commits_;
        }
        break;
      default:
        if (!take_error(awaited, result)) {
          return false;
        }
    }
    if (awaited.kind != Awaited::Kind::kSync) {
      has_answer_ = true;
    }
    return true;
  }

  bool take_error(const Awaited& awaited, const PGresult* result) {
    const char* const code = PQresultErrorField(result, PG_DIAG_SQLSTATE);
    message_ = PQresultErrorMessage(result);
    if (code == nullptr) {
      return connection_.is_open() && fail_without_code();
    }
    if (commit_is_answered_) {
      return !ends_connection(code);  // What comes behind COMMIT does not matter to anybody.
    }
    if (sqlstate_.empty()) {
      sqlstate_ = code;
      failed_is_old_ = awaited.is_old;
      is_before_commit_ = awaited.kind != Awaited::Kind::kSync &&
                          (awaited.call == nullptr || !awaited.call->commits_);
      error_message_ = message_;
      const char* const constraint = PQresultErrorField(result, PG_DIAG_CONSTRAINT_NAME);
      batch_.constraint_ = constraint == nullptr ? "" : constraint;
    }
    return !ends_connection(code);
  }

  // libpq itself could not, e.g. for want of memory. What came of it is not known.
  bool fail_without_code() {
    connection_.close();
    return false;
  }

  // --- Ending.

  // The connection is lost.
  Result<void> give_up() {
    if (connection_.native != nullptr) {
      PQconsumeInput(connection_.native);  // Why may be there to be read.
      take_answers();
    }
    const bool has_answer = commit_is_answered_ && sqlstate_.empty();
    const bool is_refused = !sqlstate_.empty() && is_before_commit_;
    const bool is_ended_by_server = !sqlstate_.empty() && ends_connection(sqlstate_);
    std::string message = is_ended_by_server ? error_message_ : message_;
    if (message.empty() && connection_.native != nullptr) {
      message = PQerrorMessage(connection_.native);
    }
    connection_.close();
    if (has_answer) {
      return check_commit();
    }
    if (is_refused && !is_ended_by_server) {
      return connection_.error(sqlstate_, error_message_);
    }
    return connection_.lost(message, commit_is_sent_ && !is_refused);
  }

  Result<void> failed() {
    Error error = connection_.error(sqlstate_, error_message_);
    // What is too large is refused by its own statement. A commit meets limits of the server, e.g.
    // of the notices that it keeps for others: they go away.
    if (!is_before_commit_ && error.code == ErrorCode::kLimitExceeded) {
      error.code = ErrorCode::kStoreBusy;
    }
    // Those that were sent with the failed one are not prepared.
    for (const Awaited& awaited : awaited_) {
      if (awaited.statement != nullptr && awaited.statement->state == Prepared::State::kSent) {
        awaited.statement->state = Prepared::State::kNew;
      }
    }
    connection_.rollback();
    if (lost_statement()) {
      error.code = ErrorCode::kStoreBusy;
      if (is_lost_statement(sqlstate_)) {
        connection_.prepared_were_lost();
      } else {
        connection_.forget_prepared();
      }
    }
    if (sqlstate_ == "25006") {
      connection_.close();
    }
    return error;
  }

  // A transaction that has failed before answers COMMIT by rolling back, and calls that a success.
  Result<void> check_commit() const {
    if (!batch_.calls_.empty() && batch_.calls_.back().commits_ &&
        batch_.calls_.back().rows_.tag() != "COMMIT") {
      return make_error(ErrorCode::kInvalidState,
                        "cannot commit at '" + connection_.place +
                            "': the transaction has failed and was rolled back");
    }
    return {};
  }

  Batch& batch_;
  Connection::Impl& connection_;
  const bool prepare_;
  const bool was_in_transaction_;

  std::vector<const char*> values_;
  std::vector<int> lengths_;
  std::vector<int> formats_;  // All binary.
  std::size_t unsent_bytes_ = 0;

  std::vector<Awaited> awaited_;
  std::size_t answered_ = 0;
  bool has_answer_ = false;  // Of the next of them; its end is to come.

  bool commit_is_sent_ = false;      // Or may be: libpq has it.
  bool commit_is_answered_ = false;  // An explicit one.
  std::string sqlstate_;             // The first error of the server.
  std::string error_message_;
  std::string message_;  // The last error of all.
  bool failed_is_old_ = false;
  bool is_before_commit_ = false;
};

Batch::Batch(Connection& connection, Effect effect) : connection_(connection), effect_(effect) {}

Call& Batch::add(const Statement& statement) {
  PAWL_CHECK(calls_.empty() || !calls_.back().commits_);
  return calls_.emplace_back(*this, statement, parameters_.size(), false);
}

void Batch::begin(Isolation isolation) {
  PAWL_CHECK(!begins_);
  calls_.emplace_front(*this, isolation == Isolation::kSnapshot ? kBeginSnapshot : kBegin, 0,
                       false);
  begins_ = true;
}

void Batch::commit() { add(kCommit).commits_ = true; }

void Batch::notify(const Notice& notice) {
  const std::string payload = notice.payload();
  add(kNotify)
      .copy(notice.channel.data(), notice.channel.size())
      .copy(payload.data(), payload.size());
}

Result<void> Batch::run() {
  Connection::Impl& connection = connection_.impl();
  if (calls_.empty()) {
    return {};
  }
  for (const Call& call : calls_) {
    PAWL_CHECK(call.count_ <= kParametersMax);
    std::size_t bytes = call.statement_.sql.size();
    for (std::size_t i = 0; i < call.count_; ++i) {
      bytes += parameters_[call.first_ + i].size + sizeof(std::uint32_t);
    }
    if (bytes > kMessageBytesMax) {
      connection.rollback();
      return make_error(ErrorCode::kLimitExceeded,
                        "a statement for the database at '" + connection.place + "' has " +
                            std::to_string(bytes) + " bytes; PostgreSQL takes " +
                            std::to_string(kMessageBytesMax));
    }
  }
  if (!connection.is_open()) {
    return connection.lost("it is closed", false);
  }
  if (calls_.back().commits_ && !begins_ && !connection.in_transaction()) {
    return make_error(ErrorCode::kInvalidState,
                      "cannot commit at '" + connection.place +
                          "': no transaction is open; it may have ended by an error before");
  }
  BatchRun first(*this, connection.prepare);
  Result<void> done = first.run();
  sqlstate_ = first.sqlstate();
  if (done || !first.lost_statement() || first.was_in_transaction() || !connection.is_open()) {
    return done;
  }
  // Nothing of it has happened. Without names it does not depend on what the server knows.
  BatchRun second(*this, false);
  done = second.run();
  sqlstate_ = second.sqlstate();
  return done;
}

Call& Call::copy(const void* bytes, std::size_t size) {
  char* const copied = static_cast<char*>(batch_.copies_.allocate(size + 1, 1));
  if (size > 0) {
    std::memcpy(copied, bytes, size);
  }
  return this->bytes({copied, size});
}

Call& Call::integer(std::int64_t value) {
  char bytes[sizeof(value)];
  store_big_endian(static_cast<std::uint64_t>(value), bytes);
  return copy(bytes, sizeof(bytes));
}

Call& Call::integer4(std::int32_t value) {
  char bytes[sizeof(value)];
  store_big_endian(static_cast<std::uint32_t>(value), bytes);
  return copy(bytes, sizeof(bytes));
}

Call& Call::boolean(bool value) {
  const char byte = value ? 1 : 0;
  return copy(&byte, 1);
}

Call& Call::null() {
  PAWL_CHECK(&batch_.calls_.back() == this);
  batch_.parameters_.push_back({nullptr, 0});
  ++count_;
  return *this;
}

Call& Call::moment(std::int64_t value) { return value == kNever ? null() : integer(value); }

Call& Call::text(std::string_view value) {
  if (is_plain_text(value)) {
    return bytes(value);
  }
  const std::string written = to_text(value);
  return copy(written.data(), written.size());
}

// An empty view may have no address, which libpq takes for NULL.
Call& Call::bytes(std::string_view value) {
  PAWL_CHECK(&batch_.calls_.back() == this);
  batch_.parameters_.push_back({value.empty() ? "" : value.data(), value.size()});
  ++count_;
  return *this;
}

Call& Call::uuid(const Uuid& value) { return copy(value.bytes.data(), value.bytes.size()); }

Call& Call::array(const Array& value) { return bytes(value.encoded()); }

}  // namespace pawl::store::pg

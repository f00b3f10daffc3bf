#include "store/postgres/connection.h"

#include <poll.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <thread>
#include <utility>

#include <libpq-fe.h>

#include "base/check.h"
#include "base/hash.h"
#include "store/postgres/batch.h"
#include "store/postgres/connection_impl.h"
#include "store/postgres/server_error.h"
#include "store/url.h"

namespace pawl::store::pg {

namespace {

using Clock = std::chrono::steady_clock;

std::atomic<std::uint64_t> all_statements = 0;

// Unless the URL says otherwise. A peer that has vanished is noticed after a minute, also while
// nothing is sent.
struct Default {
  const char* name;
  const char* value;
  const char* variable;  // Of the environment, which goes before; may be null.
};
constexpr Default kDefaults[] = {
    {"connect_timeout", "10", "PGCONNECT_TIMEOUT"}, {"keepalives_idle", "30", nullptr},
    {"keepalives_interval", "10", nullptr},         {"keepalives_count", "3", nullptr},
    {"tcp_user_timeout", "60000", nullptr},         {"fallback_application_name", "pawl", nullptr},
};

// How statements that are prepared are planned: once, and often while the tables are still small.
// Reading a whole table would be the best way then, and the worst one later. And the isolation of
// transactions without BEGIN. Without a pooler only: one may refuse it, and shares connections with
// others.
constexpr std::string_view kPlanning =
    "-c plan_cache_mode=force_generic_plan -c enable_seqscan=off -c enable_bitmapscan=off -c "
    "jit=off -c default_transaction_isolation=read\\ committed";

// A process that is stopped, or a machine that is gone without a word, does not hold its locks for
// ever: what was begun is taken back after half a minute. Transactions of this store take
// milliseconds, but for what functions do that run in them. Without a pooler, as above.
constexpr std::string_view kGuards =
    "-c idle_in_transaction_session_timeout=30s -c tcp_keepalives_idle=30 -c "
    "tcp_keepalives_interval=10 -c tcp_keepalives_count=3";

constexpr std::int64_t kAskAgainMs = 2'000;  // For connect() to find out why it was refused.
// When plans are made anew: after so many batches, then when there were so many times as many, but
// at least each so many.
constexpr std::uint64_t kBatchesOfFirstPlan = 64;
constexpr std::uint64_t kBatchesGrowth = 4;
constexpr std::uint64_t kBatchesMaxPerPlan = 16'384;
constexpr int kStatementLossesMax = 3;
constexpr std::size_t kStatementNameBytesMax = 32;

std::int64_t ms_since(Clock::time_point begin) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - begin).count();
}

struct Arguments {
  explicit Arguments(const std::vector<std::pair<std::string, std::string>>& parameters) {
    for (const auto& [name, value] : parameters) {
      names.push_back(name.c_str());
      values.push_back(value.c_str());
    }
    names.push_back(nullptr);
    values.push_back(nullptr);
  }
  std::vector<const char*> names;
  std::vector<const char*> values;
};

// A message with a code for each refusal: "FATAL:  3D000: database …".
std::vector<std::string> codes_in(std::string_view message) {
  std::vector<std::string> codes;
  for (std::size_t at = message.find(":  "); at != std::string_view::npos;
       at = message.find(":  ", at + 1)) {
    const std::string_view code = message.substr(at + 3, 5);
    const bool is_code = code.size() == 5 && std::all_of(code.begin(), code.end(), [](char byte) {
                           return (byte >= '0' && byte <= '9') || (byte >= 'A' && byte <= 'Z');
                         });
    if (is_code && message.substr(at + 8, 2) == ": ") {
      codes.emplace_back(code);
    }
  }
  return codes;
}

// libpq tells why a server has refused it in words only, unless it is asked before.
std::vector<std::string> refusal_codes(const Arguments& arguments) {
  PGconn* const native = PQconnectStartParams(arguments.names.data(), arguments.values.data(), 0);
  if (native == nullptr) {
    return {};
  }
  PQsetErrorVerbosity(native, PQERRORS_VERBOSE);
  const Clock::time_point begin = Clock::now();
  PostgresPollingStatusType status = PGRES_POLLING_WRITING;
  while (PQstatus(native) != CONNECTION_BAD && status != PGRES_POLLING_OK &&
         status != PGRES_POLLING_FAILED && ms_since(begin) < kAskAgainMs) {
    const auto events = static_cast<short>(status == PGRES_POLLING_WRITING ? POLLOUT : POLLIN);
    pollfd file{PQsocket(native), events, 0};
    const auto left_ms = static_cast<int>(std::max<std::int64_t>(0, kAskAgainMs - ms_since(begin)));
    if (::poll(&file, 1, left_ms) > 0) {
      status = PQconnectPoll(native);
    }
  }
  std::vector<std::string> codes = codes_in(PQerrorMessage(native));
  PQfinish(native);
  return codes;
}

std::string value_of(const std::vector<std::pair<std::string, std::string>>& parameters,
                     std::string_view name) {
  for (const auto& [known, value] : parameters) {
    if (known == name) {
      return value;
    }
  }
  return "";
}

void drop_notice(void* /*unused*/, const PGresult* /*unused*/) {}

}  // namespace

Connection::Impl::Impl(PostgresOptions with)
    : options(std::move(with)), prepare(options.prepare), plans_due_(kBatchesOfFirstPlan) {}

Connection::Impl::~Impl() { close(); }

void Connection::Impl::close() {
  PQfinish(native);
  native = nullptr;
  prepared_.clear();
}

bool Connection::Impl::is_open() const {
  return native != nullptr && PQstatus(native) == CONNECTION_OK;
}

bool Connection::Impl::in_transaction() const {
  if (!is_open()) {
    return false;
  }
  const PGTransactionStatusType status = PQtransactionStatus(native);
  return status != PQTRANS_IDLE && status != PQTRANS_UNKNOWN;
}

bool Connection::Impl::is_encrypted() const {
  return PQsslInUse(native) != 0 || PQgssEncInUse(native) != 0;
}

Result<Connection::Impl::Parameters> Connection::Impl::parameters() const {
  char* message = nullptr;
  PQconninfoOption* const parsed = PQconninfoParse(options.conninfo.c_str(), &message);
  PQfreemem(message);
  if (parsed == nullptr) {
    return make_error(ErrorCode::kInvalidArgument,
                      "libpq cannot read '" + without_password(options.conninfo) + "'");
  }
  Parameters found;
  for (const PQconninfoOption* option = parsed; option->keyword != nullptr; ++option) {
    if (option->val != nullptr) {
      found.emplace_back(option->keyword, option->val);
    }
  }
  PQconninfoFree(parsed);
  // A service file may have them all.
  const bool has_service =
      !value_of(found, "service").empty() || std::getenv("PGSERVICE") != nullptr;
  for (const Default& preset : kDefaults) {
    const bool in_environment =
        preset.variable != nullptr && std::getenv(preset.variable) != nullptr;
    if (!has_service && !in_environment && value_of(found, preset.name).empty()) {
      found.emplace_back(preset.name, preset.value);
    }
  }
  if (prepare) {
    const char* const of_environment = std::getenv("PGOPTIONS");
    std::string given = value_of(found, "options");
    if (given.empty() && of_environment != nullptr) {
      given = of_environment;
    }
    const std::string own = std::string(kPlanning) + " " + std::string(kGuards) + " " + given;
    std::erase_if(found, [](const auto& pair) { return pair.first == "options"; });
    found.emplace_back("options", own);
  }
  std::erase_if(found, [](const auto& pair) { return pair.first == "client_encoding"; });
  found.emplace_back("client_encoding", "UTF8");
  return found;
}

Result<void> Connection::Impl::connect() {
  close();
  PAWL_TRY_ASSIGN(const Parameters given, parameters());
  const Arguments arguments(given);
  const Clock::time_point begin = Clock::now();
  native = PQconnectdbParams(arguments.names.data(), arguments.values.data(), 0);
  if (native == nullptr) {
    return make_error(ErrorCode::kStoreIo, "cannot connect to PostgreSQL: out of memory");
  }
  const auto text = [](const char* value) { return std::string(value == nullptr ? "" : value); };
  place = text(PQhost(native)) + ":" + text(PQport(native)) + "/" + text(PQdb(native));
  if (PQstatus(native) != CONNECTION_OK) {
    Error error = not_connected(given, PQerrorMessage(native),
                                PQconnectionNeedsPassword(native) != 0, ms_since(begin));
    close();
    return error;
  }
  ++counters.connects;
  PQsetNoticeReceiver(native, drop_notice, nullptr);  // Else they go to stderr.
  Result<void> checked = check_server();
  if (!checked) {
    close();
  } else if (PQsetnonblocking(native, 1) != 0) {
    checked = error("", PQerrorMessage(native), "cannot connect to");
    close();
  }
  return checked;
}

Error Connection::Impl::not_connected(const Parameters& given, const std::string& message,
                                      bool needs_password, std::int64_t took_ms) const {
  // What libpq says before it asks anybody.
  if (message.starts_with("invalid ")) {
    return make_error(ErrorCode::kInvalidArgument, "cannot connect to the database at '" + place +
                                                       "': " + one_line(message) +
                                                       "; correct the store's URL");
  }
  std::string sqlstate;
  if (needs_password) {
    sqlstate = "28P01";
  } else if (took_ms < kAskAgainMs) {
    const std::vector<std::string> codes = refusal_codes(Arguments(given));
    const std::string hosts = value_of(given, "host");
    const auto host_count = 1 + std::count(hosts.begin(), hosts.end(), ',');
    const auto is_final = [](const std::string& code) {
      return meaning_of(code) == ErrorCode::kStoreUnusable;
    };
    const auto temporary = std::find_if_not(codes.begin(), codes.end(), is_final);
    if (temporary != codes.end()) {
      sqlstate = *temporary;
    } else if (static_cast<std::ptrdiff_t>(codes.size()) >= host_count) {
      sqlstate = codes.front();  // Each host has refused for good.
    }
  }
  Error made = error(sqlstate, message, "cannot connect to");
  if (sqlstate.empty()) {
    made.message += "; check that the server runs and can be reached there";
  }
  return made;
}

Result<void> Connection::Impl::check_server() {
  const int version = PQserverVersion(native);
  if (version < kServerVersionMin * 10'000) {
    return make_error(ErrorCode::kStoreUnusable,
                      "the server at '" + place + "' is PostgreSQL " +
                          std::to_string(version / 10'000) + "; Pawl needs version " +
                          std::to_string(kServerVersionMin) + " or later");
  }
  const char* const encoding = PQparameterStatus(native, "server_encoding");
  if (encoding != nullptr && std::strcmp(encoding, "UTF8") != 0) {
    return make_error(ErrorCode::kStoreUnusable,
                      "the database at '" + place + "' has the encoding " + encoding +
                          "; Pawl needs one that was created with ENCODING 'UTF8'");
  }
  return prepare ? check_session() : Result<void>();
}

// A pooler may keep to itself what is asked of the session: then it gives each transaction another
// one, perhaps, and who listens would hear nothing without being told.
Result<void> Connection::Impl::check_session() {
  const Rows asked(PQexec(native, "SELECT current_setting('plan_cache_mode') = 'auto'"));
  if (!asked.empty() && asked[0].as_bytes(0) == "t") {
    return make_error(
        ErrorCode::kStoreUnusable,
        "the database at '" + place +
            "' does not get what a connection asks for: a pooler in between drops the "
            "options; connect to the server, or add prepare=off to the store's URL");
  }
  return {};
}

bool Connection::Impl::consume_input() {
  while (is_open()) {
    pollfd file{PQsocket(native), POLLIN, 0};
    const bool is_ready = ::poll(&file, 1, 0) > 0;
    // What the TLS library has read already does not show at the socket.
    if ((is_ready || is_encrypted()) && PQconsumeInput(native) == 0) {
      return false;
    }
    PQisBusy(native);  // Parses.
    if (!is_ready) {
      return true;
    }
  }
  return false;
}

Result<void> Connection::Impl::ensure() { return consume_input() ? Result<void>() : connect(); }

void Connection::Impl::rollback() {
  if (!in_transaction()) {
    return;
  }
  const Rows done(PQexec(native, "ROLLBACK"));
  ++counters.round_trips;
  count_statement();
  if (in_transaction() || !is_open()) {
    close();
  }
}

Result<void> Connection::Impl::execute(std::string_view sql, Effect effect) {
  if (!is_open()) {
    return lost("the connection is closed", false);
  }
  const bool was_in_transaction = in_transaction();
  ++counters.round_trips;
  count_statement();
  PGresult* const result = PQexec(native, with_schema(sql).c_str());
  const Rows owner(result);
  const ExecStatusType status = PQresultStatus(result);
  if (status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK || status == PGRES_EMPTY_QUERY) {
    return {};
  }
  const char* const code = PQresultErrorField(result, PG_DIAG_SQLSTATE);
  const std::string sqlstate = code == nullptr ? "" : code;
  if (sqlstate.empty() || ends_connection(sqlstate)) {
    Error error = lost(PQerrorMessage(native), effect == Effect::kWrites && !was_in_transaction);
    close();
    return error;
  }
  Error made = error(sqlstate, PQresultErrorMessage(result));
  rollback();
  if (sqlstate == "25006") {
    close();
  }
  return made;
}

Error Connection::Impl::error(std::string_view sqlstate, std::string_view message,
                              std::string_view doing) const {
  std::string text(doing);
  text += " the database at '" + place + "': " + one_line(message);
  if (!sqlstate.empty()) {
    text += " (SQLSTATE " + std::string(sqlstate) + ")";
  }
  text += advice_for(sqlstate);
  return make_error(meaning_of(sqlstate), std::move(text));
}

Error Connection::Impl::lost(std::string_view message, bool may_be_committed) const {
  std::string text = "lost the connection to the database at '" + place + "'";
  if (may_be_committed) {
    text += " during a commit, which may or may not have happened";
  }
  const std::string why = one_line(message);
  text += why.empty() ? "" : ": " + why;
  return make_error(may_be_committed ? ErrorCode::kUnknownOutcome : ErrorCode::kStoreIo,
                    std::move(text));
}

void Connection::Impl::count_statement() {
  ++counters.statements;
  all_statements.fetch_add(1, std::memory_order_relaxed);
}

std::string Connection::Impl::with_schema(std::string_view sql) const {
  constexpr std::string_view kMark = "{schema}";
  std::string text;
  text.reserve(sql.size());
  while (true) {
    const std::size_t mark = sql.find(kMark);
    text += sql.substr(0, mark);
    if (mark == std::string_view::npos) {
      return text;
    }
    text += '"' + options.schema + '"';
    sql.remove_prefix(mark + kMark.size());
  }
}

Prepared& Connection::Impl::prepared(const Statement& statement) {
  Prepared& known = prepared_[statement.name];
  if (known.source == nullptr) {
    PAWL_CHECK(statement.name.size() <= kStatementNameBytesMax);
    known.source = statement.sql.data();
    known.sql = with_schema(statement.sql);
    // With a digest: a pooler may give us a connection on which another version of Pawl, or one
    // with another schema, has prepared other texts.
    char digest[16];
    const auto end = std::to_chars(digest, digest + sizeof(digest), stable_digest(known.sql), 16);
    known.name = "pawl_" + std::string(statement.name) + "_" + std::string(digest, end.ptr) + "_" +
                 std::to_string(generation_);
  }
  PAWL_CHECK(known.source == statement.sql.data());
  return known;
}

void Connection::Impl::forget_prepared() {
  prepared_.clear();
  ++generation_;
  batches_ = 0;
  plans_due_ = kBatchesOfFirstPlan;
}

bool Connection::Impl::plans_are_due() {
  if (++batches_ < plans_due_) {
    return false;
  }
  plans_due_ += std::min(plans_due_ * (kBatchesGrowth - 1), kBatchesMaxPerPlan);
  return true;
}

void Connection::Impl::prepared_were_lost() {
  forget_prepared();
  if (++losses_ >= kStatementLossesMax) {
    prepare = false;
  }
}

Connection::Connection(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Connection::~Connection() = default;

Result<std::unique_ptr<Connection>> Connection::open(const PostgresOptions& options) {
  auto impl = std::make_unique<Impl>(options);
  PAWL_TRY(impl->connect());
  return std::unique_ptr<Connection>(new Connection(std::move(impl)));
}

Result<void> Connection::ensure() { return impl_->ensure(); }
bool Connection::is_open() const { return impl_->is_open(); }
void Connection::close() { impl_->close(); }
Result<void> Connection::execute(std::string_view sql, Effect effect) {
  return impl_->execute(sql, effect);
}

Result<std::int64_t> Connection::query_integer(std::string_view sql) {
  Batch batch(*this, Effect::kReads);
  const Call& call = batch.add({.name = {}, .sql = sql});
  PAWL_TRY(batch.run());
  return call.rows().empty() ? 0 : call.rows()[0].as_integer(0);
}

void Connection::rollback() { impl_->rollback(); }
void Connection::set_hurried(bool is_hurried) {
  static const bool kHasProcessors = std::thread::hardware_concurrency() > 1;
  impl_->is_hurried = is_hurried && kHasProcessors;
}
bool Connection::in_transaction() const { return impl_->in_transaction(); }
const PostgresOptions& Connection::options() const { return impl_->options; }
const std::string& Connection::place() const { return impl_->place; }
int Connection::server_version() const {
  return impl_->native == nullptr ? 0 : PQserverVersion(impl_->native);
}
const Connection::Counters& Connection::counters() const { return impl_->counters; }

std::uint64_t statements_sent() { return all_statements.load(std::memory_order_relaxed); }

}  // namespace pawl::store::pg

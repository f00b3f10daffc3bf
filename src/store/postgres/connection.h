// A PostgreSQL connection. Statements go through it in batches; see batch.h.
// Not thread-safe: whoever owns a Connection guards it.
//
// It keeps no state in the server's session but prepared statements, so it works behind poolers and
// can be reopened at any time: nothing is SET but by SET LOCAL, nothing is locked or temporary
// beyond a transaction.
//
// Errors, besides those of store.h:
//   kStoreBusy       deadlock, serialization failure, lock timeout, cancelled, out of resources
//   kStoreIo         connection lost or refused, server starting or stopping, read-only standby;
//                    nothing was committed. ensure() connects again
//   kUnknownOutcome  the connection was lost after what commits was sent and before its answer
//   kInvalidArgument, kInvalidState  the server refuses a value, or a constraint does
// Messages name host, port and database, never a password.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "store/postgres/options.h"
#include "store/postgres/statement.h"

struct pg_conn;

namespace pawl::store::pg {

// Of statements that are sent outside a transaction: what a lost connection may have cost.
enum class Effect : std::uint8_t {
  kReads,   // Nothing: kStoreIo.
  kWrites,  // They may have been committed: kUnknownOutcome.
};

class Connection {
 public:
  // Connects, within connect_timeout (10 s unless given) for each host. A server that is older than
  // kServerVersionMin or whose database is not in UTF-8 is kStoreUnusable.
  static Result<std::unique_ptr<Connection>> open(const PostgresOptions& options);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // Connects again, as open() does, if the connection is known to be lost or turns out to be; else
  // one look at the socket. For before each transaction. Nothing is waited for between attempts:
  // see GrowingPause.
  Result<void> ensure();
  bool is_open() const;
  // So that ensure() connects again, e.g. because the server turned out to be a standby.
  void close();

  // Runs one or more statements without parameters, whose rows do not matter, in one transaction if
  // none is open. {schema} stands for the schema. Not for anything frequent.
  Result<void> execute(std::string_view sql, Effect effect = Effect::kWrites);
  // The first column of the first row, 0 if there is none. Counts as kReads.
  Result<std::int64_t> query_integer(std::string_view sql);
  // Ends the open transaction, if there is one, without effect. If that fails, closes.
  void rollback();
  bool in_transaction() const;

  // From now on. If the next answer is all that is waited for, and answers come fast, it is waited
  // for awake; see vigil.h.
  void set_hurried(bool is_hurried);

  const PostgresOptions& options() const;
  // "host:port/database", for messages.
  const std::string& place() const;
  int server_version() const;  // E.g. 150004.

  // Since open(), over all reconnections.
  struct Counters {
    std::uint64_t statements = 0;   // Sent; preparing one does not count.
    std::uint64_t round_trips = 0;  // Batches and execute().
    std::uint64_t connects = 0;
  };
  const Counters& counters() const;

  class Impl;
  Impl& impl() { return *impl_; }

 private:
  explicit Connection(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

inline constexpr int kServerVersionMin = 13;

// By this process so far, over all connections: for those who measure.
std::uint64_t statements_sent();

}  // namespace pawl::store::pg

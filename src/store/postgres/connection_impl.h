// The inside of Connection, for batch.cc and listener.cc.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/result.h"
#include "store/postgres/connection.h"
#include "store/postgres/vigil.h"

namespace pawl::store::pg {

// A statement as this connection knows it.
struct Prepared {
  enum class State : std::uint8_t { kNew, kSent, kReady };
  const char* source = nullptr;  // Statement::sql, to notice two texts of one name.
  std::string sql;               // With the schema's name.
  std::string name;              // On the server.
  State state = State::kNew;
};

class Connection::Impl {
 public:
  explicit Impl(PostgresOptions options);
  ~Impl();
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  Result<void> connect();
  Result<void> ensure();
  void close();
  bool is_open() const;
  bool in_transaction() const;
  bool is_encrypted() const;
  // Takes from the socket what is there. False: the connection is lost.
  bool consume_input();
  void rollback();
  Result<void> execute(std::string_view sql, Effect effect);

  // "cannot use the database at 'place': message (SQLSTATE …); what to do".
  Error error(std::string_view sqlstate, std::string_view message,
              std::string_view doing = "cannot use") const;
  // The connection is lost: the message is libpq's.
  Error lost(std::string_view message, bool may_be_committed) const;

  void count_statement();
  std::string with_schema(std::string_view sql) const;
  Prepared& prepared(const Statement& statement);
  // The server does not have them (any more), or has others of these names.
  void forget_prepared();
  // Whether prepared statements are to be planned anew with the next batch; to be asked once for
  // each. A plan is made for tables as large as they are then, often empty, and kept: for all rows
  // of a small table there is no better one than to read them all. Made anew each time that some
  // times as many batches have been sent, it costs little, and a plan that is of no use any more is
  // not used for long.
  bool plans_are_due();
  // forget_prepared(), since it turned out so; when this repeats, nothing is prepared any more.
  void prepared_were_lost();

  const PostgresOptions options;
  std::string place;
  Counters counters;
  pg_conn* native = nullptr;
  bool prepare;
  bool is_hurried = false;
  Vigil vigil;

 private:
  using Parameters = std::vector<std::pair<std::string, std::string>>;
  Result<Parameters> parameters() const;
  Error not_connected(const Parameters& parameters, const std::string& message, bool needs_password,
                      std::int64_t took_ms) const;
  Result<void> check_server();
  Result<void> check_session();

  std::unordered_map<std::string_view, Prepared> prepared_;
  std::uint32_t generation_ = 0;  // Makes names that the server cannot have from before.
  int losses_ = 0;
  std::uint64_t batches_ = 0;  // Since the connection was made, here and below.
  std::uint64_t plans_due_;
};

}  // namespace pawl::store::pg

// What runs inside of a transaction of the PostgreSQL store sees this. Not thread-safe.
#pragma once

#include <string>
#include <string_view>

#include "store/database.h"

struct pg_conn;

namespace pawl::store::pg {

class PostgresDatabase : public Database {
 public:
  explicit PostgresDatabase(pg_conn* native) : native_(native) {}

  void* handle() override { return native_; }
  Result<void> execute(const std::string& sql) override;
  Result<Rows> query(const std::string& sql, const std::vector<std::string>& values) override;

 private:
  pg_conn* native_;
};

// Numbers the `?` of a statement, $1 and so on, so that what was written for SQLite works; not
// those in quotes and comments. A statement that has $1 already is left as it is.
std::string with_numbered_parameters(std::string_view sql);

}  // namespace pawl::store::pg

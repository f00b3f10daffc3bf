// What runs inside of a transaction of the SQLite store sees this. Used under the guard of its
// connection.
#pragma once

#include "store/database.h"
#include "store/sqlite/connection.h"

namespace pawl::store {

class SqliteDatabase : public Database {
 public:
  explicit SqliteDatabase(Connection& connection) : connection_(connection) {}

  void* handle() override { return connection_.native(); }
  Result<void> execute(const std::string& sql) override;
  Result<Rows> query(const std::string& sql, const std::vector<std::string>& values) override;

 private:
  Connection& connection_;
};

}  // namespace pawl::store

// Database: a store's database inside one of its transactions, for code that is not the store's.
// Everything that is done by it commits with the transaction, or not at all.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace pawl::store {

class Database {
 public:
  virtual ~Database() = default;

  // A sqlite3*, or a PGconn*. The transaction must not be ended by it.
  virtual void* handle() = 0;
  // One or more statements, whose rows do not matter.
  virtual Result<void> execute(const std::string& sql) = 0;
  // One statement with texts for its `?`; every value of its rows as text, NULL as the empty one.
  // kInvalidArgument: there are more or less values than wanted.
  using Rows = std::vector<std::vector<std::string>>;
  virtual Result<Rows> query(const std::string& sql, const std::vector<std::string>& values) = 0;
};

}  // namespace pawl::store

#include "store/sqlite/sqlite_database.h"

#include <sqlite3.h>

#include <memory>
#include <utility>

namespace pawl::store {

namespace {

struct Finalize {
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};

Error failed(sqlite3* database, const std::string& sql) {
  return make_error(ErrorCode::kStoreIo, std::string(sqlite3_errmsg(database)) + " in: " + sql);
}

}  // namespace

Result<void> SqliteDatabase::execute(const std::string& sql) {
  sqlite3* const database = connection_.native();
  if (sqlite3_exec(database, sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) {
    return failed(database, sql);
  }
  return {};
}

Result<Database::Rows> SqliteDatabase::query(const std::string& sql,
                                             const std::vector<std::string>& values) {
  sqlite3* const database = connection_.native();
  sqlite3_stmt* raw = nullptr;
  if (sqlite3_prepare_v2(database, sql.data(), static_cast<int>(sql.size()), &raw, nullptr) !=
      SQLITE_OK) {
    return failed(database, sql);
  }
  const std::unique_ptr<sqlite3_stmt, Finalize> statement(raw);
  if (std::cmp_not_equal(sqlite3_bind_parameter_count(raw), values.size())) {
    return make_error(ErrorCode::kInvalidArgument,
                      std::to_string(values.size()) + " values for: " + sql);
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    sqlite3_bind_text(raw, static_cast<int>(i) + 1, values[i].data(),
                      static_cast<int>(values[i].size()), SQLITE_STATIC);
  }
  Rows rows;
  while (true) {
    const int code = sqlite3_step(raw);
    if (code == SQLITE_DONE) {
      return rows;
    }
    if (code != SQLITE_ROW) {
      return failed(database, sql);
    }
    std::vector<std::string>& row = rows.emplace_back();
    for (int column = 0; column < sqlite3_column_count(raw); ++column) {
      const unsigned char* const text = sqlite3_column_text(raw, column);
      row.emplace_back(text == nullptr ? "" : reinterpret_cast<const char*>(text),
                       static_cast<std::size_t>(sqlite3_column_bytes(raw, column)));
    }
  }
}

}  // namespace pawl::store

#include "store/postgres/postgres_database.h"

#include <cstddef>

#include <libpq-fe.h>

#include "store/postgres/rows.h"
#include "store/postgres/server_error.h"

namespace pawl::store::pg {

namespace {

// Where what begins at `at` ends, if it is a quoted text or name, or a comment; else `at`.
std::size_t end_of_quoted(std::string_view sql, std::size_t at) {
  const auto behind = [&](std::string_view end, std::size_t from) {
    const std::size_t found = sql.find(end, from);
    return found == std::string_view::npos ? sql.size() : found + end.size();
  };
  const std::string_view rest = sql.substr(at);
  if (rest.starts_with('\'') || rest.starts_with('"')) {
    return behind(rest.substr(0, 1), at + 1);  // A doubled one begins another text.
  }
  if (rest.starts_with("--")) {
    return behind("\n", at);
  }
  if (rest.starts_with("/*")) {
    return behind("*/", at + 2);
  }
  if (rest.starts_with('$')) {
    const std::size_t end = sql.find('$', at + 1);
    const std::string_view tag = end == std::string_view::npos ? "" : sql.substr(at, end - at + 1);
    const bool is_tag = !tag.empty() &&
                        tag.find_first_of(" \t\n,;()'\"") == std::string_view::npos &&
                        (tag.size() == 2 || tag[1] < '0' || tag[1] > '9');
    return is_tag ? behind(tag, end + 1) : at;
  }
  return at;
}

Error failed(pg_conn* native, const PGresult* result, const std::string& sql) {
  const char* const code =
      result == nullptr ? nullptr : PQresultErrorField(result, PG_DIAG_SQLSTATE);
  const std::string message =
      one_line(result == nullptr ? PQerrorMessage(native) : PQresultErrorMessage(result));
  return make_error(
      ErrorCode::kStoreIo,
      message + " in: " + sql + (code == nullptr ? "" : std::string(" (SQLSTATE ") + code + ")"));
}

}  // namespace

std::string with_numbered_parameters(std::string_view sql) {
  std::string numbered;
  int count = 0;
  for (std::size_t at = 0; at < sql.size();) {
    const std::size_t end = end_of_quoted(sql, at);
    if (end != at) {
      numbered += sql.substr(at, end - at);
      at = end;
    } else if (sql[at] == '?') {
      numbered += "$" + std::to_string(++count);
      ++at;
    } else if (sql.substr(at).starts_with("$1")) {
      return std::string(sql);
    } else {
      numbered += sql[at++];
    }
  }
  return numbered;
}

Result<void> PostgresDatabase::execute(const std::string& sql) {
  PGresult* const result = PQexec(native_, sql.c_str());
  const pg::Rows owner(result);
  const ExecStatusType status = PQresultStatus(result);
  if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK && status != PGRES_EMPTY_QUERY) {
    return failed(native_, result, sql);
  }
  return {};
}

Result<Database::Rows> PostgresDatabase::query(const std::string& sql,
                                               const std::vector<std::string>& values) {
  std::vector<const char*> texts;
  for (const std::string& value : values) {
    if (value.find('\0') != std::string::npos) {
      return make_error(ErrorCode::kInvalidArgument, "a value with a zero byte for: " + sql);
    }
    texts.push_back(value.c_str());
  }
  PGresult* const result =
      PQexecParams(native_, with_numbered_parameters(sql).c_str(), static_cast<int>(values.size()),
                   nullptr, texts.data(), nullptr, nullptr, 0);
  const pg::Rows owner(result);
  const ExecStatusType status = PQresultStatus(result);
  if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK) {
    const char* const code = PQresultErrorField(result, PG_DIAG_SQLSTATE);
    const std::string_view sqlstate = code == nullptr ? "" : code;
    if (sqlstate == "08P01" || sqlstate == "42P02") {  // Of the number of parameters.
      return make_error(ErrorCode::kInvalidArgument,
                        std::to_string(values.size()) + " values for: " + sql);
    }
    return failed(native_, result, sql);
  }
  Database::Rows rows;
  for (int number = 0; number < PQntuples(result); ++number) {
    std::vector<std::string>& row = rows.emplace_back();
    for (int column = 0; column < PQnfields(result); ++column) {
      row.emplace_back(PQgetvalue(result, number, column),
                       static_cast<std::size_t>(PQgetlength(result, number, column)));
    }
  }
  return rows;
}

}  // namespace pawl::store::pg

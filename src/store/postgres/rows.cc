#include "store/postgres/rows.h"

#include <algorithm>
#include <charconv>

#include <libpq-fe.h>

#include "base/check.h"
#include "store/postgres/big_endian.h"
#include "store/postgres/text.h"
#include "store/rows.h"

namespace pawl::store::pg {

bool Row::is_null(int column) const { return PQgetisnull(result_, number_, column) != 0; }

std::string_view Row::as_bytes(int column) const {
  return {PQgetvalue(result_, number_, column),
          static_cast<std::size_t>(PQgetlength(result_, number_, column))};
}

std::string_view Row::as_text(int column, std::string& kept) const {
  const std::string_view text = as_bytes(column);
  if (!has_written_bytes(text)) {
    return text;
  }
  kept = from_text(text);
  return kept;
}

std::string Row::as_string(int column) const {
  constexpr Oid kText = 25;
  std::string kept;
  return std::string(PQftype(result_, column) == kText ? as_text(column, kept) : as_bytes(column));
}

std::int64_t Row::as_integer(int column) const {
  if (is_null(column)) {
    return 0;
  }
  const std::string_view bytes = as_bytes(column);
  switch (bytes.size()) {
    case 2:
      return static_cast<std::int16_t>(load_big_endian<std::uint16_t>(bytes));
    case 4:
      return static_cast<std::int32_t>(load_big_endian<std::uint32_t>(bytes));
    default:
      PAWL_CHECK(bytes.size() == 8);
      return static_cast<std::int64_t>(load_big_endian<std::uint64_t>(bytes));
  }
}

std::int64_t Row::as_moment(int column) const {
  return is_null(column) ? kNever : as_integer(column);
}

bool Row::as_bool(int column) const {
  if (is_null(column)) {
    return false;
  }
  const std::string_view bytes = as_bytes(column);
  PAWL_CHECK(bytes.size() == 1);
  return bytes[0] != 0;
}

Uuid Row::as_uuid(int column) const {
  Uuid value;
  if (!is_null(column)) {
    const std::string_view bytes = as_bytes(column);
    PAWL_CHECK(bytes.size() == value.bytes.size());
    std::copy(bytes.begin(), bytes.end(), value.bytes.begin());
  }
  return value;
}

void Rows::Free::operator()(pg_result* result) const { PQclear(result); }

std::size_t Rows::size() const {
  return result_ == nullptr ? 0 : static_cast<std::size_t>(PQntuples(result_.get()));
}

std::int64_t Rows::affected() const {
  std::int64_t count = 0;
  if (result_ != nullptr) {
    const std::string_view text = PQcmdTuples(result_.get());
    std::from_chars(text.data(), text.data() + text.size(), count);
  }
  return count;
}

std::string_view Rows::tag() const {
  return result_ == nullptr ? std::string_view() : PQcmdStatus(result_.get());
}

}  // namespace pawl::store::pg

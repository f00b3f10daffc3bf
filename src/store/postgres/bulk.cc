#include "store/postgres/bulk.h"

#include <charconv>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "base/check.h"

namespace pawl::store::pg {

namespace {

constexpr std::string_view kArrays = "unnest(";

// So many rows go as they are.
constexpr std::size_t kFewRows = 2;

// VALUES in place of unnest: the server needs no function that gives rows, and knows how many there
// are when it plans. ($2::int8, $4::text), ($3::int8, $5::text) for unnest($2::int8[], $3::text[])
// and two rows.
std::string with_values(std::string_view sql, std::size_t rows) {
  const std::size_t begin = sql.find(kArrays);
  PAWL_CHECK(begin != std::string_view::npos);
  const std::size_t end = sql.find(')', begin);
  std::vector<std::string> types;  // E.g. "::int8".
  std::size_t first = 0;
  for (std::size_t i = sql.find('$', begin); i < end; i = sql.find('$', i + 1)) {
    const std::size_t colons = sql.find("::", i);
    if (types.empty()) {
      std::from_chars(sql.data() + i + 1, sql.data() + colons, first);
    }
    types.emplace_back(sql.substr(colons, sql.find('[', i) - colons));
  }
  std::string text(sql.substr(0, begin));
  for (std::size_t row = 0; row < rows; ++row) {
    text += row == 0 ? "(VALUES (" : "), (";
    for (std::size_t column = 0; column < types.size(); ++column) {
      text += column == 0 ? "$" : ", $";
      text += std::to_string(first + column * rows + row) + types[column];
    }
  }
  text += "))";
  const std::string_view rest = sql.substr(end + 1);
  text += rest.starts_with(" AS ") ? "" : " AS few";
  text += rest;
  return text;
}

// Made once for each statement, and kept.
Statement for_few(const Statement& statement, std::size_t rows) {
  struct Made {
    std::string name;
    std::string sql;
  };
  static std::mutex mutex;
  static std::map<std::pair<const char*, std::size_t>, Made> all;  // By the text and the rows.
  const std::scoped_lock lock(mutex);
  Made& made = all[{statement.sql.data(), rows}];
  if (made.name.empty()) {
    made = {std::string(statement.name) + "_" + std::to_string(rows),
            with_values(statement.sql, rows)};
  }
  return {made.name, made.sql};
}

}  // namespace

Bulk::Bulk(const Statement& statement, std::string_view columns) : statement_(statement) {
  columns_.reserve(columns.size());
  for (const char type : columns) {
    switch (type) {
      case 'i':
        columns_.emplace_back(Int8Array());
        break;
      case 't':
        columns_.emplace_back(TextArray());
        break;
      case 'b':
        columns_.emplace_back(ByteaArray());
        break;
      case 'u':
        columns_.emplace_back(UuidArray());
        break;
      default:
        PAWL_CHECK(type == 'o');
        columns_.emplace_back(BoolArray());
    }
  }
}

Bulk& Bulk::row() {
  PAWL_CHECK(rows_ == 0 || column_ == columns_.size());
  column_ = 0;
  ++rows_;
  return *this;
}

Bulk& Bulk::integer(std::int64_t value) {
  next<Int8Array>().add(value);
  return *this;
}

Bulk& Bulk::null() {
  std::visit([](Array& column) { column.add_null(); }, columns_[column_++]);
  return *this;
}

Bulk& Bulk::moment(std::int64_t value) {
  next<Int8Array>().add_moment(value);
  return *this;
}

Bulk& Bulk::text(std::string_view value) {
  next<TextArray>().add(value);
  bytes_ += value.size();
  return *this;
}

Bulk& Bulk::bytes(std::string_view value) {
  next<ByteaArray>().add(value);
  bytes_ += value.size();
  return *this;
}

Bulk& Bulk::boolean(bool value) {
  next<BoolArray>().add(value);
  return *this;
}

Bulk& Bulk::uuid(const Uuid& value) {
  next<UuidArray>().add(value);
  return *this;
}

Call& Bulk::send(Batch& batch, std::int64_t ns, const Statement& statement,
                 const std::function<void(Call&)>& bind_before) const {
  PAWL_CHECK(rows_ > 0 && column_ == columns_.size());
  const bool are_few = rows_ <= kFewRows;
  Call& call = batch.add(are_few ? for_few(statement, rows_) : statement).integer(ns);
  if (bind_before) {
    bind_before(call);
  }
  if (!are_few) {
    bind_arrays(call);
    return call;
  }
  for (const Column& column : columns_) {
    bind_each(column, call);
  }
  return call;
}

void Bulk::bind_arrays(Call& call) const {
  for (const Column& column : columns_) {
    call.array(as_array(column));
  }
}

void Bulk::bind_last(Call& call) const {
  PAWL_CHECK(rows_ == 1 && column_ == columns_.size());
  bind_each(columns_.back(), call);
}

const Array& Bulk::as_array(const Column& column) {
  return std::visit([](const Array& array) -> const Array& { return array; }, column);
}

void Bulk::bind_each(const Column& column, Call& call) {
  as_array(column).each([&](std::optional<std::string_view> value) {
    if (value.has_value()) {
      call.bytes(*value);
    } else {
      call.null();
    }
  });
}

}  // namespace pawl::store::pg

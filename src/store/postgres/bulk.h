// Bulk: one statement for many rows, which go to the server as columns; few go as they are.
//
//   Bulk bulk(kInsertTag, "itt");
//   bulk.row().integer(run).text(name).text(value);
//   bulk.send(batch, ns);
//
// The statement's first parameter is the namespace; the last ones are, in unnest() and in their
// order, one array for each column: i int8, t text, b bytea, u uuid, o bool. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>
#include <variant>
#include <vector>

#include "base/uuid.h"
#include "store/postgres/array.h"
#include "store/postgres/batch.h"
#include "store/postgres/statement.h"

namespace pawl::store::pg {

class Bulk {
 public:
  Bulk(const Statement& statement, std::string_view columns);

  // Begins a row; then each of its values in order.
  Bulk& row();
  Bulk& integer(std::int64_t value);
  Bulk& null();
  Bulk& integer_or_null(std::int64_t value) { return value == 0 ? null() : integer(value); }
  Bulk& moment(std::int64_t value);
  Bulk& text(std::string_view value);
  Bulk& text_or_null(std::string_view value) { return value.empty() ? null() : text(value); }
  Bulk& bytes(std::string_view value);
  Bulk& bytes_or_null(std::string_view value) { return value.empty() ? null() : bytes(value); }
  Bulk& payload(bool has_payload, std::string_view value) {
    return has_payload ? bytes(value) : null();
  }
  Bulk& boolean(bool value);
  Bulk& uuid(const Uuid& value);

  std::size_t rows() const { return rows_; }
  std::size_t bytes() const { return bytes_; }
  // The batch borrows from this until it has run.
  Call& send(Batch& batch, std::int64_t ns) const { return send(batch, ns, statement_); }
  // With another statement; `bind_before` binds what it has between the namespace and the arrays.
  Call& send(Batch& batch, std::int64_t ns, const Statement& statement,
             const std::function<void(Call&)>& bind_before = {}) const;
  // Binds the arrays; or the value of the last column of the only row. Borrowed like that.
  void bind_arrays(Call& call) const;
  void bind_last(Call& call) const;

 private:
  using Column = std::variant<Int8Array, TextArray, ByteaArray, UuidArray, BoolArray>;
  static const Array& as_array(const Column& column);
  static void bind_each(const Column& column, Call& call);
  template <class T>
  T& next() {
    return std::get<T>(columns_[column_++]);
  }

  Statement statement_;
  std::vector<Column> columns_;
  std::size_t column_ = 0;
  std::size_t rows_ = 0;
  std::size_t bytes_ = 0;
};

}  // namespace pawl::store::pg

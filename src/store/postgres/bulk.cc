#include "store/postgres/bulk.h"

#include "base/check.h"

namespace pawl::store::pg {

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

Call& Bulk::send(Batch& batch, std::int64_t ns) const {
  PAWL_CHECK(rows_ == 0 || column_ == columns_.size());
  Call& call = batch.add(statement_).integer(ns);
  for (const Column& column : columns_) {
    std::visit([&](const Array& array) { call.array(array); }, column);
  }
  return call;
}

}  // namespace pawl::store::pg

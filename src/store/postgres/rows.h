// Rows: what one execution of a statement gave. Views into it are valid as long as it is.
// Thread-safe for reading.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/uuid.h"

struct pg_result;

namespace pawl::store::pg {

// Columns are counted from 0. A column that is read as what it is not is a bug, and aborts.
class Row {
 public:
  Row(const pg_result* result, int number) : result_(result), number_(number) {}

  bool is_null(int column) const;
  std::int64_t as_integer(int column) const;    // Of int2, int4, int8. NULL: 0.
  std::int64_t as_moment(int column) const;     // NULL: kNever.
  bool as_bool(int column) const;               // NULL: false.
  std::string_view as_bytes(int column) const;  // Of bytea, and of text as it came. NULL: empty.
  std::string as_string(int column) const;  // Of bytea, and of text as it was bound, see text.h.
  // Of text, as it was bound; `kept` is where it lies if it is not as it came.
  std::string_view as_text(int column, std::string& kept) const;
  Uuid as_uuid(int column) const;  // NULL: zeros.

 private:
  const pg_result* result_;
  int number_;
};

class Rows {
 public:
  Rows() = default;                                      // None.
  explicit Rows(pg_result* result) : result_(result) {}  // Becomes the owner.

  class Iterator {
   public:
    Iterator(const pg_result* result, int number) : result_(result), number_(number) {}
    Row operator*() const { return {result_, number_}; }
    Iterator& operator++() {
      ++number_;
      return *this;
    }
    friend bool operator==(const Iterator&, const Iterator&) = default;

   private:
    const pg_result* result_;
    int number_;
  };

  std::size_t size() const;
  bool empty() const { return size() == 0; }
  Row operator[](std::size_t number) const { return {result_.get(), static_cast<int>(number)}; }
  Iterator begin() const { return {result_.get(), 0}; }
  Iterator end() const { return {result_.get(), static_cast<int>(size())}; }
  // Rows that an INSERT, UPDATE, DELETE or SELECT touched.
  std::int64_t affected() const;
  // "COMMIT", "INSERT 0 1" …
  std::string_view tag() const;

 private:
  struct Free {
    void operator()(pg_result* result) const;
  };
  std::unique_ptr<pg_result, Free> result_;
};

}  // namespace pawl::store::pg

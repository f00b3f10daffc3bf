// Arrays as parameters, e.g. for unnest: columns of rows that go to the server in one statement.
// Each value is written in PostgreSQL's binary form when it is added. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/uuid.h"

namespace pawl::store::pg {

class Array {
 public:
  void add_null();

  std::size_t size() const { return size_; }
  // For those that will be added: `count` values of `bytes` in all.
  void reserve(std::size_t count, std::size_t bytes);
  void clear();
  // The whole array, valid until it is changed.
  std::string_view encoded() const;
  // Calls visit(std::optional<std::string_view>) with each element as it is encoded; none for NULL.
  template <class Visit>
  void each(const Visit& visit) const {
    for (std::string_view rest = elements(); !rest.empty();) {
      visit(take_element(rest));
    }
  }

 protected:
  explicit Array(std::uint32_t element_type);
  void add_bytes(const void* bytes, std::size_t size);

 private:
  std::string_view elements() const;
  static std::optional<std::string_view> take_element(std::string_view& rest);
  void set_header(std::size_t position, std::uint32_t value);

  std::string buffer_;
  std::size_t size_ = 0;
};

class Int8Array : public Array {
 public:
  Int8Array() : Array(20) {}
  explicit Int8Array(std::span<const std::int64_t> values) : Array(20) {
    for (const std::int64_t value : values) {
      add(value);
    }
  }
  void add(std::int64_t value);
  // NULL for kNever.
  void add_moment(std::int64_t value);
};

class Int4Array : public Array {
 public:
  Int4Array() : Array(23) {}
  void add(std::int32_t value);
};

class BoolArray : public Array {
 public:
  BoolArray() : Array(16) {}
  void add(bool value);
};

class TextArray : public Array {
 public:
  TextArray() : Array(25) {}
  void add(std::string_view value);  // Any bytes, see text.h.
};

class ByteaArray : public Array {
 public:
  ByteaArray() : Array(17) {}
  void add(std::string_view value) { add_bytes(value.data(), value.size()); }
};

class UuidArray : public Array {
 public:
  UuidArray() : Array(2950) {}
  void add(const Uuid& value) { add_bytes(value.bytes.data(), value.bytes.size()); }
};

}  // namespace pawl::store::pg

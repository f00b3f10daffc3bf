#include "store/postgres/array.h"

#include "store/postgres/big_endian.h"
#include "store/postgres/text.h"
#include "store/rows.h"

namespace pawl::store::pg {

namespace {

// Positions of 32-bit numbers in front of the elements: dimensions, whether there may be NULLs,
// type of the elements, then for the one dimension its length and first index.
constexpr std::size_t kDimensions = 0;
constexpr std::size_t kHasNulls = 4;
constexpr std::size_t kElementType = 8;
constexpr std::size_t kLength = 12;
constexpr std::size_t kFirstIndex = 16;
constexpr std::size_t kHeaderBytes = 20;
constexpr std::size_t kBytesAtFirst = 62;  // Mostly enough for one element.
constexpr std::uint32_t kNullSize = 0xffffffff;
constexpr std::size_t kEmptyBytes = 12;  // Without a dimension.

}  // namespace

Array::Array(std::uint32_t element_type) {
  buffer_.reserve(kBytesAtFirst);
  buffer_.resize(kHeaderBytes);
  set_header(kElementType, element_type);
  set_header(kFirstIndex, 1);
}

void Array::set_header(std::size_t position, std::uint32_t value) {
  store_big_endian(value, buffer_.data() + position);
}

void Array::reserve(std::size_t count, std::size_t bytes) {
  buffer_.reserve(buffer_.size() + count * sizeof(std::uint32_t) + bytes);
}

void Array::clear() {
  buffer_.resize(kHeaderBytes);
  size_ = 0;
  set_header(kDimensions, 0);
  set_header(kHasNulls, 0);
}

void Array::add_bytes(const void* bytes, std::size_t size) {
  const std::size_t position = buffer_.size();
  buffer_.resize(position + sizeof(std::uint32_t));
  store_big_endian(static_cast<std::uint32_t>(size), buffer_.data() + position);
  if (size > 0) {
    buffer_.append(static_cast<const char*>(bytes), size);
  }
  set_header(kDimensions, 1);
  set_header(kLength, static_cast<std::uint32_t>(++size_));
}

void Array::add_null() {
  buffer_.append(sizeof(std::uint32_t), '\xff');  // Length -1.
  set_header(kDimensions, 1);
  set_header(kHasNulls, 1);
  set_header(kLength, static_cast<std::uint32_t>(++size_));
}

std::string_view Array::encoded() const {
  const std::string_view all = buffer_;
  return size_ == 0 ? all.substr(0, kEmptyBytes) : all;
}

std::string_view Array::elements() const { return std::string_view(buffer_).substr(kHeaderBytes); }

std::optional<std::string_view> Array::take_element(std::string_view& rest) {
  const auto size = load_big_endian<std::uint32_t>(rest.substr(0, sizeof(std::uint32_t)));
  rest.remove_prefix(sizeof(std::uint32_t));
  if (size == kNullSize) {
    return std::nullopt;
  }
  const std::string_view element = rest.substr(0, size);
  rest.remove_prefix(size);
  return element;
}

void TextArray::add(std::string_view value) {
  if (is_plain_text(value)) {
    add_bytes(value.data(), value.size());
    return;
  }
  const std::string written = to_text(value);
  add_bytes(written.data(), written.size());
}

void Int8Array::add(std::int64_t value) {
  char bytes[sizeof(value)];
  store_big_endian(static_cast<std::uint64_t>(value), bytes);
  add_bytes(bytes, sizeof(bytes));
}

void Int8Array::add_moment(std::int64_t value) {
  if (value == kNever) {
    add_null();
  } else {
    add(value);
  }
}

void Int4Array::add(std::int32_t value) {
  char bytes[sizeof(value)];
  store_big_endian(static_cast<std::uint32_t>(value), bytes);
  add_bytes(bytes, sizeof(bytes));
}

void BoolArray::add(bool value) {
  const char byte = value ? 1 : 0;
  add_bytes(&byte, 1);
}

}  // namespace pawl::store::pg

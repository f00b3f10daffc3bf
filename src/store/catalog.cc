#include "store/catalog.h"

#include <charconv>

namespace pawl::store {

std::string cursor_text(const RunCursor& cursor) {
  return std::to_string(cursor.created_ms) + "-" + std::to_string(cursor.key);
}

std::optional<RunCursor> parse_cursor(std::string_view text) {
  RunCursor cursor;
  const char* const end = text.data() + text.size();
  const auto time = std::from_chars(text.data(), end, cursor.created_ms);
  if (time.ec != std::errc() || time.ptr == end || *time.ptr != '-') {
    return std::nullopt;
  }
  const auto key = std::from_chars(time.ptr + 1, end, cursor.key);
  if (key.ec != std::errc() || key.ptr != end || cursor.key < 0) {
    return std::nullopt;
  }
  return cursor;
}

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) {
    text.replace(at, from.size(), to);
  }
}

}  // namespace pawl::store

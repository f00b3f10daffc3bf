// Any bytes as text that PostgreSQL takes: it refuses bytes that are no UTF-8, and zero bytes. Such
// a byte is written as one of the last 256 characters of Unicode, U+10FF00 to U+10FFFF, which
// belong to nobody; and so are the bytes of these characters themselves. Everything else stays as
// it is. Pure functions.
#pragma once

#include <string>
#include <string_view>

namespace pawl::store::pg {

// Whether it can be sent as it is.
bool is_plain_text(std::string_view bytes);
std::string to_text(std::string_view bytes);

// Whether to_text() has changed anything.
bool has_written_bytes(std::string_view text);
std::string from_text(std::string_view text);

}  // namespace pawl::store::pg

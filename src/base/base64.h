// Bytes as text: base64 with padding (RFC 4648, section 4).
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace pawl {

std::string encode_base64(std::string_view bytes);
// Accepts only what encode_base64() makes.
std::optional<std::string> decode_base64(std::string_view text);

}  // namespace pawl

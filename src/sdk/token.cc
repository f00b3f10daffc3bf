#include "sdk/token.h"

#include <algorithm>

#include "base/base64.h"

namespace pawl::detail {

std::string make_token(std::string_view run_id, std::string_view promise) {
  std::string bytes(run_id);
  bytes += '\0';
  bytes += promise;
  std::string token = encode_base64(bytes);
  token.resize(token.find_last_not_of('=') + 1);
  std::replace(token.begin(), token.end(), '+', '-');
  std::replace(token.begin(), token.end(), '/', '_');
  return token;
}

std::optional<std::pair<std::string, std::string>> read_token(std::string_view token) {
  if (token.find_first_of("+/=") != std::string_view::npos) {
    return std::nullopt;
  }
  std::string text(token);
  std::replace(text.begin(), text.end(), '-', '+');
  std::replace(text.begin(), text.end(), '_', '/');
  text.append((4 - text.size() % 4) % 4, '=');
  const std::optional<std::string> bytes = decode_base64(text);
  // A zero byte may be in the run's id; hardly in a promise's name.
  const std::size_t split = bytes ? bytes->rfind('\0') : std::string::npos;
  if (split == std::string::npos || split == 0 || split + 1 == bytes->size()) {
    return std::nullopt;
  }
  return std::pair(bytes->substr(0, split), bytes->substr(split + 1));
}

}  // namespace pawl::detail

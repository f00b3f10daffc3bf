// Tokens: the text that names one promise of one run, for whoever is to resolve it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace pawl::detail {

// base64url, without padding, of the run's id, a zero byte and the promise's name.
std::string make_token(std::string_view run_id, std::string_view promise);
// Run id and promise; none if it is no token.
std::optional<std::pair<std::string, std::string>> read_token(std::string_view token);

}  // namespace pawl::detail

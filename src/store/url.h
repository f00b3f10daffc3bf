// What the URLs of all stores have in common. Pure functions.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace pawl::store {

// The text with each %XX replaced by the byte that it stands for; none if '%' is followed by
// anything else than two hexadecimal digits.
std::optional<std::string> decode_percent(std::string_view text);

// What is wrong then.
inline constexpr std::string_view kPercentRule =
    "'%' has to be followed by two hexadecimal digits; write %25 for '%' itself";

// Where user, password, hosts and ports end in a URL of the form scheme://user@host/path.
std::size_t end_of_authority(std::string_view url);

// The URL with *** for passwords, for messages.
std::string without_password(std::string_view url);

}  // namespace pawl::store

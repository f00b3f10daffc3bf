#include "store/url.h"

#include <charconv>
#include <cstddef>
#include <system_error>

namespace pawl::store {

namespace {

std::optional<unsigned> hex(std::string_view digits) {
  unsigned value = 0;
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
  if (digits.size() != 2 || error != std::errc() || end != digits.data() + digits.size()) {
    return std::nullopt;
  }
  return value;
}

}  // namespace

std::optional<std::string> decode_percent(std::string_view text) {
  std::string decoded;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      decoded.push_back(text[i]);
      continue;
    }
    const std::optional<unsigned> byte = hex(text.substr(i + 1, 2));
    if (!byte.has_value()) {
      return std::nullopt;
    }
    decoded.push_back(static_cast<char>(*byte));
    i += 2;
  }
  return decoded;
}

namespace {

std::size_t begin_of_authority(std::string_view url) {
  const std::size_t mark = url.find("://");
  return mark == std::string_view::npos ? 0 : mark + 3;
}

bool is_secret(std::string_view name) { return name == "password" || name == "sslpassword"; }

}  // namespace

std::size_t end_of_authority(std::string_view url) {
  const std::size_t end = url.find_first_of("/?", begin_of_authority(url));
  return end == std::string_view::npos ? url.size() : end;
}

std::string without_password(std::string_view url) {
  const std::size_t begin = begin_of_authority(url);
  const std::size_t at = url.rfind('@');
  std::string shown(url.substr(0, begin));
  std::string_view rest = url.substr(begin);
  if (at != std::string_view::npos && at >= begin) {
    const std::string_view user = url.substr(begin, at - begin);
    const std::size_t colon = user.find(':');
    const bool is_plain = at < end_of_authority(url) && user.find('@') == std::string_view::npos;
    if (!is_plain) {
      shown += "***";
    } else if (colon == std::string_view::npos) {
      shown += user;
    } else {
      shown += user.substr(0, colon);
      shown += ":***";
    }
    rest = url.substr(at);
  }
  const std::size_t mark = rest.find('?');
  shown += rest.substr(0, mark);
  rest = mark == std::string_view::npos ? std::string_view() : rest.substr(mark);
  while (!rest.empty()) {
    const std::size_t end = rest.find('&', 1);
    const std::string_view parameter = rest.substr(0, end);
    rest = end == std::string_view::npos ? std::string_view() : rest.substr(end);
    const std::size_t equals = parameter.find('=');
    // A name may be written with %XX, too.
    const std::optional<std::string> name = decode_percent(parameter.substr(0, equals).substr(1));
    const bool hide = equals != std::string_view::npos && (!name.has_value() || is_secret(*name));
    shown += hide ? parameter.substr(0, equals + 1) : parameter;
    shown += hide ? "***" : "";
  }
  return shown;
}

}  // namespace pawl::store

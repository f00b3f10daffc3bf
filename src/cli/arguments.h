// Checks of arguments that subcommands share.
#pragma once

#include <charconv>
#include <cstdint>
#include <string>
#include <system_error>

#include <CLI/CLI.hpp>

namespace pawl::cli {

// A whole number from 1 to `max`, in digits.
inline CLI::Validator whole_number(std::uint64_t max) {
  return CLI::Validator(
      [max](const std::string& text) {
        std::uint64_t number = 0;
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
        const bool is_good = error == std::errc() && end == text.data() + text.size() &&
                             number >= 1 && number <= max;
        return is_good ? std::string()
                       : "a whole number from 1 to " + std::to_string(max) + " is wanted, not '" +
                             text + "'";
      },
      "");
}

// Something is given. An empty text is what a script makes of a variable that it has not set; to
// take it for "not given" would widen a filter.
inline CLI::Validator not_blank() {
  return CLI::Validator(
      [](const std::string& text) {
        return text.find_first_not_of(" \t\r\n") == std::string::npos
                   ? "a value is wanted, not '" + text + "'"
                   : std::string();
      },
      "");
}

}  // namespace pawl::cli

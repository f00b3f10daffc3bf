#include "format/json_printer.h"

#include <array>
#include <charconv>
#include <cmath>
#include <string_view>

#include <boost/json.hpp>

namespace pawl::format {

namespace json = boost::json;

namespace {

// Numbers with their point within this many digits are written without an exponent.
constexpr int kWholeDigitsMax = 15;
constexpr int kLeadingZerosMax = 3;

// The shortest digits that are read as this number again.
void print_number(std::string& out, double number) {
  out += std::signbit(number) ? "-" : "";
  if (std::isinf(number)) {  // What was read of 1e400: JSON has no other way to write it.
    out += "1e+999";
    return;
  }
  std::array<char, 32> buffer{};
  const auto [end, error] = std::to_chars(buffer.data(), buffer.data() + buffer.size(),
                                          std::abs(number), std::chars_format::scientific);
  const std::string_view text(buffer.data(), static_cast<std::size_t>(end - buffer.data()));
  const std::size_t e = text.find('e');
  std::string digits(text.substr(0, 1));
  if (e > 1) {
    digits += text.substr(2, e - 2);
  }
  int exponent = 0;
  const std::string_view power = text.substr(text[e + 1] == '+' ? e + 2 : e + 1);
  std::from_chars(power.data(), power.data() + power.size(), exponent);
  const int count = static_cast<int>(digits.size());
  const int point = exponent + 1;  // Digits before the point.
  if (count <= point && point <= kWholeDigitsMax) {
    out += digits + std::string(static_cast<std::size_t>(point - count), '0') + ".0";
  } else if (0 < point && point <= kWholeDigitsMax) {
    out += digits.insert(static_cast<std::size_t>(point), ".");
  } else if (-kLeadingZerosMax <= point && point <= 0) {
    out += "0." + std::string(static_cast<std::size_t>(-point), '0') + digits;
  } else {
    if (count > 1) {
      digits.insert(1, ".");
    }
    const std::string size = std::to_string(std::abs(exponent));
    out += digits + (exponent < 0 ? "e-" : "e+") + (size.size() < 2 ? "0" : "") + size;
  }
}

void print(std::string& out, const json::value& value) {
  switch (value.kind()) {
    case json::kind::double_:
      print_number(out, value.get_double());
      return;
    case json::kind::array: {
      char before = '[';
      for (const json::value& element : value.get_array()) {
        out += before;
        print(out, element);
        before = ',';
      }
      out += value.get_array().empty() ? "[]" : "]";
      return;
    }
    case json::kind::object: {
      char before = '{';
      for (const json::key_value_pair& member : value.get_object()) {
        out += before;
        out += json::serialize(json::string_view(member.key()));
        out += ':';
        print(out, member.value());
        before = ',';
      }
      out += value.get_object().empty() ? "{}" : "}";
      return;
    }
    default:
      out += json::serialize(value);
      return;
  }
}

}  // namespace

std::string print_json(const json::value& value) {
  std::string out;
  print(out, value);
  return out;
}

}  // namespace pawl::format

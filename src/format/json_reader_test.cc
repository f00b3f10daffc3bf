#include "format/json_reader.h"

#include <bit>
#include <charconv>
#include <cmath>
#include <string>

#include <boost/json.hpp>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace pawl::format {
namespace {

std::string shortest(double number) {
  char text[32];
  const std::to_chars_result end = std::to_chars(text, text + sizeof(text), number);
  return {text, end.ptr};
}

double parsed(const std::string& text) {
  const Result<boost::json::value> value = parse_json(text);
  return value ? value->to_number<double>() : std::nan("");
}

RC_GTEST_PROP(JsonNumbers, AreReadToTheLastDigit, ()) {
  const double number = std::bit_cast<double>(*rc::gen::arbitrary<std::uint64_t>());
  RC_PRE(std::isfinite(number));
  const std::string text = shortest(number);
  RC_LOG() << text;
  RC_ASSERT(parsed(text) == number);
  RC_ASSERT(parsed("  " + text + "\n") == number);
  const Result<boost::json::value> nested = parse_json("{\"a\": [" + text + ", 1]}");
  RC_ASSERT(nested.has_value());
  RC_ASSERT(nested->at("a").at(0).to_number<double>() == number);
}

TEST(JsonNumbers, StayWhatTheyAre) {
  EXPECT_TRUE(parse_json("-9223372036854775808")->is_int64());
  EXPECT_TRUE(parse_json("18446744073709551615")->is_uint64());
  EXPECT_TRUE(parse_json("18446744073709551616")->is_double());
  EXPECT_TRUE(parse_json("1.0")->is_double());
  EXPECT_EQ(parsed("0.030396083241736482"), 0.030396083241736482);
  EXPECT_EQ(parsed("-1e-7"), -1e-7);
  EXPECT_EQ(parsed("1E+2"), 100.0);
}

}  // namespace
}  // namespace pawl::format

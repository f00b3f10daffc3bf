// Codecs: values to payloads and back, and what is said when that does not work.
#include "pawl/codec.hpp"

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "sdk/codec_store.h"
#include "sdk/token.h"

namespace shop {

enum class Size { kSmall = 1, kLarge = 2 };
BOOST_DESCRIBE_ENUM(Size, kSmall, kLarge)

struct Line {
  std::string item;
  int count = 1;
  Size size = Size::kSmall;
  std::optional<double> price = {};
  friend bool operator==(const Line&, const Line&) = default;
};
BOOST_DESCRIBE_STRUCT(Line, (), (item, count, size, price))

struct Basket {
  std::vector<Line> lines;
  std::map<std::string, Line> by_name;
  std::vector<Size> sizes;
  friend bool operator==(const Basket&, const Basket&) = default;
};
BOOST_DESCRIBE_STRUCT(Basket, (), (lines, by_name, sizes))

struct Point {
  int x = 0;
  int y = 0;
  friend bool operator==(const Point&, const Point&) = default;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Point, x, y)

// By nlohmann and by Boost.Describe: nlohmann's is what the author wrote by hand.
struct Both {
  int x = 0;
};
inline void to_json(nlohmann::json& json, const Both& both) { json = both.x; }
inline void from_json(const nlohmann::json& json, Both& both) { both.x = json.get<int>(); }
BOOST_DESCRIBE_STRUCT(Both, (), (x))

struct Money {
  std::int64_t cents = 0;
  friend bool operator==(const Money&, const Money&) = default;
};
struct Unknown {
  int* pointer = nullptr;
};

}  // namespace shop

template <>
struct pawl::Codec<shop::Money> {
  static std::string encode(const shop::Money& money) {
    return "\"" + std::to_string(money.cents) + "c\"";
  }
  static shop::Money decode(std::string_view payload) {
    if (!payload.ends_with("c\"")) {
      throw std::invalid_argument("no cents");
    }
    return {std::stoll(std::string(payload.substr(1)))};
  }
};

namespace pawl {
namespace {

static_assert(detail::Encodable<int>);
static_assert(detail::Encodable<shop::Money>);
static_assert(detail::Encodable<Bytes>);
static_assert(detail::Encodable<std::vector<std::optional<shop::Line>>>);
static_assert(!detail::Encodable<shop::Unknown>);
static_assert(!detail::Encodable<std::vector<shop::Unknown>>);
// By number in these and by name elsewhere would not do.
static_assert(!detail::Encodable<std::set<shop::Size>>);
static_assert(detail::Encodable<std::set<int>>);

std::string here() { return "here"; }

template <class T>
void expect_round_trip(const T& value, const std::string& payload) {
  EXPECT_EQ(detail::encode(value, here), payload);
  EXPECT_EQ(detail::decode<T>(payload, here), value);
}

template <class T>
std::string problem(std::string_view payload) {
  try {
    detail::decode<T>(payload, here);
  } catch (const PayloadError& error) {
    return error.what();
  }
  return "";
}

// What a payload means to nlohmann::json, which also reads what is no plain number. None: an error,
// or a number that does not fit.
template <class T>
std::optional<T> read_by_json(const std::string& text) {
  try {
    const detail::Json json = detail::Json::parse(text);
    using Limits = std::numeric_limits<T>;
    if (json.is_number_unsigned() && !std::in_range<T>(json.get<std::uint64_t>())) {
      return std::nullopt;
    }
    if (json.is_number() && !json.is_number_unsigned()) {
      const long double wide = json.get<double>();
      if (wide < static_cast<long double>(Limits::min()) ||
          wide > static_cast<long double>(Limits::max())) {
        return std::nullopt;
      }
    }
    return json.get<T>();
  } catch (const std::exception&) {
    return std::nullopt;
  }
}
template <class T>
std::optional<T> read_by_codec(const std::string& text) {
  try {
    return Codec<T>::decode(text);
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

template <class T>
class IntegerCodec : public testing::Test {};
using Integers = testing::Types<int, unsigned, long, unsigned long, long long, unsigned long long>;
TYPED_TEST_SUITE(IntegerCodec, Integers);

TYPED_TEST(IntegerCodec, ReadsAndWritesWhatJsonDoes) {
  for (const char* text : {"0",
                           "-0",
                           "00",
                           "01",
                           "-01",
                           "1",
                           "-1",
                           "+1",
                           " 1",
                           "1 ",
                           "\t7\n",
                           "1.0",
                           "1.5",
                           "-0.0",
                           "1e3",
                           "1E3",
                           "1e400",
                           "0x10",
                           "1_000",
                           "",
                           "-",
                           "--1",
                           "null",
                           "true",
                           "false",
                           "\"1\"",
                           "[1]",
                           "{}",
                           "1,",
                           "1 2",
                           "2147483647",
                           "2147483648",
                           "-2147483648",
                           "-2147483649",
                           "4294967295",
                           "4294967296",
                           "9223372036854775807",
                           "9223372036854775808",
                           "-9223372036854775808",
                           "-9223372036854775809",
                           "18446744073709551615",
                           "18446744073709551616",
                           "99999999999999999999999"}) {
    EXPECT_EQ(read_by_codec<TypeParam>(text), read_by_json<TypeParam>(text)) << text;
  }
  using Limits = std::numeric_limits<TypeParam>;
  for (const TypeParam value : {Limits::min(), TypeParam{0}, TypeParam{42}, Limits::max()}) {
    EXPECT_EQ(Codec<TypeParam>::encode(value), detail::Json(value).dump());
    EXPECT_EQ(Codec<TypeParam>::decode(Codec<TypeParam>::encode(value)), value);
  }
}

TEST(Codec, RoundTrips) {
  expect_round_trip(17, "17");
  expect_round_trip(std::string("a\"b"), R"("a\"b")");
  expect_round_trip(std::vector<int>{1, 2}, "[1,2]");
  expect_round_trip(std::optional<int>(), "null");
  expect_round_trip(std::optional<shop::Point>(shop::Point{1, 2}), R"({"x":1,"y":2})");
  expect_round_trip(nlohmann::json{{"a", 1}}, R"({"a":1})");
  expect_round_trip(std::monostate(), "null");
  expect_round_trip(shop::Money{250}, R"("250c")");
  expect_round_trip(shop::Size::kLarge, R"("kLarge")");
  expect_round_trip(Bytes{std::string("\0\x01{", 3)}, std::string("\x01\0\x01{", 4));
  EXPECT_EQ(detail::encode(shop::Both{7}, here), "7");
}

TEST(Codec, DescribedTypesNest) {
  const shop::Line line{"bolt", 3, shop::Size::kLarge, 1.5};
  const shop::Basket basket{{line, {}}, {{"first", line}}, {shop::Size::kSmall}};
  EXPECT_EQ(detail::encode(line, here), R"({"count":3,"item":"bolt","price":1.5,"size":"kLarge"})");
  EXPECT_EQ(detail::decode<shop::Basket>(detail::encode(basket, here), here), basket);
  expect_round_trip(std::tuple(shop::Line{"x"}, 2, shop::Size::kLarge),
                    R"([{"count":1,"item":"x","price":null,"size":"kSmall"},2,"kLarge"])");
  expect_round_trip(std::pair(1, shop::Size::kSmall), R"([1,"kSmall"])");
  expect_round_trip(std::tuple(1, std::string("x")), R"([1,"x"])");
  EXPECT_EQ((problem<std::tuple<int, shop::Size>>("[1]")),
            "here as std::tuple<int, shop::Size>: expected an array of 2, got one of 1");
  EXPECT_TRUE(problem<std::vector<std::string>>("1").starts_with("here as std::vector<std::string"))
      << problem<std::vector<std::string>>("1");
  // What is not there keeps its default.
  EXPECT_EQ(detail::decode<shop::Line>(R"({"item":"x","more":1})", here), (shop::Line{"x"}));
}

TEST(Codec, ErrorsSayWhereWhatAndWhy) {
  EXPECT_NE(problem<int>(R"("x")").find("here as int: "), std::string::npos);
  EXPECT_NE(problem<int>("{").find("parse error"), std::string::npos);
  EXPECT_EQ(problem<Bytes>("1"), "here as pawl::Bytes: the payload holds JSON, not plain bytes");
  EXPECT_EQ(problem<int>("\x01x"), "here as int: the payload holds plain bytes, not JSON");
  EXPECT_NE(problem<shop::Basket>(R"({"lines":[{"count":"x"}]})")
                .find("member 'lines': member 'count': "),
            std::string::npos)
      << problem<shop::Basket>(R"({"lines":[{"count":"x"}]})");
  EXPECT_EQ(problem<shop::Size>(R"("kHuge")"), "here as shop::Size: no such enumerator: \"kHuge\"");
  EXPECT_EQ(problem<shop::Money>("5"), "here as shop::Money: no cents");
  EXPECT_EQ(
      problem<int>(std::string("\x02zip\0abc", 8)),
      "here as int: it was written by the payload codec 'zip', which this engine does not have");
  EXPECT_THROW(detail::encode(std::string("\xff"), here), PayloadError);
}

TEST(Codec, Arguments) {
  EXPECT_EQ(detail::encode_arguments(here), "null");
  EXPECT_EQ(detail::encode_arguments(here, 1), "1");
  EXPECT_EQ(detail::encode_arguments(here, 1, std::string("x"), shop::Money{2}), R"([1,"x","2c"])");
  const auto [number, text, money] =
      detail::decode_arguments<int, std::string, shop::Money>(R"([1,"x","2c"])", here);
  EXPECT_EQ(number, 1);
  EXPECT_EQ(text, "x");
  EXPECT_EQ(money.cents, 2);
  EXPECT_THROW((detail::decode_arguments<int, int>("[1]", here)), PayloadError);
  EXPECT_THROW(detail::encode_arguments(here, 1, Bytes{"x"}), PayloadError);
}

class Flip final : public PayloadCodec {
 public:
  explicit Flip(std::string name) : name_(std::move(name)) {}
  std::string name() const override { return name_; }
  std::string encode(std::string_view bytes) const override { return flip(bytes); }
  std::string decode(std::string_view bytes) const override {
    if (bytes.empty()) {
      throw std::invalid_argument("empty");
    }
    return flip(bytes);
  }

 private:
  static std::string flip(std::string_view bytes) {
    std::string flipped(bytes);
    for (char& byte : flipped) {
      byte = static_cast<char>(byte ^ 0x55);
    }
    return flipped;
  }
  std::string name_;
};

RC_GTEST_PROP(PayloadCodecs, RoundTrip, (const std::string& payload)) {
  const detail::PayloadCodecs codecs(std::make_shared<Flip>("flip"), {});
  const std::string encoded = *codecs.encode(payload);
  RC_ASSERT(payload.empty() || encoded.starts_with(std::string("\x02"
                                                               "flip\0",
                                                               6)));
  RC_ASSERT(*codecs.decoded(encoded) == payload);
}

TEST(PayloadCodecs, OldOnesAreReadAndUnknownOnesNamed) {
  const detail::PayloadCodecs old(std::make_shared<Flip>("old"), {});
  const std::string written = *old.encode("1");
  const detail::PayloadCodecs both(std::make_shared<Flip>("new"), {std::make_shared<Flip>("old")});
  EXPECT_EQ(*both.decoded(written), "1");
  EXPECT_EQ(*both.decoded("plain"), "plain");
  const detail::PayloadCodecs none(nullptr, {});
  EXPECT_EQ(none.decoded(written).error().message,
            "a payload was written by the payload codec 'old', which this engine does not have");
  EXPECT_EQ(old.decoded(std::string("\x02old\0", 5)).error().message,
            "payload codec 'old' cannot decode: empty");
  EXPECT_THROW(detail::PayloadCodecs(std::make_shared<Flip>(""), {}), UsageError);
}

RC_GTEST_PROP(Token, RoundTrip, (std::string run, std::string promise)) {
  std::erase(promise, '\0');
  const auto parts = detail::read_token(detail::make_token(run, promise));
  RC_ASSERT(parts.has_value() == (!run.empty() && !promise.empty()));
  if (parts) {
    RC_ASSERT(parts->first == run);
    RC_ASSERT(parts->second == promise);
  }
}

}  // namespace
}  // namespace pawl

#include "base/uuid.h"

#include <algorithm>
#include <cctype>
#include <string>

#include <boost/uuid/name_generator_sha1.hpp>
#include <boost/uuid/uuid.hpp>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace pawl {
namespace {

constexpr std::string_view kOrder = "a1b2c3d4-e5f6-7890-abcd-ef1234567890";
constexpr std::string_view kNil = "00000000-0000-0000-0000-000000000000";

std::string uppercased(std::string text) {
  for (char& c : text) {
    c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  }
  return text;
}

TEST(Uuid, PrintsWhatItParsed) {
  const auto uuid = Uuid::parse(kOrder);
  ASSERT_TRUE(uuid);
  EXPECT_EQ(uuid->to_string(), kOrder);
  EXPECT_EQ(uuid->bytes[0], 0xa1);
  EXPECT_EQ(uuid->bytes[7], 0x90);
  EXPECT_EQ(uuid->bytes[15], 0x90);
}

TEST(Uuid, TheDefaultIsNil) { EXPECT_EQ(Uuid{}.to_string(), kNil); }

TEST(Uuid, ParseTakesEitherCaseAndCanonicalOnlyLowerCase) {
  const std::string upper = uppercased(std::string(kOrder));
  EXPECT_EQ(Uuid::parse(upper), Uuid::parse(kOrder));
  EXPECT_EQ(Uuid::parse_canonical(kOrder), Uuid::parse(kOrder));
  EXPECT_FALSE(Uuid::parse_canonical(upper));
  std::string mixed(kOrder);
  mixed[0] = 'A';
  EXPECT_TRUE(Uuid::parse(mixed));
  EXPECT_FALSE(Uuid::parse_canonical(mixed));
}

TEST(Uuid, RefusesEverythingElse) {
  const std::string good(kOrder);
  const std::string bad[] = {
      "",
      good.substr(1),
      good + "0",
      " " + good.substr(1),
      "{" + good + "}",
      "urn:uuid:" + good,
      "a1b2c3d4e5f67890abcdef1234567890",
      "a1b2c3d4-e5f6-7890-abcdef-1234567890",
      "a1b2c3d4-e5f6-7890-abcd+ef1234567890",
      "g1b2c3d4-e5f6-7890-abcd-ef1234567890",
      "a1b2c3d4-e5f6-7890-abcd-ef123456789`",
      "a1b2c3d4-e5f6-7890-abcd-ef123456789:",
      "a1b2c3d4-e5f6-7890-abcd-ef123456789/",
      "a1b2c3d4-e5f6-7890-abcd-ef123456789\xff",
      std::string(36, '\0'),
      std::string(36, '-'),
  };
  for (const std::string& text : bad) {
    EXPECT_FALSE(Uuid::parse(text)) << text;
    EXPECT_FALSE(Uuid::parse_canonical(text)) << text;
  }
}

TEST(Uuid, RefusesEachCharacterThatIsNoDigitInEachPlace) {
  for (std::size_t at = 0; at < kOrder.size(); ++at) {
    for (int c = 0; c < 256; ++c) {
      std::string text(kOrder);
      text[at] = static_cast<char>(c);
      const bool is_dash = kOrder[at] == '-';
      const bool is_good = is_dash ? c == '-' : std::isxdigit(c) != 0;
      EXPECT_EQ(Uuid::parse(text).has_value(), is_good) << "character " << c << " at " << at;
    }
  }
}

RC_GTEST_PROP(UuidProperty, PrintAndParseAreInverse, ()) {
  Uuid uuid;
  for (std::uint8_t& byte : uuid.bytes) {
    byte = *rc::gen::inRange<std::uint8_t>(0, 255);
  }
  const std::string text = uuid.to_string();
  RC_ASSERT(Uuid::parse(text) == uuid);
  RC_ASSERT(Uuid::parse_canonical(text) == uuid);
  RC_ASSERT(Uuid::parse(uppercased(text)) == uuid);
}

TEST(Uuid, OrdersByBytes) {
  const Uuid low = *Uuid::parse("00000000-0000-0000-0000-0000000000ff");
  const Uuid high = *Uuid::parse("01000000-0000-0000-0000-000000000000");
  EXPECT_LT(Uuid{}, low);
  EXPECT_LT(low, high);
}

// The vectors come from Python's uuid.uuid5.
TEST(Uuid5, AgreesWithOtherImplementations) {
  const struct {
    std::string_view space;
    std::string name;
    std::string_view made;
  } vectors[] = {
      {"6ba7b810-9dad-11d1-80b4-00c04fd430c8", "www.example.com",
       "2ed6657d-e927-568b-95e1-2665a8aea6a2"},
      {"6ba7b810-9dad-11d1-80b4-00c04fd430c8", "python.org",
       "886313e1-3b8a-5372-9b90-0c9aee199e5d"},
      {kNil, "", "e129f27c-5103-5c5c-844b-cdf0a15e160d"},
      {kNil, "{1}", "fec8bbaf-7d30-595f-9ba3-0e15c7f6dcb6"},
      {kNil, "{2, 1.1}", "6c2854c1-3efe-5aea-bf21-ed5f20674426"},
      {kNil, "{}:0", "6f25b001-c5d4-5a76-bc7e-679c2537720c"},
      {kOrder, "", "3639b375-9779-5616-8e43-a967e6cdf609"},
      {kOrder, "{1}", "389f7678-1992-59d6-b9f7-d1fdcee3011d"},
      {kOrder, "{2, 1.1}", "4d0d04c6-62ae-5711-a25d-ff9776c1722c"},
      {kOrder, "{4, 0.3.1, 0.6}", "8a264f53-dc6f-528b-8192-1b6cdc7a77bb"},
      {kOrder, "{}:0", "309a3a73-2dc6-5798-b180-c464147a01c0"},
      {kOrder, "\xc3\xbc\xe2\x82\xac\xf0\x9f\x98\x80", "c5cd8a87-9b9a-5f88-9504-b91f17687d9c"},
      {kOrder, std::string(1000, 'x'), "85bcd7a9-d185-5796-be66-079a44282453"},
  };
  for (const auto& vector : vectors) {
    EXPECT_EQ(uuid5(*Uuid::parse(vector.space), vector.name).to_string(), vector.made)
        << vector.name;
  }
}

// Every length up to three blocks of the hash, and so every way in which the last one is filled.
TEST(Uuid5, AgreesWithBoostAtEveryLength) {
  boost::uuids::uuid space{};
  const Uuid order = *Uuid::parse(kOrder);
  std::copy(order.bytes.begin(), order.bytes.end(), space.begin());
  const boost::uuids::name_generator_sha1 generate(space);
  std::string name;
  for (std::size_t length = 0; length <= 192; ++length) {
    const boost::uuids::uuid expected = generate(name);
    EXPECT_TRUE(std::equal(expected.begin(), expected.end(), uuid5(order, name).bytes.begin()))
        << length;
    name.push_back(static_cast<char>(length * 37 + 11));
  }
}

}  // namespace
}  // namespace pawl

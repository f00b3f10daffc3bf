#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "base/base64.h"
#include "base/utf8.h"

namespace pawl {
namespace {

TEST(Base64, KnownTexts) {
  const struct {
    std::string_view bytes;
    std::string_view text;
  } cases[] = {{"", ""},
               {"f", "Zg=="},
               {"fo", "Zm8="},
               {"foo", "Zm9v"},
               {"foob", "Zm9vYg=="},
               {"fooba", "Zm9vYmE="},
               {"foobar", "Zm9vYmFy"},
               {std::string_view("\x00\xff\xfe", 3), "AP/+"}};
  for (const auto& one : cases) {
    EXPECT_EQ(encode_base64(one.bytes), one.text);
    EXPECT_EQ(decode_base64(one.text), one.bytes);
  }
}

TEST(Base64, EveryByteComesBack) {
  std::string bytes;
  for (int i = 0; i < 256; ++i) {
    bytes += static_cast<char>(i);
    EXPECT_EQ(decode_base64(encode_base64(bytes)), bytes);
  }
}

TEST(Base64, OtherFormsAreRefused) {
  for (const std::string_view text : {"Z", "Zg", "Zg=", "Zm9", "=", "====", "Zg==Zg==", "Zh==",
                                      "Zm9=", "Zm9v====", "Zm 9", "Zm9v\n", "-_-_", "A==="}) {
    EXPECT_FALSE(decode_base64(text)) << text;
  }
}

TEST(Utf8, ShortestFormsOnly) {
  for (const std::string_view text :
       {"", "a", "\xc3\xbc", "\xe2\x82\xac", "\xf0\x9f\x98\x80", "a\x7f"}) {
    EXPECT_TRUE(is_utf8(text)) << text;
  }
  for (const std::string_view text :
       {"\xff", "\xc3", "\xc3(", "\xc0\x80", "\xe0\x80\x80", "\xed\xa0\x80", "\xf5\x80\x80\x80",
        "\xf4\x90\x80\x80", "ok\x80", "\xe2\x82"}) {
    EXPECT_FALSE(is_utf8(text)) << text;
  }
}

}  // namespace
}  // namespace pawl

#include "view/text.h"

#include <string>

#include <gtest/gtest.h>

namespace pawl::view {
namespace {

using namespace std::string_literals;

TEST(DurationText, HasTwoUnitsAtMost) {
  EXPECT_EQ(duration_text(-5), "0 ms");
  EXPECT_EQ(duration_text(0), "0 ms");
  EXPECT_EQ(duration_text(999), "999 ms");
  EXPECT_EQ(duration_text(1000), "1.00 s");
  EXPECT_EQ(duration_text(59'999), "59.99 s");
  EXPECT_EQ(duration_text(60'000), "1 min 00 s");
  EXPECT_EQ(duration_text(3'599'999), "59 min 59 s");
  EXPECT_EQ(duration_text(3'600'000), "1 h 00 min");
  EXPECT_EQ(duration_text(86'399'999), "23 h 59 min");
  EXPECT_EQ(duration_text(86'400'000), "1 d 00 h");
  EXPECT_EQ(duration_text(std::int64_t{1000} * 86'400'000 + 7'200'000), "1000 d 02 h");
}

TEST(MomentText, IsADateInUtc) {
  EXPECT_EQ(moment_text(0), "1970-01-01 00:00:00.000 UTC");
  EXPECT_EQ(moment_text(-1), "1969-12-31 23:59:59.999 UTC");
  // `date -u -d @951826154`
  EXPECT_EQ(moment_text(951'826'154'005), "2000-02-29 12:09:14.005 UTC");
  // `date -u -d @1794859838`
  EXPECT_EQ(moment_text(1'794'859'838'123), "2026-11-16 20:10:38.123 UTC");
}

TEST(LineText, ShowsNoControlCharacters) {
  EXPECT_EQ(line_text("a\nb\tc\x1b[31m\x7f", 100), "a\\nb\\tc\\x1b[31m\\x7f");
  EXPECT_EQ(line_text("\xc2\x9b", 100), "\\xc2\\x9b");  // A control character above 127.
  EXPECT_EQ(line_text("Äpfel 梨 😀", 100), "Äpfel 梨 😀");
  EXPECT_EQ(line_text("\xff\xe6\xa2", 100), "\\xff\\xe6\\xa2");
}

TEST(LineText, WhatTurnsOrHidesTextIsEscaped) {
  EXPECT_EQ(line_text("a\u202eb\u2066c\u200fd", 100), "a\\u202eb\\u2066c\\u200fd");
  EXPECT_EQ(line_text("\u2028\u2029\ufeff\u200b", 100), "\\u2028\\u2029\\ufeff\\u200b");
  EXPECT_EQ(line_text("\U000e0041", 100), "\\U000e0041");
  EXPECT_EQ(line_text("שלום مرحبا 👩\u200d🚀", 100), "שלום مرحبا 👩\u200d🚀");
  EXPECT_EQ(line_text("\xed\xa0\x80\xc0\x8a\xf4\x90\x80\x80", 100),
            "\\xed\\xa0\\x80\\xc0\\x8a\\xf4\\x90\\x80\\x80");
}

TEST(LineText, IsCutBetweenCharacters) {
  EXPECT_EQ(line_text("Äpfel", 5), "Äpfel");
  EXPECT_EQ(line_text("Äpfel", 4), "Äpfe…");
  EXPECT_EQ(line_text("梨梨", 1), "梨…");
}

TEST(CountText, HasGroups) {
  EXPECT_EQ(count_text(1, "line", "lines"), "1 line");
  EXPECT_EQ(count_text(999, "line", "lines"), "999 lines");
  EXPECT_EQ(count_text(1'000, "line", "lines"), "1,000 lines");
  EXPECT_EQ(count_text(1'234'567, "line", "lines"), "1,234,567 lines");
}

TEST(Columns, AreThoseOfATerminal) {
  EXPECT_EQ(columns_of("Äpfel"), 5U);
  EXPECT_EQ(columns_of("梨😀"), 4U);
  EXPECT_EQ(columns_of("e\u0301"), 1U);
  EXPECT_EQ(cut_to_columns("Äpfel", 5), "Äpfel");
  EXPECT_EQ(cut_to_columns("Äpfel", 4), "Äpf…");
  EXPECT_EQ(cut_to_columns("梨梨梨", 4), "梨…");
  EXPECT_EQ(cut_to_columns("梨梨梨", 0), "");
}

TEST(PayloadText, SaysWhatItIs) {
  EXPECT_EQ(payload_text("", 100), "null");
  EXPECT_EQ(payload_text(R"({"a":1.50})", 100), R"({"a":1.50})");
  EXPECT_EQ(payload_text("\x01\x02\x03\x04"s, 100), "<3 bytes>");
  EXPECT_EQ(payload_text("\x02"s + "aes\0rest"s, 100), "<encoded by aes, 9 bytes>");
}

TEST(FailureText, IsTypeAndMessage) {
  EXPECT_EQ(
      failure_text(
          R"({"type":"KeyError","message":"'sku'","details":{"at":["shop/stock.py:17 take","b"]}})",
          100),
      "KeyError: 'sku' (at shop/stock.py:17 take)");
  EXPECT_EQ(failure_text(R"({"type":"E","message":"m","details":{"at":7}})", 100), "E: m");
  EXPECT_EQ(failure_text(R"({"type":"shop::OutOfStock","message":"no lamps"})", 100),
            "shop::OutOfStock: no lamps");
  EXPECT_EQ(failure_text(R"({"message":"no lamps"})", 100), "no lamps");
  EXPECT_EQ(failure_text(R"({"type":"Timeout","message":""})", 100), "Timeout");
  EXPECT_EQ(failure_text(R"("broken")", 100), "broken");
  EXPECT_EQ(failure_text("not JSON", 100), "not JSON");
  EXPECT_EQ(failure_text("[1]", 100), "[1]");
  EXPECT_EQ(failure_text("\x02"s + "z\0?"s, 100), "<encoded by z, 4 bytes>");
}

}  // namespace
}  // namespace pawl::view

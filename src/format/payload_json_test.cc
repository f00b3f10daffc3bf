#include "format/payload_json.h"

#include <cstdint>
#include <cstring>
#include <iostream>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "format/entry_json.h"
#include "format/json_printer.h"
#include "format/json_reader.h"

namespace pawl::format {
namespace {

namespace json = boost::json;
using testing::StartsWith;

std::string shown(std::string_view payload) { return json::serialize(payload_to_json(payload)); }

std::string read(std::string_view text) {
  const Result<std::string> payload = payload_from_json(*parse_json(text), "it");
  return payload ? *payload : "error: " + payload.error().message;
}

TEST(PrintJson, NumbersLookAsOthersWriteThem) {
  for (const std::string_view text : {"0.0",
                                      "-0.0",
                                      "2.5",
                                      "-12.34",
                                      "100000.0",
                                      "123456789012345.0",
                                      "0.1",
                                      "0.001",
                                      "0.00015",
                                      "1e-05",
                                      "1.5e-07",
                                      "1e+20",
                                      "1.25e+20",
                                      "1e+300",
                                      "5e-324",
                                      "9007199254740992.0",
                                      "1e+15",
                                      "0",
                                      "-7",
                                      "18446744073709551615",
                                      "-9223372036854775808"}) {
    const std::string again = print_json(*parse_json(text));
    // Fifteen digits and more are read by their value, and written in the shorter of both forms.
    EXPECT_EQ(print_json(*parse_json(again)), again);
    if (text != "9007199254740992.0" && text != "1e+15") {
      EXPECT_EQ(again, text);
    }
  }
}

TEST(PrintJson, ListsObjectsAndTexts) {
  for (const std::string_view text :
       {R"([])", R"({})", R"([1,[2],{}])", R"({"a":{"b":[null,true,false]},"":""})",
        R"("\"\\\b\f\n\r\t\u0001/ü")", R"({"\n":1})"}) {
    EXPECT_EQ(print_json(*parse_json(text)), text);
  }
}

TEST(Payload, JsonIsItself) {
  for (const std::string_view payload :
       {R"({"id":17,"price":12.5})", "null", "[]", R"("x")", "12", R"({"$text":1,"b":2})",
        R"([{"$text":"x"}])", R"({"$other":1})"}) {
    EXPECT_TRUE(json_equal(payload_to_json(payload), *parse_json(payload))) << payload;
    EXPECT_EQ(*payload_from_json(payload_to_json(payload), "it"), payload);
  }
}

TEST(Payload, OtherTextsAndBytesAreMarked) {
  EXPECT_EQ(shown(""), R"({"$text":""})");
  EXPECT_EQ(shown("not JSON"), R"({"$text":"not JSON"})");
  EXPECT_EQ(shown(R"({"a": 1})"), R"({"$text":"{\"a\": 1}"})");
  EXPECT_EQ(shown(R"({"a":1,"a":2})"), R"({"$text":"{\"a\":1,\"a\":2}"})");
  EXPECT_EQ(shown("1e5"), R"({"$text":"1e5"})");
  EXPECT_EQ(shown("36893488147419103232"), R"({"$text":"36893488147419103232"})");
  EXPECT_EQ(shown("\x01\xff"), R"({"$bytes":"Af8="})");
}

TEST(Payload, WhatLooksLikeAMarkIsMarked) {
  EXPECT_EQ(shown(R"({"$text":"x"})"), R"({"$json":{"$text":"x"}})");
  EXPECT_EQ(shown(R"({"$bytes":1})"), R"({"$json":{"$bytes":1}})");
  EXPECT_EQ(shown(R"({"$json":null})"), R"({"$json":{"$json":null}})");
  EXPECT_EQ(read(R"({"$json":{"$json":null}})"), R"({"$json":null})");
}

TEST(Payload, BadMarksAreNamed) {
  EXPECT_EQ(read(R"({"$text":1})"), "error: it.$text: expected a text, got 1");
  EXPECT_EQ(read(R"({"$bytes":null})"), "error: it.$bytes: expected a text, got null");
  EXPECT_EQ(read(R"({"$bytes":"?"})"), "error: it.$bytes: expected base64, got the text \"?\"");
}

TEST(Payload, DeepOnesFitIntoADocument) {
  const std::string deep = std::string(1500, '[') + std::string(1500, ']');
  const std::string text = "[[[[" + shown(deep) + "]]]]";
  EXPECT_TRUE(parse_json(text));
  EXPECT_EQ(*payload_from_json(payload_to_json(deep), "it"), deep);
}

TEST(Text, WhatIsNoUtf8IsMarked) {
  EXPECT_EQ(text_to_json("ü"), json::value("ü"));
  EXPECT_EQ(json::serialize(text_to_json("\xff")), R"({"$bytes":"/w=="})");
  EXPECT_EQ(*text_from_json(text_to_json("\xff"), "it"), "\xff");
  EXPECT_EQ(text_from_json(json::value(1), "it").error().message, "it: expected a text, got 1");
  EXPECT_THAT(text_from_json(*parse_json(R"({"$text":"x"})"), "it").error().message,
              StartsWith("it: expected a text"));
}

// --- Entries -----------------------------------------------------------------------------------

class Source {
 public:
  explicit Source(std::uint64_t seed) : random_(seed) {}

  std::uint64_t below(std::uint64_t bound) { return random_() % bound; }
  bool chance(std::uint64_t percent) { return below(100) < percent; }

  std::string text() {
    static const std::vector<std::string> kTexts = {"",
                                                    "a",
                                                    "charge",
                                                    "ü",
                                                    "\xff\x01",
                                                    "null",
                                                    "{\"a\":1}",
                                                    "{\"$text\":\"\"}",
                                                    "{ }",
                                                    "2.5",
                                                    "2E0",
                                                    "[1,2.50]",
                                                    "x\ny",
                                                    "{\"$json\":0}",
                                                    std::string("\0", 1),
                                                    "{\"seq\":1}",
                                                    "{\"queue\":\"q\",\"retry\":{\"factor\":2E0}}",
                                                    "{\"queue\":2.0}",
                                                    "{}"};
    if (chance(70)) {
      return kTexts[below(kTexts.size())];
    }
    std::string bytes;
    for (std::uint64_t left = below(20); left > 0; --left) {
      bytes += static_cast<char>(random_());
    }
    return bytes;
  }
  std::uint64_t bits() { return random_(); }

 private:
  std::mt19937_64 random_;
};

struct Made {
  std::vector<std::string> texts;
  replay::Checkpoint checkpoint;
  replay::Entry entry;
};

void make_entry(Source& source, Made& made) {
  std::vector<replay::EntryKind> kinds;
  for (int number = 0; number < 256; ++number) {
    if (replay::find_traits(static_cast<replay::EntryKind>(number)) != nullptr) {
      kinds.push_back(static_cast<replay::EntryKind>(number));
    }
  }
  replay::Entry& entry = made.entry;
  entry.kind = kinds[source.below(kinds.size())];
  entry.seq = 1 + source.below(1U << 20U);
  entry.time_ms = static_cast<std::int64_t>(source.below(1ULL << 60U));
  entry.version = static_cast<std::uint32_t>(1 + source.below(3));
  made.texts.reserve(8);  // They stay where they are.
  for (int i = 0; i < 8; ++i) {
    made.texts.push_back(source.text());
  }
  const auto maybe = [&](std::size_t text, bool is_given) {
    return is_given ? std::string_view(made.texts[text]) : std::string_view();
  };
  entry.location = made.texts[0];
  entry.id = made.texts[1];
  entry.name = made.texts[2];
  entry.child_kind = maybe(3, source.chance(20));
  entry.step_key = maybe(4, source.chance(20));
  entry.source = maybe(5, source.chance(20));
  entry.has_payload = source.chance(70);
  entry.payload = maybe(6, entry.has_payload);
  entry.extra = maybe(7, source.chance(50));
  entry.checked = static_cast<std::uint32_t>(source.below(3));
  entry.number = source.chance(50) ? static_cast<std::int64_t>(source.below(1ULL << 60U)) : 0;
  entry.input_digest = source.chance(50) ? source.bits() : 0;
  entry.removed =
      static_cast<replay::CommandKind>(source.chance(20) ? source.below(replay::kCommandKinds) : 0);
  if (entry.kind == replay::EntryKind::kLoopCheckpointed) {
    made.checkpoint.iteration = source.below(1U << 20U);
    made.checkpoint.state = source.text();
    for (std::uint64_t left = source.below(4); left > 0; --left) {
      replay::StateChange change{source.text(), source.text()};
      if (source.chance(40)) {
        change.value.reset();
      }
      made.checkpoint.changes.push_back(std::move(change));
      made.checkpoint.taken.push_back(left);
    }
    made.checkpoint.done = source.chance(50);
    made.checkpoint.result = source.text();
    entry.checkpoint = &made.checkpoint;
  }
}

TEST(EntryJson, EveryFieldOfEveryKindComesBack) {
  const std::uint64_t seed = std::random_device()();
  std::cout << "seed " << seed << std::endl;
  Source source(seed);
  EntryReader reader;
  for (int round = 0; round < 20'000; ++round) {
    Made made;
    make_entry(source, made);
    const replay::Entry& given = made.entry;
    const std::string text = print_json(entry_to_json(given));
    const Result<json::value> parsed = parse_json(text);
    ASSERT_TRUE(parsed) << text;
    const Result<void> done = reader.read(*parsed, "entry");
    ASSERT_TRUE(done) << done.error().message << "\n" << text;
    const replay::Entry& read = reader.entry;
    ASSERT_EQ(read.kind, given.kind) << text;
    ASSERT_EQ(read.seq, given.seq) << text;
    ASSERT_EQ(read.time_ms, given.time_ms) << text;
    ASSERT_EQ(read.version, given.version) << text;
    ASSERT_EQ(read.location, given.location) << text;
    ASSERT_EQ(read.id, given.id) << text;
    ASSERT_EQ(read.name, given.name) << text;
    ASSERT_EQ(read.child_kind, given.child_kind) << text;
    ASSERT_EQ(read.removed, given.removed) << text;
    ASSERT_EQ(read.step_key, given.step_key) << text;
    ASSERT_EQ(read.source, given.source) << text;
    ASSERT_EQ(read.checked, given.checked) << text;
    ASSERT_EQ(read.has_payload, given.has_payload) << text;
    ASSERT_EQ(read.payload, given.payload) << text;
    ASSERT_EQ(read.number, given.number) << text;
    ASSERT_EQ(read.input_digest, given.input_digest) << text;
    ASSERT_EQ(read.extra, given.extra) << text;
    ASSERT_EQ(read.checkpoint != nullptr, given.checkpoint != nullptr) << text;
    if (given.checkpoint != nullptr) {
      ASSERT_EQ(read.checkpoint->iteration, given.checkpoint->iteration) << text;
      ASSERT_EQ(read.checkpoint->state, given.checkpoint->state) << text;
      ASSERT_EQ(read.checkpoint->changes, given.checkpoint->changes) << text;
      ASSERT_EQ(read.checkpoint->taken, given.checkpoint->taken) << text;
      ASSERT_EQ(read.checkpoint->done, given.checkpoint->done) << text;
      ASSERT_EQ(read.checkpoint->result, given.checkpoint->result) << text;
    }
  }
}

TEST(EntryJson, ExtraBesideUnknownFieldsIsRefused) {
  EntryReader reader;
  const Result<void> done = reader.read(
      *parse_json(R"({"event":"TaskScheduled","$extra":{"$text":"x"},"queue":"q"})"), "entry");
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().message, "entry.$extra: stands beside other fields that are not known");
}

}  // namespace
}  // namespace pawl::format

#include "conform/compare.h"

#include <boost/json.hpp>

#include "format/json_reader.h"
#include "replay/location.h"

namespace pawl::conform {

namespace json = boost::json;

namespace {

std::string shown(const json::value& value) {
  constexpr std::size_t kShownMax = 300;
  std::string text = json::serialize(value);
  if (text.size() > kShownMax) {
    text.resize(kShownMax);
    text += "…";
  }
  return text;
}

// Locations may be written with or without blanks.
json::value normalised(const json::value& location) {
  if (const json::string* text = location.if_string()) {
    const auto parsed = replay::Location::parse(*text);
    if (parsed) {
      return json::value(parsed->to_string());
    }
  }
  return location;
}

json::value normalised_all(const json::value& locations) {
  json::array all;
  for (const json::value& location : locations.get_array()) {
    all.push_back(normalised(location));
  }
  return all;
}

class Comparison {
 public:
  void expect_equal(const std::string& path, const json::value& expected,
                    const json::value* actual) {
    if (actual == nullptr) {
      differ(path + ": expected " + shown(expected) + ", got nothing");
    } else if (!format::json_equal(expected, *actual)) {
      differ(path + ": expected " + shown(expected) + ", got " + shown(*actual));
    }
  }

  void expect_entries(const json::array& expected, const json::array& actual) {
    for (std::size_t i = 0; i < expected.size() && i < actual.size(); ++i) {
      for (const json::key_value_pair& field : expected[i].get_object()) {
        const std::string key(field.key());
        const json::value* value = actual[i].get_object().if_contains(field.key());
        const bool is_location = key == "location" || key == "loop";
        expect_equal("new[" + std::to_string(i) + "]." + key,
                     is_location ? normalised(field.value()) : field.value(), value);
      }
    }
    if (expected.size() != actual.size()) {
      std::string events;
      for (const json::value& entry : actual) {
        const json::object& fields = entry.get_object();
        events += events.empty() ? "" : ", ";
        events += fields.at("event").get_string();
        if (const json::value* location = fields.if_contains("location")) {
          events += " ";
          events += location->get_string();
        }
      }
      differ("new: expected " + std::to_string(expected.size()) + " entries, got " +
             std::to_string(actual.size()) + " (" + events + ")");
    }
  }

  void expect_error(const json::object& expected, const json::object* actual) {
    if (actual == nullptr) {
      differ("error: expected one, got none");
      return;
    }
    if (const json::value* texts = expected.if_contains("contains")) {
      const std::string_view message = actual->at("message").get_string();
      for (const json::value& text : texts->get_array()) {
        if (message.find(std::string_view(text.get_string())) == std::string_view::npos) {
          differ("error: " + shown(text) + " does not occur in " + shown(json::value(message)));
        }
      }
    }
    if (const json::value* location = expected.if_contains("location")) {
      expect_equal("error.location", normalised(*location), actual->if_contains("location"));
    }
    if (const json::value* code = expected.if_contains("code")) {
      expect_equal("error.code", *code, actual->if_contains("code"));
    }
  }

  void differ(std::string what) { differences_.push_back(std::move(what)); }
  std::vector<std::string> take() { return std::move(differences_); }

 private:
  std::vector<std::string> differences_;
};

}  // namespace

std::vector<std::string> compare(const json::object& expect, const json::object& actual) {
  Comparison comparison;
  comparison.expect_equal("outcome", expect.at("outcome"), actual.if_contains("outcome"));
  const json::value* actual_error = actual.if_contains("error");
  if (expect.at("outcome") != actual.at("outcome") && actual_error != nullptr) {
    const std::string_view message = actual_error->get_object().at("message").get_string();
    comparison.differ("error: " + std::string(message.substr(0, message.find('\n'))));
  }
  for (const json::key_value_pair& field : expect) {
    const std::string_view key = field.key();
    const json::value& expected = field.value();
    if (key == "result") {
      comparison.expect_equal("result", expected, actual.if_contains("result"));
    } else if (key == "error") {
      comparison.expect_error(expected.get_object(),
                              actual_error == nullptr ? nullptr : &actual_error->get_object());
    } else if (key == "new") {
      comparison.expect_entries(expected.get_array(), actual.at("new").get_array());
    } else if (key == "values") {
      for (const json::key_value_pair& variable : expected.get_object()) {
        comparison.expect_equal("values." + std::string(variable.key()), variable.value(),
                                actual.at("values").get_object().if_contains(variable.key()));
      }
    } else if (key == "waiting" || key == "orphaned") {
      comparison.expect_equal(std::string(key), normalised_all(expected), actual.if_contains(key));
    }
  }
  return comparison.take();
}

}  // namespace pawl::conform

// Runs scenario files through the oracle and compares with what they expect. The texts of
// violations are not compared.
//
//   oracle [--print] FILE…

#include <cstdio>
#include <exception>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <string_view>

#include "oracle.h"

namespace {

namespace json = boost::json;

std::string differs(std::string_view what, const json::value& expected, const json::value& actual) {
  std::ostringstream text;
  text << what << ": expected " << expected << ", got " << actual;
  return text.str();
}

// What differs between `expect` and the actual outcome, in words; empty if nothing does.
std::string compare(const json::object& expect, const json::object& actual) {
  if (expect.at("outcome") != actual.at("outcome")) {
    std::ostringstream text;
    text << differs("outcome", expect.at("outcome"), actual.at("outcome")) << " in " << actual;
    return text.str();
  }
  for (std::string_view field : {"result", "waiting", "orphaned", "forgotten"}) {
    if (expect.contains(field) &&
        (!actual.contains(field) || expect.at(field) != actual.at(field))) {
      return differs(field, expect.at(field),
                     actual.contains(field) ? actual.at(field) : json::value());
    }
  }
  if (expect.contains("error")) {
    const json::object& wanted = expect.at("error").as_object();
    const json::object& given = actual.at("error").as_object();
    if (wanted.contains("location") &&
        (!given.contains("location") || wanted.at("location") != given.at("location"))) {
      return differs("error", wanted, given);
    }
    if (wanted.contains("contains") && expect.at("outcome") != "violation") {
      for (const json::value& text : wanted.at("contains").as_array()) {
        if (given.at("message").as_string().find(text.as_string()) == json::string::npos) {
          return differs("error", text, given.at("message"));
        }
      }
    }
  }
  if (expect.contains("values")) {
    const json::object& given = actual.at("values").as_object();
    for (const auto& variable : expect.at("values").as_object()) {
      if (!given.contains(variable.key()) || given.at(variable.key()) != variable.value()) {
        return differs("values", variable.value(), given);
      }
    }
  }
  if (expect.contains("new")) {
    const json::array& wanted = expect.at("new").as_array();
    const json::array& given = actual.at("new").as_array();
    if (wanted.size() != given.size()) {
      return differs("new", wanted, given);
    }
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      const json::object& entry = given[i].as_object();
      for (const auto& field : wanted[i].as_object()) {
        if (!entry.contains(field.key()) || entry.at(field.key()) != field.value()) {
          return differs("new", wanted[i], given[i]) + " (" + std::string(field.key()) + ")";
        }
      }
    }
  }
  return "";
}

}  // namespace

int main(int argc, char** argv) {
  bool print = false;
  int passed = 0;
  int failed = 0;
  for (int i = 1; i < argc; ++i) {
    if (std::string_view(argv[i]) == "--print") {
      print = true;
      continue;
    }
    try {
      std::ifstream file(argv[i]);
      std::ostringstream content;
      content << file.rdbuf();
      json::value parsed = json::parse(content.str());
      json::array scenarios = parsed.is_array() ? parsed.as_array() : json::array{parsed};
      for (const json::value& scenario : scenarios) {
        std::string name(scenario.as_object().at("name").as_string());
        std::string difference;
        try {
          json::object actual = oracle::evaluate(scenario.as_object());
          if (print) {
            std::cout << actual << "\n";
          }
          if (scenario.as_object().contains("expect")) {
            difference = compare(scenario.as_object().at("expect").as_object(), actual);
          }
        } catch (const std::exception& error) {
          difference = std::string("exception: ") + error.what();
        }
        if (difference.empty()) {
          ++passed;
          std::cout << "ok " << name << "\n";
        } else {
          ++failed;
          std::cout << "FAIL " << name << ": " << difference << " [" << argv[i] << "]\n";
        }
      }
    } catch (const std::exception& error) {
      ++failed;
      std::cout << "FAIL " << argv[i] << ": " << error.what() << "\n";
    }
  }
  std::cout << passed << " passed, " << failed << " failed\n";
  return failed == 0 ? 0 : 1;
}

#include "engine/serves.h"

#include <string_view>

#include <boost/json.hpp>

namespace pawl::engine {

namespace {

namespace json = boost::json;

void read_names(const json::object& object, std::string_view key, std::vector<std::string>& names) {
  const json::value* list = object.if_contains(key);
  if (list == nullptr || !list->is_array()) {
    return;
  }
  for (const json::value& name : list->get_array()) {
    if (name.is_string()) {
      names.emplace_back(name.get_string());
    }
  }
}

}  // namespace

std::string write_serves(const Serves& serves) {
  json::object kinds;
  for (const auto& [kind, fingerprint] : serves.kinds) {
    kinds[kind] = fingerprint;
  }
  return json::serialize(
      json::object{{"kinds", std::move(kinds)},
                   {"activities", json::array(serves.activities.begin(), serves.activities.end())},
                   {"queues", json::array(serves.queues.begin(), serves.queues.end())}});
}

Serves read_serves(const std::string& text) {
  Serves serves;
  json::error_code error;
  const json::value value = json::parse(text, error);
  const json::object* object = error ? nullptr : value.if_object();
  if (object == nullptr) {
    return serves;
  }
  serves.is_known = true;
  const json::value* kinds = object->if_contains("kinds");
  if (kinds != nullptr && kinds->is_object()) {
    for (const auto& [name, fingerprint] : kinds->get_object()) {
      serves.kinds.emplace_back(
          name, fingerprint.is_string() ? std::string(fingerprint.get_string()) : std::string());
    }
  }
  read_names(*object, "activities", serves.activities);
  read_names(*object, "queues", serves.queues);
  return serves;
}

}  // namespace pawl::engine

#include "sdk/event.h"

#include <algorithm>
#include <array>
#include <utility>

#include "pawl/codec.hpp"
#include "pawl/errors.hpp"

namespace pawl::detail {

namespace {

struct Attribute {
  const char* name;
  std::string Event::* text;
};
// `time` of an entry is when the run saw it, so that of the event has another name.
constexpr std::array<Attribute, 7> kAttributes = {{{"id", &Event::id},
                                                   {"source", &Event::source},
                                                   {"type", &Event::type},
                                                   {"subject", &Event::subject},
                                                   {"eventTime", &Event::time},
                                                   {"datacontenttype", &Event::datacontenttype},
                                                   {"dataschema", &Event::dataschema}}};
constexpr const char* kExtensions = "extensions";

[[noreturn]] void refuse(std::string_view signal, const std::string& problem) {
  throw UsageError("signal '" + std::string(signal) + "': " + problem);
}

void check_text(std::string_view signal, std::string_view name, const std::string& text) {
  const bool has_control = std::ranges::any_of(text, [](char each) {
    const auto code = static_cast<unsigned char>(each);
    return code < 0x20 || code == 0x7f;
  });
  if (has_control) {
    refuse(signal,
           "the event's attribute '" + std::string(name) + "' must not have control characters");
  }
}

void check_extension_name(std::string_view signal, const std::string& name) {
  const bool is_well_formed = !name.empty() && std::ranges::all_of(name, [](char each) {
    return (each >= 'a' && each <= 'z') || (each >= '0' && each <= '9');
  });
  if (!is_well_formed) {
    refuse(signal, "the name of the event's attribute '" + name +
                       "' must be lower-case letters and digits");
  }
  constexpr std::array<std::string_view, 9> kTaken = {
      "id",   "source",          "specversion", "type", "subject",
      "time", "datacontenttype", "dataschema",  "data"};
  if (std::ranges::find(kTaken, name) != kTaken.end()) {
    refuse(signal, "the event's attribute '" + name + "' is no extension");
  }
}

}  // namespace

std::string encode_event(std::string_view signal, const Event& event) {
  if (event == Event()) {
    return {};
  }
  Json object = Json::object();
  for (const auto& [name, text] : kAttributes) {
    const std::string& value = event.*text;
    check_text(signal, name, value);
    if (!value.empty()) {
      object[name] = value;
    }
  }
  if (event.type.empty()) {
    object["type"] = signal;
  }
  for (const auto& [name, value] : event.extensions) {
    check_extension_name(signal, name);
    check_text(signal, name, value);
    object[kExtensions][name] = value;
  }
  try {
    return object.dump();
  } catch (const std::exception& error) {
    refuse(signal, std::string("the event's attributes are no UTF-8: ") + error.what());
  }
}

Event decode_event(std::string_view extra) {
  Event event;
  const Json object = Json::parse(extra, nullptr, false);
  if (!object.is_object()) {
    return event;
  }
  for (const auto& [name, text] : kAttributes) {
    if (const auto found = object.find(name); found != object.end() && found->is_string()) {
      event.*text = found->get<std::string>();
    }
  }
  if (const auto found = object.find(kExtensions); found != object.end() && found->is_object()) {
    for (const auto& [name, value] : found->items()) {
      event.extensions[name] = value.is_string() ? value.get<std::string>() : value.dump();
    }
  }
  return event;
}

std::string dedupe_text(const Event& event) {
  if (event.id.empty() || event.source.empty()) {
    return event.id;
  }
  // Two sources may give the same id to different events.
  return event.id + "\n" + event.source;
}

}  // namespace pawl::detail

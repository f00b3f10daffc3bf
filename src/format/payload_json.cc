#include "format/payload_json.h"

#include <optional>

#include <boost/json.hpp>

#include "base/base64.h"
#include "base/utf8.h"
#include "format/json_printer.h"
#include "format/json_reader.h"

namespace pawl::format {

namespace json = boost::json;

namespace {

// Less than a whole document may have, so that there is room around it.
constexpr std::size_t kDepthMax = kJsonDepthMax / 2;

constexpr std::string_view kText = "$text";
constexpr std::string_view kBytes = "$bytes";
constexpr std::string_view kJson = "$json";

// The only member of an object that stands for something else; null if it stands for itself.
const json::key_value_pair* find_mark(const json::value& value) {
  const json::object* object = value.if_object();
  if (object == nullptr || object->size() != 1) {
    return nullptr;
  }
  const std::string_view key = object->begin()->key();
  return key == kText || key == kBytes || key == kJson ? object->begin() : nullptr;
}

json::value marked(std::string_view mark, json::value value) {
  json::object object;
  object.emplace(mark, std::move(value));
  return object;
}

Result<std::string> read_bytes(const json::value& value, const std::string& path) {
  PAWL_TRY_ASSIGN(const std::string_view text, read_text(value, path));
  std::optional<std::string> bytes = decode_base64(text);
  if (!bytes) {
    return bad_field(path, "expected base64, got " + describe_json(value));
  }
  return *std::move(bytes);
}

std::string below(const std::string& path, std::string_view key) {
  return path + "." + std::string(key);
}

// How JSON that stands for itself is written.
using Print = std::string (*)(const json::value&);

std::string serialize_json(const json::value& value) { return json::serialize(value); }

json::value to_json(std::string_view payload, Print print) {
  if (Result<json::value> value = parse_json(payload, kDepthMax);
      value && print(*value) == payload) {
    return find_mark(*value) == nullptr ? *std::move(value) : marked(kJson, *std::move(value));
  }
  return is_utf8(payload) ? marked(kText, json::value(payload))
                          : marked(kBytes, json::value(encode_base64(payload)));
}

Result<std::string> from_json(const json::value& value, const std::string& path, Print print) {
  const json::key_value_pair* mark = find_mark(value);
  if (mark == nullptr) {
    return print(value);
  }
  const std::string_view key = mark->key();
  if (key == kJson) {
    return print(mark->value());
  }
  if (key == kBytes) {
    return read_bytes(mark->value(), below(path, kBytes));
  }
  PAWL_TRY_ASSIGN(const std::string_view text, read_text(mark->value(), below(path, kText)));
  return std::string(text);
}

}  // namespace

json::value text_to_json(std::string_view text) {
  return is_utf8(text) ? json::value(text) : marked(kBytes, json::value(encode_base64(text)));
}

Result<std::string> text_from_json(const json::value& value, const std::string& path) {
  if (const json::key_value_pair* mark = find_mark(value);
      mark != nullptr && std::string_view(mark->key()) == kBytes) {
    return read_bytes(mark->value(), below(path, kBytes));
  }
  PAWL_TRY_ASSIGN(const std::string_view text, read_text(value, path));
  return std::string(text);
}

json::value payload_to_json(std::string_view payload) { return to_json(payload, print_json); }

Result<std::string> payload_from_json(const json::value& value, const std::string& path) {
  return from_json(value, path, print_json);
}

json::value extra_to_json(std::string_view extra) { return to_json(extra, serialize_json); }

Result<std::string> extra_from_json(const json::value& value, const std::string& path) {
  return from_json(value, path, serialize_json);
}

}  // namespace pawl::format

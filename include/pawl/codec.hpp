// Codec<T>: how values become payloads, and payloads values. docs/formats/payload.md has the bytes.
//
// Out of the box: whatever nlohmann::json converts (to_json/from_json, NLOHMANN_DEFINE_TYPE_…),
// structs and enums described by Boost.Describe, std::optional, std::vector, std::pair, std::tuple
// and std::map (by std::string) of all these, and pawl::Bytes. For any other type specialise Codec.
#pragma once

#include <array>
#include <charconv>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <list>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <tuple>
#include <type_traits>
#include <typeinfo>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include <nlohmann/json.hpp>

#if __has_include(<boost/describe.hpp>) && __has_include(<boost/mp11.hpp>)
#include <boost/describe.hpp>
#include <boost/mp11.hpp>
#define PAWL_HAS_DESCRIBE 1
#else
#define PAWL_HAS_DESCRIBE 0
#endif

#include "pawl/errors.hpp"

namespace pawl {

// A payload that is no JSON: stored as it is, behind a byte that no JSON text begins with.
struct Bytes {
  std::string data;

  friend bool operator==(const Bytes&, const Bytes&) = default;
};

namespace detail {

using Json = nlohmann::json;

inline constexpr char kBytesMark = '\x01';
inline constexpr char kCodecMark = '\x02';

// "shop::Order", for messages and for the types of failures.
std::string demangle(const std::type_info& type);
template <class T>
std::string type_name() {
  return demangle(typeid(T));
}

template <class T>
concept NlohmannWritable = nlohmann::detail::has_to_json<Json, T>::value;
template <class T>
concept NlohmannReadable = nlohmann::detail::has_from_json<Json, T>::value ||
                           nlohmann::detail::has_non_default_from_json<Json, T>::value;

#if PAWL_HAS_DESCRIBE
template <class T>
concept DescribedStruct = std::is_class_v<T> && boost::describe::has_describe_members<T>::value;
template <class T>
concept DescribedEnum = std::is_enum_v<T> && boost::describe::has_describe_enumerators<T>::value;
#else
template <class T>
concept DescribedStruct = false;
template <class T>
concept DescribedEnum = false;
#endif
// nlohmann::json does it. Described enums do not count: they go by their names, not by number.
template <class T>
inline constexpr bool kIsNative =
    NlohmannWritable<T> && NlohmannReadable<T> && !DescribedEnum<T> && !std::is_same_v<T, Json>;
// The same for what they hold.
template <class Container, class... Ts>
inline constexpr bool kIsNativeOf =
    NlohmannWritable<Container> && NlohmannReadable<Container> && (kIsNative<Ts> && ...);
template <class T>
inline constexpr bool kIsNative<std::vector<T>> = kIsNativeOf<std::vector<T>, T>;
template <class T>
inline constexpr bool kIsNative<std::deque<T>> = kIsNativeOf<std::deque<T>, T>;
template <class T>
inline constexpr bool kIsNative<std::list<T>> = kIsNativeOf<std::list<T>, T>;
template <class T>
inline constexpr bool kIsNative<std::set<T>> = kIsNativeOf<std::set<T>, T>;
template <class T, std::size_t Size>
inline constexpr bool kIsNative<std::array<T, Size>> = kIsNativeOf<std::array<T, Size>, T>;
template <class K, class T>
inline constexpr bool kIsNative<std::map<K, T>> = kIsNativeOf<std::map<K, T>, K, T>;
template <class K, class T>
inline constexpr bool kIsNative<std::unordered_map<K, T>> =
    kIsNativeOf<std::unordered_map<K, T>, K, T>;
template <class A, class B>
inline constexpr bool kIsNative<std::pair<A, B>> = kIsNativeOf<std::pair<A, B>, A, B>;
template <class... Ts>
inline constexpr bool kIsNative<std::tuple<Ts...>> = kIsNativeOf<std::tuple<Ts...>, Ts...>;

// Read and written without a detour through a JSON value.
template <class T>
concept PlainInteger = std::same_as<T, int> || std::same_as<T, unsigned> || std::same_as<T, long> ||
                       std::same_as<T, unsigned long> || std::same_as<T, long long> ||
                       std::same_as<T, unsigned long long>;

// Nothing: it is no such number, or not written the plain way.
template <PlainInteger T>
std::optional<T> read_integer(std::string_view text) {
  const std::string_view digits = text.substr(text.starts_with('-') ? 1 : 0);
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() ||
      (digits.starts_with('0') && text != "0")) {
    return std::nullopt;
  }
  return value;
}

// False: it is a number, and too large or too small. nlohmann::json would cut it off.
template <PlainInteger T>
bool may_be(const Json& json) {
  if (json.is_number_unsigned()) {
    return std::in_range<T>(json.get<std::uint64_t>());
  }
  if (json.is_number_integer()) {
    return std::in_range<T>(json.get<std::int64_t>());
  }
  if (json.is_number_float()) {
    const long double value = json.get<double>();
    return value > static_cast<long double>(std::numeric_limits<T>::min()) - 1 &&
           value < static_cast<long double>(std::numeric_limits<T>::max()) + 1;
  }
  return true;
}

// JsonOf<T>::write(const T&) and ::read(const Json&). Not defined for what has no JSON form.
template <class T>
struct JsonOf;

template <class T>
concept JsonConvertible = requires(const T& value, const Json& json) {
  { JsonOf<T>::write(value) } -> std::convertible_to<Json>;
  { JsonOf<T>::read(json) } -> std::convertible_to<T>;
};

template <class T>
  requires kIsNative<T>
struct JsonOf<T> {
  static Json write(const T& value) { return Json(value); }
  static T read(const Json& json) { return json.get<T>(); }
};

template <>
struct JsonOf<Json> {
  static Json write(const Json& value) { return value; }
  static Json read(const Json& json) { return json; }
};

template <>
struct JsonOf<std::monostate> {
  static Json write(const std::monostate& /*value*/) { return nullptr; }
  static std::monostate read(const Json& /*json*/) { return {}; }
};

template <class T>
  requires(JsonConvertible<T> && !kIsNative<std::optional<T>>)
struct JsonOf<std::optional<T>> {
  static Json write(const std::optional<T>& value) {
    return value ? JsonOf<T>::write(*value) : Json(nullptr);
  }
  static std::optional<T> read(const Json& json) {
    return json.is_null() ? std::optional<T>() : std::optional<T>(JsonOf<T>::read(json));
  }
};

template <class T>
  requires(JsonConvertible<T> && !kIsNative<std::vector<T>>)
struct JsonOf<std::vector<T>> {
  static Json write(const std::vector<T>& values) {
    Json list = Json::array();
    for (const auto& value : values) {
      list.push_back(JsonOf<T>::write(value));
    }
    return list;
  }
  static std::vector<T> read(const Json& json) {
    if (!json.is_array()) {
      throw PayloadError(std::string("expected an array, got ") + json.type_name());
    }
    std::vector<T> values;
    values.reserve(json.size());
    for (const Json& value : json) {
      values.push_back(JsonOf<T>::read(value));
    }
    return values;
  }
};

template <class T>
  requires(JsonConvertible<T> && !kIsNative<std::map<std::string, T>>)
struct JsonOf<std::map<std::string, T>> {
  static Json write(const std::map<std::string, T>& values) {
    Json object = Json::object();
    for (const auto& [key, value] : values) {
      object[key] = JsonOf<T>::write(value);
    }
    return object;
  }
  static std::map<std::string, T> read(const Json& json) {
    if (!json.is_object()) {
      throw PayloadError(std::string("expected an object, got ") + json.type_name());
    }
    std::map<std::string, T> values;
    for (const auto& [key, value] : json.items()) {
      values.emplace(key, JsonOf<T>::read(value));
    }
    return values;
  }
};

template <class... Ts>
  requires((JsonConvertible<Ts> && ...) && !kIsNative<std::tuple<Ts...>>)
struct JsonOf<std::tuple<Ts...>> {
  static Json write(const std::tuple<Ts...>& values) {
    return std::apply(
        [](const Ts&... each) { return Json(Json::array_t{JsonOf<Ts>::write(each)...}); }, values);
  }
  static std::tuple<Ts...> read(const Json& json) {
    if (!json.is_array() || json.size() != sizeof...(Ts)) {
      throw PayloadError("expected an array of " + std::to_string(sizeof...(Ts)) + ", got " +
                         (json.is_array() ? "one of " + std::to_string(json.size())
                                          : std::string(json.type_name())));
    }
    std::size_t next = 0;
    return std::tuple<Ts...>{JsonOf<Ts>::read(json[next++])...};
  }
};

template <class A, class B>
  requires(JsonConvertible<A> && JsonConvertible<B> && !kIsNative<std::pair<A, B>>)
struct JsonOf<std::pair<A, B>> {
  static Json write(const std::pair<A, B>& value) {
    return JsonOf<std::tuple<A, B>>::write({value.first, value.second});
  }
  static std::pair<A, B> read(const Json& json) {
    auto [first, second] = JsonOf<std::tuple<A, B>>::read(json);
    return {std::move(first), std::move(second)};
  }
};

#if PAWL_HAS_DESCRIBE
template <class T>
  requires(DescribedStruct<T> && !kIsNative<T>)
struct JsonOf<T> {
  static constexpr auto kMembers = boost::describe::mod_public | boost::describe::mod_inherited;
  using Members = boost::describe::describe_members<T, kMembers>;

  static Json write(const T& value) {
    Json object = Json::object();
    boost::mp11::mp_for_each<Members>([&](auto member) {
      using Field = std::remove_cvref_t<decltype(value.*member.pointer)>;
      object[member.name] = JsonOf<Field>::write(value.*member.pointer);
    });
    return object;
  }
  // Members that are not there keep what T's own constructor gave them.
  static T read(const Json& json) {
    if (!json.is_object()) {
      throw PayloadError(std::string("expected an object, got ") + json.type_name());
    }
    T value{};
    boost::mp11::mp_for_each<Members>([&](auto member) {
      using Field = std::remove_cvref_t<decltype(value.*member.pointer)>;
      const auto found = json.find(member.name);
      if (found == json.end()) {
        return;
      }
      try {
        value.*member.pointer = JsonOf<Field>::read(*found);
      } catch (const std::exception& error) {
        throw PayloadError("member '" + std::string(member.name) + "': " + error.what());
      }
    });
    return value;
  }
};

template <class T>
  requires DescribedEnum<T>
struct JsonOf<T> {
  static Json write(const T& value) {
    const char* name = boost::describe::enum_to_string(value, nullptr);
    return name != nullptr ? Json(name) : Json(static_cast<std::underlying_type_t<T>>(value));
  }
  static T read(const Json& json) {
    if (json.is_number_integer()) {
      return static_cast<T>(json.get<std::underlying_type_t<T>>());
    }
    T value{};
    if (!json.is_string() ||
        !boost::describe::enum_from_string(json.get_ref<const std::string&>().c_str(), value)) {
      throw PayloadError("no such enumerator: " + json.dump());
    }
    return value;
  }
};
#endif

}  // namespace detail

// Specialise it with the same two functions. They throw what they like if it does not work.
template <class T>
struct Codec;

template <class T>
  requires detail::JsonConvertible<T>
struct Codec<T> {
  static std::string encode(const T& value) {
    if constexpr (detail::PlainInteger<T>) {
      return std::to_string(value);
    } else {
      return detail::JsonOf<T>::write(value).dump();
    }
  }
  static T decode(std::string_view payload) {
    if constexpr (detail::PlainInteger<T>) {
      if (const std::optional<T> value = detail::read_integer<T>(payload)) {
        return *value;
      }
    }
    if (payload.starts_with(detail::kBytesMark)) {
      throw PayloadError("the payload holds plain bytes, not JSON");
    }
    const detail::Json json = payload.empty() ? detail::Json() : detail::Json::parse(payload);
    if constexpr (detail::PlainInteger<T>) {
      if (!detail::may_be<T>(json)) {
        throw PayloadError("the number " + std::string(payload) + " does not fit");
      }
    }
    return detail::JsonOf<T>::read(json);
  }
};

template <>
struct Codec<Bytes> {
  static std::string encode(const Bytes& value) { return detail::kBytesMark + value.data; }
  static Bytes decode(std::string_view payload) {
    if (!payload.starts_with(detail::kBytesMark)) {
      throw PayloadError("the payload holds JSON, not plain bytes");
    }
    return Bytes{std::string(payload.substr(1))};
  }
};

namespace detail {

template <class T>
concept Encodable = requires { sizeof(Codec<T>); };

template <class T>
constexpr void check_encodable() {
  static_assert(!std::is_same_v<T, std::string_view>,
                "pawl: a std::string_view would refer to what is gone when it is read back: use "
                "std::string.");
  static_assert(Encodable<T>,
                "pawl: this type cannot be recorded. Give it to_json and from_json (e.g. by "
                "NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE), describe it by BOOST_DESCRIBE_STRUCT, or "
                "specialise pawl::Codec for it.");
}

// Results: nothing is null.
template <class T>
using Stored = std::conditional_t<std::is_void_v<T>, std::monostate, T>;

// Throws if the payload is still as a PayloadCodec has left it.
void check_plain(std::string_view payload);

// `where` is called when something is wrong, and says which call this is.
template <class T>
std::string encode(const T& value, const auto& where) {
  check_encodable<T>();
  try {
    return Codec<T>::encode(value);
  } catch (const std::exception& error) {
    throw PayloadError(where(), type_name<T>(), error.what());
  }
}

template <class T>
T decode(std::string_view payload, const auto& where) {
  check_encodable<T>();
  try {
    check_plain(payload);
    return Codec<T>::decode(payload);
  } catch (const std::exception& error) {
    throw PayloadError(where(), type_name<T>(), error.what());
  }
}

// Several arguments are a JSON array; one is itself; none is null.
template <class... Args>
std::string encode_arguments(const auto& where, const Args&... args) {
  if constexpr (sizeof...(Args) == 0) {
    return "null";
  } else if constexpr (sizeof...(Args) == 1) {
    return encode(args..., where);
  } else {
    std::string list = "[";
    const auto append = [&](const auto& arg) {
      const std::string element = encode(arg, where);
      if (element.starts_with(kBytesMark)) {
        throw PayloadError(where(), type_name<std::remove_cvref_t<decltype(arg)>>(),
                           "plain bytes can only be the sole argument");
      }
      if (list.size() > 1) {
        list += ',';
      }
      list += element;
    };
    (append(args), ...);
    list += ']';
    return list;
  }
}

template <class... Args>
std::tuple<Args...> decode_arguments(std::string_view payload, const auto& where) {
  if constexpr (sizeof...(Args) == 0) {
    return {};
  } else if constexpr (sizeof...(Args) == 1) {
    return {decode<Args...>(payload, where)};
  } else {
    std::vector<std::string> elements;
    try {
      const Json list = Json::parse(payload);
      if (!list.is_array() || list.size() != sizeof...(Args)) {
        throw PayloadError("expected an array of " + std::to_string(sizeof...(Args)) +
                           " arguments");
      }
      for (const Json& element : list) {
        elements.push_back(element.dump());
      }
    } catch (const std::exception& error) {
      throw PayloadError(where(), type_name<std::tuple<Args...>>(), error.what());
    }
    std::size_t next = 0;
    return std::tuple<Args...>{decode<Args>(elements[next++], where)...};
  }
}

}  // namespace detail

}  // namespace pawl

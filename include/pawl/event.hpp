// Event: what is known about a signal besides its value. The fields are the context attributes of
// CloudEvents 1.0 (https://cloudevents.io); all of them may be empty.
#pragma once

#include <map>
#include <string>
#include <type_traits>
#include <variant>

namespace pawl {

// Kept with the signal as it was given, and given back on replay. A text with control characters is
// refused.
struct Event {
  // Not empty: an event with this id and source is taken once, however often it is sent, by the run
  // and those it recurs to.
  std::string id = {};
  std::string source = {};  // Where it comes from, e.g. "/shop/payments".
  std::string type = {};    // Empty: the signal's name, if anything else is given.
  std::string subject = {};
  std::string time = {};  // When it happened: "2026-11-16T20:26:59Z".
  std::string datacontenttype = {};
  std::string dataschema = {};
  // Any others; their names are lower-case letters and digits.
  std::map<std::string, std::string> extensions = {};

  friend bool operator==(const Event&, const Event&) = default;
};

// A signal's value with its event, for workflow code that wants both:
//   const auto paid = co_await ctx.signal<pawl::WithEvent<Payment>>("paid");
template <class T = std::monostate>
struct WithEvent {
  T value;
  Event event;
};

namespace detail {

template <class T>
struct IsWithEvent : std::false_type {};
template <class T>
struct IsWithEvent<WithEvent<T>> : std::true_type {};

// For all that can be asked for but signals.
template <class T>
constexpr void check_no_event() {
  static_assert(!IsWithEvent<T>::value, "pawl: only signals come with an event.");
}

}  // namespace detail
}  // namespace pawl

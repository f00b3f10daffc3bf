#include "pawl/errors.hpp"

#include <cxxabi.h>

#include <cstdlib>
#include <memory>
#include <typeinfo>

#include "pawl/codec.hpp"

namespace pawl {

namespace {

std::string failure_text(std::string_view subject, const std::string& type,
                         const std::string& message) {
  std::string text(subject);
  text += " failed";
  if (!type.empty()) {
    text += ": " + type;
  }
  if (!message.empty()) {
    text += ": " + message;
  }
  return text;
}

}  // namespace

PayloadError::PayloadError(std::string_view where, std::string_view type, std::string_view problem)
    : Exception(std::string(where) + " as " + std::string(type) + ": " + std::string(problem)) {}

PayloadTooLarge::PayloadTooLarge(std::string_view what, std::size_t bytes, std::size_t bytes_max)
    : PayloadError(std::string(what) + ": " + std::to_string(bytes) + " bytes; at most " +
                   std::to_string(bytes_max) + " are allowed") {}

Cancelled::Cancelled(std::string reason)
    : Exception(reason.empty() ? "cancelled" : "cancelled: " + reason),
      reason_(std::move(reason)) {}

Failure::Failure(std::string_view subject, std::string type, std::string message,
                 std::string details)
    : Exception(failure_text(subject, type, message)),
      type_(std::move(type)),
      message_(std::move(message)),
      details_(std::move(details)) {}

WorkflowCancelled::WorkflowCancelled(std::string_view run, std::string reason)
    : Exception("run '" + std::string(run) + "' was cancelled" +
                (reason.empty() ? "" : ": " + reason)),
      reason_(std::move(reason)) {}

namespace detail {

void check_plain(std::string_view payload) {
  if (payload.starts_with(kCodecMark)) {
    const std::string_view name = payload.substr(1, payload.find('\0') - 1);
    throw PayloadError("it was written by the payload codec '" + std::string(name) +
                       "', which this engine does not have");
  }
}

std::string demangle(const std::type_info& type) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(
      abi::__cxa_demangle(type.name(), nullptr, nullptr, &status), &std::free);
  std::string name = status == 0 && text ? text.get() : type.name();
  // As people write it.
  static constexpr std::string_view kString =
      "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >";
  for (std::size_t at = name.find(kString); at != std::string::npos; at = name.find(kString, at)) {
    name.replace(at, kString.size(), "std::string");
  }
  return name;
}

}  // namespace detail
}  // namespace pawl

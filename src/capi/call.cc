#include "capi/call.h"

#include <cstdint>

#include "base/utf8.h"

namespace pawl::capi {

namespace {

std::string& last_error() {
  thread_local std::string text;
  return text;
}

}  // namespace

pawl_status fail(const Error& error) noexcept {
  try {
    last_error() = error.message;
  } catch (...) {
    last_error().clear();
  }
  return static_cast<pawl_status>(error.code);
}

Error null_argument(const char* what) {
  return make_error(ErrorCode::kInvalidArgument, std::string(what) + " is NULL");
}

Error wrong_size(const char* what, std::size_t given, std::size_t known) {
  return make_error(ErrorCode::kInvalidArgument,
                    std::string(what) + ".size is " + std::to_string(given) +
                        "; set it to sizeof, which is " + std::to_string(known) +
                        " for this library, and clear what you do not use");
}

Error wrong_number(const char* what, std::int64_t given) {
  return make_error(ErrorCode::kInvalidArgument,
                    std::string(what) + " is " + std::to_string(given) + ", which means nothing");
}

Result<std::string_view> read_bytes(pawl_bytes bytes, const char* what) {
  if (bytes.data == nullptr) {
    if (bytes.size != 0) {
      return make_error(
          ErrorCode::kInvalidArgument,
          std::string(what) + " has " + std::to_string(bytes.size) + " bytes at NULL");
    }
    return std::string_view();
  }
  if (bytes.size > static_cast<std::size_t>(PTRDIFF_MAX)) {
    return make_error(ErrorCode::kInvalidArgument, std::string(what) + " has an impossible size");
  }
  return std::string_view(bytes.data, bytes.size);
}

Result<std::string_view> read_text(pawl_bytes bytes, const char* what) {
  PAWL_TRY_ASSIGN(const std::string_view text, read_bytes(bytes, what));
  if (!is_utf8(text)) {
    return make_error(ErrorCode::kInvalidArgument, std::string(what) + " is no UTF-8");
  }
  return text;
}

Result<std::string_view> read_name(pawl_bytes bytes, const char* what) {
  PAWL_TRY_ASSIGN(const std::string_view text, read_text(bytes, what));
  if (text.empty()) {
    return make_error(ErrorCode::kInvalidArgument, std::string(what) + " is empty");
  }
  return text;
}

Result<void> check_size(std::string_view payload, std::size_t bytes_max, const char* what) {
  if (payload.size() > bytes_max) {
    return make_error(ErrorCode::kLimitExceeded,
                      std::string(what) + " has " + std::to_string(payload.size()) +
                          " bytes; at most " + std::to_string(bytes_max) + " are allowed");
  }
  return {};
}

}  // namespace pawl::capi

pawl_bytes pawl_last_error() { return pawl::capi::to_bytes(pawl::capi::last_error()); }

// What every function of the C ABI does around its work: nothing is thrown across, errors are
// remembered for pawl_last_error(), and what comes in is looked at before it is used.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <exception>
#include <new>
#include <string>
#include <string_view>

#include "base/result.h"
#include "pawl.h"

namespace pawl::capi {

// Remembers it for this thread.
pawl_status fail(const Error& error) noexcept;

// How the work of a call ended. An error is remembered at once.
class CallEnd {
 public:
  CallEnd() = default;
  // NOLINTBEGIN(google-explicit-constructor): so that PAWL_TRY works.
  CallEnd(const Error& error) noexcept : status_(fail(error)) {}
  CallEnd(const Result<void>& result) noexcept : status_(result ? PAWL_OK : fail(result.error())) {}
  // NOLINTEND(google-explicit-constructor)

  pawl_status status() const { return status_; }

 private:
  pawl_status status_ = PAWL_OK;
};

// `body`: CallEnd().
template <class Body>
pawl_status call(const Body& body) noexcept {
  try {
    return body().status();
  } catch (const std::bad_alloc&) {
    return fail({ErrorCode::kInternal, "out of memory"});
  } catch (const std::exception& error) {
    return fail({ErrorCode::kInternal, error.what()});
  } catch (...) {
    return fail({ErrorCode::kInternal, "unknown exception"});
  }
}

inline pawl_bytes to_bytes(std::string_view text) { return {text.data(), text.size()}; }

// `what` names the argument in errors.
Result<std::string_view> read_bytes(pawl_bytes bytes, const char* what);
// The same, and it has to be UTF-8.
Result<std::string_view> read_text(pawl_bytes bytes, const char* what);
// The same, and not empty.
Result<std::string_view> read_name(pawl_bytes bytes, const char* what);

// kLimitExceeded if a payload is larger than the engine lets it be.
Result<void> check_size(std::string_view payload, std::size_t bytes_max, const char* what);

Error null_argument(const char* what);
Error wrong_size(const char* what, std::size_t given, std::size_t known);
Error wrong_number(const char* what, std::int64_t given);

// The caller's struct as this library knows it: what is missing is 0, what is unknown here has to
// be. Borrowed if it is as long as here.
template <class Struct>
class Given {
 public:
  Result<void> read(const Struct* given, const char* what) {
    if (given != nullptr && given->size == sizeof(Struct)) [[likely]] {
      read_ = given;
      return {};
    }
    return copy(given, what);
  }
  const Struct* operator->() const { return read_; }
  const Struct& operator*() const { return *read_; }

 private:
  Result<void> copy(const Struct* given, const char* what) {
    constexpr std::size_t kBytesMax = 4096;
    // Of a pointer that is cut in two, half would be taken for all of it.
    constexpr std::size_t kUnit = alignof(std::size_t);
    if (given == nullptr) {
      return null_argument(what);
    }
    const std::size_t size = given->size;
    if (size < sizeof(std::size_t) || size > kBytesMax || size % kUnit != 0) {
      return wrong_size(what, size, sizeof(Struct));
    }
    const auto* const bytes = reinterpret_cast<const unsigned char*>(given);
    if (size > sizeof(Struct) &&
        std::any_of(bytes + sizeof(Struct), bytes + size, [](auto byte) { return byte != 0; })) {
      return wrong_size(what, size, sizeof(Struct));
    }
    std::memset(&copy_, 0, sizeof(copy_));
    std::memcpy(&copy_, given, std::min(size, sizeof(Struct)));
    read_ = &copy_;
    return {};
  }

  const Struct* read_ = nullptr;
  Struct copy_;
};

template <class Struct>
Result<Struct> read_struct(const Struct* given, const char* what) {
  Given<Struct> read;
  PAWL_TRY(read.read(given, what));
  return *read;
}

}  // namespace pawl::capi

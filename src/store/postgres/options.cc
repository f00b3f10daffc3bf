#include "store/postgres/options.h"

#include <charconv>
#include <cstdint>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>

#include <libpq-fe.h>

#include "store/libpq/libpq.h"
#include "store/postgres/server_error.h"
#include "store/url.h"

namespace pawl::store {

namespace {

constexpr std::string_view kParameters = "namespace, schema, prepare and payload_bytes_max";
constexpr std::size_t kIdentifierBytesMax = 63;

class UrlParser {
 public:
  explicit UrlParser(std::string_view url) : url_(url) {}

  Result<PostgresOptions> parse() {
    if (!url_.starts_with("postgres://") && !url_.starts_with("postgresql://")) {
      return wrong("it has to begin with 'postgresql://'");
    }
    // libpq would take what follows a stray one for a host, and print it.
    const std::size_t at = url_.find('@');
    if (at != std::string_view::npos &&
        (at > end_of_authority(url_) || url_.find('@', at + 1) != std::string_view::npos)) {
      return wrong("in user, password and values write '@' as %40, '/' as %2F and '?' as %3F");
    }
    const std::size_t mark = url_.find('?');
    options_.conninfo = url_.substr(0, mark);
    if (mark != std::string_view::npos) {
      PAWL_TRY(parse_parameters(url_.substr(mark + 1)));
    }
    PAWL_TRY(check_conninfo());
    return std::move(options_);
  }

 private:
  Error wrong(const std::string& what) const {
    return make_error(ErrorCode::kInvalidArgument,
                      "store URL '" + without_password(url_) + "': " + what);
  }

  Result<void> parse_parameters(std::string_view text) {
    char separator = '?';
    while (!text.empty()) {
      const std::size_t end = text.find('&');
      const std::string_view parameter = text.substr(0, end);
      text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
      const std::size_t equals = parameter.find('=');
      const std::string_view name = parameter.substr(0, equals);
      if (equals == std::string_view::npos) {
        return wrong("'" + std::string(parameter) + "' is not of the form name=value");
      }
      const std::optional<std::string> value = decode_percent(parameter.substr(equals + 1));
      if (!value.has_value()) {
        return wrong(std::string(kPercentRule));
      }
      PAWL_TRY_ASSIGN(const bool is_own, set(name, *value));
      if (!is_own) {
        options_.conninfo += separator;
        options_.conninfo += parameter;
        separator = '&';
      }
    }
    return {};
  }

  // False: not a parameter of Pawl.
  Result<bool> set(std::string_view name, const std::string& value) {
    if (name == "namespace") {
      options_.name_space = value;
      return value.empty() ? Result<bool>(wrong("the namespace is empty")) : Result<bool>(true);
    }
    if (name == "schema") {
      options_.schema = value;
      return is_identifier(value)
                 ? Result<bool>(true)
                 : wrong("the schema is a name of up to 63 letters, digits and '_', not '" + value +
                         "'");
    }
    if (name == "prepare") {
      options_.prepare = value == "on";
      return value == "on" || value == "off"
                 ? Result<bool>(true)
                 : wrong("prepare is 'on' or 'off', not '" + value + "'");
    }
    if (name == "payload_bytes_max") {
      const char* const value_end = value.data() + value.size();
      const auto [end, error] =
          std::from_chars(value.data(), value_end, options_.payload_bytes_max);
      if (error != std::errc() || end != value_end ||
          options_.payload_bytes_max > kPostgresPayloadBytesLimit) {
        return wrong("payload_bytes_max is a number from 0 to " +
                     std::to_string(kPostgresPayloadBytesLimit) + ", not '" + value + "'");
      }
      return true;
    }
    return false;
  }

  static bool is_identifier(std::string_view name) {
    for (const char byte : name) {
      const bool is_letter = (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z');
      if (!is_letter && (byte < '0' || byte > '9') && byte != '_') {
        return false;
      }
    }
    return !name.empty() && name.size() <= kIdentifierBytesMax;
  }

  // By libpq, whose message may quote any part of the URL.
  Result<void> check_conninfo() const {
    PAWL_TRY(load_libpq());
    char* message = nullptr;
    PQconninfoOption* const parsed = PQconninfoParse(options_.conninfo.c_str(), &message);
    const std::unique_ptr<char, void (*)(void*)> message_owner(message, PQfreemem);
    if (parsed != nullptr) {
      PQconninfoFree(parsed);
      return {};
    }
    std::string what = message == nullptr ? "" : pg::one_line(message);
    if (what.starts_with("invalid URI query parameter")) {
      return wrong(what + "; of Pawl there are " + std::string(kParameters) +
                   ", the others are libpq's");
    }
    if (what.empty() || without_password(url_) != url_) {
      what = "libpq cannot read it; check what has to be written as %XX";
    }
    return wrong(what);
  }

  std::string_view url_;
  PostgresOptions options_;
};

}  // namespace

Result<PostgresOptions> parse_postgres_url(std::string_view url) { return UrlParser(url).parse(); }

}  // namespace pawl::store

#include "store/sqlite/options.h"

#include <charconv>
#include <optional>
#include <system_error>
#include <utility>

#include "store/url.h"

namespace pawl::store {

namespace {

constexpr std::string_view kScheme = "sqlite:";
constexpr std::string_view kParameters =
    "durability, namespace, busy_timeout_ms and payload_bytes_max";

class UrlParser {
 public:
  explicit UrlParser(std::string_view url) : url_(url) {}

  Result<SqliteOptions> parse() {
    if (!url_.starts_with(kScheme)) {
      return wrong("it has to begin with 'sqlite:'");
    }
    const std::string_view rest = url_.substr(kScheme.size());
    const std::size_t mark = rest.find('?');
    PAWL_TRY_ASSIGN(options_.path, decode(rest.substr(0, mark)));
    if (options_.path.empty()) {
      return wrong("the path is empty; write e.g. sqlite:app.db");
    }
    if (options_.path.starts_with("//") && !options_.path.starts_with("///")) {
      const std::string name = options_.path.substr(2);
      return wrong("there is no host in it; write sqlite:" + name + " for a file here, sqlite:/" +
                   name + " for one from the root");
    }
    if (mark != std::string_view::npos) {
      PAWL_TRY(parse_parameters(rest.substr(mark + 1)));
    }
    return std::move(options_);
  }

 private:
  Error wrong(const std::string& what) const {
    return make_error(ErrorCode::kInvalidArgument,
                      "store URL '" + std::string(url_) + "': " + what);
  }

  Result<std::string> decode(std::string_view text) const {
    std::optional<std::string> decoded = decode_percent(text);
    if (!decoded.has_value()) {
      return wrong(std::string(kPercentRule));
    }
    return *std::move(decoded);
  }

  Result<void> parse_parameters(std::string_view text) {
    while (!text.empty()) {
      const std::size_t end = text.find('&');
      const std::string_view parameter = text.substr(0, end);
      text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
      const std::size_t equals = parameter.find('=');
      if (equals == std::string_view::npos) {
        return wrong("'" + std::string(parameter) + "' is not of the form name=value");
      }
      PAWL_TRY_ASSIGN(const std::string value, decode(parameter.substr(equals + 1)));
      PAWL_TRY(set(parameter.substr(0, equals), value));
    }
    return {};
  }

  Result<void> set(std::string_view name, const std::string& value) {
    if (name == "durability") {
      return set_durability(value);
    }
    if (name == "namespace") {
      options_.name_space = value;
      return value.empty() ? Result<void>(wrong("the namespace is empty")) : Result<void>();
    }
    if (name == "busy_timeout_ms") {
      PAWL_TRY_ASSIGN(options_.busy_timeout_ms, number(name, value, 0x7fffffff));
      return {};
    }
    if (name == "payload_bytes_max") {
      PAWL_TRY_ASSIGN(const std::int64_t bytes, number(name, value, kPayloadBytesLimit));
      options_.payload_bytes_max = static_cast<std::size_t>(bytes);
      return {};
    }
    return wrong("unknown parameter '" + std::string(name) + "'; there are " +
                 std::string(kParameters));
  }

  Result<void> set_durability(const std::string& value) {
    if (value == "power") {
      options_.durability = Durability::kPower;
    } else if (value == "process") {
      options_.durability = Durability::kProcess;
    } else {
      return wrong("durability is 'power' or 'process', not '" + value + "'");
    }
    return {};
  }

  Result<std::int64_t> number(std::string_view name, const std::string& value,
                              std::int64_t max) const {
    std::int64_t parsed = 0;
    const char* const value_end = value.data() + value.size();
    const auto [end, error] = std::from_chars(value.data(), value_end, parsed);
    if (error != std::errc() || end != value_end || parsed < 0 || parsed > max) {
      return wrong(std::string(name) + " is a number from 0 to " + std::to_string(max) + ", not '" +
                   value + "'");
    }
    return parsed;
  }

  std::string_view url_;
  SqliteOptions options_;
};

}  // namespace

Result<SqliteOptions> parse_sqlite_url(std::string_view url) { return UrlParser(url).parse(); }

}  // namespace pawl::store

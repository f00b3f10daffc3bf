#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

#include "pawl/check.hpp"
#include "pawl/errors.hpp"
#include "sdk/check_answer.h"

namespace pawl {

namespace {

struct Descriptors {
  int requests = -1;
  int answers = -1;
};

Descriptors read_descriptors(std::string_view text) {
  Descriptors both;
  const char* const end = text.data() + text.size();
  const auto first = std::from_chars(text.data(), end, both.requests);
  if (first.ec == std::errc() && first.ptr != end && *first.ptr == ',') {
    const auto second = std::from_chars(first.ptr + 1, end, both.answers);
    if (second.ec == std::errc() && second.ptr == end && both.requests >= 0 && both.answers >= 0) {
      return both;
    }
  }
  throw UsageError(std::string(detail::kCheckVariable) + "='" + std::string(text) +
                   "': two file descriptors are expected, as in '3,4'; `pawl check` sets it, and "
                   "nobody else has to");
}

// Lines of a descriptor, whatever their length.
class LineReader {
 public:
  explicit LineReader(int descriptor) : descriptor_(descriptor) {}

  // None: the other side has closed it.
  std::optional<std::string> next() {
    while (true) {
      if (const std::size_t end = text_.find('\n', searched_); end != std::string::npos) {
        std::string line = text_.substr(0, end);
        text_.erase(0, end + 1);
        searched_ = 0;
        return line;
      }
      searched_ = text_.size();
      std::array<char, 1 << 16> part{};
      const ssize_t count = ::read(descriptor_, part.data(), part.size());
      if (count > 0) {
        text_.append(part.data(), static_cast<std::size_t>(count));
      } else if (count == 0 || errno != EINTR) {
        return std::nullopt;
      }
    }
  }

 private:
  int descriptor_;
  std::string text_;
  std::size_t searched_ = 0;
};

// False: nobody listens any more.
bool write_line(int descriptor, std::string line) {
  line += '\n';
  std::string_view rest = line;
  while (!rest.empty()) {
    const ssize_t count = ::write(descriptor, rest.data(), rest.size());
    if (count >= 0) {
      rest.remove_prefix(static_cast<std::size_t>(count));
    } else if (errno != EINTR) {
      return false;
    }
  }
  return true;
}

}  // namespace

void answer_check(const Registry& registry, const EngineOptions& options) {
  const char* variable = std::getenv(detail::kCheckVariable);
  if (variable == nullptr || *variable == '\0') {
    return;
  }
  const Descriptors both = read_descriptors(variable);
  const detail::CheckAnswerer answerer(registry, options);
  LineReader requests(both.requests);
  bool is_heard = write_line(both.answers, answerer.hello());
  while (is_heard) {
    const std::optional<std::string> request = requests.next();
    if (!request) {
      break;
    }
    const std::string answer = answerer.answer(
        *request, [&](const std::string& line) { is_heard = write_line(both.answers, line); });
    is_heard = is_heard && write_line(both.answers, answer);
  }
  // Nothing else of the program is to run: no destructor of a global object, no handler.
  std::_Exit(0);
}

}  // namespace pawl

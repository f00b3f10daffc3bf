#include "cli/progress.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "view/text.h"

namespace pawl::cli {

namespace {
constexpr std::chrono::milliseconds kFirst(1000);
constexpr std::chrono::milliseconds kBetween(100);
}  // namespace

Progress::Progress(const Console& console, std::string what, std::int64_t total)
    : is_shown_(console.shows_progress()),
      what_(std::move(what)),
      total_(total),
      start_(Clock::now()),
      last_(start_) {}

Progress::~Progress() {
  if (has_line_) {
    std::fputs("\r\033[K", stderr);
  }
}

void Progress::show(std::int64_t done) {
  const auto now = Clock::now();
  if (!is_shown_ || now - start_ < kFirst || (has_line_ && now - last_ < kBetween)) {
    return;
  }
  last_ = now;
  has_line_ = true;
  const auto elapsed = std::chrono::duration_cast<std::chrono::milliseconds>(now - start_);
  const std::string line = progress_text(what_, done, total_, elapsed.count());
  std::fprintf(stderr, "\r\033[K%s", line.c_str());
  std::fflush(stderr);
}

std::string progress_text(const std::string& what, std::int64_t done, std::int64_t total,
                          std::int64_t elapsed_ms) {
  std::string text = what + "  " + std::to_string(done);
  if (total > 0) {
    text += " of " + std::to_string(total) + ", " +
            std::to_string(std::min<std::int64_t>(100, done * 100 / total)) + " %";
  }
  if (elapsed_ms <= 0 || done <= 0) {
    return text;
  }
  text += ", " + std::to_string(done * 1000 / elapsed_ms) + "/s";
  if (total > done) {
    text += ", " + view::duration_text(elapsed_ms * (total - done) / done) + " left";
  }
  return text;
}

}  // namespace pawl::cli

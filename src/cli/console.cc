#include "cli/console.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <iostream>
#include <system_error>

#include "cli/exit_codes.h"
#include "view/text.h"

namespace pawl::cli {

namespace {

constexpr std::size_t kMessageCharsMax = 2000;

// See https://no-color.org.
bool wants_colors(const std::string& choice) {
  const view::ColorChoice chosen = choice == "always"  ? view::ColorChoice::kAlways
                                   : choice == "never" ? view::ColorChoice::kNever
                                                       : view::ColorChoice::kAuto;
  return view::wants_color(chosen, isatty(STDOUT_FILENO) != 0, std::getenv("NO_COLOR"),
                           std::getenv("TERM"));
}

}  // namespace

bool is_time_zone(const std::string& name) {
  if (name == "local" || name == "utc" || name == "UTC") {
    return true;
  }
  if (name.empty() || name.front() == '/' || name.find("..") != std::string::npos) {
    return false;
  }
  std::error_code error;
  return std::filesystem::is_regular_file("/usr/share/zoneinfo/" + name, error);
}

Console::Console(const Shared& shared) : shared_(shared), has_colors_(wants_colors(shared.color)) {
  zone_.is_utc = shared.utc || shared.time_zone == "utc" || shared.time_zone == "UTC";
  if (!zone_.is_utc && shared.time_zone != "local") {
    setenv("TZ", shared.time_zone.c_str(), 1);
  }
  tzset();
}

void Console::print(std::string_view text) {
  errno = 0;
  std::cout << text;
  keep_reason();
}

void Console::flush() {
  errno = 0;
  std::cout << std::flush;
  keep_reason();
}

void Console::keep_reason() {
  if (!std::cout && reason_ == 0) {
    reason_ = errno;  // None if it was somebody else who could not print, and has said so.
  }
}

void Console::say(std::string_view text) {
  std::string line(text);
  line += '\n';
  std::fwrite(line.data(), 1, line.size(), stderr);
}

int Console::tell(const Error& error) {
  flush();  // In order, where both are the same.
  // It may quote what was typed, or what is in a file.
  say("pawl: " + view::line_text(error.message, kMessageCharsMax));
  return exit_code(error.code);
}

bool Console::can_print() { return static_cast<bool>(std::cout); }

int Console::finish(int code) {
  flush();
  if (std::cout) {
    return code;
  }
  if (reason_ != EPIPE && reason_ != 0) {
    say("pawl: standard output: " + std::generic_category().message(reason_));
  }
  return code == kExitOk ? kExitFailure : code;
}

bool Console::is_interactive() const {
  return isatty(STDIN_FILENO) != 0 && isatty(STDERR_FILENO) != 0;
}

bool Console::shows_progress() const { return isatty(STDERR_FILENO) != 0; }

std::size_t Console::width() const {
  if (isatty(STDOUT_FILENO) == 0) {
    return 0;
  }
  winsize size{};
  constexpr std::size_t kUsual = 80;
  return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : kUsual;
}

std::int64_t Console::now_ms() const {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
             .count() +
         clock_offset_ms_;
}

void Console::set_clock(std::int64_t now_ms) { clock_offset_ms_ += now_ms - this->now_ms(); }

}  // namespace pawl::cli

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

bool has_variable(const char* name) {
  const char* const value = std::getenv(name);
  return value != nullptr && *value != '\0';
}

bool wants_colors(const std::string& choice) {
  if (choice != "auto") {
    return choice == "always";
  }
  // See https://no-color.org.
  return isatty(STDOUT_FILENO) != 0 && !has_variable("NO_COLOR") &&
         std::string_view(has_variable("TERM") ? std::getenv("TERM") : "dumb") != "dumb";
}

std::string_view color_code(Tone tone) {
  switch (tone) {
    case Tone::kPlain:
      return "";
    case Tone::kStrong:
      return "\x1b[1m";
    case Tone::kFaint:
      return "\x1b[2m";
    case Tone::kGood:
      return "\x1b[32m";
    case Tone::kBad:
      return "\x1b[31m";
    case Tone::kOdd:
      return "\x1b[33m";
  }
  return "";
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

void Console::print(std::string_view text) { std::cout << text; }

void Console::say(std::string_view text) {
  std::string line(text);
  line += '\n';
  std::fwrite(line.data(), 1, line.size(), stderr);
}

int Console::tell(const Error& error) {
  std::cout << std::flush;  // In order, where both are the same.
  // It may quote what was typed, or what is in a file.
  say("pawl: " + view::line_text(error.message, kMessageCharsMax));
  return exit_code(error.code);
}

bool Console::can_print() { return static_cast<bool>(std::cout); }

int Console::finish(int code) {
  errno = 0;
  std::cout << std::flush;
  if (std::cout) {
    return code;
  }
  if (errno != EPIPE && errno != 0) {
    say("pawl: standard output: " + std::generic_category().message(errno));
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

std::string Console::toned(std::string_view text, Tone tone) const {
  const std::string_view code = color_code(tone);
  return has_colors_ && !code.empty() ? std::string(code) + std::string(text) + "\x1b[0m"
                                      : std::string(text);
}

std::int64_t Console::now_ms() const {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

}  // namespace pawl::cli

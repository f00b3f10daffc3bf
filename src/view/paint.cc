#include "view/paint.h"

namespace pawl::view {

namespace {

std::string_view escape_of(Tone tone) {
  switch (tone) {
    case Tone::kPlain:
      return "";
    case Tone::kStrong:
      return "\x1b[1m";
    case Tone::kGood:
      return "\x1b[32m";
    case Tone::kBad:
      return "\x1b[31m";
    case Tone::kOdd:
      return "\x1b[33m";
    case Tone::kFaint:
      return "\x1b[2m";
  }
  return "";
}

}  // namespace

void paint_to(std::string& out, std::string_view text, Tone tone, bool in_color) {
  const std::string_view escape = in_color && !text.empty() ? escape_of(tone) : "";
  out += escape;
  out += text;
  if (!escape.empty()) {
    out += "\x1b[0m";
  }
}

std::string painted(std::string_view text, Tone tone, bool in_color) {
  std::string out;
  paint_to(out, text, tone, in_color);
  return out;
}

Tone tone_of(store::RunStatus status) {
  switch (status) {
    case store::RunStatus::kCompleted:
    case store::RunStatus::kRecurred:
      return Tone::kGood;
    case store::RunStatus::kFailed:
    case store::RunStatus::kBlocked:
      return Tone::kBad;
    case store::RunStatus::kRunning:
    case store::RunStatus::kWaiting:
    case store::RunStatus::kCompensating:
      return Tone::kOdd;
    case store::RunStatus::kCancelled:
      return Tone::kStrong;
  }
  return Tone::kPlain;
}

bool wants_color(ColorChoice choice, bool is_terminal, const char* no_color, const char* term) {
  if (choice != ColorChoice::kAuto) {
    return choice == ColorChoice::kAlways;
  }
  const bool is_refused = no_color != nullptr && *no_color != '\0';
  return is_terminal && !is_refused && term != nullptr && std::string_view(term) != "dumb";
}

}  // namespace pawl::view

#include "view/paint.h"

namespace pawl::view {

namespace {

std::string_view escape_of(Style style) {
  switch (style) {
    case Style::kPlain:
      return "";
    case Style::kStrong:
      return "\x1b[1m";
    case Style::kGood:
      return "\x1b[32m";
    case Style::kBad:
      return "\x1b[31m";
    case Style::kOpen:
      return "\x1b[33m";
    case Style::kQuiet:
      return "\x1b[2m";
  }
  return "";
}

}  // namespace

void paint_to(std::string& out, std::string_view text, Style style, bool in_color) {
  const std::string_view escape = in_color && !text.empty() ? escape_of(style) : "";
  out += escape;
  out += text;
  if (!escape.empty()) {
    out += "\x1b[0m";
  }
}

std::string painted(std::string_view text, Style style, bool in_color) {
  std::string out;
  paint_to(out, text, style, in_color);
  return out;
}

Style style_of(store::RunStatus status) {
  switch (status) {
    case store::RunStatus::kCompleted:
    case store::RunStatus::kRecurred:
      return Style::kGood;
    case store::RunStatus::kFailed:
    case store::RunStatus::kBlocked:
      return Style::kBad;
    case store::RunStatus::kRunning:
    case store::RunStatus::kWaiting:
    case store::RunStatus::kCompensating:
      return Style::kOpen;
    case store::RunStatus::kCancelled:
      return Style::kStrong;
  }
  return Style::kPlain;
}

bool wants_color(ColorChoice choice, bool is_terminal, const char* no_color, const char* term) {
  if (choice != ColorChoice::kAuto) {
    return choice == ColorChoice::kAlways;
  }
  const bool is_refused = no_color != nullptr && *no_color != '\0';
  return is_terminal && !is_refused && term != nullptr && std::string_view(term) != "dumb";
}

}  // namespace pawl::view

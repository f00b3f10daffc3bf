#include "replay/violation.h"

namespace pawl::replay {

std::string_view violation_code(ViolationKind kind) {
  switch (kind) {
    case ViolationKind::kKind:
      return "PAWL-1001";
    case ViolationKind::kName:
      return "PAWL-1002";
    case ViolationKind::kVersion:
      return "PAWL-1003";
    case ViolationKind::kRemoved:
      return "PAWL-1004";
    case ViolationKind::kLeftover:
      return "PAWL-1005";
    case ViolationKind::kEnded:
      return "PAWL-1006";
    case ViolationKind::kOutcome:
      return "PAWL-1007";
  }
  return "PAWL-1000";
}

std::string Violation::render() const {
  std::string text = headline;
  const auto line = [&text](std::string_view title, const std::string& value) {
    if (!value.empty()) {
      text += "\n  ";
      text += title;
      text.append(title.size() < 16 ? 16 - title.size() : 1, ' ');
      text += value;
    }
  };
  line("code", code);
  line("run", run_id);
  line("at", label);
  line("history holds", recorded);
  line("code asked for", asked);
  line("source now", source_now);
  line("source then", source_then);
  line("last agreed", last_agreed);
  if (!definition_then.empty() || !definition_now.empty()) {
    line("definition", definition_then == definition_now
                           ? "unchanged (" + definition_now + ")"
                           : "then " + definition_then + ", now " + definition_now);
  }
  line("what to do", advice);
  return text;
}

}  // namespace pawl::replay

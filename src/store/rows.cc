#include "store/rows.h"

#include <array>

namespace pawl::store {

namespace {

constexpr std::array<std::pair<RunStatus, std::string_view>, 8> kStatusNames = {{
    {RunStatus::kRunning, "running"},
    {RunStatus::kWaiting, "waiting"},
    {RunStatus::kCompensating, "compensating"},
    {RunStatus::kCompleted, "completed"},
    {RunStatus::kFailed, "failed"},
    {RunStatus::kCancelled, "cancelled"},
    {RunStatus::kRecurred, "recurred"},
    {RunStatus::kBlocked, "blocked"},
}};

}  // namespace

std::string_view status_name(RunStatus status) {
  for (const auto& [known, name] : kStatusNames) {
    if (known == status) {
      return name;
    }
  }
  return "unknown";
}

std::string status_text(RunStatus status, std::string_view waiting_for) {
  std::string text(status_name(status));
  if (!waiting_for.empty()) {
    text += status == RunStatus::kWaiting ? " for " : ", waiting for ";
    text += waiting_for;
  }
  return text;
}

std::optional<RunStatus> find_status(std::string_view name) {
  for (const auto& [status, known] : kStatusNames) {
    if (known == name) {
      return status;
    }
  }
  return std::nullopt;
}

}  // namespace pawl::store

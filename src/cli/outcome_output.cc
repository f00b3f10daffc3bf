#include "cli/outcome_output.h"

#include <string>

#include "cli/exit_codes.h"
#include "cli/json_output.h"
#include "view/text.h"

namespace pawl::cli {

int print_outcome(Console& console, const Outcome& outcome) {
  constexpr std::size_t kNameChars = 100;
  constexpr std::size_t kFailureChars = 4000;
  if (outcome.row.status == store::RunStatus::kCompleted) {
    console.print(payload_line(outcome.payload) + "\n");
    return kExitOk;
  }
  const std::string failure =
      outcome.payload.empty() ? "" : ": " + view::failure_text(outcome.payload, kFailureChars);
  const bool is_failed = outcome.row.status == store::RunStatus::kFailed;
  console.say("pawl: run '" + view::line_text(outcome.row.id, kNameChars) +
              (is_failed ? "' has failed" : "' was cancelled") + failure);
  return kExitRunFailed;
}

}  // namespace pawl::cli

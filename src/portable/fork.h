// Forks: a new run that goes on from a moment of another one's past, with the same code. Its log is
// the other one's up to there, with other ids. Pure functions.
//
// The code's own uuid() and random() are made from the run id, so they give a fork other values
// than the original had: code whose way depends on them may disagree with what it has inherited.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/uuid.h"
#include "portable/run_document.h"
#include "replay/entry.h"

namespace pawl::portable {

// Behind the last command, but before the end.
inline constexpr std::string_view kAtEnd = "end";

// The command at `location` is to have succeeded with this.
struct Edit {
  std::string location;
  std::string payload;
};

struct ForkRequest {
  std::string at;  // Location of the first command that is done anew, or kAtEnd.
  std::vector<Edit> edits;
  std::string id;  // Of the new run: the user's,
  Uuid uuid;       // and the run id.
  std::int64_t now_ms = 0;
};

struct RetryRequest {
  Uuid uuid;           // Of the new run; its id is the same.
  bool force = false;  // Although compensations have run.
  std::int64_t now_ms = 0;
};

struct Step {
  std::string location;
  replay::CommandKind kind{};
  std::string name;

  friend bool operator==(const Step&, const Step&) = default;
};
// "{3} task charge"
std::string step_text(const Step& step);

struct ForkPlan {
  RunDocument document;  // Checked.
  // The step that ended the run and is executed again, if it was one (plan_retry).
  std::optional<Step> failed;
  // What the original has done, and the new run does again if its code takes the same way.
  std::vector<Step> again;
  // Steps that are not executed again, although they had no outcome yet: what came of them later
  // arrives again.
  std::vector<Step> arriving;
  // Names of signals that the original got later and the new run does not see.
  std::vector<std::string> unseen_signals;
  // Ids of runs that the code starts as children again; it cannot as long as those are there.
  std::vector<std::string> children;
  std::vector<std::string> warnings;  // Sentences.
};

// kInvalidArgument says what is wrong with the request and what would be possible.
Result<ForkPlan> plan_fork(const RunDocument& document, const ForkRequest& request);

// A run that failed goes on before the failure that ended it, or, if that was the code's own, at
// its end; one that was cancelled goes on before the request. It keeps its id, signals that came
// later among it.
Result<ForkPlan> plan_retry(const RunDocument& document, const RetryRequest& request);

}  // namespace pawl::portable

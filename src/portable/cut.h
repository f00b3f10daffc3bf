// What plan_fork and plan_retry share: a run cut at an entry of its log, as a new run.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "portable/fork.h"
#include "portable/run_document.h"
#include "replay/log.h"

namespace pawl::portable {

struct Cut {
  replay::RecordId at = 0;  // The first entry that is not taken over.
  std::string place;        // What people call it.
  // A command whose outcome is not taken over: it is executed again.
  replay::RecordId retried = replay::kNoRecord;
  bool keeps_signals = false;  // What came later is put into the inbox.
  std::string id;
  Uuid uuid;
  std::int64_t now_ms = 0;
};

// The command at this location; an error says where the nearest possible one is.
Result<replay::RecordId> find_command(const replay::Log& log, std::string_view location);

// Without the end of the run, and without anything that refers to what came later.
Result<ForkPlan> cut_run(const RunDocument& document, replay::Log& log, const Cut& cut);

Step step_of(const replay::Log& log, replay::RecordId command);

}  // namespace pawl::portable

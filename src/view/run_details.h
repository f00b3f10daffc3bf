// Everything that is known of a run but its history, in one place.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "store/catalog.h"
#include "store/store.h"
#include "view/open_steps.h"

namespace pawl::view {

struct RunDetails {
  store::RunRow row;
  std::string input;
  std::vector<store::Tag> tags;
  std::string reason;  // Why it is blocked, or the report of a violation that failed it.
  std::optional<std::string> blocked_by;  // Fingerprint of the code that blocked it.
  std::string needs;                      // The activity that a compensation waits for.
  std::optional<store::RunRow> parent;
  std::vector<store::RunRow> children;  // The newest first, up to kChildrenMax.
  bool has_more_children = false;
  std::vector<OpenStep> open_steps;
  std::vector<store::TaskRow> tasks;  // Open ones.
  std::vector<std::string> promises;  // Open ones.
  std::vector<store::CompensationRow> compensations;
  std::vector<store::StoredArrival> inbox;
  std::uint64_t last_seq = 0;  // Of its log.
  // Of a closed one.
  std::optional<std::string> outcome;
};
inline constexpr std::size_t kChildrenMax = 100;

// In several reads: of a run that goes on meanwhile, the parts may be of different moments. Errors
// are the store's, and kCorruptLog.
Result<RunDetails> read_details(store::Store& store, const store::RunRow& row);

}  // namespace pawl::view

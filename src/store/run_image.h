// RunImage: all there is of a run but its log, to carry it elsewhere. Value types.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "store/rows.h"

namespace pawl::store {

struct StoredArrival : NewArrival {
  bool is_kept = false;
};

struct PromiseRow {
  std::string name;
  bool is_resolved = false;
};

// Payloads are as they are stored: what a payload codec has written stays encoded. Keys are left
// out: they belong to one store.
struct RunImage {
  RunRow row;  // Owner, wake, epoch and parent are not carried.
  std::string input;
  std::vector<Tag> tags;
  std::string reason;
  std::optional<std::string> blocked_by;
  std::string needs;
  std::vector<StoredArrival> inbox;
  std::vector<TaskRow> tasks;
  std::vector<PromiseRow> promises;
  std::vector<CompensationRow> compensations;
  std::vector<std::string> dedupe;  // Ids of signals that were taken, of the run's chain.
};

}  // namespace pawl::store

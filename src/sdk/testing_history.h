// Entries of a history that own their texts, and their lines.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "base/uuid.h"
#include "replay/entry.h"
#include "replay/log.h"

namespace pawl::testing::detail {

struct Entries {
  struct Stored {
    replay::Entry entry;  // Its views are not to be used; see view().
    std::string location;
    std::string id;
    std::string name;
    std::string child_kind;
    std::string step_key;
    std::string source;
    std::string payload;
    std::string extra;
    replay::Checkpoint checkpoint;
    bool has_checkpoint = false;

    replay::Entry view() const;
  };

  // Copies `entry`. One without seq gets the next one.
  void add(const replay::Entry& entry);

  std::deque<Stored> all;
  Uuid run_id;  // Of the run; that of a hand-written history is always the same.
  std::int64_t started_ms = 0;
};

// One line for each; see pawl::testing::History.
std::vector<std::string> lines_of(const Entries& entries);

}  // namespace pawl::testing::detail

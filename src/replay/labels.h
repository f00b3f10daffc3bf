// Labels: the three names that every command has: location, place among its kind, place among its
// name. `{3} Task(1) charge:2`. Derived from the log alone, so every tool prints the same.
#pragma once

#include <string>
#include <string_view>

#include "replay/log.h"

namespace pawl::replay {

struct Labels {
  std::string location;  // {3}
  std::string of_kind;   // Task(1), from 0.
  std::string of_name;   // charge:2, from 1; empty where there is no name.

  std::string to_string() const;
};

// The name by which a recorded command is told from others of its kind; empty if it has none.
std::string command_name(const Log& log, const Record& record);
// The same for people: without an id that the core made, which says nothing to them.
std::string shown_name(const Log& log, const Record& record);
// The same as command_name() == name, without making a text.
bool has_name(const Log& log, const Record& record, std::string_view name);

Labels labels_of(const Log& log, const Record& record);

// The labels that a command of this kind and name would have at a place of a branch. Linear in the
// size of the log: for reports, not for matching.
Labels labels_at(const Log& log, BranchId branch, const Coordinate& coordinate, CommandKind kind,
                 std::string_view name);

}  // namespace pawl::replay

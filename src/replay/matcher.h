// Matcher: finds for each command that workflow code asks for the recorded one it stands for, or
// the place of a new one, or says how the two disagree. Three rules, one log. Not thread-safe.
// Reads the log; changes only its own cursors.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <variant>
#include <vector>

#include "base/uuid.h"
#include "replay/entry.h"
#include "replay/flat_index.h"
#include "replay/log.h"
#include "replay/violation.h"

namespace pawl::replay {

enum class Matching : std::uint8_t {
  kStrict,   // The next recorded command of the branch.
  kPerKind,  // The n-th recorded command of its kind in the branch.
  kByName,   // The n-th recorded command of its kind and name in the branch.
};
std::string_view matching_name(Matching matching);

// A command in terms of matching.
struct Wanted {
  CommandKind kind{};
  std::string_view name;        // What is validated; empty: nothing is (unnamed timers, branches).
  std::string_view child_kind;  // Children.
  std::string_view step_key;
  std::uint32_t version = 1;
  bool clear = false;  // State.
};

// How far the code has come in one branch.
struct Cursor {
  std::uint32_t next = 0;    // strict: position in Log::recorded().
  std::uint32_t agreed = 0;  // Recorded commands that were matched or skipped.
  Coordinate previous = Coordinate::before_first();  // strict: of the last command without a key.
  std::uint32_t checked = 0;  // strict: what check_version() said here, having written nothing.
  std::array<std::uint32_t, kCommandKinds> next_of_kind{};  // per_kind: positions likewise.
};

struct Matched {
  RecordId record;
};
struct New {
  Coordinate coordinate;
  std::uint32_t checked = 0;  // See Entry::checked.
};
using Placement = std::variant<Matched, New, Mismatch>;

class Matcher {
 public:
  // `log` must be loaded, and outlive the matcher.
  Matcher(const Log& log, Matching matching, const Uuid& run_id);

  Matching matching() const { return matching_; }

  // Finds the place of a command and moves the cursor past it. Not called again for a mismatch.
  Placement place(Log& log, BranchId branch, Cursor& cursor, const Wanted& wanted);

  // True if place() would match this very command to a recorded one; moves nothing.
  bool is_recorded_next(Log& log, BranchId branch, const Cursor& cursor, const Wanted& wanted);

  // The rules of removed() and check_version(); `strict` only. Matched: nothing is to be written.
  Placement place_removed(Log& log, BranchId branch, Cursor& cursor, const Wanted& wanted);
  // For Matched, the version is that of the record; a version check is passed, anything else stays
  // next.
  Placement place_version_check(Log& log, BranchId branch, Cursor& cursor);

  // The first recorded command of the branch that the code did not ask for; kNoRecord if none.
  RecordId first_leftover(const Log& log, BranchId branch, const Cursor& cursor) const;

 private:
  struct Group {
    RecordId sample;
    RecordId next;
    RecordId last;
  };

  RecordId next_recorded(const Log& log, BranchId branch, Cursor& cursor) const;
  Coordinate next_place(const Log& log, BranchId branch, const Cursor& cursor) const;
  Placement append(const Log& log, BranchId branch) const;
  Placement place_strict(const Log& log, BranchId branch, Cursor& cursor,
                         const Wanted& wanted) const;
  Placement place_by_key(Log& log, BranchId branch, Cursor& cursor, const Wanted& wanted) const;
  RecordId take_of_kind(const Log& log, BranchId branch, Cursor& cursor, CommandKind kind) const;
  RecordId take_by_name(const Log& log, BranchId branch, Cursor& cursor, const Wanted& wanted);
  void pass(const Log& log, Cursor& cursor, RecordId id) const;
  static std::optional<Mismatch> validate(const Log& log, RecordId id, const Wanted& wanted);

  void build_groups(const Log& log, const Uuid& run_id);
  std::uint32_t* find_group(const Log& log, BranchId branch, CommandKind kind,
                            std::string_view name);

  Matching matching_;
  // by_name: commands of one branch, kind and name, as lists threaded through next_in_group_.
  std::vector<Group> groups_;
  std::vector<RecordId> next_in_group_;
  std::vector<bool> unnamed_timer_;
  FlatIndex group_index_;
};

}  // namespace pawl::replay

// Changes to programs as a deploy might make them, and what `strict` must say about them.
#pragma once

#include <optional>
#include <string>

#include <boost/json.hpp>

#include "property/rng.h"

namespace pawl::property {

enum class MutationKind : unsigned char {
  kRename,
  kSwap,
  kDrop,
  kDuplicate,
  kInsert,
  kVersion,
  kDropKey,
  kChildKind,
  kSetToClear,
};

constexpr int kMutationKinds = 9;

const char* name_of(MutationKind kind);

struct Mutation {
  MutationKind kind = MutationKind::kRename;
  boost::json::array program;
  // Where strict must see that the code has changed: the first recorded command of a branch that
  // differs in kind or name from what the code issues there. Nothing if the log does not show the
  // change, or if that cannot be told without running the program.
  std::optional<std::string> violation_at;
};

// A random change of that kind to `program`, which has `history`. Nothing if there is no place for
// it, or if no valid program came of it.
std::optional<Mutation> mutate(Rng& rng, MutationKind kind, const boost::json::array& program,
                               const boost::json::array& history);

}  // namespace pawl::property

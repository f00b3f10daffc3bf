// MovableStore: what moving all runs of a namespace from one store to another needs of each, beyond
// what a store is for whoever works on runs. Errors and threads as in store.h.
//
// A namespace with a seal (seal.h) takes no workers. One that is being filled is sealed until all
// of it is there, so that nobody goes on with a run before that.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "replay/entry.h"
#include "store/run_image.h"
#include "store/store.h"

namespace pawl::store {

// Entries of a log that a loop has moved away when it had finished `iteration` iterations.
struct MovedAway {
  std::string loop;  // Its location.
  std::int64_t iteration = 0;
  std::vector<std::uint64_t> seqs;  // Ascending.
};

// A run as it is in another store, with its number, moments and links; only keys differ, and nobody
// owns it. Runs are carried in the order of their keys: then parents, and the runs that recurred to
// others, are there before those who belong to them.
struct CarryRun {
  RunImage image;
  std::string parent_id;            // With `parent_number` not 0: its parent,
  std::uint32_t parent_number = 0;  // which has to be there.
  bool continues = false;           // The run before it, if that is there, recurred to it.
  // In order of seq, all of them or as many as go into one transaction: then append() follows.
  // Views borrowed until the call is done.
  std::vector<replay::Entry> entries;
  std::vector<MovedAway> moved_away;  // Of these entries.

  RunRow row;  // As it is here.
};

// More of its log: entries that are not there yet, in order of seq.
struct CarryLog {
  RunKey run = 0;
  std::vector<replay::Entry> entries;
  std::vector<MovedAway> moved_away;
};

class MovableStore : public Store {
 public:
  // The namespace's; empty: none.
  virtual Result<std::string> read_seal() = 0;
  // If it is `expected`. False: it is not, and nothing has changed.
  virtual Result<bool> change_seal(std::string_view expected, std::string_view next) = 0;

  // Both are one transaction, and kInvalidState if the namespace's seal is not `seal`, or if there
  // is such a run already.
  virtual Result<void> carry(std::string_view seal, std::span<CarryRun> runs) = 0;
  virtual Result<void> append(std::string_view seal, const CarryLog& log) = 0;
};

}  // namespace pawl::store

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

// A run as it is in another store, with its number and moments; only its key differs, and nobody
// owns it. It has no parent yet, and is the first of its chain: ids of signals that were taken go
// with the open run of a chain.
struct CarryRun {
  RunImage image;
  // In order of seq, all of them or as many as go into one transaction: then append() follows.
  // Views borrowed until the call is done.
  std::vector<replay::Entry> entries;
  std::vector<MovedAway> moved_away;  // Of these entries.

  RunRow row;  // As it is here.
};

// Says who started a run as a child, by keys of this store.
struct CarryParent {
  RunKey run = 0;
  Parent parent;
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

  // Each is one transaction, and kInvalidState if the namespace's seal is not `seal`. It is an
  // error, too, if there is such a run or entry already.
  virtual Result<void> carry(std::string_view seal, std::span<CarryRun> runs) = 0;
  virtual Result<void> append(std::string_view seal, const CarryLog& log) = 0;
  virtual Result<void> link(std::string_view seal, std::span<const CarryParent> links) = 0;
};

}  // namespace pawl::store

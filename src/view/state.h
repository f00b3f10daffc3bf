// The state of a run, as its log tells: now, and after any earlier entry.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "replay/entry.h"
#include "store/store.h"

namespace pawl::view {

struct State {
  std::map<std::string, std::string> values;  // Payloads by key.
  std::uint64_t last_seq = 0;                 // The last entry that was looked at; 0: none.
  // False: loops have forgotten entries of before that moment for good, so that something may be
  // missing or old. The state of now is always complete.
  bool is_complete = true;
};

// Of entries in order of seq: what loops have moved away and is still there, and the log's. Takes
// the former first.
class StateWalk {
 public:
  // After the entry with `at_seq`, or the last one before it.
  explicit StateWalk(std::uint64_t at_seq) : at_seq_(at_seq) {}

  void add_forgotten(const replay::Entry& entry);
  void add(const replay::Entry& entry);
  State end() &&;

 private:
  // What one entry does to the state.
  struct Change {
    std::uint64_t seq = 0;
    bool is_checkpoint = false;
    std::vector<replay::StateChange> changes;
  };

  static Change change_by(const replay::Entry& entry);
  void take(const Change& change);
  void take_forgotten_before(std::uint64_t seq);

  std::uint64_t at_seq_;
  std::vector<Change> forgotten_;  // Lies between what is left.
  std::size_t next_ = 0;
  bool has_more_ = false;  // Entries behind `at_seq`.
  State state_;
};

// The same of a run.
Result<State> read_state(store::Store& store, store::RunKey run,
                         std::uint64_t at_seq = std::numeric_limits<std::uint64_t>::max());

}  // namespace pawl::view

// The state of a run, as its log tells: now, and after any earlier entry.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "replay/entry.h"
#include "store/store.h"

namespace pawl::store {

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
    std::string loop;  // Its location, of what starts one and of a checkpoint.
    std::vector<replay::StateChange> changes;
  };

  static Change change_by(const replay::Entry& entry);
  void take(const Change& change);
  void take_forgotten_before(std::uint64_t seq);
  void note_later(const replay::Entry& entry);
  bool is_complete() const;

  std::uint64_t at_seq_;
  std::vector<Change> forgotten_;  // Lies between what is left.
  std::size_t next_ = 0;
  bool has_more_ = false;  // Entries behind `at_seq`.
  // The last seq up to `at_seq` that is gone for good, and the last checkpoint; 0: none.
  std::uint64_t last_gone_ = 0;
  std::uint64_t last_checkpoint_ = 0;
  // By location of a loop: nothing of it is gone up to this seq that is not told by then.
  std::map<std::string, std::uint64_t> told_;
  std::set<std::string> later_;  // Loops with a checkpoint behind `at_seq`.
  State state_;
};

// The same of a run. That of now needs nothing that was moved away.
Result<State> read_state(Store& store, RunKey run,
                         std::uint64_t at_seq = std::numeric_limits<std::uint64_t>::max());

}  // namespace pawl::store

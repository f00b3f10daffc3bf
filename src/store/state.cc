#include "store/state.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace pawl::store {

using replay::EntryKind;

StateWalk::Change StateWalk::change_by(const replay::Entry& entry) {
  Change change;
  change.seq = entry.seq;
  if (entry.kind == EntryKind::kStateSet) {
    change.changes.push_back({std::string(entry.name), std::string(entry.payload)});
  } else if (entry.kind == EntryKind::kStateCleared) {
    change.changes.push_back({std::string(entry.name), std::nullopt});
  } else if (entry.kind == EntryKind::kLoopStarted) {
    change.loop = entry.location;
  } else if (entry.checkpoint != nullptr) {
    change.is_checkpoint = true;
    change.loop = entry.location;
    change.changes = entry.checkpoint->changes;
  }
  return change;
}

void StateWalk::take(const Change& change) {
  // A gap is what loops have forgotten for good. Their next checkpoint says what it came to.
  if (change.seq > state_.last_seq + 1) {
    last_gone_ = change.seq - 1;
  }
  if (change.is_checkpoint) {
    last_checkpoint_ = change.seq;
  }
  if (!change.loop.empty()) {
    told_[change.loop] = change.seq;
  }
  state_.last_seq = change.seq;
  for (const replay::StateChange& each : change.changes) {
    if (each.value) {
      state_.values[each.key] = *each.value;
    } else {
      state_.values.erase(each.key);
    }
  }
}

void StateWalk::take_forgotten_before(std::uint64_t seq) {
  for (; next_ < forgotten_.size() && forgotten_[next_].seq < seq; ++next_) {
    take(forgotten_[next_]);
  }
}

void StateWalk::add_forgotten(const replay::Entry& entry) {
  if (entry.seq > at_seq_) {
    note_later(entry);
    return;
  }
  forgotten_.push_back(change_by(entry));
}

void StateWalk::add(const replay::Entry& entry) {
  if (entry.seq > at_seq_) {
    has_more_ = true;
    note_later(entry);
    return;
  }
  take_forgotten_before(entry.seq);
  take(change_by(entry));
}

void StateWalk::note_later(const replay::Entry& entry) {
  if (entry.checkpoint != nullptr) {
    later_.emplace(entry.location);
  }
}

// Whose the entries were that are gone is not known: they may be of any loop that had begun and has
// a checkpoint later on, which is the one that tells of them.
bool StateWalk::is_complete() const {
  if (last_gone_ == 0) {
    return true;
  }
  return last_checkpoint_ > last_gone_ &&
         std::none_of(later_.begin(), later_.end(), [this](const std::string& loop) {
           const auto told = told_.find(loop);
           return told != told_.end() && told->second < last_gone_;
         });
}

State StateWalk::end() && {
  take_forgotten_before(std::numeric_limits<std::uint64_t>::max());
  // A moment that lies in a gap is as little known as one behind it.
  if (has_more_ && state_.last_seq < at_seq_) {
    last_gone_ = at_seq_;
  }
  state_.is_complete = is_complete();
  return std::move(state_);
}

Result<State> read_state(Store& store, RunKey run, std::uint64_t at_seq) {
  StateWalk walk(at_seq);
  if (at_seq != std::numeric_limits<std::uint64_t>::max()) {
    PAWL_TRY(store.read_forgotten(run, [&](const replay::Entry& entry) -> Result<void> {
      walk.add_forgotten(entry);
      return {};
    }));
  }
  PAWL_TRY(store.read_log(run, 1, [&](const replay::Entry& entry) -> Result<void> {
    walk.add(entry);
    return {};
  }));
  return std::move(walk).end();
}

}  // namespace pawl::store

// Mailboxes: named first-in-first-out queues of delivered signals, and the waits that want them.
// Not thread-safe.
#pragma once

#include <algorithm>
#include <deque>
#include <map>
#include <vector>

#include "replay/awaits.h"
#include "replay/log.h"

namespace pawl::replay {

class Mailboxes {
 public:
  // Puts a delivered signal in. Returns the oldest open wait, which takes it; 0 if it stays.
  // `is_open(future)` tells whether a wait still wants a signal.
  template <class IsOpen>
  FutureId put(NameId name, RecordId signal, IsOpen is_open) {
    Mailbox& box = boxes_[name];
    while (!box.waits.empty()) {
      const FutureId wait = box.waits.front();
      box.waits.pop_front();
      if (is_open(wait)) {
        return wait;
      }
    }
    box.signals.push_back(signal);
    return 0;
  }

  // Takes the oldest signal; kNoRecord if there is none.
  RecordId take(NameId name) {
    const auto box = boxes_.find(name);
    if (box == boxes_.end() || box->second.signals.empty()) {
      return kNoRecord;
    }
    const RecordId signal = box->second.signals.front();
    box->second.signals.pop_front();
    return signal;
  }

  // Takes this very signal, if it is still there.
  void take(NameId name, RecordId signal) {
    if (const auto box = boxes_.find(name); box != boxes_.end()) {
      std::erase(box->second.signals, signal);
    }
  }

  // Waits stand in the order in which they were opened, whenever they are added.
  void add_wait(NameId name, FutureId wait) {
    std::deque<FutureId>& waits = boxes_[name].waits;
    const auto place = std::lower_bound(waits.begin(), waits.end(), wait);
    if (place == waits.end() || *place != wait) {
      waits.insert(place, wait);
    }
  }

  std::size_t count(NameId name) const {
    const auto box = boxes_.find(name);
    return box == boxes_.end() ? 0 : box->second.signals.size();
  }

  // Everything that nobody took, in no particular order.
  std::vector<RecordId> all() const {
    std::vector<RecordId> signals;
    for (const auto& [name, box] : boxes_) {
      signals.insert(signals.end(), box.signals.begin(), box.signals.end());
    }
    return signals;
  }

 private:
  struct Mailbox {
    std::deque<RecordId> signals;
    std::deque<FutureId> waits;
  };

  std::map<NameId, Mailbox> boxes_;
};

}  // namespace pawl::replay

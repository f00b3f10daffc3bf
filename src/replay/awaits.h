// Awaits: who waits for which futures, who goes on when one completes, and in which order.
// Combinators are data here, so that every language gets the same winner.
// Not thread-safe.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace pawl::replay {

// Numbers a command's outcome to come, from 1. 0: none.
using FutureId = std::uint32_t;
// Numbers an await. Never used again, so that a stale one is noticed. 0: none.
using AwaitId = std::uint64_t;

enum class AwaitMode : std::uint8_t {
  kAll,  // Until all are complete, or the first failure.
  kAny,  // Until the first is complete.
};

enum class AwaitState : std::int32_t { kBlocked, kReady, kCancelled };

// How an await stands. One that is over has ended with that: its number is void.
struct AwaitStatus {
  AwaitId await = 0;
  AwaitState state = AwaitState::kBlocked;
  // kAny, or only one future: that one. kAll: the one that failed; 0 if none did.
  FutureId decided_by = 0;

  friend bool operator==(const AwaitStatus&, const AwaitStatus&) = default;
};

class Awaits {
 public:
  // Starts an await on `open` futures, of which none is complete.
  AwaitId begin(AwaitMode mode, std::span<const FutureId> open, bool shielded);

  bool is_blocked(AwaitId id) const {
    const Slot slot = slot_of(id);
    return slot > 0 && slot < awaits_.size() && awaits_[slot].id == id;
  }
  // Nobody waits any more.
  void give_up(AwaitId id);

  // Tells those that wait for `future`; the ones that can go on are added to `woken` in the order
  // in which they began.
  void complete(FutureId future, bool failed, std::vector<AwaitStatus>& woken);
  // Interrupts every blocked await outside a shield.
  void cancel(std::vector<AwaitStatus>& woken);

  bool is_watched(FutureId future) const {
    return future < watchers_.size() && watchers_[future].first != 0;
  }
  // The futures that blocked awaits still wait for, in no particular order.
  std::vector<FutureId> blocked_on() const;
  // The same one by one, until `visit` returns true: oldest await first, its futures in their
  // order.
  template <class Visit>
  void visit_blocked(Visit visit) const;
  // How many those are; one that several wait for counts for each.
  std::size_t watch_count() const { return watch_count_; }

  // Makes room for this many futures at once.
  void reserve(std::size_t futures) { watchers_.reserve(futures); }
  std::size_t memory_bytes() const;

 private:
  using Link = std::uint32_t;  // Position in watches_; 0: none.
  using Slot = std::uint32_t;  // Position in awaits_; 0: none.
  static Slot slot_of(AwaitId id) { return static_cast<Slot>(id); }

  // One await waiting for one future: in the future's list and in the await's.
  struct Watch {
    Slot await = 0;
    FutureId future = 0;
    Link previous = 0;  // Of the same future.
    Link next = 0;
    Link previous_of_await = 0;
    Link next_of_await = 0;
  };
  struct Watchers {
    Link first = 0;
    Link last = 0;
  };
  struct Await {
    AwaitMode mode{};
    bool shielded = false;
    AwaitId id = 0;  // Its slot, and above it how often the slot was used; 0: free.
    std::uint32_t missing = 0;
    Link first_watch = 0;  // Futures that it still waits for.
    Link last_watch = 0;
    Slot previous = 0;  // Oldest first.
    Slot next = 0;
  };

  Slot allocate();
  void unlink(Link link);
  void end(Slot slot);

  std::vector<Watch> watches_{1};
  std::vector<Link> free_watches_;
  std::vector<Watchers> watchers_;
  std::vector<Await> awaits_{1};
  std::vector<Slot> free_awaits_;
  std::uint64_t uses_ = 0;
  std::size_t watch_count_ = 0;
  Slot first_ = 0;
  Slot last_ = 0;
};

template <class Visit>
void Awaits::visit_blocked(Visit visit) const {
  for (Slot slot = first_; slot != 0; slot = awaits_[slot].next) {
    for (Link link = awaits_[slot].first_watch; link != 0; link = watches_[link].next_of_await) {
      if (visit(watches_[link].future)) {
        return;
      }
    }
  }
}

}  // namespace pawl::replay

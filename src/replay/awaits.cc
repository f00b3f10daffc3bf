#include "replay/awaits.h"

#include "base/check.h"

namespace pawl::replay {

Awaits::Slot Awaits::allocate() {
  Slot slot = 0;
  if (free_awaits_.empty()) {
    slot = static_cast<Slot>(awaits_.size());
    awaits_.emplace_back();
  } else {
    slot = free_awaits_.back();
    free_awaits_.pop_back();
    awaits_[slot] = {};
  }
  awaits_[slot].id = (++uses_ << 32U) | slot;
  return slot;
}

AwaitId Awaits::begin(AwaitMode mode, std::span<const FutureId> open, bool shielded) {
  const Slot slot = allocate();
  Await& await = awaits_[slot];
  await.mode = mode;
  await.shielded = shielded;
  await.missing = static_cast<std::uint32_t>(open.size());
  for (const FutureId future : open) {
    Link link = 0;
    if (free_watches_.empty()) {
      link = static_cast<Link>(watches_.size());
      watches_.emplace_back();
    } else {
      link = free_watches_.back();
      free_watches_.pop_back();
    }
    if (future >= watchers_.size()) {
      watchers_.resize(future < watchers_.capacity() ? watchers_.capacity() : 2 * future + 1);
    }
    Watchers& watchers = watchers_[future];
    watches_[link] = {slot, future, watchers.last, 0, await.last_watch, 0};
    (await.last_watch == 0 ? await.first_watch : watches_[await.last_watch].next_of_await) = link;
    await.last_watch = link;
    ++watch_count_;
    (watchers.last == 0 ? watchers.first : watches_[watchers.last].next) = link;
    watchers.last = link;
  }
  await.previous = last_;
  (last_ == 0 ? first_ : awaits_[last_].next) = slot;
  last_ = slot;
  return await.id;
}

// Takes a watch out of both of its lists.
void Awaits::unlink(Link link) {
  Watch& watch = watches_[link];
  Watchers& watchers = watchers_[watch.future];
  (watch.previous == 0 ? watchers.first : watches_[watch.previous].next) = watch.next;
  (watch.next == 0 ? watchers.last : watches_[watch.next].previous) = watch.previous;
  Await& await = awaits_[watch.await];
  (watch.previous_of_await == 0 ? await.first_watch
                                : watches_[watch.previous_of_await].next_of_await) =
      watch.next_of_await;
  (watch.next_of_await == 0 ? await.last_watch : watches_[watch.next_of_await].previous_of_await) =
      watch.previous_of_await;
  free_watches_.push_back(link);
  --watch_count_;
}

// Takes an await out of all lists.
void Awaits::end(Slot slot) {
  Await& await = awaits_[slot];
  while (await.first_watch != 0) {
    unlink(await.first_watch);
  }
  (await.previous == 0 ? first_ : awaits_[await.previous].next) = await.next;
  (await.next == 0 ? last_ : awaits_[await.next].previous) = await.previous;
  await.id = 0;
  free_awaits_.push_back(slot);
}

void Awaits::give_up(AwaitId id) {
  PAWL_CHECK(is_blocked(id));
  end(slot_of(id));
}

void Awaits::complete(FutureId future, bool failed, std::vector<AwaitStatus>& woken) {
  if (future >= watchers_.size()) {
    return;
  }
  while (watchers_[future].first != 0) {
    const Link link = watchers_[future].first;
    const Slot slot = watches_[link].await;
    unlink(link);
    Await& await = awaits_[slot];
    --await.missing;
    if (await.mode == AwaitMode::kAny || failed) {
      woken.push_back({await.id, AwaitState::kReady, future});
      end(slot);
    } else if (await.missing == 0) {
      woken.push_back({await.id, AwaitState::kReady, 0});
      end(slot);
    }
  }
}

void Awaits::cancel(std::vector<AwaitStatus>& woken) {
  for (Slot slot = first_; slot != 0;) {
    const Slot next = awaits_[slot].next;
    if (!awaits_[slot].shielded) {
      woken.push_back({awaits_[slot].id, AwaitState::kCancelled, 0});
      end(slot);
    }
    slot = next;
  }
}

std::vector<FutureId> Awaits::blocked_on() const {
  std::vector<FutureId> futures;
  futures.reserve(watch_count_);
  visit_blocked([&](FutureId future) {
    futures.push_back(future);
    return false;
  });
  return futures;
}

std::size_t Awaits::memory_bytes() const {
  return watches_.capacity() * sizeof(Watch) + free_watches_.capacity() * sizeof(Link) +
         watchers_.capacity() * sizeof(Watchers) + awaits_.capacity() * sizeof(Await) +
         free_awaits_.capacity() * sizeof(Slot);
}

}  // namespace pawl::replay

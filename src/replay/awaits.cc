#include "replay/awaits.h"

#include "base/check.h"

namespace pawl::replay {

AwaitId Awaits::allocate() {
  AwaitId id = 0;
  if (free_awaits_.empty()) {
    id = static_cast<AwaitId>(awaits_.size());
    awaits_.emplace_back();
  } else {
    id = free_awaits_.back();
    free_awaits_.pop_back();
    awaits_[id] = {};
  }
  awaits_[id].in_use = true;
  return id;
}

AwaitId Awaits::begin_ready(FutureId decided_by) {
  const AwaitId id = allocate();
  awaits_[id].status = {AwaitState::kReady, decided_by};
  return id;
}

AwaitId Awaits::begin(AwaitMode mode, std::span<const FutureId> open, bool shielded) {
  const AwaitId id = allocate();
  Await& await = awaits_[id];
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
    watches_[link] = {id, future, watchers.last, 0, await.first_watch};
    await.first_watch = link;
    (watchers.last == 0 ? watchers.first : watches_[watchers.last].next) = link;
    watchers.last = link;
  }
  await.previous = last_blocked_;
  (last_blocked_ == 0 ? first_blocked_ : awaits_[last_blocked_].next) = id;
  last_blocked_ = id;
  return id;
}

void Awaits::unlink(Link link) {
  Watch& watch = watches_[link];
  Watchers& watchers = watchers_[watch.future];
  (watch.previous == 0 ? watchers.first : watches_[watch.previous].next) = watch.next;
  (watch.next == 0 ? watchers.last : watches_[watch.next].previous) = watch.previous;
  watch.future = 0;
}

// Takes a blocked await out of all lists.
void Awaits::settle(AwaitId id, AwaitStatus status) {
  Await& await = awaits_[id];
  PAWL_CHECK(await.status.state == AwaitState::kBlocked);
  await.status = status;
  for (Link link = await.first_watch; link != 0;) {
    const Link next = watches_[link].next_of_await;
    if (watches_[link].future != 0) {
      unlink(link);
    }
    free_watches_.push_back(link);
    link = next;
  }
  await.first_watch = 0;
  (await.previous == 0 ? first_blocked_ : awaits_[await.previous].next) = await.next;
  (await.next == 0 ? last_blocked_ : awaits_[await.next].previous) = await.previous;
}

void Awaits::end(AwaitId id) {
  if (awaits_[id].status.state == AwaitState::kBlocked) {
    settle(id, {AwaitState::kCancelled, 0});
  }
  awaits_[id].in_use = false;
  free_awaits_.push_back(id);
}

void Awaits::complete(FutureId future, bool failed, std::vector<AwaitId>& woken) {
  if (future >= watchers_.size()) {
    return;
  }
  while (watchers_[future].first != 0) {
    const Link link = watchers_[future].first;
    const AwaitId id = watches_[link].await;
    unlink(link);
    Await& await = awaits_[id];
    --await.missing;
    if (await.mode == AwaitMode::kAny || failed) {
      settle(id, {AwaitState::kReady, future});
      woken.push_back(id);
    } else if (await.missing == 0) {
      settle(id, {AwaitState::kReady, 0});
      woken.push_back(id);
    }
  }
}

void Awaits::cancel(std::vector<AwaitId>& woken) {
  for (AwaitId id = first_blocked_; id != 0;) {
    const AwaitId next = awaits_[id].next;
    if (!awaits_[id].shielded) {
      settle(id, {AwaitState::kCancelled, 0});
      woken.push_back(id);
    }
    id = next;
  }
}

std::vector<FutureId> Awaits::blocked_on() const {
  std::vector<FutureId> futures;
  for (AwaitId id = first_blocked_; id != 0; id = awaits_[id].next) {
    for (Link link = awaits_[id].first_watch; link != 0; link = watches_[link].next_of_await) {
      if (watches_[link].future != 0) {
        futures.push_back(watches_[link].future);
      }
    }
  }
  return futures;
}

std::size_t Awaits::memory_bytes() const {
  return watches_.capacity() * sizeof(Watch) + free_watches_.capacity() * sizeof(Link) +
         watchers_.capacity() * sizeof(Watchers) + awaits_.capacity() * sizeof(Await) +
         free_awaits_.capacity() * sizeof(AwaitId);
}

}  // namespace pawl::replay

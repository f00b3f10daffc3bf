#include "capi/queue.h"

#include <bit>
#include <utility>

#include "capi/call.h"

namespace pawl::capi {

EventHandles& event_lists() {
  static auto* const handles = new EventHandles;  // Never destroyed: threads may outlive main().
  return *handles;
}

void EventList::make_items() {
  items.reserve(events.size());
  for (const Event& each : events) {
    pawl_event& item = items.emplace_back(each.event);
    item.run_id = to_bytes(each.run_id);
    item.run_uuid = to_bytes(each.run_uuid);
    item.name = to_bytes(each.name);
    item.payload = to_bytes(each.payload);
    item.key = to_bytes(each.key);
    item.details = to_bytes(each.details);
  }
}

std::size_t EventQueue::place_of(std::int32_t kind) {
  return static_cast<std::size_t>(std::countr_zero(static_cast<std::uint32_t>(kind)));
}

bool EventQueue::has(std::uint32_t kinds) const {
  for (std::size_t place = 0; place < kKinds; ++place) {
    if ((kinds & (1U << place)) != 0 && !events_[place].empty()) {
      return true;
    }
  }
  return false;
}

void EventQueue::put(Event event) {
  {
    const std::scoped_lock lock(mutex_);
    if (is_closed_ && event.event.kind != PAWL_EVENT_REPLY) {
      return;
    }
    events_[place_of(event.event.kind)].push_back(std::move(event));
  }
  changed_.notify_all();  // Those who poll may want different kinds.
}

void EventQueue::take(std::uint32_t kinds, std::size_t limit, EventList& list) {
  const std::scoped_lock lock(mutex_);
  for (std::size_t place = 0; place < kKinds; ++place) {
    std::deque<Event>& events = events_[place];
    while ((kinds & (1U << place)) != 0 && !events.empty() && list.events.size() < limit) {
      list.events.push_back(std::move(events.front()));
      events.pop_front();
    }
  }
}

void EventQueue::wait(std::uint32_t kinds, const std::optional<Deadline>& deadline,
                      std::uint64_t seen) {
  std::unique_lock lock(mutex_);
  const auto is_over = [&] { return is_closed_ || has(kinds) || wakes_ != seen; };
  if (deadline) {
    changed_.wait_until(lock, *deadline, is_over);
  } else {
    changed_.wait(lock, is_over);
  }
}

void EventQueue::wake() {
  {
    const std::scoped_lock lock(mutex_);
    ++wakes_;
  }
  changed_.notify_all();
}

std::uint64_t EventQueue::wakes() const {
  const std::scoped_lock lock(mutex_);
  return wakes_;
}

void EventQueue::close() {
  {
    const std::scoped_lock lock(mutex_);
    is_closed_ = true;
    for (std::size_t place = 0; place < kKinds; ++place) {
      if (place != place_of(PAWL_EVENT_REPLY)) {
        events_[place].clear();
      }
    }
  }
  changed_.notify_all();
}

bool EventQueue::is_closed() const {
  const std::scoped_lock lock(mutex_);
  return is_closed_;
}

bool EventQueue::is_empty() const {
  const std::scoped_lock lock(mutex_);
  return !has(~0U);
}

}  // namespace pawl::capi

pawl_status pawl_events_free(pawl_event_list list) {
  return pawl::capi::call([&]() -> pawl::capi::CallEnd {
    PAWL_TRY(pawl::capi::event_lists().remove(list, "list of events"));
    return {};
  });
}

const pawl_event* pawl_event_at(const pawl_events* events, size_t number) {
  return events != nullptr && events->first != nullptr && number < events->count
             ? events->first + number
             : nullptr;
}

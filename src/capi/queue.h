// EventQueue: what an engine has for those who poll it. Thread-safe.
#pragma once

#include <array>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "capi/handles.h"
#include "pawl.h"

namespace pawl::capi {

// An event with its texts.
struct Event {
  pawl_event event = {};  // All but the texts, which are:
  std::string run_id;
  std::string run_uuid;
  std::string name;
  std::string payload;
  std::string key;
  std::string details;
};

// What a poll has got. The items point to the events.
struct EventList {
  std::vector<Event> events;
  std::vector<pawl_event> items;

  // When all events are there.
  void make_items();
};
using EventHandles = SharedHandles<EventList, HandleKind::kEvents, pawl_event_list>;
EventHandles& event_lists();

class EventQueue {
 public:
  using Deadline = std::chrono::steady_clock::time_point;

  void put(Event event);
  // Moves up to `limit` of these kinds to `list`.
  void take(std::uint32_t kinds, std::size_t limit, EventList& list);
  // Until there is one of these kinds, or it is closed, or wake() was called since it returned
  // `seen`, or the deadline, if there is one, is over.
  void wait(std::uint32_t kinds, const std::optional<Deadline>& deadline, std::uint64_t seen);
  void wake();
  std::uint64_t wakes() const;
  // Only answers are given out from now on.
  void close();
  bool is_closed() const;
  bool is_empty() const;

 private:
  static constexpr std::size_t kKinds = 6;
  static std::size_t place_of(std::int32_t kind);
  bool has(std::uint32_t kinds) const;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::array<std::deque<Event>, kKinds> events_;
  std::uint64_t wakes_ = 0;
  bool is_closed_ = false;
};

}  // namespace pawl::capi

// What printing a history costs: counted, not timed.
#include <malloc.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "view/entry_lines.h"
#include "view/history.h"

namespace {

// Of this program, which has one thread.
std::size_t allocations = 0;
std::size_t live_bytes = 0;
std::size_t peak_bytes = 0;

void* allocate(std::size_t bytes) {
  void* const memory = std::malloc(bytes);
  if (memory == nullptr) {
    throw std::bad_alloc();
  }
  ++allocations;
  live_bytes += malloc_usable_size(memory);
  peak_bytes = std::max(peak_bytes, live_bytes);
  return memory;
}

void release(void* memory) {
  if (memory != nullptr) {
    live_bytes -= malloc_usable_size(memory);
    std::free(memory);
  }
}

}  // namespace

void* operator new(std::size_t bytes) { return allocate(bytes); }
void* operator new[](std::size_t bytes) { return allocate(bytes); }
void operator delete(void* memory) noexcept { release(memory); }
void operator delete[](void* memory) noexcept { release(memory); }
void operator delete(void* memory, std::size_t /*bytes*/) noexcept { release(memory); }
void operator delete[](void* memory, std::size_t /*bytes*/) noexcept { release(memory); }

namespace pawl::view {
namespace {

using replay::EntryKind;

// About `entries` entries of a kind that is hard on whoever goes through them more than once.
class Shape {
 public:
  virtual ~Shape() = default;
  virtual void add(std::size_t i) = 0;

  History history(std::size_t entries) {
    history_ = {};
    history_.row.id = "r";
    history_.row.status = store::RunStatus::kWaiting;
    seq_ = 0;
    for (std::size_t i = 1; seq_ < entries; ++i) {
      add(i);
    }
    EXPECT_TRUE(history_.log.finish_loading());
    return std::move(history_);
  }

 protected:
  void load(EntryKind kind, const std::string& location, const std::string& name,
            const std::string& id, std::int64_t number = 0) {
    replay::Entry entry;
    entry.kind = kind;
    entry.seq = ++seq_;
    entry.time_ms = static_cast<std::int64_t>(seq_);
    entry.location = location;
    entry.name = name;
    entry.id = id;
    entry.number = number;
    entry.has_payload = true;
    entry.payload = "{\"n\":1}";
    const Result<void> loaded = history_.log.load(entry);
    ASSERT_TRUE(loaded) << loaded.error().message;
  }
  static std::string at(std::size_t i) { return "{" + std::to_string(i) + "}"; }

  History history_;
  std::uint64_t seq_ = 0;
};

// Open tasks, each with its row.
class Tasks : public Shape {
  void add(std::size_t i) override {
    const std::string id = "t-" + std::to_string(i);
    load(EntryKind::kTaskScheduled, at(i), "charge", id);
    store::TaskRow row;
    row.id = id;
    history_.tasks.push_back(row);
  }
};

// Waits for one signal that time out, and signals that nobody takes.
class Signals : public Shape {
  void add(std::size_t i) override {
    load(EntryKind::kSignalAwaited, at(i), "go", "", 5);
    if (i % 2 == 0) {
      load(EntryKind::kSignalTimedOut, at(i), "", "");
    }
    load(EntryKind::kSignalReceived, "", i % 3 == 0 ? "go" : "other", "");
  }
};

// Every step is in a branch of its own, and has a name of its own.
class Branches : public Shape {
  void add(std::size_t i) override {
    const std::string branch = std::to_string(i);
    load(EntryKind::kBranchOpened, "{" + branch + "}", "", "");
    load(EntryKind::kTimerStarted, "{" + branch + ", 1}", "", "timer-" + branch, 10);
    load(EntryKind::kOperationCompleted, "{" + branch + ", 2}", "name-" + branch, "");
  }
};

// Iterations of one loop.
class Iterations : public Shape {
  void add(std::size_t i) override {
    if (i == 1) {
      load(EntryKind::kLoopStarted, "{1}", "", "");
    }
    load(EntryKind::kOperationCompleted, "{1, " + std::to_string(i) + ", 1}", "double", "");
  }
};

struct Cost {
  std::size_t allocations = 0;
  std::size_t bytes = 0;  // At once, besides the history itself.
};

template <class What>
Cost cost_of(const What& what) {
  const std::size_t allocations_before = allocations;
  const std::size_t bytes_before = live_bytes;
  peak_bytes = live_bytes;
  what();
  return {allocations - allocations_before, peak_bytes - bytes_before};
}

constexpr std::size_t kFew = 10'000;
constexpr std::size_t kMany = 100'000;

template <class Kind>
class HistoryCost : public testing::Test {};
using Shapes = testing::Types<Tasks, Signals, Branches, Iterations>;
TYPED_TEST_SUITE(HistoryCost, Shapes);

TYPED_TEST(HistoryCost, GrowsWithTheNumberOfEntries) {
  const auto print = [](std::size_t entries, std::size_t lines_max) {
    TypeParam shape;
    const History history = shape.history(entries);
    return cost_of([&] {
      std::size_t lines = 0;
      print_history(history, {.lines_max = lines_max}, [&](std::string_view text) {
        lines += static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
      });
      EXPECT_TRUE(lines_max > 0 || lines > entries / 3);
    });
  };
  for (const std::size_t lines_max : {std::size_t{0}, std::size_t{20}}) {
    const Cost few = print(kFew, lines_max);
    const Cost many = print(kMany, lines_max);
    EXPECT_LT(many.allocations, few.allocations * (kMany / kFew) * 11 / 10);
    EXPECT_LT(many.bytes / kMany, 300U);
  }
}

TYPED_TEST(HistoryCost, FollowingCostsTheSameForEachEntry) {
  const auto follow = [](std::size_t entries) {
    TypeParam shape;
    const History history = shape.history(entries);
    return cost_of([&] {
      EntryLines lines(history.row, {});
      for (replay::RecordId id = 0; id < history.log.size(); ++id) {
        replay::Log::EntryTexts texts;
        EXPECT_TRUE(lines.add(history.log.entry(id, texts)));
      }
    });
  };
  const Cost few = follow(kFew);
  const Cost many = follow(kMany);
  EXPECT_LT(many.allocations, few.allocations * (kMany / kFew) * 11 / 10);
  EXPECT_LT(many.bytes / kMany, 600U);
}

}  // namespace
}  // namespace pawl::view

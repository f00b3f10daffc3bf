#include "view/history.h"

#include <array>
#include <deque>
#include <utility>

namespace pawl::view {

namespace {

// An entry that owns its texts.
class KeptEntry {
 public:
  explicit KeptEntry(const replay::Entry& entry)
      : entry_(entry), texts_{std::string(entry.location), std::string(entry.id),
                              std::string(entry.name),     std::string(entry.child_kind),
                              std::string(entry.step_key), std::string(entry.source),
                              std::string(entry.payload),  std::string(entry.extra)} {
    if (entry.checkpoint != nullptr) {
      checkpoint_ = *entry.checkpoint;
    }
  }

  // Valid as long as this object, where it is.
  replay::Entry get() const {
    replay::Entry entry = entry_;
    std::size_t next = 0;
    for (std::string_view* view : {&entry.location, &entry.id, &entry.name, &entry.child_kind,
                                   &entry.step_key, &entry.source, &entry.payload, &entry.extra}) {
      *view = texts_[next++];
    }
    entry.checkpoint = checkpoint_ ? &*checkpoint_ : nullptr;
    return entry;
  }
  std::uint64_t seq() const { return entry_.seq; }

 private:
  replay::Entry entry_;
  std::array<std::string, 8> texts_;
  std::optional<replay::Checkpoint> checkpoint_;
};

// What is moved away between the two reads is in neither, and its loop explains the gap; the other
// way round it would be there twice.
Result<void> read_log(store::Store& store, History& history) {
  std::deque<KeptEntry> forgotten;
  if (history.has_forgotten) {
    PAWL_TRY(store.read_forgotten(history.row.key, [&](const replay::Entry& entry) -> Result<void> {
      forgotten.emplace_back(entry);
      return {};
    }));
  }
  const auto load_forgotten = [&](std::uint64_t before_seq) -> Result<void> {
    while (!forgotten.empty() && forgotten.front().seq() < before_seq) {
      PAWL_TRY(history.log.load(forgotten.front().get()));
      forgotten.pop_front();
    }
    return {};
  };
  PAWL_TRY(store.read_log(history.row.key, 1, [&](const replay::Entry& entry) -> Result<void> {
    PAWL_TRY(load_forgotten(entry.seq));
    return history.log.load(entry);
  }));
  return history.log.finish_loading();
}

}  // namespace

Result<History> read_history(store::Store& store, const store::RunRow& row, bool with_forgotten) {
  History history;
  history.row = row;
  history.has_forgotten = with_forgotten;
  PAWL_TRY_ASSIGN(history.input, store.read_input(row.key));
  PAWL_TRY_ASSIGN(history.reason, store.read_reason(row.key));
  PAWL_TRY(read_log(store, history));
  PAWL_TRY_ASSIGN(history.inbox, store.read_inbox_of(row.key));
  PAWL_TRY_ASSIGN(history.tasks, store.read_tasks(row.key));
  PAWL_TRY_ASSIGN(history.compensations, store.read_compensations(row.key));
  PAWL_TRY_ASSIGN(history.children, store.read_children(row.key));
  PAWL_TRY_ASSIGN(history.tags, store.read_tags(row.key));
  if (row.parent.run != 0) {
    PAWL_TRY_ASSIGN(history.parent, store.find_run(row.parent.run));
  }
  return history;
}

}  // namespace pawl::view

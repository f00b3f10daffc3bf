#include "replay/labels.h"

namespace pawl::replay {

std::string Labels::to_string() const {
  std::string text = location + " " + of_kind;
  if (!of_name.empty()) {
    text += " " + of_name;
  }
  return text;
}

namespace {

bool is_named_by_id(EntryKind kind) {
  return kind == EntryKind::kTimerStarted || kind == EntryKind::kPromiseCreated ||
         kind == EntryKind::kTaskCancelRequested || kind == EntryKind::kTimerCancelRequested;
}

}  // namespace

std::string command_name(const Log& log, const Record& record) {
  return is_named_by_id(record.kind) ? log.id_text(record) : std::string(log.name(record));
}

bool has_name(const Log& log, const Record& record, std::string_view name) {
  return is_named_by_id(record.kind) ? log.id_equals(record, name) : log.name(record) == name;
}

Labels labels_of(const Log& log, const Record& record) {
  // An id that the core made says nothing to a reader.
  const std::string name =
      record.id_is_binary && log.name(record).empty() ? std::string() : command_name(log, record);
  return labels_at(log, record.branch, log.coordinate(record), log.command_kind(record), name);
}

Labels labels_at(const Log& log, BranchId branch, const Coordinate& coordinate, CommandKind kind,
                 std::string_view name) {
  Labels labels;
  std::vector<Coordinate> path = log.location(branch).coordinates();
  path.push_back(coordinate);
  labels.location = Location(std::move(path)).to_string();
  std::size_t same_kind = 0;
  std::size_t same_name = 1;
  for (RecordId id = 0; id < log.size(); ++id) {
    const Record& other = log[id];
    if (!other.is_command || other.branch != branch || log.command_kind(other) != kind ||
        log.coordinate(other) >= coordinate) {
      continue;
    }
    ++same_kind;
    if (!name.empty() && has_name(log, other, name)) {
      ++same_name;
    }
  }
  labels.of_kind = std::string(label_name(kind)) + "(" + std::to_string(same_kind) + ")";
  if (!name.empty()) {
    labels.of_name = std::string(name) + ":" + std::to_string(same_name);
  }
  return labels;
}

}  // namespace pawl::replay

#include "replay/labels.h"

namespace pawl::replay {

std::string Labels::to_string() const {
  std::string text = location + " " + of_kind;
  if (!of_name.empty()) {
    text += " " + of_name;
  }
  return text;
}

std::string command_name(const Log& log, const Record& record) {
  return is_named_by_id(traits(record.kind).command) ? log.id_text(record)
                                                     : std::string(log.name(record));
}

bool has_name(const Log& log, const Record& record, std::string_view name) {
  return is_named_by_id(traits(record.kind).command) ? log.id_equals(record, name)
                                                     : log.name(record) == name;
}

std::string shown_name(const Log& log, const Record& record) {
  const bool is_made_id = record.id_is_binary && record.kind == EntryKind::kTimerStarted;
  return is_made_id ? std::string() : command_name(log, record);
}

Labels labels_of(const Log& log, const Record& record) {
  return labels_at(log, record.branch, log.coordinate(record), log.command_kind(record),
                   shown_name(log, record));
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

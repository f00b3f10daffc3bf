#include "view/open_steps.h"

#include <deque>
#include <functional>
#include <map>
#include <set>

#include "replay/labels.h"

namespace pawl::view {

namespace {

using replay::CommandKind;
using replay::EntryKind;
using replay::Record;
using replay::RecordId;

bool waits(CommandKind kind) {
  switch (kind) {
    case CommandKind::kTask:
    case CommandKind::kOperation:
    case CommandKind::kTimer:
    case CommandKind::kPromise:
    case CommandKind::kChildWorkflow:
    case CommandKind::kSignal:
      return true;
    default:
      return false;
  }
}

// Waits for signals that have neither got one nor timed out.
std::set<RecordId> open_waits(const replay::Log& log) {
  std::map<std::string, std::deque<RecordId>, std::less<>> waiting;
  std::map<std::string, std::size_t, std::less<>> left_over;
  for (RecordId id = 0; id < log.size(); ++id) {
    const Record& record = log[id];
    const std::string name(log.name(record));
    if (record.kind == EntryKind::kSignalAwaited && record.is_command) {
      if (left_over[name] > 0) {
        --left_over[name];
      } else {
        waiting[name].push_back(id);
      }
    } else if (record.kind == EntryKind::kSignalReceived && !record.skipped) {
      if (waiting[name].empty()) {
        ++left_over[name];
      } else {
        waiting[name].pop_front();
      }
    } else if (record.kind == EntryKind::kSignalTimedOut && record.link != replay::kNoRecord) {
      std::erase(waiting[std::string(log.name(log[record.link]))], record.link);
    }
  }
  std::set<RecordId> open;
  for (const auto& [name, ids] : waiting) {
    open.insert(ids.begin(), ids.end());
  }
  return open;
}

}  // namespace

std::vector<OpenStep> open_steps(const replay::Log& log) {
  const std::set<RecordId> signals = open_waits(log);
  std::vector<OpenStep> steps;
  for (RecordId id = 0; id < log.size(); ++id) {
    const Record& record = log[id];
    if (!record.is_command || record.forgotten || replay::is_operation_outcome(record.kind)) {
      continue;
    }
    const CommandKind kind = log.command_kind(record);
    const bool is_open =
        kind == CommandKind::kSignal ? signals.contains(id) : record.link == replay::kNoRecord;
    if (!waits(kind) || !is_open) {
      continue;
    }
    OpenStep step;
    step.kind = kind;
    step.name = replay::shown_name(log, record);
    step.id = log.id_text(record);
    step.location = log.location(record).to_string();
    step.time_ms = record.time_ms;
    step.number_ms = record.number;
    steps.push_back(std::move(step));
  }
  return steps;
}

}  // namespace pawl::view

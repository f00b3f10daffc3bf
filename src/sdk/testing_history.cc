#include "sdk/testing_history.h"

#include <map>
#include <memory>
#include <utility>

#include "engine/program.h"
#include "pawl/errors.hpp"
#include "pawl/testing.hpp"
#include "replay/machine.h"
#include "sdk/check.h"
#include "sdk/event.h"

namespace pawl::testing {

namespace detail {

replay::Entry Entries::Stored::view() const {
  replay::Entry copy = entry;
  copy.location = location;
  copy.id = id;
  copy.name = name;
  copy.child_kind = child_kind;
  copy.step_key = step_key;
  copy.source = source;
  copy.payload = payload;
  copy.extra = extra;
  copy.checkpoint = has_checkpoint ? &checkpoint : nullptr;
  return copy;
}

void Entries::add(const replay::Entry& entry) {
  Stored& stored = all.emplace_back();
  stored.entry = entry;
  stored.location = entry.location;
  stored.id = entry.id;
  stored.name = entry.name;
  stored.child_kind = entry.child_kind;
  stored.step_key = entry.step_key;
  stored.source = entry.source;
  stored.payload = entry.payload;
  stored.extra = entry.extra;
  if (entry.checkpoint != nullptr) {
    stored.checkpoint = *entry.checkpoint;
    stored.has_checkpoint = true;
  }
  if (entry.seq == 0) {
    stored.entry.seq = all.size() < 2 ? 1 : all[all.size() - 2].entry.seq + 1;
  }
}

std::vector<std::string> lines_of(const Entries& entries) {
  std::map<std::string, std::string> places;  // Of commands, by id.
  std::vector<std::string> lines;
  for (const Entries::Stored& stored : entries.all) {
    const replay::EntryTraits& traits = replay::traits(stored.entry.kind);
    std::string location = stored.location;
    if (!stored.id.empty()) {
      if (location.empty()) {
        location = places[stored.id];
      } else {
        places[stored.id] = location;
      }
    }
    std::string line = std::to_string(stored.entry.seq);
    line += location.empty() ? "" : " " + location;
    line += " " + std::string(traits.event);
    // An arrival is told by the place of its command.
    const bool is_arrival = traits.role == replay::EntryRole::kArrival ||
                            (replay::is_operation_outcome(traits.kind) && stored.location.empty());
    std::string name = is_arrival ? std::string() : stored.name;
    const bool is_id_given =
        traits.role == replay::EntryRole::kCommand && replay::is_named_by_id(traits.command);
    if (name.empty() && is_id_given && !Uuid::parse_canonical(stored.id)) {
      name = stored.id;
    }
    line += name.empty() ? "" : " " + name;
    line += stored.entry.version == 1 ? "" : " v" + std::to_string(stored.entry.version);
    lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace detail

// --- History -------------------------------------------------------------------------------------

History::History(std::shared_ptr<const detail::Entries> entries)
    : entries_(std::move(entries)), lines_(detail::lines_of(*entries_)) {}

std::string History::text() const {
  std::string text;
  for (const std::string& line : lines_) {
    text += line + "\n";
  }
  return text;
}

std::size_t History::count(std::string_view part) const {
  std::size_t found = 0;
  for (const std::string& line : lines_) {
    found += line.find(part) != std::string::npos ? 1 : 0;
  }
  return found;
}

bool History::contains_in_order(std::initializer_list<std::string_view> parts) const {
  auto line = lines_.begin();
  for (const std::string_view part : parts) {
    while (line != lines_.end() && line->find(part) == std::string::npos) {
      ++line;
    }
    if (line == lines_.end()) {
      return false;
    }
    ++line;
  }
  return true;
}

// --- HistoryBuilder ------------------------------------------------------------------------------

HistoryBuilder::HistoryBuilder() : entries_(std::make_shared<detail::Entries>()) {}

HistoryBuilder& HistoryBuilder::at(std::string location) {
  location_ = std::move(location);
  return *this;
}

HistoryBuilder& HistoryBuilder::step_key(std::string key) {
  step_key_ = std::move(key);
  return *this;
}

HistoryBuilder& HistoryBuilder::version(std::uint32_t version) {
  version_ = version;
  return *this;
}

namespace {

replay::EntryKind opening(StepKind kind) {
  switch (kind) {
    case StepKind::kTask:
      return replay::EntryKind::kTaskScheduled;
    case StepKind::kOperation:
      return replay::EntryKind::kOperationStarted;
    case StepKind::kTimer:
      return replay::EntryKind::kTimerStarted;
    case StepKind::kPromise:
      return replay::EntryKind::kPromiseCreated;
    case StepKind::kChild:
      return replay::EntryKind::kChildWorkflowInitiated;
    case StepKind::kSignal:
      return replay::EntryKind::kSignalAwaited;
    case StepKind::kVersionCheck:
      return replay::EntryKind::kVersionChecked;
    default:
      return replay::EntryKind::kBranchOpened;
  }
}

bool is_root_location(std::string_view location) {
  return location.find(',') == std::string_view::npos &&
         location.find('.') == std::string_view::npos;
}

// Adds a command at `location`, or at the next place of the root.
void add_command(detail::Entries& entries, replay::Entry entry, std::string& location,
                 std::string& step_key, std::uint32_t& version) {
  std::string place = std::exchange(location, {});
  if (place.empty()) {
    std::size_t last = 0;
    for (const auto& stored : entries.all) {
      if (replay::traits(stored.entry.kind).role == replay::EntryRole::kCommand ||
          replay::is_operation_outcome(stored.entry.kind)) {
        if (!stored.location.empty() && is_root_location(stored.location)) {
          last = std::max(last, static_cast<std::size_t>(std::stoul(stored.location.substr(1))));
        }
      }
    }
    place = "{" + std::to_string(last + 1) + "}";
  }
  entry.location = place;
  entry.version = std::exchange(version, 1);
  const std::string key = std::exchange(step_key, {});
  entry.step_key = key;
  const std::string id = uuid5(entries.run_id, place).to_string();
  const replay::CommandKind kind = replay::traits(entry.kind).command;
  if (entry.id.empty() && kind != replay::CommandKind::kSignal &&
      kind != replay::CommandKind::kState && kind != replay::CommandKind::kBranch &&
      kind != replay::CommandKind::kVersionCheck && kind != replay::CommandKind::kCompensation) {
    entry.id = id;
  }
  entries.add(entry);
}

}  // namespace

HistoryBuilder& HistoryBuilder::command(StepKind kind, const std::string& name) {
  replay::Entry entry;
  entry.kind = opening(kind);
  (kind == StepKind::kPromise ? entry.id : entry.name) = name;
  add_command(*entries_, entry, location_, step_key_, version_);
  return *this;
}

HistoryBuilder& HistoryBuilder::whole_operation(const std::string& name,
                                                const std::string& result) {
  replay::Entry entry;
  entry.kind = replay::EntryKind::kOperationCompleted;
  entry.name = name;
  entry.has_payload = true;
  entry.payload = result;
  add_command(*entries_, entry, location_, step_key_, version_);
  return *this;
}

HistoryBuilder& HistoryBuilder::timer(Millis duration, const std::string& id) {
  replay::Entry entry;
  entry.kind = replay::EntryKind::kTimerStarted;
  entry.id = id;
  entry.number = duration.count();
  add_command(*entries_, entry, location_, step_key_, version_);
  return *this;
}

HistoryBuilder& HistoryBuilder::child(const std::string& kind, const std::string& id) {
  replay::Entry entry;
  entry.kind = replay::EntryKind::kChildWorkflowInitiated;
  entry.name = id;
  entry.child_kind = kind;
  add_command(*entries_, entry, location_, step_key_, version_);
  return *this;
}

HistoryBuilder& HistoryBuilder::state(const std::string& key, const std::string& value) {
  replay::Entry entry;
  entry.kind = replay::EntryKind::kStateSet;
  entry.name = key;
  entry.has_payload = true;
  entry.payload = value;
  add_command(*entries_, entry, location_, step_key_, version_);
  return *this;
}

HistoryBuilder& HistoryBuilder::clear(const std::string& key) {
  replay::Entry entry;
  entry.kind = replay::EntryKind::kStateCleared;
  entry.name = key;
  add_command(*entries_, entry, location_, step_key_, version_);
  return *this;
}

HistoryBuilder& HistoryBuilder::registered(const std::string& activity, const std::string& input) {
  replay::Entry entry;
  entry.kind = replay::EntryKind::kCompensationRegistered;
  entry.name = activity;
  entry.has_payload = true;
  entry.payload = input;
  add_command(*entries_, entry, location_, step_key_, version_);
  return *this;
}

namespace {

const detail::Entries::Stored& find_command(const detail::Entries& entries,
                                            const std::string& location) {
  for (const auto& stored : entries.all) {
    if (stored.location == location) {
      return stored;
    }
  }
  throw UsageError("history: there is no command at " + location);
}

}  // namespace

HistoryBuilder& HistoryBuilder::cancels(const std::string& location) {
  const detail::Entries::Stored& command = find_command(*entries_, location);
  replay::Entry entry;
  switch (command.entry.kind) {
    case replay::EntryKind::kTaskScheduled:
      entry.kind = replay::EntryKind::kTaskCancelRequested;
      break;
    case replay::EntryKind::kTimerStarted:
      entry.kind = replay::EntryKind::kTimerCancelRequested;
      break;
    default:
      throw UsageError("history: the command at " + location + " is no task and no timer");
  }
  const std::string id = command.id;
  entry.id = id;
  add_command(*entries_, entry, location_, step_key_, version_);
  return *this;
}

HistoryBuilder& HistoryBuilder::arrival(const std::string& location, Outcome outcome,
                                        const std::string& payload) {
  const detail::Entries::Stored* command = &find_command(*entries_, location);
  const replay::CommandKind kind = replay::traits(command->entry.kind).command;
  const auto wanted = static_cast<replay::OutcomeKind>(outcome);
  replay::Entry entry;
  if (kind == replay::CommandKind::kOperation) {
    entry.kind = outcome == Outcome::kValue ? replay::EntryKind::kOperationCompleted
                                            : replay::EntryKind::kOperationFailed;
  }
  for (int number = 1; number < 64 && entry.kind == replay::EntryKind{}; ++number) {
    const replay::EntryTraits* traits = replay::find_traits(static_cast<replay::EntryKind>(number));
    if (traits != nullptr && traits->role == replay::EntryRole::kArrival &&
        traits->command == kind && traits->outcome == wanted) {
      entry.kind = traits->kind;
    }
  }
  if (entry.kind == replay::EntryKind{}) {
    throw UsageError("history: the command at " + location + " cannot end so");
  }
  if (entry.kind == replay::EntryKind::kSignalTimedOut) {
    entry.location = location;
  }
  const std::string id = command->id;
  entry.id = id;
  entry.has_payload = !payload.empty() && kind != replay::CommandKind::kTimer;
  entry.payload = entry.has_payload ? std::string_view(payload) : std::string_view();
  entries_->add(entry);
  return *this;
}

HistoryBuilder& HistoryBuilder::failed(const std::string& location, const std::string& type,
                                       const std::string& message) {
  engine::Failure failure;
  failure.type = type;
  failure.message = message;
  return arrival(location, Outcome::kFailed, engine::encode_failure(failure));
}

HistoryBuilder& HistoryBuilder::received(const std::string& name, const std::string& payload,
                                         const Event& event) {
  const std::string extra = pawl::detail::encode_event(name, event);
  replay::Entry entry;
  entry.kind = replay::EntryKind::kSignalReceived;
  entry.name = name;
  entry.has_payload = true;
  entry.payload = payload;
  entry.extra = extra;
  entries_->add(entry);
  return *this;
}

HistoryBuilder& HistoryBuilder::cancel_requested(const std::string& reason) {
  replay::Entry entry;
  entry.kind = replay::EntryKind::kCancellationRequested;
  entry.has_payload = !reason.empty();
  entry.payload = reason;
  entries_->add(entry);
  return *this;
}

History HistoryBuilder::build() const {
  return History(std::make_shared<const detail::Entries>(*entries_));
}

// --- Check ---------------------------------------------------------------------------------------

namespace {

std::string end_name(replay::EntryKind kind) {
  switch (kind) {
    case replay::EntryKind::kWorkflowCompleted:
      return "completed";
    case replay::EntryKind::kWorkflowFailed:
      return "failed";
    case replay::EntryKind::kWorkflowCancelled:
      return "cancelled";
    default:
      return "recurred";
  }
}

}  // namespace

CheckResult check(const pawl::detail::WorkflowEntry& workflow, std::string_view input,
                  const History& history) {
  replay::Log log;
  for (const auto& stored : history.entries()->all) {
    const Result<void> loaded = log.load(stored.view());
    if (!loaded) {
      throw UsageError("history: " + loaded.error().message);
    }
  }
  pawl::detail::Subject subject;
  subject.uuid = history.entries()->run_id;
  subject.started_ms = history.entries()->started_ms;
  auto created = pawl::detail::Rehearsal::create(workflow, subject, std::move(log), input,
                                                 pawl::detail::Settings().payload_bytes_max);
  if (!created) {
    throw UsageError("history: " + created.error().message);
  }
  pawl::detail::Rehearsal& rehearsal = **created;
  rehearsal.run();
  CheckResult result;
  if (const auto& violation = rehearsal.violation()) {
    result.violation = violation->render();
    return result;
  }
  if (const auto& end = rehearsal.end()) {
    result.end = end_name(end->kind);
    result.payload = end->payload;
  }
  result.agrees = true;
  if (result.end.empty()) {
    for (const replay::Location& place : rehearsal.machine().waiting()) {
      result.waiting.push_back(place.to_string());
    }
  }
  const replay::Batch batch = rehearsal.machine().take_new();
  detail::Entries added = *history.entries();
  const std::size_t before = added.all.size();
  for (replay::RecordId id = batch.first; id < batch.last; ++id) {
    replay::Log::EntryTexts texts;
    added.add(rehearsal.machine().log().entry(id, texts));
  }
  std::vector<std::string> lines = detail::lines_of(added);
  result.added.assign(lines.begin() + static_cast<std::ptrdiff_t>(before), lines.end());
  return result;
}

}  // namespace pawl::testing

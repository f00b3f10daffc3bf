#include "format/log_json.h"

#include <deque>
#include <map>

#include <boost/json.hpp>

#include "base/hash.h"
#include "format/entry_json.h"
#include "format/json_reader.h"
#include "replay/entry.h"

namespace pawl::format {

namespace json = boost::json;

using replay::CommandKind;
using replay::Entry;
using replay::EntryKind;
using replay::EntryRole;
using replay::EntryTraits;
using replay::is_operation_outcome;
using replay::Log;
using replay::RecordId;

using enum EntryKind;

namespace {

// Reads a list of entries one by one, supplying what they leave out.
class Importer {
 public:
  Importer(const LogDefaults& defaults, std::string path, std::size_t entries)
      : defaults_(defaults), list_path_(std::move(path)) {
    log_.reserve(entries);
  }

  Result<void> add(const json::value& value, std::size_t position);
  Log take() { return std::move(log_); }

 private:
  Result<void> supply_loop();
  void supply_location();
  Result<void> supply_id();
  Result<void> supply_target();
  RecordId oldest_open(CommandKind kind);

  const LogDefaults& defaults_;
  std::string list_path_;
  Log log_;
  std::map<CommandKind, std::deque<RecordId>> open_;

  // Of the entry being read.
  EntryReader reader_;
  Entry& entry_ = reader_.entry;
  const EntryTraits* traits_ = nullptr;
};

Result<void> Importer::add(const json::value& value, std::size_t position) {
  PAWL_TRY(reader_.read(value, list_path_ + "[" + std::to_string(position) + "]"));
  traits_ = &replay::traits(entry_.kind);
  if (!reader_.has_seq) {
    entry_.seq = log_.last_seq() + 1;
  }
  if (!reader_.has_time) {
    entry_.time_ms = defaults_.started_at_ms + static_cast<std::int64_t>(entry_.seq);
  }
  if (!reader_.has_digest && entry_.has_payload && takes_input(entry_.kind)) {
    entry_.input_digest = stable_digest(entry_.payload);
  }
  PAWL_TRY(supply_loop());
  supply_location();
  PAWL_TRY(supply_id());
  PAWL_TRY(supply_target());
  Result<void> loaded = log_.load(entry_);
  if (!loaded) {
    return make_error(loaded.error().code, reader_.path() + ": " + loaded.error().message);
  }
  if (traits_->role == EntryRole::kCommand &&
      log_[static_cast<RecordId>(log_.size() - 1)].is_command) {
    open_[traits_->command].push_back(static_cast<RecordId>(log_.size() - 1));
  }
  return {};
}

// A checkpoint that names no loop is of the last one that was started.
Result<void> Importer::supply_loop() {
  if (traits_->role != EntryRole::kCheckpoint || !entry_.location.empty()) {
    return {};
  }
  const std::deque<RecordId>& loops = open_[CommandKind::kLoop];
  if (loops.empty()) {
    return bad_field(reader_.at("loop"), "missing, and no loop was started before it");
  }
  reader_.set_location(log_.location(log_[loops.back()]).to_string());
  return {};
}

// A command without a location takes the next whole number of the root branch.
void Importer::supply_location() {
  const bool is_arrival = is_operation_outcome(entry_.kind) && !entry_.id.empty() &&
                          log_.is_started_operation(entry_.id);
  if (traits_->role == EntryRole::kCommand && !is_arrival && entry_.location.empty()) {
    reader_.set_location("{" + std::to_string(log_.next_whole_number(replay::kRootBranch)) + "}");
  }
  if (is_arrival) {
    reader_.set_location("");
  }
}

// A command without an id has the one that the core gives.
Result<void> Importer::supply_id() {
  const bool makes_id = entry_.kind == kTaskScheduled || entry_.kind == kTimerStarted ||
                        entry_.kind == kPromiseCreated || entry_.kind == kOperationStarted ||
                        entry_.kind == kChildWorkflowInitiated || is_operation_outcome(entry_.kind);
  if (entry_.id.empty() && makes_id && !entry_.location.empty()) {
    Result<replay::Location> place = replay::Location::parse(entry_.location);
    if (!place) {
      return bad_field(reader_.at("location"), place.error().message);
    }
    reader_.set_id(uuid5(defaults_.run_id, place->to_string()).to_string());
  }
  return {};
}

// An arrival or cancel request that names no command means the oldest open one of its kind.
Result<void> Importer::supply_target() {
  CommandKind kind = CommandKind::kNone;
  if (traits_->role == EntryRole::kArrival) {
    kind = traits_->command;
  } else if (entry_.kind == kTaskCancelRequested) {
    kind = CommandKind::kTask;
  } else if (entry_.kind == kTimerCancelRequested) {
    kind = CommandKind::kTimer;
  }
  const bool is_named =
      kind == CommandKind::kSignal
          ? !entry_.location.empty()
          : !entry_.id.empty() || (kind == CommandKind::kChildWorkflow && !entry_.name.empty());
  if (kind == CommandKind::kNone || is_named) {
    return {};
  }
  const RecordId target = oldest_open(kind);
  if (target == replay::kNoRecord) {
    return bad_field(reader_.path(), "names no " + std::string(replay::step_name(kind)) +
                                         ", and none is open before it");
  }
  if (kind == CommandKind::kSignal) {
    reader_.set_location(log_.location(log_[target]).to_string());
  } else {
    reader_.set_id(log_.id_text(log_[target]));
  }
  return {};
}

RecordId Importer::oldest_open(CommandKind kind) {
  std::deque<RecordId>& candidates = open_[kind];
  while (!candidates.empty() && log_[candidates.front()].link != replay::kNoRecord) {
    candidates.pop_front();
  }
  for (const RecordId id : candidates) {
    if (log_[id].link == replay::kNoRecord) {
      return id;
    }
  }
  return replay::kNoRecord;
}

}  // namespace

Result<Log> import_log(const json::array& entries, const LogDefaults& defaults,
                       const std::string& path) {
  Importer importer(defaults, path, entries.size());
  for (std::size_t i = 0; i < entries.size(); ++i) {
    PAWL_TRY(importer.add(entries[i], i));
  }
  return importer.take();
}

Result<Log> import_log(std::string_view json_text, const LogDefaults& defaults) {
  PAWL_TRY_ASSIGN(const json::value value, parse_json(json_text));
  PAWL_TRY_ASSIGN(const json::array* entries, read_array(value, "log"));
  return import_log(*entries, defaults, "log");
}

json::object export_entry(const Log& log, RecordId id) {
  Log::EntryTexts texts;
  return entry_to_json(log.entry(id, texts));
}

json::array export_log(const Log& log) {
  json::array entries;
  entries.reserve(log.size());
  for (RecordId id = 0; id < log.size(); ++id) {
    entries.push_back(export_entry(log, id));
  }
  return entries;
}

}  // namespace pawl::format

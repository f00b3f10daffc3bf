#include "format/log_json.h"

#include <array>
#include <charconv>
#include <deque>
#include <limits>
#include <map>
#include <vector>

#include <boost/json.hpp>

#include "base/hash.h"
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
using replay::Record;
using replay::RecordId;

namespace {

constexpr std::int64_t kIntegerMax = std::numeric_limits<std::int64_t>::max() / 4;

// The JSON names of an entry's variable fields; empty: it has none.
struct FieldNames {
  EntryKind kind;
  std::string_view id;
  std::string_view name;
  std::string_view payload;
  std::string_view number;
};

using enum EntryKind;

constexpr auto kFieldNames = std::to_array<FieldNames>({
    {kTaskScheduled, "taskExecutionId", "taskType", "input", ""},
    {kOperationStarted, "operationId", "operationName", "input", ""},
    {kOperationCompleted, "operationId", "operationName", "result", ""},
    {kOperationFailed, "operationId", "operationName", "error", ""},
    {kTimerStarted, "timerId", "", "", "durationMs"},
    {kPromiseCreated, "promiseId", "", "", "timeoutMs"},
    {kChildWorkflowInitiated, "childExecutionId", "childExecutionName", "input", ""},
    {kStateSet, "", "key", "value", ""},
    {kStateCleared, "", "key", "", ""},
    {kSignalAwaited, "", "signalName", "", "timeoutMs"},
    {kBranchOpened, "", "", "", ""},
    {kLoopStarted, "", "", "state", ""},
    {kStepRemoved, "", "name", "", ""},
    {kVersionChecked, "", "", "", ""},
    {kCompensationRegistered, "", "name", "input", ""},
    {kTaskCancelRequested, "taskExecutionId", "", "", ""},
    {kTimerCancelRequested, "timerId", "", "", ""},
    {kTaskCompleted, "taskExecutionId", "", "result", ""},
    {kTaskFailed, "taskExecutionId", "", "error", ""},
    {kTaskCancelled, "taskExecutionId", "", "error", ""},
    {kTimerFired, "timerId", "", "", ""},
    {kTimerCancelled, "timerId", "", "", ""},
    {kPromiseResolved, "promiseId", "", "value", ""},
    {kPromiseRejected, "promiseId", "", "error", ""},
    {kPromiseTimedOut, "promiseId", "", "", ""},
    {kChildWorkflowCompleted, "childExecutionId", "childExecutionName", "output", ""},
    {kChildWorkflowFailed, "childExecutionId", "childExecutionName", "error", ""},
    {kChildWorkflowCancelled, "childExecutionId", "childExecutionName", "error", ""},
    {kSignalReceived, "", "signalName", "data", ""},
    {kSignalTimedOut, "", "", "", ""},
    {kCancellationRequested, "", "", "reason", ""},
    {kLoopCheckpointed, "", "", "", ""},
    {kWorkflowCompleted, "", "", "result", ""},
    {kWorkflowFailed, "", "", "error", ""},
    {kWorkflowCancelled, "", "", "reason", ""},
    {kWorkflowRecurred, "", "", "input", ""},
});

const FieldNames& field_names(EntryKind kind) {
  for (const FieldNames& names : kFieldNames) {
    if (names.kind == kind) {
      return names;
    }
  }
  PAWL_CHECK(false);
}

std::string hex16(std::uint64_t value) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text(16, '0');
  for (std::size_t i = 16; i-- > 0; value >>= 4U) {
    text[i] = kDigits[value & 0xfU];
  }
  return text;
}

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
  Result<void> read_member(std::string_view key, const json::value& value);
  Result<void> read_checkpoint(const json::object& object);
  void supply_location();
  Result<void> supply_id();
  Result<void> supply_target();
  std::string at(std::string_view field) const { return path_ + "." + std::string(field); }
  RecordId oldest_open(CommandKind kind);

  const LogDefaults& defaults_;
  std::string list_path_;
  Log log_;
  std::map<CommandKind, std::deque<RecordId>> open_;

  // Of the entry being read.
  std::string path_;
  const EntryTraits* traits_ = nullptr;
  const FieldNames* names_ = nullptr;
  Entry entry_;
  bool has_time_ = false;
  std::string payload_;
  std::string location_;
  std::string id_;
  json::object extra_;
  std::string extra_text_;
  replay::Checkpoint checkpoint_;
};

Result<void> Importer::add(const json::value& value, std::size_t position) {
  path_ = list_path_ + "[" + std::to_string(position) + "]";
  PAWL_TRY_ASSIGN(const json::object* object, read_object(value, path_));
  const json::value* event = object->if_contains("event");
  if (event == nullptr) {
    return bad_field(at("event"), "missing");
  }
  PAWL_TRY_ASSIGN(const std::string_view event_name, read_text(*event, at("event")));
  traits_ = replay::find_traits(event_name);
  if (traits_ == nullptr) {
    return bad_field(at("event"), "there is no event '" + std::string(event_name) + "'");
  }
  names_ = &field_names(traits_->kind);
  entry_ = {};
  entry_.kind = traits_->kind;
  entry_.seq = log_.last_seq() + 1;
  has_time_ = false;
  extra_.clear();
  payload_.clear();
  location_.clear();
  id_.clear();
  if (traits_->role == EntryRole::kCheckpoint) {
    PAWL_TRY(read_checkpoint(*object));
  }
  for (const json::key_value_pair& member : *object) {
    PAWL_TRY(read_member(member.key(), member.value()));
  }
  if (!has_time_) {
    entry_.time_ms = defaults_.started_at_ms + static_cast<std::int64_t>(entry_.seq);
  }
  entry_.payload = payload_;
  if (entry_.input_digest == 0 && entry_.has_payload && names_->payload == "input" &&
      traits_->role == EntryRole::kCommand) {
    entry_.input_digest = stable_digest(payload_);
  }
  if (!extra_.empty()) {
    extra_text_ = json::serialize(extra_);
    entry_.extra = extra_text_;
  }
  supply_location();
  PAWL_TRY(supply_id());
  PAWL_TRY(supply_target());
  Result<void> loaded = log_.load(entry_);
  if (!loaded) {
    return make_error(loaded.error().code, path_ + ": " + loaded.error().message);
  }
  if (traits_->role == EntryRole::kCommand &&
      log_[static_cast<RecordId>(log_.size() - 1)].is_command) {
    open_[traits_->command].push_back(static_cast<RecordId>(log_.size() - 1));
  }
  return {};
}

Result<void> Importer::read_member(std::string_view key, const json::value& value) {
  const bool is_command = traits_->role == EntryRole::kCommand;
  if (key == "event") {
    return {};
  }
  if (key == "seq") {
    PAWL_TRY_ASSIGN(const std::int64_t seq, read_integer(value, at(key), 1, kIntegerMax));
    entry_.seq = static_cast<std::uint64_t>(seq);
    return {};
  }
  if (key == "time") {
    PAWL_TRY_ASSIGN(entry_.time_ms, read_integer(value, at(key), -kIntegerMax, kIntegerMax));
    has_time_ = true;
    return {};
  }
  if (key == "version") {
    PAWL_TRY_ASSIGN(const std::int64_t version,
                    read_integer(value, at(key), 1, std::numeric_limits<std::uint32_t>::max()));
    entry_.version = static_cast<std::uint32_t>(version);
    return {};
  }
  if (key == "location" && (is_command || traits_->kind == kSignalTimedOut)) {
    PAWL_TRY_ASSIGN(const std::string_view text, read_text(value, at(key)));
    location_ = text;
    return {};
  }
  if (key == "stepKey" && is_command) {
    PAWL_TRY_ASSIGN(entry_.step_key, read_text(value, at(key)));
    return {};
  }
  if (key == "checked" && is_command) {
    PAWL_TRY_ASSIGN(const std::int64_t checked,
                    read_integer(value, at(key), 1, std::numeric_limits<std::uint32_t>::max()));
    entry_.checked = static_cast<std::uint32_t>(checked);
    return {};
  }
  if (key == "source" && is_command) {
    PAWL_TRY_ASSIGN(entry_.source, read_text(value, at(key)));
    return {};
  }
  if (key == "inputDigest" && is_command) {
    PAWL_TRY_ASSIGN(const std::string_view text, read_text(value, at(key)));
    const auto [end, error] =
        std::from_chars(text.data(), text.data() + text.size(), entry_.input_digest, 16);
    if (text.size() != 16 || error != std::errc() || end != text.data() + text.size()) {
      return bad_field(at(key), "expected 16 hexadecimal digits, got " + describe_json(value));
    }
    return {};
  }
  if (!names_->id.empty() && key == names_->id) {
    PAWL_TRY_ASSIGN(const std::string_view text, read_text(value, at(key)));
    id_ = text;
    return {};
  }
  if (!names_->name.empty() && key == names_->name) {
    PAWL_TRY_ASSIGN(entry_.name, read_text(value, at(key)));
    return {};
  }
  if (!names_->payload.empty() && key == names_->payload) {
    payload_ = json::serialize(value);
    entry_.has_payload = true;
    return {};
  }
  if (!names_->number.empty() && key == names_->number) {
    PAWL_TRY_ASSIGN(entry_.number, read_integer(value, at(key), 0, kIntegerMax));
    return {};
  }
  if (key == "childWorkflowKind" && traits_->kind == kChildWorkflowInitiated) {
    PAWL_TRY_ASSIGN(entry_.child_kind, read_text(value, at(key)));
    return {};
  }
  if (key == "kind" && traits_->kind == kStepRemoved) {
    PAWL_TRY_ASSIGN(const std::string_view text, read_text(value, at(key)));
    const std::optional<CommandKind> kind = replay::find_step_kind(text);
    if (!kind) {
      return bad_field(at(key), "there is no kind of step '" + std::string(text) + "'");
    }
    entry_.removed = *kind;
    return {};
  }
  if (traits_->role == EntryRole::kCheckpoint &&
      (key == "loop" || key == "iteration" || key == "state" || key == "set" || key == "cleared" ||
       key == "taken" || key == "done" || key == "result")) {
    return {};  // read_checkpoint() has them.
  }
  extra_[key] = value;
  return {};
}

Result<void> Importer::read_checkpoint(const json::object& object) {
  checkpoint_ = {};
  checkpoint_.state = "null";
  std::map<std::string, std::optional<std::string>> changes;
  if (const json::value* loop = object.if_contains("loop")) {
    PAWL_TRY_ASSIGN(const std::string_view text, read_text(*loop, at("loop")));
    location_ = text;
  } else if (!open_[CommandKind::kLoop].empty()) {
    location_ = log_.location(log_[open_[CommandKind::kLoop].back()]).to_string();
  } else {
    return bad_field(at("loop"), "missing, and no loop was started before it");
  }
  if (const json::value* iteration = object.if_contains("iteration")) {
    PAWL_TRY_ASSIGN(const std::int64_t number,
                    read_integer(*iteration, at("iteration"), 0, kIntegerMax));
    checkpoint_.iteration = static_cast<std::uint64_t>(number);
  }
  if (const json::value* state = object.if_contains("state")) {
    checkpoint_.state = json::serialize(*state);
  }
  if (const json::value* cleared = object.if_contains("cleared")) {
    PAWL_TRY_ASSIGN(const json::array* keys, read_array(*cleared, at("cleared")));
    for (std::size_t i = 0; i < keys->size(); ++i) {
      PAWL_TRY_ASSIGN(const std::string_view key,
                      read_text((*keys)[i], at("cleared") + "[" + std::to_string(i) + "]"));
      changes[std::string(key)] = std::nullopt;
    }
  }
  if (const json::value* set = object.if_contains("set")) {
    PAWL_TRY_ASSIGN(const json::object* values, read_object(*set, at("set")));
    for (const json::key_value_pair& member : *values) {
      changes[std::string(member.key())] = json::serialize(member.value());
    }
  }
  for (auto& [key, value] : changes) {
    checkpoint_.changes.push_back({key, std::move(value)});
  }
  if (const json::value* taken = object.if_contains("taken")) {
    PAWL_TRY_ASSIGN(const json::array* seqs, read_array(*taken, at("taken")));
    for (std::size_t i = 0; i < seqs->size(); ++i) {
      PAWL_TRY_ASSIGN(
          const std::int64_t seq,
          read_integer((*seqs)[i], at("taken") + "[" + std::to_string(i) + "]", 1, kIntegerMax));
      checkpoint_.taken.push_back(static_cast<std::uint64_t>(seq));
    }
  }
  if (const json::value* done = object.if_contains("done")) {
    PAWL_TRY_ASSIGN(checkpoint_.done, read_bool(*done, at("done")));
  }
  if (const json::value* result = object.if_contains("result")) {
    checkpoint_.result = json::serialize(*result);
  }
  entry_.checkpoint = &checkpoint_;
  return {};
}

// A command without a location takes the next whole number of the root branch.
void Importer::supply_location() {
  const bool is_arrival =
      is_operation_outcome(entry_.kind) && !id_.empty() && log_.is_started_operation(id_);
  if (traits_->role == EntryRole::kCommand && !is_arrival && location_.empty()) {
    location_ = "{" + std::to_string(log_.next_whole_number(replay::kRootBranch)) + "}";
  }
  if (is_arrival) {
    location_.clear();
  }
  entry_.location = location_;
}

// A command without an id has the one that the core gives.
Result<void> Importer::supply_id() {
  const bool makes_id = entry_.kind == kTaskScheduled || entry_.kind == kTimerStarted ||
                        entry_.kind == kPromiseCreated || entry_.kind == kOperationStarted ||
                        entry_.kind == kChildWorkflowInitiated || is_operation_outcome(entry_.kind);
  if (id_.empty() && makes_id && !location_.empty()) {
    Result<replay::Location> place = replay::Location::parse(location_);
    if (!place) {
      return bad_field(at("location"), place.error().message);
    }
    id_ = uuid5(defaults_.run_id, place->to_string()).to_string();
  }
  entry_.id = id_;
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
      kind == CommandKind::kSignal ? !location_.empty() : !id_.empty() || !entry_.name.empty();
  if (kind == CommandKind::kNone || is_named) {
    return {};
  }
  const RecordId target = oldest_open(kind);
  if (target == replay::kNoRecord) {
    return bad_field(
        path_, "names no " + std::string(replay::step_name(kind)) + ", and none is open before it");
  }
  if (kind == CommandKind::kSignal) {
    location_ = log_.location(log_[target]).to_string();
    entry_.location = location_;
  } else {
    id_ = log_.id_text(log_[target]);
    entry_.id = id_;
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

json::value payload_to_json(std::string_view payload) {
  if (payload.empty()) {
    return nullptr;
  }
  Result<json::value> value = parse_json(payload);
  return value ? *std::move(value) : json::value(payload);
}

json::object export_entry(const Log& log, RecordId id) {
  Log::EntryTexts texts;
  const Entry entry = log.entry(id, texts);
  const EntryTraits& known = replay::traits(entry.kind);
  const FieldNames& names = field_names(entry.kind);
  const bool is_command = log[id].is_command;
  json::object object;
  object["seq"] = entry.seq;
  object["event"] = known.event;
  object["time"] = entry.time_ms;
  if (is_command || entry.kind == kSignalTimedOut) {
    object["location"] = entry.location;
  }
  if (is_command) {
    object["version"] = entry.version;
    if (!entry.step_key.empty()) {
      object["stepKey"] = entry.step_key;
    }
    if (!entry.source.empty()) {
      object["source"] = entry.source;
    }
    if (entry.checked != 0) {
      object["checked"] = entry.checked;
    }
    if (entry.input_digest != 0) {
      object["inputDigest"] = hex16(entry.input_digest);
    }
  }
  if (entry.kind == kStepRemoved) {
    object["kind"] = replay::step_name(entry.removed);
  }
  if (!names.name.empty() && !(entry.kind == kStepRemoved && entry.name.empty())) {
    object[names.name] = entry.name;
  }
  if (entry.kind == kChildWorkflowInitiated) {
    object["childWorkflowKind"] = entry.child_kind;
  }
  if (!names.id.empty() && !entry.id.empty()) {
    object[names.id] = entry.id;
  }
  if (entry.kind == kTimerStarted || (!names.number.empty() && entry.number != 0)) {
    object[names.number] = entry.number;
  }
  if (!names.payload.empty() && entry.has_payload) {
    object[names.payload] = payload_to_json(entry.payload);
  }
  if (entry.checkpoint != nullptr) {
    const replay::Checkpoint& checkpoint = *entry.checkpoint;
    object["loop"] = entry.location;
    object["iteration"] = checkpoint.iteration;
    object["state"] = payload_to_json(checkpoint.state);
    json::object set;
    json::array cleared;
    for (const replay::StateChange& change : checkpoint.changes) {
      if (change.value) {
        set[change.key] = payload_to_json(*change.value);
      } else {
        cleared.push_back(json::value(change.key));
      }
    }
    object["set"] = std::move(set);
    object["cleared"] = std::move(cleared);
    if (!checkpoint.taken.empty()) {
      json::array taken;
      for (const std::uint64_t seq : checkpoint.taken) {
        taken.push_back(json::value(seq));
      }
      object["taken"] = std::move(taken);
    }
    object["done"] = checkpoint.done;
    if (checkpoint.done && !checkpoint.result.empty()) {
      object["result"] = payload_to_json(checkpoint.result);
    }
  }
  if (!entry.extra.empty()) {
    const json::value extra = payload_to_json(entry.extra);
    if (const json::object* members = extra.if_object()) {
      for (const json::key_value_pair& member : *members) {
        object.insert(json::key_value_pair(member.key(), member.value()));
      }
    }
  }
  return object;
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

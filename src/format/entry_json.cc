#include "format/entry_json.h"

#include <array>
#include <charconv>
#include <limits>
#include <map>
#include <optional>
#include <vector>

#include <boost/json.hpp>

#include "base/check.h"
#include "base/utf8.h"
#include "format/json_reader.h"
#include "format/payload_json.h"

namespace pawl::format {

namespace json = boost::json;

using replay::CommandKind;
using replay::Entry;
using replay::EntryKind;
using replay::EntryRole;
using replay::EntryTraits;

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
    {kTaskCompleted, "taskExecutionId", "taskType", "result", ""},
    {kTaskFailed, "taskExecutionId", "taskType", "error", ""},
    {kTaskCancelled, "taskExecutionId", "taskType", "error", ""},
    {kTimerFired, "timerId", "", "", ""},
    {kTimerCancelled, "timerId", "", "", ""},
    {kPromiseResolved, "promiseId", "", "value", ""},
    {kPromiseRejected, "promiseId", "", "error", ""},
    {kPromiseTimedOut, "promiseId", "", "", ""},
    {kChildWorkflowCompleted, "childExecutionId", "childExecutionName", "output", ""},
    {kChildWorkflowFailed, "childExecutionId", "childExecutionName", "error", ""},
    {kChildWorkflowCancelled, "childExecutionId", "childExecutionName", "error", ""},
    {kSignalReceived, "", "signalName", "data", ""},
    {kSignalTimedOut, "", "signalName", "", ""},
    {kCancellationRequested, "", "", "reason", ""},
    {kLoopCheckpointed, "", "", "", ""},
    {kWorkflowCompleted, "", "", "result", ""},
    {kWorkflowFailed, "", "", "error", ""},
    {kWorkflowCancelled, "", "", "reason", ""},
    {kWorkflowRecurred, "", "", "input", ""},
});

// The keys of all fields of an entry. One that its kind does not use has a `$` before its key:
// whoever drives the core may have set it all the same.
struct Keys {
  explicit Keys(const FieldNames& names) : traits(&replay::traits(names.kind)) {
    const bool is_command = traits->role == EntryRole::kCommand;
    const auto own = [](std::string_view name, std::string_view odd) {
      return std::string(name.empty() ? odd : name);
    };
    const auto of_commands = [&](std::string_view name) {
      return (is_command ? "" : "$") + std::string(name);
    };
    id = own(names.id, "$id");
    name = own(names.name, "$name");
    payload = own(names.payload, "$payload");
    number = own(names.number, "$number");
    location = traits->role == EntryRole::kCheckpoint        ? "loop"
               : is_command || names.kind == kSignalTimedOut ? "location"
                                                             : "$location";
    child_kind = names.kind == kChildWorkflowInitiated ? "childWorkflowKind" : "$childWorkflowKind";
    removed = names.kind == kStepRemoved ? "kind" : "$kind";
    step_key = of_commands("stepKey");
    source = of_commands("source");
    checked = of_commands("checked");
    digest = of_commands("inputDigest");
  }

  bool has(std::string_view key) const {
    return key == id || key == name || key == payload || key == number || key == location ||
           key == child_kind || key == removed || key == step_key || key == source ||
           key == checked || key == digest;
  }

  const EntryTraits* traits;
  std::string id;
  std::string name;
  std::string payload;
  std::string number;
  std::string location;
  std::string child_kind;
  std::string removed;
  std::string step_key;
  std::string source;
  std::string checked;
  std::string digest;
};

const Keys& keys_of(EntryKind kind) {
  static const std::map<EntryKind, Keys> all = [] {
    std::map<EntryKind, Keys> made;
    for (const FieldNames& names : kFieldNames) {
      made.emplace(names.kind, Keys(names));
    }
    return made;
  }();
  const auto found = all.find(kind);
  PAWL_CHECK(found != all.end());
  return found->second;
}

constexpr std::string_view kExtra = "$extra";
constexpr std::string_view kChanges = "$changes";
constexpr auto kCheckpointKeys = std::to_array<std::string_view>(
    {"iteration", "state", "set", "cleared", "taken", "done", "result", kChanges});

bool is_checkpoint_key(std::string_view key) {
  for (const std::string_view own : kCheckpointKeys) {
    if (key == own) {
      return true;
    }
  }
  return false;
}

// What has a meaning in an entry of this kind; anything else is `extra`.
bool is_field(const Keys& keys, std::string_view key) {
  return key == "event" || key == "seq" || key == "time" || key == "version" || key == kExtra ||
         keys.has(key) || (keys.traits->role == EntryRole::kCheckpoint && is_checkpoint_key(key));
}

std::string hex16(std::uint64_t value) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text(16, '0');
  for (std::size_t i = 16; i-- > 0; value >>= 4U) {
    text[i] = kDigits[value & 0xfU];
  }
  return text;
}

bool is_arrival(const Entry& entry) {
  return replay::traits(entry.kind).role == EntryRole::kArrival;
}

void write_text(json::object& object, const std::string& key, std::string_view text) {
  if (!text.empty()) {
    object[key] = text_to_json(text);
  }
}

bool fits_set_and_cleared(const std::vector<replay::StateChange>& changes) {
  for (std::size_t i = 0; i < changes.size(); ++i) {
    if (!is_utf8(changes[i].key) || (i > 0 && changes[i].key <= changes[i - 1].key)) {
      return false;
    }
  }
  return true;
}

void write_changes(json::object& object, const std::vector<replay::StateChange>& changes) {
  json::object set;
  json::array cleared;
  json::array list;
  const bool fits = fits_set_and_cleared(changes);
  for (const replay::StateChange& change : changes) {
    if (!fits) {
      json::object one;
      one["key"] = text_to_json(change.key);
      if (change.value) {
        one["value"] = payload_to_json(*change.value);
      }
      list.push_back(std::move(one));
    } else if (change.value) {
      set[change.key] = payload_to_json(*change.value);
    } else {
      cleared.push_back(json::value(change.key));
    }
  }
  if (fits) {
    object["set"] = std::move(set);
    object["cleared"] = std::move(cleared);
  } else {
    object[kChanges] = std::move(list);
  }
}

void write_checkpoint(json::object& object, const replay::Checkpoint& checkpoint) {
  object["iteration"] = checkpoint.iteration;
  object["state"] = payload_to_json(checkpoint.state);
  write_changes(object, checkpoint.changes);
  if (!checkpoint.taken.empty()) {
    json::array taken;
    for (const std::uint64_t seq : checkpoint.taken) {
      taken.push_back(json::value(seq));
    }
    object["taken"] = std::move(taken);
  }
  object["done"] = checkpoint.done;
  if (!checkpoint.result.empty()) {
    object["result"] = payload_to_json(checkpoint.result);
  }
}

// An object with fields of its own stands among the others. It is written as it was read: extra
// fields are made by json::serialize(), by the engine as by whoever reads this form.
void write_extra(json::object& object, const Keys& keys, std::string_view extra) {
  if (extra.empty()) {
    return;
  }
  const Result<json::value> value = parse_json(extra, kJsonDepthMax / 2);
  const json::object* members = value ? value->if_object() : nullptr;
  bool fits = members != nullptr && !members->empty() && json::serialize(*members) == extra;
  for (std::size_t i = 0; fits && i < members->size(); ++i) {
    fits = !is_field(keys, (members->begin() + i)->key());
  }
  if (!fits) {
    object[kExtra] = extra_to_json(extra);
    return;
  }
  for (const json::key_value_pair& member : *members) {
    object.insert(member);
  }
}

}  // namespace

bool takes_input(EntryKind kind) {
  return replay::traits(kind).role == EntryRole::kCommand && keys_of(kind).payload == "input";
}

json::object entry_to_json(const Entry& entry) {
  const Keys& keys = keys_of(entry.kind);
  const bool is_command = keys.traits->role == EntryRole::kCommand &&
                          !(replay::is_operation_outcome(entry.kind) && entry.location.empty());
  json::object object;
  object["seq"] = entry.seq;
  object["event"] = keys.traits->event;
  object["time"] = entry.time_ms;
  write_text(object, keys.location, entry.location);
  if (is_command || entry.version != 1) {
    object["version"] = entry.version;
  }
  write_text(object, keys.step_key, entry.step_key);
  write_text(object, keys.source, entry.source);
  if (entry.checked != 0) {
    object[keys.checked] = entry.checked;
  }
  if (entry.input_digest != 0 || (entry.has_payload && takes_input(entry.kind))) {
    object[keys.digest] = hex16(entry.input_digest);
  }
  if (entry.removed != CommandKind::kNone) {
    object[keys.removed] = replay::step_name(entry.removed);
  }
  const bool is_odd_name = keys.name[0] == '$';
  if (!entry.name.empty() || !(is_odd_name || is_arrival(entry) || entry.kind == kStepRemoved)) {
    object[keys.name] = text_to_json(entry.name);
  }
  if (!entry.child_kind.empty() || entry.kind == kChildWorkflowInitiated) {
    object[keys.child_kind] = text_to_json(entry.child_kind);
  }
  write_text(object, keys.id, entry.id);
  if (entry.kind == kTimerStarted || entry.number != 0) {
    object[keys.number] = entry.number;
  }
  if (entry.has_payload) {
    object[keys.payload] = payload_to_json(entry.payload);
  }
  if (entry.checkpoint != nullptr && keys.traits->role == EntryRole::kCheckpoint) {
    write_checkpoint(object, *entry.checkpoint);
  }
  write_extra(object, keys, entry.extra);
  return object;
}

// --- Reading -----------------------------------------------------------------------------------

void EntryReader::set_views() {
  entry.location = location_;
  entry.id = id_;
  entry.name = name_;
  entry.child_kind = child_kind_;
  entry.step_key = step_key_;
  entry.source = source_;
  entry.payload = payload_;
  entry.extra = extra_;
}

void EntryReader::set_location(std::string text) {
  location_ = std::move(text);
  set_views();
}

void EntryReader::set_id(std::string text) {
  id_ = std::move(text);
  set_views();
}

void EntryReader::clear(EntryKind kind) {
  entry = {};
  entry.kind = kind;
  for (std::string* text :
       {&location_, &id_, &name_, &child_kind_, &step_key_, &source_, &payload_, &extra_}) {
    text->clear();
  }
  has_seq = false;
  has_time = false;
  has_digest = false;
}

Result<void> EntryReader::read(const json::value& value, const std::string& path) {
  path_ = path;
  PAWL_TRY_ASSIGN(const json::object* object, read_object(value, path_));
  const json::value* event = object->if_contains("event");
  if (event == nullptr) {
    return bad_field(at("event"), "missing");
  }
  PAWL_TRY_ASSIGN(const std::string_view event_name, read_text(*event, at("event")));
  const EntryTraits* traits = replay::find_traits(event_name);
  if (traits == nullptr) {
    return bad_field(at("event"), "there is no event '" + std::string(event_name) + "'");
  }
  clear(traits->kind);
  const Keys& keys = keys_of(traits->kind);
  if (traits->role == EntryRole::kCheckpoint) {
    PAWL_TRY(read_checkpoint(*object));
  }
  json::object extra;
  for (const json::key_value_pair& member : *object) {
    if (is_field(keys, member.key())) {
      PAWL_TRY(read_field(member.key(), member.value()));
    } else {
      extra[member.key()] = member.value();
    }
  }
  if (!extra.empty()) {
    if (object->contains(kExtra)) {
      return bad_field(at(kExtra), "stands beside other fields that are not known");
    }
    extra_ = json::serialize(extra);
  }
  set_views();
  return {};
}

Result<void> EntryReader::read_field(std::string_view key, const json::value& value) {
  const Keys& keys = keys_of(entry.kind);
  std::string* text = nullptr;
  if (key == keys.location) {
    text = &location_;
  } else if (key == keys.id) {
    text = &id_;
  } else if (key == keys.name) {
    text = &name_;
  } else if (key == keys.child_kind) {
    text = &child_kind_;
  } else if (key == keys.step_key) {
    text = &step_key_;
  } else if (key == keys.source) {
    text = &source_;
  }
  if (text != nullptr) {
    PAWL_TRY_ASSIGN(*text, text_from_json(value, at(key)));
    return {};
  }
  if (key == keys.payload) {
    PAWL_TRY_ASSIGN(payload_, payload_from_json(value, at(key)));
    entry.has_payload = true;
    return {};
  }
  if (key == kExtra) {
    PAWL_TRY_ASSIGN(extra_, extra_from_json(value, at(key)));
    return {};
  }
  if (key == keys.removed) {
    PAWL_TRY_ASSIGN(const std::string_view name, read_text(value, at(key)));
    const std::optional<CommandKind> kind = replay::find_step_kind(name);
    if (!kind) {
      return bad_field(at(key), "there is no kind of step '" + std::string(name) + "'");
    }
    entry.removed = *kind;
    return {};
  }
  return read_number(key, value);
}

Result<void> EntryReader::read_number(std::string_view key, const json::value& value) {
  constexpr std::int64_t kVersionMax = std::numeric_limits<std::uint32_t>::max();
  const Keys& keys = keys_of(entry.kind);
  if (key == "seq") {
    PAWL_TRY_ASSIGN(const std::int64_t seq, read_integer(value, at(key), 1, kIntegerMax));
    entry.seq = static_cast<std::uint64_t>(seq);
    has_seq = true;
  } else if (key == "time") {
    PAWL_TRY_ASSIGN(entry.time_ms, read_integer(value, at(key), -kIntegerMax, kIntegerMax));
    has_time = true;
  } else if (key == "version") {
    PAWL_TRY_ASSIGN(const std::int64_t version, read_integer(value, at(key), 1, kVersionMax));
    entry.version = static_cast<std::uint32_t>(version);
  } else if (key == keys.checked) {
    PAWL_TRY_ASSIGN(const std::int64_t checked, read_integer(value, at(key), 1, kVersionMax));
    entry.checked = static_cast<std::uint32_t>(checked);
  } else if (key == keys.number) {
    PAWL_TRY_ASSIGN(entry.number, read_integer(value, at(key), 0, kIntegerMax));
  } else if (key == keys.digest) {
    PAWL_TRY_ASSIGN(const std::string_view text, read_text(value, at(key)));
    const auto [end, error] =
        std::from_chars(text.data(), text.data() + text.size(), entry.input_digest, 16);
    if (text.size() != 16 || error != std::errc() || end != text.data() + text.size()) {
      return bad_field(at(key), "expected 16 hexadecimal digits, got " + describe_json(value));
    }
    has_digest = true;
  }
  return {};
}

Result<void> EntryReader::read_checkpoint(const json::object& object) {
  checkpoint_ = {};
  checkpoint_.state = "null";
  entry.checkpoint = &checkpoint_;
  if (const json::value* iteration = object.if_contains("iteration")) {
    PAWL_TRY_ASSIGN(const std::int64_t number,
                    read_integer(*iteration, at("iteration"), 0, kIntegerMax));
    checkpoint_.iteration = static_cast<std::uint64_t>(number);
  }
  if (const json::value* state = object.if_contains("state")) {
    PAWL_TRY_ASSIGN(checkpoint_.state, payload_from_json(*state, at("state")));
  }
  PAWL_TRY(read_changes(object));
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
    PAWL_TRY_ASSIGN(checkpoint_.result, payload_from_json(*result, at("result")));
  }
  return {};
}

Result<void> EntryReader::read_changes(const json::object& object) {
  std::map<std::string, std::optional<std::string>> changes;
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
      const std::string key(member.key());
      PAWL_TRY_ASSIGN(changes[key], payload_from_json(member.value(), at("set") + "." + key));
    }
  }
  for (auto& [key, value] : changes) {
    checkpoint_.changes.push_back({key, std::move(value)});
  }
  if (const json::value* list = object.if_contains(kChanges)) {
    PAWL_TRY_ASSIGN(const json::array* items, read_array(*list, at(kChanges)));
    for (std::size_t i = 0; i < items->size(); ++i) {
      const std::string path = at(kChanges) + "[" + std::to_string(i) + "]";
      PAWL_TRY_ASSIGN(const json::object* one, read_object((*items)[i], path));
      const json::value* key = one->if_contains("key");
      if (key == nullptr) {
        return bad_field(path + ".key", "missing");
      }
      replay::StateChange& change = checkpoint_.changes.emplace_back();
      PAWL_TRY_ASSIGN(change.key, text_from_json(*key, path + ".key"));
      if (const json::value* value = one->if_contains("value")) {
        PAWL_TRY_ASSIGN(change.value, payload_from_json(*value, path + ".value"));
      }
    }
  }
  return {};
}

}  // namespace pawl::format

#include "view/entry_text.h"

#include <array>
#include <cstdint>
#include <optional>
#include <utility>

#include <boost/json.hpp>

#include "format/json_reader.h"
#include "view/text.h"

namespace pawl::view {

namespace {

namespace json = boost::json;

using replay::CommandKind;
using replay::EntryKind;
using replay::OutcomeKind;
using replay::Record;
using replay::RecordId;

bool has_value(const Record& record) {
  const std::string_view payload = record.payload.view();
  return record.has_payload && !payload.empty() && payload != "null";
}

std::optional<std::uint64_t> number_of(const json::object& object, std::string_view key) {
  const json::value* value = object.if_contains(key);
  if (value == nullptr || (!value->is_int64() && !value->is_uint64())) {
    return std::nullopt;
  }
  return value->is_int64() ? static_cast<std::uint64_t>(value->get_int64()) : value->get_uint64();
}

json::object members_of(std::string_view extra) {
  if (extra.empty()) {
    return {};
  }
  Result<json::value> value = format::parse_json(extra);
  return value && value->is_object() ? std::move(value->get_object()) : json::object();
}

std::string text_of(const json::object& object, std::string_view key) {
  const json::value* value = object.if_contains(key);
  return value != nullptr && value->is_string() ? std::string(value->get_string()) : std::string();
}

void join(std::string& list, const std::string& text) { list += (list.empty() ? "" : ", ") + text; }

}  // namespace

std::string EntryText::name(std::string_view text) const { return line_text(text, chars_max_); }
std::string EntryText::value(std::string_view payload) const {
  return payload_text(payload, chars_max_);
}
std::string EntryText::failure(std::string_view payload) const {
  return failure_text(payload, chars_max_);
}

void EntryText::add_notes(Line& line, const Record& command) const {
  std::string notes;
  if (!log_.coordinate(command).is_whole()) {
    join(notes, "inserted");
  }
  if (command.version != 1 && command.kind != EntryKind::kVersionChecked) {
    join(notes, "version " + std::to_string(command.version));
  }
  if (log_.checked_version(command) != command.version) {
    join(notes, "a version check here says " + std::to_string(log_.checked_version(command)));
  }
  if (!log_.step_key(command).empty()) {
    join(notes, "key " + name(log_.step_key(command)));
  }
  if (command.kind == EntryKind::kChildWorkflowInitiated) {
    join(notes, "kind " + name(log_.child_kind(command)));
  }
  const bool has_timeout =
      command.kind == EntryKind::kSignalAwaited || command.kind == EntryKind::kPromiseCreated;
  if (has_timeout && command.number > 0) {
    join(notes, "at most " + duration_text(command.number));
  }
  if (command.kind == EntryKind::kTimerStarted) {
    line.add(" of " + duration_text(command.number));
  }
  if (!notes.empty()) {
    line.add(" (" + notes + ")");
  }
}

void EntryText::add_source(Line& line, const Record& command) const {
  if (!log_.source(command).empty()) {
    line.add("  " + name(log_.source(command)), Tone::kFaint);
  }
}

bool EntryText::add_immediate(Line& line, RecordId command) const {
  const Record& record = log_[command];
  switch (record.kind) {
    case EntryKind::kBranchOpened:
      return true;
    case EntryKind::kVersionChecked:
      line.add(" says version " + std::to_string(record.version));
      return true;
    case EntryKind::kStepRemoved:
      line.add(" removed from the code");
      return true;
    case EntryKind::kStateSet:
      line.add(" set to ").add_value(value(record.payload.view()));
      return true;
    case EntryKind::kStateCleared:
      line.add(" cleared");
      return true;
    case EntryKind::kTaskCancelRequested:
    case EntryKind::kTimerCancelRequested: {
      const RecordId target = log_.cancel_target(command);
      line.add(target == replay::kNoRecord ? " of what is not in the log"
                                           : " of " + log_.location(log_[target]).to_string());
      return true;
    }
    default:
      return false;
  }
}

void EntryText::add_beginning(Line& line, const Record& command) const {
  switch (command.kind) {
    case EntryKind::kTaskScheduled: {
      const std::string queue = text_of(members_of(log_.extra(command)), "queue");
      line.add(" scheduled" + (queue.empty() ? "" : " on queue " + name(queue)));
      return;
    }
    case EntryKind::kSignalAwaited:
      line.add(" awaited");
      return;
    case EntryKind::kPromiseCreated:
      line.add(" created");
      return;
    case EntryKind::kLoopStarted:
      line.add(" started, state ").add_value(value(command.payload.view()));
      return;
    case EntryKind::kCompensationRegistered:
      line.add(" registered");
      return;
    default:
      line.add(" started");
      return;
  }
}

void EntryText::add_result(Line& line, const Record& record) const {
  line.add(" = ").add_value(value(record.payload.view()));
}

void EntryText::add_outcome(Line& line, CommandKind kind, const Record& done) const {
  switch (replay::traits(done.kind).outcome) {
    case OutcomeKind::kFailed:
      line.add(" failed: ", Tone::kBad).add_value(failure(done.payload.view()), Tone::kBad);
      break;
    case OutcomeKind::kCancelled:
      line.add(" cancelled");
      break;
    case OutcomeKind::kTimedOut:
      line.add(" timed out");
      break;
    case OutcomeKind::kValue:
      if (has_value(done)) {
        add_result(line, done);
      } else {
        line.add(kind == CommandKind::kTimer ? " fired" : " done");
      }
      break;
  }
  const bool is_activity = kind == CommandKind::kTask || kind == CommandKind::kOperation;
  const std::string_view extra = is_activity ? log_.extra(done) : std::string_view();
  if (const auto attempts = number_of(members_of(extra), "attempts"); attempts && *attempts > 1) {
    line.add(" (" + count_text(*attempts, "attempt", "attempts") + ")");
  }
}

void EntryText::add_checkpoint(Line& line, const replay::Checkpoint& checkpoint) const {
  if (checkpoint.done) {
    line.add(", ended with ").add_value(value(checkpoint.result));
  } else {
    line.add(", state ").add_value(value(checkpoint.state));
  }
}

std::string EntryText::changes_text(const replay::Checkpoint& checkpoint) const {
  std::string text;
  for (const replay::StateChange& change : checkpoint.changes) {
    join(text, name(change.key) + (change.value ? " = " + value(*change.value) : " cleared"));
  }
  return text;
}

// The members are those of SignalReceived in docs/formats/scenario.md.
std::string EntryText::attributes_text(const Record& signal) const {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 7> kAttributes = {
      {{"id", "id"},
       {"source", "source"},
       {"subject", "subject"},
       {"eventTime", "time"},
       {"type", "type"},
       {"datacontenttype", "datacontenttype"},
       {"dataschema", "dataschema"}}};
  const json::object members = members_of(log_.extra(signal));
  std::string text;
  for (const auto& [key, title] : kAttributes) {
    const std::string attribute = text_of(members, key);
    if (!attribute.empty() && !(key == "type" && attribute == log_.name(signal))) {
      join(text, std::string(title) + " " + name(attribute));
    }
  }
  const json::value* extensions = members.if_contains("extensions");
  if (extensions != nullptr && extensions->is_object()) {
    for (const json::key_value_pair& extension : extensions->get_object()) {
      const json::value& attribute = extension.value();
      join(text, name(extension.key()) + " " +
                     name(attribute.is_string() ? std::string(attribute.get_string())
                                                : json::serialize(attribute)));
    }
  }
  return text;
}

void EntryText::add_arrival(Line& line, const Record& arrival) const {
  if (arrival.kind == EntryKind::kCancellationRequested) {
    line.add("cancel request", Tone::kBad);
    if (arrival.has_payload) {
      line.add(": ").add_value(failure(arrival.payload.view()));
    }
    return;
  }
  line.add("signal ").add(name(log_.name(arrival)), Tone::kStrong);
  if (has_value(arrival)) {
    add_result(line, arrival);
  }
  if (const std::string attributes = attributes_text(arrival); !attributes.empty()) {
    line.add(" (").add_value(attributes).add(")");
  }
}

void EntryText::add_end(Line& line, const Record& end) const {
  const std::string_view payload = end.payload.view();
  switch (end.kind) {
    case EntryKind::kWorkflowFailed:
      line.add("failed: ", Tone::kBad).add_value(failure(payload), Tone::kBad);
      return;
    case EntryKind::kWorkflowCancelled:
      line.add("cancelled", Tone::kStrong);
      if (has_value(end)) {
        line.add(": ").add_value(failure(payload));
      }
      return;
    case EntryKind::kWorkflowRecurred:
      line.add("recurred", Tone::kGood).add(" with ").add_value(value(payload));
      return;
    default:
      line.add("completed", Tone::kGood);
      if (has_value(end)) {
        add_result(line, end);
      }
      return;
  }
}

std::uint64_t EntryText::attempts_max(const Record& task) const {
  if (log_.extra(task).empty()) {
    return 0;
  }
  const json::object members = members_of(log_.extra(task));
  const json::value* retry = members.if_contains("retry");
  if (retry == nullptr || !retry->is_object()) {
    return 1;
  }
  return number_of(retry->get_object(), "attempts").value_or(0);
}

}  // namespace pawl::view

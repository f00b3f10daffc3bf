#include "cli/json_output.h"

#include <algorithm>
#include <cstdint>

#include "base/utf8.h"
#include "format/json_reader.h"
#include "view/text.h"

namespace pawl::cli {

namespace json = boost::json;

namespace {

constexpr std::size_t kNameCharsMax = 100;

bool is_json_payload(std::string_view payload) {
  return !payload.empty() && payload[0] != '\x01' && payload[0] != '\x02';
}

}  // namespace

std::string as_utf8(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    result += length == 0 ? std::string_view("\xef\xbf\xbd") : text.substr(0, length);
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return result;
}

json::value moment_json(std::int64_t ms) { return ms == store::kNever ? json::value() : ms; }

json::value payload_json(std::string_view payload) {
  if (payload.empty()) {
    return nullptr;
  }
  if (!is_json_payload(payload)) {
    return json::value(view::payload_text(payload, kNameCharsMax));
  }
  Result<json::value> value = format::parse_json(payload);
  return value ? *std::move(value) : json::value(payload);
}

std::string payload_line(std::string_view payload) {
  if (!is_json_payload(payload) || !format::parse_json(payload)) {
    return as_utf8(json::serialize(payload_json(payload)));
  }
  // Control characters that JSON allows, and that would move the cursor of a terminal.
  std::string line;
  for (std::size_t i = 0; i < payload.size(); ++i) {
    const auto byte = static_cast<unsigned char>(payload[i]);
    const auto next = static_cast<unsigned char>(i + 1 < payload.size() ? payload[i + 1] : '\0');
    constexpr std::string_view kDigits = "0123456789abcdef";
    if (byte == 0x7f) {
      line += "\\u007f";
    } else if (byte == 0xc2 && next < 0xa0) {
      line += std::string("\\u00") + kDigits[next >> 4U] + kDigits[next & 0xfU];
      ++i;
    } else {
      line += payload[i];
    }
  }
  return line;
}

std::string_view task_state_name(store::TaskState state) {
  switch (state) {
    case store::TaskState::kReady:
      return "ready";
    case store::TaskState::kDelayed:
      return "delayed";
    case store::TaskState::kRunning:
      return "running";
  }
  return "unknown";
}

std::string_view compensation_state_name(store::CompensationState state) {
  switch (state) {
    case store::CompensationState::kOpen:
      return "open";
    case store::CompensationState::kDone:
      return "done";
    case store::CompensationState::kFailed:
      return "failed";
  }
  return "unknown";
}

std::string_view event_name(std::uint8_t kind) {
  if (kind == store::kRetryOperation) {
    return "RetryOperation";
  }
  const replay::EntryTraits* known = replay::find_traits(static_cast<replay::EntryKind>(kind));
  return known == nullptr ? std::string_view("unknown") : known->event;
}

json::object run_json(const store::RunRow& row) {
  json::object object;
  object["id"] = row.id;
  object["number"] = row.number;
  object["runId"] = row.uuid.to_string();
  object["kind"] = row.kind;
  object["status"] = store::status_name(row.status);
  if (!row.waiting_for.empty()) {
    object["waitingFor"] = row.waiting_for;
  }
  object["isPaused"] = row.is_paused;
  object["startedAt"] = row.created_ms;
  object["changedAt"] = row.changed_ms;
  if (store::is_closed(row.status)) {
    object["endedAt"] = row.changed_ms;
  }
  return object;
}

json::object tags_json(const std::vector<store::Tag>& tags) {
  json::object object;
  for (const store::Tag& tag : tags) {
    object[tag.name] = tag.value;
  }
  return object;
}

json::object task_json(const store::TaskRow& task) {
  json::object object;
  object["id"] = task.id;
  object["run"] = task.run_id;
  object["type"] = task.type;
  object["queue"] = task.queue;
  object["priority"] = task.priority;
  object["state"] = task_state_name(task.state);
  object["attempt"] = task.attempt;
  object["createdAt"] = task.created_ms;
  object["startedAt"] =
      task.state == store::TaskState::kRunning ? json::value(task.started_ms) : json::value();
  object["dueAt"] = moment_json(task.due_ms);
  object["deadlineAt"] = moment_json(task.deadline_ms);
  object["lastError"] = task.last_error.empty() ? json::value() : payload_json(task.last_error);
  object["cancelRequested"] = task.cancel_requested;
  return object;
}

json::object arrival_json(const store::NewArrival& arrival) {
  json::object object;
  object["event"] = event_name(arrival.kind);
  object["name"] = arrival.name;
  object["id"] = arrival.id;
  object["dueAt"] = arrival.due_ms;
  object["payload"] = arrival.has_payload ? payload_json(arrival.payload) : json::value();
  return object;
}

json::object compensation_json(const store::CompensationRow& compensation) {
  json::object object;
  object["name"] = compensation.name;
  object["state"] = compensation_state_name(compensation.state);
  object["attempts"] = compensation.attempt;
  object["dueAt"] = compensation.due_ms;
  object["input"] = compensation.has_input ? payload_json(compensation.input) : json::value();
  object["outcome"] =
      compensation.outcome.empty() ? json::value() : payload_json(compensation.outcome);
  return object;
}

void print_json(Console& console, const json::value& value) {
  console.print(as_utf8(json::serialize(value)) + "\n");
}

}  // namespace pawl::cli

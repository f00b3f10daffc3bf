// The file form of a run, in and out: docs/formats/run.md.
#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include <boost/json.hpp>

#include "format/entry_json.h"
#include "format/json_printer.h"
#include "format/json_reader.h"
#include "format/log_json.h"
#include "format/payload_json.h"
#include "portable/run_document.h"

namespace pawl::portable {

namespace json = boost::json;

namespace {

using format::bad_field;
using store::kNever;

constexpr std::string_view kFormatName = "pawl-run/";
constexpr std::string_view kFormat = "pawl-run/1";
constexpr std::string_view kRetryEvent = "RetryOperation";
constexpr auto kTaskStates = std::to_array<std::string_view>({"ready", "delayed", "running"});
constexpr auto kCompensationStates = std::to_array<std::string_view>({"open", "done", "failed"});

// --- Writing -----------------------------------------------------------------------------------

void write_text(json::object& object, std::string_view key, std::string_view text) {
  if (!text.empty()) {
    object[key] = format::text_to_json(text);
  }
}

void write_payload(json::object& object, std::string_view key, std::string_view payload) {
  if (!payload.empty()) {
    object[key] = format::payload_to_json(payload);
  }
}

void write_number(json::object& object, std::string_view key, std::int64_t number) {
  if (number != 0) {
    object[key] = number;
  }
}

void write_moment(json::object& object, std::string_view key, std::int64_t moment_ms) {
  if (moment_ms != kNever) {
    object[key] = moment_ms;
  }
}

json::object arrival_to_json(const store::StoredArrival& arrival) {
  const replay::EntryTraits* known =
      replay::find_traits(static_cast<replay::EntryKind>(arrival.kind));
  json::object object;
  if (known != nullptr) {
    object["event"] = known->event;
  } else if (arrival.kind == store::kRetryOperation) {
    object["event"] = kRetryEvent;
  } else {
    object["event"] = arrival.kind;  // Refused by whoever reads it.
  }
  object["dueAt"] = arrival.due_ms;
  write_text(object, "id", arrival.id);
  write_text(object, "location", arrival.location);
  write_text(object, "name", arrival.name);
  write_number(object, "attempts", arrival.number);
  if (arrival.has_payload) {
    object["payload"] = format::payload_to_json(arrival.payload);
  }
  if (!arrival.extra.empty()) {
    object["extra"] = format::extra_to_json(arrival.extra);
  }
  if (arrival.is_kept) {
    object["kept"] = true;
  }
  return object;
}

json::object task_to_json(const store::TaskRow& task) {
  json::object object;
  object["id"] = format::text_to_json(task.id);
  object["type"] = format::text_to_json(task.type);
  object["queue"] = format::text_to_json(task.queue);
  object["state"] = kTaskStates[static_cast<std::size_t>(task.state)];
  object["attempt"] = task.attempt;
  write_number(object, "priority", task.priority);
  if (task.has_input) {
    object["input"] = format::payload_to_json(task.input);
  }
  if (!task.options.empty()) {
    object["options"] = format::extra_to_json(task.options);
  }
  write_number(object, "waitMs", task.wait_ms);
  write_number(object, "attemptMs", task.attempt_ms);
  write_number(object, "heartbeatMs", task.heartbeat_ms);
  write_moment(object, "deadlineAt", task.deadline_ms);
  write_moment(object, "dueAt", task.due_ms);
  object["createdAt"] = task.created_ms;
  write_number(object, "startedAt", task.started_ms);
  write_payload(object, "details", task.details);
  write_payload(object, "lastError", task.last_error);
  if (task.cancel_requested) {
    object["cancelRequested"] = true;
  }
  return object;
}

json::object compensation_to_json(const store::CompensationRow& row) {
  json::object object;
  object["position"] = row.position;
  object["name"] = format::text_to_json(row.name);
  if (row.has_input) {
    object["input"] = format::payload_to_json(row.input);
  }
  object["state"] = kCompensationStates[static_cast<std::size_t>(row.state)];
  object["attempts"] = row.attempt;
  write_number(object, "dueAt", row.due_ms);
  write_payload(object, "outcome", row.outcome);
  return object;
}

template <class Rows, class ToJson>
json::array list_of(const Rows& rows, const ToJson& to_json_one) {
  json::array list;
  list.reserve(rows.size());
  for (const auto& row : rows) {
    list.push_back(to_json_one(row));
  }
  return list;
}

json::object to_object(const RunDocument& document) {
  const store::RunImage& image = document.image;
  const store::RunRow& row = image.row;
  json::object object;
  object["format"] = kFormat;
  object["id"] = format::text_to_json(row.id);
  object["number"] = row.number;
  object["runId"] = row.uuid.to_string();
  object["kind"] = format::text_to_json(row.kind);
  object["status"] = store::status_name(row.status);
  if (row.goal != store::RunStatus::kRunning) {
    object["goal"] = store::status_name(row.goal);
  }
  write_text(object, "waitingFor", row.waiting_for);
  write_text(object, "reason", image.reason);
  if (image.blocked_by) {
    object["blockedBy"] = format::text_to_json(*image.blocked_by);
  }
  write_text(object, "needs", image.needs);
  write_text(object, "definition", row.definition);
  if (row.is_approved) {
    object["approved"] = true;
  }
  if (row.is_paused) {
    object["paused"] = true;
  }
  object["startedAt"] = row.created_ms;
  object["changedAt"] = row.changed_ms;
  object["tags"] = list_of(image.tags, [](const store::Tag& tag) {
    return json::object{{"name", format::text_to_json(tag.name)},
                        {"value", format::text_to_json(tag.value)}};
  });
  object["input"] = format::payload_to_json(image.input);
  object["log"] = list_of(document.log, format::entry_to_json);
  object["forgotten"] = list_of(document.forgotten, format::entry_to_json);
  object["inbox"] = list_of(image.inbox, arrival_to_json);
  object["tasks"] = list_of(image.tasks, task_to_json);
  object["promises"] = list_of(image.promises, [](const store::PromiseRow& promise) {
    return json::object{{"name", format::text_to_json(promise.name)},
                        {"resolved", promise.is_resolved}};
  });
  object["compensations"] = list_of(image.compensations, compensation_to_json);
  object["dedupe"] = list_of(image.dedupe, format::text_to_json);
  return object;
}

// --- Reading -----------------------------------------------------------------------------------

// The members of an object, each to be read once; what is left at the end is not known. The first
// error is kept, and nothing is read after it.
class Fields {
 public:
  Fields(const json::value& value, std::string path) : path_(std::move(path)) {
    Result<const json::object*> object = format::read_object(value, path_.empty() ? "run" : path_);
    if (object) {
      object_ = *object;
    } else {
      error_ = std::move(object).error();
    }
  }

  std::string at(std::string_view key) const {
    return path_.empty() ? std::string(key) : path_ + "." + std::string(key);
  }
  bool ok() const { return !error_; }
  void fail(Error error) {
    if (!error_) {
      error_ = std::move(error);
    }
  }

  // Null if it is missing; that is an error if it is `required`.
  const json::value* find(std::string_view key, bool required = false) {
    if (!ok()) {
      return nullptr;
    }
    read_.emplace(key);
    const json::value* value = object_->if_contains(key);
    if (value == nullptr && required) {
      fail(bad_field(at(key), "missing"));
    }
    return value;
  }

  template <class T, class Read>
  bool read(std::string_view key, T& field, bool required, const Read& read_value) {
    const json::value* value = find(key, required);
    if (value == nullptr) {
      return false;
    }
    auto result = read_value(*value, at(key));
    if (!result) {
      fail(std::move(result).error());
      return false;
    }
    field = static_cast<T>(*std::move(result));
    return true;
  }

  bool text(std::string_view key, std::string& field, bool required = false) {
    return read(key, field, required, format::text_from_json);
  }
  bool payload(std::string_view key, std::string& field) {
    return read(key, field, false, format::payload_from_json);
  }
  bool extra(std::string_view key, std::string& field) {
    return read(key, field, false, format::extra_from_json);
  }
  void flag(std::string_view key, bool& field) { read(key, field, false, format::read_bool); }
  template <class Number>
  void number(std::string_view key, Number& field, bool required = false) {
    using Limits = std::numeric_limits<Number>;
    read(key, field, required, [](const json::value& value, const std::string& path) {
      return format::read_integer(value, path, std::int64_t{Limits::min()},
                                  std::int64_t{Limits::max()});
    });
  }
  // Of what has happened. What lists go by would not find others.
  void moment(std::string_view key, std::int64_t& field, bool required = false) {
    read(key, field, required, [](const json::value& value, const std::string& path) {
      return format::read_integer(value, path, 0, kNever - 1);
    });
  }
  // One of `names`, as its place among them.
  template <class Enum, std::size_t Size>
  void choice(std::string_view key, Enum& field, const std::array<std::string_view, Size>& names) {
    read(key, field, true,
         [&](const json::value& value, const std::string& path) -> Result<std::size_t> {
           PAWL_TRY_ASSIGN(const std::string_view text, format::read_text(value, path));
           for (std::size_t i = 0; i < Size; ++i) {
             if (names[i] == text) {
               return i;
             }
           }
           return bad_field(path, "there is no state '" + std::string(text) + "'");
         });
  }
  // Calls `read_one` for each element with its path.
  template <class ReadOne>
  void list(std::string_view key, const ReadOne& read_one) {
    const json::value* value = find(key);
    if (value == nullptr) {
      return;
    }
    const Result<const json::array*> elements = format::read_array(*value, at(key));
    if (!elements) {
      fail(elements.error());
      return;
    }
    for (std::size_t i = 0; ok() && i < (*elements)->size(); ++i) {
      Result<void> done = read_one((**elements)[i], at(key) + "[" + std::to_string(i) + "]");
      if (!done) {
        fail(std::move(done).error());
      }
    }
  }

  Result<void> finish() {
    for (std::size_t i = 0; ok() && i < object_->size(); ++i) {
      const std::string_view key = (object_->begin() + i)->key();
      if (!read_.contains(key)) {
        fail(bad_field(at(key), "there is no such field in " + std::string(kFormat)));
      }
    }
    return ok() ? Result<void>() : Result<void>(*error_);
  }

 private:
  std::string path_;
  const json::object* object_ = nullptr;
  std::set<std::string, std::less<>> read_;
  std::optional<Error> error_;
};

Result<void> read_format(const json::value& root) {
  const json::object* object = root.if_object();
  const json::value* name = object == nullptr ? nullptr : object->if_contains("format");
  if (name == nullptr) {
    return bad_field("format", "missing: this is no run that was exported");
  }
  PAWL_TRY_ASSIGN(const std::string_view text, format::read_text(*name, "format"));
  if (text == kFormat) {
    return {};
  }
  if (text.starts_with(kFormatName)) {
    return bad_field("format", "this is '" + std::string(text) + "', and this program reads '" +
                                   std::string(kFormat) + "': use the one that wrote it");
  }
  return bad_field("format", "expected '" + std::string(kFormat) + "', got '" + std::string(text) +
                                 "': this is no run that was exported");
}

Result<store::RunStatus> read_status(const json::value& value, const std::string& path) {
  PAWL_TRY_ASSIGN(const std::string_view name, format::read_text(value, path));
  const std::optional<store::RunStatus> status = store::find_status(name);
  if (!status) {
    return bad_field(path, "there is no status '" + std::string(name) + "'");
  }
  return *status;
}

Result<Uuid> read_uuid(const json::value& value, const std::string& path) {
  PAWL_TRY_ASSIGN(const std::string_view text, format::read_text(value, path));
  const std::optional<Uuid> uuid = Uuid::parse(text);
  if (!uuid) {
    return bad_field(path, "expected a UUID, got " + format::describe_json(value));
  }
  return *uuid;
}

Result<std::uint8_t> read_event(const json::value& value, const std::string& path) {
  PAWL_TRY_ASSIGN(const std::string_view name, format::read_text(value, path));
  if (name == kRetryEvent) {
    return store::kRetryOperation;
  }
  const replay::EntryTraits* known = replay::find_traits(name);
  if (known == nullptr) {
    return bad_field(path, "there is no event '" + std::string(name) + "'");
  }
  return static_cast<std::uint8_t>(known->kind);
}

Result<void> read_tag(store::RunImage& image, const json::value& value, const std::string& path) {
  store::Tag& tag = image.tags.emplace_back();
  Fields fields(value, path);
  fields.text("name", tag.name, true);
  fields.text("value", tag.value, true);
  return fields.finish();
}

Result<void> read_arrival(store::RunImage& image, const json::value& value,
                          const std::string& path) {
  store::StoredArrival& arrival = image.inbox.emplace_back();
  Fields fields(value, path);
  fields.read("event", arrival.kind, true, read_event);
  fields.number("dueAt", arrival.due_ms, true);
  fields.text("id", arrival.id);
  fields.text("location", arrival.location);
  fields.text("name", arrival.name);
  fields.number("attempts", arrival.number);
  arrival.has_payload = fields.payload("payload", arrival.payload);
  fields.extra("extra", arrival.extra);
  fields.flag("kept", arrival.is_kept);
  return fields.finish();
}

Result<void> read_task(store::RunImage& image, const json::value& value, const std::string& path) {
  store::TaskRow& task = image.tasks.emplace_back();
  Fields fields(value, path);
  fields.text("id", task.id, true);
  fields.text("type", task.type, true);
  fields.text("queue", task.queue, true);
  fields.choice("state", task.state, kTaskStates);
  fields.number("attempt", task.attempt);
  fields.number("priority", task.priority);
  task.has_input = fields.payload("input", task.input);
  fields.extra("options", task.options);
  fields.number("waitMs", task.wait_ms);
  fields.number("attemptMs", task.attempt_ms);
  fields.number("heartbeatMs", task.heartbeat_ms);
  fields.number("deadlineAt", task.deadline_ms);
  fields.number("dueAt", task.due_ms);
  fields.moment("createdAt", task.created_ms);
  fields.moment("startedAt", task.started_ms);
  fields.payload("details", task.details);
  fields.payload("lastError", task.last_error);
  fields.flag("cancelRequested", task.cancel_requested);
  return fields.finish();
}

Result<void> read_promise(store::RunImage& image, const json::value& value,
                          const std::string& path) {
  store::PromiseRow& promise = image.promises.emplace_back();
  Fields fields(value, path);
  fields.text("name", promise.name, true);
  fields.flag("resolved", promise.is_resolved);
  return fields.finish();
}

Result<void> read_compensation(store::RunImage& image, const json::value& value,
                               const std::string& path) {
  store::CompensationRow& row = image.compensations.emplace_back();
  Fields fields(value, path);
  fields.number("position", row.position, true);
  fields.text("name", row.name, true);
  row.has_input = fields.payload("input", row.input);
  fields.choice("state", row.state, kCompensationStates);
  fields.number("attempts", row.attempt);
  fields.number("dueAt", row.due_ms);
  fields.payload("outcome", row.outcome);
  return fields.finish();
}

// The log by way of the core, which supplies what an entry leaves out and gives each of them the
// form in which it writes them itself.
Result<void> read_log(RunDocument& document, const json::value& value) {
  PAWL_TRY_ASSIGN(const json::array* entries, format::read_array(value, "log"));
  const format::LogDefaults defaults{document.image.row.uuid, document.image.row.created_ms};
  PAWL_TRY_ASSIGN(const replay::Log log, format::import_log(*entries, defaults, "log"));
  document.log.reserve(log.size());
  for (replay::RecordId id = 0; id < log.size(); ++id) {
    replay::Log::EntryTexts texts;
    document.log.push_back(document.keeper->keep(log.entry(id, texts)));
  }
  return {};
}

void read_row(Fields& fields, store::RunImage& image) {
  store::RunRow& row = image.row;
  fields.find("format");
  fields.text("id", row.id, true);
  fields.number("number", row.number);
  fields.read("runId", row.uuid, true, read_uuid);
  fields.text("kind", row.kind, true);
  fields.read("status", row.status, true, read_status);
  fields.read("goal", row.goal, false, read_status);
  fields.text("waitingFor", row.waiting_for);
  fields.text("reason", image.reason);
  std::string blocked_by;
  if (fields.text("blockedBy", blocked_by)) {
    image.blocked_by = std::move(blocked_by);
  }
  fields.text("needs", image.needs);
  fields.text("definition", row.definition);
  fields.flag("approved", row.is_approved);
  fields.flag("paused", row.is_paused);
  fields.moment("startedAt", row.created_ms, true);
  fields.moment("changedAt", row.changed_ms);
  if (fields.ok() && row.number == 0) {
    fields.fail(bad_field("number", "runs are counted from 1"));
  }
}

void read_lists(Fields& fields, RunDocument& document) {
  store::RunImage& image = document.image;
  const auto rows_of = [&](auto read_one) {
    return [&image, read_one](const json::value& value, const std::string& path) {
      return read_one(image, value, path);
    };
  };
  fields.list("tags", rows_of(read_tag));
  format::EntryReader reader;
  fields.list("forgotten", [&](const json::value& value, const std::string& path) -> Result<void> {
    PAWL_TRY(reader.read(value, path));
    if (!reader.has_seq) {
      return bad_field(path + ".seq", "missing");
    }
    document.forgotten.push_back(document.keeper->keep(reader.entry));
    return {};
  });
  fields.list("inbox", rows_of(read_arrival));
  fields.list("tasks", rows_of(read_task));
  fields.list("promises", rows_of(read_promise));
  fields.list("compensations", rows_of(read_compensation));
  fields.list("dedupe", [&](const json::value& value, const std::string& path) -> Result<void> {
    PAWL_TRY_ASSIGN(image.dedupe.emplace_back(), format::text_from_json(value, path));
    return {};
  });
}

}  // namespace

std::string to_json(const RunDocument& document) {
  std::string text = "{";
  for (const json::key_value_pair& member : to_object(document)) {
    text += text.size() > 1 ? ",\n  " : "\n  ";
    text += format::print_json(json::value(member.key())) + ": ";
    const json::array* list = member.value().if_array();
    if (list == nullptr || list->empty() || member.key() == "input") {
      text += format::print_json(member.value());
      continue;
    }
    char before = '[';
    for (const json::value& element : *list) {
      text += before;
      text += "\n    " + format::print_json(element);
      before = ',';
    }
    text += "\n  ]";
  }
  return text + "\n}\n";
}

Result<RunDocument> from_json(std::string_view text) {
  PAWL_TRY_ASSIGN(const json::value root, format::parse_json(text));
  PAWL_TRY(read_format(root));
  RunDocument document;
  Fields fields(root, "");
  read_row(fields, document.image);
  fields.payload("input", document.image.input);
  read_lists(fields, document);
  const json::value* log = fields.find("log", true);
  PAWL_TRY(fields.finish());
  PAWL_TRY(read_log(document, *log));
  PAWL_TRY(check_document(document));
  return document;
}

}  // namespace pawl::portable

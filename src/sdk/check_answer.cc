#include "sdk/check_answer.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include <boost/json.hpp>

#include "base/utf8.h"
#include "engine/activity.h"
#include "format/json_reader.h"
#include "format/log_json.h"
#include "format/payload_json.h"
#include "replay/labels.h"
#include "sdk/check.h"
#include "sdk/check_advice.h"
#include "store/rows.h"

namespace pawl::detail {

namespace {

namespace json = boost::json;

// --- Requests ------------------------------------------------------------------------------------

// A run as it was exported, with plain payloads.
struct CheckedRun {
  Subject subject;
  std::string kind;
  store::RunStatus status{};
  bool is_approved = false;
  std::string input;
  replay::Log log;
};

Result<std::string> text_of(const json::object& object, std::string_view key) {
  const json::value* value = object.if_contains(key);
  if (value == nullptr) {
    return format::bad_field(std::string(key), "missing");
  }
  return format::text_from_json(*value, std::string(key));
}

Result<std::int64_t> number_of(const json::object& object, std::string_view key,
                               std::int64_t otherwise, std::int64_t min, std::int64_t max) {
  const json::value* value = object.if_contains(key);
  return value == nullptr ? Result<std::int64_t>(otherwise)
                          : format::read_integer(*value, std::string(key), min, max);
}

// The same log with what payload codecs have written made plain.
Result<replay::Log> plain_log(const replay::Log& log, const PayloadCodecs& codecs) {
  replay::Log plain;
  plain.reserve(log.size());
  for (replay::RecordId id = 0; id < log.size(); ++id) {
    replay::Log::EntryTexts texts;
    replay::Entry entry = log.entry(id, texts);
    PAWL_TRY_ASSIGN(const std::string payload, codecs.decoded(entry.payload));
    entry.payload = payload;
    replay::Checkpoint checkpoint;
    if (entry.checkpoint != nullptr) {
      checkpoint = *entry.checkpoint;
      PAWL_TRY(codecs.decode(checkpoint.state));
      PAWL_TRY(codecs.decode(checkpoint.result));
      for (replay::StateChange& change : checkpoint.changes) {
        if (change.value) {
          PAWL_TRY(codecs.decode(*change.value));
        }
      }
      entry.checkpoint = &checkpoint;
    }
    PAWL_TRY(plain.load(entry));
  }
  return plain;
}

Result<CheckedRun> read_run(const json::object& object, const PayloadCodecs& codecs) {
  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
  CheckedRun run;
  PAWL_TRY_ASSIGN(run.subject.id, text_of(object, "id"));
  PAWL_TRY_ASSIGN(run.kind, text_of(object, "kind"));
  PAWL_TRY_ASSIGN(const std::int64_t number,
                  number_of(object, "number", 1, 1, std::numeric_limits<std::uint32_t>::max()));
  run.subject.number = static_cast<std::uint32_t>(number);
  PAWL_TRY_ASSIGN(const std::string uuid_text, text_of(object, "runId"));
  const std::optional<Uuid> uuid = Uuid::parse_canonical(uuid_text);
  if (!uuid) {
    return format::bad_field("runId", "'" + uuid_text + "' is no uuid");
  }
  run.subject.uuid = *uuid;
  PAWL_TRY_ASSIGN(const std::string status, text_of(object, "status"));
  const std::optional<store::RunStatus> known = store::find_status(status);
  if (!known) {
    return format::bad_field("status", "there is no status '" + status + "'");
  }
  run.status = *known;
  if (object.contains("definition")) {
    PAWL_TRY_ASSIGN(run.subject.definition, text_of(object, "definition"));
  }
  if (const json::value* approved = object.if_contains("approved")) {
    PAWL_TRY_ASSIGN(run.is_approved, format::read_bool(*approved, "approved"));
  }
  PAWL_TRY_ASSIGN(run.subject.started_ms, number_of(object, "startedAt", 0, -kMax, kMax));
  if (const json::value* input = object.if_contains("input")) {
    PAWL_TRY_ASSIGN(run.input, format::payload_from_json(*input, "input"));
    PAWL_TRY(codecs.decode(run.input));
  }
  const json::value* log = object.if_contains("log");
  if (log == nullptr) {
    return format::bad_field("log", "missing");
  }
  PAWL_TRY_ASSIGN(const json::array* entries, format::read_array(*log, "log"));
  PAWL_TRY_ASSIGN(const replay::Log imported,
                  format::import_log(*entries, {run.subject.uuid, run.subject.started_ms}, "log"));
  PAWL_TRY_ASSIGN(run.log, plain_log(imported, codecs));
  return run;
}

// --- Answers -------------------------------------------------------------------------------------

// Names may be no UTF-8, and JSON has to be: U+FFFD stands for each such byte.
std::string as_utf8(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    result += length == 0 ? std::string_view("\xef\xbf\xbd") : text.substr(0, length);
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return result;
}

json::array to_array(const std::vector<std::string>& texts) {
  json::array array;
  for (const std::string& text : texts) {
    array.emplace_back(text);
  }
  return array;
}

json::object to_json(const replay::Violation& violation) {
  json::object object;
  object["code"] = violation.code;
  object["headline"] = violation.headline;
  object["location"] = violation.location;
  object["label"] = violation.label;
  object["expected"] = violation.asked;  // By this code.
  object["got"] = violation.recorded;    // In history.
  object["sourceNow"] = violation.source_now;
  object["sourceThen"] = violation.source_then;
  object["lastAgreed"] = violation.last_agreed;
  object["definitionNow"] = violation.definition_now;
  object["definitionThen"] = violation.definition_then;
  object["report"] = violation.render();
  return object;
}

json::object to_json(const Advice& advice) {
  json::object object;
  object["text"] = advice.text;
  object["code"] = to_array(advice.code);
  object["tried"] = advice.is_tried;
  object["assumes"] = to_array(advice.assumes);
  object["comparedAll"] = advice.compared_all;
  return object;
}

// Errors by which the library says that code and data do not go together. What is recorded as the
// failure of a step is none of this code's.
bool is_misuse(const engine::Failure& failure, const replay::Log& log) {
  if (failure.type != "pawl::PayloadError" && failure.type != "pawl::PayloadTooLarge" &&
      failure.type != "pawl::UsageError") {
    return false;
  }
  for (replay::RecordId id = 0; id < log.loaded_count(); ++id) {
    const replay::Record& record = log[id];
    if (replay::traits(record.kind).outcome == replay::OutcomeKind::kFailed &&
        record.payload.view().find(failure.type) != std::string_view::npos) {
      return false;
    }
  }
  return true;
}

class Answer {
 public:
  explicit Answer(const json::object& request) {
    for (const char* key : {"id", "number", "runId", "kind", "status"}) {
      if (const json::value* value = request.if_contains(key)) {
        object_[key] = *value;
      }
    }
  }

  void set_verdict(std::string_view verdict, std::string why = {}) {
    object_["verdict"] = verdict;
    if (!why.empty()) {
      object_["why"] = std::move(why);
    }
  }
  void warn(std::string_view code, std::string text) {
    json::object warning;
    warning["code"] = code;
    warning["text"] = std::move(text);
    warnings_.push_back(std::move(warning));
  }
  void add_advice(const Advice& advice) { advice_.push_back(to_json(advice)); }
  bool has_advice() const { return !advice_.empty(); }
  json::object& object() { return object_; }
  std::string line(std::string_view type) const {
    json::object line;
    line["type"] = type;
    for (const json::key_value_pair& member : object_) {
      line.insert(member);
    }
    line["warnings"] = warnings_;
    line["advice"] = advice_;
    return as_utf8(json::serialize(line));
  }

 private:
  json::object object_;
  json::array warnings_;
  json::array advice_;
};

// What the run needs besides its code: names of activities that are under way or to come.
std::set<std::string> needed_activities(const CheckedRun& run, const json::object& request) {
  std::set<std::string> names;
  const bool is_compensating = run.status == store::RunStatus::kCompensating;
  const auto add_from = [&](std::string_view list, std::string_view key) {
    const json::value* value = request.if_contains(list);
    for (std::size_t i = 0; value != nullptr && value->is_array() && i < value->get_array().size();
         ++i) {
      const json::value& row = value->get_array()[i];
      const json::object* object = row.if_object();
      const json::value* name = object == nullptr ? nullptr : object->if_contains(key);
      const json::value* state = object == nullptr ? nullptr : object->if_contains("state");
      const bool is_over = state != nullptr && (*state == "done" || *state == "failed");
      if (name != nullptr && name->is_string() && !is_over) {
        names.emplace(name->get_string());
      }
    }
    return value != nullptr;
  };
  const bool knows_compensations = add_from("compensations", "name") && is_compensating;
  for (replay::RecordId id = 0; id < run.log.size(); ++id) {
    const replay::Record& record = run.log[id];
    const bool is_open_task = record.kind == replay::EntryKind::kTaskScheduled &&
                              record.link == replay::kNoRecord && !is_compensating;
    const bool is_compensation =
        record.kind == replay::EntryKind::kCompensationRegistered && !knows_compensations;
    if (is_open_task || is_compensation) {
      names.emplace(run.log.name(record));
    }
  }
  return names;
}

// How it would go on.
void add_outlook(Rehearsal& rehearsal, Answer& answer) {
  replay::Machine& machine = rehearsal.machine();
  answer.object()["added"] = to_array(rehearsal.take_added());
  std::vector<std::string> waiting;
  for (const replay::FutureId future : machine.blocked_on()) {
    waiting.push_back(machine.label_of(future));
  }
  answer.object()["waiting"] = to_array(rehearsal.end() ? std::vector<std::string>() : waiting);
  std::vector<std::string> places;
  for (const replay::Location& place : machine.orphaned()) {
    places.push_back(place.to_string());
  }
  if (!places.empty()) {
    std::string text = "recorded commands that the code has not asked for:";
    for (const std::string& place : places) {
      text += " " + place;
    }
    answer.warn("orphaned", std::move(text));
  }
  answer.object()["orphaned"] = to_array(places);
}

void add_end(Rehearsal& rehearsal, Answer& answer) {
  if (!rehearsal.end()) {
    return;
  }
  const engine::ProgramEnd& end = *rehearsal.end();
  json::object object;
  std::string text;
  switch (end.kind) {
    case replay::EntryKind::kWorkflowCompleted:
      text = "completed";
      break;
    case replay::EntryKind::kWorkflowCancelled:
      text = "cancelled";
      break;
    case replay::EntryKind::kWorkflowRecurred:
      text = "recurred";
      break;
    default:
      text = "failed";
      break;
  }
  object["status"] = text;
  if (end.kind == replay::EntryKind::kWorkflowFailed) {
    const engine::Failure failure = engine::decode_failure(end.payload);
    object["type"] = failure.type;
    object["message"] = failure.message;
    text += ": " + failure.type + ": " + failure.message;
    if (is_misuse(failure, rehearsal.machine().log())) {
      answer.set_verdict("fails",
                         "the code would fail at once: " + failure.type + ": " + failure.message);
    }
  }
  answer.object()["end"] = std::move(object);
  answer.warn("ends", "it would end at once as " + text);
}

void add_changed_inputs(const replay::Machine& machine, Answer& answer) {
  for (const replay::RecordId id : machine.changed_inputs()) {
    const replay::Record& record = machine.log()[id];
    answer.warn("input_changed", "the input of " +
                                     replay::labels_of(machine.log(), record).to_string() +
                                     " is not the recorded one; what was recorded stays");
  }
}

// The error that ended the code where history goes on.
std::optional<engine::Failure> failure_behind(Rehearsal& rehearsal) {
  return rehearsal.violation()->kind == replay::ViolationKind::kLeftover
             ? rehearsal.code().ended_with()
             : std::nullopt;
}

void set_violation(Rehearsal& rehearsal, Answer& answer) {
  if (const std::optional<engine::Failure> failure = failure_behind(rehearsal)) {
    answer.set_verdict(is_misuse(*failure, rehearsal.machine().log()) ? "fails" : "violation",
                       "the code fails where the recorded one went on: " + failure->type + ": " +
                           failure->message);
  } else {
    answer.set_verdict("violation");
  }
  answer.object()["violation"] = to_json(*rehearsal.violation());
  answer.object()["assumes"] = to_array(rehearsal.assumed());
}

// Whether what could not be compared yet would agree, as far as that can be told.
void look_further(Rehearsal& rehearsal, Answer& answer) {
  if (rehearsal.violation() || rehearsal.end() || rehearsal.machine().has_replayed_all()) {
    return;
  }
  rehearsal.go_on(Rehearsal::Assume::kDone);
  if (rehearsal.violation()) {
    set_violation(rehearsal, answer);
    return;
  }
  rehearsal.go_on(Rehearsal::Assume::kSample);
  std::string assumed;
  for (const std::string& each : rehearsal.assumed()) {
    assumed += (assumed.empty() ? "" : ", ") + each;
  }
  answer.object()["assumes"] = to_array(rehearsal.assumed());
  if (rehearsal.violation()) {
    answer.warn("may_disagree", "code and history may disagree later on: if " + assumed +
                                    ", then " + rehearsal.violation()->headline);
  } else if (!rehearsal.machine().has_replayed_all()) {
    answer.warn("not_all_compared", "the code waits before it comes to all that is recorded: " +
                                        std::to_string(rehearsal.replayed_count()) + " of " +
                                        std::to_string(rehearsal.entry_count()) +
                                        " entries were compared");
  } else {
    answer.warn("compared_if", "all that is recorded agrees, if " + assumed);
  }
}

}  // namespace

CheckAnswerer::CheckAnswerer(const Registry& registry, const EngineOptions& options)
    : registry_(registry),
      codecs_(options.payload_codec, options.old_codecs),
      payload_bytes_max_(options.payload_bytes_max) {}

std::string CheckAnswerer::hello() const {
  json::object line;
  line["type"] = "hello";
  line["protocol"] = kCheckProtocol;
  json::object kinds;
  for (const WorkflowEntry& workflow : registry_.workflows()) {
    kinds[workflow.kind] = workflow.options.fingerprint;
  }
  line["kinds"] = std::move(kinds);
  json::array activities;
  for (const ActivityEntry& activity : registry_.activities()) {
    activities.emplace_back(activity.name);
  }
  line["activities"] = std::move(activities);
  return as_utf8(json::serialize(line));
}

std::string CheckAnswerer::answer(std::string_view request, const Early& early) const {
  const Result<json::value> parsed = format::parse_json(request);
  if (!parsed || !parsed->is_object()) {
    Answer answer{json::object()};
    answer.set_verdict("unreadable",
                       parsed ? "the request is no JSON object" : parsed.error().message);
    return answer.line("answer");
  }
  const json::object& object = parsed->get_object();
  Answer answer(object);
  const Result<CheckedRun> read = read_run(object, codecs_);
  if (!read) {
    answer.set_verdict("unreadable", read.error().message);
    return answer.line("answer");
  }
  const CheckedRun& run = *read;
  if (store::is_closed(run.status)) {
    answer.set_verdict("not_checked", "it has ended: its code is not needed any more");
    return answer.line("answer");
  }
  const auto& workflows = registry_.workflows();
  const auto workflow = std::ranges::find(workflows, run.kind, &WorkflowEntry::kind);
  if (workflow == workflows.end()) {
    answer.set_verdict("no_workflow", "this program has no workflow '" + run.kind + "'");
    return answer.line("answer");
  }
  for (const std::string& name : needed_activities(run, object)) {
    if (std::ranges::find(registry_.activities(), name, &ActivityEntry::name) ==
        registry_.activities().end()) {
      answer.warn("no_activity", "this program has no activity '" + name +
                                     "', which the run needs; another one has to have it");
    }
  }
  if (run.status == store::RunStatus::kCompensating) {
    answer.set_verdict("fits", "its code has ended, and only its compensations are needed");
    answer.object()["entries"] = run.log.size();
    answer.object()["replayed"] = 0;
    return answer.line("answer");
  }
  const CheckCase checked{*workflow, run.subject, run.log, run.input, payload_bytes_max_};
  Result<std::unique_ptr<Rehearsal>> created = rehearse(checked);
  if (!created) {
    answer.set_verdict("unreadable", created.error().message);
    return answer.line("answer");
  }
  Rehearsal& rehearsal = **created;
  if (rehearsal.violation()) {
    set_violation(rehearsal, answer);
  } else {
    answer.set_verdict("fits");
    add_outlook(rehearsal, answer);
    add_end(rehearsal, answer);
    look_further(rehearsal, answer);
  }
  answer.object()["replayed"] = rehearsal.replayed_count();
  answer.object()["entries"] = rehearsal.entry_count();
  add_changed_inputs(rehearsal.machine(), answer);
  const std::string& now = workflow->options.fingerprint;
  if (workflow->options.on_change == OnChange::kRefuse && !run.is_approved && !now.empty() &&
      !run.subject.definition.empty() && now != run.subject.definition) {
    answer.warn("refuses",
                "its definition has changed, and this kind refuses to go on under "
                "another one: it will be blocked until somebody resumes it");
  }
  if (!answer.object().contains("violation")) {
    return answer.line("answer");
  }
  Advice from_report;
  from_report.text = rehearsal.violation()->advice;
  if (failure_behind(rehearsal)) {
    from_report.text = "let the code get past the error, with what is recorded";
  }
  if (early) {
    Answer known = answer;
    known.add_advice(from_report);
    early(known.line("early"));
  }
  for (const Advice& advice : find_advice(checked)) {
    answer.add_advice(advice);
  }
  if (!answer.has_advice()) {
    answer.add_advice(from_report);
  }
  return answer.line("answer");
}

}  // namespace pawl::detail

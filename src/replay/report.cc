#include "replay/report.h"

#include "replay/labels.h"

namespace pawl::replay {

namespace {

std::string describe_record(const Log& log, const Record& record) {
  std::string text(traits(record.kind).event);
  const std::string name = record.is_command ? shown_name(log, record) : std::string();
  if (!name.empty()) {
    text += " '" + name + "'";
  }
  if (!log.child_kind(record).empty()) {
    text += " of kind '" + std::string(log.child_kind(record)) + "'";
  }
  if (record.kind == EntryKind::kStepRemoved) {
    text += " of kind " + std::string(step_name(log.command_kind(record)));
  }
  if (record.is_command) {
    text += " v" + std::to_string(record.version) + " as " + labels_of(log, record).to_string();
  }
  return text + ", seq " + std::to_string(record.seq);
}

std::string describe_asked(const Asked& asked) {
  std::string text;
  if (asked.removed) {
    text += "removed ";
  }
  if (asked.kind == CommandKind::kState && !asked.removed) {
    text += asked.clear ? "clear " : "set ";
  }
  text += label_name(asked.kind);
  if (!asked.name.empty()) {
    text += " '" + asked.name + "'";
  }
  if (!asked.child_kind.empty()) {
    text += " of kind '" + asked.child_kind + "'";
  }
  if (!asked.step_key.empty()) {
    text += " with step key '" + asked.step_key + "'";
  }
  return text + " v" + std::to_string(asked.version);
}

std::string advice_for(ViolationKind kind, Matching matching) {
  switch (kind) {
    case ViolationKind::kKind:
    case ViolationKind::kName:
      if (matching != Matching::kStrict) {
        return "restore the recorded step; or give the step a key of its own, .step_key, so that "
               "its "
               "place does not matter";
      }
      return "restore the recorded step; or insert the new one with a higher version, ctx.v(n), "
             "and "
             "leave the recorded one after it; or put ctx.removed(…) in the place of the recorded "
             "one";
    case ViolationKind::kVersion:
      return "the recorded step came with a newer version of the code: deploy that one, or write "
             "the step with ctx.v(n) of the recorded version";
    case ViolationKind::kRemoved:
      return "let removed() name the kind and name of the recorded step, at its place";
    case ViolationKind::kLeftover:
      return "restore the recorded steps, or put ctx.removed(…) in their place";
    case ViolationKind::kEnded:
    case ViolationKind::kOutcome:
      return "this run has ended: replay it with the code that it ended with";
  }
  return "";
}

Violation start(const Log& log, const ReportContext& context, ViolationKind kind) {
  Violation violation;
  violation.kind = kind;
  violation.code = violation_code(kind);
  violation.run_id = context.run_id;
  violation.definition_then = context.definition_then;
  violation.definition_now = context.definition_now;
  violation.advice = advice_for(kind, context.matching);
  if (!context.definition_now.empty() && context.definition_then == context.definition_now) {
    violation.advice =
        "the definition has not changed, so the code is not deterministic: look for clocks, random "
        "numbers, addresses, threads or hash order before this step; or " +
        violation.advice;
  }
  violation.last_agreed = context.last_agreed == kNoRecord
                              ? "nothing: no recorded command was asked for before"
                              : describe_record(log, log[context.last_agreed]);
  return violation;
}

}  // namespace

Violation report_mismatch(const Log& log, const ReportContext& context, const Mismatch& mismatch,
                          const Asked& asked) {
  const Record& found = log[mismatch.found];
  Violation violation = start(log, context, mismatch.kind);
  const Labels labels = labels_at(log, found.branch, log.coordinate(found), asked.kind, asked.name);
  violation.location = labels.location;
  violation.label = labels.to_string();
  violation.headline = mismatch.what + " at " + labels.of_kind + ": expected " + mismatch.expected +
                       ", got " + mismatch.got;
  violation.recorded = describe_record(log, found);
  violation.asked = describe_asked(asked);
  violation.source_now = asked.source;
  violation.source_then = log.source(found);
  violation.found = mismatch.found;
  return violation;
}

Violation report_leftover(const Log& log, const ReportContext& context, BranchId branch,
                          RecordId leftover) {
  const Record& record = log[leftover];
  Violation violation = start(log, context, ViolationKind::kLeftover);
  const Labels labels = labels_of(log, record);
  const std::string where = log.location(branch).to_string();
  const std::string name = shown_name(log, record);
  violation.location = labels.location;
  violation.label = labels.to_string();
  violation.headline = "Commands left over at " + labels.of_kind + ": expected the end of branch " +
                       where + ", got " + std::string(label_name(log.command_kind(record))) +
                       (name.empty() ? "" : " '" + name + "'");
  violation.recorded = describe_record(log, record);
  violation.asked = "nothing more: the code of branch " + where + " has ended";
  violation.found = leftover;
  violation.source_then = log.source(record);
  return violation;
}

Violation report_after_end(const Log& log, const ReportContext& context, BranchId branch,
                           const Coordinate& coordinate, const Asked& asked) {
  Violation violation = start(log, context, ViolationKind::kEnded);
  const Record& end = log[log.end_record()];
  const Labels labels = labels_at(log, branch, coordinate, asked.kind, asked.name);
  violation.location = labels.location;
  violation.label = labels.to_string();
  violation.headline = "Command after the end at " + labels.of_kind + ": expected " +
                       std::string(label_name(asked.kind)) +
                       (asked.name.empty() ? "" : " '" + asked.name + "'") + ", got " +
                       std::string(traits(end.kind).event);
  violation.recorded = describe_record(log, end);
  violation.asked = describe_asked(asked);
  violation.source_now = asked.source;
  return violation;
}

Violation report_outcome(const Log& log, const ReportContext& context, EntryKind end) {
  Violation violation = start(log, context, ViolationKind::kOutcome);
  const Record& recorded = log[log.end_record()];
  violation.location = "{}";
  violation.label = "{} the end of the workflow";
  violation.headline = "Outcome mismatch at the end: expected " + std::string(traits(end).event) +
                       ", got " + std::string(traits(recorded.kind).event);
  violation.recorded = describe_record(log, recorded);
  violation.asked = std::string(traits(end).event);
  return violation;
}

}  // namespace pawl::replay

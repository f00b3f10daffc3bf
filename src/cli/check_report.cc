#include "cli/check_report.h"

#include <algorithm>

#include "view/text.h"

namespace pawl::cli {

namespace {

namespace json = boost::json;

constexpr std::size_t kNoteCharsMax = 200;
constexpr std::size_t kLineCharsMax = 500;
constexpr std::size_t kNameCharsMax = 60;
constexpr std::size_t kRunsShownMax = 5;

// What is not there, or is no text, is empty.
std::string text_in(const json::object& object, std::string_view key) {
  const json::value* value = object.if_contains(key);
  return value != nullptr && value->is_string() ? std::string(value->get_string()) : std::string();
}

std::vector<json::object> objects_in(const json::object& object, std::string_view key) {
  std::vector<json::object> found;
  const json::value* value = object.if_contains(key);
  if (value != nullptr && value->is_array()) {
    for (const json::value& each : value->get_array()) {
      if (each.is_object()) {
        found.push_back(each.get_object());
      }
    }
  }
  return found;
}

std::string list_in(const json::object& object, std::string_view key) {
  std::string text;
  const json::value* value = object.if_contains(key);
  if (value != nullptr && value->is_array()) {
    for (const json::value& each : value->get_array()) {
      if (each.is_string()) {
        text += (text.empty() ? "" : ", ") + std::string(each.get_string());
      }
    }
  }
  return text;
}

bool is_true(const json::object& object, std::string_view key) {
  const json::value* value = object.if_contains(key);
  return value != nullptr && value->is_bool() && value->get_bool();
}

// Each line without control characters, and indented.
std::string lines_of(std::string_view text, std::string_view indent) {
  std::string result;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    result += std::string(indent) + view::line_text(text.substr(0, end), kLineCharsMax) + "\n";
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return result;
}

std::string note_of(const json::object& answer, CheckOutcome outcome) {
  if (outcome == CheckOutcome::kFits) {
    const std::string why = text_in(answer, "why");
    const std::string waiting = list_in(answer, "waiting");
    return !why.empty() ? why : waiting.empty() ? "" : "waits for " + waiting;
  }
  const json::value* violation = answer.if_contains("violation");
  const std::string why = text_in(answer, "why");
  return violation != nullptr && violation->is_object() && why.empty()
             ? text_in(violation->get_object(), "headline")
             : why;
}

// The report of a misfit and what to do about it.
std::string details_of(const json::object& answer) {
  std::string text;
  const std::vector<json::object> advice = objects_in(answer, "advice");
  if (const std::string why = text_in(answer, "why"); !why.empty()) {
    text += lines_of(why, "  ");
  }
  if (const json::value* violation = answer.if_contains("violation");
      violation != nullptr && violation->is_object()) {
    std::string report = text_in(violation->get_object(), "report");
    // What was tried says more than what is always said.
    if (!advice.empty()) {
      report = report.substr(0, report.find("\n  what to do"));
    }
    text += lines_of(report, "  ");
  }
  if (const std::string assumes = list_in(answer, "assumes"); !assumes.empty()) {
    text += lines_of("it comes to that if " + assumes, "  ");
  }
  for (const json::object& each : advice) {
    if (!is_true(each, "tried")) {
      text += lines_of("what to do: " + text_in(each, "text"), "  ");
      continue;
    }
    const bool is_whole = is_true(each, "comparedAll");
    const std::string assumes = list_in(each, "assumes");
    text += lines_of((is_whole ? "to make it fit: " : "to get further: ") + text_in(each, "text"),
                     "  ");
    const std::string tried = is_whole ? "tried: with this the run fits"
                                       : "tried: with this nothing disagrees until the code waits; "
                                         "what is recorded after that was not compared";
    text += lines_of(tried + (assumes.empty() ? "" : ", if " + assumes), "    ");
  }
  return text;
}

// Reports of different runs are the same but for the run's id and what was last agreed on.
std::string group_key(const json::object& answer) {
  std::string key = text_in(answer, "kind") + "\n" + text_in(answer, "why");
  if (const json::value* violation = answer.if_contains("violation");
      violation != nullptr && violation->is_object()) {
    for (const char* field : {"code", "headline", "sourceNow", "sourceThen"}) {
      key += "\n" + text_in(violation->get_object(), field);
    }
  }
  for (const json::object& advice : objects_in(answer, "advice")) {
    key += "\n" + text_in(advice, "text");
  }
  return key;
}

std::string run_name(const CheckedRun& run) {
  return view::line_text(run.id, kNameCharsMax) +
         (run.number > 1 ? " #" + std::to_string(run.number) : "");
}

std::string names_of(const std::vector<std::string>& runs) {
  std::string text;
  for (std::size_t i = 0; i < std::min(runs.size(), kRunsShownMax); ++i) {
    text += (i == 0 ? "" : ", ") + runs[i];
  }
  if (runs.size() > kRunsShownMax) {
    text += " and " + std::to_string(runs.size() - kRunsShownMax) + " more";
  }
  return text;
}

}  // namespace

CheckOutcome outcome_of(const json::object& answer, store::RunStatus status) {
  const std::string verdict = text_in(answer, "verdict");
  if (verdict == "fits") {
    return CheckOutcome::kFits;
  }
  if (verdict == "violation" || verdict == "fails") {
    return CheckOutcome::kMisfit;
  }
  return verdict == "not_checked" && store::is_closed(status) ? CheckOutcome::kEnded
                                                              : CheckOutcome::kUnchecked;
}

void CheckReport::add_to(std::vector<Group>& groups, std::map<std::string, std::size_t>& places,
                         const std::string& key, const std::string& run, const std::string& text) {
  const auto [place, is_new] = places.try_emplace(key, groups.size());
  if (is_new) {
    groups.push_back({text, {}});
  }
  groups[place->second].runs.push_back(run);
}

void CheckReport::add(const CheckedRun& run, const json::object& answer) {
  const CheckOutcome outcome = outcome_of(answer, run.status);
  ++counts_[static_cast<int>(outcome)];
  constexpr std::string_view kChecks[] = {"fits", "does not fit", "not checked", "has ended"};
  const std::string name = run_name(run);
  rows_.push_back({name, view::line_text(run.kind, kNameCharsMax), outcome,
                   std::string(kChecks[static_cast<int>(outcome)]),
                   view::line_text(note_of(answer, outcome), kNoteCharsMax)});
  if (outcome == CheckOutcome::kMisfit) {
    add_to(misfits_, misfit_places_, group_key(answer), name, details_of(answer));
  } else if (outcome == CheckOutcome::kUnchecked && answer.contains("printed")) {
    add_to(misfits_, misfit_places_, run.uuid, name,
           lines_of(text_in(answer, "why"), "  ") + lines_of("it printed:", "  ") +
               lines_of(text_in(answer, "printed"), "  "));
  }
  for (const json::object& warning : objects_in(answer, "warnings")) {
    const std::string text = text_in(warning, "text");
    add_to(warnings_, warning_places_, run.kind + "\n" + text, name, text);
  }
}

std::string CheckReport::details() const {
  std::string text;
  for (const Group& group : misfits_) {
    text += "\n" + names_of(group.runs) + ":\n" + group.text;
  }
  for (const Group& group : warnings_) {
    text += (&group == warnings_.data() ? "\nwarnings:\n" : "") + std::string("  ") +
            names_of(group.runs) + ": " + view::line_text(group.text, kLineCharsMax) + "\n";
  }
  return text;
}

std::string CheckReport::summary() const {
  std::string text = std::to_string(count(CheckOutcome::kFits)) + " fit, " +
                     std::to_string(count(CheckOutcome::kMisfit)) + " do not fit, " +
                     std::to_string(count(CheckOutcome::kUnchecked)) + " could not be checked";
  if (const std::size_t ended = count(CheckOutcome::kEnded); ended > 0) {
    text += "; " + std::to_string(ended) + " had ended";
  }
  return text;
}

json::object CheckReport::summary_json() const {
  json::object object;
  object["fit"] = count(CheckOutcome::kFits);
  object["doNotFit"] = count(CheckOutcome::kMisfit);
  object["notChecked"] = count(CheckOutcome::kUnchecked);
  object["ended"] = count(CheckOutcome::kEnded);
  return object;
}

}  // namespace pawl::cli

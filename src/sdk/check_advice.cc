#include "sdk/check_advice.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "replay/labels.h"

namespace pawl::detail {

namespace {

using replay::CommandKind;
using replay::RecordId;
using replay::ViolationKind;

static_assert(static_cast<int>(Matching::kPerKind) == static_cast<int>(replay::Matching::kPerKind));
static_assert(static_cast<int>(Matching::kByName) == static_cast<int>(replay::Matching::kByName));

constexpr std::size_t kEditsMax = 32;
// For all attempts together: whoever waits for the answer has a limit of his own.
constexpr std::chrono::seconds kTimeMax{2};

bool is_open_record(const replay::Record& record) {
  return record.is_command && !record.forgotten && record.future == 0 && !record.skipped;
}

// History holds such a step further on in the branch.
bool is_recorded_later(const replay::Log& log, RecordId found, const CodeCall& call) {
  const replay::Record& here = log[found];
  for (const RecordId id : log.recorded(here.branch)) {
    const replay::Record& record = log[id];
    if (is_open_record(record) && log.coordinate(here) < log.coordinate(record) &&
        record.kind != replay::EntryKind::kStepRemoved && log.command_kind(record) == call.kind &&
        !log.has_step_key(record) &&
        (call.name.empty() ? replay::shown_name(log, record).empty()
                           : replay::has_name(log, record, call.name))) {
      return true;
    }
  }
  return false;
}

CodeEdit removal_of(const replay::Log& log, RecordId id) {
  const replay::Record& record = log[id];
  CodeEdit edit;
  edit.step = log.command_kind(record);
  edit.step_name = replay::shown_name(log, record);
  edit.removed_key = log.step_key(record);
  edit.step_location = log.location(record).to_string();
  return edit;
}

// What could be changed to get past the disagreement.
std::optional<CodeEdit> next_edit(Rehearsal& rehearsal, replay::Matching matching) {
  const replay::Violation& violation = *rehearsal.violation();
  const replay::Log& log = rehearsal.machine().log();
  const RecordId found = violation.found;
  if (found == replay::kNoRecord) {
    return std::nullopt;
  }
  const replay::Record& record = log[found];
  if (violation.kind == ViolationKind::kLeftover) {
    const replay::BranchId ended = rehearsal.code().ended_branch();
    const CodeCall* opener = rehearsal.code().opener_of(ended);
    const bool is_root = ended == replay::kRootBranch;
    // Where an error has ended the code, nothing was left out.
    if (matching != replay::Matching::kStrict || record.branch != ended ||
        rehearsal.code().ended_with() || (!is_root && opener == nullptr)) {
      return std::nullopt;
    }
    CodeEdit edit = removal_of(log, found);
    edit.what = CodeEdit::What::kRemovedAtEnd;
    edit.at_root = is_root;
    edit.at = is_root ? CodeCall() : *opener;
    return edit;
  }
  const std::optional<CodeCall>& call = rehearsal.code().refused();
  if (!call || log.has_step_key(record) || !call->step_key.empty()) {
    return std::nullopt;
  }
  const bool is_misplaced = violation.kind == ViolationKind::kKind ||
                            violation.kind == ViolationKind::kName ||
                            violation.kind == ViolationKind::kVersion ||
                            (violation.kind == ViolationKind::kRemoved && call->is_removed);
  if (!is_misplaced) {
    return std::nullopt;
  }
  const bool is_later = is_recorded_later(log, found, *call);
  CodeEdit edit;
  if (matching != replay::Matching::kStrict) {
    if (is_later || violation.kind != ViolationKind::kName || call->name.empty()) {
      return std::nullopt;
    }
    edit.what = CodeEdit::What::kWithKey;
    edit.step_key = call->name;
    edit.at = *call;
    return edit;
  }
  const bool is_same = record.kind != replay::EntryKind::kStepRemoved &&
                       log.command_kind(record) == call->kind &&
                       (call->name.empty() || replay::has_name(log, record, call->name)) &&
                       log.child_kind(record) == call->child_kind;
  if (violation.kind == ViolationKind::kVersion && is_same) {
    edit.what = CodeEdit::What::kAtVersion;
    edit.version = record.version;
  } else if (is_later) {
    edit = removal_of(log, found);
    edit.what = CodeEdit::What::kRemovedBefore;
  } else if (!call->is_removed) {
    edit.what = CodeEdit::What::kAtVersion;
    edit.version = record.version + 1;
  } else {
    return std::nullopt;
  }
  edit.at = *call;
  return edit;
}

// A recorded step was passed over, and the code asks for the same one anew: it would be done twice.
bool repeats_steps(Rehearsal& rehearsal) {
  const replay::Machine& machine = rehearsal.machine();
  const replay::Log& log = machine.log();
  for (RecordId id = 0; id < log.loaded_count(); ++id) {
    const replay::Record& gone = log[id];
    if (!gone.is_command || !gone.skipped) {
      continue;
    }
    const std::string name = replay::shown_name(log, gone);
    for (RecordId other = log.loaded_count(); other < log.size(); ++other) {
      const replay::Record& asked = log[other];
      if (asked.is_command && asked.kind != replay::EntryKind::kStepRemoved &&
          asked.branch == gone.branch && log.command_kind(asked) == log.command_kind(gone) &&
          replay::shown_name(log, asked) == name) {
        return true;
      }
    }
    for (const replay::FutureId operation : rehearsal.under_way()) {
      if (log.command_kind(gone) == CommandKind::kOperation &&
          machine.record_of(operation) == replay::kNoRecord &&
          machine.command_name(operation) == name) {
        return true;
      }
    }
  }
  return false;
}

// Edits that make it fit, and the rehearsal that says so.
struct Found {
  std::vector<CodeEdit> edits;
  std::unique_ptr<Rehearsal> rehearsal;
};

std::optional<Found> find_edits(const CheckCase& checked, replay::Matching matching) {
  const auto until = std::chrono::steady_clock::now() + kTimeMax;
  std::vector<CodeEdit> edits;
  while (true) {
    Result<std::unique_ptr<Rehearsal>> rehearsal = rehearse(checked, edits);
    if (!rehearsal) {
      return std::nullopt;
    }
    (*rehearsal)->go_on(Rehearsal::Assume::kSample);
    if (!(*rehearsal)->violation()) {
      return Found{std::move(edits), *std::move(rehearsal)};
    }
    std::optional<CodeEdit> edit = next_edit(**rehearsal, matching);
    const auto is_same = [&](const CodeEdit& other) { return edit->is_same(other); };
    if (!edit || std::ranges::any_of(edits, is_same) || edits.size() == kEditsMax ||
        std::chrono::steady_clock::now() > until) {
      return std::nullopt;
    }
    edits.push_back(*std::move(edit));
  }
}

Advice advice_of(Found& found) {
  Advice advice;
  advice.is_tried = true;
  advice.assumes = found.rehearsal->assumed();
  advice.compared_all = found.rehearsal->machine().has_replayed_all();
  for (const CodeEdit& edit : found.edits) {
    advice.text += (advice.text.empty() ? "" : "; and ") + edit.text();
    advice.code.push_back(edit.code());
  }
  return advice;
}

// The steps are the same, in another order.
std::optional<Advice> try_by_name(const CheckCase& checked) {
  WorkflowEntry by_name = checked.workflow;
  by_name.options.matching = Matching::kByName;
  const CheckCase other{by_name, checked.subject, checked.log, checked.input,
                        checked.payload_bytes_max};
  Result<std::unique_ptr<Rehearsal>> rehearsal = rehearse(other);
  // What is orphaned so far may be left out for good: then it is no matter of order.
  if (!rehearsal || (*rehearsal)->violation() || (*rehearsal)->end() ||
      !(*rehearsal)->machine().orphaned().empty()) {
    return std::nullopt;
  }
  Advice advice;
  advice.is_tried = true;
  advice.compared_all = true;
  advice.code.emplace_back("{.matching = pawl::Matching::kByName}");
  advice.text = "register the workflow with " + advice.code[0] +
                ": then the order of steps with different names does not matter";
  return advice;
}

}  // namespace

Result<std::unique_ptr<Rehearsal>> rehearse(const CheckCase& checked, std::vector<CodeEdit> edits) {
  PAWL_TRY_ASSIGN(replay::Log log, copy_log(checked.log));
  PAWL_TRY_ASSIGN(auto rehearsal,
                  Rehearsal::create(checked.workflow, checked.subject, std::move(log),
                                    checked.input, checked.payload_bytes_max, std::move(edits)));
  rehearsal->run();
  return rehearsal;
}

std::vector<Advice> find_advice(const CheckCase& checked) {
  std::vector<Advice> advice;
  const auto matching = static_cast<replay::Matching>(checked.workflow.options.matching);
  std::optional<Found> found = find_edits(checked, matching);
  const bool is_order = found && repeats_steps(*found->rehearsal);
  if (is_order) {
    // Versions would let it through, and have a step done twice.
    Advice restore;
    restore.text =
        "history has the same steps in another order: write them in the recorded one again";
    advice.push_back(std::move(restore));
  } else if (found && !found->edits.empty()) {
    advice.push_back(advice_of(*found));
  }
  if (is_order || (!found && matching != replay::Matching::kByName)) {
    if (std::optional<Advice> by_name = try_by_name(checked)) {
      advice.push_back(*std::move(by_name));
    }
  }
  return advice;
}

}  // namespace pawl::detail

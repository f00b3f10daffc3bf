#include "sdk/code_edit.h"

#include <utility>

namespace pawl::detail {

namespace {

std::string quoted(std::string_view text) { return "\"" + std::string(text) + "\""; }

std::string_view step_kind_name(replay::CommandKind kind) {
  switch (kind) {
    case replay::CommandKind::kTask:
      return "kTask";
    case replay::CommandKind::kOperation:
      return "kOperation";
    case replay::CommandKind::kTimer:
      return "kTimer";
    case replay::CommandKind::kPromise:
      return "kPromise";
    case replay::CommandKind::kChildWorkflow:
      return "kChild";
    case replay::CommandKind::kState:
      return "kState";
    case replay::CommandKind::kSignal:
      return "kSignal";
    case replay::CommandKind::kBranch:
      return "kBranch";
    case replay::CommandKind::kLoop:
      return "kLoop";
    case replay::CommandKind::kVersionCheck:
      return "kVersionCheck";
    case replay::CommandKind::kCompensation:
      return "kCompensation";
    case replay::CommandKind::kCancelTask:
      return "kCancelTask";
    case replay::CommandKind::kCancelTimer:
      return "kCancelTimer";
    case replay::CommandKind::kNone:
      break;
  }
  return "kNone";
}

// `ctx.removed(pawl::StepKind::kTask, "charge")`.
std::string removed_code(const CodeEdit& edit) {
  std::string text = "ctx.removed(pawl::StepKind::" + std::string(step_kind_name(edit.step));
  if (!edit.step_name.empty() || !edit.removed_key.empty()) {
    text += ", " + quoted(edit.step_name);
  }
  if (!edit.removed_key.empty()) {
    text += ", {.step_key = " + quoted(edit.removed_key) + "}";
  }
  return text + ")";
}

// `run("audit", …)` by way of `context`.
std::string call_code(const CodeCall& call, const std::string& context) {
  if (call.call == "saga.add") {
    return "pawl::Saga(" + context + ").add(" + quoted(call.name) + ", …)";
  }
  std::string arguments = "…";
  if (call.call == "child") {
    arguments = quoted(call.child_kind) + ", " + quoted(call.name) + ", …";
  } else if (call.call != "send" && call.call != "cancel" && !call.name.empty() &&
             call.kind != replay::CommandKind::kTimer) {
    arguments = quoted(call.name) + (call.call == "clear" ? "" : ", …");
  }
  const bool is_sleep = call.kind == replay::CommandKind::kTimer && call.name.empty();
  return context + "." + (is_sleep ? "sleep" : call.call) + "(" + arguments + ")";
}

std::string at_line(const std::string& source) { return source.empty() ? "" : " at " + source; }

CodeCall call_of(const replay::CommandRequest& command, const Request& request) {
  CodeCall call;
  call.call = request.call;
  call.kind = command.kind;
  call.name = command.name;
  call.child_kind = command.child_kind;
  call.step_key = command.step_key;
  call.source = command.source;
  call.branch = command.branch;
  call.version = command.version;
  return call;
}

}  // namespace

bool CodeCall::is_same_line(const CodeCall& other) const {
  return kind == other.kind && name == other.name && source == other.source &&
         is_removed == other.is_removed && (!source.empty() || branch == other.branch);
}

bool CodeEdit::is_same(const CodeEdit& other) const {
  return what == other.what && at_root == other.at_root && at.is_same_line(other.at) &&
         version == other.version && step == other.step && step_name == other.step_name &&
         removed_key == other.removed_key;
}

std::string CodeEdit::code() const {
  switch (what) {
    case What::kAtVersion:
      return call_code(at, "ctx.v(" + std::to_string(version) + ")");
    case What::kRemovedBefore:
    case What::kRemovedAtEnd:
      return removed_code(*this);
    case What::kWithKey:
      return call_code(at, "ctx") + " with {.step_key = " + quoted(step_key) + "}";
  }
  return "";
}

std::string CodeEdit::text() const {
  switch (what) {
    case What::kAtVersion:
      return "write " + code() + at_line(at.source);
    case What::kRemovedBefore:
      return "put " + code() + " before the call" + at_line(at.source);
    case What::kRemovedAtEnd:
      return "put " + code() +
             (at_root ? " at the end of the workflow"
                      : " at the end of what the " + at.call + at_line(at.source) + " runs");
    case What::kWithKey:
      return "give the new step a key: " + code() + at_line(at.source);
  }
  return "";
}

Result<void> Rehearsed::remove(replay::Machine& machine, replay::BranchId branch,
                               const CodeEdit& edit, std::string_view source) const {
  replay::CommandRequest step;
  step.kind = edit.step;
  step.branch = branch;
  step.name = edit.step_name;
  step.step_key = edit.removed_key;
  step.source = source;
  return machine.removed(step);
}

void Rehearsed::note_refusal(const Error& error, CodeCall call) {
  if (error.code == ErrorCode::kDeterminismViolation && !refused_) {
    refused_ = std::move(call);
  }
}

Result<replay::Opened> Rehearsed::open(replay::Machine& machine,
                                       const replay::CommandRequest& command,
                                       const Request& request) {
  CodeCall call = call_of(command, request);
  replay::CommandRequest changed = command;
  for (const CodeEdit& edit : edits_) {
    if (edit.what == CodeEdit::What::kRemovedAtEnd || !edit.at.is_same_line(call)) {
      continue;
    }
    if (edit.what == CodeEdit::What::kRemovedBefore) {
      if (Result<void> done = remove(machine, command.branch, edit, command.source); !done) {
        note_refusal(done.error(), call);
        return done.error();
      }
    } else if (edit.what == CodeEdit::What::kAtVersion) {
      changed.version = edit.version;
    } else {
      changed.step_key = edit.step_key;
    }
  }
  Result<replay::Opened> opened = machine.open(changed);
  if (!opened) {
    call.version = changed.version;
    note_refusal(opened.error(), std::move(call));
    return opened;
  }
  if (opened->future != 0) {
    samples_[opened->future] = request.sample;
  }
  if (opened->branch != replay::kNoBranch) {
    openers_[opened->branch] = std::move(call);
  }
  return opened;
}

Result<void> Rehearsed::removed(replay::Machine& machine, const replay::CommandRequest& command,
                                const Request& request) {
  CodeCall call = call_of(command, request);
  call.is_removed = true;
  for (const CodeEdit& edit : edits_) {
    if (edit.what == CodeEdit::What::kRemovedBefore && edit.at.is_same_line(call)) {
      if (Result<void> done = remove(machine, command.branch, edit, command.source); !done) {
        note_refusal(done.error(), call);
        return done;
      }
    }
  }
  Result<void> done = machine.removed(command);
  if (!done) {
    note_refusal(done.error(), std::move(call));
  }
  return done;
}

void Rehearsed::entered(replay::BranchId loop, replay::BranchId iteration) {
  iterations_[loop] = iteration;
  if (const auto opener = openers_.find(loop); opener != openers_.end()) {
    openers_[iteration] = opener->second;
  }
}

Result<void> Rehearsed::before_end(replay::Machine& machine, replay::BranchId branch,
                                   const engine::Failure* failure) {
  if (machine.violation()) {
    return {};  // What ends now ends because of it.
  }
  ended_ = branch;
  ended_with_ = failure == nullptr ? std::nullopt : std::optional(*failure);
  const CodeCall* opener = opener_of(branch);
  for (const CodeEdit& edit : edits_) {
    const bool is_here = edit.what == CodeEdit::What::kRemovedAtEnd &&
                         (edit.at_root ? branch == replay::kRootBranch
                                       : opener != nullptr && edit.at.is_same_line(*opener));
    if (is_here) {
      PAWL_TRY(remove(machine, branch, edit, ""));
    }
  }
  return {};
}

Result<void> Rehearsed::before_iteration_end(replay::Machine& machine, replay::BranchId loop) {
  const auto iteration = iterations_.find(loop);
  if (iteration == iterations_.end()) {
    return {};
  }
  const replay::BranchId branch = iteration->second;
  iterations_.erase(iteration);
  return before_end(machine, branch, nullptr);
}

Sample Rehearsed::sample_of(replay::FutureId future) const {
  const auto found = samples_.find(future);
  return found == samples_.end() ? Sample() : found->second;
}

const CodeCall* Rehearsed::opener_of(replay::BranchId branch) const {
  const auto found = openers_.find(branch);
  return found == openers_.end() ? nullptr : &found->second;
}

}  // namespace pawl::detail

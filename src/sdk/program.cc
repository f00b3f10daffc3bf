#include "sdk/program.h"

#include <utility>

#include "pawl/errors.hpp"
#include "sdk/activity_body.h"

namespace pawl::detail {

CoroutineProgram::CoroutineProgram(engine::RunHost& host, Factory create, std::string_view input,
                                   std::shared_ptr<const Settings> settings)
    : create_(std::move(create)), input_(input), run_(new Run(&host, std::move(settings))) {}

CoroutineProgram::~CoroutineProgram() {
  run_.get()->close();
  // Destructors of the workflow's locals run now.
  const Run::Executing executing(run_.get());
  root_.reset();
}

void CoroutineProgram::start() {
  const Run::Executing executing(run_.get());
  try {
    root_ = create_(Context(run_, replay::kRootBranch, false), input_);
  } catch (...) {
    error_ = std::current_exception();
    return;
  }
  input_ = {};
  root_->start();
  run_.get()->run_ready();
}

void CoroutineProgram::resume(const replay::AwaitStatus& over) {
  const Run::Executing executing(run_.get());
  run_.get()->resume(over);
}

std::optional<engine::ProgramEnd> CoroutineProgram::end() {
  if (!end_ && (error_ || (root_ && root_->is_done()))) {
    end_ = read_end();
  }
  return end_;
}

engine::ProgramEnd CoroutineProgram::read_end() {
  const Run::Executing executing(run_.get());
  Run& run = *run_.get();
  engine::ProgramEnd end;
  if (const std::optional<std::string>& next = run.next_input()) {
    end.kind = replay::EntryKind::kWorkflowRecurred;
    end.payload = *next;
    return end;
  }
  try {
    if (error_) {
      std::rethrow_exception(error_);
    }
    end.kind = replay::EntryKind::kWorkflowCompleted;
    end.payload = root_->take();
    run.check_size("result of workflow '" + run.host().kind() + "'", end.payload.size());
  } catch (const Cancelled& cancelled) {
    end.kind = replay::EntryKind::kWorkflowCancelled;
    end.payload = run.machine().cancel_requested()
                      ? std::string(run.machine().cancel_reason())
                      : encode(cancelled.reason(), [] { return "reason"; });
  } catch (...) {
    end.kind = replay::EntryKind::kWorkflowFailed;
    end.payload = engine::encode_failure(current_failure());
  }
  return end;
}

std::size_t CoroutineProgram::memory_bytes() const {
  return sizeof(*this) + input_.size() + run_.get()->memory_bytes();
}

engine::Definition make_definition(const WorkflowEntry& entry,
                                   std::shared_ptr<const Settings> settings) {
  engine::Definition definition;
  definition.kind = entry.kind;
  switch (entry.options.matching) {
    case Matching::kStrict:
      definition.matching = replay::Matching::kStrict;
      break;
    case Matching::kPerKind:
      definition.matching = replay::Matching::kPerKind;
      break;
    case Matching::kByName:
      definition.matching = replay::Matching::kByName;
      break;
  }
  definition.fingerprint = entry.options.fingerprint;
  definition.on_change = entry.options.on_change == OnChange::kVerify ? engine::OnChange::kVerify
                                                                      : engine::OnChange::kRefuse;
  definition.create = [create = entry.create, settings = std::move(settings)](
                          engine::RunHost& host,
                          std::string_view input) -> std::unique_ptr<engine::Program> {
    return std::make_unique<CoroutineProgram>(host, create, input, settings);
  };
  return definition;
}

engine::ActivityType make_activity_type(const ActivityEntry& entry, const Settings& settings) {
  const auto fake = settings.fakes.find(entry.name);
  engine::ActivityType type;
  type.name = entry.name;
  type.body = activity_body(fake == settings.fakes.end() ? entry.function : fake->second,
                            settings.payload_bytes_max);
  type.compensation_retry = policy_of(entry.options.compensation_retry);
  return type;
}

}  // namespace pawl::detail

namespace pawl {

void Registry::add(detail::WorkflowEntry entry) {
  if (entry.kind.empty()) {
    throw UsageError("registry: a workflow needs a name");
  }
  for (const detail::WorkflowEntry& other : workflows_) {
    if (other.kind == entry.kind) {
      throw UsageError("registry: there is a workflow '" + entry.kind + "' already");
    }
  }
  workflows_.push_back(std::move(entry));
}

void Registry::add(detail::ActivityEntry entry) {
  if (entry.name.empty()) {
    throw UsageError("registry: an activity needs a name");
  }
  for (const detail::ActivityEntry& other : activities_) {
    if (other.name == entry.name) {
      throw UsageError("registry: there is an activity '" + entry.name + "' already");
    }
  }
  activities_.push_back(std::move(entry));
}

}  // namespace pawl

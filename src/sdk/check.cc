#include "sdk/check.h"

#include <algorithm>
#include <utility>

#include "replay/labels.h"
#include "sdk/program.h"

namespace pawl::detail {

namespace {

// Of steps whose end is assumed, one after the other: code that never stops asking has its limit.
constexpr std::size_t kAssumedMax = 1000;

// Somebody decides whether it comes.
bool is_from_outside(replay::CommandKind kind) {
  return kind == replay::CommandKind::kSignal || kind == replay::CommandKind::kPromise;
}

std::string_view end_text(replay::CommandKind kind) {
  switch (kind) {
    case replay::CommandKind::kTimer:
      return " fires";
    case replay::CommandKind::kSignal:
      return " comes";
    case replay::CommandKind::kPromise:
      return " is resolved";
    default:
      return " succeeds";
  }
}

// Of a command that has a sample, and is no operation.
replay::EntryKind arrival_kind(replay::CommandKind kind) {
  switch (kind) {
    case replay::CommandKind::kTimer:
      return replay::EntryKind::kTimerFired;
    case replay::CommandKind::kTask:
      return replay::EntryKind::kTaskCompleted;
    case replay::CommandKind::kSignal:
      return replay::EntryKind::kSignalReceived;
    case replay::CommandKind::kPromise:
      return replay::EntryKind::kPromiseResolved;
    default:
      return replay::EntryKind::kChildWorkflowCompleted;
  }
}

}  // namespace

// Executes nothing: what was under way still is.
class Rehearsal::Host final : public engine::RunHost {
 public:
  Host(replay::Machine* machine, const Subject& subject, std::string kind) {
    machine_ = machine;
    id_ = subject.id;
    number_ = subject.number;
    kind_ = std::move(kind);
    uuid_ = subject.uuid;
  }
  void execute(replay::FutureId operation, engine::ActivityBody /*body*/,
               engine::RetryPolicy /*retry*/, std::int64_t /*timeout_ms*/) override {
    under_way.push_back(operation);
  }
  void transact(replay::FutureId operation, TransactBody /*body*/,
                engine::RetryPolicy /*retry*/) override {
    under_way.push_back(operation);
  }
  void send(replay::FutureId operation, std::string /*run_id*/, std::string /*signal*/,
            std::string /*payload*/, std::string /*extra*/, std::string /*dedupe*/) override {
    under_way.push_back(operation);
  }

  std::vector<replay::FutureId> under_way;
};

Result<std::unique_ptr<Rehearsal>> Rehearsal::create(const WorkflowEntry& workflow,
                                                     const Subject& subject, replay::Log log,
                                                     std::string_view input,
                                                     std::size_t payload_bytes_max,
                                                     std::vector<CodeEdit> edits) {
  std::unique_ptr<Rehearsal> rehearsal(new Rehearsal);
  rehearsal->probe_ = std::make_unique<Rehearsed>(std::move(edits));
  auto settings = std::make_shared<Settings>();
  settings->payload_bytes_max = payload_bytes_max;
  settings->probe = rehearsal->probe_.get();
  const engine::Definition definition = make_definition(workflow, std::move(settings));
  replay::RunInfo info;
  info.run_id = subject.uuid;
  info.started_at_ms = subject.started_ms;
  info.matching = definition.matching;
  info.definition_then = subject.definition;
  info.definition_now = definition.fingerprint;
  PAWL_TRY_ASSIGN(rehearsal->machine_, replay::Machine::create(std::move(info), std::move(log)));
  rehearsal->host_ = std::make_unique<Host>(rehearsal->machine_.get(), subject, definition.kind);
  rehearsal->program_ = definition.create(*rehearsal->host_, input);
  return rehearsal;
}

Rehearsal::~Rehearsal() { program_.reset(); }

void Rehearsal::run() {
  program_->start();
  drive();
}

void Rehearsal::drive() {
  while (!machine_->violation() && !end_) {
    if (std::optional<engine::ProgramEnd> end = program_->end()) {
      const bool has_failed = end->kind == replay::EntryKind::kWorkflowFailed;
      const engine::Failure failure =
          has_failed ? engine::decode_failure(end->payload) : engine::Failure();
      if (!probe_->before_end(*machine_, replay::kRootBranch, has_failed ? &failure : nullptr)) {
        return;
      }
      if (machine_->finish(end->kind, end->payload)) {
        end_ = std::move(end);
      }
      return;
    }
    const auto delivery = machine_->next_delivery();
    if (!delivery || !*delivery) {
      return;
    }
    const replay::Log& log = machine_->log();
    const replay::RecordId record = log.find_seq((*delivery)->seq);
    if (record != replay::kNoRecord && record < log.loaded_count() && !log[record].is_command) {
      ++told_;
    }
    const std::vector<replay::AwaitStatus> woken = machine_->woken();
    for (const replay::AwaitStatus& over : woken) {
      program_->resume(over);
    }
  }
}

// --- Assumptions ---------------------------------------------------------------------------------

bool Rehearsal::is_new(replay::FutureId future) const {
  return machine_->record_of(future) >= machine_->log().loaded_count();
}

void Rehearsal::go_on(Assume assume) {
  while (!machine_->violation() && !end_ && !machine_->has_replayed_all() &&
         assumed_.size() < kAssumedMax && assume_one(assume)) {
    drive();
  }
}

bool Rehearsal::assume_one(Assume assume) {
  const std::vector<replay::FutureId> blocked = machine_->blocked_on();
  // What is recorded and open may come before a timer fires.
  const bool may_fire =
      std::ranges::all_of(blocked, [this](replay::FutureId future) { return is_new(future); });
  replay::FutureId chosen = 0;
  for (const replay::FutureId future : blocked) {
    const Sample sample = probe_->sample_of(future);
    const replay::CommandKind kind = machine_->kind_of(future);
    const bool is_certain = sample.is_nothing && !is_from_outside(kind) &&
                            (may_fire || kind != replay::CommandKind::kTimer);
    if (!is_new(future) || sample.make == nullptr || (assume == Assume::kDone && !is_certain)) {
      continue;
    }
    // A timer is often there for what takes too long.
    if (chosen == 0 || (machine_->kind_of(chosen) == replay::CommandKind::kTimer &&
                        kind != replay::CommandKind::kTimer)) {
      chosen = future;
    }
  }
  if (chosen == 0) {
    return false;
  }
  const Sample sample = probe_->sample_of(chosen);
  std::string payload;
  try {
    payload = sample.make();
  } catch (...) {
    return false;  // The type has no value that could be made up.
  }
  const replay::CommandKind kind = machine_->kind_of(chosen);
  assumed_.push_back(machine_->label_of(chosen) + std::string(end_text(kind)) +
                     (sample.is_nothing ? "" : " with " + payload));
  if (kind == replay::CommandKind::kOperation) {
    return static_cast<bool>(
        machine_->complete_operation(chosen, replay::OutcomeKind::kValue, payload));
  }
  const std::string id = machine_->command_id(chosen);
  replay::Entry arrival;
  arrival.kind = arrival_kind(kind);
  if (kind == replay::CommandKind::kSignal) {
    arrival.name = machine_->command_name(chosen);
  } else {
    arrival.id = id;
  }
  arrival.has_payload = kind != replay::CommandKind::kTimer;
  arrival.payload = arrival.has_payload ? std::string_view(payload) : std::string_view();
  const Result<bool> taken = machine_->arrive(arrival);
  return taken && *taken;
}

// --- What came of it -----------------------------------------------------------------------------

const std::vector<replay::FutureId>& Rehearsal::under_way() const { return host_->under_way; }

std::size_t Rehearsal::replayed_count() const {
  const replay::Log& log = machine_->log();
  std::size_t count = told_;
  for (replay::RecordId id = 0; id < log.loaded_count(); ++id) {
    const replay::Record& record = log[id];
    count +=
        record.is_command && !record.forgotten && (record.future != 0 || record.skipped) ? 1 : 0;
  }
  return count;
}

std::size_t Rehearsal::entry_count() const {
  const replay::Log& log = machine_->log();
  std::size_t count = 0;
  for (replay::RecordId id = 0; id < log.loaded_count(); ++id) {
    count += log[id].forgotten ? 0 : 1;
  }
  return count;
}

std::vector<std::string> Rehearsal::take_added() {
  std::vector<std::string> added;
  const replay::Batch batch = machine_->take_new();
  const replay::Log& log = machine_->log();
  for (replay::RecordId id = batch.first; id < batch.last; ++id) {
    if (log[id].is_command) {
      added.push_back(replay::labels_of(log, log[id]).to_string());
    }
  }
  for (const replay::FutureId operation : host_->under_way) {
    if (machine_->record_of(operation) == replay::kNoRecord) {
      added.push_back(machine_->label_of(operation));
    }
  }
  return added;
}

Result<replay::Log> copy_log(const replay::Log& log) {
  replay::Log copy;
  copy.reserve(log.size());
  for (replay::RecordId id = 0; id < log.size(); ++id) {
    replay::Log::EntryTexts texts;
    PAWL_TRY(copy.load(log.entry(id, texts)));
  }
  return copy;
}

}  // namespace pawl::detail

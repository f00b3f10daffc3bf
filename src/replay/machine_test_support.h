// What the machine's tests share: a store that does what the machine says, and entries as text.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/result.h"
#include "replay/machine.h"

namespace pawl::replay {

// One line: "4 TaskCompleted for {1} = 7".
inline std::string show(const Log& log, RecordId id) {
  Log::EntryTexts texts;
  const Record& record = log[id];
  const Entry entry = log.entry(id, texts);
  std::string text = std::to_string(entry.seq) + " " + std::string(traits(entry.kind).event);
  if (record.is_command) {
    text += " " + texts.location;
  } else if (record.link != kNoRecord) {
    text += " for " + log.location(log[record.link]).to_string();
  }
  const bool is_named = record.is_command || entry.kind == EntryKind::kSignalReceived;
  if (is_named && !entry.name.empty()) {
    text += " " + std::string(entry.name);
  } else if (is_named && !entry.id.empty() && !record.id_is_binary) {
    text += " " + texts.id;
  }
  if (entry.version != 1) {
    text += " v" + std::to_string(entry.version);
  }
  if (!entry.step_key.empty()) {
    text += " key " + std::string(entry.step_key);
  }
  if (entry.has_payload) {
    text += " = " + std::string(entry.payload);
  }
  if (entry.checkpoint != nullptr) {
    const Checkpoint& checkpoint = *entry.checkpoint;
    text += " after " + std::to_string(checkpoint.iteration) + " state " + checkpoint.state;
    for (const StateChange& change : checkpoint.changes) {
      text += " " + change.key + (change.value ? "=" + *change.value : " cleared");
    }
    for (const std::uint64_t seq : checkpoint.taken) {
      text += " took " + std::to_string(seq);
    }
    if (checkpoint.done) {
      text += " done = " + checkpoint.result;
    }
  }
  return text;
}

// A stored log: what take_new() handed out, without what it said is forgotten.
class Store {
 public:
  // Returns the new entries as text, and what was forgotten.
  std::string commit(Machine& machine) {
    const Batch batch = machine.take_new();
    std::string text;
    for (RecordId id = batch.first; id < batch.last; ++id) {
      text += show(machine.log(), id) + "\n";
      Kept kept(machine.log(), id);
      PAWL_CHECK(rows_.empty() || rows_.rbegin()->first < kept.entry.seq);
      rows_.emplace(kept.entry.seq, std::move(kept));
    }
    if (!batch.forgotten.empty()) {
      text += "forgotten:";
      for (const std::uint64_t seq : batch.forgotten) {
        PAWL_CHECK(rows_.erase(seq) == 1);
        text += " " + std::to_string(seq);
      }
      text += "\n";
    }
    return text;
  }

  Result<Log> load() const {
    Log log;
    for (const auto& [seq, kept] : rows_) {
      PAWL_TRY(log.load(kept.view()));
    }
    return log;
  }

  std::size_t size() const { return rows_.size(); }
  // Takes the last entries away: a crash before they were committed.
  void truncate(std::size_t size) {
    while (rows_.size() > size) {
      rows_.erase(std::prev(rows_.end()));
    }
  }

 private:
  // An entry that owns its texts.
  struct Kept {
    Kept(const Log& log, RecordId id) : entry(log.entry(id, texts)) {
      name = entry.name;
      child_kind = entry.child_kind;
      step_key = entry.step_key;
      source = entry.source;
      payload = entry.payload;
      extra = entry.extra;
      if (entry.checkpoint != nullptr) {
        checkpoint = *entry.checkpoint;
      }
    }
    Entry view() const {
      Entry copy = entry;
      copy.location = texts.location;
      copy.id = texts.id;
      copy.name = name;
      copy.child_kind = child_kind;
      copy.step_key = step_key;
      copy.source = source;
      copy.payload = payload;
      copy.extra = extra;
      copy.checkpoint = entry.checkpoint == nullptr ? nullptr : &checkpoint;
      return copy;
    }

    Log::EntryTexts texts;
    Entry entry;
    std::string name;
    std::string child_kind;
    std::string step_key;
    std::string source;
    std::string payload;
    std::string extra;
    Checkpoint checkpoint;
  };

  std::map<std::uint64_t, Kept> rows_;
};

inline RunInfo order_run(Matching matching = Matching::kStrict) {
  RunInfo info;
  info.run_id = *Uuid::parse("a1b2c3d4-e5f6-7890-abcd-ef1234567890");
  info.matching = matching;
  info.started_at_ms = 1000;
  return info;
}

// A machine with the calls that tests make most.
class Host {
 public:
  Host() : Host(Store()) {}
  explicit Host(const Store& store, RunInfo info = order_run()) : store_(store) {
    Result<Log> log = store_.load();
    PAWL_CHECK(log.has_value());
    Result<std::unique_ptr<Machine>> machine = Machine::create(std::move(info), *std::move(log));
    PAWL_CHECK(machine.has_value());
    machine_ = *std::move(machine);
  }

  Machine& machine() { return *machine_; }
  Machine* operator->() { return machine_.get(); }
  Store& store() { return store_; }

  // --- Commands ---
  Opened open(const CommandRequest& request) {
    const Result<Opened> opened = machine_->open(request);
    PAWL_CHECK(opened.has_value());
    return *opened;
  }
  Opened open(CommandKind kind, std::string_view name = "", BranchId branch = kRootBranch) {
    CommandRequest request;
    request.kind = kind;
    request.name = name;
    request.branch = branch;
    return open(request);
  }
  FutureId task(std::string_view name, BranchId branch = kRootBranch) {
    return open(CommandKind::kTask, name, branch).future;
  }
  FutureId timer(std::string_view id = "", BranchId branch = kRootBranch) {
    return open(CommandKind::kTimer, id, branch).future;
  }
  FutureId signal(std::string_view name, BranchId branch = kRootBranch) {
    return open(CommandKind::kSignal, name, branch).future;
  }
  FutureId operation(std::string_view name, BranchId branch = kRootBranch) {
    return open(CommandKind::kOperation, name, branch).future;
  }
  BranchId branch(BranchId parent = kRootBranch) {
    return open(CommandKind::kBranch, "", parent).branch;
  }
  Opened loop(std::uint32_t checkpoint_every, BranchId parent = kRootBranch) {
    CommandRequest request;
    request.kind = CommandKind::kLoop;
    request.branch = parent;
    request.checkpoint_every = checkpoint_every;
    request.has_payload = true;
    request.payload = "0";
    return open(request);
  }
  void set(std::string_view key, std::string_view value, BranchId branch = kRootBranch) {
    CommandRequest request;
    request.kind = CommandKind::kState;
    request.name = key;
    request.has_payload = true;
    request.payload = value;
    request.branch = branch;
    open(request);
  }
  void complete(FutureId operation, std::string_view payload,
                OutcomeKind outcome = OutcomeKind::kValue) {
    PAWL_CHECK(machine_->complete_operation(operation, outcome, payload).has_value());
  }

  // --- Awaits ---
  // They are numbered from 1 as they began.
  std::size_t all(const std::vector<FutureId>& futures, bool shielded = false) {
    return numbered(*machine_->begin_await(AwaitMode::kAll, futures, shielded));
  }
  std::size_t any(const std::vector<FutureId>& futures, bool shielded = false) {
    return numbered(*machine_->begin_await(AwaitMode::kAny, futures, shielded));
  }
  bool give_up(std::size_t await) {
    return machine_->give_up_await(awaits_.at(await - 1).await).has_value();
  }
  // Those that the last delivery has ended.
  const std::vector<std::size_t>& woken() const { return woken_; }
  // "blocked", "cancelled", "ready", or "ready by 3".
  std::string status(std::size_t await) const {
    const AwaitStatus& status = awaits_.at(await - 1);
    if (status.state == AwaitState::kBlocked) {
      return "blocked";
    }
    if (status.state == AwaitState::kCancelled) {
      return "cancelled";
    }
    return status.decided_by == 0 ? "ready" : "ready by " + std::to_string(status.decided_by);
  }
  // "open", or the kind of outcome and its payload.
  std::string outcome(FutureId future) const {
    const Outcome outcome = *machine_->outcome(future);
    if (!outcome.is_complete) {
      return "open";
    }
    constexpr std::string_view kNames[] = {"value", "failed", "cancelled", "timed out"};
    std::string text(kNames[static_cast<std::size_t>(outcome.kind)]);
    return outcome.has_payload ? text + " " + std::string(outcome.payload) : text;
  }

  // --- Arrivals ---
  // For the command of a future, by its id or place.
  bool arrive(EntryKind kind, FutureId future, std::string_view payload = "") {
    const Record& command = machine_->log()[machine_->record_of(future)];
    return arrive_for(kind, machine_->log().id_text(command),
                      machine_->log().location(command).to_string(), payload);
  }
  bool arrive_for(EntryKind kind, std::string_view id, std::string_view location = "",
                  std::string_view payload = "") {
    Entry arrival;
    arrival.kind = kind;
    arrival.id = id;
    arrival.location = location;
    arrival.has_payload = !payload.empty();
    arrival.payload = payload;
    const Result<bool> taken = machine_->arrive(arrival);
    PAWL_CHECK(taken.has_value());
    return *taken;
  }
  bool send(std::string_view signal, std::string_view data = "") {
    Entry arrival;
    arrival.kind = EntryKind::kSignalReceived;
    arrival.name = signal;
    arrival.has_payload = !data.empty();
    arrival.payload = data;
    return *machine_->arrive(arrival);
  }
  bool request_cancel(std::string_view reason = "") {
    return arrive_for(EntryKind::kCancellationRequested, "", "", reason);
  }

  // --- Deliveries, as text: "4 TaskCompleted to 1, wakes 2 3" ---
  std::string deliver() {
    const Result<std::optional<Delivery>> delivery = machine_->next_delivery();
    if (!delivery) {
      return "error: " + delivery.error().message;
    }
    if (!*delivery) {
      return "nothing";
    }
    std::string text =
        std::to_string((*delivery)->seq) + " " + std::string(traits((*delivery)->kind).event);
    if ((*delivery)->future != 0) {
      text += " to " + std::to_string((*delivery)->future);
    }
    woken_.clear();
    for (const AwaitStatus& over : machine_->woken()) {
      woken_.push_back(numbers_.at(over.await));
      awaits_[woken_.back() - 1] = over;
      text += (woken_.size() == 1 ? ", wakes " : " ") + std::to_string(woken_.back());
    }
    return text;
  }
  std::string deliver_all() {
    std::string text;
    for (std::string line = deliver(); line != "nothing"; line = deliver()) {
      text += line + "\n";
      PAWL_CHECK(!line.starts_with("error"));
    }
    return text;
  }

  // What was added to the log since the last call, as text; it is stored, too.
  std::string commit() { return store_.commit(*machine_); }
  // This run after a restart, with what was committed.
  Host restarted(RunInfo info = order_run()) const { return Host(store_, std::move(info)); }

  std::string waiting() const { return join(machine_->waiting()); }
  std::string orphaned() const { return join(machine_->orphaned()); }

 private:
  static std::string join(const std::vector<Location>& places) {
    std::string text;
    for (const Location& place : places) {
      text += (text.empty() ? "" : " ") + place.to_string();
    }
    return text;
  }

  std::size_t numbered(const AwaitStatus& begun) {
    awaits_.push_back(begun);
    if (begun.await != 0) {
      numbers_.emplace(begun.await, awaits_.size());
    }
    return awaits_.size();
  }

  Store store_;
  std::unique_ptr<Machine> machine_;
  std::vector<AwaitStatus> awaits_;  // As they were last heard of.
  std::map<AwaitId, std::size_t> numbers_;
  std::vector<std::size_t> woken_;
};

}  // namespace pawl::replay

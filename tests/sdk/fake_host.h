// What the SDK's tests share: a run driven directly on the replay core, with a log that survives
// it, and no engine. A test says what reaches the run; operations execute where the turn ends.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "engine/program.h"
#include "pawl/pawl.hpp"
#include "replay/machine.h"
#include "sdk/program.h"

namespace pawl::sdk_test {

// For transactions that do not touch it.
class NoDatabase : public store::Database {
 public:
  void* handle() override { return nullptr; }
  Result<void> execute(const std::string& sql) override {
    return make_error(ErrorCode::kInvalidState, "there is no database here: " + sql);
  }
  Result<Rows> query(const std::string& sql, const std::vector<std::string>& /*values*/) override {
    return make_error(ErrorCode::kInvalidState, "there is no database here: " + sql);
  }
};

// One attempt of an operation, run at once.
class Attempt final : public engine::ActivityAttempt {
 public:
  bool heartbeat(std::string_view /*details*/) override { return true; }
  bool should_stop() const override { return false; }
};

// A run: its stored log, and its code in memory if it is loaded.
class World {
 public:
  // `workflow` as for Registry::workflow.
  template <class F, class In = std::nullptr_t>
  explicit World(F workflow, const In& input = nullptr, WorkflowOptions options = {})
      : input_(Codec<In>::encode(input)) {
    Registry registry;
    registry.workflow("test", workflow, std::move(options));
    entry_ = registry.workflows()[0];
  }

  // Another build of the same workflow: used from the next load() on.
  template <class F>
  void deploy(F workflow) {
    Registry registry;
    registry.workflow("test", workflow, entry_.options);
    entry_ = registry.workflows()[0];
    unload();
  }

  struct Waiting {
    replay::EntryKind kind{};
    std::string id;
    std::string name;
    std::string location;
    std::string payload;
    bool has_payload = false;
  };

  // --- What reaches the run: kept until a turn consumes it, as a store would ---
  void signal(std::string name, std::string payload) {
    inbox_.push_back(
        {replay::EntryKind::kSignalReceived, "", std::move(name), "", std::move(payload), true});
  }
  void cancel(std::string reason = {}) {
    const bool has_reason = !reason.empty();
    inbox_.push_back(
        {replay::EntryKind::kCancellationRequested, "", "", "", std::move(reason), has_reason});
  }
  // For the command at this location.
  void complete(const std::string& location, std::string payload) {
    arrive(location, replay::OutcomeKind::kValue, std::move(payload));
  }
  void fail(const std::string& location, std::string payload) {
    arrive(location, replay::OutcomeKind::kFailed, std::move(payload));
  }
  void arrive(const std::string& location, replay::OutcomeKind outcome, std::string payload = {}) {
    const Kept* command = find(location);
    ASSERT_NE(command, nullptr) << "no command at " << location;
    for (int number = 32; number < 45; ++number) {
      const auto kind = static_cast<replay::EntryKind>(number);
      const replay::EntryTraits* traits = replay::find_traits(kind);
      if (traits != nullptr && traits->role == replay::EntryRole::kArrival &&
          traits->command == replay::traits(command->entry.kind).command &&
          traits->outcome == outcome) {
        const bool has_payload = !payload.empty();
        inbox_.push_back({kind, command->texts.id, "",
                          kind == replay::EntryKind::kSignalTimedOut ? location : "",
                          std::move(payload), has_payload});
        return;
      }
    }
    FAIL() << "nothing completes " << location << " so";
  }

  // --- Turns ---
  // Delivers all there is, until the run waits or has ended; commits.
  void turn() {
    if (end_) {
      return;
    }
    load();
    std::size_t known = 0;
    machine_->set_time(now_ms += 1000);
    while (true) {
      for (; known < inbox_.size(); ++known) {
        give(known);
      }
      if (!started_) {
        started_ = true;
        program_->start();
      } else {
        auto delivery = machine_->next_delivery();
        if (machine_->violation()) {
          break;
        }
        EXPECT_TRUE(delivery);
        if (!*delivery) {
          // All is blocked. Then operations run.
          if (execute_one()) {
            continue;
          }
          break;
        }
        const std::vector<replay::AwaitStatus> woken = machine_->woken();
        for (const replay::AwaitStatus& over : woken) {
          program_->resume(over);
        }
      }
      if (machine_->violation()) {
        break;
      }
      if (std::optional<engine::ProgramEnd> end = program_->end()) {
        if (machine_->violation()) {
          break;
        }
        const auto finished = machine_->finish(end->kind, end->payload);
        if (finished) {
          end_ = std::move(end);
        }
        break;
      }
    }
    if (machine_->violation()) {
      violation_ = machine_->violation()->render();
      unload();
      return;
    }
    commit();
    if (replay_every_turn) {
      unload();
    }
  }
  // The process is gone: what was committed stays.
  void unload() {
    program_.reset();
    host_.reset();
    machine_.reset();
    started_ = false;
  }
  // As if the last entries had never been written.
  void truncate(std::size_t entries) {
    unload();
    while (rows_.size() > entries) {
      rows_.erase(std::prev(rows_.end()));
    }
    inbox_.clear();
    end_.reset();
  }

  // --- A life ---
  // What happens outside. `place` is the location of a command, the name of a signal, or "cancel".
  struct Event {
    std::string place;
    std::string payload = {};
    replay::OutcomeKind outcome = replay::OutcomeKind::kValue;
  };
  // Each time the run waits, the first of these that has not happened and can happen does.
  std::vector<Event> script;
  void live() {
    turn();
    while (!end_ && violation_.empty()) {
      bool did = false;
      for (std::size_t i = 0; i < script.size() && !did; ++i) {
        const Event& event = script[i];
        if (has_happened(i) || (event.place.starts_with("{") && find(event.place) == nullptr)) {
          continue;
        }
        did = true;
        if (event.place == "cancel") {
          cancel(event.payload);
        } else if (event.place.starts_with("{")) {
          arrive(event.place, event.outcome, event.payload);
        } else {
          signal(event.place, event.payload);
        }
      }
      if (!did) {
        return;
      }
      turn();
    }
  }

  // --- What came of it ---
  bool has_ended() const { return end_.has_value(); }
  const std::optional<engine::ProgramEnd>& end() const { return end_; }
  std::string result() const {
    EXPECT_TRUE(end_) << "the run waits:\n" << text_;
    if (!end_) {
      return "";
    }
    EXPECT_EQ(end_->kind, replay::EntryKind::kWorkflowCompleted) << end_->payload;
    return end_->payload;
  }
  const std::string& violation() const { return violation_; }
  // All entries ever committed, one per line.
  const std::string& text() const { return text_; }
  std::size_t entries() const { return rows_.size(); }
  std::size_t executed() const { return executed_; }
  std::size_t memory_bytes() const { return program_ ? program_->memory_bytes() : 0; }
  std::vector<std::string> waiting() {
    load_started();
    std::vector<std::string> places;
    for (const replay::Location& place : machine_->waiting()) {
      places.push_back(place.to_string());
    }
    return places;
  }
  replay::Machine& machine() { return *machine_; }
  // Where the code stood that asked for the command at this location.
  std::string source(const std::string& location) const {
    for (const auto& [seq, kept] : rows_) {
      if (kept.texts.location == location) {
        return kept.source;
      }
    }
    return "";
  }

  bool replay_every_turn = false;
  std::int64_t now_ms = 1'000'000;
  detail::Settings settings;
  std::vector<std::string> sent;

 private:
  // An entry that owns its texts.
  struct Kept {
    Kept(const replay::Log& log, replay::RecordId id) : entry(log.entry(id, texts)) {
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
    replay::Entry view() const {
      replay::Entry copy = entry;
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
    // "4 TaskCompleted for {1} = 7".
    std::string show(const replay::Log& log, replay::RecordId id) const {
      const replay::Record& record = log[id];
      std::string line =
          std::to_string(entry.seq) + " " + std::string(replay::traits(entry.kind).event);
      if (record.is_command) {
        line += " " + texts.location;
      } else if (record.link != replay::kNoRecord) {
        line += " for " + log.location(log[record.link]).to_string();
      }
      line += name.empty() ? "" : " " + name;
      line += entry.version != 1 ? " v" + std::to_string(entry.version) : "";
      line += step_key.empty() ? "" : " key " + step_key;
      line += entry.has_payload ? " = " + payload : "";
      if (entry.checkpoint != nullptr) {
        line += " after " + std::to_string(checkpoint.iteration) + " state " + checkpoint.state;
        line += checkpoint.done ? " done = " + checkpoint.result : "";
      }
      return line;
    }

    replay::Log::EntryTexts texts;
    replay::Entry entry;
    std::string name;
    std::string child_kind;
    std::string step_key;
    std::string source;
    std::string payload;
    std::string extra;
    replay::Checkpoint checkpoint;
  };
  using Rows = std::map<std::uint64_t, Kept>;

  class Host final : public engine::RunHost {
   public:
    Host(World& world, replay::Machine* machine) : world_(world) {
      machine_ = machine;
      id_ = "order-17";
      kind_ = "test";
    }
    void execute(replay::FutureId operation, engine::ActivityBody body,
                 engine::RetryPolicy /*retry*/, std::int64_t /*timeout_ms*/) override {
      world_.operations_.push_back({operation, [body = std::move(body)] {
                                      Attempt attempt;
                                      attempt.key = "key";
                                      return body(attempt);
                                    }});
    }
    void transact(replay::FutureId operation, TransactBody body,
                  engine::RetryPolicy /*retry*/) override {
      world_.operations_.push_back({operation, [body = std::move(body)] {
                                      NoDatabase none;
                                      return body(none);
                                    }});
    }
    void send(replay::FutureId operation, std::string run_id, std::string signal,
              std::string payload, std::string /*extra*/, std::string /*dedupe*/) override {
      World& world = world_;
      world_.operations_.push_back({operation, [=, &world] {
                                      world.sent.push_back(run_id + " " + signal + " " + payload);
                                      engine::ActivityOutcome outcome;
                                      outcome.result = "null";
                                      return outcome;
                                    }});
    }

   private:
    World& world_;
  };

  struct Operation {
    replay::FutureId future = 0;
    std::function<engine::ActivityOutcome()> run;
  };

  void load() {
    if (program_) {
      return;
    }
    replay::Log log;
    for (const auto& [seq, kept] : rows_) {
      const auto loaded = log.load(kept.view());
      ASSERT_TRUE(loaded) << loaded.error().message;
    }
    replay::RunInfo info;
    info.started_at_ms = 1'000'000;
    info.matching = static_cast<replay::Matching>(entry_.options.matching);
    auto machine = replay::Machine::create(info, std::move(log));
    ASSERT_TRUE(machine) << machine.error().message;
    operations_.clear();
    machine_ = *std::move(machine);
    host_ = std::make_unique<Host>(*this, machine_.get());
    definition_ =
        detail::make_definition(entry_, std::make_shared<const detail::Settings>(settings));
    program_ = definition_.create(*host_, input_);
    started_ = false;
  }
  void load_started() {
    if (!program_ || !started_) {
      turn();
    }
  }

  void give(std::size_t index) {
    const Waiting& waiting = inbox_[index];
    replay::Entry entry;
    entry.kind = waiting.kind;
    entry.time_ms = now_ms;
    entry.id = waiting.id;
    entry.name = waiting.name;
    entry.location = waiting.location;
    entry.payload = waiting.payload;
    entry.has_payload = waiting.has_payload;
    const auto arrived = machine_->arrive(entry, index + 1);
    EXPECT_TRUE(arrived) << arrived.error().message;
  }

  bool execute_one() {
    if (operations_.empty()) {
      return false;
    }
    const Operation operation = operations_.front();
    operations_.pop_front();
    ++executed_;
    const engine::ActivityOutcome outcome = operation.run();
    const auto completed = machine_->complete_operation(
        operation.future, outcome.ok ? replay::OutcomeKind::kValue : replay::OutcomeKind::kFailed,
        outcome.ok ? outcome.result : engine::encode_failure(outcome.failure));
    EXPECT_TRUE(completed);
    return true;
  }

  void commit() {
    // What was not consumed waits for the next turn.
    const replay::Batch batch = take();
    std::vector<bool> gone(inbox_.size());
    for (const auto* tokens : {&batch.consumed, &batch.dropped}) {
      for (const std::uint64_t token : *tokens) {
        gone[token - 1] = true;
      }
    }
    std::vector<Waiting> left;
    for (std::size_t i = 0; i < inbox_.size(); ++i) {
      if (!gone[i]) {
        left.push_back(std::move(inbox_[i]));
      }
    }
    inbox_ = std::move(left);
    // The machine still has those, under numbers that are no longer right.
    if (!inbox_.empty()) {
      unload();
    }
  }

  replay::Batch take() {
    const replay::Log& log = machine_->log();
    replay::Batch batch = machine_->take_new();
    for (replay::RecordId id = batch.first; id < batch.last; ++id) {
      Kept kept(log, id);
      text_ += kept.show(log, id) + "\n";
      rows_.emplace(kept.entry.seq, std::move(kept));
    }
    for (const std::uint64_t seq : batch.forgotten) {
      forgotten_.insert(rows_.extract(seq));
    }
    return batch;
  }

  // Whether what `event` stands for has reached the run.
  bool has_happened(std::size_t index) const {
    const Event& event = script[index];
    std::size_t before = 0;  // Events of the same sort.
    for (std::size_t i = 0; i < index; ++i) {
      before += script[i].place == event.place ? 1 : 0;
    }
    std::size_t seen = 0;
    const Kept* command = find(event.place);
    for (const auto* rows : {&rows_, &forgotten_}) {
      for (const auto& [seq, kept] : *rows) {
        const bool is_signal = kept.entry.kind == replay::EntryKind::kSignalReceived;
        const bool is_cancel = kept.entry.kind == replay::EntryKind::kCancellationRequested;
        const replay::EntryRole role = replay::traits(kept.entry.kind).role;
        if ((is_signal && kept.name == event.place) || (is_cancel && event.place == "cancel")) {
          ++seen;
        } else if (command != nullptr && role == replay::EntryRole::kArrival &&
                   ((!kept.texts.id.empty() && kept.texts.id == command->texts.id) ||
                    (kept.entry.kind == replay::EntryKind::kSignalTimedOut &&
                     kept.texts.location == event.place))) {
          ++seen;
        }
      }
    }
    return seen > before;
  }

  const Kept* find(const std::string& location) const {
    for (const auto* rows : {&rows_, &forgotten_}) {
      for (const auto& [seq, kept] : *rows) {
        if (replay::traits(kept.entry.kind).role == replay::EntryRole::kCommand &&
            kept.texts.location == location) {
          return &kept;
        }
      }
    }
    return nullptr;
  }

  detail::WorkflowEntry entry_;
  std::string input_;
  engine::Definition definition_;
  Rows rows_;
  Rows forgotten_;
  std::vector<Waiting> inbox_;
  std::deque<Operation> operations_;
  std::unique_ptr<replay::Machine> machine_;
  std::unique_ptr<Host> host_;
  std::unique_ptr<engine::Program> program_;
  bool started_ = false;
  std::optional<engine::ProgramEnd> end_;
  std::string violation_;
  std::string text_;
  std::size_t executed_ = 0;
};

}  // namespace pawl::sdk_test

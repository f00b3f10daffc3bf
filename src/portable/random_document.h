// Random documents for tests: logs that a run could have written, with odd bytes in all the fields
// that may hold them. All from one seed.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "base/hash.h"
#include "base/uuid.h"
#include "portable/run_document.h"

namespace pawl::portable {

class RandomDocument {
 public:
  explicit RandomDocument(std::uint64_t seed) : random_(seed) {}

  RunDocument make() {
    RunDocument made;
    document_ = &made;
    open_tasks_.clear();
    open_promises_.clear();
    next_ = 0;
    seq_ = 0;
    make_row();
    const std::uint64_t steps = below(12);
    for (std::uint64_t i = 0; i < steps; ++i) {
      add_step();
    }
    if (chance(25)) {
      add_forgotten_loop();
    }
    add_rows();
    close();
    return made;
  }

  std::uint64_t below(std::uint64_t bound) { return random_() % bound; }
  bool chance(std::uint64_t percent) { return below(100) < percent; }

  std::string text() {
    static const std::vector<std::string> kTexts = {
        "a",
        "charge",
        "ü",
        "\xff\x01",
        "null",
        "{ }",
        "{\"a\":1}",
        "2.5",
        "2E0",
        "{\"$text\":\"\"}",
        "x\ny",
        "{\"$json\":0}",
        "[1,2.50]",
        std::string("\0", 1),
        "{\"price\":12.5}",
        "{\"queue\":\"q\",\"retry\":{\"factor\":2E0,\"jitter\":1E-1}}"};
    if (chance(80)) {
      return kTexts[below(kTexts.size())];
    }
    std::string bytes = "b";
    for (std::uint64_t left = below(20); left > 0; --left) {
      bytes += static_cast<char>(random_());
    }
    return bytes;
  }
  std::string maybe_text() { return chance(30) ? "" : text(); }

 private:
  void make_row() {
    store::RunRow& row = document_->image.row;
    row.id = text();
    row.number = static_cast<std::uint32_t>(1 + below(5));
    for (std::uint8_t& byte : row.uuid.bytes) {
      byte = static_cast<std::uint8_t>(random_());
    }
    row.kind = text();
    row.definition = maybe_text();
    row.is_approved = chance(20);
    row.is_paused = chance(20);
    row.created_ms = static_cast<std::int64_t>(below(1ULL << 50U));
    row.changed_ms = static_cast<std::int64_t>(below(1ULL << 50U));
    document_->image.input = maybe_text();
    for (std::uint64_t left = below(3); left > 0; --left) {
      document_->image.tags.push_back({text(), maybe_text()});
    }
  }

  replay::Entry new_entry(replay::EntryKind kind) {
    replay::Entry entry;
    entry.kind = kind;
    entry.seq = ++seq_;
    entry.time_ms = static_cast<std::int64_t>(1000 + seq_);
    return entry;
  }

  replay::Entry new_command(replay::EntryKind kind) {
    replay::Entry entry = new_entry(kind);
    location_ = "{" + std::to_string(++next_) + "}";
    entry.location = keep(location_);
    entry.version = static_cast<std::uint32_t>(1 + below(2));
    entry.step_key = chance(20) ? keep("key" + std::to_string(next_)) : "";
    entry.source = chance(50) ? keep(text()) : "";
    entry.extra = chance(40) ? keep(text()) : "";
    entry.checked = static_cast<std::uint32_t>(below(3));
    return entry;
  }

  std::string_view keep(const std::string& given) { return document_->keeper->keep(given); }
  std::string_view own_id() {
    return keep(uuid5(document_->image.row.uuid, location_).to_string());
  }

  void add_payload(replay::Entry& entry) {
    entry.has_payload = chance(80);
    entry.payload = entry.has_payload ? keep(maybe_text()) : "";
  }
  void add_input(replay::Entry& entry) {
    add_payload(entry);
    entry.input_digest = entry.has_payload && chance(80) ? stable_digest(entry.payload) : 0;
  }
  void add(const replay::Entry& entry) { document_->log.push_back(entry); }

  void add_step() {
    using enum replay::EntryKind;
    switch (below(9)) {
      case 0: {
        replay::Entry task = new_command(kTaskScheduled);
        task.id = own_id();
        task.name = keep(text());
        add_input(task);
        add(task);
        if (chance(60)) {
          replay::Entry end = new_entry(chance(50) ? kTaskCompleted : kTaskFailed);
          end.id = task.id;
          end.name = task.name;
          add_payload(end);
          end.extra = chance(20) ? keep(text()) : "";
          add(end);
        } else {
          open_tasks_.emplace_back(task.id);
        }
        break;
      }
      case 1: {
        replay::Entry whole = new_command(chance(70) ? kOperationCompleted : kOperationFailed);
        whole.id = own_id();
        whole.name = keep(text());
        whole.input_digest = random_();
        add_payload(whole);
        add(whole);
        break;
      }
      case 2: {
        replay::Entry started = new_command(kOperationStarted);
        started.id = own_id();
        started.name = keep(text());
        add_input(started);
        add(started);
        replay::Entry end = new_entry(kOperationCompleted);
        end.id = started.id;
        end.name = started.name;
        add_payload(end);
        add(end);
        break;
      }
      case 3: {
        replay::Entry timer = new_command(kTimerStarted);
        timer.id = chance(50) ? own_id() : keep(text());
        timer.number = static_cast<std::int64_t>(below(100));
        add(timer);
        break;
      }
      case 4: {
        replay::Entry promise = new_command(kPromiseCreated);
        promise.id = keep("promise " + std::to_string(next_) + text());
        promise.number = static_cast<std::int64_t>(below(100));
        add(promise);
        open_promises_.emplace_back(promise.id);
        break;
      }
      case 5: {
        replay::Entry child = new_command(kChildWorkflowInitiated);
        child.id = own_id();
        child.name = keep(text());
        child.child_kind = keep(text());
        add_input(child);
        add(child);
        replay::Entry end = new_entry(kChildWorkflowCompleted);
        end.id = child.id;
        end.name = child.name;
        add_payload(end);
        add(end);
        break;
      }
      case 6: {
        replay::Entry state = new_command(chance(70) ? kStateSet : kStateCleared);
        state.name = keep(text());
        if (state.kind == kStateSet) {
          add_payload(state);
        }
        add(state);
        break;
      }
      case 7: {
        replay::Entry signal = new_entry(kSignalReceived);
        signal.name = keep(text());
        add_payload(signal);
        signal.extra = chance(50) ? keep(text()) : "";
        add(signal);
        break;
      }
      default: {
        replay::Entry removed = new_command(kStepRemoved);
        removed.removed = static_cast<replay::CommandKind>(1 + below(13));
        removed.name = keep(maybe_text());
        add(removed);
        break;
      }
    }
  }

  // A loop with two iterations that are gone, and are still kept for people.
  void add_forgotten_loop() {
    using enum replay::EntryKind;
    replay::Entry loop = new_command(kLoopStarted);
    loop.extra = "";
    loop.has_payload = true;
    loop.payload = keep(text());
    add(loop);
    const std::string inside = location_.substr(0, location_.size() - 1);
    for (int i = 1; i <= 2; ++i) {
      replay::Entry gone = new_entry(kOperationCompleted);
      const std::string place = inside + ", " + std::to_string(i) + ", 1}";
      gone.location = keep(place);
      gone.id = keep(uuid5(document_->image.row.uuid, place).to_string());
      gone.name = keep(text());
      add_payload(gone);
      document_->forgotten.push_back(gone);
    }
    replay::Checkpoint checkpoint;
    checkpoint.iteration = 2;
    checkpoint.state = maybe_text();
    checkpoint.changes = {{"a", text()}, {"b", std::nullopt}};
    if (chance(50)) {
      checkpoint.changes.push_back({"c\xff", maybe_text()});
    }
    checkpoint.taken = {1};
    checkpoint.done = chance(50);
    checkpoint.result = maybe_text();
    replay::Entry entry = new_entry(kLoopCheckpointed);
    entry.location = loop.location;
    entry.checkpoint = &checkpoint;
    add(document_->keeper->keep(entry));
  }

  void add_rows() {
    store::RunImage& image = document_->image;
    image.row.status = chance(50) ? store::RunStatus::kRunning : store::RunStatus::kWaiting;
    if (chance(20)) {
      image.row.status = store::RunStatus::kBlocked;
      image.reason = text();
      image.blocked_by = chance(50) ? std::optional(maybe_text()) : std::nullopt;
    }
    image.row.waiting_for = maybe_text();
    for (const std::string& id : open_tasks_) {
      store::TaskRow& task = image.tasks.emplace_back();
      task.id = id;
      task.type = text();
      task.queue = text();
      task.state = static_cast<store::TaskState>(below(2));
      task.priority = static_cast<std::int32_t>(below(10)) - 5;
      task.has_input = chance(70);
      task.input = task.has_input ? maybe_text() : "";
      task.options = maybe_text();
      task.wait_ms = static_cast<std::int64_t>(below(3));
      task.attempt_ms = static_cast<std::int64_t>(below(3));
      task.heartbeat_ms = static_cast<std::int64_t>(below(3));
      task.deadline_ms = chance(50) ? store::kNever : static_cast<std::int64_t>(below(1000));
      task.due_ms = chance(50) ? store::kNever : static_cast<std::int64_t>(below(1000));
      task.attempt = static_cast<std::uint32_t>(below(4));
      task.created_ms = static_cast<std::int64_t>(below(1000));
      task.details = maybe_text();
      task.last_error = maybe_text();
      task.cancel_requested = chance(20);
    }
    for (const std::string& name : open_promises_) {
      image.promises.push_back({name, chance(50)});
    }
    for (std::uint64_t left = below(3); left > 0; --left) {
      store::StoredArrival& arrival = image.inbox.emplace_back();
      const bool is_retry = chance(30);
      arrival.kind = is_retry ? store::kRetryOperation
                              : static_cast<std::uint8_t>(replay::EntryKind::kSignalReceived);
      arrival.due_ms = static_cast<std::int64_t>(below(1000));
      arrival.id = is_retry ? text() : "";
      arrival.location = chance(20) ? "{1}" : "";
      arrival.name = is_retry ? "" : text();
      arrival.number = static_cast<std::int64_t>(below(4));
      arrival.has_payload = chance(80);
      arrival.payload = arrival.has_payload ? maybe_text() : "";
      arrival.extra = maybe_text();
      arrival.is_kept = chance(20);
    }
    for (std::uint64_t left = below(3); left > 0; --left) {
      image.dedupe.push_back("id " + std::to_string(left) + text());
    }
  }

  // Some have ended; of these, some have undone what they did.
  void close() {
    if (!chance(40)) {
      return;
    }
    store::RunImage& image = document_->image;
    replay::Entry end = new_entry(replay::EntryKind::kWorkflowFailed);
    add_payload(end);
    add(end);
    image.row.status = store::RunStatus::kFailed;
    image.row.is_paused = false;
    image.blocked_by.reset();
    image.inbox.clear();
    image.tasks.clear();
    if (chance(50)) {
      image.row.status = store::RunStatus::kCompensating;
      image.row.goal = store::RunStatus::kFailed;
      image.reason = "";
      image.needs = maybe_text();
    }
    for (std::uint32_t i = 0; i < below(3); ++i) {
      store::CompensationRow& row = image.compensations.emplace_back();
      row.position = i;
      row.name = text();
      row.has_input = chance(70);
      row.input = row.has_input ? maybe_text() : "";
      row.state = static_cast<store::CompensationState>(below(3));
      row.attempt = static_cast<std::uint32_t>(below(4));
      row.due_ms = static_cast<std::int64_t>(below(1000));
      row.outcome = maybe_text();
    }
  }

  std::mt19937_64 random_;
  RunDocument* document_ = nullptr;
  std::string location_;
  std::uint64_t next_ = 0;
  std::uint64_t seq_ = 0;
  std::vector<std::string> open_tasks_;
  std::vector<std::string> open_promises_;
};

}  // namespace pawl::portable

#include "audit/run_check.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "replay/log.h"
#include "store/run_visitor.h"

namespace pawl::audit {

namespace {

using replay::CommandKind;
using replay::Entry;
using replay::EntryKind;
using replay::EntryRole;
using store::RunStatus;

constexpr std::size_t kShownBytes = 100;
constexpr std::string_view kRestore =
    "restore a copy of the database from before, or terminate the run and start it anew";

std::string quoted(std::string_view text) {
  return "'" + std::string(text.substr(0, kShownBytes)) + (text.size() > kShownBytes ? "…'" : "'");
}

bool is_promise_answer(EntryKind kind) {
  return kind == EntryKind::kPromiseResolved || kind == EntryKind::kPromiseRejected;
}

// One run, as it is visited.
class Look {
 public:
  Look(store::VisitedRun run, const RunCheckOptions& options)
      : run_(std::move(run)), image_(run_.image), options_(options) {}

  void take(const Entry& entry) {
    ++count_;
    if (!is_damaged_) {
      is_damaged_ = !take_entry(entry);
    }
    last_seq_ = entry.seq;
  }

  void take_forgotten(const Entry& entry) {
    end_log();
    ++count_;
    if (replay::find_traits(entry.kind) == nullptr) {
      add("unknown_kind", entry.seq,
          "what a loop has moved away has the kind " +
              std::to_string(static_cast<int>(entry.kind)) + ", which there is not");
    } else if (entry.kind == EntryKind::kTaskScheduled ||
               entry.kind == EntryKind::kPromiseCreated) {
      forgotten_ids_.insert(std::string(entry.id));
    }
    if (entry.seq > last_seq_ && options_.has_real_log) {
      add("forgotten_too_early", entry.seq,
          "a loop has moved away an entry that lies behind its last checkpoint");
    }
  }

  void take_damage(const Error& error, bool is_in_log) {
    if (is_in_log) {
      is_damaged_ = true;
      add("unreadable_log", {}, "its log cannot be read: " + error.message);
    } else {
      end_log();
      add("unreadable_log", {}, "what loops have moved away cannot be read: " + error.message);
    }
  }

  std::vector<Finding> finish() {
    end_log();
    if (!is_damaged_ && options_.has_real_log) {
      check_tasks();
      check_promises();
      check_waits();
    }
    check_inbox();
    return take_findings();
  }

 private:
  std::vector<Finding> take_findings() {
    for (Finding& finding : findings_) {
      finding.run = image_.row.key;
      finding.id = image_.row.id;
      finding.number = image_.row.number;
    }
    return std::move(findings_);
  }

  void add(std::string rule, std::optional<std::uint64_t> seq, std::string what,
           std::string_view advice = kRestore) {
    Finding& finding = findings_.emplace_back();
    finding.rule = std::move(rule);
    finding.seq = seq;
    finding.what = std::move(what);
    finding.advice = advice;
  }

  // --- The log ---

  void end_log() {
    if (std::exchange(is_log_over_, true) || is_damaged_) {
      return;
    }
    if (options_.has_real_log) {
      if (const Result<void> loaded = log_.finish_loading(); !loaded) {
        add("damaged_log", {}, "its log cannot be replayed: " + loaded.error().message);
        is_damaged_ = true;
      }
    } else if (has_gap_) {
      add("gap", {}, "its log has a gap");
    }
  }

  // False: nothing behind it is looked at.
  bool take_entry(const Entry& entry) {
    if (!options_.has_real_log) {
      if (entry.seq <= last_seq_) {
        add("entry_twice", entry.seq, "its log has an entry twice");
        return false;
      }
      // What loops forget lies before a checkpoint.
      has_gap_ = (has_gap_ || entry.seq > last_seq_ + 1) && entry.checkpoint == nullptr;
      return true;
    }
    // Whoever is terminated while it compensates ends a second time.
    if (log_.end_record() != replay::kNoRecord && entry.kind == EntryKind::kWorkflowFailed &&
        image_.row.status == RunStatus::kFailed && entry.seq == last_seq_ + 1) {
      return true;
    }
    if (const Result<void> loaded = log_.load(entry); !loaded) {
      add("damaged_log", entry.seq, "its log cannot be replayed: " + loaded.error().message);
      return false;
    }
    return true;
  }

  // Nothing was dropped for good, so that every command is known.
  bool is_complete() const { return count_ == last_seq_; }

  // --- Rows and the log ---

  struct Command {
    std::uint64_t seq = 0;
    std::optional<std::uint64_t> end;  // Seq of what completed it.
    EntryKind ended_by{};
  };

  // Commands of this kind, by id. Of those with one id, an open one counts.
  std::map<std::string, Command> commands(EntryKind kind) const {
    std::map<std::string, Command> found;
    for (replay::RecordId id = 0; id < log_.size(); ++id) {
      const replay::Record& record = log_[id];
      if (record.kind != kind) {
        continue;
      }
      Command command{record.seq, std::nullopt, {}};
      if (record.link != replay::kNoRecord) {
        command.end = log_[record.link].seq;
        command.ended_by = log_[record.link].kind;
      }
      const auto [at, is_new] = found.emplace(log_.id_text(record), command);
      if (!is_new && !command.end) {
        at->second = command;
      }
    }
    return found;
  }

  void check_tasks() {
    if (image_.tasks.empty()) {
      return;
    }
    const std::map<std::string, Command> scheduled = commands(EntryKind::kTaskScheduled);
    for (const store::TaskRow& task : image_.tasks) {
      const auto found = scheduled.find(task.id);
      if (found != scheduled.end() && found->second.end) {
        add("task_done", found->second.end,
            "the task " + quoted(task.type) + " is on a queue although its outcome is recorded",
            "a worker may execute it in vain; its outcome will be dropped");
      } else if (found == scheduled.end() && is_complete() && !forgotten_ids_.contains(task.id)) {
        add("task_of_nothing", {},
            "the task " + quoted(task.type) + " is on a queue, and the log does not ask for it");
      }
    }
  }

  void check_promises() {
    if (image_.promises.empty()) {
      return;
    }
    const std::map<std::string, Command> created = commands(EntryKind::kPromiseCreated);
    for (const store::PromiseRow& promise : image_.promises) {
      const auto found = created.find(promise.name);
      if (found != created.end() && found->second.end &&
          is_promise_answer(found->second.ended_by) && !promise.is_resolved) {
        add("promise_done", found->second.end,
            "the promise " + quoted(promise.name) + " is open although its outcome is recorded",
            "whoever resolves it will believe that to have had an effect");
      } else if (found == created.end() && is_complete() &&
                 !forgotten_ids_.contains(promise.name)) {
        add("promise_of_nothing", {},
            "the promise " + quoted(promise.name) +
                " can be resolved, and the log does not ask for it");
      }
    }
  }

  void check_inbox() {
    for (const store::StoredArrival& arrival : image_.inbox) {
      if (arrival.kind == store::kRetryOperation) {
        continue;
      }
      const replay::EntryTraits* known = replay::find_traits(static_cast<EntryKind>(arrival.kind));
      if (known == nullptr ||
          (known->role != EntryRole::kArrival && known->role != EntryRole::kFree &&
           !replay::is_operation_outcome(known->kind))) {
        add("impossible_arrival", {},
            "its inbox has something of the kind " + std::to_string(arrival.kind) +
                ", which cannot reach a run");
      }
    }
  }

  // --- What it waits for has to come from somewhere ---

  void check_waits() {
    if (image_.row.status != RunStatus::kWaiting) {
      return;
    }
    std::set<std::string> sources;  // Ids of commands that something will complete.
    for (const store::TaskRow& task : image_.tasks) {
      sources.insert(task.id);
    }
    for (const store::StoredArrival& arrival : image_.inbox) {
      sources.insert(arrival.id);
    }
    for (const store::PromiseRow& promise : image_.promises) {
      if (!promise.is_resolved) {
        sources.insert(promise.name);
      }
    }
    sources.insert(run_.children.begin(), run_.children.end());
    std::set<replay::RecordId> cancelled;
    for (replay::RecordId id = 0; id < log_.size(); ++id) {
      if (replay::is_cancel_request(log_[id].kind)) {
        cancelled.insert(log_.cancel_target(id));
      }
    }
    for (replay::RecordId id = 0; id < log_.size(); ++id) {
      const replay::Record& record = log_[id];
      if (!record.is_command || record.link != replay::kNoRecord || record.forgotten ||
          cancelled.contains(id)) {
        continue;
      }
      if (const char* const what = lost(record.kind);
          what != nullptr && !sources.contains(log_.id_text(record))) {
        add(std::string(what) + "_lost", record.seq,
            "the " + std::string(what) + " is open, and nothing is there that will complete it",
            "if the run waits for it, it waits for ever: restore a copy of the database from "
            "before, or fork the run at the entry before");
      }
    }
  }

  static const char* lost(EntryKind kind) {
    switch (kind) {
      case EntryKind::kTaskScheduled:
        return "task";
      case EntryKind::kTimerStarted:
        return "timer";
      case EntryKind::kPromiseCreated:
        return "promise";
      case EntryKind::kChildWorkflowInitiated:
        return "child";
      default:
        return nullptr;
    }
  }

  const store::VisitedRun run_;
  const store::RunImage& image_;  // Its.
  const RunCheckOptions options_;
  replay::Log log_;
  bool is_damaged_ = false;  // The log cannot be read or loaded.
  bool is_log_over_ = false;
  bool has_gap_ = false;
  std::uint64_t last_seq_ = 0;
  std::uint64_t count_ = 0;  // Entries of the log, and moved away.
  std::set<std::string> forgotten_ids_;
  std::vector<Finding> findings_;
};

class Check : public store::RunVisitor {
 public:
  Check(const RunCheckOptions& options,
        const std::function<bool(const std::vector<Finding>&)>& tell)
      : options_(options), tell_(tell) {}

  Result<void> begin_run(store::VisitedRun run) override {
    look_ = std::make_unique<Look>(std::move(run), options_);
    return {};
  }
  Result<void> visit_entry(const Entry& entry) override {
    look_->take(entry);
    return {};
  }
  Result<void> visit_forgotten(const Entry& entry, const store::MovedFrom&) override {
    look_->take_forgotten(entry);
    return {};
  }
  Result<void> visit_damage(const Error& error, bool is_in_log) override {
    look_->take_damage(error, is_in_log);
    return {};
  }
  Result<void> end_run() override {
    goes_on_ = tell_(look_->finish());
    // Only ends the visit.
    return goes_on_ ? Result<void>() : make_error(ErrorCode::kLimitExceeded, "");
  }

  bool goes_on() const { return goes_on_; }

 private:
  const RunCheckOptions& options_;
  const std::function<bool(const std::vector<Finding>&)>& tell_;
  std::unique_ptr<Look> look_;
  bool goes_on_ = true;
};

}  // namespace

Result<bool> check_runs(store::Catalog& catalog, const store::KeyRange& range,
                        const RunCheckOptions& options,
                        const std::function<bool(const std::vector<Finding>&)>& tell) {
  Check check(options, tell);
  const Result<void> visited = catalog.visit_all_runs(range, check);
  if (!visited && check.goes_on()) {
    return visited.error();
  }
  return check.goes_on();
}

Result<std::vector<Finding>> check_run(store::Catalog& catalog, store::RunKey run,
                                       const RunCheckOptions& options) {
  std::vector<Finding> found;
  PAWL_TRY(
      check_runs(catalog, store::range_of(run), options, [&](const std::vector<Finding>& findings) {
        found = findings;
        return true;
      }));
  return found;
}

}  // namespace pawl::audit

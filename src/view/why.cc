#include "view/why.h"

#include <algorithm>
#include <utility>

#include "engine/program.h"
#include "engine/serves.h"
#include "view/shell_word.h"
#include "view/text.h"

namespace pawl::view {

namespace {

using engine::Serves;
using replay::CommandKind;
using replay::EntryKind;
using store::RunStatus;

constexpr std::size_t kNameChars = 100;
constexpr std::size_t kTextChars = 300;
constexpr std::size_t kWorkersNamed = 3;

std::string in_quotes(std::string_view name) { return "'" + line_text(name, kNameChars) + "'"; }

class Reasoning {
 public:
  Reasoning(const RunDetails& details, std::span<const store::WorkerRow> workers,
            std::int64_t now_ms)
      : details_(details), row_(details.row), now_ms_(now_ms) {
    for (const store::WorkerRow& worker : workers) {
      if (worker.expires_ms > now_ms) {
        live_.push_back({&worker, engine::read_serves(worker.serves)});
      }
    }
  }

  std::vector<Finding> find() && {
    if (store::is_closed(row_.status)) {
      ended();
      return std::move(findings_);
    }
    if (row_.is_paused) {
      add({.code = "paused",
           .what = "is paused: a person holds it where it is",
           .advice = "let it go on: " + command("unpause")});
    }
    switch (row_.status) {
      case RunStatus::kBlocked:
        blocked();
        break;
      case RunStatus::kCompensating:
        compensating();
        break;
      case RunStatus::kRunning:
        running();
        break;
      default:
        waiting();
    }
    return std::move(findings_);
  }

 private:
  struct Live {
    const store::WorkerRow* row;
    Serves serves;
  };

  void add(Finding finding) { findings_.push_back(std::move(finding)); }

  std::string command(const std::string& verb, const std::string& rest = "") const {
    const bool is_dashed = row_.id.starts_with('-');
    return "pawl " + verb + (is_dashed ? " -- " : " ") + shell_word(row_.id) +
           (rest.empty() ? "" : " " + rest);
  }
  std::string in(std::int64_t moment_ms) const { return duration_text(moment_ms - now_ms_); }

  // --- Who ---

  // "host:17 and host:18 have …"; `none` if there is nobody. Those that have told nothing may.
  template <class Can>
  std::string who(const std::string& what, const Can& can, std::string* none_advice,
                  const std::string& advice) const {
    std::vector<std::string> names;
    std::size_t silent = 0;
    for (const Live& live : live_) {
      if (!live.serves.is_known) {
        ++silent;
      } else if (can(live.serves)) {
        names.push_back(line_text(live.row->name, kNameChars));
      }
    }
    if (names.empty()) {
      if (silent > 0) {
        return "none of " + std::to_string(live_.size()) + " live workers says that it has " +
               what + "; " + std::to_string(silent) + " told nothing";
      }
      if (none_advice != nullptr) {
        *none_advice = advice;
      }
      return live_.empty() ? "there is no live worker; one with " + what + " is needed"
                           : "no live worker has " + what;
    }
    std::string text;
    for (std::size_t i = 0; i < names.size() && i < kWorkersNamed; ++i) {
      text += (i == 0 ? "" : ", ") + names[i];
    }
    if (names.size() > kWorkersNamed) {
      text += " and " + std::to_string(names.size() - kWorkersNamed) + " more";
    }
    return text + (names.size() == 1 ? " has " : " have ") + what;
  }

  static bool has_kind(const Serves& serves, const std::string& kind) {
    return std::any_of(serves.kinds.begin(), serves.kinds.end(),
                       [&](const auto& each) { return each.first == kind; });
  }
  static bool has(const std::vector<std::string>& names, const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  }
  bool has_definition(const Serves& serves) const {
    return std::any_of(serves.kinds.begin(), serves.kinds.end(), [this](const auto& each) {
      return each.first == row_.kind && each.second == row_.definition;
    });
  }
  // A run is for those who have the code that it was recorded under; if nobody has, for all who
  // have its kind.
  std::string who_has_kind(std::string* advice) const {
    const std::string kind = "the kind " + in_quotes(row_.kind);
    const bool any_owner = !row_.definition.empty() &&
                           std::any_of(live_.begin(), live_.end(), [this](const Live& live) {
                             return has_definition(live.serves);
                           });
    if (any_owner) {
      return who(
          kind + " in the definition that it was recorded under",
          [this](const Serves& serves) { return has_definition(serves); }, advice, "");
    }
    std::string text = who(
        kind, [this](const Serves& serves) { return has_kind(serves, row_.kind); }, advice,
        "start a program that has it");
    const bool any = std::any_of(live_.begin(), live_.end(), [this](const Live& live) {
      return has_kind(live.serves, row_.kind);
    });
    if (any && !row_.definition.empty()) {
      text += ", in another definition than " + in_quotes(row_.definition) +
              ", which it was recorded under";
    }
    return text;
  }

  // --- By status ---

  void ended() {
    Finding finding{.code = "ended",
                    .what = "has ended: " + std::string(store::status_name(row_.status)),
                    .since_ms = row_.changed_ms};
    if (row_.status == RunStatus::kRecurred) {
      finding.advice = "look at the run that it went on as: " +
                       command("why", "--number " + std::to_string(row_.number + 1));
    } else if (row_.status != RunStatus::kCompleted) {
      if (details_.outcome && !details_.outcome->empty()) {
        finding.what += ", " + failure_text(*details_.outcome, kTextChars);
      }
      finding.advice = "see what it has done: " + command("history");
    }
    add(std::move(finding));
  }

  void blocked() {
    Finding finding{.code = "blocked", .what = "is blocked", .since_ms = row_.changed_ms};
    const std::string first = details_.reason.substr(0, details_.reason.find('\n'));
    if (!first.empty()) {
      finding.what += ": " + line_text(first, kTextChars);
    }
    // The report says what to do, for whoever can change the code.
    const std::string report = advice_of_report();
    finding.advice =
        (report.empty() ? "find out what is wrong: " + command("describe") : report) +
        "; then a program with code that fits goes on with it, or: " + command("resume");
    if (details_.blocked_by) {
      finding.who = who(
          "another definition of " + in_quotes(row_.kind) + " than the one that blocked it",
          [this](const Serves& serves) {
            return std::any_of(serves.kinds.begin(), serves.kinds.end(), [this](const auto& each) {
              return each.first == row_.kind && each.second != *details_.blocked_by;
            });
          },
          nullptr, "");
    }
    add(std::move(finding));
  }

  // What stands behind "what to do" in a report of replay/violation.h.
  std::string advice_of_report() const {
    constexpr std::string_view kMark = "what to do";
    const std::size_t mark = details_.reason.find(kMark);
    if (mark == std::string::npos) {
      return "";
    }
    std::string text = details_.reason.substr(mark + kMark.size());
    text.erase(0, text.find_first_not_of(": \n"));
    const std::size_t end = text.find('\n');
    return line_text(text.substr(0, end), kTextChars);
  }

  void compensating() {
    const auto next =
        std::find_if(details_.compensations.rbegin(), details_.compensations.rend(),
                     [](const auto& row) { return row.state == store::CompensationState::kOpen; });
    Finding finding{
        .code = "compensating", .what = "undoes what it has done", .since_ms = row_.changed_ms};
    if (next == details_.compensations.rend()) {
      finding.who = who_has_kind(&finding.advice);
      add(std::move(finding));
      return;
    }
    finding.what += ", next " + in_quotes(next->name);
    if (!next->outcome.empty() && next->attempt > 0) {
      finding.what += "; attempt " + std::to_string(next->attempt) +
                      " failed: " + failure_text(next->outcome, kTextChars);
    }
    if (next->due_ms > now_ms_) {
      finding.what += "; attempt " + std::to_string(next->attempt + 1) + " in " + in(next->due_ms);
      finding.until_ms = next->due_ms;
      finding.advice = "try now: " + command("retry");
    }
    std::string advice;
    finding.who = who(
        "the activity " + in_quotes(next->name),
        [&](const Serves& serves) { return has(serves.activities, next->name); }, &advice,
        "start a program that has it");
    finding.advice = advice.empty() ? finding.advice : advice;
    add(std::move(finding));
  }

  void running() {
    if (row_.owner == 0) {
      Finding finding{.code = "unclaimed",
                      .what = "waits for somebody to take it",
                      .since_ms = row_.changed_ms};
      finding.who = who_has_kind(&finding.advice);
      add(std::move(finding));
      return;
    }
    Finding finding{.code = "running", .what = "is being worked on", .since_ms = row_.changed_ms};
    const auto owner = std::find_if(live_.begin(), live_.end(), [this](const Live& live) {
      return live.row->key == row_.owner;
    });
    if (owner == live_.end()) {
      finding.what = "was being worked on by a worker that is gone";
      finding.advice = "a program that has its kind takes it over, at the latest when it starts";
    } else {
      finding.who = line_text(owner->row->name, kNameChars) + " holds it";
    }
    add(std::move(finding));
    open_steps();
  }

  void waiting() {
    open_steps();
    if (std::none_of(findings_.begin(), findings_.end(),
                     [](const Finding& finding) { return finding.code != "paused"; })) {
      add({.code = "waiting",
           .what =
               "waits for " + (row_.waiting_for.empty() ? std::string("something")
                                                        : line_text(row_.waiting_for, kTextChars)),
           .since_ms = row_.changed_ms});
    }
    const auto due = std::count_if(
        details_.inbox.begin(), details_.inbox.end(),
        [this](const auto& arrival) { return arrival.due_ms <= now_ms_ && !arrival.is_kept; });
    Finding finding;
    finding.who = who_has_kind(&finding.advice);
    if (due > 0) {
      finding.code = "inbox";
      finding.what = "has " + std::to_string(due) + " in its inbox that nobody has taken yet";
      add(std::move(finding));
    } else if (!finding.advice.empty()) {
      finding.code = "workers";
      finding.what = "has nobody who would go on with it";
      add(std::move(finding));
    }
  }

  // --- By step ---

  void open_steps() {
    std::size_t left = details_.open_steps.size();
    for (const OpenStep& step : details_.open_steps) {
      if (findings_.size() + 1 >= kFindingsMax) {
        add({.code = "waiting", .what = "waits for " + std::to_string(left) + " more"});
        return;
      }
      --left;
      switch (step.kind) {
        case CommandKind::kSignal:
          signal(step);
          break;
        case CommandKind::kPromise:
          promise(step);
          break;
        case CommandKind::kTimer:
          timer(step);
          break;
        case CommandKind::kTask:
          task(step);
          break;
        case CommandKind::kChildWorkflow:
          child(step);
          break;
        default:
          operation(step);
      }
    }
  }

  // What ends a wait by itself.
  void add_limit(const OpenStep& step, Finding& finding) const {
    if (step.number_ms > 0) {
      finding.until_ms = step.time_ms + step.number_ms;
      finding.what += ", at most " + in(*finding.until_ms) + " more";
    }
  }

  void signal(const OpenStep& step) {
    Finding finding{.code = "signal",
                    .what = "waits for the signal " + in_quotes(step.name),
                    .since_ms = step.time_ms};
    add_limit(step, finding);
    const bool is_there =
        std::any_of(details_.inbox.begin(), details_.inbox.end(), [&](const auto& arrival) {
          return arrival.kind == static_cast<std::uint8_t>(EntryKind::kSignalReceived) &&
                 arrival.name == step.name;
        });
    if (is_there) {
      finding.what += ", which is in its inbox";
      finding.who = who_has_kind(&finding.advice);
    } else {
      finding.advice = "send the signal: " + command("signal", shell_word(step.name) + " JSON");
    }
    add(std::move(finding));
  }

  void promise(const OpenStep& step) {
    Finding finding{.code = "promise",
                    .what = "waits for the promise " + in_quotes(step.name),
                    .since_ms = step.time_ms};
    add_limit(step, finding);
    finding.advice = "resolve it: " + command("resolve", shell_word(step.name) + " JSON");
    add(std::move(finding));
  }

  void timer(const OpenStep& step) {
    const std::int64_t due_ms = step.time_ms + step.number_ms;
    Finding finding{
        .code = "timer", .what = "waits for a timer", .since_ms = step.time_ms, .until_ms = due_ms};
    finding.what += step.name.empty() ? "" : " " + in_quotes(step.name);
    if (due_ms > now_ms_) {
      finding.what += ", which fires in " + in(due_ms);
    } else {
      finding.what += ", which should have fired " + duration_text(now_ms_ - due_ms) + " ago";
      finding.who = who_has_kind(&finding.advice);
    }
    add(std::move(finding));
  }

  void task(const OpenStep& step) {
    const auto found = std::find_if(details_.tasks.begin(), details_.tasks.end(),
                                    [&](const store::TaskRow& task) { return task.id == step.id; });
    Finding finding{.code = "task",
                    .what = "waits for the task " + in_quotes(step.name),
                    .since_ms = step.time_ms};
    if (found == details_.tasks.end()) {
      finding.what += ", which has ended";
      finding.who = who_has_kind(&finding.advice);
      add(std::move(finding));
      return;
    }
    const store::TaskRow& task = *found;
    const auto options = engine::decode_task_options(task.options);
    const std::uint32_t most = options ? options->retry.attempts : 1;
    const auto attempt = [most](std::uint32_t number) {
      return "attempt " + std::to_string(number) + (most > 0 ? " of " + std::to_string(most) : "");
    };
    finding.what += " on the queue " + in_quotes(task.queue);
    std::string advice;
    const std::string able = who(
        "the activity " + in_quotes(task.type) + " on the queue " + in_quotes(task.queue),
        [&](const Serves& serves) {
          return has(serves.activities, task.type) && has(serves.queues, task.queue);
        },
        &advice, "start one that has it");
    switch (task.state) {
      case store::TaskState::kReady:
        finding.what += ", which nobody has taken yet";
        finding.who = able;
        finding.advice = advice;
        break;
      case store::TaskState::kDelayed:
        finding.what += ", " + attempt(task.attempt + 1) + " in " + in(task.due_ms);
        finding.until_ms = task.due_ms;
        finding.who = advice.empty() ? "" : able;
        finding.advice = (advice.empty() ? "" : advice + "; ") + ("try now: " + command("retry"));
        break;
      case store::TaskState::kRunning: {
        finding.what +=
            ", " + attempt(task.attempt) + " runs for " + duration_text(now_ms_ - task.started_ms);
        const auto owner = std::find_if(live_.begin(), live_.end(), [&](const Live& live) {
          return live.row->key == task.owner;
        });
        finding.who = owner == live_.end() ? "the worker that has taken it is gone"
                                           : line_text(owner->row->name, kNameChars) + " runs it";
        break;
      }
    }
    if (!task.last_error.empty()) {
      finding.what += "; the last one failed: " + failure_text(task.last_error, kTextChars);
    }
    add(std::move(finding));
  }

  void child(const OpenStep& step) {
    Finding finding{.code = "child",
                    .what = "waits for the child " + in_quotes(step.name),
                    .since_ms = step.time_ms};
    const auto found =
        std::find_if(details_.children.begin(), details_.children.end(),
                     [&](const store::RunRow& row) { return row.parent.command == step.id; });
    if (found != details_.children.end()) {
      finding.what = "waits for its child " + in_quotes(found->id) + ", which is " +
                     line_text(store::status_text(found->status, found->waiting_for), kTextChars);
      finding.advice = std::string("see why: pawl why ") +
                       (found->id.starts_with('-') ? "-- " : "") + shell_word(found->id);
    }
    add(std::move(finding));
  }

  void operation(const OpenStep& step) {
    Finding finding{.code = "operation",
                    .what = "executes the operation " + in_quotes(step.name),
                    .since_ms = step.time_ms};
    const auto retry =
        std::find_if(details_.inbox.begin(), details_.inbox.end(), [&](const auto& arrival) {
          return arrival.kind == store::kRetryOperation && arrival.id == step.id;
        });
    if (retry != details_.inbox.end() && retry->due_ms > now_ms_) {
      finding.what = "waits for the operation " + in_quotes(step.name) + ", attempt " +
                     std::to_string(retry->number + 1) + " in " + in(retry->due_ms);
      finding.until_ms = retry->due_ms;
      finding.advice = "try now: " + command("retry");
    }
    add(std::move(finding));
  }

  const RunDetails& details_;
  const store::RunRow& row_;
  const std::int64_t now_ms_;
  std::vector<Live> live_;
  std::vector<Finding> findings_;
};

}  // namespace

std::vector<Finding> find_why(const RunDetails& details, std::span<const store::WorkerRow> workers,
                              std::int64_t now_ms) {
  return Reasoning(details, workers, now_ms).find();
}

}  // namespace pawl::view

// Random operations for a store whose state the model knows: mostly such as make sense, sometimes
// such as do not. Not thread-safe.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "property/rng.h"
#include "store/model.h"
#include "store/support.h"

namespace pawl::store {

using property::Rng;
using replay::EntryKind;

// Some begin like others, and some are not what people would write.
inline const std::vector<std::string> kIds = {"a", "ab",    "ab'\"",
                                              "b", "b\xff", std::string("b\xff\0", 3)};
inline const std::vector<std::string> kKinds = {"order", std::string("m\0\\\xfe{\"", 6)};
inline const std::vector<Tag> kTags = {
    {"color", "red"}, {"color", "blue"}, {"size", "red"}, {"", ""}, {"\x80\\", "\xc3\x28,NULL"}};
inline const std::vector<RunStatus> kStatuses = {
    RunStatus::kRunning, RunStatus::kWaiting,   RunStatus::kCompensating, RunStatus::kCompleted,
    RunStatus::kFailed,  RunStatus::kCancelled, RunStatus::kRecurred,     RunStatus::kBlocked};
// Also ids of timers, tasks and promises.
inline const std::vector<std::string> kNames = {"x", std::string("\\x00\0\xff'", 7),
                                                "11111111-2222-5333-8444-555555555555"};
inline const std::vector<std::int64_t> kSpans = {0, 0, 50, 100, kNever};
inline const std::vector<std::string> kPrints = {"", "print", "\xf0print"};
inline const std::vector<std::string> kDedupes = {"", "", "event-1", "\xed\xa0\x80"};
inline const std::vector<std::string> kPayloads = {"", "payload", std::string("\0\xff\\", 3)};

class Generator {
 public:
  static constexpr TaskKey kNoTask = TaskKey{1} << 52U;
  Generator(Rng& rng, const Model& model) : rng_(rng), model_(model) {}

  std::int64_t now_ms = 1000;
  // Turns are of runs that one of these holds.
  std::set<WorkerKey> own;
  // Keys of runs and workers that are not to be found, although somebody else may have them.
  std::vector<std::int64_t> strange_keys = {std::int64_t{1} << 50};

  // To be done together. All of them are made before the first is done, as they are by an engine.
  std::vector<Op> batch() {
    std::vector<Op> ops;
    const int count = rng_.chance(85)   ? rng_.between(1, 4)
                      : rng_.chance(80) ? rng_.between(5, 15)
                                        : rng_.between(16, 60);
    bool has_images = false;
    for (int i = count; i > 0; --i) {
      ops.push_back(next());
      has_images = has_images || std::holds_alternative<CreateRun>(ops.back());
    }
    // Which of the tasks that one batch adds is the older one is not said if some come from images.
    for (Op& op : ops) {
      if (auto* const turn = std::get_if<CommitTurn>(&op); turn != nullptr && has_images) {
        turn->tasks.clear();
      }
    }
    return ops;
  }

  Op next() {
    // Coarse, so that moments often are the same; and clocks may be put back.
    now_ms += 10 * (rng_.chance(5) ? -rng_.between(0, 20) : rng_.between(0, 4));
    now_ms = std::max<std::int64_t>(now_ms, 0);
    const int choice = rng_.between(1, 112);
    if (choice <= 12) {
      return start();
    }
    if (choice <= 50) {
      return turn();
    }
    if (choice <= 64) {
      return send();
    }
    if (choice <= 74) {
      return claim_due();
    }
    if (choice <= 80) {
      return claim();
    }
    if (choice <= 87) {
      return take_tasks();
    }
    if (choice <= 93) {
      return change_task();
    }
    if (choice <= 95) {
      return terminate();
    }
    if (choice <= 97) {
      return resume();
    }
    if (choice <= 100) {
      return choice <= 99 ? Op(claim_stuck()) : Op(heartbeat());
    }
    if (choice <= 105) {
      return pause();
    }
    if (choice <= 107) {
      return hurry();
    }
    return choice <= 110 ? Op(delete_run()) : Op(create_run());
  }

  // Sometimes one that is not there.
  WorkerKey worker() {
    return rng_.between(0, static_cast<int>(model_.workers.size()) + 3) == 0 ||
                   model_.workers.empty()
               ? rng_.pick(strange_keys)
               : std::next(model_.workers.begin(),
                           static_cast<std::ptrdiff_t>(rng_.below(model_.workers.size())))
                     ->first;
  }

  // Sometimes one that is not there, or no longer.
  RunKey run_key() {
    const std::size_t chosen = rng_.below(model_.all_runs.size() + 2);
    return chosen < model_.all_runs.size()        ? model_.all_runs[chosen]
           : chosen == model_.all_runs.size() + 1 ? rng_.pick(strange_keys)
                                                  : 0;
  }

 private:
  std::optional<std::string> claims_as() {
    return rng_.chance(60) ? std::nullopt : std::optional<std::string>(rng_.pick(kPrints));
  }
  std::vector<Tag> tags() {
    std::vector<Tag> made;
    for (int i = rng_.between(0, 2); i > 0; --i) {
      made.push_back(rng_.pick(kTags));  // Twice the same, too.
    }
    return made;
  }

  // Sometimes none, mostly one that is there.
  template <typename T>
  void aim(T& op) {
    if (rng_.chance(50)) {
      op.run_id = rng_.pick(kIds);
    } else {
      op.run = run_key();
    }
    op.now_ms = now_ms;
  }

  Pause pause() {
    Pause op;
    aim(op);
    op.is_paused = rng_.chance(60);
    return op;
  }

  Hurry hurry() {
    Hurry op;
    aim(op);
    return op;
  }

  DeleteRun delete_run() {
    DeleteRun op;
    op.run = run_key();
    return op;
  }

  // A copy of a run, maybe by another name.
  CreateRun create_run() {
    CreateRun op;
    if (!model_.runs.empty()) {
      op.image = model_.image(std::next(model_.runs.begin(),
                                        static_cast<std::ptrdiff_t>(rng_.below(model_.runs.size())))
                                  ->first);
    }
    op.image.row.id = rng_.pick(kIds);
    op.image.row.is_paused = op.image.row.is_paused || rng_.chance(20);
    for (int i = rng_.between(0, 3); i > 0; --i) {
      op.entries.push_back(entry(op.entries.size() + 1, "name"));
    }
    op.as_next = rng_.chance(60);
    op.now_ms = now_ms;
    return op;
  }

  std::int64_t soon() { return rng_.chance(50) ? 0 : now_ms + 10 * rng_.between(-5, 20); }

  NewRun new_one() {
    NewRun made = new_run(rng_.pick(kIds), rng_.pick(kKinds));
    made.input = rng_.pick(kPayloads);
    made.definition = rng_.pick(kPrints);
    made.tags = tags();
    return made;
  }

  NewArrival arrival() {
    NewArrival made;
    const std::vector<EntryKind> kinds = {EntryKind::kSignalReceived, EntryKind::kTimerFired,
                                          EntryKind::kPromiseResolved, EntryKind::kSignalTimedOut,
                                          EntryKind::kCancellationRequested};
    made.kind = rng_.chance(15) ? kRetryOperation : number_of(rng_.pick(kinds));
    made.id = rng_.pick(kNames);
    made.location = rng_.pick(kNames);
    made.due_ms = soon();
    made.has_payload = rng_.chance(50);
    made.payload = made.has_payload ? rng_.pick(kPayloads) : "";
    made.name = rng_.chance(50) ? rng_.pick(kNames) : "";
    made.extra = std::to_string(++arrivals_) + rng_.pick(kPayloads);  // No two are the same.
    made.number = rng_.between(0, 2);
    return made;
  }

  StartRun start() {
    StartRun op;
    op.run = new_one();
    op.on_existing = rng_.chance(70)   ? OnExisting::kReturn
                     : rng_.chance(50) ? OnExisting::kReplace
                                       : OnExisting::kFail;
    op.owner = rng_.chance(50) ? worker() : 0;
    if (rng_.chance(30)) {
      op.signal = arrival();
      op.dedupe = rng_.pick(kDedupes);
    }
    op.now_ms = now_ms;
    return op;
  }

  Claim claim() {
    Claim op;
    op.run = run_key();
    op.worker = worker();
    op.definition = claims_as();
    op.now_ms = now_ms;
    return op;
  }

  // What is left to others; mostly nothing.
  std::vector<KindDefinition> left() {
    std::vector<KindDefinition> left;
    while (rng_.chance(30)) {
      left.push_back({rng_.pick(kKinds), kPrints[1 + rng_.below(kPrints.size() - 1)]});
    }
    return left;
  }

  ClaimDue claim_due() {
    ClaimDue op;
    op.kinds = rng_.chance(50) ? kKinds : std::vector<std::string>{rng_.pick(kKinds)};
    op.left = left();
    op.worker = worker();
    op.limit = rng_.below(4);
    op.now_ms = now_ms;
    return op;
  }

  ClaimStuck claim_stuck() {
    ClaimStuck op;
    for (const std::string& kind : kKinds) {
      op.codes.push_back({kind, rng_.pick(kPrints), rng_.chance(30)});
    }
    op.left = left();
    op.activities = {rng_.pick(kNames)};
    op.after = rng_.chance(70) ? 0 : run_key();
    op.worker = worker();
    op.limit = rng_.below(4);
    op.now_ms = now_ms;
    return op;
  }

  Send send() {
    Send op;
    if (rng_.chance(70)) {
      op.run_id = rng_.pick(kIds);
    } else {
      op.run = run_key();
    }
    op.arrival = arrival();
    op.dedupe = rng_.pick(kDedupes);
    op.claim_for = rng_.chance(30) ? worker() : 0;
    op.claim_as = claims_as();
    op.now_ms = now_ms;
    return op;
  }

  Terminate terminate() {
    Terminate op;
    aim(op);
    op.payload = "over";
    return op;
  }

  Resume resume() {
    Resume op;
    aim(op);
    return op;
  }

  Heartbeat heartbeat() {
    Heartbeat op;
    op.worker = worker();
    op.expires_ms = now_ms + 10 * rng_.between(0, 200);
    return op;
  }

  NewTask task() {
    NewTask made;
    made.id = rng_.pick(kNames);
    made.type = rng_.pick(kKinds);
    made.queue = "q";
    made.priority = rng_.between(-1, 1);
    made.wait_ms = rng_.pick(kSpans);
    made.attempt_ms = rng_.pick(kSpans);
    made.heartbeat_ms = rng_.pick(kSpans);
    made.deadline_ms = rng_.chance(50) ? kNever : now_ms + 500;
    made.due_ms = made.deadline_ms;
    made.has_input = rng_.chance(50);
    made.input = made.has_input ? rng_.pick(kPayloads) : "";
    made.options = rng_.pick(kPayloads);
    return made;
  }

  TakeTasks take_tasks() {
    TakeTasks op;
    op.queue = "q";
    op.types = rng_.chance(50) ? kKinds : std::vector<std::string>{rng_.pick(kKinds)};
    op.worker = worker();
    op.limit = rng_.below(4);
    op.now_ms = now_ms;
    return op;
  }

  ChangeTask change_task() {
    ChangeTask op;
    op.task = kNoTask;
    op.now_ms = now_ms;
    if (!model_.tasks.empty() && !rng_.chance(3)) {
      const auto chosen = std::next(model_.tasks.begin(),
                                    static_cast<std::ptrdiff_t>(rng_.below(model_.tasks.size())));
      op.task = chosen->first;
      op.state = chosen->second.state;
      op.attempt = chosen->second.attempt;
    }
    if (rng_.chance(10)) {
      op.attempt += 1;
    }
    if (rng_.chance(60)) {
      op.next = static_cast<TaskState>(rng_.between(0, 2));
      op.due_ms = rng_.chance(30) ? kNever : now_ms + 10 * rng_.between(0, 20);
      op.details =
          rng_.chance(50) ? std::optional<std::string>(rng_.pick(kPayloads)) : std::nullopt;
      op.last_error =
          rng_.chance(50) ? std::optional<std::string>(rng_.pick(kPayloads)) : std::nullopt;
    } else {
      op.arrival = arrival();
      op.claim_for = rng_.chance(50) ? worker() : 0;
      op.claim_as = claims_as();
    }
    return op;
  }

  // Mostly by the holder of a run.
  CommitTurn turn() {
    CommitTurn op;
    std::vector<const Model::Run*> held;
    for (const auto& [key, run] : model_.runs) {
      if (own.contains(run.row.owner)) {
        held.push_back(&run);
      }
    }
    op.now_ms = now_ms;
    if (held.empty()) {
      op.run = run_key();
      op.worker = worker();
      return op;
    }
    const Model::Run& run = *rng_.pick(held);
    op.run = run.row.key;
    op.worker = run.row.owner;
    op.epoch = run.row.epoch + (rng_.chance(5) ? 1 : 0);
    add_entries(op, run);
    add_arrivals(op, run);
    add_others(op);
    if (rng_.chance(15)) {
      add_ending(op, run);
    }
    if (rng_.chance(40)) {
      op.release = true;
      op.status = rng_.chance(15)                              ? RunStatus::kBlocked
                  : run.row.status == RunStatus::kCompensating ? RunStatus::kCompensating
                                                               : RunStatus::kWaiting;
      op.waiting_for = rng_.chance(50) ? rng_.pick(kNames) : "";
      op.wake_ms = rng_.chance(50) ? kNever : now_ms + 10 * rng_.between(0, 10);
      op.needs = op.status == RunStatus::kCompensating && rng_.chance(70) ? rng_.pick(kNames) : "";
      op.reason = op.status == RunStatus::kBlocked ? rng_.pick(kPayloads) : "";
      if (op.status == RunStatus::kBlocked && rng_.chance(80)) {
        op.blocked_by = rng_.pick(kPrints);
      }
    }
    return op;
  }

  void add_entries(CommitTurn& op, const Model::Run& run) {
    std::uint64_t seq = run.log.empty() ? 0 : run.log.rbegin()->first;
    seq -= seq > 0 && rng_.chance(5) ? 1 : 0;  // A lost race.
    for (int i = rng_.between(0, 3); i > 0; --i) {
      const EntryKind kind =
          rng_.chance(20) ? EntryKind::kPromiseTimedOut : EntryKind::kOperationCompleted;
      op.entries.push_back(entry(++seq, "name", kind));
      op.entries.back().id = rng_.pick(kNames);
    }
    // Never the last one: a loop leaves its checkpoint behind what it forgets. Nor the one that a
    // lost race would write again.
    if (!op.entries.empty() && rng_.chance(20)) {
      for (const auto& [old, unused] : run.log) {
        if (old != run.log.rbegin()->first && rng_.chance(50)) {
          op.forgotten.push_back(old);
        }
      }
    }
  }

  void add_arrivals(CommitTurn& op, const Model::Run& run) {
    for (const auto& [arrival, kept] : run.inbox) {
      if (rng_.chance(40)) {
        op.consumed.push_back(arrival.key);
      } else if (rng_.chance(20)) {
        op.kept.push_back(arrival.key);
      }
    }
    if (rng_.chance(30)) {
      op.arrivals.push_back(arrival());
    }
    if (rng_.chance(20)) {
      const NewArrival like = arrival();
      op.withdrawn.emplace_back(like.kind, rng_.pick(kNames));
    }
  }

  void add_others(CommitTurn& op) {
    if (rng_.chance(25)) {
      op.tasks.push_back(task());
    }
    if (rng_.chance(10)) {
      op.cancelled_tasks.push_back(rng_.pick(kNames));
    }
    if (rng_.chance(20)) {
      op.promises.push_back(rng_.pick(kNames));
    }
    if (rng_.chance(20)) {
      NewRun child = new_one();
      child.parent = {op.run, rng_.pick(kNames), static_cast<ParentClose>(rng_.between(0, 2))};
      op.children.push_back(child);
    }
    if (rng_.chance(20)) {
      op.outgoing.push_back({rng_.pick(kIds), arrival(), rng_.pick(kDedupes)});
    }
    if (rng_.chance(10)) {
      op.definition = rng_.pick(kPrints);
    }
    if (rng_.chance(10)) {
      op.compensation_changes.push_back(
          {static_cast<std::uint32_t>(rng_.below(2)),
           rng_.chance(50) ? CompensationState::kDone : CompensationState::kOpen, 2, soon(),
           "out"});
    }
  }

  void add_ending(CommitTurn& op, const Model::Run& run) {
    Ending ending;
    const int choice = rng_.between(1, 4);
    if (choice == 1 && run.row.goal == RunStatus::kRunning) {
      ending.status = RunStatus::kCompensating;
      ending.goal = RunStatus::kFailed;
      ending.compensations.resize(2);
      ending.compensations[1].position = 1;
      ending.compensations[1].due_ms = soon();
    } else if (choice == 2) {
      ending.status = RunStatus::kRecurred;
      ending.next = new_run(run.row.id, run.row.kind);
      ending.next->tags = tags();
      if (rng_.chance(50)) {
        ending.signals.push_back(arrival());
      }
    } else {
      ending.status = choice == 3 ? RunStatus::kCompleted : RunStatus::kFailed;
      op.reason = choice == 3 ? "" : "reason";
      if (rng_.chance(70)) {
        NewArrival for_parent;
        for_parent.kind = number_of(EntryKind::kChildWorkflowCompleted);
        ending.for_parent = for_parent;
      }
    }
    op.ending = std::move(ending);
  }

  Rng& rng_;
  const Model& model_;
  int arrivals_ = 0;
};

}  // namespace pawl::store

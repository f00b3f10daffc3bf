// Random series of operations, on two stores of one database and on the model: the same must come
// of each, and the same must be there in the end. PAWL_STORE_SEED repeats one series,
// PAWL_STORE_SERIES says how many there are.

#include "store/model.h"

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "property/rng.h"
#include "store/support.h"

namespace pawl::store {
namespace {

using property::Rng;
using replay::EntryKind;

// Some begin like others, and some are not what people would write.
const std::vector<std::string> kIds = {"a", "ab", "ab'\"", "b", "b\xff", std::string("b\xff\0", 3)};
const std::vector<std::string> kKinds = {"order", "mail"};
const std::vector<Tag> kTags = {{"color", "red"}, {"color", "blue"}, {"size", "red"}, {"", ""}};
const std::vector<RunStatus> kStatuses = {
    RunStatus::kRunning, RunStatus::kWaiting,   RunStatus::kCompensating, RunStatus::kCompleted,
    RunStatus::kFailed,  RunStatus::kCancelled, RunStatus::kRecurred,     RunStatus::kBlocked};
// Also ids of timers, tasks and promises.
const std::vector<std::string> kNames = {"x", "y", "11111111-2222-5333-8444-555555555555"};
const std::vector<std::int64_t> kSpans = {0, 0, 50, 100, kNever};
const std::vector<std::string> kPrints = {"", "print", "next print"};
const std::vector<std::string> kDedupes = {"", "", "event-1", "event-2"};

class Generator {
 public:
  Generator(Rng& rng, const Model& model) : rng_(rng), model_(model) {}

  std::int64_t now_ms = 1000;

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
               ? 1000
               : std::next(model_.workers.begin(),
                           static_cast<std::ptrdiff_t>(rng_.below(model_.workers.size())))
                     ->first;
  }

 private:
  RunKey run_key() {
    return static_cast<RunKey>(rng_.below(static_cast<std::size_t>(model_.last_run()) + 2));
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
    made.input = rng_.chance(50) ? "input" : "";
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
    op.now_ms = now_ms;
    return op;
  }

  ClaimDue claim_due() {
    ClaimDue op;
    op.kinds = rng_.chance(50) ? kKinds : std::vector<std::string>{rng_.pick(kKinds)};
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
    op.now_ms = now_ms;
    return op;
  }

  Terminate terminate() {
    Terminate op;
    op.run_id = rng_.pick(kIds);
    op.payload = "over";
    op.now_ms = now_ms;
    return op;
  }

  Resume resume() {
    Resume op;
    op.run_id = rng_.pick(kIds);
    op.now_ms = now_ms;
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
    op.task = 1;
    op.now_ms = now_ms;
    if (!model_.tasks.empty()) {
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
      op.details = rng_.chance(50) ? std::optional<std::string>("details") : std::nullopt;
      op.last_error = rng_.chance(50) ? std::optional<std::string>("") : std::nullopt;
    } else {
      op.arrival = arrival();
      op.claim_for = rng_.chance(50) ? worker() : 0;
    }
    return op;
  }

  // Mostly by the holder of a run.
  CommitTurn turn() {
    CommitTurn op;
    std::vector<const Model::Run*> held;
    for (const auto& [key, run] : model_.runs) {
      if (run.row.owner != 0) {
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
      op.waiting_for = rng_.chance(50) ? "signal" : "";
      op.wake_ms = rng_.chance(50) ? kNever : now_ms + 10 * rng_.between(0, 10);
      op.needs = op.status == RunStatus::kCompensating && rng_.chance(70) ? rng_.pick(kNames) : "";
      op.reason = op.status == RunStatus::kBlocked ? "why" : "";
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
    // Never the last one: a loop leaves its checkpoint behind what it forgets.
    if (!op.entries.empty() && rng_.chance(20)) {
      for (const auto& [old, unused] : run.log) {
        if (rng_.chance(50)) {
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
};

// --- What came of an operation, as text ----------------------------------------------------------

std::string keys(const std::vector<RunKey>& all) {
  std::string text = "[";
  for (const RunKey key : all) {
    text += std::to_string(key) + " ";
  }
  return text + "]";
}

// Payloads that the store makes up are not compared.
std::string arrivals(const std::vector<Arrival>& all) {
  std::string text = "[";
  for (Arrival arrival : all) {
    if (arrival.kind == number_of(EntryKind::kChildWorkflowFailed)) {
      arrival.payload.clear();
      arrival.has_payload = false;
    }
    text += std::to_string(arrival.key) + "@" + std::to_string(arrival.run) + " " +
            describe(arrival) + "; ";
  }
  return text + "]";
}

std::string outcome(const Claim& op) {
  return op.claimed ? "claimed " + describe(op.row) + arrivals(op.inbox) : "not claimed";
}
std::string outcome(const std::optional<Claim>& claim) {
  return claim.has_value() ? outcome(*claim) : "no claim";
}
std::string outcome(const Touched& others) {
  return "closed " + keys(others.closed) + " woken " + keys(others.woken);
}
std::string outcome(const StartRun& op) {
  return std::to_string(static_cast<int>(op.outcome)) + " " + describe(op.row) + " " +
         std::to_string(op.arrival) + " " + outcome(op.others);
}
std::string outcome(const std::vector<Claim>& claims) {
  std::string text;
  for (const Claim& claim : claims) {
    text += outcome(claim) + "\n";
  }
  return text;
}
std::string outcome(const ClaimDue& op) { return outcome(op.claims); }
std::string outcome(const ClaimStuck& op) {
  return (op.known ? "" : "unknown ") + outcome(op.claims);
}
std::string outcome(const Send& op) {
  return std::to_string(static_cast<int>(op.outcome)) + " " + std::to_string(op.target) + " " +
         std::to_string(op.owner) + " " + std::to_string(op.key) + " " + outcome(op.claim);
}
std::string outcome(const Terminate& op) {
  return std::to_string(static_cast<int>(op.outcome)) + " " + std::to_string(op.target) + " " +
         outcome(op.others);
}
std::string outcome(const Resume& op) {
  return std::to_string(static_cast<int>(op.outcome)) + " " + std::to_string(op.target);
}
std::string outcome(const Pause& op) {
  return std::to_string(static_cast<int>(op.outcome)) + " " + std::to_string(op.target) + " " +
         (op.changed ? "changed " : "same ") + std::to_string(op.owner);
}
std::string outcome(const Hurry& op) {
  return std::to_string(static_cast<int>(op.outcome)) + " " + std::to_string(op.target) + " " +
         std::to_string(op.attempts);
}
std::string outcome(const DeleteRun& op) { return std::to_string(static_cast<int>(op.outcome)); }
std::string outcome(const CreateRun& op) {
  return std::to_string(static_cast<int>(op.outcome)) + " " + describe(op.row);
}
std::string outcome(const Heartbeat& op) { return op.known ? "known" : "unknown"; }
std::string outcome(const TakeTasks& op) {
  std::string text;
  for (const TaskRow& task : op.taken) {
    text += describe(task) + "\n";
  }
  return text;
}
std::string outcome(const ChangeTask& op) {
  return std::string(op.changed ? "changed " : "same ") + (op.cancel_requested ? "cancel " : "") +
         std::to_string(op.run) + " " + std::to_string(op.owner) + " " + std::to_string(op.key) +
         " " + outcome(op.claim);
}
std::string outcome(const CommitTurn& op) {
  std::string text = std::string(op.committed ? "committed " : "lost ") +
                     (op.released ? "released " : "") + (op.is_paused ? "paused " : "") +
                     keys(op.arrival_keys) + arrivals(op.bounced) + keys(op.started) +
                     outcome(op.others);
  return op.released ? text + std::to_string(op.wake_ms) : text;
}

// --- What is known of runs, as text --------------------------------------------------------------

// Payloads that the store makes up are not compared.
std::string described(RunImage image) {
  for (StoredArrival& arrival : image.inbox) {
    if (arrival.kind == number_of(EntryKind::kChildWorkflowFailed)) {
      arrival.payload.clear();
      arrival.has_payload = false;
    }
  }
  return describe(image);
}

std::string described(const RunFilter& filter) {
  std::string text =
      "created " + std::to_string(filter.created_from_ms) + ".." +
      std::to_string(filter.created_to_ms) + " changed " + std::to_string(filter.changed_from_ms) +
      ".." + std::to_string(filter.changed_to_ms) + " parent " + std::to_string(filter.parent);
  for (const std::string& kind : filter.kinds) {
    text += " kind " + kind;
  }
  for (const RunStatus status : filter.statuses) {
    text += " status " + std::string(status_name(status));
  }
  for (const Tag& tag : filter.tags) {
    text += " tag " + tag.name + "=" + tag.value;
  }
  return text + (filter.is_paused.has_value() ? *filter.is_paused ? " paused" : " not paused" : "");
}

// --- The comparison ------------------------------------------------------------------------------

class Duel {
 public:
  explicit Duel(std::uint64_t seed)
      : rng_(seed),
        backend_(backend_kinds()[0].make()),
        backend_for_copies_(backend_kinds()[0].make()),
        generator_(rng_, model_) {
    for (int i = 0; i < 2; ++i) {
      stores_.push_back(value(backend_->open("default")));
    }
    elsewhere_ = value(backend_for_copies_->open("elsewhere"));
  }

  void play(int rounds) {
    for (int i = 0; i < rounds && !testing::Test::HasFailure(); ++i) {
      if (rng_.chance(6) || model_.workers.empty()) {
        play_workers();
      } else {
        play_batch();
      }
      if (i % 7 == 0) {
        compare_all();
      }
      if (i % 25 == 0) {
        compare_catalog(store().catalog());
      }
    }
    compare_all();
    compare_catalog(store().catalog());
  }

 private:
  Store& store() { return *stores_[rng_.below(stores_.size())]; }

  void play_workers() {
    const std::int64_t now_ms = generator_.now_ms;
    const int choice = rng_.between(1, 3);
    if (choice == 1 || model_.workers.empty()) {
      if (model_.workers.size() < 4) {
        const std::int64_t expires_ms = rng_.chance(50) ? kNever : now_ms + 1000;
        const WorkerInfo info{"worker " + std::to_string(rng_.below(3)), expires_ms, now_ms,
                              rng_.chance(50) ? R"({"kinds":{"order":""}})" : ""};
        EXPECT_EQ(value(store().add_worker(info)), model_.add_worker(info));
      }
    } else if (choice == 2) {
      const WorkerKey worker = generator_.worker();
      EXPECT_TRUE(store().remove_worker(worker, now_ms).has_value());
      model_.remove_worker(worker, now_ms);
    } else {
      const WorkerKey self = generator_.worker();
      EXPECT_EQ(value(store().free_expired(self, now_ms)), model_.free_expired(self, now_ms));
    }
  }

  // All operations of a batch are made before the first is done, as they are by an engine.
  void play_batch() {
    std::vector<Op> ops;
    for (int i = rng_.between(1, 4); i > 0; --i) {
      ops.push_back(generator_.next());
    }
    std::vector<Op> model_ops = ops;
    const Result<void> done = store().apply(ops);
    ASSERT_TRUE(done.has_value()) << done.error().message;
    for (std::size_t i = 0; i < ops.size(); ++i) {
      model_.apply(model_ops[i]);
      const auto text = [](const auto& op) { return outcome(op); };
      ASSERT_EQ(std::visit(text, ops[i]), std::visit(text, model_ops[i]))
          << "operation of type " << ops[i].index();
    }
  }

  void compare_all() {
    Store& store = this->store();
    for (RunKey key = 1; key <= model_.last_run() + 1; ++key) {
      if (const auto run = model_.runs.find(key); run != model_.runs.end()) {
        compare(store, key, run->second);
      } else {
        EXPECT_FALSE(value(store.find_run(key)).has_value());
      }
    }
    EXPECT_EQ(value(store.next_wake(kKinds)), model_.next_wake(kKinds));
    for (const auto& [worker, unused] : model_.workers) {
      std::vector<Arrival> want;
      for (const auto& [key, run] : model_.runs) {
        for (const auto& [arrival, kept] : run.inbox) {
          if (run.row.owner == worker) {
            want.push_back(arrival);
          }
        }
      }
      std::sort(want.begin(), want.end(),
                [](const Arrival& a, const Arrival& b) { return a.key < b.key; });
      // What the worker has put itself may be missing.
      const std::vector<Arrival> news = value(store.read_news(worker, 0)).arrivals;
      std::erase_if(want, [&](const Arrival& arrival) {
        return std::none_of(news.begin(), news.end(),
                            [&](const Arrival& found) { return found.key == arrival.key; });
      });
      EXPECT_EQ(arrivals(news), arrivals(want));
    }
    std::vector<std::string> due;
    for (const TaskRow& task : value(store.due_tasks(generator_.now_ms, 1000, nullptr))) {
      due.push_back(describe(task));
    }
    std::vector<std::string> want_due;
    for (const TaskRow& task : model_.due_tasks(generator_.now_ms)) {
      want_due.push_back(describe(task));
    }
    EXPECT_EQ(due, want_due);
  }

  // --- What people ask ---

  void compare_catalog(Catalog& catalog) {
    for (RunKey key = 1; key <= model_.last_run() + 1; ++key) {
      const Result<RunImage> image = catalog.read_image(key);
      ASSERT_EQ(image.has_value(), model_.runs.contains(key)) << key;
      if (image.has_value()) {
        EXPECT_EQ(described(*image), described(model_.image(key)));
      } else {
        EXPECT_EQ(image.error().code, ErrorCode::kNotFound);
      }
    }
    for (int i = 0; i < 12; ++i) {
      compare_list(catalog);
    }
    compare_copy(catalog);
    compare_ids(catalog);
    compare_closed(catalog);
    compare_tasks(catalog);
    compare_workers(catalog);
    compare_figures(catalog);
  }

  // A run that is carried to another place is the same there.
  void compare_copy(Catalog& catalog) {
    if (model_.runs.empty()) {
      return;
    }
    const RunKey from =
        std::next(model_.runs.begin(), static_cast<std::ptrdiff_t>(rng_.below(model_.runs.size())))
            ->first;
    CreateRun op;
    op.image = value(catalog.read_image(from));
    op.image.row.id = "copy " + std::to_string(++copies_);
    KeptLog log;
    EXPECT_TRUE(stores_[0]
                    ->read_log(from, 0, [&](const replay::Entry& one) { return log.add(one); })
                    .has_value());
    op.entries = log.entries();
    op.now_ms = generator_.now_ms;
    op = apply(*elsewhere_, op);
    ASSERT_EQ(op.outcome, CreateRun::Outcome::kCreated);
    EXPECT_EQ(log_of(*elsewhere_, op.row.key), log_of(*stores_[0], from));
    EXPECT_EQ(describe(carried(value(elsewhere_->catalog().read_image(op.row.key)))),
              describe(carried(op.image)));
    EXPECT_EQ(op.row.wake_ms,
              is_closed(op.row.status) || op.row.is_paused || op.row.status == RunStatus::kBlocked
                  ? kNever
                  : generator_.now_ms);
  }

  std::int64_t moment() {
    return rng_.chance(50) && !model_.runs.empty()
               ? std::next(model_.runs.begin(),
                           static_cast<std::ptrdiff_t>(rng_.below(model_.runs.size())))
                     ->second.row.created_ms
               : 10 * rng_.between(0, static_cast<int>(generator_.now_ms / 10) + 5);
  }

  RunFilter filter() {
    RunFilter made;
    for (int i = rng_.chance(50) ? 0 : rng_.between(1, 3); i > 0; --i) {
      made.kinds.push_back(rng_.chance(10) ? "none" : rng_.pick(kKinds));
    }
    for (int i = rng_.chance(50) ? 0 : rng_.between(1, 4); i > 0; --i) {
      made.statuses.push_back(rng_.pick(kStatuses));
    }
    for (int i = rng_.chance(50) ? 0 : rng_.between(1, 3); i > 0; --i) {
      made.tags.push_back(rng_.chance(5) ? Tag{"none", ""} : rng_.pick(kTags));
    }
    made.created_from_ms = rng_.chance(80) ? 0 : moment();
    made.created_to_ms = rng_.chance(80) ? kNever : moment();
    made.changed_from_ms = rng_.chance(80) ? 0 : moment();
    made.changed_to_ms = rng_.chance(80) ? kNever : moment();
    if (rng_.chance(25)) {
      made.is_paused = rng_.chance(70);
    }
    made.parent = rng_.chance(80) ? 0 : rng_.between(1, static_cast<int>(model_.last_run()) + 1);
    return made;
  }

  bool fits(const Model::Run& run, const RunFilter& filter) {
    const RunRow& row = run.row;
    const auto is_one = [](const auto& all, const auto& one) {
      return all.empty() || std::count(all.begin(), all.end(), one) > 0;
    };
    return is_one(filter.kinds, row.kind) && is_one(filter.statuses, row.status) &&
           std::all_of(filter.tags.begin(), filter.tags.end(),
                       [&](const Tag& tag) { return run.tags.contains(tag); }) &&
           filter.created_from_ms <= row.created_ms && row.created_ms < filter.created_to_ms &&
           filter.changed_from_ms <= row.changed_ms && row.changed_ms < filter.changed_to_ms &&
           filter.is_paused.value_or(row.is_paused) == row.is_paused &&
           (filter.parent == 0 || filter.parent == row.parent.run);
  }

  void compare_list(Catalog& catalog) {
    const RunFilter filter = this->filter();
    const RunCursor after =
        rng_.chance(70)
            ? RunCursor{}
            : RunCursor{moment(), rng_.chance(50)
                                      ? kNever
                                      : static_cast<RunKey>(rng_.below(
                                            static_cast<std::size_t>(model_.last_run()) + 2))};
    std::map<RunCursor, std::string, std::greater<>> want;
    std::int64_t count = 0;
    for (const auto& [key, run] : model_.runs) {
      if (fits(run, filter)) {
        ++count;
        const RunCursor place{run.row.created_ms, key};
        if (place < after) {
          want[place] = describe(run.row);
        }
      }
    }
    std::vector<std::string> wanted;
    for (const auto& [place, text] : want) {
      wanted.push_back(text);
    }
    std::vector<std::string> found;
    std::optional<RunCursor> next = after;
    for (std::size_t pages = 0; next.has_value(); ++pages) {
      ASSERT_LT(pages, wanted.size() + 2) << "there is no end of it";
      const auto limit = static_cast<std::size_t>(rng_.between(1, rng_.chance(50) ? 3 : 100));
      const RunPage page = value(catalog.list_runs(filter, *next, limit));
      EXPECT_LE(page.rows.size(), limit);
      for (const RunRow& row : page.rows) {
        found.push_back(describe(row));
      }
      next = page.next;
    }
    EXPECT_EQ(found, wanted) << described(filter);
    EXPECT_EQ(value(catalog.count_runs(filter)), count) << described(filter);
  }

  void compare_ids(Catalog& catalog) {
    const std::string prefix = rng_.chance(30) ? "" : rng_.pick(kIds);
    std::string after = rng_.chance(50) ? "" : rng_.pick(kIds);
    std::set<std::string> want;
    for (const auto& [key, run] : model_.runs) {
      if (run.row.id.starts_with(prefix) && run.row.id > after) {
        want.insert(run.row.id);
      }
    }
    std::vector<std::string> found;
    while (true) {
      const auto limit = static_cast<std::size_t>(rng_.between(1, 4));
      const std::vector<std::string> ids = value(catalog.find_ids(prefix, after, limit));
      EXPECT_LE(ids.size(), limit);
      found.insert(found.end(), ids.begin(), ids.end());
      if (ids.size() < limit) {
        break;
      }
      after = ids.back();
    }
    EXPECT_EQ(found, std::vector<std::string>(want.begin(), want.end()));
  }

  void compare_closed(Catalog& catalog) {
    const RunStatus status = rng_.pick(kStatuses);
    const std::int64_t before_ms = rng_.chance(50) ? kNever : moment();
    ClosedRun after = rng_.chance(50) ? ClosedRun{} : ClosedRun{moment(), model_.last_run() / 2};
    std::set<ClosedRun> want;
    for (const auto& [key, run] : model_.runs) {
      const ClosedRun one{run.row.changed_ms, key};
      if (run.row.status == status && is_closed(status) && one.changed_ms < before_ms &&
          one > after) {
        want.insert(one);
      }
    }
    std::vector<ClosedRun> found;
    while (true) {
      const auto limit = static_cast<std::size_t>(rng_.between(1, 4));
      const std::vector<ClosedRun> some =
          value(catalog.find_closed(status, before_ms, after, limit));
      EXPECT_LE(some.size(), limit);
      found.insert(found.end(), some.begin(), some.end());
      if (some.size() < limit) {
        break;
      }
      after = some.back();
    }
    EXPECT_TRUE(std::equal(found.begin(), found.end(), want.begin(), want.end()))
        << found.size() << " found, " << want.size() << " wanted";
  }

  void compare_tasks(Catalog& catalog) {
    TaskFilter filter;
    filter.queue = rng_.chance(50) ? "" : rng_.chance(80) ? "q" : "none";
    filter.type = rng_.chance(50) ? "" : rng_.pick(kKinds);
    if (rng_.chance(50)) {
      filter.state = static_cast<TaskState>(rng_.between(0, 2));
    }
    TaskKey after = rng_.between(0, 3);
    const auto limit = static_cast<std::size_t>(rng_.between(1, 4));
    std::vector<std::string> want;
    for (const auto& [key, task] : model_.tasks) {
      if (key > after && (filter.queue.empty() || filter.queue == task.queue) &&
          (filter.type.empty() || filter.type == task.type) &&
          filter.state.value_or(task.state) == task.state) {
        want.push_back(describe(task));
      }
    }
    std::vector<std::string> found;
    while (true) {
      const std::vector<TaskRow> some = value(catalog.list_tasks(filter, after, limit));
      EXPECT_LE(some.size(), limit);
      for (const TaskRow& task : some) {
        found.push_back(describe(task));
      }
      if (some.size() < limit) {
        break;
      }
      after = some.back().key;
    }
    EXPECT_EQ(found, want);
  }

  void compare_workers(Catalog& catalog) {
    std::vector<std::string> want;
    for (const auto& [key, info] : model_.workers) {
      std::int64_t runs = 0;
      std::int64_t tasks = 0;
      for (const auto& [run_key, run] : model_.runs) {
        runs += run.row.owner == key ? 1 : 0;
      }
      for (const auto& [task_key, task] : model_.tasks) {
        tasks += task.owner == key ? 1 : 0;
      }
      want.push_back(worker_text({key, info.name, info.expires_ms, info.serves, runs, tasks}));
    }
    std::vector<std::string> found;
    for (const WorkerRow& row : value(catalog.list_workers())) {
      found.push_back(worker_text(row));
    }
    EXPECT_EQ(found, want);
  }

  static std::string worker_text(const WorkerRow& row) {
    return std::to_string(row.key) + " " + row.name + " " + std::to_string(row.expires_ms) + " " +
           row.serves + " " + std::to_string(row.runs) + " " + std::to_string(row.tasks);
  }

  void compare_figures(Catalog& catalog) {
    const std::int64_t now_ms = generator_.now_ms;
    const StoreFigures found = value(catalog.read_figures(now_ms));
    std::map<std::tuple<std::string, RunStatus>, std::int64_t> runs;
    std::map<std::tuple<std::string, std::string, TaskState>, std::pair<std::int64_t, std::int64_t>>
        tasks;
    StoreFigures want;
    for (const auto& [key, run] : model_.runs) {
      runs[{run.row.kind, run.row.status}] += 1;
      want.paused += run.row.is_paused ? 1 : 0;
      want.overdue += run.row.wake_ms <= now_ms ? 1 : 0;
      want.next_wake_ms = std::min(want.next_wake_ms, run.row.wake_ms);
    }
    for (const auto& [key, task] : model_.tasks) {
      auto& [count, oldest_ms] =
          tasks.try_emplace({task.queue, task.type, task.state}, 0, kNever).first->second;
      count += 1;
      oldest_ms = std::min(oldest_ms, task.created_ms);
    }
    decltype(runs) found_runs;
    for (const RunCount& one : found.runs) {
      EXPECT_TRUE(found_runs.empty() ||
                  found_runs.rbegin()->first < std::tuple(one.kind, one.status));
      found_runs[{one.kind, one.status}] = one.count;
    }
    EXPECT_EQ(found_runs, runs);
    decltype(tasks) found_tasks;
    for (const TaskCount& one : found.tasks) {
      EXPECT_TRUE(found_tasks.empty() ||
                  found_tasks.rbegin()->first < std::tuple(one.queue, one.type, one.state));
      found_tasks[{one.queue, one.type, one.state}] = {one.count, one.oldest_ms};
    }
    EXPECT_EQ(found_tasks, tasks);
    EXPECT_EQ(found.paused, want.paused);
    EXPECT_EQ(found.overdue, want.overdue);
    EXPECT_EQ(found.next_wake_ms, want.next_wake_ms);
    EXPECT_GT(found.bytes, 0);
  }

  void compare(Store& store, RunKey key, const Model::Run& run) {
    const std::optional<RunRow> row = value(store.find_run(key));
    ASSERT_TRUE(row.has_value());
    EXPECT_EQ(describe(*row), describe(run.row));
    EXPECT_EQ(value(store.read_input(key)), run.input);
    EXPECT_EQ(value(store.read_reason(key)), run.reason);
    EXPECT_EQ(value(store.read_tags(key)), std::vector<Tag>(run.tags.begin(), run.tags.end()));
    std::vector<std::uint64_t> seqs;
    for (const auto& [seq, entry] : run.log) {
      seqs.push_back(seq);
    }
    EXPECT_EQ(seqs_of(store, key), seqs);
    std::vector<Arrival> inbox;
    for (const auto& [arrival, kept] : run.inbox) {
      inbox.push_back(arrival);
    }
    EXPECT_EQ(arrivals(value(store.read_inbox_of(key))), arrivals(inbox));
    std::vector<std::string> open;
    for (const auto& [name, resolved] : run.promises) {
      if (!resolved) {
        open.push_back(name);
      }
    }
    EXPECT_EQ(value(store.read_promises(key)), open);
    std::vector<RunKey> children;
    for (const RunRow& child : value(store.read_children(key))) {
      children.push_back(child.key);
    }
    EXPECT_EQ(children, model_.children(key));
    std::string tasks;
    for (const TaskRow& task : value(store.read_tasks(key))) {
      tasks += describe(task) + "\n";
    }
    std::string want_tasks;
    for (const auto& [task_key, task] : model_.tasks) {
      want_tasks += task.run == key ? describe(task) + "\n" : "";
    }
    EXPECT_EQ(tasks, want_tasks);
    std::size_t position = 0;
    for (const CompensationRow& found : value(store.read_compensations(key))) {
      const CompensationRow& want = run.compensations.at(static_cast<std::uint32_t>(position++));
      EXPECT_EQ(found.state, want.state);
      EXPECT_EQ(found.attempt, want.attempt);
      EXPECT_EQ(found.due_ms, want.due_ms);
      EXPECT_EQ(found.outcome, want.outcome);
    }
    EXPECT_EQ(position, run.compensations.size());
  }

  Rng rng_;
  Model model_;
  std::unique_ptr<Backend> backend_;
  std::vector<std::unique_ptr<Store>> stores_;
  std::unique_ptr<Backend> backend_for_copies_;
  std::unique_ptr<Store> elsewhere_;
  int copies_ = 0;
  Generator generator_;
};

TEST(StoreModel, AStoreDoesWhatTheModelDoes) {
  constexpr int kRounds = 250;
  const char* const given = std::getenv("PAWL_STORE_SEED");
  const char* const count = std::getenv("PAWL_STORE_SERIES");
  const int series = count != nullptr ? std::atoi(count) : given != nullptr ? 1 : 40;
  const std::uint64_t first =
      given != nullptr ? std::strtoull(given, nullptr, 10) : std::uint64_t{std::random_device()()};
  for (int i = 0; i < series && !HasFailure(); ++i) {
    const std::uint64_t seed = first + static_cast<std::uint64_t>(i);
    SCOPED_TRACE("PAWL_STORE_SEED=" + std::to_string(seed));
    Duel(seed).play(kRounds);
  }
}

}  // namespace
}  // namespace pawl::store

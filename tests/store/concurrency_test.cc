// Several threads, each with a store and a worker of its own, play on one database at the same
// time. Whatever they do to each other: each gets true answers, and the database keeps its
// invariants. PAWL_STORE_SEED repeats a series as far as threads can be repeated, PAWL_STORE_SERIES
// says how many there are.

#include <algorithm>
#include <cstdlib>
#include <deque>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "audit/audit.h"
#include "property/rng.h"
#include "store/support.h"

namespace pawl::store {
namespace {

using property::Rng;
using replay::EntryKind;

const std::vector<std::string> kIds = {"a", "b", "c", "d'\xff"};
const std::vector<std::string> kChildren = {"e", "f", "g", "h", "i", "j"};
const std::vector<std::string> kKinds = {"order", "mail"};

// What the stores have told the threads.
struct Told {
  std::vector<std::pair<RunKey, std::int64_t>> claims;  // With the epoch.
  std::vector<std::pair<TaskKey, std::uint32_t>> attempts;
  std::vector<std::pair<RunKey, std::string>> dedupes;
  std::map<std::pair<RunKey, std::uint64_t>, std::string> entries;  // By seq: the name.
  int busy = 0;
  std::int64_t now_ms = 0;
};

class Player {
 public:
  Player(int number, std::uint64_t seed, std::unique_ptr<Store> store)
      : number_(number), rng_(seed), store_(std::move(store)) {}

  void play(int rounds) {
    for (int i = 0; i < rounds && failure_.empty(); ++i) {
      told_.now_ms += rng_.between(0, 20);
      if (worker_ == 0 || rng_.chance(2)) {
        change_worker();
      } else if (rng_.chance(3)) {
        check(store_->free_expired(rng_.chance(80) ? worker_ : 0, told_.now_ms));
      } else {
        play_batch();
      }
    }
  }

  const Told& told() const { return told_; }
  const std::string& failure() const { return failure_; }

 private:
  struct Held {
    RunRow row;
    std::uint64_t last_seq = 0;
    std::vector<ArrivalKey> inbox;
  };

  // True: it was done.
  template <typename T>
  bool check(const Result<T>& done) {
    if (!done.has_value() && done.error().code == ErrorCode::kStoreBusy) {
      ++told_.busy;
    } else if (!done.has_value()) {
      failure_ = done.error().message;
    }
    return done.has_value();
  }

  void change_worker() {
    if (worker_ != 0 && !check(store_->remove_worker(worker_, told_.now_ms))) {
      return;
    }
    worker_ = 0;
    held_.clear();
    tasks_.clear();
    const Result<WorkerKey> added =
        store_->add_worker({"player", rng_.chance(70) ? kNever : told_.now_ms + 200, told_.now_ms});
    if (check(added)) {
      worker_ = *added;
    }
  }

  void play_batch() {
    std::vector<Op> ops;
    used_.clear();
    for (int i = rng_.chance(80) ? rng_.between(1, 4) : rng_.between(5, 20); i > 0; --i) {
      ops.push_back(next());
    }
    if (!check(store_->apply(ops))) {
      return;  // Nothing has changed.
    }
    for (const Op& op : ops) {
      std::visit([this](const auto& one) { learn(one); }, op);
    }
  }

  Op next() {
    const int choice = rng_.between(1, 100);
    return choice <= 12   ? Op(start())
           : choice <= 55 ? turn()
           : choice <= 67 ? Op(send())
           : choice <= 80 ? Op(claim_due())
           : choice <= 86 ? Op(take_tasks())
           : choice <= 92 ? change_task()
           : choice <= 94 ? Op(aimed(Terminate{}))
           : choice <= 95 ? Op(aimed(Resume{}))
           : choice <= 97 ? Op(pause())
           : choice <= 98 ? Op(aimed(Hurry{}))
                          : Op(claim_stuck());
  }

  const std::string& any_id() { return rng_.chance(50) ? rng_.pick(kIds) : rng_.pick(kChildren); }

  template <typename T>
  T aimed(T op) {
    op.run_id = any_id();
    op.now_ms = told_.now_ms;
    return op;
  }

  Pause pause() {
    Pause op = aimed(Pause{});
    op.is_paused = rng_.chance(40);
    return op;
  }

  StartRun start() {
    StartRun op;
    op.run = new_run(rng_.pick(kIds), rng_.pick(kKinds));
    op.run.tags = {{"by", std::to_string(number_)}};
    op.on_existing = rng_.chance(60) ? OnExisting::kReplace : OnExisting::kReturn;
    op.owner = rng_.chance(60) ? worker_ : 0;
    if (rng_.chance(30)) {
      op.signal = signal("start", "payload");
    }
    op.now_ms = told_.now_ms;
    return op;
  }

  std::string dedupe() { return rng_.chance(50) ? "" : "event-" + std::to_string(rng_.below(30)); }

  Send send() {
    Send op = aimed(Send{});
    op.arrival = signal("signal", "payload");
    op.arrival.due_ms = rng_.chance(70) ? 0 : told_.now_ms + rng_.between(0, 50);
    op.dedupe = dedupe();
    op.claim_for = rng_.chance(40) ? worker_ : 0;
    return op;
  }

  ClaimDue claim_due() {
    ClaimDue op;
    op.kinds = kKinds;
    op.worker = worker_;
    op.limit = rng_.below(4);
    op.now_ms = told_.now_ms;
    return op;
  }

  ClaimStuck claim_stuck() {
    ClaimStuck op;
    op.codes = {{"order", "", false}, {"mail", "", false}};
    op.activities = {"undo"};
    op.worker = worker_;
    op.limit = 2;
    op.now_ms = told_.now_ms;
    return op;
  }

  TakeTasks take_tasks() {
    TakeTasks op;
    op.queue = "q";
    op.types = kKinds;
    op.worker = worker_;
    op.limit = rng_.below(4);
    op.now_ms = told_.now_ms;
    return op;
  }

  Op change_task() {
    if (tasks_.empty()) {
      return take_tasks();
    }
    const std::size_t chosen = rng_.below(tasks_.size());
    const TaskRow task = tasks_[chosen];
    tasks_.erase(tasks_.begin() + static_cast<std::ptrdiff_t>(chosen));
    ChangeTask op;
    op.task = task.key;
    op.state = TaskState::kRunning;
    op.attempt = task.attempt;
    op.now_ms = told_.now_ms;
    if (rng_.chance(30)) {
      op.next = TaskState::kDelayed;
      op.due_ms = told_.now_ms + 20;
    } else {
      op.arrival = NewArrival{};
      op.arrival->kind = number_of(EntryKind::kTaskCompleted);
      op.arrival->id = task.id;
      op.claim_for = rng_.chance(50) ? worker_ : 0;
    }
    return op;
  }

  // One per run and batch, as an engine does it; sometimes of a run that is not held any more.
  Op turn() {
    std::vector<RunKey> free;
    for (const auto& [key, held] : held_) {
      if (!used_.contains(key)) {
        free.push_back(key);
      }
    }
    if (free.empty()) {
      return claim_due();
    }
    const Held& held = held_.at(rng_.pick(free));
    used_.insert(held.row.key);
    CommitTurn op;
    op.run = held.row.key;
    op.worker = worker_;
    op.epoch = held.row.epoch;
    op.now_ms = told_.now_ms;
    for (int i = rng_.between(0, 3); i > 0; --i) {
      names_.push_back(std::to_string(number_) + "." + std::to_string(names_.size()));
      op.entries.push_back(entry(held.last_seq + op.entries.size() + 1, names_.back()));
    }
    op.consumed = held.inbox;
    if (rng_.chance(30)) {
      op.arrivals.push_back(timer("timer", told_.now_ms + rng_.between(0, 30)));
    }
    if (rng_.chance(30)) {
      NewTask& task = op.tasks.emplace_back();
      task.id = "task-" + std::to_string(rng_.below(3));
      task.type = rng_.pick(kKinds);
      task.queue = "q";
    }
    if (rng_.chance(10)) {
      op.cancelled_tasks.push_back("task-" + std::to_string(rng_.below(3)));
    }
    if (rng_.chance(10)) {
      op.promises.push_back("promise");
    }
    if (rng_.chance(25)) {
      NewRun& child = op.children.emplace_back(new_run(rng_.pick(kChildren), rng_.pick(kKinds)));
      child.parent = {op.run, "child", static_cast<ParentClose>(rng_.between(0, 2))};
    }
    if (rng_.chance(25)) {
      op.outgoing.push_back({any_id(), signal("hello", "from " + held.row.id), dedupe()});
    }
    if (rng_.chance(20)) {
      add_ending(op, held);
    }
    if (rng_.chance(50)) {
      add_release(op, held);
    }
    return op;
  }

  void add_ending(CommitTurn& op, const Held& held) {
    Ending& ending = op.ending.emplace();
    const int choice = rng_.between(1, 4);
    if (choice == 1 && held.row.goal == RunStatus::kRunning) {
      ending.status = RunStatus::kCompensating;
      ending.goal = RunStatus::kFailed;
      ending.compensations.resize(1);
    } else if (choice <= 2) {
      ending.status = RunStatus::kRecurred;
      ending.next = new_run(held.row.id, held.row.kind);
    } else {
      ending.status = choice == 3 ? RunStatus::kCompleted : RunStatus::kFailed;
      ending.for_parent.emplace();
      ending.for_parent->kind = number_of(EntryKind::kChildWorkflowCompleted);
    }
  }

  void add_release(CommitTurn& op, const Held& held) {
    op.release = true;
    const bool compensates = held.row.goal != RunStatus::kRunning ||
                             (op.ending.has_value() && !is_closed(op.ending->status));
    op.status = rng_.chance(10) ? RunStatus::kBlocked
                : compensates   ? RunStatus::kCompensating
                                : RunStatus::kWaiting;
    op.wake_ms = rng_.chance(50) ? kNever : told_.now_ms + rng_.between(0, 30);
    op.needs = op.status == RunStatus::kCompensating ? "undo" : "";
    op.reason = op.status == RunStatus::kBlocked ? "why" : "";
    op.blocked_by =
        op.status == RunStatus::kBlocked ? std::optional<std::string>("") : std::nullopt;
  }

  // --- What came of it ---

  void learn(const Claim& op) {
    if (!op.claimed) {
      return;
    }
    told_.claims.emplace_back(op.run, op.row.epoch);
    Held held{op.row, 0, {}};
    for (const Arrival& arrival : op.inbox) {
      held.inbox.push_back(arrival.key);
    }
    check(store_->read_last(op.run, [&](const replay::Entry& last) -> Result<void> {
      held.last_seq = last.seq;
      return {};
    }));
    held_[op.run] = std::move(held);
  }
  void learn(const std::vector<Claim>& claims) {
    for (const Claim& claim : claims) {
      learn(claim);
    }
  }
  void learn(const ClaimDue& op) {
    learn(op.claims);
    if (!op.known) {
      lose_worker();
    }
  }
  void learn(const ClaimStuck& op) { learn(op.claims); }
  void learn(const StartRun& op) {
    if (op.outcome == StartOutcome::kStarted && op.row.owner != 0) {
      told_.claims.emplace_back(op.row.key, op.row.epoch);
      held_[op.row.key] = {op.row, 0, {}};
      if (op.arrival != 0) {
        held_[op.row.key].inbox.push_back(op.arrival);
      }
    }
  }
  void learn(const Send& op) {
    if (op.outcome == SendOutcome::kSent && !op.dedupe.empty()) {
      told_.dedupes.emplace_back(op.target, op.dedupe);
    }
    if (op.claim.has_value()) {
      learn(*op.claim);
    }
  }
  void learn(const TakeTasks& op) {
    for (const TaskRow& task : op.taken) {
      told_.attempts.emplace_back(task.key, task.attempt);
      tasks_.push_back(task);
    }
  }
  void learn(const ChangeTask& op) {
    if (op.claim.has_value()) {
      learn(*op.claim);
    }
  }
  void learn(const CommitTurn& op) {
    const auto held = held_.find(op.run);
    if (held == held_.end() || held->second.row.epoch != op.epoch) {
      return;  // Claimed again later in the batch.
    }
    if (!op.committed) {
      held_.erase(held);
      return;
    }
    for (const replay::Entry& one : op.entries) {
      told_.entries[{op.run, one.seq}] = one.name;
    }
    if (op.released) {
      // Sometimes it is forgotten that it was given back.
      if (!rng_.chance(10)) {
        held_.erase(held);
      }
      return;
    }
    held->second.last_seq += op.entries.size();
    held->second.inbox.clear();
    if (op.ending.has_value()) {
      held->second.row.goal = op.ending->goal;
    }
  }
  template <typename T>
  void learn(const T& /*op*/) {}

  void lose_worker() {
    worker_ = 0;
    held_.clear();
    tasks_.clear();
  }

  const int number_;
  Rng rng_;
  std::unique_ptr<Store> store_;
  WorkerKey worker_ = 0;
  std::map<RunKey, Held> held_;
  std::set<RunKey> used_;  // By this batch.
  std::vector<TaskRow> tasks_;
  std::deque<std::string> names_;
  Told told_;
  std::string failure_;
};

template <typename T>
void expect_no_twins(std::vector<T> all, const char* what) {
  std::sort(all.begin(), all.end());
  EXPECT_EQ(std::adjacent_find(all.begin(), all.end()), all.end()) << what;
}

class ConcurrentStores : public testing::TestWithParam<BackendKind> {
 protected:
  void play(std::uint64_t seed) {
    constexpr int kThreads = 4;
    constexpr int kRounds = 150;
    const std::unique_ptr<Backend> backend = GetParam().make();
    std::deque<Player> players;
    for (int i = 0; i < kThreads; ++i) {
      players.emplace_back(i, seed * kThreads + static_cast<std::uint64_t>(i),
                           value(backend->open("default")));
    }
    {
      std::vector<std::jthread> threads;
      for (Player& player : players) {
        threads.emplace_back([&player] { player.play(kRounds); });
      }
    }
    compare(*backend, players);
  }

 private:
  static void compare(Backend& backend, const std::deque<Player>& players) {
    Told all;
    for (const Player& player : players) {
      const Told& told = player.told();
      EXPECT_EQ(player.failure(), "");
      all.claims.insert(all.claims.end(), told.claims.begin(), told.claims.end());
      all.attempts.insert(all.attempts.end(), told.attempts.begin(), told.attempts.end());
      all.dedupes.insert(all.dedupes.end(), told.dedupes.begin(), told.dedupes.end());
      for (const auto& [place, name] : told.entries) {
        EXPECT_TRUE(all.entries.try_emplace(place, name).second)
            << "run " << place.first << " has two entries " << place.second;
      }
      all.busy += told.busy;
      all.now_ms = std::max(all.now_ms, told.now_ms);
    }
    testing::Test::RecordProperty("busy", all.busy);
    EXPECT_GT(all.claims.size(), 50U);
    EXPECT_GT(all.entries.size(), 50U);
    expect_no_twins(all.claims, "a run was claimed by two");
    expect_no_twins(all.attempts, "an attempt was begun by two");
    std::map<RunKey, std::string> chains;
    for (const std::string& row : value(backend.query(
             "SELECT cast(r.key AS text) || ' ' || cast(coalesce(r.chain, r.key) AS text) FROM "
             "{schema}pawl_run AS r"))) {
      const std::size_t gap = row.find(' ');
      chains[std::stoll(row.substr(0, gap))] = row.substr(gap + 1);
    }
    std::vector<std::pair<std::string, std::string>> dedupes;
    for (const auto& [run, id] : all.dedupes) {
      dedupes.emplace_back(chains.at(run), id);
    }
    expect_no_twins(dedupes, "a signal was taken twice");
    const std::unique_ptr<Store> store = value(backend.open("default"));
    for (const auto& [place, name] : all.entries) {
      std::string found;
      EXPECT_TRUE(store
                      ->read_log(place.first, place.second,
                                 [&](const replay::Entry& one) -> Result<void> {
                                   found = found.empty() ? std::string(one.name) : found;
                                   return {};
                                 })
                      .has_value());
      EXPECT_EQ(found, name) << "entry " << place.second << " of run " << place.first;
    }
    audit::Options options;
    options.now_ms = all.now_ms;
    options.has_all_runs = true;
    options.has_real_logs = false;
    for (const audit::Finding& finding : value(audit::find_all(*store, options))) {
      ADD_FAILURE() << audit::place_of(finding) << ": " << finding.what;
    }
  }
};

TEST_P(ConcurrentStores, KeepTheirPromises) {
  const char* const given = std::getenv("PAWL_STORE_SEED");
  const char* const count = std::getenv("PAWL_STORE_SERIES");
  const int series = count != nullptr ? std::atoi(count) : given != nullptr ? 1 : 2;
  const std::uint64_t first =
      given != nullptr ? std::strtoull(given, nullptr, 10) : std::uint64_t{std::random_device()()};
  for (int i = 0; i < series && !HasFailure(); ++i) {
    const std::uint64_t seed = first + static_cast<std::uint64_t>(i);
    SCOPED_TRACE("PAWL_STORE_SEED=" + std::to_string(seed));
    play(seed);
  }
}

INSTANTIATE_TEST_SUITE_P(All, ConcurrentStores, testing::ValuesIn(backend_kinds()), kind_name);

}  // namespace
}  // namespace pawl::store

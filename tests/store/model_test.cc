// Random series of operations, on two stores of one database and on the model: the same must come
// of each, and the same must be there in the end. Two such worlds, in namespaces of their own,
// share the database. Each kind of database plays the same seeds; the series differ as soon as a
// store has to choose among equals, which goes by its keys. PAWL_STORE_SEED repeats one series,
// PAWL_STORE_SERIES says how many there are.

#include "store/model.h"

#include <algorithm>
#include <cstdlib>
#include <deque>
#include <functional>
#include <iterator>
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

#include "audit/audit.h"
#include "moving/copy.h"
#include "moving/move.h"
#include "moving/verify.h"
#include "property/rng.h"
#include "store/generator.h"
#include "store/key_map.h"
#include "store/support.h"

namespace pawl::store {
namespace {

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
std::string outcome(const ClaimDue& op) {
  return (op.known ? "" : "unknown ") + outcome(op.claims);
}
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
  std::string text = op.known ? "" : "unknown ";
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

std::string described(const std::vector<TaskRow>& tasks) {
  std::string text;
  for (const TaskRow& task : tasks) {
    text += describe(task) + "\n";
  }
  return text;
}

// --- The comparison ------------------------------------------------------------------------------

// One namespace, with all that must be there.
class World {
 public:
  World(std::uint64_t seed, const BackendKind& kind, Backend& backend, const std::string& name)
      : rng_(seed),
        keys_(model_, kind.draws_keys ? InboxOrder::kOfHolders : InboxOrder::kOfArrival),
        generator_(rng_, model_) {
    for (int i = 0; i < 2; ++i) {
      stores_.push_back(value(backend.open(name)));
    }
    elsewhere_ = value(backend.open("elsewhere of " + name));
  }

  void play() {
    if (rng_.chance(6) || model_.workers.empty()) {
      play_workers();
    } else {
      play_batch();
    }
    const int round = rounds_++;
    if (round % 7 == 0) {
      compare_all();
    }
    if (round % 25 == 0) {
      compare_catalog(store().catalog());
    }
  }

  void end() {
    compare_all();
    compare_catalog(store().catalog());
  }

  // Whatever was done, the database is as it has to be.
  void check() {
    audit::Options options;
    options.now_ms = kNever - 1;  // Clocks were put back.
    options.has_real_logs = false;
    options.reads_logs = false;  // Loops forget whatever comes to mind.
    for (const audit::Finding& finding : value(audit::find_all(store(), options))) {
      if (finding.rule == "dedupe_of_nothing") {
        continue;  // Images of runs that have ended bring them along.
      }
      ADD_FAILURE() << audit::place_of(finding) << ": " << finding.what;
    }
  }

  // All that is there moves to another store, and is the same there.
  void move_to(Store& other, std::uint64_t seed) {
    while (!model_.workers.empty()) {
      const WorkerKey worker = model_.workers.begin()->first;
      EXPECT_TRUE(store().remove_worker(worker, generator_.now_ms).has_value());
      model_.remove_worker(worker, generator_.now_ms);
    }
    auto& from = dynamic_cast<MovableStore&>(store());
    auto& to = dynamic_cast<MovableStore&>(other);
    moving::Move move({from, "one"}, {to, "other"}, "a-move", "a-holder", generator_.now_ms);
    EXPECT_EQ(value(move.begin()), moving::Move::Begun::kNew);
    const moving::Copied copied =
        value(moving::copy_runs(from, to, move.seal(), [](const moving::Copied&) {}));
    EXPECT_EQ(static_cast<std::size_t>(copied.runs), model_.runs.size());
    EXPECT_EQ(value(moving::compare_counts(from, to)), std::nullopt);
    moving::SampleOptions options;
    options.size = model_.runs.size() + 1;
    options.seed = seed;
    const moving::SampleOutcome compared =
        value(moving::compare_sample(from, to, options, [](std::int64_t) {}));
    EXPECT_EQ(compared.difference, std::nullopt);
    EXPECT_EQ(compared.runs, model_.runs.size());
    const WorkerInfo worker{"w", kNever, generator_.now_ms};
    EXPECT_EQ(to.add_worker(worker).error().code, ErrorCode::kStoreUnusable);
    EXPECT_EQ(from.add_worker(worker).error().code, ErrorCode::kStoreUnusable);
    EXPECT_TRUE(move.finish().has_value());
    EXPECT_TRUE(to.add_worker(worker).has_value());
    EXPECT_EQ(from.add_worker(worker).error().code, ErrorCode::kStoreUnusable);
  }

  // Nothing of this is to be found in another one.
  std::vector<std::int64_t> some_keys() const {
    std::vector<std::int64_t> some = {std::int64_t{1} << 50};
    for (const auto& [key, run] : model_.runs) {
      some.push_back(key);
    }
    for (const auto& [key, info] : model_.workers) {
      some.push_back(key);
    }
    return some;
  }
  void set_strange_keys(const std::vector<std::int64_t>& keys) {
    generator_.strange_keys.clear();
    for (const std::int64_t key : keys) {
      // Those of the other world, unless the two count for themselves.
      if (std::count(model_.all_runs.begin(), model_.all_runs.end(), key) == 0 &&
          !workers_.contains(key)) {
        generator_.strange_keys.push_back(key);
      }
    }
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
        const std::size_t place = rng_.below(stores_.size());
        const WorkerKey key = value(stores_[place]->add_worker(info));
        EXPECT_TRUE(workers_.try_emplace(key, place).second) << "a worker's key came twice";
        model_.add_worker(key, info);
      }
    } else if (choice == 2) {
      const WorkerKey worker = generator_.worker();
      EXPECT_TRUE(store().remove_worker(worker, now_ms).has_value());
      model_.remove_worker(worker, now_ms);
    } else {
      const WorkerKey self = generator_.worker();
      EXPECT_EQ(value(store().free_expired(self, now_ms)).next_ms,
                model_.free_expired(self, now_ms));
    }
  }

  // A worker commits its turns by the store that it belongs to; anything else is done by anybody.
  void play_batch() {
    const std::size_t place = rng_.below(stores_.size());
    generator_.own.clear();
    for (const auto& [worker, of_store] : workers_) {
      if (of_store == place) {
        generator_.own.insert(worker);
      }
    }
    std::vector<Op> model_ops = generator_.batch();
    std::vector<Op> ops;
    for (const Op& op : model_ops) {
      ops.push_back(keys_.for_store(op));
    }
    const Result<void> done = stores_[place]->apply(ops);
    ASSERT_TRUE(done.has_value()) << done.error().message;
    for (std::size_t i = 0; i < ops.size(); ++i) {
      model_.apply(model_ops[i], started_by(ops[i]));
      keys_.from_store(ops[i], model_ops[i]);
      const auto text = [](const auto& op) { return outcome(op); };
      ASSERT_EQ(std::visit(text, ops[i]), std::visit(text, model_ops[i]))
          << "operation " << i << " of " << ops.size() << ", of type " << ops[i].index();
    }
    bind_new();
  }

  static std::deque<RunKey> started_by(const Op& op) {
    if (const auto* const start = std::get_if<StartRun>(&op)) {
      return start->outcome == StartOutcome::kStarted ? std::deque{start->row.key}
                                                      : std::deque<RunKey>();
    }
    if (const auto* const create = std::get_if<CreateRun>(&op)) {
      return create->outcome == CreateRun::Outcome::kCreated ? std::deque{create->row.key}
                                                             : std::deque<RunKey>();
    }
    std::deque<RunKey> started;
    if (const auto* const turn = std::get_if<CommitTurn>(&op)) {
      std::copy_if(turn->started.begin(), turn->started.end(), std::back_inserter(started),
                   [](RunKey run) { return run != 0; });
    }
    return started;
  }

  // Not every key is told by an answer.
  void bind_new() {
    for (const auto& [key, run] : model_.runs) {
      if (!keys_.is_bound(run)) {
        compare_inbox(*stores_[0], key, run);
        ASSERT_TRUE(keys_.is_bound(run)) << "something is missing in the inbox of run " << key;
      }
    }
    std::set<RunKey> with_new_tasks;
    for (const auto& [key, task] : model_.tasks) {
      if (!keys_.is_bound(task)) {
        with_new_tasks.insert(task.run);
      }
    }
    for (const RunKey run : with_new_tasks) {
      compare_tasks_of(*stores_[0], run);
    }
  }

  void compare_all() {
    Store& store = this->store();
    for (const RunKey key : runs_ever()) {
      if (const auto run = model_.runs.find(key); run != model_.runs.end()) {
        compare(store, key, run->second);
      } else {
        EXPECT_FALSE(value(store.find_run(key)).has_value());
      }
    }
    EXPECT_EQ(value(store.next_wake(kKinds)), model_.next_wake(kKinds));
    const std::vector<KindDefinition> left = {{kKinds[0], kPrints[1]}, {kKinds[1], kPrints[2]}};
    EXPECT_EQ(value(store.next_wake(kKinds, left, generator_.now_ms)),
              model_.next_wake(kKinds, left, generator_.now_ms));
    for (const auto& [worker, unused] : model_.workers) {
      compare_news(store, worker);
    }
    std::vector<TaskRow> due = value(store.due_tasks(generator_.now_ms, 1000, nullptr));
    const std::vector<TaskRow> want_due = model_.due_tasks(generator_.now_ms);
    keys_.from_store(due, want_due);
    EXPECT_EQ(described(due), described(want_due));
  }

  void compare_news(Store& store, WorkerKey worker) {
    std::vector<Arrival> news = value(store.read_news(worker, 0)).arrivals;
    std::vector<Arrival> want;
    std::set<ArrivalKey> needed;
    for (const auto& [key, run] : model_.runs) {
      for (const auto& [arrival, kept] : run.inbox) {
        if (run.row.owner == worker) {
          want.push_back(arrival);
          const auto was_held_by = model_.news.find(arrival.key);
          if (!kept && was_held_by != model_.news.end() && was_held_by->second == worker) {
            needed.insert(arrival.key);
          }
        }
      }
    }
    std::sort(want.begin(), want.end(),
              [](const Arrival& a, const Arrival& b) { return a.key < b.key; });
    keys_.from_store(news, want);
    // What the worker has put itself may be missing, and what was there when it claimed the run.
    std::erase_if(want, [&](const Arrival& arrival) {
      return !needed.contains(arrival.key) &&
             std::none_of(news.begin(), news.end(),
                          [&](const Arrival& found) { return found.key == arrival.key; });
    });
    EXPECT_EQ(arrivals(news), arrivals(want));
  }

  void compare_inbox(Store& store, RunKey key, const Model::Run& run) {
    std::vector<Arrival> want;
    for (const auto& [arrival, kept] : run.inbox) {
      want.push_back(arrival);
    }
    std::vector<Arrival> found = value(store.read_inbox_of(key));
    keys_.from_store(found, want);
    EXPECT_EQ(arrivals(found), arrivals(want)) << "run " << key;
    std::erase_if(want, [&](const Arrival& arrival) {
      return arrival.due_ms > generator_.now_ms ||
             std::any_of(run.inbox.begin(), run.inbox.end(), [&](const auto& one) {
               return one.first.key == arrival.key && one.second;
             });
    });
    found = value(store.read_due_inbox(key, generator_.now_ms));
    keys_.from_store(found, want);
    EXPECT_EQ(arrivals(found), arrivals(want)) << "run " << key;
  }

  void compare_tasks_of(Store& store, RunKey run) {
    std::vector<TaskRow> want;
    for (const auto& [key, task] : model_.tasks) {
      if (task.run == run) {
        want.push_back(task);
      }
    }
    std::vector<TaskRow> found = value(store.read_tasks(run));
    keys_.from_store(found, want);
    EXPECT_EQ(described(found), described(want));
  }

  // With one that is none.
  std::vector<RunKey> runs_ever() const {
    std::vector<RunKey> all = model_.all_runs;
    all.push_back(generator_.strange_keys.back());
    return all;
  }

  // With the inbox in the order that the store gives it.
  RunImage image(RunKey run) const {
    RunImage made = model_.image(run);
    made.inbox = keys_.in_order(model_.runs.at(run));
    return made;
  }

  // Keys of tasks are those of one database.
  static RunImage without_keys(RunImage image) {
    for (TaskRow& task : image.tasks) {
      task.key = 0;
    }
    return image;
  }

  // --- What people ask ---

  void compare_catalog(Catalog& catalog) {
    for (const RunKey key : runs_ever()) {
      const Result<RunImage> found = catalog.read_image(key);
      ASSERT_EQ(found.has_value(), model_.runs.contains(key)) << key;
      if (found.has_value()) {
        EXPECT_EQ(described(without_keys(*found)), described(without_keys(image(key))));
      } else {
        EXPECT_EQ(found.error().code, ErrorCode::kNotFound);
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
    made.parent = rng_.chance(80) ? 0 : generator_.run_key();
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
        rng_.chance(70) ? RunCursor{}
                        : RunCursor{moment(), rng_.chance(50) ? kNever : generator_.run_key()};
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
    ClosedRun after = rng_.chance(50) ? ClosedRun{} : ClosedRun{moment(), generator_.run_key()};
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
    const TaskKey first =
        model_.tasks.empty() || rng_.chance(50)
            ? 0
            : std::next(model_.tasks.begin(),
                        static_cast<std::ptrdiff_t>(rng_.below(model_.tasks.size())))
                  ->first;
    TaskKey after = keys_.task_for_store(first);
    const auto limit = static_cast<std::size_t>(rng_.between(1, 4));
    std::vector<TaskRow> want;
    for (const auto& [key, task] : model_.tasks) {
      if (key > first && (filter.queue.empty() || filter.queue == task.queue) &&
          (filter.type.empty() || filter.type == task.type) &&
          filter.state.value_or(task.state) == task.state) {
        want.push_back(task);
      }
    }
    std::vector<TaskRow> found;
    while (true) {
      const std::vector<TaskRow> some = value(catalog.list_tasks(filter, after, limit));
      EXPECT_LE(some.size(), limit);
      found.insert(found.end(), some.begin(), some.end());
      if (some.size() < limit) {
        break;
      }
      after = some.back().key;
    }
    keys_.from_store(found, want);
    EXPECT_EQ(described(found), described(want));
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
    compare_log(store, key, run);
    compare_inbox(store, key, run);
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
    compare_tasks_of(store, key);
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

  // Payloads that the store makes up are not compared.
  void compare_log(Store& store, RunKey key, const Model::Run& run) {
    std::string want;
    for (const auto& [seq, entry] : run.log) {
      want +=
          std::to_string(seq) + " " + std::to_string(number_of(entry.kind)) + " " + entry.id + "\n";
    }
    std::string found;
    const Result<void> read = store.read_log(key, 0, [&](const replay::Entry& one) -> Result<void> {
      found += std::to_string(one.seq) + " " + std::to_string(number_of(one.kind)) + " " +
               std::string(one.id) + "\n";
      return {};
    });
    EXPECT_TRUE(read.has_value()) << read.error().message;
    EXPECT_EQ(found, want);
  }

  Rng rng_;
  Model model_;
  Keys keys_;
  std::vector<std::unique_ptr<Store>> stores_;
  std::unique_ptr<Store> elsewhere_;
  std::map<WorkerKey, std::size_t> workers_;  // Those that are gone, too; with their stores.
  int copies_ = 0;
  int rounds_ = 0;
  Generator generator_;
};

class StoreModel : public testing::TestWithParam<BackendKind> {};

TEST_P(StoreModel, AStoreDoesWhatTheModelDoes) {
  constexpr int kRounds = 250;
  const char* const given = std::getenv("PAWL_STORE_SEED");
  const char* const count = std::getenv("PAWL_STORE_SERIES");
  const int series = count != nullptr   ? std::atoi(count)
                     : given != nullptr ? 1
                                        : GetParam().model_series;
  const std::uint64_t first =
      given != nullptr ? std::strtoull(given, nullptr, 10) : std::uint64_t{std::random_device()()};
  for (int i = 0; i < series && !HasFailure(); ++i) {
    const std::uint64_t seed = first + static_cast<std::uint64_t>(i);
    SCOPED_TRACE("PAWL_STORE_SEED=" + std::to_string(seed));
    const std::unique_ptr<Backend> backend = GetParam().make();
    World one(seed, GetParam(), *backend, "default");
    World other(~seed, GetParam(), *backend, "other 'one'\\");
    for (int round = 0; round < kRounds && !HasFailure(); ++round) {
      World& next = round % 3 == 0 ? other : one;
      next.set_strange_keys((round % 3 == 0 ? one : other).some_keys());
      next.play();
    }
    one.end();
    other.end();
    one.check();
    // To each kind of database in turn.
    const std::vector<BackendKind> kinds = backend_kinds();
    const std::unique_ptr<Backend> elsewhere = kinds[seed % kinds.size()].make();
    one.move_to(*value(elsewhere->open("default")), seed);
  }
}

INSTANTIATE_TEST_SUITE_P(All, StoreModel, testing::ValuesIn(backend_kinds()), kind_name);

}  // namespace
}  // namespace pawl::store

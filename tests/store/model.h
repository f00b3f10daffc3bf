// What a store does, as simply as it can be said: maps and vectors, no indexes, no SQL. The tests
// compare real stores with it. Not thread-safe.
//
// Runs and workers have the keys that the store has given them: among equals the store chooses by
// key. Arrivals and tasks, whose keys are often not told, are counted 1, 2, 3; who compares has to
// translate.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "store/store.h"

namespace pawl::store {

class Model {
 public:
  // `started`: the keys that the store gave to the runs that it started, in order.
  void apply(Op& op, std::deque<RunKey> started);
  void add_worker(WorkerKey key, const WorkerInfo& info);
  void remove_worker(WorkerKey worker, std::int64_t now_ms);
  std::int64_t free_expired(WorkerKey self, std::int64_t now_ms);

  struct LogEntry {
    std::uint64_t seq = 0;
    replay::EntryKind kind{};
    std::string id;
    std::string payload;
  };
  struct Run {
    RunRow row;
    RunKey chain = 0;
    std::string input;
    std::set<Tag> tags;
    std::string reason;
    std::optional<std::string> blocked_by;
    std::string needs;
    std::map<std::uint64_t, LogEntry> log;
    std::vector<std::pair<Arrival, bool>> inbox;  // With: kept.
    std::map<std::string, bool> promises;         // True: resolved.
    std::map<std::uint32_t, CompensationRow> compensations;
  };

  std::map<RunKey, Run> runs;
  std::map<TaskKey, TaskRow> tasks;
  std::map<WorkerKey, WorkerInfo> workers;
  std::vector<RunKey> all_runs;  // Those that are gone, too.
  // What whoever held a run has put there himself: the worker, and how many times it was moved to
  // the next run since.
  std::map<ArrivalKey, std::pair<WorkerKey, int>> own_arrivals;
  // What others have put, by the worker that held the run then.
  std::map<ArrivalKey, WorkerKey> news;

  std::int64_t next_wake(const std::vector<std::string>& kinds,
                         const std::vector<KindDefinition>& left = {},
                         std::int64_t after_ms = 0) const;
  std::vector<TaskRow> due_tasks(std::int64_t now_ms) const;
  std::vector<RunKey> children(RunKey run) const;
  RunImage image(RunKey run) const;

 private:
  void run(StartRun& op);
  void run(Claim& op);
  void run(ClaimDue& op);
  void run(ClaimStuck& op);
  void run(CommitTurn& op);
  void run(Send& op);
  void run(Terminate& op);
  void run(Resume& op);
  void run(TakeTasks& op);
  void run(ChangeTask& op);
  void run(Heartbeat& op);
  void run(Pause& op);
  void run(Hurry& op);
  void run(DeleteRun& op);
  void run(CreateRun& op);

  Run* newest(const std::string& id);
  Run* target(RunKey run, const std::string& id);
  Claim take(Run& run, WorkerKey worker, std::int64_t now_ms);
  Run& add(const NewRun& from, std::uint32_t number, RunKey chain, WorkerKey owner,
           std::int64_t now_ms);
  RunKey next_run();
  ArrivalKey put(Run& run, const NewArrival& arrival);
  ArrivalKey put_own(Run& run, const NewArrival& arrival);
  ArrivalKey deliver(Run& run, const NewArrival& arrival, std::int64_t now_ms);
  std::pair<SendOutcome, ArrivalKey> send(Run& run, const NewArrival& arrival,
                                          const std::string& dedupe, std::int64_t now_ms);
  void close(Run& run, RunStatus status, const NewArrival* for_parent, std::int64_t now_ms);
  void terminate(Run& run, const std::string& payload, std::int64_t now_ms, bool tells_parent);
  void remove_tasks(RunKey run);

  std::deque<RunKey> started_;  // By the operation that is being done.
  ArrivalKey last_arrival_ = 0;
  TaskKey last_task_ = 0;
  std::set<std::pair<RunKey, std::string>> dedupe_;
  Touched others_;  // By the operation that is being done.
};

}  // namespace pawl::store
